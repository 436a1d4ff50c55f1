"""Read and write a store, with SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from crossbandit.service.store.connection import TABLES_OF_A_BIDDER, Connection
from crossbandit.service.store.rows import (
    Append,
    BidderRow,
    Checkpoint,
    Decide,
    DecisionRow,
    Entries,
    Policy,
)

if TYPE_CHECKING:
    from crossbandit.service.store.rows import Keep, Write

_KEPT = 2  # the number of checkpoints that are kept
_PIECE = 1000  # the number of rows that are deleted at once


class Session(Connection):
    """A connection to a store, for one thread at a time. Every method is one transaction.

    All methods raise `StoreError` if the store cannot be reached or written. Then nothing has
    changed, with one exception: if the answer to a commit was lost, the commit may have been made.
    """

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

    def create(
        self,
        name: str,
        settings: str,
        owner: str,
        at: float,
        policy: Policy,
        checkpoint: Checkpoint,
    ) -> bool:
        """Add a bidder; return False if a bidder of that name exists."""
        with self._transaction():
            made = self._rows(
                "INSERT INTO bidders (name, settings, owner, paused, last, created) "
                "VALUES (?, ?, ?, 0, 0, ?) ON CONFLICT (name) DO NOTHING RETURNING id",
                [name, settings, owner, at],
            )
            if not made:
                return False
            bidder = int(made[0][0])
            self._rows(
                "INSERT INTO leases (bidder, holder, url, fence, expires) "
                "VALUES (?, '', NULL, 0, 0)",
                [bidder],
            )
            self._keep_policy(bidder, policy)
            self._keep_checkpoint(bidder, checkpoint)
        return True

    def delete(self, bidder: int) -> None:
        """Delete a bidder and its log."""
        with self._transaction():
            self._rows("DELETE FROM bidders WHERE id = ?", [bidder])
            for table in TABLES_OF_A_BIDDER:
                self._rows(f"DELETE FROM {table} WHERE bidder = ?", [bidder])

    def pause(self, bidder: int, *, paused: bool) -> None:
        """Pause or resume a bidder."""
        with self._transaction():
            self._rows("UPDATE bidders SET paused = ? WHERE id = ?", [int(paused), bidder])

    # --- writing -------------------------------------------------------------------------------

    def write(self, writes: list[Write], at: float) -> list[bool]:
        """Make all writes that are allowed, in one transaction that is durable when this returns.

        Returns:
            For each write, whether it was made. It is not if the bidder was deleted, the fence is
            old, or the settings to be replaced have changed.
        """
        done = [False] * len(writes)
        fenced = sorted({one.bidder for one in writes if not isinstance(one, Append)})
        # All transactions lock rows in the same order, so that no deadlock occurs.
        order = sorted(range(len(writes)), key=lambda i: writes[i].bidder)
        with self._transaction():
            fences = {bidder: self._fence(bidder) for bidder in fenced}
            for i in order:
                one = writes[i]
                if isinstance(one, Append):
                    done[i] = self._append(one, at)
                elif fences[one.bidder] == one.fence:
                    done[i] = self._write_fenced(one, at)
                    if not done[i]:  # a later checkpoint may contain the refused decisions
                        fences[one.bidder] = None
        return done

    def _fence(self, bidder: int) -> int | None:
        found = self._rows(f"SELECT fence FROM leases WHERE bidder = ?{self.shared}", [bidder])
        return int(found[0][0]) if found else None

    def _append(self, one: Append, at: float) -> bool:
        found = self._rows(
            "UPDATE bidders SET last = last + ?, settings = COALESCE(?, settings) "
            "WHERE id = ? AND settings = COALESCE(?, settings) RETURNING last",
            [one.size, one.settings, one.bidder, one.replaces],
        )
        if not found:
            return False
        first = int(found[0][0]) - one.size + 1
        self._rows(
            "INSERT INTO entries (bidder, first, count, at, kind, content) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [one.bidder, first, one.size, at, one.kind, one.content],
        )
        return True

    def _write_fenced(self, one: Decide | Keep, at: float) -> bool:
        if isinstance(one, Decide):
            if self._rows(
                "SELECT number FROM decisions WHERE bidder = ? AND number >= ? LIMIT 1",
                [one.bidder, one.rows[0].number],
            ):
                return False  # another process has made it, under the same lease
            for row in one.rows:
                self._rows(
                    "INSERT INTO decisions (bidder, number, after, at, content) "
                    "VALUES (?, ?, ?, ?, ?)",
                    [one.bidder, row.number, row.after, at, row.content],
                )
            return True
        if one.policy is not None:
            self._keep_policy(one.bidder, one.policy)
        if one.checkpoint is not None:
            self._keep_checkpoint(one.bidder, one.checkpoint)
        return True

    def _keep_policy(self, bidder: int, policy: Policy) -> None:
        self._rows(
            "INSERT INTO policies (bidder, entry, at, content, figures) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (bidder) DO UPDATE SET entry = excluded.entry, at = excluded.at, "
            "content = excluded.content, figures = excluded.figures",
            [bidder, *policy],
        )

    def _keep_checkpoint(self, bidder: int, checkpoint: Checkpoint) -> None:
        self._rows(
            "INSERT INTO checkpoints (bidder, entry, decisions, content) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (bidder, entry, decisions) DO UPDATE SET content = excluded.content",
            [bidder, *checkpoint],
        )
        for entry, decisions in self._checkpoint_numbers(bidder)[_KEPT:]:
            self._rows(
                "DELETE FROM checkpoints WHERE bidder = ? AND entry = ? AND decisions = ?",
                [bidder, entry, decisions],
            )

    def _checkpoint_numbers(self, bidder: int) -> list[tuple[int, int]]:
        rows = self._rows(
            "SELECT entry, decisions FROM checkpoints WHERE bidder = ? "
            "ORDER BY entry DESC, decisions DESC",
            [bidder],
        )
        return [(int(entry), int(decisions)) for entry, decisions in rows]

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
        rows = self._read(
            "SELECT number, after, content FROM decisions WHERE bidder = ? AND number >= ? "
            "ORDER BY number",
            [bidder, first],
        )
        return [DecisionRow(*row) for row in rows]

    def checkpoints(self, bidder: int) -> list[Checkpoint]:
        """Return the checkpoints, the newest first."""
        rows = self._read(
            "SELECT entry, decisions, content FROM checkpoints WHERE bidder = ? "
            "ORDER BY entry DESC, decisions DESC",
            [bidder],
        )
        return [Checkpoint(*row) for row in rows]

    def policy(self, bidder: int) -> Policy | None:
        """Return the policy."""
        rows = self._read(
            "SELECT entry, at, content, figures FROM policies WHERE bidder = ?", [bidder]
        )
        return Policy(*rows[0]) if rows else None

    # --- leases --------------------------------------------------------------------------------

    def take_leases(
        self, bidders: list[int], holder: str, url: str | None, seconds: float
    ) -> dict[int, int]:
        """Take or renew leases; return the fence of each lease that the holder now has."""
        # A lease that ends too late was taken before the clock of the database was set back.
        statement = (
            "UPDATE leases SET fence = fence + CASE WHEN holder = ? THEN 0 ELSE 1 END, "
            f"holder = ?, url = ?, expires = {self.now} + ? WHERE bidder = ? AND "
            f"(holder = ? OR expires < {self.now} OR expires > {self.now} + ?) RETURNING fence"
        )
        fences = {}
        with self._transaction():
            for bidder in sorted(bidders):
                values = [holder, holder, url, seconds, bidder, holder, 4 * seconds]
                for row in self._rows(statement, values):
                    fences[bidder] = int(row[0])
        return fences

    def end_lease(self, bidder: int, holder: str) -> None:
        """End the lease of a bidder if this holder has it."""
        with self._transaction():
            self._rows(
                "UPDATE leases SET expires = 0 WHERE bidder = ? AND holder = ?", [bidder, holder]
            )

    # --- old entries ---------------------------------------------------------------------------

    def prune(self, bidder: int, before: float) -> int:
        """Delete entries from before a time that no recovery needs; return how many."""
        with self._transaction():
            kept = self._checkpoint_numbers(bidder)
            if len(kept) < _KEPT:
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


class Store(Protocol):
    """A database. Processes that open the same one share its bidders."""

    def session(self) -> Session:
        """Return a new connection."""
