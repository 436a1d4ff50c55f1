"""First-price auctions with a budget: it is never exceeded, and pacing is what it is said to be."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from crossbandit import CrossGraph, CrossGraphAdaptive, Run, simulate
from crossbandit.algorithms import Algorithm
from crossbandit.core.types import SteadyPacing
from crossbandit.environments import first_price_budget
from crossbandit.environments.applied import FirstPriceBudget
from crossbandit.errors import InvalidParameterError

ALGORITHMS = [CrossGraphAdaptive(), CrossGraph()]


def spend(environment: FirstPriceBudget, arms: Any) -> Any:
    """Return what was paid in each round."""
    bids = environment.rules.amounts[arms]
    prices = environment.competing_bids(0, environment.horizon)
    return np.where(environment.rules.wins(bids, prices), bids, 0.0)


def played(environment: FirstPriceBudget, algorithm: Algorithm, **options: Any) -> Run:
    return simulate(algorithm, environment, seed=3, show_progress=False, **options)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: str(one.id))
@pytest.mark.parametrize("pacing", ["even", "asap"])
def test_the_compiled_and_the_plain_loop_play_the_same(
    algorithm: Algorithm, pacing: SteadyPacing
) -> None:
    environment = first_price_budget(700, budget=0.03, pacing=pacing, bids=11)
    run, plain = played(environment, algorithm), played(environment, algorithm, compiled=False)
    np.testing.assert_array_equal(run.arms, plain.arms)
    np.testing.assert_allclose(run.losses, plain.losses, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(run.comparator_arms, plain.comparator_arms)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: str(one.id))
@pytest.mark.parametrize("pacing", ["even", "asap"])
def test_the_budget_is_never_exceeded(algorithm: Algorithm, pacing: SteadyPacing) -> None:
    environment = first_price_budget(3_000, budget=0.01, pacing=pacing, bids=11)
    run = played(environment, algorithm)
    paid = spend(environment, run.arms)
    left = environment.total - np.append(0.0, np.cumsum(paid)[:-1])
    bids = environment.rules.amounts[run.arms]
    assert (bids <= left + 1e-9).all()
    assert (bids <= run.contexts[:, 1]).all()
    assert 0.97 * environment.total < paid.sum() <= environment.total + 1e-9
    half = paid[:1500].sum() / environment.total
    assert 0.4 < half < 0.6 if pacing == "even" else half > 0.99
    surplus = environment.rules.earned(run.losses)
    np.testing.assert_allclose(
        surplus, np.where(paid > 0, run.contexts[:, 1] - bids, 0.0), rtol=0, atol=1e-12
    )


def test_pseudo_values_follow_the_formula() -> None:
    """The logarithm of the factor moves by the excess over the plan, in scaled steps."""
    environment = first_price_budget(200, budget=0.02, bids=11)
    run = played(environment, CrossGraphAdaptive())
    paid = spend(environment, run.arms)
    limits = environment.limits()
    rounds = limits.rounds(0, run.contexts)
    block = environment.problem.form.block(run.contexts.copy(), np.ones((200, 11), dtype=np.bool_))
    auctions = rounds.core.auctions(rounds, block)
    left, first = environment.total, float(run.contexts[0, 1])
    log = min(0.0, 0.5 * math.log(left / 200 / (first / 4)))  # as the budget sets out
    squares = (first * math.exp(log)) ** 2
    for i, arm in enumerate(run.arms.tolist()):
        auctions.limit(i)
        pseudo = run.contexts[i, 1] * math.exp(log)
        assert rounds.pseudo[i] == pytest.approx(pseudo, rel=1e-9)
        assert limits.share_left == pytest.approx(left / environment.total)
        assert block.table[i, 0, 1] == rounds.pseudo[i]
        amounts = environment.rules.amounts
        expected = (amounts <= pseudo) & (amounts <= left + 1e-9)
        np.testing.assert_array_equal(block.available[i], expected | (amounts == 0))
        gradient = paid[i] - left / (200 - i)
        squares += gradient**2
        left -= paid[i]
        planned = environment.total * (i + 1) / 200
        size = max(math.sqrt(squares), min(environment.total - left, planned, left) / 2)
        log = min(0.0, log - gradient / size)
        auctions.settle(i, arm)
    assert limits.factor == pytest.approx(math.exp(log))
    assert limits.spent == pytest.approx(paid.sum())


@pytest.mark.parametrize("budget", [0.002, 0.03, 10.0])
@pytest.mark.parametrize("levels", [5, 8])
def test_the_fluid_optimum_is_that_of_a_linear_program(budget: float, levels: int) -> None:
    environment = first_price_budget(400, budget=budget, bids=6, levels=levels, prices="uniform")
    prices, bids = environment.competing_bids(0, 400), environment.rules.amounts
    assert set(np.rint(prices * levels)) == set(range(1, levels + 1))
    rates = environment.rules.wins(bids[:, None], prices).mean(axis=1)
    np.testing.assert_allclose(environment.win_rates, rates, rtol=0, atol=1e-12)
    values = np.arange(1, levels + 1) / levels
    gains = ((values[:, None] - bids) * rates / levels).ravel()
    costs = np.tile(bids * rates / levels, levels)
    upper = np.tile(1.0, (levels, 6))
    upper[bids > values[:, None]] = 0.0
    found = linprog(
        -gains,
        [costs],
        [budget],
        np.kron(np.eye(levels), np.ones(6)),
        np.ones(levels),
        bounds=list(zip(np.zeros(6 * levels), upper.ravel(), strict=True)),
    )
    assert environment.fluid_optimum == pytest.approx(-found.fun, abs=1e-12)


@pytest.mark.parametrize("levels", [None, 20])
def test_the_comparator_is_the_fluid_optimum(levels: int | None) -> None:
    environment = first_price_budget(20_000, budget=0.02, bids=21, levels=levels)
    run = played(environment, CrossGraphAdaptive())
    bids = environment.rules.amounts[run.comparator_arms]
    assert (bids <= run.contexts[:, 1]).all()
    assert spend(environment, run.comparator_arms).mean() == pytest.approx(0.02, rel=0.05)
    earned = environment.rules.earned(run.comparator_losses)
    assert earned.mean() == pytest.approx(environment.fluid_optimum, rel=0.03)
    assert run.regret[-1] < 0.06 * earned.sum()
    if levels:
        weights, maps, _ = environment._maps
        assert len(maps) == 2
        places = np.rint(run.contexts[:, 1] * levels).astype(int) - 1
        differ = maps[0][places] != maps[1][places]
        first = run.comparator_arms[differ] == maps[0][places][differ]
        assert 0.02 < weights[0] < 0.98
        assert first.mean() == pytest.approx(weights[0], abs=0.05)
        assert (np.rint(run.contexts[:, 1] * levels) == run.contexts[:, 1] * levels).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0.0}, "'budget' parameter of first_price_budget must be a .*number above 0"),
        ({"budget": math.nan}, "'budget' parameter of first_price_budget"),
        ({"budget": -1.0}, "'budget' parameter of first_price_budget"),
        ({"budget": 1e-6}, "at least the lowest bid, 0.1, divided by the horizon"),
        ({"pacing": "soon"}, "'pacing' parameter of first_price_budget must be one of"),
        ({"prices": "high"}, "'prices' parameter of first_price_budget must be one of"),
        ({"levels": 1}, "'levels' parameter of first_price_budget"),
        ({"at_most_value": False}, "True: no bid above the value"),
    ],
)
def test_bad_input_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        first_price_budget(100, **{"bids": 11, **options})
