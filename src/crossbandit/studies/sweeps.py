"""Runs summarised over their seeds, laid out as sweeps, and compared.

A summary has the runs of one algorithm in one environment. An algorithm or an environment has its
name in the study file: its label, or else its id. If two have the same name, the parameters in
which they differ follow in parentheses.

A sweep has a row for each setting and a column for each method. The paper's sweeps are laid out as
in the paper. In another part of a study, the parameter with the most values is the axis, if it is a
number, and every combination of the others is a panel. Environments that form no such grid are
listed one below the other.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import registered
from crossbandit.algorithms.learners.algorithm import FORMER_IDS
from crossbandit.algorithms.papers import is_ours
from crossbandit.core.report.statistics import (
    Estimate,
    half_width,
    holm,
    paired_test,
    slope_interval,
)
from crossbandit.errors import InvalidInputError
from crossbandit.studies import paper
from crossbandit.studies.plan import build_environment
from crossbandit.studies.store import flat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.report.statistics import PairedTest
    from crossbandit.core.types import Floats

_MOST_PANELS = 12

PAPER_ERRORS = 1.96  # standard errors in the paper's half-widths, for any number of seeds
_NEEDED = (
    *("part", "environment", "environment_name", "algorithm", "algorithm_name"),
    *("seed", "horizon", "final_regret", "curve_rounds", "curve_regret"),
)


@dataclass(frozen=True, eq=False)
class Summary:
    """The runs of one algorithm in one environment, one per seed."""

    part: str
    environment: str
    setting: Mapping[str, Any]  # the parameters of the environment, with the horizon
    algorithm: str  # the name of the algorithm: its label in the study file, or else its id
    parameters: Mapping[str, Any]  # the parameters of the algorithm, as the study file gives them
    tuned: Mapping[str, Any]  # the parameters with which it ran, if the results have them
    seeds: tuple[int, ...]  # the seeds, in increasing order
    finals: Floats  # the final regrets, in the same order
    pseudo: Floats  # the final pseudo-regrets; NaN where they are not known
    rounds: Floats  # the rounds after which the regret is known
    curves: Floats  # the regret after them, of every seed
    least: float = math.nan  # the order of the least possible regret; NaN where it is not known
    granted: bool = False  # whether it was shown losses that the graph does not reveal
    as_paper: bool = False

    @cached_property
    def regret(self) -> float:
        """The mean final regret."""
        return float(self.finals.mean())

    @cached_property
    def half_width(self) -> float:
        """The half-width of its 95 % confidence interval; NaN for a single seed."""
        if not self.as_paper or len(self.finals) < 2:
            return half_width(self.finals)
        return float(PAPER_ERRORS * np.std(self.finals, ddof=1) / math.sqrt(len(self.finals)))

    @property
    def quantiles(self) -> tuple[float, ...]:
        """The quantiles 0.1, 0.5 and 0.9 of the final regret over the seeds."""
        return tuple(np.quantile(self.finals, (0.1, 0.5, 0.9)).tolist())

    @property
    def has_pseudo(self) -> bool:
        """Whether the pseudo-regret of every seed is known."""
        return bool(np.isfinite(self.pseudo).all())

    @property
    def pseudo_mean(self) -> tuple[float, float]:
        """The mean final pseudo-regret, and the half-width of its interval by Student's t."""
        if not self.has_pseudo:
            return math.nan, math.nan
        return float(self.pseudo.mean()), half_width(self.pseudo)


def summarize(frame: pd.DataFrame) -> list[Summary]:
    """Summarise runs by part, environment, algorithm and horizon, in order of first runs."""
    missing = [name for name in _NEEDED if name not in frame.columns]
    if missing:
        raise InvalidInputError(
            f"A report needs one row per run with the columns {', '.join(_NEEDED)}. "
            f"Missing: {', '.join(missing)}."
        )
    if frame.empty:
        raise InvalidInputError(
            "There is nothing to report. The study has no finished cells yet. Run it first."
        )
    keys = ["part", "environment", "algorithm", "horizon"]
    return [_summary(runs) for _, runs in frame.groupby(keys, sort=False, dropna=False)]


