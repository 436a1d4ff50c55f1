"""Write replays to files: the page, the tables, the curves and the figure; a page for each part."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import crossbandit
from crossbandit.algorithms import CrossGraph
from crossbandit.applications.bidding.auctions import FEEDBACK
from crossbandit.core.report.data import Chart, Series, Shape, Table, TableCell, group_starts
from crossbandit.core.report.pages import check_folder, render, write_files
from crossbandit.core.report.print import draw_figure, figure_files
from crossbandit.core.report.statistics import half_widths
from crossbandit.core.report.text import MISSING, decimals, frame_csv, markdown, number, plus_minus
from crossbandit.logs.replay.limits import describe, per_words
from crossbandit.logs.replay.strategies import (
    ALL_TOLD,
    GUARDED,
    LAW,
    ONE_MULTIPLIER,
    PACED,
    BestPolicy,
    ClassPolicy,
    PerfectKnowledge,
)
from crossbandit.logs.survey import left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from crossbandit.core.report.data import Numbers
    from crossbandit.core.types import Floats
    from crossbandit.logs.replay.limits import Calendar, ReplayLimits
    from crossbandit.logs.replay.play import ReplaySet
    from crossbandit.logs.replay.results import LimitedResult, Replay, StrategyResult

    _Curve = tuple[Floats, Floats | None]  # numbers, and the half-widths of their intervals

_CLASSES, _SPENDING = "classes.csv", "spending.csv"
WRITTEN = (
    *("index.html", "table.md", "table.csv", "curves.csv", "bids.csv", _CLASSES, _SPENDING),
    *(f"replay.{kind}" for kind in ("png", "pdf", "svg")),
)
WRITTEN_BY = ("index.html", "table.md", "table.csv", "part-*")
_KINDS = {
    "learner": "Learners",
    "own": "What was bid",
    "fitted": "Best responses to past prices",
    "fixed": "Fixed fractions of the value",
    "oracle": "Oracles: what could have been earned",
}
_MOST_LINES = 7  # the number of colours
# If there are more lines, these are left out, in this order.
_LEFT_OUT = (ALL_TOLD, CrossGraph.id, BestPolicy.name, ONE_MULTIPLIER, PACED)
_COLUMNS = 5  # the number of strategies that a table by class has room for
_MOST_NAMES = 31  # the number of periods whose names fit on an axis
_BEST_FRACTION = "best fraction"
_IN_HINDSIGHT = "best in hindsight"  # of each part; the page of the part says which policy that is


def write(result: Replay, folder: Path, *, log: str, command: str) -> list[Path]:
    """Write a replay into a folder."""
    check_folder(folder, WRITTEN, "a replay")
    limits = result.limits
    last = bids_chart(result) if limits is None else _spend_chart(result, limits)
    drawn = draw_figure(
        [surplus_chart(result), regret_chart(result), last], columns=3, shared_legend=True
    )
    files: dict[str, str | bytes] = {
        "index.html": page(result, log=log, command=command),
        "table.md": table_text(result, log=log),
        "table.csv": frame_csv(result.table()),
        "curves.csv": frame_csv(result.curves()),
        "bids.csv": frame_csv(result.bid_curves()),
    }
    if result.classes:
        files[_CLASSES] = frame_csv(result.by_class())
    if limits is not None:
        files[_SPENDING] = frame_csv(result.spending())
    return write_files(folder, {**files, **figure_files(drawn, "replay")})


def page(result: Replay, *, log: str, command: str) -> str:
    """Return the page of a replay. The same replay gives the same text."""
    return render(
        "crossbandit.logs.replay",
        "replay.html",
        title=f"{log}, replayed",
        say=result.say,
        kind="replay",
        names=[one.strategy for one in charted(result)],
        charts={
            "over-time": [regret_chart(result), surplus_chart(result)],
            "bids": [bids_chart(result)],
            **({} if result.limits is None else _limit_charts(result, result.limits)),
            **{f"class-{i}": [_class_chart(result, i)] for i in range(len(result.classes))},
        },
        result=result,
        summary=f"{answer(result)} {_summary(result)}",
        earning=_earning(result),
        earnings=earnings(result),
        table_csv=frame_csv(result.table()),
        first=result.outcomes[0].strategy,
        differences=differences(result),
        has_own=any(one.kind == "own" for one in result.outcomes),
        spending_csv=frame_csv(result.spending()),
        by_class=class_tables(result),
        classes_csv=frame_csv(result.by_class()),
        left_out=left_out(result.bad, result.auctions, result.faults),
        facts=_facts(result, command),
    )


def table_text(result: Replay, *, log: str) -> str:
    """Return the tables and the notes as Markdown."""
    table = earnings(result).with_notes()
    table = replace(table, title=f"{log}, replayed", caption=_summary(result))
    notes = "".join(f"- {note}\n" for note in result.notes)
    by_class = [replace(one, title=f"By {one.head[0]}") for one in class_tables(result)]
    return "\n".join([markdown(table), notes, *map(markdown, by_class)])


def _facts(result: Replay, command: str) -> list[tuple[str, str]]:
    """Return how a replay was made: pairs of a name and a value."""
    rules, seeds = result.rules, result.seeds
    bids = rules.amounts
    steps = np.diff(bids)
    spacing = "evenly spaced" if np.allclose(steps, steps[0]) else "not evenly spaced"
    reach = f"{bids[0]:g} to {bids[-1]:g}, {spacing}"
    if (markup := getattr(result.say, "max_markup", None)) is not None:
        reach = f"the cost to {100 * markup:g} % above it"
    most = result.say("no bid above value")
    bad = f", {result.bad:,} bad lines left out" if result.bad else ""
    reserve = f"{rules.reserve:g}"
    if result.reserve_column is not None:
        least = f", at least {reserve}" if rules.reserve else ""
        reserve = f"{result.say('of each auction')} in column {result.reserve_column}{least}"
    return [
        ("Command", command),
        ("Version", f"Crossbandit {crossbandit.__version__}"),
        ("Log", f"{result.auctions:,} {result.say('auctions')}{bad}"),
        ("Feedback", f"{result.feedback}: {FEEDBACK[result.feedback]}"),
        ("Bids", f"{bids.size} from {reach}"),
        (
            "Rules",
            f"reserve {reserve}, equal bids {rules.ties}, {most}",
        ),
        *(("Limit", describe(one)) for one in (result.limits.limits if result.limits else ())),
        ("Seeds", str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"),
    ]


def answer(result: Replay) -> str:
    """Return what the first strategy earned, compared with the best fixed fraction and own bids."""
    first = result.outcomes[0]
    earned = result.earned(first)
    named = f"The {first.strategy}" if first.strategy in {LAW, GUARDED} else first.strategy
    verb = "won a value of" if result.aims_at_value else "earned"
    money = f"{number(earned, money_digits(result))} {result.currency}".rstrip()
    said = f"{named} would have {verb} {money}"
    rivals = [
        max((one for one in result.outcomes if one.kind == kind), key=result.earned, default=None)
        for kind in ("fixed", "own")
    ]
    table = result.compare().set_index("strategy")
    than = []
    for rival in rivals:
        if rival is None or rival is first or (base := result.earned(rival)) <= 0:
            continue
        low, high = (-100 * table.loc[rival.strategy, side] / base for side in ("high", "low"))
        gain = 100 * (earned / base - 1)
        name = (
            rival.strategy if rival.kind == "own" else f"the best fixed fraction, {rival.strategy}"
        )
        shown = (
            "" if math.isnan(low) else f" (95 % interval: {number(low, 1)} to {number(high, 1)} %)"
        )
        than.append(f"{abs(gain):.1f} % {'more' if gain >= 0 else 'less'} than {name}{shown}")
    return result.say(f"{', '.join([said, ' and '.join(than)] if than else [said])}.")


def _summary(result: Replay) -> str:
    """Return what a replay shows, in one sentence."""
    said = f"What each strategy would have earned in {result.auctions:,} first-price auctions"
    said = result.say(said)
    if result.limits is None:
        return f"{said}."
    return f"{said} with {', and '.join(map(describe, result.limits.limits))}."


def _earning(result: Replay) -> str:
    """Return what strategies are to maximise."""
    return "value" if result.aims_at_value else "surplus"


# --- tables ------------------------------------------------------------------------------------


def earnings(result: Replay) -> Table:
    """Return what every strategy earned."""
    frame = result.table()
    kinds = list(_KINDS)
    lines = sorted(
        zip(result.outcomes, frame.to_dict("records"), strict=True),
        key=lambda line: kinds.index(line[0].kind),
    )
    price_digits = decimals(float(frame["average_price"].max()), 4)
    limits = tuple(_limit_cells(lines[0][1]))
    if result.limits is None:
        explained = (
            "± is a 95 % interval over the time of the log and the seeds; paid is the average "
            "price of a win."
        )
    elif result.limits.targets:
        explained = "Return is the value won per money spent."
    else:
        explained = "Budget used is a share of all budgets of the log."
    return Table(
        title=_summary(result),
        caption=f"{explained} Regret is counted from the {result.comparator}.",
        head=("strategy", _earning(result), "regret", result.say("spend"), *limits, "won", "paid"),
        rows=tuple(_cells(result, one, row, price_digits) for one, row in lines),
        groups=group_starts([result.say(_KINDS[one.kind]) for one, _ in lines]),
        roomy=frozenset({result.say("spend"), "return", "paid"}),
        brief=frozenset({"won", "paid"} if limits else ()),
        strong=frozenset(i for i, (one, _) in enumerate(lines) if one.kind == "learner"),
    )


def _cells(
    result: Replay, one: StrategyResult, row: dict[str, Any], price_digits: int
) -> tuple[str | TableCell, ...]:
    digits = money_digits(result)
    best = one.kind == "fixed" and one in charted(result)
    mark = "!" if one.note.startswith("nearly all") else "best" if best else ""
    return (
        TableCell(one.strategy, note=one.note, mark=mark, series=one.strategy),
        plus_minus(result.earned(one), (row["high"] - row["low"]) / 2, digits),
        number(row["regret"], digits),
        number(row["spend"], digits),
        *_limit_cells(row).values(),
        f"{100 * row['win_rate']:.1f} %",
        number(row["average_price"], price_digits) if row["win_rate"] > 0 else MISSING,
    )


def _limit_cells(row: dict[str, Any]) -> dict[str, str]:
    """Return the cells of the columns that limits add to the table, by their headings."""
    cells = {}
    if "budget_used" in row:
        cells["budget used"] = f"{100 * row['budget_used']:.1f} %"
    if "reserved" in row:
        cells |= {name: number(row[name], 2) for name in ("reserved", "expected")}
    if "target_kept" in row:
        cells["return"] = number(row["return_on_spend"], 2)
        cells["target kept"] = "yes" if row["target_kept"] else "no"
    return cells


def differences(result: Replay) -> Table:
    """Return how the strategies that the charts show differ from the first, oracles aside."""
    digits = money_digits(result)
    shown = {one.strategy: one for one in charted(result)[1:] if one.kind != "oracle"}
    earned = abs(result.earned(result.outcomes[0]))
    rows = []
    for row in result.compare().to_dict("records"):
        if row["strategy"] not in shown:
            continue
        low, high = row["low"], row["high"]
        share = 100 * row["difference"] / earned if earned else math.nan
        best = shown[row["strategy"]].kind == "fixed"
        rows.append(
            (
                TableCell(row["strategy"], mark="best" if best else ""),
                TableCell(number(row["difference"], digits), style="best" if row["clear"] else ""),
                "" if math.isnan(low) else f"{number(low, digits)} to {number(high, digits)}",
                "" if math.isnan(share) else f"{share:+.1f} %".replace("-", "−"),
            )
        )
    return Table(
        title=result.say(f"Difference from {result.outcomes[0].strategy}, in the same auctions"),
        caption="95 % intervals over the time of the log and the seeds.",
        head=("strategy", "difference", "95 % interval", "in percent"),
        rows=tuple(rows),
    )


def money_digits(result: Replay) -> int:
    """Return the number of decimals with which the largest sum of money has five digits."""
    return decimals(max(abs(result.earned(one)) for one in result.outcomes), 5)


# --- charts ------------------------------------------------------------------------------------


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


def _chart(
    result: Replay,
    title: str,
    axes: tuple[str, str],
    x: Numbers,
    numbers: Callable[[StrategyResult], _Curve | None],
    **options: Any,
) -> Chart:
    """Return a chart with a line for each strategy that is shown and that has numbers."""
    found = [(one, numbers(one)) for one in charted(result)]
    lines = [
        Series(
            name=one.strategy,
            x=x,
            y=curve[0],
            half_widths=curve[1],
            dashed=one.kind == "oracle",
        )
        for one, curve in found
        if curve is not None and np.isfinite(curve[0]).any()
    ]
    options = {"digits": money_digits(result), **options}
    return Chart(
        title=title,
        x_label=axes[0],
        y_label=axes[1],
        series=tuple(lines),
        bands=True,
        **options,
    )


def _with_line(chart: Chart, name: str, x: Numbers, y: Numbers) -> Chart:
    """Return a chart with a line to compare the others with."""
    return replace(chart, series=(*chart.series, Series(name=name, x=x, y=y, reference=True)))


def regret_chart(result: Replay) -> Chart:
    """Return the regret of each strategy to the comparator, over time."""
    best = result.curve(result.outcome(result.comparator)).mean(axis=0)
    return _over_time(result, "regret", lambda mean: best - mean)


def surplus_chart(result: Replay) -> Chart:
    """Return what each strategy has earned over time: surplus, or value if that is aimed at."""
    return _over_time(result, _earning(result), lambda mean: mean)


def _over_time(result: Replay, what: str, value: Callable[[Floats], Floats]) -> Chart:
    def numbers(one: StrategyResult) -> _Curve:
        curve = result.curve(one)
        return value(curve.mean(axis=0)), half_widths(curve)

    title = f"{what.capitalize()} over time"
    return _chart(result, title, (result.say("auction"), what), result.points, numbers)


def bids_chart(result: Replay) -> Chart:
    """Return what each strategy bids at the end, by value; the log's own bids have no such line."""
    value = result.say("value")
    chart = _chart(
        result,
        "Bids at the end",
        (value, "bid"),
        result.values,
        lambda one: (one.bids, None),
        digits=3,
    )
    highest = max(float(np.max(one.y)) for one in chart.series)
    return _with_line(chart, f"the {value}", (0.0, highest), (0.0, highest))


