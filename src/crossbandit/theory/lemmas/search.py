"""Search for counterexamples: make the left side of an inequality as large as possible.

An inequality is a function from the unit cube to its two sides. The function turns a point into an
instance that satisfies every hypothesis, so the search covers only such instances.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from crossbandit.theory.statements import CheckResult, Effort

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crossbandit.types import Floats

_SLACK = 1e-9  # how much rounding may add to a ratio
_BUDGET = {Effort.QUICK: 600, Effort.FULL: 10_000}  # the number of evaluations
_POPULATION = 30
_LARGEST = 1e30  # replaces an infinite ratio
_SPREAD = 25.0  # weights of a distribution differ by a factor of up to exp(this)


class Sides(NamedTuple):
    """Both sides of an inequality left <= C right, with C left out."""

    left: float
    right: float

    @property
    def ratio(self) -> float:
        """The C that these two sides need; negative where the left side is.

        It is infinite if a side is NaN.
        """
        if math.isnan(self.left) or math.isnan(self.right):
            return math.inf
        if self.right > 0:
            return self.left / self.right
        return math.inf if self.left > 0 else 0.0


Instance: TypeAlias = "Callable[[Floats], Sides]"


class Case(NamedTuple):
    """An inequality over instances of one size: points of the unit cube of this dimension."""

    dimension: int
    sides: Instance


class SearchResult(NamedTuple):
    """The largest ratio of a search, its point, and the number of instances."""

    ratio: float
    point: Floats
    instances: int


def maximise(case: Case, effort: Effort, *, seed: int = 0) -> SearchResult:
    """Search for the largest ratio: differential evolution, then a local search from the best."""
    from scipy.optimize import differential_evolution, minimize

    instances = 0

    def cost(point: Floats) -> float:
        nonlocal instances
        instances += 1
        ratio = case.sides(np.clip(point, 0.0, 1.0)).ratio
        return -min(ratio, _LARGEST)

    generations = _BUDGET[effort] // _POPULATION
    corners = np.random.default_rng(seed).beta(0.5, 0.5, (_POPULATION, case.dimension))
    best = differential_evolution(
        cost,
        [(0.0, 1.0)] * case.dimension,
        init=corners,  # the largest ratios are often near the faces of the cube
        maxiter=generations,
        tol=0.0,
        polish=False,
        seed=seed,
    )
    polished = minimize(
        cost, best.x, method="Nelder-Mead", options={"maxfev": _BUDGET[effort] // 4}
    )
    point = np.clip(polished.x if polished.fun < best.fun else best.x, 0.0, 1.0)
    return SearchResult(case.sides(point).ratio, point, instances)


def bounded(
    statement: str,
    checked: str,
    cases: Sequence[Case],
    effort: Effort,
    *,
    constant: float = 1.0,
    note: str = "",
    as_written: bool = True,
) -> CheckResult:
    """Return whether left <= constant * right in every instance that a search found.

    A constant of 1 means that the paper gives the whole right side. Otherwise it is a value for
    the paper's C for which the module's docstring derives the inequality.
    """
    found = [maximise(case, effort, seed=i) for i, case in enumerate(cases)]
    largest = max(one.ratio for one in found)
    if constant == 1.0:
        worst = f"left/right at most {largest:.4g}"
    else:
        worst = f"smallest C that held {largest:.4g}; {constant:.4g} is derived"
    return CheckResult(
        statement=statement,
        checked=checked,
        instances=sum(one.instances for one in found),
        worst=worst,
        passed=largest <= constant * (1 + _SLACK),
        note=note,
        as_written=as_written,
    )


# ------------------------------------------------------------------------- points to instances


def distribution(point: Floats) -> Floats:
    """Turn points of a cube into distributions, from even to concentrated, over the last axis."""
    weights = np.exp(-_SPREAD * point)
    normalised: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return normalised


def between(low: float, high: float, share: float) -> float:
    """Return the number at `share` of the way from low to high."""
    return low + (high - low) * share


def geometric(low: float, high: float, share: float) -> float:
    """Return the number at `share` of the way from low to high, on a logarithmic scale."""
    return low * math.exp(share * math.log(high / low))


class Point:
    """Reads the coordinates of a point one after another."""

    def __init__(self, values: Floats) -> None:
        self._values = values
        self._taken = 0

    def one(self) -> float:
        """Return the next coordinate."""
        return float(self.many(1)[0])

    def many(self, *shape: int) -> Floats:
        """Return the next coordinates, in this shape."""
        size = math.prod(shape)
        part = self._values[self._taken : self._taken + size]
        self._taken += size
        return part.reshape(shape)
