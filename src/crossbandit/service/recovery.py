"""How a bidder is restored from a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.errors import CheckpointError
from crossbandit.service.live import restored

if TYPE_CHECKING:
    from crossbandit.service.live import LiveBidder
    from crossbandit.service.store.rows import DecisionRow, Session

PIECE = 5_000  # entries that are read at once


def restore(session: Session, bidder: int, key: bytes | None) -> LiveBidder:
    """Return a bidder from its newest readable checkpoint and the later entries of its log.

    Args:
        session: A connection.
        bidder: The number of the bidder.
        key: The key of its tokens, or None.

    Raises:
        CheckpointError: No checkpoint can be read, or entries after it are missing.
    """
    live: LiveBidder | None = None
    problem: CheckpointError | None = None
    for checkpoint in session.checkpoints(bidder):
        try:
            live = restored(checkpoint, key)
            break
        except CheckpointError as error:
            problem = error
    if live is None:
        raise problem or CheckpointError("The bidder has no checkpoint: it was deleted.")
    decisions = session.decisions(bidder, live.decisions)
    at = _repeat(live, decisions, 0)
    while entries := session.entries(bidder, live.entry, PIECE):
        for one in entries:
            live.learn(one)
            at = _repeat(live, decisions, at)
    return live


def _repeat(live: LiveBidder, decisions: list[DecisionRow], at: int) -> int:
    """Repeat the decisions that followed the last learned entry; return the next index."""
    while at < len(decisions) and decisions[at].after == live.entry:
        live.repeat(decisions[at])
        at += 1
    return at
