"""Compose the report on a study, and write it as a page, tables and figures."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.algorithms.papers import papers
from crossbandit.core.report import (
    Chart,
    Series,
    Shape,
    Table,
    TableCell,
    csv_text,
    draw_figure,
    figure_files,
    group_starts,
    latex,
    markdown,
    render,
    write_files,
)
from crossbandit.core.report.statistics import half_width, half_widths
from crossbandit.core.report.text import (
    MISSING,
    count,
    number,
    p_value,
    percent,
    plus_minus,
    ranges,
    slug,
    times,
)
from crossbandit.studies import paper
from crossbandit.studies.claims import Claim, Status, judge
from crossbandit.studies.paper import ENTRY_TOLERANCE, is_within, judge_paper
from crossbandit.studies.plan import draws_table_per_seed, shipped, shipped_names
from crossbandit.studies.store import fact_values
from crossbandit.studies.sweeps import (
    Entry,
    Setting,
    Spread,
    Summary,
    Sweep,
    as_text,
    belongs_to,
    paper_sweep,
    spreads,
    study_sweeps,
    summarize,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from crossbandit.studies.plan import Study

PAGE = "index.html"
_OF_THE_REPORT = (
    PAGE,
    "tables.*",
    "leaderboard.*",
    "comparisons.csv",
    "exponents.csv",
    "regret.*",
    "curves*.pdf",
)
_OF_A_STUDY = ("results.*", "runs.*", "study.toml")
WRITTEN = (*_OF_THE_REPORT, "loss-tables.*", *_OF_A_STUDY)
"""The files that may be in the folder of a report, as patterns of names."""

COLUMNS = (
    *("table", "setting", "method", "seeds", "regret", "half_width", "interval"),
    *("quantile_10", "median", "quantile_90", "pseudo_regret", "pseudo_half_width"),
    "least_possible",
    *("paper_regret", "paper_half_width", "relative_difference"),
)
REFERENCE = "square root"
STUDENT = "95 % confidence interval by Student's t"
AS_PAPER = "95 % confidence interval at 1.96 standard errors, as in the paper"
_OF_COMPARISONS = (
    *("table", "setting", "method", "reference", "pairs", "difference", "half_width"),
    *("p_value", "p_value_holm"),
)
_OF_SCORES = ("method", "part", "panels", "mean", "half_width")
_OF_EXPONENTS = ("table", "axis", "method", "points", "seeds", "exponent", "half_width", "missing")
_BESIDE_PAPER = ("regret", "paper", "difference")
_QUANTILES = "10 % to 90 %"
_LEAST = "to the least possible"
_STEPS = 40  # points of the square root
_MOST_OPEN = 100  # up to this many comparisons are shown unfolded on the page
_SHOWN = 4  # the most values of a fact that the page lists
_FACTS = {
    "crossbandit": "Crossbandit",
    "commit": "Commit",
    "python": "Python",
    "numpy": "NumPy",
    "cores": "Cores",
    "processor": "Processor",
}
_MIXED = (
    "The runs of this study were not all made with the same software and processor. They differ "
    "in: {}. This may be the reason for differences between cells."
)


@dataclass(frozen=True)
class Failure:
    """A cell that failed and is missing."""

    cell: str  # its environment, algorithm and seed
    error: str  # the error, with the file and line if they are known
    traceback: str = ""  # the traceback, if it is known

    def __str__(self) -> str:
        return f"{self.cell}: {self.error}"


@dataclass(frozen=True)
class Report:
    """A study's results, summarised, laid out and judged."""

    title: str
    sweeps: tuple[Sweep, ...]  # the tables and panels
    claims: tuple[Claim, ...]  # those of a paper, if these are runs of its evaluation
    spreads: tuple[Spread, ...]  # how the paper's entries vary over other loss tables
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()  # sentences that the page shows before the numbers
    failed: tuple[Failure, ...] = ()  # the cells that failed and are missing
    paper: str = ""  # the paper whose claims these are

    @property
    def of_paper(self) -> bool:
        """Whether numbers of the paper are shown beside those of the study."""
        return any(sweep.published is not None for sweep in self.sweeps)

    @property
    def met(self) -> bool:
        """Whether every claim that could be judged is met."""
        return all(claim.status is not Status.NOT_MET for claim in self.claims)

    @property
    def methods(self) -> tuple[str, ...]:
        """Every method of every sweep, in order of appearance."""
        return tuple(dict.fromkeys(m for sweep in self.sweeps for m in sweep.methods))


