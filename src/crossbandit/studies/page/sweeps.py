"""Lay out summaries as sweeps: a row for each setting, a column for each method.

The paper's sweeps are laid out as in the paper. In another part of a study, the parameter with the
most values is the axis, if it is a number, and every combination of the others is a panel.
Environments that form no such grid are listed one below the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crossbandit.studies.page import paper
from crossbandit.studies.page.summaries import (
    as_text,
    method_key,
    method_labels,
    setting_labels,
    varying,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crossbandit.studies.page.summaries import Summary

_MOST_PANELS = 12


@dataclass(frozen=True)
class Setting:
    """One environment of a sweep.

    Attributes:
        label: Its name.
        value: Its place on the axis.
    """

    label: str
    value: float


@dataclass(frozen=True)
class Entry:
    """What one method did in one setting.

    Attributes:
        setting: The setting.
        method: The label of the method.
        summary: Its runs.
        published: What the paper has for it, if anything.
    """

    setting: Setting
    method: str
    summary: Summary
    published: paper.PublishedEntry | None = None

    @property
    def low(self) -> float:
        """The lower end of the interval; the regret itself where there is none."""
        half_width = self.summary.half_width
        return self.summary.regret - (0.0 if math.isnan(half_width) else half_width)

    @property
    def difference(self) -> float:
        """The relative difference from the paper; NaN where the paper has no number."""
        if self.published is None:
            return math.nan
        return self.summary.regret / self.published.regret - 1.0


@dataclass(frozen=True)
class Sweep:
    """One table and one panel of the figure. Entries that were not run are absent.

    Attributes:
        id: A name that no other sweep of the report has.
        title: The heading.
        symbol: The name of what varies, before its value.
        axis: The name of what varies, on an axis.
        numeric: Whether the settings are numbers on an axis. Otherwise they are names.
        settings: The settings, in order.
        methods: The methods, in order.
        entries: The entries by setting and method.
        published: The table of the paper, if this is one.
        panel: The name of this panel among the panels of its part; "" for the only one.
        group: The part whose other panels share the axis of regret; "" for an axis of its own.
        allows_log: Whether those panels can all have logarithmic axes.
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
    panel: str = ""
    group: str = ""
    allows_log: bool = True

    @property
    def is_logarithmic(self) -> bool:
        """Whether all numbers, and the lower ends of all intervals, have a logarithm."""
        return (
            self.allows_log
            and self.numeric
            and len(self.settings) > 1
            and all(setting.value > 0 for setting in self.settings)
            and self.is_positive
        )

    @property
    def is_positive(self) -> bool:
        """Whether all intervals lie above zero."""
        return all(entry.low > 0 for entry in self.entries.values())

    def place(self, setting: Setting) -> str:
        """Return a setting with the name of what varies."""
        return f"{self.symbol} = {setting.label}" if self.numeric else setting.label

    def full_place(self, setting: Setting) -> str:
        """Return a setting with the name of what varies, and the panel."""
        return ", ".join(filter(None, (self.place(setting), self.panel)))

    def row(self, setting: Setting) -> list[Entry]:
        """Return the entries of one setting, in the order of the methods."""
        found = (self.entries.get((setting, method)) for method in self.methods)
        return [entry for entry in found if entry is not None]

    def column(self, method: str) -> list[Entry]:
        """Return the entries of one method, in the order of the settings."""
        found = (self.entries.get((setting, method)) for setting in self.settings)
        return [entry for entry in found if entry is not None]

    def best(self, setting: Setting) -> float:
        """Return the lowest mean regret in a setting."""
        return min(entry.summary.regret for entry in self.row(setting))

    def to_best(self, entry: Entry) -> float:
        """Return a mean regret divided by the lowest of its setting; NaN unless that is above 0."""
        best = self.best(entry.setting)
        return entry.summary.regret / best if best > 0 else math.nan


