"""Theorem 1 on real runs: regret grows like sqrt(alpha T), and not with the number of contexts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from crossbandit import graphs
from crossbandit.algorithms import tuning
from crossbandit.theory.rates import Rate, joined, measure_rate
from crossbandit.theory.runs.environments import GraphBenchmark
from crossbandit.theory.statements import CheckResult, Effort, Figure, Series, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem
    from crossbandit.theory.rates import Rule

# The theorem's rule with smaller constants, so that its rate is visible at horizons that can be
# simulated. Its form, with all logarithms, is that of the theorem. The conditions of Lemma 8 do not
# hold.
_SMALL = tuning.Constants(epoch=0.25, gamma=0.05, eta=1.0)


_ORDER = "sqrt(alpha T) log(MKT)"


class _Sizes(NamedTuple):
    horizons: tuple[int, ...]
    long_horizons: tuple[int, ...]  # for the theorem's own constants
    alpha_horizon: int
    contexts: tuple[int, ...]
    contexts_horizon: int
    seeds: int


_SIZES = {
    Effort.QUICK: _Sizes(
        (8_000, 32_000, 128_000),
        (100_000, 300_000, 1_000_000),
        10_000,
        (10, 1_000, 100_000),
        10_000,
        4,
    ),
    Effort.FULL: _Sizes(
        (16_000, 64_000, 250_000, 1_000_000),
        (1_000_000, 3_000_000, 10_000_000, 30_000_000),
        50_000,
        (10, 100, 1_000, 10_000, 100_000),
        50_000,
        10,
    ),
}


def small_constants(subject: Subject, problem: Problem) -> Subject:
    """Return the subject as the theorem tunes it, with constants that are too small for it."""
    return replace(subject, **tuning.theorem(problem, _SMALL).parameters._asdict())


@statement(10, "Theorem 1: the rate in T, in alpha and in M")
def regret_has_the_rate(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Exponents, with intervals, are at most those of the theorem's bound."""
    sizes = _SIZES[effort]

    def experiment(_: Problem) -> Subject:
        return replace(subject, tuning="experiment")

    def theorem(_: Problem) -> Subject:
        return replace(subject, tuning="theorem")

    small = partial(small_constants, subject)
    families = _families(effort)
    yield _in_horizon("experiment's rule", experiment, families, sizes)
    ring = {"paper's ring": families["paper's ring"]}
    yield _in_horizon("theorem's rule, small constants", small, ring, sizes)
    yield _with_proven_constants(theorem, sizes)
    yield _in_alpha("experiment's rule", experiment, effort)
    yield _in_alpha("theorem's rule, small constants", small, effort)
    yield _in_contexts("experiment's rule", experiment, sizes)
    yield _in_contexts("theorem's rule, small constants", small, sizes)


def _families(effort: Effort) -> dict[str, FeedbackGraph]:
    families = {
        "paper's ring": graphs.paper_ring(9, radius=1),
        "loopless clique": graphs.loopless_clique(9),
        "threshold": graphs.threshold(9),
        "random": graphs.random_strongly_observable(9, density=0.3, seed=1),
        "apple tasting": graphs.apple_tasting(),
    }
    return families if effort is Effort.FULL else dict(list(families.items())[:2])


def _in_horizon(
    name: str, rule: Rule, families: Mapping[str, FeedbackGraph], sizes: _Sizes
) -> CheckResult:
    rates = {
        family: measure_rate(
            rule,
            {T: GraphBenchmark(graph, T, 1_000) for T in sizes.horizons},
            range(sizes.seeds),
        )
        for family, graph in families.items()
    }
    return _growth(f"Theorem 1, in T ({name})", "T", rates)


def _in_alpha(name: str, rule: Rule, effort: Effort) -> CheckResult:
    sizes = _SIZES[effort]
    rings = [graphs.paper_ring(25, radius) for radius in (24, 11, 5, 2, 1, 0)]
    loops = [graphs.ring(25, radius) for radius in (24, 11, 5, 2, 1, 0)]
    random = [
        graphs.random_strongly_observable(25, density, seed=2)
        for density in (1.0, 0.6, 0.35, 0.2, 0.05)
    ]
    families = {"paper's ring": rings, "ring with self-loops": loops, "random": random}
    if effort is Effort.QUICK:
        families = {"paper's ring": rings[::2]}
    rates = {
        family: measure_rate(
            rule,
            {
                graph.independence_number: GraphBenchmark(graph, sizes.alpha_horizon, 1_000)
                for graph in members
            },
            range(sizes.seeds),
        )
        for family, members in families.items()
    }
    return _growth(f"Theorem 1, in alpha ({name})", "alpha", rates)