def _summary(runs: pd.DataFrame) -> Summary:
    runs = runs.sort_values("seed")
    first = runs.iloc[0]
    tuned = first.get("parameters")
    tuned = json.loads(tuned) if isinstance(tuned, str) else tuned
    curves = np.array([np.asarray(curve, dtype=np.float64) for curve in runs["curve_regret"]])
    parameters = _parameters(first["algorithm"])
    id_ = str(parameters.get("id"))
    rounds = np.asarray(first["curve_rounds"], dtype=np.float64)
    return Summary(
        part=str(first["part"]),
        environment=str(first["environment_name"]),
        setting={
            **_parameters(first["environment"]),
            "horizon": int(first["horizon"]),
        },
        algorithm=FORMER_IDS.get(first["algorithm_name"], str(first["algorithm_name"])),
        parameters=parameters,
        tuned=dict(tuned) if isinstance(tuned, dict) else {},
        seeds=tuple(int(seed) for seed in runs["seed"]),
        finals=np.asarray(runs["final_regret"], dtype=np.float64),
        pseudo=np.asarray(runs.get("pseudo_regret", [math.nan] * len(runs)), dtype=np.float64),
        rounds=rounds,
        curves=curves,
        least=_least(str(first["environment"]), int(first["horizon"])),
        granted=_is_granted(str(first["environment"]), FORMER_IDS.get(id_, id_)),
    )


@lru_cache(maxsize=1_000)
def _problem(environment: str) -> Problem | None:
    """Return the problem of an environment; None if it cannot be built here.

    Such as one of a module that is not loaded.
    """
    try:
        return build_environment(json.loads(environment), 0).problem
    except Exception:  # noqa: BLE001 - its code is a user's
        return None


def _is_granted(environment: str, id_: str) -> bool:
    """Return whether an algorithm is shown the loss of its arm where the graph does not reveal it.

    True also if the environment cannot be built.
    """
    if not getattr(registered().get(id_), "needs_own_loss", False):
        return False
    problem = _problem(environment)
    return problem is None or bool(problem.graph.arms_without_self_loop)


def _least(environment: str, rounds: int) -> float:
    """Return the order of the least regret that is possible on the graph, if it does not change."""
    problem = _problem(environment)
    if problem is None or problem.graph_kind != "fixed":
        return math.nan
    if problem.graph.observability == "none":
        return math.nan
    return problem.graph.least_regret(rounds)


def _parameters(text: str) -> dict[str, Any]:
    """Return the parameters in the JSON of an environment or an algorithm."""
    return {name: value for name, value in flat("", json.loads(text)) if value is not None}


