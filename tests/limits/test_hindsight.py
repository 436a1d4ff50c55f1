"""The hindsight that the benchmarks compare with, against all maps of tiny logs."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from benchmarks.budgets_hindsight import Maps, evenly_paced
from benchmarks.markets_worlds import World

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
