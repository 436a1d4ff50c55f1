"""Figures for print from plain series: lines with intervals and references, or layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from crossbandit.report.figures import COLORS, GRID, MUTED, STYLE, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class SeriesLike(Protocol):
    """One line or layer; `reference` marks what others are compared with."""

    @property
    def name(self) -> str: ...
    @property
    def x(self) -> Sequence[float]: ...
    @property
    def y(self) -> Sequence[float]: ...
    @property
    def half_widths(self) -> Sequence[float] | None: ...
    @property
    def reference(self) -> bool: ...


class ShapeLike(Protocol):
    """How series are drawn: "stacked" in layers, anything else as lines."""

    @property
    def value(self) -> str: ...


class ChartLike(Protocol):
    """One panel, such as a `crossbandit.theory.statements.Figure`."""

    @property
    def title(self) -> str: ...
    @property
    def x_label(self) -> str: ...
    @property
    def y_label(self) -> str: ...
    @property
    def series(self) -> Sequence[SeriesLike]: ...
    @property
    def shape(self) -> ShapeLike: ...
    @property
    def x_log(self) -> bool: ...
    @property
    def y_log(self) -> bool: ...
    @property
    def x_names(self) -> Sequence[str] | None: ...


def series_figure(charts: Sequence[ChartLike]) -> Figure:
    """Return one panel per chart, side by side."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(6.2 * len(charts), 3.6), layout="constrained")
        panels = figure.subplots(1, len(charts), squeeze=False)[0]
        for axes, chart in zip(panels, charts, strict=True):
            _draw(axes, chart)
    return figure


def _draw(axes: Axes, chart: ChartLike) -> None:
    axes.set_title(chart.title, loc="left", fontsize=9.5, pad=10)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    if chart.shape.value == "stacked":
        _draw_layers(axes, chart)
    else:
        _draw_lines(axes, chart)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _draw_lines(axes: Axes, chart: ChartLike) -> None:
    from matplotlib.ticker import NullLocator

    if chart.x_log:
        axes.set_xscale("log")
        places = sorted({x for series in chart.series for x in series.x})
        axes.set_xticks(places, [f"{x:,.10g}" for x in places])
        axes.xaxis.set_minor_locator(NullLocator())
    if chart.y_log:
        axes.set_yscale("log")
    for i, series in enumerate(line for line in chart.series if not line.reference):
        axes.errorbar(
            series.x,
            series.y,
            yerr=None if series.half_widths is None else np.nan_to_num(series.half_widths),
            label=series.name,
            color=style(i)[0],
            marker=style(i)[1],
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            linewidth=1.5,
            capsize=2.5,
        )
    _draw_references(axes, chart, None)
    if chart.x_names is not None:
        axes.set_xticks(range(len(chart.x_names)), chart.x_names)


def _draw_layers(axes: Axes, chart: ChartLike) -> None:
    """Stack bars away from zero, what is negative below it; x becomes a list of names."""
    layers = [series for series in chart.series if not series.reference]
    places = np.arange(len(layers[0].x))
    above, below = np.zeros(places.size), np.zeros(places.size)
    for i, layer in enumerate(layers):
        y = np.asarray(layer.y, dtype=np.float64)
        bottom = np.where(y >= 0, above, below)
        axes.bar(places, y, 0.62, bottom, color=COLORS[i % len(COLORS)], label=layer.name)
        above += np.maximum(y, 0)
        below += np.minimum(y, 0)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    _draw_references(axes, chart, places.tolist())
    names = chart.x_names or [f"{x:,.10g}" for x in layers[0].x]
    axes.set_xticks(places, names)


def _draw_references(axes: Axes, chart: ChartLike, places: Sequence[int] | None) -> None:
    for series in chart.series:
        if series.reference:
            x = series.x if places is None else places
            axes.plot(
                x, series.y, color=MUTED, linestyle=(0, (4, 3)), linewidth=1, label=series.name
            )
