"""A bidder as bytes: its whole state, or a snapshot that decides."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from crossbandit.applications import FirstPriceBidder

if TYPE_CHECKING:
    from crossbandit.service.store.rows import Policy


def decider_of(policy: Policy, key: bytes | None, *, limited: bool) -> FirstPriceBidder:
    """Return the bidder of a policy: a snapshot; or, with limits, a copy that must not decide.

    Args:
        policy: What `LiveBidder.policy` returned.
        key: The key of the bidder's tokens, or None.
        limited: Whether the bidder has limits.

    Raises:
        CheckpointError: It is damaged.
    """
    if limited:
        return FirstPriceBidder.load(io.BytesIO(policy.content))
    return FirstPriceBidder.from_bytes(policy.content, key=key)


def saved(bidder: FirstPriceBidder) -> bytes:
    """Return what a bidder has learned and spent, as bytes.

    Args:
        bidder: The bidder.
    """
    buffer = io.BytesIO()
    bidder.save(buffer)
    return buffer.getvalue()


def loaded(
    content: bytes, name: str, own: list[str], total: int, changes: dict[str, Any]
) -> FirstPriceBidder:
    """Return a saved bidder with its old id, so that the decisions in the log are its own.

    Args:
        content: What `saved` returned.
        name: The id of its learner.
        own: The ids that the learner has used in decisions.
        total: The number of decisions that the learner has made.
        changes: Settings that replace the saved ones.

    Raises:
        CheckpointError: The content is damaged.
    """
    bidder = FirstPriceBidder.load(io.BytesIO(content), **changes)
    learner = bidder.learner
    learner.id, learner.own, learner.total = name, set(own), total
    return bidder
