"""What a censored log knows, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit.applications.bidding.auctions import AuctionRules
from crossbandit.core.types import Feedback, Ties
from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.logs import AuctionLog
from crossbandit.logs.evaluate import CensoredLog, evaluate, open_censored

if TYPE_CHECKING:
    from pathlib import Path

AUCTION = st.tuples(
    st.integers(0, 6), st.integers(0, 6), st.booleans(), st.integers(0, 8)
)  # bid, price, told, bid of a strategy


@given(
    st.lists(AUCTION, min_size=2, max_size=15),
    st.sampled_from(["win", "lose"]),
    st.sampled_from([0.0, 2.0, 2.5]),
)
def test_what_is_known_is_true_and_all_that_is(
    rows: list[tuple[int, int, bool, int]], ties: Ties, reserve: float
) -> None:
    """Against a brute force over all prices that fit what was seen."""
    bids, prices, told, tried = (np.array(column) for column in zip(*rows, strict=True))
    rules = AuctionRules(bids=2, highest_value=9, reserve=reserve, ties=ties)
    won = rules.wins(bids, prices)
    log = CensoredLog(  # the reserve may also be given for each auction
        np.full(bids.size, 9.0),
        bids,
        won,
        np.where(told, prices, np.nan),
        reserve=np.full(bids.size, reserve) if told[0] else reserve,
        ties=ties,
    )
    known, wins = log.known(np.arange(bids.size), tried.astype(float))
    candidates = np.arange(0, 10, 0.5)
    for i in range(bids.size):
        fits = (
            [float(prices[i])] if told[i] else candidates[rules.wins(bids[i], candidates) == won[i]]
        )
        outcomes = {bool(rules.wins(tried[i], price)) for price in fits}
        if known[i]:
            assert outcomes == {bool(wins[i])}
        else:
            assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("won", "told", "feedback"),
    [
        ([1, 0], [1, 1], "always"),
        ([1, 0], [0, 1], "after-loss"),
        ([1, 0], [1, 0], "after-win"),
        ([1, 0], [0, 0], "won-lost"),
        ([1, 1, 0], [1, 0, 1], "mixed"),
    ],
)
def test_the_feedback_is_seen_from_the_prices(
    won: list[int], told: list[int], feedback: Feedback
) -> None:
    prices = np.where(told, np.where(won, 1.0, 3.0), np.nan)
    log = CensoredLog([5.0] * len(won), [2.0] * len(won), won, prices)  # type: ignore[arg-type]
    assert log.feedback == feedback


GOOD: dict[str, Any] = {
    "values": [5.0] * 40,
    "bids": [2.0, 3.0] * 20,
    "won": [False, True] * 20,
    "prices": [np.nan] * 40,
}


def changed(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (changed(won=[False] * 40), r"Your own bids win 0 % of the 40 auctions.*you won were"),
        (changed(won=[True] * 40), r"Your own bids win 100 % of the 40 auctions.*you lost were"),
        (changed(bids=[6.0, 3.0] * 20), r"20 of the 40 bids are above their values.*auction 1"),
        (
            changed(prices=[1.0] + [np.nan] * 39),
            r"1 of the 40 auctions contradict .*auction 1: .* of 1 cannot have lost",
        ),
        (changed(prices=[2.0] + [np.nan] * 39), r"cannot have lost.*try --ties lose"),
        (changed(bids=[2.0, 0.0] * 20), r"20 of the 40 .*bid of 0 cannot have won"),
        (changed(values=[5.0], bids=[2.0], won=[True], prices=[1.0]), r"has 1 auctions"),
    ],
)
def test_a_log_that_cannot_be_right_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(LogError, match=f"(?s){message}"):
        CensoredLog(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (changed(values=[5.0] * 39 + [np.nan]), "'values' .* Got 'nan in auction 40'"),
        (changed(bids=[2.0] * 39), "'bids' .* one per auction"),
        (changed(bids=[-1.0] + [2.0] * 39), "'bids' .*-1 in auction 1"),
        (changed(won=[2] * 40), "'won' .* True or False"),
        (changed(prices=[-1.0] * 40), "'prices' .*-1 in auction 1"),
        (changed(propensities=[0.5] * 39 + [0.0]), "Got 0 in auction 40.*density"),
        (changed(propensities=[1.5] * 40), "Got 1.5 in auction 1"),
        (changed(classes={"site": ["a"]}), "'classes' .*'site'"),
        (changed(classes=["a"]), "'classes'"),
        (changed(ties="draw"), "'ties'"),
        (changed(reserve=-1), "'reserve'"),
    ],
)
def test_a_column_that_cannot_be_used_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CensoredLog(**given)


def test_the_reserve_price_bounds_the_number_to_reach() -> None:
    log = CensoredLog([5.0, 5.0], [3.0, 1.0], [True, False], reserve=2.0)  # type: ignore[arg-type]
    known, wins = log.known(np.array([0, 0, 1]), np.array([1.9, 2.0, 1.5]))
    assert known.tolist() == [True, False, True]
    assert wins.tolist() == [False, False, False]


def test_ties_both_ways_are_counted_and_leave_the_exact_part() -> None:
    """Prices and bids in whole units: of equal ones, half won. Four auctions, then many others."""
    values, bids = [9.0] * 44, [3.0, 3.0, 3.0, 3.0] + [4.0, 2.0] * 20
    won = [True, False, True, False] + [True, False] * 20
    prices = [3.0, 3.0, 2.0, 5.0] + [1.0, 6.0] * 20
    log = CensoredLog(values, bids, won, prices)  # type: ignore[arg-type]
    assert log.ties == "both"
    assert (log.outcomes.equal_wins, log.outcomes.equal_losses) == (1, 1)
    rows = np.arange(4)
    for amount, known, wins in (
        (3.0, [True] * 4, [True, False, True, False]),  # the own bid
        (2.0, [False, True, False, True], [False] * 4),  # below it; equal to the third price
        (4.0, [True, False, True, True], [True, False, True, False]),  # above it
        (5.0, [True, False, True, False], [True, False, True, False]),  # equal to the fourth price
    ):
        found = log.known(rows, np.full(4, amount))
        assert [one.tolist() for one in found] == [known, wins], amount
    # What is told of the price is kept for estimates.
    assert log.price_high[:4].tolist() == [3.0, np.nextafter(3.0, 4.0), 2.0, 5.0]
    result = evaluate(log, fractions=[4 / 9])
    assert "in 1 auctions that you won and in 1 that you lost" in " ".join(result.notes)
    one = result["the log's own bids"]
    assert one.known.share == 1
    assert one.known.exact == 2 * 6 + 20 * 5
    assert result[f"{400 / 9:.15g} % of value"].known.share == 43 / 44


def test_prices_that_are_what_was_paid_are_no_rounded_ones() -> None:
    given = changed(prices=[2.0, 3.0] * 20)
    with pytest.raises(LogError, match="Is the price what you paid"):
        CensoredLog(**given)


def test_a_path_or_a_frame_stands_for_what_is_read_from_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values, prices = rng.uniform(1, 10, 500), rng.uniform(0, 6, 500)
    frame = pd.DataFrame({"value": values, "mine": values / 2, "won": values / 2 >= prices})
    path = tmp_path / "log.csv"
    frame.to_csv(path, index=False)
    with path.open("a") as file:
        file.write("three,1,True\n")
    columns = {"bid": "mine", "won": "won"}
    opened = AuctionLog(path, columns=columns)
    read = open_censored(opened)
    direct = evaluate(read.log, fractions=[0.4])
    for source in (path, str(path), opened):
        found = evaluate(source, fractions=[0.4], columns=columns)
        assert found.results == direct.results
        assert found.notes[0].startswith("1 of 501 lines was left out: ")
        assert "line 502" in found.notes[0]
        assert {*direct.notes, *read.notes} < {*found.notes}
    assert evaluate(frame, fractions=[0.4], columns=columns).results == direct.results
