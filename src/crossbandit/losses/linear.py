"""Losses that are linear in the features of the context."""

from __future__ import annotations

import math
import numbers
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.kernels.rounds import ContextBlock, Readout
from crossbandit.kernels.rows import first_beyond_box, first_loss_outside, first_outside
from crossbandit.losses.forms import (
    ALL_ARMS,
    ROUNDING,
    Context,
    LossForm,
    per_round,
    writable,
)
from crossbandit.types import Booleans, Floats
from crossbandit.validation import array, integer, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.types import Integers

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
            self._holds_shares = _are_shares(self.table)

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


def _are_shares(table: Floats) -> bool:
    """Return whether all features are weights: none below 0, and no sum of a context above 1."""
    return bool((table >= 0).all() and (table.sum(axis=2) <= 1.0 + ROUNDING).all())


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
