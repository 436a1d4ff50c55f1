"""What a paper claims about regret: when a claim is met, and what runs say of it.

A study file states claims in tables [[claim]]. A claim is judged on all panels of its part. It is
not judged if runs that it needs are missing; every entry needs at least three seeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.core.report.statistics import slope
from crossbandit.core.report.text import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from crossbandit.studies.sweeps import Entry, Summary, Sweep

FEWEST_SEEDS = 3

STATISTICS: dict[str, Callable[[Summary], float]] = {
    "mean": lambda summary: summary.regret,
    "pseudo-regret": lambda summary: summary.pseudo_mean[0],
    "quantile 0.9": lambda summary: summary.quantiles[2],
    "deviation": lambda summary: float(summary.finals.std(ddof=1)),
}


class Status(StrEnum):
    """Whether a claim is met."""

    MET = "met"
    NOT_MET = "not met"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Claim:
    """One claim of a paper."""

    name: str
    expected: str  # when it is met
    measured: str  # what was measured, or why it is not judged
    status: Status  # whether it is met


class Stated(NamedTuple):
    """A claim before it is judged: one of the three bars is given."""

    says: str
    parts: tuple[str, ...]  # the parts of the study whose runs it is about
    algorithm: str  # the name of the algorithm in the study
    slope: tuple[float, float] | None = None  # the least and the largest log-log slope
    growth: tuple[float, float] | None = None  # of the last regret divided by the first
    below: tuple[str, ...] = ()  # the algorithms that have more regret at every point
    of: str = "mean"  # the statistic over the seeds
    expected: str = ""  # in words, where the bar is not enough


def judge(stated: Stated, sweeps: Iterable[Sweep]) -> Claim:
    """Return a claim with what the runs of a study say of it."""
    own = [sweep for sweep in sweeps if sweep.part in stated.parts]
    if stated.below:
        return _below(stated, own)
    bar = stated.slope or stated.growth or (math.nan, math.nan)
    what = "" if stated.of == "mean" else f" of the {stated.of}"
    kind = f"a slope{what} of" if stated.slope else f"the last{what} is the first times"
    expected = stated.expected or f"{kind} {bar[0]:g} to {bar[1]:g}"
    found, seeds = [], []
    for sweep in own:
        entries = column(sweep, stated.algorithm)
        if missing := lacking(sweep, entries):
            return not_judged(stated.says, expected, missing)
        values = [STATISTICS[stated.of](entry.summary) for entry in entries.values()]
        if len(values) < 2 or not min(values) > 0:
            why = f"{number(min(values))} is not above 0" if len(values) > 1 else "one point only"
            return not_judged(stated.says, expected, why)
        value = slope(list(entries), values) if stated.slope else values[-1] / values[0]
        met = bar[0] <= value <= bar[1]
        seen = f"{value:.3f}" if stated.slope else f"by {value:.2f}"
        if not stated.slope and len(own) == 1:
            seen += f" ({number(values[0])} to {number(values[-1])})"
        found.append((met, f"{seen} at {sweep.panel}" if len(own) > 1 else seen))
        seeds += list(entries.values())
    if not found:
        return not_judged(stated.says, expected, "no runs")
    measured = "; ".join(seen for _, seen in found) + fewer(own[0], seeds)
    return Claim(stated.says, expected, measured, status(met=all(met for met, _ in found)))


def _below(stated: Stated, sweeps: Sequence[Sweep]) -> Claim:
    statistic = STATISTICS[stated.of]
    what = "lowest" if stated.of == "mean" else f"the {stated.of} is lowest"
    others = ", ".join(stated.below)
    total = sum(len(points(sweep)) for sweep in sweeps)
    expected = stated.expected or f"{what}, below {others}, at all {total} points"
    lost: list[str] = []
    used: list[Entry] = []
    judged = 0
    for sweep in sweeps:
        columns = {name: column(sweep, name) for name in (stated.algorithm, *stated.below)}
        for entries in columns.values():
            used += entries.values()
        for value, ours in columns[stated.algorithm].items():
            theirs = [columns[name].get(value) for name in stated.below]
            if any(other is None for other in theirs):
                continue
            judged += 1
            least = min(statistic(other.summary) for other in theirs if other)
            if not statistic(ours.summary) < least:
                place = f"{sweep.symbol} = {ours.setting.label}" if sweep.numeric else ""
                lost.append(", ".join(filter(None, (place or ours.setting.label, sweep.panel))))
    if judged == 0:
        return not_judged(stated.says, expected, "no point has all methods and seeds")
    measured = f"{what} at {judged - len(lost)} of {judged} points"
    if judged < total:
        measured += f" (of {total} in the paper)"
    if lost:
        measured += f"; not at {', '.join(lost)}"
    return Claim(stated.says, expected, measured + fewer(sweeps[0], used), status(met=not lost))


def column(
    sweep: Sweep | None, algorithm: str, *, fewest_seeds: int = FEWEST_SEEDS
) -> dict[float, Entry]:
    """Return an algorithm's entries by their place on the axis; those with few seeds are left out.

    In a sweep of the paper, only its points and its seeds count.
    """
    if sweep is None:
        return {}
    found = {}
    for entry in sweep.ordered:
        seeds = set(entry.summary.seeds)
        if sweep.published is not None:
            seeds &= set(sweep.published.seeds) if entry.published is not None else set()
        named = entry.method if sweep.published is not None else entry.summary.algorithm
        if named == algorithm and len(seeds) >= fewest_seeds:
            found[entry.setting.value] = entry
    return found


def points(sweep: Sweep) -> Sequence[float]:
    """Return the places on the axis: the paper's, if the sweep is the paper's."""
    if sweep.published is not None:
        return sweep.published.values
    return [setting.value for setting in sweep.settings]


def lacking(sweep: Sweep, entries: Mapping[float, Entry]) -> str:
    """Return how many points lack runs, in words; "" if none does."""
    places = points(sweep)
    missing = sum(value not in entries for value in places)
    return f"{missing} of {len(places)} points lack runs" if missing else ""


def fewer(sweep: Sweep, entries: Iterable[Entry]) -> str:
    """Return a remark for entries that have fewer seeds than the paper's."""
    fewest = min(len(entry.summary.seeds) for entry in entries)
    planned = 0 if sweep.published is None else len(sweep.published.seeds)
    return f", {fewest} seeds" if fewest < planned else ""


def status(*, met: bool) -> Status:
    """Return the status of a claim that was judged."""
    return Status.MET if met else Status.NOT_MET


def not_judged(name: str, expected: str, why: str) -> Claim:
    """Return a claim that cannot be judged."""
    return Claim(name, expected, why, Status.NOT_JUDGED)
