"""The lemmas of docs/contributors/every-graph.md, on random graphs and snapshots."""

import math
from pathlib import Path

import numpy as np
import pytest

from crossbandit import FeedbackGraph, Learner, Problem, graphs
from crossbandit.algorithms import CrossGraphWeak
from crossbandit.core.types import Floats

SEEDS = range(60)
RHO, X = 0.05, 0.2
PAGE = Path(__file__).parents[3] / "docs/contributors/every-graph.md"


def snapshot(arms: int, seed: int, explored: Floats) -> Floats:
    """Return the mean of mixed snapshots; half of the seeds put nearly everything on one arm."""
    generator = np.random.default_rng(seed)
    sharp = generator.dirichlet(np.full(arms, 0.03 if seed % 2 else 1.0))
    return np.asarray((1 - X) * ((1 - RHO) * sharp + RHO / arms) + explored)


def instance(seed: int) -> tuple[FeedbackGraph, Floats]:
    """Return an observable graph, and what `CrossGraphWeak` explores on it."""
    generator = np.random.default_rng(seed)
    while True:
        arms = int(generator.integers(2, 7))
        graph = FeedbackGraph(generator.random((arms, arms)) < generator.uniform(0.2, 0.9))
        if graph.observability != "none":
            break
    problem = Problem(graph, contexts=1, horizon=1_000)
    learner = CrossGraphWeak(exploration=X).start(problem, seed=0)
    return graph, exploration(learner)


def exploration(learner: Learner) -> Floats:
    """Return the extra probability of each arm: the rest of the first policy is uniform."""
    arms = learner.problem.arms
    extra: Floats = (learner.policy(0) - (1 - X) / arms).round(12)
    return extra


@pytest.mark.parametrize("seed", SEEDS)
def test_weakly_observable_graphs(seed: int) -> None:
    graph, explored = instance(seed)
    assert explored.sum() == pytest.approx(X)
    members = int((explored > 0).sum())
    m = snapshot(graph.arms, seed, explored)
    w = graph.observation_mass(m)
    looped = [a for a in range(graph.arms) if a not in graph.arms_without_self_loop]
    for a, grade in enumerate(graph.arm_observability):  # lemma W1
        if grade == "weak":
            assert w[a] >= X / members - 1e-12
        elif a not in looped:
            assert w[a] >= X / 2 - 1e-12
    strong = [a for a in looped if graph.arm_observability[a] == "strong"]
    alpha = graph.independence_number
    least = (1 - X) * RHO / graph.arms
    bound = 4 * alpha * math.log(4 * graph.arms / (alpha * least))
    assert sum(m[a] / w[a] for a in strong) <= bound  # the graph inequality
    assert (m / w).sum() <= bound + members / X + 2 / X + 2  # lemma W2


def test_one_arm_without_self_loop_is_not_explored_alone() -> None:
    """The case for which a second arm is added: W1 would fail by a factor without it."""
    graph = FeedbackGraph([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    assert graph.weakly_dominating_set == (0,)
    learner = CrossGraphWeak(exploration=X).start(Problem(graph, contexts=1, horizon=99), seed=0)
    assert exploration(learner).tolist() == [X / 2, X / 2, 0.0]


@pytest.mark.parametrize("seed", range(20))
def test_changing_graphs(seed: int) -> None:
    """Lemmas V1 and V3, over all samples of two contexts."""
    generator = np.random.default_rng(seed)
    nu, r = np.array([0.2, 0.5, 0.3]), generator.dirichlet(np.full(4, 0.3), size=3)
    r = (1 - RHO) * r + RHO / 4
    graph = graphs.random_graph(4, density=0.4, seed=seed)
    graph = FeedbackGraph(graph.adjacency | np.eye(4, dtype=bool))
    mean = sum(
        nu[i] * nu[j] * graph.observation_mass((r[i] + r[j]) / 2) / 2
        for i in range(3)
        for j in range(3)
    )
    assert mean == pytest.approx(graph.observation_mass(nu @ r) / 2)
    m, alpha = nu @ r, graph.independence_number
    bound = 4 * alpha * math.log(4 * 4 / (alpha * RHO / 4))
    assert (m / graph.observation_mass(m)).sum() <= bound


def test_the_theorems_that_the_page_cites_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for file, theorem in (
        ("GraphInverse.v", "lemma4_graph_inverse"),
        ("GraphInverse.v", "lemma4_printed"),
        ("RandomDenominators.v", "equation4_ratio_first"),
        ("RandomDenominators.v", "equation5_ratio_second"),
        ("Ftrl.v", "lemma16_ftrl_shift"),
    ):
        assert theorem in text
        assert f"Theorem {theorem}" in (PAGE.parents[2] / "proofs" / file).read_text("utf-8")
