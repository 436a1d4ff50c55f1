"""Notice feedback that is missing more often after some arms than after others."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms.learners.graph_core import WatchCounts
from crossbandit.core import record
from crossbandit.core.steps import at_once
from crossbandit.errors import MissingFeedbackWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.core.types import Floats

_FIRST = 1024
_LEAST_MISSING = 30
_LEAST_EXPECTED = 5.0
_LEVEL = 1e-9  # the probability of a warning if missing feedback does not depend on the arm
_MOST_COHORTS = 64

_MADE, _ANSWERED = 0, 1
_FIELDS = {"watch": record.Field(low=0, rows="cohorts")}


class FeedbackWatch(WatchCounts):
    """Warns a learner's user, once, if the feedback of some arms is missing more often.

    It counts the decisions of each arm, and how many of them were answered. Rounds are counted in
    cohorts: the first `first`, then as many as there were before. So the memory does not grow with
    the rounds. The two latest cohorts are left out of tests: their answers may still come.

    >>> watch = FeedbackWatch(arms=2, first=1000)
    >>> for round_ in range(2001):
    ...     watch.count_decision(round_, round_ % 2)
    ...     if round_ % 20 != 0 and round_ % 10 != 1:
    ...         watch.count_answer(round_, round_ % 2)
    >>> watch.missing()[1]
    array([0.1, 0.2])
    """

    def __init__(self, arms: int, start: int = 0, first: int = _FIRST) -> None:
        self._arms, self._start, self._first = arms, start, first
        self._active = True
        self._cohorts = []
        self._begin, self._end = 0, 0  # the latest cohort, counted from the start

    def count_decision(self, round_: int, arm: int) -> None:
        """Count a decision, and test if it is the first of a cohort."""
        number = round_ - self._start
        if self._begin <= number < self._end:  # the usual case
            self._cohorts[-1][_MADE][arm] += 1
            return
        cohort = (number // self._first).bit_length()
        new = cohort >= len(self._cohorts)
        while len(self._cohorts) <= cohort:
            self._cohorts.append(([0] * self._arms, [0] * self._arms))
        self._cohorts[cohort][_MADE][arm] += 1
        self._set_latest()
        if new and self._active:
            p_value, shares = self.missing()
            if p_value < _LEVEL:
                self._active = False
                _warn(shares)

    def count_answer(self, round_: int, arm: int) -> None:
        """Count a decision whose feedback has come."""
        at_once(*self.answering([(round_, arm)]))

    def answering(self, answers: Sequence[tuple[int, int]]) -> list[Callable[[], Any]]:
        """Return the steps that count decisions whose feedback has come; see `at_once`."""
        counts: dict[tuple[int, int], int] = {}
        for round_, arm in answers:
            number = round_ - self._start
            cohort = (number // self._first).bit_length()
            if number >= 0 and cohort < len(self._cohorts):
                counts[cohort, arm] = counts.get((cohort, arm), 0) + 1
        steps: list[Callable[[], Any]] = []
        for (cohort, arm), count in counts.items():
            answered = self._cohorts[cohort][_ANSWERED]
            steps.append(partial(answered.__setitem__, arm, answered[arm] + count))
        return steps

    def missing(self) -> tuple[float, Floats]:
        """Test whether the feedback of some arms is missing more often than that of others.

        Arms for which fewer than 5 missing or 5 answered decisions are expected are left out.
        """
        counts = np.array(self._cohorts[:-2]).reshape(-1, 2, self._arms).sum(axis=0)
        made = counts[_MADE]
        absent = made - counts[_ANSWERED]
        shares = np.full(self._arms, np.nan)
        if absent.sum() < _LEAST_MISSING or absent.sum() >= made.sum():
            return 1.0, shares
        share = absent.sum() / made.sum()
        large = made * min(share, 1.0 - share) >= _LEAST_EXPECTED
        made, absent = made[large], absent[large]
        shares[large] = absent / made
        distance = ((absent - made * share) ** 2 / (made * share * (1.0 - share))).sum()
        return _tail(float(distance), made.size - 1), shares

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes, without the counts, in a form that `json` can write."""
        return {"start": self._start, "active": self._active}

    def counts(self) -> npt.NDArray[np.int64]:
        """Return all counts: (cohorts, 2, arms), decisions made and decisions answered."""
        return np.array(self._cohorts, dtype=np.int64).reshape(-1, 2, self._arms)

    def restore(self, state: Mapping[str, Any], counts: npt.NDArray[Any]) -> None:
        """Restore what `state` and `counts` returned."""
        start = state["start"]
        if set(state) != {"start", "active"} or type(start) is not int or start < 0:
            raise ValueError(f"the counts of its decisions start at {start!r}")
        model = np.zeros((_MOST_COHORTS, 2, self._arms), dtype=np.int64)
        record.check({"watch": model}, {"watch": counts}, _FIELDS, "learner")
        if (counts[:, _ANSWERED] > counts[:, _MADE]).any():
            raise ValueError("more of its decisions were answered than were made")
        self._start, self._active = start, bool(state["active"])
        self._cohorts = [(made.tolist(), answered.tolist()) for made, answered in counts]
        self._set_latest()

    def _set_latest(self) -> None:
        """Note the rounds of the latest cohort, k: 2^(k - 1) to 2^k times the first."""
        latest = len(self._cohorts) - 1
        self._begin = self._first << (latest - 1) if latest > 0 else 0
        self._end = self._first << latest if latest >= 0 else 0


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
