import math

import pandas as pd
import pytest

from crossbandit.errors import InvalidInputError
from crossbandit.report import paper
from crossbandit.report.summaries import half_width, slope, summarize
from tests.report.frames import HALF_WIDTH, OFFSETS, as_published, row


def test_half_width_by_hand() -> None:
    # Mean 3, squared deviations 4 + 0 + 4, variance 8 / 2 = 4, standard error 2 / sqrt(3).
    assert half_width([1.0, 3.0, 5.0]) == pytest.approx(1.96 * 2 / math.sqrt(3))
    assert half_width(OFFSETS) == pytest.approx(HALF_WIDTH)
    assert math.isnan(half_width([1.0]))


def test_means_and_curves_by_hand() -> None:
    setting = {"horizon": 10, "alpha": 4, "table_seed": 0}
    frame = pd.DataFrame(
        [row("p", setting, "a", seed, regret) for seed, regret in ((1, 8.0), (0, 4.0))]
    )
    (summary,) = summarize(frame)
    assert summary.seeds == (0, 1)
    assert summary.regret == 6.0
    # Variance 8, standard error 2; in the middle of the curve half of that.
    assert summary.half_width == pytest.approx(1.96 * 2)
    assert summary.curve.rounds.tolist() == [5, 10]
    assert summary.curve.mean.tolist() == [3, 6]
    assert summary.curve.half_widths.tolist() == pytest.approx([1.96, 3.92])
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
