"""Fixed, informed, uninformed and unknown graphs: who plays what, and what act and learn take."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from crossbandit import FeedbackGraph, Problem, graphs
from crossbandit.algorithms import (
    Algorithm,
    CrossGraph,
    Learner,
    PendingDecision,
    PerContextExp3,
    SchneiderZimmert,
)
from crossbandit.algorithms.learners.problem import GRAPH_KINDS, GraphKind
from crossbandit.core.forms import Context, Readout
from crossbandit.core.streams import Seed
from crossbandit.core.types import Floats
from crossbandit.errors import InvalidGraphError, InvalidLossesError, InvalidParameterError

EMPTY = FeedbackGraph(np.zeros((3, 3), dtype=bool))
STAR = graphs.loopy_star(3)


@dataclass(frozen=True, kw_only=True)
class Sums(Algorithm):
    """Plays arm t modulo K in round t, and sums up what it is shown."""

    id: ClassVar[str] = "sums"
    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)

    def start(self, problem: Problem, *, seed: Seed) -> "SumsLearner":
        return SumsLearner(self, problem, seed=seed)


@dataclass(frozen=True, kw_only=True)
class WeakSums(Sums):
    """Needs every arm to be observable in every round."""

    id: ClassVar[str] = "weak-sums"
    needs_observability: ClassVar[str] = "weak"


class SumsLearner(Learner[Sums]):
    def __init__(self, algorithm: Sums, problem: Problem, *, seed: Seed) -> None:
        super().__init__(algorithm, problem, seed=seed)
        self.sums = np.zeros((problem.arms, problem.form.columns))
        self.seen: list[tuple[FeedbackGraph | None, list[int]]] = []

    def distribution(self, context: Context, readout: Readout) -> Floats:
        del context, readout
        policy: Floats = np.eye(self.problem.arms)[self.round % self.problem.arms]
        return policy

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        self.seen.append((pending.graph, list(self.revealed(pending))))
        self.add(self.sums, pending, rows)

    def state(self) -> Mapping[str, Any]:
        return {"sums": self.sums}


def problem(kind: GraphKind, graph: FeedbackGraph = EMPTY, **more: Any) -> Problem:
    return Problem(graph, contexts=2, horizon=100, graph_kind=kind, **more)


def test_the_refusal_names_the_kind_of_the_problem_and_those_of_the_algorithm() -> None:
    with pytest.raises(InvalidParameterError) as error:
        CrossGraph().start(problem("informed"), seed=1)
    message = str(error.value)
    assert "CrossGraph plays problems whose graph is fixed (the same in all rounds)" in message
    assert "informed (given to act before each round)" in message
    assert "SchneiderZimmert" in message


def test_a_learner_of_ones_own_is_refused_without_a_check_in_start() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Plain(Sums):
        graph_kinds: ClassVar[tuple[str, ...]] = ("fixed",)

    with pytest.raises(InvalidParameterError, match="whose graph is unknown"):
        Plain().start(problem("unknown"), seed=1)


@pytest.mark.parametrize("algorithm", [SchneiderZimmert(), PerContextExp3()])
def test_the_standard_bandits_need_self_loops_or_the_grant(algorithm: Algorithm) -> None:
    loopless = graphs.loopless_clique(3)
    granting = problem("fixed", loopless)
    assert algorithm.uses_grant(granting)
    algorithm.start(granting, seed=1)
    assert not algorithm.uses_grant(problem("fixed", STAR))
    algorithm.start(problem("fixed", STAR, grants_own_loss=False), seed=1)
    with pytest.raises(InvalidGraphError, match=r"Arm 0 has no self-loop.*grants_own_loss=False"):
        algorithm.start(problem("fixed", loopless, grants_own_loss=False), seed=1)


def test_no_other_algorithm_is_granted_anything() -> None:
    assert not CrossGraph().uses_grant(problem("fixed", graphs.loopless_clique(3)))


def test_informed_graphs_are_given_to_act() -> None:
    learner = Sums().start(problem("informed"), seed=1)
    with pytest.raises(InvalidGraphError, match="act must be the FeedbackGraph of the round"):
        learner.act(0)
    with pytest.raises(InvalidGraphError, match=r"of 3 arms.* Got one of 4 arms"):
        learner.act(0, graph=graphs.complete(4))
    first, second = learner.act(0, graph=STAR), learner.act(1, graph=STAR)
    assert (list(first.revealed), list(second.revealed)) == ([0, 1, 2], [1])
    with pytest.raises(InvalidGraphError, match="was given to act"):
        learner.learn(second, [[0.5, 0.5]], graph=STAR)
    learner.learn(second, {1: [0.5, 0.25]})
    learner.learn(first, np.full((3, 2), 0.125))
    np.testing.assert_array_equal(learner.sums, [[0.125] * 2, [0.625, 0.375], [0.125] * 2])
    assert learner.seen == [(STAR, [1]), (STAR, [0, 1, 2])]


def test_uninformed_graphs_are_given_to_learn() -> None:
    learner = Sums().start(problem("uninformed"), seed=1)
    with pytest.raises(InvalidGraphError, match="given to learn, after the round"):
        learner.act(0, graph=STAR)
    decision = learner.act(0)
    assert list(decision.revealed) == []
    with pytest.raises(InvalidGraphError, match="learn must be the FeedbackGraph of the round"):
        learner.learn(decision, np.ones((3, 2)))
    with pytest.raises(InvalidLossesError, match="shape"):
        learner.learn(decision, np.ones((1, 2)), graph=STAR)
    learner.learn(decision, np.ones((3, 2)), graph=STAR)
    nothing = learner.act(0)
    learner.learn(nothing, [], graph=EMPTY)
    assert learner.seen == [(STAR, [0, 1, 2]), (EMPTY, [])]
    promised = Sums().start(problem("uninformed", graphs.singletons(3)), seed=1)
    assert list(promised.act(0).revealed) == []  # the graph of the round may have more edges


def test_unknown_graphs_show_a_mapping_and_nothing_else() -> None:
    learner = Sums().start(problem("unknown"), seed=1)
    decision = learner.act(0)
    with pytest.raises(InvalidLossesError, match="a mapping from each revealed arm"):
        learner.learn(decision, [[0.5, 0.5]])
    wrong: Any
    for wrong in (3, -1, "0", True):
        with pytest.raises(InvalidLossesError, match=r"from 0 to 2, to rows\. Got a row for arm"):
            learner.learn(decision, {wrong: [0.5, 0.5]})
    with pytest.raises(InvalidGraphError, match="is unknown"):
        learner.learn(decision, {0: [0.5, 0.5]}, graph=STAR)
    with pytest.raises(InvalidLossesError, match="numbers from 0 to 1"):
        learner.learn(decision, {0: [0.5, 1.5]})
    learner.learn(decision, {2: [0.5, 0.25], 0: [1.0, 0.0]})
    np.testing.assert_array_equal(learner.sums, [[1.0, 0.0], [0.0, 0.0], [0.5, 0.25]])
    learner.learn(learner.act(1), {})
    assert learner.seen == [(None, [0, 2]), (None, [])]


def test_a_fixed_graph_is_given_to_nobody() -> None:
    learner = Sums().start(problem("fixed", STAR), seed=1)
    with pytest.raises(InvalidGraphError, match="is fixed, and known to the learner"):
        learner.act(0, graph=STAR)


def test_each_rounds_graph_must_be_observable_enough() -> None:
    learner = WeakSums().start(problem("informed"), seed=1)
    learner.act(0, graph=graphs.revealing_action(3))
    with pytest.raises(InvalidGraphError, match=r"WeakSums must be observable.*arm 0"):
        learner.act(0, graph=EMPTY)
    assert learner.round == 1


def test_who_ignores_the_graph_may_be_given_one() -> None:
    learner = SchneiderZimmert().start(problem("informed"), seed=1)
    decision = learner.act(0, graph=STAR)
    assert list(decision.revealed) == [decision.arm]
    learner.learn(decision, [[0.5, 0.5]])


def test_a_problem_keeps_its_kind_and_its_grants_in_json() -> None:
    plain = problem("fixed", STAR)
    for one in (problem("unknown"), problem("fixed", STAR, grants_own_loss=False)):
        assert Problem.from_json(one.to_json()) == one
        assert one != plain
    assert problem("unknown").with_graph(STAR).graph_kind == "unknown"
    assert "unknown graphs" in repr(problem("unknown"))
