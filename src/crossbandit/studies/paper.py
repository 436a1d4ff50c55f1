"""What the paper published, and its claims: expected, measured, and whether they are met.

Source: "Nearly Tight Bounds for Cross-Learning Contextual Bandits with Graphical Feedback", section
"Experiments and Formalization" and appendix "Extended Experiments and Reproducibility", tables
tab:horizon-scaling and tab:alpha-scaling. Half-widths are of 95 % confidence intervals: 1.96
standard errors of the per-seed difference between a method's loss and the comparator's.

An entry is compared with the paper's only if it has all seeds of the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.core.report.text import number, percent
from crossbandit.studies.claims import (
    Claim,
    Stated,
    column,
    fewer,
    judge,
    lacking,
    not_judged,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crossbandit.studies.sweeps import Entry, Sweep

TITLE = "Nearly Tight Bounds for Cross-Learning Contextual Bandits with Graphical Feedback"

OURS, CONTEXT = "cross-graph", "schneider-zimmert"
GRAPH, EXP3 = "per-context-graph", "per-context-exp3"

# What the paper calls its methods, in the order of its columns.
METHODS = {OURS: "Ours", CONTEXT: "SZ-Context", GRAPH: "OBPC-Graph", EXP3: "OBPC-Exp3"}

# The paper does not name a seed for its loss table. This one was fixed before anything was run.
TABLE_SEED = 0
BENCHMARK = {"name": "paper-benchmark", "arms": 9, "contexts": 1000, "table_seed": TABLE_SEED}


class PublishedEntry(NamedTuple):
    """An entry of a table."""

    regret: float  # the mean final regret
    half_width: float  # the half-width of its 95 % confidence interval


@dataclass(frozen=True)
class PublishedSweep:
    """One table: one parameter varies, everything else is fixed."""

    part: str  # the part of the study with these runs
    title: str
    variable: str  # the name of the parameter
    symbol: str
    name: str  # its name on an axis
    fixed: Mapping[str, int]  # the other parameters that matter, with their values
    seeds: range
    entries: Mapping[int, Mapping[str, PublishedEntry]]

    @property
    def values(self) -> tuple[int, ...]:
        """The values of the parameter, in increasing order."""
        return tuple(self.entries)


def _row(*pairs: tuple[float, float]) -> dict[str, PublishedEntry]:
    return {method: PublishedEntry(*pair) for method, pair in zip(METHODS, pairs, strict=True)}


HORIZON = PublishedSweep(
    part="horizon",
    title="Final regret by horizon, at α = 4",
    variable="horizon",
    symbol="T",
    name="horizon T",
    fixed={"alpha": 4},
    seeds=range(200, 210),
    entries={
        2000: _row((202.87, 6.36), (300.10, 5.12), (531.41, 7.73), (546.86, 8.89)),
        4000: _row((299.76, 8.89), (423.60, 9.26), (1031.10, 5.36), (1070.60, 10.58)),
        6000: _row((378.38, 6.65), (557.18, 11.15), (1504.73, 9.58), (1583.97, 8.45)),
        8000: _row((429.78, 8.88), (668.47, 11.09), (1959.87, 11.00), (2091.23, 8.40)),
        10000: _row((476.33, 8.90), (732.77, 12.73), (2403.75, 12.99), (2582.93, 7.35)),
    },
)

ALPHA = PublishedSweep(
    part="graph",
    title="Final regret by independence number, at T = 10,000",
    variable="alpha",
    symbol="α",
    name="independence number α",
    fixed={"horizon": 10_000},
    seeds=range(100, 110),
    entries={
        1: _row((267.61, 4.63), (723.53, 9.65), (1796.83, 14.25), (2590.00, 9.91)),
        2: _row((356.71, 6.61), (723.53, 9.65), (2181.09, 17.08), (2590.00, 9.91)),
        3: _row((419.40, 6.38), (723.53, 9.65), (2307.20, 17.21), (2590.00, 9.91)),
        4: _row((473.49, 5.88), (723.53, 9.65), (2419.22, 11.05), (2590.00, 9.91)),
        8: _row((694.40, 10.27), (723.53, 9.65), (2570.83, 10.66), (2590.00, 9.91)),
    },
)

SWEEPS = (HORIZON, ALPHA)


class Slope(NamedTuple):
    """A fitted log-log slope."""

    published: float  # the slope in the paper
    low: float  # the lowest slope that a reproduction may have
    high: float  # the highest slope that it may have


SLOPE_IN_HORIZON = Slope(0.53, 0.50, 0.58)
SLOPE_IN_ALPHA = Slope(0.45, 0.40, 0.50)
# The paper names no range for this slope. It gets one of the same width as the first.
CONTEXT_SLOPE_IN_HORIZON = Slope(0.57, 0.53, 0.61)


# --- claims -------------------------------------------------------------------------------------

# An entry may differ by this share, or by the sum of the two half-widths if that is more.
ENTRY_TOLERANCE = 0.04
# A quotient of two entries may differ by the sum of what its entries may.
GROWTH_TOLERANCE = 2 * ENTRY_TOLERANCE
# A method that does not see the graph plays the same arms on every graph: only rounding is allowed.
FLAT_TOLERANCE = 1e-6


def judge_paper(sweeps: Sequence[Sweep]) -> list[Claim]:
    """Return every claim of the paper, judged on the paper's sweeps."""
    alpha = {sweep.id: sweep for sweep in sweeps}.get(ALPHA.part)
    total = sum(len(sweep.entries) for sweep in SWEEPS)
    lowest = Stated(
        f"{METHODS[OURS]} has the lowest regret at every point",
        tuple(sweep.part for sweep in SWEEPS),
        METHODS[OURS],
        below=tuple(name for id_, name in METHODS.items() if id_ != OURS),
        expected=f"lowest of the four at all {total} points",
    )
    return [
        _entries(sweeps),
        judge(lowest, sweeps),
        judge(_slope(HORIZON, OURS, SLOPE_IN_HORIZON), sweeps),
        judge(_slope(ALPHA, OURS, SLOPE_IN_ALPHA), sweeps),
        judge(_slope(HORIZON, CONTEXT, CONTEXT_SLOPE_IN_HORIZON), sweeps),
        _flat(alpha),
        judge(_growth(), sweeps),
        _narrowing(alpha),
    ]


