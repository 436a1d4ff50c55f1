"""The two forms of losses.

Dense: a number per context. A learner keeps a table of arms times contexts.
Linear: the loss of an arm is a fixed linear function of the context's features. A learner keeps
arms times features, however many contexts there are, and contexts need not be enumerable.

In both, an arm's losses in a round are one *row* of numbers, a learner adds weighted rows, and a
context reads a row by the rule in `crossbandit.kernels.rounds`. That is all an algorithm relies on.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from crossbandit.errors import InvalidContextError, InvalidLossesError, InvalidParameterError
from crossbandit.kernels.rounds import ContextBlock, Floats, first_outside
from crossbandit.validation import integer, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

Context = int | tuple[float, ...]

_ONE = np.ones(1)
_ONE.flags.writeable = False
_ONE_ROW = np.ones((1, 1))
_ONE_ROW.flags.writeable = False

# Products of coefficients and features may leave [0, 1] by rounding alone.
LINEAR_TOLERANCE = 1e-9


class Reading(NamedTuple):
    """A context as the kernels see it: which columns it reads, and with which factors."""

    context: Context
    first: int
    values: Floats


class LossForm(ABC):
    """What one row of losses holds, and how contexts read it."""

    columns: int
    column_name: ClassVar[str]
    contexts: int | None

    @abstractmethod
    def reading(self, context: Any) -> Reading:
        """Return how `context` reads a row, or raise InvalidContextError."""

    @abstractmethod
    def block(self, contexts: npt.NDArray[Any]) -> ContextBlock:
        """Return how a stretch of rounds reads; `contexts` has one entry a round."""

    @abstractmethod
    def check(self, rows: Floats, arms: Sequence[int], reading: Reading) -> None:
        """Raise InvalidLossesError unless `rows` may be the losses of `arms`."""

    def support(self) -> ContextBlock:
        """Return how each of finitely many contexts reads, in their order."""
        if self.contexts is None:
            raise InvalidParameterError(
                "The contexts of this problem are feature vectors without end. Give the problem "
                "a table of feature vectors, Problem(graph, features=table), to enumerate them."
            )
        return self.block(np.arange(self.contexts))

    def _index(self, context: Any, contexts: int) -> int:
        integral = isinstance(context, numbers.Integral) and not isinstance(context, bool)
        if not integral or not 0 <= (index := int(context)) < contexts:
            expected = f"an integer from 0 to {contexts - 1}"
            reject("act", "context", expected, context, error=InvalidContextError)
        return index


class DenseForm(LossForm):
    """A loss of its own for each of `contexts` contexts."""

    column_name = "context"
    contexts: int

    def __init__(self, contexts: int) -> None:
        self.contexts = integer("Problem", "contexts", contexts, at_least=1)
        self.columns = self.contexts

    def reading(self, context: Any) -> Reading:
        index = self._index(context, self.contexts)
        return Reading(index, index, _ONE)

    def block(self, contexts: npt.NDArray[Any]) -> ContextBlock:
        return ContextBlock(np.ascontiguousarray(contexts, dtype=np.int64), _ONE_ROW)

    def check(self, rows: Floats, arms: Sequence[int], reading: Reading) -> None:
        del reading
        bad = first_outside(rows, 0.0, 1.0)
        if bad >= 0:
            row, context = divmod(bad, self.columns)
            raise InvalidLossesError(
                f"The 'losses' parameter of learn must hold numbers from 0 to 1. "
                f"Got {rows[row, context]} for arm {arms[row]} in context {context}."
            )


class LinearForm(LossForm):
    """Losses that are linear in the features of the context.

    `features` is either the number of features, and a context is then a vector of that length; or
    a table with a feature vector per row, and a context is then the number of a row.
    """

    column_name = "feature"

    def __init__(self, features: int | npt.ArrayLike) -> None:
        if isinstance(features, numbers.Integral) and not isinstance(features, bool):
            self.columns = integer("Problem", "features", features, at_least=1)
            self.contexts = None
            self.table: Floats | None = None
            return
        self.table = _feature_table(features)
        self.contexts, self.columns = self.table.shape

    def reading(self, context: Any) -> Reading:
        if self.table is not None:
            index = self._index(context, self.table.shape[0])
            return Reading(index, 0, self.table[index])
        values = _vector(context, self.columns)
        return Reading(tuple(values.tolist()), 0, values)

    def block(self, contexts: npt.NDArray[Any]) -> ContextBlock:
        if self.table is not None:
            values = self.table[contexts]
        else:
            values = np.ascontiguousarray(contexts, dtype=np.float64)
        return ContextBlock(np.zeros(len(contexts), dtype=np.int64), values)

    def check(self, rows: Floats, arms: Sequence[int], reading: Reading) -> None:
        losses = (rows @ reading.values)[:, None]
        bad = first_outside(losses, -LINEAR_TOLERANCE, 1.0 + LINEAR_TOLERANCE)
        if bad < 0:
            return
        raise InvalidLossesError(
            "The 'losses' parameter of learn must hold coefficients that make a loss from 0 to 1 "
            f"of the decision's context. Got {rows[bad].tolist()} for arm {arms[bad]}: a loss of "
            f"{losses[bad, 0]}."
        )


def _feature_table(features: Any) -> Floats:
    expected = "a number of features, or a finite array with a feature vector per row"
    try:
        table = np.array(features, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        reject("Problem", "features", expected, features)
    if table.ndim != 2 or 0 in table.shape:
        reject("Problem", "features", expected, verbatim(f"an array of shape {table.shape}"))
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        reject("Problem", "features", expected, verbatim(f"{table[row].tolist()} in row {row}"))
    table.flags.writeable = False
    return table


def _vector(context: Any, features: int) -> Floats:
    expected = f"a vector of {features} finite numbers"
    try:
        values = np.array(context, dtype=np.float64)
    except (TypeError, ValueError):
        reject("act", "context", expected, context, error=InvalidContextError)
    if values.shape != (features,) or not all(map(math.isfinite, values.tolist())):
        reject("act", "context", expected, context, error=InvalidContextError)
    return values
