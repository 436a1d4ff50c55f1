"""The stores of the service: SQLite for one machine, PostgreSQL for one or more.

Both use the same SQL. What differs is in `SqliteSession` and `PostgresqlSession`.
"""

from __future__ import annotations

import secrets
import sqlite3
from abc import ABC, abstractmethod
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import psycopg

from crossbandit.core.validation import reject, verbatim
from crossbandit.service.causes import LockedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LEASE = 5.0  # how many seconds a lease lasts by default
_KEPT = 2  # the number of checkpoints that are kept
_PIECE = 1000  # the number of rows that are deleted at once
_PATIENCE = 10.0  # seconds that SQLite waits for another process that writes

OUTCOMES, CHANGE = "outcomes", "change"  # kinds of entries


class BidderRow(NamedTuple):
    """A bidder in the store."""

    id: int  # Its number. No other bidder ever has it.
    name: str
    settings: str  # its `BidderSettings` as JSON
    owner: str  # the id of the learner in its tokens
    paused: bool  # whether it is paused
    last: int  # the number of the last entry of its log
    version: int  # the number of the last entry that its policy has learned
    published: float  # when its policy was published
    holder: str  # the holder of the lease; "" if it is free
    url: str | None  # the address of the holder, or None
    created: float  # when it was created


class Entries(NamedTuple):
    """Consecutive entries of a log that were committed together."""

    first: int  # the number of the first entry
    size: int  # the number of entries
    at: float  # when they arrived
    kind: str
    content: bytes  # the outcomes or the change, encoded

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self.first + self.size - 1


class DecisionRow(NamedTuple):
    """A decision of a bidder with limits."""

    number: int  # Its number. Numbers have no gaps.
    after: int  # the number of the last entry that was learned when it was made
    content: bytes  # the request, encoded


class Checkpoint(NamedTuple):
    """The whole state of a bidder."""

    entry: int  # the number of the last entry that was learned
    decisions: int  # the number of decisions made under limits
    content: bytes  # the state, encoded


class PolicyRow(NamedTuple):
    """The newest snapshot of a bidder, and its figures."""

    entry: int  # the number of the last entry that was learned
    at: float  # when it was published
    content: bytes  # the snapshot, encoded
    figures: bytes


# --- writes ------------------------------------------------------------------------------------


class NewBidder(NamedTuple):
    """A bidder that is not in the store yet."""

    name: str
    settings: str
    owner: str
    created: float


class Append(NamedTuple):
    """Add entries to a log."""

    bidder: int
    size: int
    kind: str
    content: bytes
    settings: str | None = None  # the bidder's new settings, with a `CHANGE`
    replaces: str | None = None  # the settings before; if the store has others, nothing is written


class Decide(NamedTuple):
    """Add decisions. Only the holder of the lease may."""

    bidder: int
    fence: int
    rows: list[DecisionRow]


class Keep(NamedTuple):
    """Store a policy, a checkpoint, or both. Only the holder of the lease may."""

    bidder: int
    fence: int
    policy: PolicyRow | None
    checkpoint: Checkpoint | None


Write = Append | Decide | Keep


# --- sessions ------------------------------------------------------------------------------------


_VERSION = 1  # the version of the tables
_KEY = 32  # bytes of a new key

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
    "CREATE TABLE IF NOT EXISTS keys (content {bytes} NOT NULL)",
)

_NEWEST = "FROM checkpoints WHERE bidder = ? ORDER BY entry DESC, decisions DESC"

# Every transaction locks rows in this order, so that there is no deadlock: first those of leases,
# then those of bidders, then those of the other tables; in each table by the number of the bidder.
TABLES_OF_A_BIDDER = ("leases", "bidders", "entries", "decisions", "checkpoints", "policies")


