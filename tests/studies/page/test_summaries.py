import pandas as pd
import pytest

from crossbandit.core.report.statistics import half_widths, slope
from crossbandit.errors import InvalidInputError
from crossbandit.studies import paper
from crossbandit.studies.page import compose
from crossbandit.studies.sweeps import summarize
from tests.studies.page.frames import HALF_WIDTH, as_published, row


def test_the_papers_entries_and_no_others_have_its_half_widths() -> None:
    frame = as_published()
    frame = pd.concat([frame, frame[frame["part"] == "graph"].assign(part="mine")])
    papers, _, mine = compose(frame, command="").sweeps
    students = 2.262157 / 1.96 * HALF_WIDTH  # the quantile for ten seeds
    for entry in papers.entries.values():
        assert entry.summary.half_width == pytest.approx(HALF_WIDTH)
        assert half_widths(entry.summary.curves)[-1] == pytest.approx(students)
    for entry in mine.entries.values():
        assert entry.summary.half_width == pytest.approx(students)


def test_means_and_curves_by_hand() -> None:
    setting = {"horizon": 10, "alpha": 4, "table_seed": 0}
    frame = pd.DataFrame(
        [row("p", setting, "a", seed, regret) for seed, regret in ((1, 8.0), (0, 4.0))]
    )
    (summary,) = summarize(frame)
    assert summary.seeds == (0, 1)
    assert summary.regret == 6.0
    # Variance 8, standard error 2; in the middle of the curve half of that. 12.706205 is
    # Student's quantile for two seeds.
    assert summary.half_width == pytest.approx(12.706205 * 2)
    assert summary.rounds.tolist() == [5, 10]
    assert summary.curves.mean(axis=0).tolist() == [3, 6]
    assert half_widths(summary.curves).tolist() == pytest.approx([12.706205, 2 * 12.706205])
    assert summary.setting["alpha"] == 4
    assert summary.parameters == {"id": "a", "tuning": "experiment"}


def test_parameters_survive_missing_values() -> None:
    setting = {"horizon": 10, "alpha": 4}
    frame = pd.DataFrame([row("p", setting, "a", 0, 1.0), row("q", {"horizon": 10}, "a", 0, 1.0)])
    first, second = summarize(frame)
    assert first.setting["alpha"] == 4
    assert isinstance(first.setting["alpha"], int)
    assert "alpha" not in second.setting


def test_a_frame_without_what_is_needed() -> None:
    with pytest.raises(InvalidInputError, match="Missing: curve_regret"):
        summarize(as_published().drop(columns="curve_regret"))
    with pytest.raises(InvalidInputError, match="no finished cells"):
        summarize(as_published().iloc[:0])


def test_published_slopes_follow_from_published_tables() -> None:
    """The numbers were copied by hand: their fits are the paper's, and there are 40 of them."""

    def fitted(sweep: paper.PublishedSweep, method: str) -> float:
        return slope(sweep.values, [row[method].regret for row in sweep.entries.values()])

    assert round(fitted(paper.HORIZON, paper.OURS), 2) == paper.SLOPE_IN_HORIZON.published
    assert round(fitted(paper.ALPHA, paper.OURS), 2) == paper.SLOPE_IN_ALPHA.published
    assert (
        round(fitted(paper.HORIZON, paper.CONTEXT), 2) == paper.CONTEXT_SLOPE_IN_HORIZON.published
    )
    assert sum(len(row) for sweep in paper.SWEEPS for row in sweep.entries.values()) == 40


def test_tuned_parameters_are_read_where_results_have_them() -> None:
    frame = as_published()
    assert summarize(frame)[0].tuned == {}
    frame["parameters"] = '{"eta": 0.25, "epoch": 40}'
    assert summarize(frame)[0].tuned == {"eta": 0.25, "epoch": 40}
