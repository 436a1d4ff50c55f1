"""The results of a study: one DuckDB file in its folder, written by one process at a time.

`cells` holds finished runs, and rows are only ever added to it. `members` says which cells belong
to which study and part, and under which names. `failures` holds errors with their time in UTC.
`sources` says with which files of the user a cell was computed. `about` holds the format.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd

from crossbandit.errors import ResultsError
from crossbandit.studies.plan import FORMAT, CellFailure, CellResult, own_builders

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from types import FrameType

    from crossbandit.studies.plan import Study


FILE_NAME = "results.duckdb"

_TEXT, _COUNT, _NUMBER = "VARCHAR NOT NULL", "BIGINT NOT NULL", "DOUBLE NOT NULL"
_CELL = {"cell": _TEXT, "environment": _TEXT, "algorithm": _TEXT, "seed": _COUNT}
_TABLES: Mapping[str, Mapping[str, str]] = {
    "about": {"format": "INTEGER NOT NULL"},
    "cells": {
        **_CELL,
        "cell": "VARCHAR PRIMARY KEY",
        "horizon": _COUNT,
        "final_regret": _NUMBER,
        "loss": _NUMBER,
        "comparator_loss": _NUMBER,
        "seconds": _NUMBER,
        "version": _TEXT,
        "curve_rounds": "BIGINT[] NOT NULL",
        "curve_regret": "DOUBLE[] NOT NULL",
        "provenance": "VARCHAR",
        "parameters": "VARCHAR",
    },
    "members": {
        "study": _TEXT,
        "part": _TEXT,
        "cell": _TEXT,
        "environment_name": _TEXT,
        "algorithm_name": _TEXT,
        "position": _COUNT,
    },
    "failures": {
        **_CELL,
        "error": _TEXT,
        "version": _TEXT,
        "failed_at": "TIMESTAMP NOT NULL",
        "location": "VARCHAR",
        "traceback": "VARCHAR",
        "provenance": "VARCHAR",
    },
    "sources": {"cell": _TEXT, "file": _TEXT, "sha256": _TEXT},
}

# The system's messages if a disk, a quota or a file is full. DuckDB gives only this text.
_FULL = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
# Messages of DuckDB for a DuckDB file that it cannot open.
_DAMAGED = re.compile(r"enough bytes|corrupt|checksum|replaying WAL", re.IGNORECASE)

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "python_enable_replacements": False,  # DuckDB must not use Python variables as tables
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
}


def connect(path: Path, *, read_only: bool) -> Any:
    """Return a connection to a results file, whose contents are checked."""
    try:
        connection = duckdb.connect(path, read_only=read_only, config=_CONFIG)
    except duckdb.Error as error:
        raise _cannot_open(path, error) from error
    try:
        if not read_only:
            _create(path, connection)
        _check(path, connection)
    except BaseException:
        close(connection)
        raise
    return connection


def close(connection: Any) -> None:
    """Close a connection. What was committed is safe even if this fails."""
    with suppress(duckdb.Error):  # the next opening takes the rest from the log file
        connection.close()


def columns(connection: Any, table: str) -> dict[str, str]:
    """Return the types of the columns of a table, by their names."""
    rows = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() "
        "WHERE table_name = ? AND NOT internal ORDER BY column_index",
        [table],
    ).fetchall()
    return dict(rows)


@contextmanager
def clear_errors(path: Path, action: str) -> Iterator[None]:
    """Turn an error of DuckDB into a sentence that names the file and what to do."""
    try:
        yield
    except RuntimeError as error:
        if "Query interrupted" in str(error):  # this is how DuckDB reports Ctrl-C
            raise KeyboardInterrupt from error
        raise
    except duckdb.Error as error:
        text = f"{path} cannot be {action}: {_first_line(error)}{_advice(error)}"
        raise ResultsError(text) from error


def _cannot_open(path: Path, error: duckdb.Error) -> ResultsError:
    text = str(error)
    if "lock" in text and "set lock" in text:
        holder = re.search(r"PID (\d+)", text)
        who = f"process {holder[1]}" if holder else "another process"
        return ResultsError(
            f"{path} is in use by {who}. Wait until it has finished, or choose another folder."
        )
    advice = _advice(error) if _DAMAGED.search(text) else ""
    return ResultsError(f"{path} cannot be opened: {_first_line(error)}{advice}")


def _create(path: Path, connection: Any) -> None:
    """Create the tables of a new file."""
    with clear_errors(path, "written"):
        if not connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.begin()
            for table, types in _TABLES.items():
                connection.execute(f"CREATE TABLE {table} ({_definition(types)})")
            connection.execute("INSERT INTO about VALUES (?)", [FORMAT])
            connection.commit()


def _definition(types: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in types.items())


def _check(path: Path, connection: Any) -> None:
    """Raise unless the file has this format, and the tables of this format with their types."""
    with clear_errors(path, "read"):
        code = connection.execute(
            "SELECT view_name FROM duckdb_views() WHERE NOT internal UNION ALL "
            "SELECT function_name FROM duckdb_functions() WHERE NOT internal"
        ).fetchall()
        if code:
            raise ResultsError(
                f"{path} is not a plain results file: it contains the view or macro "
                f"{code[0][0]!r}, which could run code of the file's author. Use a file that "
                "contains tables only."
            )
        try:
            found = connection.execute("SELECT format FROM about").fetchall()
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise ResultsError(f"{path} contains no results of Crossbandit.") from error
        if found != [(FORMAT,)]:
            raise ResultsError(
                f"{path} was written in another format, {found}. This version of Crossbandit reads "
                f"format {FORMAT}. Read it with the version that wrote it, or run the study again."
            )
        for table, types in _TABLES.items():
            _check_table(path, connection, table, types)


def _check_table(path: Path, connection: Any, table: str, types: Mapping[str, str]) -> None:
    present = columns(connection, table)
    for name, definition in types.items():
        wanted = definition.partition(" ")[0]
        if present.get(name, wanted) != wanted:
            raise ResultsError(
                f"{path} is not a plain results file: the column {name!r} of its table {table!r} "
                f"must be of type {wanted}. Got {present[name]}."
            )
        if present and name not in present:
            raise ResultsError(
                f"{path} is not a plain results file: its table {table!r} has no column {name!r}."
            )


def _advice(error: duckdb.Error) -> str:
    """Return advice. It says that data is intact only if that is known."""
    if any(reason in str(error) for reason in _FULL):
        return " Earlier results are intact. Free some space, and run the same command again."
    if isinstance(error, duckdb.OutOfMemoryException):
        return ""
    return " The file may be damaged: restore it from a copy, or choose another folder."


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0].strip()
    return line if line.endswith((".", "!")) else line + "."


class ResultStore:
    """An open results file."""

    def __init__(self, path: Path, connection: Any) -> None:
        self.path = path
        self._connection = connection

    def enroll(self, study: Study) -> None:
        """Store which cells belong to the study. A changed name replaces the old one."""
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
        names = ", ".join(plan.columns)
        with self._transaction() as connection, _registered(connection, plan, "plan"):
            new = connection.execute(
                f"SELECT count(*) FROM (SELECT {names} FROM plan EXCEPT "  # noqa: S608
                f"SELECT {names} FROM members)"
            ).fetchall()
            if new[0][0]:
                connection.execute(
                    "DELETE FROM members USING plan WHERE members.study = plan.study "
                    "AND members.part = plan.part AND members.cell = plan.cell"
                )
                _insert(connection, "members", plan)

    def finished(self) -> set[str]:
        """Return the keys of all finished cells."""
        with clear_errors(self.path, "read"):
            rows = self._connection.execute("SELECT cell FROM cells").fetchall()
        return {row[0] for row in rows}

    def provenances(self, cells: Collection[str]) -> set[str | None]:
        """Return the different provenances of the given cells; None if there is none."""
        with clear_errors(self.path, "read"):
            rows = self._connection.execute("SELECT cell, provenance FROM cells").fetchall()
        return {provenance for cell, provenance in rows if cell in cells}

    def changed(self, cells: Collection[str], sources: Mapping[str, str]) -> dict[str, int]:
        """Return which files have changed since cells were computed with them."""
        with clear_errors(self.path, "read"):
            rows = self._connection.execute("SELECT file, sha256, cell FROM sources").fetchall()
        now = set(sources.values())
        old = [file for file, hash_, cell in rows if hash_ not in now and cell in cells]
        return dict(Counter(old))

    def add(self, results: Sequence[CellResult | CellFailure], sources: Mapping[str, str]) -> None:
        """Store a batch completely or not at all. When this returns, it survives a crash."""
        finished = [result for result in results if isinstance(result, CellResult)]
        failed = [result for result in results if isinstance(result, CellFailure)]
        with self._transaction() as connection:
            if finished:
                _insert(connection, "cells", pd.DataFrame(finished, columns=CellResult._fields))
            own = [cell.cell for cell in finished if own_builders(cell.environment, cell.algorithm)]
            if own and sources:
                files = [(cell, *source) for cell in own for source in sources.items()]
                frame = pd.DataFrame(files, columns=["cell", "file", "sha256"])
                _insert(connection, "sources", frame)
            if failed:
                frame = pd.DataFrame(failed, columns=CellFailure._fields)
                frame["failed_at"] = datetime.now(UTC).replace(tzinfo=None)
                _insert(connection, "failures", frame)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with clear_errors(self.path, "written"), _interrupts_deferred():
            self._connection.begin()
            try:
                yield self._connection
                self._connection.commit()
            except BaseException:
                with suppress(duckdb.Error):  # the first error says why it is broken
                    self._connection.rollback()
                raise


@contextmanager
def writable(directory: str | Path) -> Iterator[ResultStore]:
    """Open the results of a folder for writing."""
    path = Path(directory) / FILE_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(
            f"The folder {str(directory)!r} cannot be created: {error.strerror}."
        ) from error
    connection = connect(path, read_only=False)
    try:
        yield ResultStore(path, connection)
    finally:
        close(connection)


@contextmanager
def readable(source: str | Path) -> Iterator[tuple[Path, Any]]:
    """Open results for reading; yield the path of the file and a connection."""
    path = Path(source)
    path = path / FILE_NAME if path.is_dir() else path
    if not path.is_file():
        raise ResultsError(
            f"There are no results in {str(source)!r}. The file {str(path)!r} does not exist. Give "
            "the folder of a study that was run, or its results file."
        )
    connection = connect(path, read_only=True)
    try:
        with clear_errors(path, "read"):
            yield path, connection
    finally:
        close(connection)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Delay Ctrl-C until a transaction has ended, a few milliseconds later."""
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


@contextmanager
def _registered(connection: Any, rows: pd.DataFrame, name: str) -> Iterator[None]:
    connection.register(name, rows)
    yield
    connection.unregister(name)


def _insert(connection: Any, table: str, rows: pd.DataFrame) -> None:
    names = ", ".join(rows.columns)
    with _registered(connection, rows, "fresh"):
        connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM fresh")  # noqa: S608
