"""The rows of a store, the writes to it, and the protocol of a connection."""

from __future__ import annotations

from typing import NamedTuple, Protocol

OUTCOMES, CHANGE = "outcomes", "change"  # kinds of entries


class BidderRow(NamedTuple):
    """A bidder in the store.

    Attributes:
        id: Its number. No other bidder ever has it.
        name: Its name.
        settings: Its `BidderSettings` as JSON.
        owner: The id of the learner in its tokens.
        paused: Whether it is paused.
        last: The number of the last entry of its log.
        version: The number of the last entry that its policy has learned.
        published: When its policy was published.
        holder: The holder of the lease; "" if it is free.
        url: The address of the holder, or None.
        created: When it was created.
    """

    id: int
    name: str
    settings: str
    owner: str
    paused: bool
    last: int
    version: int
    published: float
    holder: str
    url: str | None
    created: float


class Entries(NamedTuple):
    """Consecutive entries of a log that were committed together.

    Attributes:
        first: The number of the first entry.
        size: The number of entries.
        at: When they arrived.
        kind: `OUTCOMES` or `CHANGE`.
        content: The outcomes or the change, encoded.
    """

    first: int
    size: int
    at: float
    kind: str
    content: bytes

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self.first + self.size - 1


class DecisionRow(NamedTuple):
    """A decision of a bidder with limits.

    Attributes:
        number: Its number. Numbers have no gaps.
        after: The number of the last entry that was learned when it was made.
        content: The request, encoded.
    """

    number: int
    after: int
    content: bytes


class Checkpoint(NamedTuple):
    """The whole state of a bidder.

    Attributes:
        entry: The number of the last entry that was learned.
        decisions: The number of decisions made under limits.
        content: The state, encoded.
    """

    entry: int
    decisions: int
    content: bytes


class Policy(NamedTuple):
    """The newest snapshot of a bidder, and its figures.

    Attributes:
        entry: The number of the last entry that was learned.
        at: When it was published.
        content: The snapshot, encoded.
        figures: The figures, encoded.
    """

    entry: int
    at: float
    content: bytes
    figures: bytes


# --- writes ------------------------------------------------------------------------------------


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
    policy: Policy | None
    checkpoint: Checkpoint | None


Write = Append | Decide | Keep


class Session(Protocol):
    """A connection to a store, for one thread at a time. Every method is one transaction.

    All methods raise `StoreError` if the store cannot be reached or written. Then nothing has
    changed, with one exception: if the answer to a commit was lost, the commit may have been made.
    """

    def close(self) -> None:
        """Close the connection."""

    def bidders(self) -> list[BidderRow]:
        """Return all bidders, by name."""

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

    def delete(self, bidder: int) -> None:
        """Delete a bidder and its log."""

    def pause(self, bidder: int, *, paused: bool) -> None:
        """Pause or resume a bidder."""

    def write(self, writes: list[Write], at: float) -> list[bool]:
        """Make all writes that are allowed, in one transaction that is durable when this returns.

        Returns:
            For each write, whether it was made. It is not if the bidder was deleted, the fence is
            old, or the settings to be replaced have changed.
        """

    def entries(self, bidder: int, after: int, count: int) -> list[Entries]:
        """Return the entries after number `after`, in order: about `count` of them."""

    def decisions(self, bidder: int, first: int) -> list[DecisionRow]:
        """Return the decisions from number `first` on."""

    def checkpoints(self, bidder: int) -> list[Checkpoint]:
        """Return the checkpoints, the newest first."""

    def policy(self, bidder: int) -> Policy | None:
        """Return the policy."""

    def take_leases(
        self, bidders: list[int], holder: str, url: str | None, seconds: float
    ) -> dict[int, int]:
        """Take or renew leases; return the fence of each lease that the holder now has."""

    def end_lease(self, bidder: int, holder: str) -> None:
        """End the lease of a bidder if this holder has it."""

    def prune(self, bidder: int, before: float) -> int:
        """Delete entries from before a time that no recovery needs; return how many."""


class Store(Protocol):
    """A database. Processes that open the same one share its bidders."""

    def session(self) -> Session:
        """Return a new connection."""
