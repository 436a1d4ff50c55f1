"""Propensities of a log whose bids were drawn at random from a few, by how often each was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import LogError

if TYPE_CHECKING:
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.types import Floats

_DIGITS = 9  # of fractions of the value that are the same
_MOST = 100  # different bids
_FEWEST = 20  # auctions of each


def estimated_propensities(log: CensoredLog) -> Floats:
    """Return how often the bid of each auction was made, as an amount or as a fraction.

    Args:
        log: Auctions whose bids were drawn from a few amounts, or fractions of the value, with
            probabilities that are the same in all auctions.

    Raises:
        LogError: There are too many different bids, or some were made too rarely.
    """
    fractions = np.round(log.bids / np.where(log.values > 0, log.values, 1.0), _DIGITS)
    levels = [np.unique(one, return_inverse=True)[1] for one in (fractions, log.bids)]
    places = min(levels, key=lambda one: int(one.max()))
    counts = np.bincount(places)
    if counts.size > _MOST or counts.min() < _FEWEST:
        raise LogError(
            f"The log has {counts.size:,} different bids, and the rarest was made "
            f"{counts.min():,} times. Propensities can be estimated for at most {_MOST} amounts, "
            f"or fractions of the value, each bid at least {_FEWEST} times. Log the probability "
            "of each bid, and name its column with --propensity-column."
        )
    found: Floats = counts[places] / len(log)
    return found
