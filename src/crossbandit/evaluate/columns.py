"""Check the columns of a censored log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import InvalidParameterError
from crossbandit.validation import array, as_array, reject

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Booleans, Floats

OWNER = "CensoredLog"


def amounts(name: str, given: object, count: int | None, *, missing: bool = False) -> Floats:
    """Return a column of amounts as numbers; they may be missing, as NaN, if `missing`."""
    expected = "numbers of at least 0, one per auction" + (", or NaN" if missing else "")
    column = array(OWNER, name, expected, given)
    wrong = np.isinf(column) | (column < 0) | (np.isnan(column) & (not missing))
    if column.ndim != 1 or (count is not None and column.size != count):
        reject(OWNER, name, expected, given)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        reject(OWNER, name, expected, f"{column[i]:.15g} in auction {i + 1:,}")
    return column


def flags(given: object, count: int) -> Booleans:
    """Return a column that says who won."""
    expected = "True or False for each auction"
    column = as_array(OWNER, "won", expected, given)
    if column.shape != (count,) or not np.isin(column, (0, 1)).all():
        reject(OWNER, "won", expected, given)
    return column.astype(bool)


def levels(given: object, count: int) -> dict[str, npt.NDArray[np.generic]]:
    """Return columns of classes by name."""
    if not isinstance(given, Mapping):
        reject(OWNER, "classes", "a mapping from names to columns", given)
    columns = {str(name): np.asarray(column) for name, column in given.items()}
    for name, column in columns.items():
        if column.shape != (count,):
            reject(OWNER, "classes", "columns with a level per auction", f"{name!r}")
    return columns


def probabilities(given: object, count: int) -> Floats:
    """Return a column of probabilities."""
    expected = "probabilities above 0 and of at most 1, one per auction"
    column = array(OWNER, "propensities", expected, given)
    if column.shape != (count,):
        reject(OWNER, "propensities", expected, given)
    wrong = np.flatnonzero(~((column > 0) & (column <= 1)))
    if wrong.size:
        i = int(wrong[0])
        raise InvalidParameterError(
            f"The 'propensities' parameter of {OWNER} must be {expected}. Got {column[i]:.15g} in "
            f"auction {i + 1:,}. A propensity is the probability of the bid that was made; a "
            "density cannot be used."
        )
    return column
