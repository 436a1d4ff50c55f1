"""Decisions in a row, how many of them have outcomes, and whether these are like the others."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from crossbandit.applications.law_decisions import TOP

COHORT = 512  # decisions of one decider in a row


class Cohort(NamedTuple):
    """The outcomes of some decisions in a row of one decider.

    Attributes:
        outcomes: How many came.
        scores: The sum of their scores.
        squares: The sum of the squares of their scores.
        first: The number of the first decision with an outcome.
        first_total: The sum of scores before it.
        last: The number of the last decision with an outcome.
        last_total: The sum of scores up to it, its own included.
        newest: When the latest of them was made.
    """

    outcomes: int
    scores: int
    squares: int
    first: int
    first_total: int
    last: int
    last_total: int
    newest: float

    def with_one(self, number: int, time: float, score: int, total: int) -> Cohort:
        """Return the cohort with one outcome more."""
        early, late = number < self.first, number > self.last
        return Cohort(
            self.outcomes + 1,
            self.scores + score,
            self.squares + score * score,
            number if early else self.first,
            total if early else self.first_total,
            number if late else self.last,
            total + score if late else self.last_total,
            max(self.newest, time),
        )

    @property
    def made(self) -> int:
        """How many decisions were made from the first to the last with an outcome."""
        return self.last - self.first + 1

    @property
    def mean(self) -> float:
        """The mean score of the decisions that were made."""
        return (self.last_total - self.first_total) / self.made

    @property
    def excess(self) -> float:
        """By how much the scores of those with an outcome exceed what is usual, together."""
        return self.scores - self.outcomes * self.mean

    @property
    def variance(self) -> float:
        """The variance of the excess if whether an outcome is missing does not depend on it."""
        each = self.squares / self.outcomes - (self.scores / self.outcomes) ** 2
        return self.outcomes * (1 - self.outcomes / self.made) * max(each, 0.0)


def cohort_of(parts: list[Any]) -> Cohort:
    """Return the cohort that was written as a list.

    Args:
        parts: Its attributes, in their order.

    Raises:
        ValueError: They are something else.
    """
    *whole, newest = parts
    a, b, c, d, e, f, g = (int(one) for one in whole)
    return Cohort(a, b, c, d, e, f, g, float(newest))


def possible(one: Cohort) -> bool:
    """Return whether a cohort is one that can be.

    The sums of scores may contradict each other: after a backup was restored, two decisions may
    have one number, and without a key tokens can be made up.

    Args:
        one: The cohort.
    """
    whole = one[:-1]
    return (
        all(number >= 0 for number in whole)
        and 1 <= one.outcomes <= one.made <= COHORT
        and math.isfinite(one.newest)
    )


def exponent_of(cohorts: list[Cohort]) -> float:
    """Return the logarithm of one over the probability of such an excess, by Bennett's bound."""
    excess = abs(sum(one.excess for one in cohorts))
    variance = sum(one.variance for one in cohorts)
    if excess <= 0.0 or variance <= 0.0:
        return 0.0
    furthest = max(max(one.mean, TOP - one.mean) for one in cohorts)
    ratio = excess * furthest / variance
    return variance / furthest**2 * ((1 + ratio) * math.log1p(ratio) - ratio)


def shares_of(cohorts: list[Cohort]) -> tuple[float, float]:
    """Return the shares of outcomes that come: one standard deviation below the mean, and above."""
    made, outcomes = sum(one.made for one in cohorts), sum(one.outcomes for one in cohorts)
    share = outcomes / made
    squares = sum(one.squares - one.mean * (one.scores + one.excess) for one in cohorts)
    spread = math.sqrt(max(squares / outcomes, 1.0))
    slope = sum(one.excess for one in cohorts) / (made * spread * spread)
    low, high = share - slope * spread, share + slope * spread
    return min(max(low, 1e-3), 1.0), min(max(high, 1e-3), 1.0)
