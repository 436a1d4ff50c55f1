"""The optima under limits are those of a linear program, which another solver solves as a whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from crossbandit.core.types import Floats, Integers
from crossbandit.limits.optima import (
    Ceiling,
    Level,
    Map,
    Purchases,
    Solution,
    Terms,
    best_at_all_multipliers,
    best_maps,
    paced_maps,
    tight,
)

CEILINGS = (
    (),
    (Ceiling(per_value=1 / 3),),
    (Ceiling(per_win=0.3),),
    (Ceiling(amount=1.5),),
    (Ceiling(per_value=1 / 2.5), Ceiling(per_win=0.35)),
    (Ceiling(per_value=1 / 2.5), Ceiling(amount=1.0)),
)


def terms_of(case: int, budget: float, *, paid_counts: bool) -> Terms:
    return Terms(np.array([budget, budget, np.inf]), CEILINGS[case], paid_counts)


def used(one: Ceiling, values: Floats, spend: Floats, wins: Floats) -> Floats:
    """Return what is used up of a ceiling: payments less what wins allow for."""
    return spend - one.per_value * values - one.per_win * wins


def test_a_tight_limit_mixes_the_two_choices_next_to_it() -> None:
    """Three choices: (earned, used) = (0, 0), (3, 1), (4, 2). With 1.5, half of the last two."""
    choices = [Solution(0.0, 0.0, "a"), Solution(3.0, 1.0, "b"), Solution(4.0, 2.0, "c")]

    def solve(multiplier: float) -> Solution:
        return max(choices, key=lambda one: one.objective - multiplier * one.use)

    assert [(w, one.choice) for w, one in tight(solve, 1.5)] == [(0.5, "c"), (0.5, "b")]
    assert [(w, one.choice) for w, one in tight(solve, 2.0)] == [(1.0, "c")]
    weights = {one.choice: w for w, one in tight(solve, 0.25)}
    assert weights["b"] == pytest.approx(0.25)


def auctions(seed: int, count: int) -> tuple[Floats, Floats, Integers]:
    """Return values, prices and periods; a few rates and prices are equal."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 9, count) / 8
    prices = rng.integers(1, 9, count) / 8
    return values, prices, np.sort(rng.integers(0, 3, count))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 14),
    st.sampled_from([0.1, 0.8, 5.0]),
    st.integers(0, len(CEILINGS) - 1),
    st.booleans(),
)
def test_purchases_are_the_fractional_knapsack(
    seed: int, count: int, budget: float, case: int, paid_counts: bool
) -> None:
    values, prices, periods = auctions(seed, count)
    terms = terms_of(case, budget, paid_counts=paid_counts)
    kept = Purchases()
    for part in np.array_split(np.arange(count), 3):
        kept.add(values[part], prices[part], periods[part])
    shares = np.zeros(count)
    for cut in kept.best(terms):
        shares += cut.weight * cut.shares(values, prices, periods)
    worth = prices <= values
    assert not shares[~worth].any()
    rows = [np.where(periods == p, prices, 0.0) for p in range(2)]
    bounds = [budget, budget]
    for one in terms.ceilings:
        rows.append(used(one, values, prices, np.ones(count)))
        bounds.append(one.amount)
    gains = terms.objective(values, prices)
    found = linprog(-gains, np.array(rows), bounds, bounds=[(0, float(w)) for w in worth])
    assert gains @ shares == pytest.approx(-found.fun, abs=1e-9)
    assert (np.array(rows) @ shares <= np.array(bounds) + 1e-9).all()


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.1, 0.8, 5.0]),
    st.integers(0, len(CEILINGS) - 1),
    st.booleans(),
)
def test_maps_are_the_best_mixture_of_all_maps(
    seed: int, budget: float, case: int, paid_counts: bool
) -> None:
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, 4, (3, 2, 4)).astype(float)
    wins[:, :, 0] = 0.0
    spend = wins * np.array([0.0, 0.2, 0.4, 0.9])
    values = wins * rng.uniform(0.2, 1.5, (3, 2, 4))
    terms = terms_of(case, budget, paid_counts=paid_counts)
    shares = np.zeros(wins.shape)
    for one in best_maps(values, spend, wins, terms):
        for p, z in np.ndindex(3, 2):
            shares[p, z, one.bids[p, z]] += one.weights[p]
    np.testing.assert_allclose(shares.sum(axis=2), 1.0, rtol=0, atol=1e-12)
    size = wins.size
    rows, bounds = [], []
    for p in range(2):
        rows.append((spend * (np.arange(3) == p)[:, None, None]).reshape(size))
        bounds.append(budget)
    for ceiling in terms.ceilings:
        rows.append(used(ceiling, values, spend, wins).reshape(size))
        bounds.append(ceiling.amount)
    one_each = np.kron(np.eye(6), np.ones(4))
    gains = terms.objective(values, spend).reshape(size)
    found = linprog(-gains, np.array(rows), bounds, one_each, np.ones(6))
    flat = shares.reshape(size)
    assert gains @ flat == pytest.approx(-found.fun, abs=1e-9)
    assert (np.array(rows) @ flat <= np.array(bounds) + 1e-9).all()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.2, 1.0]), st.integers(0, len(CEILINGS) - 1))
