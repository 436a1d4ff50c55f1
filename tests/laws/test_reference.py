"""The compiled law against its literal definition, choice by choice."""

from __future__ import annotations

import numpy as np
import pytest

from crossbandit.core.streams import stream
from crossbandit.core.types import Feedback
from crossbandit.laws import OutcomeLaw
from tests.reference.outcome_law import Reference

AMOUNTS = np.linspace(0.0, 1.0, 31)


def _world(kind: str, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(len(kind))
    values = generator.random(rounds)
    if kind == "independent":
        return values, 0.6 * generator.random(rounds)
    if kind == "dependent":
        return values, values * generator.uniform(0.2, 1.1, rounds)
    high = generator.random(rounds) < 0.4  # the trap: low prices only where nobody bids low
    values = generator.uniform(np.where(high, 0.75, 0.1), np.where(high, 0.85, 0.4))
    low, least = np.where(high, 0.45, 0.3), generator.random(rounds) < 0.5
    prices = generator.uniform(low, 0.5)
    return values, np.where(high & least, generator.uniform(0.05, 0.1, rounds), prices)


def _both(
    kind: str, feedback: Feedback, rounds: int, probing: float
) -> tuple[OutcomeLaw, Reference, np.ndarray, np.ndarray]:
    """Let a law and its definition play the same rounds; what they play must be the same."""
    values, prices = _world(kind, rounds)
    law = OutcomeLaw(AMOUNTS, (0, 1), feedback=feedback, probing=probing, seed=3)
    played = law.play(values, prices)

    uniforms = stream(3, "law").random((values.size, 3))
    reference = Reference(AMOUNTS, 0.0, 1.0, feedback, probing)
    cells = law.cells(prices)
    expected = np.empty_like(played)
    for i, value in enumerate(values):
        expected[i] = reference.decide(value, uniforms[i])
        reference.learn(value, int(expected[i]), int(cells[i]))
    np.testing.assert_array_equal(played, expected)
    return law, reference, values, played


@pytest.mark.parametrize("kind", ["independent", "dependent", "trap"])
@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_choices_are_those_of_the_definition(feedback: Feedback, kind: str) -> None:
    law, reference, _, _ = _both(kind, feedback, 3_000, 1.0)
    np.testing.assert_allclose(law.state.weights, reference.weights, rtol=1e-9)
    np.testing.assert_allclose(law.state.law[0], reference.node(0, 0, 0).law, rtol=1e-9)
    leaf = reference.node(0, 1, 1)
    np.testing.assert_allclose(law.state.law[2], leaf.law, rtol=1e-7)
    np.testing.assert_allclose(law.state.spread[2], leaf.spread, rtol=1e-7)


def test_the_trap_is_found_by_trying_lower_and_lower_amounts() -> None:
    law, reference, values, played = _both("trap", "after-loss", 4_000, 10.0)
    np.testing.assert_array_equal(law.state.reached[2], reference.reached[1, 1])
    high = played[values > 0.5]
    assert np.mean(high[:200] > 12) > 0.8  # it begins with what wins against all prices
    assert np.isin([7, 3], high[:1_000]).all()  # a half of it is tried, and a half of that
    assert np.mean(high[-500:] <= 4) > 0.9


def test_nothing_is_tried_where_lower_amounts_hardly_ever_win() -> None:
    rng = np.random.default_rng(4)
    values = rng.uniform(0.7, 0.9, 4_000)
    law = OutcomeLaw(AMOUNTS, (0, 1), seed=3)
    played = law.play(values, rng.uniform(0.45, 0.5, 4_000))
    low = np.flatnonzero(played[200:] < 12)
    assert 20 < low.size < 60  # about TRIED tries, and no more


def test_the_probability_of_a_try_is_that_of_the_policy() -> None:
    law, _, _, _ = _both("trap", "after-loss", 1_000, 3.0)
    chances = law.policy(0.8)
    drawn = [law.decide(0.8).index for _ in range(4_000)]
    counts = np.bincount(drawn, minlength=AMOUNTS.size) / 4_000
    np.testing.assert_allclose(counts, chances, atol=1 / 64 + 3 * np.sqrt(0.25 / 4_000))
    low = np.arange(AMOUNTS.size) < 10
    assert chances[low].sum() > 0.02
    assert counts[low].sum() == pytest.approx(chances[low].sum(), rel=0.4)
    assert law.policy(0.8, tried_from=1.0)[low].sum() < 1e-9
    # The broader of two nodes has tried an amount that wins often, the narrower one nothing yet.
    state = law.state
    state.untried[[2, 6]] = 8, AMOUNTS.size + 1
    state.asked[2, :8], state.reached[2, :8] = 0.0, 0.0
    state.asked[2, 7], state.reached[2, 7] = 40.0, 26.0
    broad = law.policy(0.8)
    state.untried[2] = AMOUNTS.size + 1
    assert broad.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(law.policy(0.8), broad, atol=1e-12)
