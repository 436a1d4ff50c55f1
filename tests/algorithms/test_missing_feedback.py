"""Feedback that never comes: harmless if it does not depend on the arm, noticed if it does."""

import warnings
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, PerContextExp3, Problem, graphs
from crossbandit.algorithms import Algorithm
from crossbandit.errors import CrossbanditWarning, MissingFeedbackWarning

ROUNDS, WORST = 6_000, 2
MEANS = np.array([0.4, 0.45, 0.6])


def shares_at_the_end(algorithm: Algorithm, missing: Any) -> Any:
    """Play, dropping the feedback of arm a with probability missing[a]; return the last shares."""
    problem = Problem(graphs.singletons(3), contexts=1, horizon=ROUNDS)
    learner = algorithm.start(problem, seed=0)
    rng = np.random.default_rng(1)
    arms = np.zeros(ROUNDS, dtype=int)
    for t in range(ROUNDS):
        decision = learner.act(0)
        arms[t] = decision.arm
        if rng.random() >= missing[decision.arm]:
            learner.learn(decision, (rng.random((1, 1)) < MEANS[decision.arm]).astype(float))
    return np.bincount(arms[-ROUNDS // 3 :], minlength=3) / (ROUNDS // 3)


def test_it_misleads_cross_graph_to_the_worst_arm_and_is_noticed() -> None:
    with pytest.warns(MissingFeedbackWarning, match=r"6.% of the decisions that played arm 2"):
        shares = shares_at_the_end(CrossGraph(eta=0.02), [0.0, 0.0, 0.6])
    assert shares[WORST] > 0.6


def test_learners_per_context_notice_it_too() -> None:
    with pytest.warns(CrossbanditWarning, match="use CrossGraphAdaptive"):
        shares_at_the_end(PerContextExp3(), [0.0, 0.0, 0.6])


@pytest.mark.parametrize("missing", [[0.0, 0.0, 0.6], [0.6, 0.0, 0.0], [0.6, 0.6, 0.6]])
def test_the_adaptive_learner_is_not_misled(missing: list[float]) -> None:
    """A missing loss counts as average: gaps look smaller, and no bad arm looks good."""
    shares = shares_at_the_end(CrossGraphAdaptive(), missing)  # a warning would be an error
    assert shares[WORST] < 0.15


@pytest.mark.parametrize("missing", [[0.0] * 3, [0.6] * 3])
def test_feedback_missing_alike_after_all_arms_is_harmless_and_not_warned_of(
    missing: list[float],
) -> None:
    shares = shares_at_the_end(CrossGraph(eta=0.02), missing)
    assert shares[WORST] < 0.3


def test_late_feedback_is_not_missing_and_a_warning_comes_once() -> None:
    problem = Problem(graphs.complete(2), contexts=1, horizon=10_000)
    learner = CrossGraph().start(problem, seed=0)
    late = [learner.act(0) for _ in range(400)]
    for decision in late:
        learner.learn(decision, [[0.5], [0.5]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(8_000):
            decision = learner.act(0)
            if decision.arm == 0:
                learner.learn(decision, [[0.5], [0.5]])
    assert [one.category for one in caught] == [MissingFeedbackWarning]


def test_expired_decisions_count_as_missing() -> None:
    problem = Problem(graphs.complete(2), contexts=1, horizon=10_000)
    learner = CrossGraph().start(problem, seed=0)
    learner.max_pending = 20

    def play() -> None:
        for _ in range(5_000):
            decision = learner.act(0)
            if decision.arm == 0:
                learner.learn(decision, [[0.5], [0.5]])

    with pytest.warns(MissingFeedbackWarning):
        play()
