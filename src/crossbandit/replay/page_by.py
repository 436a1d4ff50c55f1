"""Write the replays of the parts of a log to files: a page per part, and an overview."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import crossbandit
from crossbandit.replay.page import WRITTEN, write
from crossbandit.replay.page_parts import charted, money_digits
from crossbandit.report import Table, check_folder, frame_csv, markdown, render, write_files
from crossbandit.report.text import MISSING, number

if TYPE_CHECKING:
    from pathlib import Path

    from crossbandit.replay.by import ReplaySet
    from crossbandit.replay.results import Replay

BEST_FRACTION = "best fraction"
_FOLDER = "part-*"
WRITTEN_BY = ("index.html", "table.md", "table.csv", _FOLDER)


class PartRow(NamedTuple):
    """A line of the overview: the level, its page, its auctions and what strategies earned."""

    level: str
    link: str
    auctions: str
    amounts: tuple[str, ...]


class Overview(NamedTuple):
    """The table of the overview: names of strategies, a line per part, and the sums."""

    head: tuple[str, ...]
    rows: tuple[PartRow, ...]
    auctions: str
    sums: tuple[str, ...]


def write_by(results: ReplaySet, folder: Path, *, log: str, command: str) -> list[Path]:
    """Write the replays of the parts of a log into a folder.

    Args:
        results: The replays.
        folder: A new folder, or that of earlier replays of parts.
        log: The name of the log.
        command: The command that makes these replays.

    Returns:
        The paths of the overview: the page and the tables.

    Raises:
        ResultsError: If the folder holds other files, or cannot be written.
    """
    check_folder(folder, WRITTEN_BY, "replays with --by")
    names = folder_names(list(results.replays))
    for level, result in results.replays.items():
        check_folder(folder / names[level], WRITTEN, "a replay")
        title = f"{log}, {results.column} {level or '(empty)'}"
        write(result, folder / names[level], log=title, command=command)
    table = overview(results)
    heading = f"{log}, replayed by {results.column}"
    page = render(
        "crossbandit.replay",
        "overview.html",
        title=heading,
        kind="replay",
        charts={},
        results=results,
        overview=table,
        table_csv=frame_csv(results.table()),
        facts=[("Command", command), ("Version", f"Crossbandit {crossbandit.__version__}")],
    )
    text = markdown(
        Table(
            title=heading,
            caption="The surplus of each part.",
            head=(results.column, "auctions", *table.head),
            rows=tuple((row.level, row.auctions, *row.amounts) for row in table.rows),
        )
    )
    files = {"index.html": page, "table.md": text, "table.csv": frame_csv(results.table())}
    return write_files(folder, files)


def overview(results: ReplaySet) -> Overview:
    """Return what the strategies that charts show earned in each part."""
    earned = {level: _earned(result) for level, result in results.replays.items()}
    head = tuple(dict.fromkeys(name for part in earned.values() for name in part))
    names = folder_names(list(results.replays))
    digits = min((money_digits(result) for result in results.replays.values()), default=2)
    rows = tuple(
        PartRow(
            level or "(empty)",
            f"{names[level]}/index.html",
            f"{result.auctions:,}",
            tuple(
                number(earned[level][name], digits) if name in earned[level] else MISSING
                for name in head
            ),
        )
        for level, result in results.replays.items()
    )
    sums = tuple(
        number(sum(part.get(name, 0.0) for part in earned.values()), digits) for name in head
    )
    auctions = sum(result.auctions for result in results.replays.values())
    return Overview(head, rows, f"{auctions:,}", sums)


def _earned(result: Replay) -> dict[str, float]:
    """Return the surplus of the strategies in the charts, with only the best of the fractions."""
    shown = [one for one in charted(result) if one.kind != "oracle"]
    amounts = {
        BEST_FRACTION if one.kind == "fixed" else one.strategy: result.earned(one) for one in shown
    }
    return amounts | {result.comparator: result.earned(result.outcome(result.comparator))}


def folder_names(levels: list[str]) -> dict[str, str]:
    """Return a name of a folder for each level.

    >>> folder_names(["shoes", "../x y", ""])
    {'shoes': 'part-1-shoes', '../x y': 'part-2-x-y', '': 'part-3'}
    """
    return {level: f"part-{i}-{plain_name(level)}".rstrip("-") for i, level in enumerate(levels, 1)}


def plain_name(text: str) -> str:
    """Return a text as a part of the name of a folder: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:40]
