"""Check that an algorithm adds to its estimates exactly what it declares."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.checks.enumeration import (
    Enumeration,
    Route,
    declared_on,
    enumerate_outcomes,
    policies_of,
)
from crossbandit.errors import CheckFailedError
from crossbandit.graphs import FeedbackGraph, apple_tasting, revealing_action, singletons, threshold
from crossbandit.problem import Problem
from crossbandit.simulation.players import BatchPlayer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.algorithms import Algorithm, Estimator, Learner
    from crossbandit.types import Floats

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
    for comparison in comparisons(algorithm, tiny_graphs(algorithm) if graph is None else [graph]):
        comparison.require()


def tiny_graphs(algorithm: Algorithm) -> list[FeedbackGraph]:
    """Return small graphs of each kind that an algorithm can play."""
    tiny = [threshold(3), apple_tasting()]
    if algorithm.needs_observability != "strong":
        tiny.append(revealing_action(3))
    return tiny


def comparisons(algorithm: Algorithm, graphs: Sequence[FeedbackGraph]) -> Iterator[Comparison]:
    """Play a round, or a pair, on each graph, in each context and on each route."""
    kinds = ["fixed"] if algorithm.needs_own_loss else ["fixed", "informed", "uninformed"]
    for graph, kind in product(graphs, (kind for kind in kinds if kind in algorithm.graph_kinds)):
        learner, declared, played = prepare(algorithm, graph, kind)
        losses = tiny_losses(graph.arms)[learner.round :]
        for route in _routes(algorithm, learner, played, kind):
            now = declared.of_round(learner, route.available)
            rows = losses[: now.rounds]
            every = product(range(CONTEXTS), repeat=now.rounds)
            # Pairs have many outcomes. So some routes play them in two different contexts only.
            short = now.pairs is not None and (route.late or route.available is not None)
            for contexts in [(0, 1)] if short else every:
                found = enumerate_outcomes(learner, now, route, contexts, rows)
                yield Comparison(now, found, route, contexts, rows.transpose(0, 2, 1))


def _routes(
    algorithm: Algorithm, learner: Learner, graph: FeedbackGraph, kind: str
) -> Iterator[Route]:
    """Yield the ways in which a round is played: prompt, compiled, late, with some arms."""
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


class Prepared(NamedTuple):
    """A learner that has played some rounds, what its algorithm declares, and the graph."""

    learner: Learner
    declared: Estimator
    graph: FeedbackGraph


def prepare(algorithm: Algorithm, graph: FeedbackGraph, kind: str = "fixed") -> Prepared:
    """Play some rounds of an algorithm, until it learns from what is revealed."""
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
    return Prepared(learner, declared, graph)


def tiny_losses(arms: int) -> Floats:
    """Return losses for the rounds of a tiny problem (rounds, arms, contexts)."""
    losses: Floats = 0.1 + 0.8 * np.random.default_rng(0).random((HORIZON, arms, CONTEXTS))
    return losses


def tiny_problem(graph: FeedbackGraph, algorithm: Algorithm, kind: str = "fixed") -> Problem:
    """Return a problem with few contexts and a short horizon."""
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
    policies = policies_of(learner, CONTEXTS)
    return bool(any(now.share(policies, c).any() for c in range(CONTEXTS)))


# --- what was found, and what was declared -------------------------------------------------------

_OUT = (
    "Weights are by out-neighbors: divide by the probability that an in-neighbor is played, which "
    "reveals the arm."
)
_BANDIT = (
    "Weights are those of a bandit: divide by the probability that the arm is revealed, not that "
    "it is played."
)
_RECOMPUTED = (
    "Weights are computed when feedback comes. Fix them when the round is played, in play, and "
    "keep them in pending.weights."
)
_PLAYED_TWICE = "The loss of the arm played is counted twice."
_LATE = "Weights must be fixed when the round is played. Keep them in pending.weights."
_OTHER = (
    "The weight of a revealed loss must be share / P, where P is the probability that the policy "
    "of the round plays an in-neighbor."
)
_OTHER_PAIR = (
    "The weight of a revealed loss must be share / P, where P is the probability that the policy "
    "plays an in-neighbor in the round that is learned from, and that its feedback is kept."
)
_VARIANCE = (
    "The expectation is right. Does a loss that is not revealed count, or is a revealed one left "
    "out at random?"
)


@dataclass(frozen=True)
class Comparison:
    """What was found and what was declared; and which mistake explains a difference."""

    declared: Estimator
    found: Enumeration
    route: Route
    contexts: tuple[int, ...]
    losses: Floats  # (rounds, contexts, arms)

    @property
    def mean(self) -> Floats:
        """The declared expectation (contexts, arms)."""
        return self.declared.mean(self.found.policies, self.contexts, self.losses)

    @property
    def variance(self) -> Floats:
        """The declared variance (contexts, arms)."""
        return self.declared.variance(self.found.policies, self.contexts, self.losses)

    def require(self) -> None:
        """Raise CheckFailedError unless the two are the same."""
        for what, found, expected in (
            ("expectation", self.found.mean, self.mean),
            ("variance", self.found.variance, self.variance),
        ):
            place = _first_difference(found, expected)
            if place is not None:
                hint = self._mistake(expected) if what == "expectation" else _VARIANCE
                when = "A round in context {}"
                if len(self.contexts) > 1:
                    when = "A pair of rounds in the contexts {} and {}"
                raise CheckFailedError(
                    f"{when.format(*self.contexts)}, {self.route.name}, adds to arm {place[1]} in "
                    f"context {place[0]}: its {what} is {found[place]:.6g}, but "
                    f"{expected[place]:.6g} is declared. {hint}"
                )

    def _mistake(self, expected: Floats) -> str:
        """Return a sentence about the mistake that explains the expectation that was found."""
        for explained, sentence in self._mistakes(expected):
            if _first_difference(self.found.mean, explained) is None:
                return sentence
        if self.route.late:
            return _LATE
        return _OTHER if len(self.contexts) == 1 else _OTHER_PAIR

    def _mistakes(self, expected: Floats) -> Iterator[tuple[Floats, str]]:
        yield -expected, "The sign is wrong: losses are subtracted."
        yield 2.0 * expected, "Everything is counted twice."
        if len(self.contexts) > 1:
            return
        (context,), (losses,) = self.contexts, self.losses
        policy, crosses = self.found.policies[context], self.declared.cross_learning
        losses = losses - (self.declared.baseline or 0.0)
        edges = self.declared.graph.adjacency.astype(np.float64)
        observed, loops = policy @ edges, np.diag(edges)
        share = self.declared.share(self.found.policies, context)

        def in_contexts(added: Floats, *, everywhere: bool = crosses) -> Floats:
            own = np.zeros_like(added)
            own[context] = added[context]
            return added if everywhere else own

        fixed = expected - in_contexts(losses * share)

        def with_denominator(probability: Floats) -> Floats:
            denominator = np.divide(observed, share, out=np.ones_like(share), where=share > 0)
            total = probability + denominator - observed
            odds = np.divide(observed, total, out=np.zeros_like(total), where=total > 0)
            return in_contexts(losses * odds) + fixed

        if self.route.late:
            yield with_denominator(self.found.outcomes[-1].later @ edges), _RECOMPUTED
        yield with_denominator(edges @ policy), _OUT
        yield with_denominator(policy), _BANDIT
        twice = np.divide(policy * loops, observed, out=np.zeros_like(policy), where=observed > 0)
        yield in_contexts(losses * share * (1.0 + twice)) + fixed, _PLAYED_TWICE
        if crosses:
            own = in_contexts(expected, everywhere=False)
            yield own, "It is added in the round's own context only; cross_learning is True."
        else:
            yield losses * share, "It is added in all contexts; cross_learning is False."


def _first_difference(found: Floats, expected: Floats) -> tuple[int, ...] | None:
    """Return where two arrays differ by more than rounding; None if they do not."""
    allowed = 1e-8 * max(1.0, float(np.abs(expected).max(initial=0.0)))
    places = np.argwhere(~(np.abs(found - expected) <= allowed))
    return tuple(int(i) for i in places[0]) if len(places) else None
