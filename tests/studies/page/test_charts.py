import numpy as np
import pandas as pd
import pytest

from crossbandit.core.report import draw_figure, figure_files
from crossbandit.studies import page as tables
from crossbandit.studies.page import REFERENCE, compose, curve_chart, spread_chart, sweep_chart
from crossbandit.studies.sweeps import Sweep
from tests.studies.page.frames import as_published, row
from tests.studies.page.test_tables import generic, labelled


@pytest.fixture(scope="module")
def sweeps() -> tuple[Sweep, ...]:
    return compose(as_published(), command="").sweeps


def test_the_papers_sweeps_have_lines_and_a_square_root(sweeps: tuple[Sweep, ...]) -> None:
    figure = draw_figure([sweep_chart(sweep) for sweep in sweeps])
    for axes, regret, smallest in zip(figure.axes, (202.87, 267.61), (2000.0, 1.0), strict=True):
        assert axes.get_xscale() == axes.get_yscale() == "log"
        assert {text.get_text() for text in axes.texts} >= {"Ours", REFERENCE}
        reference = next(line for line in axes.lines if line.is_dashed())
        x, y = (np.asarray(values, dtype=float) for values in reference.get_data())
        assert x[0] == smallest
        assert y[0] == pytest.approx(regret)
        assert y[-1] / y[0] == pytest.approx((x[-1] / x[0]) ** 0.5)


def test_a_point_has_the_papers_number_beside_it(sweeps: tuple[Sweep, ...]) -> None:
    first = sweep_chart(sweeps[0]).series[0]
    assert first.y[0] == pytest.approx(202.87)
    assert first.details is not None
    assert first.details[0] == ("202.87", "0.0 %")


def test_other_tables_have_a_dash_each() -> None:
    report = compose(as_published(), command="")
    assert len(report.spreads) == 40
    sweep = report.sweeps[0]
    chart = spread_chart(sweep, [spread for spread in report.spreads if spread.sweep is sweep])
    others = chart.series[0].others
    assert others is not None
    assert others[0] == pytest.approx((0.01, 0.02))
    assert len(draw_figure([chart]).axes[0].lines) == 1 + 4 * (1 + 5)


def test_any_study_has_a_figure() -> None:
    one = generic(("a", 5, 0, -1.0), ("b", 5, 0, 2.0))
    many = generic(("a", 5, 0, -1.0), ("a", 9, 0, 2.0), ("b", 9, 0, 2.0))
    for sweeps in (one, many):
        figure_files(draw_figure([sweep_chart(sweep) for sweep in sweeps]), "regret")


@pytest.mark.parametrize("label", [r"$\foo$", r"$ \eta^{2}_"])
def test_a_label_is_not_mathematics(label: str) -> None:
    by_number, by_name = labelled(label, part=label), labelled(label, setting=label, part=label)
    for sweep in (by_number, by_name):
        for chart in (sweep_chart(sweep), curve_chart(sweep, sweep.settings[0])):
            (text,) = figure_files(draw_figure([chart]), "labels", formats=("svg",)).values()
            # Letters are written as shapes, each text below a comment that says it.
            assert f"<!-- {label} -->" in text.decode()


def test_few_means_below_zero_leave_logarithmic_axes_to_the_others() -> None:
    rows = [("a", t, seed, t + offset) for t in (100, 1000) for seed, offset in ((0, 0), (1, 1))]
    (sweep,) = generic(*rows, ("b", 100, 0, -5.0), ("b", 1000, 0, 7.0))
    chart = sweep_chart(sweep)
    (axes,) = draw_figure([chart]).axes
    assert axes.get_yscale() == axes.get_xscale() == "log"
    assert chart.can_switch
    assert axes.get_ylim()[0] > 1
    assert sweep.off_log == ["b at horizon = 100"]
    page = tables.page(compose(pd.DataFrame(sweep_rows(sweep)), command=""))
    assert "cannot show means that are not above 0: b at horizon = 100." in page
    # Most intervals reach zero: the values are on a linear axis, the settings are not.
    (wide,) = generic(("b", 100, 0, -5.0), ("b", 1000, 0, 100.0), ("b", 1000, 1, 150.0))
    chart = sweep_chart(wide)
    (axes,) = draw_figure([chart]).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert not chart.can_switch
    assert axes.get_ylim()[0] < 125 - 12.706 * 25


def sweep_rows(sweep: Sweep) -> list[dict[str, object]]:
    """Return rows from which the sweep can be composed again."""
    return [
        row("mine", {"horizon": int(entry.setting.value)}, entry.method, seed, regret)
        for entry in sweep.ordered
        for seed, regret in zip(entry.summary.seeds, entry.summary.finals.tolist(), strict=True)
    ]


def test_curves_have_a_panel_per_setting_and_a_band_from_two_seeds_on() -> None:
    frame = pd.DataFrame(
        [row("p", {"horizon": t}, "a", seed, t / 10 + seed) for t in (100, 200) for seed in (0, 1)]
        + [row("p", {"horizon": 200}, "b", 0, 5.0)]
    )
    (sweep,) = compose(frame, command="").sweeps
    figure = draw_figure([curve_chart(sweep, setting) for setting in sweep.settings])
    left, right = figure.axes
    assert [axes.get_title("left") for axes in figure.axes] == ["horizon = 100", "horizon = 200"]
    assert [text.get_text() for text in right.texts] == ["b", "a"]
    # Half of the regret halfway, as the frames have it.
    assert np.asarray(left.lines[0].get_ydata()).tolist() == [5.25, 10.5]
    bands = [np.asarray(path.vertices) for c in right.collections for path in c.get_paths()]
    assert max(band[:, 1].max() for band in bands) == pytest.approx(20.5 + 12.706205 * 0.5)
    assert right.get_ylim()[0] <= 0
