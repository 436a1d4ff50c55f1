"""The most likely distribution of prices, against literal definitions and its optimality."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit.core.types import Booleans, Floats
from crossbandit.logs.evaluate.groups import PriceDistribution

KINDS = ["always", "after-loss", "after-win", "won-lost", "mixed"]
SMALL = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 6), st.booleans()), min_size=2, max_size=25
)


def intervals(
    prices: Floats, bids: Floats, kind: str, mixed: Booleans
) -> tuple[Floats, Floats, Booleans]:
    won = bids >= prices
    told = {
        "always": won | True,
        "after-loss": ~won,
        "after-win": won,
        "won-lost": won & False,
        "mixed": mixed,
    }[kind]
    low = np.where(told, np.nextafter(prices, -np.inf), np.where(won, 0.0, bids))
    high = np.where(told, prices, np.where(won, bids, np.inf))
    return low, high, told


def drawn(
    kind: str, count: int, seed: int, step: float = 0.0
) -> tuple[Floats, Floats, Floats, Floats, Booleans]:
    rng = np.random.default_rng(seed)
    prices, bids = rng.gamma(2, 1, count), rng.gamma(2, 1, count)
    if step:
        prices, bids = np.ceil(prices / step) * step, np.ceil(bids / step) * step
    low, high, told = intervals(prices, bids, kind, rng.random(count) < 0.4)
    return prices, bids, low, high, told


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_hidden_after_a_win_it_is_the_product_limit_from_above(step: float) -> None:
    prices, bids, low, high, told = drawn("after-loss", 60, 3, step)
    found = PriceDistribution(low, high)
    for at in [*bids, *prices, 0.1, 9.0]:
        if at < min(bids[~told].min(), prices[told].min()):
            continue  # nothing is known below all bids that won
        chance = 1.0
        for level in np.unique(prices[told]):
            if level > at:
                at_risk = (told & (prices <= level)) | (~told & (bids < level))
                chance *= 1 - (told & (prices == level)).sum() / at_risk.sum()
        assert found.at(at) == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_hidden_after_a_loss_it_is_the_product_limit_from_below(step: float) -> None:
    prices, bids, low, high, told = drawn("after-win", 60, 4, step)
    found = PriceDistribution(low, high)
    for at in [*bids, *prices, 0.1]:
        if at > max(bids[~told].max(), prices[told].max()):
            continue  # nothing is known above all bids that lost
        above = 1.0
        for level in np.unique(prices[told]):
            if level <= at:
                at_risk = (told & (prices >= level)) | (~told & (bids >= level))
                above *= 1 - (told & (prices == level)).sum() / at_risk.sum()
        assert found.at(at) == pytest.approx(1 - above, abs=1e-12)


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_without_prices_it_is_isotonic_regression(step: float) -> None:
    """By its max-min formula: the largest of the least mean wins over ranges of bids."""
    prices, bids, low, high, _ = drawn("won-lost", 40, 5, step)
    found = PriceDistribution(low, high)
    levels = np.unique(bids)
    won = bids >= prices
    for k, at in enumerate(levels):
        chance = max(
            min(
                won[(bids >= levels[i]) & (bids <= levels[j])].mean() for j in range(k, levels.size)
            )
            for i in range(k + 1)
        )
        assert found.at(at) == pytest.approx(chance, abs=1e-9)


def test_all_told_it_is_the_share_of_prices() -> None:
    prices, _, low, high, _ = drawn("always", 50, 6, 0.25)
    found = PriceDistribution(low, high)
    for at in [0.0, 1.0, 1.1, 2.5, 9.0]:
        assert found.at(at) == pytest.approx((prices <= at).mean(), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(SMALL, st.sampled_from(KINDS))
def test_no_other_distribution_is_more_likely(rows: list[tuple[int, int, bool]], kind: str) -> None:
    """The condition of optimality: no atom would gain from more mass, and those with mass agree."""
    prices, bids = (np.array(column, dtype=float) for column in list(zip(*rows, strict=True))[:2])
    low, high, _ = intervals(prices, bids, kind, np.array([row[2] for row in rows]))
    found = PriceDistribution(low, high)
    assert found.masses.sum() == pytest.approx(1.0)
    assert found.masses.min() >= 0
    slopes = found.spread(1 / found.chances) / prices.size
    assert slopes.max() <= 1 + 1e-3
    np.testing.assert_allclose(slopes[found.masses > 1e-6], 1.0, atol=1e-3)


@settings(max_examples=60, deadline=None)
@given(SMALL, st.sampled_from(KINDS))
def test_the_range_holds_the_middle_and_is_open_only_inside_atoms(
    rows: list[tuple[int, int, bool]], kind: str
) -> None:
    prices, bids = (np.array(column, dtype=float) for column in list(zip(*rows, strict=True))[:2])
    low, high, _ = intervals(prices, bids, kind, np.array([row[2] for row in rows]))
    found = PriceDistribution(low, high)
    grid = np.arange(0.5, 8.0, 0.25)
    least, most = found.range_at(grid)
    middle = found.at(grid)
    assert (least <= middle + 1e-12).all()
    assert (middle <= most + 1e-12).all()
    assert (np.diff(middle) >= -1e-12).all()
    ends = np.concatenate([low, high[np.isfinite(high)]])
    least, most = found.range_at(ends)
    np.testing.assert_allclose(least, most, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_influences_are_derivatives(kind: str, step: float) -> None:
    """Many copies of the data and one more of an auction change the estimate by its influence."""
    _, _, low, high, _ = drawn(kind, 40, 7, step)
    found = PriceDistribution(low, high)
    below = (found.right <= 2.0).astype(float)
    influences = found.influence(below)
    assert influences.sum() == pytest.approx(0.0, abs=1e-6)
    copies = 300
    for i in (0, 11, 23):
        more = PriceDistribution(
            np.append(np.tile(low, copies), low[i]), np.append(np.tile(high, copies), high[i])
        )
        change = more.masses[more.right <= 2.0].sum() - found.masses @ below
        assert copies * change == pytest.approx(influences[i], abs=2e-4)


def test_below_the_lowest_bid_nothing_is_known() -> None:
    """Both bids won and no price was told: any distribution below 2 fits."""
    found = PriceDistribution(np.zeros(2), np.array([2.0, 3.0]))
    least, most = found.range_at(np.array([1.0, 2.0]))
    assert least.tolist() == [0.0, 1.0]
    assert most.tolist() == [1.0, 1.0]
    assert found.at([1.0]).tolist() == [0.5]


def test_prices_hidden_on_both_sides_by_hand() -> None:
    """A price of 2 was told, a bid of 3 won and one of 1 lost: with all mass on 2, all are sure."""
    told = np.nextafter(2.0, 0.0)
    found = PriceDistribution(np.array([told, 0.0, 1.0]), np.array([2.0, 3.0, np.inf]))
    at_two = found.masses[found.right == 2.0]
    assert at_two[0] == pytest.approx(1.0, abs=1e-3)


def test_every_small_case_is_found_by_iteration_too() -> None:
    """The closed forms and Turnbull's iteration agree on the likelihood."""
    for prices in itertools.product([1.0, 2.0, 3.0], repeat=3):
        for kind in ("after-loss", "after-win", "won-lost"):
            bids = np.array([1.0, 2.0, 2.0])
            low, high, _ = intervals(np.array(prices), bids, kind, bids > 0)
            found = PriceDistribution(low, high)
            other = found._iterate()
            likely, same = (np.log(p).sum() for p in (found.chances, found.inside(other)))
            assert likely == pytest.approx(same, abs=1e-3)
            assert likely >= same - 1e-9
