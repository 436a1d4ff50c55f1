"""How any study is laid out, and what its algorithms are called."""

import json
from typing import Any

import pandas as pd
import pytest

from crossbandit.core.report import draw_figure
from crossbandit.studies import paper
from crossbandit.studies.page import compose, sweep_chart
from crossbandit.studies.sweeps import Sweep
from tests.studies.page.frames import as_published, row


def laid_out(*settings: dict[str, Any]) -> tuple[Sweep, ...]:
    frame = pd.DataFrame([row("p", setting, "a", 0, 1.0) for setting in settings])
    return compose(frame, command="").sweeps


def test_a_grid_of_two_numbers_is_panels() -> None:
    grid = [{"horizon": t, "alpha": alpha} for t in (200, 100, 300) for alpha in (1, 4)]
    first, second = laid_out(*grid)
    assert (first.axis, first.numeric) == ("horizon", True)
    assert [setting.label for setting in first.settings] == ["100", "200", "300"]
    assert first.title == "p: final regret by horizon, alpha = 1"
    assert second.title == "p: final regret by horizon, alpha = 4"
    assert first.id != second.id


def test_the_axis_has_the_most_values_and_the_horizon_wins_a_tie() -> None:
    more = laid_out(*({"horizon": t, "alpha": a} for t in (10, 20) for a in (1, 2, 4)))
    assert [sweep.axis for sweep in more] == ["alpha", "alpha"]
    tie = laid_out(*({"alpha": a, "horizon": t} for t in (10, 20) for a in (1, 2)))
    assert [sweep.axis for sweep in tie] == ["horizon", "horizon"]


def test_a_third_parameter_makes_more_panels() -> None:
    grid = [
        {"horizon": t, "alpha": a, "contexts": m}
        for t in (10, 20, 30)
        for a in (1, 4)
        for m in (5, 50)
    ]
    sweeps = laid_out(*grid)
    assert len(sweeps) == 4
    assert all(len(sweep.settings) == 3 for sweep in sweeps)


def test_panels_share_their_axes() -> None:
    grid = [{"horizon": t, "alpha": alpha} for t in (200, 100) for alpha in (1, 4)]
    rows = [row("p", one, "a", s, 5.0 * int(one["alpha"]) + s) for one in grid for s in (0, 1)]
    frame = pd.DataFrame(rows)
    first, second = draw_figure([sweep_chart(s) for s in compose(frame, command="").sweeps]).axes
    assert first.get_ylim() == second.get_ylim()
    assert first.get_yscale() == second.get_yscale() == "linear"
    frame["final_regret"] += 100
    first, second = draw_figure([sweep_chart(s) for s in compose(frame, command="").sweeps]).axes
    assert first.get_ylim() == second.get_ylim()
    assert first.get_yscale() == second.get_yscale() == "log"


def test_what_is_no_grid_is_a_list() -> None:
    (sweep,) = laid_out({"horizon": 10, "alpha": 1}, {"horizon": 20, "alpha": 4})
    assert not sweep.numeric
    assert [setting.label for setting in sweep.settings] == [
        "paper-benchmark (alpha=1, horizon=10)",
        "paper-benchmark (alpha=4, horizon=20)",
    ]


def test_too_many_panels_are_a_list() -> None:
    settings = [{"horizon": t, "alpha": a} for t in range(1, 16) for a in range(20, 34)]
    (sweep,) = laid_out(*settings)
    assert len(sweep.settings) == 15 * 14


def test_every_point_of_a_grid_is_shown_once() -> None:
    grid = [{"horizon": t, "alpha": alpha} for t in (200, 100) for alpha in (1, 4, 5)]
    shown = [entry for sweep in laid_out(*grid) for entry in sweep.entries.values()]
    assert len(shown) == 6
    assert {(e.summary.setting["horizon"], e.summary.setting["alpha"]) for e in shown} == {
        (one["horizon"], one["alpha"]) for one in grid
    }


@pytest.mark.parametrize("etas", [(0.1,), (0.1, 0.2)])
def test_algorithms_are_called_as_in_the_study_file(etas: tuple[float, ...]) -> None:
    rows = [
        {
            **row("p", {"horizon": 9}, "cross-graph", 0, 1.0),
            "algorithm": json.dumps({"id": "cross-graph", "eta": eta}),
            "cell": eta,
        }
        for eta in etas
    ]
    rows.append({**row("p", {"horizon": 9}, "mine", 0, 1.0)})
    (sweep,) = compose(pd.DataFrame(rows), command="").sweeps
    names = [f"cross-graph (eta={eta})" for eta in etas] if len(etas) > 1 else ["cross-graph"]
    assert sweep.methods == (*names, "mine")


def test_the_papers_algorithms_follow_the_same_rule() -> None:
    assert compose(as_published(tables=()), command="").methods == tuple(paper.METHODS.values())
