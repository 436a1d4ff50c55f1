"""All claims in one picture: how far each number is beyond its aim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

if TYPE_CHECKING:
    from benchmarks.measure import Result

REACHED, NOT_REACHED, INK, GRID = "#0072B2", "#D55E00", "#222222", "#DDDDDD"


def figure(results: list[Result], *, title: str) -> Figure:
    """Return a chart with a dot per claim; at 1 a claim just holds, further right is better."""
    picture = Figure(figsize=(9.0, 1.4 + 0.34 * len(results)), layout="constrained")
    axes = picture.add_subplot()
    for row, result in enumerate(reversed(results)):
        room = _room(result)
        color = REACHED if result.reached else NOT_REACHED
        axes.plot([1, room], [row, row], color=color, linewidth=2, solid_capstyle="butt")
        axes.plot([room], [row], marker="o", color=color, markersize=7)
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(results)), [result.name for result in reversed(results)])
    axes.set_xlabel("times better than the aim (logarithmic)", color=INK)
    axes.set_title(title, loc="left", color=INK, fontsize=11)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    return picture


def _room(result: Result) -> float:
    over, under = (result.value, result.aim) if result.at_least else (result.aim, result.value)
    return max(over / max(under, 1e-3 * over), 1e-3)
