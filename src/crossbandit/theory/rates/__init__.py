"""How regret grows with the horizon, the graph and the contexts: exponents with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.algorithms.tuned import required_alpha, required_contexts, required_horizon
from crossbandit.report.statistics import Estimate, slope, slope_interval
from crossbandit.simulation import simulate_many
from crossbandit.theory.runs.intervals import mean_interval
from crossbandit.theory.runs.parts import orders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crossbandit.algorithms import CrossGraph
    from crossbandit.environments import Environment
    from crossbandit.problem import Problem
    from crossbandit.types import Floats

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

    @property
    def half_widths(self) -> tuple[float, ...]:
        """The half-widths of the 95 % intervals of mean regret."""
        return tuple(mean_interval(sample)[1] for sample in self.regrets)


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
        bounds.append(orders(problem, algorithm.parameters(problem)).total)
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
