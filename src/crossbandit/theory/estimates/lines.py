"""The lines of `verify` for an algorithm that declares its estimator.

Everything is computed by enumeration on tiny instances: the expectation, the variance and the
second moment of what a round adds; the policies; the regret and its terms. So nothing is random,
and for a right algorithm, equalities hold up to rounding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.checks.enumeration import ScriptedGenerator, clone
from crossbandit.checks.estimator import (
    CONTEXTS,
    LAW,
    kinds_of,
    prepare,
    routes,
    tiny_graphs,
    tiny_problem,
)
from crossbandit.errors import CheckFailedError
from crossbandit.theory.estimates.tree import Node, Outcome, counted_masses, grow
from crossbandit.theory.statements import CheckResult, Differences, Effort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.algorithms import Algorithm
    from crossbandit.checks.comparison import Comparison
    from crossbandit.checks.estimator import Route

# Depth and width of the trees. A pair has many more outcomes than a round.
_SIZES = {Effort.QUICK: (2, 3), Effort.FULL: (5, 8)}
_OF_PAIRS = {Effort.QUICK: (2, 1), Effort.FULL: (4, 4)}
_EDGE = 1e-9  # the distance of a probing uniform number from the end of an arm's interval
_ROUNDING = 1e-10


def policy_lines(algorithm: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
    """Yield whether policies are FTRL with exploration, and whether arms are drawn from them."""
    del algorithm
    policies, drawn = Differences(), Differences()
    for node in nodes:
        policies.compare(node.before.policies, node.before.expected_policies(node.learner))
        for context, policy in enumerate(node.before.policies):
            edges = np.cumsum(policy)
            for arm, end in enumerate(edges):
                start = edges[arm - 1] if arm else 0.0
                for number in (start + _EDGE, end - _EDGE) if policy[arm] > 3 * _EDGE else ():
                    drawn.compare(_drawn(node, context, number), arm)
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


def _drawn(node: Node, context: int, number: float) -> int:
    learner: Any = clone(node.learner)
    learner.generator = ScriptedGenerator([number])
    arm: int = learner.act(context).arm
    return arm


def estimate_lines(algorithm: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
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
    for name, comparisons in _by_route(algorithm).items():
        both = Differences(_ROUNDING)
        for one in comparisons:
            both.compare(one.found.mean, one.mean)
            both.compare(one.found.variance, one.variance)
        checked = f"mean and variance of what a round adds, {name}, against its declaration"
        yield both.result(f"Estimate {name}", checked, _mistake(comparisons))


def _by_route(algorithm: Algorithm) -> dict[str, list[Comparison]]:
    """Return what was found on the other routes, by the names of their lines."""
    found: dict[str, list[Comparison]] = {}
    for graph in tiny_graphs(algorithm):
        for kind in kinds_of(algorithm):
            played = prepare(algorithm, graph, kind)
            for route in routes(algorithm, played.learner, played.graph, kind):
                name = _name(route)
                if name:
                    found.setdefault(name, []).extend(played.comparisons(route))
    return found


def _name(route: Route) -> str:
    if route.kind != "fixed":
        return "on changing graphs"
    if route.available is not None:
        return "with some arms available"
    if route.late:
        return "with late feedback"
    return "in the compiled loop" if route.compiled else ""


def _mistake(comparisons: list[Comparison]) -> str:
    """Return the first difference and the likely mistake; nothing if all is right."""
    for one in comparisons:
        try:
            one.require()
        except CheckFailedError as error:
            return str(error)
    return ""


def moment_lines(algorithm: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
    """Yield the second moment of the estimate, against the bound that is declared for it."""
    del algorithm
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
    for chance, outcome in node.outcomes:
        local = (node.before.weights * outcome.added**2).sum(axis=1)
        own = float(local @ node.counts(outcome.contexts))
        if node.declared.cross_learning:
            moments += chance * own
        else:
            moments[outcome.contexts[0]] += chance / LAW[outcome.contexts[0]] * own
    return float(moments.max())


def regret_lines(algorithm: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
    """Yield the regret of the played arms and its terms, on every path and in expectation."""
    del algorithm
    every, mean, noise = (Differences(_ROUNDING) for _ in range(3))
    for node in nodes:
        realised, expected, noisy = 0.0, 0.0, 0.0
        for chance, outcome in node.outcomes:
            terms = outcome.terms @ node.counts(outcome.contexts)
            every.compare(terms[:-1].sum(), terms[-1])
            realised += chance * _regret(node, outcome)
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


def _regret(node: Node, outcome: Outcome) -> float:
    """Return the losses of the played arms minus those of the best arms of their contexts."""
    lost = 0.0
    for table, context, arm in zip(node.tables, outcome.contexts, outcome.arms, strict=True):
        lost += float(table[context, arm] - node.best[context] @ table[context])
    return lost


def ftrl_lines(algorithm: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
    """Yield the two inequalities of FTRL, on every path."""
    del algorithm
    stability, penalty, paths, rounds = 0.0, 0.0, 0, 0
    for node in nodes:
        rates, weights = node.before.rates, node.before.weights
        for _, outcome in node.outcomes:
            terms = outcome.terms
            for c, eta in enumerate(rates):
                least = float(outcome.added[c].min())
                bound = float(weights[c] @ outcome.added[c] ** 2) * eta
                bound *= 0.5 if least >= 0 else 1.0
                if eta * least >= -1.0 and bound > 1e-12:
                    stability, rounds = max(stability, float(terms[3, c]) / bound), rounds + 1
            if node.past.falling and bool((rates > 0).all() and (rates <= node.past.rates).all()):
                sums = (node.past.penalty + terms[4]) * rates / math.log(weights.shape[1])
                penalty, paths = max(penalty, float(sums.max())), paths + 1
    yield _ratio(
        "Stability", "stability against eta / 2 <p, lhat^2>, or eta if lhat < 0", stability, rounds
    )
    yield _ratio(
        "Penalty", "the sum of penalties against log(K) / (last eta), on every path", penalty, paths
    )


def _ratio(name: str, checked: str, worst: float, instances: int) -> CheckResult:
    return CheckResult(
        statement=name,
        checked=checked,
        instances=instances,
        worst=f"left/right at most {worst:.3g}",
        passed=worst <= 1.0 + _ROUNDING,
        judged=instances > 0,
        note="" if instances else "Rates rise at first, or estimates are far below 0.",
    )


def epoch_lines(algorithm: Algorithm, nodes: list[Node]) -> Iterator[CheckResult]:
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


LINES: tuple[Callable[[Any, list[Node]], Iterator[CheckResult]], ...] = (
    policy_lines,
    estimate_lines,
    moment_lines,
    epoch_lines,
    regret_lines,
    ftrl_lines,
)


def nodes_of(algorithm: Algorithm, effort: Effort) -> list[Node]:
    """Return the nodes of all tiny instances.

    Args:
        algorithm: An algorithm that declares its estimator.
        effort: How much to compute.
    """
    graphs = tiny_graphs(algorithm)
    declared = algorithm.estimator(tiny_problem(graphs[0], algorithm))
    pairs = declared is not None and declared.pairs is not None
    depth, width = _OF_PAIRS[effort] if pairs else _SIZES[effort]
    return [node for graph in graphs for node in grow(algorithm, graph, depth, width)]