class Session(ABC):
    """A connection to a store, for one thread at a time. Every method is one transaction.

    It is opened when it is first used. All methods raise `StoreError` if the store cannot be
    reached or written. Then nothing has changed, with one exception: if the answer to a commit was
    lost, the commit may have been made.
    """

    types: ClassVar[dict[str, str]]  # the names of column types in this database
    now: ClassVar[str]  # an SQL expression for the time of the database
    errors: ClassVar[tuple[type[Exception], ...]]  # the errors that the driver raises
    locked: ClassVar[tuple[type[Exception], ...]] = ()  # those that say that a row is locked
    remedy: ClassVar[str]  # the advice to a user whose store cannot be opened
    _connection: Any = None

    def __init__(
        self, address: str, lease: float, patience: float, file: int | None = None
    ) -> None:
        self._address, self._longest, self._patience, self._file = address, lease, patience, file

    @abstractmethod
    def _begin(self, *, write: bool) -> None:
        """Begin a transaction, on a new connection if there is none."""

    @abstractmethod
    def _execute(self, statement: str, values: Sequence[Any]) -> Any:
        """Execute a statement and return the cursor."""

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Execute a statement and return its rows."""
        if self._connection is None:
            raise self.errors[0]("the connection is closed")
        found = self._execute(statement, values)
        return [] if found.description is None else found.fetchall()

    def _lock(self, strength: str, *, wait: bool) -> str:
        """Return the end of a SELECT statement that locks its rows until the transaction ends.

        If `wait` is False, the statement leaves out rows that another transaction has locked. By
        default it locks nothing, for a database with one writer at a time.
        """
        del strength, wait
        return ""

    def file(self) -> int | None:
        """Return the number of the file of the store; None if it is no file."""
        return None

    def _end(self, *, commit: bool) -> None:
        """End the transaction. If that fails, close the connection, which rolls back."""
        if self._connection is None:
            return
        try:
            self._connection.execute("COMMIT" if commit else "ROLLBACK")
        except self.errors:
            self.close()
            if commit:
                raise

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
        except self.locked as error:
            raise LockedError(
                f"Another process writes for this bidder, and does not end: {error}. Nothing was "
                "acknowledged. Try again in a few seconds."
            ) from error
        except self.errors as error:
            raise StoreError(
                f"The store does not answer, or cannot be written: {error}. Nothing was "
                "acknowledged. Try again."
            ) from error

    def _insert(self, table: str, end: str = "", **row: Any) -> list[Any]:
        """Insert a row."""
        return self._insert_all(table, tuple(row), [tuple(row.values())], end)

    def _insert_all(
        self, table: str, names: Sequence[str], rows: Sequence[tuple[Any, ...]], end: str = ""
    ) -> list[Any]:
        """Insert rows with one statement: each lets other threads run, and has to wait for them."""
        marks = f"({', '.join('?' * len(names))})"
        values = ", ".join([marks] * len(rows))
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES {values} {end}"
        return self._rows(statement, [one for row in rows for one in row])

    def _read(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of one statement, in a transaction of its own."""
        with self._transaction(write=False):
            return self._rows(statement, values)

    def set_up(self, name: str) -> None:
        """Create the tables if they do not exist."""
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
            self._insert("about", version=_VERSION)
            # A store from before there was a key has none: tokens that were given out are unsigned.
            self._insert("keys", content=secrets.token_bytes(_KEY))
        elif found[0][0] != _VERSION:
            raise StoreError(
                f"The store has format {found[0][0]}, and this version of Crossbandit reads format "
                f"{_VERSION}. Use the version that made it, or another store."
            )

    def key(self) -> bytes | None:
        """Return the key that the store keeps for signing tokens; None if it has none."""
        rows = self._read("SELECT content FROM keys")
        return bytes(rows[0][0]) if rows else None

    # --- bidders -------------------------------------------------------------------------------

    def bidders(self) -> list[BidderRow]:
        """Return all bidders, by name."""
        rows = self._read(
            "SELECT b.id, b.name, b.settings, b.owner, b.paused, b.last, p.entry, p.at, "
            f"l.holder, l.url, b.created, l.expires > {self.now} FROM bidders b "
            "JOIN policies p ON p.bidder = b.id JOIN leases l ON l.bidder = b.id "
            "ORDER BY b.name"
        )
        return [
            BidderRow(*row[:-1])._replace(paused=bool(row[4]), holder=row[8] if row[-1] else "")
            for row in rows
        ]

    def create(self, bidder: NewBidder, policy: PolicyRow, checkpoint: Checkpoint) -> bool:
        """Add a bidder; return False if a bidder of that name exists."""
        with self._transaction():
            once = "ON CONFLICT (name) DO NOTHING RETURNING id"
            made = self._insert("bidders", once, **bidder._asdict(), paused=0, last=0)
            if not made:
                return False
            number = int(made[0][0])
            self._insert("leases", bidder=number, holder="", url=None, fence=0, expires=0.0)
            self._keep_policy(number, policy)
            self._keep_checkpoint(number, checkpoint)
        return True

    def delete(self, bidder: int) -> bool:
        """Delete a bidder and its log; return False if it does not exist."""
        found = []
        with self._transaction():
            for table in TABLES_OF_A_BIDDER:
                where = "id = ? RETURNING id" if table == "bidders" else "bidder = ?"
                found += self._rows(f"DELETE FROM {table} WHERE {where}", [bidder])
        return bool(found)

    def pause(self, bidder: int, *, paused: bool) -> bool:
        """Pause or resume a bidder; return False if it does not exist."""
        change = "UPDATE bidders SET paused = ? WHERE id = ? RETURNING id"
        with self._transaction():
            return bool(self._rows(change, [int(paused), bidder]))

    # --- writing -------------------------------------------------------------------------------

    def write(self, writes: list[Write], at: float, *, wait: bool = True) -> list[bool | None]:
        """Make all writes that are allowed, in one transaction, durable on return."""
        done: list[bool | None] = [False] * len(writes)
        fenced = sorted({one.bidder for one in writes if not isinstance(one, Append)})
        # The order of locks: see `TABLES_OF_A_BIDDER`.
        order = sorted(
            range(len(writes)), key=lambda i: (writes[i].bidder, not isinstance(writes[i], Append))
        )
        with self._transaction():
            leases = {bidder: self._lease(bidder, wait=wait) for bidder in fenced}
            for i in order:
                one = writes[i]
                if isinstance(one, Append):
                    done[i] = self._append(one, at, wait=wait)
                elif (lease := leases[one.bidder]) is None:
                    done[i] = None
                elif lease == [(one.fence,)]:
                    done[i] = self._write_fenced(one, at)
                    if not done[i]:  # a later checkpoint may contain the refused decisions
                        leases[one.bidder] = []
        return done

    def _lease(self, bidder: int, *, wait: bool) -> list[Any] | None:
        """Return the row with the fence, which nobody can change until the transaction ends.

        The lock keeps others from taking the lease over, or from deleting the bidder. It does not
        keep the holder from renewing the lease.
        """
        select = "SELECT fence FROM leases WHERE bidder"
        return self._locked_row(select, bidder, "KEY SHARE", wait=wait)

    def _locked_row(
        self, select: str, bidder: int, strength: str, *, wait: bool
    ) -> list[Any] | None:
        """Lock a row and return it in a list; None if it stays locked by another transaction."""
        found = self._rows(f"{select} = ?{self._lock(strength, wait=wait)}", [bidder])
        if not found and not wait and self._rows(f"{select} = ?", [bidder]):
            return None
        return found

    def _append(self, one: Append, at: float, *, wait: bool) -> bool | None:
        if not wait:
            row = "SELECT id FROM bidders WHERE id"
            if self._locked_row(row, one.bidder, "NO KEY UPDATE", wait=wait) is None:
                return None
        found = self._rows(
            "UPDATE bidders SET last = last + ?, settings = COALESCE(?, settings) "
            "WHERE id = ? AND settings = COALESCE(?, settings) RETURNING last",
            [one.size, one.settings, one.bidder, one.replaces],
        )
        if not found:
            return False
        first = int(found[0][0]) - one.size + 1
        added: dict[str, Any] = {"bidder": one.bidder, "first": first, "count": one.size, "at": at}
        self._insert("entries", **added, kind=one.kind, content=one.content)
        return True

    def _write_fenced(self, one: Decide | Keep, at: float) -> bool:
        if isinstance(one, Decide):
            if self._rows(
                "SELECT number FROM decisions WHERE bidder = ? AND number >= ? LIMIT 1",
                [one.bidder, one.rows[0].number],
            ):
                return False  # another process has made it, under the same lease
            names = ("bidder", "at", *DecisionRow._fields)
            rows = [(one.bidder, at, *row) for row in one.rows]
            for start in range(0, len(rows), _PIECE):
                self._insert_all("decisions", names, rows[start : start + _PIECE])
            return True
        if one.policy is not None:
            self._keep_policy(one.bidder, one.policy)
        if one.checkpoint is not None:
            self._keep_checkpoint(one.bidder, one.checkpoint)
        return True

    def _keep_policy(self, bidder: int, policy: PolicyRow) -> None:
        replace = (
            "ON CONFLICT (bidder) DO UPDATE SET entry = excluded.entry, at = excluded.at, "
            "content = excluded.content, figures = excluded.figures"
        )
        self._insert("policies", replace, bidder=bidder, **policy._asdict())

    def _keep_checkpoint(self, bidder: int, checkpoint: Checkpoint) -> None:
        replace = "ON CONFLICT (bidder, entry, decisions) DO UPDATE SET content = excluded.content"
        self._insert("checkpoints", replace, bidder=bidder, **checkpoint._asdict())
        for old in self._rows(f"SELECT entry, decisions {_NEWEST}", [bidder])[_KEPT:]:
            delete = "DELETE FROM checkpoints WHERE bidder = ? AND entry = ? AND decisions = ?"
            self._rows(delete, [bidder, *old])

    # --- reading -------------------------------------------------------------------------------

    def entries(self, bidder: int, after: int, count: int) -> list[Entries]:
        """Return the entries after number `after`, in order: about `count` of them."""
        rows = self._read(
            "SELECT first, count, at, kind, content FROM entries "
            "WHERE bidder = ? AND first > ? AND first <= ? ORDER BY first",
            [bidder, after, after + count],
        )
        return [Entries(*row) for row in rows]

    def decisions(self, bidder: int, first: int) -> list[DecisionRow]:
        """Return the decisions from number `first` on."""
        where = "WHERE bidder = ? AND number >= ? ORDER BY number"
        rows = self._read(f"SELECT number, after, content FROM decisions {where}", [bidder, first])
        return [DecisionRow(*row) for row in rows]

    def checkpoints(self, bidder: int) -> list[Checkpoint]:
        """Return the checkpoints, the newest first."""
        rows = self._read(f"SELECT entry, decisions, content {_NEWEST}", [bidder])
        return [Checkpoint(*row) for row in rows]

    def policy(self, bidder: int) -> PolicyRow | None:
        """Return the policy."""
        select = "SELECT entry, at, content, figures FROM policies WHERE bidder = ?"
        rows = self._read(select, [bidder])
        return PolicyRow(*rows[0]) if rows else None

    # --- leases --------------------------------------------------------------------------------

    def take_leases(
        self, wanted: Mapping[int, int], holder: str, url: str | None, seconds: float
    ) -> dict[int, int]:
        """Take or renew leases; return the fence of each lease that the holder now has.

        `wanted` has the fence under which the holder has a state of a bidder, or 0 if it has none:
        each state has a fence of its own. So nothing that was decided in an earlier state can be
        written once a later one is read. Otherwise a checkpoint might lack decisions that the log
        has.

        This waits for no other process. A lease that is locked stays as it is, until the next time.
        """
        # A lease that ends too late was taken before the clock of the database was set back.
        free = f"(expires < {self.now} OR expires > {self.now} + ? OR (holder = ? AND ? = 0))"
        # Whoever writes under the present fence has locked the row (`_lease`). That must keep
        # others from taking the lease, so they lock the row for more than this UPDATE needs.
        take = (
            f"UPDATE leases SET fence = fence + 1, holder = ?, url = ?, expires = {self.now} + ? "
            f"WHERE bidder = (SELECT bidder FROM leases WHERE bidder = ? AND {free}"
            f"{self._lock('UPDATE', wait=False)}) RETURNING fence"
        )
        own = "FROM leases WHERE bidder = ? AND holder = ? AND fence = ?"
        renew = (
            f"UPDATE leases SET url = ?, expires = {self.now} + ? WHERE bidder = (SELECT bidder "
            f"{own}{self._lock('NO KEY UPDATE', wait=False)}) RETURNING fence"
        )
        fences = {}
        with self._transaction():
            for bidder, fence in sorted(wanted.items()):
                mine = [bidder, holder, fence]
                found = (
                    self._rows(renew, [url, seconds, *mine])
                    or self._rows(f"SELECT fence {own}", mine)  # it is locked
                    or self._rows(take, [holder, url, seconds, bidder, 4 * seconds, holder, fence])
                )
                if found:
                    fences[bidder] = int(found[0][0])
        return fences

    def end_lease(self, bidder: int, holder: str) -> None:
        """End the lease of a bidder if this holder has it, and nobody has locked it."""
        select = "SELECT bidder FROM leases WHERE bidder = ? AND holder = ?"
        lock = self._lock("NO KEY UPDATE", wait=False)
        with self._transaction():
            self._rows(
                f"UPDATE leases SET expires = 0 WHERE bidder = ({select}{lock})", [bidder, holder]
            )

    # --- old entries ---------------------------------------------------------------------------

    def prune(self, bidder: int, before: float) -> int:
        """Delete entries from before a time that no recovery needs; return how many."""
        lease = "SELECT bidder FROM leases WHERE bidder"
        with self._transaction():
            # Nobody else may delete the same rows meanwhile, perhaps in another order.
            alone = self._locked_row(lease, bidder, "NO KEY UPDATE", wait=False)
            kept = self._rows(f"SELECT entry, decisions {_NEWEST}", [bidder])
            if not alone or len(kept) < _KEPT:
                return 0
            entry, decisions = kept[-1]
            old = self._rows(
                "SELECT first FROM entries WHERE bidder = ? AND at < ? AND first + count - 1 <= ? "
                "ORDER BY first LIMIT ?",
                [bidder, before, entry, _PIECE],
            )
            if old:
                self._rows(
                    "DELETE FROM entries WHERE bidder = ? AND first <= ? AND at < ?",
                    [bidder, old[-1][0], before],
                )
            self._rows(
                "DELETE FROM decisions WHERE bidder = ? AND number < ? AND at < ?",
                [bidder, decisions, before],
            )
        return len(old)


