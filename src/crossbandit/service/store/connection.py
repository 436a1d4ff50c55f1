"""A connection to a database that speaks SQL: transactions, and the tables of a new store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from crossbandit.service.causes import StoreError
from crossbandit.service.store.tables import TABLES, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class SqlConnection(ABC):
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

    @abstractmethod
    def _begin(self, *, write: bool) -> None:
        """Begin a transaction, on a new connection if there is none."""

    @abstractmethod
    def _end(self, *, commit: bool) -> None:
        """End the transaction. If that fails, close the connection."""

    @abstractmethod
    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Execute a statement and return its rows."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

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
        for statement in TABLES:
            self._rows(statement.format(**self.types))
        found = self._rows("SELECT version FROM about")
        if not found:
            self._rows("INSERT INTO about (version) VALUES (?)", [VERSION])
        elif found[0][0] != VERSION:
            raise StoreError(
                f"The store has format {found[0][0]}, and this version of Crossbandit reads format "
                f"{VERSION}. Use the version that made it, or another store."
            )
