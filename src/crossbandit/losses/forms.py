"""What both forms of losses share, the dense form, and memory for estimates.

Dense: a number per context. A learner keeps a table of arms times contexts.
Linear: the loss of an arm is a linear function of the context's features. A learner keeps a table
of arms times features, for any number of contexts, and contexts may be continuous.

In both forms, the losses of an arm in a round are one *row* of numbers. A learner adds weighted
rows, and a context reads a row by the rule in `crossbandit.kernels.rounds`. Algorithms use nothing
else.
"""

from __future__ import annotations

import numbers
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.errors import (
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
    OutOfMemoryError,
)
from crossbandit.kernels.rounds import ContextBlock, Readout
from crossbandit.kernels.rows import first_outside
from crossbandit.types import Booleans, Floats
from crossbandit.validation import integer, reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.types import Integers

Context = int | tuple[float, ...]

# Sums and products that a user computes may leave [0, 1] by rounding.
ROUNDING = 1e-9

# All arrays of a readout are writable, although nothing writes to them: kernels would be compiled a
# second time for read-only arrays.
ALL_ARMS = np.empty(0, dtype=np.bool_)
_AS_IT_IS = np.ones((1, 1))  # a dense context reads one column, as it is

# An operating system allocates more memory than it has, and ends a process that uses all of it. At
# most this share of the free memory is used.
_MEMORY_SHARE = 0.9


class LossForm(ABC):
    """What one row of losses holds, and how contexts read it.

    Attributes:
        columns: How many numbers a row has.
        shape: The shape of a readout's coefficients: (arms or 1, width).
        column_name: What a column belongs to, for messages.
        contexts: How many contexts there are; None if they are feature vectors.
        dtype: The type in which a learner keeps its estimates.
    """

    columns: int
    shape: tuple[int, int]
    column_name: ClassVar[str]
    contexts: int | None
    dtype: npt.DTypeLike = np.float64

    @abstractmethod
    def read(self, context: Any) -> tuple[Context, Readout]:
        """Return a context in plain form, and how it reads a row.

        Args:
            context: The number of a context, or a feature vector.

        Returns:
            An int, or a tuple of floats; and the readout, with all arms available.

        Raises:
            InvalidContextError: The problem has no such context.
        """

    def readout(self, context: Any) -> Readout:
        """Return how a context reads a row, with all arms available.

        Args:
            context: The number of a context, or a feature vector.

        Returns:
            The readout.

        Raises:
            InvalidContextError: The problem has no such context.
        """
        return self.read(context)[1]

    @abstractmethod
    def block(self, contexts: npt.NDArray[Any], available: Booleans | None = None) -> ContextBlock:
        """Return how a batch of rounds reads.

        Args:
            contexts: The contexts, one per round.
            available: Which arms may be played in each round (n, arms); None means all arms.

        Returns:
            The batch as compiled code takes it.
        """

    @abstractmethod
    def check(self, rows: Floats, arms: Sequence[int], context: Context, readout: Readout) -> None:
        """Check losses that were passed to `learn`.

        Args:
            rows: The rows of `arms`.
            arms: The arms that were revealed.
            context: The context of the round.
            readout: How it reads, and which arms it has available.

        Raises:
            InvalidLossesError: A row cannot be the losses of its arm.
        """

    def listed(self) -> Integers:
        """Return the numbers of all contexts.

        Returns:
            The integers from 0 to the number of contexts minus 1.

        Raises:
            InvalidParameterError: Contexts are feature vectors, which cannot be listed.
        """
        if self.contexts is None:
            raise InvalidParameterError(
                "The contexts of this problem are continuous feature vectors. Give the problem "
                "a table of feature vectors, Problem(graph, features=table), to enumerate them."
            )
        return np.arange(self.contexts)

    def support(self, available: Booleans | None = None) -> ContextBlock:
        """Return how each of finitely many contexts reads, in their order.

        Args:
            available: Which arms may be played in each context (contexts, arms); None for all.

        Returns:
            A batch with one round per context.
        """
        return self.block(self.listed(), available)

    def _index(self, context: Any, contexts: int) -> int:
        if type(context) is int and 0 <= context < contexts:  # as most are, in every round
            return context
        integral = isinstance(context, numbers.Integral) and not isinstance(context, bool)
        if not integral or not 0 <= (index := int(context)) < contexts:
            expected = f"an integer from 0 to {contexts - 1}"
            reject("act and policy", "context", expected, context, error=InvalidContextError)
        return index


