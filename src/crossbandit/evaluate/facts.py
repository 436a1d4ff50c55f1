"""Collect what estimates need to know of a whole log, because they see one piece at a time.

These are counts, ranges, a sample, and how often each bid was made if there are only a few.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import LogError
from crossbandit.evaluate.log import CensoredLog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.evaluate.stored import StoredLog
    from crossbandit.logs.auctions import OutcomeCounts
    from crossbandit.types import Floats, Integers

SAMPLE = 50_000  # the most auctions in the sample
_DIGITS = 9  # fractions of the value that agree in these digits are the same
_MOST = 100  # the most different bids
_FEWEST = 20  # the fewest auctions of each bid


class Range(NamedTuple):
    """The least and the greatest of some numbers; the least is infinite if there are none."""

    least: float = np.inf
    most: float = -np.inf

    @classmethod
    def of(cls, numbers: Floats) -> Range:
        """Return the range of some numbers."""
        return cls(float(numbers.min()), float(numbers.max())) if numbers.size else cls()

    def joined(self, other: Range) -> Range:
        """Return the range of both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


class Facts:
    """What is known of a whole log.

    Args:
        outcomes: How many of its bids won and lost, and how many prices are known.
        sample: Some of its auctions, at equal distances in time.
        values: The range of its values.
        bids: The range of its bids above 0.
        fractions: The range of these bids as fractions of the value.
    """

    def __init__(
        self,
        outcomes: OutcomeCounts,
        sample: CensoredLog,
        values: Range,
        bids: Range,
        fractions: Range,
    ) -> None:
        self.outcomes = outcomes
        self.sample = sample
        self.values = values
        self.bids = bids
        self.fractions = fractions

    @property
    def auctions(self) -> int:
        """The number of auctions."""
        return self.outcomes.auctions

    @cached_property
    def feedback(self) -> str:
        """Who was told the price: one of the kinds of feedback, or "mixed"."""
        return self.outcomes.feedback

    @cached_property
    def typical(self) -> float:
        """A typical value above 0; 1 if there is none."""
        above = self.sample.values[self.sample.values > 0]
        return float(np.median(above)) if above.size else 1.0


def distance(auctions: int) -> int:
    """Return the distance between consecutive auctions of the sample."""
    return -(-auctions // SAMPLE)


def ranges(log: CensoredLog) -> tuple[Range, Range, Range]:
    """Return the ranges of values, of bids above 0, and of these as fractions of the value."""
    made = log.bids > 0
    bids = log.bids[made]
    return Range.of(log.values), Range.of(bids), Range.of(bids / log.values[made])


def facts_of(log: CensoredLog) -> Facts:
    """Return what is known of a log in memory.

    Args:
        log: All auctions.
    """
    rows = np.arange(0, len(log), distance(len(log)))
    return Facts(log.outcomes, log.taken(rows), *ranges(log))


class _Levels(NamedTuple):
    """Different bids, ascending, and their counts. If there are too many, only some are kept."""

    levels: Floats
    counts: Integers

    @classmethod
    def of(cls, bids: Floats) -> _Levels:
        return cls(*np.unique(bids, return_counts=True))

    def plus(self, other: _Levels) -> _Levels:
        levels, places = np.unique(np.append(self.levels, other.levels), return_inverse=True)
        counts = np.bincount(places, np.append(self.counts, other.counts)).astype(np.int64)
        kept = 2 * _MOST  # enough to know that there are too many
        return _Levels(levels[:kept], counts[:kept])


class BidFrequencies(NamedTuple):
    """How often each bid was made.

    Attributes:
        levels: The bids, ascending: fractions of the value, or amounts.
        shares: The share of the auctions in which each was made.
        fractions: Whether bids are fractions of the value.
    """

    levels: Floats
    shares: Floats
    fractions: bool

    def propensities(self, log: CensoredLog) -> Floats:
        """Return how often the bid of each auction was made.

        Args:
            log: Auctions of the log that was counted.
        """
        bids = _fractions(log) if self.fractions else log.bids
        found: Floats = self.shares[np.searchsorted(self.levels, bids)]
        return found


def with_propensities(log: CensoredLog | StoredLog) -> CensoredLog | StoredLog:
    """Return a log with the propensities that it has, or else with estimated ones.

    Args:
        log: Auctions whose bids were drawn from a few amounts, or fractions of the value, with
            probabilities that are the same in all auctions.

    Raises:
        LogError: There are too many different bids, or some were made too rarely.
    """
    if not isinstance(log, CensoredLog):
        has = log.facts.sample.propensities is not None
        return log if has else log.with_frequencies(_frequencies(log.in_time()))
    if log.propensities is not None:
        return log
    return replace(log, propensities=_frequencies([log]).propensities(log))


def _fractions(log: CensoredLog) -> Floats:
    return np.round(log.bids / np.where(log.values > 0, log.values, 1.0), _DIGITS)


def _frequencies(pieces: Iterable[CensoredLog]) -> BidFrequencies:
    found: list[_Levels] = []
    auctions = 0
    for piece in pieces:
        auctions += len(piece)
        new = [_Levels.of(one) for one in (_fractions(piece), piece.bids)]
        found = [one.plus(other) for one, other in zip(found, new, strict=True)] if found else new
    chosen = min(found, key=lambda one: one.levels.size)
    rarest = int(chosen.counts.min())
    if chosen.levels.size > _MOST or rarest < _FEWEST:
        more = "at least " if chosen.levels.size > _MOST else ""
        raise LogError(
            f"The log has {more}{chosen.levels.size:,} different bids, and the rarest was made "
            f"{rarest:,} times. Propensities can be estimated for at most {_MOST} amounts, "
            f"or fractions of the value, each bid at least {_FEWEST} times. Log the probability "
            "of each bid, and name its column with --propensity-column."
        )
    return BidFrequencies(chosen.levels, chosen.counts / auctions, chosen is found[0])
