"""Compare methods by tests, the growth of regret, and how it varies over loss tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.report.statistics import holm, paired_test, slope_interval
from crossbandit.studies.page import paper
from crossbandit.studies.page.sweeps import paper_method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.report.statistics import Estimate, PairedTest
    from crossbandit.studies.page.summaries import Summary
    from crossbandit.studies.page.sweeps import Entry, Setting, Sweep
    from crossbandit.types import Floats


@dataclass(frozen=True)
class Comparison:
    """Two methods in one setting, compared seed by seed.

    Attributes:
        setting: The setting.
        method: One method.
        reference: The other method; differences are `method` minus `reference`.
        test: The paired test over the seeds that both have.
        adjusted: Its p-value, adjusted by Holm's method for all comparisons of the sweep.
    """

    setting: Setting
    method: str
    reference: str
    test: PairedTest
    adjusted: float


@dataclass(frozen=True)
class Exponent:
    """The power of the axis that fits the mean final regret of a method.

    Attributes:
        method: The method.
        points: The number of settings.
        seeds: The number of seeds that all settings have.
        estimate: The log-log slope, with its interval over the seeds.
    """

    method: str
    points: int
    seeds: int
    estimate: Estimate


@dataclass(frozen=True)
class Overview:
    """All methods in all sweeps: regret relative to the best, at the last setting of each sweep.

    Attributes:
        titles: The sweep and its last setting, for each sweep.
        rows: For each method, its ratio in each sweep; NaN where there is none.
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]

    @property
    def columns(self) -> range:
        """The number of each sweep, from 1."""
        return range(1, len(self.titles) + 1)


def overview(sweeps: Sequence[Sweep]) -> Overview:
    """Return the overview of sweeps over a number; without rows for fewer than two sweeps."""
    shown = [sweep for sweep in sweeps if sweep.numeric and sweep.published is None]
    methods = dict.fromkeys(method for sweep in shown for method in sweep.methods)
    if len(shown) < 2 or len(methods) < 2:
        return Overview((), ())
    titles = tuple(f"{sweep.id}, {sweep.place(sweep.settings[-1])}" for sweep in shown)
    return Overview(titles, tuple((m, tuple(_ratio(s, m) for s in shown)) for m in methods))


def _ratio(sweep: Sweep, method: str) -> float:
    entry = sweep.entries.get((sweep.settings[-1], method))
    return math.nan if entry is None else sweep.to_best(entry)


def compare(sweep: Sweep) -> list[Comparison]:
    """Compare all pairs of methods in every setting; those against the first method come first."""
    pairs = [
        (setting, second, first)
        for setting in sweep.settings
        for first, second in combinations(sweep.row(setting), 2)
        if set(first.summary.seeds) & set(second.summary.seeds)
    ]
    tests = [paired_test(*_common([entry, other])) for _, entry, other in pairs]
    adjusted = holm([test.p_value for test in tests])
    return [
        Comparison(setting, entry.method, other.method, test, p)
        for (setting, entry, other), test, p in zip(pairs, tests, adjusted, strict=True)
    ]


def exponents(sweep: Sweep) -> list[Exponent]:
    """Return how the regret of every method grows along the axis, where that has a logarithm."""
    if not sweep.numeric or any(setting.value <= 0 for setting in sweep.settings):
        return []
    found = []
    for method in sweep.methods:
        column = sweep.column(method)
        samples = _common(column)
        if len(column) < 2 or not samples.size or samples.mean(axis=1).min() <= 0:
            continue
        x = [entry.setting.value for entry in column]
        estimate = slope_interval(x, samples)
        found.append(Exponent(method, len(column), samples.shape[1], estimate))
    return found


def _common(entries: Sequence[Entry]) -> Floats:
    """Return the final regrets (entries, seeds) under the seeds that all entries have."""
    by_seed = [dict(zip(e.summary.seeds, e.summary.finals, strict=True)) for e in entries]
    seeds = sorted(set.intersection(*map(set, by_seed))) if by_seed else []
    return np.array([[finals[seed] for seed in seeds] for finals in by_seed], dtype=np.float64)


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
