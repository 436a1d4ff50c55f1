"""What a report is made of, as data: tables and charts.

Its users make data only. Each of the other modules turns it into one kind of output: `text` into
Markdown, LaTeX and CSV, `terminal` into what a terminal shows, `pages` into HTML, and `print`
into figures for print.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crossbandit.core.types import Floats, Integers

    Numbers: TypeAlias = Sequence[float] | Floats | Integers

_DIGITS = 6  # more digits than a screen can show
_TIME_DIGITS = 13  # digits of times in milliseconds since 1970

# --- tables ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableCell:
    """A cell of a table that has more than a text.

    Attributes:
        text: What it says.
        half_width: The half-width of the interval of a number, or nothing.
        note: A remark, which terminals leave out.
        mark: A short remark, which only terminals show. The note of a cell marked "!" is then
            below the table.
        style: "best", "outside" and "other" are written in bold, in red and in grey; "met",
            "not met" and "not judged" are the result of a check.
        series: The series whose symbol stands before the text on a page.
        link: The page that the text leads to.
    """

    text: str
    half_width: str = ""
    note: str = ""
    mark: str = ""
    style: str = ""
    series: str = ""
    link: str = ""

    def __str__(self) -> str:
        return f"{self.text} ± {self.half_width}" if self.half_width else self.text


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table for a page, a terminal or a document.

    Attributes:
        title: Its heading.
        caption: What its numbers are.
        head: The names of the columns.
        rows: The cells, row by row.
        groups: The headings of groups, by the index of their first row. Pages show them; others
            leave some space.
        strong: The rows that terminals show in bold.
        labels: How many columns on the left are names; all others hold numbers.
        numeric: Whether the first column holds numbers too.
        label: The name for references in LaTeX.
        roomy: The columns that narrow screens leave out.
        brief: The columns that terminals leave out.
        as_is: Whether the names of the columns are names of strategies and levels, which pages do
            not begin with capitals.
        checks: Whether the rows are checks and the last column their results.
    """

    title: str = ""
    caption: str = ""
    head: tuple[str, ...]
    rows: tuple[tuple[str | TableCell, ...], ...]
    groups: Mapping[int, str] = field(default_factory=dict)
    strong: frozenset[int] = frozenset()
    labels: int = 1
    numeric: bool = False
    label: str = ""
    roomy: frozenset[str] = frozenset()
    brief: frozenset[str] = frozenset()
    as_is: bool = False
    checks: bool = False

    @property
    def cells(self) -> list[list[TableCell]]:
        """The cells, row by row."""
        return [[TableCell(x) if isinstance(x, str) else x for x in row] for row in self.rows]

    def has_intervals(self, column: int) -> bool:
        """Return whether a column has numbers with half-widths.

        Args:
            column: The number of the column.
        """
        return any(row[column].half_width for row in self.cells)

    def is_number(self, column: int) -> bool:
        """Return whether a column holds numbers, aligned to the right.

        Args:
            column: The number of the column.
        """
        return column >= self.labels or (column == 0 and self.numeric)

    def without(self, name: str) -> Table:
        """Return the table without a column.

        Args:
            name: The heading of the column.
        """
        i = self.head.index(name)
        rows = tuple(row[:i] + row[i + 1 :] for row in self.rows)
        return replace(self, head=self.head[:i] + self.head[i + 1 :], rows=rows)

    def with_notes(self) -> Table:
        """Return the table with the notes of its first column as its last column."""
        notes = [cells[0].note for cells in self.cells]
        rows = tuple((*row, note) for row, note in zip(self.rows, notes, strict=True))
        return replace(self, head=(*self.head, ""), rows=rows)


def group_starts(headings: Sequence[str]) -> dict[int, str]:
    """Return the groups of a table from the heading of each row.

    Args:
        headings: The heading of each row; equal ones in a row are one group.

    >>> group_starts(["a", "a", "b"])
    {0: 'a', 2: 'b'}
    """
    return {i: x for i, x in enumerate(headings) if i == 0 or headings[i - 1] != x}


# --- charts ------------------------------------------------------------------------------------


class Shape(Enum):
    """How the series of a chart are drawn."""

    LINES = "lines"
    STACKED = "stacked"  # bars in layers, negative values below zero; on pages only
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
            `Shape.LINES` on pages.
        reference: Whether this is a bound or a slope to compare with. It is drawn dashed and grey.
        dashed: Whether the line is dashed in its own colour.
        others: Further values at each place, drawn as short dashes.
        details: Further texts at each place, shown beside the value.
    """

    name: str
    x: Numbers
    y: Numbers
    half_widths: Numbers | None = None
    ends: Sequence[tuple[float, float]] | None = None
    reference: bool = False
    dashed: bool = False
    others: tuple[tuple[float, ...], ...] | None = None
    details: tuple[tuple[str, ...], ...] | None = None

    def __post_init__(self) -> None:
        """Keep numbers as tuples, so that series can be compared."""
        for name in ("x", "y", "half_widths"):
            numbers = getattr(self, name)
            if numbers is not None:
                object.__setattr__(self, name, tuple(numbers))


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
        x_time: Whether places are times, in seconds since 1970, for pages only. They are shown as
            the clock of the reader does.
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
    halves = None
    if one.half_widths is not None and any(map(math.isfinite, one.half_widths)):
        halves = _rounded(one.half_widths)
    return {
        "name": one.name,
        "x": None if tuple(one.x) == places else _rounded(one.x, digits),
        "y": _rounded(one.y),
        "half": halves,
        "ends": None if one.ends is None else [_rounded(pair) for pair in one.ends],
        "reference": one.reference,
        "dashed": one.dashed,
        "others": None if one.others is None else [_rounded(values) for values in one.others],
        "details": None if one.details is None else [list(texts) for texts in one.details],
    }


def _rounded(values: Iterable[float], digits: int = _DIGITS) -> list[float | None]:
    return [float(f"{x:.{digits}g}") if math.isfinite(x) else None for x in map(float, values)]
