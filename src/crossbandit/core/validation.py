"""Checks of arguments, with one message form for all of them.

The 'eta' parameter of CrossGraph must be a positive number. Got -0.1.

There is one function for each kind of argument.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import numpy as np

from crossbandit.errors import CrossbanditError, InvalidInputError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import numpy.typing as npt

MAX_INTEGER = 2**63 - 1  # the largest integer of compiled code and arrays
MAX_SIZE = 10**8  # the most arms, for example: several arrays of this size take a few gigabytes

_SMALLEST_RATE = 1e-100  # quotients of two rates, summed over any horizon, stay finite
_LONGEST_SHOWN = 500
_Error = TypeVar("_Error", bound=CrossbanditError)
_Word = TypeVar("_Word", bound=str)


def because_of(rows: Iterable[int], error: _Error) -> _Error:
    """Return an error that says which rows of a batch are wrong.

    Args:
        rows: All rows that are wrong.
        error: The error. Its message may name some of them only.
    """
    error.rows = tuple(sorted(rows))
    return error


def reject(
    owner: str,
    name: str,
    expected: str,
    got: object,
    *,
    error: type[InvalidInputError] = InvalidParameterError,
) -> NoReturn:
    """Raise an error in the package's message form.

    Args:
        owner: The class or function that has the parameter.
        name: The parameter.
        expected: What it must be, to follow the words "must be".
        got: The value, or a description of it made by `verbatim`.
        error: The class of the error.

    Raises:
        InvalidInputError: Always; of the class `error`.
    """
    raise error(f"The {name!r} parameter of {owner} must be {expected}. Got {_shown(got)}.")


class _Verbatim(str):
    """Text that a message shows as it is, without quotes."""

    __slots__ = ()


def verbatim(text: str) -> _Verbatim:
    """Return a description of a bad value that `reject` shows without quotes.

    Args:
        text: The text.
    """
    return _Verbatim(text)


def _shown(got: object) -> str:
    if isinstance(got, _Verbatim):
        return got
    try:
        text = repr(got)
    except ValueError:  # Python does not write integers of more than 4,300 digits
        return f"a value of type {type(got).__name__} that is too long to show"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def integer(
    owner: str, name: str, value: object, *, at_least: int, at_most: int | None = MAX_INTEGER
) -> int:
    """Return `value` as an int within bounds.

    Args:
        owner: The class or function that has the parameter.
        name: The parameter.
        value: Its value. A bool is not an integer.
        at_least: The lower bound.
        at_most: The upper bound. Use `MAX_SIZE` for what memory is allocated for, and None for
            seeds, which may have any size.

    Raises:
        InvalidParameterError: It is not an integer, or out of bounds.
    """
    expected = f"an integer of at least {at_least}"
    if at_most is not None and at_most < MAX_SIZE:  # larger ones are named if exceeded
        expected += f" and of at most {at_most}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        reject(owner, name, expected, value)
    if value < at_least:
        reject(owner, name, expected, value)
    if at_most is not None and int(value) > at_most:
        reject(owner, name, f"an integer of at least {at_least} and of at most {at_most}", value)
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
    """Return `value` as a finite float within bounds.

    Args:
        owner: The class or function that has the parameter.
        name: The parameter.
        value: Its value. A bool is not a number.
        above: It must be greater than this.
        at_least: It must not be less than this.
        at_most: It must not be greater than this.
        below: It must be less than this.
        error: The class of the error.

    Raises:
        InvalidInputError: It is not a finite number, or out of bounds; of the class `error`.
    """
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
    except OverflowError:  # an int that no float can hold
        result = math.inf
    if not math.isfinite(result) or not (above < result < below and at_least <= result <= at_most):
        reject(owner, name, expected, value, error=error)
    return result


def positive(owner: str, name: str, value: object) -> float:
    """Return `value` as a positive float that neither overflows nor underflows in products.

    Args:
        owner: Whom an error names, such as a class.
        name: The name of the parameter.
        value: What was given.

    Raises:
        InvalidParameterError: The value is something else.
    """
    result = number(owner, name, value, above=0)
    if not _SMALLEST_RATE <= result <= 1 / _SMALLEST_RATE:
        expected = f"a number from {_SMALLEST_RATE:g} to {1 / _SMALLEST_RATE:g}"
        reject(owner, name, expected, value)
    return result


def share(owner: str, name: str, value: object) -> float:
    """Return `value` as a positive float below 1.

    Args:
        owner: Whom an error names, such as a class.
        name: The name of the parameter.
        value: What was given.

    Raises:
        InvalidParameterError: The value is something else.
    """
    return positive(owner, name, number(owner, name, value, above=0, below=1))


def choice(owner: str, name: str, value: object, choices: Collection[_Word]) -> _Word:
    """Return `value` if it is one of `choices`.

    Args:
        owner: Whom an error names, such as a class.
        name: The name of the parameter.
        value: What was given.
        choices: The texts that are allowed.

    Raises:
        InvalidParameterError: The value is something else.
    """
    if not isinstance(value, str) or value not in choices:
        reject(owner, name, "one of " + ", ".join(map(repr, choices)), value)
    return cast("_Word", value)


def boolean(
    owner: str,
    name: str,
    value: object,
    *,
    error: type[InvalidInputError] = InvalidParameterError,
) -> bool:
    """Return `value`, which must be True or False, as a bool.

    Args:
        owner: Whom an error names, such as a class.
        name: The name of the parameter.
        value: What was given.
        error: The class of the error.

    Raises:
        InvalidInputError: The value is something else; of the class `error`.
    """
    if not isinstance(value, bool | np.bool_):
        reject(owner, name, "True or False", value, error=error)
    return bool(value)


def as_array(
    owner: str,
    name: str,
    expected: str,
    values: object,
    *,
    error: type[InvalidInputError] = InvalidParameterError,
) -> npt.NDArray[Any]:
    """Return `values` as an array of the type that they have.

    Args:
        owner: The class or function that has the parameter.
        name: The parameter.
        expected: What it must be, for the message.
        values: Its value. It is not copied if it is an array.
        error: The class of the error.

    Raises:
        InvalidInputError: The rows have different lengths, or entries are masked: NumPy would
            silently use the values behind the mask. Of the class `error`.
    """
    if is_masked(values):
        reject(owner, name, expected, verbatim("masked entries"), error=error)
    try:
        return np.asarray(values)
    except ValueError:
        reject(owner, name, expected, verbatim("rows of unequal length"), error=error)


def is_masked(values: object, levels: int = 4) -> bool:
    """Return whether an array, or one in (nested) lists or tuples of arrays, has masked entries.

    Args:
        values: Anything.
        levels: How many levels of lists to look into.

    >>> is_masked([[1.0, 2.0], np.ma.array([3.0, 4.0], mask=[True, False])])
    True
    """
    if type(values) is np.ndarray:
        return False  # without loading `np.ma`
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.is_masked(values))
    if isinstance(values, list | tuple) and levels > 0:
        return any(
            is_masked(value, levels - 1)
            for value in values
            if isinstance(value, list | tuple | np.ma.MaskedArray)
        )
    return False


def array(
    owner: str,
    name: str,
    expected: str,
    values: object,
    *,
    error: type[InvalidInputError] = InvalidParameterError,
    copy: bool | None = True,
) -> npt.NDArray[np.float64]:
    """Return `values` as a contiguous array of floats, of any shape.

    Args:
        owner: The class or function that has the parameter.
        name: The parameter.
        expected: What it must be, for the message.
        values: Its value: real numbers. Text and complex numbers are refused.
        error: The class of the error.
        copy: Whether to copy. With None, an array that has the right form is returned itself.

    Raises:
        InvalidInputError: It is not an array of real numbers, or has masked entries; of the class
            `error`.
    """
    given = as_array(owner, name, expected, values, error=error)
    if given.dtype.kind not in "biuf":
        kind = {"U": "text", "S": "text", "c": "complex numbers"}.get(given.dtype.kind)
        example = f"{kind}, such as {given.flat[0].item()!r}" if kind and given.size else ""
        got = verbatim(example) if example else values
        reject(owner, name, expected, got, error=error)
    return np.array(given, dtype=np.float64, order="C", copy=copy)


def even(owner: str, name: str, value: object) -> int:
    """Return `value` as an even int of at least 2.

    Args:
        owner: Whom an error names, such as a class.
        name: The name of the parameter.
        value: What was given.

    Raises:
        InvalidParameterError: The value is something else.
    """
    expected = "an even integer of at least 2"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        reject(owner, name, expected, value)
    if value < 2 or value % 2 != 0:
        reject(owner, name, expected, value)
    return integer(owner, name, value, at_least=2)
