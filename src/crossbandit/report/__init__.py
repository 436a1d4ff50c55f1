"""A toolkit for reports: statistics, tables, charts, figures and pages.

It does not depend on the packages that use it. Each of them has its own page.
"""

from crossbandit import extras

extras.require("jinja2", "matplotlib", "scipy", extra="replay", owner="crossbandit.report")

from crossbandit.report.charts import Chart, Series, Shape
from crossbandit.report.figures import draw_figure, figure_files
from crossbandit.report.latex import latex
from crossbandit.report.pages import check_folder, render, write_files
from crossbandit.report.text import Table, csv_text, frame_csv, markdown

__all__ = [
    "Chart",
    "Series",
    "Shape",
    "Table",
    "check_folder",
    "csv_text",
    "draw_figure",
    "figure_files",
    "frame_csv",
    "latex",
    "markdown",
    "render",
    "write_files",
]
