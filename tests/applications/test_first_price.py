"""The bidder: what each kind of feedback reveals, and every way an auction can go wrong."""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, Decision
from crossbandit.applications import Bid, FirstPriceBidder, geometric_bids
from crossbandit.environments.auctions import FEEDBACK, AuctionRules
from crossbandit.errors import (
    CheckpointError,
    DecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.kernels.rounds import Floats

BIDS = (0.0, 1.0, 2.5, 4.0, 6.0)
PRICES = (0.0, 0.5, 1.0, 2.5, 3.0, 5.0, 6.0, 9.0)
HIGHEST = 8.0


def bidder(**options: Any) -> FirstPriceBidder:
    return FirstPriceBidder(**{"bids": BIDS, "value_range": (0, HIGHEST), "seed": 0, **options})


def place(bidder: FirstPriceBidder, arm: int, value: float = HIGHEST) -> Bid:
    """Bid until the bidder happens to choose `arm`."""
    for _ in range(10_000):
        bid = bidder.bid(value)
        if bid.amount == BIDS[arm]:
            return bid
    raise AssertionError(f"bid {arm} was never made")


def learned(bidder: FirstPriceBidder, bid: Bid, **outcome: Any) -> tuple[Decision, Floats]:
    """Settle `bid` and return what the learner was told."""
    told: list[tuple[Decision, Floats]] = []
    bidder.learner.learn = lambda *arguments: told.append(arguments)  # type: ignore[method-assign]
    try:
        bidder.settle(bid, **outcome)
    finally:
        del bidder.learner.learn
    return told[0]


@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 2.5])
@pytest.mark.parametrize("at_most_value", [True, False])
def test_what_is_learned_is_true_in_every_auction(
    feedback: str, ties: str, reserve: float, at_most_value: bool
) -> None:
    """For every bid and every price: the losses of all revealed bids, at every value."""
    own = bidder(feedback=feedback, ties=ties, reserve=reserve, at_most_value=at_most_value)
    for arm, price in product(range(len(BIDS)), PRICES):
        beats = BIDS[arm] >= price if ties == "win" else BIDS[arm] > price
        won = beats and BIDS[arm] >= reserve
        told = {"always": True, "after-loss": not won, "after-win": won, "won-lost": False}
        decision, rows = learned(
            own,
            place(own, arm),
            won=won,
            highest_competing_bid=price if told[feedback] else None,
        )
        assert list(decision.revealed) == revealed_by(arm, feedback)
        for b, row in zip(decision.revealed, rows, strict=True):
            b_beats = BIDS[b] >= price if ties == "win" else BIDS[b] > price
            for value in (0.0, 2.5, HIGHEST):
                earned = value - BIDS[b] if b_beats and BIDS[b] >= reserve else 0.0
                loss = (HIGHEST - earned) / (HIGHEST if at_most_value else HIGHEST + BIDS[-1])
                assert row @ [1.0, value / HIGHEST] == pytest.approx(loss, abs=1e-12)
                if BIDS[b] <= value or not at_most_value:
                    assert -1e-12 <= loss <= 1 + 1e-12


def revealed_by(arm: int, feedback: str) -> list[int]:
    everything = list(range(len(BIDS)))
    return {
        "after-loss": everything[arm:],
        "after-win": everything[: arm + 1],
        "always": everything,
        "won-lost": [arm],
    }[feedback]


def test_a_bid_is_never_above_the_value() -> None:
    own = bidder()
    for value in np.random.default_rng(0).uniform(0, HIGHEST, 500):
        bid = own.bid(value)
        assert float(bid) <= value
        won = float(bid) >= 3
        own.settle(bid, won=won, highest_competing_bid=None if won else 3.0)
    careless = bidder(at_most_value=False)
    assert max(float(careless.bid(0.5)) for _ in range(200)) == BIDS[-1]


def test_a_value_of_nothing() -> None:
    """A bid of 0 is all that may be made; where there is no such bid, none is made."""
    assert bidder().bid(0).amount == 0.0
    own = bidder(bids=[1.0, 2.0])
    bid = own.bid(0.5)
    assert bid.amount is None
    assert float(bid) == 0.0
    assert own.rounds == 0
    own.settle(bid, won=False, highest_competing_bid=3.0)
    own.settle(bid, won=False)
    with pytest.raises(InvalidLossesError, match="no bid was made"):
        own.settle(bid, won=True)


