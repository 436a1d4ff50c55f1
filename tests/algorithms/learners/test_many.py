"""Many decisions at once are the decisions one after the other, to the last bit."""

from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, Problem, graphs
from crossbandit.algorithms import Algorithm, Learner, PerContextExp3
from crossbandit.errors import (
    CrossbanditError,
    DecisionError,
    InvalidContextError,
    InvalidLossesError,
    LearnedBeforeError,
    MissingFeedbackWarning,
)
from tests.cases import asymmetric, every_algorithm, every_free_algorithm, linear, table
from tests.drivers import assert_same_but_for_scratch, contexts_of, revealed, start

DENSE = table(asymmetric(), 90, 4, seed=1)
LINEAR = linear(asymmetric(), 90, 7, seed=2)
FORMS = pytest.mark.parametrize("environment", [DENSE, LINEAR], ids=["dense", "linear"])


def same_decisions(learner: Learner, twin: Learner, contexts: Any, masks: Any = None) -> Any:
    many = learner.act_many(contexts, masks)
    masks = [None] * len(contexts) if masks is None else masks
    one_by_one = [twin.act(c, m) for c, m in zip(contexts, masks, strict=True)]
    assert [d._replace(learner="") for d in many] == [d._replace(learner="") for d in one_by_one]
    return many, one_by_one


@FORMS
@every_algorithm
def test_many_are_the_same_as_one_after_the_other(algorithm: Algorithm, environment: Any) -> None:
    learner, twin = start(algorithm, environment), start(algorithm, environment)
    contexts = contexts_of(environment)
    masks = np.random.default_rng(0).random((90, 5)) < 0.7
    masks[:, 2] = True
    for first, last in ((0, 30), (30, 31), (31, 90)):
        now = masks[first:last] if algorithm.takes_availability and first == 31 else None
        many, singly = same_decisions(learner, twin, contexts[first:last], now)
        rows = [revealed(environment, one) for one in singly]
        learner.learn_many(many, rows if first else np.concatenate(rows))
        for one, own in zip(singly, rows, strict=True):
            twin.learn(one, own)
        assert_same_but_for_scratch(learner, twin)
        assert learner.generator.random() == twin.generator.random()
        assert (learner.round, learner.pending) == (last, 0)


@FORMS
@every_free_algorithm
def test_tokens_of_snapshots_are_learned_together_as_one_by_one(
    algorithm: Algorithm, environment: Any
) -> None:
    learner, twin = start(algorithm, environment), start(algorithm, environment)
    twin.id = learner.id
    for first in (0, 30):
        snapshot = learner.snapshot(seed=first)
        contexts = contexts_of(environment)[first : first + 30]
        made = [(snapshot if t % 3 else learner).act(context) for t, context in enumerate(contexts)]
        for t, context in enumerate(contexts):  # the twin makes the same decisions of its own
            if t % 3 == 0:
                twin.act(context)
        order = np.random.default_rng(first).permutation(30)
        rows = [environment.losses(t)[list(made[t].revealed)] for t in order]
        mixed: list[Any] = [made[t].token if t % 2 else made[t] for t in order]
        learner.learn_many(mixed, rows)
        for token, own in zip(mixed, rows, strict=True):
            twin.learn(token, own)
        assert learner.round == twin.round
        assert_same_but_for_scratch(learner, twin)


def test_the_compiled_way_is_taken() -> None:
    """Otherwise the tests above would compare the plain way with itself."""
    for algorithm in (CrossGraphAdaptive(), PerContextExp3(eta=0.1), CrossGraph()):
        learner = start(algorithm, DENSE)
        learner.act(0)
        made = learner.act_many_usual([0, 1, 2])
        assert made is not None
        assert learner.act_many_usual([0, 9]) is None
        learner.learn(made[0], revealed(DENSE, made[0]))
        rows = [np.array(revealed(DENSE, one), dtype=float) for one in made]
        for wrong in (made, [made[1], made[1]], [made[1], made[2].token]):
            assert not learner.learn_many_usual(wrong, rows[-len(wrong) :])
        assert learner.learn_many_usual(made[1:], rows[1:])
        assert learner.pending == 1


def test_a_decision_of_a_batch_is_like_any_other() -> None:
    learner = CrossGraphAdaptive().start(DENSE.problem, seed=0)
    many = learner.act_many([0, 1, 2, 3])
    assert many[-1] == many[3] != many[0]
    assert list(many[1:3]) == [many[1], many[2]]
    with pytest.raises(IndexError):
        many[4]
    learner.learn(many[2].token, revealed(DENSE, many[2]))
    with pytest.raises(LearnedBeforeError):
        learner.learn_many(many, [revealed(DENSE, one) for one in many])
    assert learner.pending == 3
    learner.learn_many([many[0], many[1].text], [revealed(DENSE, one) for one in many[:2]])
    assert learner.pending == 1
    assert list(learner.act_many([])) == []
    learner.learn_many([], [])


def test_nothing_changes_if_one_of_many_is_wrong() -> None:
    learner, twin = (CrossGraphAdaptive().start(DENSE.problem, seed=0) for _ in range(2))
    wrong: Any
    for wrong in ([0, 9], [0, None], [0, 1.5], "01", 7, None):
        with pytest.raises(InvalidContextError):
            learner.act_many(wrong)
    for masks in (np.ones((1, 5), dtype=bool), np.zeros((2, 5), dtype=bool), np.ones((2, 4))):
        with pytest.raises(CrossbanditError, match="'available'"):
            learner.act_many([0, 1], masks)
    many, singly = same_decisions(learner, twin, [0, 1, 2])
    rows = [revealed(DENSE, one) for one in singly]
    bad: list[Any] = [
        [rows[0], rows[1], rows[2] * np.nan],
        [rows[0], rows[1], rows[2] + 2],
        rows[:2],
        [*rows, rows[0]],
        np.concatenate(rows)[:-1],
        np.concatenate(rows) + 2,
        np.concatenate(rows).astype(complex),
        None,
        3,
    ]
    for losses in bad:
        with pytest.raises(InvalidLossesError):
            learner.learn_many(many, losses)
    decisions: list[Any] = [[many[0], many[0]], [many[0], "damaged"], [many[0], None], None, "abc"]
    for wrong in decisions:
        with pytest.raises(DecisionError):
            learner.learn_many(wrong, rows[:2])
    learner.learn_many(many, rows)
    for one, own in zip(singly, rows, strict=True):
        twin.learn(one, own)
    assert_same_but_for_scratch(learner, twin)


def test_feature_vectors_may_be_the_rows_of_an_array() -> None:
    problem = Problem(graphs.threshold(3), features=2)
    learner, twin = (CrossGraphAdaptive().start(problem, seed=0) for _ in range(2))
    many, singly = same_decisions(learner, twin, np.array([[1.0, 0.5], [1.0, 0.2]]))
    rows = [np.full((len(one.revealed), 2), 0.3) for one in singly]
    learner.learn_many(many, rows)
    for one, own in zip(singly, rows, strict=True):
        twin.learn(one, own)
    assert_same_but_for_scratch(learner, twin)


def test_missing_feedback_is_noticed_in_batches_too() -> None:
    learner = PerContextExp3(eta=0.01).start(Problem(graphs.complete(2), contexts=1), seed=0)

    def play() -> None:
        for _ in range(30):
            many = [one for one in learner.act_many([0] * 100) if one.arm == 0]
            learner.learn_many(many, [[[0.5]]] * len(many))

    with pytest.warns(MissingFeedbackWarning):
        play()
