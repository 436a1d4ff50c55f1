"""Play all outcomes of one round with a learner's own code, each with its probability."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from crossbandit.environments.checking import graph_block
from crossbandit.environments.environment import row_block
from crossbandit.errors import CheckFailedError
from crossbandit.kernels.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.algorithms import Algorithm, Estimator, Learner
    from crossbandit.checks.estimator import Route
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem
    from crossbandit.types import Floats, Integers

_ATTEMPTS = 2000  # how often to try if a learner does not draw its arm by one uniform number
_NEAR = 1e-9  # the distance of a uniform number from a threshold
_LATER = 6  # the number of rounds that are played before late feedback comes


class ScriptedGenerator(np.random.Generator):
    """A generator whose `random` begins with chosen numbers.

    Args:
        first: The first numbers; none for a usual generator.
        seed: The seed of all others.
    """

    def __init__(self, first: Sequence[float], seed: int = 0) -> None:
        super().__init__(np.random.PCG64(seed))
        self._first = list(first)

    def random(self, size: Any = None, *options: Any, **more: Any) -> Any:
        """Return uniform numbers.

        Args:
            size: How many; None for one float.
            *options: As in NumPy.
            **more: As in NumPy.
        """
        if size is None:
            return self._first.pop(0) if self._first else super().random()
        numbers = super().random(size, *options, **more)
        count = min(len(self._first), numbers.size)
        numbers.flat[:count] = self._first[:count]
        del self._first[:count]
        return numbers


@dataclass(frozen=True)
class Enumeration:
    """What a round, or a pair of rounds, adds in each of its outcomes.

    Attributes:
        policies: The policy of each context before the round (contexts, arms).
        later: The policy of the round's context when feedback came (arms,), for the last arm.
        probabilities: The probability of each outcome (outcomes,).
        added: What is added in it (outcomes, contexts, arms).
        arms: The arms that are played in it (outcomes, rounds).
        learners: The learner after it, for each outcome.
    """

    policies: Floats
    later: Floats
    probabilities: Floats
    added: Floats
    arms: Integers
    learners: tuple[Learner, ...]

    @property
    def mean(self) -> Floats:
        """The expectation of what is added (contexts, arms)."""
        return np.asarray(np.einsum("i,icb->cb", self.probabilities, self.added))

    @property
    def variance(self) -> Floats:
        """The variance of what is added (contexts, arms)."""
        centred = np.square(self.added - self.mean)
        return np.asarray(np.einsum("i,icb->cb", self.probabilities, centred))


class _Outcome(NamedTuple):
    """What one outcome adds, the policy when feedback came, and the learner after it."""

    arms: tuple[int, ...]
    added: Floats
    later: Floats
    learner: Learner


def clone(learner: Learner) -> Learner:
    """Return an independent copy of a learner.

    Args:
        learner: The learner.
    """
    graphs = (learner.graph, learner.problem.graph)
    # A copy of a read-only array is writable, and kernels are not compiled for writable ranges.
    ranges = (ranges for graph in graphs for ranges in (graph.in_ranges, graph.out_ranges))
    arrays = (array for one in ranges for array in one)
    shared = (learner.problem, learner.algorithm, learner.call, *graphs, *arrays)
    return copy.deepcopy(learner, {id(thing): thing for thing in shared})


def declared_on(algorithm: Algorithm, learner: Learner, graph: FeedbackGraph) -> Estimator | None:
    """Return what an algorithm declares for rounds with this graph, with a learner's parameters.

    Args:
        algorithm: The algorithm.
        learner: A learner of it.
        graph: The graph of the rounds.
    """
    problem: Problem = learner.problem
    if problem.graph_kind != "fixed":
        names = {field.name for field in fields(cast("Any", algorithm))}
        tuned = {name: value for name, value in learner.tuned().items() if name in names}
        algorithm = replace(cast("Any", algorithm), **tuned)
        problem = problem.with_graph(graph, "fixed")
    return algorithm.estimator(problem)


def enumerate_outcomes(
    learner: Learner, declared: Estimator, route: Route, contexts: Sequence[int], rows: Floats
) -> Enumeration:
    """Play a round, or a pair of rounds, once for each of its outcomes.

    Args:
        learner: The learner; it is not changed.
        declared: What is declared for its next round: how its estimates are read, and how often
            the feedback of a pair is kept.
        route: How the round is played.
        contexts: The context of each round.
        rows: The losses of each round (rounds, arms, contexts).

    Returns:
        What each outcome adds, with its probability.

    Raises:
        CheckFailedError: An arm with a positive probability is never drawn.
    """
    policies = np.array([learner.policy(c) for c in range(rows.shape[2])])
    for context in set(contexts):
        policies[context] = learner.policy(context, route.available)
    own = [policies[context] for context in contexts]
    chances, outcomes = [], []
    for arms in product(*(np.flatnonzero(policy > 1e-6).tolist() for policy in own)):
        drawn = [_inside(policy, arm) for policy, arm in zip(own, arms, strict=True)]
        chance = math.prod(policy[arm] for policy, arm in zip(own, arms, strict=True))
        for part, coins in _coins(declared, policies, contexts, arms):
            played = (learner, declared, route, contexts, rows)
            outcomes.append(_outcome(*played, arms, [*drawn, *coins]))
            chances.append(part * chance)
    return Enumeration(
        policies,
        outcomes[-1].later,
        np.array(chances) / sum(chances),
        np.array([one.added for one in outcomes]),
        np.array([one.arms for one in outcomes]),
        tuple(one.learner for one in outcomes),
    )


def _inside(policy: Floats, arm: int) -> float:
    """Return a uniform number that draws the arm by inversion."""
    return float(policy[:arm].sum() + policy[arm] / 2)


def _coins(
    declared: Estimator, policies: Floats, contexts: Sequence[int], arms: Sequence[int]
) -> Iterator[tuple[float, list[float]]]:
    """Yield the probability of what else a pair draws, and uniform numbers for it.

    The numbers are next to the declared thresholds, so a learner with other thresholds adds
    something else. The first number decides which round is learned from, the second whether its
    feedback is kept.
    """
    if declared.pairs is None:
        yield 1.0, []
        return
    for side, split in enumerate((0.5 - _NEAR, 0.5 + _NEAR)):
        kept = float(declared.pairs.kept(policies, contexts[side])[arms[side]])
        if kept > _NEAR:
            yield 0.5 * kept, [split, kept - _NEAR]
        if kept < 1.0 - _NEAR:
            yield 0.5 * (1.0 - kept), [split, kept + _NEAR]


def _outcome(
    learner: Learner,
    declared: Estimator,
    route: Route,
    contexts: Sequence[int],
    rows: Floats,
    arms: tuple[int, ...],
    numbers: list[float],
) -> _Outcome:
    """Play rounds with these uniform numbers, which draw these arms."""
    attempts = _ATTEMPTS if len(arms) == 1 else 1
    played: tuple[int, ...] = ()
    for attempt in range(attempts):
        copied = clone(learner)
        cast("Any", copied).generator = ScriptedGenerator([] if attempt else numbers, attempt)
        before = declared.estimates(copied)
        if route.compiled:
            played, later = _play_compiled(copied, route, contexts, rows), before[0]
            change = declared.estimates(copied) - before
        else:
            decisions = [route.act(copied, context) for context in contexts]
            played = tuple(decision.arm for decision in decisions)
            change = declared.estimates(copied) - before
            later = _until_feedback(copied, route, contexts[0], rows[0])
            before = declared.estimates(copied)
            for decision, table in zip(decisions, rows, strict=True):
                route.learn(copied, decision, table)
            change = change + declared.estimates(copied) - before
        if played == arms:
            return _Outcome(arms, change, later, copied)
    context, arm = contexts[0], arms[0]
    if played[0] == arm:
        context, arm = contexts[-1], arms[-1]
    raise CheckFailedError(
        f"The policy of context {context} gives arm {arm} the probability "
        f"{learner.policy(context, route.available)[arm]:.4g}, but it was not drawn in "
        f"{attempts} attempts. act must draw from policy."
    )


def _until_feedback(learner: Learner, route: Route, context: int, rows: Floats) -> Floats:
    """Play other rounds, if feedback is late; return the policy after them."""
    for step in range(_LATER if route.late else 0):
        decision = route.act(learner, (context + step) % rows.shape[1])
        route.learn(learner, decision, np.roll(rows, step, axis=0))
    return learner.policy(context, route.available)


def _play_compiled(
    learner: Any, route: Route, contexts: Sequence[int], rows: Floats
) -> tuple[int, ...]:
    numbers = np.array(contexts)
    available = None if route.available is None else np.tile(route.available, (len(numbers), 1))
    rounds = Rounds.to_play(
        learner.problem.form.block(numbers, available),
        row_block(rows),
        numbers,
        graphs=graph_block([route.graph] * len(numbers)),
    )
    learner.simulate(rounds)
    return tuple(int(arm) for arm in rounds.arms)
