"""What a replay shows of limits: columns of the table, and charts of spend and multipliers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.limits import Budget, CostPer, ReturnOnSpend
from crossbandit.replay.page_charts import charted
from crossbandit.report import Chart, Series
from crossbandit.report.statistics import half_widths
from crossbandit.report.text import MISSING, number

if TYPE_CHECKING:
    import pandas as pd

    from crossbandit.limits import Limit
    from crossbandit.replay.results import Replay

_MOST_NAMES = 31  # periods whose names an axis has room for
PLAN = "plan"


def limit_heads(result: Replay) -> tuple[str, ...]:
    """Return the headings of the columns that limits add to the table."""
    if result.limits is None:
        return ()
    heads = ["budget used"] if math.isfinite(result.limits.total) else []
    return (*heads, *(("return", "target kept") if result.limits.targets else ()))


def limit_cells(result: Replay, row: pd.Series[float]) -> tuple[str, ...]:
    """Return the entries of a row of the table under `limit_heads`."""
    texts: dict[str, str] = {}
    if "budget_used" in row:
        texts["budget used"] = f"{100 * row['budget_used']:.1f} %"
    if "target_kept" in row:
        returned = float(row["return_on_spend"])
        texts["return"] = MISSING if math.isnan(returned) else number(returned, 2)
        texts["target kept"] = "yes" if row["target_kept"] else "no"
    return tuple(texts[head] for head in limit_heads(result))


def describe(limit: Limit) -> str:
    """Return a limit in words.

    >>> describe(Budget(500, per="day", timezone="Europe/Berlin"))
    'a budget of 500 per day (Europe/Berlin), paced by traffic'
    """
    if isinstance(limit, Budget):
        pace = {"traffic": "paced by traffic", "even": "paced evenly", "asap": "not paced"}
        return f"a budget of {limit.amount:g}{_per(limit)}, {pace[limit.pacing]}"
    aim = "" if not isinstance(limit, ReturnOnSpend | CostPer) else f", aiming at {limit.aim}"
    if isinstance(limit, ReturnOnSpend):
        return f"a return on spend of {limit.ratio:g}{_per(limit)}{aim}"
    cost = f"{limit.amount:g}" if isinstance(limit, CostPer) else ""
    return f"a cost of at most {cost} per win{_per(limit)}{aim}"


def _per(limit: Limit) -> str:
    if limit.per is None:
        return ""
    if isinstance(limit.per, int):
        return f" per {limit.per:,} auctions"
    zone = f" ({limit.timezone})" if limit.per in {"day", "hour"} else ""
    return f" per {limit.per}{zone}"


def limit_charts(result: Replay, digits: int) -> dict[str, list[Chart]]:
    """Return the charts of a replay with limits, by the name of their place on the page."""
    if result.limits is None:
        return {}
    charts = {"spend": [spend_chart(result, digits)]}
    if result.limits.periods > 1:
        charts["periods"] = [period_chart(result, digits)]
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


def period_chart(result: Replay, digits: int) -> Chart:
    """Return what each strategy spent in each period, and its budget."""
    limits = result.limits
    names = () if limits is None else tuple(limits.calendar.names)
    places = tuple(float(i) for i in range(len(names)))
    lines = [
        Series(
            name=one.strategy,
            x=places,
            y=tuple(one.limited.spend),
            dashed=one.kind == "oracle",
        )
        for one in charted(result)
        if one.limited is not None
    ]
    if limits is not None and limits.periodic is not None:
        amount = limits.periodic.amount
        lines.append(Series(name="budget", x=places, y=(amount,) * len(places), reference=True))
    return Chart(
        title="Spend by period",
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
