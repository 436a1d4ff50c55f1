"""The tables of a study. Beside each entry is the paper's, if the paper has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crossbandit.algorithms import registered
from crossbandit.report import Table, csv_text
from crossbandit.report.text import MISSING, count, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crossbandit.studies.page.comparisons import Comparison, Exponent
    from crossbandit.studies.page.sweeps import Entry, Setting, Sweep

    Form = Callable[[float, float], str]

COLUMNS = (
    "table",
    "setting",
    "method",
    "seeds",
    "regret",
    "half_width",
    "interval",
    "paper_regret",
    "paper_half_width",
    "relative_difference",
)
STUDENT = "95 % confidence interval by Student's t"
AS_PAPER = "95 % confidence interval at 1.96 standard errors, as in the paper"


def sweep_table(sweep: Sweep, form: Form, *, where: str = "±") -> Table:
    """Lay out a sweep as a table with a row per setting and a column per method.

    Args:
        sweep: The sweep.
        form: How to write a mean and its half-width.
        where: How the caption names the place of the half-width.

    Returns:
        The table. The lowest mean of every setting is marked.
    """
    rows: list[tuple[str, ...]] = []
    best, groups = set(), set()
    labels = 1 if sweep.published is None else 2
    for setting in sweep.settings:
        groups.add(len(rows))
        lowest = sweep.best(setting)
        for j, method in enumerate(sweep.methods):
            entry = sweep.entries.get((setting, method))
            if entry is not None and entry.summary.regret == lowest:
                best.add((len(rows), labels + j))
        rows += _rows(sweep, setting, form)
    return Table(
        title=sweep.title,
        caption=f"{caption(sweep, where=where)} The lowest mean is in bold.",
        head=(sweep.symbol, *([] if sweep.published is None else [""]), *sweep.methods),
        rows=tuple(rows),
        groups=frozenset(groups if sweep.published is not None else ()),
        labels=labels,
        numeric=sweep.numeric,
        best=frozenset(best),
        label=sweep.id,
    )


def _rows(sweep: Sweep, setting: Setting, form: Form) -> list[tuple[str, ...]]:
    """Return the rows of one setting: the measured numbers, and then those of the paper."""
    entries = [sweep.entries.get((setting, method)) for method in sweep.methods]
    here = [
        _cell(entry, lambda e: form(e.summary.regret, e.summary.half_width)) for entry in entries
    ]
    if sweep.published is None:
        return [(setting.label, *here)]
    theirs = [_cell(e, lambda e: form(*e.published) if e.published else MISSING) for e in entries]
    differences = [_cell(entry, lambda e: percent(e.difference)) for entry in entries]
    return [
        (setting.label, "here", *here),
        ("", "paper", *theirs),
        ("", "difference", *differences),
    ]


def _cell(entry: Entry | None, text: Callable[[Entry], str]) -> str:
    return MISSING if entry is None else text(entry)


def caption(sweep: Sweep, *, where: str = "±") -> str:
    """Return what the numbers of a table are, over which seeds, and how many are missing."""
    said = f"Mean over {seeds_text(sweep)}"
    if any(len(entry.summary.seeds) > 1 for entry in sweep.entries.values()):
        interval = STUDENT if sweep.published is None else AS_PAPER
        said += f", {where} the half-width of its {interval}"
    notes = [f"{said}.", granted_text(sweep), missing_text(sweep)]
    return " ".join(note for note in notes if note)


def granted_text(sweep: Sweep) -> str:
    """Return a sentence that names the methods which observe more than the graph reveals, or "".

    Such a method ignores the graph, and the problem grants it the loss of the arm that it plays.
    """
    known = registered()
    granted = [
        method
        for method in sweep.methods
        if any(_needs_own_loss(entry, known) for entry in sweep.column(method))
    ]
    if not granted:
        return ""
    verb = "is" if len(granted) == 1 else "are"
    names = " and ".join([", ".join(granted[:-1]), granted[-1]] if granted[1:] else granted)
    return f"{names} {verb} given the loss of the arm played, also if it has no self-loop."


def _needs_own_loss(entry: Entry, known: Mapping[str, Any]) -> bool:
    name = entry.summary.parameters.get("id", entry.summary.algorithm)
    return bool(getattr(known.get(str(name)), "needs_own_loss", False))


def seeds_text(sweep: Sweep) -> str:
    """Return the seeds of the entries in words; columns with other seeds are named."""
    columns: dict[str, list[str]] = {}
    for method in sweep.methods:
        seeds = [entry.summary.seeds for entry in sweep.column(method)]
        if seeds:
            columns.setdefault(_column_seeds(seeds), []).append(method)
    most = max(columns, key=lambda seeds: len(columns[seeds]))
    others = [
        f"{', '.join(methods)}: {seeds}" for seeds, methods in columns.items() if seeds != most
    ]
    return f"{most} ({'; '.join(others)})" if others else most


def _column_seeds(entries: Sequence[tuple[int, ...]]) -> str:
    """Return the seeds of the entries of one column in words."""
    if len(set(entries)) > 1:
        fewest, most = min(map(len, entries)), max(map(len, entries))
        if fewest < most:
            return f"{fewest} to {most} seeds"
        return f"{count(most, 'seed')}, not the same everywhere"
    seeds = entries[0]
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{len(seeds)} seeds"


def missing_text(sweep: Sweep) -> str:
    """Return how many cells are missing from the grid, as a sentence; "" if none is."""
    seeds = {seed for entry in sweep.entries.values() for seed in entry.summary.seeds}
    total = len(sweep.settings) * len(sweep.methods) * len(seeds)
    missing = total - sum(len(entry.summary.seeds) for entry in sweep.entries.values())
    if not missing:
        return ""
    verb = "is" if missing == 1 else "are"
    return f"Of {total:,} cells, {missing:,} {verb} missing: failed, or not run."


def to_csv(sweeps: Sequence[Sweep]) -> str:
    """Return all entries as CSV, one per line, unrounded."""
    return csv_text(
        COLUMNS,
        (
            _csv_row(sweep, entry)
            for sweep in sweeps
            for setting in sweep.settings
            for entry in sweep.row(setting)
        ),
    )


def _csv_row(sweep: Sweep, entry: Entry) -> list[object]:
    summary, published = entry.summary, entry.published
    return [
        sweep.id,
        _csv_setting(sweep, entry.setting),
        entry.method,
        len(summary.seeds),
        summary.regret,
        summary.half_width,
        "1.96 standard errors" if summary.as_paper else "Student",
        *((None, None) if published is None else published),
        entry.difference,
    ]


def _csv_setting(sweep: Sweep, setting: Setting) -> object:
    if not sweep.numeric:
        return setting.label
    return int(setting.value) if setting.value.is_integer() else setting.value


def comparisons_csv(compared: Mapping[str, Sequence[Comparison]], sweeps: Sequence[Sweep]) -> str:
    """Return the paired tests between all methods as CSV, one per line, unrounded."""
    head = ("table", "setting", "method", "reference", "pairs", "difference", "half_width")
    return csv_text(
        (*head, "p_value", "p_value_holm"),
        (
            [
                sweep.id,
                _csv_setting(sweep, one.setting),
                *(one.method, one.reference, one.test.pairs, one.test.difference),
                *(one.test.half_width, one.test.p_value, one.adjusted),
            ]
            for sweep in sweeps
            for one in compared[sweep.id]
        ),
    )


def exponents_csv(grown: Mapping[str, Sequence[Exponent]], sweeps: Sequence[Sweep]) -> str:
    """Return the exponents as CSV, one per line, unrounded."""
    return csv_text(
        ("table", "axis", "method", "points", "seeds", "exponent", "half_width"),
        (
            [sweep.id, sweep.symbol, one.method, one.points, one.seeds, *one.estimate]
            for sweep in sweeps
            for one in grown[sweep.id]
        ),
    )
