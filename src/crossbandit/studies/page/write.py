"""A report on a study as files: the page, the tables and the figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crossbandit.report import (
    draw_figure,
    figure_files,
    latex,
    markdown,
    render,
    write_files,
)
from crossbandit.report.text import parentheses, plus_minus, slug
from crossbandit.studies.page import paper, tables
from crossbandit.studies.page.charts import REFERENCE, curve_chart, spread_chart, sweep_chart
from crossbandit.studies.page.claims import ENTRY_TOLERANCE, Status, is_within
from crossbandit.studies.page.comparisons import overview
from crossbandit.studies.page.provenance import tuned_parameters

if TYPE_CHECKING:
    from pathlib import Path

    from crossbandit.report import Chart
    from crossbandit.studies.page.content import Report

PAGE = "index.html"
_MOST_OPEN = 100  # up to this many comparisons are unfolded on the page
_OF_THE_REPORT = (PAGE, "tables.*", "comparisons.csv", "exponents.csv", "regret.*", "curves*.pdf")
_OF_A_STUDY = ("results.*", "runs.*", "study.toml")
WRITTEN = (*_OF_THE_REPORT, "loss-tables.*", *_OF_A_STUDY)
"""The files that may be in the folder of a report, as patterns of names."""


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
        tuned=tuned_parameters(report.sweeps),
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
