"""Budgets in the setting of Wang et al. (2023): which share of the fluid optimum is earned?

And what do limits cost in the compiled loop?

Values are uniform on a grid of 100, prices uniform on it or Beta(2, 4), bids on a grid of 100; the
price is told after a loss only; 20,000 auctions; budgets of 0.1 and 0.01 per auction. The exact
instance of the published implementation is not known: for its own one, with a fluid optimum of
1,613.9 and 356.0, it earns 0.0 with one-sided feedback, and 1,416.4 and 102.3 with full feedback.

The fluid optimum is that of a linear program over the true laws of values and prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.measure import Result, medians
from crossbandit import CrossGraphAdaptive, environments, simulate
from crossbandit.laws import OutcomeLaw
from crossbandit.limits import Budget, Pacer
from crossbandit.limits.optima import Terms, best_maps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.core.types import Floats
    from crossbandit.environments.applied import FirstPrice, FirstPriceBudget

SEEDS = 5
HORIZON = 20_000
GRID = 100
BAR = 0.9


def cost() -> Result:
    """Return the time of auctions with a budget, relative to those without."""
    free, limited = environments.first_price(HORIZON), environments.first_price_budget(HORIZON)
    for one in (free, limited):
        _ = one.totals  # the comparator is no part of the loop
    _ = limited.fluid_optimum

    def run(environment: FirstPrice) -> object:
        return simulate(
            CrossGraphAdaptive(), environment, seed=1, record="thin", show_progress=False
        )

    without, with_budget = medians(lambda: run(free), lambda: run(limited))
    return Result(
        "cross-graph-adaptive in auctions with a budget, relative to auctions without",
        with_budget / without,
        1.25,
        "x",
    )


class Earned(NamedTuple):
    """What was earned in one run, and what was spent."""

    surplus: float
    spend: float


def results() -> Iterator[Result]:
    """Yield the share of the fluid optimum in every case, and the cost of limits."""
    yield cost()
    for prices in ("uniform", "stationary"):
        for budget in (0.1, 0.01):
            best = fluid_optimum(prices, budget)
            players = ("price distribution", by_law), ("cross-graph-adaptive", by_algorithm)
            for name, play in players:
                runs = [play(world(prices, budget, seed), seed) for seed in range(SEEDS)]
                share = float(np.mean([run.surplus for run in runs])) / best
                spend = max(run.spend for run in runs)
                if spend > budget * HORIZON * (1 + 1e-9):
                    raise AssertionError(f"{name} spent {spend}, more than its budget.")
                yield Result(
                    f"{name}, {prices} prices, budget {budget} a round: share of the fluid "
                    f"optimum, {best:,.1f}",
                    share,
                    BAR,
                    "",
                    at_least=True,
                )


def world(prices: str, budget: float, seed: int) -> FirstPriceBudget:
    """Return the setting."""
    return environments.first_price_budget(
        HORIZON,
        budget=budget,
        prices=prices,
        bids=GRID + 1,
        levels=GRID,
        table_seed=seed,
    )


def fluid_optimum(prices: str, budget: float) -> float:
    """Return what can be earned on average with the laws known, in all rounds together."""
    bids, values = np.arange(GRID + 1) / GRID, np.arange(1, GRID + 1) / GRID
    chances = win_chances(prices, bids)
    rates = np.where(bids <= values[:, None], chances, 0.0) / GRID
    worth, spend = rates * values[:, None], rates * bids
    found = best_maps(worth[None], spend[None], rates[None], Terms(np.array([budget])))
    rows = np.arange(GRID)
    earned = [one.weights[0] * (worth - spend)[rows, one.bids[0]].sum() for one in found]
    return HORIZON * float(sum(earned))


def win_chances(prices: str, bids: Floats) -> Floats:
    """Return the probability that each bid wins; Beta(2, 4) is P(at least two of five below)."""
    if prices == "uniform":
        return bids
    chances: Floats = 1 - (1 - bids) ** 5 - 5 * bids * (1 - bids) ** 4
    return chances


def by_algorithm(environment: FirstPriceBudget, seed: int) -> Earned:
    """Let cross-graph-adaptive play, with the pacing of the environment."""
    run = simulate(CrossGraphAdaptive(), environment, seed=seed, show_progress=False)
    bids = environment.rules.amounts[run.arms]
    return _earned(environment, run.contexts[:, 1], bids)


def by_law(environment: FirstPriceBudget, seed: int) -> Earned:
    """Let the price distribution play, with a pacer of its own."""
    amounts = environment.rules.amounts
    generator = np.random.default_rng(seed)
    values = environment.context_distribution.draw(generator, HORIZON)[:, 1]
    prices = environment.competing_bids(0, HORIZON)
    law = OutcomeLaw(amounts, (0.0, 1.0), seed=seed)
    pacer = Pacer(amounts, [Budget(environment.total, per=HORIZON)], value_range=(0.0, 1.0))
    played = pacer.play(law, values, prices, cells=environment.rules.cells(prices))
    return _earned(environment, values, amounts[np.maximum(played.bids, 0)])


def _earned(environment: FirstPriceBudget, values: Floats, bids: Floats) -> Earned:
    won = environment.rules.wins(bids, environment.competing_bids(0, HORIZON))
    return Earned(float((values - bids)[won].sum()), float(bids[won].sum()))
