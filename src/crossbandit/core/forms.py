"""What both forms of losses share, the dense form, and memory for estimates.

Dense: a number per context. A learner keeps a table of arms times contexts.
Linear: the loss of an arm is a linear function of the context's features. A learner keeps a table
of arms times features, for any number of contexts, and contexts may be continuous.

In both forms, the losses of an arm in a round are one *row* of numbers. A learner adds weighted
rows, and a context reads a row by the rule in `crossbandit.core.blocks`. Algorithms use nothing
else.
"""

from __future__ import annotations

import math
import numbers
import os
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.core.blocks import ContextBlock, Readout
from crossbandit.core.losses import first_beyond_box, first_loss_outside, first_outside
from crossbandit.core.types import Booleans, Floats
from crossbandit.core.validation import array, integer, reject, verbatim
from crossbandit.errors import (
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
    OutOfMemoryError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.core.types import Integers


__all__ = ["Context", "DenseForm", "LinearForm", "LossForm", "Readout"]

Context = int | tuple[float, ...]

# Sums and products that a user computes may leave [0, 1] by rounding.
ROUNDING = 1e-9

ALL_ARMS = np.empty(0, dtype=np.bool_)
_AS_IT_IS = np.ones((1, 1))  # a dense context reads one column, as it is

# An operating system allocates more memory than it has, and ends a process that uses all of it. At
# most this share of the free memory is used. Asking how much is free takes as long as many rounds,
# so nothing is asked for tables of few bytes.
_MEMORY_SHARE = 0.9
_FEW_BYTES = 2**20


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

    def limits(self) -> tuple[Any, ...]:
        """Return what cores need to read a context and to check losses.

        Returns:
            How many contexts there are, -1 if they are vectors; their vectors and the box around
            these, None if there is no table; whether features are weights.
        """
        return -1 if self.contexts is None else self.contexts, None, None, None, False

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


def reading_of(readout: Readout) -> tuple[int, Floats | None, Booleans | None]:
    """Return a readout as cores take it: None for one column as it is, and for all arms."""
    offset, coefficients, available = readout
    return (
        offset,
        None if coefficients is _AS_IT_IS else coefficients,
        available if available.size else None,
    )


def restricted(readout: Readout, available: Any, arms: int) -> Readout:
    """Return a readout for the arms that are available."""
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
    """Return what is available in each round, as cores take it; None means all arms."""
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
    free = free_memory() if needed > _FEW_BYTES else None
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
    from pathlib import Path

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


_FLOAT = np.dtype(np.float64)  # made once

# Sums and products of coefficients up to this size stay finite.
_LARGEST = 1e100


class LinearForm(LossForm):
    """Losses that are linear in the features of the context.

    `check` usually checks the losses of all contexts of a table. If only some arms are available,
    it checks only the context of the round: in other contexts an arm may not be available, and then
    its loss has no meaning. Coefficients must always be finite.

    Args:
        features: The number of features, and a context is then a vector of that length; or a table,
            and a context is then the number of an entry. A table has a feature vector for each
            context (contexts, features), or one for each context and arm
            (contexts, arms, features).
        arms: How many arms there are.
    """

    column_name = "feature"

    def __init__(self, features: int | npt.ArrayLike, arms: int) -> None:
        if isinstance(features, numbers.Integral) and not isinstance(features, bool):
            self.columns = integer("Problem", "features", features, at_least=1)
            self.contexts = None
            self.table: Floats | None = None
            self._entries: Floats | None = None  # the table, not read-only: see ALL_ARMS
            self.shape = (1, self.columns)
            self._holds_shares: bool = False
        else:
            self._entries = feature_table("Problem", "features", features, arms)
            self.table = self._entries.view()
            self.table.flags.writeable = False
            self.contexts, _, self.columns = self.table.shape
            self.shape = self.table.shape[1:]
            # Whether all features are weights: none below 0, no sum of a context above 1.
            sums = self.table.sum(axis=2)
            self._holds_shares = bool((self.table >= 0).all() and (sums <= 1.0 + ROUNDING).all())

    @property
    def features(self) -> int | Floats:
        """The number of features, or the table, as it was given."""
        if self.table is None:
            return self.columns
        return self.table[:, 0] if self.table.shape[1] == 1 else self.table

    def read(self, context: Any) -> tuple[Context, Readout]:
        if self._entries is not None:
            index = self._index(context, len(self._entries))
            return index, Readout(0, self._entries[index], ALL_ARMS)
        vector, plain = _vector(context, self.columns)
        return plain, Readout(0, vector[None], ALL_ARMS)

    def block(self, contexts: npt.NDArray[Any], available: Booleans | None = None) -> ContextBlock:
        offset = np.zeros(len(contexts), dtype=np.int64)
        may_play = per_round(available, len(contexts))
        if self._entries is not None:
            return ContextBlock(offset, writable(contexts, np.int64), self._entries, may_play)
        vectors = writable(contexts, np.float64)
        return ContextBlock(offset, np.arange(len(contexts)), vectors[:, None], may_play)

    def limits(self) -> tuple[Any, ...]:
        if self.table is None:
            return super().limits()
        return self.contexts, self.table, *self._box, self._holds_shares

    def check(self, rows: Floats, arms: Sequence[int], context: Context, readout: Readout) -> None:
        bad, where = self._first_bad_here(rows, arms, readout), context
        if bad < 0 and readout.available.size:
            bad = first_outside(rows, -_LARGEST, _LARGEST) // self.columns
        elif bad < 0 and self.table is not None:
            bad, where = self.first_bad(rows, np.asarray(arms, dtype=np.int64))
        if bad < 0:
            return
        with np.errstate(all="ignore"):
            loss = self.readout(where).losses(rows, arms)[bad]
        raise InvalidLossesError(
            "The 'losses' parameter of learn must hold coefficients that make a loss from 0 to 1 "
            f"of each context. Got {rows[bad].tolist()} for arm {arms[bad]}: a loss of {loss} in "
            f"context {where}."
        )

    def _first_bad_here(self, rows: Floats, arms: Sequence[int], readout: Readout) -> int:
        """Return the first row with a loss outside the limits in the context of `readout`, or -1.

        The loss of an arm that is not available is not checked. If all arms are available and there
        is no table, the size of coefficients is checked, too.
        """
        low, high = -ROUNDING, 1.0 + ROUNDING
        own = readout.coefficients
        if len(own) > 1:  # most neighbourhoods are a range, and a slice is not copied
            own = own[arms.start : arms.stop] if isinstance(arms, range) else own[list(arms)]
        if readout.available.size == 0:
            largest = _LARGEST if self.table is None else math.inf
            return int(first_loss_outside(rows, own, low, high, largest))
        played = np.flatnonzero(readout.available[list(arms)])
        own = own if len(own) == 1 else own[played]
        bad = int(first_loss_outside(rows[played], own, low, high, math.inf))
        return bad if bad < 0 else int(played[bad])

    def first_bad(
        self, rows: Floats, arms: Integers, available: Booleans | None = None
    ) -> tuple[int, int]:
        """Find a row that reads a loss outside [0, 1] in some context of the table.

        Most rows are checked in constant time: by the box that contains all features, or as means
        of numbers in [0, 1]. Only the other rows are checked in all contexts.

        Args:
            rows: Rows of losses (n, features).
            arms: The arm of each row.
            available: Contexts in which an arm is not available (contexts, K) are left out.

        Returns:
            The first such row, and a context; (-1, -1) if there is none, or no table.
        """
        if self.table is None:
            return -1, -1
        if self._holds_shares and first_outside(rows, 0.0, 1.0) < 0:
            return -1, -1
        low, high = -ROUNDING, 1.0 + ROUNDING
        least, most = self._box if available is None else _available_box(self.table, available)
        done = 0
        while done < len(rows):
            suspect = first_beyond_box(rows[done:], arms[done:], least, most, low, high)
            if suspect < 0:
                break
            done += suspect
            own = min(int(arms[done]), self.table.shape[1] - 1)
            with np.errstate(all="ignore"):
                losses = self.table[:, own] @ rows[done]
            if available is not None:
                losses[~available[:, arms[done]]] = 0.0
            context = first_outside(losses[:, None], low, high)
            if context >= 0:
                return done, context
            done += 1
        return -1, -1

    @cached_property
    def _box(self) -> tuple[Floats, Floats]:
        table = self.table if self.table is not None else np.empty((1, 1, self.columns))
        return table.min(axis=0), table.max(axis=0)


def _available_box(table: Floats, available: Booleans) -> tuple[Floats, Floats]:
    """Return the bounds of each arm's features where it is available, (K, features); else 0."""
    least, most = np.zeros((2, available.shape[1], table.shape[2]))
    for arm in np.flatnonzero(available.any(axis=0)):
        met = table[available[:, arm], min(arm, table.shape[1] - 1)]
        least[arm], most[arm] = met.min(axis=0), met.max(axis=0)
    return least, most


def feature_table(owner: str, name: str, features: Any, arms: int) -> Floats:
    """Return a copy of the table as (contexts, arms or 1, features)."""
    expected = (
        "a number of features, or a finite array of shape (contexts, features) or "
        f"(contexts, {arms}, features)"
    )
    table = array(owner, name, expected, features)
    if table.ndim not in (2, 3) or 0 in table.shape or (table.ndim == 3 and table.shape[1] != arms):
        reject(owner, name, expected, verbatim(f"an array of shape {table.shape}"))
    if not np.isfinite(table).all():
        entry = np.argwhere(~np.isfinite(table))[0]
        got = verbatim(f"{table[tuple(entry)]} for context {entry[0]}")
        reject(owner, name, expected, got)
    return table if table.ndim == 3 else table[:, None]


def _vector(context: Any, features: int) -> tuple[Floats, tuple[float, ...]]:
    """Return a copy of a feature vector as an array, and as plain numbers."""
    if type(context) is np.ndarray and context.dtype == _FLOAT:  # as most are, in every round
        values = context.copy()
    elif type(context) is tuple and all(type(number) is float for number in context):
        values = np.array(context)
    else:
        expected = _expected_vector(features)
        if np.ma.is_masked(context):
            expected = f"{expected}, none of them masked"
            reject("act and policy", "context", expected, context, error=InvalidContextError)
        values = array("act and policy", "context", expected, context, error=InvalidContextError)
    plain = tuple(values.tolist()) if values.shape == (features,) else (math.nan,)
    if not all(map(math.isfinite, plain)):
        expected = _expected_vector(features)
        reject("act and policy", "context", expected, context, error=InvalidContextError)
    return values, plain


def _expected_vector(features: int) -> str:
    return f"a vector of {features} finite numbers"
