"""The charts of a study: final regret, regret over time, other loss tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.report import Chart, Series, Shape
from crossbandit.report.text import MISSING, number, percent
from crossbandit.studies.page.claims import ENTRY_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.studies.page.comparisons import Spread
    from crossbandit.studies.page.sweeps import Entry, Setting, Sweep

REFERENCE = "square root"
_STEPS = 40


def sweep_chart(sweep: Sweep) -> Chart:
    """Return the final regrets of a sweep: lines over an axis of numbers, or rows of names."""
    places = {setting: i for i, setting in enumerate(sweep.settings)}
    series = [
        Series(
            name=method,
            x=tuple(e.setting.value if sweep.numeric else places[e.setting] for e in column),
            y=tuple(entry.summary.regret for entry in column),
            half_widths=tuple(entry.summary.half_width for entry in column),
            details=None if sweep.published is None else tuple(map(_beside, column)),
        )
        for method in sweep.methods
        if (column := sweep.column(method))
    ]
    return Chart(
        title=sweep.title,
        x_label=sweep.axis,
        y_label="final regret",
        series=(*series, *_square_root(sweep)),
        shape=Shape.LINES if sweep.numeric else Shape.ROWS,
        x_log=sweep.is_logarithmic,
        y_log=sweep.is_logarithmic,
        can_switch=sweep.is_logarithmic or (not sweep.numeric and sweep.is_positive),
        x_names=None if sweep.numeric else tuple(s.label for s in sweep.settings),
        ticks=tuple(s.value for s in sweep.settings) if sweep.numeric else None,
        digits=2,
        detail_labels=() if sweep.published is None else ("paper", "difference"),
        group=sweep.group,
    )


def _beside(entry: Entry) -> tuple[str, str]:
    if entry.published is None:
        return MISSING, MISSING
    return number(entry.published.regret), percent(entry.difference)


def _square_root(sweep: Sweep) -> list[Series]:
    """Return a square root through the first point of the first method of the paper's sweeps."""
    column = sweep.column(sweep.methods[0])
    if sweep.published is None or not sweep.is_logarithmic or len(column) < 2:
        return []
    start, stop = column[0].setting.value, column[-1].setting.value
    x = tuple(start * (stop / start) ** (i / _STEPS) for i in range(_STEPS))
    x = (*x, stop)  # without rounding, so that the line ends where the others do
    y = tuple(column[0].summary.regret * math.sqrt(place / start) for place in x)
    return [Series(name=REFERENCE, x=x, y=y, reference=True)]


def curve_chart(sweep: Sweep, setting: Setting) -> Chart:
    """Return the regret over time in one setting."""
    return Chart(
        title=sweep.full_place(setting),
        x_label="round",
        y_label="regret",
        series=tuple(
            Series(
                name=entry.method,
                x=tuple(entry.summary.curve.rounds),
                y=tuple(entry.summary.curve.mean),
                half_widths=tuple(entry.summary.curve.half_widths),
            )
            for entry in sweep.row(setting)
        ),
        can_switch=True,
        bands=True,
        digits=1,
    )


def _range(shares: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys((percent(min(shares)), percent(max(shares)))))


def spread_chart(sweep: Sweep, spreads: Sequence[Spread]) -> Chart:
    """Return the entries of a sweep and those under other tables, as differences from the paper."""
    places = {setting: i for i, setting in enumerate(sweep.settings)}
    series = []
    for method in sweep.methods:
        mine = [spread for spread in spreads if spread.entry.method == method]
        if not mine:
            continue
        others = tuple(
            tuple(spread.against_paper(regret) for _, regret in spread.others) for spread in mine
        )
        series.append(
            Series(
                name=method,
                x=tuple(places[spread.entry.setting] for spread in mine),
                y=tuple(spread.entry.difference for spread in mine),
                others=others,
                details=tuple((_range(values),) for values in others),
            )
        )
    return Chart(
        title=f"By {sweep.axis}",
        x_label=sweep.axis,
        y_label="difference from the paper",
        series=tuple(series),
        shape=Shape.MARKS,
        x_names=tuple(setting.label for setting in sweep.settings),
        tolerance=ENTRY_TOLERANCE,
        percent=True,
        detail_labels=("other tables",),
    )
