import csv
import gzip
import threading
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.logs import AuctionLog, Fault, make_log
from crossbandit.logs.log import find_source
from crossbandit.logs.survey import line_numbers, steps_back_in_time, survey_log

GOOD = "timestamp,value,competing_bid\n1,2.0,1.5\n2,3,2\n"


def written(tmp_path: Path, text: str | bytes, name: str = "log.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def auctions(log: AuctionLog, size: int = 64) -> list[tuple[float, float]]:
    return [
        pair
        for chunk in log.chunks(size)
        for pair in zip(chunk.values.tolist(), chunk.prices.tolist(), strict=True)
    ]


BAD_LINES = """timestamp,value,competing_bid
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
    log = AuctionLog(written(tmp_path, BAD_LINES))
    survey = survey_log(log)
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


COMMAS = """value;competing_bid;own
1,5;2;1
1.234,50;2;1
2;,5;1
2;1;-0,25
2;1;x,5
2;1;1
"""


def test_commas_in_numbers_are_named(tmp_path: Path) -> None:
    survey = survey_log(AuctionLog(written(tmp_path, COMMAS), columns={"bid": "own"}))
    assert survey.faults == (
        Fault(2, "the value is written with a comma: '1,5'"),
        Fault(3, "the value is written with a comma: '1.234,50'"),
        Fault(4, "the highest competing bid is written with a comma: ',5'"),
        Fault(5, "the own bid is written with a comma: '-0,25'"),
        Fault(6, "the own bid is not a number: 'x,5'"),
    )
    assert next(iter(survey.reasons.items())) == ("the value is written with a comma", 2)
    assert survey.main_reason == ""
    assert survey.lines == 6


def test_values_above_the_highest_are_bad(tmp_path: Path) -> None:
    log = AuctionLog(written(tmp_path, GOOD), highest_value=2.5)
    assert survey_log(log).faults == (Fault(3, "the value is above 2.5: '3'"),)
    assert auctions(log) == [(2, 1.5)]


def test_only_the_first_ten_bad_lines_are_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "value,competing_bid\n" + "1,2\nx,y\n" * 30)
    survey = survey_log(AuctionLog(path))
    assert survey.bad == 30
    assert [fault.line for fault in survey.faults] == list(range(3, 23, 2))


def test_bytes_that_are_no_text_are_a_bad_line_and_no_more(tmp_path: Path) -> None:
    rubbish = b'3,\xff\xfe\xc3,2\n"4\n4",1,1\n\n\x80\x99,5,5\n5,1,\x80\n6,x,1\n7,1,1\n'
    log = AuctionLog(written(tmp_path, GOOD.encode() + rubbish))
    survey = survey_log(log)
    assert survey.bad == 3
    assert survey.faults == (
        Fault(4, "the value or the highest competing bid is not text in UTF-8"),
        Fault(9, "the value or the highest competing bid is not text in UTF-8"),
        Fault(10, "the value is not a number: 'x'"),
    )
    assert auctions(log) == [(2, 1.5), (3, 2), (1, 1), (5, 5), (1, 1)]


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_separators_are_found(tmp_path: Path, separator: str) -> None:
    log = AuctionLog(written(tmp_path, GOOD.replace(",", separator)))
    assert auctions(log) == [(2, 1.5), (3, 2)]


FOUR = [(2.0, 1.5, 1.0, 0.0), (3.0, 2.0, 2.5, 0.5), (4.0, 0.0, 3.0, 2.0)]


def fours(tmp_path: Path, kind: str) -> Any:
    frame = pd.DataFrame([("x", *row) for row in FOUR], columns=["note", "v", "p", "b", "r"])
    match kind:
        case "frame":
            return frame
        case "parquet":
            with duckdb.connect() as connection:
                connection.from_df(frame).write_parquet(str(tmp_path / kind))
        case "spaces":
            frame.drop(columns="note").to_csv(tmp_path / kind, sep=" ", index=False)
        case _:
            frame.to_csv(tmp_path / kind, index=False)
    return tmp_path / kind


@pytest.mark.parametrize("kind", ["text", "spaces", "parquet", "frame"])
def test_own_bids_and_reserves_are_read_where_they_are_asked_for(tmp_path: Path, kind: str) -> None:
    source = fours(tmp_path, kind)
    log = AuctionLog(source, columns={"value": "v", "price": "p", "bid": "b", "reserve": "r"})
    (chunk,) = log.chunks(64)
    np.testing.assert_array_equal(np.column_stack(list(chunk[:4])), FOUR)  # type: ignore[arg-type]
    assert "Your own bid is column 'b'. The reserve is column 'r'." in log.description
    (plain,) = AuctionLog(source, columns={"value": "v", "price": "p"}).chunks(64)
    assert (plain.bids, plain.reserves) == (None, None)


def test_own_bids_and_reserves_are_cut_into_chunks_like_the_rest() -> None:
    numbers = np.arange(40_000.0)
    frame = pd.DataFrame(dict.fromkeys(("value", "market_price", "b", "r"), numbers))
    chunks = list(AuctionLog(frame, columns={"bid": "b", "reserve": "r"}).chunks(1_000))
    assert len(chunks) == 40
    for i, chunk in enumerate(chunks):
        for column in chunk[:4]:
            np.testing.assert_array_equal(column, numbers[1_000 * i : 1_000 * (i + 1)])


def test_a_missing_bid_or_reserve_is_a_bad_line(tmp_path: Path) -> None:
    text = "value,competing_bid,b,r\n1,1,,1\n1,1,1\n1,1,-1,1\n1,1,1,x\n1,1,1,1\n"
    log = AuctionLog(written(tmp_path, text), columns={"bid": "b", "reserve": "r"})
    assert survey_log(log).faults == (
        Fault(2, "no own bid"),
        Fault(3, "no reserve"),
        Fault(4, "the own bid is below 0: '-1'"),
        Fault(5, "the reserve is not a number: 'x'"),
    )


@pytest.mark.parametrize("dtype", [float, "Float64", "category", object, str])
def test_a_data_frame_may_be_reversed(dtype: Any) -> None:
    frame = pd.DataFrame({"value": [3.0, 4.0, 5.0], "market_price": [1.0, 2.0, 4.0]}).astype(dtype)
    found = AuctionLog(frame.iloc[::-1]).read()
    assert found.values.tolist() == [5, 4, 3]
    assert found.prices.tolist() == [4, 2, 1]


def test_a_data_frame_is_read_as_it_is_and_left_alone() -> None:
    frame = pd.DataFrame(
        {
            "value": [1.0, np.nan, 3.0],
            "highest competing bid": [2, 1, 0],
            7: [object(), None, {}],
        },
        index=[5, 5, 0],
    )
    before = frame.copy()
    log = AuctionLog(frame)
    assert auctions(log) == [(1, 2), (3, 0)]
    assert survey_log(log).faults == (Fault(2, "no value"),)
    pd.testing.assert_frame_equal(frame, before)
    with pytest.raises(LogError, match=r"the DataFrame has no column 'x'.*'7'"):
        AuctionLog(frame, columns={"value": "x"})


@pytest.mark.parametrize("log", [3, None, [1.0, 2.0]])
def test_what_is_neither_a_file_nor_a_data_frame_is_refused(log: Any) -> None:
    with pytest.raises(InvalidParameterError, match="'data' parameter of AuctionLog"):
        AuctionLog(log)


def test_a_column_called_price_is_not_taken_unasked(tmp_path: Path) -> None:
    path = written(tmp_path, "ts,value,price,won\n1,2,1,0\n2,2,1,1\n")
    with pytest.raises(LogError) as refused:
        AuctionLog(path)
    message = str(refused.value)
    assert "holds the highest competing bid? Name it with --price-column" in message
    assert "the highest bid of the others, also where you won; not what you bid or paid" in message
    assert message.endswith("The columns are: 'ts', 'value', 'price', 'won'.")
    assert auctions(AuctionLog(path, columns={"price": "price"})) == [(2, 1), (2, 1)]


def test_what_was_guessed_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    both = "The value is column 'value', the highest competing bid column 'competing_bid'"
    assert AuctionLog(path).description == f"{both} (guessed by name)."
    assert AuctionLog(path, columns={"value": "value"}).description == f"{both} (guessed by name)."
    named = AuctionLog(path, columns={"price": "competing_bid"}).description
    assert named == both.replace("'value',", "'value' (guessed by name),") + "."
    assert AuctionLog(path, columns={"value": 2, "price": 3}).description == f"{both}."


def test_signs_of_other_prices_are_counted() -> None:
    values = np.random.default_rng(0).uniform(1, 10, 500)
    prices = np.where(np.arange(500) < 100, np.round(0.7 * values, 2), 11.0)
    prices[100:130] = 0.0
    frame = pd.DataFrame({"value": values, "market_price": prices, "b": np.round(0.7 * values, 2)})
    survey = survey_log(AuctionLog(frame, columns={"bid": "b"}))
    assert (survey.zero_prices, survey.own_prices) == (30, 100)
    share = np.round(prices[:100] / values[:100], 3)
    ratio, count = survey.main_ratio
    assert ratio == 0.7
    assert count == np.count_nonzero(share == 0.7) > 25
    assert survey_log(AuctionLog(frame)).own_prices == 0


def test_a_name_that_two_columns_have_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "value,market_price,Value,x,x\n1,2,3,4,5\n")
    with pytest.raises(LogError, match=r"more than one column 'Value' or 'value'\..*: 1 or 3\."):
        AuctionLog(path)
    with pytest.raises(LogError, match=r"more than one column 'x'.*column: 4 or 5\."):
        AuctionLog(path, columns={"value": "x"})
    assert auctions(AuctionLog(path, columns={"value": 3})) == [(3, 2)]
    assert auctions(AuctionLog(path, columns={"value": "value"})) == [(1, 2)]


@pytest.mark.parametrize("name", ["2024", "nan", "inf", "1e3"])
def test_a_header_may_hold_a_number(tmp_path: Path, name: str) -> None:
    log = AuctionLog(written(tmp_path, f"{name},Market-price,value\n1,2,3\n"))
    assert auctions(log) == [(3, 2)]


UNSORTED = "2026-01-05T10:00:00.5,1,1\n2026-01-05T09:00:00,1,1\n,1,1\nx,1,1\n"


@pytest.mark.parametrize(
    ("lines", "backward"),
    [
        (UNSORTED, 1),
        ("9,1,1\n10,1,1\n10,1,1\n", 0),
        ("3,1,1\n2,1,1\n1,1,1\n", 2),
        ("31/1/2026,1,1\n1/2/2026,1,1\n", 0),
    ],
)
def test_steps_back_in_time_are_counted(tmp_path: Path, lines: str, backward: int) -> None:
    path = written(tmp_path, "Timestamp,value,market_price\n" + lines)
    assert steps_back_in_time(AuctionLog(path)) == ("'Timestamp'", backward)
    assert steps_back_in_time(AuctionLog(path, limit=1)).steps == 0
    frame = pd.read_csv(path)
    assert steps_back_in_time(AuctionLog(frame)).steps == backward
    renamed = AuctionLog(frame.rename(columns={"Timestamp": "when"}), columns={"time": "when"})
    assert steps_back_in_time(renamed) == ("'when'", backward)


def test_columns_without_header_go_by_number(tmp_path: Path) -> None:
    path = written(tmp_path, "\n 7  2.5\t1\n\n7 3 2\n7 4\n7 4 5 6\n  7 1   1  \n", "log.txt")
    log = AuctionLog(path, columns={"value": "2", "price": 3})
    assert auctions(log) == [(2.5, 1), (3, 2), (1, 1)]
    assert survey_log(log).faults == (
        Fault(5, "no highest competing bid"),
        Fault(6, "more columns than the first line has: '5'"),
    )
    assert "column number 2" in log.description


def test_line_ends_marks_and_spaces_of_other_systems(tmp_path: Path) -> None:
    text = "\ufeffValue ,Min bid to win\r\n2,1\r\n3,2\r\n"
    log = AuctionLog(written(tmp_path, text))
    assert auctions(log) == [(2, 1), (3, 2)]
    assert "(guessed by name)" in log.description


def test_a_quotation_mark_that_is_not_closed_costs_all_lines_it_takes(tmp_path: Path) -> None:
    log = AuctionLog(written(tmp_path, GOOD + '3,"1,1\n' + "4,1,1\n" * 500))
    survey = survey_log(log)
    assert (survey.auctions, survey.bad) == (2, 501)
    assert survey.faults == (Fault(4, "quoted up to line 504, and no highest competing bid", 501),)
    long = written(tmp_path, GOOD + '3,"1,1\n' + "4,1,1\n" * 50_000, "long.csv")
    assert survey_log(AuctionLog(long)).bad == 50_001
    endless = written(tmp_path, GOOD + '3,"1,1\n' + "4,1,1\n" * 400_000, "endless.csv")
    survey = survey_log(AuctionLog(endless))
    assert survey.bad == 400_001
    assert survey.faults == (
        Fault(4, "quoted up to line 400004, and more than 2,000,000 bytes", 400_001),
    )


@pytest.mark.parametrize("payload", ["x" * 200_000, '"{' + '""a"": 1, ' * 20_000 + '\n}"'])
def test_a_long_field_elsewhere_harms_no_line(tmp_path: Path, payload: str) -> None:
    lines = f"{payload},2,1\n4,x,1\n5,2,1\n"
    survey = survey_log(AuctionLog(written(tmp_path, GOOD + lines)))
    assert (survey.auctions, survey.bad) == (4, 1)
    line = 5 + payload.count("\n")
    assert survey.faults == (Fault(line, "the value is not a number: 'x'"),)


def test_a_row_whose_line_is_not_found_is_placed_near_one(tmp_path: Path) -> None:
    survey = survey_log(AuctionLog(written(tmp_path, GOOD + ' ","q\nq"a"b\n')))
    assert survey.bad == 3
    assert survey.faults == (
        Fault(4, "quoted up to line 5, and no value", 2),
        Fault(5, "near this line, no value"),
    )


def test_a_line_beyond_all_bounds_is_named_as_such(tmp_path: Path) -> None:
    survey = survey_log(AuctionLog(written(tmp_path, GOOD + "x" * 3_000_000 + ",1,1\n4,1,1\n")))
    assert (survey.auctions, survey.bad) == (3, 1)
    assert survey.faults == (Fault(4, "more than 2,000,000 bytes"),)


@pytest.mark.parametrize(
    "record",
    [
        '"a\nb",1,1\n',
        '"a""\n""b",1,1\n',
        '"a"b\n,1,1\n',
        'a"b,1,1\n',
        '"",1,1\n',
        '""""\n,1,1\n',
        '"a\r\nb",1,"1"\r\n',
        '1,"1",1\r',
        '\n1,1,"1\n"\n',
    ],
)
def test_records_are_those_of_the_csv_module(tmp_path: Path, record: str) -> None:
    path = written(tmp_path, GOOD + 3 * record)
    with path.open(newline="") as file:
        reader = csv.reader(file)
        records = [(reader.line_num, row) for row in reader]
    numbers = [number for number, row in enumerate(records[1:], 1) if row[1]]
    found = line_numbers(find_source(path).files[0], range(1, len(numbers) + 1), [])[0]
    assert [span[-1] for span in found.values()] == [records[number][0] for number in numbers]


