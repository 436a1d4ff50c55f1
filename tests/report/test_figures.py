from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit.report import compose
from crossbandit.report.figures import (
    curves_figure,
    spread_out,
    style,
    sweeps_figure,
    tables_figure,
    write_figure,
)
from crossbandit.report.sweeps import Sweep
from tests.report.frames import as_published, row
from tests.report.test_tables import generic, labelled


@pytest.fixture(scope="module")
def sweeps() -> tuple[Sweep, ...]:
    return compose(as_published(), command="").sweeps


def test_files_are_what_they_say(sweeps: tuple[Sweep, ...], tmp_path: Path) -> None:
    png, pdf, svg = write_figure(sweeps_figure(sweeps), tmp_path, "regret")
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert png.read_bytes().rstrip().endswith(b"IEND\xaeB`\x82")
    assert pdf.read_bytes().startswith(b"%PDF-")
    assert pdf.read_bytes().rstrip().endswith(b"%%EOF")
    assert ET.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - ours


def test_the_same_results_give_the_same_bytes(sweeps: tuple[Sweep, ...], tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    first = write_figure(sweeps_figure(sweeps), tmp_path / "one", "regret")
    second = write_figure(sweeps_figure(sweeps), tmp_path / "two", "regret")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_panels_lines_and_references(sweeps: tuple[Sweep, ...]) -> None:
    left, right = sweeps_figure(sweeps).axes
    for axes, regret, smallest in ((left, 202.87, 2000.0), (right, 267.61, 1.0)):
        assert axes.get_xscale() == axes.get_yscale() == "log"
        assert {text.get_text() for text in axes.texts} >= {"CrossGraph", "square root"}
        reference = next(line for line in axes.lines if line.is_dashed())
        x, y = (np.asarray(values, dtype=float) for values in reference.get_data())
        assert x[0] == smallest
        assert y[0] == pytest.approx(regret)
        assert y[-1] / y[0] == pytest.approx((x[-1] / x[0]) ** 0.5)


def test_other_tables_have_a_mark_each(tmp_path: Path) -> None:
    report = compose(as_published(), command="")
    assert len(report.spreads) == 40
    spread = report.spreads[0]
    assert [table for table, _ in spread.others] == [1, 2]
    assert spread.against_paper(spread.highest) == pytest.approx(0.02)
    figure = tables_figure(report.spreads)
    assert len(figure.axes) == 2
    assert all(path.stat().st_size > 1000 for path in write_figure(figure, tmp_path, "t"))


def test_any_study_has_a_figure(tmp_path: Path) -> None:
    one = generic(("a", 5, 0, -1.0), ("b", 5, 0, 2.0))
    many = generic(("a", 5, 0, -1.0), ("a", 9, 0, 2.0), ("b", 9, 0, 2.0))
    for sweeps in (one, many):
        write_figure(sweeps_figure(sweeps), tmp_path, "regret")


@pytest.mark.parametrize("label", [r"$\foo$", r"$ \eta^{2}_"])
def test_a_label_is_not_mathematics(label: str, tmp_path: Path) -> None:
    by_number, by_name = labelled(label, part=label), labelled(label, setting=label, part=label)
    for sweep in (by_number, by_name):
        for figure in (sweeps_figure([sweep]), curves_figure(sweep)):
            path = write_figure(figure, tmp_path, "labels", formats=("svg",))[0]
            # Letters are written as shapes, each text below a comment that says it.
            assert f"<!-- {label} -->" in path.read_text(encoding="utf-8")


def test_an_interval_that_reaches_zero_has_an_axis_that_does() -> None:
    rows = [("a", t, seed, t + offset) for t in (100, 1000) for seed, offset in ((0, 0), (1, 1))]
    (narrow,) = generic(*rows)
    (axes,) = sweeps_figure([narrow]).axes
    assert axes.get_yscale() == "log"
    # Two seeds 50 apart: the half-width is 12.7 * 25, more than the mean of 125.
    (wide,) = generic(*rows, ("b", 100, 0, 100.0), ("b", 100, 1, 150.0))
    (axes,) = sweeps_figure([wide]).axes
    assert axes.get_yscale() == axes.get_xscale() == "linear"
    assert axes.get_ylim()[0] < 125 - 12.706 * 25


def test_curves_have_a_panel_per_setting_and_a_band_from_two_seeds_on(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        [row("p", {"horizon": t}, "a", seed, t / 10 + seed) for t in (100, 200) for seed in (0, 1)]
        + [row("p", {"horizon": 200}, "b", 0, 5.0)]
    )
    figure = curves_figure(compose(frame, command="").sweeps[0])
    left, right = figure.axes
    assert [axes.get_title("left") for axes in figure.axes] == ["horizon = 100", "horizon = 200"]
    assert [text.get_text() for text in right.texts] == ["b", "a"]
    # Half of the regret halfway, as the frames have it.
    assert np.asarray(left.lines[0].get_ydata()).tolist() == [5.25, 10.5]
    band, nothing = (collection.get_paths() for collection in right.collections)
    top = np.asarray(band[0].vertices)[:, 1].max()
    assert top == pytest.approx(20.5 + 12.706205 * 0.5)
    assert sum(np.asarray(path.vertices).size for path in nothing) == 0
    assert right.get_ylim()[0] == 0
    (pdf,) = write_figure(figure, tmp_path, "curves", formats=("pdf",))
    assert pdf.read_bytes().startswith(b"%PDF-")


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.01, 0.08))
def test_labels_do_not_touch(places: list[float], apart: float) -> None:
    moved = spread_out(sorted(places), apart)
    assert len(moved) == len(places)
    assert all(b - a >= apart * 0.999 for a, b in pairwise(moved))
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in moved)


def test_no_two_of_many_methods_look_alike() -> None:
    assert len({style(i) for i in range(49)}) == 49
