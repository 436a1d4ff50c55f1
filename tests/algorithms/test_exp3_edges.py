"""Exp3 that learns edges: its transcription, random graphs, late feedback."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from crossbandit import FeedbackGraph, Problem, graphs, load, simulate
from crossbandit.algorithms import Exp3Edges
from crossbandit.algorithms.learners.problem import GraphKind
from crossbandit.core.streams import stream
from crossbandit.environments import BlockEnvironment, random_edges, random_graphs
from crossbandit.errors import InvalidGraphError, InvalidParameterError
from crossbandit.verify.checks import check_algorithm
from tests.cases import REFERENCES, asymmetric, environments, name, table
from tests.drivers import assert_same_state, contexts_of, cumulative, play, revealed, start

SEED = 11
BY_HAND = Exp3Edges(eta=0.2, rho=0.1, warm_up=7, cross_learning=False)
each = pytest.mark.parametrize("algorithm", [Exp3Edges(), BY_HAND], ids=name)
CASES = dict(environments())
EDGES = np.full((5, 5), 0.4) + 0.3 * np.eye(5)


def trace(algorithm: Exp3Edges, environment: Any, adjacency: Any) -> Any:
    problem = environment.problem
    horizon = problem.horizon
    _, entry, features, _ = problem.form.support()

    def losses(t: int) -> Any:
        rows = environment.losses(t)
        return rows.T if features.size == 1 else (rows * features[entry]).sum(axis=2)

    run, arguments, _ = REFERENCES[algorithm.id]
    nu: Any = environment.context_distribution.probabilities
    contexts = environment.context_distribution.draw(stream(SEED, "contexts"), horizon)
    uniforms = stream(SEED, "learner").random(horizon)
    return run(adjacency, losses, contexts, uniforms, **arguments(algorithm, problem, nu))


@each
@pytest.mark.parametrize("environment", CASES.values(), ids=CASES.keys())
def test_both_loops_follow_the_transcription(
    algorithm: Exp3Edges, environment: BlockEnvironment
) -> None:
    expected = trace(algorithm, environment, environment.problem.graph.adjacency)
    for options in ({}, {"factored": False}, {"compiled": False}):
        run = simulate(algorithm, environment, seed=SEED, **options)  # type: ignore[arg-type]
        assert_array_equal(run.arms, expected.arms)


@each
@pytest.mark.parametrize("kind", ["unknown", "uninformed", "informed"])
def test_both_loops_follow_it_on_random_graphs(algorithm: Exp3Edges, kind: GraphKind) -> None:
    environment = random_edges(table(asymmetric(), 200, 3, seed=2), EDGES, kind=kind)
    adjacency = np.array([environment.graph(t).adjacency for t in range(200)])
    expected = trace(algorithm, environment, adjacency)
    run = simulate(algorithm, environment, seed=SEED)
    plain = simulate(algorithm, environment, seed=SEED, compiled=False)
    assert_array_equal(run.arms, expected.arms)
    assert_array_equal(plain.arms, expected.arms)
    assert expected.cumulative.any()


@each
def test_it_passes_the_checks(algorithm: Exp3Edges) -> None:
    for graph in (None, asymmetric(), graphs.revealing_action(4)):
        check_algorithm(algorithm, graph)


def test_by_hand() -> None:
    """Arm 0 is played twice and reveals arm 1 once; arm 1 reveals itself. q = (1/2, 1/2).

    f = [[0, 1/2], [0, 1]]: arm 0 was never revealed, so its first loss counts 0; arm 1 is revealed
    with probability 1/2 * 1/2 + 1/2 * 1 = 3/4.
    """
    problem = Problem(graphs.singletons(2), contexts=1, horizon=10, graph_kind="unknown")
    learner: Any = Exp3Edges(warm_up=3, eta=1e-9, rho=0.5).start(problem, seed=0)
    for arm, losses in ((0, {1: [0.5]}), (1, {1: [0.5]}), (0, {})):
        decision = learner.act(0)
        assert (decision.arm, decision.probability) == (arm, 1.0)
        learner.learn(decision, losses)
    assert not cumulative(learner).any()
    decision = learner.act(0)
    learner.learn(decision, {0: [0.5], 1: [0.75]})
    assert_allclose(cumulative(learner), np.array([[0.0, 1.0]]))
    assert learner.state()["seen"].sum() == 4


def test_edges_are_learned() -> None:
    environment = random_edges(table(asymmetric(), 4000, 3, seed=2), EDGES, kind="unknown")
    learner: Any = Exp3Edges(warm_up=4000).start(environment.problem, seed=0)
    for t in range(4000):
        decision = learner.act(0)
        shown = environment.graph(t).out_neighbors(decision.arm)
        learner.learn(decision, {int(b): np.zeros(3) for b in shown})
    state = learner.state()
    # 800 plays of each arm: six standard deviations are below 6 * sqrt(1/4 / 800) = 0.107.
    assert_allclose(state["seen"] / state["played"][:, None], EDGES, atol=0.107)


@each
def test_late_feedback_counts_with_the_weight_of_its_round(
    algorithm: Exp3Edges, tmp_path: Path
) -> None:
    environment = table(asymmetric(), 60, 4, seed=1)
    learner, twin = start(algorithm, environment), start(algorithm, environment)
    for one in (learner, twin):
        play(one, environment, 30)
    late = [
        [one.act(context) for context in contexts_of(environment)[30:]] for one in (learner, twin)
    ]
    for one, decisions in ((learner, late[0]), (twin, late[1][::-1])):
        for decision in decisions:
            one.learn(decision, revealed(environment, decision))
    assert_allclose(cumulative(learner), cumulative(twin), rtol=1e-12)
    assert_array_equal(learner.state()["seen"], twin.state()["seen"])
    learner.save(tmp_path / "learner")
    again = load(tmp_path / "learner")
    assert_same_state(again, learner)
    assert again.tuned() == learner.tuned()


def test_only_available_arms_are_played() -> None:
    learner = start(BY_HAND, table(asymmetric(), 60, 4, seed=1))
    masks = np.random.default_rng(0).random((60, 5)) < 0.4
    masks[np.arange(60), (np.arange(60) * 3) % 5] = True
    for t, mask in enumerate(masks):
        decision = learner.act(t % 4, mask)
        assert mask[decision.arm]
        learner.learn(decision, np.full((len(decision.revealed), 4), 0.5))


def test_it_learns_where_the_graph_is_never_shown() -> None:
    """It loses less than half of what playing at random does, with 20 contexts."""
    environment = random_graphs(
        20_000, arms=5, contexts=20, density=0.5, self_loops=False, kind="unknown", gap=0.4
    )
    run = simulate(Exp3Edges(), environment, seed=1)
    assert run.pseudo_regret[-1] < 0.5 * 20_000 * 0.4 * 4 / 5


def test_refusals() -> None:
    hidden = Problem(FeedbackGraph([[1, 0], [0, 0]]), contexts=1, horizon=10)
    with pytest.raises(InvalidGraphError, match="Exp3Edges must be observable"):
        Exp3Edges().start(hidden, seed=0)
    with pytest.raises(InvalidParameterError, match="needs a horizon"):
        Exp3Edges().start(Problem(graphs.complete(2), contexts=1), seed=0)
    with pytest.raises(InvalidParameterError, match="'warm_up' parameter of Exp3Edges"):
        Exp3Edges(warm_up=-1)
    vectors = Problem(graphs.complete(3), features=2, horizon=10)
    with pytest.raises(InvalidParameterError, match="continuous contexts"):
        BY_HAND.start(vectors, seed=0)
    Exp3Edges().start(vectors, seed=0).act([1.0, 0.5])