class DenseForm(LossForm):
    """A separate loss for each of `contexts` contexts.

    Args:
        contexts: How many contexts there are.
        precision: "float64", or "float32" to halve the memory of a learner.
    """

    column_name = "context"
    contexts: int

    def __init__(self, contexts: int, precision: str = "float64") -> None:
        self.contexts = integer("Problem", "contexts", contexts, at_least=1)
        self.dtype = np.dtype(precision)
        self.columns = self.contexts
        self.shape = _AS_IT_IS.shape

    def read(self, context: Any) -> tuple[Context, Readout]:
        index = self._index(context, self.contexts)
        return index, Readout(index, _AS_IT_IS, ALL_ARMS)

    def block(self, contexts: npt.NDArray[Any], available: Booleans | None = None) -> ContextBlock:
        offset = writable(contexts, np.int64)
        entry = np.zeros_like(offset)
        return ContextBlock(offset, entry, _AS_IT_IS[None], per_round(available, len(offset)))

    def check(self, rows: Floats, arms: Sequence[int], context: Context, readout: Readout) -> None:
        del context, readout  # each context has a column, also where an arm is not available
        bad = first_outside(rows, -ROUNDING, 1.0 + ROUNDING)
        if bad >= 0:
            row, column = divmod(bad, self.columns)
            raise InvalidLossesError(
                f"The 'losses' parameter of learn must hold numbers from 0 to 1. "
                f"Got {rows[row, column]} for arm {arms[row]} in context {column}."
            )


def restricted(readout: Readout, available: Any, arms: int) -> Readout:
    """Return a readout for the arms that are available.

    Args:
        readout: The readout of a context.
        available: A boolean for each arm; at least one must be true, and none may be masked.
        arms: How many arms there are.

    Returns:
        The readout with a copy of `available`.

    Raises:
        InvalidContextError: `available` is something else.
    """
    try:
        mask = np.asarray(available)
    except ValueError:  # rows of different lengths
        mask = np.empty(0)
    hidden = np.ma.is_masked(available)
    if mask.shape != (arms,) or mask.dtype != np.bool_ or not mask.any() or hidden:
        expected = f"{arms} booleans, of which at least one is true and none is masked"
        reject("act and policy", "available", expected, available, error=InvalidContextError)
    return Readout(readout.offset, readout.coefficients, mask.copy())


def per_round(available: Booleans | None, rounds: int) -> Booleans:
    """Return what is available in each round, as the kernels take it; None means all arms."""
    if available is None:
        return np.empty((rounds, 0), dtype=np.bool_)
    return writable(available, np.bool_)


def writable(values: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a contiguous, writable array; a copy only if it is needed."""
    array = np.ascontiguousarray(values, dtype=dtype)
    return array if array.flags.writeable else array.copy()


def zeros(owner: str, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> Floats:
    """Return an array of zeros; raise OutOfMemoryError, with advice, if it would not fit."""
    needed = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
    free = free_memory()
    if free is not None and needed > _MEMORY_SHARE * free:
        raise OutOfMemoryError(
            f"{owner} would keep {needed / 2**30:,.1f} GiB of estimates, and {free / 2**30:,.1f} "
            "GiB of memory are free. If losses are linear in features of the context, "
            "Problem(graph, features=...) needs no number per context; precision='float32' halves "
            "a table; fewer contexts need less."
        )
    return np.zeros(shape, dtype=dtype)


def free_memory() -> int | None:
    """Return the memory that is free, in bytes; None if the system does not report it."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
