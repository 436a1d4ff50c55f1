import csv
import gzip
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crossbandit.errors import LogError
from crossbandit.replay.log import Fault, Log, open_log

GOOD = "timestamp,value,price\n1,2.0,1.5\n2,3,2\n"


def written(tmp_path: Path, text: str | bytes, name: str = "log.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def auctions(log: Log, size: int = 64) -> list[tuple[float, float]]:
    return [
        pair
        for chunk in log.chunks(size)
        for pair in zip(chunk.values.tolist(), chunk.prices.tolist(), strict=True)
    ]


BAD_LINES = """timestamp,value,price
1,1.0,2.0

2,abc,2
3,,1
4,5
5,1,2,3
6,-1,2
7,"3.5",2
"8
x",2,2
9, 4 ,2
10,nan,1
11,1,inf
12,1,-1
13,1e1,2
"""


def test_bad_lines_are_counted_and_named_by_their_lines(tmp_path: Path) -> None:
    log = open_log(written(tmp_path, BAD_LINES))
    survey = log.survey()
    assert auctions(log) == [(1, 2), (3.5, 2), (2, 2), (4, 2), (10, 2)]
    assert (survey.auctions, survey.bad) == (5, 8)
    assert (survey.highest_value, survey.highest_price) == (10, 2)
    assert survey.faults == (
        Fault(4, "the value is not a number: 'abc'"),
        Fault(5, "no value"),
        Fault(6, "no highest competing bid"),
        Fault(7, "more columns than the first line has: '2'"),
        Fault(8, "the value is below 0: '-1'"),
        Fault(13, "the value is not a number: 'nan'"),
        Fault(14, "the highest competing bid is not a number: 'inf'"),
        Fault(15, "the highest competing bid is below 0: '-1'"),
    )


def test_values_above_the_highest_are_bad(tmp_path: Path) -> None:
    log = open_log(written(tmp_path, GOOD), highest_value=2.5)
    assert log.survey().faults == (Fault(3, "the value is above 2.5: '3'"),)
    assert auctions(log) == [(2, 1.5)]


def test_only_the_first_ten_bad_lines_are_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "value,price\n" + "1,2\nx,y\n" * 30)
    survey = open_log(path).survey()
    assert survey.bad == 30
    assert [fault.line for fault in survey.faults] == list(range(3, 23, 2))


def test_bytes_that_are_no_text_are_a_bad_line_and_no_more(tmp_path: Path) -> None:
    rubbish = b'3,\xff\xfe\xc3,2\n"4\n4",1,1\n\n\x80\x99,5,5\n5,1,\x80\n6,x,1\n7,1,1\n'
    log = open_log(written(tmp_path, GOOD.encode() + rubbish))
    survey = log.survey()
    assert survey.bad == 3
    assert survey.faults == (
        Fault(4, "the value or the highest competing bid is not text in UTF-8"),
        Fault(9, "the value or the highest competing bid is not text in UTF-8"),
        Fault(10, "the value is not a number: 'x'"),
    )
    assert auctions(log) == [(2, 1.5), (3, 2), (1, 1), (5, 5), (1, 1)]


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_separators_are_found(tmp_path: Path, separator: str) -> None:
    log = open_log(written(tmp_path, GOOD.replace(",", separator)))
    assert auctions(log) == [(2, 1.5), (3, 2)]


def test_columns_without_header_go_by_number(tmp_path: Path) -> None:
    path = written(tmp_path, "\n 7  2.5\t1\n\n7 3 2\n7 4\n7 4 5 6\n  7 1   1  \n", "log.txt")
    log = open_log(path, value_column="2", price_column=3)
    assert auctions(log) == [(2.5, 1), (3, 2), (1, 1)]
    assert log.survey().faults == (
        Fault(5, "no highest competing bid"),
        Fault(6, "more columns than the first line has: '5'"),
    )
    assert "column number 2" in log.columns


def test_line_ends_marks_and_spaces_of_other_systems(tmp_path: Path) -> None:
    text = "\ufeffValue ,Min bid to win\r\n2,1\r\n3,2\r\n"
    log = open_log(written(tmp_path, text))
    assert auctions(log) == [(2, 1), (3, 2)]
    assert "(guessed by name)" in log.columns


