"""Notice feedback that is missing more often after some arms than after others."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING

from crossbandit.errors import MissingFeedbackWarning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.algorithms.decisions import PendingDecision

_FIRST_CHECK = 1024
_LEAST_MISSING = 30
_LEAST_EXPECTED = 5.0
_LEVEL = 1e-9  # the probability of a warning if missing feedback does not depend on the arm


class FeedbackWatch:
    """Counts the decisions of each arm, and compares how many of them were answered.

    It checks whenever the number of rounds has doubled, and only the decisions of the first half:
    feedback for those of the second half may still come.
    """

    def __init__(self) -> None:
        self._made: Counter[int] = Counter()
        self._expired: Counter[int] = Counter()
        self._earlier: Counter[int] = Counter()  # `made` at the last check
        self._since = 0  # the round of the last check
        self._start = -1  # the first round that is counted
        self._next = _FIRST_CHECK
        self._active = True

    def made(self, pending: PendingDecision, waiting: Iterable[PendingDecision]) -> None:
        """Count a decision, and check if it is time to; `waiting` has all pending decisions."""
        self._made[pending.arm] += 1
        if self._start < 0:
            self._start = pending.round
        if pending.round - self._start + 1 == self._next and self._active:
            self._check(waiting)
            self._earlier, self._since = Counter(self._made), pending.round
            self._next *= 2

    def expired(self, pending: PendingDecision) -> None:
        """Count a decision whose feedback will never be taken."""
        self._expired[pending.arm] += 1

    def _check(self, waiting: Iterable[PendingDecision]) -> None:
        missing = Counter(
            one.arm for one in waiting if self._start <= one.round <= self._since
        ) + Counter(self._expired)
        total, absent = sum(self._earlier.values()), sum(missing.values())
        if absent < _LEAST_MISSING or absent >= total:
            return
        share = absent / total
        arms = {
            arm: made
            for arm, made in self._earlier.items()
            if made * min(share, 1.0 - share) >= _LEAST_EXPECTED
        }
        distance = sum(
            (missing[arm] - made * share) ** 2 / (made * share * (1.0 - share))
            for arm, made in arms.items()
        )
        if len(arms) > 1 and _tail(distance, len(arms) - 1) < _LEVEL:
            self._active = False
            shares = {arm: missing[arm] / made for arm, made in arms.items()}
            _warn(shares)


def _tail(distance: float, freedom: int) -> float:
    """Return the probability that a chi-squared number is larger than `distance`."""
    from scipy.special import chdtrc

    return float(chdtrc(freedom, distance))


def _warn(shares: dict[int, float]) -> None:
    most, least = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
    warnings.warn(
        f"Feedback is missing for {shares[most]:.0%} of the decisions that played arm {most}, and "
        f"for {shares[least]:.0%} of those that played arm {least}. This learner counts a missing "
        "loss as 0, so it prefers arms whose feedback is missing. Send the feedback of every "
        "decision, or use CrossGraphAdaptive.",
        MissingFeedbackWarning,
        stacklevel=5,
    )
