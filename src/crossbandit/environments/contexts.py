"""The law of the contexts: i.i.d. draws, one batch of rounds after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from crossbandit.environments.registry import register_distribution
from crossbandit.problem import probabilities
from crossbandit.validation import integer, number, reject, verbatim

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Floats


class ContextDistribution(Protocol):
    """Anything that draws contexts.

    Drawing m and then n contexts from a generator must give what drawing m + n gives: then a
    shorter run is the beginning of a longer one.
    """

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[Any]:
        """Return `count` contexts: integers (count,), or feature vectors (count, features)."""

    @property
    def probabilities(self) -> Floats | None:
        """The probability of each of finitely many contexts; None if there is no such list."""


@dataclass(frozen=True, eq=False)
class FiniteContexts:
    """Contexts 0, ..., M - 1, each with its probability: a vector of them, or M if all are alike.

    >>> FiniteContexts([0.5, 0.5, 0.0]).draw(np.random.default_rng(0), 4)
    array([1, 0, 0, 0])
    """

    law: int | npt.ArrayLike
    probabilities: Floats = field(init=False, repr=False)
    _uniform: bool = field(init=False, repr=False, default=False)
    _cumulative: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.law, int | np.integer) and not isinstance(self.law, bool):
            count = integer("FiniteContexts", "law", self.law, at_least=1)
            weights = np.full(count, 1.0 / count)
            weights.flags.writeable = False
            object.__setattr__(self, "_uniform", True)
        else:
            weights = probabilities("FiniteContexts", "law", self.law, None)
        object.__setattr__(self, "probabilities", weights)
        cumulative = np.cumsum(weights)
        # Where rounding leaves the sum short of 1, the last context that can occur takes the rest.
        cumulative[np.flatnonzero(weights)[-1] :] = np.inf
        object.__setattr__(self, "_cumulative", cumulative)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteContexts):
            return NotImplemented
        same = np.array_equal(self.probabilities, other.probabilities)
        return same and self._uniform == other._uniform

    def __hash__(self) -> int:
        return hash((self.probabilities.tobytes(), self._uniform))

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """Return `count` contexts, by one uniform number each."""
        uniforms = generator.random(count)
        if self._uniform:
            return (uniforms * self.probabilities.size).astype(np.int64)
        return np.searchsorted(self._cumulative, uniforms, side="right").astype(np.int64)


UNIFORM: Any = None  # the default of a field; `distribution_over` replaces it


def distribution_over(
    owner: str, law: npt.ArrayLike | ContextDistribution | None, contexts: int
) -> ContextDistribution:
    """Return `law` over so many contexts: a law, a probability each, or uniform if None.

    An error names the parameter 'context_distribution' of `owner`.

    >>> distribution_over("switching", [0.9, 0.1], 2)
    FiniteContexts(law=array([0.9, 0.1]))
    """
    if law is None:
        return FiniteContexts(contexts)
    if not hasattr(law, "draw"):
        return FiniteContexts(probabilities(owner, "context_distribution", law, contexts))
    given = cast("ContextDistribution", law)
    if given.probabilities is not None:
        probabilities(owner, "context_distribution", given.probabilities, contexts)
    return given


@register_distribution("zipf")
def zipf(contexts: int, exponent: float = 1.0) -> FiniteContexts:
    """Return contexts of which number c has probability proportional to 1 / (c + 1)^exponent.

    >>> zipf(3).probabilities.round(3)
    array([0.545, 0.273, 0.182])
    """
    integer("zipf", "contexts", contexts, at_least=1)
    number("zipf", "exponent", exponent, at_least=0)
    weights = np.arange(1, contexts + 1, dtype=np.float64) ** -exponent
    return FiniteContexts(weights / weights.sum())


@dataclass(frozen=True, eq=False)
class UniformVectors:
    """Feature vectors, uniform in the box from `low` to `high`; equal bounds make a constant.

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
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def probabilities(self) -> None:
        """There is no list of these contexts."""
        return

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Return `count` feature vectors, by one uniform number a feature."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        result: Floats = low + (high - low) * generator.random((count, low.size))
        return result
