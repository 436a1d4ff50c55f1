"""Exponential weights, drawing and adding: extreme rates and scores, edges of the unit interval."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crossbandit import graphs
from crossbandit.algorithms.epoch_core import EpochCore, EpochParameters
from crossbandit.algorithms.learners.learner import draw
from crossbandit.core.rounds import CoreProblem
from crossbandit.core.types import Floats
from crossbandit.environments import LossBlock
from tests.reference.common import draw as reference_draw
from tests.reference.common import mix, softmax
from tests.sources import interpreted

HUGE = 1e308


def weights(scores: Any, eta: float = 1.0, rho: float = 0.0, available: Any = None) -> Floats:
    """Return the policy of Algorithm 2 if all snapshots have these scores, compiled."""
    parameters = EpochParameters(eta, 1.0, rho, 1.0, 2)
    arms = len(scores)
    graph = graphs.complete(arms)
    known = CoreProblem((1, 1), (graph.in_ranges, graph.out_ranges), ())
    core = EpochCore(np.zeros((3, arms, 1)), known, parameters, np.zeros(0))
    core.state()["bias"][:] = scores
    policy: Floats = core.policy(0, 0, (0, None, available))
    return policy


def steps(arms: int, columns: int = 1) -> Any:
    """Return a core whose steps can be called, with two rows."""
    rows, bias = np.zeros((2, arms)), np.zeros((1, arms))
    estimates = np.zeros((1, arms, columns))
    return interpreted("core.arithmetic").EstimateCore(estimates, bias, rows, (1, 1))


scores_of = st.integers(1, 8).flatmap(
    lambda arms: arrays(np.float64, arms, elements=st.floats(-HUGE, HUGE))
)


@given(scores_of, st.floats(1e-300, HUGE), st.floats(0, 1))
def test_the_result_is_a_distribution_whatever_comes(
    scores: Floats, eta: float, rho: float
) -> None:
    result = weights(scores, eta, rho)
    assert (result >= 0).all()
    assert result.sum() == pytest.approx(1, abs=1e-12)
    assert result.min() >= rho / scores.size * (1 - 1e-12)
    assert result[np.argmin(scores)] == result.max()


@given(arrays(np.float64, 5, elements=st.floats(-100, 100)), st.floats(0.01, 10), st.floats(0, 1))
def test_it_is_the_transcriptions(scores: Floats, eta: float, rho: float) -> None:
    expected = mix(softmax(scores, eta), rho)
    np.testing.assert_allclose(weights(scores, eta, rho), expected, rtol=1e-12, atol=1e-300)


@given(
    arrays(np.float64, 5, elements=st.integers(-1000, 1000).map(float)),
    st.integers(-(2**40), 2**40).map(float),
    st.floats(0.01, 10),
)
def test_a_translation_changes_nothing(scores: Floats, shift: float, eta: float) -> None:
    """Whole numbers of this size are added exactly, so not a bit may differ."""
    np.testing.assert_array_equal(weights(scores + shift, eta), weights(scores, eta))


@given(arrays(np.float64, 6, elements=st.floats(-50, 50)), st.permutations(range(6)))
def test_relabelling_the_arms_relabels_the_weights(scores: Floats, order: list[int]) -> None:
    relabelled = weights(scores[order], 0.7, 0.1)
    np.testing.assert_allclose(relabelled, weights(scores, 0.7, 0.1)[order], rtol=1e-14)


@given(
    st.lists(st.tuples(st.floats(-HUGE, HUGE), st.booleans()), min_size=1).filter(
        lambda pairs: any(may for _, may in pairs)
    ),
    st.sampled_from([0.0, 1e-3, 1.0, 1e300]),
    st.floats(0, 1),
)
def test_unavailable_arms_are_as_if_they_were_not_there(
    pairs: list[tuple[float, bool]], eta: float, rho: float
) -> None:
    scores, available = map(np.array, zip(*pairs, strict=True))
    result = weights(scores, eta, rho, available)
    assert (result[~available] == 0).all()
    np.testing.assert_array_equal(result[available], weights(scores[available], eta, rho))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([HUGE, HUGE], [0.5, 0.5]),
        ([-HUGE, -HUGE], [0.5, 0.5]),
        ([HUGE, -HUGE], [0.0, 1.0]),
        ([-HUGE, 0.0, HUGE], [1.0, 0.0, 0.0]),
        ([0.0, 5e-324], [0.5, 0.5]),
        ([1e15, 1e15 + 1000], [1.0, 0.0]),
        ([0.0], [1.0]),
    ],
)
def test_extreme_scores(scores: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(weights(scores), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("eta", [1e-300, 1e-16, 1e16, 1e300, HUGE])
def test_extreme_learning_rates(eta: float) -> None:
    expected = [0.5, 0.5] if eta < 1 else [1.0, 0.0]
    np.testing.assert_allclose(weights([1.0, 2.0], eta), expected, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(weights([3.0, 3.0], eta), [0.5, 0.5])


# -------------------------------------------------------------------------------------- drawing


def drawn(probabilities: Any, uniform: float) -> int:
    """Return the arm that cores draw; algorithms without a core draw the same."""
    core = steps(len(probabilities))
    core.rows[0] = probabilities
    arm: int = core.draw(0, uniform)
    assert draw(np.array(probabilities), uniform) == arm
    return arm


@pytest.mark.parametrize(
    ("probabilities", "uniform", "arm"),
    [
        ([0.5, 0.5], 0.0, 0),
        ([0.5, 0.5], math.nextafter(0.5, 0), 0),
        ([0.5, 0.5], 0.5, 1),
        ([0.0, 1.0], 0.0, 1),
        ([0.0, 0.0, 1.0], 0.0, 2),
        ([1.0, 0.0], math.nextafter(1, 0), 0),
        ([0.3, 0.3, 0.3, 0.0], math.nextafter(1, 0), 2),  # a sum short of 1
        ([0.1] * 10, math.nextafter(1, 0), 9),
        ([1.0], 0.7, 0),
        ([1e-300, 1.0], 0.0, 0),
        ([1.0 - 1e-16, 1e-17], math.nextafter(1, 0), 1),
    ],
)
def test_the_edges_of_drawing(probabilities: list[float], uniform: float, arm: int) -> None:
    assert probabilities[arm] > 0
    assert drawn(probabilities, uniform) == arm


@given(arrays(np.float64, 6, elements=st.floats(0, 1)), st.floats(0, 1, exclude_max=True))
def test_what_is_drawn_is_the_transcriptions_and_possible(masses: Floats, uniform: float) -> None:
    if masses.sum() == 0:
        masses = masses + 1
    probabilities = masses / masses.sum()
    arm = drawn(probabilities, uniform)
    assert arm == reference_draw(probabilities, uniform)
    assert probabilities[arm] > 0


# --------------------------------------------------------------------------------------- adding


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("columns", [3, 20])
@pytest.mark.parametrize("terms", range(7))
def test_a_row_is_added_whatever_its_number_of_terms(terms: int, columns: int, clip: bool) -> None:
    rng = np.random.default_rng(terms)
    base, coefficients = rng.random((1, 2, columns)), rng.uniform(-0.5, 0.5, (4, 2, terms))
    features = rng.random((terms, columns))
    row = base[0, 1] + coefficients[3, 1] @ features
    core = steps(2, columns)
    core.estimates[0, 1] = 2.0
    losses = interpreted("core.arithmetic").Losses(LossBlock(base, coefficients, features, clip))
    core.add_loss_row(0, 1, losses, 3, 1, 0.5)
    assert not core.estimates[0, 0].any()
    np.testing.assert_allclose(
        core.estimates[0, 1], 2 + 0.5 * (np.clip(row, 0, 1) if clip else row), rtol=1e-13
    )
