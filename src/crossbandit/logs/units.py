"""Signs that two columns of amounts are in different units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHER_UNIT = 30.0  # ratio of the medians of values and other amounts
_UNITS = {
    100.0: "cents and whole units",
    1_000.0: "an amount for a thousand impressions and for one",
    1_000_000.0: "millionths (micros) and whole units",
}


def doubt_about_units(value: float, amount: float, what: str) -> Iterator[str]:
    """Say so if values and other amounts seem to be in different units.

    Args:
        value: The median of the values above 0; 0 if there is none.
        amount: Likewise, of the other amounts.
        what: What the other amounts are called.

    Yields:
        At most one sentence.
    """
    if not value or not amount:
        return
    ratio = max(value / amount, amount / value)
    if ratio < _OTHER_UNIT:
        return
    factor = min(_UNITS, key=lambda unit: abs(math.log(unit / ratio)))
    usual = abs(math.log10(factor / ratio)) <= 0.5
    about = factor if usual else float(f"{ratio:.1g}")
    example = f", for example {_UNITS[factor]}" if usual else ""
    high, low = ("values", what)[:: 1 if value > amount else -1]
    yield (
        f"The {high} are about {about:,.0f} times the {low}: half of the values are below "
        f"{value:,.3g}, half of the {what} below {amount:,.3g}. Are they in "
        f"different units{example}? Then the numbers are wrong: give the units with --value-unit "
        "and --price-unit."
    )
