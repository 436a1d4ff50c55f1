"""How prices rise with values within a group: by which power of the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.evaluate.checks import score_of, trends
from crossbandit.evaluate.groups import sample_groups

if TYPE_CHECKING:
    from crossbandit.evaluate.facts import Facts
    from crossbandit.evaluate.groups import Groups

_LOWEST, _HIGHEST = -1.0, 2.0
_BANDS = 10  # of the search: in narrow bands values differ too little to see how prices rise
_STEPS = 8  # halvings of the range of powers
_APART = 0.25  # powers whose scores show how precise the power is
_CLEAR = 3.0  # standard errors from 0 from which on a reader is told


def scaled(groups: Groups) -> Groups:
    """Return the same groups with the power of the value that prices depend on.

    Args:
        groups: The groups of the log.
    """
    return groups.with_power(*find_power(groups.facts))


def find_power(facts: Facts) -> tuple[float, float]:
    """Return the power of the value that prices depend on, and its standard error.

    A band of values is not narrow everywhere: the highest tenth of the values may spread over a
    factor of five. If bids are fractions of values, and prices rise with values, then prices go
    with bids within such a band. After division by the right power of the value they no longer do.
    The power is the one at which the test of independence sees no trend, as in rank estimates of
    accelerated failure times. The score of that test has a standard deviation of 1, so the error
    of the power is 1 divided by the slope of the score.

    Args:
        facts: What is known of the log.

    Returns:
        The power and its error; 0 and 0 if nothing can be seen.
    """
    if facts.feedback == "always":
        return 0.0, 0.0
    groups = sample_groups(facts, _BANDS)
    columns = {"value": facts.sample.values}

    def score(power: float) -> float:
        return score_of(trends(groups.with_power(power), columns)["value"])

    low, high = _LOWEST, _HIGHEST
    if score(low) == score(high):
        return 0.0, 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if score(middle) > 0:
            low = middle
        else:
            high = middle
    power = (low + high) / 2
    slope = (score(power - _APART) - score(power + _APART)) / (2 * _APART)
    return power, min(1 / slope, 1.0) if slope > 0 else 1.0


def is_clear(power: float, error: float) -> bool:
    """Return whether prices clearly depend on values.

    Args:
        power: The power of the value.
        error: Its standard error.
    """
    return abs(power) > _CLEAR * error
