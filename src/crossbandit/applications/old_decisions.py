"""Decisions that a file of an earlier version remembers until their outcomes come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.applications.law_decisions import GuardPart, LawDecision
from crossbandit.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crossbandit.types import Floats


class OldDecision(NamedTuple):
    """What was remembered of a decision; the last three only under a guard."""

    maker: str
    round: int
    time: float
    arm: int
    law_arm: int
    chances: Floats
    seen: Floats

    def decision(self, learner: str, worth: float, amounts: Floats) -> LawDecision:
        """Return it as a decision that carries all that learning needs.

        Args:
            learner: The id of the learner that learns from it.
            worth: What the amount was chosen for.
            amounts: The amounts.
        """
        part = None
        if self.chances.size:
            law_amount = float(amounts[self.law_arm])
            part = GuardPart(worth, law_amount, 1.0, self.chances, self.seen)
        ids = (learner, self.maker, self.time)
        return LawDecision(self.round, self.arm, *ids, score=0, total=0, guard=part)


def read_pending(
    arrays: Mapping[str, Any],
    makers: Sequence[str],
    rounds: int,
    size: int,
    now: float,
    *,
    guarded: bool,
) -> list[OldDecision]:
    """Return the pending decisions of a file of an earlier version.

    Args:
        arrays: Its arrays by name.
        makers: The ids under which decisions were made.
        rounds: How many were made.
        size: The number of amounts.
        now: The time from which on they may be learned from; their own is not known.
        guarded: Whether there is a guard.

    Raises:
        CheckpointError: They are impossible.
    """
    at, who, arms, law_arms = (
        _integers(arrays, name) for name in ("rounds", "makers", "arms", "law_arms")
    )
    count = len(at)
    shape = (count, size if guarded else 0)
    chances, seen = (np.asarray(arrays[name], dtype=float) for name in ("chances", "seen"))
    lowest = 0 if guarded else -1
    right = (
        len(set(at)) == len(who) == len(arms) == len(law_arms) == count
        and chances.shape == seen.shape == shape
        and all(bool(np.isfinite(one).all() and (one >= 0).all()) for one in (chances, seen))
        and all(0 <= one < rounds for one in at)
        and all(0 <= one < len(makers) for one in who)
        and all(0 <= one < size for one in arms)
        and all(lowest <= one < size for one in law_arms)
    )
    if not right:
        raise CheckpointError("Its pending decisions are impossible.")
    return [
        OldDecision(
            makers[who[i]],
            at[i],
            now,
            arms[i],
            law_arms[i],
            chances[i],
            seen[i],
        )
        for i in range(count)
    ]


def write_pending(kept: Sequence[OldDecision], makers: Sequence[str], width: int) -> dict[str, Any]:
    """Return pending decisions as arrays, as `read_pending` takes them.

    Args:
        kept: The decisions.
        makers: The ids under which decisions were made.
        width: The number of amounts, or 0 without a guard.
    """
    integers = {
        "rounds": [one.round for one in kept],
        "makers": [makers.index(one.maker) for one in kept],
        "arms": [one.arm for one in kept],
        "law_arms": [one.law_arm for one in kept],
    }
    return {
        **{name: np.array(column, dtype=np.int64) for name, column in integers.items()},
        "chances": np.array([one.chances for one in kept]).reshape(len(kept), width),
        "seen": np.array([one.seen for one in kept]).reshape(len(kept), width),
    }


def _integers(arrays: Mapping[str, Any], name: str) -> list[int]:
    column = np.asarray(arrays[name])
    if column.ndim != 1 or column.dtype != np.int64:
        raise CheckpointError(f"The array {name!r} of the pending decisions is impossible.")
    found: list[int] = column.tolist()
    return found
