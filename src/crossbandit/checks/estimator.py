"""Check that what an algorithm adds to its estimates is what it declares, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.checks.enumeration import Enumerated, Route, declared_on, enumerated
from crossbandit.errors import CheckFailedError
from crossbandit.graphs import FeedbackGraph, apple_tasting, revealing_action, singletons, threshold
from crossbandit.problem import Problem
from crossbandit.simulation.players import BatchPlayer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Algorithm, Estimator, Learner
    from crossbandit.types import Floats

_CONTEXTS = 2
_HISTORY = 9  # rounds before the one that is enumerated
_LAW = [0.7, 0.3]

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
_VARIANCE = (
    "The expectation is right. Does a loss that is not revealed count, or is a revealed one left "
    "out at random?"
)


def check_estimator(algorithm: Algorithm, graph: FeedbackGraph | None = None) -> None:
    """Check the mean and the variance of what one round adds, against `Algorithm.estimator`.

    After a few rounds, every arm is drawn in every context, through the learner's own `act` and
    `learn` and by its compiled loop. The results are weighted with the exact probabilities, so
    nothing here is random, and no tolerance is wider than rounding. This is repeated with late
    feedback, where weights must be those of the time of the decision; with some arms available;
    and with changing graphs, where the algorithm plays them.

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
    tiny = [threshold(3), apple_tasting()]
    if algorithm.needs_observability != "strong":
        tiny.append(revealing_action(3))
    for one in tiny if graph is None else [graph]:
        problem = _problem(one, algorithm, "fixed")
        if algorithm.estimator(problem) is None:
            raise CheckFailedError(
                f"{type(algorithm).__name__} declares nothing about its estimates. Override "
                "Algorithm.estimator, and return an Estimator."
            )
        for kind in ("fixed", "informed", "uninformed"):
            if kind in algorithm.graph_kinds and not (algorithm.needs_own_loss and kind != "fixed"):
                _check_kind(algorithm, one, kind)


def _problem(graph: FeedbackGraph, algorithm: Algorithm, kind: str) -> Problem:
    return Problem(
        graph if kind == "fixed" else singletons(graph.arms),
        contexts=_CONTEXTS,
        horizon=60,
        graph_kind=kind,
        context_distribution=_LAW if algorithm.needs_context_distribution else None,
    )


def _check_kind(algorithm: Algorithm, graph: FeedbackGraph, kind: str) -> None:
    if kind != "fixed":  # every arm must reveal itself: the edges that every round has
        graph = FeedbackGraph(graph.adjacency | np.eye(graph.arms, dtype=np.bool_))
    losses = 0.1 + 0.8 * np.random.default_rng(0).random((_HISTORY + 1, graph.arms, _CONTEXTS))
    learner = algorithm.start(_problem(graph, algorithm, kind), seed=1)
    first = Route("", graph, kind=kind)
    for t in range(_HISTORY):
        first.learn(learner, first.act(learner, t % _CONTEXTS), losses[t])
    declared = declared_on(algorithm, learner, graph)
    if declared is None:
        raise CheckFailedError(
            f"{type(algorithm).__name__} declares nothing for the {kind} graph of a round. "
            "estimator must take the parameters that tuned returns."
        )
    for route in _routes(algorithm, learner, graph, kind):
        for context in range(_CONTEXTS):
            found = enumerated(learner, declared, route, context, losses[-1])
            _Comparison(declared, found, route, context, losses[-1].T).require()


def _routes(
    algorithm: Algorithm, learner: Learner, graph: FeedbackGraph, kind: str
) -> Iterator[Route]:
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
class _Comparison:
    """What was found, beside what was declared; and what would explain the difference."""

    declared: Estimator
    found: Enumerated
    route: Route
    context: int
    losses: Floats  # (contexts, arms)

    def require(self) -> None:
        """Raise CheckFailedError unless the two are the same."""
        of_round = (self.found.policies, self.context, self.losses)
        mean, variance = self.declared.mean(*of_round), self.declared.variance(*of_round)
        place = _first_difference(self.found.mean, mean)
        if place is not None:
            self._fail("expectation", self.found.mean, mean, place, self._mistake(mean))
        place = _first_difference(self.found.variance, variance)
        if place is not None:
            self._fail("variance", self.found.variance, variance, place, _VARIANCE)

    def _fail(
        self, what: str, found: Floats, expected: Floats, place: tuple[int, ...], hint: str
    ) -> None:
        raise CheckFailedError(
            f"A round in context {self.context}, {self.route.name}, adds to arm {place[1]} in "
            f"context {place[0]}: its {what} is {found[place]:.6g}, and declared is "
            f"{expected[place]:.6g}. {hint}"
        )

    def _mistake(self, expected: Floats) -> str:
        """Return a sentence about the mistake that explains the expectation that was found."""
        for explained, sentence in self._mistakes(expected):
            if _first_difference(self.found.mean, explained) is None:
                return sentence
        return _LATE if self.route.late else _OTHER

    def _mistakes(self, expected: Floats) -> Iterator[tuple[Floats, str]]:
        policy, graph = self.found.policies[self.context], self.declared.graph
        yield -expected, "The sign is wrong: losses are subtracted."
        yield 2.0 * expected, "Everything is counted twice."
        edges = graph.adjacency.astype(np.float64)
        observed, loops = policy @ edges, np.diag(edges)
        share = self.declared.share(self.found.policies, self.context)
        fixed = expected - self._in_contexts(self.losses * share)

        def with_denominator(probability: Floats) -> Floats:
            denominator = np.divide(observed, share, out=np.ones_like(share), where=share > 0)
            total = probability + denominator - observed
            odds = np.divide(observed, total, out=np.zeros_like(total), where=total > 0)
            return self._in_contexts(self.losses * odds) + fixed

        if self.route.late:
            yield with_denominator(self.found.later @ edges), _RECOMPUTED
        yield with_denominator(edges @ policy), _OUT
        yield with_denominator(policy), _BANDIT
        twice = np.divide(policy * loops, observed, out=np.zeros_like(policy), where=observed > 0)
        yield self._in_contexts(self.losses * share * (1.0 + twice)) + fixed, _PLAYED_TWICE
        if self._crosses:
            own = np.zeros_like(expected)
            own[self.context] = expected[self.context]
            yield own, "It is added in the round's own context only; cross_learning is True."
        else:
            everywhere = self.losses * share
            yield everywhere, "It is added in all contexts; cross_learning is False."

    @property
    def _crosses(self) -> bool:
        return self.declared.cross_learning

    def _in_contexts(self, added: Floats) -> Floats:
        own = np.zeros_like(added)
        own[self.context] = added[self.context]
        return added if self._crosses else own


def _first_difference(found: Floats, expected: Floats) -> tuple[int, ...] | None:
    """Return where two arrays differ by more than rounding; None where they do not."""
    allowed = 1e-8 * max(1.0, float(np.abs(expected).max(initial=0.0)))
    places = np.argwhere(~(np.abs(found - expected) <= allowed))
    return tuple(int(i) for i in places[0]) if len(places) else None
