"""Proposition 2: Algorithm 1, for a known context distribution."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.algorithms import CrossGraphKnown
from crossbandit.environments import paper_benchmark
from crossbandit.graphs import FeedbackGraph, loopless_clique, paper_ring, threshold
from crossbandit.problem import Problem
from crossbandit.simulation import simulate_many
from crossbandit.theory.definition import heaviest, mixed, softmax
from crossbandit.theory.exact.enumeration import act, cumulative, fork, inside
from crossbandit.theory.exact.laws import NU, TWO_LOOPLESS
from crossbandit.theory.lemmas.search import Case, Point, Sides, bounded
from crossbandit.theory.lemmas.stability import StableEpoch, coordinates, epoch_at
from crossbandit.theory.statements import CheckResult, Differences, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.types import Floats

_ETA, _GAMMA, _RHO, _BETA = 0.8, 0.05, 0.2, 0.1
_ALGORITHM = CrossGraphKnown(eta=_ETA, gamma=_GAMMA, rho=_RHO, beta=_BETA)
_GRAPHS = (loopless_clique(2), TWO_LOOPLESS, threshold(3))
_HORIZONS = {Effort.QUICK: (2_000, 8_000), Effort.FULL: (2_000, 8_000, 32_000, 128_000)}
_SEEDS = range(10)
_CONTEXTS = 50


@statement(20, "Proposition 2", "Equation 1", "Algorithm 1", "Section 3.1: mean of lhat")
def learner_is_algorithm_1(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Policies and means of Algorithm 1, over all arms and contexts of a few rounds."""
    played, mean, observed = Differences(), Differences(), Differences()
    for graph, seed in product(_GRAPHS, range(20 if effort is Effort.QUICK else 200)):
        _follow(graph, seed, played, mean, observed)
    yield played.result(
        "Algorithm 1 (FTRL, r = (1 - rho) p + rho / K)",
        "the policy of every context, against the definition",
    )
    yield mean.result(
        "Section 3.1 (mean of lhat + b)",
        "mean over all contexts and arms of what FTRL is fed, against l w / (w + gamma) + b",
    )
    yield observed.result(
        "Section 3.1 (w_t(a) = 1 - m_t(a) without self-loop)", "both sides of the identity"
    )


def _follow(
    graph: FeedbackGraph, seed: int, played: Differences, mean: Differences, observed: Differences
) -> None:
    """Play six rounds; in each, take every context and arm once."""
    problem = Problem(graph, contexts=NU.size, context_distribution=NU)
    learner = _ALGORITHM.start(problem, seed=0)
    rng = np.random.default_rng(seed)
    fed = np.zeros((NU.size, graph.arms))
    loopless = list(graph.arms_without_self_loop)
    for _ in range(6):
        losses = rng.random((NU.size, graph.arms))
        r = mixed(softmax(-_ETA * fed), _RHO)
        m, w = NU @ r, NU @ r @ graph.adjacency
        played.compare([learner.policy(c) for c in range(NU.size)], r)
        correction = np.zeros(graph.arms)
        special = heaviest(m, loopless)
        if special is not None:
            observed.compare(w[loopless], 1 - m[loopless])
            correction[special] = _BETA / (w[special] + _GAMMA)
        total = np.zeros_like(fed)
        for c, a in product(range(NU.size), range(graph.arms)):
            branch = fork(learner)
            decision = act(branch, c, inside(r[c], a))
            branch.learn(decision, losses.T[list(decision.revealed)])
            total += NU[c] * r[c, a] * (cumulative(branch) - cumulative(learner))
        mean.compare(total, losses * w / (w + _GAMMA) + correction)
        c = int(rng.integers(NU.size))
        decision = act(learner, c, rng.random())
        learner.learn(decision, losses.T[list(decision.revealed)])
        fed = fed + losses * graph.adjacency[decision.arm] / (w + _GAMMA) + correction


def graph_sum_of_algorithm_1(epoch: StableEpoch, graph: FeedbackGraph, reveals: Floats) -> Sides:
    """Section 3.1: sum of pbar / u over all arms but j; j the heaviest arm without self-loop.

    Every other arm without self-loop has m <= 1/2, and so w >= 1/2.
    """
    rho, alpha, loopless = epoch.rho, graph.independence_number, graph.arms_without_self_loop
    special = heaviest(epoch.m, loopless)
    ratios = (epoch.nu @ epoch.snapshot) / (epoch.m @ reveals + epoch.gamma)
    regular = np.delete(ratios, [] if special is None else special)
    bound = 4 * alpha * math.log(4 * graph.arms**2 / (alpha * rho)) / (1 - rho)
    return Sides(float(regular.sum()), bound + (2.0 if loopless else 0.0))


def _graph_sum_case(graph: FeedbackGraph) -> Case:
    reveals = graph.adjacency.astype(np.float64)

    def sides(point: Floats) -> Sides:
        return graph_sum_of_algorithm_1(epoch_at(graph.arms, Point(point)), graph, reveals)

    return Case(coordinates(graph.arms), sides)


@statement(21, "Proposition 2: graph sum and bound")
def algorithm_1_has_its_bound(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The graph sum of the sketch, and regret of real runs against the bound that it ends with."""
    graphs = [threshold(4), loopless_clique(3), paper_ring(5, radius=1)]
    yield bounded(
        "Proposition 2 (graph sum)",
        f"sum of pbar / u over regular arms, against A_G, on {len(graphs)} graphs",
        [_graph_sum_case(graph) for graph in graphs],
        effort,
        note="A_G = 4 alpha log(4 K^2 / (alpha rho)) / (1 - rho) + 2.",
    )
    ratios = [_regret_ratio(horizon, alpha) for horizon in _HORIZONS[effort] for alpha in (1, 4)]
    yield CheckResult(
        statement="Proposition 2 (regret of Algorithm 1)",
        checked="mean regret over rho T + log K / eta + (eta + gamma) alpha T + beta T",
        instances=len(ratios) * len(_SEEDS),
        worst=f"smallest C that held {max(ratios):.4g}",
        passed=max(ratios) <= 1.0,
        note=f"The benchmark with {_CONTEXTS} contexts; every rate is 1 / sqrt(alpha T).",
    )


def _regret_ratio(horizon: int, alpha: int) -> float:
    environment = paper_benchmark(horizon, alpha=alpha, contexts=_CONTEXTS)
    runs = simulate_many(CrossGraphKnown(), environment, seeds=list(_SEEDS))
    rate = 1 / math.sqrt(alpha * horizon)
    bound = rate * horizon * (2 + 2 * alpha) + math.log(environment.problem.arms) / rate
    return float(np.mean([run.final_regret for run in runs])) / bound
