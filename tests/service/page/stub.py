"""A node that is none: figures as a test wants them, and bidders that were trained in process."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from crossbandit.applications import FirstPriceBidder
from crossbandit.service import BidderFigures, DiagnosisFigures, LimitFigures, UnknownBidderError
from crossbandit.service.figures import Minute

NOW = float(int(time.time()))  # the page shows what is recent


def figures(name: str = "shop", **changes: Any) -> BidderFigures:
    """Return the figures of a bidder that has won 30 of 100 auctions."""
    usual: dict[str, Any] = {
        "name": name,
        "paused": False,
        "limited": False,
        "holder": "node",
        "decisions": 120,
        "won": 30,
        "lost": 70,
        "refused": {},
        "win_rate": 0.3,
        "value_won": 200.0,
        "spend": 80.0,
        "surplus": 120.0,
        "limits": (),
        "learned": 100,
        "last": 100,
        "lag": 0,
        "lag_seconds": 0.0,
        "policy_age": 0.5,
        "exploration": 0.25,
        "diagnosis": DiagnosisFigures(
            "There is no evidence so far.", depends=False, log_evidence=0.0, gain=None, rounds=9
        ),
        "alerts": (),
        "history": (
            Minute(int(NOW) - 300, 0, 60, 10, 30.0, 40.0),
            Minute(int(NOW) - 60, 0, 40, 20, 50.0, 80.0),
        ),
    }
    return BidderFigures(**(usual | changes))


def budget(**changes: Any) -> LimitFigures:
    """Return a budget of 100 of which 25 are spent and 50 planned."""
    usual: dict[str, Any] = {
        "kind": "budget",
        "amount": 100.0,
        "spent": 25.0,
        "reserved": 0.0,
        "left": 75.0,
        "planned": 50.0,
        "slack": None,
        "multiplier": 1.5,
        "begins": NOW - 120,
        "ends": NOW + 120,
        "auctions": 40,
        "words": "The budget of 100: spent 25.",
    }
    return LimitFigures(**(usual | changes))


def trained(rounds: int = 300, **settings: Any) -> FirstPriceBidder:
    """Return a bidder that has learned from some auctions, in which prices go with values."""
    bidder = FirstPriceBidder(bids=21, value_range=(0, 10), seed=1, **settings)
    values, prices = np.random.default_rng(0).uniform(0, [10, 6], size=(rounds, 2)).T
    columns = {name: np.array(["a", "b"])[(values > 5).astype(int)] for name in bidder.classes}
    bidder.warm_up(values, prices, **columns)
    return bidder


class StubNode:
    """What the page uses of a node."""

    def __init__(self) -> None:
        self.all: dict[str, tuple[FirstPriceBidder | None, BidderFigures]] = {}

    def all_figures(self) -> dict[str, BidderFigures]:
        return {name: self.all[name][1] for name in sorted(self.all)}

    def bidder(self, name: str) -> FirstPriceBidder:
        found = self.all[name][0]
        if found is None:
            raise UnknownBidderError(name)
        return found
