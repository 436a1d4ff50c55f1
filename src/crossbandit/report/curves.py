"""Regret over time, with confidence bands, one line per algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from crossbandit.simulation import Run

# Okabe and Ito's colours: told apart in print and by colour-blind readers.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK = "#222222"
GRID = "#DDDDDD"
CONFIDENCE = 1.96
_POINTS = 400


def regret_figure(runs: Mapping[str, Sequence[Run]], *, title: str) -> Figure:
    """Return a figure of the mean regret of each algorithm's runs, with 95 % bands."""
    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    axes = figure.add_subplot()
    ends = []
    for color, (name, group) in zip(COLORS * (1 + len(runs)), runs.items(), strict=False):
        ends.append((_draw(axes, group, color), name, color))
    _style(axes, title)
    _label_ends(axes, ends)
    return figure


def _draw(axes: Axes, runs: Sequence[Run], color: str) -> float:
    """Draw one algorithm's mean and band; return where the mean ends."""
    horizon = runs[0].regret.size
    rounds = np.unique(np.linspace(0, horizon - 1, min(_POINTS, horizon)).astype(int))
    curves = np.array([run.regret[rounds] for run in runs])
    mean = curves.mean(axis=0)
    axes.plot(rounds + 1, mean, color=color, linewidth=2)
    if len(runs) > 1:
        half = CONFIDENCE * curves.std(axis=0, ddof=1) / np.sqrt(len(runs))
        axes.fill_between(rounds + 1, mean - half, mean + half, color=color, alpha=0.2, linewidth=0)
    return float(mean[-1])


def _style(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", color=INK, fontsize=12, pad=12)
    axes.set_xlabel("round", color=INK)
    axes.set_ylabel("regret", color=INK)
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(color=GRID, labelcolor=INK)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}"))


def _label_ends(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Write each name at the end of its line, pushed apart where lines end close together."""
    low, high = axes.get_ylim()
    apart = 0.055 * (high - low)
    position = -np.inf
    for value, name, color in sorted(ends):
        position = max(value, position + apart)
        axes.annotate(
            f"{name}  {value:,.0f}",
            xy=(1, position),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=color,
            fontsize=10,
            annotation_clip=False,
        )
