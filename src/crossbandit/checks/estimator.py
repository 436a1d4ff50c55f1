"""Check that an algorithm adds to its estimates exactly what it declares."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.checks.comparison import Comparison
from crossbandit.checks.enumeration import declared_on, enumerate_outcomes
from crossbandit.errors import CheckFailedError
from crossbandit.graphs import FeedbackGraph, apple_tasting, revealing_action, singletons, threshold
from crossbandit.problem import Problem
from crossbandit.simulation.players import BatchPlayer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Algorithm, Decision, Estimator, Learner
    from crossbandit.types import Booleans, Floats

CONTEXTS = 2
HORIZON = 60
LAW = (0.7, 0.3)
_HISTORY = 10  # the least number of rounds before those that are enumerated


def check_estimator(algorithm: Algorithm, graph: FeedbackGraph | None = None) -> None:
    """Compare the mean and the variance of what one round adds with `Algorithm.estimator`.

    After a few rounds, every arm is drawn in every context, by the learner's own `act` and `learn`
    and by its compiled loop. The results are weighted with the exact probabilities, so nothing is
    random, and no tolerance is wider than rounding. This is repeated with late feedback, which must
    have the weights of the time of the decision; with some arms available; and with changing
    graphs, if the algorithm can play them.

    Args:
        algorithm: An algorithm that overrides `Algorithm.estimator`.
        graph: The graph, of few arms. If None: small graphs of each kind that it can play.

    Raises:
        CheckFailedError: What is added has another mean or variance, or nothing is declared. The
            message says where, and the likely mistake.

    >>> from crossbandit import graphs
    >>> from crossbandit.algorithms import Exp3IX
    >>> check_estimator(Exp3IX(), graphs.threshold(3))
    """
    for one in tiny_graphs(algorithm) if graph is None else [graph]:
        for kind in kinds_of(algorithm):
            played = prepare(algorithm, one, kind)
            for route in routes(algorithm, played.learner, played.graph, kind):
                for comparison in played.comparisons(route):
                    comparison.require()


def tiny_graphs(algorithm: Algorithm) -> list[FeedbackGraph]:
    """Return small graphs of each kind that an algorithm can play.

    Args:
        algorithm: The algorithm.
    """
    tiny = [threshold(3), apple_tasting()]
    if algorithm.needs_observability != "strong":
        tiny.append(revealing_action(3))
    return tiny


def kinds_of(algorithm: Algorithm) -> list[str]:
    """Return the kinds of graphs for which estimates are compared.

    Args:
        algorithm: The algorithm.
    """
    kinds = ["fixed"] if algorithm.needs_own_loss else ["fixed", "informed", "uninformed"]
    return [kind for kind in kinds if kind in algorithm.graph_kinds]


@dataclass(frozen=True)
class Route:
    """One way to play a round and to learn from it.

    Attributes:
        name: What a message calls it.
        compiled: Whether the compiled loop plays it.
        late: Whether other rounds are played and learned from before its feedback comes.
        available: Which arms may be played; None for all.
        kind: What the learner is told about the graph, as in `Problem.graph_kind`.
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


def routes(
    algorithm: Algorithm, learner: Learner, graph: FeedbackGraph, kind: str = "fixed"
) -> Iterator[Route]:
    """Yield the ways in which a round is played: prompt, compiled, late, with some arms.

    Args:
        algorithm: The algorithm.
        learner: A learner of it.
        graph: The graph of the round.
        kind: The kind of the problem's graph.
    """
    what = "" if kind == "fixed" else f", with {kind} graphs"
    seen: Any = {"graph": learner.graph if kind == "fixed" else graph, "kind": kind}
    yield Route(f"with prompt feedback{what}", **seen)
    compiled = isinstance(learner, BatchPlayer)
    if compiled:
        yield Route(f"in the compiled loop{what}", compiled=True, **seen)
    yield Route(f"with late feedback{what}", late=True, **seen)
    if algorithm.takes_availability and graph.arms > 2:
        for missing in (0, graph.arms - 1):
            mask = np.arange(graph.arms) != missing
            name = f"where arm {missing} is not available{what}"
            yield Route(name, available=mask, **seen)
            if compiled:
                yield Route(f"{name}, in the compiled loop", available=mask, compiled=True, **seen)


