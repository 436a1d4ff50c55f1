"""Checks of declared estimators by enumeration, for any algorithm of the FTRL kind.

A node is the moment before a round, or before a pair of rounds if the algorithm learns from pairs.
From there, copies of the learner play everything that can be drawn, in every context. Only some of
the following nodes are continued. All checks are about distributions given a node, so no check is
weaker for it. Nothing is random, and for a right algorithm, equalities hold up to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.checks.enumeration import (
    Route,
    ScriptedGenerator,
    declared_on,
    drawn_at_edges,
    enumerate_outcomes,
    policies_of,
    spread,
)
from crossbandit.checks.estimator import (
    CONTEXTS,
    HORIZON,
    LAW,
    Comparison,
    comparisons,
    prepare,
    tiny_graphs,
    tiny_losses,
    tiny_problem,
)
from crossbandit.errors import CheckFailedError, InvalidParameterError
from crossbandit.theory.decomposition import FtrlState, expected_input
from crossbandit.theory.statements import (
    CheckProgress,
    CheckResult,
    Differences,
    Effort,
    error_note,
)
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crossbandit.algorithms import Algorithm, Estimator, Learner
    from crossbandit.checks.enumeration import Outcome
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.types import Floats

# Depth and width of the trees. A pair has many more outcomes than a round.
_SIZES = {Effort.QUICK: (2, 3), Effort.FULL: (5, 8)}
_OF_PAIRS = {Effort.QUICK: (2, 1), Effort.FULL: (4, 4)}
_EDGE = 1e-9  # the distance of a probing uniform number from the end of an arm's interval
_ROUNDING = 1e-10
_NU = np.array(LAW)


class _PathSums(NamedTuple):
    """The sums over a path so far, in each context."""

    penalty: Floats  # (contexts,)
    rates: Floats  # (contexts,): of the round before
    falling: bool  # whether no rate was above the one before it


@dataclass(eq=False)
class Node:
    """A moment before a round or a pair: the learner, and what it declares."""

    learner: Learner
    declared: Estimator  # the estimator of the next round
    tables: Floats  # (rounds, contexts, arms): the losses
    best: Floats  # (contexts, arms): 1 for the best arm of each context
    past: _PathSums

    @cached_property
    def before(self) -> FtrlState:
        """FTRL and the policies before the round."""
        return FtrlState.of(self.learner, self.declared)

    @cached_property
    def comparisons(self) -> dict[tuple[int, ...], Comparison]:
        """The enumeration and the declaration, for all contexts of the round or the pair."""
        route = Route("with prompt feedback", self.learner.graph)
        rows, found = self.tables.transpose(0, 2, 1), {}
        for contexts in product(range(CONTEXTS), repeat=self.declared.rounds):
            every = enumerate_outcomes(self.learner, self.declared, route, contexts, rows)
            found[contexts] = Comparison(self.declared, every, route, contexts, self.tables)
        return found

    @cached_property
    def outcomes(self) -> list[tuple[float, Outcome, Floats]]:
        """Everything that can happen, with its probability given this node, and its terms.

        These are the terms of the regret, and the regret, in each context (terms + 1, contexts).
        """
        rounds, outcomes = [self.declared] * self.declared.rounds, []
        for contexts, comparison in self.comparisons.items():
            counts = self.counts(contexts)
            mean = expected_input(rounds, self.before.policies, counts, self.tables)
            of_contexts = float(np.prod(_NU[list(contexts)]))
            for one in comparison.found.outcomes:
                after = self.before.estimates + one.added
                terms = self.before.terms(self.best, self.tables, mean, after)
                outcomes.append((one.chance * of_contexts, one, terms))
        return outcomes

    def counts(self, contexts: tuple[int, ...]) -> Floats:
        """Return each context's probability; without cross-learning, 1 for that of the round."""
        return _NU if self.declared.cross_learning else np.eye(CONTEXTS)[contexts[0]]

    def regret(self, one: Outcome) -> float:
        """Return the losses of the played arms minus those of the best arms of their contexts."""
        played = zip(self.tables, one.contexts, one.arms, strict=True)
        return sum(float(table[c, arm] - self.best[c] @ table[c]) for table, c, arm in played)

    def following(self) -> list[tuple[Learner, _PathSums]]:
        """Return what may come next."""
        rates = self.before.rates
        falling = self.past.falling and bool((rates <= self.past.rates).all())
        return [
            (one.learner, _PathSums(self.past.penalty + terms[4], rates, falling))
            for chance, one, terms in self.outcomes
            if chance > 0
        ]