@pytest.mark.parametrize(
    ("options", "arm", "outcome", "message"),
    [
        ({}, 2, {"won": False, "highest_competing_bid": 1.0}, "cannot have lost against"),
        ({}, 2, {"won": False, "highest_competing_bid": 2.5}, "equal bids win"),
        ({}, 2, {"won": True, "highest_competing_bid": 3.0}, "cannot have won against"),
        ({"ties": "lose"}, 2, {"won": True, "highest_competing_bid": 2.5}, "equal bids lose"),
        ({"reserve": 3.0}, 2, {"won": True}, "below the reserve price, 3"),
        ({}, 2, {"won": False}, "'after-loss': the competing bid is told to losers"),
        ({"feedback": "after-win"}, 2, {"won": True}, "told to the winner"),
        ({"feedback": "always"}, 2, {"won": True}, "told to everyone"),
        ({}, 2, {"won": False, "highest_competing_bid": math.nan}, "finite number"),
        ({}, 2, {"won": False, "highest_competing_bid": -1.0}, "at least 0"),
        ({}, 2, {"won": False, "highest_competing_bid": "3"}, "'highest_competing_bid'"),
        ({}, 2, {"won": 1}, "True or False"),
    ],
)
def test_a_contradiction_is_refused_and_nothing_is_lost(
    options: dict[str, Any], arm: int, outcome: dict[str, Any], message: str
) -> None:
    own = bidder(**options)
    bid = place(own, arm)
    before = own.learner.policy(own.rules.contexts(HIGHEST))
    with pytest.raises(InvalidLossesError, match=message):
        own.settle(bid, **outcome)
    np.testing.assert_array_equal(own.learner.policy(own.rules.contexts(HIGHEST)), before)
    price = 3.0 if own.feedback != "always" else 1.0
    won = own.feedback != "after-loss" and BIDS[arm] >= price
    own.settle(bid, won=won, highest_competing_bid=price)
    with pytest.raises(DecisionError, match="learned from before"):
        own.settle(bid, won=won, highest_competing_bid=price)


@pytest.mark.parametrize("value", [-0.1, 8.1, math.nan, "5", None, True])
def test_a_value_outside_its_range_is_refused(value: Any) -> None:
    own = bidder()
    with pytest.raises(InvalidContextError, match=r"'value'.*at least 0 and of at most 8"):
        own.bid(value)
    assert own.rounds == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value_range": (0, 0)}, "above 0"),
        ({"value_range": (6, 5)}, "the lower one first"),
        ({"value_range": (-1, 5)}, "of at least 0"),
        ({"value_range": 5}, "a pair"),
        ({"bids": 1}, "at least 2"),
        ({"bids": [1.0, -2.0]}, "-2.0 among them"),
        ({"bids": [1.0, math.inf]}, "inf among them"),
        ({"bids": [[1.0, 2.0]]}, "'bids'"),
        ({"bids": "many"}, "'bids'"),
        ({"feedback": "sometimes"}, "'after-loss'"),
        ({"reserve": -1}, "'reserve'"),
        ({"ties": "draw"}, "'win', 'lose'"),
        ({"at_most_value": 1}, "True or False"),
        ({"algorithm": CrossGraph()}, "horizon"),
    ],
)
def test_a_bad_setting_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        bidder(**options)


def test_bids_by_number_and_geometric() -> None:
    assert bidder(bids=5).rules.amounts.tolist() == [0, 2, 4, 6, 8]
    grid = geometric_bids(4, 1, 4)
    np.testing.assert_allclose(bidder(bids=grid).rules.amounts, [0, 1, 2, 4])
    with pytest.raises(InvalidParameterError, match=r"'highest'.*above 3"):
        geometric_bids(4, 3, 2)


def auctions(own: FirstPriceBidder, rounds: int, seed: int = 0) -> list[float]:
    """Play against prices uniform in [0, 5]; return what was bid."""
    generator = np.random.default_rng(seed)
    amounts = []
    for _ in range(rounds):
        value, price = generator.uniform(0, HIGHEST), generator.uniform(0, 5)
        bid = own.bid(value)
        won = float(bid) >= price
        own.settle(bid, won=won, highest_competing_bid=None if won else price)
        amounts.append(float(bid))
    return amounts