def test_compressed_text(tmp_path: Path) -> None:
    log = AuctionLog(written(tmp_path, gzip.compress(BAD_LINES.encode()), "log.csv.gz"))
    assert len(auctions(log)) == 5
    assert survey_log(log).faults[0].line == 4


def test_one_trailing_separator_is_no_extra_field_and_more_are(tmp_path: Path) -> None:
    lines = "3.5,0.6\n3.5,0.6,\n3.5,0.6,,99\n3.5,0.6,,\n3.5,0.6,,,,,9\n3.5,0.6,9\n1,2\n"
    log = AuctionLog(written(tmp_path, "value,competing_bid\n" + lines))
    survey = survey_log(log)
    assert auctions(log) == [(3.5, 0.6), (3.5, 0.6), (1, 2)]
    assert [fault.line for fault in survey.faults] == [4, 5, 6, 7]
    assert {fault.reason for fault in survey.faults} == {
        "more columns than the first line has: '0.6'"
    }


LONG = b"value,competing_bid\n" + b"".join(b"%d,%d\n" % (i, i * 7_919) for i in range(30_000))


@pytest.mark.parametrize(
    "place",
    [
        30,  # the beginning: zlib cannot go on
        -50_000,  # the middle: other numbers come out
        -6,  # the checksum
        -2,  # the length
    ],
)
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, place: int) -> None:
    packed = bytearray(gzip.compress(LONG, mtime=0))
    packed[place] ^= 0x55
    with pytest.raises(LogError, match=r"log\.csv is a damaged gzip file: "):
        AuctionLog(written(tmp_path, bytes(packed)))