def grow(algorithm: Algorithm, graph: FeedbackGraph, depth: int, width: int) -> Iterator[Node]:
    """Yield nodes of an instance: from the first round on, and after some rounds of learning.

    `depth` rounds, or pairs, follow one another; `width` nodes of each level are continued, evenly
    spread over all of them.
    """
    prepared = prepare(algorithm, graph)
    first = algorithm.start(tiny_problem(graph, algorithm), seed=1)
    tables = tiny_losses(graph.arms).transpose(0, 2, 1)
    tables[:, 1] = 1.0 - tables[:, 0]  # the contexts disagree about the best arm
    best = np.eye(graph.arms)[tables.sum(axis=0).argmin(axis=1)]
    nothing, rising = np.zeros(CONTEXTS), np.full(CONTEXTS, np.inf)
    for learner, falling in ((first, True), (prepared.learner, False)):
        level = [(learner, _PathSums(nothing, rising, falling))]
        for _ in range(depth):
            following: list[tuple[Learner, _PathSums]] = []
            for reached, past in level:
                declared = prepared.declared.of_round(reached)
                own = tables[reached.round : reached.round + declared.rounds]
                node = Node(reached, declared, own, best, past)
                yield node
                following += node.following()
            level = spread(following, width)


# --- the lines -----------------------------------------------------------------------------------


