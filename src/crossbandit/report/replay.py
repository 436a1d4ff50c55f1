"""A replayed log as files: the page, the table, the curves and the figure.

It reads three frames, one row per strategy, per strategy and auction, and per strategy and value;
what played the log is not its business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossbandit.report.folders import check_folder
from crossbandit.report.tables import MISSING

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

KINDS = {
    "learner": "Learners",
    "own": "What was bid",
    "fitted": "Best responses to past prices",
    "fixed": "Fixed fractions of the value",
    "oracle": "Oracles: what there was to be earned",
}
_MOST_LINES = 7  # of a chart: it has as many colours
_FIGURES = tuple(f"replay.{kind}" for kind in ("png", "pdf", "svg"))
WRITTEN = ("index.html", "table.md", "table.csv", "curves.csv", "bids.csv", *_FIGURES)


@dataclass(frozen=True, eq=False)
class ReplayReport:
    """What a report on a replay says.

    `table` has the columns strategy, kind, surplus, half_width, regret, spend, win_rate,
    average_price, runs and note; `curves` strategy, auction, surplus and half_width; `bids`
    strategy, value and bid. `notes` are sentences to read before the table, `faults` bad
    lines, and `left_out` says how many there are of them. Regret is counted from the strategy
    `comparator`. The charts leave out `beyond_charts`, so far above all others that it would
    flatten them, and `first_to_go` where there are more lines than colours.
    """

    title: str
    lead: str
    table: pd.DataFrame
    curves: pd.DataFrame
    bids: pd.DataFrame
    notes: tuple[str, ...]
    faults: tuple[tuple[int, str], ...]
    left_out: str
    facts: tuple[tuple[str, str], ...]
    comparator: str
    beyond_charts: str
    first_to_go: str

    @property
    def charted(self) -> tuple[str, ...]:
        """The strategies that the charts show: of the fixed ones, only the one that earned most."""
        fixed = self.table[self.table["kind"] == "fixed"]
        best = fixed.loc[fixed["surplus"].idxmax(), "strategy"]
        names = [
            row.strategy
            for row in self.table.itertuples()
            if row.strategy == best or (row.kind != "fixed" and row.strategy != self.beyond_charts)
        ]
        if len(names) > _MOST_LINES and self.first_to_go in names:
            names.remove(self.first_to_go)
        return tuple(names)

    @property
    def digits(self) -> int:
        """How many decimals the sums of money need to have five digits in all."""
        return _decimals(float(self.table["surplus"].abs().max()), 5)

    def sum_of_money(self, amount: float, half_width: float = math.nan) -> str:
        """Return a sum as the tables show it, with its half-width if it has one."""
        shown = f"{amount:,.{self.digits}f}".replace("-", "−")
        if float(shown.replace(",", "").replace("−", "-")) == 0:
            shown = shown.lstrip("−")
        return shown if math.isnan(half_width) else f"{shown} ± {half_width:,.{self.digits}f}"

    def price(self, row: pd.Series[float]) -> str:
        """Return what a win of a strategy cost on average."""
        decimals = _decimals(float(self.table["average_price"].max()), 4)
        return f"{row['average_price']:,.{decimals}f}" if row["win_rate"] > 0 else MISSING


def _decimals(largest: float, digits: int) -> int:
    """Return how many decimals show the largest of some amounts with that many digits."""
    return max(0, min(6, digits - 1 - math.floor(math.log10(largest)))) if largest > 0 else 2


def write_replay(report: ReplayReport, folder: Path) -> list[Path]:
    """Write everything into a folder; return the paths, in the order of `WRITTEN`."""
    from crossbandit.report.figures import write_figure
    from crossbandit.report.replay_figure import replay_figure
    from crossbandit.report.replay_page import replay_page

    check_folder(folder, WRITTEN, "a replay")
    folder.mkdir(parents=True, exist_ok=True)
    texts = (
        replay_page(report),
        markdown(report),
        *(
            frame.to_csv(index=False, lineterminator="\n")
            for frame in (report.table, report.curves, report.bids)
        ),
    )
    paths = [folder / name for name in WRITTEN[: len(texts)]]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8", newline="\n")
    return [*paths, *write_figure(replay_figure(report), folder, "replay")]


def markdown(report: ReplayReport) -> str:
    """Return the table and the notes as Markdown."""
    lines = [
        f"# {report.title}",
        "",
        report.lead,
        "",
        *(f"- {note}" for note in report.notes),
        "",
        "| strategy | surplus | regret | spend | won | paid | |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for _, row in report.table.iterrows():
        cells = [
            row["strategy"],
            report.sum_of_money(row["surplus"], row["half_width"]),
            report.sum_of_money(row["regret"]),
            report.sum_of_money(row["spend"]),
            f"{100 * row['win_rate']:.1f} %",
            report.price(row),
            row["note"],
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])
