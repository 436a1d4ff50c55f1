"""`python -m benchmarks [GROUP ...]`: measure every claim, and write what was measured.

Each group renews its file in benchmarks/measured, the page docs/benchmarks.md and the numbers on
other pages as soon as it is done. The table and a picture of this run go to results/benchmarks.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks import numbers, records
from benchmarks.picture import figure

if TYPE_CHECKING:
    from benchmarks.measure import Result

OUT = Path("results/benchmarks")


def main() -> None:
    """Run the groups named on the command line, or all usual ones."""
    console = Console()
    groups = sys.argv[1:] or list(records.USUAL)
    unknown = [group for group in groups if group not in records.GROUPS]
    if unknown:
        sys.exit(f"There is no group {unknown[0]!r}. There are: {', '.join(records.GROUPS)}.")
    results: list[Result] = []
    for group in groups:
        found = []
        for result in import_module(f"benchmarks.{group}").results():
            console.print("  ".join(records.cells(result)), highlight=False)
            found.append(result)
        records.save(records.record(group, found))
        numbers.write()
        results += found
    console.print(_table(results))
    OUT.mkdir(parents=True, exist_ok=True)
    title = f"Measured on {records.machine()}"
    figure(results, title=title).savefig(OUT / "benchmarks.png", dpi=160)
    console.print(
        f"Wrote docs/benchmarks.md, the numbers of other pages, and {OUT / 'benchmarks.png'}."
    )


def _table(results: list[Result]) -> Table:
    table = Table(title=f"Measured on {records.machine()}", title_justify="left")
    for column in ("", "measured", "aim", ""):
        table.add_column(column, justify="right" if column else "left")
    for result in results:
        table.add_row(*records.cells(result))
    return table


if __name__ == "__main__":
    main()