def _policy_lines(_: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
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


def _estimate_lines(algorithm: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
    """Yield whether what a round adds has its declared mean and variance, on every route."""
    prompt = [comparison for node in nodes for comparison in node.comparisons.values()]
    mean, variance = Differences(_ROUNDING), Differences(_ROUNDING)
    for one in prompt:
        mean.compare(one.found.mean, one.mean)
        variance.compare(one.found.variance, one.variance)
    yield mean.result(
        "Expectation of the estimate",
        "mean over all that is drawn of what a round adds, against its declaration",
        _mistake(prompt),
    )
    yield variance.result(
        "Variance of the estimate",
        "variance over all that is drawn of what a round adds, against its declaration",
    )
    by_route: dict[str, list[Comparison]] = {}
    for one in comparisons(algorithm, tiny_graphs(algorithm)):
        by_route.setdefault(_name(one.route), []).append(one)
    by_route.pop("", None)
    for name, found in by_route.items():
        both = Differences(_ROUNDING)
        for one in found:
            both.compare(one.found.mean, one.mean)
            both.compare(one.found.variance, one.variance)
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


def _mistake(found: Iterable[Comparison]) -> str:
    """Return the first difference and the likely mistake; nothing if all is right."""
    for one in found:
        try:
            one.require()
        except CheckFailedError as error:
            return str(error)
    return ""


def _moment_lines(_: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
    """Yield the second moment of the estimate, against the bound that is declared for it."""
    bounded = [node for node in nodes if node.declared.second_moment is not None]
    ratios = [
        _second_moment(node) / (node.declared.second_moment or 1.0) for node in bounded or nodes
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


def _second_moment(node: Node) -> float:
    """Return the mean of sum_a p(a) lhat(a)^2 over contexts; or else that of the worst context."""
    moments = np.zeros(CONTEXTS)
    for chance, one, _ in node.outcomes:
        local = (node.before.weights * one.added**2).sum(axis=1)
        own = chance * float(local @ node.counts(one.contexts))
        if node.declared.cross_learning:
            moments += own
        else:
            moments[one.contexts[0]] += own / LAW[one.contexts[0]]
    return float(moments.max())


def _epoch_lines(algorithm: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
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


def _regret_lines(_: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
    """Yield the regret of the played arms and its terms, on every path and in expectation."""
    every, mean, noise = (Differences(_ROUNDING) for _ in range(3))
    for node in nodes:
        realised, expected, noisy = 0.0, 0.0, 0.0
        for chance, one, by_context in node.outcomes:
            terms = by_context @ node.counts(one.contexts)
            every.compare(terms[:-1].sum(), terms[-1])
            realised += chance * node.regret(one)
            expected += chance * float(terms[:2].sum() + terms[3:5].sum())
            noisy += chance * float(terms[2])
        mean.compare(realised, expected)
        noise.compare(noisy, 0.0)
    yield every.result(
        "Terms of the regret",
        "exploration + bias + noise + stability + penalty, against the regret of the policies, in "
        "everything that can happen",
    )
    yield noise.result("Noise", "its mean over all that is drawn, against 0")
    yield mean.result(
        "Expected regret",
        "that of the arms played, over all that is drawn, against the means of exploration, bias, "
        "stability and penalty",
    )


def _ftrl_lines(_: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
    """Yield the two inequalities of FTRL, on every path."""
    stability, penalty, paths, rounds = 0.0, 0.0, 0, 0
    for node in nodes:
        rates, weights = node.before.rates, node.before.weights
        for _chance, one, terms in node.outcomes:
            for c, eta in enumerate(rates):
                least = float(one.added[c].min())
                bound = float(weights[c] @ one.added[c] ** 2) * eta
                bound *= 0.5 if least >= 0 else 1.0
                if eta * least >= -1.0 and bound > 1e-12:
                    stability, rounds = max(stability, float(terms[3, c]) / bound), rounds + 1
            if node.past.falling and bool((rates > 0).all() and (rates <= node.past.rates).all()):
                sums = (node.past.penalty + terms[4]) * rates / math.log(weights.shape[1])
                penalty, paths = max(penalty, float(sums.max())), paths + 1
    for name, checked, worst, instances in (
        ("Stability", "eta / 2 <p, lhat^2>, or eta if lhat < 0", stability, rounds),
        ("Penalty", "log(K) / (last eta), on every path", penalty, paths),
    ):
        what = "stability" if name == "Stability" else "the sum of penalties"
        yield CheckResult(
            statement=name,
            checked=f"{what} against {checked}",
            instances=instances,
            worst=f"left/right at most {worst:.3g}",
            passed=worst <= 1.0 + _ROUNDING,
            judged=instances > 0,
            note="" if instances else "Rates rise at first, or estimates are far below 0.",
        )


LINES: tuple[Callable[[Algorithm, list[Node]], Iterator[CheckResult]], ...] = (
    _policy_lines,
    _estimate_lines,
    _moment_lines,
    _epoch_lines,
    _regret_lines,
    _ftrl_lines,
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
    sizes = _SIZES[effort]
    for graph in tiny_graphs(algorithm):
        declared = algorithm.estimator(tiny_problem(graph, algorithm))
        if declared is None:
            expected = "a CrossGraph, or an algorithm that declares its estimator"
            got = verbatim(f"{algorithm}, which declares none for {graph}")
            reject("verify", "subject", expected, got)
        if declared.pairs is not None:
            sizes = _OF_PAIRS[effort]
    try:
        trees = (grow(algorithm, graph, *sizes) for graph in tiny_graphs(algorithm))
        nodes = list(chain.from_iterable(trees))
    except Exception as error:  # noqa: BLE001 - any error of a wrong algorithm is a result
        return [_failure(error)]
    results: list[CheckResult] = []
    for done, lines in enumerate(LINES):
        results += _until_error(lines(algorithm, nodes))
        if progress is not None:
            progress(CheckProgress(done + 1, len(LINES)))
    chosen = [one for one in results if only.lower() in one.statement.lower() or not one.passed]
    if not chosen:
        names = "; ".join(one.statement for one in results)
        raise InvalidParameterError(f"No line contains {only!r}. The lines are: {names}.")
    return chosen


def _until_error(lines: Iterator[CheckResult]) -> Iterator[CheckResult]:
    """Yield lines. If they end with an error, the last line is the error."""
    try:
        yield from lines
    except Exception as error:  # noqa: BLE001 - any error of a wrong algorithm is a result
        yield _failure(error)


def _failure(error: Exception) -> CheckResult:
    return CheckResult(
        statement="Enumeration",
        checked="whether all that the learner can draw can be played",
        instances=1,
        worst="the check ended with an error",
        passed=False,
        note=error_note(error),
    )
