"""The provenance of the runs, and warnings about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.report.text import count, ranges
from crossbandit.studies.page.summaries import as_text
from crossbandit.studies.plan import draws_table_per_seed
from crossbandit.studies.provenance import fact_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crossbandit.studies.page.summaries import Summary
    from crossbandit.studies.page.sweeps import Sweep

Facts = tuple[tuple[str, str], ...]

_NAMES = {
    "crossbandit": "Crossbandit",
    "commit": "Commit",
    "python": "Python",
    "numpy": "NumPy",
    "numba": "Numba",
    "processor": "Processor",
}
_SHOWN = 4  # the most values of a fact that the page lists


def facts(frame: pd.DataFrame, summaries: Sequence[Summary], command: str) -> Facts:
    """Return what was run: the command, the versions and the grid."""
    found = _values(frame)
    return (
        ("Command", command),
        ("Version", f"Crossbandit {_listed(found.pop('crossbandit'))}"),
        *((_NAMES.get(name, name), _listed(values)) for name, values in found.items()),
        ("Runs", f"{len(frame):,}, with {int(frame['horizon'].sum()):,} rounds in all"),
        *_parts(summaries),
        *_loss_tables(summaries),
    )


def warnings(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return a sentence if the runs were not all made with the same versions and processor."""
    mixed = {name: values for name, values in _values(frame).items() if len(values) > 1}
    if not mixed:
        return ()
    what = ", ".join(_NAMES.get(name, name) for name in mixed)
    sentence = (
        "The runs of this study were not all made with the same software and processor. They "
        f"differ in: {what}. This may be the reason for differences between cells."
    )
    return (sentence,)


def _values(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return the values of every fact about the runs, those of the version first."""
    found = fact_values(frame.get("provenance", ()))
    versions = dict.fromkeys(str(version) for version in frame["version"])
    found["crossbandit"] = list(versions)  # a provenance may be missing
    return {name: found[name] for name in dict.fromkeys([*_NAMES, *found]) if name in found}


def _listed(values: Sequence[str]) -> str:
    more = len(values) - _SHOWN
    return ", ".join(values[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _parts(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """Return one fact per part: its environments, algorithms and seeds."""
    found = []
    for part in dict.fromkeys(summary.part for summary in summaries):
        inside = [summary for summary in summaries if summary.part == part]
        settings = {str((s.environment, sorted(s.setting.items()))) for s in inside}
        methods = {str((s.algorithm, sorted(s.parameters.items()))) for s in inside}
        seeds = sorted({seed for summary in inside for seed in summary.seeds})
        counts = [count(len(settings), "environment"), count(len(methods), "algorithm")]
        text = f"{' × '.join(counts)} × {count(len(seeds), 'seed')}: {ranges(seeds)}"
        found.append((f"Part {part}" if part else "Grid", text))
    return found


def _loss_tables(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """Return whether all seeds share one table of losses, for the environments that have tables."""
    kinds: dict[bool, list[str]] = {}
    for summary in summaries:
        if "table_seed" in summary.setting:
            per_seed = draws_table_per_seed(summary.setting)
            kinds.setdefault(per_seed, []).append(summary.environment)
    if not kinds:
        return []
    texts = {
        True: "a new table of losses for every seed; intervals include the variation of tables",
        False: "one table of losses for all seeds; intervals do not include the variation of "
        "tables",
    }
    if len(kinds) == 1:
        return [("Loss tables", texts[next(iter(kinds))].capitalize() + ".")]
    said = [f"{', '.join(dict.fromkeys(names))}: {texts[kind]}" for kind, names in kinds.items()]
    return [("Loss tables", "; ".join(said) + ".")]


def tuned_parameters(sweeps: Sequence[Sweep]) -> list[tuple[str, str, str]]:
    """Return the parameters that every entry ran with: place, method, parameters.

    Entries whose results do not have their parameters are left out.
    """
    return [
        (
            f"{sweep.id}, {sweep.place(setting)}" if len(sweeps) > 1 else sweep.place(setting),
            entry.method,
            ", ".join(f"{name} = {_short(value)}" for name, value in entry.summary.tuned.items()),
        )
        for sweep in sweeps
        for setting in sweep.settings
        for entry in sweep.row(setting)
        if entry.summary.tuned
    ]


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else as_text(value)