def compose(
    frame: pd.DataFrame,
    *,
    command: str,
    failures: pd.DataFrame | None = None,
    study: Study | None = None,
) -> Report:
    """Make a report; without a study, only the claims of shipped ones are judged."""
    frame = frame.drop_duplicates(["part", "cell"])  # two studies in one folder may share runs
    summaries = summarize(frame)
    of_paper = [paper_sweep(published, summaries) for published in paper.SWEEPS]
    of_paper = [sweep for sweep in of_paper if any(e.published for e in sweep.ordered)]
    placed = [sweep.published for sweep in of_paper if sweep.published]
    rest = [
        s
        for s in summaries
        if not any(s.part == f"tables-{one.part}" or belongs_to(one, s) for one in placed)
    ]
    studies = dict.fromkeys(str(name) for name in frame["study"] if str(name))
    title = "The paper's evaluation, reproduced" if of_paper else ", ".join(studies)
    failed = []
    if failures is not None:
        for _, row in failures.drop_duplicates(["part", "cell"]).iterrows():
            cell = f"{row['environment_name']}, {row['algorithm_name']}, seed {row['seed']}"
            place = f" ({row['location']})" if row.get("location") else ""
            failed.append(Failure(cell, f"{row['error']}{place}", row.get("traceback") or ""))
    known = [shipped(name) for name in studies if name in shipped_names("papers")]
    claiming = [study] if study is not None else known
    sweeps = (*of_paper, *study_sweeps(rest))
    claims = judge_paper(of_paper) if of_paper else []
    claims += [judge(stated, sweeps) for one in claiming for stated in one.claims]
    papers = [paper.TITLE] if of_paper else [one.paper for one in claiming if one.paper]
    mixed = [_FACTS.get(name, name) for name, found in _values(frame).items() if len(found) > 1]
    return Report(
        title=title or "A study",
        sweeps=sweeps,
        claims=tuple(claims),
        spreads=tuple(spreads(of_paper, summaries)),
        facts=_facts(frame, summaries, command),
        warnings=tuple([_MIXED.format(", ".join(mixed))] if mixed else []),
        failed=tuple(failed),
        paper="; ".join(papers),
    )


def write(report: Report, folder: Path) -> list[Path]:
    """Write a report into a folder."""
    sweeps = report.sweeps
    names: dict[str, Sweep] = {}  # letters that file systems and LaTeX allow
    for sweep in sweeps:
        name = slug(sweep.id)
        names[name if name not in names else f"{name}-{len(names)}"] = sweep
    by_latex = [
        replace(sweep_table(sweep, where="in parentheses"), label=name)
        for name, sweep in names.items()
    ]
    contents: dict[str, str | bytes] = {
        PAGE: page(report),
        "tables.md": "\n".join(markdown(sweep_table(sweep)) for sweep in sweeps),
        "tables.tex": "\n".join(map(latex, by_latex)),
        **csv_files(sweeps),
        **leaderboard_files(sweeps),
        **figure_files(draw_figure([sweep_chart(sweep) for sweep in sweeps]), "regret"),
    }
    for name, sweep in names.items():
        file = f"curves-{name}" if len(names) > 1 else "curves"
        charts = [curve_chart(sweep, setting) for setting in sweep.settings]
        drawn = draw_figure(charts, columns=None if sweep.numeric else 1)
        contents |= figure_files(drawn, file, formats=("pdf",))
    if report.spreads:
        charts = list(_spread_charts(report).values())
        contents |= figure_files(draw_figure(charts, shared_legend=True), "loss-tables")
    return write_files(folder, contents)


# --- the page ------------------------------------------------------------------------------------


