"""A bidder that has learned from a censored log, and can be embedded."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidParameterError, LogError, LogWarning
from crossbandit.logs import AuctionLog

ROLES = {"bid": "bid", "won": "won", "price": "mtw"}


def frame(told: str, count: int = 3_000) -> pd.DataFrame:
    """Prices are uniform up to 6 on site a, and up to 3 on site b; the best bid is half of it."""
    rng = np.random.default_rng(0)
    values = rng.uniform(1, 10, count)
    sites = rng.choice(["a", "b"], count)
    prices = rng.uniform(0, np.where(sites == "a", 6, 3))
    bids = values * rng.uniform(0.1, 0.9, count)
    won = bids >= prices
    known = {"after-loss": ~won, "after-win": won, "always": won | True, "won-lost": won & False}
    known["mixed"] = np.arange(count) % 2 == 0
    return pd.DataFrame(
        {
            "value": values,
            "bid": bids,
            "won": won,
            "mtw": np.where(known[told], prices, np.nan),
            "site": sites,
        }
    )


@pytest.mark.parametrize("told", ["after-loss", "after-win", "always", "won-lost", "mixed"])
def test_the_settings_follow_from_the_log(told: str) -> None:
    bidder = FirstPriceBidder.fit(AuctionLog(frame(told), columns=ROLES), seed=1)
    assert bidder.feedback == ("won-lost" if told == "mixed" else told)
    assert bidder.value_range == (0.0, 12.0)
    assert bidder.bids.size == 100
    law = bidder.price_law(8.0)
    assert float(law.quantile(0.5)) == pytest.approx(2.2, abs=0.6)


def test_it_learns_by_class_and_can_be_embedded(tmp_path: Path) -> None:
    log = AuctionLog(frame("after-loss"), columns=ROLES, classes=["site"])
    bidder = FirstPriceBidder.fit(log, seed=1, bids=25, value_range=(0, 20))
    assert bidder.classes == ("site",)
    assert bidder.value_range == (0, 20)
    dear, cheap = (bidder.price_law(8.0, site=site).quantile(0.5) for site in ("a", "b"))
    assert float(dear) > float(cheap) + 0.8
    bidder.save(tmp_path / "saved.bidder")
    again = FirstPriceBidder.load(tmp_path / "saved.bidder")
    np.testing.assert_allclose(again.policy(8.0, site="a"), bidder.policy(8.0, site="a"))
    bid = again.bid(8.0, site="b")
    assert bid.amount is not None
    again.settle(bid, won=False, highest_competing_bid=bid.amount + 1)


def test_many_small_values_get_a_grid_that_is_finer_for_small_bids() -> None:
    data = frame("after-loss")
    data.loc[0, ["value", "bid", "won"]] = [1_000.0, 10.0, True]
    data.loc[0, "mtw"] = np.nan
    bidder = FirstPriceBidder.fit(AuctionLog(data, columns=ROLES), seed=1)
    assert (bidder.bids < 5).sum() > 30


def test_without_own_bids_all_prices_must_be_known() -> None:
    data = frame("always").drop(columns=["bid", "won"])
    bidder = FirstPriceBidder.fit(AuctionLog(data, columns={"price": "mtw"}), seed=1)
    assert bidder.feedback == "always"
    hidden = AuctionLog(frame("after-loss"), columns={"won": "won", "price": "mtw"})
    with pytest.raises(LogError, match=r"Not all prices .* are known"):
        FirstPriceBidder.fit(hidden, seed=1)


def test_bids_below_their_reserve_are_left_out() -> None:
    """They lost whatever the others bid; half of the prices are below 2 all the same."""
    data = frame("won-lost").assign(floor=np.random.default_rng(1).uniform(0, 4, 3_000))
    data["won"] &= data["bid"] >= data["floor"]
    roles = {"bid": "bid", "won": "won", "reserve": "floor"}
    bidder = FirstPriceBidder.fit(AuctionLog(data, columns=roles), seed=1)
    assert float(bidder.price_law(8.0).quantile(0.5)) == pytest.approx(2.1, abs=0.5)


def test_a_log_without_wins_is_refused() -> None:
    data = frame("after-loss")
    lost: Any = data[~data["won"]]
    with pytest.raises(LogError, match="Your own bids win 0 %"):
        FirstPriceBidder.fit(AuctionLog(lost, columns=ROLES), seed=1)
    with pytest.raises(InvalidParameterError, match="'log' parameter of fit"):
        FirstPriceBidder.fit(data, seed=1)


@pytest.mark.parametrize("roles", [ROLES, {"price": "mtw"}])
def test_values_in_another_unit_are_noticed(roles: dict[str, str]) -> None:
    data = frame("always", 200)
    data["value"] *= 1_000
    with pytest.warns(LogWarning, match=r"The values are about 1,000 times the .*--value-unit"):
        FirstPriceBidder.fit(AuctionLog(data, columns=roles), seed=1)


@pytest.mark.parametrize("log", [frame("always", 30), None])
def test_what_is_no_log_is_named_in_a_few_words(log: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"must be an AuctionLog.* Got '?\w+'?\.$"):
        FirstPriceBidder.fit(log, seed=1)


def test_a_merged_bidder_with_classes_is_saved_and_loaded(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)

    def served(sites: list[str], seed: int) -> FirstPriceBidder:
        bidder = FirstPriceBidder(bids=11, value_range=(0, 10), classes=("site",), seed=seed)
        chosen = rng.choice(sites, 700)
        prices = rng.uniform(0, np.where(chosen == sites[0], 6, 3))
        bidder.warm_up(rng.uniform(1, 10, 700), prices, site=chosen)
        return bidder

    east, west = served(["a", "b"], 1), served(["b", "c"], 2)
    east.merge(west)
    east.save(tmp_path / "merged.bidder")
    again = FirstPriceBidder.load(tmp_path / "merged.bidder")
    for site in ("a", "b", "c", "never seen"):
        np.testing.assert_array_equal(again.policy(8.0, site=site), east.policy(8.0, site=site))
    assert again.price_law(8.0, site="c").own_rounds == east.price_law(8.0, site="c").own_rounds > 0
    for bidder in (east, again):  # both go on alike
        bid = bidder.bid(8.0, site="c")
        bidder.settle(bid, won=False, highest_competing_bid=9.0)
    np.testing.assert_array_equal(again.policy(8.0, site="c"), east.policy(8.0, site="c"))
