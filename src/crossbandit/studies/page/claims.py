"""The paper's claims: what was expected, what was measured, and whether the claim is met.

A claim is not judged if runs that it needs are missing. An entry is compared with the paper's only
if it has all seeds of the paper. Order and growth need at least three seeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from crossbandit.report.statistics import slope
from crossbandit.report.text import number, percent
from crossbandit.studies.page import paper

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crossbandit.studies.page.sweeps import Entry, Sweep

# An entry may differ by this share, or by the sum of the two half-widths if that is more.
ENTRY_TOLERANCE = 0.04
# A quotient of two entries may differ by the sum of what its entries may.
GROWTH_TOLERANCE = 2 * ENTRY_TOLERANCE
# A method that does not see the graph plays the same arms on every graph: only rounding is allowed.
FLAT_TOLERANCE = 1e-6

FEWEST_SEEDS = 3


class Status(StrEnum):
    """Whether a claim is met."""

    MET = "met"
    NOT_MET = "not met"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        name: The claim.
        expected: When it is met.
        measured: What was measured, or why it is not judged.
        status: Whether it is met.
    """

    name: str
    expected: str
    measured: str
    status: Status


def judge(sweeps: Sequence[Sweep]) -> list[Claim]:
    """Return every claim of the paper, judged on the paper's sweeps."""
    by_part = {sweep.id: sweep for sweep in sweeps}
    horizon, alpha = by_part.get(paper.HORIZON.part), by_part.get(paper.ALPHA.part)
    return [
        _entries(sweeps),
        _lowest(sweeps),
        _slope(horizon, paper.HORIZON, paper.OURS, paper.SLOPE_IN_HORIZON),
        _slope(alpha, paper.ALPHA, paper.OURS, paper.SLOPE_IN_ALPHA),
        _slope(horizon, paper.HORIZON, paper.CONTEXT, paper.CONTEXT_SLOPE_IN_HORIZON),
        _flat(alpha),
        _growth(alpha),
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


def column(sweep: Sweep | None, method: str, *, fewest_seeds: int) -> dict[float, Entry]:
    """Return a method's entries at the paper's points, by their place on the axis.

    Entries with fewer than `fewest_seeds` of the paper's seeds are left out.
    """
    if sweep is None or sweep.published is None:
        return {}
    seeds = set(sweep.published.seeds)
    return {
        entry.setting.value: entry
        for entry in sweep.column(method)
        if entry.published is not None and len(seeds & set(entry.summary.seeds)) >= fewest_seeds
    }


def _enough(sweep: Sweep | None, method: str) -> dict[float, Entry]:
    return column(sweep, method, fewest_seeds=FEWEST_SEEDS)


def _entries(sweeps: Sequence[Sweep]) -> Claim:
    judged = [
        (sweep, entry)
        for sweep in sweeps
        for method in paper.METHODS
        for entry in column(sweep, method, fewest_seeds=_all_seeds(sweep)).values()
    ]
    total = sum(len(row) for sweep in paper.SWEEPS for row in sweep.entries.values())
    name = "Every table entry is the paper's"
    expected = "within 4 %, or the sum of both half-widths"
    if not judged:
        return _not_judged(name, expected, "no entry has all the seeds of the paper")
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
        _status(met=not outside),
    )


def _lowest(sweeps: Sequence[Sweep]) -> Claim:
    lost: list[str] = []
    used: list[Entry] = []
    points = 0
    for sweep in sweeps:
        columns = {method: _enough(sweep, method) for method in paper.METHODS}
        used += [entry for entries in columns.values() for entry in entries.values()]
        for value, ours in columns[paper.OURS].items():
            others = [columns[method].get(value) for method in columns if method != paper.OURS]
            if any(other is None for other in others):
                continue
            points += 1
            if any(other and other.summary.regret <= ours.summary.regret for other in others):
                lost.append(f"{sweep.symbol} = {ours.setting.label}")
    total = sum(len(sweep.entries) for sweep in paper.SWEEPS)
    name = f"{paper.OURS} has the lowest regret at every point"
    expected = f"lowest of the four at all {total} points"
    if points == 0:
        return _not_judged(name, expected, "no point has all methods and seeds")
    measured = f"lowest at {points - len(lost)} of {points} points"
    if points < total:
        measured += f" (of {total} in the paper)"
    if lost:
        measured += f"; not at {', '.join(lost)}"
    return Claim(name, expected, measured + _fewer(used), _status(met=not lost))


