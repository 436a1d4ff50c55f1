"""How reports write numbers, counts and ranges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

MISSING = "\N{EN DASH}"
_SMALLEST_P = 0.001
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a formula of a spreadsheet begins
_Value = TypeVar("_Value")


def number(value: float, digits: int = 2) -> str:
    """Return a number with thousands separators and a minus sign; a dash for NaN.

    >>> number(-1234.5)
    '−1,234.50'
    >>> number(-0.001)
    '0.00'
    """
    if math.isnan(value):
        return MISSING
    shown = f"{value:,.{digits}f}"
    return (shown if float(shown.replace(",", "")) else shown.lstrip("-")).replace("-", "−")


def plus_minus(value: float, half_width: float, digits: int = 2) -> str:
    """Return a value and its half-width, as 12.34 ± 0.56; without one if it is NaN.

    >>> plus_minus(12.34, 0.56)
    '12.34 ± 0.56'
    """
    shown = number(value, digits)
    return shown if math.isnan(half_width) else f"{shown} ± {number(half_width, digits)}"


def parentheses(value: float, half_width: float) -> str:
    """Return a value and its half-width in the form of many papers, as 12.34 (0.56).

    >>> parentheses(1234.5, 0.56)
    '1234.50 (0.56)'
    """
    shown = number(value).replace(",", "")
    return shown if math.isnan(half_width) else f"{shown} ({half_width:.2f})"


def percent(share: float) -> str:
    """Return a relative difference in percent, with its sign.

    >>> percent(0.0123), percent(-1e-9)
    ('+1.2 %', '0.0 %')
    """
    if math.isnan(share):
        return MISSING
    shown = f"{100 * share:+.1f}".replace("-", "−")
    return "0.0 %" if shown in {"+0.0", "−0.0"} else f"{shown} %"


def times(ratio: float) -> str:
    """Return a ratio with three digits.

    >>> times(1.0), times(2.346), times(123.4)
    ('1.00', '2.35', '123')
    """
    if math.isnan(ratio):
        return MISSING
    decimals = 2 if abs(ratio) < 10 else 1 if abs(ratio) < 100 else 0
    return f"{ratio:,.{decimals}f}".replace("-", "−")


def p_value(value: float) -> str:
    """Return a p-value with three decimals.

    >>> p_value(0.04), p_value(1e-9)
    ('0.040', '< 0.001')
    """
    if math.isnan(value):
        return MISSING
    return f"{value:.3f}" if value >= _SMALLEST_P else f"< {_SMALLEST_P}"


def count(amount: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "seed"), count(2000, "seed")
    ('1 seed', '2,000 seeds')
    """
    return f"{amount:,} {noun}" + ("" if amount == 1 else "s")


def ranges(numbers: Sequence[int]) -> str:
    """Return increasing integers as ranges.

    >>> ranges([1, 2, 3, 7])
    '1 to 3, 7'
    """
    groups: list[list[int]] = []
    for value in numbers:
        if groups and value == groups[-1][-1] + 1:
            groups[-1].append(value)
        else:
            groups.append([value])
    return ", ".join(f"{g[0]} to {g[-1]}" if len(g) > 1 else str(g[0]) for g in groups)


def csv_safe(value: _Value) -> _Value | str:
    """Return a value for a CSV file that a spreadsheet does not take for a formula.

    Args:
        value: The value of a cell. Everything but text is returned as it is.

    Returns:
        The value; a text that begins like a formula gets an apostrophe in front.

    >>> csv_safe("=1+1"), csv_safe("cross-graph"), csv_safe(-1.5)
    ("'=1+1", 'cross-graph', -1.5)
    """
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
