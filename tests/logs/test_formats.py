"""Bids joined with the notices of exchanges."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from crossbandit.errors import LogError
from crossbandit.logs import AuctionLog, Fault
from crossbandit.logs.survey import survey_log


def lines(path: Path, *records: dict[str, Any] | str) -> Path:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.write_text("\n".join(texts) + "\n")
    return path


def bid(name: str, value: float, amount: float, **more: Any) -> dict[str, Any]:
    return {"auction_id": name, "value": value, "bid": amount, **more}


def notice(kind: str, name: str, **macros: Any) -> dict[str, Any]:
    return {"event": kind, "AUCTION_ID": name, **{f"AUCTION_{k}": v for k, v in macros.items()}}


def table(log: AuctionLog) -> list[tuple[float, ...]]:
    """Value, price, bid and result of each auction; -1 for a price that is not known."""
    found = log.read()
    assert found.bids is not None
    assert found.won is not None
    prices = np.nan_to_num(found.prices, nan=-1.0)
    columns = (found.values, prices, found.bids, found.won.astype(float))
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.fixture
def openrtb(tmp_path: Path) -> list[Path]:
    bids = lines(
        tmp_path / "bids.jsonl",
        bid("a", 3, 2, bidfloor=0.5, site="x"),
        bid("b", 4, 2.5, site="y"),
        bid("c", 5, 3, site="x"),
        "{nonsense",
        bid("d", 6, 3, site="y"),
        bid("e", 7, 3, site="x"),
        bid("f", 8, 3, site="y"),
    )
    notices = lines(
        tmp_path / "notices.jsonl",
        notice("loss", "b", LOSS=102, MIN_TO_WIN="2.75"),
        notice("win", "a", PRICE=2, MIN_TO_WIN=1.25, CURRENCY="USD"),
        notice("billing", "a", PRICE=2, CURRENCY="USD"),
        notice("loss", "c", LOSS="205", MIN_TO_WIN="${AUCTION_MIN_TO_WIN}"),
        notice("loss", "d", LOSS=100, MIN_TO_WIN=3.5),
        notice("win", "unknown", PRICE=1),
        notice("click", "a"),
        notice("win", "f", PRICE=3, MIN_TO_WIN=1),
        notice("loss", "f", LOSS=102, MIN_TO_WIN=1),
        {"event": "win", "AUCTION_PRICE": 3},
    )
    return [bids, notices]


def test_openrtb_notices_are_joined_with_bids(openrtb: list[Path]) -> None:
    log = AuctionLog(openrtb, classes=["Site"])
    assert table(log) == [(3, 1.25, 2, 1), (4, 2.75, 2.5, 0), (6, 3.5, 3, 0)]
    found = log.read()
    assert found.reserves is not None
    assert found.reserves.tolist() == [0.5, 0, 0]
    assert found.classes is not None
    assert found.classes[:, 0].tolist() == [0, 1, 1]
    assert log.ties == "win"


def test_what_was_dropped_is_counted_with_the_reason(openrtb: list[Path]) -> None:
    log = AuctionLog(openrtb)
    assert log.remarks == (
        "Read as OpenRTB bids and notices. Auctions won: 1, lost: 2.",
        (
            "Auctions that were dropped: 4 (a notice of a win and one of a loss: 1; lost for "
            "another reason than the price, 205 advertiser excluded: 1; a notice but no bid in the "
            "log: 1; a bid but no notice, while others have notices of losses: 1)."
        ),
        "Lines of other kinds were not used: 'click' (1).",
    )
    survey = survey_log(log)
    assert survey.faults == (
        Fault(4, "no JSON object", file=str(openrtb[0])),
        Fault(10, "no auction id", file=str(openrtb[1])),
    )
    assert survey.feedback == "always"
    # Every auction that has a bid or a notice is kept or dropped, and counted once.
    assert survey.auctions + 4 == len({*"abcdef", "unknown"})


def test_which_losses_are_about_the_price_can_be_said(openrtb: list[Path]) -> None:
    log = AuctionLog(openrtb, price_losses=[102, 205])
    assert [row[0] for row in table(log)] == [3, 4, 5]


@pytest.mark.parametrize("quote", ['"GET {} HTTP/1.1" 204 0', "{}"])
def test_notices_may_be_lines_of_a_web_server(openrtb: list[Path], quote: str) -> None:
    urls = (
        "/win?auction_id=a&price=2&min_to_win=1.25&cur=USD",
        "https://x.example/lurl?AUCTION_ID=b&loss_reason=102&mbtw=2%2E75&cur=USD",
        "/loss?auctionId=d&loss=100&min_to_win=%24%7BAUCTION_MIN_TO_WIN%7D",
    )
    notices = lines(openrtb[1], *(quote.format(url) for url in urls))
    log = AuctionLog([openrtb[0], notices], format="openrtb")
    assert table(log) == [(3, 1.25, 2, 1), (4, 2.75, 2.5, 0), (6, -1, 3, 0)]


def test_the_name_of_a_host_is_no_kind_of_notice(openrtb: list[Path]) -> None:
    urls = ("https://loss.example/win?id=a&mbtw=1", "https://win.example/a/loss.gif?id=b&mbtw=3")
    log = AuctionLog([openrtb[0], lines(openrtb[1], *urls)], format="openrtb")
    assert table(log) == [(3, 1, 2, 1), (4, 3, 2.5, 0)]


def test_a_price_that_is_named_is_the_price(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "log.jsonl",
        bid("a", 3, 2),
        {**notice("win", "a", PRICE=2, LOSS=0), "second": 1.5},
    )
    assert table(AuctionLog(path, columns={"price": "second"})) == [(3, 1.5, 2, 1)]


def test_a_joined_log_is_sorted_with_the_places_of_its_lines(openrtb: list[Path]) -> None:
    log = AuctionLog(openrtb, sort_by="site", by="site")
    faults = survey_log(log).faults
    assert (faults[0].line, faults[0].reason) == (1, "no time or number to sort by")
    log = AuctionLog(openrtb, by="site")
    assert [row[0] for row in table(log)] == [3, 4, 6]
    places = [(fault.line, Path(fault.file).name) for fault in survey_log(log).faults]
    assert places == [(4, "bids.jsonl"), (10, "notices.jsonl")]
    assert [row[0] for row in table(log.split()["y"])] == [4, 6]


FLAT = """Id,Value,Bid,auction_loss,AUCTION_MIN_TO_WIN
1,3,2,0,1.5
1,3,2,102,2.5
3,3,2,205,
4,3,1,100,2
"""


@pytest.mark.parametrize("kind", ["csv", "frame"])
def test_lines_that_have_all_are_not_joined(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "flat.csv"
    path.write_text(FLAT)
    log = AuctionLog(pd.read_csv(path) if kind == "frame" else path)
    assert table(log) == [(3, 1.5, 2, 1), (3, 2.5, 2, 0), (3, 2, 1, 0)]
    assert "205 advertiser excluded: 1" in log.remarks[1]
    plain = AuctionLog(path, format="csv", columns={"bid": "bid"}, max_bad=1)
    assert plain.read().prices.tolist() == [1.5, 2.5, 2]
    assert plain.remarks == ()


def test_lines_that_have_all_count_once_if_their_id_is_named(tmp_path: Path) -> None:
    path = tmp_path / "flat.csv"
    path.write_text(FLAT.replace("1,3,2,102,2.5", "2,3,2,102,2.5") + "4,3,1,100,2\n4,3,1,100,2\n")
    once = [(3, 1.5, 2, 1), (3, 2.5, 2, 0), (3, 2, 1, 0)]
    plain, log = AuctionLog(path), AuctionLog(path, columns={"id": "id"})
    assert (plain.identified, log.identified) == (False, True)
    assert table(plain) == [*once, once[-1], once[-1]]
    assert table(log) == once
    assert log.remarks[-1] == "Lines that repeat a bid were not used: 2."


def test_without_notices_of_losses_silence_is_a_loss(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "log.jsonl", bid("a", 3, 2), bid("b", 3, 2), notice("win", "a", PRICE=2)
    )
    log = AuctionLog(path, format="openrtb")
    assert table(log) == [(3, -1, 2, 1), (3, -1, 2, 0)]
    assert "Bids without any notice count as lost" in log.remarks[1]
    assert survey_log(log).feedback == "won-lost"


def test_the_price_of_a_loss_that_is_what_the_winner_paid_ties(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "log.jsonl",
        bid("a", 3, 2, imp_id="1"),
        bid("a", 4, 2, imp_id="2"),
        notice("loss", "a", IMP_ID="1", LOSS=102, PRICE=2.5),
        notice("win", "a", IMP_ID="2", PRICE=2),
    )
    log = AuctionLog(path)
    assert table(log) == [(3, 2.5, 2, 0), (4, -1, 2, 1)]
    assert log.ties == "lose"
    assert log.remarks[-1] == "The price of a lost auction is what the winner paid."
    assert survey_log(log).feedback == "after-loss"


def test_currencies_are_not_mixed(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "log.jsonl",
        bid("a", 3, 2),
        bid("b", 4, 2),
        notice("win", "a", MIN_TO_WIN=1, CURRENCY="USD"),
        notice("win", "b", MIN_TO_WIN=1, CURRENCY="eur"),
    )
    with pytest.raises(LogError, match=r"more than one currency: EUR \(1\), USD \(1\)\. Choose"):
        AuctionLog(path, format="openrtb")
    with pytest.raises(LogError, match=r"no amounts in GBP\. It has EUR \(1\), USD \(1\)\."):
        AuctionLog(path, format="openrtb", currency="GBP")
    log = AuctionLog(path, format="openrtb", currency="Eur")
    assert [row[0] for row in table(log)] == [4]
    assert "(currency USD: 1)" in log.remarks[1]


def test_an_auction_has_one_currency(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "log.jsonl",
        bid("a", 3, 2, cur="EUR"),
        bid("b", 4, 2, cur="EUR"),
        bid("c", 5, 2),
        notice("loss", "a", LOSS=102, MIN_TO_WIN=2.5, CURRENCY="USD"),
        notice("loss", "b", LOSS=102, MIN_TO_WIN=2.5, CURRENCY="EUR"),
        notice("loss", "c", LOSS=102, MIN_TO_WIN=2.5),
    )
    with pytest.raises(LogError, match=r"more than one currency: EUR \(2\), USD \(1\)\. Choose"):
        AuctionLog(path)
    log = AuctionLog(path, currency="EUR")
    assert [row[0] for row in table(log)] == [4, 5]
    assert "(lines in different currencies: 1)" in log.remarks[1]
    assert "Auctions that do not say their currency count as EUR: 1." in log.remarks


@pytest.mark.parametrize(
    "notices",
    [
        [{"LOSS": 102, "MIN_TO_WIN": 2.5}, {"LOSS": 102, "MIN_TO_WIN": 9}],
        [{"LOSS": 102, "MIN_TO_WIN": 2.5}, {"LOSS": 205, "MIN_TO_WIN": 2.5}],
        [{"LOSS": 102, "PRICE": 2.5}, {"LOSS": 102, "PRICE": 9}],
    ],
)
def test_notices_that_contradict_each_other_are_dropped(
    tmp_path: Path, notices: list[dict[str, Any]]
) -> None:
    records = [notice("loss", "a", **macros) for macros in notices]
    same = [notice("loss", "b", **notices[0]), notice("loss", "b", **notices[0])]
    log = AuctionLog(lines(tmp_path / "log.jsonl", bid("a", 3, 2), bid("b", 4, 2), *records, *same))
    assert table(log) == [(4, 2.5, 2, 0)]
    assert "(lines that contradict each other: 1)" in log.remarks[1]


def test_repeated_bids_count_once_and_that_is_said(tmp_path: Path) -> None:
    won = notice("win", "a", LOSS=0, MIN_TO_WIN=1)
    log = AuctionLog(lines(tmp_path / "log.jsonl", bid("a", 3, 2), bid("a", 3, 2), won))
    assert table(log) == [(3, 1, 2, 1)]
    assert log.remarks[1] == "Lines that repeat a bid were not used: 1."


def test_impressions_that_notices_do_not_tell_apart_are_dropped(tmp_path: Path) -> None:
    bids = [bid(name, 3, 2, imp_id=imp) for name, imp in ("a1", "a2", "b1")]
    won = [notice("win", name, LOSS=0, MIN_TO_WIN=1) for name in "ab"]
    log = AuctionLog(lines(tmp_path / "log.jsonl", *bids, *won))
    assert table(log) == [(3, 1, 2, 1)]
    assert "(several impressions, and notices that do not say which: 1)" in log.remarks[1]


def test_lines_of_other_kinds_need_no_impression(tmp_path: Path) -> None:
    bids = [bid("a", 3, 2, imp_id=imp) for imp in "12"]
    won = [notice("win", "a", LOSS=0, MIN_TO_WIN=1, IMP_ID=imp) for imp in "12"]
    log = AuctionLog(lines(tmp_path / "log.jsonl", *bids, *won, notice("click", "a")))
    assert table(log) == [(3, 1, 2, 1)] * 2


def test_an_id_comes_before_ids_of_other_things(tmp_path: Path) -> None:
    bids = [{"site": {"id": "s"}, "id": name, "value": 3, "bid": 2} for name in "ab"]
    won = [notice("win", name, LOSS=0, MIN_TO_WIN=1) for name in "ab"]
    log = AuctionLog(lines(tmp_path / "log.jsonl", *bids, *won))
    assert table(log) == [(3, 1, 2, 1)] * 2


def test_results_are_read_as_in_other_logs() -> None:
    words = [1.0, "Y", "won", 0.0, "n", "perhaps"]
    frame = pd.DataFrame({"value": 3.0, "bid": 2.0, "won": pd.Series(words, dtype=object)})
    log = AuctionLog(frame, format="openrtb")
    assert [row[3] for row in table(log)] == [1, 1, 1, 0, 0]
    assert survey_log(log).faults == (Fault(6, "neither a bid nor a win nor a loss"),)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("count", [300, 3_000])
def test_fields_that_come_late_are_found(tmp_path: Path, count: int, *, compressed: bool) -> None:
    bids = [bid(str(i), 3, 2) for i in range(count)]
    path = lines(tmp_path / "log.jsonl", *bids, *(notice("win", str(i)) for i in range(50)))
    if compressed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    log = AuctionLog(path, format="openrtb")
    assert sum(row[3] for row in table(log)) == 50


def test_a_log_of_which_nothing_is_left_says_why(tmp_path: Path) -> None:
    bids = [bid(name, 3, 2, type="banner") for name in "ab"]
    log = AuctionLog(lines(tmp_path / "log.jsonl", *bids, notice("win", "a", LOSS=0)))
    with pytest.raises(LogError, match=r"Lines of other kinds were not used: 'banner' \(2\)\."):
        log.read()
    with pytest.raises(LogError, match=r"Lines of other kinds were not used: 'banner' \(2\)\."):
        survey_log(log)


def test_notices_without_values_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "log.jsonl", notice("win", "a", MIN_TO_WIN=1))
    with pytest.raises(LogError, match="add the log of your bids"):
        AuctionLog(path, format="openrtb")


def test_feedback_of_authorized_buyers(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "log.jsonl",
        {"request_id": "a", "value": 3e6, "bid": 2e6},
        {"request_id": "b", "value": 4e6, "bid": 2e6},
        {"request_id": "c", "value": 5e6, "bid": 2e6},
        {"request_id": "b", "creative_status_code": 79, "minimum_bid_to_win": 2500000},
        {"requestId": "a", "creativeStatusCode": 1, "minimumBidToWin": 1500000},
        {"requestId": "c", "creativeStatusCode": 10},
    )
    log = AuctionLog(path, value_unit="micros", price_unit="micros")
    assert table(log) == [(3, 1.5, 2, 1), (4, 2.5, 2, 0)]
    assert log.ties == "lose"
    assert "lost for another reason than the price, 10: 1" in log.remarks[1]


def ipinyou(name: str, amount: int, *paid: int, kind: str = "1", floor: int = 5) -> str:
    start = [name, "20130606000104008", *([kind] if paid else []), *"uaircxdlks", "300", "250"]
    end = [*map(str, paid), *(["page"] if paid else []), "1458", "tags"]
    return "\t".join([*start, "0", "1", str(floor), "creative", str(amount), *end])


def test_ipinyou(tmp_path: Path) -> None:
    bids = lines(tmp_path / "bid.txt", ipinyou("a", 300), ipinyou("b", 300), ipinyou("c", 227))
    impressions = lines(tmp_path / "imp.txt", ipinyou("c", 227, 100), ipinyou("a", 300, 120))
    clicks = lines(tmp_path / "clk.txt", ipinyou("a", 300, 120, kind="2"))
    log = AuctionLog([bids, impressions, clicks], columns={"time": "timestamp"})
    assert table(log) == [(300, 120, 300, 1), (300, -1, 300, 0), (227, 100, 227, 1)]
    assert "'click' (1)" in log.remarks[1]
    assert (log.ties, survey_log(log).feedback) == ("lose", "after-win")
    found = log.read()
    assert found.times is not None
    assert found.times[0] == pd.Timestamp("2013-06-06 00:01:04.008", tz="UTC").timestamp()
    assert found.reserves is not None
    assert found.reserves.tolist() == [5, 5, 5]
    assert table(AuctionLog(impressions, format="ipinyou")) == [
        (227, 100, 227, 1),
        (300, 120, 300, 1),
    ]


def test_other_files_of_as_many_columns_are_not_taken_for_ipinyou(tmp_path: Path) -> None:
    path = lines(tmp_path / "log.txt", *("\t".join(map(str, range(i, i + 21))) for i in range(3)))
    log = AuctionLog(path, columns={"value": 2, "price": 1})
    assert log.read().values.tolist() == [1, 2, 3]
    assert log.remarks == ()


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    results=st.lists(st.sampled_from(["win", "loss", "filtered", "none"]), min_size=1, max_size=8),
    order=st.randoms(use_true_random=False),
)
def test_every_auction_is_kept_or_dropped_whatever_the_order(
    tmp_path: Path, results: list[str], order: Any
) -> None:
    records = [bid(str(i), i + 1, 1) for i in range(len(results))]
    codes = {"loss": 102, "filtered": 201}
    records += [
        notice("win" if one == "win" else "loss", str(i), LOSS=codes.get(one, 0), MIN_TO_WIN=i)
        for i, one in enumerate(results)
        if one != "none"
    ]
    order.shuffle(records)
    log = AuctionLog(lines(tmp_path / "log.jsonl", *records), format="openrtb", max_bad=0)
    losses = {"loss", "filtered"} & set(results)
    kept = {"win", "loss"} if losses else {"win", "loss", "none"}
    expected = [i for i, one in enumerate(results) if one in kept]
    assume(expected)
    assert sorted(log.read().values) == [i + 1 for i in expected]
    seen = [int(one["value"]) for one in records if "value" in one]
    assert log.read().values.tolist() == [v for v in seen if v - 1 in expected]


def test_lines_without_ids_are_not_joined(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("value,bid,AUCTION_LOSS,AUCTION_MIN_TO_WIN\n3,2,0,1.5\n4,2,102,2.5\n5,2,,\n")
    log = AuctionLog(path)
    assert table(log) == [(3, 1.5, 2, 1), (4, 2.5, 2, 0)]
    assert "(a bid but no notice, while others have notices of losses: 1)" in log.remarks[1]


def test_a_value_that_is_named_is_not_said_to_be_the_bid(tmp_path: Path) -> None:
    path = tmp_path / "imp.txt"
    path.write_text("\n".join(ipinyou(name, 300, 50) for name in "ab"))
    said = "The value is what was bid"
    assert said in " ".join(AuctionLog(path).remarks)
    log = AuctionLog(path, columns={"value": "slotwidth"})
    assert said not in " ".join(log.remarks)


def test_urls_of_notices_may_say_their_kind(tmp_path: Path) -> None:
    """`event=win` in the query; `type=banner` is about something else."""
    path = tmp_path / "notices.jsonl"
    lines = [
        {"id": "1", "value": 5.0, "bid": 2.0},
        {"id": "2", "value": 4.0, "bid": 1.0},
        {"url": "https://d.example/n?event=win&auction_id=1&price=2&type=banner"},
        {"url": "https://d.example/n?type=banner&auction_id=2&event=loss&AUCTION_MIN_TO_WIN=1.5"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    auctions = AuctionLog(path, format="openrtb").read()
    assert auctions.won is not None
    assert auctions.won.tolist() == [True, False]
    assert auctions.prices[1] == 1.5


def test_bid_responses_with_several_bids_are_rows(tmp_path: Path) -> None:
    """Seats and bids are lists. The notice URLs in a response are no notices."""
    path = tmp_path / "openrtb.jsonl"

    def bid(imp: str, price: float, value: float) -> dict[str, object]:
        nurl = "https://d.example/win?price=${AUCTION_PRICE}"
        return {"id": "b", "impid": imp, "price": price, "ext": {"value": value}, "nurl": nurl}

    lines = [
        {"id": "1", "cur": "USD", "seatbid": [{"bid": [bid("a", 2.0, 5.0), bid("b", 1.0, 4.0)]}]},
        {"id": "2", "cur": "USD", "seatbid": [{"bid": [bid("a", 3.0, 6.0)]}, {"bid": []}]},
        {"id": "3", "seatbid": []},
        {"auction_id": "1", "imp_id": "a", "event": "win", "auction_price": 2.0},
        {"auction_id": "1", "imp_id": "b", "event": "loss", "AUCTION_MIN_TO_WIN": 1.5},
        {"auction_id": "2", "imp_id": "a", "event": "loss", "AUCTION_MIN_TO_WIN": 4.0},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    log = AuctionLog(path, format="openrtb")
    auctions = log.read()
    assert auctions.values.tolist() == [5.0, 4.0, 6.0]
    assert auctions.bids is not None
    assert auctions.bids.tolist() == [2.0, 1.0, 3.0]
    assert auctions.won is not None
    assert auctions.won.tolist() == [True, False, False]
    assert auctions.prices[1:].tolist() == [1.5, 4.0]
    assert "Lines of other kinds were not used: 'no bid' (1)." in log.remarks
    with path.open("a") as file:
        file.write('\n{"id": "4", "seatbid": [{"bid": [{"price": "x", "ext": {"value": 1}}]}]}')
        file.write('\n{"auction_id": "4", "event": "loss"}\n{"odd": 1}\n{nonsense')
    faults = survey_log(AuctionLog(path, format="openrtb")).faults
    assert [(fault.line, fault.reason) for fault in faults] == [
        (7, "the own bid is not a number: 'x'"),
        (9, "neither a bid nor a win nor a loss"),
        (10, "no JSON object"),
    ]


def test_bid_responses_and_notice_urls_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a format: from the field `seatbid`, and from parameters with names of macros."""
    responses = lines(
        tmp_path / "responses.jsonl",
        *({"id": f"r{i}", "seatbid": [{"bid": [{"price": 2, "ext": {"value": 5}}]}]} for i in "12"),
    )
    bids = lines(tmp_path / "bids.csv", "auction_id,value,bid", "r1,5,2", "r2,5,2")
    notices = lines(
        tmp_path / "access.log",
        '10.0.0.1 - - [01/Mar/2026] "GET /win?auction_id=r1&auction_min_to_win=1.5 HTTP/1.1" 204',
        '10.0.0.1 - - [01/Mar/2026] "GET /loss?auction_id=r2&auction_min_to_win=3 HTTP/1.1" 204',
    )
    expected = [(5.0, 1.5, 2.0, 1.0), (5.0, 3.0, 2.0, 0.0)]
    assert table(AuctionLog([responses, notices])) == expected
    assert table(AuctionLog([notices, bids])) == expected
    both = responses.read_text() + "".join(
        json.dumps({"url": line.split()[5]}) + "\n" for line in notices.read_text().splitlines()
    )
    stream = io.TextIOWrapper(io.BytesIO(both.encode()))
    monkeypatch.setattr("sys.stdin", stream)
    assert table(AuctionLog("-")) == expected  # it is read once, and recognised twice
    plain = lines(tmp_path / "plain.csv", "value,min_bid_to_win,page", "5,2,/a?id=1", "6,3,/b?id=2")
    assert AuctionLog(plain).remarks == ()


