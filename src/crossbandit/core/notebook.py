"""What a notebook shows of objects: names, facts and a small picture, without another package.

Text and axes have the colour of the notebook's text, so they are visible on white and on black.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from crossbandit.core.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from crossbandit.core.types import Floats, Integers

BLUE, GRAY = "#2b8cd6", "#7f8a96"  # both are visible on white and on black
_WIDTH, _HEIGHT, _MARGIN = 320.0, 150.0, 18.0
_POINTS = 200


class Listed:
    """An object of which `dir` lists what its user needs, so that a notebook suggests nothing else.

    Each class says in `listed` what it adds. All names are listed of a class of the user's own.
    """

    listed: ClassVar[str] = ""

    def __dir__(self) -> list[str]:
        """Return the names that a user needs, and private ones."""
        if not type(self).__module__.startswith("crossbandit."):
            return list(super().__dir__())
        shown = {name for one in type(self).__mro__ for name in vars(one).get("listed", "").split()}
        return [name for name in super().__dir__() if name in shown or name.startswith("_")]


class Line(NamedTuple):
    """A line of a chart."""

    name: str
    x: Floats | Integers  # ascending numbers
    y: Floats  # A number for each x. Points that are not finite are not drawn.
    color: str = BLUE
    dashed: bool = False  # whether the line is dashed


def card(title: str, facts: Iterable[tuple[str, str]], picture: str = "") -> str:
    """Return a self-contained piece of HTML.

    >>> card("Law", [("5 < 6", "a fact")])[-68:]
    "<b>Law</b> &middot; <span title='a fact'>5 &lt; 6</span></div></div>"
    """
    from html import escape

    listed = "".join(
        f" &middot; <span title='{escape(hint)}'>{escape(text)}</span>" for text, hint in facts
    )
    return (
        "<div style='display:inline-block;font-family:system-ui,sans-serif;font-size:13px'>"
        f"{picture}<div><b>{escape(title)}</b>{listed}</div></div>"
    )


def counted(count: float, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "arm"), counted(2_000, "arm")
    ('1 arm', '2,000 arms')
    """
    return f"{count:,.0f} {noun}" if count == 1 else f"{count:,.0f} {noun}s"


def chart(lines: Sequence[Line], x: str, y: str) -> str:
    """Return a small chart as SVG: lines in one frame, with the ends of both axes."""
    from html import escape

    drawn = [_thinned(line) for line in lines]
    xs = np.concatenate([line.x for line in drawn])
    ys = np.concatenate([line.y for line in drawn])
    if not xs.size:
        return ""
    (left, right), (low, high) = _ends(xs), _ends(np.append(ys, 0.0))
    size = f"width='{_WIDTH:.0f}' height='{_HEIGHT:.0f}'"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' style='display:block'>",
        "<g fill='none' stroke='currentColor' stroke-opacity='0.4'>",
        f"<path d='M1 {_MARGIN}V{_HEIGHT - _MARGIN}H{_WIDTH}'/></g>",
    ]
    for line in drawn:
        across = 1 + (line.x - left) / (right - left) * (_WIDTH - 2)
        up = _HEIGHT - _MARGIN - (line.y - low) / (high - low) * (_HEIGHT - 2 * _MARGIN)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
        dashes = " stroke-dasharray='4 3'" if line.dashed else ""
        parts.append(
            f"<polyline points='{points}' fill='none' stroke='{line.color}' stroke-width='1.6'"
            f"{dashes}><title>{escape(line.name)}</title></polyline>"
        )
    parts.append("<g fill='currentColor' font-size='11' opacity='0.75'>")
    top, bottom = 11.0, _HEIGHT - 5
    for text, place, height, anchor in (
        (f"{y}, {low:,.4g} to {high:,.4g}", 1.0, top, "start"),
        (f"{left:,.6g}", 1.0, bottom, "start"),
        (x, _WIDTH / 2, bottom, "middle"),
        (f"{right:,.6g}", _WIDTH - 1, bottom, "end"),
    ):
        parts.append(f"<text x='{place}' y='{height}' text-anchor='{anchor}'>{escape(text)}</text>")
    parts.append("</g></svg>")
    return "".join(parts)


def _thinned(line: Line) -> Line:
    """Return a line with at most a few hundred points, including the last one."""
    finite = np.flatnonzero(np.isfinite(line.x) & np.isfinite(line.y))
    if finite.size > _POINTS:
        finite = finite[np.linspace(0, finite.size - 1, _POINTS).round().astype(np.int64)]
    return line._replace(x=line.x[finite], y=line.y[finite])


def _ends(numbers: Floats | Integers) -> tuple[float, float]:
    low, high = float(numbers.min()), float(numbers.max())
    return (low, high) if low < high else (low, low + 1.0)


def new_axes(owner: str, size: tuple[float, float] = (5.2, 3.6)) -> Axes:
    """Return the axes of a new Matplotlib figure, which a notebook shows below the cell."""
    require("matplotlib", extra="notebook", owner=owner)
    from matplotlib import pyplot as plt

    return plt.figure(figsize=size, layout="constrained").add_subplot()
