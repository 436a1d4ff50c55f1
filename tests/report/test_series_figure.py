from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from crossbandit.report.figures import write_figure
from crossbandit.report.series_figure import series_figure
from crossbandit.theory.statements import Figure, Series, Shape

STACKED = Figure(
    title="layers",
    x_label="T",
    y_label="regret",
    series=(
        Series(name="up", x=(1_000, 4_000), y=(3.0, 6.0)),
        Series(name="down", x=(1_000, 4_000), y=(-1.0, 2.0)),
        Series(name="order", x=(1_000, 4_000), y=(2.0, 4.0), reference=True),
    ),
    shape=Shape.STACKED,
)
LINES = Figure(
    title="lines",
    x_label="alpha",
    y_label="regret",
    series=(Series(name="one", x=(1, 4, 8), y=(1.0, 2.0, 3.0), half_widths=(0.1, 0.2, np.nan)),),
    x_log=True,
    y_log=True,
)


def test_layers_stack_away_from_zero() -> None:
    axes = series_figure([STACKED]).axes[0]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    spans = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in bars]
    assert spans == [(0.0, 3.0), (0.0, 6.0), (0.0, -1.0), (6.0, 8.0)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1,000", "4,000"]
    reference = axes.lines[-1]
    assert list(reference.get_ydata()) == [2.0, 4.0]  # type: ignore[arg-type]
    assert reference.get_linestyle() == "--"


def test_lines_have_ticks_where_there_are_points() -> None:
    axes = series_figure([STACKED, LINES]).axes[1]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "4", "8"]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["one"]


@pytest.mark.parametrize("chart", [STACKED, LINES], ids=lambda chart: str(chart.title))
def test_the_same_chart_makes_the_same_bytes(chart: Figure, tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        paths = write_figure(series_figure([chart]), folder, "chart")
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
