"""The parts of the page of a replay: lines of its tables, as text, and its charts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.algorithms import CrossGraph
from crossbandit.replay.limited_strategies import ONE_MULTIPLIER, PACED
from crossbandit.replay.lineup import ALL_TOLD
from crossbandit.replay.oracles import BestPolicy, PerfectKnowledge
from crossbandit.report import Chart, Series
from crossbandit.report.statistics import half_widths
from crossbandit.report.text import MISSING, number

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from crossbandit.replay.results import Replay
    from crossbandit.replay.runs import StrategyResult
    from crossbandit.types import Floats

_MOST_LINES = 7  # the number of colours
# If there are more lines, these are left out, in this order.
_LEFT_OUT = (ALL_TOLD, CrossGraph.id, BestPolicy.name, ONE_MULTIPLIER, PACED)


@dataclass(frozen=True)
class Row:
    """One line of the table, as text.

    Attributes:
        strategy: The name of the strategy.
        kind: "learner", "own", "fitted", "fixed" or "oracle".
        note: A remark, perhaps empty.
        earned: What it earned: surplus, or value if targets aim at that.
        half_width: The half-width of its interval over time and seeds, or nothing.
        regret: How much less it earned than the best fixed policy.
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
    """Return what strategies are to maximise."""
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
            limits=() if result.limits is None else _limit_cells(result, row),
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


def limit_heads(result: Replay) -> tuple[str, ...]:
    """Return the headings of the columns that limits add to the table."""
    if result.limits is None:
        return ()
    heads = ["budget used"] if math.isfinite(result.limits.total) else []
    return (*heads, *(("return", "target kept") if result.limits.targets else ()))


def _limit_cells(result: Replay, row: pd.Series[float]) -> tuple[str, ...]:
    """Return the entries of a row of the table under `limit_heads`."""
    texts: dict[str, str] = {}
    if "budget_used" in row:
        texts["budget used"] = f"{100 * row['budget_used']:.1f} %"
    if "target_kept" in row:
        returned = float(row["return_on_spend"])
        texts["return"] = MISSING if math.isnan(returned) else number(returned, 2)
        texts["target kept"] = "yes" if row["target_kept"] else "no"
    return tuple(texts[head] for head in limit_heads(result))


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
    """Return the number of decimals with which the largest sum of money has five digits."""
    return _digits(max(abs(result.earned(one)) for one in result.outcomes), 5)


def _digits(largest: float, digits: int) -> int:
    return max(0, min(6, digits - 1 - math.floor(math.log10(largest)))) if largest > 0 else 2


def charted(result: Replay) -> tuple[StrategyResult, ...]:
    """Return the strategies that the charts show.

    Only the best of the fixed fractions is shown. Perfect knowledge earns so much more than all
    others that it would flatten their lines. Where there are more lines than colours, some are left
    out: first the best response that is told everything.
    """
    fixed = [one for one in result.outcomes if one.kind == "fixed"]
    best = max(fixed, key=result.earned, default=None)
    shown = [
        one
        for one in result.outcomes
        if one is best or (one.kind != "fixed" and one.strategy != PerfectKnowledge.name)
    ]
    for name in _LEFT_OUT:
        if len(shown) > _MOST_LINES:
            shown = [one for one in shown if one.strategy != name]
    return tuple(shown)


def regret_chart(result: Replay, digits: int) -> Chart:
    """Return the regret of each strategy to the comparator, over time."""
    best = result.curve(result.outcome(result.comparator)).mean(axis=0)
    return _over_time(result, "regret", digits, lambda mean: best - mean)


def surplus_chart(result: Replay, digits: int) -> Chart:
    """Return what each strategy has earned over time: surplus, or value if that is aimed at."""
    what = "value" if result.aims_at_value else "surplus"
    return _over_time(result, what, digits, lambda mean: mean)


def _over_time(result: Replay, what: str, digits: int, value: Callable[[Floats], Floats]) -> Chart:
    return Chart(
        title=f"{what.capitalize()} over time",
        x_label="auction",
        y_label=what,
        series=tuple(
            Series(
                name=one.strategy,
                x=tuple(result.points),
                y=tuple(value(result.curve(one).mean(axis=0))),
                half_widths=tuple(half_widths(result.curve(one))),
                dashed=one.kind == "oracle",
            )
            for one in charted(result)
        ),
        bands=True,
        digits=digits,
    )


def bids_chart(result: Replay) -> Chart:
    """Return what each strategy bids at the end, by value; the log's own bids have no such line."""
    shown = [one for one in charted(result) if np.isfinite(one.bids).any()]
    highest = float(max(one.bids.max() for one in shown))
    return Chart(
        title="Bids at the end",
        x_label="value",
        y_label="bid",
        series=(
            *(
                Series(
                    name=one.strategy,
                    x=tuple(result.values),
                    y=tuple(one.bids),
                    dashed=one.kind == "oracle",
                )
                for one in shown
            ),
            Series(name="the value", x=(0.0, highest), y=(0.0, highest), reference=True),
        ),
        bands=True,
        digits=3,
    )