@pytest.mark.parametrize("kept", [0.5, -4])
def test_a_gzip_file_that_was_cut_off_is_refused(tmp_path: Path, kept: float) -> None:
    packed = gzip.compress(LONG, mtime=0)
    cut = packed[: int(kept * len(packed)) if kept > 0 else int(kept)]
    with pytest.raises(LogError, match="is a damaged gzip file: Compressed file ended"):
        AuctionLog(written(tmp_path, cut))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_name_of_a_folder_is_no_column(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "value=7" / "market_price=1"
    path = make_log(folder / f"log.{suffix}", 50, laws="known")
    other = make_log(tmp_path / f"log.{suffix}", 50, laws="known")
    assert auctions(AuctionLog(path)) == auctions(AuctionLog(other))
    assert AuctionLog(path).source.columns.names == AuctionLog(other).source.columns.names


def test_nothing_is_spilled_into_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spill))
    monkeypatch.chdir(tmp_path)
    with find_source(written(tmp_path, GOOD)).connect() as connection:
        (folder,) = connection.execute("SELECT current_setting('temp_directory')").fetchall()[0]
        assert Path(folder).parent == spill
        # More than fits into memory: DuckDB has to write it somewhere.
        connection.execute("SET memory_limit = '16MB'")
        query = "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY hash(i)) r, i FROM range("
        assert connection.execute(query + "800_000) t(i))").fetchall() == [(800_000,)]
    assert list(spill.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "spill"]


