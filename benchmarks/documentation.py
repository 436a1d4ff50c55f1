"""Draw the pictures of the pages: `python -m benchmarks.documentation`, in half a minute."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from benchmarks import gallery
from crossbandit.applications import FirstPriceBidder
from crossbandit.logs.replay import make_log, replay

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
# Text stays text, and the same picture is the same file.
SHADED = "50 % of value"
STRATEGIES = {
    "price distribution": "price distribution",
    "cross-graph-adaptive": "adaptive learner",
    "best response": "best response",
    SHADED: "half of the value",
    "70 % of value": "70 % of the value",
    "truthful": "the value",
}
# Ink, lines, what is compared with, and two learners: the colours of report/assets/page.css.
THEMES = {
    "light": ("#1c1c1a", "#bcbcb6", "#b5b5ae", "#0072b2", "#c95800"),
    "dark": ("#ecece6", "#55585a", "#7d827f", "#4aa8e0", "#f08a3c"),
}
STYLE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "crossbandit", "font.size": 9}


def draw_shading() -> None:
    """Draw what a bidder bids for each value after 5,000 auctions, in light and in dark."""
    bidder = FirstPriceBidder(bids=101, value_range=(0, 10), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(5_000):
        bid, price = bidder.bid(rng.uniform(0, 10)), 8 * rng.beta(2, 4)
        won = float(bid) >= price
        bidder.settle(bid, won=won, highest_competing_bid=None if won else price)
    light = FOLDER / "shading-light.svg"
    with mpl.rc_context(gallery.STYLE):
        bidder.shading_curve().save(light)
    dark = gallery.darkened(light.read_text(encoding="utf-8"))
    (FOLDER / "shading-dark.svg").write_text(dark, encoding="utf-8")


def draw_start() -> None:
    """Draw what strategies earn on a log, for the start page, in light and in dark."""
    with TemporaryDirectory() as folder:
        result = replay(make_log(Path(folder) / "log.csv", 100_000, seed=1), seeds=5)
    earned = result.table().set_index("strategy")["surplus"]
    curves = result.bid_curves()
    for theme, (ink, line, muted, first, second) in THEMES.items():
        colors = {"price distribution": first, "cross-graph-adaptive": second}
        style: dict[Any, Any] = {"text.color": ink, "axes.labelcolor": ink, "axes.edgecolor": line}
        with mpl.rc_context({**style, "xtick.color": ink, "ytick.color": ink}):
            figure, (bars, bids) = plt.subplots(
                1, 2, figsize=(6.2, 3.0), layout="constrained", width_ratios=[1, 1.15]
            )
            names = [*STRATEGIES][::-1]
            amounts = [earned[name] / 1000 for name in names]
            bars.barh(
                [STRATEGIES[name] for name in names],
                amounts,
                color=[colors.get(name, muted) for name in names],
                height=0.62,
            )
            for row, amount in enumerate(amounts):
                bars.text(amount + 1, row, f"{amount:.1f}", va="center", fontsize=8)
            bars.set(title="surplus, in thousands", xlim=(0, 1.18 * max(amounts)), xticks=[])
            for name, color in ((SHADED, muted), *reversed(colors.items())):
                one = curves[curves["strategy"] == name]
                bids.plot(one["value"], one["bid"], color=color, label=STRATEGIES[name], lw=1.8)
            bids.plot([0, 5], [0, 5], color=muted, lw=0.8, ls=":")
            bids.set(title="the bid for each value", xlabel="value", xlim=(0, 10.1), ylim=(0, 5.1))
            bids.legend(frameon=False, fontsize=8, loc="upper left")
            for axes in (bars, bids):
                axes.spines[["top", "right"]].set_visible(False)
                axes.tick_params(length=0)
            bars.spines["bottom"].set_visible(False)
            figure.savefig(FOLDER / f"start-{theme}.svg", metadata={"Date": None}, transparent=True)
            plt.close(figure)


def main() -> None:
    """Draw all of them."""
    mpl.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        draw_shading()
        draw_start()


if __name__ == "__main__":
    main()
