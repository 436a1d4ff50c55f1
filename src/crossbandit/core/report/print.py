"""Charts for print, drawn by Matplotlib: PNG, PDF and SVG, the same bytes for the same charts.

Only pages have stacked bars, times, intervals that are not symmetric, and references in rows.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.report.data import Chart, Series, Shape
from crossbandit.core.report.text import percent_text, short_text, tick_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crossbandit.core.types import Floats

# Okabe and Ito's colours can be told apart in print and by colour-blind readers. Markers tell the
# series apart where there is no colour.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, MUTED, GRID = "#222222", "#767676", "#E3E3E3"
_DASHES = (0, (4, 3))
_FEW = 30  # up to this many points of a line have a marker each

Style = tuple[str, str]

FORMATS = ("png", "pdf", "svg")
_STYLE: dict[Any, Any] = {  # Matplotlib's types allow only known names
    "font.size": 9,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "text.parse_math": False,  # a label may hold dollars and backslashes
    "pdf.fonttype": 42,  # keep text as text, as journals require
    "svg.hashsalt": "crossbandit",
}
_DATES: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


def load_matplotlib() -> ModuleType:
    """Import Matplotlib with any value of `MPLBACKEND`: files need no backend for a screen."""
    backend = os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib as mpl
    finally:
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
    if backend:
        try:
            mpl.rcParams["backend"] = backend
        except ValueError:  # there is no such backend, and nothing here needs it
            mpl.rcParams["backend"] = "agg"
    return mpl


def draw_figure(
    charts: Sequence[Chart], *, columns: int | None = None, shared_legend: bool = False
) -> Figure:
    """Draw one panel per chart. Series of one name look the same in all panels.

    Args:
        charts: The charts, in reading order.
        columns: The number of panels side by side; None for two, or one where rows have long names.
        shared_legend: Whether one legend below all panels names the series. Otherwise each line
            has its name at its end, and other shapes have a legend each.

    Returns:
        The figure, for `figure_files`.
    """
    mpl = load_matplotlib()
    from matplotlib.figure import Figure

    rows_only = any(chart.shape is Shape.ROWS for chart in charts)
    across = min(len(charts), columns or (1 if rows_only else 2))
    down = -(-len(charts) // across)
    width = 7.2 if across == 1 and rows_only else 4.6 * across + 0.4
    heights = [
        1.2 + 0.48 * len(chart.places) + 0.2 * len(chart.series)
        for chart in charts
        if chart.shape is Shape.ROWS
    ]
    height = max([3.4, *heights])
    names = dict.fromkeys(s.name for chart in charts for s in chart.series if not s.reference)
    styles = {name: style(i) for i, name in enumerate(names)}
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height * down), layout="constrained")
        for i, chart in enumerate(charts):
            axes = figure.add_subplot(down, across, i + 1)
            draw_chart(axes, chart, styles)
        for group in {chart.group for chart in charts} - {""}:
            share_values([a for a, c in zip(figure.axes, charts, strict=True) if c.group == group])
        if shared_legend:
            _add_legend(figure, charts, styles)
            return figure
        for axes, chart in zip(figure.axes, charts, strict=True):
            if chart.shape is Shape.LINES:
                _label_ends(axes, chart, styles)
            else:
                axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.14))
    return figure


def figure_files(
    figure: Figure, name: str, *, formats: Sequence[str] = FORMATS
) -> dict[str, bytes]:
    """Return a figure as files.

    Args:
        figure: The figure.
        name: The name of the files, without an ending.
        formats: The formats: "png", "pdf" or "svg".

    Returns:
        The contents by file name, for `write_files`.
    """
    mpl = load_matplotlib()
    contents = {}
    with mpl.rc_context(_STYLE):
        for kind in formats:
            file = io.BytesIO()
            figure.savefig(file, format=kind, dpi=200, metadata=_DATES.get(kind))
            contents[f"{name}.{kind}"] = file.getvalue()
    return contents


# --- shape by shape ----------------------------------------------------------------------------


def style(i: int) -> Style:
    """Return the colour and the marker of series number `i`; the first 49 pairs differ."""
    turn, place = divmod(i, len(COLORS))
    return COLORS[place], MARKERS[(place + turn) % len(MARKERS)]


def draw_chart(axes: Axes, chart: Chart, styles: Mapping[str, Style]) -> None:
    """Draw a chart without the names of its series."""
    axes.set_title(chart.title, loc="left", fontsize=9.5, pad=10)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if chart.tolerance is not None:
        axes.axhspan(-chart.tolerance, chart.tolerance, color=GRID, alpha=0.45, linewidth=0)
    draw = {
        Shape.LINES: _draw_lines,
        Shape.ROWS: _draw_rows,
        Shape.MARKS: _draw_marks,
    }[chart.shape]
    draw(axes, chart, styles)


def share_values(panels: Sequence[Axes]) -> None:
    """Give several panels the same axis of values."""
    limits = [axes.get_ylim() for axes in panels]
    low, high = min(low for low, _ in limits), max(high for _, high in limits)
    for axes in panels:
        axes.set_ylim(low, high)
        if axes.get_yscale() == "log":
            axes.set_yticks(round_numbers(low, high))


def _add_legend(figure: Figure, charts: Sequence[Chart], styles: Mapping[str, Style]) -> None:
    """Name the series of all panels in one legend below them."""
    from matplotlib.lines import Line2D

    dashed = {one.name for chart in charts for one in chart.series if one.dashed}
    marked = all(chart.shape is Shape.MARKS for chart in charts)
    handles = [
        Line2D(
            [],
            [],
            color=color,
            marker=marker if marked else "",
            linestyle="none" if marked else _DASHES if name in dashed else "-",
            label=name,
        )
        for name, (color, marker) in styles.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=7, frameon=False, fontsize=8.5)


def _draw_lines(axes: Axes, chart: Chart, styles: Mapping[str, Style]) -> None:
    if chart.x_log:
        axes.set_xscale("log")
    if chart.y_log:
        axes.set_yscale("log")
    for i, one in enumerate(chart.series):
        if one.reference:
            axes.plot(one.x, one.y, color=MUTED, linestyle=_DASHES, linewidth=1, zorder=1)
        else:
            _draw_line(axes, chart, one, styles[one.name], above=3 + 1 / (i + 1))
    _name_axes(axes, chart)


def _draw_line(axes: Axes, chart: Chart, one: Series, look: Style, *, above: float) -> None:
    color, marker = look
    y = np.asarray(one.y, dtype=np.float64)
    if chart.y_log:
        y = np.where(y > 0, y, np.nan)
    widths = _half_widths(one)
    if chart.bands and widths is not None:
        axes.fill_between(one.x, y - widths, y + widths, color=color, alpha=0.18, linewidth=0)
        widths = None
    axes.errorbar(
        one.x,
        y,
        yerr=widths,
        color=color,
        linestyle=_DASHES if one.dashed else "-",
        marker=marker,
        markevery=1 if y.size <= _FEW else [-1],
        markersize=4.5,
        markeredgecolor="white",
        markeredgewidth=0.6,
        linewidth=1.4,
        elinewidth=1,
        capsize=2.5,
        zorder=above,
    )


def _half_widths(one: Series) -> Floats | None:
    if one.half_widths is None:
        return None
    halves: Floats = np.nan_to_num(np.array(one.half_widths, dtype=np.float64))
    return halves if halves.any() else None


def _name_axes(axes: Axes, chart: Chart) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    if chart.x_names is not None:
        axes.set_xticks(range(len(chart.x_names)), chart.x_names)
    elif chart.ticks is not None:
        axes.set_xticks(chart.ticks, [short_text(tick) for tick in chart.ticks])
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        if not chart.x_log:
            axes.set_xlim(left=min(0.0, *chart.places))
            axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(tick_text))
    if chart.y_log:
        low, high = axes.get_ylim()
        axes.set_yticks(round_numbers(low, high))
        axes.set_ylim(low, high)
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0] if axes.dataLim.y0 < 0 else 0.0))
    axes.yaxis.set_major_formatter(FuncFormatter(percent_text if chart.percent else tick_text))


def _draw_rows(axes: Axes, chart: Chart, styles: Mapping[str, Style]) -> None:
    names = chart.x_names or tuple(tick_text(x) for x in chart.places)
    if chart.y_log:
        axes.set_xscale("log")
    for one in chart.series:
        rows = np.asarray(one.x) + 0.2
        color, marker = styles[one.name]
        axes.errorbar(
            one.y,
            rows,
            xerr=_half_widths(one),
            color=color,
            marker=marker,
            linestyle="none",
            markersize=5,
            elinewidth=1,
            label=one.name,
        )
    for i, name in enumerate(names):
        label = axes.annotate(
            name,
            xy=(0, i - 0.15),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            annotation_clip=False,
        )
        label.set_in_layout(False)  # a long name must not squeeze the chart
        axes.axhline(i + 0.5, color=GRID, linewidth=0.7)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    if not chart.y_log:
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    axes.set_xlabel(chart.y_label)
    axes.grid(axis="x", color=GRID, linewidth=0.7)


def _draw_marks(axes: Axes, chart: Chart, styles: Mapping[str, Style]) -> None:
    """Draw symbols side by side at each place, and dashes for the other values."""
    axes.axhline(0, color=MUTED, linewidth=0.8)
    for i, one in enumerate(chart.series):
        color, marker = styles[one.name]
        x = np.asarray(one.x) + 0.18 * (i - (len(chart.series) - 1) / 2)
        for place, values in zip(x, one.others or (), strict=False):
            axes.plot([place] * len(values), values, "_", color=color, markersize=7, alpha=0.75)
        axes.plot(
            x,
            one.y,
            marker,
            color=color,
            markersize=5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=one.name,
        )
    _name_axes(axes, chart)
    axes.set_ylim(auto=True)
    axes.autoscale(axis="y")
    axes.tick_params(length=0)


def _label_ends(axes: Axes, chart: Chart, styles: Mapping[str, Style]) -> None:
    """Write each name beside the end of its line, moved apart where lines end close together."""
    last = chart.places[-1]  # a line that ends before the right edge has no name beside it
    lowest = 0.0 if chart.y_log else -np.inf
    ends = [one for one in chart.series if one.x[-1] == last and lowest < one.y[-1] < np.inf]
    place = np.log if chart.y_log else np.asarray
    bottom, top = (float(place(limit)) for limit in axes.get_ylim())
    fractions = [(float(place(one.y[-1])) - bottom) / (top - bottom) for one in ends]
    order = np.argsort(fractions)
    for position, i in zip(spread_out([fractions[i] for i in order], 0.065), order, strict=True):
        one = ends[i]
        axes.annotate(
            one.name,
            xy=(1, position),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=MUTED if one.reference else styles[one.name][0],
            fontsize=8.5,
            annotation_clip=False,
        )


def round_numbers(low: float, high: float) -> list[float]:
    """Return 1, 2, 5, 10, 20 and so on between two positive numbers.

    >>> round_numbers(150, 900)
    [200.0, 500.0]
    """
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]


def spread_out(places: Sequence[float], apart: float) -> list[float]:
    """Move increasing places as little as needed, so that neighbours are `apart`, within [0, 1].

    >>> [round(place, 3) for place in spread_out([0.5, 0.52, 0.9], 0.1)]
    [0.46, 0.56, 0.9]
    """
    groups: list[list[float]] = []  # places that touch move together, around their mean
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _first(groups[-1], apart) < _last(groups[-2], apart) + apart:
            touching = groups.pop()
            groups[-1] += touching
    return [_first(group, apart) + apart * i for group in groups for i in range(len(group))]


def _first(group: Sequence[float], apart: float) -> float:
    middle = sum(group) / len(group)
    half = apart * (len(group) - 1) / 2
    return min(max(middle, half), max(1.0 - half, half)) - half


def _last(group: Sequence[float], apart: float) -> float:
    return _first(group, apart) + apart * (len(group) - 1)
