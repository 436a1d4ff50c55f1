"""A connection to a database that speaks SQL: transactions, and the tables of a new store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from crossbandit.service.causes import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_VERSION = 1  # the version of the tables

# The names of some column types differ between databases.
_TABLES = (
    """CREATE TABLE IF NOT EXISTS bidders (
        id {serial}, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL, owner TEXT NOT NULL,
        paused INTEGER NOT NULL, last BIGINT NOT NULL, created {real} NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS entries (
        bidder BIGINT NOT NULL, first BIGINT NOT NULL, count BIGINT NOT NULL, at {real} NOT NULL,
        kind TEXT NOT NULL, content {bytes} NOT NULL, PRIMARY KEY (bidder, first))""",
    """CREATE TABLE IF NOT EXISTS decisions (
        bidder BIGINT NOT NULL, number BIGINT NOT NULL, after BIGINT NOT NULL, at {real} NOT NULL,
        content {bytes} NOT NULL, PRIMARY KEY (bidder, number))""",
    """CREATE TABLE IF NOT EXISTS checkpoints (
        bidder BIGINT NOT NULL, entry BIGINT NOT NULL, decisions BIGINT NOT NULL,
        content {bytes} NOT NULL, PRIMARY KEY (bidder, entry, decisions))""",
    """CREATE TABLE IF NOT EXISTS policies (
        bidder BIGINT PRIMARY KEY, entry BIGINT NOT NULL, at {real} NOT NULL,
        content {bytes} NOT NULL, figures {bytes} NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS leases (
        bidder BIGINT PRIMARY KEY, holder TEXT NOT NULL, url TEXT, fence BIGINT NOT NULL,
        expires {real} NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS about (version BIGINT NOT NULL)",
)

TABLES_OF_A_BIDDER = ("entries", "decisions", "checkpoints", "policies", "leases")


class Connection(ABC):
    """A connection that is opened when it is first used.

    Attributes:
        types: The names of column types in this database.
        now: An SQL expression for the time of the database.
        shared: The end of a SELECT statement that locks its rows until the transaction ends.
        errors: The errors that the driver raises.
        remedy: The advice to a user whose store cannot be opened.
    """

    types: ClassVar[dict[str, str]]
    now: ClassVar[str]
    shared: ClassVar[str]
    errors: ClassVar[tuple[type[Exception], ...]]
    remedy: ClassVar[str]
    _connection: Any = None

    @abstractmethod
    def _begin(self, *, write: bool) -> None:
        """Begin a transaction, on a new connection if there is none."""

    @abstractmethod
    def _end(self, *, commit: bool) -> None:
        """End the transaction. If that fails, close the connection."""

    @abstractmethod
    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Execute a statement and return its rows."""

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _transaction(self, *, write: bool = True) -> Iterator[None]:
        try:
            self._begin(write=write)
            try:
                yield
            except BaseException:
                self._end(commit=False)
                raise
            self._end(commit=True)
        except self.errors as error:
            raise StoreError(
                f"The store does not answer, or cannot be written: {error}. Nothing was "
                "acknowledged. Try again."
            ) from error

    def _read(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of one statement, in a transaction of its own."""
        with self._transaction(write=False):
            return self._rows(statement, values)

    def set_up(self, name: str) -> None:
        """Create the tables if they do not exist.

        Args:
            name: The name of the store, for messages.

        Raises:
            StoreError: The store cannot be opened, or has another format.
        """
        try:
            with self._transaction():
                self._set_up()
        except StoreError as error:
            if error.__cause__ is None:  # it was opened, and has another format
                raise
            reason = str(error.__cause__).partition("\n")[0].rstrip(".")
            raise StoreError(
                f"The store {name} cannot be opened: {reason}. {self.remedy}"
            ) from error

    def _set_up(self) -> None:
        for statement in _TABLES:
            self._rows(statement.format(**self.types))
        found = self._rows("SELECT version FROM about")
        if not found:
            self._rows("INSERT INTO about (version) VALUES (?)", [_VERSION])
        elif found[0][0] != _VERSION:
            raise StoreError(
                f"The store has format {found[0][0]}, and this version of Crossbandit reads format "
                f"{_VERSION}. Use the version that made it, or another store."
            )
