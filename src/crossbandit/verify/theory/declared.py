"""Algorithms of the FTRL kind that declare their estimator: the terms of their regret, and checks.

A node is the moment before a round, or before a pair of rounds if the algorithm learns from pairs.
From there, copies of the learner play everything that can be drawn, in every context; one of them
goes on. All checks are about distributions given a node, so no check is weaker for it, and for a
right algorithm, equalities hold up to rounding.

If policies, arms and the expectation of the estimate are those declared, then the terms of the
regret add up, and noise has mean 0, by arithmetic. So these have no checks.

The regret has the terms exploration, bias, noise, stability and penalty: see `decomposition`. With
the rate eta of the round and Z = sum_a p(a) exp(-eta lhat(a)), the last two are

    <p, lhat> + log(Z) / eta,       stability: at most eta / 2 <p, lhat^2> if lhat >= 0
    -log(Z) / eta - <e, lhat>,      penalty: adds up to at most log(K) / (last eta), if no rate is
                                    above the one before it.

The penalty telescopes: with F(L, eta) = -log(mean_a exp(-eta L(a))) / eta, -log(Z) / eta is
F(L + lhat, eta) - F(L, eta); F falls in eta, F(0, eta) = 0 and F(L, eta) <= L(e) + log(K) / eta.
For an algorithm that learns from pairs of rounds, a pair takes the place of a round, and l is the
sum of its losses. With cross-learning, each term is averaged over all contexts with their
probabilities. Without it, only the context of a round counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.core.streams import stream
from crossbandit.core.validation import reject, verbatim
from crossbandit.errors import CheckFailedError, InvalidParameterError
from crossbandit.verify.checks.enumeration import (
    CONTEXTS,
    HORIZON,
    LAW,
    ComparedRound,
    Route,
    ScriptedGenerator,
    comparisons,
    declared_on,
    drawn_at_edges,
    policies_of,
    prepare,
    tiny_graphs,
    tiny_losses,
    tiny_problem,
)
from crossbandit.verify.theory.statements import (
    CheckProgress,
    CheckResult,
    Differences,
    Effort,
    failed,
    until_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crossbandit.algorithms import Algorithm, Estimator, Learner
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats, Integers
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.verify.checks.enumeration import Course
    from crossbandit.verify.theory.implementation import EnvironmentView

# How many rounds or pairs follow one another. A pair has many more courses than a round.
_STEPS = {Effort.QUICK: 4, Effort.FULL: 18}
_PAIRS = {Effort.QUICK: 2, Effort.FULL: 9}
_EDGE = 1e-9  # the distance of a probing uniform number from the end of an arm's interval
_ROUNDING = 1e-10
_TOLERANCE = 1e-8  # of policies on long runs


# --- the terms of the regret -------------------------------------------------------------------


def declared_terms(
    algorithm: Algorithm, view: EnvironmentView, seeds: Sequence[Seed]
) -> tuple[Integers, Floats]:
    """Play once for each seed; return the rounds after each step of learning, and what it adds.

    That is what it adds to each term and to the regret (seeds, steps, terms + 1).
    """
    problem = view.environment.problem
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution(view.nu)
    learners = [algorithm.start(problem, seed=seed) for seed in seeds]
    declared = declared_on(algorithm, learners[0], problem.graph)
    if declared is None or problem.graph_kind == "unknown" or problem.graph_by_context:
        expected = "a CrossGraph, or an algorithm that declares its estimator for such graphs"
        reject("decompose", "algorithm", expected, algorithm)
    runs = [_run(learner, view, seed) for learner, seed in zip(learners, seeds, strict=True)]
    steps = np.arange(0, view.horizon, declared.rounds) + declared.rounds
    return steps, np.array(runs)


def _run(learner: Learner, view: EnvironmentView, seed: Seed) -> list[Floats]:
    """Return what each step adds to the terms and to the regret."""
    contexts = view.environment.context_distribution.draw(stream(seed, "contexts"), view.horizon)
    steps: list[Floats] = []
    while learner.round < view.horizon:
        first = learner.round
        graphs, declared = _declared(learner, view, first)
        before = FtrlState.of(learner, declared[0])
        before.require_policies(learner)
        rounds = range(first, min(first + declared[0].rounds, view.horizon))
        losses = [view.losses(t) for t in rounds]
        for t, graph, own in zip(rounds, graphs, losses, strict=False):
            route = Route("", graph, kind=learner.problem.graph_kind)
            route.learn(learner, route.act(learner, int(contexts[t])), own.rows)
        crosses = declared[0].cross_learning
        counts = view.nu if crosses else np.eye(len(view.nu))[int(contexts[first])]
        tables = np.array([own.table for own in losses])
        mean = np.zeros_like(tables[0])
        if len(rounds) == declared[0].rounds:  # nothing is learned from a last round without a pair
            mean = expected_input(declared, before.policies, counts, tables)
        best = np.eye(tables.shape[2])[view.comparator]
        steps.append(before.terms(best, tables, mean, declared[0].estimates(learner)) @ counts)
    return steps


def _declared(
    learner: Learner, view: EnvironmentView, first: int
) -> tuple[Sequence[FeedbackGraph], Sequence[Estimator]]:
    """Return the graphs of a round and of the one after it, and what is declared for them."""
    algorithm, graphs = learner.algorithm, [learner.graph] * 2
    if learner.problem.graph_kind != "fixed":
        environment: Any = view.environment
        graphs = [environment.graph(t) for t in (first, min(first + 1, view.horizon - 1))]
    declared = [declared_on(algorithm, learner, graph) for graph in graphs]
    known = [one.of_round(learner) for one in declared if one is not None]
    if len(known) < len(graphs):
        graph = graphs[declared.index(None)]
        raise CheckFailedError(f"{type(algorithm).__name__} declares no estimator for {graph}.")
    return graphs, known


def expected_input(
    declared: Sequence[Estimator], policies: Floats, counts: Floats, losses: Floats
) -> Floats:
    """Return the declared expectation of what is added, also over contexts (contexts, arms).

    `counts` are the probabilities of the contexts, `losses` those of each round (rounds, contexts,
    arms); `declared` is for each of these rounds.
    """
    mean = [
        share * one.mean(policies, int(c), table)
        for one, table in zip(declared, losses, strict=False)
        for c, share in enumerate(counts)
        if share > 0
    ]
    return np.asarray(np.sum(mean, axis=0) / len(losses))


class FtrlState(NamedTuple):
    """The state before a round, or a pair."""

    declared: Estimator
    estimates: Floats  # (contexts, arms): the sums of estimates
    rates: Floats  # (contexts,): the learning rates
    weights: Floats  # (contexts, arms): the distributions p of FTRL
    policies: Floats  # (contexts, arms): q

    @classmethod
    def of(cls, learner: Learner, declared: Estimator) -> FtrlState:
        """Return the state before the next round of a learner."""
        estimates = declared.estimates(learner)
        contexts = len(estimates)
        rates = np.broadcast_to(declared.rate(learner), contexts)
        weights, policies = declared.ftrl(learner), policies_of(learner, contexts)
        return cls(declared, estimates, rates, weights, policies)

    def expected_policies(self, learner: Learner) -> Floats:
        """Return the policies that follow from FTRL and the declaration (contexts, arms).

        If the declaration has no policy, the policies must mix FTRL with one distribution. Its
        weight and the distribution are those that fit the first context best.
        """
        if self.declared.policy is not None:
            return self.declared.policy(learner, self.weights)
        differences = self.weights - self.weights[0]
        scale = float((differences**2).sum())
        if scale > _TOLERANCE**2:
            kept = float(((self.policies - self.policies[0]) * differences).sum()) / scale
        else:  # FTRL is the same in all contexts: take the largest possible weight
            kept = float((self.policies[0] / self.weights[0]).min())
        mixed = np.clip(self.policies[0] - kept * self.weights[0], 0.0, None)
        expected: Floats = kept * self.weights + mixed
        return expected

    def require_policies(self, learner: Learner) -> None:
        """Raise CheckFailedError unless the policies are those that are declared."""
        gap = np.abs(self.policies - self.expected_policies(learner)).max()
        if not gap <= _TOLERANCE:
            raise CheckFailedError(
                f"The policies of {type(learner.algorithm).__name__} in round {learner.round} are "
                "not FTRL with the rate, the estimates and the exploration that it declares. So "
                "their regret cannot be split into these terms."
            )

    def terms(self, best: Floats, losses: Floats, mean: Floats, after: Floats) -> Floats:
        """Return each term, and the regret, in each context (terms + 1, contexts).

        `losses` are those of each round (rounds, contexts, arms), `mean` the declared expectation
        of what is added, and `after` the sums of estimates after the rounds.
        """
        p, q = self.weights, self.policies
        summed, added = losses.sum(axis=0), after - self.estimates
        gap, normaliser = p - best, self._normaliser(added)
        return np.array(
            [
                ((q - p) * summed).sum(axis=1),
                (gap * (summed - mean)).sum(axis=1),
                (gap * (mean - added)).sum(axis=1),
                (p * added).sum(axis=1) + normaliser,
                -normaliser - (best * added).sum(axis=1),
                ((q - best) * summed).sum(axis=1),
            ]
        )

    def _normaliser(self, added: Floats) -> Floats:
        """Return log(Z) / eta; its limit where eta is 0."""
        least = added.min(axis=1, keepdims=True)
        rates = self.rates[:, None]
        z = (self.weights * np.exp(-rates * (added - least))).sum(axis=1)
        limit = -(self.weights * added).sum(axis=1)
        safe = np.where(self.rates > 0, self.rates, 1.0)
        normaliser: Floats = np.where(self.rates > 0, np.log(z) / safe - least[:, 0], limit)
        return normaliser


# --- states ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class DeclaredNode:
    """A moment before a round or a pair: the learner, and what it declares."""

    learner: Learner
    declared: Estimator  # the estimator of the next round
    tables: Floats  # (rounds, contexts, arms): the losses

    @cached_property
    def before(self) -> FtrlState:
        """FTRL and the policies before the round."""
        return FtrlState.of(self.learner, self.declared)

    @cached_property
    def comparisons(self) -> list[ComparedRound]:
        """The enumeration and the declaration, for all contexts of the round or the pair."""
        route = Route("with prompt feedback", self.learner.graph)
        return [
            ComparedRound(self.learner, self.declared, route, contexts, self.tables)
            for contexts in product(range(CONTEXTS), repeat=self.declared.rounds)
        ]

    @cached_property
    def courses(self) -> list[tuple[float, Course]]:
        """Everything that can happen, with its probability given this node."""
        return [
            (one.chance * math.prod(LAW[c] for c in one.contexts), one)
            for comparison in self.comparisons
            for one in comparison.courses
        ]

    def second_moment(self) -> float:
        """Return the mean of sum_a p(a) lhat(a)^2 over contexts; or that of the worst context."""
        moments = np.zeros(CONTEXTS)
        for chance, one in self.courses:
            local = (self.before.weights * one.added**2).sum(axis=1)
            if self.declared.cross_learning:
                moments += chance * float(local @ np.array(LAW))
            else:
                first = one.contexts[0]
                moments[first] += chance * float(local[first]) / LAW[first]
        return float(moments.max())


def states(algorithm: Algorithm, graph: FeedbackGraph, steps: int) -> Iterator[DeclaredNode]:
    """Yield the first nodes of an instance, and nodes after some rounds of learning."""
    prepared, declaration = prepare(algorithm, graph)
    first = algorithm.start(tiny_problem(graph, algorithm), seed=1)
    tables, drawn = tiny_losses(graph.arms).transpose(0, 2, 1), np.random.default_rng(1)
    tables[:, 1] = 1.0 - tables[:, 0]  # the contexts disagree about the best arm
    for learner in (first, prepared):
        reached = learner
        for _ in range(steps):
            declared = declaration.of_round(reached)
            own = tables[reached.round : reached.round + declared.rounds]
            node = DeclaredNode(reached, declared, own)
            yield node
            chances = np.array([chance for chance, _ in node.courses])
            reached = node.courses[drawn.choice(chances.size, p=chances / chances.sum())][1].learner


# --- the lines -----------------------------------------------------------------------------------


def _policy_lines(_: Algorithm, nodes: list[DeclaredNode]) -> Iterator[CheckResult]:
    """Yield whether policies are FTRL with exploration, and whether arms are drawn from them."""
    policies, drawn = Differences(), Differences()
    for node in nodes:
        policies.compare(node.before.policies, node.before.expected_policies(node.learner))
        for arm, expected in drawn_at_edges(node.learner, node.before.policies, _EDGE):
            drawn.compare(arm, expected)
    kind = "as declared" if nodes[0].declared.policy is not None else "any, alike in all contexts"
    yield policies.result(
        "Policies",
        f"the policy of every context, against FTRL on the estimates with exploration ({kind})",
        "FTRL has the negative entropy as regulariser: p ~ exp(-rate * estimates).",
    )
    if not nodes[0].learner.samples_only:
        yield drawn.result(
            "Arms", "which arm a uniform number draws, at both ends of its interval in the policy"
        )


def _estimate_lines(algorithm: Algorithm, nodes: list[DeclaredNode]) -> Iterator[CheckResult]:
    """Yield whether what a round adds has its declared mean and variance, on every route."""
    prompt = [comparison for node in nodes for comparison in node.comparisons]
    mean, variance = Differences(_ROUNDING), Differences(_ROUNDING)
    for one in prompt:
        mean.compare(one.mean, one.declared_mean)
        variance.compare(one.variance, one.declared_variance)
    yield mean.result(
        "Expectation of the estimate",
        "mean over all that is drawn of what a round adds, against its declaration",
        _mistake(prompt),
    )
    yield variance.result(
        "Variance of the estimate",
        "variance over all that is drawn of what a round adds, against its declaration",
    )
    by_route: dict[str, list[ComparedRound]] = {}
    for one in comparisons(algorithm, tiny_graphs(algorithm)):
        by_route.setdefault(_name(one.route), []).append(one)
    by_route.pop("", None)
    for name, found in by_route.items():
        both = Differences(_ROUNDING)
        for one in found:
            both.compare(one.mean, one.declared_mean)
            both.compare(one.variance, one.declared_variance)
        checked = f"mean and variance of what a round adds, {name}, against its declaration"
        yield both.result(f"Estimate {name}", checked, _mistake(found))


def _name(route: Route) -> str:
    if route.kind != "fixed":
        return "on changing graphs"
    if route.available is not None:
        return "with some arms available"
    if route.late:
        return "with late feedback"
    return "in the compiled loop" if route.compiled else ""


def _mistake(found: Iterable[ComparedRound]) -> str:
    """Return the first difference and the likely mistake; nothing if all is right."""
    for one in found:
        try:
            one.require()
        except CheckFailedError as error:
            return str(error)
    return ""


def _moment_lines(_: Algorithm, nodes: list[DeclaredNode]) -> Iterator[CheckResult]:
    """Yield the second moment of the estimate, against the bound that is declared for it."""
    bounded = [node for node in nodes if node.declared.second_moment is not None]
    ratios = [
        node.second_moment() / (node.declared.second_moment or 1.0) for node in bounded or nodes
    ]
    worst = max(ratios)
    yield CheckResult(
        statement="Second moment of the estimate",
        checked="mean of sum_a p(a) lhat(a)^2, over all that is drawn, against its declared bound",
        instances=len(ratios),
        worst=f"left/right at most {worst:.3g}" if bounded else f"largest moment {worst:.3g}",
        passed=not bounded or worst <= 1.0 + _ROUNDING,
        judged=bool(bounded),
        note="" if bounded else "No bound is declared (Estimator.second_moment).",
    )


def _epoch_lines(algorithm: Algorithm, nodes: list[DeclaredNode]) -> Iterator[CheckResult]:
    """Yield whether the weights of an epoch are those of the rounds counted for it."""
    if nodes[0].declared.pairs is None:
        return
    masses = Differences(_ROUNDING)
    for graph in tiny_graphs(algorithm):
        for found, expected in counted_masses(algorithm, graph):
            masses.compare(found, expected)
    yield masses.result(
        "Observation probability of an epoch",
        "2 / weight of each arm, against the mean over the frequency rounds of the epoch before, "
        "plus the declared shift",
    )


def counted_masses(algorithm: Algorithm, graph: FeedbackGraph) -> Iterator[tuple[Floats, Floats]]:
    """Yield 2 / weight at the beginning of epochs, and what it must be, for each arm.

    The learner is given the numbers that say which round of a pair is learned from, so the contexts
    of the other rounds, the frequency rounds, are known. If these are f_1, ..., f_n and r is the
    snapshot of the epoch, 2 / weight(a) is the mean of r_{f_i}(N_in(a)) / 2 plus the shift.
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
            policies = policies_of(learner, CONTEXTS)
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