def _slope(
    sweep: Sweep | None, published: paper.PublishedSweep, method: str, bar: paper.Slope
) -> Claim:
    symbol = published.symbol
    name = f"{method}: log-log slope in {symbol}"
    expected = f"{bar.low:.2f} to {bar.high:.2f} (paper {bar.published:.2f})"
    entries = _enough(sweep, method)
    if missing := _missing(entries, published):
        return _not_judged(name, expected, missing)
    fitted = slope(list(entries), [entry.summary.regret for entry in entries.values()])
    measured = f"{fitted:.3f}{_fewer(entries.values())}"
    return Claim(name, expected, measured, _status(met=bar.low <= fitted <= bar.high))


def _flat(sweep: Sweep | None) -> Claim:
    name = f"{paper.CONTEXT} is flat across α"
    expected = "the same regret on every graph"
    entries = _enough(sweep, paper.CONTEXT)
    if missing := _missing(entries, paper.ALPHA):
        return _not_judged(name, expected, missing)
    regrets = [entry.summary.regret for entry in entries.values()]
    low, high = min(regrets), max(regrets)
    flat = high - low <= FLAT_TOLERANCE * abs(high)
    measured = f"{number(low)} on every graph" if flat else f"{number(low)} to {number(high)}"
    measured += _fewer(entries.values())
    return Claim(name, expected, measured, _status(met=flat))


def _growth(sweep: Sweep | None) -> Claim:
    first, last = paper.ALPHA.values[0], paper.ALPHA.values[-1]
    name = f"{paper.OURS} grows from α = {first} to α = {last}"
    was = [paper.ALPHA.entries[value][paper.OURS].regret for value in (first, last)]
    factor = was[1] / was[0]
    expected = f"by {factor:.2f} ± 8 % ({number(was[0])} to {number(was[1])})"
    entries = _enough(sweep, paper.OURS)
    if first not in entries or last not in entries:
        return _not_judged(name, expected, "an endpoint has no runs")
    now = [entries[value].summary.regret for value in (first, last)]
    measured = now[1] / now[0]
    return Claim(
        name,
        expected,
        f"by {measured:.2f} ({number(now[0])} to {number(now[1])}){_fewer(entries.values())}",
        _status(met=abs(measured / factor - 1.0) <= GROWTH_TOLERANCE),
    )


def _narrowing(sweep: Sweep | None) -> Claim:
    name = f"The gap to {paper.CONTEXT} narrows as graphs get sparser"
    published = [
        row[paper.CONTEXT].regret / row[paper.OURS].regret for row in paper.ALPHA.entries.values()
    ]
    expected = f"their quotient falls with every α ({published[0]:.2f} to {published[-1]:.2f})"
    ours, theirs = _enough(sweep, paper.OURS), _enough(sweep, paper.CONTEXT)
    if missing := _missing(ours, paper.ALPHA) or _missing(theirs, paper.ALPHA):
        return _not_judged(name, expected, missing)
    ratios = [
        theirs[value].summary.regret / ours[value].summary.regret for value in paper.ALPHA.values
    ]
    falls = all(left > right for left, right in pairwise(ratios))
    measured = ", ".join(f"{ratio:.2f}" for ratio in ratios) + _fewer(ours.values())
    return Claim(name, expected, measured, _status(met=falls))


def _all_seeds(sweep: Sweep) -> int:
    return 0 if sweep.published is None else len(sweep.published.seeds)


def _fewer(entries: Iterable[Entry]) -> str:
    """Return a remark for entries that have fewer seeds than the paper's."""
    fewest = min(len(entry.summary.seeds) for entry in entries)
    return f", {fewest} seeds" if fewest < len(paper.HORIZON.seeds) else ""


def _missing(entries: Mapping[float, Entry], published: paper.PublishedSweep) -> str:
    count = sum(value not in entries for value in published.values)
    return f"{count} of {len(published.values)} points lack runs" if count else ""


def _status(*, met: bool) -> Status:
    return Status.MET if met else Status.NOT_MET


def _not_judged(name: str, expected: str, why: str) -> Claim:
    return Claim(name, expected, why, Status.NOT_JUDGED)