def page(report: Report) -> str:
    """Return the page of a report. The same report gives the same text."""
    sweeps = report.sweeps
    finals = {f"sweep-{i}": [sweep_chart(sweep)] for i, sweep in enumerate(sweeps)}
    curves = [(sweep, setting) for sweep in sweeps for setting in sweep.settings]
    others = _spread_charts(report)
    return render(
        "crossbandit.studies",
        "study.html",
        title=report.title,
        kind="reproduction" if report.of_paper else "study",
        names=report.methods,
        charts={
            **finals,
            "curves": [curve_chart(sweep, setting) for sweep, setting in curves],
            **{place: [chart] for place, chart in others.items()},
        },
        report=report,
        paper=paper,
        claims=claims_table(report.claims),
        overview=overview(sweeps),
        leaderboard=leaderboard(sweeps),
        leaderboard_csv=leaderboard_files(sweeps).get("leaderboard.csv", ""),
        finals=list(finals),
        log=any(chart.can_switch and chart.y_log for (chart,) in finals.values()),
        off_log=[name for sweep in sweeps for name in sweep.off_log],
        has_reference=any(s.name == REFERENCE for (c,) in finals.values() for s in c.series),
        curve_headings=[sweep.title for sweep, _ in curves],
        caption=caption,
        tables={sweep.id: entry_table(sweep) for sweep in sweeps},
        csv=csv_files(sweeps),
        comparisons={sweep.id: _comparison_table(sweep) for sweep in sweeps},
        few_comparisons=sum(len(sweep.comparisons) for sweep in sweeps) <= _MOST_OPEN,
        exponents={sweep.id: _exponent_table(sweep) for sweep in sweeps},
        others=list(others),
        other_tables=sorted({table for spread in report.spreads for table, _ in spread.others}),
        spread_seeds=sorted({spread.seeds for spread in report.spreads}),
        spreads=_spread_table(report),
        tuned=_tuned_table(report),
        origins=_origin_table(report),
    )


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return the claims of the paper."""
    return Table(
        title="Claims of the paper",
        head=("claim", "expected", "measured", "result"),
        rows=tuple(
            (x.name, x.expected, x.measured, TableCell(x.status.value, style=x.status.value))
            for x in claims
        ),
        labels=4,
        checks=True,
    )


def overview(sweeps: Sequence[Sweep]) -> Table | None:
    """Return the regret of all methods relative to the best, at the last setting of each sweep.

    Only sweeps over a number are shown, and only if there are two of them and two methods.
    """
    shown = [sweep for sweep in sweeps if sweep.numeric and sweep.published is None]
    methods = dict.fromkeys(method for sweep in shown for method in sweep.methods)
    if len(shown) < 2 or len(methods) < 2:
        return None
    rows = []
    for method in methods:
        entries = [sweep.entries.get((sweep.settings[-1], method)) for sweep in shown]
        ratios = [
            math.nan if entry is None else sweep.to_best(entry)
            for sweep, entry in zip(shown, entries, strict=True)
        ]
        cells = (TableCell(times(ratio), style="best" if ratio == 1 else "") for ratio in ratios)
        rows.append((_method(method), *cells))
    return Table(head=("algorithm", *(str(i) for i in range(1, len(shown) + 1))), rows=tuple(rows))


@dataclass(frozen=True)
class Score:
    """What an algorithm did in a part: its regret divided by the least that is possible."""

    method: str
    part: str
    panels: int
    mean: float  # over the panels of the part, at the last setting of each, and the seeds
    half_width: float  # of its 95 % confidence interval by Student's t, over the seeds


def scores(sweeps: Sequence[Sweep]) -> list[Score]:
    """Return the scores of all methods in all parts where the least possible regret is known."""
    found = []
    for part in dict.fromkeys(sweep.part for sweep in sweeps if sweep.published is None):
        own = [sweep for sweep in sweeps if sweep.part == part and sweep.published is None]
        places = [
            (sweep, setting)
            for sweep in own
            for setting in (sweep.settings[-1:] if sweep.numeric else sweep.settings)
        ]
        for method in dict.fromkeys(method for sweep in own for method in sweep.methods):
            entries = [sweep.entries.get((setting, method)) for sweep, setting in places]
            summaries = [entry.summary for entry in entries if entry is not None]
            seeds = {summary.seeds for summary in summaries}
            if len(summaries) < len(places) or len(seeds) > 1:
                continue  # runs are missing
            ratios = np.mean([summary.finals / summary.least for summary in summaries], axis=0)
            mean = float(ratios.mean())
            if not math.isnan(mean):
                found.append(Score(method, part, len(places), mean, half_width(ratios)))
    return found


def leaderboard(sweeps: Sequence[Sweep]) -> Table | None:
    """Return the scores as a table, the best algorithm first; those without all parts come last.

    Nothing if there are fewer than two parts or two algorithms.
    """
    found = {(score.method, score.part): score for score in scores(sweeps)}
    parts = list(dict.fromkeys(part for _, part in found))
    methods = list(dict.fromkeys(method for method, _ in found))
    if len(parts) < 2 or len(methods) < 2:
        return None
    best = {part: min(s.mean for (_, own), s in found.items() if own == part) for part in parts}

    def order(method: str) -> tuple[bool, float]:
        own = [found[method, part].mean for part in parts if (method, part) in found]
        return len(own) < len(parts), sum(own) / len(own)

    def cell(score: Score | None) -> TableCell:
        if score is None:
            return TableCell(MISSING)
        return TableCell(
            f"{score.mean:.2f}", style="best" if score.mean == best[score.part] else ""
        )

    rows: list[tuple[str | TableCell, ...]] = []
    for method in sorted(methods, key=order):
        incomplete, mean = order(method)
        cells = (cell(found.get((method, part))) for part in parts)
        rows.append((_method(method), MISSING if incomplete else f"{mean:.2f}", *cells))
    return Table(
        title="Leaderboard",
        caption="Final regret divided by the least that is possible for all losses, without its "
        "constant: the mean over the panels of a part, at the last setting of each, and the seeds. "
        f"{MISSING} means that an algorithm was not run in all panels of a part.",
        head=("algorithm", "mean", *parts),
        rows=tuple(rows),
        label="leaderboard",
    )


def leaderboard_files(sweeps: Sequence[Sweep]) -> dict[str, str]:
    """Return the leaderboard as Markdown, LaTeX and CSV; nothing if there is none."""
    table = leaderboard(sweeps)
    if table is None:
        return {}
    rows = [tuple(getattr(score, name) for name in _OF_SCORES) for score in scores(sweeps)]
    return {
        "leaderboard.md": markdown(table),
        "leaderboard.tex": latex(table),
        "leaderboard.csv": csv_text(_OF_SCORES, rows),
    }


def _method(name: str) -> TableCell:
    return TableCell(name, series=name)


def _comparison_table(sweep: Sweep) -> Table:
    """Return how each method differs from the first."""
    first = sweep.methods[0]
    mine = [one for one in sweep.comparisons if one.reference == first]
    return Table(
        caption=f"Each algorithm minus {first}.",
        head=("algorithm", "difference", "p"),
        rows=tuple(
            (
                _method(one.method),
                plus_minus(one.test.difference, one.test.half_width),
                p_value(one.adjusted),
            )
            for one in mine
        ),
        groups=group_starts([sweep.place(one.setting) for one in mine]),
    )


def _exponent_table(sweep: Sweep) -> Table:
    return Table(
        head=("algorithm", "points", "seeds", "exponent"),
        rows=tuple(
            (
                TableCell(one.method, series=one.method, note=one.missing),
                str(one.points),
                str(one.seeds),
                plus_minus(*one.estimate, 3),
            )
            for one in sweep.exponents
        ),
    )


def _spread_table(report: Report) -> Table:
    rows: list[tuple[str | TableCell, ...]] = []
    for spread in report.spreads:
        entry = spread.entry
        theirs = math.nan if entry.published is None else entry.published.regret
        values = (entry.summary.regret, spread.lowest, spread.highest, theirs)
        name = f"{entry.method}, {spread.sweep.place(entry.setting)}"
        rows.append((TableCell(name, series=entry.method), *map(number, values)))
    head = ("entry", "this table", "lowest other", "highest other", "paper")
    return Table(head=head, rows=tuple(rows))


def _spread_charts(report: Report) -> dict[str, Chart]:
    """Return the charts of other loss tables by their places on the page."""
    charts = {}
    for i, sweep in enumerate(report.sweeps):
        mine = [spread for spread in report.spreads if spread.sweep is sweep]
        if mine:
            charts[f"spread-{i}"] = spread_chart(sweep, mine)
    return charts


# --- tables --------------------------------------------------------------------------------------


def sweep_table(sweep: Sweep, *, where: str = "±") -> Table:
    """Return a sweep for a document: a row per setting, a column per method, the lowest in bold.

    `where` is how the caption names the place of the half-width.
    """
    with_paper = sweep.published is not None
    rows: list[tuple[str | TableCell, ...]] = []
    groups = {}
    for setting in sweep.settings:
        entries = [sweep.entries.get((setting, method)) for method in sweep.methods]
        groups[len(rows)] = setting.label
        here = [MISSING if entry is None else _regret(sweep, entry) for entry in entries]
        rows.append((setting.label, *(["here"] if with_paper else []), *here))
        if with_paper:
            differences = (MISSING if e is None else percent(e.difference) for e in entries)
            rows.append(("", "paper", *map(_published, entries)))
            rows.append(("", "difference", *differences))
    return Table(
        title=sweep.title,
        caption=f"{caption(sweep, where=where)} The lowest mean is in bold.",
        head=(sweep.symbol, *([""] if with_paper else []), *sweep.methods),
        rows=tuple(rows),
        groups=groups if with_paper else {},
        labels=2 if with_paper else 1,
        numeric=sweep.numeric,
        label=sweep.id,
    )


def _regret(sweep: Sweep, entry: Entry) -> TableCell:
    lowest = entry.summary.regret == sweep.best(entry.setting)
    style = "best" if lowest else ""
    return plus_minus(entry.summary.regret, entry.summary.half_width, style=style)


def _published(entry: Entry | None) -> str | TableCell:
    if entry is None or entry.published is None:
        return MISSING
    return plus_minus(*entry.published, style="other")


def entry_table(sweep: Sweep) -> Table:
    """Return a sweep for the page: a row for each method in each setting."""
    rows: list[tuple[str | TableCell, ...]] = []
    several = sweep.published is None and any(len(e.summary.seeds) > 1 for e in sweep.ordered)
    pseudo = sweep.published is None and any(e.summary.has_pseudo for e in sweep.ordered)
    bounded = any(not math.isnan(e.summary.least) for e in sweep.ordered)
    head: tuple[str, ...] = _BESIDE_PAPER
    if sweep.published is None:
        head = ("seeds", "regret", "to the lowest", *([_LEAST] if bounded else []))
        head += (_QUANTILES,) if several else ()
        head += ("pseudo-regret",) if pseudo else ()
    for entry in sweep.ordered:
        name, regret, summary = _method(entry.method), _regret(sweep, entry), entry.summary
        if sweep.published is None:
            low, _, high = summary.quantiles
            cells: list[str | TableCell] = [
                str(len(summary.seeds)),
                regret,
                times(sweep.to_best(entry)),
            ]
            cells += [_to_least(summary)] if bounded else []
            cells += [f"{number(low)} to {number(high)}"] if several else []
            cells += [plus_minus(*summary.pseudo_mean)] if pseudo else []
            rows.append((name, *cells))
        else:
            outside = entry.published is not None and not is_within(entry)
            difference = TableCell(percent(entry.difference), style="outside" if outside else "")
            rows.append((name, regret, _published(entry), difference))
    return Table(
        head=("algorithm", *head),
        rows=tuple(rows),
        roomy=frozenset({_QUANTILES, _LEAST}),
        groups=group_starts([sweep.place(entry.setting) for entry in sweep.ordered]),
    )


def _to_least(summary: Summary) -> str:
    return MISSING if math.isnan(summary.least) else f"{summary.regret / summary.least:.2f}"


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
    granted = [m for m in sweep.methods if any(e.summary.granted for e in sweep.column(m))]
    if not granted:
        return ""
    verb = "is" if len(granted) == 1 else "are"
    names = " and ".join([", ".join(granted[:-1]), granted[-1]] if granted[1:] else granted)
    return f"{names} {verb} given the loss of the arm played, also if it has no self-loop."


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


def csv_files(sweeps: Sequence[Sweep]) -> dict[str, str]:
    """Return all entries, paired tests and exponents as CSV, one per line, unrounded."""
    entries, comparisons, exponents = [], [], []
    for sweep in sweeps:
        for entry in sweep.ordered:
            summary = entry.summary
            entries.append(
                (
                    *(sweep.id, _csv_setting(sweep, entry.setting), entry.method),
                    *(len(summary.seeds), summary.regret, summary.half_width),
                    "1.96 standard errors" if summary.as_paper else "Student",
                    *(*summary.quantiles, *summary.pseudo_mean, summary.least),
                    *(*(entry.published or (None, None)), entry.difference),
                )
            )
        comparisons += [
            (
                *(sweep.id, _csv_setting(sweep, one.setting), one.method, one.reference),
                *(one.test.pairs, one.test.difference, one.test.half_width),
                *(one.test.p_value, one.adjusted),
            )
            for one in sweep.comparisons
        ]
        exponents += [
            (sweep.id, sweep.symbol, one.method, one.points, one.seeds, *one.estimate, one.missing)
            for one in sweep.exponents
        ]
    return {
        "tables.csv": csv_text(COLUMNS, entries),
        "comparisons.csv": csv_text(_OF_COMPARISONS, comparisons),
        "exponents.csv": csv_text(_OF_EXPONENTS, exponents),
    }


def _csv_setting(sweep: Sweep, setting: Setting) -> object:
    if not sweep.numeric:
        return setting.label
    return int(setting.value) if setting.value.is_integer() else setting.value


# --- charts --------------------------------------------------------------------------------------


def sweep_chart(sweep: Sweep) -> Chart:
    """Return the final regrets of a sweep: lines over an axis of numbers, or rows of names."""
    series = [
        Series(
            name=method,
            x=tuple(entry.setting.value for entry in column),
            y=tuple(entry.summary.regret for entry in column),
            half_widths=tuple(entry.summary.half_width for entry in column),
            details=None if sweep.published is None else tuple(map(_beside, column)),
        )
        for method in sweep.methods
        if (column := sweep.column(method))
    ]
    return Chart(
        title=sweep.title,
        x_label=sweep.axis,
        y_label="final regret",
        series=(*series, *_square_root(sweep)),
        shape=Shape.LINES if sweep.numeric else Shape.ROWS,
        x_log=sweep.x_log,
        y_log=sweep.x_log and sweep.y_log,
        can_switch=sweep.y_log and (sweep.x_log or not sweep.numeric),
        x_names=None if sweep.numeric else tuple(s.label for s in sweep.settings),
        ticks=tuple(s.value for s in sweep.settings) if sweep.numeric else None,
        digits=2,
        detail_labels=() if sweep.published is None else ("paper", "difference"),
        group=sweep.group,
    )


def _beside(entry: Entry) -> tuple[str, str]:
    if entry.published is None:
        return MISSING, MISSING
    return number(entry.published.regret), percent(entry.difference)


def _square_root(sweep: Sweep) -> list[Series]:
    """Return a square root through the first point of the first method of the paper's sweeps."""
    column = sweep.column(sweep.methods[0])
    if sweep.published is None or not (sweep.x_log and sweep.y_log) or len(column) < 2:
        return []
    start, stop = column[0].setting.value, column[-1].setting.value
    x = tuple(start * (stop / start) ** (i / _STEPS) for i in range(_STEPS))
    x = (*x, stop)  # without rounding, so that the line ends where the others do
    y = tuple(column[0].summary.regret * math.sqrt(place / start) for place in x)
    return [Series(name=REFERENCE, x=x, y=y, reference=True)]


