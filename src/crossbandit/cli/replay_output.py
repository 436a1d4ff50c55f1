"""What `crossbandit replay` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from crossbandit.cli.terminal import new_table, notify, say, say_faults, say_paths
from crossbandit.replay.page import summary
from crossbandit.replay.page_by import overview
from crossbandit.replay.page_classes import class_tables
from crossbandit.replay.page_parts import differences, earning, limit_heads, money_digits, rows

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from crossbandit.replay import Replay, ReplaySet
    from crossbandit.replay.page_classes import ClassRows


_LONG = 9  # letters of a heading that may be broken
_PAID = (
    "± is a 95 % interval over the time of the log and the seeds; paid is the average price of a "
    "win."
)
_RETURN = "Return is the value won per money spent."
_USED = "Budget used is a share of all budgets of the log."


def print_replay(result: Replay, paths: list[Path]) -> None:
    """Print warnings, the table, the comparison, notes, bad lines, and what was written."""
    for warning in result.warnings:
        notify(warning, "Warning:", "bold yellow")
    Console().print(_table(result))
    Console().print(_comparison(result))
    for rows_by_class in class_tables(result, money_digits(result)):
        Console().print(_by_class(rows_by_class))
    for note in result.notes:
        if note not in result.warnings:
            say(note)
    say_faults(result.bad, result.auctions, result.faults)
    say_paths(paths)


def print_parts(results: ReplaySet, paths: list[Path]) -> None:
    """Print what strategies earned in each part, what went wrong, and what was written."""
    for level, result in results.replays.items():
        for warning in result.warnings:
            notify(f"{level}: {warning}", "Warning:", "bold yellow")
    for level, reason in results.failed.items():
        notify(f"{results.column} {level!r} was not replayed: {reason}", "Warning:", "bold yellow")
    parts = overview(results)
    table = new_table(
        f"Surplus by {results.column}", "Of the fixed fractions, the best one of each part."
    )
    table.add_column(results.column)
    for heading in ("auctions", *parts.head):
        table.add_column(heading, justify="right")
    for row in parts.rows:
        table.add_row(row.level, row.auctions, *row.amounts)
    table.add_section()
    table.add_row("all", parts.auctions, *parts.sums, style="bold")
    Console().print(table)
    for note in results.notes:
        say(note)
    if results.bad:
        say(f"Lines that were left out: {results.bad:,}. The first of them:")
    for fault in results.faults:
        say(f"  {fault.place}: {fault.reason}")
    say_paths(paths)


def _explained(result: Replay) -> str:
    """Return what the columns of the table mean."""
    if result.limits is None:
        return _PAID
    return _RETURN if result.limits.targets else _USED


def _table(result: Replay) -> Table:
    lines = rows(result)
    doubtful = [line for line in lines if line.note.startswith("nearly all")]
    table = new_table(
        summary(result),
        _explained(result) + "".join(f" (!) {line.note}" for line in doubtful),
    )
    table.add_column("strategy")
    heads = ("won", "paid") if result.limits is None else limit_heads(result)
    for heading in (earning(result), "regret", "spend", *heads):
        table.add_column(heading, justify="right", no_wrap=len(heading) < _LONG)
    kind = ""
    for line in lines:
        if kind and line.kind != kind:
            table.add_section()
        kind = line.kind
        mark = (" (best)" if line.is_best else "") + (" (!)" if line in doubtful else "")
        table.add_row(
            line.strategy + mark,
            line.earned_interval if result.limits is None else line.earned,
            *(line.regret, line.spend),
            *((line.won, line.paid) if result.limits is None else line.limits),
            style="bold" if kind == "learner" else None,
        )
    return table


def _comparison(result: Replay) -> Table:
    """Return the differences between the first strategy and the others, without oracles."""
    table = new_table(
        f"Difference to {result.outcomes[0].strategy}, in the same auctions",
        "95 % intervals over the time of the log and the seeds.",
    )
    table.add_column("strategy")
    for heading in ("difference", "95 % interval", "in percent"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in differences(result):
        mark = " (best)" if line.is_best else ""
        table.add_row(line.strategy + mark, line.difference, line.interval, line.percent)
    return table


def _by_class(by_class: ClassRows) -> Table:
    """Return the surplus by the levels of a class column."""
    table = new_table(f"Surplus by {by_class.column}", by_class.note)
    table.add_column(by_class.column)
    for heading in ("auctions", *by_class.head):
        table.add_column(heading, justify="right")
    for row in by_class.rows:
        table.add_row(*row)
    return table
