"""Distributions of contexts, which are drawn independently, one batch of rounds at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from crossbandit.algorithms.learners.problem import probabilities, set_fields
from crossbandit.core.registry import Registry
from crossbandit.core.validation import MAX_SIZE, integer, number, reject, verbatim

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.core.types import Floats

_DISTRIBUTIONS = Registry("context distribution", "crossbandit.environments")
register_distribution = _DISTRIBUTIONS.register
registered_distributions = _DISTRIBUTIONS.registered
build_distribution = _DISTRIBUTIONS.build


class ContextDistribution(Protocol):
    """Protocol of a distribution of contexts.

    Drawing m and then n contexts from a generator must give the same contexts as drawing m + n. A
    shorter run is then the beginning of a longer one.
    """

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[Any]:
        """Return contexts: integers of shape (count,), or feature vectors (count, features).

        Args:
            generator: The source of randomness, which is advanced.
            count: How many contexts to draw.
        """

    @property
    def probabilities(self) -> Floats | None:
        """The probability of each of finitely many contexts; None for continuous contexts."""


@dataclass(frozen=True, eq=False)
class FiniteContexts:
    """A distribution over the contexts 0, ..., M - 1.

    Args:
        distribution: The probability of each context; or an integer M, for the uniform
            distribution over M contexts.

    Attributes:
        probabilities: The probability of each context.

    >>> FiniteContexts([0.5, 0.5, 0.0]).draw(np.random.default_rng(0), 4)
    array([1, 0, 0, 0])
    """

    distribution: int | npt.ArrayLike
    probabilities: Floats = field(init=False, repr=False)
    _uniform: bool = field(init=False, repr=False, default=False)
    _cumulative: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given = self.distribution
        if isinstance(given, int | np.integer) and not isinstance(given, bool):
            count = integer("FiniteContexts", "distribution", given, at_least=1, at_most=MAX_SIZE)
            weights = np.full(count, 1.0 / count)
            weights.flags.writeable = False
            set_fields(self, _uniform=True)
        else:
            weights = probabilities("FiniteContexts", "distribution", given, None)
        cumulative = np.cumsum(weights)
        # If rounding leaves the sum below 1, the last possible context takes the rest.
        cumulative[np.flatnonzero(weights)[-1] :] = np.inf
        set_fields(self, probabilities=weights, _cumulative=cumulative)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteContexts):
            return NotImplemented
        same = np.array_equal(self.probabilities, other.probabilities)
        return same and self._uniform == other._uniform

    def __hash__(self) -> int:
        return hash((self.probabilities.tobytes(), self._uniform))

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """Return contexts, drawn with one uniform number each.

        Args:
            generator: The source of randomness, which is advanced.
            count: How many contexts to draw.
        """
        uniforms = generator.random(count)
        if self._uniform:
            return (uniforms * self.probabilities.size).astype(np.int64)
        return np.searchsorted(self._cumulative, uniforms, side="right").astype(np.int64)


UNIFORM: Any = None  # the default of a field; `distribution_over` replaces it


def distribution_over(
    owner: str, given: npt.ArrayLike | ContextDistribution | None, contexts: int
) -> ContextDistribution:
    """Return a distribution over `contexts` contexts.

    >>> distribution_over("switching", [0.9, 0.1], 2)
    FiniteContexts(distribution=array([0.9, 0.1]))
    """
    if given is None:
        return FiniteContexts(contexts)
    if not callable(getattr(given, "draw", None)) or not hasattr(given, "probabilities"):
        values = cast("npt.ArrayLike", given)
        return FiniteContexts(probabilities(owner, "context_distribution", values, contexts))
    distribution = cast("ContextDistribution", given)
    if distribution.probabilities is not None:
        probabilities(owner, "context_distribution", distribution.probabilities, contexts)
    return distribution


@register_distribution("zipf")
def zipf(contexts: int, exponent: float = 1.0) -> FiniteContexts:
    """Return Zipf's distribution: context c has probability proportional to 1 / (c + 1)^exponent.

    Args:
        contexts: The number of contexts, at least 1.
        exponent: How fast the probabilities decrease, at least 0.

    >>> zipf(3).probabilities.round(3)
    array([0.545, 0.273, 0.182])
    """
    integer("zipf", "contexts", contexts, at_least=1, at_most=MAX_SIZE)
    number("zipf", "exponent", exponent, at_least=0)
    weights = np.arange(1, contexts + 1, dtype=np.float64) ** -exponent
    return FiniteContexts(weights / weights.sum())


@dataclass(frozen=True, eq=False)
class UniformVectors:
    """Continuous contexts: feature vectors that are uniform in a box.

    Args:
        low: The lower bound of each feature.
        high: The upper bound of each feature. Where both are equal, the feature is constant.

    >>> UniformVectors([1, 0], [1, 2]).draw(np.random.default_rng(0), 2).round(2)
    array([[1.  , 0.54],
           [1.  , 0.03]])
    """

    low: npt.ArrayLike
    high: npt.ArrayLike

    def __post_init__(self) -> None:
        expected = "a finite vector that is nowhere above high"
        got = verbatim(f"low={self.low!r} and high={self.high!r}")
        try:
            low = np.atleast_1d(np.array(self.low, dtype=np.float64))
            high = np.atleast_1d(np.array(self.high, dtype=np.float64))
        except (TypeError, ValueError):
            reject("UniformVectors", "low", expected, got)
        finite = np.isfinite(low).all() and np.isfinite(high).all()
        if low.ndim != 1 or low.shape != high.shape or not finite or (low > high).any():
            reject("UniformVectors", "low", expected, got)
        set_fields(self, low=low, high=high)

    @property
    def probabilities(self) -> None:
        """None: these contexts are continuous."""
        return

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Return feature vectors, drawn with one uniform number for each feature.

        Args:
            generator: The source of randomness, which is advanced.
            count: How many vectors to draw.
        """
        low, high = np.asarray(self.low), np.asarray(self.high)
        result: Floats = low + (high - low) * generator.random((count, low.size))
        return result
