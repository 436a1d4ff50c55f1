"""Draw what is earned against the correlation of values and prices.

`python -m benchmarks.markets_picture` writes docs/pictures/markets.svg, in a minute.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.markets import earned
from benchmarks.markets_rivals import adaptive, bands, pooled
from benchmarks.markets_worlds import log_normal

PATH = Path(__file__).parents[1] / "docs" / "pictures" / "markets.svg"
CORRELATIONS = np.array([-0.3, 0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9])
AUCTIONS = 60_000
STYLE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "crossbandit", "font.size": 9}


def main() -> None:
    """Play every strategy at every correlation, and draw three curves."""
    names = ("law (OutcomeLaw)", "cross-learning (cross-graph-adaptive)", "pooled best response")
    curves: list[list[float]] = [[], [], []]
    for correlation in CORRELATIONS:
        world = log_normal(float(correlation), auctions=AUCTIONS)
        best = bands(world)
        for curve, got in zip(curves, (earned(world), adaptive(world), pooled(world)), strict=True):
            curve.append(100 * got / best)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.5, 3.2), layout="constrained")
        axes = figure.add_subplot()
        for name, curve, style in zip(names, curves, ("-", "--", ":"), strict=True):
            axes.plot(CORRELATIONS, curve, style, marker="o", markersize=3, label=name)
        axes.axhline(100, color="0.7", linewidth=0.8)
        axes.set_xlabel("correlation of log values and log prices")
        axes.set_ylabel("surplus, % of 25 bands in hindsight")
        axes.legend(frameon=False)
        figure.savefig(PATH, metadata={"Date": None})
    for name, curve in zip(names, curves, strict=True):
        print(name, np.round(curve, 1))


if __name__ == "__main__":
    main()
