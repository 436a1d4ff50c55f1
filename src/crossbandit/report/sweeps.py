"""Summaries laid out for reading: settings down, methods across."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crossbandit.report import paper

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crossbandit.report.summaries import Summary


@dataclass(frozen=True)
class Setting:
    """One environment of a sweep: how it is called, and its place on the axis."""

    label: str
    value: float


@dataclass(frozen=True)
class Entry:
    """What one method did in one setting, beside what the paper says of it."""

    setting: Setting
    method: str
    summary: Summary
    published: paper.Published | None = None

    @property
    def low(self) -> float:
        """The lower end of the interval; the regret itself where there is none."""
        half_width = self.summary.half_width
        return self.summary.regret - (0.0 if math.isnan(half_width) else half_width)

    @property
    def difference(self) -> float:
        """The relative difference from the paper; not a number where the paper is silent."""
        if self.published is None:
            return math.nan
        return self.summary.regret / self.published.regret - 1.0


@dataclass(frozen=True)
class Sweep:
    """One table and one panel of the figure.

    `numeric` says whether the settings have places on an axis of numbers or only stand side by
    side. Entries that were not run are absent.
    """

    id: str
    title: str
    symbol: str
    axis: str
    numeric: bool
    settings: tuple[Setting, ...]
    methods: tuple[str, ...]
    entries: Mapping[tuple[Setting, str], Entry]
    published: paper.PublishedSweep | None = None

    @property
    def is_logarithmic(self) -> bool:
        """Whether there are numbers on the axis, and nothing that a logarithm would refuse.

        An interval that reaches zero is such a thing: it would have no end on the axis.
        """
        return (
            self.numeric
            and len(self.settings) > 1
            and all(setting.value > 0 for setting in self.settings)
            and all(entry.low > 0 for entry in self.entries.values())
        )

    @property
    def has_reference(self) -> bool:
        """Whether a square root is what the first method's line is held against."""
        if self.published is None or not self.is_logarithmic:
            return False
        return len(self.column(self.methods[0])) > 1

    def entry(self, setting: Setting, method: str) -> Entry | None:
        """Return the entry, or None where there is none."""
        return self.entries.get((setting, method))

    def row(self, setting: Setting) -> list[Entry]:
        """Return the entries of one setting, in the order of the methods."""
        found = (self.entry(setting, method) for method in self.methods)
        return [entry for entry in found if entry is not None]

    def column(self, method: str) -> list[Entry]:
        """Return the entries of one method, in the order of the settings."""
        found = (self.entry(setting, method) for setting in self.settings)
        return [entry for entry in found if entry is not None]


def paper_sweep(published: paper.PublishedSweep, summaries: Sequence[Summary]) -> Sweep:
    """Lay out one of the paper's sweeps.

    Methods and points that the paper does not have are shown too, without a number beside them.
    All have half-widths as the paper's.
    """
    part = [replace(s, as_paper=True) for s in summaries if belongs_to(published, s)]
    names = method_labels(part)
    values = sorted({summary.setting[published.variable] for summary in part})
    settings = {value: Setting(f"{value:,}", float(value)) for value in values}
    methods = list(paper.METHODS.values())
    entries: dict[tuple[Setting, str], Entry] = {}
    for summary in part:
        value, method = summary.setting[published.variable], paper_method(summary)
        label = names[key(summary)] if method is None else paper.METHODS[method]
        number = published.entries.get(value, {}).get(method or "")
        entries[settings[value], label] = Entry(settings[value], label, summary, number)
        methods.append(label)
    return Sweep(
        id=published.part,
        title=published.title,
        symbol=published.symbol,
        axis=published.name,
        numeric=True,
        settings=tuple(settings.values()),
        methods=tuple(m for m in dict.fromkeys(methods) if any(k[1] == m for k in entries)),
        entries=entries,
        published=published,
    )


def belongs_to(published: paper.PublishedSweep, summary: Summary) -> bool:
    """Return whether this is a point of the paper's sweep, or of its continuation."""
    setting = {**paper.BENCHMARK, "name": summary.environment, **summary.setting}
    wanted = {**paper.BENCHMARK, **published.fixed}
    return (
        summary.part == published.part
        and isinstance(setting.get(published.variable), int)
        and all(setting.get(name) == value for name, value in wanted.items())
    )


