"""The usual call of `act` and `learn` does what the longer way does, to the last bit."""

from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, Problem, graphs
from crossbandit.algorithms import Algorithm, Learner
from crossbandit.errors import CrossbanditError, DecisionError, LearnedBeforeError
from tests.cases import asymmetric, every_algorithm, linear, table
from tests.drivers import assert_same_state, contexts_of, revealed, start

DENSE = table(asymmetric(), 120, 4, seed=1)
LINEAR = linear(asymmetric(), 120, 7, seed=2)
FORMS = pytest.mark.parametrize("environment", [DENSE, LINEAR], ids=["dense", "linear"])
BOTH = pytest.mark.parametrize("algorithm", [CrossGraph(), CrossGraphAdaptive()])
LONGER = -1  # no call of a learner that says so is usual


def vectors(algorithm: Algorithm) -> Learner:
    problem = Problem(graphs.threshold(3), features=2, horizon=100)
    learner = algorithm.start(problem, seed=1)
    decision = learner.act((1.0, 0.5))
    learner.learn(decision, [[0.25, 0.25]] * len(decision.revealed))  # makes the first page
    return learner


@pytest.mark.parametrize("late", [0, 1, 7])
@FORMS
@every_algorithm
def test_both_ways_are_the_same(algorithm: Algorithm, environment: Any, late: int) -> None:
    learner, twin = start(algorithm, environment), start(algorithm, environment)
    twin.id, twin.quick = learner.id, LONGER
    learner.learned_from.clock = twin.learned_from.clock = lambda: 1e9
    waiting: list[Any] = []
    for context in contexts_of(environment):
        ours, theirs = learner.act(context), twin.act(context)
        assert ours == theirs
        assert ours.token == theirs.token
        assert ours.to_json() == theirs.to_json()
        waiting.append((ours, theirs, revealed(environment, ours)))
        if len(waiting) > late:
            ours, theirs, rows = waiting.pop(len(waiting) // 2)
            learner.learn(ours, rows)
            twin.learn(theirs, rows)
        assert_same_state(learner, twin)
        assert (learner.round, learner.pending) == (twin.round, twin.pending)
    if learner._watch is not None and twin._watch is not None:
        np.testing.assert_array_equal(learner._watch.counts(), twin._watch.counts())


@BOTH
def test_vectors_and_tuples_are_the_same_context(algorithm: Algorithm) -> None:
    learner, twin = vectors(algorithm), vectors(algorithm)
    twin.quick = LONGER
    for context in ((1.0, 0.5), np.array([0.5, 1.0]), [1, 0], np.array([1, 1])):
        ours, theirs = learner.act(context), twin.act(context)
        assert ours._replace(learner=theirs.learner) == theirs
        assert type(ours.context) is tuple
        for own, one in ((learner, ours), (twin, theirs)):
            own.learn(one, np.full((len(one.revealed), 2), 0.25))
    assert_same_state(learner, twin)


@BOTH
@pytest.mark.parametrize(
    "losses",
    [
        np.full((4, 2), 0.25),
        np.full((3, 1), 0.25),
        np.full((3, 2), 2.0),
        np.full((3, 2), np.nan),
        np.full((3, 2), 0.25, dtype=complex),
        np.ma.array(np.full((3, 2), 0.25), mask=True),
        np.full((3, 2, 1), 0.25),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(algorithm: Algorithm, losses: Any) -> None:
    learner, twin = vectors(algorithm), vectors(algorithm)
    twin.quick = LONGER
    while True:
        decision, other = learner.act(np.ones(2)), twin.act(np.ones(2))
        if decision.arm == 0:  # which reveals all three arms
            break
    errors = []
    for own, one in ((learner, decision), (twin, other)):
        with pytest.raises(CrossbanditError) as caught:
            own.learn(one, losses)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    assert_same_state(learner, twin)
    for wrong in (np.array([np.inf, 1.0]), np.ones(3), np.ones((1, 2)), (1.0,), 5):
        with pytest.raises(CrossbanditError):
            learner.act(wrong)
    learner.learn(decision, np.full((3, 2), 0.25)[:, ::-1])


@BOTH
def test_a_changed_or_repeated_decision_is_refused(algorithm: Algorithm) -> None:
    learner = vectors(algorithm)
    decision = learner.act(np.ones(2))
    rows = np.full((len(decision.revealed), 2), 0.25)
    for change in ({"arm": decision.arm + 1}, {"round": 0}, {"context": (1.0, 0.0)}):
        with pytest.raises(DecisionError):
            learner.learn(decision._replace(**change), rows)
    for name in ("arm", "round", "context", "revealed", "learner"):
        with pytest.raises(AttributeError, match="cannot be set"):
            setattr(decision, name, getattr(decision, name))
    learner.learn(decision, rows)
    with pytest.raises(LearnedBeforeError):
        learner.learn(decision, rows)


@BOTH
def test_losses_and_contexts_may_be_changed_afterwards(algorithm: Algorithm) -> None:
    learner, twin = vectors(algorithm), vectors(algorithm)
    context = np.ones(2)
    for _ in range(20):
        decision, other = learner.act(context), twin.act(np.ones(2))
        context[:] = 7.0
        rows = np.full((len(decision.revealed), 2), 0.25)
        learner.learn(decision, rows)
        rows[:] = 1.0
        twin.learn(other, np.full((len(other.revealed), 2), 0.25))
        context[:] = 1.0
    assert_same_state(learner, twin)
