"""The hindsight that the benchmarks compare with, against all maps of tiny logs."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import ndtr

from benchmarks.budgets_hindsight import Maps, by_one_law, evenly_paced
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
def test_no_bidder_can_expect_more_than_the_bound(correlation: float) -> None:
    """Bids that follow the law keep a mean return of 4 and win just what is possible on average.

    They take the multiplier at which the bound is lowest. Both hold within 5 standard errors. The
    same steps with the true law, which keep the return at any time, win nearly as much.
    """
    world, ratio = log_normal(correlation, 7, 20_000), 4.0
    law = KnownLaw(correlation)
    most = world.values.size * law.most_value(ratio)
    normal = np.log(world.values * np.exp(2.6 * 0.6)) / 0.6
    with np.errstate(divide="ignore"):
        levels = np.log(USUAL_BIDS * np.exp(2.6 * 0.6)) + 0.4
    spread = 0.9 * np.sqrt(1 - correlation**2)
    chances = ndtr((levels - 0.9 * correlation * normal[:, None]) / spread)
    low, high = 0.0, 100.0
    values = slack = np.zeros(0)
    for _ in range(40):
        multiplier = (low + high) / 2
        gains = (1 + multiplier) * world.values[:, None] - multiplier * ratio * USUAL_BIDS
        allowed = np.where(world.values[:, None] >= USUAL_BIDS, gains * chances, -1.0)
        paid = USUAL_BIDS[allowed.argmax(axis=1)]
        won = (paid >= world.prices) & (paid > 0)
        slack = np.where(won, world.values - ratio * paid, 0.0)
        values = np.where(won, world.values, 0.0)
        low, high = (multiplier, high) if slack.sum() < 0 else (low, multiplier)
    assert abs(slack.sum()) < 5 * slack.std() * np.sqrt(slack.size)
    assert abs(values.sum() - most) < 5 * values.std() * np.sqrt(values.size)
    assert 0.9 * values.sum() < law.value_on(world, ratio) < 1.02 * values.sum()


@pytest.mark.parametrize("ratio", [1.5, 3.0])
def test_the_best_map_from_one_law(ratio: float) -> None:
    """Against the best response to the shares of prices, for the same multipliers."""
    generator = np.random.default_rng(2)
    world = World(generator.uniform(0.1, 1, 3_000), generator.uniform(0.05, 0.8, 3_000))
    shares = np.array([(world.prices <= bid).mean() for bid in BIDS])
    most = 0.0
    for multiplier in np.geomspace(1 / (4 * ratio), 6, 400):
        worths = multiplier * world.values
        bids = BIDS[((worths[:, None] - BIDS) * shares).argmax(axis=1)]
        paid = np.where(bids <= world.values, bids, BIDS[np.searchsorted(BIDS, world.values) - 1])
        won = (paid >= world.prices) & (paid > 0)
        if world.values[won].sum() >= ratio * paid[won].sum():
            most = max(most, world.values[won].sum())
    assert by_one_law(world, ratio, BIDS) == pytest.approx(most, rel=0.01)
    assert most < Maps(world, BIDS).under_return(ratio)
