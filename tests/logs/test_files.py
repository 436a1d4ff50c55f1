"""Many files, folders, patterns, partitions, JSON lines, the standard input, data frames, order."""

import gzip
import io
import json
import pickle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.logs import AuctionLog, Fault, make_log
from crossbandit.logs import survey as survey_module
from crossbandit.logs.files import WHITE_SPACE, Source
from crossbandit.logs.survey import find_repeats, steps_back_in_time, survey_log

HEADER = "value,competing_bid\n"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def values(log: AuctionLog) -> list[float]:
    return [value for chunk in log.chunks(64) for value in chunk.values.tolist()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "logs"
    written(root / "day=1" / "part-2.csv", HEADER + "3,1\n4,1\n")
    written(root / "day=1" / "part-10.csv.gz", HEADER + "5,1\n\nx,1\n6,1\n")
    written(root / "day=2" / "part-1.csv", "competing_bid;other;VALUE\n1;0;7\n1;0;8\n")
    written(root / "_temporary" / "part-0.csv", HEADER + "9,9\n")
    written(root / "readme.md", "no log")
    return root


def test_a_folder_is_read_in_the_order_of_names(folder: Path) -> None:
    log = AuctionLog(folder)
    assert values(log) == [3, 4, 5, 6, 7, 8]
    survey = survey_log(log)
    place = str(folder / "day=1" / "part-10.csv.gz")
    assert survey.faults == (Fault(4, "the value is not a number: 'x'", file=place),)
    assert survey.faults[0].place == f"{place}, line 4"
    assert (survey.auctions, survey.bad) == (6, 1)


def test_a_pattern_and_a_list(folder: Path) -> None:
    assert values(AuctionLog(f"{folder}/*/part-1*")) == [5, 6, 7, 8]
    assert values(AuctionLog(str(folder / "**" / "part-2.csv"))) == [3, 4]
    paths = [folder / "day=2", folder / "day=1" / "part-2.csv"]
    assert values(AuctionLog(paths)) == [7, 8, 3, 4]


def test_a_limit_goes_over_files(folder: Path) -> None:
    log = AuctionLog(folder, limit=4)
    assert values(log) == [3, 4, 5]
    assert survey_log(log).bad == 1
    assert values(AuctionLog(folder, limit=5)) == [3, 4, 5, 6]
    bad = [written(folder / f"{name}.csv", HEADER + f"{name},1\n1,1\n") for name in "xy"]
    assert [fault.file for fault in survey_log(AuctionLog(bad, limit=2)).faults] == [str(bad[0])]


def test_partitions_are_columns_only_if_that_is_asked_for(folder: Path) -> None:
    found = AuctionLog(folder, classes=["day"], partitions=True).read()
    assert found.classes is not None
    assert found.classes[:, 0].tolist() == [0, 0, 0, 0, 1, 1]
    with pytest.raises(LogError, match="no column 'day'"):
        AuctionLog(folder, classes=["day"])
    with pytest.raises(LogError, match="not in a folder such as day=5"):
        AuctionLog(written(folder.parent / "log.csv", HEADER + "1,1\n"), partitions=True)


def test_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    one = written(tmp_path / "one.csv", HEADER + "1,1\n")
    other = written(tmp_path / "other.csv", "value,bid\n1,1\n")
    with pytest.raises(LogError, match=r"other\.csv has no column 'competing_bid', which other"):
        values(AuctionLog([one, other]))
    bare = written(tmp_path / "bare.csv", "1,1\n")
    with pytest.raises(LogError, match=r"bare\.csv has no header, but .*one\.csv has one"):
        AuctionLog([one, bare])
    wide = written(tmp_path / "wide.csv", "1,1,1\n")
    with pytest.raises(LogError, match=r"wide\.csv has 3 columns, but .*bare\.csv has 2"):
        AuctionLog([bare, wide])


def test_bytes_that_are_no_text_are_placed_in_their_file(tmp_path: Path) -> None:
    one = written(tmp_path / "one.csv", HEADER + "1,1\n")
    other = tmp_path / "other.csv"
    other.write_bytes(HEADER.encode() + b"2,2\n\xff,1\n3,1\n")
    log = AuctionLog([one, other])
    assert survey_log(log).faults == (
        Fault(3, "the value or the highest competing bid is not text in UTF-8", file=str(other)),
    )
    assert values(AuctionLog([one, other], sort_by="value")) == [1, 2, 3]
    assert survey_log(AuctionLog([one, other], sort_by="value")).faults == survey_log(log).faults


JSON = [
    {"Value": 3, "market price": "1.5", "device": {"type": "phone"}},
    {"Value": 4, "device": {"type": "tv"}, "market price": 2, "new": [1, 2]},
    {"Value": None, "market price": 2},
    {"Value": "x", "market price": 2},
]


@pytest.mark.parametrize("name", ["log.jsonl", "log.json.gz"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    text = "\ufeff" + "\r\n".join([*map(json.dumps, JSON), "", "[1, 2]", '{"Value": 5, "mark'])
    log = AuctionLog(written(tmp_path / name, text), classes=["device.type"])
    found = log.read()
    assert (found.values.tolist(), found.prices.tolist()) == ([3, 4], [1.5, 2])
    assert found.classes is not None
    assert found.classes[:, 0].tolist() == [0, 1]
    assert list(AuctionLog(tmp_path / name, classes=["TYPE"]).class_places) == ["device.type"]
    assert survey_log(log).faults == (
        Fault(3, "no value"),
        Fault(4, "the value is not a number: 'x'"),
        Fault(6, "no JSON object"),
        Fault(7, "no JSON object"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"value": 1}]', "is a list in JSON"),
        ("[\n{}]", "is a list in JSON"),
        ('{\n"value": 1}', "none of its first lines is an object"),
    ],
)
def test_json_that_is_no_log_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LogError, match=message):
        AuctionLog(written(tmp_path / "log.json", text))


