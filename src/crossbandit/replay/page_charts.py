"""The charts of a replay: surplus and regret over time, and bids by value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.algorithms import CrossGraph
from crossbandit.replay.limited_oracles import ONE_MULTIPLIER, PACED
from crossbandit.replay.lineup import ALL_TOLD
from crossbandit.replay.oracles import BestPolicy, PerfectKnowledge
from crossbandit.report import Chart, Series
from crossbandit.report.statistics import half_widths

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.replay.results import Replay, StrategyResult
    from crossbandit.types import Floats

_MOST_LINES = 7  # there are as many colours
# If there are more lines, these are left out, in this order.
_LEFT_OUT = (ALL_TOLD, CrossGraph.id, BestPolicy.name, ONE_MULTIPLIER, PACED)


def charted(result: Replay) -> tuple[StrategyResult, ...]:
    """Return the strategies that the charts show.

    Of the fixed fractions this is only the one that earned most. Perfect knowledge earns so much
    more than all others that it would flatten their lines. Where there are more lines than colours,
    some are left out: first the best response that is told everything.
    """
    fixed = [one for one in result.outcomes if one.kind == "fixed"]
    best = max(fixed, key=result.earned, default=None)
    shown = [
        one
        for one in result.outcomes
        if one is best or (one.kind != "fixed" and one.strategy != PerfectKnowledge.name)
    ]
    for name in _LEFT_OUT:
        if len(shown) > _MOST_LINES:
            shown = [one for one in shown if one.strategy != name]
    return tuple(shown)


def regret_chart(result: Replay, digits: int) -> Chart:
    """Return what each strategy lacks, over time, to the comparator."""
    best = result.curve(result.outcome(result.comparator)).mean(axis=0)
    return _over_time(result, "regret", digits, lambda mean: best - mean)


def surplus_chart(result: Replay, digits: int) -> Chart:
    """Return what each strategy has earned over time: surplus, or value if that is aimed at."""
    what = "value" if result.aims_at_value else "surplus"
    return _over_time(result, what, digits, lambda mean: mean)


def _over_time(result: Replay, what: str, digits: int, value: Callable[[Floats], Floats]) -> Chart:
    return Chart(
        title=f"{what.capitalize()} over time",
        x_label="auction",
        y_label=what,
        series=tuple(
            Series(
                name=one.strategy,
                x=tuple(result.points),
                y=tuple(value(result.curve(one).mean(axis=0))),
                half_widths=tuple(half_widths(result.curve(one))),
                dashed=one.kind == "oracle",
            )
            for one in charted(result)
        ),
        bands=True,
        digits=digits,
    )


def bids_chart(result: Replay) -> Chart:
    """Return what each strategy bids at the end, by value; the log's own bids have no such line."""
    shown = [one for one in charted(result) if np.isfinite(one.bids).all()]
    highest = float(max(one.bids.max() for one in shown))
    return Chart(
        title="Bids at the end",
        x_label="value",
        y_label="bid",
        series=(
            *(
                Series(
                    name=one.strategy,
                    x=tuple(result.values),
                    y=tuple(one.bids),
                    dashed=one.kind == "oracle",
                )
                for one in shown
            ),
            Series(name="the value", x=(0.0, highest), y=(0.0, highest), reference=True),
        ),
        bands=True,
        digits=3,
    )