_FAILURE = CheckResult(
    statement="Enumeration",
    checked="whether all that the learner can draw can be played",
    instances=1,
    worst="the check ended with an error",
    passed=False,
)
LINES: tuple[Callable[[Algorithm, list[DeclaredNode]], Iterator[CheckResult]], ...] = (
    _policy_lines,
    _estimate_lines,
    _moment_lines,
    _epoch_lines,
)


def verify_declared(
    algorithm: Algorithm,
    effort: Effort,
    only: str = "",
    progress: Callable[[CheckProgress], None] | None = None,
) -> list[CheckResult]:
    """Check an algorithm against what it declares; return the lines that contain `only`.

    An error within a check is a line that failed. Raises InvalidParameterError if the algorithm
    declares no estimator, or if no line contains `only`.
    """
    graphs, steps = tiny_graphs(algorithm), _STEPS[effort]
    for graph in graphs:
        declared = algorithm.estimator(tiny_problem(graph, algorithm))
        if declared is None:
            expected = "a CrossGraph, or an algorithm that declares its estimator"
            got = verbatim(f"{algorithm}, which declares none for {graph}")
            reject("verify", "subject", expected, got)
        if declared.pairs is not None:
            steps = _PAIRS[effort]
    try:
        nodes = [node for graph in graphs for node in states(algorithm, graph, steps)]
    except Exception as error:  # noqa: BLE001 - any error of a wrong algorithm is a result
        return [failed(_FAILURE, error)]
    results: list[CheckResult] = []
    for done, lines in enumerate(LINES):
        results += until_error(lines(algorithm, nodes), _FAILURE)
        if progress is not None:
            progress(CheckProgress(done + 1, len(LINES)))
    chosen = [one for one in results if only.lower() in one.statement.lower() or not one.passed]
    if not chosen:
        names = "; ".join(one.statement for one in results)
        raise InvalidParameterError(f"No line contains {only!r}. The lines are: {names}.")
    return chosen
