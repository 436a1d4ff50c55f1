"""Compose the report on a study, and write it as a page, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crossbandit.report import draw_figure, figure_files, latex, markdown, render, write_files
from crossbandit.report.text import parentheses, plus_minus, slug
from crossbandit.studies.page import paper, provenance, tables
from crossbandit.studies.page.charts import REFERENCE, curve_chart, spread_chart, sweep_chart
from crossbandit.studies.page.claims import ENTRY_TOLERANCE, Claim, Status, is_within, judge
from crossbandit.studies.page.comparisons import Spread, compare, exponents, overview, spreads
from crossbandit.studies.page.summaries import Summary, summarize
from crossbandit.studies.page.sweeps import Sweep, belongs_to, paper_sweep, study_sweeps

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from crossbandit.report import Chart
    from crossbandit.studies.page.comparisons import Comparison, Exponent

PAGE = "index.html"
_MOST_OPEN = 100  # up to this many comparisons are shown unfolded on the page
_OF_THE_REPORT = (PAGE, "tables.*", "comparisons.csv", "exponents.csv", "regret.*", "curves*.pdf")
_OF_A_STUDY = ("results.*", "runs.*", "study.toml")
WRITTEN = (*_OF_THE_REPORT, "loss-tables.*", *_OF_A_STUDY)
"""The files that may be in the folder of a report, as patterns of names."""


@dataclass(frozen=True)
class Failure:
    """A cell that failed and is missing.

    Attributes:
        cell: Its environment, algorithm and seed.
        error: The error, with the file and line if they are known.
        traceback: The traceback, if it is known.
    """

    cell: str
    error: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.cell}: {self.error}"


@dataclass(frozen=True)
class Report:
    """A study's results, summarised, laid out and judged.

    Attributes:
        title: The heading.
        sweeps: The tables and panels.
        claims: The paper's claims, if these are runs of the paper's evaluation.
        spreads: How the paper's entries vary over other loss tables.
        facts: What was run, and with which versions: pairs of a name and a value.
        warnings: Sentences that the page shows before the numbers.
        failed: The cells that failed and are missing.
        comparisons: Paired tests between methods, by the id of the sweep.
        exponents: How regret grows along the axis, by the id of the sweep.
    """

    title: str
    sweeps: tuple[Sweep, ...]
    claims: tuple[Claim, ...]
    spreads: tuple[Spread, ...]
    facts: provenance.Facts
    warnings: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    comparisons: Mapping[str, list[Comparison]] = field(default_factory=dict)
    exponents: Mapping[str, list[Exponent]] = field(default_factory=dict)

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


def compose(frame: pd.DataFrame, *, command: str, failures: pd.DataFrame | None = None) -> Report:
    """Make a report.

    Args:
        frame: One row per run, as `crossbandit.studies.load` returns them.
        command: The command that makes this report.
        failures: One row per cell that failed, as `crossbandit.studies.failures` returns them.

    Returns:
        The report, for `write`.

    Raises:
        InvalidInputError: The frame is empty, or a column is missing.
    """
    frame = frame.drop_duplicates(["part", "cell"])  # two studies in one folder may share runs
    summaries = summarize(frame)
    of_paper = _paper_sweeps(summaries)
    rest = [summary for summary in summaries if not _is_placed(summary, of_paper)]
    sweeps = (*of_paper, *study_sweeps(rest))
    return Report(
        title="The paper's evaluation, reproduced" if of_paper else _study(frame),
        sweeps=sweeps,
        claims=tuple(judge(of_paper)) if of_paper else (),
        spreads=tuple(spreads(of_paper, summaries)),
        facts=provenance.facts(frame, summaries, command),
        warnings=provenance.warnings(frame),
        failed=() if failures is None else _failed(failures),
        comparisons={sweep.id: compare(sweep) for sweep in sweeps},
        exponents={sweep.id: exponents(sweep) for sweep in sweeps},
    )


def _failed(failures: pd.DataFrame) -> tuple[Failure, ...]:
    failures = failures.drop_duplicates(["part", "cell"])
    return tuple(
        Failure(
            cell=f"{row['environment_name']}, {row['algorithm_name']}, seed {row['seed']}",
            error=str(row["error"]) + (f" ({row['location']})" if row.get("location") else ""),
            traceback=str(row.get("traceback") or ""),
        )
        for _, row in failures.iterrows()
    )


def _paper_sweeps(summaries: list[Summary]) -> list[Sweep]:
    """Return those of the paper's sweeps of which at least one entry was run."""
    laid_out = [paper_sweep(published, summaries) for published in paper.SWEEPS]
    return [sweep for sweep in laid_out if any(entry.published for entry in sweep.entries.values())]


