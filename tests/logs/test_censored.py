"""Logs that say who won: prices may be missing. Propensities, times and units."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.logs import AuctionLog, Fault
from crossbandit.logs.replay import replay
from crossbandit.logs.survey import check_survey, survey_log

LINES = """value,bid,won,mtw,p,when
2,1,1,,0.5,2026-01-05T00:00:00
3,1.5,lost,2,1,2026-01-05T01:00:00Z
4,1,True,0.5,0.25,1767574800
5,1,FALSE,,0.1,1767574800000
6,1,maybe,1,0.1,1767574800
7,1,0,x,0.1,1767574800
8,1,0,,0,1767574800
9,1,0,,0.5,yesterday
10,1,,,0.5,1767574800
"""
ROLES = {"bid": "bid", "won": "won", "price": "mtw", "propensity": "p", "time": "when"}


def censored(tmp_path: Path, **options: object) -> AuctionLog:
    path = tmp_path / "log.csv"
    path.write_text(LINES)
    return AuctionLog(path, columns=ROLES, **options)  # type: ignore[arg-type]


def test_all_columns_are_read_and_prices_may_be_missing(tmp_path: Path) -> None:
    log = censored(tmp_path)
    auctions = log.read()
    assert auctions.values.tolist() == [2, 3, 4, 5]
    np.testing.assert_array_equal(auctions.prices, [np.nan, 2, 0.5, np.nan])
    assert auctions.won is not None
    assert auctions.won.tolist() == [True, False, True, False]
    assert auctions.won.dtype == np.bool_
    assert auctions.bids is not None
    assert auctions.bids.tolist() == [1, 1.5, 1, 1]
    assert auctions.propensities is not None
    assert auctions.propensities.tolist() == [0.5, 1, 0.25, 0.1]
    assert auctions.times is not None
    midnight = 1767571200.0
    assert auctions.times.tolist() == [midnight, midnight + 3600, midnight + 3600, midnight + 3600]
    assert survey_log(log).faults == (
        Fault(
            6,
            "the result is neither won (1, true, yes, won) nor lost (0, false, no, lost): 'maybe'",
        ),
        Fault(7, "the highest competing bid is not a number: 'x'"),
        Fault(8, "the propensity is not above 0 and at most 1: '0'"),
        Fault(
            9,
            "the time is neither like 2026-01-05T10:30:00+01:00 nor seconds since 1970: "
            "'yesterday'",
        ),
        Fault(10, "no result"),
    )
    assert log.description == (
        "The value is column 'value' (guessed by name), the highest competing bid column 'mtw'. "
        "Your own bid is column 'bid'. Who won is column 'won'. The propensity is column 'p'. "
        "The time is column 'when'."
    )


def test_a_time_zone_moves_only_times_without_an_offset(tmp_path: Path) -> None:
    times = censored(tmp_path, timezone="Europe/Berlin").read().times
    assert times is not None
    assert (np.diff(times) == [7200, 0, 0]).all()


@pytest.mark.parametrize(
    ("won", "known", "feedback"),
    [
        ([1, 0], [1, 1], "always"),
        ([1, 0], [0, 1], "after-loss"),
        ([1, 0], [1, 0], "after-win"),
        ([1, 0], [0, 0], "won-lost"),
        ([1, 1], [0, 0], "won-lost"),
        ([0, 0], [1, 1], "always"),
        ([1, 0, 0], [1, 1, 0], "mixed"),
        ([1, 1, 0], [1, 0, 0], "mixed"),
        ([1] + [0] * 20, [1] * 20 + [0], "mixed"),
        ([1] + [0] * 200, [1] * 200 + [0], "always"),
        ([1] * 200 + [0], [1] + [0] * 200, "won-lost"),
    ],
)
def test_who_was_told_the_price_is_read_from_the_log(
    won: list[int], known: list[int], feedback: str
) -> None:
    frame = pd.DataFrame({"value": 2.0, "won": won, "market_price": np.where(known, 1.0, np.nan)})
    survey = survey_log(AuctionLog(frame, columns={"won": "won"}))
    assert survey.feedback == feedback
    assert survey.without_price == len(known) - sum(known)


def test_a_log_of_wins_and_losses_is_read_but_not_replayed() -> None:
    frame = pd.DataFrame({"value": [2.0, 3.0], "won": [True, False]})
    log = AuctionLog.from_frame(frame, columns={"won": "won"})
    assert np.isnan(log.read().prices).all()
    with pytest.raises(LogError) as refused:
        check_survey(log, survey_log(log))
    assert "2 of 2 auctions have no highest competing bid" in str(refused.value)
    known = "0 of the 1 auctions that you won (0 %) and 0 of the 1 that you lost (0 %)"
    assert f"They are known in {known}." in str(refused.value)
    assert "`crossbandit evaluate` works with such a log" in str(refused.value)
    with pytest.raises(LogError, match="Without any such column, a log cannot be replayed; `cross"):
        AuctionLog(frame)


def test_a_log_that_lacks_some_prices_is_refused_with_the_shares() -> None:
    """All winners and 95 % of the losers were told: that is not "of auctions that you won only"."""
    prices = np.where(np.arange(400) < 385, 1.0, np.nan)
    frame = pd.DataFrame({"value": 2.0, "won": np.arange(400) < 100, "market_price": prices})
    with pytest.raises(LogError) as refused:
        replay(AuctionLog(frame, columns={"won": "won"}))
    assert (
        "15 of 400 auctions have no highest competing bid. They are known in 100 of the 100 "
        in (said := str(refused.value))
    )
    assert "auctions that you won (100 %) and 285 of the 300 that you lost (95 %). A repl" in said
    assert "only" not in said


def test_units_become_units_of_money() -> None:
    frame = pd.DataFrame({"value": [3e6, 1e9], "competing_bid": [2000.0, 1.0], "b": [500.0, 1.0]})
    log = AuctionLog(
        frame,
        columns={"bid": "b"},
        value_unit="micros",
        price_unit="cpm",
        highest_value=10.0,
    )
    auctions = log.read()
    assert (auctions.values.tolist(), auctions.prices.tolist()) == ([3.0], [2.0])
    assert auctions.bids is not None
    assert auctions.bids.tolist() == [0.5]
    (fault,) = survey_log(log).faults
    assert fault.reason.startswith("the value is above 10 after times 1e-06")


@pytest.mark.parametrize(
    "options",
    [
        {"timezone": "Mars"},
        {"timezone": 1},
        {"value_unit": "pence"},
        {"price_unit": 100},
        {"format": "xml"},
        {"currency": 1},
        {"price_losses": "102"},
    ],
)
def test_unknown_names_are_refused(options: dict[str, object]) -> None:
    frame = pd.DataFrame({"value": [1.0], "competing_bid": [1.0]})
    with pytest.raises(InvalidParameterError, match=f"'{next(iter(options))}' parameter of Auctio"):
        AuctionLog(frame, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_nan_is_a_price_that_is_not_known(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"log.{kind}"
    rows = "(3, 2, 1, 'nan'), (4, 2, 0, '2.5'), (5, 2, 1, '1.5')"
    query = f"SELECT * FROM (VALUES {rows}) AS t(value, bid, won, market_price)"
    if kind == "parquet":
        query = f"SELECT * REPLACE (market_price::DOUBLE AS market_price) FROM ({query})"
    duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT {kind})")
    log = AuctionLog(path, columns={"bid": "bid", "won": "won"})
    np.testing.assert_equal(log.read().prices, [np.nan, 2.5, 1.5])
    survey = survey_log(log)
    assert (survey.bad, survey.without_price, survey.highest_price) == (0, 1, 2.5)
    assert survey_log(log.with_prices()).bad == 1
