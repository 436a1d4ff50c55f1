"""A context as the kernels see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.types import Booleans, Floats

Context = int | tuple[float, ...]

# A context that says nothing of availability.
_ALL_ARMS = np.empty(0, dtype=np.bool_)
_ALL_ARMS.flags.writeable = False


class Readout(NamedTuple):
    """A context as the kernels see it: the columns it reads, with which factors, for which arms."""

    context: Context
    first: int
    values: Floats  # (arms or 1, width)
    available: Booleans = _ALL_ARMS  # (arms,), or empty if all are

    def restricted(self, available: Any, arms: int) -> Readout:
        """Return this readout for the arms that are available, or raise InvalidContextError."""
        try:
            mask = np.asarray(available)
        except ValueError:  # rows of different lengths
            mask = np.empty(0)
        if mask.shape != (arms,) or mask.dtype != np.bool_ or not mask.any():
            expected = f"{arms} booleans, of which at least one is true"
            reject("act and policy", "available", expected, available, error=InvalidContextError)
        return self._replace(available=mask.copy())

    def values_of(self, arms: Sequence[int]) -> Floats:
        """Return the values with which this context reads the rows of `arms`."""
        if len(self.values) == 1:
            return self.values
        if isinstance(arms, range):  # as most neighbourhoods are; a slice is not copied
            return self.values[arms.start : arms.stop]
        return self.values[list(arms)]

    def losses(self, rows: Floats, arms: Sequence[int]) -> Floats:
        """Return what this context reads from `rows`, which belong to `arms`."""
        read = rows[:, self.first : self.first + self.values.shape[1]]
        losses: Floats = (read * self.values_of(arms)).sum(axis=1)
        return losses