def _growth(statement_name: str, axis: str, rates: Mapping[str, Rate]) -> CheckResult:
    worst = max(rates, key=lambda family: rates[family].slope.high - rates[family].predicted)
    rate = rates[worst]
    constant = max(rate.constant for rate in rates.values())
    return CheckResult(
        statement=statement_name,
        checked=f"the exponent of {axis} that fits regret, against that of {_ORDER}",
        instances=sum(rate.regrets.size for rate in rates.values()),
        worst=f"{worst}: {rate.slope}; predicted {rate.predicted:.3f}",
        passed=constant <= 1.0
        and all(rate.slope.high <= rate.predicted for rate in rates.values()),
        note=(
            "Exponents: "
            + ", ".join(f"{family} {rate.slope.value:.3f}" for family, rate in rates.items())
            + f". Regret was at most {constant:.2g} times the assembled bound with constants 1."
        ),
        figure=_figure(statement_name, axis, rates),
    )


def _with_proven_constants(rule: Rule, sizes: _Sizes) -> CheckResult:
    """Check the theorem's own constants, with which the rate is visible only at long horizons."""
    graph = graphs.apple_tasting()
    environments = {T: GraphBenchmark(graph, T, 100) for T in sizes.long_horizons}
    rate = measure_rate(rule, environments, range(2))
    local = ", ".join(f"{exponent:.2f}" for exponent in rate.local_slopes)
    falling = bool((rate.local_slopes[1:] < rate.local_slopes[:-1]).all())
    return CheckResult(
        statement="Theorem 1, in T (theorem's rule)",
        checked="regret against the assembled bound with all constants 1; exponents that fall",
        instances=rate.regrets.size,
        worst=f"smallest C that held: {rate.constant:.2g}",
        passed=rate.constant <= 1.0 and falling,
        note=(
            f"Apple tasting. From one horizon to the next, the exponent is {local}. With constants "
            "that satisfy the proof, eta is so small that learning takes about a million rounds. "
            "Before, regret is linear. Then the exponent falls towards 1/2."
        ),
        figure=_figure("Theorem 1, in T (theorem's rule)", "T", {"apple tasting": rate}),
    )


def _in_contexts(name: str, rule: Rule, sizes: _Sizes) -> CheckResult:
    """Give every seed its own loss table, because tables with ten contexts differ much."""
    graph = graphs.paper_ring(9, radius=1)
    rate = joined(
        [
            measure_rate(
                rule,
                {
                    M: GraphBenchmark(graph, sizes.contexts_horizon, M, table_seed=seed)
                    for M in sizes.contexts
                },
                [seed],
            )
            for seed in range(sizes.seeds)
        ]
    )
    return CheckResult(
        statement=f"Theorem 1, in M ({name})",
        checked="the exponent of M that fits regret: no polynomial growth",
        instances=rate.regrets.size,
        worst=f"{rate.slope}; log(MKT) alone has {rate.predicted:.3f}",
        passed=rate.slope.high <= rate.predicted,
        note=f"M from {rate.x[0]:,.0f} to {rate.x[-1]:,.0f}; every seed has its own loss table.",
        figure=_figure(f"Theorem 1, in M ({name})", "M", {"paper's ring": rate}),
    )


def _figure(title: str, axis: str, rates: Mapping[str, Rate]) -> Figure:
    series = []
    for family, rate in rates.items():
        means = tuple(rate.regrets.mean(axis=1).tolist())
        series.append(Series(name=family, x=rate.x, y=means, half_widths=rate.half_widths))
    first = next(iter(rates.values()))
    order = first.orders * (first.regrets[0].mean() / first.orders[0])
    series.append(Series(name=_ORDER, x=first.x, y=tuple(order.tolist()), reference=True))
    return Figure(
        title=title,
        x_label=axis,
        y_label="final regret",
        series=tuple(series),
        x_log=True,
        y_log=True,
    )