# --- limits ------------------------------------------------------------------------------------


def _limit_charts(result: Replay, limits: ReplayLimits) -> dict[str, list[Chart]]:
    """Return the charts of a replay with limits: spend over time and by period, multipliers."""
    multipliers = _chart(
        result,
        "Multiplier over time",
        ("auction", "value / pseudo-value"),
        result.points,
        _limited(lambda one: (one.multipliers, None)),
        y_log=True,
        digits=2,
    )
    periods = [
        _period_chart(result, limits, one) for one in limits.calendars if len(one.starts) > 1
    ]
    charts = {"spend": [_spend_chart(result, limits)], "periods": periods}
    charts["multiplier"] = [multipliers] if multipliers.series else []
    return {name: found for name, found in charts.items() if found}


def _spend_chart(result: Replay, limits: ReplayLimits) -> Chart:
    """Return what each strategy has spent over time, and what was planned."""
    spent = _limited(lambda one: (one.spend_curve.mean(axis=0), half_widths(one.spend_curve)))
    chart = _chart(result, "Spend over time", ("auction", "spend"), result.points, spent)
    plan = limits.plan(result.points)
    return chart if plan is None else _with_line(chart, "plan", result.points, plan)


def _period_chart(result: Replay, limits: ReplayLimits, calendar: Calendar) -> Chart:
    """Return what each strategy spent in each period of a calendar, and its budget."""
    names, budget, of = tuple(calendar.names), calendar.budget, limits.periods_of(calendar)
    places, shown = range(len(names)), names if len(names) <= _MOST_NAMES else None
    spent = _limited(lambda one: (np.bincount(of, one.spend).astype(np.float64), None))
    title = "Spend by period"
    if budget is not None and len(limits.calendars) > 1:
        title = f"Spend{per_words(budget)}"
    chart = _chart(result, title, ("period", "spend"), places, spent, x_names=shown)
    if budget is None:
        return chart
    return _with_line(chart, "budget", places, [budget.amount] * len(places))


