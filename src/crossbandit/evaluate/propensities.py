"""Propensities of a log whose bids were drawn at random from a few, by how often each was made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import LogError
from crossbandit.evaluate.log import CensoredLog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.evaluate.stored import StoredLog
    from crossbandit.types import Floats, Integers

_DIGITS = 9  # of fractions of the value that are the same
_MOST = 100  # different bids
_FEWEST = 20  # auctions of each


class _Levels(NamedTuple):
    """Different bids, ascending, and how often each was made. Of too many, only some are kept."""

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
