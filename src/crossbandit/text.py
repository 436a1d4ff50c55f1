"""Text for other programs."""

from __future__ import annotations

from typing import TypeVar

_Value = TypeVar("_Value")

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


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