def labels(named: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Return each name, with those parameters in which others of the same name differ."""
    differing = {
        name: varying([values for other, values in named if other == name])
        for name in {name for name, _ in named}
    }
    return [with_parameters(name, values, differing[name]) for name, values in named]


def with_parameters(name: str, values: Mapping[str, Any], shown: Sequence[str]) -> str:
    """Return a name with some parameters; those without a value are left out.

    >>> with_parameters("cross-graph", {"eta": 0.1, "horizon": 2000}, ["eta", "horizon"])
    'cross-graph (eta=0.1, horizon=2,000)'
    """
    own = [f"{key}={as_text(values[key])}" for key in shown if values.get(key) is not None]
    return f"{name} ({', '.join(own)})" if own else name


def as_text(value: object) -> str:
    """Return a parameter for reading.

    >>> as_text(10000), as_text(0.5), as_text("ring")
    ('10,000', '0.5', 'ring')
    """
    return f"{value:,}" if isinstance(value, int) else str(value)


def varying(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names whose values are not the same everywhere."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    return [name for name in names if len({str(setting.get(name)) for setting in settings}) > 1]


# --- sweeps --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """One environment of a sweep."""

    label: str
    value: float  # its place on the axis


@dataclass(frozen=True)
class Entry:
    """What one method did in one setting."""

    setting: Setting
    method: str
    summary: Summary
    published: paper.PublishedEntry | None = None  # what the paper has for it, if anything

    @property
    def low(self) -> float:
        """The lower end of the interval; the regret itself where there is none."""
        half_width = self.summary.half_width
        return self.summary.regret - (0.0 if math.isnan(half_width) else half_width)

    @property
    def difference(self) -> float:
        """The relative difference from the paper; NaN where the paper has no number."""
        return self.against_paper(self.summary.regret)

    def against_paper(self, regret: float) -> float:
        """Return the relative difference of `regret` from the paper's number."""
        return math.nan if self.published is None else regret / self.published.regret - 1.0


@dataclass(frozen=True)
class MethodComparison:
    """Two methods in one setting, compared seed by seed."""

    setting: Setting
    method: str
    reference: str  # the other method; differences are `method` minus `reference`
    test: PairedTest  # the paired test over the seeds that both have
    adjusted: float  # its p-value, adjusted by Holm's method for all comparisons of the sweep


@dataclass(frozen=True)
class Exponent:
    """The power of the axis that fits the mean final regret of a method."""

    method: str
    points: int  # the number of settings
    seeds: int  # the number of seeds that all settings have
    estimate: Estimate  # the log-log slope, with its interval over the seeds; NaN if there is none
    missing: str = ""  # why there is none


@dataclass(frozen=True)
class Sweep:
    """One table and one panel of the figure. Entries that were not run are absent."""

    id: str  # a name that no other sweep of the report has
    title: str
    symbol: str  # the name of what varies, before its value
    axis: str  # the name of what varies, on an axis
    numeric: bool  # Whether the settings are numbers on an axis. Otherwise they are names.
    entries: Mapping[tuple[Setting, str], Entry]  # the entries by setting and method
    published: paper.PublishedSweep | None = None  # the table of the paper, if this is one
    panel: str = ""  # the name of this panel among the panels of its part; "" for the only one
    group: str = ""
    alike: Sequence[Entry] = field(default=(), repr=False)  # of all panels with the same axes

    @property
    def part(self) -> str:
        """The part of the study to which the runs belong."""
        return next(iter(self.entries.values())).summary.part if self.entries else self.id

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """The settings, in order."""
        return tuple(sorted({setting for setting, _ in self.entries}, key=lambda one: one.value))

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods, in order."""
        return tuple(dict.fromkeys(method for _, method in self.entries))

    @property
    def x_log(self) -> bool:
        """Whether the settings are numbers with logarithms, at least two."""
        above = all(setting.value > 0 for setting in self.settings)
        return self.numeric and len(self.settings) > 1 and above

    @property
    def y_log(self) -> bool:
        """Whether most intervals lie above zero: those of all panels with the same axes."""
        shown = self.alike or tuple(self.entries.values())
        return 2 * sum(entry.low > 0 for entry in shown) > len(shown)

    @property
    def off_log(self) -> list[str]:
        """The entries that logarithmic axes cannot show."""
        low = [entry for entry in self.ordered if not entry.summary.regret > 0]
        return [f"{entry.method} at {self.place(entry.setting)}" for entry in low]

    def place(self, setting: Setting) -> str:
        """Return a setting with the name of what varies."""
        return f"{self.symbol} = {setting.label}" if self.numeric else setting.label

    @property
    def ordered(self) -> list[Entry]:
        """The entries, setting by setting."""
        return [entry for setting in self.settings for entry in self.row(setting)]

    def row(self, setting: Setting) -> list[Entry]:
        """Return the entries of one setting, in the order of the methods."""
        return [self.entries[setting, m] for m in self.methods if (setting, m) in self.entries]

    def column(self, method: str) -> list[Entry]:
        """Return the entries of one method, in the order of the settings."""
        return [self.entries[s, method] for s in self.settings if (s, method) in self.entries]

    def best(self, setting: Setting) -> float:
        """Return the lowest mean regret in a setting."""
        return min(entry.summary.regret for entry in self.row(setting))

    def to_best(self, entry: Entry) -> float:
        """Return a mean regret divided by the lowest of its setting; NaN unless that is above 0."""
        best = self.best(entry.setting)
        return entry.summary.regret / best if best > 0 else math.nan

    @cached_property
    def comparisons(self) -> list[MethodComparison]:
        """All pairs of methods in every setting; those against the first method come first."""
        pairs = [
            (setting, second, first)
            for setting in self.settings
            for first, second in combinations(self.row(setting), 2)
            if set(first.summary.seeds) & set(second.summary.seeds)
        ]
        tests = [paired_test(*_common([entry, other])) for _, entry, other in pairs]
        adjusted = holm([test.p_value for test in tests])
        return [
            MethodComparison(setting, entry.method, other.method, test, p)
            for (setting, entry, other), test, p in zip(pairs, tests, adjusted, strict=True)
        ]

    @cached_property
    def exponents(self) -> list[Exponent]:
        """How the regret of every method grows along the axis, where that has a logarithm."""
        if not self.x_log:
            return []
        found = []
        for method in self.methods:
            column = self.column(method)
            samples = _common(column)
            low = [e for e, mean in zip(column, samples.mean(axis=1), strict=True) if not mean > 0]
            why, estimate = "", Estimate(math.nan, math.nan)
            if len(column) < 2 or not samples.size:
                why = "fewer than two settings" if samples.size else "no seed is in all settings"
            elif low:
                why = f"the mean is not above 0 at {', '.join(self.place(e.setting) for e in low)}"
            else:
                estimate = slope_interval([entry.setting.value for entry in column], samples)
            found.append(Exponent(method, len(column), samples.shape[1], estimate, why))
        return found


def _common(entries: Sequence[Entry]) -> Floats:
    """Return the final regrets (entries, seeds) under the seeds that all entries have."""
    by_seed = [dict(zip(e.summary.seeds, e.summary.finals, strict=True)) for e in entries]
    seeds = sorted(set.intersection(*map(set, by_seed))) if by_seed else []
    return np.array([[finals[seed] for seed in seeds] for finals in by_seed], dtype=np.float64)


def paper_sweep(published: paper.PublishedSweep, summaries: Sequence[Summary]) -> Sweep:
    """Lay out one of the paper's sweeps.

    Methods and points that the paper does not have are shown too, without a number beside them.
    All have half-widths like the paper's.
    """
    part = [replace(s, as_paper=True) for s in summaries if belongs_to(published, s)]
    # The columns of the paper's table come first; methods of others keep their order after them.
    places = {method: place for place, method in enumerate((*paper.METHODS, None))}
    pairs = zip(part, labels([(s.algorithm, s.parameters) for s in part]), strict=True)
    entries = []
    for summary, label in sorted(pairs, key=lambda pair: places[paper_method(pair[0])]):
        value, method = summary.setting[published.variable], paper_method(summary)
        number = published.entries.get(value, {}).get(method or "")
        name = paper.METHODS.get(method or "", label)
        entries.append(Entry(Setting(f"{value:,}", float(value)), name, summary, number))
    return Sweep(
        id=published.part,
        title=published.title,
        symbol=published.symbol,
        axis=published.name,
        numeric=True,
        entries={(entry.setting, entry.method): entry for entry in entries},
        published=published,
    )


def belongs_to(published: paper.PublishedSweep, summary: Summary) -> bool:
    """Return whether this is a point of the paper's sweep, or continues it."""
    setting = {**paper.BENCHMARK, "name": summary.environment, **summary.setting}
    wanted = {**paper.BENCHMARK, **published.fixed}
    return (
        summary.part == published.part
        and isinstance(setting.get(published.variable), int)
        and all(setting.get(name) == value for name, value in wanted.items())
    )


def paper_method(summary: Summary) -> str | None:
    """Return which of the paper's methods this is; None if it has another tuning than the paper."""
    by_hand = {name for name, value in summary.parameters.items() if value != "experiment"}
    if summary.algorithm not in paper.METHODS or by_hand - {"id", "name"}:
        return None
    return summary.algorithm


def study_sweeps(summaries: Sequence[Summary]) -> list[Sweep]:
    """Lay out the parts of a study, in their order."""
    found: list[Sweep] = []
    for part in dict.fromkeys(summary.part for summary in summaries):
        own = [summary for summary in summaries if summary.part == part]
        axis = _axis(own)
        panels = {"": own} if axis is None else _panels(own, axis)
        sweeps = [_sweep(part, name, inside, axis) for name, inside in panels.items()]
        if len(sweeps) > 1:  # panels are compared, so they have the same axes
            alike = [entry for sweep in sweeps for entry in sweep.entries.values()]
            sweeps = [replace(one, group=part or "panels", alike=alike) for one in sweeps]
        found += sweeps
    return found


def _axis(summaries: Sequence[Summary]) -> str | None:
    """Return the number with the most values of which every panel has at least two."""
    names = varying([summary.setting for summary in summaries])
    values = {name: {str(s.setting.get(name)) for s in summaries} for name in names}
    # Of two with the same number of values, take the horizon: most studies are about growth in it.
    for name in sorted(names, key=lambda name: (-len(values[name]), name != "horizon")):
        if not all(type(summary.setting.get(name)) in {int, float} for summary in summaries):
            continue
        panels = _panels(summaries, name).values()
        if len(panels) <= _MOST_PANELS and all(
            len({summary.setting[name] for summary in inside}) > 1 for inside in panels
        ):
            return name
    return None


def _panels(summaries: Sequence[Summary], axis: str) -> dict[str, list[Summary]]:
    """Return the summaries by the values of all parameters but `axis`, with the panels' names."""
    names = [name for name in varying([s.setting for s in summaries]) if name != axis]
    panels: dict[str, list[Summary]] = {}
    for summary in summaries:
        shown = [
            f"{_spaced(n)} = {as_text(summary.setting[n])}" for n in names if n in summary.setting
        ]
        panels.setdefault(", ".join(shown), []).append(summary)
    return panels


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _sweep(part: str, panel: str, summaries: Sequence[Summary], axis: str | None) -> Sweep:
    found = labels([(summary.algorithm, summary.parameters) for summary in summaries])
    methods = [
        f"{label} (ours)" if is_ours(summary.parameters) else label
        for label, summary in zip(found, summaries, strict=True)
    ]
    if axis is None:
        names = labels([(s.environment, {**s.setting, "name": None}) for s in summaries])
        places = {name: float(i) for i, name in enumerate(dict.fromkeys(names))}
        values = [places[name] for name in names]
    else:
        names = [as_text(summary.setting[axis]) for summary in summaries]
        values = [float(summary.setting[axis]) for summary in summaries]
    entries = [
        Entry(Setting(name, value), method, summary)
        for name, value, method, summary in zip(names, values, methods, summaries, strict=True)
    ]
    what = "environment" if axis is None else _spaced(axis)
    title = f"{part}: final regret by {what}" if part else f"Final regret by {what}"
    return Sweep(
        id=", ".join(filter(None, (part, panel))),
        title=f"{title}, {panel}" if panel else title,
        symbol=what,
        axis=what,
        numeric=axis is not None,
        entries={(entry.setting, entry.method): entry for entry in entries},
        panel=panel,
    )


# --- other loss tables ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """One entry, and the same entry under other loss tables."""

    sweep: Sweep
    entry: Entry
    others: tuple[tuple[int, float], ...]
    seeds: int  # the number of runs in each mean, at least

    @property
    def lowest(self) -> float:
        """The lowest mean over the other tables."""
        return min(regret for _, regret in self.others)

    @property
    def highest(self) -> float:
        """The highest mean over the other tables."""
        return max(regret for _, regret in self.others)


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
