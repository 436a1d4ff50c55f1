"""How regret grows with the horizon, the graph and the contexts, and the bounds as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit import graphs
from crossbandit.algorithms import CrossGraphKnown, tuning
from crossbandit.algorithms.learners.problem import Problem
from crossbandit.algorithms.tuning import required_alpha, required_contexts, required_horizon
from crossbandit.core.report import Chart, Series
from crossbandit.core.report.statistics import Estimate, half_widths, slope, slope_interval
from crossbandit.environments import paper_benchmark
from crossbandit.environments.simulation import simulate_many
from crossbandit.verify.theory.decomposition import orders
from crossbandit.verify.theory.implementation import GraphBenchmark
from crossbandit.verify.theory.statements import PROVED_BOUND, CheckResult, Effort, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from crossbandit.algorithms import Algorithm, CrossGraph
    from crossbandit.core.types import Floats
    from crossbandit.environments import Environment
    from crossbandit.graphs import FeedbackGraph

    Rule = Callable[[Problem], CrossGraph]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rate:
    """Final regret at growing x, for each seed, beside what the theorem predicts."""

    x: tuple[float, ...]
    regrets: Floats  # (points, seeds)
    orders: Floats  # (points,): sqrt(alpha T) log(MKT)
    bounds: Floats  # (points,): the assembled bound, with 1 in place of its constants

    @cached_property
    def slope(self) -> Estimate:
        """The exponent of x that fits, with an interval over seeds."""
        return slope_interval(self.x, self.regrets)

    @cached_property
    def predicted(self) -> float:
        """The exponent of the order over the same x: 1/2 or 0, and what the logarithm adds."""
        return slope(self.x, self.orders)

    @property
    def local_slopes(self) -> Floats:
        """The exponents between neighbouring x."""
        result: Floats = np.diff(np.log(self.regrets.mean(axis=1))) / np.diff(np.log(self.x))
        return result

    @property
    def constant(self) -> float:
        """The smallest C for which mean regret is at most C times the bound, at every x."""
        return float((self.regrets.mean(axis=1) / self.bounds).max())


def measure_rate(rule: Rule, environments: Mapping[int, Environment], seeds: Sequence[int]) -> Rate:
    """Play, in the environment of each x, the algorithm that `rule` gives for its problem.

    >>> from crossbandit import CrossGraph, environments
    >>> growing = {T: environments.paper_benchmark(T, alpha=4) for T in (500, 2_000)}
    >>> rate = measure_rate(lambda _: CrossGraph(), growing, range(3))
    >>> 0.3 < rate.slope.value < 0.7
    True
    """
    regrets, bounds = [], []
    for environment in environments.values():
        problem = environment.problem
        algorithm = rule(problem)
        runs = simulate_many(algorithm, environment, seeds, record="thin", show_progress=False)
        regrets.append([run.final_regret for run in runs])
        bounds.append(orders(problem, algorithm.parameters(problem))["total"])
    return Rate(
        x=tuple(map(float, environments)),
        regrets=np.array(regrets),
        orders=np.array([_order(environment.problem) for environment in environments.values()]),
        bounds=np.array(bounds),
    )


def _order(problem: Problem) -> float:
    """Return sqrt(alpha T) log(MKT), the theorem's order with one logarithm."""
    horizon, contexts = required_horizon("rate", problem), required_contexts("rate", problem)
    logarithm = math.log(contexts * problem.arms * horizon)
    return math.sqrt(required_alpha("rate", problem) * horizon) * logarithm


def joined(rates: Sequence[Rate]) -> Rate:
    """Return one rate with the seeds of all, which were measured at the same x."""
    regrets = np.concatenate([rate.regrets for rate in rates], axis=1)
    return Rate(x=rates[0].x, regrets=regrets, orders=rates[0].orders, bounds=rates[0].bounds)


# The theorem's rule with smaller constants, so that its rate is visible at horizons that can be
# simulated. Its form, with all logarithms, is that of the theorem. The conditions of Lemma 8 do not
# hold.
_SMALL = tuning.Constants(epoch=0.25, gamma=0.05, eta=1.0)
_ORDER = "sqrt(alpha T) log(MKT)"


class _Sizes(NamedTuple):
    horizons: tuple[int, ...]
    long_horizons: tuple[int, ...]  # for the theorem's own constants
    fixed_horizon: int  # for growth in alpha and in M
    contexts: tuple[int, ...]
    seeds: int


_SIZES = {
    Effort.QUICK: _Sizes(
        (8_000, 32_000, 128_000), (100_000, 300_000, 1_000_000), 10_000, (10, 1_000, 100_000), 4
    ),
    Effort.FULL: _Sizes(
        (16_000, 64_000, 250_000, 1_000_000),
        (1_000_000, 3_000_000, 10_000_000, 30_000_000),
        50_000,
        (10, 100, 1_000, 10_000, 100_000),
        10,
    ),
}


