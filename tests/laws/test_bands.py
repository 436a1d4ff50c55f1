"""Bands of contexts follow the grid of bids."""

import numpy as np
import pytest

from crossbandit.applications import geometric_bids
from crossbandit.laws import IndependenceTest, OutcomeLaw
from crossbandit.laws.memory import bands_of


@pytest.mark.parametrize("top", [1.0, 0.5])
def test_bands_of_an_even_grid_are_equally_wide(top: float) -> None:
    law = OutcomeLaw(np.linspace(0, top, 51), (0, 1))
    middles = (np.arange(256) + 0.5) / 256
    np.testing.assert_array_equal(bands_of(law.parts[0], middles), np.arange(256))
    assert bands_of(law.parts[0], [-1.0, 2.0]).tolist() == [0, 255]


def test_bands_of_other_payoffs_do_not_follow_the_amounts() -> None:
    law = OutcomeLaw(geometric_bids(50, 0.01, 1), (0, 1), payoff="posted-price")
    assert bands_of(law.parts[0], [0.5])[0] == 128


def test_a_geometric_grid_makes_bands_where_the_values_are() -> None:
    """Values with a heavy tail: with equally wide bands, nearly all would be in one."""
    rng = np.random.default_rng(0)
    values = np.exp(2 * rng.standard_normal(40_000))
    prices = 0.5 * values * np.exp(0.5 * rng.standard_normal(40_000))
    grid = geometric_bids(80, 0.01, values.max())
    law = OutcomeLaw(grid, (0, values.max()))
    assert np.unique(bands_of(law.parts[0], values)).size > 100
    equal = np.unique((values / values.max() * 256).astype(int), return_counts=True)[1]
    assert equal.max() > 0.9 * values.size
    test = IndependenceTest(law)
    bids = law.play(values, prices)
    won = law.cells(prices) <= bids
    earned = np.where(won, 1 - grid[bids] / values, 0)[20_000:].mean()  # per unit of value
    shares = prices[20_000:] / values[20_000:]
    assert earned > 0.9 * max((1 - f) * (shares <= f).mean() for f in np.arange(0.3, 1, 0.05))
    cells = law.cells(prices[:2_000])
    test.learn_all(values[:2_000], np.zeros(2_000, dtype=int), cells)
    assert test.diagnosis().depends
