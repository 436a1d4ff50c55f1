"""Everything that can happen in a round, or a pair of rounds, played by copies of a learner.

This is the only enumeration. `check_estimator` and `crossbandit verify` compare what it finds with
what is declared, or with the paper's definition of Algorithm 2. It is also the only module that
replaces the random numbers of a learner.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from crossbandit.core.blocks import Rounds
from crossbandit.environments.environment import graph_block, row_block
from crossbandit.errors import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.algorithms import Algorithm, Decision, Estimator, Learner
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem
    from crossbandit.types import Booleans, Floats

T = TypeVar("T")

_ATTEMPTS = 2000  # how often to try if a learner does not draw its arm by one uniform number
_NEAR = 1e-12  # the distance of a uniform number from the threshold that it must be on one side of
_LATER = 6  # the number of rounds that are played before late feedback comes
_RARE = 1e-6  # arms that are played with a smaller probability are left out


class ScriptedGenerator(np.random.Generator):
    """A generator whose `random` begins with chosen numbers."""

    def __init__(self, first: Sequence[float], seed: int = 0) -> None:
        super().__init__(np.random.PCG64(seed))
        self._first = list(first)

    def random(self, size: Any = None, *options: Any, **more: Any) -> Any:
        """Return uniform numbers, as NumPy does."""
        if size is None:
            return self._first.pop(0) if self._first else super().random()
        numbers = super().random(size, *options, **more)
        count = min(len(self._first), numbers.size)
        numbers.flat[:count] = self._first[:count]
        del self._first[:count]
        return numbers


def scripted(learner: Learner, numbers: Sequence[float], seed: int = 0) -> Learner:
    """Return an independent copy of a learner that will draw these uniform numbers first."""
    immutable = (learner.problem, learner.problem.graph, learner.graph, learner.algorithm)
    shared = (*immutable, cast("Any", learner).generator)  # the generator is replaced
    copied = copy.deepcopy(learner, {id(thing): thing for thing in shared})
    cast("Any", copied).generator = ScriptedGenerator(numbers, seed)
    return copied


def policies_of(learner: Learner, contexts: int) -> Floats:
    """Return the policies that a learner reports for the next round (contexts, arms)."""
    return np.array([learner.policy(c) for c in range(contexts)])


def spread(items: list[T], count: int) -> list[T]:
    """Return at most `count` items, evenly spread over the list."""
    step = max(1, len(items) // count)
    return items[step // 2 :: step][:count]


def inside(policy: Floats, arm: int) -> float:
    """Return a uniform number that draws the arm by inversion, well away from its neighbours."""
    return float(policy[:arm].sum() + policy[arm] / 2)


def drawn_at_edges(learner: Learner, policies: Floats, edge: float) -> Iterator[tuple[int, int]]:
    """Yield which arm is played for a number near each end of an arm's interval, and that arm."""
    for context, policy in enumerate(policies):
        ends = np.cumsum(policy)
        for arm in np.flatnonzero(policy > 3 * edge).tolist():
            start = ends[arm - 1] if arm else 0.0
            for number in (start + edge, ends[arm] - edge):
                yield scripted(learner, [number]).act(context).arm, arm


@dataclass(frozen=True)
class Route:
    """One way to play a round and to learn from it."""

    name: str  # what a message calls it
    graph: FeedbackGraph
    compiled: bool = False  # whether the compiled loop plays it
    late: bool = False  # whether other rounds are played and learned from before its feedback comes
    available: Booleans | None = None  # which arms may be played; None for all
    kind: str = "fixed"  # what the learner is told about the graph, as in `Problem.graph_kind`

    def act(self, learner: Learner, context: int) -> Decision:
        """Return the decision of a learner in a context."""
        graph = self.graph if self.kind == "informed" else None
        return learner.act(context, self.available, graph)

    def learn(self, learner: Learner, decision: Decision, rows: Floats) -> None:
        """Let a learner learn from what a decision revealed of `rows` (arms, contexts)."""
        if self.kind == "uninformed":
            revealed = self.graph.out_neighbors(decision.arm)
            learner.learn(decision, rows[revealed], self.graph)
        else:
            learner.learn(decision, rows[list(decision.revealed)])


class Outcome(NamedTuple):
    """What can happen in a round or a pair."""

    chance: float  # given the contexts
    contexts: tuple[int, ...]
    arms: tuple[int, ...]
    side: int  # which round of a pair is learned from
    added: Floats  # (contexts, arms): what is added to the estimates
    later: Floats  # (arms,): the policy of the first context when feedback came
    learner: Learner  # after the round or pair


@dataclass(frozen=True)
class Enumeration:
    """All outcomes in given contexts, and the policy of each context before (contexts, arms)."""

    policies: Floats
    outcomes: tuple[Outcome, ...]

    @property
    def mean(self) -> Floats:
        """The expectation of what is added (contexts, arms)."""
        return np.asarray(sum(one.chance * one.added for one in self.outcomes))

    @property
    def variance(self) -> Floats:
        """The variance of what is added (contexts, arms)."""
        mean = self.mean
        return np.asarray(sum(one.chance * (one.added - mean) ** 2 for one in self.outcomes))


