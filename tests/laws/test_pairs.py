"""The test of whether the number depends on the class: pairs that could be exchanged."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from crossbandit.core.types import Feedback
from crossbandit.errors import CheckpointError
from crossbandit.laws import IndependenceTest, OutcomeLaw
from crossbandit.laws.memory import bands_of
from crossbandit.laws.rounds import shown_to

GRID = np.linspace(0.0, 1.0, 6)


def started(feedback: Feedback) -> IndependenceTest:
    """Return a test of 260 rounds in which class a has lower numbers than b; none waits at 0.5."""
    generator = np.random.default_rng(0)
    law = OutcomeLaw(GRID, (0, 1), classes=["site"], feedback=feedback, class_limit=8)
    test = IndependenceTest(law)
    cells, played = generator.integers(0, 5, 260), generator.integers(0, 5, 260)
    sites = np.where(np.arange(260) % 2 == 0, "a", "b")
    cells[sites == "b"] += 1
    kinds, indices, _ = shown_to(law, cells, played)
    values = np.where(np.arange(260) < 200, 0.1, 0.3)
    test.learn_all(values, kinds, indices, played=played, classes={"site": sites})
    return test


def step(feedback: Feedback, cells: tuple[int, int], played: tuple[int, int]) -> np.ndarray:
    """Return what two rounds at 0.5, the first of class a, the second of b, add to the sums."""
    test = started(feedback)
    before = test.state.sums[1].copy()
    kinds, indices, _ = shown_to(test._law, np.array(cells), np.array(played))
    sites = {"site": np.array(["a", "b"])}
    test.learn_all([0.5, 0.5], kinds, indices, played=np.array(played), classes=sites)
    added: np.ndarray = test.state.sums[1] - before
    return added


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_exchanging_the_numbers_of_a_pair_turns_its_step_round(feedback: Feedback) -> None:
    """Whatever the amounts: that is all that the test being valid needs.

    If only won or lost is told, the side of a column is computed in every round, so the first round
    of a pair changes the weight of two of the sums a little.
    """
    steps, slack = [], 0.05 if feedback == "won-lost" else 1e-12
    for played in [(1, 1), (1, 3), (3, 2)]:
        for one, two in itertools.combinations_with_replacement(range(6), 2):
            first, second = step(feedback, (one, two), played), step(feedback, (two, one), played)
            np.testing.assert_allclose(first[::2], -second[::2], atol=1e-12)
            np.testing.assert_allclose(first, -second, atol=slack)
            steps.append(abs(first).max())
    assert max(steps) > 0.1


def test_pairs_by_hand() -> None:
    """Four rounds whose numbers are all seen, with hazards of which the sums are known."""
    test = started("always")
    state = test.state
    row_a, row_b = (int(row) for row in np.unique(state.rows[state.rows >= 0]))
    scores = []
    for row in (row_a, row_b):
        sums, squares = state.shown[row, ::2], state.shown[row, 1::2]
        scores.append(0.5 * sums / np.sqrt(1 + squares + sums**2))
    told = np.array([[1.0, state.sides[4]], [1.0, state.sides[2]]])
    found = told - np.array([state.expected[:, 4], state.expected[:, 2]])
    gap, difference = np.subtract(scores[1], scores[0]), found[1] - found[0]
    expected = np.outer(gap, difference).ravel()
    shown = state.shown[[row_a, row_b]].copy()
    sums, variances = state.sums[1].copy(), state.variances[1].copy()
    classes = {"site": np.array(["a", "b"])}
    test.learn_all([0.5, 0.5], np.zeros(2, dtype=int), np.array([4, 2]), classes=classes)
    np.testing.assert_allclose(state.sums[1] - sums, expected)
    np.testing.assert_allclose(state.variances[1] - variances, expected**2)
    both = np.stack([difference, difference**2], axis=1).ravel()
    np.testing.assert_allclose(state.shown[row_b] - shown[1], both)
    np.testing.assert_allclose(state.shown[row_a] - shown[0], both * [-1, 1, -1, 1])


def test_rounds_of_one_class_are_not_compared() -> None:
    test = started("always")
    before = test.state.sums[1].copy()
    classes = {"site": np.array(["a", "a"])}
    test.learn_all([0.5] * 2, np.zeros(2, dtype=int), np.array([4, 2]), classes=classes)
    np.testing.assert_array_equal(test.state.sums[1], before)
    waiting = test.state.waiting[bands_of(test._law.parts[0], 0.5)]
    assert waiting.tolist() == [1, 2, 1, 1]  # the second of the two


def test_the_step_of_a_pair_has_an_exponential_of_at_most_one_on_average() -> None:
    for step_ in np.linspace(0, 30, 301):
        assert math.log(math.cosh(step_)) <= step_ * step_ / 2


def test_the_class_is_not_taken_for_the_value_that_it_tells() -> None:
    """Values and classes change with time, too. Each alarm has a probability of at most 1 %."""
    alarms = 0
    for seed in range(10):
        generator = np.random.default_rng(seed)
        sites = (generator.random(4_000) < np.linspace(0.2, 0.8, 4_000)).astype(int)
        values = 0.6 * generator.random(4_000) + 0.4 * sites * generator.random(4_000)
        prices = 0.05 + 0.5 * values + 0.3 * generator.random(4_000)
        law = OutcomeLaw(np.linspace(0, 1, 21), (0, 1), classes=["site"], feedback="always")
        test = IndependenceTest(law)
        kinds = np.zeros(4_000, dtype=int)
        test.learn_all(values, kinds, law.cells(prices), classes={"site": sites})
        alarms += test.diagnosis().depends_on_class
    assert alarms <= 1


@pytest.mark.parametrize("bad", [[99, 0, 0, 0], [1, 99, 0, 0], [1, 0, 2, 0], [1, 0, 0, 99]])
def test_rounds_that_cannot_wait_are_refused(bad: list[int]) -> None:
    """Compiled code does not check the bounds of what a file says."""
    test = started("always")
    arrays = test.arrays()
    arrays["waiting"][0] = bad
    with pytest.raises(CheckpointError, match="waiting"):
        test.restore(test.settings(), arrays)
