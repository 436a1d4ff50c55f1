"""A store for several machines: PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import psycopg

from crossbandit.service.store.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

_SETTINGS = (
    "SET synchronous_commit TO on",  # independent of the server's default
    "SET lock_timeout TO '10s'",
    "SET statement_timeout TO '60s'",
    "SET idle_in_transaction_session_timeout TO '60s'",
    "SET default_transaction_isolation TO 'read committed'",
)
_SETTING_UP = 7_210_944  # the advisory lock that is held while tables are created


class PostgresqlSession(Session):
    """A connection to a PostgreSQL database; see `Session`.

    After an error the connection is closed. The next transaction opens a new one.

    Args:
        address: The address of the database.
    """

    types: ClassVar[dict[str, str]] = {
        "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "real": "DOUBLE PRECISION",
        "bytes": "BYTEA",
    }
    now: ClassVar[str] = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
    shared: ClassVar[str] = " FOR SHARE"
    errors: ClassVar[tuple[type[Exception], ...]] = (psycopg.Error, OSError)
    remedy: ClassVar[str] = "Check that it runs, its address, and the rights of its user."

    def __init__(self, address: str) -> None:
        self._address = address

    def _begin(self, *, write: bool) -> None:
        del write
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._address,
                autocommit=True,
                connect_timeout=5,
                keepalives_idle=5,
                keepalives_interval=2,
                keepalives_count=3,
                tcp_user_timeout=10_000,
                application_name="crossbandit",
            )
            for one in _SETTINGS:
                self._connection.execute(one)
        self._connection.execute("BEGIN")

    def _end(self, *, commit: bool) -> None:
        if self._connection is None:
            return
        try:
            self._connection.execute("COMMIT" if commit else "ROLLBACK")
        except psycopg.Error:
            self.close()
            if commit:
                raise

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        if self._connection is None:
            raise psycopg.OperationalError("the connection is closed")
        found = self._connection.execute(
            statement.replace("?", "%s").encode(), values or None, binary=True
        )
        return [] if found.description is None else found.fetchall()

    def _set_up(self) -> None:
        self._rows(f"SELECT pg_advisory_xact_lock({_SETTING_UP})")
        super()._set_up()


class PostgresqlStore:
    """A store in a PostgreSQL database; see `Store`.

    Args:
        address: The address, `postgresql://user@host:port/database`.

    Raises:
        StoreError: The database cannot be opened, or is not a store.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        session = self.session()
        try:
            session.set_up("in PostgreSQL")
        finally:
            session.close()

    def session(self) -> PostgresqlSession:
        """Return a new connection."""
        return PostgresqlSession(self._address)
