"""Cohorts: consecutive decisions, and whether those with an outcome are like the others."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from crossbandit.applications.law_learner.decisions import SCALE, TOP

COHORT = 512  # the number of consecutive decisions of one decider in a cohort


class Scores(NamedTuple):
    """One score of the decisions of a cohort, from the first to the last with an outcome.

    Attributes:
        made: How many decisions there are.
        outcomes: How many of them have an outcome.
        scores: The sum of the scores of those with an outcome.
        squares: The sum of their squares.
        total: The sum of the scores of all.
    """

    made: int
    outcomes: int
    scores: int
    squares: int
    total: int

    @property
    def mean(self) -> float:
        """The mean score of the decisions that were made."""
        return self.total / self.made

    @property
    def excess(self) -> float:
        """The sum of the scores of those with an outcome, minus what is expected from the mean."""
        return self.scores - self.outcomes * self.mean

    @property
    def variance(self) -> float:
        """The variance of the excess if whether an outcome is missing does not depend on it."""
        each = self.squares / self.outcomes - (self.scores / self.outcomes) ** 2
        return self.outcomes * (1 - self.outcomes / self.made) * max(each, 0.0)


class Sums(NamedTuple):
    """Sums of one score over decisions of a cohort.

    Attributes:
        scores: The sum over the decisions with an outcome.
        squares: The sum of the squares of the same scores.
        before: The sum over all decisions before the first with an outcome.
        up_to: The sum over all decisions up to the last with an outcome, including that one.
    """

    scores: int
    squares: int
    before: int
    up_to: int

    def with_one(self, score: int, total: int, *, early: bool, late: bool) -> Sums:
        """Return the sums with one outcome more."""
        return Sums(
            self.scores + score,
            self.squares + score * score,
            total if early else self.before,
            total + score if late else self.up_to,
        )


class Cohort(NamedTuple):
    """The outcomes of some decisions in a row of one decider.

    Attributes:
        outcomes: How many came.
        reached: How many of them reached the number.
        first: The number of the first decision with an outcome.
        last: The number of the last decision with an outcome.
        newest: When the latest of them was made.
        base: The decider's sum of scores at which the sums begin.
        places: The sums of the places of the amounts.
        chances: The sums of the chances of reaching the number.
    """

    outcomes: int
    reached: int
    first: int
    last: int
    newest: float
    base: int
    places: Sums
    chances: Sums

    @classmethod
    def of(cls, number: int, time: float, score: int, total: int, *, reached: bool) -> Cohort:
        """Return the cohort of one outcome."""
        chance, place = divmod(score, SCALE)
        both = (Sums(one, one * one, 0, one) for one in (place, chance))
        return cls(1, int(reached), number, number, time, total, *both)

    def with_one(
        self, number: int, time: float, score: int, total: int, *, reached: bool
    ) -> Cohort:
        """Return the cohort with one outcome more."""
        early, late = number < self.first, number > self.last
        chance, place = divmod(score, SCALE)
        apart = total - self.base
        places = _signed(apart)
        chances = _signed((apart - places) // SCALE)
        return Cohort(
            self.outcomes + 1,
            self.reached + reached,
            number if early else self.first,
            number if late else self.last,
            max(self.newest, time),
            self.base,
            self.places.with_one(place, places, early=early, late=late),
            self.chances.with_one(chance, chances, early=early, late=late),
        )

    @property
    def made(self) -> int:
        """How many decisions were made from the first to the last with an outcome."""
        return self.last - self.first + 1

    @property
    def both(self) -> tuple[Scores, Scores]:
        """The places and the chances."""
        one, other = (
            Scores(self.made, self.outcomes, sums.scores, sums.squares, sums.up_to - sums.before)
            for sums in (self.places, self.chances)
        )
        return one, other

    @property
    def possible(self) -> bool:
        """Whether there can be such a cohort.

        The sums of scores may contradict each other: after a backup was restored, two decisions
        may have one number, and without a key tokens can be made up.
        """
        counts = (self.first, *self.places[:2], *self.chances[:2])
        return (
            all(number >= 0 for number in counts)
            and 1 <= self.outcomes <= self.made <= COHORT
            and 0 <= self.reached <= self.outcomes
            and math.isfinite(self.newest)
        )

    def to_list(self) -> list[Any]:
        """Return its numbers, for a file."""
        return [*self[:-2], *self.places, *self.chances]

    @classmethod
    def from_list(cls, parts: list[Any]) -> Cohort:
        """Return the cohort that `to_list` wrote.

        Raises:
            ValueError: `to_list` did not write this.
        """
        outcomes, reached, first, last, newest, base, *sums = parts
        a, b, c, d, e, f, g, h = (int(one) for one in sums)
        return cls(
            int(outcomes),
            int(reached),
            int(first),
            int(last),
            float(newest),
            int(base),
            Sums(a, b, c, d),
            Sums(e, f, g, h),
        )


def _signed(difference: int) -> int:
    """Return the number in [-SCALE / 2, SCALE / 2) that is equal to `difference` modulo SCALE."""
    return (difference + SCALE // 2) % SCALE - SCALE // 2


def exponent_of(cohorts: list[Scores]) -> float:
    """Return minus the logarithm of Bennett's bound on the probability of such an excess."""
    excess = abs(sum(one.excess for one in cohorts))
    variance = sum(one.variance for one in cohorts)
    if excess <= 0.0 or variance <= 0.0:
        return 0.0
    furthest = max(max(one.mean, TOP - one.mean) for one in cohorts)
    ratio = excess * furthest / variance
    return variance / furthest**2 * ((1 + ratio) * math.log1p(ratio) - ratio)


def shares_of(cohorts: list[Scores]) -> tuple[float, float]:
    """Return the shares of outcomes that come: one standard deviation below the mean, and above."""
    made, outcomes = sum(one.made for one in cohorts), sum(one.outcomes for one in cohorts)
    share = outcomes / made
    squares = sum(one.squares - one.mean * (one.scores + one.excess) for one in cohorts)
    spread = math.sqrt(max(squares / outcomes, 1.0))
    slope = sum(one.excess for one in cohorts) / (made * spread * spread)
    low, high = share - slope * spread, share + slope * spread
    return min(max(low, 1e-3), 1.0), min(max(high, 1e-3), 1.0)


def alike_at_last(cohorts: list[Cohort]) -> tuple[int, int, bool]:
    """Count outcomes and decisions of the last cohorts whose outcomes are all of one kind.

    Args:
        cohorts: The cohorts, in the order of their first outcomes.

    Returns:
        The number of outcomes and of decisions, and whether all have reached the number.
    """
    outcomes, made, kind = 0, 0, None
    for one in reversed(cohorts):
        all_reached = one.reached == one.outcomes
        if (one.reached != 0 and not all_reached) or (kind is not None and kind != all_reached):
            break
        kind = all_reached
        outcomes, made = outcomes + one.outcomes, made + one.made
    return outcomes, made, bool(kind)
