"""What was measured, kept: a file per group, and the page docs/benchmarks.md made from all of them.

A run of one group renews its file, this page, and the numbers on all other pages
(`benchmarks.numbers`), so that no page says anything but what a run printed.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from inspect import getdoc
from pathlib import Path

import crossbandit
from benchmarks.measure import Result

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks" / "measured"
PAGE = ROOT / "docs" / "benchmarks.md"

# In the order of the page. Those that take long, or need other libraries, are run by name.
USUAL = {
    "core": "A run, a round, a start",
    "decisions": "Tokens, snapshots and batches",
    "scale": "Many contexts, arms and rounds",
    "studies": "Studies",
    "reproduction": "The paper's evaluation",
    "replay": "Replay of a log",
    "adaptive": "The adaptive learner",
    "every_graph": "Weakly observable and changing graphs",
    "baselines": "Algorithms for all kinds of graphs",
    "markets": "Bidding by the price distribution",
    "features": "Features",
    "independence": "Whether prices depend on values and classes",
    "latency": "A bidder in production",
    "budgets": "Budgets and targets",
    "fluid": "Budgets in the setting of Wang et al.",
    "coverage": "Evaluation of censored logs",
    "service": "The service",
    "service_recovery": "The log of the service",
}
LONG = {
    "log_sizes": "Large logs",
    "auction_gym": "The bidders of AuctionGym",
    "soak": "A bidder under load for hours",
    "peers": "Other libraries",
}
GROUPS = {**USUAL, **LONG}
COMMANDS = {"peers": "make bench-peers"}

_START = """\
# What is measured

Each table is written by the command above it, from what it has just measured, and by nothing else:
`make bench` runs all groups but the last few, which take long or need other libraries. Ratios are
measured in one run, because a machine is not equally fast all day. Where an aim was not reached,
the table says so.
"""


@dataclass(frozen=True)
class Record:
    """What one run of a group has measured.

    Args:
        group: The name of its module.
        machine: What it ran on.
        version: The version of Crossbandit.
        day: When, as a date.
        results: The rows.
    """

    group: str
    machine: str
    version: str
    day: str
    results: tuple[Result, ...]


def record(group: str, results: list[Result]) -> Record:
    """Return a record of what was measured now, on this machine.

    Args:
        group: The name of the module.
        results: What it measured.
    """
    today = datetime.now(UTC).date().isoformat()
    return Record(group, machine(), crossbandit.__version__, today, tuple(results))


def save(kept: Record, folder: Path = FOLDER) -> None:
    """Write a record in place of the one of an earlier run.

    Args:
        kept: What was measured.
        folder: Where records are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(kept), indent=2, ensure_ascii=False)
    (folder / f"{kept.group}.json").write_text(text + "\n", encoding="utf-8")


def load(folder: Path = FOLDER) -> list[Record]:
    """Return the records of all groups that were measured, in the order of the page.

    Args:
        folder: Where records are.
    """
    found = []
    for group in GROUPS:
        path = folder / f"{group}.json"
        if path.exists():
            data = json.loads(path.read_text(encoding="utf-8"))
            results = tuple(Result(**row) for row in data.pop("results"))
            found.append(Record(**data, results=results))
    return found


def page(records: list[Record]) -> str:
    """Return the page that shows the records, as Markdown.

    Args:
        records: What was measured.
    """
    return _START + "".join(_section(kept) for kept in records)


def command(group: str) -> str:
    """Return the command that measures a group.

    Args:
        group: The name of its module.
    """
    return COMMANDS.get(group, f"python -m benchmarks {group}")


def _section(kept: Record) -> str:
    about = getdoc(import_module(f"benchmarks.{kept.group}")) or ""
    rows = [
        "| | measured | aim | |",
        "|---|---:|---:|---|",
        *("| " + " | ".join(cells(result)) + " |" for result in kept.results),
    ]
    parts = [
        f"## {GROUPS[kept.group]}",
        about,
        f"```sh\n{command(kept.group)}\n```",
        "\n".join(rows),
        f"Version {kept.version}, {kept.day}, {kept.machine}.",
    ]
    return "\n" + "\n\n".join(parts) + "\n"


def cells(result: Result) -> list[str]:
    """Return what a table says of a result.

    Args:
        result: The result.
    """
    note = f": {result.note}" if result.note else ""
    return [
        result.name,
        f"{short(result.value)} {result.unit}".rstrip(),
        f"{'≥' if result.at_least else '≤'} {short(result.aim)}",
        result.note if result.reached else f"not reached{note}",
    ]


def short(value: float) -> str:
    """Return a number with three digits, or with thousands.

    Args:
        value: The number.
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine() -> str:
    """Return what can be said of this machine without naming it."""
    kind = platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            kind = line.partition(":")[2].strip()
            break
    return f"{os.cpu_count()} cores ({kind}), Python {platform.python_version()}"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
