import csv
import io
import math

import numpy as np
import pandas as pd
import pytest

from crossbandit.report import Table, csv_text, frame_csv, latex, markdown

TABLE = Table(
    title="Title_1",
    caption="A caption.",
    head=("x", "a", "b"),
    rows=(("1,000", "2.00", "3.00"), ("2,000", "5.00", "4.00")),
    numeric=True,
    best=frozenset({(0, 1), (1, 2)}),
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