def test_an_interrupted_query_is_an_interrupt(tmp_path: Path) -> None:
    def interrupted() -> None:
        with find_source(written(tmp_path, GOOD)).connect() as connection:
            threading.Timer(0.2, connection.interrupt).start()
            connection.execute("SELECT sum(hash(i)) FROM range(100_000_000_000) t(i)").fetchall()

    with pytest.raises(KeyboardInterrupt):
        interrupted()


@pytest.mark.parametrize("kind", ["text", "parquet", "frame"])
def test_case_spaces_and_hyphens_do_not_matter_in_names(tmp_path: Path, kind: str) -> None:
    names = {"note": "Note", "v": "Our Value", "p": "Min-Bid", "b": "BID", "r": "Floor"}
    frame = fours(tmp_path, "frame").rename(columns=names)
    data: Path | pd.DataFrame = tmp_path / kind
    match kind:
        case "frame":
            data = frame
        case "parquet":
            with duckdb.connect() as connection:
                connection.from_df(frame).write_parquet(str(data))
        case _:
            frame.to_csv(data, index=False)
    columns = {"value": "our_value", "price": "MIN BID", "bid": "bid", "reserve": "FLOOR"}
    (chunk,) = AuctionLog(data, columns=columns).chunks(64)
    np.testing.assert_array_equal(np.column_stack(list(chunk[:4])), FOUR)  # type: ignore[arg-type]


