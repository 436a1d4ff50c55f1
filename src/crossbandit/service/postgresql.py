"""What a store in PostgreSQL does in another way than one in SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import psycopg

from crossbandit.service.store import Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SETTINGS = (
    "SET synchronous_commit TO on",  # independent of the server's default
    "SET statement_timeout TO '60s'",
    "SET default_transaction_isolation TO 'read committed'",
)
# No time limit of the server holds while it waits for the rest of a statement. A process that was
# stopped while it sent one would keep its locks.
_END_STOPPED = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
    "AND usename = current_user AND application_name = 'crossbandit' AND backend_xid IS NOT NULL "
    "AND wait_event_type = 'Client' AND state_change < clock_timestamp() - make_interval(secs => ?)"
)
_SETTING_UP = 7_210_944  # the advisory lock that is held while tables are created


class PostgresqlSession(Session):
    """A connection to a PostgreSQL database; see `Session`.

    After an error the connection is closed. The next transaction opens a new one.
    """

    types: ClassVar[dict[str, str]] = {
        "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "real": "DOUBLE PRECISION",
        "bytes": "BYTEA",
    }
    now: ClassVar[str] = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
    errors: ClassVar[tuple[type[Exception], ...]] = (psycopg.Error, OSError)
    locked: ClassVar[tuple[type[Exception], ...]] = (
        psycopg.errors.LockNotAvailable,
        psycopg.errors.DeadlockDetected,
    )
    remedy: ClassVar[str] = "Check that it runs, its address, and the rights of its user."

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
            # A process that was stopped inside a transaction must not keep its locks for longer
            # than its leases. Otherwise no other process could take them over when they end.
            limits = (
                f"SET idle_in_transaction_session_timeout TO {_milliseconds(self._longest / 2)}",
                f"SET lock_timeout TO {_milliseconds(self._patience)}",
            )
            for one in (*_SETTINGS, *limits):
                self._connection.execute(one.encode())
        self._connection.execute("BEGIN")

    def _lock(self, strength: str, *, wait: bool) -> str:
        return f" FOR {strength}" if wait else f" FOR {strength} SKIP LOCKED"

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        if self._connection is None:
            raise psycopg.OperationalError("the connection is closed")
        found = self._connection.execute(
            statement.replace("?", "%s").encode(), values or None, binary=True
        )
        return [] if found.description is None else found.fetchall()

    def take_leases(
        self, wanted: Mapping[int, int], holder: str, url: str | None, seconds: float
    ) -> dict[int, int]:
        """Take or renew leases and end transactions for which a process has sent nothing lately."""
        self._read(_END_STOPPED, [self._longest])
        return super().take_leases(wanted, holder, url, seconds)

    def _set_up(self) -> None:
        self._rows(f"SELECT pg_advisory_xact_lock({_SETTING_UP})")
        super()._set_up()


def _milliseconds(seconds: float) -> int:
    return max(round(1000 * seconds), 1)  # 0 would mean no limit
