"""Bids that suit a sample of values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit.applications import bids_for_values
from crossbandit.applications.bidding.auctions import bid_spacing, rounding_cost
from crossbandit.errors import InvalidParameterError

AMOUNTS = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20)


def literal_cost(values: list[float], bids: list[float]) -> float:
    """Round many ideal bids up, one by one; a bid above the value is not made."""
    lost = 0.0
    for value in values:
        ideal = (np.arange(4_000) + 0.5) / 4_000 * value
        up = [min(*(bid for bid in bids if bid >= one), value) for one in ideal]
        lost += float(np.mean(np.array(up) - ideal))
    return lost / sum(values)


def test_the_cost_of_rounding_is_that_of_rounding() -> None:
    values, bids = [0.7, 2.0, 3.5], [0.0, 1.0, 3.0, 4.0]
    by_hand = (0.49 / 1.4 + 2.0 / 4.0 + (1 + 4 + 0.25) / 7.0) / 6.2
    got = rounding_cost(np.array(values), np.ones(3), np.array(bids))
    assert got == pytest.approx(by_hand)
    assert got == pytest.approx(literal_cost(values, bids), rel=1e-3)
    doubled = rounding_cost(np.array(values), np.full(3, 2.0), np.array(bids))
    assert doubled == pytest.approx(by_hand)


def test_without_a_tail_bids_are_even_to_the_last_bit() -> None:
    uniform = np.random.default_rng(0).uniform(0, 10, 5_000)
    for values in (uniform, [3.0], [8.0, 9.0, 10.0]):
        assert (bids_for_values(values, highest=10) == np.arange(100) * 10 / 99).all()


@pytest.mark.parametrize("spread", [1.0, 1.5, 2.0])
def test_with_a_tail_the_cost_is_near_the_least(spread: float) -> None:
    """Both halves: the cost is at most twice that of the bids that are best for it alone."""
    values = np.sort(np.exp(spread * np.random.default_rng(1).standard_normal(3_000)))
    ones, top = np.ones(values.size), float(values[-1])
    spacing = bid_spacing(values, ones, top)
    assert not spacing.even
    assert (spacing.bids[0], spacing.bids[-1]) == (0.0, top)
    judged = values[:2_970]  # 99 % of them
    assert spacing.cost == pytest.approx(rounding_cost(judged, ones[:2_970], spacing.bids))
    assert spacing.cost < spacing.even_cost / 5
    # By Cauchy-Schwarz no bids cost less than (integral of sqrt(m))^2 / (2 (K - 1)).
    above = np.cumsum((1 / values)[::-1])[::-1]
    area = float((np.sqrt(above) * np.diff(values, prepend=0.0)).sum())
    cost = rounding_cost(values, ones, spacing.bids)
    assert cost <= 2.1 * area**2 / (2 * 99) / values.sum()


def test_one_very_high_value_does_not_take_the_bids_of_all_others() -> None:
    bids = bids_for_values([6.0, 8.0, 10.0] * 50 + [100_000.0])
    assert (bids < 10).sum() > 40


@given(values=AMOUNTS, count=st.integers(2, 40), room=st.floats(1, 3))
def test_bids_ascend_from_zero_to_the_highest_value(
    values: list[float], count: int, room: float
) -> None:
    top = max(values) * room
    bids = bids_for_values(values, count=count, highest=top)
    assert bids.size == count
    assert bids[0] == 0
    assert bids[-1] == top
    assert (np.diff(bids) > 0).all()
    scaled = bids_for_values([8 * value for value in values], count=count, highest=8 * top)
    np.testing.assert_allclose(scaled, 8 * bids)  # whatever the unit of money


def test_bad_samples_are_refused() -> None:
    for values in ([], [0.0, -1.0], [np.nan, 1.0], ["a"]):
        with pytest.raises(InvalidParameterError, match="'values' parameter of bids_for_values"):
            bids_for_values(values)
    with pytest.raises(InvalidParameterError, match="'highest'"):
        bids_for_values([3.0], highest=2.0)
    with pytest.raises(InvalidParameterError, match="'count'"):
        bids_for_values([3.0], count=1)
