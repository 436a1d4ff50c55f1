"""The results of a study: one DuckDB file in its folder, written by one process at a time.

`cells` holds finished runs, and rows are only ever added to it. `members` says which cells belong
to which study and part, and under which names. `failures` holds errors with their time in UTC.
`sources` says with which files of the user a cell was computed. `about` holds the format.
"""

from __future__ import annotations

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
from crossbandit.studies.database import FILE_NAME, clear_errors, close, connect
from crossbandit.studies.plan import own_builders
from crossbandit.studies.worker import CellFailure, CellResult

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from types import FrameType

    from crossbandit.studies.plan import Study


class Store:
    """An open results file.

    Args:
        path: The file, for messages.
        connection: The connection to it.
    """

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
        """Return which files have changed since cells were computed with them.

        Args:
            cells: The keys of the cells in question.
            sources: The SHA-256 of the files as they are now. A file that was only renamed has not
                changed.

        Returns:
            The number of cells, by file.
        """
        with clear_errors(self.path, "read"):
            rows = self._connection.execute("SELECT file, sha256, cell FROM sources").fetchall()
        now = set(sources.values())
        old = [file for file, hash_, cell in rows if hash_ not in now and cell in cells]
        return dict(Counter(old))

    def add(self, results: Sequence[CellResult | CellFailure], sources: Mapping[str, str]) -> None:
        """Store a batch completely or not at all. When this returns, it survives a crash.

        Args:
            results: The batch.
            sources: The SHA-256 of each file of the user with which it was computed.
        """
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
def writable(directory: str | Path) -> Iterator[Store]:
    """Open the results of a folder for writing.

    Args:
        directory: The folder; it is created if it does not exist.
    """
    path = Path(directory) / FILE_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(
            f"The folder {str(directory)!r} cannot be created: {error.strerror}."
        ) from error
    connection = connect(path, read_only=False)
    try:
        yield Store(path, connection)
    finally:
        close(connection)


@contextmanager
def readable(source: str | Path) -> Iterator[tuple[Path, Any]]:
    """Open results for reading; yield the path of the file and a connection.

    Args:
        source: A folder with a results file, or a results file.
    """
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