def paper_method(summary: Summary) -> str | None:
    """Return which of the paper's methods this is: only with the tuning of its experiments."""
    by_hand = {name for name, value in summary.parameters.items() if value != "experiment"}
    if summary.algorithm not in paper.METHODS or by_hand - {"id", "name"}:
        return None
    return summary.algorithm


def generic_sweeps(summaries: Sequence[Summary]) -> list[Sweep]:
    """Lay out any study: one sweep per part, by environment and algorithm."""
    parts = dict.fromkeys(summary.part for summary in summaries)
    return [_generic(part, [s for s in summaries if s.part == part]) for part in parts]


def _generic(part: str, summaries: Sequence[Summary]) -> Sweep:
    names = method_labels(summaries)
    varying = _varying([summary.setting for summary in summaries])
    axis = _axis(varying, summaries)
    if axis is not None:
        summaries = sorted(summaries, key=lambda summary: float(summary.setting[axis]))
    labels = _setting_labels(summaries, axis)
    settings: dict[str, Setting] = {}
    entries: dict[tuple[Setting, str], Entry] = {}
    for summary, label in zip(summaries, labels, strict=True):
        place = float(len(settings)) if axis is None else float(summary.setting[axis])
        setting = settings.setdefault(label, Setting(label, place))
        method = names[key(summary)]
        entries[setting, method] = Entry(setting, method, summary)
    shown = "environment" if axis is None else axis.replace("_", " ")
    return Sweep(
        id=part,
        title=f"{part}: final regret by {shown}" if part else f"Final regret by {shown}",
        symbol=shown,
        axis=shown,
        numeric=axis is not None,
        settings=tuple(settings.values()),
        methods=tuple(dict.fromkeys(names.values())),
        entries=entries,
    )


def _axis(varying: Sequence[str], summaries: Sequence[Summary]) -> str | None:
    """Return the one parameter in which the environments differ, if it is a number."""
    if len(varying) != 1:
        return None
    values = [summary.setting.get(varying[0]) for summary in summaries]
    return varying[0] if all(isinstance(value, int | float) for value in values) else None


def _setting_labels(summaries: Sequence[Summary], axis: str | None) -> list[str]:
    """Name the environment of each summary: by its number, its own name, or what varies in it."""
    if axis is not None:
        return [_shown(summary.setting[axis]) for summary in summaries]
    named = {(str(sorted(s.setting.items(), key=str)), s.environment) for s in summaries}
    if len({name for _, name in named}) == len(named):
        return [summary.environment for summary in summaries]
    varying = {
        name: _varying([s.setting for s in summaries if s.environment == name])
        for name in dict.fromkeys(summary.environment for summary in summaries)
    }
    return [_by_parameters(summary, varying[summary.environment]) for summary in summaries]


def _by_parameters(summary: Summary, varying: Sequence[str]) -> str:
    shown = [name for name in varying if name in summary.setting and name != "name"]
    return " ".join([summary.environment, *(f"{n}={_shown(summary.setting[n])}" for n in shown)])


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def key(summary: Summary) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return what tells two methods apart: the algorithm's name and its parameters."""
    parameters = ((name, str(value)) for name, value in summary.parameters.items())
    return summary.algorithm, tuple(sorted(parameters))


def method_labels(
    summaries: Iterable[Summary],
) -> dict[tuple[str, tuple[tuple[str, str], ...]], str]:
    """Name every method; where names coincide, the parameters that differ are added."""
    labels = {}
    first = {key(summary): summary for summary in summaries}
    for this, summary in first.items():
        alike = [other for other in first.values() if other.algorithm == summary.algorithm]
        differing = _varying([other.parameters for other in alike])
        shown = (f"{name}={summary.parameters.get(name)}" for name in differing)
        labels[this] = " ".join([paper.METHODS.get(summary.algorithm, summary.algorithm), *shown])
    return labels


def _varying(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names whose values are not the same everywhere."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    return [name for name in names if len({str(setting.get(name)) for setting in settings}) > 1]
