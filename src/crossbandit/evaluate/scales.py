"""How prices rise with values within a group: by which power of the value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import LogError
from crossbandit.evaluate.checks import trends
from crossbandit.evaluate.groups import Groups, make_groups

if TYPE_CHECKING:
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.types import Integers

_MOST = 50_000  # auctions that the search looks at
_CLEAR = 3.0  # standard deviations from which on prices count as going with values
_POWERS = (-1.0, 2.0)
_BANDS = 10  # of the search: in narrow bands values differ too little to see how prices rise
_STEPS = 7  # halvings of the range of powers


def scaled(groups: Groups, log: CensoredLog) -> Groups:
    """Return the same groups with the power of the value that prices go with, if they do.

    A band of values is not narrow everywhere: the highest tenth of the values may spread over a
    factor of five. If bids are fractions of values, and prices rise with values, then prices go
    with bids within such a band. After division by the right power of the value they no longer do.
    The power is the one at which the test of independence sees no trend, as in rank estimates of
    accelerated failure times. It stays 0 unless there is a clear trend without it.

    Args:
        groups: The groups of the log.
        log: The auctions.
    """
    if log.feedback == "always" or not (log.values > 0).any():
        return groups
    rows = np.arange(0, len(log), -(-len(log) // _MOST))
    try:
        part = _part(log, rows)
    except LogError:  # among them there are too few wins, or losses
        return groups
    labels = make_groups(log, _BANDS).labels[rows]

    def trend(power: float) -> float:
        found = Groups(part, labels, power)
        return trends(part, found, {"value": part.values})[0]

    start = trend(0.0)
    if abs(start) < _CLEAR:
        return groups
    low, high = (0.0, _POWERS[1]) if start > 0 else (_POWERS[0], 0.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if trend(middle) > 0:
            low = middle
        else:
            high = middle
    return Groups(log, groups.labels, (low + high) / 2)


def _part(log: CensoredLog, rows: Integers) -> CensoredLog:
    """Return some auctions of a log."""
    return replace(
        log,
        values=log.values[rows],
        bids=log.bids[rows],
        won=log.won[rows],
        prices=np.asarray(log.prices)[rows],
        propensities=None,
        classes={},
        reserve=log.reserves[rows],
    )