def test_paced_maps_choose_among_the_maps_of_all_multipliers(
    seed: int, budget: float, case: int
) -> None:
    """With one period they are the best maps; with more, each period keeps its own budget."""
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, 4, (3, 2, 4)).astype(float)
    wins[:, :, 0] = 0.0
    spend = wins * np.array([0.0, 0.2, 0.4, 0.9])
    values = wins * rng.uniform(0.2, 1.5, (3, 2, 4))
    rows = np.arange(2)

    def totals(found: list[Map], table: Floats) -> Floats:
        sums = [
            one.weights * table[np.arange(len(table))[:, None], rows, one.bids].sum(1)
            for one in found
        ]
        return np.asarray(np.sum(sums, axis=0))

    pooled = [table.sum(axis=0, keepdims=True) for table in (values, spend, wins)]
    terms = Terms(np.array([3 * budget]), CEILINGS[case])
    both = [find(pooled[0], pooled[1], pooled[2], terms) for find in (best_maps, paced_maps)]
    earned = [totals(one, pooled[0] - pooled[1]).sum() for one in both]
    assert earned[1] == pytest.approx(earned[0], abs=1e-9)
    apart = terms._replace(budgets=np.full(3, budget))
    paced = paced_maps(values, spend, wins, apart)
    assert (totals(paced, spend) <= budget + 1e-9).all()
    for one in apart.ceilings:
        assert totals(paced, used(one, values, spend, wins)).sum() <= one.amount + 1e-9
    own = best_maps(values, spend, wins, apart)
    assert totals(paced, values - spend).sum() <= totals(own, values - spend).sum() + 1e-9
    known = {tuple(one) for one in best_at_all_multipliers(pooled[0][0], pooled[1][0]).tolist()}
    if case == 0:
        assert {tuple(one) for found in paced for one in found.bids.tolist()} <= known
    for multiplier in rng.exponential(1.0, 20):
        best = (pooled[0] - multiplier * pooled[1])[0].argmax(axis=1)
        assert tuple(best.tolist()) in known


def test_many_purchases_are_merged_and_hardly_differ() -> None:
    rng = np.random.default_rng(3)
    values, prices = rng.uniform(0.1, 1.0, (2, 20_000))
    terms = Terms(np.array([400.0, 100.0]), (Ceiling(per_value=1 / 2.0),))
    periods = np.repeat([0, 1], 10_000)
    earned = []
    for most in (10**6, 2_000):
        kept = Purchases(most)
        for part in np.array_split(np.arange(20_000), 9):
            kept.add(values[part], prices[part], periods[part])
        shares = sum(one.weight * one.shares(values, prices, periods) for one in kept.best(terms))
        spend = np.bincount(periods, prices * shares)
        np.testing.assert_allclose(spend, [400.0, 100.0], rtol=1e-2)
        earned.append(float(((values - prices) * shares).sum()))
    assert earned[1] == pytest.approx(earned[0], rel=5e-3)
    assert earned[1] != earned[0]


