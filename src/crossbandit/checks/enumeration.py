"""Play every arm of one round, through a learner's own code, and weigh it with its probability."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crossbandit.environments.environment import row_block
from crossbandit.environments.round_graphs import graph_block
from crossbandit.errors import CheckFailedError
from crossbandit.kernels.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Algorithm, Decision, Estimator, Learner
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem
    from crossbandit.types import Booleans, Floats

_ATTEMPTS = 2000  # a learner that draws otherwise than by one uniform number is tried this often
_LATER = 5  # rounds that are played before late feedback comes


class Scripted(np.random.Generator):
    """A generator whose `random` begins with a chosen number.

    Args:
        first: The first number; None for a usual generator.
        seed: The seed of all others.
    """

    def __init__(self, first: float | None, seed: int = 0) -> None:
        super().__init__(np.random.PCG64(seed))
        self._first = first

    def random(self, size: Any = None, *options: Any, **more: Any) -> Any:
        """Return uniform numbers.

        Args:
            size: How many; None for one float.
            *options: As NumPy has them.
            **more: As NumPy has them.
        """
        first, self._first = self._first, None
        if first is None:
            return super().random(size, *options, **more)
        if size is None:
            return first
        numbers = super().random(size, *options, **more)
        numbers.flat[:1] = first
        return numbers


@dataclass(frozen=True)
class Route:
    """One way to play a round and to learn from it.

    Attributes:
        name: What a message calls it.
        compiled: Whether the compiled loop plays it.
        late: Whether other rounds are played and learned from before its feedback comes.
        available: Which arms may be played; None for all.
        kind: What the learner is told of the graph, as in `Problem.graph_kind`.
        graph: The graph of the round.
    """

    name: str
    graph: FeedbackGraph
    compiled: bool = False
    late: bool = False
    available: Booleans | None = None
    kind: str = "fixed"

    def act(self, learner: Learner, context: int) -> Decision:
        """Return the decision of a learner in a context.

        Args:
            learner: The learner.
            context: The context.
        """
        graph = self.graph if self.kind == "informed" else None
        return learner.act(context, self.available, graph)

    def learn(self, learner: Learner, decision: Decision, rows: Floats) -> None:
        """Let a learner learn from what a decision revealed.

        Args:
            learner: The learner.
            decision: The decision.
            rows: The losses of all arms in all contexts (arms, contexts).
        """
        if self.kind == "uninformed":
            revealed = self.graph.out_neighbors(decision.arm)
            learner.learn(decision, rows[revealed], self.graph)
        else:
            learner.learn(decision, rows[list(decision.revealed)])


@dataclass(frozen=True)
class Enumerated:
    """What a round adds, with every arm that may be drawn.

    Attributes:
        policies: The policy of each context before the round (contexts, arms).
        later: The policy of the round's context when feedback came (arms,), for the last arm.
        probabilities: The probability of each arm that may be drawn (drawn,).
        added: What is added if it is drawn (drawn, contexts, arms).
    """

    policies: Floats
    later: Floats
    probabilities: Floats
    added: Floats

    @property
    def mean(self) -> Floats:
        """The expectation of what is added (contexts, arms)."""
        return np.asarray(np.einsum("i,icb->cb", self.probabilities, self.added))

    @property
    def variance(self) -> Floats:
        """The variance of what is added (contexts, arms)."""
        centred = np.square(self.added - self.mean)
        return np.asarray(np.einsum("i,icb->cb", self.probabilities, centred))


def clone(learner: Learner) -> Learner:
    """Return an independent copy of a learner.

    Args:
        learner: The learner.
    """
    graphs = (learner.graph, learner.problem.graph)
    # A copy of a read-only array can be written to, and kernels are not compiled for that.
    ranges = (ranges for graph in graphs for ranges in (graph.in_ranges, graph.out_ranges))
    arrays = (array for one in ranges for array in one)
    shared = (learner.problem, learner.algorithm, *graphs, *arrays)
    return copy.deepcopy(learner, {id(thing): thing for thing in shared})


def declared_on(algorithm: Algorithm, learner: Learner, graph: FeedbackGraph) -> Estimator | None:
    """Return what an algorithm declares for a round with this graph, with a learner's parameters.

    Args:
        algorithm: The algorithm.
        learner: A learner of it.
        graph: The graph of the round.
    """
    problem: Problem = learner.problem
    if problem.graph_kind != "fixed":
        names = {field.name for field in fields(cast("Any", algorithm))}
        tuned = {name: value for name, value in learner.tuned().items() if name in names}
        algorithm = replace(cast("Any", algorithm), **tuned)
        problem = problem.with_graph(graph, "fixed")
    return algorithm.estimator(problem)


def enumerated(
    learner: Learner, declared: Estimator, route: Route, context: int, rows: Floats
) -> Enumerated:
    """Play one round with every arm that may be drawn.

    Args:
        learner: The learner; it is not changed.
        declared: How its estimates are read.
        route: How the round is played.
        context: The context of the round.
        rows: The losses of the round (arms, contexts).

    Returns:
        What each arm adds.

    Raises:
        CheckFailedError: An arm with a positive probability is never drawn.
    """
    policies = np.array([learner.policy(c) for c in range(rows.shape[1])])
    policies[context] = own = learner.policy(context, route.available)
    arms = np.flatnonzero(own > 1e-6)
    added, later = [], own
    for arm in arms:
        for copied in _copies(learner, own, int(arm)):
            before = declared.estimates(copied)
            if route.compiled:
                played = _play_compiled(copied, route, context, rows)
                change = declared.estimates(copied) - before
            else:
                decision = route.act(copied, context)
                played = decision.arm
                change = declared.estimates(copied) - before
                later = _until_feedback(copied, route, context, rows)
                before = declared.estimates(copied)
                route.learn(copied, decision, rows)
                change = change + declared.estimates(copied) - before
            if played == arm:
                added.append(change)
                break
        else:
            raise CheckFailedError(
                f"The policy of context {context} gives arm {arm} the probability {own[arm]:.4g}, "
                f"but it was not drawn in {_ATTEMPTS} attempts. act must draw from policy."
            )
    return Enumerated(policies, later, own[arms] / own[arms].sum(), np.array(added))


def _copies(learner: Learner, policy: Floats, arm: int) -> Iterator[Learner]:
    """Yield copies that draw the arm by inversion, and then copies that draw at random."""
    middle = float(policy[:arm].sum() + policy[arm] / 2)
    for attempt in range(_ATTEMPTS):
        copied = clone(learner)
        cast("Any", copied).generator = Scripted(None if attempt else middle, attempt)
        yield copied


def _until_feedback(learner: Learner, route: Route, context: int, rows: Floats) -> Floats:
    """Play other rounds, if feedback is late; return the policy after them."""
    for step in range(_LATER if route.late else 0):
        decision = route.act(learner, (context + step) % rows.shape[1])
        route.learn(learner, decision, np.roll(rows, step, axis=0))
    return learner.policy(context, route.available)


def _play_compiled(learner: Any, route: Route, context: int, rows: Floats) -> int:
    available = None if route.available is None else route.available[None]
    numbers = np.array([context])
    rounds = Rounds.to_play(
        learner.problem.form.block(numbers, available),
        row_block(rows[None]),
        numbers,
        graphs=graph_block([route.graph]),
    )
    learner.simulate(rounds)
    return int(rounds.arms[0])
