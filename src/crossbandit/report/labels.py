"""The text of ticks, and where ticks and labels go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def tick_text(value: float, _: object = None) -> str:
    """Return a number as text. Matplotlib also passes the place of the tick.

    >>> tick_text(-12_500.0)
    '\N{MINUS SIGN}12,500'
    """
    return f"{value:,.10g}".replace("-", "−")


def time_text(seconds: float, _: object = None) -> str:
    """Return a time in seconds since 1970 as text, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%d %b %H:%M")


def percent_text(value: float, _: object = None) -> str:
    """Return a share as text, in percent."""
    return f"{tick_text(round(100 * value, 6))} %"


def short_text(value: float) -> str:
    """Return a short label: thousands as k."""
    return (
        f"{tick_text(value / 1000)}k" if value >= 1000 and value % 1000 == 0 else tick_text(value)
    )


def round_numbers(low: float, high: float) -> list[float]:
    """Return 1, 2, 5, 10, 20 and so on between two positive numbers.

    >>> round_numbers(150, 900)
    [200.0, 500.0]
    """
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]


def spread_out(places: Sequence[float], apart: float) -> list[float]:
    """Move increasing places as little as needed, so that neighbours are `apart`, within [0, 1].

    >>> [round(place, 3) for place in spread_out([0.5, 0.52, 0.9], 0.1)]
    [0.46, 0.56, 0.9]
    """
    groups: list[list[float]] = []  # places that touch move together, around their mean
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _first(groups[-1], apart) < _last(groups[-2], apart) + apart:
            touching = groups.pop()
            groups[-1] += touching
    return [_first(group, apart) + apart * i for group in groups for i in range(len(group))]


def _first(group: Sequence[float], apart: float) -> float:
    middle = sum(group) / len(group)
    half = apart * (len(group) - 1) / 2
    return min(max(middle, half), max(1.0 - half, half)) - half


def _last(group: Sequence[float], apart: float) -> float:
    return _first(group, apart) + apart * (len(group) - 1)
