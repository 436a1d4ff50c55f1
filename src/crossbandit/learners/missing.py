"""Notice feedback that is missing more often after some decisions than after others."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.errors import MissingFeedbackWarning
from crossbandit.validation import integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.types import Floats

_FIRST = 1024
_LEAST_MISSING = 30
_LEAST_EXPECTED = 5.0
_LEVEL = 1e-9  # the probability of a warning if missing feedback does not depend on the arm
_MOST_COHORTS = 64

_MADE, _ANSWERED = 0, 1


class MissingShares(NamedTuple):
    """How much feedback is missing in each group of decisions.

    Attributes:
        p_value: The probability of shares that differ at least as much by chance.
        shares: The share of the decisions of each group whose feedback is missing; NaN where a
            group has too few to tell.
    """

    p_value: float
    shares: Floats


class AnsweredCounts:
    """Counts the decisions of each group, and how many of them were answered.

    Groups are arms, or bids of a similar chance of winning. Decisions are numbered from 0 and
    counted in cohorts: the first `first`, then as many as there were before. So the memory does not
    grow with the decisions. The two latest cohorts are left out of tests: their answers may still
    come.

    Args:
        groups: How many groups there are.
        first: The size of the first cohort.

    Raises:
        InvalidParameterError: A parameter is not a positive integer.

    >>> counts = AnsweredCounts(groups=2, first=1000)
    >>> for number in range(2001):
    ...     _ = counts.count_decision(number, number % 2)
    ...     if number % 2 == 0 or number % 3 == 0:
    ...         counts.count_answer(number, number % 2)
    >>> counts.missing().shares.round(2)
    array([0.  , 0.67])
    """

    def __init__(self, groups: int, first: int = _FIRST) -> None:
        self.groups = integer("AnsweredCounts", "groups", groups, at_least=1)
        self.first = integer("AnsweredCounts", "first", first, at_least=1)
        self._cohorts: list[tuple[list[int], list[int]]] = []
        self._begin, self._end = 0, 0  # the numbers of the latest cohort

    def count_decision(self, number: int, group: int) -> bool:
        """Count a decision.

        Args:
            number: Its number. Numbers grow; some may be left out.
            group: Its group.

        Returns:
            Whether it is the first of a cohort, which is the time to test.
        """
        if self._begin <= number < self._end:  # the usual case
            self._cohorts[-1][_MADE][group] += 1
            return False
        cohort = (number // self.first).bit_length()
        new = cohort >= len(self._cohorts)
        while len(self._cohorts) <= cohort:
            self._cohorts.append(([0] * self.groups, [0] * self.groups))
        self._cohorts[cohort][_MADE][group] += 1
        self._set_latest()
        return new

    def count_answer(self, number: int, group: int) -> None:
        """Count a decision whose feedback has come.

        Args:
            number: Its number, as it was given to `count_decision`.
            group: Its group, as it was given to `count_decision`.
        """
        if self._begin <= number < self._end:  # the usual case
            self._cohorts[-1][_ANSWERED][group] += 1
            return
        cohort = (number // self.first).bit_length()
        if cohort < len(self._cohorts):
            self._cohorts[cohort][_ANSWERED][group] += 1

    def missing(self) -> MissingShares:
        """Test whether the feedback of some groups is missing more often than that of others.

        Groups in which fewer than 5 missing or 5 answered decisions are expected are left out.

        Returns:
            The shares, and the p-value of a chi-squared test; it is 1 if there is nothing to test.
        """
        counts = np.array(self._cohorts[:-2]).reshape(-1, 2, self.groups).sum(axis=0)
        made = counts[_MADE]
        absent = made - counts[_ANSWERED]
        shares = np.full(self.groups, np.nan)
        if absent.sum() < _LEAST_MISSING or absent.sum() >= made.sum():
            return MissingShares(1.0, shares)
        share = absent.sum() / made.sum()
        large = made * min(share, 1.0 - share) >= _LEAST_EXPECTED
        made, absent = made[large], absent[large]
        shares[large] = absent / made
        distance = ((absent - made * share) ** 2 / (made * share * (1.0 - share))).sum()
        return MissingShares(_tail(float(distance), made.size - 1), shares)

    def state(self) -> npt.NDArray[np.int64]:
        """Return all counts: (cohorts, 2, groups), decisions made and decisions answered."""
        return np.array(self._cohorts, dtype=np.int64).reshape(-1, 2, self.groups)

    def restore(self, counts: npt.NDArray[Any]) -> None:
        """Take back what `state` returned.

        Args:
            counts: The array.

        Raises:
            ValueError: It is not such an array. Then nothing has changed.
        """
        right = counts.ndim == 3 and counts.shape[1:] == (2, self.groups)
        if not right or len(counts) > _MOST_COHORTS or counts.dtype != np.int64:
            raise ValueError(f"the counts of its decisions have shape {counts.shape}")
        if (counts[:, _ANSWERED] < 0).any() or (counts[:, _ANSWERED] > counts[:, _MADE]).any():
            raise ValueError("more of its decisions were answered than were made")
        self._cohorts = [(made.tolist(), answered.tolist()) for made, answered in counts]
        self._set_latest()

    def _set_latest(self) -> None:
        """Note the numbers of the latest cohort, k: 2^(k - 1) to 2^k times `first`."""
        latest = len(self._cohorts) - 1
        self._begin = self.first << (latest - 1) if latest > 0 else 0
        self._end = self.first << latest if latest >= 0 else 0


class FeedbackWatch:
    """Warns a learner's user, once, if the feedback of some arms is missing more often.

    Args:
        arms: How many arms there are.
        start: The first round that is counted.
    """

    def __init__(self, arms: int, start: int) -> None:
        self.counts = AnsweredCounts(arms)
        self._start = start
        self._active = True

    def count_decision(self, round_: int, arm: int) -> None:
        """Count a decision, and test if it is time to."""
        if self.counts.count_decision(round_ - self._start, arm) and self._active:
            p_value, shares = self.counts.missing()
            if p_value < _LEVEL:
                self._active = False
                _warn(shares)

    def count_answer(self, round_: int, arm: int) -> None:
        """Count a decision whose feedback has come."""
        if round_ >= self._start:
            self.counts.count_answer(round_ - self._start, arm)

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes, in a form that `json` can write."""
        return {"start": self._start, "active": self._active}

    def restore(self, state: Mapping[str, Any], counts: npt.NDArray[Any]) -> None:
        """Take back what `state` and `counts.state` returned.

        Raises:
            ValueError: They returned something else.
        """
        start = state["start"]
        if set(state) != {"start", "active"} or type(start) is not int or start < 0:
            raise ValueError(f"the counts of its decisions start at {start!r}")
        self.counts.restore(counts)
        self._start, self._active = start, bool(state["active"])


