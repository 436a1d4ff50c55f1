"""Everything that can happen in a round, or a pair of rounds, played by copies of a learner.

This is the only enumeration. `check_estimator` compares it with what an algorithm declares, and
`crossbandit verify` also with the paper's definition of Algorithm 2. It is also the only module
that replaces the random numbers of a learner.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from crossbandit.algorithms.learners.problem import Problem
from crossbandit.core.blocks import Rounds
from crossbandit.environments.environment import graph_block, row_block
from crossbandit.environments.simulation.players import BatchPlayer
from crossbandit.errors import CheckFailedError
from crossbandit.graphs import FeedbackGraph, apple_tasting, revealing_action, singletons, threshold
from crossbandit.graphs.graph import as_graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm, Decision, Estimator, Learner
    from crossbandit.core.types import Booleans, Floats

CONTEXTS = 2
HORIZON = 60
LAW = (0.7, 0.3)
_HISTORY = 10  # the least number of rounds before those that are enumerated
_ATTEMPTS = 2000  # how often to try if a learner does not draw its arm by one uniform number
_NEAR = 1e-12  # the distance of a uniform number from the threshold that it must be on one side of
_LATER = 6  # the number of rounds that are played before late feedback comes
_RARE = 1e-6  # arms that are played with a smaller probability are left out


def check_estimator(
    algorithm: Algorithm, graph: FeedbackGraph | npt.ArrayLike | None = None
) -> None:
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
    given = None if graph is None else [as_graph("check_estimator", graph)]
    for comparison in comparisons(algorithm, given or tiny_graphs(algorithm)):
        comparison.require()


# --- copies of a learner -------------------------------------------------------------------------


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


# --- one round, or one pair ----------------------------------------------------------------------


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

    def simulate(self, learner: Any, contexts: Sequence[int], rows: Floats) -> tuple[int, ...]:
        """Let the compiled loop play rounds; return the arms. `rows` (rounds, arms, contexts)."""
        numbers = np.array(contexts)
        available = None if self.available is None else np.tile(self.available, (len(numbers), 1))
        rounds = Rounds.to_play(
            learner.problem.form.block(numbers, available),
            row_block(rows),
            numbers,
            graphs=graph_block([self.graph] * len(numbers)),
        )
        learner.simulate(rounds)
        return tuple(int(arm) for arm in rounds.arms)


class Course(NamedTuple):
    """What can happen in a round or a pair."""

    contexts: tuple[int, ...]
    arms: tuple[int, ...]
    added: Floats  # (contexts, arms): what is added to the estimates
    later: Floats  # (arms,): the policy of the first context when feedback came
    learner: Learner  # after the round or pair
    chance: float = 1.0  # given the contexts
    side: int = 0  # which round of a pair is learned from
    kept: bool = True  # whether its feedback is kept


@dataclass(frozen=True, eq=False)
class Enumeration:
    """Everything that can happen in a round, or a pair, in given contexts.

    The learner does not change: copies of it play. `declared` says how its estimates are read, and
    how often the feedback of a pair is kept.
    """

    learner: Learner
    declared: Estimator
    route: Route
    contexts: tuple[int, ...]
    losses: Floats  # (rounds, contexts, arms)

    @cached_property
    def policies(self) -> Floats:
        """The policy of each context before the round (contexts, arms)."""
        policies = policies_of(self.learner, self.losses.shape[1])
        for context in set(self.contexts):
            policies[context] = self.learner.policy(context, self.route.available)
        return policies

    @cached_property
    def courses(self) -> list[Course]:
        """All courses. Raises CheckFailedError if an arm of the policy is never drawn."""
        courses = []
        likely = (np.flatnonzero(self.policies[c] > _RARE).tolist() for c in self.contexts)
        for arms in product(*likely):
            places = list(zip(self.contexts, arms, strict=True))
            drawn = [inside(self.policies[c], arm) for c, arm in places]
            chance = math.prod(float(self.policies[c, arm]) for c, arm in places)
            for part, side, kept, coins in self._coins(places):
                one = self._draw(arms, [*drawn, *coins])
                courses.append(one._replace(chance=part * chance, side=side, kept=kept))
        total = sum(one.chance for one in courses)
        return [one._replace(chance=one.chance / total) for one in courses]

    @property
    def mean(self) -> Floats:
        """The expectation of what is added (contexts, arms)."""
        return np.asarray(sum(one.chance * one.added for one in self.courses))

    @property
    def variance(self) -> Floats:
        """The variance of what is added (contexts, arms)."""
        mean = self.mean
        return np.asarray(sum(one.chance * (one.added - mean) ** 2 for one in self.courses))

    def play(self, numbers: Sequence[float], seed: int = 0) -> Course:
        """Let a copy of the learner play the rounds, with these uniform numbers first."""
        route, learner = self.route, scripted(self.learner, numbers, seed)
        rows, estimates = self.losses.transpose(0, 2, 1), self.declared.estimates
        added, later = -estimates(learner), np.empty(0)
        if route.compiled:
            arms = route.simulate(learner, self.contexts, rows)
        else:
            decisions = []
            for context, table in zip(self.contexts, rows, strict=True):
                decisions.append(route.act(learner, context))
                if not route.late:
                    route.learn(learner, decisions[-1], table)
            arms = tuple(decision.arm for decision in decisions)
            if route.late:
                added += estimates(learner)
                later = self._play_others(learner, rows[0])
                added -= estimates(learner)
                for decision, table in zip(decisions, rows, strict=True):
                    route.learn(learner, decision, table)
        added += estimates(learner)
        return Course(self.contexts, arms, added, later, learner)

    def _play_others(self, learner: Learner, rows: Floats) -> Floats:
        """Play other rounds before late feedback comes; return the policy after them."""
        context = self.contexts[0]
        for step in range(_LATER):
            decision = self.route.act(learner, (context + step) % rows.shape[1])
            self.route.learn(learner, decision, np.roll(rows, step, axis=0))
        return learner.policy(context, self.route.available)

    def _coins(
        self, places: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[float, int, bool, list[float]]]:
        """Yield the probability of what else a pair draws, what it is, and uniform numbers for it.

        The numbers are next to the declared thresholds, so a learner with other thresholds adds
        something else. The first number decides which round is learned from, the second whether
        its feedback is kept.
        """
        if self.declared.pairs is None:
            yield 1.0, 0, True, []
            return
        for side, split in enumerate((0.5 - _NEAR, 0.5 + _NEAR)):
            context, arm = places[side]
            kept = float(self.declared.pairs.kept(self.policies, context)[arm])
            if kept > _NEAR:
                yield 0.5 * kept, side, True, [split, kept - _NEAR]
            if kept < 1.0 - _NEAR:
                yield 0.5 * (1.0 - kept), side, False, [split, kept + _NEAR]

    def _draw(self, arms: tuple[int, ...], numbers: list[float]) -> Course:
        """Play the rounds with uniform numbers that draw these arms."""
        attempts, attempt = _ATTEMPTS if len(arms) == 1 else 1, 1
        found = self.play(numbers)
        while found.arms != arms and attempt < attempts:
            found, attempt = self.play([], attempt), attempt + 1
        if found.arms == arms:
            return found
        first = 0 if found.arms[0] != arms[0] else -1
        raise CheckFailedError(
            f"The policy of context {self.contexts[first]} gives arm {arms[first]} the probability "
            f"{self.policies[self.contexts[first], arms[first]]:.4g}, but it was not drawn in "
            f"{attempts} attempts. act must draw from policy."
        )


# --- tiny instances ------------------------------------------------------------------------------


def tiny_graphs(algorithm: Algorithm) -> list[FeedbackGraph]:
    """Return small graphs of each kind that an algorithm can play."""
    tiny = [threshold(3), apple_tasting()]
    if algorithm.needs_observability != "strong":
        tiny.append(revealing_action(3))
    return tiny


def tiny_losses(arms: int) -> Floats:
    """Return losses for the rounds of a tiny problem (rounds, arms, contexts)."""
    losses: Floats = 0.1 + 0.8 * np.random.default_rng(0).random((HORIZON, arms, CONTEXTS))
    return losses


def tiny_problem(graph: FeedbackGraph, algorithm: Algorithm, kind: Any = "fixed") -> Problem:
    """Return a problem with few contexts and a short horizon."""
    return Problem(
        graph if kind == "fixed" else singletons(graph.arms),
        contexts=CONTEXTS,
        horizon=HORIZON,
        graph_kind=kind,
        context_distribution=LAW if algorithm.needs_context_distribution else None,
    )


def declared_on(algorithm: Algorithm, learner: Learner, graph: FeedbackGraph) -> Estimator | None:
    """Return what an algorithm declares for rounds with this graph, with a learner's parameters."""
    problem: Problem = learner.problem
    if problem.graph_kind != "fixed":
        names = {field.name for field in fields(cast("Any", algorithm))}
        tuned = {name: value for name, value in learner.tuned().items() if name in names}
        algorithm = replace(cast("Any", algorithm), **tuned)
        problem = problem.with_graph(graph, "fixed")
    return algorithm.estimator(problem)