def allowed(entry: Entry) -> float:
    """Return how far an entry may be from the paper's, as a share of the paper's."""
    if entry.published is None:
        return math.nan
    widths = entry.summary.half_width + entry.published.half_width
    return max(ENTRY_TOLERANCE, widths / entry.published.regret)


def is_within(entry: Entry) -> bool:
    """Return whether an entry is close enough to the paper's."""
    return abs(entry.difference) <= allowed(entry)


def _entries(sweeps: Sequence[Sweep]) -> Claim:
    judged = [
        (sweep, entry)
        for sweep in sweeps
        for method in METHODS.values()
        for entry in column(sweep, method, fewest_seeds=len(HORIZON.seeds)).values()
    ]
    total = sum(len(row) for sweep in SWEEPS for row in sweep.entries.values())
    name = "Every table entry agrees with the paper's"
    expected = "within 4 %, or the sum of both half-widths"
    if not judged:
        return not_judged(name, expected, "no entry has all the seeds of the paper")
    outside = [(sweep, entry) for sweep, entry in judged if not is_within(entry)]
    count = f"{len(judged) - len(outside)} of {len(judged)} entries"
    if len(judged) < total:
        count += f" (of {total} in the paper)"
    sweep, worst = max(outside or judged, key=lambda pair: abs(pair[1].difference))
    place = f"{worst.method} at {sweep.symbol} = {worst.setting.label}"
    return Claim(
        name,
        expected,
        f"{count}; furthest: {place}, {percent(worst.difference)}",
        status(met=not outside),
    )


def _slope(published: PublishedSweep, method: str, bar: Slope) -> Stated:
    return Stated(
        f"{METHODS[method]}: log-log slope in {published.symbol}",
        (published.part,),
        METHODS[method],
        slope=(bar.low, bar.high),
        expected=f"{bar.low:.2f} to {bar.high:.2f} (paper {bar.published:.2f})",
    )


def _flat(sweep: Sweep | None) -> Claim:
    name = f"{METHODS[CONTEXT]} is flat across α"
    expected = "the same regret on every graph"
    entries = column(sweep, METHODS[CONTEXT])
    if sweep is None or (missing := lacking(sweep, entries)):
        return not_judged(name, expected, missing if sweep else "no runs")
    regrets = [entry.summary.regret for entry in entries.values()]
    low, high = min(regrets), max(regrets)
    flat = high - low <= FLAT_TOLERANCE * abs(high)
    measured = f"{number(low)} on every graph" if flat else f"{number(low)} to {number(high)}"
    measured += fewer(sweep, entries.values())
    return Claim(name, expected, measured, status(met=flat))


def _growth() -> Stated:
    first, last = ALPHA.values[0], ALPHA.values[-1]
    was = [ALPHA.entries[value][OURS].regret for value in (first, last)]
    factor = was[1] / was[0]
    return Stated(
        f"{METHODS[OURS]} grows from α = {first} to α = {last}",
        (ALPHA.part,),
        METHODS[OURS],
        growth=((1 - GROWTH_TOLERANCE) * factor, (1 + GROWTH_TOLERANCE) * factor),
        expected=f"by {factor:.2f} ± 8 % ({number(was[0])} to {number(was[1])})",
    )


def _narrowing(sweep: Sweep | None) -> Claim:
    name = f"The gap to {METHODS[CONTEXT]} narrows as graphs get sparser"
    published = [row[CONTEXT].regret / row[OURS].regret for row in ALPHA.entries.values()]
    expected = f"their quotient falls with every α ({published[0]:.2f} to {published[-1]:.2f})"
    ours, theirs = column(sweep, METHODS[OURS]), column(sweep, METHODS[CONTEXT])
    if sweep is None or (missing := lacking(sweep, ours) or lacking(sweep, theirs)):
        return not_judged(name, expected, missing if sweep else "no runs")
    ratios = [theirs[value].summary.regret / ours[value].summary.regret for value in ALPHA.values]
    falls = all(left > right for left, right in pairwise(ratios))
    measured = ", ".join(f"{ratio:.2f}" for ratio in ratios) + fewer(sweep, ours.values())
    return Claim(name, expected, measured, status(met=falls))