@pytest.mark.parametrize("algorithm", [None, CrossGraph()])
def test_saved_and_loaded_it_bids_on(tmp_path: Path, algorithm: Any) -> None:
    own = bidder(bids=11, horizon=1000, algorithm=algorithm)
    auctions(own, 151)
    waiting = own.bid(7.0)
    own.save(tmp_path / "bidder")
    again = FirstPriceBidder.load(tmp_path / "bidder")
    assert again.settings() == own.settings()
    assert again.pending == own.pending == 1
    kept = Bid.from_json(json.loads(json.dumps(waiting.to_json())))
    for each in (own, again):
        each.settle(kept, won=False, highest_competing_bid=7.5)
    assert auctions(own, 100, seed=1) == auctions(again, 100, seed=1)


def test_another_file_is_no_bidder(tmp_path: Path) -> None:
    own = bidder()
    own.learner.save(tmp_path / "learner")
    with pytest.raises(CheckpointError, match="learner without an application"):
        FirstPriceBidder.load(tmp_path / "learner")


def test_auctions_settled_late_in_any_order_or_never() -> None:
    own = bidder(bids=21)
    generator = np.random.default_rng(0)
    out: list[tuple[Bid, float]] = []
    for _ in range(3000):
        value, price = generator.uniform(0, HIGHEST), generator.uniform(0, 5)
        out.append((own.bid(value), price))
        if len(out) > 20:
            bid, its_price = out.pop(int(generator.integers(20)))
            if generator.random() < 0.9:
                won = float(bid) >= its_price
                own.settle(bid, won=won, highest_competing_bid=None if won else its_price)
    assert own.pending == pytest.approx(300 + 20, abs=60)
    curve = own.shading_curve([2.0, 4.0, 6.0])
    np.testing.assert_allclose(curve.bids, [1.0, 2.0, 3.0], atol=0.81)


def test_the_shading_curve_is_the_policy() -> None:
    own = bidder(bids=11)
    auctions(own, 300)
    curve = own.shading_curve()
    assert curve.values.tolist() == np.linspace(0, HIGHEST, 101).tolist()
    assert (curve.low <= curve.bids).all()
    assert (curve.bids <= curve.high).all()
    assert (curve.high <= curve.values).all()
    i = 77
    value = curve.values[i]
    policy = own.learner.policy(own.rules.contexts(value), own.rules.amounts <= value)
    below = own.rules.amounts < curve.bids[i]
    assert (
        policy[below].sum()
        < 0.5
        <= policy[below].sum() + policy[own.rules.amounts == curve.bids[i]]
    )
    with pytest.raises(InvalidContextError, match="'value'"):
        own.shading_curve([9.0])


def test_the_shading_curve_leaves_out_values_without_a_bid(tmp_path: Path) -> None:
    curve = bidder(bids=[2.0, 3.0]).shading_curve([1.0, 2.0, 5.0])
    assert curve.values.tolist() == [2.0, 5.0]
    curve.save(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    _, labels = curve.plot().get_legend_handles_labels()
    assert labels == ["value", "eight bids of ten", "median bid"]


def test_money_may_be_in_any_unit() -> None:
    small, large = bidder(bids=11), bidder(bids=11, value_range=(0, 1000 * HIGHEST))
    generator = np.random.default_rng(2)
    for _ in range(400):
        value, price = generator.uniform(0, HIGHEST), generator.uniform(0, 5)
        bid, same = small.bid(value), large.bid(1000 * value)
        assert float(same) == pytest.approx(1000 * float(bid))
        won = float(bid) >= price
        small.settle(bid, won=won, highest_competing_bid=None if won else price)
        large.settle(same, won=won, highest_competing_bid=None if won else 1000 * price)


def test_surplus_wins_and_available_agree_with_the_rows() -> None:
    for ties, reserve in product(("win", "lose"), (0.0, 2.5)):
        rules = AuctionRules(bids=BIDS, highest_value=HIGHEST, ties=ties, reserve=reserve)
        for value in (0.0, 2.5, 7.0):
            rows = rules.block(PRICES).base @ rules.contexts(value)
            earned = rules.surplus(value, rules.amounts, np.array(PRICES)[:, None])
            np.testing.assert_allclose(rows, 1 - earned / HIGHEST, atol=1e-12)
