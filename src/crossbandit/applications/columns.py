"""Columns of amounts, flags and labels that a caller gives for many auctions, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications.money import amount_of, flag_of
from crossbandit.errors import InvalidContextError, InvalidInputError, InvalidLossesError
from crossbandit.validation import as_array, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.types import Booleans, Floats


def column_of(
    owner: str,
    name: str,
    values: Any,
    count: int | None,
    error: type[InvalidInputError],
    *,
    low: float = 0.0,
    high: float = np.inf,
) -> Floats:
    """Return a column of amounts; one amount for all rows is repeated, None becomes NaN.

    Args:
        owner: The method that has the parameter.
        name: The parameter.
        values: Its value.
        count: The number of rows; None if this column determines it.
        error: The class of the error.
        low: The lowest possible amount.
        high: The highest one.

    Raises:
        InvalidInputError: Rows are not amounts, or their number is wrong; the message names them.
    """
    optional = count is not None
    if optional and (values is None or np.ndim(values) == 0):
        one = np.nan if values is None else amount_of(owner, name, values, error=error)
        column = np.full(count or 0, one)
    else:
        expected = "a column of amounts"
        given = as_array(owner, name, expected, values, error=error)
        if given.dtype == object:  # decimals, or None
            listed = [np.nan if one is None else _float(one) for one in given.ravel().tolist()]
            given = np.array(listed, dtype=float).reshape(given.shape)
        if given.dtype.kind not in "iuf" or given.ndim != 1:
            reject(owner, name, expected, values, error=error)
        column = given.astype(np.float64)
    if optional and column.size != count:
        reject(owner, name, f"{count} amounts", verbatim(f"{column.size}"), error=error)
    wrong = ~((column >= low) & (column <= high) & np.isfinite(column))
    if optional:
        wrong &= ~np.isnan(column)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        expected = f"amounts from {low:.15g}" + (f" to {high:.15g}" if np.isfinite(high) else "")
        got = verbatim(f"{column[i]} in row {i}; {int(wrong.sum())} rows are wrong")
        reject(owner, name, expected, got, error=error)
    return column


def flags_of(owner: str, name: str, values: Any, count: int) -> Booleans:
    """Return a column of True and False, or of 1 and 0.

    Args:
        owner: The method that has the parameter.
        name: The parameter.
        values: Its value.
        count: The number of rows.

    Raises:
        InvalidLossesError: The column holds other values, or has another length.
    """
    expected = f"True or False for each of {count} bids"
    given = as_array(owner, name, expected, values, error=InvalidLossesError)
    if given.shape != (count,):
        reject(owner, name, expected, verbatim(f"shape {given.shape}"), error=InvalidLossesError)
    if given.dtype != np.bool_:
        given = np.array([flag_of(owner, name, one) for one in given.tolist()], dtype=bool)
    return given


def label_columns(
    names: Sequence[str], classes: Mapping[str, Any], count: int
) -> tuple[dict[str, npt.NDArray[Any]], list[tuple[Any, ...]]]:
    """Return a column of labels for every class, and the labels of every row.

    Args:
        names: The classes.
        classes: A label for all rows, or a column of labels, by class.
        count: The number of rows.

    Raises:
        InvalidContextError: A class is missing or unknown, or a column has another length.
    """
    if set(classes) != set(names):
        expected = f"given for each of {', '.join(names)}" if names else "left out: there are none"
        reject("bid_many", "classes", expected, sorted(classes), error=InvalidContextError)
    columns = {}
    for name in names:
        one = classes[name]
        column = np.asarray([one] * count if isinstance(one, str | int) else one)
        if column.shape != (count,) or column.dtype.kind not in "iubU":
            reject("bid_many", name, f"{count} labels", one, error=InvalidContextError)
        columns[name] = column
    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    return columns, rows


def is_column(values: Any, kind: Any, shape: tuple[int]) -> bool:
    """Return whether these are values that compiled code takes as they are."""
    is_array = type(values) is np.ndarray and values.dtype == kind
    return is_array and values.shape == shape and values.flags.c_contiguous


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.inf  # refused as out of range
