"""Draw the pictures of the how-to pages: `python -m benchmarks.documentation`, in a minute."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from crossbandit import (
    CrossGraph,
    CrossGraphAdaptive,
    SchneiderZimmert,
    environments,
    graphs,
    simulate,
)
from crossbandit.adapters.gymnasium import BanditEnv
from crossbandit.applications import FirstPriceBidder
from crossbandit.logs.replay import make_log, replay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crossbandit import Algorithm
    from crossbandit.environments import BlockEnvironment

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SEEDS = range(5)
POINTS = 60
# Text stays text, and the same picture is the same file.
SHADED = "shading 0.50"
STRATEGIES = {
    "price law": "price law",
    "cross-graph-adaptive": "adaptive learner",
    "best response": "best response",
    SHADED: "half of the value",
    "shading 0.70": "0.7 of the value",
    "truthful": "the value",
}
# Ink, lines, what is compared with, and two learners: the colours of report/assets/page.css.
THEMES = {
    "light": ("#1c1c1a", "#bcbcb6", "#b5b5ae", "#0072b2", "#c95800"),
    "dark": ("#ecece6", "#55585a", "#7d827f", "#4aa8e0", "#f08a3c"),
}
STYLE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "crossbandit", "font.size": 9}


def worlds() -> dict[str, tuple[BlockEnvironment, str]]:
    """Return the environment of each page, and the unit of its regret."""
    shape = graphs.singletons(10)
    return {
        "first-price": (environments.first_price(20_000), "highest values"),
        "newsvendor": (environments.newsvendor(20_000), "money"),
        "posted-price": (environments.posted_price(20_000, reports="after-refusal"), "money"),
        "sleeping-arms": (environments.sleeping(shape, 20_000), "losses"),
        "recommendation": (environments.recommendation(20_000), "losses"),
        "spam-filter": (environments.spam(20_000), "greatest harms"),
    }


def draw_regret(name: str, world: BlockEnvironment, unit: str) -> None:
    """Draw what learning costs, round by round, with and without graph and tuning."""
    rules = getattr(world, "rules", None)
    scale = 1.0 if rules is None else rules.scale
    figure, axes = _small(f"regret ({unit})")
    loops = [(a, a) for a in range(world.problem.arms)]
    algorithms: list[tuple[Algorithm, str]] = [
        (CrossGraph(), "with the graph (cross-graph)"),
        (CrossGraphAdaptive(), "parameter-free (cross-graph-adaptive)"),
    ]
    if set(world.problem.graph.edges()) > set(loops):  # there is something to be ignored
        algorithms.insert(0, (SchneiderZimmert(), "without the graph (sz-context)"))
    for algorithm, label in algorithms:
        runs = [simulate(algorithm, world, seed=seed, show_progress=False) for seed in SEEDS]
        regret = scale * np.mean([run.regret for run in runs], axis=0)
        rounds = np.linspace(0, regret.size - 1, POINTS).astype(int)
        axes.plot(rounds + 1, regret[rounds], label=label)
    _save(name, figure)


def draw_rewards() -> None:
    """Draw what two agents earn in Gymnasium: one that learns, one that bids at random."""
    figure, axes = _small("money earned")
    env = BanditEnv("first-price", horizon=5_000, bids=20)
    for learns in (True, False):
        learner = CrossGraphAdaptive().start(env.environment.problem, seed=1)
        rng, rewards, over = np.random.default_rng(1), list[float](), False
        _, info = env.reset(seed=0)
        while not over:
            mask = info["action_mask"].astype(bool)
            decision = learner.act(info["context"], mask)
            arm = decision.arm if learns else rng.choice(np.flatnonzero(mask))
            _, reward, _, over, info = env.step(np.int64(arm))
            rewards.append(reward)
            if learns:
                learner.learn(decision, info["losses"][list(decision.revealed)])
        total = np.cumsum(rewards)
        rounds = np.linspace(0, total.size - 1, POINTS).astype(int)
        axes.plot(rounds + 1, total[rounds], label="learner" if learns else "random bids")
    _save("gymnasium", figure)


def draw_shading() -> None:
    """Draw what a bidder bids for each value after 5,000 auctions."""
    bidder = FirstPriceBidder(bids=101, value_range=(0, 10), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(5_000):
        bid, price = bidder.bid(rng.uniform(0, 10)), 8 * rng.beta(2, 4)
        won = float(bid) >= price
        bidder.settle(bid, won=won, highest_competing_bid=None if won else price)
    bidder.shading_curve().save(FOLDER / "first-price-shading.svg")


def draw_start() -> None:
    """Draw what strategies earn on a log, for the start page, in light and in dark."""
    with TemporaryDirectory() as folder:
        result = replay(make_log(Path(folder) / "log.csv", 100_000, seed=1), seeds=5)
    earned = result.table().set_index("strategy")["surplus"]
    curves = result.bid_curves()
    for theme, (ink, line, muted, first, second) in THEMES.items():
        colors = {"price law": first, "cross-graph-adaptive": second}
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


def _small(title: str) -> tuple[Figure, Axes]:
    figure, axes = plt.subplots(figsize=(4.8, 3.0), layout="constrained")
    axes.set(xlabel="round", ylabel=title)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(name: str, figure: Figure) -> None:
    figure.legend(loc="outside upper left", frameon=False)
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """Draw all of them."""
    mpl.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        for name, (world, unit) in worlds().items():
            draw_regret(name, world, unit)
        draw_rewards()
        draw_shading()
        draw_start()


if __name__ == "__main__":
    main()
