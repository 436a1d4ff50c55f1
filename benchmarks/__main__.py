"""`python -m benchmarks`: measure every claim, print the table, write it to results/benchmarks."""

from __future__ import annotations

import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from benchmarks.measure import Result

GROUPS = ("core", "scale", "reproduction")
OUT = Path("results/benchmarks")


def main() -> None:
    """Run the groups named on the command line, or all of them."""
    console = Console()
    groups = sys.argv[1:] or GROUPS
    table = Table(title=f"Measured on {machine()}", title_justify="left")
    for column in ("claim", "measured", "bar", ""):
        table.add_column(column, justify="left" if column == "claim" else "right")
    lines = ["| claim | measured | bar | |", "|---|---:|---:|---|"]
    for group in groups:
        for result in import_module(f"benchmarks.{group}").results():
            cells = _cells(result)
            console.print("  ".join(cells))
            table.add_row(*cells)
            lines.append("| " + " | ".join(cells) + " |")
    console.print(table)
    OUT.mkdir(parents=True, exist_ok=True)
    text = f"Measured on {machine()}.\n\n" + "\n".join(lines) + "\n"
    (OUT / "benchmarks.md").write_text(text, encoding="utf-8")
    console.print(f"Wrote {OUT / 'benchmarks.md'}.")


def machine() -> str:
    """Return what can be said of this machine without naming it."""
    return f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"


def _cells(result: Result) -> list[str]:
    sign = "≥" if result.at_least else "≤"
    verdict = "met" if result.met else "missed" + (f": {result.note}" if result.note else "")
    return [
        result.name,
        f"{result.value:,.4g} {result.unit}",
        f"{sign} {result.bar:,.4g}",
        verdict,
    ]


if __name__ == "__main__":
    main()
