"""Charts as data: the page draws them from JSON, and `figures` draws them for print."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGITS = 6  # more digits than a screen can show
_TIME_DIGITS = 13  # digits of times in milliseconds since 1970


class Shape(Enum):
    """How the series of a chart are drawn."""

    LINES = "lines"
    STACKED = "stacked"  # bars in layers, negative values below zero
    ROWS = "rows"  # one row per place, values from left to right
    MARKS = "marks"  # symbols side by side at each place, without a line


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line, layer or set of symbols.

    Attributes:
        name: Its label. Series of one name have one colour on all charts of a page.
        x: The places.
        y: The values; NaN where there is none.
        half_widths: The half-widths of the intervals of `y`; NaN where there is none.
        ends: Where the intervals begin and end, if they are not symmetric; `Shape.ROWS` and
            `Shape.LINES`.
        reference: Whether this is a bound or a slope to compare with. It is drawn dashed and grey.
        dashed: Whether the line is dashed in its own colour.
        others: Further values at each place, drawn as short dashes.
        details: Further texts at each place, shown beside the value.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    half_widths: tuple[float, ...] | None = None
    ends: tuple[tuple[float, float], ...] | None = None
    reference: bool = False
    dashed: bool = False
    others: tuple[tuple[float, ...], ...] | None = None
    details: tuple[tuple[str, ...], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One panel.

    Attributes:
        title: What it shows. The page writes it above the chart.
        x_label: The name of the horizontal axis; that of the places for `Shape.ROWS`.
        y_label: The name of the values.
        series: What is drawn; the first lies on top.
        shape: How it is drawn.
        x_log: Whether places are on a logarithmic axis.
        x_time: Whether places are times, in seconds since 1970. The page shows them as the clock of
            its reader does, print as that of UTC.
        y_log: Whether values are on a logarithmic axis.
        can_switch: Whether the reader may switch between logarithmic and linear axes.
        x_names: Names to show instead of numbers; the places are then 0, 1, 2 and so on.
        ticks: The places to label on the horizontal axis; None chooses round numbers.
        bands: Whether half-widths are shaded bands. Otherwise they are bars.
        tolerance: Values between minus and plus this are shaded.
        percent: Whether values are shares, shown in percent; with their sign where one is negative.
        digits: The number of decimals of values; None shows four significant digits.
        detail_labels: The names of the further texts of the series.
        group: Charts of one group share the axis of their values; "" for an axis of its own.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    shape: Shape = Shape.LINES
    x_log: bool = False
    x_time: bool = False
    y_log: bool = False
    can_switch: bool = False
    x_names: tuple[str, ...] | None = None
    ticks: tuple[float, ...] | None = None
    bands: bool = False
    tolerance: float | None = None
    percent: bool = False
    digits: int | None = None
    detail_labels: tuple[str, ...] = ()
    group: str = ""

    @property
    def places(self) -> tuple[float, ...]:
        """The places of all series that are no reference, in increasing order."""
        return tuple(sorted({x for one in self.series if not one.reference for x in one.x}))

    def to_json(self) -> dict[str, Any]:
        """Return what the page's script draws.

        Returns:
            Lists, numbers and texts. Numbers have six digits, and those not finite are None.
        """
        places = self.places
        digits = _TIME_DIGITS if self.x_time else _DIGITS
        return {
            "title": self.title,
            "x": self.x_label,
            "y": self.y_label,
            "shape": self.shape.value,
            "xLog": self.x_log,
            "xTime": self.x_time,
            "yLog": self.y_log,
            "canSwitch": self.can_switch,
            "xNames": None if self.x_names is None else list(self.x_names),
            "ticks": None if self.ticks is None else _rounded(self.ticks, digits),
            "bands": self.bands,
            "tolerance": self.tolerance,
            "percent": self.percent,
            "digits": self.digits,
            "details": list(self.detail_labels),
            "group": self.group,
            "places": _rounded(places, digits),
            "series": [_series(one, places, digits) for one in self.series],
        }


def _series(one: Series, places: tuple[float, ...], digits: int) -> dict[str, Any]:
    """Return a series as JSON. If its places are those of the chart, they are left out."""
    return {
        "name": one.name,
        "x": None if tuple(one.x) == places else _rounded(one.x, digits),
        "y": _rounded(one.y),
        "half": _half_widths(one),
        "ends": None if one.ends is None else [_rounded(pair) for pair in one.ends],
        "reference": one.reference,
        "dashed": one.dashed,
        "others": None if one.others is None else [_rounded(values) for values in one.others],
        "details": None if one.details is None else [list(texts) for texts in one.details],
    }


def _half_widths(one: Series) -> list[float | None] | None:
    if one.half_widths is None or not any(map(math.isfinite, one.half_widths)):
        return None
    return _rounded(one.half_widths)


def _rounded(values: Iterable[float], digits: int = _DIGITS) -> list[float | None]:
    return [float(f"{x:.{digits}g}") if math.isfinite(x) else None for x in map(float, values)]