def _limited(
    numbers: Callable[[LimitedResult], _Curve],
) -> Callable[[StrategyResult], _Curve | None]:
    """Return numbers of what a strategy did under limits, for a chart."""
    return lambda one: None if one.limited is None else numbers(one.limited)


# --- classes -----------------------------------------------------------------------------------


def _by_class(result: Replay) -> list[StrategyResult]:
    """Return the strategies of tables by class: the first ones, and an oracle.

    The oracle is the best policy per class; with limits, where that takes no part, the comparator.
    """
    playing = [one for one in charted(result) if one.kind != "oracle"]
    fixed = [one for one in playing if one.kind == "fixed"]
    others = [one for one in playing if one.kind != "fixed"]
    room = _COLUMNS - 1 - len(fixed)
    oracle = ClassPolicy.name if result.limits is None else result.comparator
    return [*others[:room], *fixed, result.outcome(oracle)]


def class_tables(result: Replay) -> list[Table]:
    """Return the surplus by the levels of each class column."""
    shown, digits = _by_class(result) if result.classes else [], money_digits(result)
    names = [one.strategy for one in shown]
    found, auctions = [], result.say("auctions")
    for i, column in enumerate(result.classes):
        earned = np.array([one.by_class[i][0] for one in shown])
        best = earned[:-1].argmax(axis=0)  # the oracle aside
        rows: list[tuple[str | TableCell, ...]] = [
            (
                level,
                f"{column.auctions[j]:,.0f}",
                *(
                    TableCell(number(amount, digits), style="best" if k == best[j] else "")
                    for k, amount in enumerate(earned[:, j])
                ),
            )
            for j, level in enumerate(column.levels)
        ]
        table = Table(
            title=f"Surplus by {column.column}",
            caption=f"The other {column.pooled:,} levels are pooled." if column.pooled else "",
            head=(column.column, auctions, *names),
            rows=tuple(rows),
            roomy=frozenset({auctions, *names[1:-1]}),
            as_is=True,
        )
        found.append(table)
    return found