# --- stores --------------------------------------------------------------------------------------


class SqliteSession(Session):
    """A connection to an SQLite file with a write-ahead log. Every commit is on the disk."""

    types: ClassVar[dict[str, str]] = {
        "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "real": "REAL",
        "bytes": "BLOB",
    }
    now: ClassVar[str] = "((julianday('now') - 2440587.5) * 86400.0)"
    errors: ClassVar[tuple[type[Exception], ...]] = (sqlite3.Error,)
    remedy: ClassVar[str] = (
        "Give the path of a store, or of a new file in a folder that exists and can be written."
    )

    def file(self) -> int | None:
        try:
            return Path(self._address).stat().st_ino
        except OSError:
            return None

    def _connect(self) -> sqlite3.Connection:
        made = sqlite3.connect(
            self._address, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("PRAGMA synchronous = FULL")
        return made

    def _begin(self, *, write: bool) -> None:
        if self._file is not None and self.file() != self._file:
            # Data written to a deleted file would be lost when the process ends.
            self.close()
            raise sqlite3.OperationalError(
                f"{self._address} was deleted or replaced. Put it back and start the service again"
            )
        if self._connection is None:
            self._connection = self._connect()
        self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def _end(self, *, commit: bool) -> None:
        if self._connection is not None and self._connection.in_transaction:
            super()._end(commit=commit)

    def _execute(self, statement: str, values: Sequence[Any]) -> Any:
        return self._connection.execute(statement, values)


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

    def _execute(self, statement: str, values: Sequence[Any]) -> Any:
        marked = statement.replace("?", "%s").encode()
        return self._connection.execute(marked, values or None, binary=True)

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


class Store:
    """A database. Processes that open the same one share its bidders.

    Args:
        kind: The class of its connections.
        address: The path of a file, or an address.
        name: Its name in messages.
    """

    def __init__(self, kind: type[Session], address: str, name: str) -> None:
        self._kind, self._address = kind, address
        self._file: int | None = None
        with closing(self.session()) as session:
            session.set_up(name)
            self._file = session.file()

    def session(self, lease: float = LEASE, patience: float | None = None) -> Session:
        """Return a new connection.

        Args:
            lease: How many seconds leases last. No stopped process keeps locks for longer.
            patience: How many seconds to wait for a locked row; None for the length of a lease.
        """
        patience = lease if patience is None else patience
        return self._kind(self._address, lease, patience, self._file)


def open_store(address: str | Path) -> Store:
    """Return a store.

    Args:
        address: The path of an SQLite file, `sqlite:///path`, or `postgresql://...`.

    Raises:
        StoreError: The store cannot be opened.
        InvalidParameterError: The address has another form.
    """
    text = str(address)
    if text.startswith(("postgresql://", "postgres://")):
        return Store(PostgresqlSession, text, "in PostgreSQL")
    path = text.removeprefix("sqlite:///")
    if not path or "://" in path:
        expected = "the path of a file, 'sqlite:///path' or 'postgresql://...'"
        got = verbatim(f"one that begins with {path.partition('://')[0]!r}")  # hides passwords
        reject("open_store", "address", expected, got)
    return Store(SqliteSession, str(Path(path)), repr(str(Path(path))))
