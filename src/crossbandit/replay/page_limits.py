"""The charts of a replay with limits: spend over time and by period, and multipliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.replay.limited import per_words
from crossbandit.replay.page_parts import charted
from crossbandit.report import Chart, Series
from crossbandit.report.statistics import half_widths

if TYPE_CHECKING:
    from crossbandit.replay.calendar import Calendar
    from crossbandit.replay.results import Replay

_MOST_NAMES = 31  # the number of periods whose names fit on an axis
PLAN = "plan"


def limit_charts(result: Replay, digits: int) -> dict[str, list[Chart]]:
    """Return the charts of a replay with limits, by the names of their places on the page."""
    if result.limits is None:
        return {}
    charts = {"spend": [spend_chart(result, digits)]}
    several = [one for one in result.limits.calendars if len(one.starts) > 1]
    if several:
        charts["periods"] = [period_chart(result, one, digits) for one in several]
    multipliers = multiplier_chart(result)
    return {**charts, "multiplier": [multipliers]} if multipliers.series else charts


def spend_chart(result: Replay, digits: int) -> Chart:
    """Return what each strategy has spent over time, and what was planned."""
    plan = None if result.limits is None else result.limits.plan(result.points)
    lines = [
        Series(
            name=one.strategy,
            x=tuple(result.points),
            y=tuple(one.limited.spend_curve.mean(axis=0)),
            half_widths=tuple(half_widths(one.limited.spend_curve)),
            dashed=one.kind == "oracle",
        )
        for one in charted(result)
        if one.limited is not None
    ]
    if plan is not None:
        lines.append(Series(name=PLAN, x=tuple(result.points), y=tuple(plan), reference=True))
    return Chart(
        title="Spend over time",
        x_label="auction",
        y_label="spend",
        series=tuple(lines),
        bands=True,
        digits=digits,
    )


def period_chart(result: Replay, calendar: Calendar, digits: int) -> Chart:
    """Return what each strategy spent in each period of a calendar, and its budget."""
    limits, names = result.limits, tuple(calendar.names)
    of = np.empty(0, dtype=np.int64) if limits is None else limits.periods_of(calendar)
    places = tuple(float(i) for i in range(len(names)))
    lines = [
        Series(
            name=one.strategy,
            x=places,
            y=tuple(np.bincount(of, one.limited.spend)),
            dashed=one.kind == "oracle",
        )
        for one in charted(result)
        if one.limited is not None
    ]
    title, budget = "Spend by period", calendar.budget
    if budget is not None:
        y = (budget.amount,) * len(places)
        lines.append(Series(name="budget", x=places, y=y, reference=True))
        if limits is not None and len(limits.calendars) > 1:
            title = f"Spend{per_words(budget)}"
    return Chart(
        title=title,
        x_label="period",
        y_label="spend",
        series=tuple(lines),
        x_names=names if len(names) <= _MOST_NAMES else None,
        bands=True,
        digits=digits,
    )


def multiplier_chart(result: Replay) -> Chart:
    """Return what each strategy divided values by, over time."""
    return Chart(
        title="Multiplier over time",
        x_label="auction",
        y_label="value / pseudo-value",
        series=tuple(
            Series(
                name=one.strategy,
                x=tuple(result.points),
                y=tuple(one.limited.multipliers),
            )
            for one in charted(result)
            if one.limited is not None and np.isfinite(one.limited.multipliers).any()
        ),
        y_log=True,
        bands=True,
        digits=2,
    )
