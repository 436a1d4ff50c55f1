"""Write a replay to files: the page, the tables, the curves and the figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import crossbandit
from crossbandit.environments.auctions import FEEDBACK
from crossbandit.logs.faults import left_out
from crossbandit.replay.limited import describe
from crossbandit.replay.page_classes import class_charts, class_tables
from crossbandit.replay.page_limits import limit_charts, spend_chart
from crossbandit.replay.page_parts import (
    bids_chart,
    charted,
    differences,
    earning,
    limit_heads,
    money_digits,
    regret_chart,
    rows,
    surplus_chart,
)
from crossbandit.report import (
    Table,
    check_folder,
    draw_figure,
    figure_files,
    frame_csv,
    markdown,
    render,
    write_files,
)

if TYPE_CHECKING:
    from pathlib import Path

    from crossbandit.replay.results import Replay

KINDS = {
    "learner": "Learners",
    "own": "What was bid",
    "fitted": "Best responses to past prices",
    "fixed": "Fixed fractions of the value",
    "oracle": "Oracles: what could have been earned",
}
_FIGURES = tuple(f"replay.{kind}" for kind in ("png", "pdf", "svg"))
_CLASSES, _SPENDING = "classes.csv", "spending.csv"
WRITTEN = (
    *("index.html", "table.md", "table.csv", "curves.csv", "bids.csv", _CLASSES, _SPENDING),
    *_FIGURES,
)


def write(result: Replay, folder: Path, *, log: str, command: str) -> list[Path]:
    """Write a replay into a folder.

    Args:
        result: The replay.
        folder: A new folder, or that of an earlier replay.
        log: The name of the log.
        command: The command that makes this replay.

    Returns:
        The paths, in the order of `WRITTEN`. "classes.csv" is written if there are class columns,
        "spending.csv" if there are limits.

    Raises:
        ResultsError: If the folder holds other files, or cannot be written.
    """
    check_folder(folder, WRITTEN, "a replay")
    digits = money_digits(result)
    charts = [surplus_chart(result, digits), regret_chart(result, digits), bids_chart(result)]
    if result.limits is not None:
        charts[2] = spend_chart(result, digits)
    texts = (
        page(result, log=log, command=command),
        table_text(result, log=log),
        *map(frame_csv, (result.table(), result.curves(), result.bid_curves())),
    )
    drawn = draw_figure(charts, columns=3, shared_legend=True)
    tables = dict(zip(WRITTEN, texts, strict=False))
    if result.classes:
        tables[_CLASSES] = frame_csv(result.by_class())
    if result.limits is not None:
        tables[_SPENDING] = frame_csv(result.spending())
    return write_files(folder, {**tables, **figure_files(drawn, "replay")})


def page(result: Replay, *, log: str, command: str) -> str:
    """Return the page of a replay.

    Args:
        result: The replay.
        log: The name of the log.
        command: The command that makes this replay.

    Returns:
        HTML. The same replay gives the same text.
    """
    digits = money_digits(result)
    lines = rows(result)
    return render(
        "crossbandit.replay",
        "replay.html",
        title=title(log),
        kind="replay",
        names=[one.strategy for one in charted(result)],
        charts={
            "over-time": [regret_chart(result, digits), surplus_chart(result, digits)],
            "bids": [bids_chart(result)],
            **(limit_charts(result, digits) if result.limits else {}),
            **(class_charts(result) if result.classes else {}),
        },
        by_class=class_tables(result, digits) if result.classes else [],
        classes_csv=frame_csv(result.by_class()),
        result=result,
        summary=summary(result),
        groups=[
            (heading, inside)
            for kind, heading in KINDS.items()
            if (inside := [line for line in lines if line.kind == kind])
        ],
        has_intervals=any(line.half_width for line in lines),
        first=result.outcomes[0].strategy,
        differences=differences(result),
        has_own=any(line.kind == "own" for line in lines),
        comparator=result.comparator,
        limit_heads=limit_heads(result),
        earning=earning(result),
        spending_csv=frame_csv(result.spending()),
        left_out=left_out(result.bad, result.auctions, result.faults),
        facts=_facts(result, command),
        table_csv=frame_csv(result.table()),
    )


def title(log: str) -> str:
    """Return the heading of a replay."""
    return f"{log}, replayed"


def summary(result: Replay) -> str:
    """Return what a replay shows, in one sentence."""
    said = f"What each strategy would have earned in {result.auctions:,} first-price auctions"
    if result.limits is None:
        return f"{said}."
    return f"{said} with {', and '.join(map(describe, result.limits.limits))}."


def table_text(result: Replay, *, log: str) -> str:
    """Return the table and the notes as Markdown."""
    table = Table(
        title=title(log),
        caption=summary(result),
        head=(
            *("strategy", earning(result), "regret", "spend"),
            *(*limit_heads(result), "won", "paid", ""),
        ),
        rows=tuple(
            (r.strategy, r.earned_interval, r.regret, r.spend, *r.limits, r.won, r.paid, r.note)
            for r in rows(result)
        ),
    )
    notes = "".join(f"- {note}\n" for note in result.notes)
    texts = [markdown(table), notes]
    for one in class_tables(result, money_digits(result)) if result.classes else ():
        head = (one.column, "auctions", *one.head)
        by_class = Table(title=f"By {one.column}", caption=one.note, head=head, rows=one.rows)
        texts.append(markdown(by_class))
    return "\n".join(texts)


def _facts(result: Replay, command: str) -> list[tuple[str, str]]:
    """Return how a replay was made: pairs of a name and a value."""
    rules, seeds = result.rules, result.seeds
    bids = rules.amounts
    steps = np.diff(bids)
    spacing = "evenly spaced" if np.allclose(steps, steps[0]) else "not evenly spaced"
    bad = f", {result.bad:,} bad lines left out" if result.bad else ""
    return [
        ("Command", command),
        ("Version", f"Crossbandit {crossbandit.__version__}"),
        ("Log", f"{result.auctions:,} auctions{bad}"),
        ("Feedback", f"{result.feedback}: {FEEDBACK[result.feedback]}"),
        ("Bids", f"{bids.size} from {bids[0]:g} to {bids[-1]:g}, {spacing}"),
        ("Rules", f"reserve {_reserve(result)}, equal bids {rules.ties}, no bid above value"),
        *(("Limit", describe(one)) for one in (result.limits.limits if result.limits else ())),
        ("Seeds", str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"),
    ]


def _reserve(result: Replay) -> str:
    amount = f"{result.rules.reserve:g}"
    if result.reserve_column is None:
        return amount
    least = f", at least {amount}" if result.rules.reserve else ""
    return f"of each auction in column {result.reserve_column}{least}"
