"""Feedback that never comes: harmless if it does not depend on the arm, noticed if it does."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, PerContextExp3, Problem, graphs
from crossbandit.algorithms import Algorithm, Learner, load
from crossbandit.algorithms.learners.missing import FeedbackWatch, _tail
from crossbandit.errors import CheckpointError, CrossbanditWarning, MissingFeedbackWarning

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


def test_feedback_of_one_arm_that_is_only_late_is_not_missing() -> None:
    problem = Problem(graphs.complete(2), contexts=1, horizon=10_000)
    learner = CrossGraph().start(problem, seed=0)
    late = []
    for _ in range(6_000):  # a warning would be an error
        decision = learner.act(0)
        if decision.arm == 0:
            learner.learn(decision, [[0.5], [0.5]])
        else:
            late.append(decision)
        if len(late) > 400:  # about 800 rounds
            learner.learn(late.pop(0), [[0.5], [0.5]])


def test_what_was_counted_is_saved(tmp_path: Path) -> None:
    """A learner that is restarted often still notices; one that has warned does not warn again."""
    problem = Problem(graphs.complete(2), contexts=1, horizon=10_000)
    learner: Learner = CrossGraph().start(problem, seed=0)

    def play(rounds: int) -> None:
        nonlocal learner
        for t in range(rounds):
            decision = learner.act(0)
            if decision.arm == 0:
                learner.learn(decision, [[0.5], [0.5]])
            if t % 700 == 0:
                learner.save(tmp_path / "learner")
                learner = load(tmp_path / "learner")

    with pytest.warns(MissingFeedbackWarning):
        play(2_100)
    play(4_000)


# ------------------------------------------------------------------------------------- the counts


def reference(decisions: list[tuple[int, bool]], arms: int) -> Any:
    """Count the decisions of all cohorts but the two latest."""
    ends = [8 * 2**k for k in range(20) if 8 * 2**k <= len(decisions)]
    old = decisions[: ends[-2]] if len(decisions) > ends[-1] else decisions[: ends[-2] // 2]
    made = [sum(arm == a for arm, _ in old) for a in range(arms)]
    answered = [sum(arm == a and yes for arm, yes in old) for a in range(arms)]
    return np.array([made, answered])


@pytest.mark.parametrize("count", [17, 31, 32, 33, 64, 65, 500])
def test_cohorts_double_and_the_two_latest_are_left_out(count: int) -> None:
    rng = np.random.default_rng(count)
    decisions = [(int(rng.integers(3)), bool(rng.random() < 0.5)) for _ in range(count)]
    watch, start = FeedbackWatch(3, start=5, first=8), 5
    cohorts = []
    for n, (arm, _) in enumerate(decisions):
        watch.count_decision(start + n, arm)
        cohorts.append(len(watch.counts()))
    new = [n for n in range(count) if n == 0 or cohorts[n] > cohorts[n - 1]]
    assert new == [0, *(8 * 2**k for k in range(20) if 8 * 2**k < count)]
    for n, (arm, answered) in reversed(list(enumerate(decisions))):
        if answered:
            watch.count_answer(start + n, arm)
    watch.count_answer(start - 1, 0)  # not counted
    np.testing.assert_array_equal(watch.counts()[:-2].sum(axis=0), reference(decisions, 3))
    assert watch.counts()[:, 1].sum() == sum(answered for _, answered in decisions)
    again = FeedbackWatch(3, first=8)
    again.restore(watch.state(), watch.counts())
    assert again.state() == watch.state() == {"start": 5, "active": True}
    np.testing.assert_array_equal(again.counts(), watch.counts())


def test_equal_shares_are_chance_and_different_ones_are_not() -> None:
    """For two arms the distance is the square of the usual z: here 5.38^2, and 0.89^2."""
    cases: list[tuple[tuple[int, int], float, float]] = [
        ((600, 480), 1e-8, 1e-6),
        ((500, 480), 0.3, 0.5),
    ]
    for answered, low, high in cases:
        watch = FeedbackWatch(2, first=2_000)
        for round_ in range(4_001):
            watch.count_decision(round_, round_ % 2)
            if round_ // 2 < answered[round_ % 2]:
                watch.count_answer(round_, round_ % 2)
        p_value, shares = watch.missing()
        assert low < p_value < high
        assert shares.tolist() == [1 - answered[0] / 1_000, 1 - answered[1] / 1_000]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((1, 2, 2), dtype=np.int64),
        np.zeros((1, 2, 3)),
        np.zeros((65, 2, 3), dtype=np.int64),
        np.array([[[1, 1, 1], [0, 2, 0]]]),
        np.array([[[1, 1, 1], [0, -1, 0]]]),
    ],
)
def test_impossible_counts_are_refused(wrong: Any) -> None:
    with pytest.raises((ValueError, CheckpointError), match=r"its decisions|'watch'"):
        FeedbackWatch(3).restore({"start": 0, "active": True}, wrong)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 101, 1000])
def test_the_tail_is_that_of_the_chi_squared_distribution(freedom: int) -> None:
    from scipy.special import chdtrc

    for distance in (1e-9, 0.3, 1.0, 5.0, 0.5 * freedom, float(freedom), 2.0 * freedom, 700.0):
        expected = pytest.approx(float(chdtrc(freedom, distance)), rel=1e-9, abs=1e-300)
        assert _tail(distance, freedom) == expected
    assert _tail(0.0, freedom) == 1.0
    assert _tail(3.0, 0) == 1.0