@dataclass(frozen=True)
class PreparedLearner:
    """A learner that has played some rounds, and what is declared for the next one.

    Attributes:
        learner: The learner.
        declared: The declaration of its algorithm.
        graph: The graph of each round.
        losses: The losses of the next two rounds (2, arms, contexts).
    """

    learner: Learner
    declared: Estimator
    graph: FeedbackGraph
    losses: Floats

    def comparisons(self, route: Route) -> Iterator[Comparison]:
        """Play the next round, or pair, in all contexts; yield what was found in each.

        Pairs have many outcomes. So some routes play them in two different contexts only.

        Args:
            route: How it is played.
        """
        now = self.declared.of_round(self.learner, route.available)
        rows = self.losses[: now.rounds]
        every = product(range(CONTEXTS), repeat=now.rounds)
        short = now.pairs is not None and (route.late or route.available is not None)
        for contexts in [(0, 1)] if short else every:
            found = enumerate_outcomes(self.learner, now, route, contexts, rows)
            yield Comparison(now, found, route, contexts, rows.transpose(0, 2, 1))


def prepare(algorithm: Algorithm, graph: FeedbackGraph, kind: str = "fixed") -> PreparedLearner:
    """Play some rounds of an algorithm, until it learns from what is revealed.

    Args:
        algorithm: The algorithm.
        graph: The graph of each round, of few arms.
        kind: The kind of the problem's graph.

    Returns:
        The learner after these rounds.

    Raises:
        CheckFailedError: Nothing is declared about its estimates.
    """
    if kind != "fixed":  # every arm must reveal itself: the edges that every round has
        graph = FeedbackGraph(graph.adjacency | np.eye(graph.arms, dtype=np.bool_))
    learner = algorithm.start(tiny_problem(graph, algorithm, kind), seed=1)
    declared = declared_on(algorithm, learner, graph)
    if declared is None:
        missing = "about its estimates" if kind == "fixed" else f"for the {kind} graph of a round"
        raise CheckFailedError(
            f"{type(algorithm).__name__} declares nothing {missing}. Override Algorithm.estimator, "
            "and return an Estimator. It must take the parameters that tuned returns."
        )
    losses = tiny_losses(graph.arms)
    route = Route("", graph, kind=kind)
    while learner.round < _HISTORY or (
        learner.round < HORIZON - 20 and not _learns(declared, learner)
    ):
        context = (learner.round // 3) % CONTEXTS
        route.learn(learner, route.act(learner, context), losses[learner.round - 1])
    return PreparedLearner(learner, declared, graph, losses[learner.round : learner.round + 2])


def tiny_losses(arms: int) -> Floats:
    """Return losses for the rounds of a tiny problem (rounds, arms, contexts).

    Args:
        arms: The number of arms.
    """
    losses: Floats = 0.1 + 0.8 * np.random.default_rng(0).random((HORIZON, arms, CONTEXTS))
    return losses


def tiny_problem(graph: FeedbackGraph, algorithm: Algorithm, kind: str = "fixed") -> Problem:
    """Return a problem with few contexts and a short horizon.

    Args:
        graph: The graph of each round.
        algorithm: The algorithm that is to play it.
        kind: The kind of the problem's graph.
    """
    return Problem(
        graph if kind == "fixed" else singletons(graph.arms),
        contexts=CONTEXTS,
        horizon=HORIZON,
        graph_kind=kind,
        context_distribution=LAW if algorithm.needs_context_distribution else None,
    )


def _learns(declared: Estimator, learner: Learner) -> bool:
    """Return whether the next round can add something, and begins a pair if there are pairs."""
    now = declared.of_round(learner)
    if learner.round % now.rounds:
        return False
    policies = np.array([learner.policy(c) for c in range(CONTEXTS)])
    return bool(any(now.share(policies, c).any() for c in range(CONTEXTS)))
