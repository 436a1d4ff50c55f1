"""The report on a replay, from frames made by hand."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crossbandit.report.replay import ReplayReport, markdown, write_replay
from crossbandit.report.replay_page import replay_page
from crossbandit.report.tables import MISSING
from tests.report.test_page import Reader, data

STRATEGIES = [
    ("learner <1>", "learner", 900.0, 12.5),
    ("best response", "fitted", 950.0, math.nan),
    ("shading 0.50", "fixed", 700.0, math.nan),
    ("shading 0.60", "fixed", 1100.0, math.nan),
    ("truthful", "fixed", -1e-9, math.nan),
    ("best fixed policy", "oracle", 1000.0, math.nan),
    ("perfect knowledge", "oracle", 5000.0, math.nan),
]


@pytest.fixture
def report() -> ReplayReport:
    table = pd.DataFrame(
        {
            "strategy": name,
            "kind": kind,
            "surplus": surplus,
            "half_width": half,
            "regret": 1000.0 - surplus,
            "spend": 2000.0,
            "win_rate": 0.0 if name == "truthful" else 0.25,
            "average_price": 0.0 if name == "truthful" else 12.345,
            "runs": 1 if math.isnan(half) else 3,
            "note": "a note" if kind == "oracle" else "",
        }
        for name, kind, surplus, half in STRATEGIES
    )
    curves = pd.DataFrame(
        {"strategy": name, "auction": auction, "surplus": surplus * auction / 9, "half_width": half}
        for name, _, surplus, half in STRATEGIES
        for auction in (3, 6, 9)
    )
    bids = pd.DataFrame(
        {
            "strategy": name,
            "value": value,
            "bid": np.nan if name == "perfect knowledge" else value / 2,
        }
        for name, *_ in STRATEGIES
        for value in (0.0, 5.0, 10.0)
    )
    return ReplayReport(
        title="log.csv, replayed",
        lead="Nine auctions.",
        table=table,
        curves=curves,
        bids=bids,
        notes=("A note & more.",),
        faults=((3, "no value"),),
        left_out="1 of 10 lines was left out:",
        facts=(("Command", "crossbandit replay log.csv"),),
        comparator="best fixed policy",
        beyond_charts="perfect knowledge",
        first_to_go="best response, all told",
    )


def test_charts_show_the_best_fraction_and_what_does_not_flatten_them(report: ReplayReport) -> None:
    assert report.charted == (
        "learner <1>",
        "best response",
        "shading 0.60",
        "best fixed policy",
    )
    found = data(replay_page(report))
    assert found["methods"] == list(report.charted)
    assert found["comparator"] == 3
    assert found["auctions"] == [3, 6, 9]
    assert found["series"][0] == {"method": 0, "mean": [300, 600, 900], "half": [12.5] * 3}
    assert found["series"][2]["half"] is None
    assert found["bids"][3]["mean"] == [0, 2.5, 5]


def test_regret_is_counted_from_the_comparator(report: ReplayReport) -> None:
    other = ReplayReport(**{**vars(report), "comparator": "best response"})
    text = replay_page(other)
    assert data(text)["comparator"] == 1
    assert "missing to the best response;" in Reader(text).text


def with_own_bids(report: ReplayReport) -> ReplayReport:
    frames = {}
    for name in ("table", "curves", "bids"):
        frame = getattr(report, name)
        row = frame[frame["strategy"] == "best response"].copy()
        row["strategy"] = "the log's own bids"
        if name == "table":
            row["kind"] = "own"
        if name == "bids":
            row["bid"] = np.nan
        frames[name] = pd.concat([frame, row], ignore_index=True)
    return ReplayReport(**{**vars(report), **frames})


def test_own_bids_have_a_group_and_a_line_over_time_but_none_by_value(
    report: ReplayReport,
) -> None:
    own = with_own_bids(report)
    place = own.charted.index("the log's own bids")
    text = replay_page(own)
    found = data(text)
    assert place in [one["method"] for one in found["series"]]
    assert place not in [one["method"] for one in found["bids"]]
    assert "What was bid is not shown." in text
    assert "What was bid" in Reader(text).text
    assert "What was bid" not in replay_page(report)


def test_no_more_lines_than_colours(report: ReplayReport) -> None:
    table = report.table
    many = [f"learner {i}" for i in range(4)]
    rows = [table[table["strategy"] == "learner <1>"].assign(strategy=name) for name in many]
    told = table[table["strategy"] == "best response"].assign(strategy="best response, all told")
    seven = ReplayReport(**{**vars(report), "table": pd.concat([*rows[:2], told, table])})
    assert "best response, all told" in seven.charted
    eight = ReplayReport(**{**vars(report), "table": pd.concat([*rows, told, table])})
    assert "best response, all told" not in eight.charted


def test_the_page_loads_nothing_and_says_everything(report: ReplayReport) -> None:
    text = replay_page(report)
    reader = Reader(text)
    assert [link for link in reader.loads if not link.startswith(("#", "data:"))] == []
    assert "{{" not in text
    assert {"over-time", "bids", "what", "theme"} <= set(reader.ids)
    for shown in (
        "learner <1>",
        "900.0 ± 12.5",
        "A note & more.",
        "no value",
        "1 of 10 lines",
        "−4,000.0",
        "25.0",
    ):
        assert shown in reader.text, shown
    assert "<1>" not in text


def test_amounts_have_five_digits_and_no_minus_nothing(report: ReplayReport) -> None:
    assert report.digits == 1
    assert report.sum_of_money(-1e-9) == "0.0"
    assert report.sum_of_money(-12.34, 0.5) == "−12.3 ± 0.5"
    small = ReplayReport(**{**vars(report), "table": report.table.assign(surplus=0.012345)})
    assert small.sum_of_money(0.012345) == "0.012345"


def test_markdown_has_a_row_per_strategy(report: ReplayReport) -> None:
    text = markdown(report)
    assert "- A note & more." in text
    assert "| learner <1> | 900.0 ± 12.5 | 100.0 | 2,000.0 | 25.0 % | 12.35 |  |" in text
    assert f"| truthful | 0.0 | 1,000.0 | 2,000.0 | 0.0 % | {MISSING} |  |" in text
    assert text.count("\n|") == len(STRATEGIES) + 2


def test_the_same_report_gives_the_same_bytes(report: ReplayReport, tmp_path: Path) -> None:
    first, again = (write_replay(report, tmp_path / name) for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert first[5].read_bytes().startswith(b"\x89PNG")
