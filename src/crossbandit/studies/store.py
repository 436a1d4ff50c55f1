"""The results file: one DuckDB file in a study's folder, written by one process at a time.

`cells` holds finished runs and is only ever added to. `members` says which cells belong to which
study and part, and under which names. `failures` holds what went wrong, and when, in UTC. `sources`
says which files of the user's own a cell was computed with. `about` holds the format of the file.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import threading
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd

from crossbandit.errors import ResultsError
from crossbandit.studies.build import is_own
from crossbandit.studies.plan import FORMAT
from crossbandit.studies.worker import Failed, Finished

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from types import FrameType

    from crossbandit.studies.plan import Study

FILE_NAME = "results.duckdb"

# What the system says when a disk, a user's share of it or a file has no room left. DuckDB tells it
# by the text alone.
_FULL = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
# And what DuckDB says of a file that it knows as its own, but cannot open.
_DAMAGED = re.compile(r"enough bytes|corrupt|checksum|replaying WAL", re.IGNORECASE)

# A table that is missing is missing, even if a variable here has its name.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "python_enable_replacements": False,
}

_TABLES = """
CREATE TABLE IF NOT EXISTS about (format INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS cells (
    cell VARCHAR PRIMARY KEY,
    environment VARCHAR NOT NULL,
    algorithm VARCHAR NOT NULL,
    seed BIGINT NOT NULL,
    horizon BIGINT NOT NULL,
    final_regret DOUBLE NOT NULL,
    loss DOUBLE NOT NULL,
    comparator_loss DOUBLE NOT NULL,
    seconds DOUBLE NOT NULL,
    version VARCHAR NOT NULL,
    curve_rounds BIGINT[] NOT NULL,
    curve_regret DOUBLE[] NOT NULL
);
CREATE TABLE IF NOT EXISTS members (
    study VARCHAR NOT NULL,
    part VARCHAR NOT NULL,
    cell VARCHAR NOT NULL,
    environment_name VARCHAR NOT NULL,
    algorithm_name VARCHAR NOT NULL,
    position BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS failures (
    cell VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    algorithm VARCHAR NOT NULL,
    seed BIGINT NOT NULL,
    error VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    failed_at TIMESTAMP NOT NULL
);
"""
# It came later: a file that has no such table gets one when it is next written to.
_SOURCES = """
CREATE TABLE IF NOT EXISTS sources (
    cell VARCHAR NOT NULL,
    file VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL
);
"""


class Store:
    """An open results file."""

    def __init__(self, path: Path, connection: Any) -> None:
        self.path = path
        self._connection = connection

    def enroll(self, study: Study) -> None:
        """Remember which cells belong to the study; a changed name replaces the old one."""
        plan = pd.DataFrame(
            {
                "study": study.name,
                "part": [cell.part for cell in study.cells],
                "cell": [cell.key for cell in study.cells],
                "environment_name": [cell.environment_name for cell in study.cells],
                "algorithm_name": [cell.algorithm_name for cell in study.cells],
                "position": range(len(study.cells)),
            }
        )
        with self._transaction() as connection:
            connection.register("plan", plan)
            new = connection.execute(
                "SELECT count(*) FROM (SELECT * FROM plan EXCEPT SELECT * FROM members)"
            ).fetchall()
            if new[0][0]:
                connection.execute(
                    "DELETE FROM members USING plan WHERE members.study = plan.study "
                    "AND members.part = plan.part AND members.cell = plan.cell"
                )
                connection.execute("INSERT INTO members SELECT * FROM plan")
            connection.unregister("plan")

    def finished(self) -> set[str]:
        """Return the keys of all finished cells."""
        with _clear_errors(self.path, "read"):
            rows = self._connection.execute("SELECT cell FROM cells").fetchall()
        return {row[0] for row in rows}

    def changed(self, cells: Collection[str], sources: Mapping[str, str]) -> dict[str, int]:
        """Return which files have changed since cells were computed with them, and how many.

        `sources` has the SHA-256 of the files as they are now. A file that was only renamed has not
        changed.
        """
        now = pd.DataFrame({"sha256": list(sources.values())}, dtype=str)
        with _clear_errors(self.path, "read"):
            self._connection.register("now", now)
            rows = self._connection.execute(
                "SELECT file, cell FROM sources WHERE sha256 NOT IN (SELECT sha256 FROM now)"
            ).fetchall()
            self._connection.unregister("now")
        return dict(Counter(file for file, cell in rows if cell in cells))

    def add(self, results: Sequence[Finished | Failed], sources: Mapping[str, str]) -> None:
        """Keep a batch, all or nothing; once this returns, it survives whatever happens.

        `sources` has the SHA-256 of each file of the user's own with which it was computed.
        """
        finished = [result for result in results if isinstance(result, Finished)]
        failed = [result for result in results if isinstance(result, Failed)]
        with self._transaction() as connection:
            if finished:
                _insert(connection, "cells", pd.DataFrame(finished, columns=Finished._fields))
            own = [cell.cell for cell in finished if is_own(cell.environment, cell.algorithm)]
            if own and sources:
                files = [(cell, *source) for cell in own for source in sources.items()]
                frame = pd.DataFrame(files, columns=["cell", "file", "sha256"])
                _insert(connection, "sources", frame)
            if failed:
                frame = pd.DataFrame(failed, columns=Failed._fields)
                frame["failed_at"] = datetime.now(UTC).replace(tzinfo=None)
                _insert(connection, "failures", frame)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with _clear_errors(self.path, "written"), _uninterrupted():
            self._connection.begin()
            try:
                yield self._connection
                self._connection.commit()
            except BaseException:
                self._undo()
                raise

    def _undo(self) -> None:
        try:
            self._connection.rollback()
        except duckdb.Error:
            return  # the connection is beyond use, and says so by the error that brought us here


@contextmanager
def writable(directory: str | Path) -> Iterator[Store]:
    """Open the results of a folder for writing, made if need be, and close them in the end."""
    path = Path(directory) / FILE_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(
            f"The folder {str(directory)!r} cannot be made: {error.strerror}."
        ) from error
    connection = _connect(path, read_only=False)
    try:
        _prepare(path, connection)
        yield Store(path, connection)
    finally:
        _close(connection)


@contextmanager
def readable(source: str | Path) -> Iterator[Any]:
    """Open the results of a folder, or a results file by itself, for reading."""
    path = Path(source)
    path = path / FILE_NAME if path.is_dir() else path
    if not path.is_file():
        raise ResultsError(f"There are no results in {str(source)!r}: no file {str(path)!r}.")
    connection = _connect(path, read_only=True)
    try:
        _check_format(path, connection)
        with _clear_errors(path, "read"):
            yield connection
    finally:
        _close(connection)


def _connect(path: Path, *, read_only: bool) -> Any:
    try:
        return duckdb.connect(path, read_only=read_only, config=_CONFIG)
    except duckdb.Error as error:
        text = str(error)
        if "lock" in text and "set lock" in text:
            holder = re.search(r"PID (\d+)", text)
            who = f"process {holder[1]}" if holder else "another process"
            raise ResultsError(
                f"{path} is in use by {who}. Wait until it has finished, or choose another folder."
            ) from error
        advice = _advice(error) if _DAMAGED.search(text) else ""
        raise ResultsError(f"{path} cannot be opened: {_first_line(error)}{advice}") from error


def _prepare(path: Path, connection: Any) -> None:
    with _clear_errors(path, "written"):
        if not connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.begin()
            connection.execute(_TABLES)
            connection.execute("INSERT INTO about VALUES (?)", [FORMAT])
            connection.commit()
    _check_format(path, connection)
    with _clear_errors(path, "written"):
        connection.execute(_SOURCES)


def _check_format(path: Path, connection: Any) -> None:
    with _clear_errors(path, "read"):
        try:
            found = connection.execute("SELECT format FROM about").fetchall()
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise ResultsError(f"{path} holds no results of Crossbandit.") from error
    if found != [(FORMAT,)]:
        raise ResultsError(
            f"{path} was written in another format, {found}. This version of Crossbandit reads "
            f"format {FORMAT}."
        )


@contextmanager
def _clear_errors(path: Path, action: str) -> Iterator[None]:
    """Turn what DuckDB raises into a sentence on the file, and on what to do."""
    try:
        yield
    except duckdb.Error as error:
        text = f"{path} cannot be {action}: {_first_line(error)}{_advice(error)}"
        raise ResultsError(text) from error


def _advice(error: duckdb.Error) -> str:
    """Return what to do; nothing is called intact unless it is known to be."""
    if any(reason in str(error) for reason in _FULL):
        return " What was kept before is intact: make room, and run the same command again."
    if isinstance(error, duckdb.OutOfMemoryException):
        return ""
    return " The file may be damaged: restore it from a copy, or choose another folder."


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for the few milliseconds of a transaction."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda *call: caught.append(call))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught and callable(before):
        before(*caught[0])


def _insert(connection: Any, table: str, rows: pd.DataFrame) -> None:
    names = ", ".join(rows.columns)
    connection.register("fresh", rows)
    connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM fresh")  # noqa: S608
    connection.unregister("fresh")


def _close(connection: Any) -> None:
    try:
        connection.close()
    except duckdb.Error:
        return  # what was committed is in the log beside the file, and is read from there


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0].strip()
    return line if line.endswith((".", "!")) else line + "."