def test_a_format_that_the_file_does_not_have_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", HEADER + "1,1\n")
    assert values(AuctionLog(path, format="csv")) == [1]
    with pytest.raises(LogError, match="not of the format 'jsonl', but of 'csv'"):
        AuctionLog(path, format="jsonl")
    path.write_bytes(b"\x28\xb5\x2f\xfd....")
    with pytest.raises(LogError, match="compressed with zstd"):
        AuctionLog(path)


def test_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input(io.StringIO):
        buffer = io.BytesIO((HEADER + "2,1\nx,1\n3,1\n").encode())

    monkeypatch.setattr("sys.stdin", Input())
    log = AuctionLog("-")
    assert values(log) == values(log) == [2, 3]
    assert survey_log(log).faults[0].line == 3
    scratch = log.source.scratch
    assert scratch is not None
    folder = scratch.folder
    assert folder.is_dir()
    del log, scratch
    assert not folder.exists()
    monkeypatch.setattr(Input, "isatty", lambda _: True)
    with pytest.raises(LogError, match="The standard input is a terminal"):
        AuctionLog("-")


class Exported:
    """A data frame of another library: all that is known of it is that it exports Arrow data."""

    def __init__(self, query: str) -> None:
        self.query = query

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        relation: Any = duckdb.sql(self.query)
        return relation.__arrow_c_stream__(requested_schema)


def test_a_data_frame_of_another_library() -> None:
    frame = Exported("SELECT i::DECIMAL(9, 2) AS Value, 1 AS market_price FROM range(1, 4) t(i)")
    log = AuctionLog.from_frame(frame)
    assert values(log) == values(log) == [1, 2, 3]
    with pytest.raises(LogError, match="the Exported has no column 'x'"):
        AuctionLog(frame, columns={"value": "x"})
    with pytest.raises(InvalidParameterError, match=r"'frame' parameter of from_frame"):
        AuctionLog.from_frame([1.0])


# ---------------------------------------------------------------------------------------- order


def test_sorting_keeps_the_places_of_bad_lines(tmp_path: Path) -> None:
    lines = "9,1,2026-01-02\n8,x,2026-01-01\n7,1,never\n6,1,2026-01-01\n5,1,2026-01-01T01:00\n"
    other = "competing_bid,when,value\n1,1767225600,4\n"
    paths = [
        written(tmp_path / "a.csv", "value,competing_bid,when\n" + lines),
        written(tmp_path / "b.csv", other),
    ]
    log = AuctionLog(paths, sort_by="when")
    assert values(log) == [6, 4, 5, 9]
    assert survey_log(log).faults == (
        Fault(3, "the highest competing bid is not a number: 'x'", file=str(paths[0])),
        Fault(4, "no time or number to sort by", file=str(paths[0])),
    )


@pytest.mark.parametrize("name", ["Timestamp", "t", "geschehen um"])
@pytest.mark.parametrize("kind", ["iso", "seconds", "milliseconds", "digits"])
def test_unsorted_times_are_noticed_whatever_they_are_called(name: str, kind: str) -> None:
    moments = pd.date_range("2026-01-05", periods=50, freq="h")
    seconds = moments.astype("datetime64[s]").astype("int64")
    times: Any = {
        "iso": moments.astype(str),
        "seconds": seconds,
        "milliseconds": 1000 * seconds,
        "digits": moments.strftime("%Y%m%d%H%M%S"),
    }[kind]
    frame = pd.DataFrame({"value": 1.0, "market_price": np.arange(50.0), "id": range(50)})
    frame[name] = times
    assert steps_back_in_time(AuctionLog(frame)) == (repr(name), 0)
    shuffled = frame.iloc[[*range(0, 50, 2), *range(1, 50, 2)]]
    assert steps_back_in_time(AuctionLog(shuffled)) == (repr(name), 1)
    log = AuctionLog(shuffled, sort_by=name)
    assert log.read().prices.tolist() == list(range(50))
    assert steps_back_in_time(log).steps == 0


def test_numbers_that_are_no_times_are_not_taken_for_times() -> None:
    frame = pd.DataFrame(
        {"value": 1.0, "market_price": 1.0, "id": [5, 3, 4], "day": ["b", "a", ""]}
    )
    assert steps_back_in_time(AuctionLog(frame)) == ("", 0)