def nested_terms(budget: float, case: int, *, paid_counts: bool) -> Terms:
    """Five cells with budgets, two periods of two and three of them, and all together."""
    pairs, whole = np.array([0, 0, 1, 1, 1]), np.zeros(5, dtype=np.int64)
    longer = (Level(pairs, np.array([1.3, 1.6]) * budget), Level(whole, np.array([2.2 * budget])))
    budgets = np.array([budget, budget, 0.7 * budget, np.inf, budget])
    return Terms(budgets, CEILINGS[case], paid_counts, longer)


def nested_rows(terms: Terms, spend: Floats, cells: Integers) -> tuple[list[Floats], list[float]]:
    rows, bounds = [], []
    for level in terms.levels:
        for q, budget in enumerate(level.budgets.tolist()):
            if np.isfinite(budget):
                rows.append(np.where(level.of[cells] == q, spend, 0.0))
                bounds.append(budget)
    return rows, bounds


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 25),
    st.sampled_from([0.1, 0.8, 3.0]),
    st.sampled_from([0, 1, 4]),
    st.booleans(),
)
def test_purchases_under_nested_budgets_are_those_of_a_linear_program(
    seed: int, count: int, budget: float, case: int, paid_counts: bool
) -> None:
    values, prices, _ = auctions(seed, count)
    cells = np.sort(np.random.default_rng(seed).integers(0, 5, count))
    terms = nested_terms(budget, case, paid_counts=paid_counts)
    kept = Purchases()
    for part in np.array_split(np.arange(count), 3):
        kept.add(values[part], prices[part], cells[part])
    shares = np.zeros(count)
    for cut in kept.best(terms):
        shares += cut.weight * cut.shares(values, prices, cells)
    rows, bounds = nested_rows(terms, prices, cells)
    for one in terms.ceilings:
        rows.append(used(one, values, prices, np.ones(count)))
        bounds.append(one.amount)
    gains = terms.objective(values, prices)
    may = [(0, float(v >= p)) for v, p in zip(values, prices, strict=True)]
    found = linprog(-gains, np.array(rows), bounds, bounds=may)
    assert gains @ shares == pytest.approx(-found.fun, abs=1e-9)
    assert (np.array(rows) @ shares <= np.array(bounds) + 1e-9).all()


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.1, 0.8, 3.0]),
    st.sampled_from([0, 1, 4]),
    st.booleans(),
)
def test_maps_under_nested_budgets_are_those_of_a_linear_program(
    seed: int, budget: float, case: int, paid_counts: bool
) -> None:
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, 4, (5, 2, 4)).astype(float)
    wins[:, :, 0] = 0.0
    spend = wins * np.array([0.0, 0.2, 0.4, 0.9])
    values = wins * rng.uniform(0.2, 1.5, (5, 2, 4))
    terms = nested_terms(budget, case, paid_counts=paid_counts)
    shares = np.zeros(wins.shape)
    for one in best_maps(values, spend, wins, terms):
        for p, z in np.ndindex(5, 2):
            shares[p, z, one.bids[p, z]] += one.weights[p]
    np.testing.assert_allclose(shares.sum(axis=2), 1.0, rtol=0, atol=1e-12)
    rows, bounds = nested_rows(terms, spend.ravel(), np.repeat(np.arange(5), 8))
    for ceiling in terms.ceilings:
        rows.append(used(ceiling, values, spend, wins).ravel())
        bounds.append(ceiling.amount)
    one_each = np.kron(np.eye(10), np.ones(4))
    gains = terms.objective(values, spend).ravel()
    found = linprog(-gains, np.array(rows), bounds, one_each, np.ones(10))
    assert gains @ shares.ravel() == pytest.approx(-found.fun, abs=1e-9)
    assert (np.array(rows) @ shares.ravel() <= np.array(bounds) + 1e-9).all()


def test_no_auction_worth_its_price_buys_nothing() -> None:
    kept = Purchases()
    kept.add(np.array([0.5, 0.2]), np.array([0.6, 0.3]), np.array([0, 0]))
    cuts = kept.best(Terms(np.array([10.0, 10.0])))
    shares = cuts[0].shares(np.array([0.5, 0.4]), np.array([0.6, 0.1]), np.array([0, 1]))
    assert shares.tolist() == [0.0, 0.0]
