"""The two forms of losses, and the dense one of them.

Dense: a number per context. A learner keeps a table of arms times contexts.
Linear: the loss of an arm is a fixed linear function of the context's features. A learner keeps
arms times features, however many contexts there are, and contexts need not be enumerable.

In both, an arm's losses in a round are one *row* of numbers, a learner adds weighted rows, and a
context reads a row by the rule in `crossbandit.kernels.rounds`. That is all an algorithm relies on.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.errors import InvalidContextError, InvalidLossesError, InvalidParameterError
from crossbandit.kernels.rounds import ContextBlock, first_outside
from crossbandit.losses.readout import Readout
from crossbandit.types import Booleans, Floats
from crossbandit.validation import integer, reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.types import Integers

# Sums and products of a user's own may leave [0, 1] by rounding alone.
ROUNDING = 1e-9

# A dense context reads one column, as it is.
_AS_IT_IS = np.ones((1, 1))
_AS_IT_IS.flags.writeable = False


class LossForm(ABC):
    """What one row of losses holds, and how contexts read it."""

    columns: int  # numbers in a row
    shape: tuple[int, int]  # of the values with which a context reads: (arms or 1, width)
    column_name: ClassVar[str]
    contexts: int | None
    dtype: npt.DTypeLike = np.float64  # in which a learner keeps its estimates

    @abstractmethod
    def readout(self, context: Any) -> Readout:
        """Return how `context` reads a row, or raise InvalidContextError."""

    @abstractmethod
    def block(self, contexts: npt.NDArray[Any], available: Booleans | None = None) -> ContextBlock:
        """Return how a batch of rounds reads; `contexts` has one entry a round.

        So has `available` (n, arms); None stands for all arms.
        """

    @abstractmethod
    def check(self, rows: Floats, arms: Sequence[int], readout: Readout) -> None:
        """Raise InvalidLossesError unless `rows` may be the losses of `arms`."""

    def listed(self) -> Integers:
        """Return the numbers of all contexts, or raise where there is no list of them."""
        if self.contexts is None:
            raise InvalidParameterError(
                "The contexts of this problem are feature vectors without end. Give the problem "
                "a table of feature vectors, Problem(graph, features=table), to enumerate them."
            )
        return np.arange(self.contexts)

    def support(self, available: Booleans | None = None) -> ContextBlock:
        """Return how each of finitely many contexts reads, in their order."""
        return self.block(self.listed(), available)

    def _index(self, context: Any, contexts: int) -> int:
        integral = isinstance(context, numbers.Integral) and not isinstance(context, bool)
        if not integral or not 0 <= (index := int(context)) < contexts:
            expected = f"an integer from 0 to {contexts - 1}"
            reject("act and policy", "context", expected, context, error=InvalidContextError)
        return index


class DenseForm(LossForm):
    """A loss of its own for each of `contexts` contexts."""

    column_name = "context"
    contexts: int

    def __init__(self, contexts: int, precision: str = "float64") -> None:
        self.contexts = integer("Problem", "contexts", contexts, at_least=1)
        self.dtype = np.dtype(precision)
        self.columns = self.contexts
        self.shape = _AS_IT_IS.shape

    def readout(self, context: Any) -> Readout:
        index = self._index(context, self.contexts)
        return Readout(index, index, _AS_IT_IS)

    def block(self, contexts: npt.NDArray[Any], available: Booleans | None = None) -> ContextBlock:
        first = np.ascontiguousarray(contexts, dtype=np.int64)
        may_play = per_round(available, len(first))
        return ContextBlock(first, np.zeros_like(first), _AS_IT_IS[None], may_play)

    def check(self, rows: Floats, arms: Sequence[int], readout: Readout) -> None:
        # Every context has its own column, in which a loss can be given wherever an arm is asleep.
        del readout
        bad = first_outside(rows, -ROUNDING, 1.0 + ROUNDING)
        if bad >= 0:
            row, context = divmod(bad, self.columns)
            raise InvalidLossesError(
                f"The 'losses' parameter of learn must hold numbers from 0 to 1. "
                f"Got {rows[row, context]} for arm {arms[row]} in context {context}."
            )


def per_round(available: Booleans | None, rounds: int) -> Booleans:
    """Return what is available in each round, as the kernels take it; None stands for all arms."""
    if available is None:
        return np.empty((rounds, 0), dtype=np.bool_)
    return np.ascontiguousarray(available, dtype=np.bool_)