def _class_chart(result: Replay, i: int) -> Chart:
    """Return the surplus by class, as a share of what could be earned at all."""
    column, limit = result.classes[i], result.outcome(PerfectKnowledge.name)
    most = np.where(limit.by_class[i][0] > 0, limit.by_class[i][0], np.nan)
    return Chart(
        title=f"Surplus by {column.column}, in percent of {limit.strategy}",
        x_label=column.column,
        y_label=f"percent of {limit.strategy}",
        series=tuple(
            Series(
                name=one.strategy,
                x=range(len(column.levels)),
                y=100 * one.by_class[i][0] / most,
            )
            for one in _by_class(result)
        ),
        shape=Shape.ROWS,
        x_names=column.levels,
        digits=1,
    )


# --- parts of a log ----------------------------------------------------------------------------


def write_by(results: ReplaySet, folder: Path, *, log: str, command: str) -> list[Path]:
    """Write the replays of the parts of a log into a folder: a page per part, and an overview."""
    check_folder(folder, WRITTEN_BY, "replays with --by")
    names = folder_names(list(results.replays))
    for level, result in results.replays.items():
        check_folder(folder / names[level], WRITTEN, "a replay")
        title = f"{log}, {results.column} {level or '(empty)'}"
        write(result, folder / names[level], log=title, command=command)
    title, table = f"{log}, replayed by {results.column}", overview(results)
    csv = frame_csv(results.table())
    page = render(
        "crossbandit.logs.replay",
        "overview.html",
        title=title,
        kind="replay",
        charts={},
        results=results,
        overview=table,
        table_csv=csv,
        facts=[("Command", command), ("Version", f"Crossbandit {crossbandit.__version__}")],
    )
    table = replace(table, title=title, caption="The surplus of each part.")
    files = {"index.html": page, "table.md": markdown(table), "table.csv": csv}
    return write_files(folder, files)


