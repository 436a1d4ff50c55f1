"""What the guard learns from an outcome, as exact means over what it might have played."""

from __future__ import annotations

import numpy as np
import pytest

from crossbandit.core.types import Feedback
from crossbandit.laws import GuardedLaw, OutcomeLaw
from crossbandit.laws.guard_core import GuardCore
from crossbandit.laws.state import GuardState

AMOUNTS = np.array([0.0, 1.0, 2.5, 3.0, 4.5])
SIZE, TOP, WORTH, BID, ROUNDS = 5, 5.0, 4.5, 2, 24.0
LEAST = 0.25 / np.sqrt(1 + ROUNDS)
NONE = np.zeros(0, dtype=np.int64)


def _state() -> GuardState:
    return GuardState(
        wins=np.array([0.0, 3.0, 9.0, 11.0, 12.0]),
        spent=np.array([3.0, 2.0, ROUNDS]),
        gains=np.array([1.0, 4.0]),
        chances=np.zeros(SIZE),
        seen=np.zeros(SIZE),
    )


def _core(state: GuardState, feedback: Feedback = "after-loss") -> GuardCore:
    return GuardCore(OutcomeLaw(AMOUNTS, (0, TOP), feedback=feedback).core, state, TOP)


def _decide(core: GuardCore, last: int = SIZE - 1, *drawn: float) -> tuple[int, int, float]:
    """Let the guard decide: it sets its policy, and what this shows."""
    uniforms = np.array([0.5, 0.5, 0.5, *(drawn or (0.5, 0.5))])
    amount, bid, weight = core.decide(WORTH, NONE, WORTH, 0, last, uniforms)
    return amount, bid, weight


def test_weights_are_those_of_the_definition() -> None:
    state = _state()
    core = _core(state)
    _, _, weight = _decide(core, 3)
    scores = np.sqrt(np.log(SIZE) / 4.0) * (WORTH - AMOUNTS) / TOP * state.wins
    expected = np.exp(scores) * (np.arange(SIZE) <= 3)
    np.testing.assert_allclose(state.chances, expected / expected.sum(), rtol=1e-13)
    lead = np.sqrt(np.log(2) / 3.0) * (1.0 - 4.0) + np.log(SIZE)
    assert core.law_weight() == weight == pytest.approx(1 / (1 + np.exp(-lead)), rel=1e-13)
    state.gains[:] = 1e6, 0.0
    assert core.law_weight() == pytest.approx(1 - LEAST, rel=1e-13)


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_what_is_shown_counts_as_often_as_it_is_not(feedback: Feedback) -> None:
    start = _state()
    core = _core(start, feedback)
    _, _, weight = _decide(core)
    core.see(weight, BID)
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
            state = GuardState(*(part.copy() for part in start))
            _core(state, feedback).learn(WORTH, BID, k, cell)
            wins += chance * (state.wins - start.wins)
            gains += chance * (state.gains - start.gains)
            assert state.spent[2] == ROUNDS + 1
        expected = (cell <= np.arange(SIZE)) * shown / (shown + LEAST)
        earned = expected * (WORTH - AMOUNTS) / TOP
        np.testing.assert_allclose(wins, expected, rtol=1e-12)
        np.testing.assert_allclose(gains, [earned @ law, earned @ start.chances], rtol=1e-12)


def test_squares_are_of_what_is_learned_in_a_round() -> None:
    state = _state()
    core = _core(state, "always")
    _decide(core)
    core.see(0.5, BID)
    core.learn(WORTH, BID, 0, 1)
    gains = (np.arange(SIZE) >= 1) / (1 + LEAST) * (WORTH - AMOUNTS) / TOP
    mean, square = state.chances @ gains, state.chances @ gains**2
    np.testing.assert_allclose(state.spent[0] - 3.0, square - mean**2, rtol=1e-12)
    np.testing.assert_allclose(state.spent[1] - 2.0, (gains[BID] - mean) ** 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "amount"),
    [(0.39, 0.0, None), (0.41, 0.0, 0), (0.41, 0.25, 1), (0.41, 0.99, 3), (0.9, 1.0, 3)],
)
def test_the_law_is_followed_as_often_as_its_weight(
    first: float, second: float, amount: int | None
) -> None:
    """Its weight is 0.4; the learner has learned nothing, and four amounts may be played."""
    state = _state()
    state.wins[:] = 0.0
    lead = np.log(0.4 / 0.6) - np.log(SIZE)
    state.gains[:] = lead / np.sqrt(np.log(2) / 3.0), 0.0
    found, bid, weight = _decide(_core(state), 3, first, second)
    assert weight == pytest.approx(0.4)
    np.testing.assert_array_equal(state.chances, [0.25, 0.25, 0.25, 0.25, 0.0])
    assert found == (bid if amount is None else amount)


def test_a_law_that_is_wrong_is_left() -> None:
    """It has learned from 20,000 rounds that low amounts win, and they do no more."""
    amounts = np.linspace(0.0, 1.0, 21)
    values, prices = np.full(3_000, 0.9), np.where(np.arange(3_000) % 2 == 0, 0.38, 0.42)

    def wrong() -> OutcomeLaw:
        law = OutcomeLaw(amounts, (0, 1), seed=2)
        law.warm_up(np.full(20_000, 0.9), np.full(20_000, 0.08))
        law.state.weights[:] = [1.0, 0.0, 0.0]  # it discounts nothing
        law._rules = law._rules._replace(share=0.0)
        law.use(law.state)
        return law

    law, guard = wrong(), GuardedLaw(wrong())
    alone, guarded = (
        float(np.where(bids >= prices, values - bids, 0.0).sum())
        for bids in (amounts[law.play(values, prices)], amounts[guard.play(values, prices)])
    )
    assert guarded > 1.5 * alone
    assert guard.law_weight < 0.1
