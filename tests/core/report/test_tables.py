import csv
import io
import math

import numpy as np
import pandas as pd
import pytest

from crossbandit.core.report import (
    Table,
    TableCell,
    csv_text,
    frame_csv,
    group_starts,
    latex,
    markdown,
)
from crossbandit.core.report.terminal import show

TABLE = Table(
    title="Title_1",
    caption="A caption.",
    head=("x", "a", "b"),
    rows=(
        ("1,000", TableCell("2.00", style="best"), "3.00"),
        ("2,000", "5.00", TableCell("4.00", style="best")),
    ),
    numeric=True,
    label="Over / time",
)


def test_the_best_is_marked_and_the_table_can_be_referred_to() -> None:
    assert markdown(TABLE).splitlines()[-2:] == [
        "| 1,000 | **2.00** | 3.00 |",
        "| 2,000 | 5.00 | **4.00** |",
    ]
    text = latex(TABLE)
    assert r"1\,000 & \textbf{2.00} & 3.00 \\" in text
    assert r"2\,000 & 5.00 & \textbf{4.00} \\" in text
    assert r"\label{tab:over-time}" in text
    assert r"\caption{Title\_1. A caption.}" in text


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_text_is_never_a_formula(first: str) -> None:
    evil = f"{first}cmd|' /C calc'!A0"
    (row,) = list(csv.reader(io.StringIO(csv_text(["a"], [[evil]]), newline="")))[1:]
    assert row == [f"'{evil}"]
    assert frame_csv(pd.DataFrame({evil: [evil]})).count("'" + first) == 2


def test_numbers_stay_numbers_and_are_exact() -> None:
    frame = pd.DataFrame({"x": [-1.5, 1 / 3, math.nan], "n": [-7, 0, 2], "t": ["a", "-b", None]})
    written = list(csv.reader(io.StringIO(frame_csv(frame))))
    assert written == [
        ["x", "n", "t"],
        ["-1.5", "-7", "a"],
        ["0.3333333333333333", "0", "'-b"],
        ["", "2", ""],
    ]
    assert csv_text(["x"], [[np.float64(-0.1)], [np.int64(-3)], [True]]) == "x\n-0.1\n-3\nTrue\n"


def test_a_frame_survives_the_round_trip() -> None:
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(size=50)})
    back = list(csv.DictReader(io.StringIO(frame_csv(frame))))
    assert [float(line["x"]) for line in back] == frame["x"].tolist()


EARNED = Table(
    title="What was [bold]earned[/]",
    caption="In euros.",
    head=("strategy", "money earned", "range", "open"),
    rows=(
        (
            TableCell("law", note="learns"),
            TableCell("1,234.50", "6.70", style="best"),
            "1 to 2,000",
            "",
        ),
        (TableCell("own bids", note="nearly all lost", mark="!"), "5.00", "4 to 6", "9 %"),
        (TableCell("others", mark="best"), "4.00", "", ""),
    ),
    groups=group_starts(["Learners", "Others", "Others"]),
    strong=frozenset({0}),
    brief=frozenset({"open"}),
)


@pytest.mark.parametrize("width", [44, 70])
def test_a_terminal_shows_whole_numbers_and_no_notes(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show(EARNED)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["What", "was", "[bold]earned[/]"]
    assert lines[2] == ["strategy", "money", "earned", "range"]
    assert lines[4:6] == [["law", "1,234.50", "±", "6.70", "1", "to", "2,000"], []]
    assert lines[6] == ["own", "bids", "(!)", "5.00", "4", "to", "6"]
    assert lines[7] == ["others", "(best)", "4.00"]
    assert " ".join(lines[9]) == "In euros. (!) nearly all lost"


def test_a_narrow_terminal_breaks_ranges_between_their_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    show(EARNED)
    text = capsys.readouterr().out
    assert all(word in text.split() for word in ("1,234.50", "2,000", "range"))
    assert max(map(len, text.splitlines())) <= 40


def test_documents_show_all_columns_and_notes_where_asked() -> None:
    rows = markdown(EARNED.with_notes()).splitlines()[-3:]
    assert rows[0] == "| law | **1,234.50 ± 6.70** | 1 to 2,000 |  | learns |"
    assert rows[1] == "| own bids | 5.00 | 4 to 6 | 9 % | nearly all lost |"
    assert r"law & \textbf{1234.50 (6.70)} & 1 to 2000 &  \\" in latex(EARNED)
    assert EARNED.without("open").head == ("strategy", "money earned", "range")
