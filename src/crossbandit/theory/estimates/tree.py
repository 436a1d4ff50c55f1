"""Everything that an algorithm can do on a tiny instance, played by its own learner.

A node is the moment before a round, or before a pair of rounds if the algorithm learns from pairs.
From there, copies of the learner play everything that can be drawn, in every context. Only some of
the following nodes are continued. All checks are about distributions given a node, so no check is
weaker for it.

For algorithms that learn from pairs of rounds, `counted_masses` plays one run of epochs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.checks.comparison import Comparison
from crossbandit.checks.enumeration import ScriptedGenerator, declared_on, enumerate_outcomes
from crossbandit.checks.estimator import (
    CONTEXTS,
    HORIZON,
    LAW,
    Route,
    prepare,
    tiny_losses,
    tiny_problem,
)
from crossbandit.theory.runs.declared import FtrlState, expected_input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Algorithm, Estimator, Learner
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.types import Floats

_NU = np.array(LAW)
_SEED = 1


class PathSums(NamedTuple):
    """The sums over a path so far, in each context."""

    penalty: Floats  # (contexts,)
    rates: Floats  # (contexts,): of the round before
    falling: bool  # whether no rate was above the one before it


@dataclass(eq=False)
class Node:
    """A moment before a round or a pair: the learner, and what it declares."""

    learner: Learner
    declared: Estimator  # the estimator of the next round
    losses: Floats  # (rounds, arms, contexts)
    best: Floats  # (contexts, arms): 1 for the best arm of each context
    past: PathSums

    @cached_property
    def before(self) -> FtrlState:
        """FTRL and the policies before the round."""
        return FtrlState.of(self.learner, self.declared)

    @property
    def tables(self) -> Floats:
        """The losses of the rounds: (rounds, contexts, arms)."""
        return self.losses.transpose(0, 2, 1)

    @cached_property
    def comparisons(self) -> dict[tuple[int, ...], Comparison]:
        """The enumeration and the declaration, for all contexts of the round or the pair."""
        route = Route("with prompt feedback", self.learner.graph)
        found = {}
        for contexts in product(range(_NU.size), repeat=self.declared.rounds):
            outcomes = enumerate_outcomes(self.learner, self.declared, route, contexts, self.losses)
            found[contexts] = Comparison(self.declared, outcomes, route, contexts, self.tables)
        return found

    @cached_property
    def outcomes(self) -> list[tuple[float, Outcome]]:
        """Everything that can happen, with its probability given this node."""
        rounds, outcomes = [self.declared] * self.declared.rounds, []
        for contexts, comparison in self.comparisons.items():
            found, counts = comparison.found, self.counts(contexts)
            mean = expected_input(rounds, self.before.policies, counts, self.tables)
            of_contexts = float(np.prod(_NU[list(contexts)]))
            for i, chance in enumerate(found.probabilities):
                after = self.before.estimates + found.added[i]
                terms = self.before.terms(self.best, self.tables, mean, after)
                arms = tuple(int(arm) for arm in found.arms[i])
                one = Outcome(contexts, arms, found.added[i], terms, found.learners[i])
                outcomes.append((float(chance) * of_contexts, one))
        return outcomes

    def counts(self, contexts: tuple[int, ...]) -> Floats:
        """Return each context's probability; without cross-learning, 1 for that of the round."""
        return _NU if self.declared.cross_learning else np.eye(_NU.size)[contexts[0]]


class Outcome(NamedTuple):
    """What can happen in a round or a pair."""

    contexts: tuple[int, ...]
    arms: tuple[int, ...]
    added: Floats  # (contexts, arms)
    terms: Floats  # (terms + 1, contexts): the terms of the regret, and the regret
    learner: Learner  # the learner after the round or pair


def grow(algorithm: Algorithm, graph: FeedbackGraph, depth: int, width: int) -> Iterator[Node]:
    """Yield nodes of an instance: from the first round on, and after some rounds of learning.

    Args:
        algorithm: An algorithm that declares its estimator.
        graph: The graph, of few arms.
        depth: How many rounds, or pairs, follow one another.
        width: How many nodes of each level are continued, evenly spread over all of them.

    Raises:
        CheckFailedError: The algorithm declares nothing.
    """
    prepared = prepare(algorithm, graph)
    first = algorithm.start(tiny_problem(graph, algorithm), seed=_SEED)
    losses = tiny_losses(graph.arms)
    losses[:, :, 1] = 1.0 - losses[:, :, 0]  # the contexts disagree about the best arm
    best = np.eye(graph.arms)[losses.sum(axis=0).argmin(axis=0)]
    nothing, rising = np.zeros(_NU.size), np.full(_NU.size, np.inf)
    for learner, falling in ((first, True), (prepared.learner, False)):
        level = [(learner, PathSums(nothing, rising, falling))]
        for _ in range(depth):
            following: list[tuple[Learner, PathSums]] = []
            for reached, past in level:
                declared = prepared.declared.of_round(reached)
                rows = losses[reached.round : reached.round + declared.rounds]
                node = Node(reached, declared, rows, best, past)
                yield node
                following += _following(node)
            step = max(1, len(following) // width)
            level = following[step // 2 :: step][:width]


def _following(node: Node) -> list[tuple[Learner, PathSums]]:
    falling = node.past.falling and bool((node.before.rates <= node.past.rates).all())
    return [
        (
            outcome.learner,
            PathSums(node.past.penalty + outcome.terms[4], node.before.rates, falling),
        )
        for chance, outcome in node.outcomes
        if chance > 0
    ]


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
        pairs: Any = now.pairs
        if learner.round and learner.round % pairs.epoch_length == 0:
            policies = np.array([learner.policy(c) for c in range(CONTEXTS)])
            # weight = share / P, and P of a round in context c is r_c(N_in(a)) / 2
            found = 2.0 * now.observed(policies, 0) / now.share(policies, 0)
            mean = np.mean([now.observed(policies, c) for c in counted], axis=0)
            yield np.asarray(found), np.asarray(mean + pairs.shift)
            counted = []
        contexts = numbers.integers(CONTEXTS, size=2)
        drawn = numbers.random(4)
        learner.generator = ScriptedGenerator(drawn.tolist())
        for context, rows in zip(contexts, losses[learner.round :], strict=False):
            route.learn(learner, route.act(learner, int(context)), rows)
        counted.append(int(contexts[1 if drawn[2] < 0.5 else 0]))
