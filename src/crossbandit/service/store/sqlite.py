"""A store in one file: SQLite with a write-ahead log. Every commit is synchronised to the disk."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from crossbandit.service.store.session import LEASE, Session

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATIENCE = 10.0  # seconds to wait for another process that writes


class SqliteSession(Session):
    """A connection to an SQLite file; see `Session`."""

    types: ClassVar[dict[str, str]] = {
        "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "real": "REAL",
        "bytes": "BLOB",
    }
    now: ClassVar[str] = "((julianday('now') - 2440587.5) * 86400.0)"
    errors: ClassVar[tuple[type[Exception], ...]] = (sqlite3.Error,)
    locked: ClassVar[tuple[type[Exception], ...]] = ()
    remedy: ClassVar[str] = (
        "Give the path of a store, or of a new file in a folder that exists and can be written."
    )

    def __init__(self, path: Path, number: int | None = None) -> None:
        self._path, self._number = path, number

    def _connect(self) -> sqlite3.Connection:
        made = sqlite3.connect(
            self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("PRAGMA synchronous = FULL")
        return made

    def _begin(self, *, write: bool) -> None:
        if self._number is not None and file_number(self._path) != self._number:
            # Data written to a deleted file would be lost when the process ends.
            self.close()
            raise sqlite3.OperationalError(
                f"{self._path} was deleted or replaced. Put it back and start the service again"
            )
        if self._connection is None:
            self._connection = self._connect()
        self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def _end(self, *, commit: bool) -> None:
        connection = self._connection
        if connection is None or not connection.in_transaction:
            return
        try:
            connection.execute("COMMIT" if commit else "ROLLBACK")
        except sqlite3.Error:
            self.close()  # closing rolls back
            raise

    def _lock(self, strength: str, *, wait: bool) -> str:
        del strength, wait
        return ""  # SQLite has one writer at a time

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the connection is closed")
        found: list[Any] = self._connection.execute(statement, values).fetchall()
        return found


class SqliteStore:
    """A store in an SQLite file; see `Store`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        session = SqliteSession(self.path)
        try:
            session.set_up(repr(str(self.path)))
        finally:
            session.close()
        self._number = file_number(self.path)

    def session(self, lease: float = LEASE, patience: float | None = None) -> SqliteSession:
        """Return a new connection."""
        del lease, patience
        return SqliteSession(self.path, self._number)


def file_number(path: Path) -> int | None:
    """Return the inode number of a file; None if the file does not exist."""
    try:
        return path.stat().st_ino
    except OSError:
        return None
