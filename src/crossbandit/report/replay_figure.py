"""The figure of a replayed log, for print: surplus and regret over time, and bids by value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.report.figures import COLORS, GRID, INK, MUTED, STYLE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crossbandit.report.replay import ReplayReport

_DASHED = (0, (4, 2))


def replay_figure(report: ReplayReport) -> Figure:
    """Return three panels with one line per charted strategy; oracles are dashed."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(12.6, 4.0), layout="constrained")
        first, second, third = figure.subplots(1, 3)
        surplus = report.curves.pivot(index="auction", columns="strategy", values="surplus")
        regret = surplus.rsub(surplus[report.comparator], axis="index")
        _draw_curves(first, report, surplus, "surplus")
        _draw_curves(second, report, regret, "regret")
        _draw_bids(third, report)
        handles, labels = first.get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=7, frameon=False, fontsize=8.5
        )
    return figure


def _draw_curves(axes: Axes, report: ReplayReport, means: pd.DataFrame, what: str) -> None:
    _prepare(axes, f"{what.capitalize()} over time", "auction", what)
    halves = report.curves.pivot(index="auction", columns="strategy", values="half_width")
    for i, name in enumerate(report.charted):
        color, mean, half = COLORS[i % len(COLORS)], means[name], halves[name].fillna(0.0)
        line, above = _line(report, name), 9 - i  # learners come first, and lie above the others
        axes.plot(
            mean.index,
            mean,
            color=color,
            linewidth=1.5,
            linestyle=line,
            label=name,
            zorder=above,
        )
        axes.fill_between(
            mean.index, mean - half, mean + half, color=color, alpha=0.18, linewidth=0
        )
    axes.set_xlim(0, means.index.max())
    axes.locator_params(axis="x", nbins=5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda number, _: f"{number:,.10g}".replace("-", "−"))


def _draw_bids(axes: Axes, report: ReplayReport) -> None:
    _prepare(axes, "Bids at the end", "value", "bid")
    for i, name in enumerate(report.charted):
        curve = report.bids[report.bids["strategy"] == name]
        color = COLORS[i % len(COLORS)]
        axes.plot(
            curve["value"],
            curve["bid"],
            color=color,
            linewidth=1.5,
            linestyle=_line(report, name),
            zorder=9 - i,
        )
    top = float(report.bids["value"].max())
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1])
    axes.set_xlim(0, top)
    axes.plot([0, top], [0, top], color=MUTED, linewidth=1, linestyle=_DASHED)


def _prepare(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", fontsize=9.5, pad=10, color=INK)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)


def _line(report: ReplayReport, name: str) -> str | tuple[int, tuple[int, int]]:
    kinds = dict(zip(report.table["strategy"], report.table["kind"], strict=True))
    return _DASHED if kinds[name] == "oracle" else "-"
