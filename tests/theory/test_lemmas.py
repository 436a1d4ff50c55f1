"""Counterexamples to Lemmas 4, 5, 6 and 16 are looked for; known cases have known sides."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit import FeedbackGraph, graphs
from crossbandit.theory.definition import softmax
from crossbandit.theory.lemmas.deterministic import (
    exponential_weights,
    graph_inverse,
    potential,
    selector_mass,
    selector_observation,
    shifted_ftrl,
)
from crossbandit.theory.lemmas.search import Sides
from crossbandit.types import Floats

ROUNDING = 1e-9


def numbers(size: int, low: float, high: float) -> st.SearchStrategy[Floats]:
    return st.lists(st.floats(low, high), min_size=size, max_size=size).map(np.array)


def vectors(low: float, high: float) -> st.SearchStrategy[tuple[Floats, Floats]]:
    """Return a distribution, from even to nearly one arm's, and a vector of the same size."""
    return st.integers(1, 6).flatmap(
        lambda size: st.tuples(numbers(size, -30, 0).map(softmax), numbers(size, low, high))
    )


def holds(sides: Sides) -> bool:
    return sides.left <= sides.right * (1 + ROUNDING) + ROUNDING


@given(
    st.integers(1, 7).flatmap(
        lambda size: st.tuples(
            numbers(size * size, 0, 1), st.floats(0, 1), numbers(size, -12, 0), st.floats(0.01, 1)
        )
    )
)
def test_graph_inverse(drawn: tuple[Floats, float, Floats, float]) -> None:
    edges, density, logits, total = drawn
    size = logits.size
    graph = FeedbackGraph(edges.reshape(size, size) < density)
    others = graph.adjacency & ~np.eye(size, dtype=np.bool_)
    assert holds(graph_inverse(others, graph.independence_number, total * softmax(logits)))


def test_graph_inverse_of_an_order_has_the_sum_of_a_harmonic_series() -> None:
    """In an order with equal weights, the arm seen by i others contributes 1 / (i + 1)."""
    order = graphs.threshold(6).adjacency & ~np.eye(6, dtype=np.bool_)
    left, right = graph_inverse(order, 1, np.full(6, 1 / 6))
    assert left == pytest.approx(sum(1 / i for i in range(1, 7)))
    assert right == pytest.approx(4 * math.log(4 * 6 * 6))


@given(vectors(-0.5, 0.5))
def test_exponential_weights_are_stable(drawn: tuple[Floats, Floats]) -> None:
    x, z = drawn
    assert holds(exponential_weights(x, z))
    moved = x * np.exp(z) / (x @ np.exp(z))
    spread = x @ np.abs(z)
    assert (moved <= x * np.exp(z + spread) * (1 + ROUNDING)).all()
    assert (moved >= x * np.exp(z - 2 * spread) * (1 - ROUNDING)).all()


def test_exponential_weights_are_not_stable_with_half_the_allowance() -> None:
    """The sides are not padded: for z = -1/2 everywhere, the upper inequality is an equality."""
    left, right = exponential_weights(np.array([0.3, 0.7]), np.full(2, -0.5))
    assert left == pytest.approx(right)


def test_exponential_weights_are_exact_where_almost_nothing_moves() -> None:
    left, right = exponential_weights(np.array([0.3, 0.7]), np.array([-1e-14, 0.0]))
    assert left / right == pytest.approx(1, rel=1e-12)


@given(vectors(-1, 1), st.floats(0, 0.5))
def test_selector(drawn: tuple[Floats, Floats], error: float) -> None:
    m, direction = drawn
    if m.size < 2:
        return
    m_hat, loopless = m + error * direction, list(range(m.size))
    assert holds(selector_mass(m, m_hat, loopless))
    assert holds(selector_observation(m, m_hat, loopless))


def test_selector_where_two_arms_share_all_mass() -> None:
    m = np.array([0.5, 0.5, 0.0])
    assert selector_mass(m, m, [0, 1]) == Sides(0.5, 0.5)
    assert selector_observation(m, m, [0, 1]) == Sides(0.25, 0.25)


@given(vectors(-3, 20))
def test_potential(drawn: tuple[Floats, Floats]) -> None:
    assert holds(potential(*drawn))


def test_potential_fails_below_its_lower_bound() -> None:
    """What the note of `crossbandit verify` says: at -3.22 it fails."""
    rare = np.array([1e-6, 1 - 1e-6])
    assert not holds_strictly(potential(rare, np.array([-3.22, 0.0])))
    assert holds_strictly(potential(rare, np.array([-3.21, 0.0])))


def holds_strictly(sides: Sides) -> bool:
    return sides.left < sides.right


@settings(max_examples=200)
@given(st.data())
def test_shifted_ftrl(data: st.DataObject) -> None:
    rounds, arms = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 4))
    eta = data.draw(st.floats(1e-3, 2))
    shifts = data.draw(numbers(rounds, -10, 10))
    relative = data.draw(numbers(rounds * arms, -3, 6)).reshape(rounds, arms) / eta
    v = softmax(data.draw(numbers(arms, -30, 0)))
    assert holds(shifted_ftrl(relative + shifts[:, None], shifts, v, eta))


def test_shifted_ftrl_of_one_round_by_hand() -> None:
    inputs, v = np.array([[1.0, 0.0]]), np.array([0.0, 1.0])
    left, right = shifted_ftrl(inputs, np.array([1.0]), v, eta=0.5)
    assert left == pytest.approx(0.5)
    assert right == pytest.approx(math.log(2) / 0.5 + 2 * 0.5 * 0.5)
