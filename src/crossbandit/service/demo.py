"""Simulated auctions for the bidders of a node: `crossbandit serve --demo`."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import CrossbanditError
from crossbandit.service.contents import Decided, Outcome
from crossbandit.service.settings import (
    BidderSettings,
    BudgetSettings,
    ReturnOnSpendSettings,
    Seconds,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.service.node import Node

_STEP = 0.1  # seconds between two rounds of auctions
_PAUSE = 1.0  # seconds until the next attempt, if the node could not decide
_PATIENCE = 30.0  # seconds to wait for an answer
_RANGE = (0.0, 10.0)
_SITES = {"news": 3.0, "sports": 5.0, "games": 7.5}

Auction = tuple[float, float, dict[str, str | int]]  # value, highest competing bid, classes


@dataclass(frozen=True)
class Market:
    """One bidder of the demonstration and the auctions in which it takes part."""

    settings: BidderSettings
    draw: Callable[[np.random.Generator], Auction]


def _by_value(rng: np.random.Generator) -> Auction:
    """Draw an auction whose price depends on the value: both tend to be high together."""
    value = rng.uniform(*_RANGE)
    return value, value * rng.beta(4.0, 5.0) + rng.exponential(0.2), {}


def _alike(rng: np.random.Generator) -> Auction:
    """Draw an auction whose price does not depend on the value."""
    return rng.uniform(*_RANGE), 6.0 * rng.beta(2.0, 2.5), {}


def _by_site(rng: np.random.Generator) -> Auction:
    """Draw an auction whose price depends on the site."""
    site = list(_SITES)[rng.integers(len(_SITES))]
    return rng.uniform(*_RANGE), _SITES[site] * rng.beta(4.0, 3.0), {"site": site}


MARKETS = {
    "display": Market(BidderSettings(value_range=_RANGE, bids=101), _by_value),
    "retargeting": Market(
        BidderSettings(
            value_range=_RANGE,
            bids=101,
            budget=BudgetSettings(10_000.0, per=Seconds(600.0), pacing="even"),
        ),
        _alike,
    ),
    "search": Market(BidderSettings(value_range=_RANGE, bids=51, feedback="won-lost"), _alike),
    "shopping": Market(
        BidderSettings(value_range=_RANGE, bids=101, target=ReturnOnSpendSettings(3.0)), _by_value
    ),
    "video": Market(BidderSettings(value_range=_RANGE, bids=101, classes=("site",)), _by_site),
}


def create_bidders(node: Node) -> None:
    """Create the bidders of the demonstration that a node does not have yet."""
    for name in set(MARKETS) - set(node.names()):
        node.create(name, MARKETS[name].settings)


def play(node: Node, *, rate: float = 40.0, seed: int | None = None) -> Callable[[], None]:
    """Create the bidders of the demonstration, and start to play auctions in a thread."""
    create_bidders(node)
    stop = Event()
    rng = np.random.default_rng(seed)
    thread = Thread(target=_play_on, args=(node, stop, rate, rng), name="demo", daemon=True)
    thread.start()

    def end() -> None:
        stop.set()
        thread.join(_PATIENCE)

    return end


def _play_on(node: Node, stop: Event, rate: float, rng: np.random.Generator) -> None:
    due = time.monotonic()
    while not stop.wait(max(due - time.monotonic(), 0.0)):
        due = max(due + _STEP, time.monotonic())  # missed auctions are not played later
        played = 0
        for name, market in MARKETS.items():
            # If a bidder is paused, deleted or not ready, the others continue.
            with suppress(CrossbanditError, TimeoutError):
                play_round(node, name, market, int(rng.poisson(rate * _STEP)), rng)
                played += 1
        if played == 0:
            stop.wait(_PAUSE)


def play_round(
    node: Node, name: str, market: Market, auctions: int, rng: np.random.Generator
) -> None:
    """Play some auctions of one bidder, and report their outcomes."""
    drawn = [market.draw(rng) for _ in range(auctions)]
    asked = [node.decide(name, value, classes=classes) for value, _, classes in drawn]
    outcomes = []
    for made, (_, price, _) in zip(asked, drawn, strict=True):
        decided: Decided = made.result(_PATIENCE) if isinstance(made, Future) else made
        if decided.amount is None or decided.token is None:
            continue
        won = decided.amount >= price
        told = None if won or market.settings.feedback == "won-lost" else price
        outcomes.append(Outcome(decided.token, won=won, highest_competing_bid=told))
    if outcomes:
        node.report(name, outcomes).result(_PATIENCE)
