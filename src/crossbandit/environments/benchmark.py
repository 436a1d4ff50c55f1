"""The paper's benchmark."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from crossbandit.environments.contexts import UNIFORM, ContextDistribution, distribution_over, zipf
from crossbandit.environments.environment import BlockEnvironment, check_rounds
from crossbandit.environments.registry import register
from crossbandit.errors import InvalidParameterError
from crossbandit.graphs import paper_ring
from crossbandit.kernels.rounds import LossBlock
from crossbandit.problem import Problem, set_fields
from crossbandit.streams import stream
from crossbandit.validation import MAX_SIZE, integer, reject

if TYPE_CHECKING:
    from crossbandit.types import Floats

PERIOD = 2000
AMPLITUDE = 0.1

# Coefficients up to this size are computed once and kept; larger ones batch by batch.
_KEPT_BYTES = 2**26


@dataclass(frozen=True, kw_only=True)
class PaperBenchmark(BlockEnvironment):
    """One fixed, nonstationary loss table on the paper's ring.

        l_{t,c}(a) = clip(B_{c,a} + 0.1 sin(2 pi (t + 1) / 2000 + phi_c + psi_a), 0, 1),

    with B uniform in [0.15, 0.85] and the phases uniform in [0, 2 pi), drawn once from
    `table_seed`. Contexts are uniform unless a `context_distribution` is given. By the
    angle-addition formula, the moving part is a product of two coefficients per round and arm with
    two features per context.
    """

    horizon: int
    radius: int
    arms: int = 9
    contexts: int = 1000
    table_seed: int = 0
    context_distribution: ContextDistribution = UNIFORM
    owner: InitVar[str] = "paper_benchmark"  # the name for error messages
    problem: Problem = field(init=False, repr=False, compare=False)

    def __post_init__(self, owner: str) -> None:
        check_rounds(owner, self.horizon, self.table_seed)
        integer(owner, "contexts", self.contexts, at_least=1, at_most=MAX_SIZE)
        graph = paper_ring(self.arms, self.radius)
        problem = Problem(graph, contexts=self.contexts, horizon=self.horizon)
        distribution = distribution_over(owner, self.context_distribution, self.contexts)
        set_fields(self, problem=problem, context_distribution=distribution)

    @cached_property
    def _table(self) -> tuple[Floats, Floats, Floats]:
        """B (contexts, arms), phi (contexts,) and psi (arms,)."""
        generator = stream(self.table_seed, "losses")
        base = generator.uniform(0.15, 0.85, (self.contexts, self.arms))
        phi = generator.uniform(0.0, 2 * np.pi, self.contexts)
        psi = generator.uniform(0.0, 2 * np.pi, self.arms)
        return base, phi, psi

    @cached_property
    def _base_and_features(self) -> tuple[Floats, Floats]:
        base, phi, _ = self._table
        return np.ascontiguousarray(base.T)[None], np.stack([np.cos(phi), np.sin(phi)])

    def block(self, start: int, stop: int) -> LossBlock:
        base, features = self._base_and_features
        return LossBlock(base, self._coefficients(start, stop), features, clip=True)

    def _coefficients(self, start: int, stop: int) -> Floats:
        if self.horizon * self.arms * 16 <= _KEPT_BYTES:
            return self._all_coefficients[start:stop]
        return self._phases(start, stop)

    @cached_property
    def _all_coefficients(self) -> Floats:
        return self._phases(0, self.horizon)

    def factored(self) -> BlockEnvironment:
        """Return the benchmark in linear form: its losses stay within [0.05, 0.95]."""
        return cast("BlockEnvironment", super().factored())

    def _phases(self, start: int, stop: int) -> Floats:
        time = 2 * np.pi * (np.arange(start, stop) + 1) / PERIOD
        angle = time[:, None] + self._table[2]
        return AMPLITUDE * np.stack([np.sin(angle), np.cos(angle)], axis=2)


@register("paper-benchmark")
def paper_benchmark(
    horizon: int,
    *,
    alpha: int | None = None,
    radius: int | None = None,
    arms: int = 9,
    contexts: int = 1000,
    table_seed: int = 0,
) -> PaperBenchmark:
    """Return the paper's benchmark, with the ring given by its independence number or its radius.

    Args:
        horizon: The number of rounds.
        alpha: The independence number of the ring; give this or `radius`.
        radius: The radius of the ring; give this or `alpha`.
        arms: The number of arms, at least 2.
        contexts: The number of contexts.
        table_seed: The seed of the loss table, at least 0.

    >>> paper_benchmark(10_000, alpha=4).problem.graph.independence_number
    4
    """
    return PaperBenchmark(
        horizon=horizon,
        radius=_given_radius("paper_benchmark", arms, alpha, radius),
        arms=arms,
        contexts=contexts,
        table_seed=table_seed,
    )


@register("paper-benchmark-zipf")
def zipf_benchmark(
    horizon: int,
    *,
    alpha: int | None = None,
    radius: int | None = None,
    arms: int = 9,
    contexts: int = 1000,
    exponent: float = 1.0,
    table_seed: int = 0,
) -> PaperBenchmark:
    """Return the paper's benchmark with Zipf's distribution: few contexts are frequent.

    Args:
        horizon: The number of rounds.
        alpha: The independence number of the ring; give this or `radius`.
        radius: The radius of the ring; give this or `alpha`.
        arms: The number of arms, at least 2.
        contexts: The number of contexts.
        exponent: The exponent of Zipf's distribution, at least 0.
        table_seed: The seed of the loss table, at least 0.

    >>> zipf_benchmark(10_000, alpha=4, contexts=3).context_distribution.probabilities.round(3)
    array([0.545, 0.273, 0.182])
    """
    return PaperBenchmark(
        horizon=horizon,
        radius=_given_radius("zipf_benchmark", arms, alpha, radius),
        arms=arms,
        contexts=contexts,
        table_seed=table_seed,
        context_distribution=zipf(contexts, exponent),
        owner="zipf_benchmark",
    )


def _given_radius(owner: str, arms: int, alpha: int | None, radius: int | None) -> int:
    """Return the radius, given itself or by the independence number."""
    if (alpha is None) == (radius is None):
        got = "neither" if alpha is None else "both"
        raise InvalidParameterError(
            f"{owner} must be given either 'alpha', the independence number of the ring, or "
            f"'radius'. Got {got}."
        )
    if radius is None:
        radius = _radius(owner, arms, integer(owner, "alpha", alpha, at_least=1))
    return radius


def _radius(owner: str, arms: int, alpha: int) -> int:
    """Return the largest radius at which the paper's ring has this independence number.

    On a ring, arms must be radius + 1 apart: arms // (radius + 1) of them fit, and can be turned
    to avoid arm 0, which is a neighbour of every arm. Only at radius 0 must it be left out.
    """
    integer(owner, "arms", arms, at_least=2, at_most=MAX_SIZE)
    if alpha <= arms // 2 and arms // (arms // alpha) == alpha:
        return arms // alpha - 1
    if alpha != arms - 1:
        expected = f"an independence number of a ring of {arms} arms: {_attained(arms)}"
        reject(owner, "alpha", expected, alpha)
    return 0


def _attained(arms: int) -> str:
    """Return the independence numbers of the paper's rings, the first ten if there are many."""
    numbers, spacing = {arms - 1}, 2
    while spacing <= arms:
        numbers.add(arms // spacing)
        spacing = arms // (arms // spacing) + 1  # the next that gives another number
    found = sorted(numbers)
    return str(found) if len(found) <= 20 else f"{str(found[:10])[:-1]}, ...]"