def test_a_name_in_its_own_case_comes_before_others(tmp_path: Path) -> None:
    path = written(tmp_path, "P,p,value\n1,2,3\n")
    assert auctions(AuctionLog(path, columns={"price": "p"})) == [(3, 2)]
    assert auctions(AuctionLog(path, columns={"price": "P"})) == [(3, 1)]
    path = written(tmp_path, "Pp,pP,value\n1,2,3\n")
    with pytest.raises(LogError, match=r"more than one column 'Pp' or 'pP'.*column: 1 or 2\."):
        AuctionLog(path, columns={"price": "PP"})


def test_parquet_with_any_kind_of_number(tmp_path: Path) -> None:
    path = tmp_path / "a log's.parquet"
    with duckdb.connect() as connection:
        connection.sql(
            'SELECT i::DECIMAL(9, 2) AS "my ""value""", CASE i WHEN 2 THEN \'x\' ELSE \'1.5\' END '
            "AS market_price FROM range(4) t(i)"
        ).write_parquet(str(path))
    log = AuctionLog(path, columns={"value": 'my "value"'})
    assert auctions(log) == [(0, 1.5), (1, 1.5), (3, 1.5)]
    assert survey_log(log).faults == (Fault(3, "the highest competing bid is not a number: 'x'"),)