def overview(results: ReplaySet) -> Table:
    """Return what the strategies that charts show earned in each part."""
    replays = results.replays
    shown = {name: None for result in replays.values() for name in _charted_names(result)}
    names = (*shown, _IN_HINDSIGHT)
    earned = {level: _earned(result) for level, result in replays.items()}
    folders = folder_names(list(replays))
    digits = min((money_digits(result) for result in replays.values()), default=2)
    rows: list[tuple[str | TableCell, ...]] = [
        (
            TableCell(level or "(empty)", link=f"{folders[level]}/index.html"),
            f"{result.auctions:,}",
            *(number(earned[level].get(name, math.nan), digits) for name in names),
        )
        for level, result in replays.items()
    ]
    auctions = sum(result.auctions for result in replays.values())
    sums = (sum(part.get(name, 0.0) for part in earned.values()) for name in names)
    total = ("all", f"{auctions:,}", *(number(amount, digits) for amount in sums))
    return Table(
        title=f"Surplus by {results.column}",
        caption="Of the fixed fractions, the best one of each part in hindsight. Best in hindsight "
        "is the policy from which regret is counted.",
        head=(results.column, "auctions", *names),
        rows=(*rows, tuple(TableCell(text, style="best") for text in total)),
        groups={len(rows): ""},
        roomy=frozenset(names[1:-1]),
        as_is=True,
    )


def _charted_names(result: Replay) -> list[str]:
    """Return the strategies in the charts, with one name for the best of the fractions."""
    shown = [one for one in charted(result) if one.kind != "oracle"]
    return [_BEST_FRACTION if one.kind == "fixed" else one.strategy for one in shown]


def _earned(result: Replay) -> dict[str, float]:
    """Return what strategies earned, with only the best of the fractions, and the comparator."""
    amounts = {one.strategy: result.earned(one) for one in result.outcomes}
    fixed = [result.earned(one) for one in result.outcomes if one.kind == "fixed"]
    amounts |= {_BEST_FRACTION: max(fixed)} if fixed else {}
    return amounts | {_IN_HINDSIGHT: result.earned(result.outcome(result.comparator))}


def folder_names(levels: Sequence[str]) -> dict[str, str]:
    """Return a name of a folder for each level.

    >>> folder_names(["shoes", "../x y", ""])
    {'shoes': 'part-1-shoes', '../x y': 'part-2-x-y', '': 'part-3'}
    """
    return {level: f"part-{i}-{plain_name(level)}".rstrip("-") for i, level in enumerate(levels, 1)}


def plain_name(text: str) -> str:
    """Return a text as a part of the name of a folder: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:40]
