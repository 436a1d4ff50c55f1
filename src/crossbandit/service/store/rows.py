"""The rows of a store, and the writes to it."""

from __future__ import annotations

from typing import NamedTuple

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