def previous(name: str, **told: Any) -> dict[str, Any]:
    """A previous auction as Prebid's module tells it."""
    usual = {"bidderRequestId": "r", "rendered": 1, "source": "pbjs", "adUnitCode": "div-1"}
    return {**usual, "bidId": name, **told}


def request(*auctions: dict[str, Any]) -> dict[str, Any]:
    found = {"ext": {"prebid": {"previousauctioninfo": list(auctions)}}}
    return {"id": "another", "imp": [{"id": "1"}], "ortb2": found if auctions else {}}


def test_previous_auctions_of_prebid_are_joined_with_bids(tmp_path: Path) -> None:
    bids = lines(
        tmp_path / "bids.jsonl",
        *({"bidId": one, "value": 5 + i, "bid": 2 + i} for i, one in enumerate("abcdef")),
    )
    requests = lines(
        tmp_path / "requests.jsonl",
        request(),
        request(
            previous("a", bidderCpm=2, highestBidCpm=2),
            previous("b", bidderCpm=3, highestBidCpm=4.5),
        ),
        request(
            previous("c", bidderCpm=4, highestBidCpm=4, rendered=0),
            previous("d", bidderCpm=None, highestBidCpm=4),
            previous("e", bidderCpm=6, highestBidCpm=7, rendered=0),
        ),
        {"ext": request(previous("f", bidderCpm="nobid", highestBidCpm=7))["ortb2"]["ext"]},
    )
    log = AuctionLog([bids, requests])
    assert table(log) == [(5, -1, 2, 1), (6, 4.5, 3, 0), (9, 7, 6, 0)]
    assert log.ties == "lose"
    assert log.remarks == (
        "Read as bids and previous auctions of Prebid. Auctions won: 1, lost: 2.",
        (
            "Auctions that were dropped: 3 (a bid but no notice, while others have notices of "
            "losses: 3)."
        ),
        (
            "Lines of other kinds were not used: 'no bid' (2), 'no previous auction' (1), "
            "'not rendered' (1)."
        ),
        "The price of a lost auction is what the winner paid.",
    )
    assert survey_log(log).bad == 0


def test_previous_auctions_may_tell_the_least_bid_that_wins(tmp_path: Path) -> None:
    """A loser may be told this alone; one who won may be told what would have been enough."""
    path = lines(
        tmp_path / "log.jsonl",
        *({"bidId": one, "value": 5, "bid": 2} for one in "ab"),
        request(previous("a", minBidToWin=2.75), previous("b", minBidToWin=1.5, bidderCpm=2)),
        "{nonsense",
        request(previous("x", minBidToWin="much")),
    )
    log = AuctionLog(path)
    assert table(log) == [(5, 2.75, 2, 0), (5, 1.5, 2, 1)]
    assert survey_log(log).faults == (Fault(4, "no JSON object"),)
    assert "Lines of other kinds were not used: 'no bid' (1)." in log.remarks
