"""Money, shares and times as text, for the live page."""

from __future__ import annotations

import math

from crossbandit.report.text import MISSING, number

_FEW = 1e-9


def amount(value: float | None) -> str:
    """Return money with about four digits.

    Args:
        value: The money, or None.

    >>> amount(0.01234), amount(12.345), amount(-12345.6)
    ('0.01234', '12.35', '−12,346')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    size = abs(value)
    digits = 2 if size < _FEW else min(max(3 - math.floor(math.log10(size)), 0), 6)
    return number(value, digits)


def share(part: float, whole: float) -> str:
    """Return a part of a whole in percent.

    Args:
        part: The part.
        whole: The whole.

    >>> share(1, 3)
    '33.3 %'
    """
    return f"{100 * part / whole:.1f} %" if whole else MISSING


def duration(seconds: float | None) -> str:
    """Return a time in a suitable unit.

    Args:
        seconds: The time, or None.

    >>> duration(0.04), duration(12.3), duration(150), duration(7_300), duration(200_000)
    ('0.0 s', '12 s', '2.5 min', '2.0 h', '2.3 d')
    """
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f} s"
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
