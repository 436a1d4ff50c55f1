"""Pictures of a feedback graph: Matplotlib axes, and HTML for notebooks."""

from __future__ import annotations

import html as markup
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.core.notebook import card, counted, new_axes
from crossbandit.graphs import neighborhoods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from crossbandit.graphs.graph import FeedbackGraph

CIRCLE_ARMS = 40  # with more arms a circle is not legible
_MATRIX_ARMS = 1_000  # more rows than a screen has
_BOUNDED_ARMS = 1_000  # up to here the independence bounds are computed at once

_LOOP = "#0072b2"
_LOOPLESS = "#d55e00"
_EDGE = "#7f8a96"  # visible on white and on black
_LOOP_LABEL = "reveals itself"
_LOOPLESS_LABEL = "does not reveal itself"


class _Arrow(NamedTuple):
    """An edge between two different arms, from rim to rim."""

    start: tuple[float, float]
    end: tuple[float, float]
    both_ways: bool


class _Circle:
    """Arms on the unit circle, clockwise from the top, or two side by side; y points up."""

    def __init__(self, graph: FeedbackGraph) -> None:
        begin = np.pi if graph.arms == 2 else np.pi / 2
        angle = begin - 2 * np.pi * np.arange(graph.arms) / graph.arms
        self.places = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        self.radius = min(0.13, 2.3 / graph.arms)
        self.loops = neighborhoods.self_loops(graph.out_ranges)
        self._graph = graph

    @property
    def loop_places(self) -> list[tuple[float, float]]:
        """The centres of the small circles that show self-loops."""
        outward = self.places[self.loops] * (1 + 1.35 * self.radius)
        return [(float(x), float(y)) for x, y in outward]

    @property
    def loop_radius(self) -> float:
        return 0.75 * self.radius

    def lines(self) -> Iterator[_Arrow]:
        """Yield each pair of arms that are joined, once."""
        edges = set(self._graph.edges())
        for a, b in sorted(edges):
            both_ways = (b, a) in edges
            if a == b or (both_ways and b < a):
                continue
            along = self.places[b] - self.places[a]
            rim = along / np.hypot(*along) * self.radius * 1.12
            start, end = self.places[a] + rim, self.places[b] - rim
            yield _Arrow((start[0], start[1]), (end[0], end[1]), both_ways)


def draw(graph: FeedbackGraph, ax: Axes | None) -> Axes:
    """Draw on `ax`, or on a new figure: a circle for few arms, the adjacency matrix for many."""
    if ax is None:
        ax = new_axes("FeedbackGraph.draw", (5, 5.4))
    if graph.arms <= CIRCLE_ARMS:
        _draw_circle(graph, ax)
    else:
        _draw_matrix(graph, ax)
    return ax


def _draw_circle(graph: FeedbackGraph, ax: Axes) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, FancyArrowPatch

    circle = _Circle(graph)
    lines = list(circle.lines())
    solid = _opacity(len(lines))
    for line in lines:
        arrow = FancyArrowPatch(
            line.start,
            line.end,
            arrowstyle="<|-|>" if line.both_ways else "-|>",
            mutation_scale=3 + 60 * circle.radius,
            shrinkA=0,
            shrinkB=0,
            linewidth=0.5 + 0.6 * solid,
            color=_EDGE,
            alpha=solid,
        )
        ax.add_patch(arrow)
    for place in circle.loop_places:
        ax.add_patch(Circle(place, circle.loop_radius, fill=False, ec=_LOOP, lw=1.5, zorder=2))
    for arm, (x, y) in enumerate(circle.places):
        color = _LOOP if circle.loops[arm] else _LOOPLESS
        ax.add_patch(Circle((x, y), circle.radius, fc=color, ec="none", zorder=3))
        size = max(5.5, 85 * circle.radius)
        ax.text(x, y, str(arm), color="white", size=size, ha="center", va="center_baseline")
    edge = 1 + 3 * circle.radius
    ax.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
    ax.set_axis_off()
    handles = [
        Line2D([], [], marker="o", ls="", ms=8, color=color, label=label)
        for color, label, present in (
            (_LOOP, _LOOP_LABEL, circle.loops.any()),
            (_LOOPLESS, _LOOPLESS_LABEL, not circle.loops.all()),
        )
        if present
    ]
    _legend_below(ax, handles, 0.0)


