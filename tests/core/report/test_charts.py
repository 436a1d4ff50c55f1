"""Charts as data, and as figures for print."""

import math
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from crossbandit.core.report import Chart, Series, Shape, draw_figure, figure_files

LINES = Chart(
    title="Regret",
    x_label="T",
    y_label="regret",
    series=(
        Series(name="a", x=(10.0, 100.0), y=(2.0, 4.0), half_widths=(0.5, math.nan)),
        Series(name="b", x=(100.0, 10.0), y=(math.nan, 1 / 3)),
        Series(name="bound", x=(10.0, 50.0), y=(3.0, 6.0), reference=True),
    ),
    x_log=True,
)
ROWS = Chart(
    title="Rows",
    x_label="environment",
    y_label="regret",
    series=(Series(name="a", x=(0.0, 1.0), y=(5.0, 7.0), half_widths=(1.0, 2.0)),),
    shape=Shape.ROWS,
    x_names=("first", "second"),
)
MARKS = Chart(
    title="Marks",
    x_label="T",
    y_label="difference",
    series=(Series(name="a", x=(0.0, 1.0), y=(0.1, -0.1), others=((0.2, 0.3), ())),),
    shape=Shape.MARKS,
    x_names=("1", "2"),
    tolerance=0.04,
    percent=True,
)
PRINTED = (LINES, ROWS, MARKS)


def test_json_holds_every_number_with_six_digits() -> None:
    found = LINES.to_json()
    assert found["places"] == [10, 100]
    first, second, bound = found["series"]
    assert (first["x"], first["y"], first["half"]) == (None, [2, 4], [0.5, None])
    assert (second["x"], second["y"], second["half"]) == ([100, 10], [None, 0.333333], None)
    assert bound["x"] == [10, 50]
    assert [one["reference"] for one in found["series"]] == [False, False, True]
    assert MARKS.to_json()["series"][0]["others"] == [[0.2, 0.3], []]


@pytest.mark.parametrize("chart", PRINTED, ids=lambda chart: chart.shape.value)
def test_files_are_what_they_say_and_always_the_same(chart: Chart) -> None:
    files = figure_files(draw_figure([chart]), "name")
    assert list(files) == ["name.png", "name.pdf", "name.svg"]
    assert files["name.png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert files["name.pdf"].startswith(b"%PDF-")
    assert files["name.pdf"].rstrip().endswith(b"%%EOF")
    root = ET.fromstring(files["name.svg"])  # noqa: S314 - ours
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert figure_files(draw_figure([chart]), "name") == files


def test_intervals_may_be_one_sided_and_bounds_are_lines() -> None:
    chart = Chart(
        title="Rows",
        x_label="strategy",
        y_label="surplus",
        series=(
            Series(name="estimate", x=(0.0, 1.0), y=(5.0, 7.0), ends=((5.0, 6.0), (4.0, 7.5))),
            Series(
                name="bounds", x=(0.0, 1.0), y=(5.0, 5.0), ends=((1.0, 9.0), (2, 8)), reference=True
            ),
        ),
        shape=Shape.ROWS,
        x_names=("first", "second"),
    )
    first, second = chart.to_json()["series"]
    assert first["ends"] == [[5, 6], [4, 7.5]]
    assert second["ends"] == [[1, 9], [2, 8]]
    assert ROWS.to_json()["series"][0]["ends"] is None


def test_a_line_over_time_may_have_intervals_of_any_ends() -> None:
    start = 1_790_000_000.125
    chart = Chart(
        title="Bids",
        x_label="time",
        y_label="bid",
        series=(
            Series(
                name="bid",
                x=(start, start + 60),
                y=(5.0, 7.0),
                ends=((4.0, 5.5), (math.nan, math.nan)),
            ),
        ),
        x_time=True,
        bands=True,
    )
    found = chart.to_json()
    assert found["xTime"]
    assert found["places"] == [start, start + 60]  # six digits would not do
    assert found["series"][0]["ends"] == [[4, 5.5], [None, None]]


def test_a_line_is_named_at_its_end() -> None:
    (axes,) = draw_figure([LINES]).axes
    assert {text.get_text() for text in axes.texts} == {"a"}  # b and the bound end elsewhere
    assert axes.get_xscale() == "log"


def test_marks_stand_side_by_side_with_their_dashes() -> None:
    (axes,) = draw_figure([MARKS]).axes
    values = [np.asarray(line.get_ydata()).tolist() for line in axes.lines]
    assert [0.2, 0.3] in values
    assert [0.1, -0.1] in values
    low, high = axes.get_ylim()
    assert low < -0.1
    assert high > 0.3


def test_a_series_looks_the_same_in_all_panels() -> None:
    first, second = draw_figure([LINES, ROWS]).axes
    colors = {axes.lines[0].get_color() for axes in (first, second)}
    assert len(colors) == 1


def test_an_unknown_backend_for_screens_does_no_harm() -> None:
    script = (
        "from crossbandit.core.report import draw_figure, figure_files\n"
        "from tests.core.report.test_charts import LINES\n"
        "print(*map(len, figure_files(draw_figure([LINES]), 'x').values()))\n"
    )
    environment = {**os.environ, "MPLBACKEND": "bogus"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert all(int(size) > 1000 for size in result.stdout.split())
