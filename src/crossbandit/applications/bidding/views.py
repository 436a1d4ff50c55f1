"""What a bidder would bid at each value, as data and as a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.core.extras import require
from crossbandit.core.files import replacing
from crossbandit.core.notebook import GRAY, Line, card, chart, counted, new_axes

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from crossbandit.core.types import Floats, Integers
    from crossbandit.laws.levels import Label

_LOW, _HIGH = 0.1, 0.9
_INK, _COLOR = "#767676", "#0072B2"


@dataclass(frozen=True)
class Explanation:
    """Which features move a bid, and by how much.

    Attributes:
        value: What winning is worth.
        bid: What is best by the price distribution now; a bid may differ from it at random.
        without: What would be best if no feature were known.
        chance: The probability that the bid wins.
        moved: By feature: its level or number, and the bid minus what would be best without it.
    """

    value: float
    bid: float
    without: float
    chance: float
    moved: Mapping[str, tuple[Label, float]]

    def __str__(self) -> str:
        first = f"A bid of {self.bid:.4g} at a value of {self.value:.4g} wins with a probability of"
        lines = [f"{first} {self.chance:.0%}. Without features it would be {self.without:.4g}."]
        order = sorted(self.moved.items(), key=lambda item: -abs(item[1][1]))
        for name, (label, by) in order:
            shown = f"{by:+.4g}" if by else "0"
            lines.append(f"{name} = {label!r}: {shown}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class ShadingCurve:
    """What a bidder would bid now at each of several values.

    A bidder draws its bids at random. Where `low` and `high` are far apart, it is not sure yet. The
    bids are NaN at values at which no bid may be made.

    Attributes:
        values: The values.
        bids: The median bid at each value.
        low: The bid below which one bid in ten lies.
        high: The bid above which one bid in ten lies.
    """

    values: Floats
    bids: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Floats, amounts: Floats, policies: Floats) -> ShadingCurve:
        """Return the curve of given distributions.

        Args:
            values: (values,).
            amounts: (bids,), ascending.
            policies: (values, bids), the probability of each bid at each value.
        """
        cumulative = np.cumsum(policies, axis=1)
        silent = np.isnan(policies).any(axis=1)
        low, middle, high = (
            np.where(silent, np.nan, amounts[_position(cumulative, share)])
            for share in (_LOW, 0.5, _HIGH)
        )
        return cls(values, middle, low, high)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve with its uncertainty, and a line for bidding the whole value.

        Args:
            ax: The axes to draw on; by default those of a new figure.

        Returns:
            The axes.

        Raises:
            MissingPackageError: Matplotlib is not installed.
        """
        if ax is None:
            ax = new_axes("ShadingCurve.plot")
        ax.plot(self.values, self.values, color=_INK, linewidth=1, linestyle="--", label="value")
        ax.fill_between(
            self.values,
            self.low,
            self.high,
            step="mid",
            color=_COLOR,
            alpha=0.2,
            linewidth=0,
            label="middle 80 % of bids",
        )
        ax.step(self.values, self.bids, where="mid", color=_COLOR, label="median bid")
        ax.set_xlabel("value")
        ax.set_ylabel("bid")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def picture(self) -> str:
        """Return the curve as a small SVG picture, for notebooks."""
        return chart(
            [
                Line("value", self.values, self.values, GRAY, dashed=True),
                Line("one bid in ten is lower", self.values, self.low, GRAY),
                Line("one bid in ten is higher", self.values, self.high, GRAY),
                Line("median bid", self.values, self.bids),
            ],
            x="value",
            y="bid",
        )

    def _repr_html_(self) -> str:
        facts = [(counted(self.values.size, "value"), "gray lines: the middle 80 % of bids")]
        return card("ShadingCurve", facts, self.picture())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure to a file, atomically.

        Args:
            path: The file. Its suffix, such as ".svg" or ".png", sets the format.

        Raises:
            MissingPackageError: Matplotlib is not installed.
            OSError: The file cannot be written.
        """
        require("matplotlib", extra="notebook", owner="ShadingCurve.save")
        from pathlib import Path

        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.2, 3.6), layout="constrained")
        self.plot(figure.add_subplot())
        dates = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}  # same file for a curve
        suffix = Path(path).suffix.lower()
        with replacing(path) as temporary:
            figure.savefig(
                temporary, dpi=150, format=suffix[1:] or "png", metadata=dates.get(suffix)
            )


def _position(cumulative: Floats, share: float) -> Integers:
    """Return where each row (values, bids) first reaches `share`, up to rounding."""
    reached = (cumulative < share - 1e-12).sum(axis=1)
    last: Integers = np.minimum(reached, cumulative.shape[1] - 1)
    return last
