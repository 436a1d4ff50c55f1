"""Features of a bidder: what they change, and how it says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidContextError


@pytest.fixture(scope="module")
def trained() -> FirstPriceBidder:
    """Return a bidder in whose auctions prices go with the site and the floor, not the hour."""
    bidder = FirstPriceBidder(
        bids=41,
        value_range=(0, 10),
        feedback="always",
        classes=("site", "hour", "floor"),
        seed=1,
    )
    rng = np.random.default_rng(0)
    values, sites = rng.uniform(4, 10, 3_000), rng.choice(["a", "b"], 3_000)
    floors, hours = rng.exponential(1.0, 3_000), rng.integers(0, 24, 3_000)
    prices = np.maximum(floors, np.where(sites == "a", 4.0, 1.0) + rng.random(3_000))
    bids = bidder.bid_many(values, site=sites, hour=hours, floor=floors)
    won = np.nan_to_num(bids.amounts, nan=-1.0) >= prices
    bidder.settle_many(bids, won=won, highest_competing_bid=prices)
    return bidder


def test_a_bid_is_explained(trained: FirstPriceBidder) -> None:
    found = trained.explain(9.0, site="a", hour=3, floor=0.1)
    assert found.bid == 5.0
    assert found.moved["site"][0] == "a"
    assert found.moved["hour"] == (3, 0.0)
    cheap = trained.explain(9.0, site="b", hour=3, floor=0.1)
    assert cheap.bid <= 2.25 < found.without <= 5.0
    assert cheap.moved["site"][1] <= -1.0
    assert str(cheap).splitlines()[1].startswith("site = 'b': -")
    made = trained.bid(9.0, site="b", hour=3, floor=0.1)
    assert trained.explain(made) == cheap
    with pytest.raises(InvalidContextError, match="explain"):
        trained.explain(9.0, site="b")


def test_the_diagnosis_says_what_each_feature_adds(trained: FirstPriceBidder) -> None:
    gains = dict(trained.diagnosis().features)
    assert list(gains) == ["site", "hour", "floor"]
    assert gains["site"] > 0.1
    assert abs(gains["hour"]) < 0.01
    assert FirstPriceBidder(value_range=(0, 1), seed=1).diagnosis().features == ()


def test_what_is_unknown_and_what_is_sent_later(trained: FirstPriceBidder) -> None:
    given: dict[str, Any] = {"site": None, "hour": 4, "floor": float("nan")}
    one, many = trained.bid(9.0, **given), trained.bid_many([9.0], **given)
    assert one.classes == many.classes[0] == (None, 4, None)
    trained.settle(one.text, won=False, highest_competing_bid=9.5)
    trained.settle_many([many[0].token], won=[False], highest_competing_bid=[9.5])


def test_levels_that_came_by_token_are_shown_by_their_names_where_these_are_known() -> None:
    own = FirstPriceBidder(bids=11, value_range=(0, 10), classes=["site", "hour"], seed=1)
    for site, hour in (("example.com", 3), ("example.org", 4), ("tv", 5)):
        bid = own.bid(8.0, site=site, hour=hour)
        own.settle(bid.token, won=False, highest_competing_bid=9.0)
    named = {("example.com", 3), ("example.org", 4), ("tv", 5)}
    assert set(own.learner.latest()) == named
    assert set(own.snapshot(seed=3).learner.latest()) == named
