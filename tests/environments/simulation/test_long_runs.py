"""Ten million rounds, extreme rates, relabelled problems: the compiled loops stay sound."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit import CrossGraph, FeedbackGraph, Problem, graphs
from crossbandit.algorithms import (
    Algorithm,
    CrossGraphKnown,
    PerContextExp3,
    PerContextGraph,
    SchneiderZimmert,
)
from crossbandit.environments import from_table, row_block
from crossbandit.environments.simulation import Rounds
from tests.cases import asymmetric
from tests.drivers import act, cumulative, inside

STRETCH = 100_000
NAMED = {"ids": lambda algorithm: algorithm.id}


def played(algorithm: Algorithm, graph: FeedbackGraph, rounds: int) -> Any:
    """Play compiled batches on one context with one feature; arm 1 is better."""
    problem = Problem(graph, features=[[1.0]], horizon=rounds, context_distribution=[1.0])
    learner: Any = algorithm.start(problem, seed=0)
    means = np.linspace(0.8, 0.4, graph.arms)[:, None]
    rows = np.random.default_rng(0).random((STRETCH, graph.arms, 1)) < means
    block = row_block(rows.astype(float))
    indices = np.zeros(STRETCH, dtype=np.int64)
    contexts = problem.form.block(indices)
    batch = Rounds.to_play(contexts, block, indices)
    for _ in range(rounds // STRETCH):
        learner.simulate(batch)
    assert learner.round == rounds
    return learner


@pytest.mark.parametrize(
    "algorithm",
    [CrossGraph(), CrossGraphKnown(), PerContextGraph()],  # one for each compiled loop
    **NAMED,  # type: ignore[arg-type]
)
def test_ten_million_rounds(algorithm: Algorithm) -> None:
    learner = played(algorithm, graphs.apple_tasting(), 10_000_000)
    for name, array in learner.state().items():
        assert np.isfinite(array).all(), name
    policy = learner.policy(0)
    assert policy.sum() == pytest.approx(1, abs=1e-12)
    assert policy[1] > 0.99


@pytest.mark.parametrize("eta", [1e-100, 1e-12, 1e3, 1e12, 1e100])
@pytest.mark.parametrize("graph", [graphs.apple_tasting(), graphs.loopless_clique(4)])
def test_extreme_learning_rates(eta: float, graph: FeedbackGraph) -> None:
    for algorithm in (
        CrossGraph(eta=eta, gamma=1e-9, rho=1e-9, beta=1e-9, epoch_length=50),
        CrossGraphKnown(eta=eta, gamma=1e-9, rho=1e-9, beta=1e-9),
        SchneiderZimmert(eta=eta, gamma=1e-9, epoch_length=50),
        PerContextGraph(eta=eta),
        PerContextExp3(eta=eta),
    ):
        learner = played(algorithm, graph, STRETCH)
        for name, array in learner.state().items():
            assert np.isfinite(array).all(), (algorithm.id, name)
        policy = learner.policy(0)
        assert (policy >= 0).all()
        assert policy.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("value", [1e-100, 1e-12, 1e12, 1e100])
def test_extreme_exploration_and_pessimism(value: float) -> None:
    rho = min(value, 1 - 1e-12)
    for algorithm in (
        CrossGraph(eta=0.1, gamma=value, rho=rho, beta=value, epoch_length=50),
        CrossGraphKnown(eta=0.1, gamma=value, rho=rho, beta=value),
    ):
        learner = played(algorithm, graphs.loopless_clique(4), STRETCH)
        for name, array in learner.state().items():
            assert np.isfinite(array).all(), (algorithm.id, name)
        assert learner.policy(0).sum() == pytest.approx(1, abs=1e-12)


# ------------------------------------------------------------------------------------ relabelling

CONTEXTS, ROUNDS = 4, 40
BY_HAND: list[Algorithm] = [
    CrossGraph(eta=0.3, gamma=0.02, rho=0.1, beta=0.05, epoch_length=4),
    SchneiderZimmert(eta=0.3, gamma=0.02, epoch_length=4),
    CrossGraphKnown(eta=0.3, gamma=0.02, rho=0.1, beta=0.05),
    PerContextGraph(eta=0.3),
    PerContextExp3(eta=0.3),
]


class Renamed(NamedTuple):
    """A problem and the contexts that occur in it."""

    graph: FeedbackGraph
    losses: Any  # (T, M, K)
    law: Any  # (M,)
    contexts: Any  # (T,)


def episode(algorithm: Algorithm, case: Renamed, arms: Any = None) -> tuple[list[int], Any]:
    """Play `arms`, or else whatever is drawn; return the arms and the cumulated estimates."""
    environment = from_table(case.losses, case.graph, case.law)
    learner = algorithm.start(environment.problem.with_distribution(case.law), seed=0)
    numbers = np.random.default_rng(1).random((ROUNDS, 3))
    played_arms = []
    for t, context in enumerate(case.contexts):
        if arms is not None:
            numbers[t, 0] = inside(learner.policy(context), arms[t])
        decision = act(learner, context, *numbers[t])
        learner.learn(decision, environment.losses(t)[list(decision.revealed)])
        played_arms.append(decision.arm)
    return played_arms, cumulative(learner)


# Arms 0 and 3 have no self-loop, and at first their masses tie: the smaller name wins.
keeping_the_order_of_ties = st.permutations(range(5)).filter(lambda p: p.index(0) < p.index(3))


@settings(max_examples=25)
@given(keeping_the_order_of_ties, st.permutations(range(CONTEXTS)), st.integers(0, 2**32))
@pytest.mark.parametrize("algorithm", BY_HAND, **NAMED)  # type: ignore[arg-type]
def test_relabelling_arms_and_contexts_relabels_the_estimates(
    algorithm: Algorithm, arms: list[int], contexts: list[int], seed: int
) -> None:
    """`arms[i]` is the old name of arm i, `contexts[i]` that of context i."""
    rng = np.random.default_rng(seed)
    case = Renamed(
        asymmetric(),
        rng.random((ROUNDS, CONTEXTS, 5)),
        rng.dirichlet(np.ones(CONTEXTS)),
        rng.integers(CONTEXTS, size=ROUNDS),
    )
    renamed = Renamed(
        FeedbackGraph(case.graph.adjacency[np.ix_(arms, arms)]),
        case.losses[:, contexts][:, :, arms],
        case.law[contexts],
        np.argsort(contexts)[case.contexts],
    )
    old_arms, old = episode(algorithm, case)
    new_arms, new = episode(algorithm, renamed, arms=np.argsort(arms)[old_arms])
    assert [arms[a] for a in new_arms] == old_arms
    np.testing.assert_allclose(new, old[contexts][:, arms], rtol=1e-9, atol=1e-9)


def test_the_largest_correction_over_the_smallest_exploration_stays_finite() -> None:
    algorithm = CrossGraph(eta=1e100, gamma=1e-100, rho=0.1, beta=1e100, epoch_length=2)
    learner = played(algorithm, graphs.loopless_clique(3), STRETCH)
    assert np.isfinite(learner.state()["bias"]).all()
    assert learner.policy(0).sum() == pytest.approx(1, abs=1e-12)
