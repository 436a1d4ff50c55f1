"""Charts as figures for print: PNG, PDF and SVG, the same bytes for the same charts."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

from crossbandit.report.charts import Shape
from crossbandit.report.drawing import (
    INK,
    MUTED,
    add_legend,
    draw_chart,
    name_series,
    share_values,
    style,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from matplotlib.figure import Figure

    from crossbandit.report.charts import Chart

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
    """Import Matplotlib with any value of `MPLBACKEND`: files need no backend for a screen.

    Returns:
        The module `matplotlib`. It has the backend that the environment names, if there is one.
    """
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
    height = max(_height(chart) for chart in charts)
    names = dict.fromkeys(s.name for chart in charts for s in chart.series if not s.reference)
    styles = {name: style(i) for i, name in enumerate(names)}
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height * down), layout="constrained")
        for i, chart in enumerate(charts):
            axes = figure.add_subplot(down, across, i + 1)
            draw_chart(axes, chart, styles)
        for group in {chart.group for chart in charts} - {""}:
            share_values([a for a, c in zip(figure.axes, charts, strict=True) if c.group == group])
        for axes, chart in zip(figure.axes, charts, strict=True):
            if not shared_legend:
                name_series(axes, chart, styles)
        if shared_legend:
            add_legend(figure, charts, styles)
    return figure


def _height(chart: Chart) -> float:
    if chart.shape is not Shape.ROWS:
        return 3.4
    return max(3.4, 1.2 + 0.48 * len(chart.places) + 0.2 * len(chart.series))


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
