"""Reports: tables and charts as data, and what turns them into text, pages and figures.

It does not depend on the packages that use it.
"""

from crossbandit.core import extras

extras.require("jinja2", "matplotlib", "scipy", extra="replay", owner="crossbandit.core.report")

from crossbandit.core.report.data import Chart, Series, Shape, Table, TableCell, group_starts
from crossbandit.core.report.pages import check_folder, render, write_files
from crossbandit.core.report.print import draw_figure, figure_files
from crossbandit.core.report.text import csv_text, frame_csv, latex, markdown

__all__ = [
    "Chart",
    "Series",
    "Shape",
    "Table",
    "TableCell",
    "check_folder",
    "csv_text",
    "draw_figure",
    "figure_files",
    "frame_csv",
    "group_starts",
    "latex",
    "markdown",
    "render",
    "write_files",
]