def paper_sweep(published: paper.PublishedSweep, summaries: Sequence[Summary]) -> Sweep:
    """Lay out one of the paper's sweeps.

    Methods and points that the paper does not have are shown too, without a number beside them.
    All have half-widths like the paper's.
    """
    part = [replace(s, as_paper=True) for s in summaries if belongs_to(published, s)]
    labels = method_labels(part)
    values = sorted({summary.setting[published.variable] for summary in part})
    settings = {value: Setting(f"{value:,}", float(value)) for value in values}
    papers: dict[str, None] = {}
    others: dict[str, None] = {}
    entries: dict[tuple[Setting, str], Entry] = {}
    for summary in sorted(part, key=_paper_order):
        value, method = summary.setting[published.variable], paper_method(summary)
        label = labels[method_key(summary)] if method is None else method
        number = published.entries.get(value, {}).get(method or "")
        entries[settings[value], label] = Entry(settings[value], label, summary, number)
        (others if method is None else papers)[label] = None
    return Sweep(
        id=published.part,
        title=published.title,
        symbol=published.symbol,
        axis=published.name,
        numeric=True,
        settings=tuple(settings.values()),
        methods=tuple({**papers, **others}),
        entries=entries,
        published=published,
    )


def _paper_order(summary: Summary) -> int:
    """Return the column of the paper's table; methods of others keep their order after them."""
    method = paper_method(summary)
    return len(paper.METHODS) if method is None else paper.METHODS.index(method)


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
    parts = dict.fromkeys(summary.part for summary in summaries)
    return [
        sweep
        for part in parts
        for sweep in _part_sweeps(part, [s for s in summaries if s.part == part])
    ]


def _part_sweeps(part: str, summaries: Sequence[Summary]) -> Iterator[Sweep]:
    axis = _axis(summaries)
    if axis is None:
        yield _sweep(part, "", summaries, None)
        return
    sweeps = [_sweep(part, name, inside, axis) for name, inside in _panels(summaries, axis).items()]
    if len(sweeps) == 1:
        yield from sweeps
        return
    # Panels are compared, so they have the same axes.
    allows_log = all(sweep.is_logarithmic for sweep in sweeps)
    for sweep in sweeps:
        yield replace(sweep, group=part or "panels", allows_log=allows_log)


def _axis(summaries: Sequence[Summary]) -> str | None:
    """Return the number with the most values of which every panel has at least two."""
    names = varying([summary.setting for summary in summaries])
    values = {name: {str(s.setting.get(name)) for s in summaries} for name in names}
    # Of two with the same number of values, take the horizon: most studies are about growth in it.
    for name in sorted(names, key=lambda name: (-len(values[name]), name != "horizon")):
        if not all(_is_number(summary.setting.get(name)) for summary in summaries):
            continue
        panels = _panels(summaries, name).values()
        if len(panels) <= _MOST_PANELS and all(_count(inside, name) > 1 for inside in panels):
            return name
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(summaries: Sequence[Summary], name: str) -> int:
    return len({summary.setting[name] for summary in summaries})


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
    labels = method_labels(summaries)
    if axis is None:
        names = setting_labels(summaries)
    else:
        summaries = sorted(summaries, key=lambda summary: float(summary.setting[axis]))
        names = [as_text(summary.setting[axis]) for summary in summaries]
    settings: dict[str, Setting] = {}
    entries: dict[tuple[Setting, str], Entry] = {}
    for summary, name in zip(summaries, names, strict=True):
        place = float(len(settings)) if axis is None else float(summary.setting[axis])
        setting = settings.setdefault(name, Setting(name, place))
        method = labels[method_key(summary)]
        entries[setting, method] = Entry(setting, method, summary)
    what = "environment" if axis is None else _spaced(axis)
    title = f"{part}: final regret by {what}" if part else f"Final regret by {what}"
    return Sweep(
        id=", ".join(filter(None, (part, panel))),
        title=f"{title}, {panel}" if panel else title,
        symbol=what,
        axis=what,
        numeric=axis is not None,
        settings=tuple(settings.values()),
        methods=tuple(dict.fromkeys(labels.values())),
        entries=entries,
        panel=panel,
    )
