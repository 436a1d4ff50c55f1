"""Sentences about whether prices depend on values and classes, and what that is worth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.logs.auctions import LIMIT
from crossbandit.replay.lineup import ALL_TOLD, TOLD
from crossbandit.replay.price_law import GUARDED, LAW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.laws import Diagnosis
    from crossbandit.logs.auctions import ClassTable
    from crossbandit.replay.results import StrategyResult

_WORTHWHILE = 0.01  # of the surplus
_MUCH = 0.03  # more than this is shown in whole percent


def find_dependence(
    diagnosis: Diagnosis | None, classes: ClassTable, outcomes: Sequence[StrategyResult]
) -> Iterator[str]:
    """Yield whether prices depend on values, and which class columns have too many levels."""
    for name in classes.full():
        yield (
            f"Column {name!r} has more than {LIMIT:,} levels. Those after the first {LIMIT:,} are "
            "treated as one class."
        )
    if diagnosis is None:
        return
    gain, earned = _gain(diagnosis, outcomes)
    matters = gain >= _WORTHWHILE
    by_value, by_class = diagnosis.depends, diagnosis.depends_on_class
    given = ", given the class" if classes.names else ""
    nothing = f"Nothing shows that prices go with values here{given}."
    if not by_value and not by_class:
        yield nothing
        return
    found = f"values here{given}" if by_value else "the class here"
    found += " and with the class" if by_value and by_class else ""
    by = "by value and class" if classes.names else "by value"
    but = "" if matters else ", but it hardly matters"
    first = f"Prices go with {found}{but}: bidding {by} {earned}."
    yield first if by_value else f"{first} {nothing}"


def _gain(diagnosis: Diagnosis, outcomes: Sequence[StrategyResult]) -> tuple[float, str]:
    """Return what a law earned more than the best response, or an estimate, and it in words."""
    surplus = {one.strategy: one.mean_surplus for one in outcomes}
    law = surplus.get(LAW, surplus.get(GUARDED, math.nan))
    rival = surplus.get(TOLD, surplus.get(ALL_TOLD, math.nan))
    measured = law / rival - 1 if rival > 0 else math.nan
    gain = diagnosis.gain if math.isnan(measured) else measured
    share = f"{abs(100 * gain):.{1 if abs(gain) < _MUCH else 0}f} %"
    if math.isnan(measured):
        return gain, f"earns an estimated {share} more"
    than = "more" if gain >= 0 else "less"
    return gain, f"earned {share} {than} than the best response, which learns from all prices alike"