def curve_chart(sweep: Sweep, setting: Setting) -> Chart:
    """Return the regret over time in one setting."""
    return Chart(
        title=", ".join(filter(None, (sweep.place(setting), sweep.panel))),
        x_label="round",
        y_label="regret",
        series=tuple(
            Series(
                name=entry.method,
                x=entry.summary.rounds,
                y=entry.summary.curves.mean(axis=0),
                half_widths=half_widths(entry.summary.curves),
            )
            for entry in sweep.row(setting)
        ),
        can_switch=True,
        bands=True,
        digits=1,
    )


def _range(shares: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys((percent(min(shares)), percent(max(shares)))))


def spread_chart(sweep: Sweep, spreads: Sequence[Spread]) -> Chart:
    """Return the entries of a sweep and those under other tables, as differences from the paper."""
    places = {setting: i for i, setting in enumerate(sweep.settings)}
    series = []
    for method in sweep.methods:
        mine = [spread for spread in spreads if spread.entry.method == method]
        if not mine:
            continue
        others = tuple(
            tuple(spread.entry.against_paper(regret) for _, regret in spread.others)
            for spread in mine
        )
        series.append(
            Series(
                name=method,
                x=tuple(places[spread.entry.setting] for spread in mine),
                y=tuple(spread.entry.difference for spread in mine),
                others=others,
                details=tuple((_range(values),) for values in others),
            )
        )
    return Chart(
        title=f"By {sweep.axis}",
        x_label=sweep.axis,
        y_label="difference from the paper",
        series=tuple(series),
        shape=Shape.MARKS,
        x_names=tuple(setting.label for setting in sweep.settings),
        tolerance=ENTRY_TOLERANCE,
        percent=True,
        detail_labels=("other tables",),
    )


