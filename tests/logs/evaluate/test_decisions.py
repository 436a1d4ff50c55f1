"""Off-policy evaluation with feedback graphs: exact expectations on tiny instances."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit import Decision, FeedbackGraph, graphs
from crossbandit.core.types import Floats
from crossbandit.errors import InvalidParameterError
from crossbandit.logs.evaluate import decision_arrays, evaluate_policy

GRAPHS = {
    "none": None,
    "higher": graphs.threshold(3, "higher"),
    "ring": FeedbackGraph([[1, 1, 0], [0, 1, 1], [1, 0, 1]]),
    "others": FeedbackGraph([[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
}


def moments(
    graph: FeedbackGraph | None, policy: Floats, chances: Floats, outcomes: Floats, name: str
) -> tuple[float, float]:
    """Return mean and variance of an estimate over all draws of the arms."""
    count, size = chances.shape
    values, weights = [], []
    for arms in itertools.product(range(size), repeat=count):
        probability = float(np.prod(chances[np.arange(count), list(arms)]))
        if probability == 0:
            continue
        found = evaluate_policy(
            policy, arms=arms, probabilities=chances, outcomes=outcomes, graph=graph
        )
        values.append(found.weight if name == "weight" else getattr(found, name).value)
        weights.append(probability)
    mean = float(np.average(values, weights=weights))
    return mean, float(np.average((np.array(values) - mean) ** 2, weights=weights))


def simplex(rng: np.random.Generator, count: int) -> Floats:
    found: Floats = rng.dirichlet(np.ones(3), count)
    return found


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(sorted(GRAPHS)), st.integers(0, 1000))
def test_estimates_are_unbiased_and_weights_have_mean_one(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    policy, chances, outcomes = simplex(rng, 3), simplex(rng, 3), rng.normal(size=(3, 3))
    truth = float((policy * outcomes).sum(axis=1).mean())
    for estimate in ("inverse", "doubly_robust"):
        mean, _ = moments(GRAPHS[name], policy, chances, outcomes, estimate)
        assert mean == pytest.approx(truth, abs=1e-9)
    assert moments(GRAPHS[name], policy, chances, outcomes, "weight")[0] == pytest.approx(1.0)


def test_more_revealed_arms_lower_the_variance() -> None:
    rng = np.random.default_rng(5)
    policy, chances = simplex(rng, 3), simplex(rng, 3)
    outcomes = rng.random((3, 3))
    spread = {
        name: moments(graph, policy, chances, outcomes, "inverse")[1]
        for name, graph in GRAPHS.items()
    }
    assert spread["higher"] < 0.7 * spread["none"]
    complete = moments(graphs.complete(3), policy, chances, outcomes, "inverse")
    assert complete[1] == pytest.approx(0.0, abs=1e-12)


def test_one_round_by_hand() -> None:
    """Arm 1 is revealed by arms 0 and 1, so its weight is 1 / (0.2 + 0.3)."""
    found = evaluate_policy(
        [[0.0, 1.0, 0.0]] * 2,
        arms=[0, 2],
        probabilities=[[0.2, 0.3, 0.5]] * 2,
        outcomes=[[9.0, 4.0, 9.0], [np.nan, np.nan, 9.0]],
        graph=graphs.threshold(3, "higher"),
    )
    assert found.inverse.value == pytest.approx(4.0 / 0.5 / 2)
    assert found.self_normalised.value == pytest.approx(4.0)
    assert found.weight == pytest.approx(1.0)
    assert found.size == pytest.approx(1.0)
    assert found.largest == pytest.approx(2.0)


def test_intervals_cover_the_truth_of_a_log_that_adapts() -> None:
    """The logging policy learns from what it sees: 60 logs, 95 % intervals.

    At most 51 of 60 covered has probability 0.003 if each covers with probability 0.95.
    """
    covered = {"inverse": 0, "self_normalised": 0, "doubly_robust": 0}
    graph = graphs.threshold(4, "higher")
    policy = np.tile([0.1, 0.2, 0.3, 0.4], (400, 1))
    for seed in range(60):
        rng = np.random.default_rng(seed)
        losses = rng.random((400, 4)) * [0.9, 0.6, 0.8, 1.0]
        arms, chances = np.empty(400, dtype=int), np.full((400, 4), 0.1)
        sums, counts = np.zeros(4), np.ones(4)
        for i, row in enumerate(losses):
            chances[i, (sums / counts).argmin()] += 0.6
            arms[i] = rng.choice(4, p=chances[i])
            sums[arms[i] :] += row[arms[i] :]
            counts[arms[i] :] += 1
        found = evaluate_policy(
            policy, arms=arms, probabilities=chances, outcomes=losses, graph=graph
        )
        truth = float((policy * losses).sum(axis=1).mean())
        for name in covered:
            mean = getattr(found, name)
            covered[name] += mean.low <= truth <= mean.high
    assert min(covered.values()) > 51


def test_wrong_probabilities_and_uncovered_arms_are_noticed() -> None:
    rng = np.random.default_rng(0)
    arms = rng.choice(2, 2_000, p=[0.8, 0.2])
    policy = np.tile([0.0, 1.0], (2_000, 1))
    wrong = evaluate_policy(
        policy, arms=arms, probabilities=np.full(2_000, 0.5), outcomes=np.ones(2_000)
    )
    assert any("mean weight is 0.4" in one for one in wrong.warnings)
    never = evaluate_policy(
        policy[:5], arms=[0] * 5, probabilities=[[1.0, 0.0]] * 5, outcomes=np.ones((5, 2))
    )
    assert never.uncovered == 1.0
    assert "100.0 % of the policy" in never.warnings[0]


def test_decisions_become_arrays() -> None:
    decisions = [Decision(i, 0, i % 3, 0.5, range(i % 3, 3), "a") for i in range(20)]
    outcomes = [0.1 * np.array(one.revealed) for one in decisions]
    found = decision_arrays(decisions, outcomes, arms=3)
    assert found.arms.tolist() == [one.arm for one in decisions]
    np.testing.assert_allclose(found.outcomes[np.arange(20), found.arms], 0.1 * found.arms)
    assert np.isnan(found.outcomes[2]).tolist() == [True, True, False]
    result = evaluate_policy(
        np.full((20, 3), 1 / 3),
        arms=found.arms,
        probabilities=found.probabilities,
        outcomes=found.outcomes,
    )
    assert result.rounds == 20
    with pytest.raises(InvalidParameterError, match="'outcomes'"):
        decision_arrays(decisions, outcomes[1:], arms=3)
    with pytest.raises(InvalidParameterError, match="'decisions'"):
        decision_arrays([decisions[0]._replace(probability=float("nan"))], outcomes[:1], arms=3)
    with pytest.raises(InvalidParameterError, match="'outcomes'"):
        decision_arrays(decisions[:1], [[1.0] * 4], arms=3)


ARGUMENTS: dict[str, Any] = {
    "policy": [[0.5, 0.5]],
    "arms": [0],
    "probabilities": [[0.5, 0.5]],
    "outcomes": [[1.0, 2.0]],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("policy", [[0.5, 0.6]]),
        ("policy", [0.5, 0.5]),
        ("policy", [[1.5, -0.5]]),
        ("arms", [2]),
        ("arms", [0.0]),
        ("arms", [0, 1]),
        ("probabilities", [[0.0, 1.0]]),
        ("probabilities", [1.5]),
        ("probabilities", [[0.5, 0.6]]),
        ("probabilities", [0.5, 0.5]),
        ("outcomes", [[np.nan, 1.0]]),
        ("outcomes", [1.0, 2.0]),
        ("baseline", [[np.nan, 0.0]]),
        ("graph", graphs.complete(3)),
    ],
)
def test_bad_input_is_named(name: str, value: object) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of evaluate_policy"):
        evaluate_policy(**{**ARGUMENTS, name: value})


def test_with_a_graph_all_probabilities_are_needed() -> None:
    with pytest.raises(InvalidParameterError, match="'probabilities'"):
        evaluate_policy(**{**ARGUMENTS, "probabilities": [0.5], "graph": graphs.complete(2)})


def test_one_round_has_no_interval() -> None:
    found = evaluate_policy([[0.5, 0.5]], arms=[0], probabilities=[0.5], outcomes=[1.0])
    assert found.inverse == (1.0, -np.inf, np.inf)
    assert found.doubly_robust[1:] == (-np.inf, np.inf)
