"""The stores of the service: SQLite for one machine, PostgreSQL for one or more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.service.store.session import Session, Store
from crossbandit.service.store.sqlite import SqliteStore
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Session", "SqliteStore", "Store", "open_store"]

_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql://", "postgres://")


def open_store(address: str | Path) -> Store:
    """Return a store.

    Args:
        address: The path of an SQLite file, `sqlite:///path`, or `postgresql://...`.

    Raises:
        StoreError: The store cannot be opened.
        InvalidParameterError: The address has another form.
    """
    text = str(address)
    if text.startswith(_POSTGRESQL):
        from crossbandit.service.store.postgresql import PostgresqlStore

        return PostgresqlStore(text)
    path = text.removeprefix(_SQLITE)
    if not path or "://" in path:
        expected = "the path of a file, 'sqlite:///path' or 'postgresql://...'"
        got = verbatim(f"one that begins with {path.partition('://')[0]!r}")  # hides passwords
        reject("open_store", "address", expected, got)
    return SqliteStore(path)
