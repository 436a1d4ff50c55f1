"""The estimates of a best response, against literal versions of the textbook formulas."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from crossbandit.core.types import Floats
from crossbandit.laws.price_core import PriceEstimate
from crossbandit.laws.state import AFTER_LOSS, AFTER_WIN, ALWAYS, WON_LOST

BIDS = 5


class Observations(NamedTuple):
    """Counts, as `PriceEstimate` says."""

    told: Floats
    hidden: Floats


# Pairs of a bid and the cell of a price: the cell may be one past the last bid.
histories = st.lists(
    st.tuples(st.integers(0, BIDS - 1), st.integers(0, BIDS)), min_size=1, max_size=30
)


def observed(feedback: int, history: list[tuple[int, int]]) -> Observations:
    """Enter a history as `PriceEstimate` says; a little of everything comes first where it must."""
    start = 0.0 if feedback == AFTER_LOSS else 0.01
    told, hidden = np.full(BIDS + 1, start), np.full(BIDS + 1, 0.01 * (feedback == WON_LOST))
    for bid, cell in history:
        won = cell <= bid
        if feedback == WON_LOST:
            (told if won else hidden)[bid] += 1
        elif feedback == ALWAYS or won == (feedback == AFTER_WIN):
            told[cell] += 1
        else:
            hidden[bid] += 1
    return Observations(told, hidden)


def estimated(feedback: int, seen: Observations) -> Floats:
    chances = np.empty(BIDS)
    PriceEstimate(feedback, np.arange(BIDS) / BIDS, *seen, chances).estimate()
    return chances


def kaplan_meier(feedback: int, seen: Observations) -> list[float]:
    """Sum up who is at risk in each cell anew, and multiply."""
    chances = []
    for k in range(BIDS):
        product = 1.0
        if feedback == AFTER_LOSS:  # not above k: in none of the cells above, one by one
            for j in range(BIDS, k, -1):
                at_risk = seen.told[: j + 1].sum() + seen.hidden[:j].sum()
                if at_risk > seen.told[j]:  # otherwise nothing is known below: flat
                    product *= 1 - seen.told[j] / at_risk
            chances.append(product)
        else:
            for j in range(k + 1):
                at_risk = seen.told[j:].sum() + seen.hidden[j:].sum()
                product *= 1 - seen.told[j] / at_risk
            chances.append(1 - product)
    return chances


@pytest.mark.parametrize("feedback", [AFTER_LOSS, AFTER_WIN, ALWAYS])
@given(history=histories)
def test_product_limit_estimates(feedback: int, history: list[tuple[int, int]]) -> None:
    seen = observed(feedback, history)
    np.testing.assert_allclose(
        estimated(feedback, seen), kaplan_meier(feedback, seen), rtol=1e-9, atol=1e-12
    )


@given(history=histories)
def test_prices_always_told_give_their_frequencies(history: list[tuple[int, int]]) -> None:
    seen = observed(ALWAYS, history)
    expected = np.cumsum(seen.told)[:-1] / seen.told.sum()
    np.testing.assert_allclose(estimated(ALWAYS, seen), expected, rtol=1e-9)


@settings(max_examples=25)
@given(history=histories)
def test_won_or_lost_gives_the_likeliest_rising_chances(history: list[tuple[int, int]]) -> None:
    seen = observed(WON_LOST, history)
    wins, losses = seen.told[:-1], seen.hidden[:-1]
    found = estimated(WON_LOST, seen)
    assert (np.diff(found) >= -1e-12).all()

    def unlikeliness(chances: Floats) -> float:
        chances = np.clip(chances, 1e-12, 1 - 1e-12)
        return -float(wins @ np.log(chances) + losses @ np.log(1 - chances))

    rising = [{"type": "ineq", "fun": lambda p, i=i: p[i + 1] - p[i]} for i in range(BIDS - 1)]
    best = minimize(
        unlikeliness, np.linspace(0.2, 0.8, BIDS), bounds=[(0, 1)] * BIDS, constraints=rising
    )
    assert unlikeliness(found) <= best.fun + 1e-6


@pytest.mark.parametrize("feedback", [AFTER_LOSS, AFTER_WIN])
def test_the_law_is_found_from_one_side_of_it(feedback: int) -> None:
    rng = np.random.default_rng(0)
    law = np.array([0.1, 0.3, 0.2, 0.1, 0.1, 0.2])
    cells, bids = rng.choice(BIDS + 1, 200_000, p=law), rng.integers(0, BIDS, 200_000)
    seen = observed(feedback, list(zip(bids.tolist(), cells.tolist(), strict=True)))
    # Five standard errors of a frequency among the tenth of auctions that show the rarest side.
    np.testing.assert_allclose(estimated(feedback, seen), np.cumsum(law)[:-1], atol=0.018)


def test_the_best_bid_is_the_lowest_of_equals_and_at_most_the_value() -> None:
    bids = np.array([0.0, 1.0, 2.0, 3.0])
    values = np.array([0.0, 0.5, 1.0, 2.5, 3.0, 9.0])
    for chances in itertools.product([0.0, 0.5, 1.0], repeat=4):
        out = np.empty(values.size, dtype=np.int64)
        for first in (0, 1, 2):
            unused = np.zeros(5)
            estimate = PriceEstimate(ALWAYS, bids, unused, unused, np.array(chances))
            estimate.best_bids(values, first, out)
            wins = [p if k >= first else 0.0 for k, p in enumerate(chances)]
            for value, found in zip(values, out, strict=True):
                earned = [(value - b) * p for b, p in zip(bids, wins, strict=True) if b <= value]
                assert found == earned.index(max(earned))


@pytest.mark.parametrize("feedback", [AFTER_LOSS, AFTER_WIN, ALWAYS, WON_LOST])
def test_a_response_uses_the_past_alone_a_step_at_a_time(feedback: int) -> None:
    rng = np.random.default_rng(1)
    bids = np.arange(BIDS) / BIDS
    values, cells = rng.random(60), rng.integers(0, BIDS + 1, 60)
    seen = observed(feedback, [])
    chances = estimated(feedback, seen)
    out = np.empty(60, dtype=np.int64)
    PriceEstimate(feedback, bids, *seen, chances).respond(values, cells, 1, out)

    history: list[tuple[int, int]] = []
    for value, cell, bid in zip(values, cells.tolist(), out.tolist(), strict=True):
        one = np.empty(1, dtype=np.int64)
        before = observed(feedback, history)
        PriceEstimate(feedback, bids, *before, estimated(feedback, before)).best_bids(
            np.array([value]), 1, one
        )
        assert bid == one[0]
        history.append((bid, cell))