def _tail(distance: float, freedom: int) -> float:
    """Return the probability that a chi-squared number is larger than `distance`.

    That is a sum of (distance / 2)^s exp(-distance / 2) / Gamma(s + 1) over s = 0, 1, ... below
    freedom / 2, for an even number of degrees of freedom; for an odd one over s = 1/2, 3/2, ...,
    after erfc(sqrt(distance / 2)).
    """
    half = distance / 2.0
    if freedom < 1 or half <= 0.0:
        return 1.0
    first = 0.0 if freedom % 2 == 0 else 0.5
    terms = (
        math.exp(s * math.log(half) - half - math.lgamma(s + 1.0))
        for s in (first + i for i in range(freedom // 2))
    )
    return math.fsum(terms) + (math.erfc(math.sqrt(half)) if freedom % 2 else 0.0)


def _warn(shares: Floats) -> None:
    most, least = int(np.nanargmax(shares)), int(np.nanargmin(shares))
    warnings.warn(
        f"Feedback is missing for {shares[most]:.0%} of the decisions that played arm {most}, and "
        f"for {shares[least]:.0%} of those that played arm {least}. This learner counts a missing "
        "loss as 0, so it prefers arms whose feedback is missing. Send the feedback of every "
        "decision, or use CrossGraphAdaptive.",
        MissingFeedbackWarning,
        stacklevel=5,
    )
