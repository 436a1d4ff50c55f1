"""Write an evaluation to files: the page, the table and the numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import crossbandit
from crossbandit.core.report.data import Chart, Series, Shape, Table, TableCell, group_starts
from crossbandit.core.report.pages import check_folder, render, write_files
from crossbandit.core.report.text import count, decimals, frame_csv, markdown, number
from crossbandit.logs.evaluate.evaluation import ASSUMPTIONS, BY_BAND, INVERSE, ROBUST
from crossbandit.logs.survey import left_out

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crossbandit.logs.evaluate.evaluation import Evaluation, StrategyEvaluation
    from crossbandit.logs.evaluate.log import ReadLog

WRITTEN = ("index.html", "table.md", "table.csv", "evaluation.json")
_KINDS = {
    "own": "What was bid",
    "bidder": "Bidders",
    "response": "Best response",
    "fixed": "Fixed fractions of the value",
}
_TITLES = {ROBUST: "Doubly robust", BY_BAND: "Prices by band", INVERSE: "Inverse propensity"}
_OPEN = "open"


def earned(result: Evaluation) -> Table:
    """Return what each strategy earned, by the estimate with the weakest assumption."""
    digits = money_digits(result)
    kinds = list(_KINDS)
    lines = sorted(result.results, key=lambda one: kinds.index(one.kind))
    rows = tuple(_row(one, digits) for one in lines)
    table = Table(
        title=summary(result),
        caption=result.say(
            "Bounds assume only that the others would have bid the same. Intervals are 95 % "
            "intervals of what would have been earned in these auctions, if the assumption of the "
            "method holds."
        ),
        head=(
            *("strategy", "exact part", "known", "bounds", "estimate", "95 % interval"),
            *(_OPEN, "method"),
        ),
        rows=rows,
        groups=group_starts([result.say(_KINDS[one.kind]) for one in lines]),
        roomy=frozenset({"exact part", "known", "bounds", "method"}),
        brief=frozenset({_OPEN}),
    )
    return table if any(row[-2] for row in rows) else table.without(_OPEN)


def _row(one: StrategyEvaluation, digits: int) -> tuple[str | TableCell, ...]:
    known, best = one.known, one.best
    exact = known.share == 1
    open_share = f"{100 * one.open_share:.0f} %" if one.open_share >= 0.005 else ""
    return (
        TableCell(one.strategy, note=one.note, mark=f"open: {open_share}" if open_share else ""),
        number(known.exact, digits),
        f"{100 * known.share:.0f} %",
        "" if exact else _range(known.lower, known.upper, digits),
        number(best.value, digits),
        "" if exact else _range(best.low, best.high, digits),
        open_share,
        "exact" if exact else best.method,
    )


def _range(low: float, high: float, digits: int) -> str:
    return f"{number(low, digits)} to {number(high, digits)}"


def by_propensities(result: Evaluation) -> Table | None:
    """Return the estimates by three methods, of the strategies that have them; None if none has."""
    digits = money_digits(result)
    rows = []
    for one in result.results:
        inverse = one.estimate(INVERSE)
        if inverse is None or not inverse.credible:
            continue
        found = [e for method in _TITLES if (e := one.estimate(method)) is not None]
        texts = [f"{number(e.value, digits)} ({_range(e.low, e.high, digits)})" for e in found]
        rows.append((one.strategy, *texts, f"{inverse.weight:.2f}", f"{inverse.size:,.0f}"))
    if not rows:
        return None
    return Table(
        title="By propensities",
        caption="The mean weight should be near 1.",
        head=("strategy", "doubly robust", "by band", "inverse propensity", "weight", "size"),
        rows=tuple(rows),
    )


def money_digits(result: Evaluation) -> int:
    """Return the number of decimals with which the largest estimate has five digits."""
    return decimals(max(abs(one.best.value) for one in result.results), 5)


def _chart(result: Evaluation) -> Chart:
    """Return the estimates with their intervals, and the bounds."""
    shown = result.results
    places = range(len(shown))
    estimates = Series(
        name="estimate with 95 % interval",
        x=places,
        y=[one.best.value for one in shown],
        ends=[(one.best.low, one.best.high) for one in shown],
    )
    bounds = Series(
        name="bounds",
        x=places,
        y=[(one.known.lower + one.known.upper) / 2 for one in shown],
        ends=[(one.known.lower, one.known.upper) for one in shown],
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


def answer(result: Evaluation, currency: str = "") -> str:
    """Return which strategy would have earned most, and what was earned."""
    digits, unit = money_digits(result), f" {currency}" if currency else ""
    parts = []
    others = [one for one in result.results if one.kind != "own"]
    if others:
        first = max(others, key=lambda one: one.best.value)
        value, low, high = (
            number(one, digits) for one in (first.best.value, first.best.low, first.best.high)
        )
        interval = "" if low == high else f" (95 % interval: {low} to {high})"
        parts.append(
            f"Of these strategies, {first.strategy} would have earned most: "
            f"{value}{unit}{interval}."
        )
    parts += [
        f"Your own bids earned {number(one.best.value, digits)}{unit}."
        for one in result.results
        if one.kind == "own"
    ]
    return " ".join(parts)


def summary(result: Evaluation) -> str:
    """Return what an evaluation shows, in one sentence."""
    return result.say(
        f"What each strategy would have earned in {result.auctions:,} first-price auctions of "
        f"which {100 * result.win_rate:.0f} % were won."
    )


def write(
    result: Evaluation,
    folder: Path,
    *,
    read: ReadLog[object],
    log: str,
    command: str,
    currency: str = "",
) -> list[Path]:
    """Write an evaluation into a folder."""
    check_folder(folder, WRITTEN, "an evaluation")
    notes = (*read.notes, *result.notes)
    table = replace(earned(result), title=f"{log}, evaluated", caption=summary(result))
    sound = (result.say(str(one)) for one in result.checks if not one.doubtful)
    texts = (
        _page(result, read, notes, log, command, currency),
        markdown(table) + "\n" + "".join(f"- {text}\n" for text in (*notes, *sound)),
        frame_csv(result.table()),
        json.dumps({**result.to_json(), "bad_lines": read.bad}, indent=1) + "\n",
    )
    return write_files(folder, dict(zip(WRITTEN, texts, strict=True)))


def _page(
    result: Evaluation,
    read: ReadLog[object],
    notes: Sequence[str],
    log: str,
    command: str,
    currency: str,
) -> str:
    auctions = result.say("auctions")
    methods = {one.method for strategy in result.results for one in strategy.estimates}
    return render(
        "crossbandit.logs.evaluate",
        "evaluation.html",
        title=f"{log}, evaluated",
        say=result.say,
        kind="evaluation",
        charts={"strategies": [_chart(result)]},
        summary=f"{answer(result, currency)} {summary(result)}",
        notes=notes,
        table=earned(result),
        table_csv=frame_csv(result.table()),
        others=by_propensities(result),
        assumptions=[(t, ASSUMPTIONS[one]) for one, t in _TITLES.items() if one in methods],
        checks=result.checks,
        faults=read.faults,
        left_out=left_out(read.bad, result.auctions, read.faults),
        facts=[
            ("Command", command),
            ("Version", f"Crossbandit {crossbandit.__version__}"),
            ("Log", f"{result.auctions:,} {auctions}, {count(read.bad, 'bad line')} left out"),
            ("Prices", f"known in {100 * result.told:.0f} % of the {auctions} ({result.feedback})"),
            ("Groups", f"{result.groups:,} bands of {result.say('values')} within classes"),
        ],
    )