def _is_placed(summary: Summary, sweeps: list[Sweep]) -> bool:
    """Return whether the paper's sweeps, or the comparison of loss tables, show these runs."""
    return any(
        summary.part == f"tables-{sweep.id}"
        or (sweep.published is not None and belongs_to(sweep.published, summary))
        for sweep in sweeps
    )


def _study(frame: pd.DataFrame) -> str:
    names = dict.fromkeys(str(name) for name in frame["study"] if str(name))
    return ", ".join(names) or "A study"


def write(report: Report, folder: Path) -> list[Path]:
    """Write a report into a folder.

    Args:
        report: The report.
        folder: The folder. It is created if it does not exist.

    Returns:
        The paths of the page, the tables and the figures, in this order.

    Raises:
        ResultsError: If a file cannot be written.
    """
    sweeps = report.sweeps
    names = _names(report)
    by_latex = [
        replace(tables.sweep_table(sweep, parentheses, where="in parentheses"), label=name)
        for sweep, name in zip(sweeps, names, strict=True)
    ]
    contents: dict[str, str | bytes] = {
        PAGE: page(report),
        "tables.md": "\n".join(markdown(tables.sweep_table(s, plus_minus)) for s in sweeps),
        "tables.csv": tables.to_csv(sweeps),
        "tables.tex": "\n".join(map(latex, by_latex)),
        "comparisons.csv": tables.comparisons_csv(report.comparisons, sweeps),
        "exponents.csv": tables.exponents_csv(report.exponents, sweeps),
        **figure_files(draw_figure([sweep_chart(sweep) for sweep in sweeps]), "regret"),
    }
    for name, sweep in zip(names, sweeps, strict=True):
        file = f"curves-{name}" if len(names) > 1 else "curves"
        charts = [curve_chart(sweep, setting) for setting in sweep.settings]
        drawn = draw_figure(charts, columns=None if sweep.numeric else 1)
        contents |= figure_files(drawn, file, formats=("pdf",))
    if report.spreads:
        drawn = draw_figure(list(_spread_charts(report).values()), shared_legend=True)
        contents |= figure_files(drawn, "loss-tables")
    return write_files(folder, contents)


def page(report: Report) -> str:
    """Return the page of a report.

    Args:
        report: The report.

    Returns:
        HTML. The same report gives the same text.
    """
    finals = {f"sweep-{i}": [sweep_chart(sweep)] for i, sweep in enumerate(report.sweeps)}
    curves = [(sweep, setting) for sweep in report.sweeps for setting in sweep.settings]
    others = _spread_charts(report)
    return render(
        "crossbandit.studies.page",
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
        overview=overview(report.sweeps),
        status=Status,
        finals=list(finals),
        curves=curves,
        others=list(others),
        other_tables=sorted({table for spread in report.spreads for table, _ in spread.others}),
        spread_seeds=sorted({spread.seeds for spread in report.spreads}),
        log=any(chart.x_log or chart.y_log for some in finals.values() for chart in some),
        has_reference=any(s.name == REFERENCE for some in finals.values() for s in some[0].series),
        paper=paper,
        tolerance=ENTRY_TOLERANCE,
        caption=tables.caption,
        few_comparisons=sum(map(len, report.comparisons.values())) <= _MOST_OPEN,
        is_within=is_within,
        tuned=provenance.tuned_parameters(report.sweeps),
        tables_csv=tables.to_csv(report.sweeps),
        comparisons_csv=tables.comparisons_csv(report.comparisons, report.sweeps),
    )


def _spread_charts(report: Report) -> dict[str, Chart]:
    """Return the charts of other loss tables by their places on the page."""
    charts = {}
    for i, sweep in enumerate(report.sweeps):
        mine = [spread for spread in report.spreads if spread.sweep is sweep]
        if mine:
            charts[f"spread-{i}"] = spread_chart(sweep, mine)
    return charts


def _names(report: Report) -> list[str]:
    """Return a unique name for each sweep, of letters that file systems and LaTeX allow."""
    names: list[str] = []
    for sweep in report.sweeps:
        name = slug(sweep.id)
        names.append(name if name not in names else f"{name}-{len(names)}")
    return names
