"""A simulation reveals what the environment's graph reveals, in both loops, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from crossbandit import FeedbackGraph, Problem, graphs, simulate
from crossbandit.algorithms import (
    Algorithm,
    CrossGraph,
    CrossGraphAdaptive,
    CrossGraphKnown,
    Learner,
    PendingDecision,
    PerContextExp3,
    PerContextGraph,
    SchneiderZimmert,
)
from crossbandit.algorithms.learners.problem import GraphKind
from crossbandit.core.forms import Context, Readout
from crossbandit.core.streams import Seed
from crossbandit.core.types import Floats
from crossbandit.environments import cycling_graphs, from_table
from crossbandit.environments.simulation import Rounds
from crossbandit.errors import CheckFailedError
from crossbandit.verify.checks import check_algorithm
from tests.drivers import PerContextLearner

LOSSES = np.random.default_rng(5).random((200, 2, 4))
SINGLETONS = from_table(LOSSES, graphs.singletons(4))


@dataclass(frozen=True, kw_only=True)
class Claiming(Algorithm):
    """Says that every play reveals all arms, whatever the graph of the problem is."""

    id: ClassVar[str] = "claiming"

    def start(self, problem: Problem, *, seed: Seed) -> PerContextLearner:
        return PerContextLearner(self, problem, graphs.complete(problem.arms), 0.1, seed)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_learner_that_claims_the_complete_graph_is_refused(compiled: bool) -> None:
    with pytest.raises(CheckFailedError) as error:
        simulate(Claiming(), SINGLETONS, seed=1, compiled=compiled)
    assert "Claiming expects that playing arm 0 reveals the loss of arm 1" in str(error.value)
    assert "The graph of LossTable does not reveal it" in str(error.value)


class SlyLearner(PerContextLearner):
    """Has the right graph, and hands another one to its compiled loop."""

    def simulate(self, rounds: Rounds) -> None:
        kind, (estimates, problem, *rest), _ = self.core.__reduce__()
        ranges = (problem.ranges[0], graphs.complete(self.problem.arms).out_ranges)
        self.core = kind(estimates, problem._replace(ranges=ranges), *rest)
        super().simulate(rounds)


@dataclass(frozen=True, kw_only=True)
class Sly(Algorithm):
    id: ClassVar[str] = "sly"

    def start(self, problem: Problem, *, seed: Seed) -> SlyLearner:
        return SlyLearner(self, problem, problem.graph, 0.1, seed)


@dataclass(frozen=True, kw_only=True)
class Honest(Algorithm):
    id: ClassVar[str] = "honest"

    def start(self, problem: Problem, *, seed: Seed) -> PerContextLearner:
        return PerContextLearner(self, problem, problem.graph, 0.1, seed)


def test_a_compiled_loop_with_a_wrong_graph_is_shown_nothing_more() -> None:
    sly = simulate(Sly(), SINGLETONS, seed=1, compiled=True)
    honest = simulate(Honest(), SINGLETONS, seed=1, compiled=True)
    assert sly.losses.sum() == honest.losses.sum()
    np.testing.assert_array_equal(sly.arms, honest.arms)


class ReachingLearner(Learner[Any]):
    """Answers act with arms that its graph does not reveal."""

    def distribution(self, context: Context, readout: Readout) -> Floats:
        del context, readout
        return np.full(self.problem.arms, 1 / self.problem.arms)

    def reveals(self, arm: int) -> Any:
        del arm
        return range(self.problem.arms)

    def update(self, pending: PendingDecision, rows: Floats) -> None: ...

    def state(self) -> Mapping[str, Any]:
        return {}


@dataclass(frozen=True, kw_only=True)
class Reaching(Algorithm):
    id: ClassVar[str] = "reaching"

    def start(self, problem: Problem, *, seed: Seed) -> ReachingLearner:
        return ReachingLearner(self, problem, seed=seed)


class WritingLearner(ReachingLearner):
    """Writes into the losses that it is shown."""

    hidden = 0

    def reveals(self, arm: int) -> Any:
        return [arm]

    def learn(self, decision: Any, losses: Any, graph: Any = None) -> None:
        super().learn(decision, losses, graph)
        for row in losses.values() if isinstance(losses, dict) else losses:
            row[:] = 0.0
        if isinstance(losses, dict):
            self.hidden += sum(row.base is not None for row in losses.values())


@dataclass(frozen=True, kw_only=True)
class Writing(Algorithm):
    id: ClassVar[str] = "writing"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed", "uninformed", "unknown")

    def start(self, problem: Problem, *, seed: Seed) -> WritingLearner:
        learner = WritingLearner(self, problem, seed=seed)
        STARTED.append(learner)
        return learner


STARTED: list[WritingLearner] = []


@pytest.mark.parametrize("kind", ["fixed", "uninformed", "unknown"])
def test_a_learner_cannot_change_the_losses_that_it_is_shown(kind: GraphKind) -> None:
    environment: Any = SINGLETONS
    if kind != "fixed":
        environment = cycling_graphs(SINGLETONS, [graphs.singletons(4)], kind=kind)
    run = simulate(Writing(), environment, seed=1)
    expected = LOSSES[np.arange(200), run.contexts, run.arms]
    np.testing.assert_allclose(run.losses, expected)
    assert STARTED[-1].hidden == 0  # no row leads to the array with the losses of all arms


def test_a_decision_that_expects_too_much_is_refused() -> None:
    with pytest.raises(CheckFailedError, match="Reaching expects that playing arm"):
        simulate(Reaching(), SINGLETONS, seed=1)


class PeekingLearner(PerContextLearner):
    """Reads the losses of all arms from its batch, not only what a play reveals."""

    def simulate(self, rounds: Rounds) -> None:
        super().simulate(rounds)
        self.state()["estimates"][:] += rounds.losses.base.sum(axis=0).T


@dataclass(frozen=True, kw_only=True)
class Peeking(Algorithm):
    id: ClassVar[str] = "peeking"

    def start(self, problem: Problem, *, seed: Seed) -> PeekingLearner:
        return PeekingLearner(self, problem, problem.graph, 0.1, seed)


class WrongLearner(PerContextLearner):
    """Plays as it should, and then reports something else."""

    def simulate(self, rounds: Rounds) -> None:
        super().simulate(rounds)
        rounds.arms[-1] = self.problem.arms


@dataclass(frozen=True, kw_only=True)
class Wrong(Algorithm):
    id: ClassVar[str] = "wrong"

    def start(self, problem: Problem, *, seed: Seed) -> WrongLearner:
        return WrongLearner(self, problem, problem.graph, 0.1, seed)


def test_a_compiled_loop_that_plays_no_arm_is_refused() -> None:
    with pytest.raises(CheckFailedError, match=r"Wrong played arm 4 in round 199.*from 0 to 3"):
        simulate(Wrong(), SINGLETONS, seed=1, compiled=True)


def test_the_checks_notice_a_loop_that_peeks() -> None:
    from crossbandit.verify.checks.rules import check_secrecy

    # More than one batch: what was peeked changes the arms of later batches.
    losses = np.random.default_rng(1).random((600, 2, 4))
    check_secrecy(Honest(), graphs.singletons(4), losses, [0.5, 0.5])
    with pytest.raises(CheckFailedError, match="where nothing was revealed led to other arms"):
        check_secrecy(Peeking(), graphs.singletons(4), losses, [0.5, 0.5])


@pytest.mark.parametrize(
    "algorithm",
    [CrossGraph(), CrossGraphAdaptive(), CrossGraphKnown(), PerContextGraph()],
    ids=lambda algorithm: algorithm.id,
)
@pytest.mark.parametrize("compiled", [True, False])
def test_losses_that_nothing_revealed_make_no_difference(
    algorithm: Algorithm, compiled: bool
) -> None:
    graph = graphs.apple_tasting()
    losses = np.random.default_rng(2).random((120, 2, 2))
    first = simulate(algorithm, from_table(losses, graph), seed=3, compiled=compiled)
    hidden = ~graph.adjacency[first.arms]
    assert hidden.any()
    changed = np.where(hidden[:, None, :], 1 - losses, losses)
    second = simulate(algorithm, from_table(changed, graph), seed=3, compiled=compiled)
    np.testing.assert_array_equal(first.arms, second.arms)


@pytest.mark.parametrize("algorithm", [SchneiderZimmert(), PerContextExp3()])
def test_the_grant_is_shown_in_the_run(algorithm: Algorithm) -> None:
    table = LOSSES[:, :, :3]
    granted = simulate(algorithm, from_table(table, graphs.loopless_clique(3)), seed=1)
    assert granted.granted == "own loss"
    assert "granted the loss of the arm played" in repr(granted)
    looped = simulate(algorithm, from_table(table, graphs.complete(3)), seed=1)
    assert looped.granted == ""
    assert "granted" not in repr(looped)
    assert (
        simulate(CrossGraph(), from_table(table, graphs.loopless_clique(3)), seed=1).granted == ""
    )
    # The grant is the loss of the arm played: with all self-loops, nothing changes.
    np.testing.assert_array_equal(granted.arms, looped.arms)


def test_check_algorithm_includes_the_check() -> None:
    check_algorithm(CrossGraphAdaptive(), FeedbackGraph([[1, 1], [0, 1]]))