def prepare(
    algorithm: Algorithm, graph: FeedbackGraph, kind: Any = "fixed"
) -> tuple[Learner, Estimator]:
    """Play some rounds, until the learner learns from them; return it, and what is declared."""
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
    return learner, declared


def _learns(declared: Estimator, learner: Learner) -> bool:
    """Return whether the next round can add something, and begins a pair if there are pairs."""
    now = declared.of_round(learner)
    if learner.round % now.rounds:
        return False
    policies = policies_of(learner, CONTEXTS)
    return bool(any(now.share(policies, c).any() for c in range(CONTEXTS)))


def comparisons(algorithm: Algorithm, graphs: Sequence[FeedbackGraph]) -> Iterator[ComparedRound]:
    """Play a round, or a pair, on each graph, in each context and on each route."""
    kinds = ["fixed"] if algorithm.needs_own_loss else ["fixed", "informed", "uninformed"]
    for graph, kind in product(graphs, (kind for kind in kinds if kind in algorithm.graph_kinds)):
        played = graph
        if kind != "fixed":  # every arm must reveal itself: the edges that every round has
            played = FeedbackGraph(graph.adjacency | np.eye(graph.arms, dtype=np.bool_))
        learner, declared = prepare(algorithm, played, kind)
        losses = tiny_losses(graph.arms)[learner.round :].transpose(0, 2, 1)
        for route in _routes(algorithm, learner, played, kind):
            now = declared.of_round(learner, route.available)
            every = product(range(CONTEXTS), repeat=now.rounds)
            # Pairs have many courses. So some routes play them in two different contexts only.
            short = now.pairs is not None and (route.late or route.available is not None)
            for contexts in [(0, 1)] if short else every:
                yield ComparedRound(learner, now, route, contexts, losses[: now.rounds])


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


class ComparedRound(Enumeration):
    """What was found beside what was declared, and which mistake explains a difference."""

    @property
    def declared_mean(self) -> Floats:
        """The declared expectation of what is added (contexts, arms)."""
        return self.declared.mean(self.policies, self.contexts, self.losses)

    @property
    def declared_variance(self) -> Floats:
        """The declared variance of what is added (contexts, arms)."""
        return self.declared.variance(self.policies, self.contexts, self.losses)

    def require(self) -> None:
        """Raise CheckFailedError unless the two are the same."""
        for what, found, expected in (
            ("expectation", self.mean, self.declared_mean),
            ("variance", self.variance, self.declared_variance),
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
            if _first_difference(self.mean, explained) is None:
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
        policy, crosses = self.policies[context], self.declared.cross_learning
        losses = losses - (self.declared.baseline or 0.0)
        edges = self.declared.graph.adjacency.astype(np.float64)
        observed, loops = policy @ edges, np.diag(edges)
        share = self.declared.share(self.policies, context)

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
            yield with_denominator(self.courses[-1].later @ edges), _RECOMPUTED
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
