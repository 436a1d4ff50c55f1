"""Any study laid out as panels.

The parameter with the most values is the axis, if it is a number. Every combination of the others
is a panel. Environments that form no such grid are listed one below the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crossbandit.studies.page.labels import (
    as_text,
    method_key,
    method_labels,
    setting_labels,
    varying,
)
from crossbandit.studies.page.sweeps import Entry, Setting, Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.studies.page.summaries import Summary

_MOST_PANELS = 12


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