TWICE = HEADER.replace("\n", ",auction,noted\n") + (
    "3,1,a,1\n4,1,b,1\n3,1,a,2\n5,1,c,1\n4,2,b,3\n6,1,,1\n3,1,a,1\n6,1,d,2\n"
)


def test_an_auction_with_an_id_counts_once(tmp_path: Path) -> None:
    """A line with the same id and entries is left out; one with other entries is bad."""
    path = written(tmp_path / "log.csv", TWICE)
    plain = AuctionLog(path)
    assert values(plain) == [3, 4, 3, 5, 4, 6, 3, 6]
    log = AuctionLog(path, columns={"id": "Auction"})
    assert values(log) == [3, 4, 5, 6]
    assert survey_log(log).faults == (
        Fault(6, "an earlier line has the same id and other entries"),
        Fault(7, "no id"),
    )
    said = "Lines that repeat an auction, with the same id, were not used: 2."
    assert log.remarks == (said,)
    assert log.description.endswith("(guessed by name). The id is column 'auction'.")
    latest = AuctionLog(path, columns={"id": "auction"}, sort_by="noted", limit=3)
    assert values(latest) == [3, 4, 5]
    frame = pd.read_csv(path, dtype={"auction": "str"})
    assert values(AuctionLog(frame, columns={"id": "auction"})) == [3, 4, 5, 6]
    with pytest.raises(LogError, match="has no column 'nothing'"):
        AuctionLog(path, columns={"id": "nothing"})


@pytest.mark.parametrize("compared", [10**6, 400])
@pytest.mark.parametrize("options", [{}, {"sort_by": "time"}, {"limit": 5_050}])
def test_lines_that_repeat_others_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: int, options: dict[str, Any]
) -> None:
    """50 of 5,050 lines. A long log is not compared as a whole, and the number is estimated."""
    monkeypatch.setattr(survey_module, "_COMPARED", compared)
    lines = [f"{i % 7 + 2},{i % 11 / 10},{i % 50},{i}" for i in range(5_000)]
    head = "value,competing_bid,site,time\n"
    path = written(tmp_path / "log.csv", head + "\n".join([*lines, *lines[:50]]))
    log = AuctionLog(path, **options)
    said = list(find_repeats(log, survey_log(log)))
    assert len(said) == 1
    if compared > 5_050:
        assert said[0].startswith("50 of the 5,050 lines have the entries of an earlier line")
    else:
        count = int(said[0].split()[1])
        assert 10 <= count <= 150
    assert "--id-column" in said[0]
    with_id = AuctionLog(path, columns={"id": "time"}, **options)
    assert not list(find_repeats(with_id, survey_log(with_id)))


def test_lines_that_are_mostly_alike_say_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", HEADER + "3,1\n4,1\n" * 50)
    log = AuctionLog(path)
    assert not list(find_repeats(log, survey_log(log)))


def test_a_log_is_split_in_order_and_whole(tmp_path: Path) -> None:
    path = make_log(tmp_path / "log.csv", 500, sites=4)
    text = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join([*text[:7], "rubbish,x,1,site-1\n", *text[7:], "2026,1\n", "2026,1,1\n"])
    )
    frame = pd.read_csv(written(tmp_path / "good.csv", "".join(text)))
    whole = AuctionLog(path, by="site", classes=["site"])
    parts = whole.split()
    assert list(parts) == ["", "site-1", "site-2", "site-3", "site-4"]
    for site, part in parts.items():
        expected = frame[frame.site == site]["value"].tolist() if site else [1.0]
        assert values(part) == expected
    assert survey_log(parts["site-1"]).faults == (Fault(8, "the value is not a number: 'x'"),)
    assert survey_log(whole).bad == sum(survey_log(part).bad for part in parts.values()) == 2
    again = pickle.loads(pickle.dumps(parts["site-2"]))  # noqa: S301
    assert values(again) == values(parts["site-2"])
    with pytest.raises(LogError, match="split by a column"):
        AuctionLog(path).split()


def test_parts_of_a_data_frame_do_not_carry_it() -> None:
    numbers = np.arange(20_000.0)
    frame = pd.DataFrame(
        {"value": numbers, "market_price": 1.0, "ad": np.where(numbers % 2, "a", "b")}
    )
    part = AuctionLog(frame, by="ad").split()["a"]
    packed = pickle.dumps(part)
    assert len(packed) < 10_000
    assert pickle.loads(packed).read().values.tolist() == numbers[1::2].tolist()  # noqa: S301


def test_one_reader_serves_files_alike(folder: Path) -> None:
    files = [*AuctionLog(folder / "day=1").source.files[:1]] * 3
    source = Source("x", tuple(files))
    assert source.select({"value": 0}).count("read_csv") == 1
    assert files[0].layout.separator != WHITE_SPACE


@pytest.mark.parametrize("name", ["min_to_win", "minBidToWin", "MBTW", "price to win"])
def test_the_least_bid_to_win_is_found_by_its_usual_names(name: str) -> None:
    log = AuctionLog(pd.DataFrame({"value": [3.0, 2.0], name: [1.0, 2.5]}))
    assert log.read().prices.tolist() == [1.0, 2.5]