def small_constants(subject: Subject, problem: Problem) -> Subject:
    """Return the subject as the theorem tunes it, with constants that are too small for it."""
    return replace(subject, **tuning.theorem(problem, _SMALL).parameters._asdict())


def regret_has_the_rate(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Exponents, with intervals, are at most those of the theorem's bound."""
    sizes = _SIZES[effort]
    experiment, small = "experiment's rule", "theorem's rule, small constants"
    rules: dict[str, Rule] = {
        experiment: lambda _: replace(subject, tuning="experiment"),
        small: partial(small_constants, subject),
    }
    by_horizon, by_alpha = _by_horizon(effort), _by_alpha(effort)
    for axis, name, families in (
        ("T", experiment, by_horizon),
        ("T", small, {"paper's ring": by_horizon["paper's ring"]}),
        ("alpha", experiment, by_alpha),
        ("alpha", small, by_alpha),
    ):
        rates = {
            family: measure_rate(rules[name], grown, range(sizes.seeds))
            for family, grown in families.items()
        }
        yield _growth(f"Theorem 1, in {axis} ({name})", axis, rates)
    yield _with_proven_constants(lambda _: replace(subject, tuning="theorem"), sizes)
    for name, rule in rules.items():
        yield _in_contexts(name, rule, sizes)


def _by_horizon(effort: Effort) -> dict[str, dict[int, Environment]]:
    families = {
        "paper's ring": graphs.paper_ring(9, 1),
        "loopless clique": graphs.loopless_clique(9),
    }
    if effort is Effort.FULL:
        families["threshold"] = graphs.threshold(9)
        families["random"] = graphs.random_strongly_observable(9, density=0.3, seed=1)
        families["apple tasting"] = graphs.apple_tasting()
    return {
        family: {T: GraphBenchmark(graph, T, 1_000) for T in _SIZES[effort].horizons}
        for family, graph in families.items()
    }


def _by_alpha(effort: Effort) -> dict[str, dict[int, Environment]]:
    radii = (24, 11, 5, 2, 1, 0)[:: 1 if effort is Effort.FULL else 2]
    families = {"paper's ring": [graphs.paper_ring(25, radius) for radius in radii]}
    if effort is Effort.FULL:
        families["ring with self-loops"] = [graphs.ring(25, radius) for radius in radii]
        families["random"] = [
            graphs.random_strongly_observable(25, density, seed=2)
            for density in (1.0, 0.6, 0.35, 0.2, 0.05)
        ]
    horizon = _SIZES[effort].fixed_horizon
    return {
        family: {one.independence_number: GraphBenchmark(one, horizon, 1_000) for one in members}
        for family, members in families.items()
    }


def _growth(statement: str, axis: str, rates: Mapping[str, Rate]) -> CheckResult:
    worst = max(rates, key=lambda family: rates[family].slope.high - rates[family].predicted)
    rate = rates[worst]
    constant = max(rate.constant for rate in rates.values())
    exponents = ", ".join(f"{family} {rate.slope.value:.3f}" for family, rate in rates.items())
    return CheckResult(
        statement=statement,
        checked=f"the exponent of {axis} that fits regret, against that of {_ORDER}",
        instances=sum(rate.regrets.size for rate in rates.values()),
        worst=f"{worst}: {rate.slope}; predicted {rate.predicted:.3f}",
        passed=constant <= 1.0
        and all(rate.slope.high <= rate.predicted for rate in rates.values()),
        note=f"Exponents: {exponents}. Regret was at most {constant:.2g} times the assembled bound "
        "with constants 1.",
        figure=_figure(statement, axis, rates),
    )


def _with_proven_constants(rule: Rule, sizes: _Sizes) -> CheckResult:
    """Check the theorem's own constants, with which the rate is visible only at long horizons."""
    graph, statement = graphs.apple_tasting(), "Theorem 1, in T (theorem's rule)"
    environments = {T: GraphBenchmark(graph, T, 100) for T in sizes.long_horizons}
    rate = measure_rate(rule, environments, range(2))
    local = ", ".join(f"{exponent:.2f}" for exponent in rate.local_slopes)
    falling = bool((rate.local_slopes[1:] < rate.local_slopes[:-1]).all())
    return CheckResult(
        statement=statement,
        checked="regret against the assembled bound with all constants 1; exponents that fall",
        instances=rate.regrets.size,
        worst=f"smallest C that held: {rate.constant:.2g}",
        passed=rate.constant <= 1.0 and falling,
        note=f"Apple tasting. From one horizon to the next, the exponent is {local}. With "
        "constants that satisfy the proof, eta is so small that learning takes about a million "
        "rounds. Before, regret is linear. Then the exponent falls towards 1/2.",
        figure=_figure(statement, "T", {"apple tasting": rate}),
    )


def _in_contexts(name: str, rule: Rule, sizes: _Sizes) -> CheckResult:
    """Give every seed its own loss table, because tables with ten contexts differ much."""
    graph, statement, rates = graphs.paper_ring(9, 1), f"Theorem 1, in M ({name})", []
    for seed in range(sizes.seeds):
        grown = {
            M: GraphBenchmark(graph, sizes.fixed_horizon, M, table_seed=seed)
            for M in sizes.contexts
        }
        rates.append(measure_rate(rule, grown, [seed]))
    rate = joined(rates)
    return CheckResult(
        statement=statement,
        checked="the exponent of M that fits regret: no polynomial growth",
        instances=rate.regrets.size,
        worst=f"{rate.slope}; log(MKT) alone has {rate.predicted:.3f}",
        passed=rate.slope.high <= rate.predicted,
        note=f"M from {rate.x[0]:,.0f} to {rate.x[-1]:,.0f}; every seed has its own loss table.",
        figure=_figure(statement, "M", {"paper's ring": rate}),
    )


def _figure(title: str, axis: str, rates: Mapping[str, Rate]) -> Chart:
    first = next(iter(rates.values()))
    order = first.orders * (first.regrets[0].mean() / first.orders[0])
    series = [
        Series(
            name=family,
            x=rate.x,
            y=rate.regrets.mean(axis=1),
            half_widths=half_widths(rate.regrets.T),
        )
        for family, rate in rates.items()
    ]
    return Chart(
        title=title,
        x_label=axis,
        y_label="final regret",
        series=(*series, Series(name=_ORDER, x=first.x, y=order, reference=True)),
        x_log=True,
        y_log=True,
    )


# --- regret against bounds -----------------------------------------------------------------------


def algorithm_1_has_its_bound(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The regret of real runs of Algorithm 1, against the bound that its sketch ends with."""
    horizons, seeds, contexts = (2_000, 8_000, 32_000, 128_000), range(10), 50
    ratios = []
    for horizon, alpha in product(horizons[: None if effort is Effort.FULL else 2], (1, 4)):
        environment = paper_benchmark(horizon, alpha=alpha, contexts=contexts)
        rate = 1 / math.sqrt(alpha * horizon)
        bound = rate * horizon * (2 + 2 * alpha) + math.log(environment.problem.arms) / rate
        ratios.append(_mean_regret(CrossGraphKnown(), environment, seeds) / bound)
    yield CheckResult(
        statement="Proposition 2 (regret of Algorithm 1)",
        checked="mean regret over rho T + log K / eta + (eta + gamma) alpha T + beta T",
        instances=len(ratios) * len(seeds),
        worst=f"smallest C that held {max(ratios):.4g}",
        passed=max(ratios) <= 1.0,
        note=f"The benchmark with {contexts} contexts; every rate is 1 / sqrt(alpha T).",
    )


def _mean_regret(algorithm: Algorithm, environment: Environment, seeds: Sequence[int]) -> float:
    runs = simulate_many(algorithm, environment, seeds, record="thin", show_progress=False)
    return float(np.mean([run.final_regret for run in runs]))


def regret_is_below_the_proved_bound(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The mean regret of `CrossGraph(tuning="proved")` is at most the bound that is proved."""
    algorithm, seeds = replace(subject, tuning="proved"), range(2)
    horizons = (100_000, 1_000_000, 10_000_000)[: None if effort is Effort.FULL else 2]
    apple, ring = graphs.apple_tasting(), graphs.paper_ring(9, 1)
    ratios, lines = [], []
    for (graph, name), horizon in product(((apple, "apple tasting"), (ring, "ring")), horizons):
        environment = GraphBenchmark(graph, horizon, 100)
        regret = _mean_regret(algorithm, environment, seeds)
        bound = tuning.proved_bound(environment.problem)
        ratios.append(regret / bound)
        lines.append(f"{name}, T = {horizon:,}: regret {regret:,.0f}, bound {bound:,.0f}")
    yield CheckResult(
        statement=PROVED_BOUND,
        checked="mean regret with tuning='proved', against tuning.proved_bound",
        instances=len(ratios) * len(seeds),
        worst=f"regret/bound at most {max(ratios):.2g}",
        passed=max(ratios) <= 1.0,
        note=f"{'; '.join(lines)}. The bound is below T from T = {shortest_horizon(apple):,} on "
        f"for apple tasting, and from {shortest_horizon(ring):,} on for the paper's ring. It does "
        "not depend on the number of contexts.",
    )


def shortest_horizon(graph: FeedbackGraph) -> int:
    """Return a horizon, to two digits, from which on the proved bound is below T."""

    def says_something(horizon: int) -> bool:
        return tuning.proved_bound(Problem(graph, contexts=1, horizon=horizon)) < horizon

    scale = 100
    while not says_something(100 * scale):
        scale *= 10
    return next(scale * digits for digits in range(10, 101) if says_something(scale * digits))
