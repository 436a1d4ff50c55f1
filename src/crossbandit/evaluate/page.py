"""Write an evaluation to files: the page, the table and the numbers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import crossbandit
from crossbandit.evaluate.results import ASSUMPTIONS, BY_BAND, INVERSE, ROBUST
from crossbandit.logs.faults import left_out
from crossbandit.report import (
    Chart,
    Series,
    Shape,
    Table,
    check_folder,
    frame_csv,
    markdown,
    render,
    write_files,
)
from crossbandit.report.text import count, number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crossbandit.evaluate.reading import ReadLog
    from crossbandit.evaluate.results import Evaluation, StrategyEvaluation

WRITTEN = ("index.html", "table.md", "table.csv", "evaluation.json")
KINDS = {
    "own": "What was bid",
    "bidder": "Bidders",
    "response": "Best response",
    "fixed": "Fixed fractions of the value",
}
TITLES = {
    ROBUST: "Doubly robust",
    BY_BAND: "Prices by band",
    INVERSE: "Inverse propensity",
}


@dataclass(frozen=True)
class Row:
    """One line of the table, as text.

    Attributes:
        strategy: The name of the strategy.
        kind: Its kind, a key of `KINDS`.
        note: A remark, perhaps empty.
        exact: What it earned where the outcome is known.
        known: The share of its bids whose outcome is known.
        bounds: The least and the most that it can have earned.
        estimate: The estimate.
        interval: Its 95 % interval.
        method: How it was estimated; "exact" if nothing is unknown.
        open: The share that rests on extrapolation, if there is any.
    """

    strategy: str
    kind: str
    note: str
    exact: str
    known: str
    bounds: str
    estimate: str
    interval: str
    method: str
    open: str


def rows(result: Evaluation) -> list[Row]:
    """Return the lines of the table: for each strategy the estimate with the weakest assumption.

    Args:
        result: The evaluation.
    """
    digits = money_digits(result)
    return [_row(one, digits) for one in result.results]


def _row(one: StrategyEvaluation, digits: int) -> Row:
    known, best = one.known, one.best
    exact = known.share == 1
    return Row(
        strategy=one.strategy,
        kind=one.kind,
        note=one.note,
        exact=number(known.exact, digits),
        known=f"{100 * known.share:.0f} %",
        bounds="" if exact else _range(known.lower, known.upper, digits),
        estimate=number(best.value, digits),
        interval="" if exact else _range(best.low, best.high, digits),
        method="exact" if exact else best.method,
        open=f"{100 * one.open_share:.0f} %" if one.open_share >= 0.005 else "",
    )


def _range(low: float, high: float, digits: int) -> str:
    return f"{number(low, digits)} to {number(high, digits)}"


def other_estimates(result: Evaluation) -> list[tuple[str, str, str, str, str, str]]:
    """Return the estimates by propensities beside those by band, as texts.

    Args:
        result: The evaluation.

    Returns:
        For each strategy that has them: its name, the three estimates with their intervals, the
        mean weight, and the number of auctions that would be as informative.
    """
    digits = money_digits(result)
    found = []
    for one in result.results:
        inverse = one.estimate(INVERSE)
        if inverse is None or not inverse.credible:
            continue
        texts = [
            f"{number(e.value, digits)} ({_range(e.low, e.high, digits)})"
            for method in (ROBUST, BY_BAND, INVERSE)
            if (e := one.estimate(method)) is not None
        ]
        first, second, third = texts
        found.append(
            (one.strategy, first, second, third, f"{inverse.weight:.2f}", f"{inverse.size:,.0f}")
        )
    return found


def money_digits(result: Evaluation) -> int:
    """Return the number of decimals with which the largest estimate has five digits.

    Args:
        result: The evaluation.
    """
    largest = max(abs(one.best.value) for one in result.results)
    return max(0, min(6, 4 - math.floor(math.log10(largest)))) if largest > 0 else 2


def chart(result: Evaluation) -> Chart:
    """Return the estimates with their intervals, and the bounds.

    Args:
        result: The evaluation.
    """
    shown = result.results
    places = tuple(float(i) for i in range(len(shown)))
    estimates = Series(
        name="estimate with 95 % interval",
        x=places,
        y=tuple(one.best.value for one in shown),
        ends=tuple((one.best.low, one.best.high) for one in shown),
    )
    bounds = Series(
        name="bounds",
        x=places,
        y=tuple((one.known.lower + one.known.upper) / 2 for one in shown),
        ends=tuple((one.known.lower, one.known.upper) for one in shown),
        reference=True,
    )
    return Chart(
        title="What each strategy would have earned",
        x_label="strategy",
        y_label="surplus",
        series=(estimates, bounds),
        shape=Shape.ROWS,
        x_names=tuple(one.strategy for one in shown),
        digits=money_digits(result),
    )


def summary(result: Evaluation) -> str:
    """Return what an evaluation shows, in one sentence.

    Args:
        result: The evaluation.
    """
    return (
        f"What each strategy would have earned in {result.auctions:,} first-price auctions of "
        f"which {100 * result.win_rate:.0f} % were won."
    )


def write(
    result: Evaluation, folder: Path, *, read: ReadLog[object], log: str, command: str
) -> list[Path]:
    """Write an evaluation into a folder.

    Args:
        result: The evaluation.
        folder: A new folder, or that of an earlier evaluation.
        read: The log, with what was left out.
        log: The name of the log.
        command: The command that makes this evaluation.

    Returns:
        The paths, in the order of `WRITTEN`.

    Raises:
        ResultsError: If the folder holds other files, or cannot be written.
    """
    check_folder(folder, WRITTEN, "an evaluation")
    notes = [*read.notes, *result.notes]
    texts = (
        _page(result, read, notes, log, command),
        _table_text(result, notes, log),
        frame_csv(result.table()),
        json.dumps({**result.to_json(), "bad_lines": read.bad}, indent=1) + "\n",
    )
    return write_files(folder, dict(zip(WRITTEN, texts, strict=True)))


def _page(
    result: Evaluation, read: ReadLog[object], notes: Sequence[str], log: str, command: str
) -> str:
    lines = rows(result)
    methods = {one.method for strategy in result.results for one in strategy.estimates}
    return render(
        "crossbandit.evaluate",
        "evaluation.html",
        title=f"{log}, evaluated",
        kind="evaluation",
        charts={"strategies": [chart(result)]},
        summary=summary(result),
        notes=notes,
        groups=[
            (heading, inside)
            for kind, heading in KINDS.items()
            if (inside := [line for line in lines if line.kind == kind])
        ],
        has_open=any(line.open for line in lines),
        others=other_estimates(result),
        assumptions=[(TITLES[one], ASSUMPTIONS[one]) for one in TITLES if one in methods],
        checks=result.checks,
        faults=read.faults,
        left_out=left_out(read.bad, result.auctions, read.faults),
        facts=[
            ("Command", command),
            ("Version", f"Crossbandit {crossbandit.__version__}"),
            ("Log", f"{result.auctions:,} auctions, {count(read.bad, 'bad line')} left out"),
            ("Prices", f"known in {100 * result.told:.0f} % of the auctions ({result.feedback})"),
            ("Groups", f"{result.groups:,} bands of values within classes"),
        ],
        table_csv=frame_csv(result.table()),
    )


def _table_text(result: Evaluation, notes: Sequence[str], log: str) -> str:
    table = Table(
        title=f"{log}, evaluated",
        caption=summary(result),
        head=("strategy", "exact part", "known", "bounds", "estimate", "95 % interval", "method"),
        rows=tuple(
            (r.strategy, r.exact, r.known, r.bounds, r.estimate, r.interval, r.method)
            for r in rows(result)
        ),
    )
    texts = [*notes, *(str(one) for one in result.checks if not one.doubtful)]
    return "\n".join([markdown(table), "".join(f"- {text}\n" for text in texts)])
