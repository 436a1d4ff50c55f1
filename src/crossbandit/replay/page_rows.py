"""The lines of the tables of a replay, as text."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crossbandit.replay.page_charts import charted
from crossbandit.replay.page_limits import limit_cells
from crossbandit.report.text import MISSING, number

if TYPE_CHECKING:
    import pandas as pd

    from crossbandit.replay.results import Replay


@dataclass(frozen=True)
class Row:
    """One line of the table, as text.

    Attributes:
        strategy: The name of the strategy.
        kind: "learner", "own", "fitted", "fixed" or "oracle".
        note: A remark, perhaps empty.
        earned: What it earned: surplus, or value if targets aim at that.
        half_width: The half-width of its interval over time and seeds, or nothing.
        regret: What it lacks to the best fixed policy.
        spend: What it paid.
        won: The share of auctions that it won.
        paid: The average payment for a win.
        is_best: Whether it is the best of the fixed fractions.
        limits: With limits, the entries of the columns `limit_heads`.
    """

    strategy: str
    kind: str
    note: str
    earned: str
    half_width: str
    regret: str
    spend: str
    won: str
    paid: str
    is_best: bool
    limits: tuple[str, ...] = ()

    @property
    def earned_interval(self) -> str:
        """What it earned, with its half-width."""
        return f"{self.earned} ± {self.half_width}" if self.half_width else self.earned


@dataclass(frozen=True)
class Difference:
    """One line of the comparison, as text.

    Attributes:
        strategy: The name of the strategy.
        is_best: Whether it is the best of the fixed fractions.
        difference: What it earned more than the strategy that it is compared with.
        interval: The bounds of the 95 % interval of the difference, or nothing.
        percent: The difference in percent, or nothing.
        clear: Whether 0 is outside the interval.
    """

    strategy: str
    is_best: bool
    difference: str
    interval: str
    percent: str
    clear: bool


def earning(result: Replay) -> str:
    """Return what is to be high."""
    return "value" if result.aims_at_value else "surplus"


def rows(result: Replay) -> list[Row]:
    """Return the lines of the table, in the order of the replay."""
    frame = result.table()
    digits = money_digits(result)
    price_digits = _digits(float(frame["average_price"].max()), 4)
    best = {one.strategy for one in charted(result) if one.kind == "fixed"}
    return [
        replace(
            _row(row, digits, price_digits, best),
            earned=number(result.earned(one), digits),
            limits=limit_cells(result, row),
        )
        for one, (_, row) in zip(result.outcomes, frame.iterrows(), strict=True)
    ]


def _row(row: pd.Series[float], digits: int, price_digits: int, best: set[str]) -> Row:
    half = float(row["high"] - row["low"]) / 2
    return Row(
        strategy=str(row["strategy"]),
        kind=str(row["kind"]),
        note=str(row["note"]),
        earned="",
        half_width="" if math.isnan(half) else number(half, digits),
        regret=number(row["regret"], digits),
        spend=number(row["spend"], digits),
        won=f"{100 * row['win_rate']:.1f} %",
        paid=number(row["average_price"], price_digits) if row["win_rate"] > 0 else MISSING,
        is_best=row["strategy"] in best,
    )


def differences(result: Replay) -> list[Difference]:
    """Return how the strategies that the charts show differ from the first, oracles aside."""
    digits = money_digits(result)
    shown = {one.strategy: one for one in charted(result)[1:] if one.kind != "oracle"}
    earned = abs(result.earned(result.outcomes[0]))
    found = []
    for _, row in result.compare().iterrows():
        if row["strategy"] not in shown:
            continue
        low, high = float(row["low"]), float(row["high"])
        share = 100 * row["difference"] / earned if earned else math.nan
        found.append(
            Difference(
                strategy=str(row["strategy"]),
                is_best=shown[row["strategy"]].kind == "fixed",
                difference=number(row["difference"], digits),
                interval=""
                if math.isnan(low)
                else f"{number(low, digits)} to {number(high, digits)}",
                percent="" if math.isnan(share) else f"{share:+.1f} %".replace("-", "−"),
                clear=bool(row["clear"]),
            )
        )
    return found


def money_digits(result: Replay) -> int:
    """Return with how many decimals the largest sum of money has five digits."""
    return _digits(max(abs(result.earned(one)) for one in result.outcomes), 5)


def _digits(largest: float, digits: int) -> int:
    return max(0, min(6, digits - 1 - math.floor(math.log10(largest)))) if largest > 0 else 2
