"""The report on a replay."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crossbandit.core.report.text import MISSING
from crossbandit.logs.replay import Replay, ReplayRules, Shading, make_log, replay
from crossbandit.logs.replay.page import (
    WRITTEN,
    answer,
    bids_chart,
    charted,
    earnings,
    money_digits,
    page,
    regret_chart,
    surplus_chart,
    table_text,
    write,
)
from tests.studies.page.test_page import Reader, data

ORACLES = ["best fixed policy", "best policy per band"]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Replay:
    log = make_log(tmp_path_factory.mktemp("log") / "log.csv", 1_000, seed=1)
    return replay(
        log,
        rules=ReplayRules(bids=20),
        strategies=["cross-graph", "best responses", Shading(0.3), Shading(0.6)],
        seeds=2,
    )


def of(result: Replay, **changes: Any) -> str:
    changed = replace(result, **changes)
    return page(changed, log="<log>.csv", command="crossbandit replay log.csv")


def renamed(result: Replay, *names: str, kind: str) -> Replay:
    """Return a replay with copies of the first strategy under other names."""
    copies = tuple(replace(result.outcomes[0], strategy=name, kind=kind) for name in names)
    return replace(result, outcomes=(*copies, *result.outcomes))


def test_a_replay_begins_with_the_answer(result: Replay) -> None:
    own = replace(result.outcomes[0], strategy="the log's own bids", kind="own")
    both = replace(result, outcomes=(result.outcomes[0], own, *result.outcomes[2:]))
    fixed = result.outcome("60 % of value")
    first, best = (result.earned(one) for one in (result.outcomes[0], fixed))
    row = result.compare().set_index("strategy").loc["60 % of value"]
    gain, low, high = (100 * one / best for one in (first - best, -row["high"], -row["low"]))
    more = "more" if gain > 0 else "less"
    money, interval = f"{first:,.{money_digits(result)}f}", f"{low:.1f} to {high:.1f} %"
    expected = (
        f"cross-graph would have earned {money}, {abs(gain):.1f} % {more} than the best fixed "
        f"fraction, 60 % of value (95 % interval: {interval.replace('-', '−')})"
    )
    assert answer(result) == f"{expected}."
    assert answer(both).startswith(f"{expected} and 0.0 % more than the log's own bids (95 %")
    assert answer(result) in of(result)


def test_charts_show_the_best_fraction_and_what_does_not_flatten_them(result: Replay) -> None:
    names = [one.strategy for one in charted(result)]
    assert names == [
        "cross-graph",
        "best response",
        "full-information response",
        "60 % of value",
        *ORACLES,
    ]
    found = data(of(result))
    assert found["names"] == names
    assert [chart["y"] for chart in found["charts"]["over-time"]] == ["regret", "surplus"]


def test_regret_is_counted_from_the_comparator(result: Replay) -> None:
    regret, surplus = regret_chart(result), surplus_chart(result)
    best = surplus.series[regret.series.index(next(s for s in regret.series if not np.any(s.y)))]
    assert best.name == "best policy per band" == result.comparator
    for one, other in zip(regret.series, surplus.series, strict=True):
        np.testing.assert_allclose(np.add(one.y, other.y), best.y)
    frame = result.table().set_index("strategy")
    assert regret.series[0].y[-1] == pytest.approx(frame.loc["cross-graph", "regret"])
    assert surplus.series[0].half_widths is not None
    assert surplus.series[0].half_widths[-1] == pytest.approx(
        frame.loc["cross-graph", "half_width"]
    )
    assert "missing to the best policy per band." in Reader(of(result)).text


def test_own_bids_have_a_group_and_a_line_over_time_but_none_by_value(result: Replay) -> None:
    own = renamed(result, "the log's own bids", kind="own")
    first = replace(own.outcomes[0], bids=np.full(result.values.size, np.nan))
    own = replace(own, outcomes=(first, *own.outcomes[1:]))
    assert charted(own)[0] is first
    assert "the log's own bids" not in [one.name for one in bids_chart(own).series]
    text = of(own)
    assert "What was bid is not shown." in text
    assert "What was bid" not in of(result)


def test_no_more_lines_than_colours(result: Replay) -> None:
    told = "full-information response"
    seven = renamed(result, "learner 1", kind="learner")
    assert told in [one.strategy for one in charted(seven)]
    eight = renamed(result, "learner 1", "learner 2", kind="learner")
    assert told not in [one.strategy for one in charted(eight)]


def test_the_page_loads_nothing_and_says_everything(result: Replay) -> None:
    text = of(renamed(result, "learner <1>", kind="learner"), notes=("A note & more.",))
    reader = Reader(text)
    assert [link for link in reader.loads if not link.startswith(("#", "data:"))] == []
    assert {"over-time", "bids", "theme"} <= set(reader.ids)
    for row in earnings(result).cells:
        for cell in row:
            assert cell.text in reader.text, cell
    for shown in ("learner <1>", "A note & more.", "<log>.csv, replayed"):
        assert shown in reader.text, shown
    assert "<1>" not in text
    assert "the same numbers with the same NumPy and processor" in reader.text


def test_bad_lines_are_listed(tmp_path: Path, result: Replay) -> None:
    lines = ["value,highest_competing_bid", *["1,0.5", "2,0.25"] * 20, "x,1"]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    rules = ReplayRules(bids=5)
    bad = replay(tmp_path / "log.csv", rules=rules, strategies=["cross-graph"], seeds=1)
    shown = Reader(of(bad)).text
    assert "1 of 41 lines was left out:" in shown
    assert re.search(r"Place What is wrong line 42 ", shown)
    assert "Bad lines" not in Reader(of(result)).text


def test_amounts_have_five_digits(result: Replay) -> None:
    assert money_digits(result) == 5 - 1 - int(np.log10(result.table()["surplus"].max()))
    small = [replace(one, surplus=one.surplus * 0 + 0.012345) for one in result.outcomes]
    first = earnings(replace(result, outcomes=tuple(small))).cells[0]
    assert first[1].text == "0.012345"


def test_markdown_has_a_row_per_strategy(result: Replay) -> None:
    text = table_text(replace(result, notes=("A note & more.",)), log="log.csv")
    assert "- A note & more." in text
    assert text.count("\n|") == len(result.outcomes) + 2
    first = earnings(result).cells[0]
    assert f"| cross-graph | {first[1].text} ± {first[1].half_width} | {first[2]} |" in text
    nothing = replace(result.outcomes[0], strategy="none", wins=np.zeros(2), spend=np.zeros(2))
    without = replace(result, outcomes=(nothing, *result.outcomes))
    assert earnings(without).cells[0][-1].text == MISSING


def test_the_same_replay_gives_the_same_bytes(result: Replay, tmp_path: Path) -> None:
    first, again = (write(result, tmp_path / name, log="l.csv", command="c") for name in "ab")
    assert [path.name for path in first] == [
        name for name in WRITTEN if name not in {"classes.csv", "spending.csv"}
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert first[5].read_bytes().startswith(b"\x89PNG")


def test_a_link_in_the_folder_is_not_followed(result: Replay, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").symlink_to(tmp_path / "victim")
    write(result, tmp_path / "out", log="l.csv", command="c")
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_strategy_is_no_formula(result: Replay, tmp_path: Path) -> None:
    evil = renamed(result, "=cmd()", kind="learner")
    write(evil, tmp_path, log="l.csv", command="c")
    assert pd.read_csv(tmp_path / "table.csv")["strategy"][0] == "'=cmd()"
