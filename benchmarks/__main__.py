"""`python -m benchmarks`: measure every claim, print the table, write it to results/benchmarks."""

from __future__ import annotations

import os
import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.picture import figure

if TYPE_CHECKING:
    from benchmarks.measure import Result

GROUPS = (
    "core",
    "decisions",
    "scale",
    "studies",
    "reproduction",
    "replay",
    "adaptive",
    "every_graph",
    "baselines",
    "markets",
    "latency",
    "budgets",
    "fluid",
    "coverage",
    "service",
)
OUT = Path("results/benchmarks")


def main() -> None:
    """Run the groups named on the command line, or all of them."""
    console = Console()
    results = []
    for group in sys.argv[1:] or GROUPS:
        for result in import_module(f"benchmarks.{group}").results():
            console.print("  ".join(_cells(result)), highlight=False)
            results.append(result)
    console.print(_table(results))
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "benchmarks.md").write_text(_markdown(results), encoding="utf-8")
    figure(results, title=f"Measured on {machine()}").savefig(OUT / "benchmarks.png", dpi=160)
    console.print(f"Wrote {OUT / 'benchmarks.md'} and {OUT / 'benchmarks.png'}.")


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


def _table(results: list[Result]) -> Table:
    table = Table(title=f"Measured on {machine()}", title_justify="left")
    for column in ("claim", "measured", "bar", ""):
        table.add_column(column, justify="left" if column == "claim" else "right")
    for result in results:
        table.add_row(*_cells(result))
    return table


def _markdown(results: list[Result]) -> str:
    lines = ["| claim | measured | bar | |", "|---|---:|---:|---|"]
    lines += ["| " + " | ".join(_cells(result)) + " |" for result in results]
    return f"Measured on {machine()}.\n\n" + "\n".join(lines) + "\n"


def _cells(result: Result) -> list[str]:
    sign = "≥" if result.at_least else "≤"
    verdict = "met" if result.met else "missed" + (f": {result.note}" if result.note else "")
    return [
        result.name,
        f"{_short(result.value)} {result.unit}",
        f"{sign} {_short(result.bar)}",
        verdict,
    ]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