def declared_on(algorithm: Algorithm, learner: Learner, graph: FeedbackGraph) -> Estimator | None:
    """Return what an algorithm declares for rounds with this graph, with a learner's parameters."""
    problem: Problem = learner.problem
    if problem.graph_kind != "fixed":
        names = {field.name for field in fields(cast("Any", algorithm))}
        tuned = {name: value for name, value in learner.tuned().items() if name in names}
        algorithm = replace(cast("Any", algorithm), **tuned)
        problem = problem.with_graph(graph, "fixed")
    return algorithm.estimator(problem)


def enumerate_outcomes(
    learner: Learner, declared: Estimator, route: Route, contexts: tuple[int, ...], rows: Floats
) -> Enumeration:
    """Play a round, or a pair of rounds, once for each of its outcomes.

    The learner is not changed. `declared` says how its estimates are read, and how often the
    feedback of a pair is kept; `rows` are the losses of each round (rounds, arms, contexts). Raises
    CheckFailedError if an arm with a positive probability is never drawn.
    """
    policies = policies_of(learner, rows.shape[2])
    for context in set(contexts):
        policies[context] = learner.policy(context, route.available)
    outcomes = []
    for arms in product(*(np.flatnonzero(policies[c] > _RARE).tolist() for c in contexts)):
        places = list(zip(contexts, arms, strict=True))
        drawn = [inside(policies[c], arm) for c, arm in places]
        chance = math.prod(float(policies[c, arm]) for c, arm in places)
        for part, side, coins in _coins(declared, policies, places):
            numbers = [*drawn, *coins]
            one = _play(learner, declared, route, contexts, rows, arms, numbers)
            outcomes.append(one._replace(chance=part * chance, side=side))
    total = sum(one.chance for one in outcomes)
    every = (one._replace(chance=one.chance / total) for one in outcomes)
    return Enumeration(policies, tuple(every))


def _coins(
    declared: Estimator, policies: Floats, places: Sequence[tuple[int, int]]
) -> Iterator[tuple[float, int, list[float]]]:
    """Yield the probability of what else a pair draws, the side, and uniform numbers for it.

    The numbers are next to the declared thresholds, so a learner with other thresholds adds
    something else. The first number decides which round is learned from, the second whether its
    feedback is kept.
    """
    if declared.pairs is None:
        yield 1.0, 0, []
        return
    for side, split in enumerate((0.5 - _NEAR, 0.5 + _NEAR)):
        context, arm = places[side]
        kept = float(declared.pairs.kept(policies, context)[arm])
        if kept > _NEAR:
            yield 0.5 * kept, side, [split, kept - _NEAR]
        if kept < 1.0 - _NEAR:
            yield 0.5 * (1.0 - kept), side, [split, kept + _NEAR]


def _play(
    learner: Learner,
    declared: Estimator,
    route: Route,
    contexts: tuple[int, ...],
    rows: Floats,
    arms: tuple[int, ...],
    numbers: list[float],
) -> Outcome:
    """Play rounds with these uniform numbers, which draw these arms."""
    attempts = _ATTEMPTS if len(arms) == 1 else 1
    played: tuple[int, ...] = ()
    for attempt in range(attempts):
        found = play(learner, declared, route, contexts, rows, [] if attempt else numbers, attempt)
        played = found.arms
        if played == arms:
            return found
    first = 0 if played[0] != arms[0] else -1
    raise CheckFailedError(
        f"The policy of context {contexts[first]} gives arm {arms[first]} the probability "
        f"{learner.policy(contexts[first], route.available)[arms[first]]:.4g}, but it was not "
        f"drawn in {attempts} attempts. act must draw from policy."
    )


def play(
    learner: Learner,
    declared: Estimator,
    route: Route,
    contexts: tuple[int, ...],
    rows: Floats,
    numbers: Sequence[float],
    seed: int = 0,
) -> Outcome:
    """Let a copy of a learner play rounds, with these uniform numbers first."""
    copied = scripted(learner, numbers, seed)
    added, later = -declared.estimates(copied), np.empty(0)
    if route.compiled:
        arms = _play_compiled(copied, route, contexts, rows)
    else:
        decisions = []
        for context, table in zip(contexts, rows, strict=True):
            decisions.append(route.act(copied, context))
            if not route.late:
                route.learn(copied, decisions[-1], table)
        arms = tuple(decision.arm for decision in decisions)
        if route.late:
            added += declared.estimates(copied)
            later = _play_others(copied, route, contexts[0], rows[0])
            added -= declared.estimates(copied)
            for decision, table in zip(decisions, rows, strict=True):
                route.learn(copied, decision, table)
    added += declared.estimates(copied)
    return Outcome(1.0, contexts, arms, 0, added, later, copied)


def _play_others(learner: Learner, route: Route, context: int, rows: Floats) -> Floats:
    """Play other rounds before late feedback comes; return the policy after them."""
    for step in range(_LATER):
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
