"""What the guard learns from an outcome, as exact means over what it might have played."""

from __future__ import annotations

import numpy as np
import pytest

from crossbandit.kernels.laws.guard import (
    GuardState,
    draw,
    guarded_learn,
    law_weight,
    learner_chances,
    see,
)
from crossbandit.laws import GuardedLaw, OutcomeLaw

AMOUNTS = np.array([0.0, 1.0, 2.5, 3.0, 4.5])
SIZE, TOP, WORTH, BID, ROUNDS = 5, 5.0, 4.5, 2, 24.0
LEAST = 0.25 / np.sqrt(1 + ROUNDS)


def _guard() -> GuardState:
    return GuardState(
        wins=np.array([0.0, 3.0, 9.0, 11.0, 12.0]),
        spent=np.array([3.0, 2.0, ROUNDS]),
        gains=np.array([1.0, 4.0]),
        chances=np.zeros(SIZE),
        seen=np.zeros(SIZE),
    )


def test_weights_are_those_of_the_definition() -> None:
    guard, rules = _guard(), OutcomeLaw(AMOUNTS, (0, TOP))._rules
    learner_chances(rules, guard, WORTH, TOP, 3)
    scores = np.sqrt(np.log(SIZE) / 4.0) * (WORTH - AMOUNTS) / TOP * guard.wins
    expected = np.exp(scores) * (np.arange(SIZE) <= 3)
    np.testing.assert_allclose(guard.chances, expected / expected.sum(), rtol=1e-13)
    lead = np.sqrt(np.log(2) / 3.0) * (1.0 - 4.0) + np.log(SIZE)
    assert law_weight(guard) == pytest.approx(1 / (1 + np.exp(-lead)), rel=1e-13)
    guard.gains[:] = 1e6, 0.0
    assert law_weight(guard) == pytest.approx(1 - LEAST, rel=1e-13)


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_what_is_shown_counts_as_often_as_it_is_not(feedback: str) -> None:
    rules = OutcomeLaw(AMOUNTS, (0, TOP), feedback=feedback)._rules
    start = _guard()
    learner_chances(rules, start, WORTH, TOP, SIZE - 1)
    weight = law_weight(start)
    see(rules, start, weight, BID)
    law = np.arange(SIZE) == BID
    played = weight * law + (1 - weight) * start.chances
    shown = {
        "after-loss": np.cumsum(played),
        "after-win": np.cumsum(played[::-1])[::-1],
        "always": np.ones(SIZE),
        "won-lost": played,
    }[feedback]
    np.testing.assert_allclose(start.seen, shown, rtol=1e-13)
    for cell in range(SIZE + 1):
        wins, gains = np.zeros(SIZE), np.zeros(2)
        for k, chance in enumerate(played):
            guard = GuardState(*(part.copy() for part in start))
            guarded_learn(rules, guard, WORTH, TOP, BID, k, cell)
            wins += chance * (guard.wins - start.wins)
            gains += chance * (guard.gains - start.gains)
            assert guard.spent[2] == ROUNDS + 1
        expected = (cell <= np.arange(SIZE)) * shown / (shown + LEAST)
        earned = expected * (WORTH - AMOUNTS) / TOP
        np.testing.assert_allclose(wins, expected, rtol=1e-12)
        np.testing.assert_allclose(gains, [earned @ law, earned @ start.chances], rtol=1e-12)


def test_squares_are_of_what_is_learned_in_a_round() -> None:
    rules = OutcomeLaw(AMOUNTS, (0, TOP), feedback="always")._rules
    guard = _guard()
    learner_chances(rules, guard, WORTH, TOP, SIZE - 1)
    see(rules, guard, 0.5, BID)
    guarded_learn(rules, guard, WORTH, TOP, BID, 0, 1)
    gains = (np.arange(SIZE) >= 1) / (1 + LEAST) * (WORTH - AMOUNTS) / TOP
    mean, square = guard.chances @ gains, guard.chances @ gains**2
    np.testing.assert_allclose(guard.spent[0] - 3.0, square - mean**2, rtol=1e-12)
    np.testing.assert_allclose(guard.spent[1] - 2.0, (gains[BID] - mean) ** 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "amount"),
    [(0.39, 0.0, BID), (0.4, 0.0, 0), (0.4, 0.25, 1), (0.4, 0.99, 3), (0.9, 1.0, 3)],
)
def test_the_law_is_followed_as_often_as_its_weight(
    first: float, second: float, amount: int
) -> None:
    guard = _guard()
    guard.chances[:] = 0.25, 0.25, 0.25, 0.25, 0.0
    assert draw(guard, 0.4, BID, 3, first, second) == amount


def test_a_law_that_is_wrong_is_left() -> None:
    """It has learned from 20,000 rounds that low amounts win, and they do no more."""
    amounts = np.linspace(0.0, 1.0, 21)
    values, prices = np.full(3_000, 0.9), np.where(np.arange(3_000) % 2 == 0, 0.38, 0.42)

    def wrong() -> OutcomeLaw:
        law = OutcomeLaw(amounts, (0, 1), seed=2)
        law.warm_up(np.full(20_000, 0.9), np.full(20_000, 0.08))
        law.state.weights[:] = [1.0, 0.0, 0.0]  # it discounts nothing
        law._rules = law._rules._replace(share=0.0)
        law.use(law.state, law.levels)
        return law

    law, guard = wrong(), GuardedLaw(wrong())
    alone, guarded = (
        float(np.where(bids >= prices, values - bids, 0.0).sum())
        for bids in (amounts[law.play(values, prices)], amounts[guard.play(values, prices)])
    )
    assert guarded > 1.5 * alone
    assert guard.law_weight < 0.1
