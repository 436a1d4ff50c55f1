"""The weights of an epoch, for algorithms that learn from pairs of rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.checks.enumeration import ScriptedGenerator, declared_on
from crossbandit.checks.estimator import CONTEXTS, HORIZON, Route, tiny_losses, tiny_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Algorithm, Estimator
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.types import Floats


def counted_masses(algorithm: Algorithm, graph: FeedbackGraph) -> Iterator[tuple[Floats, Floats]]:
    """Yield 2 / weight at the beginning of epochs, and what it must be, for each arm.

    The learner is given the numbers that say which round of a pair is learned from, so the contexts
    of the other rounds, the frequency rounds, are known. If these are f_1, ..., f_n and r is the
    snapshot of the epoch, 2 / weight(a) is the mean of r_{f_i}(N_in(a)) / 2 plus the shift.

    Args:
        algorithm: An algorithm that learns from pairs.
        graph: The graph, of few arms.
    """
    learner: Any = algorithm.start(tiny_problem(graph, algorithm), seed=0)
    declared = declared_on(algorithm, learner, graph)
    losses, numbers = tiny_losses(graph.arms), np.random.default_rng(5)
    route = Route("", learner.graph)
    counted: list[int] = []
    while declared is not None and learner.round < HORIZON - 4:
        now = declared.of_round(learner)
        length, shift = _constants(now)
        if learner.round and learner.round % length == 0:
            yield _found(learner, now), _mean_mass(learner, now, counted) + shift
            counted = []
        contexts = numbers.integers(CONTEXTS, size=2)
        drawn = numbers.random(4)
        learner.generator = ScriptedGenerator(drawn.tolist())
        for context, rows in zip(contexts, losses[learner.round :], strict=False):
            route.learn(learner, route.act(learner, int(context)), rows)
        counted.append(int(contexts[1 if drawn[2] < 0.5 else 0]))


def _constants(now: Estimator) -> tuple[int, float]:
    pairs: Any = now.pairs
    return pairs.epoch_length, pairs.shift


def _policies(learner: Any) -> Floats:
    return np.array([learner.policy(c) for c in range(CONTEXTS)])


def _found(learner: Any, now: Estimator) -> Floats:
    """Return 2 / weight, where weight = share / P."""
    policies = _policies(learner)
    return np.asarray(2.0 * now.observed(policies, 0) / now.share(policies, 0))


def _mean_mass(learner: Any, now: Estimator, counted: list[int]) -> Floats:
    """Return the mean of r_c(N_in(a)) / 2: what a round in context c observes and keeps."""
    policies = _policies(learner)
    return np.asarray(np.mean([now.observed(policies, c) for c in counted], axis=0))