def _draw_matrix(graph: FeedbackGraph, ax: Axes) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.lines import Line2D

    step = -(-graph.arms // _MATRIX_ARMS)
    arms = np.arange(0, graph.arms, step)
    shown = neighborhoods.induced(graph.out_ranges, np.arange(graph.arms) % step == 0)
    edge = graph.arms - 0.5
    ax.imshow(
        neighborhoods.matrix_of_ranges(shown),
        cmap=ListedColormap(["#eef1f4", _LOOP]),
        vmin=0,
        vmax=1,
        extent=(-0.5, edge, edge, -0.5),
        interpolation="nearest",
    )
    loopless = arms[~neighborhoods.self_loops(shown)]
    # Marks are used because one cell in a thousand would not be visible.
    ax.scatter(loopless, loopless, s=9, c=_LOOPLESS, clip_on=False, zorder=3)
    every = "" if step == 1 else f" (one in {step})"
    ax.set(xlabel=f"revealed arm{every}", ylabel=f"played arm{every}")
    handles = [Line2D([], [], marker="s", ls="", ms=8, color=_LOOP, label="revealed")]
    if loopless.size:
        handles.append(
            Line2D([], [], marker="o", ls="", ms=5, color=_LOOPLESS, label=_LOOPLESS_LABEL)
        )
    _legend_below(ax, handles, -0.12)


def _legend_below(ax: Axes, handles: list[Line2D], height: float) -> None:
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, height),
        ncols=len(handles),
        frameon=False,
    )


def _opacity(lines: int) -> float:
    """Return the opacity of each of many crossing lines."""
    return max(0.2, min(0.9, 6 / math.sqrt(lines + 1)))


def html(graph: FeedbackGraph) -> str:
    """Return a self-contained piece of HTML: the facts, and a picture of few arms."""
    picture = _svg(graph) if graph.arms <= CIRCLE_ARMS else ""
    return card("FeedbackGraph", _facts(graph), picture)


def _facts(graph: FeedbackGraph) -> Iterator[tuple[str, str]]:
    """Yield facts in a few words, each with a longer explanation."""
    yield counted(graph.arms, "arm"), "how many there are to choose from"
    yield counted(graph.edge_count, "edge"), "self-loops included"
    words = {"strong": "strongly observable", "weak": "weakly observable", "none": "not observable"}
    yield words[graph.observability], graph.observability_reason
    if graph.arms > _BOUNDED_ARMS:
        return
    lower, upper = graph.independence_bounds
    number = f"{lower}" if lower == upper else f"{lower} to {upper}"
    yield f"independence number {number}", "how many arms there are none of which reveals another"


def _svg(graph: FeedbackGraph) -> str:
    circle = _Circle(graph)
    lines = list(circle.lines())
    edge = 1 + 3 * circle.radius
    solid = _opacity(len(lines))
    parts = [
        "<svg xmlns='http://www.w3.org/2000/svg' width='300' height='300' role='img' ",
        f"viewBox='{-edge:.3f} {-edge:.3f} {2 * edge:.3f} {2 * edge:.3f}' style='display:block'>",
        f"<title>{markup.escape(repr(graph))}</title>",
        f"<g stroke='{_EDGE}' fill='{_EDGE}' stroke-width='0.012' opacity='{solid:.2f}'>",
    ]
    for line in lines:
        (x1, y1), (x2, y2) = line.start, line.end
        heads = _svg_head(x1, y1, x2, y2, circle.radius)
        if line.both_ways:
            heads += _svg_head(x2, y2, x1, y1, circle.radius)
        parts.append(f"<path d='M{x1:.3f} {-y1:.3f}L{x2:.3f} {-y2:.3f}{heads}'/>")
    parts.append(f"</g><g fill='none' stroke='{_LOOP}' stroke-width='0.018'>")
    parts.extend(
        f"<circle cx='{x:.3f}' cy='{-y:.3f}' r='{circle.loop_radius:.3f}'/>"
        for x, y in circle.loop_places
    )
    size = circle.radius * 1.1
    parts.append(f"</g><g font-size='{size:.3f}' text-anchor='middle'>")
    for arm, (x, y) in enumerate(circle.places):
        color, label = (_LOOP, _LOOP_LABEL) if circle.loops[arm] else (_LOOPLESS, _LOOPLESS_LABEL)
        parts.append(
            f"<g><title>arm {arm} {label}</title>"
            f"<circle cx='{x:.3f}' cy='{-y:.3f}' r='{circle.radius:.3f}' fill='{color}'/>"
            f"<text x='{x:.3f}' y='{-y + 0.36 * size:.3f}' fill='white'>{arm}</text></g>"
        )
    parts.append("</g></svg>")
    return "".join(parts)


def _svg_head(x1: float, y1: float, x2: float, y2: float, radius: float) -> str:
    """Return a small triangle with its tip at (x2, y2)."""
    length = math.hypot(x2 - x1, y2 - y1)
    if length == 0:
        return ""
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    long, wide = 0.5 * radius, 0.22 * radius
    bx, by = x2 - long * dx, y2 - long * dy
    return (
        f"M{x2:.3f} {-y2:.3f}L{bx - wide * dy:.3f} {-(by + wide * dx):.3f}"
        f"L{bx + wide * dy:.3f} {-(by - wide * dx):.3f}Z"
    )
