"""What estimates need to know of a whole log, if they see a piece of it at a time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.logs.auctions import OutcomeCounts
    from crossbandit.types import Floats

SAMPLE = 50_000  # auctions, at most


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
        outcomes: What became of its bids.
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
    """Return how far apart the auctions of the sample are."""
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
