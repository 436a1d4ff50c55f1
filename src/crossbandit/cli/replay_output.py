"""What `crossbandit replay` prints, and what it passes to the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import crossbandit
from crossbandit.cli.terminal import notify, say, say_paths
from crossbandit.environments.auctions import FEEDBACK
from crossbandit.replay.lineup import ALL_TOLD
from crossbandit.replay.oracles import BestPolicy, PerfectKnowledge
from crossbandit.report.replay import ReplayReport

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from crossbandit.replay import Replay


def reported(result: Replay, log: str, command: str) -> ReplayReport:
    """Return the content of the page of a replay."""
    rules = result.rules
    bids = rules.amounts
    bad = f", {result.bad:,} bad lines left out" if result.bad else ""
    first, last = result.seeds[0], result.seeds[-1]
    return ReplayReport(
        title=f"{log}, replayed",
        lead=f"What each strategy would have earned in {result.auctions:,} first-price auctions.",
        table=result.table(),
        curves=result.curves(),
        bids=result.bid_curves(),
        notes=result.notes,
        faults=tuple((fault.line, fault.reason) for fault in result.faults),
        left_out=_left_out(result),
        facts=(
            ("Command", command),
            ("Version", f"Crossbandit {crossbandit.__version__}"),
            ("Log", f"{result.auctions:,} auctions{bad}"),
            ("Feedback", f"{result.feedback}: {FEEDBACK[result.feedback]}"),
            ("Bids", f"{bids.size} from {bids[0]:g} to {bids[-1]:g}"),
            (
                "Rules",
                f"reserve {_reserve(result)}, equal bids {rules.ties}, no bid above value",
            ),
            ("Seeds", str(first) if first == last else f"{first} to {last}"),
        ),
        comparator=BestPolicy.name,
        beyond_charts=PerfectKnowledge.name,
        first_to_go=ALL_TOLD,
    )


def _reserve(result: Replay) -> str:
    amount = f"{result.rules.reserve:g}"
    if result.reserve_column is None:
        return amount
    least = f", at least {amount}" if result.rules.reserve else ""
    return f"of each auction in column {result.reserve_column}{least}"


def _left_out(result: Replay) -> str:
    """Introduce the bad lines that are shown; a quotation mark may make many lines one fault."""
    were = "was" if result.bad == 1 else "were"
    counts = f"{result.bad:,} of {result.auctions + result.bad:,} lines {were} left out"
    shown = sum(fault.lines for fault in result.faults)
    return f"{counts}:" if shown == result.bad else f"{counts}. The first ten:"


def print_report(result: Replay, report: ReplayReport, paths: list[Path]) -> None:
    """Print notes, bad lines, the table, the comparison, and what was written."""
    for warning in result.warnings:
        notify(warning, "Warning:", "bold yellow")
    for note in result.notes:
        if note not in result.warnings:
            say(note)
    if report.faults:
        say(report.left_out)
    for line, reason in report.faults:
        say(f"  line {line}: {reason}")
    Console().print(_table(report))
    Console().print(_comparison(result, report))
    say_paths(paths)


def _table(report: ReplayReport) -> Table:
    doubtful = report.table[report.table["note"].str.startswith("nearly all")]
    table = _new_table(
        report.lead,
        "± is a 95 % interval over the time of the log and the seeds; paid is the average price of "
        "a win." + "".join(f" (!) {note}" for note in doubtful["note"]),
    )
    table.add_column("strategy")
    for heading in ("surplus", "regret", "spend", "won", "paid"):
        table.add_column(heading, justify="right", no_wrap=True)
    kind = report.table["kind"].iloc[0]
    for index, row in report.table.iterrows():
        if row["kind"] != kind:
            table.add_section()
            kind = row["kind"]
        table.add_row(
            row["strategy"] + _mark(report, row) + (" (!)" if index in doubtful.index else ""),
            report.sum_of_money(row["surplus"], (row["high"] - row["low"]) / 2),
            report.sum_of_money(row["regret"]),
            report.sum_of_money(row["spend"]),
            f"{100 * row['win_rate']:.1f} %",
            report.price(row),
            style="bold" if kind == "learner" else None,
        )
    return table


def _comparison(result: Replay, report: ReplayReport) -> Table:
    """Return the differences between the first strategy and the others, oracles aside."""
    rows = result.compare()
    base = rows["compared_with"].iloc[0]
    table = _new_table(
        f"Difference to {base}, in the same auctions",
        "95 % intervals over the time of the log and the seeds.",
    )
    table.add_column("strategy")
    for heading in ("difference", "95 % interval", "in percent"):
        table.add_column(heading, justify="right", no_wrap=True)
    surplus = abs(result.outcomes[0].mean_surplus)
    for _, row in rows.iterrows():
        if row["strategy"] == base or row["kind"] == "oracle":
            continue
        if row["kind"] == "fixed" and row["strategy"] not in report.charted:
            continue
        bounds = [report.sum_of_money(row[bound]) for bound in ("low", "high")]
        share = 100 * row["difference"] / surplus if surplus else math.nan
        table.add_row(
            row["strategy"] + _mark(report, row),
            report.sum_of_money(row["difference"]),
            "" if math.isnan(row["low"]) else " to ".join(bounds),
            "" if math.isnan(share) else f"{share:+.1f} %".replace("-", "−"),
        )
    return table


def _mark(report: ReplayReport, row: pd.Series[float]) -> str:
    best = row["kind"] == "fixed" and row["strategy"] in report.charted
    return " (best)" if best else ""


def _new_table(title: str, caption: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption=caption,
        caption_justify="left",
    )
