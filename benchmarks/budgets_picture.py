"""Draw spend against plan over two days, and the multiplier.

`python -m benchmarks.budgets_picture` writes docs/pictures/budgets.svg, in some seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.markets_rivals import cells_of
from benchmarks.markets_worlds import BIDS, log_normal
from crossbandit.laws import OutcomeLaw
from crossbandit.limits import Budget, Pacer

PATH = Path(__file__).parents[1] / "docs" / "pictures" / "budgets.svg"
STYLE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "crossbandit", "font.size": 9}
DAY = 86_400.0
DAYS, EACH = 4, 25_000
BUDGET = 300.0


def main() -> None:
    """Play four days with busy evenings, with each pacing, and draw the last two."""
    world = log_normal(0.25, 0, DAYS * EACH)
    rng = np.random.default_rng(0)
    hours = np.linspace(0, 24, 97)
    busy = 1 + 2.5 * np.exp(-(((hours - 20) / 2.5) ** 2)) - 0.8 * np.exp(-(((hours - 4) / 3) ** 2))
    cumulative = np.concatenate([[0], np.cumsum((busy[1:] + busy[:-1]) / 2)])
    shares = cumulative / cumulative[-1]
    of_day = np.sort(np.interp(rng.random((DAYS, EACH)), shares, hours), axis=1)
    times = ((np.arange(DAYS)[:, None] + 20_000) * DAY + of_day * 3600).ravel()
    clock = (times / 3600 - 20_000 * 24 - 48)[2 * EACH :: 100]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.5, 4.2), layout="constrained")
        money, multiplier = figure.subplots(2, 1, sharex=True)
        for pacing, style in (("traffic", "-"), ("even", "--"), ("asap", ":")):
            law = OutcomeLaw(BIDS, (0, 1), seed=0)
            pacer = Pacer(BIDS, [Budget(BUDGET, pacing=pacing)], value_range=(0, 1))
            cells = cells_of(world.prices)
            log = pacer.play(law, world.values, world.prices, times=times, cells=cells)
            paid = np.where((cells <= log.bids) & (log.bids >= 0), BIDS[log.bids], 0.0)
            spent = np.cumsum(paid.reshape(DAYS, EACH), axis=1)[2:].ravel()[::100]
            factor = (world.values / log.pseudo_values)[2 * EACH :: 100]
            money.plot(clock, spent, style, label=pacing)
            multiplier.plot(clock, factor, style, linewidth=0.9)
            print(pacing, np.round(paid.reshape(DAYS, EACH).sum(axis=1), 2), end=" ")
            won = np.where(paid > 0, world.values - paid, 0.0)
            print("surplus", np.round(won.reshape(DAYS, EACH).sum(axis=1)[2:].sum(), 1))
        plan = BUDGET * np.interp(clock % 24, hours, shares)
        money.plot(clock, plan, color="0.6", linewidth=0.8, label="share of the auctions")
        money.set_ylabel("spent in the day")
        money.legend(frameon=False)
        multiplier.set_ylabel("value / pseudo-value")
        multiplier.set_xlabel("hours; the third and the fourth day")
        multiplier.set_xticks(range(0, 49, 6))
        for axes in (money, multiplier):
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(PATH, metadata={"Date": None})


if __name__ == "__main__":
    main()