def test_a_quotation_mark_that_is_not_closed_costs_all_lines_it_takes(tmp_path: Path) -> None:
    log = open_log(written(tmp_path, GOOD + '3,"1,1\n' + "4,1,1\n" * 500))
    survey = log.survey()
    assert (survey.auctions, survey.bad) == (2, 501)
    assert survey.faults == (Fault(4, "quoted up to line 504, and no highest competing bid", 501),)
    endless = written(tmp_path, GOOD + '3,"1,1\n' + "4,1,1\n" * 50_000, "endless.csv")
    with pytest.raises(LogError, match=r"from line 4 on.*quotation mark that is not closed"):
        open_log(endless).survey()


def test_compressed_text(tmp_path: Path) -> None:
    log = open_log(written(tmp_path, gzip.compress(BAD_LINES.encode()), "log.csv.gz"))
    assert len(auctions(log)) == 5
    assert log.survey().faults[0].line == 4


def test_parquet_with_any_kind_of_number(tmp_path: Path) -> None:
    path = tmp_path / "a log's.parquet"
    duckdb.connect().sql(
        'SELECT i::DECIMAL(9, 2) AS "my ""value""", CASE i WHEN 2 THEN \'x\' ELSE \'1.5\' END '
        "AS price FROM range(4) t(i)"
    ).write_parquet(str(path))
    log = open_log(path, value_column='my "value"')
    assert auctions(log) == [(0, 1.5), (1, 1.5), (3, 1.5)]
    assert log.survey().faults == (Fault(3, "the highest competing bid is not a number: 'x'"),)


@pytest.mark.parametrize("size", [2, 6, 1000, 100_000])
def test_chunks_are_of_one_size_and_in_order(tmp_path: Path, size: int) -> None:
    numbers = np.arange(40_000)
    lines = "".join(f"{n},{'x' if n % 7 == 0 else n}\n" for n in numbers)
    log = open_log(written(tmp_path, "value,price\n" + lines))
    chunks = list(log.chunks(size))
    assert all(len(chunk.values) == size for chunk in chunks[:-1])
    expected = numbers[numbers % 7 != 0]
    np.testing.assert_array_equal(np.concatenate([chunk.prices for chunk in chunks]), expected)


def test_a_limit_counts_lines(tmp_path: Path) -> None:
    log = open_log(written(tmp_path, BAD_LINES), limit=7)
    survey = log.survey()
    assert (survey.auctions, survey.bad) == (2, 5)
    assert auctions(log) == [(1, 2), (3.5, 2)]


anything = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=8)
numbers = st.floats(0, 1e9).map(repr)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(anything, numbers, anything, numbers), min_size=1, max_size=12))
def test_whatever_stands_in_other_columns(
    tmp_path: Path, rows: list[tuple[str, str, str, str]]
) -> None:
    path = tmp_path / "log.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(["note", "value", "more", "price"])
        writer.writerows(rows)
    log = open_log(path)
    assert auctions(log) == [(float(value), float(price)) for _, value, _, price in rows]
    assert log.survey().bad == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n  \n", "is empty"),
        ("value,price\n", "nothing but a header"),
        (b"\x00\x01\x02" * 50, "neither text nor Parquet"),
        (b"PAR1 and nothing else", "cannot be read"),
        (b"\x1f\x8b and nothing else", "cannot be read"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-9], "cannot be read"),
        ("worth,price\n1,2\n", "Which column of .* holds the value"),
        ("value,bid\n1,2\n", "Which column of .* holds the highest competing bid"),
        ("1,2\n3,4\n", "no header; its columns are numbered from 1 to 2"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(LogError, match=message):
        open_log(path).survey()


def test_a_missing_file_a_folder_and_a_pattern_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="There is no log"):
        open_log(tmp_path / "none.csv")
    with pytest.raises(LogError, match="not a file"):
        open_log(tmp_path)
    with pytest.raises(LogError, match="may not contain"):
        open_log(tmp_path / "*.csv")


def test_a_misspelt_column_is_told_its_neighbours(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    with pytest.raises(LogError, match=r"no column 'valu'. Did you mean 'value'\?.*'timestamp'"):
        open_log(path, value_column="valu")
    with pytest.raises(LogError, match="no column '4'"):
        open_log(path, value_column="4")
    with pytest.raises(LogError, match="cannot both be column 'price'"):
        open_log(path, value_column=3)
