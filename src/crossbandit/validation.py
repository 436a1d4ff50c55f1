"""Checks at the door: one message form, used by every constructor.

The 'eta' parameter of CrossGraph must be a positive number. Got -0.1.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from crossbandit.errors import InvalidInputError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

_LEAST = 1e-100  # of a rate: quotients of two, summed over any horizon, stay finite


def reject(
    owner: str,
    name: str,
    expected: str,
    got: object,
    *,
    error: type[InvalidInputError] = InvalidParameterError,
) -> NoReturn:
    """Raise `error` in the package's one message form."""
    shown = got if isinstance(got, _Verbatim) else repr(got)
    raise error(f"The {name!r} parameter of {owner} must be {expected}. Got {shown}.")


class _Verbatim(str):
    """Text that a message shows as it is, without quotes."""

    __slots__ = ()


def verbatim(text: str) -> _Verbatim:
    """Mark a description of a bad value, to be shown without quotes."""
    return _Verbatim(text)


def integer(owner: str, name: str, value: object, *, at_least: int) -> int:
    """Return `value` as an int that is at least `at_least`."""
    expected = f"an integer of at least {at_least}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        reject(owner, name, expected, value)
    if value < at_least:
        reject(owner, name, expected, value)
    return int(value)


def number(
    owner: str,
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
    error: type[InvalidInputError] = InvalidParameterError,
) -> float:
    """Return `value` as a finite float within the given bounds."""
    bounds = [
        f"{word} {bound:.15g}"
        for word, bound in (
            ("above", above),
            ("of at least", at_least),
            ("of at most", at_most),
            ("below", below),
        )
        if math.isfinite(bound)
    ]
    expected = " ".join(["a finite number", " and ".join(bounds)]).strip()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        reject(owner, name, expected, value, error=error)
    try:
        result = float(value)
    except OverflowError:  # an int beyond all floats
        result = math.inf
    if not math.isfinite(result) or not (above < result < below and at_least <= result <= at_most):
        reject(owner, name, expected, value, error=error)
    return result


def positive(owner: str, name: str, value: object) -> float:
    """Return `value` as a positive float that neither over- nor underflows in any product."""
    result = number(owner, name, value, above=0)
    if not _LEAST <= result <= 1 / _LEAST:
        reject(owner, name, f"a number from {_LEAST:g} to {1 / _LEAST:g}", value)
    return result


def share(owner: str, name: str, value: object) -> float:
    """Return `value` as a positive float below 1."""
    return positive(owner, name, number(owner, name, value, above=0, below=1))


def choice(owner: str, name: str, value: object, choices: Collection[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        reject(owner, name, "one of " + ", ".join(map(repr, choices)), value)
    return value


def boolean(
    owner: str,
    name: str,
    value: object,
    *,
    error: type[InvalidInputError] = InvalidParameterError,
) -> bool:
    """Return `value`, which is True or False, as a bool."""
    if not isinstance(value, bool | np.bool_):
        reject(owner, name, "True or False", value, error=error)
    return bool(value)


def array(
    owner: str,
    name: str,
    expected: str,
    values: object,
    *,
    error: type[InvalidInputError] = InvalidParameterError,
    copy: bool | None = True,
) -> npt.NDArray[np.float64]:
    """Return a contiguous copy of real numbers, of any shape; text and complex numbers are none.

    With `copy=None`, numbers that have the right form already are returned as they are.
    """
    try:
        given = np.asarray(values)
    except ValueError:
        reject(owner, name, expected, verbatim("rows of unequal length"), error=error)
    if given.dtype.kind not in "biuf":
        kind = {"U": "text", "S": "text", "c": "complex numbers"}.get(given.dtype.kind)
        example = f"{kind}, such as {given.flat[0].item()!r}" if kind and given.size else ""
        got = verbatim(example) if example else values
        reject(owner, name, expected, got, error=error)
    return np.array(given, dtype=np.float64, order="C", copy=copy)


def even(owner: str, name: str, value: object) -> int:
    """Return `value` as an even int of at least 2."""
    expected = "an even integer of at least 2"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        reject(owner, name, expected, value)
    if value < 2 or value % 2 != 0:
        reject(owner, name, expected, value)
    return int(value)
