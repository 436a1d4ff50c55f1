"""What a store keeps, and what it is asked to write."""

from __future__ import annotations

from typing import NamedTuple, Protocol

OUTCOMES, CHANGE = "outcomes", "change"  # kinds of entries


class BidderRow(NamedTuple):
    """A bidder in the store.

    Attributes:
        id: Its number, which no other bidder ever has.
        name: Its name.
        settings: A `BidderSettings` as JSON.
        owner: The id of the learner in its tokens.
        paused: Whether it does not decide.
        last: The number of the last entry of its log.
        version: The number of the last entry that its policy has learned.
        published: When its policy was published.
        holder: Who holds the lease; "" if it is free.
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
        first: The number of the first of them.
        size: How many.
        at: When they arrived.
        kind: `OUTCOMES` or `CHANGE`.
        content: What they say.
    """

    first: int
    size: int
    at: float
    kind: str
    content: bytes

    @property
    def last(self) -> int:
        """The number of the last of them."""
        return self.first + self.size - 1


class DecisionRow(NamedTuple):
    """A decision of a bidder with limits.

    Attributes:
        number: Its number; they have no gaps.
        after: The number of the last entry that was learned when it was made.
        content: What was asked.
    """

    number: int
    after: int
    content: bytes


class Checkpoint(NamedTuple):
    """The whole state of a bidder.

    Attributes:
        entry: The number of the last entry that was learned.
        decisions: How many decisions were made under limits.
        content: The state.
    """

    entry: int
    decisions: int
    content: bytes


class Policy(NamedTuple):
    """What a bidder decides by.

    Attributes:
        entry: The number of the last entry that was learned.
        at: When it was published.
        content: A snapshot.
        figures: What is shown of the bidder.
    """

    entry: int
    at: float
    content: bytes
    figures: bytes


# --- what is to be written ---------------------------------------------------------------------


class Append(NamedTuple):
    """Add entries to a log."""

    bidder: int
    size: int
    kind: str
    content: bytes
    settings: str | None = None  # the bidder's new settings, with a `CHANGE`
    replaces: str | None = None  # those that they were made from; others are not overwritten


class Decide(NamedTuple):
    """Add decisions; only for the holder of the lease."""

    bidder: int
    fence: int
    rows: list[DecisionRow]


class Keep(NamedTuple):
    """Keep a policy, a checkpoint, or both; only for the holder of the lease."""

    bidder: int
    fence: int
    policy: Policy | None
    checkpoint: Checkpoint | None


Write = Append | Decide | Keep


class Session(Protocol):
    """A connection to a store, for one thread at a time. Every method is one transaction.

    All methods raise `StoreError` if the store cannot be reached or written; nothing has changed
    then, except that a commit whose answer was lost may have been made.
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
        """Add a bidder; return False if there is one of that name."""

    def delete(self, bidder: int) -> None:
        """Forget a bidder and its log."""

    def pause(self, bidder: int, *, paused: bool) -> None:
        """Let a bidder decide no more, or again."""

    def write(self, writes: list[Write], at: float) -> list[bool]:
        """Write all that may be written, in one transaction that is durable when this returns.

        Returns:
            For each, whether it was written: not if the bidder is gone, the fence is another, or
            somebody else has changed the settings that are to be replaced.
        """

    def entries(self, bidder: int, after: int, count: int) -> list[Entries]:
        """Return entries of a log after one, in their order; about so many, or more."""

    def decisions(self, bidder: int, first: int) -> list[DecisionRow]:
        """Return the decisions from a number on."""

    def checkpoints(self, bidder: int) -> list[Checkpoint]:
        """Return the checkpoints, the newest first."""

    def policy(self, bidder: int) -> Policy | None:
        """Return the policy."""

    def take_leases(
        self, bidders: list[int], holder: str, url: str | None, seconds: float
    ) -> dict[int, int]:
        """Take or renew leases; return the fences of those that this holder has now."""

    def end_lease(self, bidder: int, holder: str) -> None:
        """End the lease of a bidder if this holder has it."""

    def prune(self, bidder: int, before: float) -> int:
        """Drop entries that are older than a time and that no recovery needs; return how many."""


class Store(Protocol):
    """A database. Processes that open the same one work together."""

    def session(self) -> Session:
        """Return a new connection."""