def test_parquet_with_moments_in_place_of_numbers(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.sql(
            "SELECT TIMESTAMPTZ '2026-01-05 00:00:00+00' AS value, 1.5 AS market_price "
        ).write_parquet(str(path))
    (fault,) = survey_log(AuctionLog(path)).faults
    assert fault.reason.startswith("the value is not a number: '2026-01-05 ")


@pytest.mark.parametrize("size", [2, 6, 1000, 100_000])
def test_chunks_are_of_one_size_and_in_order(tmp_path: Path, size: int) -> None:
    numbers = np.arange(40_000)
    lines = "".join(f"{n},{'x' if n % 7 == 0 else n}\n" for n in numbers)
    log = AuctionLog(written(tmp_path, "value,competing_bid\n" + lines))
    chunks = list(log.chunks(size))
    assert all(len(chunk.values) == size for chunk in chunks[:-1])
    expected = numbers[numbers % 7 != 0]
    np.testing.assert_array_equal(np.concatenate([chunk.prices for chunk in chunks]), expected)


def test_a_limit_counts_lines(tmp_path: Path) -> None:
    log = AuctionLog(written(tmp_path, BAD_LINES), limit=7)
    survey = survey_log(log)
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
        writer.writerow(["note", "value", "more", "market_price"])
        writer.writerows(rows)
    log = AuctionLog(path)
    assert auctions(log) == [(float(value), float(price)) for _, value, _, price in rows]
    assert survey_log(log).bad == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n  \n", "is empty"),
        ("value,competing_bid\n", "only a header"),
        (b"\x00\x01\x02" * 50, "neither text nor Parquet"),
        (b"PAR1 and nothing else", "cannot be read"),
        (b"\x1f\x8b and nothing else", "damaged gzip"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-9], "damaged gzip"),
        ("worth,competing_bid\n1,2\n", "Which column of .* holds the value"),
        ("value,price\n1,2\n", "Which column of .* holds the highest competing bid"),
        ("value,bid\n1,2\n", "Which column of .* holds the highest competing bid"),
        ("1,2\n3,4\n", "no header; its columns are numbered from 1 to 2"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(LogError, match=message):
        survey_log(AuctionLog(path))


def test_a_missing_file_a_folder_and_a_pattern_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="There is no log"):
        AuctionLog(tmp_path / "none.csv")
    with pytest.raises(LogError, match="a folder without a log"):
        AuctionLog(tmp_path)
    with pytest.raises(LogError, match="No file matches"):
        AuctionLog(tmp_path / "*.csv")
    with pytest.raises(LogError, match="may not contain"):
        AuctionLog(written(tmp_path, GOOD, "[1].csv"))


def test_a_misspelt_column_is_told_its_neighbours(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    with pytest.raises(LogError, match=r"no column 'valu'. Did you mean 'value'\?.*'timestamp'"):
        AuctionLog(path, columns={"value": "valu"})
    with pytest.raises(LogError, match="no column '4'"):
        AuctionLog(path, columns={"value": "4"})
    with pytest.raises(LogError, match="cannot both be column 'competing_bid'"):
        AuctionLog(path, columns={"value": 3})
    with pytest.raises(LogError, match="bid and the own bid cannot both be column 'competing_bid'"):
        AuctionLog(path, columns={"bid": "competing_bid"})


def test_lines_that_are_too_long_for_the_usual_memory_get_more(tmp_path: Path) -> None:
    payload = "x" * 15_000
    lines = "".join(f"{3 + i % 5},1,{payload}\n" for i in range(3_000))
    path = written(tmp_path, "value,highest_competing_bid,request\n" + lines)
    log = AuctionLog(path)
    usual = log.source.megabytes
    assert survey_log(log).auctions == 3_000
    assert log.source.megabytes > usual
    assert sum(len(chunk.values) for chunk in log.chunks(1_000)) == 3_000
    assert AuctionLog(path, sort_by="value").read().values.tolist() == sorted(log.read().values)
