"""Environments draw from the distributions that they state.

Means and variances of many rounds are compared with the stated ones, within five standard errors.
If the distribution is right, such a test fails in less than one of a million runs.
"""

import math
from typing import Any

import numpy as np
import pytest

from crossbandit import graphs
from crossbandit.applications.seller import SellerRules
from crossbandit.environments import (
    first_price,
    newsvendor,
    posted_price,
    recommendation,
    sleeping,
)

ROUNDS = 40_000


def assert_moments(sample: Any, mean: float, variance: float) -> None:
    """Compare mean and variance; the fourth moment is estimated from the sample."""
    sample = np.asarray(sample, dtype=float)
    squares = (sample - mean) ** 2
    assert abs(sample.mean() - mean) < 5 * math.sqrt(variance / sample.size)
    assert abs(squares.mean() - variance) < 5 * squares.std() / math.sqrt(sample.size)


def test_competing_bids_are_beta() -> None:
    prices = first_price(ROUNDS).competing_bids(0, ROUNDS)
    a, b = 2, 4
    assert_moments(prices, a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1)))


def test_drifting_competing_bids_follow_one_and_a_half_waves() -> None:
    prices = first_price(ROUNDS, prices="drifting").competing_bids(0, ROUNDS)
    noise = first_price(ROUNDS).competing_bids(0, ROUNDS) - 1 / 3
    for share in (0.0, 1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6):
        at = int(share * ROUNDS)
        center = 0.15 + 0.1875 * (1 + math.sin(3 * math.pi * at / ROUNDS))
        expected = np.clip(center + 0.5 * noise[at], 0, 1)
        assert prices[at] == pytest.approx(expected, abs=1e-12)


def test_demand_is_a_sum_of_four_stages() -> None:
    demand = newsvendor(ROUNDS, demand=400.0, season=0.0).demands(0, ROUNDS)
    assert_moments(demand, 400, 400**2 / 4 + 1 / 12)  # rounding to units adds 1/12


def test_willingness_to_pay_is_the_mean_of_two_uniform_numbers() -> None:
    assert_moments(posted_price(ROUNDS).willingness(0, ROUNDS), 1 / 2, 1 / 24)


def test_a_seller_who_never_loses_has_losses_up_to_1_all_the_same() -> None:
    """Where the lowest price is above the highest cost, the least that can be earned is 0."""
    rules = SellerRules(prices=[2.0, 3.0], cost_range=(0.0, 1.0), at_least_cost=False)
    assert rules.most == rules.scale == 3.0


@pytest.mark.parametrize("awake", [0.2, 0.8])
def test_arms_are_awake_as_often_as_is_said(awake: float) -> None:
    sets = sleeping(graphs.singletons(20), 10, sets=2000, awake=awake).awake_sets
    rest = (1 - awake) ** 20 / 20  # an empty set wakes one arm
    assert_moments(sets, awake + rest, (awake + rest) * (1 - awake - rest))


def test_sleeping_arms_lose_by_means_from_a_fifth_to_four_fifths() -> None:
    environment = sleeping(graphs.singletons(4), ROUNDS)
    np.testing.assert_allclose(np.sort(environment.means), [0.2, 0.4, 0.6, 0.8])
    losses = environment.block(0, 8000).base[:, :, 0]
    for arm, mean in enumerate(environment.means):
        assert_moments(losses[:, arm], mean, mean * (1 - mean))


def test_items_are_liked_by_their_qualities_and_segments_differ_much() -> None:
    environment = recommendation(4000, segments=3000)
    ratings = environment.ratings(0, 4000)
    qualities = environment.qualities
    for item in range(3):
        mean = qualities[item, 0]
        assert_moments(ratings[:, item, 0], mean, mean * (1 - mean))
    weights, aspects = np.asarray(environment.problem.features), environment.aspects
    total = aspects / 2  # Dirichlet(1/2, ..., 1/2)
    assert_moments(weights[:, 0], 1 / aspects, (1 / aspects) * (1 - 1 / aspects) / (total + 1))