# --- how it was made -----------------------------------------------------------------------------


def _facts(
    frame: pd.DataFrame, summaries: Sequence[Summary], command: str
) -> tuple[tuple[str, str], ...]:
    """Return what was run: the command, the versions and the grid."""
    found = _values(frame)
    return (
        ("Command", command),
        ("Version", f"Crossbandit {_listed(found.pop('crossbandit'))}"),
        *((_FACTS.get(name, name), _listed(values)) for name, values in found.items()),
        ("Runs", f"{len(frame):,}, with {int(frame['horizon'].sum()):,} rounds in all"),
        *_parts(summaries),
        *_loss_tables(summaries),
    )


def _values(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return the values of every fact about the runs, those of the version first."""
    found = fact_values(frame.get("provenance", ()))
    versions = dict.fromkeys(str(version) for version in frame["version"])
    found["crossbandit"] = list(versions)  # a provenance may be missing
    return {name: found[name] for name in dict.fromkeys([*_FACTS, *found]) if name in found}


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


def _origin_table(report: Report) -> Table:
    """Return where the algorithms are published, and what is ours."""
    entries = [entry for sweep in report.sweeps for entry in sweep.ordered]
    ids = {entry.method: str(entry.summary.parameters.get("id")) for entry in entries}
    rows = []
    for method, id_ in ids.items():
        if origin := papers().get(id_):
            where = ", ".join(filter(None, (origin.paper, origin.place)))
            rows.append((method, where, origin.theorem, origin.rates, origin.ours))
    return Table(
        head=("algorithm", "paper", "theorem", "rates", "ours"), rows=tuple(rows), labels=5
    )


def _tuned_table(report: Report) -> Table:
    """Return the parameters that every entry ran with, if the results have them."""
    several = len(report.sweeps) > 1
    rows = tuple(
        (
            (f"{sweep.id}, " if several else "") + sweep.place(entry.setting),
            entry.method,
            ", ".join(
                f"{name} = {f'{value:.4g}' if isinstance(value, float) else as_text(value)}"
                for name, value in entry.summary.tuned.items()
            ),
        )
        for sweep in report.sweeps
        for entry in sweep.ordered
        if entry.summary.tuned
    )
    return Table(head=("setting", "algorithm", "parameters"), rows=rows, labels=3)
