"""The hindsight that the benchmarks compare with, against all maps of tiny logs."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from benchmarks.budgets_hindsight import Maps, evenly_paced
from benchmarks.budgets_law import KnownLaw
from benchmarks.markets_worlds import BIDS as USUAL_BIDS
from benchmarks.markets_worlds import World, log_normal

BIDS = np.array([0.0, 0.2, 0.4, 0.6])


def tiny(seed: int) -> World:
    generator = np.random.default_rng(seed)
    return World(generator.uniform(0.1, 1, 30), generator.uniform(0.05, 0.8, 30))


def every_map(world: World) -> list[tuple[float, float]]:
    """Return the value and the spend of each map of three bands to four bids."""
    band = np.minimum((world.values * 3).astype(int), 2)
    found = []
    for chosen in product(BIDS, repeat=3):
        paid = np.minimum(np.array(chosen)[band], world.values)
        won = (paid >= world.prices) & (paid > 0)
        found.append((float(world.values[won].sum()), float(paid[won].sum())))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("budget", [0.3, 1.0, 2.2, 50.0])
def test_the_best_map_under_a_budget(seed: int, budget: float) -> None:
    world = tiny(seed)
    points = [(spent, value - spent) for value, spent in every_map(world)]
    best = max(earned for spent, earned in points if spent <= budget)
    for one, two in combinations(points, 2):  # mixed so that the budget is spent
        (low, less), (high, more) = sorted([one, two])
        if low <= budget < high:
            share = (budget - low) / (high - low)
            best = max(best, (1 - share) * less + share * more)
    assert Maps(world, BIDS, 3).under_budget(budget) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ratio", [1.2, 2.0, 4.0])
def test_the_best_map_under_a_return(seed: int, ratio: float) -> None:
    world = tiny(seed)
    points = [(value - ratio * spent, value) for value, spent in every_map(world)]
    best = max(value for slack, value in points if slack >= 0)
    for one, two in combinations(points, 2):
        (low, more), (high, less) = sorted([one, two])
        if low < 0 <= high:
            share = high / (high - low)
            best = max(best, share * more + (1 - share) * less)
    assert Maps(world, BIDS, 3).under_return(ratio) == pytest.approx(best)


def test_evenly_paced_hindsight_is_hindsight_where_all_parts_are_alike() -> None:
    generator = np.random.default_rng(0)
    part = World(generator.uniform(0.1, 1, 500), generator.uniform(0.05, 0.8, 500))
    world = part.taken(np.tile(np.arange(500), 4))
    best = Maps(world).under_budget(50.0)
    assert evenly_paced(world, 50.0, parts=4) == pytest.approx(best, rel=1e-3)
    uneven = world.taken(np.argsort(world.values))
    assert evenly_paced(uneven, 50.0, parts=4) < 0.9 * best


@pytest.mark.parametrize("late", [0.1, 1.0])
def test_the_best_map_with_late_outcomes(late: float) -> None:
    """At the end, the bids of the last part are reserved, and the wins before are paid for."""
    world, budget = tiny(3), 1.5
    band = np.minimum((world.values * 3).astype(int), 2)
    points = []
    for chosen in product(BIDS, repeat=3):
        paid = np.minimum(np.array(chosen)[band], world.values)
        won = (paid >= world.prices) & (paid > 0)
        held = (1 - late) * paid[won].sum() + late * paid.sum()
        points.append((float(held), float((world.values - paid)[won].sum())))
    best = max(earned for held, earned in points if held <= budget)
    for one, two in combinations(points, 2):
        (low, less), (high, more) = sorted([one, two])
        if low <= budget < high:
            share = (budget - low) / (high - low)
            best = max(best, (1 - share) * less + share * more)
    maps = Maps(world, BIDS, 3)
    assert maps.under_budget(budget, late) == pytest.approx(best)
    assert maps.under_budget(budget, late) < maps.under_budget(budget)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_a_bidder_that_knows_the_law_keeps_the_return_on_average(correlation: float) -> None:
    """And with a little more on every bid it would not: within 5 standard errors."""
    world, ratio = log_normal(correlation, 7, 60_000), 4.0
    law = KnownLaw(correlation)
    bids = law.best_bids(ratio)
    for more, kept in ((0, True), (4, False)):
        places = np.minimum(np.searchsorted(law.values, world.values), bids.size - 1)
        paid = USUAL_BIDS[np.where(bids > 0, bids + more, 0)[places]]
        won = (paid >= world.prices) & (paid > 0) & (paid <= world.values)
        slack = np.where(won, world.values - ratio * paid, 0.0)
        error = slack.std() * np.sqrt(slack.size)
        assert (slack.sum() > -5 * error) == kept
        if kept:
            assert slack.sum() < 5 * error
            assert law.value_on(world, ratio) == pytest.approx(world.values[won].sum())
