"""The charts of the live page: the bids and the law of a bidder, and its figures over time."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications.law_learner.decider import LawDecider
from crossbandit.report import Chart, Series
from crossbandit.service.page.track import win_rates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.applications import FirstPriceBidder
    from crossbandit.service.figures import BidderFigures, LimitFigures
    from crossbandit.service.page.track import Point

_VALUES = 41  # the number of values at which the bid is shown
_MOST_LINES = 4  # the most classes in one chart
_ERRORS = 2.0  # the number of standard errors on either side
_ALIKE = 0.02  # a difference of probabilities that is hardly visible


def known_classes(bidder: FirstPriceBidder) -> list[dict[str, Any]]:
    """Return the combinations of levels that a bidder has learned from, the oldest first.

    Args:
        bidder: The bidder, or a snapshot of one.

    Returns:
        A level of each class, as `bid` takes them; one empty dict for a bidder without classes.
    """
    if not bidder.classes or not isinstance(bidder.learner, LawDecider):
        return [{}]
    width = len(bidder.classes)
    levels = bidder.learner.law.description()["levels"]
    whole = [
        labels
        for feature, labels, *_ in levels
        if len(labels) == width and (width == 1 or feature < 0)  # a level of every class
    ]
    return [dict(zip(bidder.classes, labels, strict=True)) for labels in whole]


def bid_chart(bidder: FirstPriceBidder) -> Chart | None:
    """Return the median bid at each value, with a band that has eight of ten bids.

    Args:
        bidder: The bidder, or a snapshot of one.

    Returns:
        The chart, with a line per class; None if no class is known yet.
    """
    values = np.linspace(*bidder.value_range, _VALUES)
    lines = []
    for classes in known_classes(bidder)[:_MOST_LINES]:
        curve = bidder.shading_curve(values, **classes)
        lines.append(
            Series(
                name=", ".join(map(str, classes.values())) or "bid",
                x=tuple(values),
                y=tuple(curve.bids),
                ends=tuple(zip(curve.low, curve.high, strict=True)),
            )
        )
    if not lines:
        return None
    whole = Series(name="the whole value", x=tuple(values), y=tuple(values), reference=True)
    return Chart(
        title="Bids by value",
        x_label="value",
        y_label="bid",
        series=(*lines, whole),
        bands=True,
    )


def law_chart(bidder: FirstPriceBidder) -> Chart | None:
    """Return the probability that each bid wins.

    Args:
        bidder: The bidder, or a snapshot of one.

    Returns:
        The chart, with a line per class at the middle value, or a line for each of three values
        if there are no classes; None if the bidder has no law or knows no class yet.
    """
    if not isinstance(bidder.learner, LawDecider):
        return None
    low, high = bidder.value_range
    if bidder.classes:
        middle = (low + high) / 2
        places = [
            (", ".join(map(str, classes.values())), middle, classes)
            for classes in known_classes(bidder)[:_MOST_LINES]
        ]
    else:
        thirds = sorted({low + share * (high - low) for share in (0.25, 0.5, 0.75)})
        places = [(f"at value {value:.4g}", value, {}) for value in thirds]
    if not places:
        return None
    lines = [_law_line(bidder, *place) for place in places]
    if not bidder.classes and all(np.allclose(one.y, lines[0].y, atol=_ALIKE) for one in lines):
        lines = [replace(lines[len(lines) // 2], name="at all values")]
    return Chart(
        title="Law of prices",
        x_label="bid",
        y_label="probability of winning",
        series=tuple(lines),
        bands=True,
        percent=True,
    )


def _law_line(bidder: FirstPriceBidder, name: str, value: float, classes: dict[str, Any]) -> Series:
    law = bidder.price_law(value, **classes)
    low = np.clip(law.chances - _ERRORS * law.errors, 0.0, 1.0)
    high = np.clip(law.chances + _ERRORS * law.errors, 0.0, 1.0)
    return Series(
        name=name,
        x=tuple(law.amounts),
        y=tuple(law.chances),
        ends=tuple(zip(low, high, strict=True)),
    )


def history_charts(figures: BidderFigures, points: Sequence[Point]) -> dict[str, Chart | None]:
    """Return the charts over time, by their place on the page.

    Args:
        figures: The figures of a bidder.
        points: The totals over time.
    """
    times = [point.time for point in points]
    surplus = [point.surplus for point in points]
    last: dict[str, Chart | None]
    if figures.limits:
        multipliers = [point.multiplier for point in points]
        last = {"multiplier": _time_chart("Multiplier", "multiplier", times, multipliers)}
    else:
        costs = [point.exploration for point in points]
        last = {"exploration": _time_chart("Exploration", "cost per auction", times, costs)}
    if not figures.learned:
        return dict.fromkeys(("surplus", "spend", "wins", *last))
    return {
        "surplus": _time_chart("Surplus", "surplus so far", times, surplus),
        "wins": _time_chart("Win rate", "share won", times, win_rates(points), percent=True),
        "spend": _spend_chart(figures, points),
        **last,
    }


def _spend_chart(figures: BidderFigures, points: Sequence[Point]) -> Chart | None:
    """Return the chart of the spend; with a budget, that of its present period, and the plan."""
    timed = [one for one in figures.limits if one.kind == "budget" and one.begins is not None]
    if not timed:
        times, spend = [point.time for point in points], [point.spend for point in points]
        return _time_chart("Spend", "spend so far", times, spend)
    budget, begins = timed[0], timed[0].begins or 0.0
    inside = [point for point in points if point.time >= begins]
    if not inside:
        return None
    before = inside[-1].spend - budget.spent
    times = [begins, *(point.time for point in inside if point.time > begins)]
    spend = [0.0, *(max(point.spend - before, 0.0) for point in inside if point.time > begins)]
    return _time_chart(
        "Spend", "spend in this period", times, spend, plan=_plan(budget, begins, times)
    )


def _plan(budget: LimitFigures, begins: float, times: Sequence[float]) -> Series | None:
    """Return the plan as a line: from 0 at the start of the period to the amount planned by now."""
    if budget.planned is None or len(times) < 2:
        return None
    whole = times[-1] - begins
    planned = [budget.planned * (at - begins) / whole for at in times]
    return Series(name="plan", x=tuple(times), y=tuple(planned), reference=True)


def _time_chart(
    title: str,
    label: str,
    times: Sequence[float],
    numbers: Sequence[float],
    *,
    plan: Series | None = None,
    percent: bool = False,
) -> Chart | None:
    """Return a chart of numbers over time; None if all are NaN."""
    if not any(map(math.isfinite, numbers)):
        return None
    line = Series(name=title.lower(), x=tuple(times), y=tuple(numbers))
    return Chart(
        title=title,
        x_label="time",
        y_label=label,
        series=(line,) if plan is None else (line, plan),
        x_time=True,
        percent=percent,
    )
