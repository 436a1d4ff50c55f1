"""The compiled law against its literal definition, choice by choice."""

from __future__ import annotations

import numpy as np
import pytest

from crossbandit.laws import OutcomeLaw
from crossbandit.streams import stream
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


@pytest.mark.parametrize("kind", ["independent", "dependent", "trap"])
@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_choices_are_those_of_the_definition(feedback: str, kind: str) -> None:
    values, prices = _world(kind, 3_000)
    law = OutcomeLaw(AMOUNTS, (0, 1), feedback=feedback, seed=3)
    played = law.play(values, prices)

    uniforms = stream(3, "law").random((values.size, 3))
    reference = Reference(AMOUNTS, 0.0, 1.0, feedback)
    cells = law.cells(prices)
    expected = np.empty_like(played)
    for i, value in enumerate(values):
        expected[i] = reference.decide(value, uniforms[i])
        reference.learn(value, int(expected[i]), int(cells[i]))
    np.testing.assert_array_equal(played, expected)
    np.testing.assert_allclose(law.state.weights, reference.weights, rtol=1e-9)
    np.testing.assert_allclose(law.state.law[0], reference.node(0, 0, 0).law, rtol=1e-9)
    leaf = reference.node(0, 1, 1)
    np.testing.assert_allclose(law.state.law[2], leaf.law, rtol=1e-7)
    np.testing.assert_allclose(law.state.spread[2], leaf.spread, rtol=1e-7)


def test_the_trap_is_probed() -> None:
    values, prices = _world("trap", 3_000)
    law = OutcomeLaw(AMOUNTS, (0, 1), seed=3)
    law.play(values, prices)
    assert law.state.probed[2].sum() > 10
