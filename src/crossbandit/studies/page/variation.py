"""How the paper's entries vary over other loss tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossbandit.studies.page import paper
from crossbandit.studies.page.sweeps import paper_method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.studies.page.summaries import Summary
    from crossbandit.studies.page.sweeps import Entry, Sweep


@dataclass(frozen=True)
class Spread:
    """One entry, and the same entry under other loss tables.

    Attributes:
        sweep: The sweep of the entry.
        entry: The entry.
        others: Pairs of a table's seed and the mean regret under that table.
        seeds: The number of runs in each mean, at least.
    """

    sweep: Sweep
    entry: Entry
    others: tuple[tuple[int, float], ...]
    seeds: int

    @property
    def lowest(self) -> float:
        """The lowest mean over the other tables."""
        return min(regret for _, regret in self.others)

    @property
    def highest(self) -> float:
        """The highest mean over the other tables."""
        return max(regret for _, regret in self.others)

    def against_paper(self, regret: float) -> float:
        """Return the relative difference of `regret` from the paper's entry."""
        if self.entry.published is None:
            raise ValueError(f"The paper has no entry for {self.entry.method}.")
        return regret / self.entry.published.regret - 1.0


def spreads(sweeps: Sequence[Sweep], summaries: Sequence[Summary]) -> list[Spread]:
    """Return the spread of each of the paper's entries that was run under other tables."""
    found = []
    for sweep in sweeps:
        part = [summary for summary in summaries if summary.part == f"tables-{sweep.id}"]
        for entry in sweep.entries.values():
            alike = [summary for summary in part if _is_alike(sweep, entry, summary)]
            if alike and entry.published is not None:
                others = ((int(s.setting["table_seed"]), s.regret) for s in alike)
                seeds = min(len(summary.seeds) for summary in alike)
                found.append(Spread(sweep, entry, tuple(sorted(others)), seeds))
    return found


def _is_alike(sweep: Sweep, entry: Entry, summary: Summary) -> bool:
    """Return whether these are the runs of an entry, under another loss table."""
    if sweep.published is None:
        return False
    wanted = {**sweep.published.fixed, sweep.published.variable: int(entry.setting.value)}
    return (
        paper_method(summary) == paper_method(entry.summary)
        and all(summary.setting.get(name) == value for name, value in wanted.items())
        and summary.setting.get("table_seed", paper.TABLE_SEED) != paper.TABLE_SEED
    )
