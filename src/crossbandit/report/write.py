"""A report as files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crossbandit.report import tables

if TYPE_CHECKING:
    from pathlib import Path

    from crossbandit.report.content import Report

PAGE = "index.html"
_TABLES = ("tables.md", "tables.csv", "tables.tex")
_FIGURES = ("regret.*", "curves*.pdf", "loss-tables.*")
_OF_A_STUDY = ("results.*", "runs.*", "study.toml")
WRITTEN = (PAGE, *_TABLES, *_FIGURES, *_OF_A_STUDY)
"""What may lie in a folder that a report is written into: patterns of names."""


def write(report: Report, folder: Path) -> list[Path]:
    """Write the page, the tables and the figures of a report into a folder; return the paths."""
    from crossbandit.report.page import page

    folder.mkdir(parents=True, exist_ok=True)
    texts = {PAGE: page(report), **_tables(report)}
    paths = []
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, encoding="utf-8", newline="\n")
        paths.append(path)
    return [*paths, *_figures(report, folder)]


def _tables(report: Report) -> dict[str, str]:
    latex = "\n".join(tables.latex(sweep) for sweep in report.sweeps)
    texts = (tables.markdown(report.sweeps), tables.to_csv(report.sweeps), latex)
    return dict(zip(_TABLES, texts, strict=True))


def _figures(report: Report, folder: Path) -> list[Path]:
    from crossbandit.report.figures import (
        curves_figure,
        sweeps_figure,
        tables_figure,
        write_figure,
    )

    paths = write_figure(sweeps_figure(report.sweeps), folder, "regret")
    for name, sweep in zip(_curve_names(report), report.sweeps, strict=True):
        paths += write_figure(curves_figure(sweep), folder, name, formats=("pdf",))
    if report.spreads:
        paths += write_figure(tables_figure(report.spreads), folder, "loss-tables")
    return paths


def _curve_names(report: Report) -> list[str]:
    """Return a file name per part: its own, of letters that every machine takes; none twice."""
    if len(report.sweeps) == 1:
        return ["curves"]
    names: list[str] = []
    for sweep in report.sweeps:
        name = f"curves-{re.sub(r'[^A-Za-z0-9]+', '-', sweep.id).strip('-').lower()}"
        names.append(name if name not in names else f"{name}-{len(names)}")
    return names
