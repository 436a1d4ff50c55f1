"""The bidder: what each kind of feedback reveals, and every way an auction can go wrong."""

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, Decision
from crossbandit.applications import Bid, FirstPriceBidder, ShadingCurve, geometric_bids
from crossbandit.applications.bidding.auctions import FEEDBACK, AuctionRules
from crossbandit.applications.money import bid_grid
from crossbandit.core.types import Feedback, Floats, Ties
from crossbandit.errors import (
    CheckpointError,
    DecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)

BIDS = (0.0, 1.0, 2.5, 4.0, 6.0)
PRICES = (0.0, 0.5, 1.0, 2.5, 3.0, 5.0, 6.0, 9.0)
HIGHEST = 8.0


def bidder(**options: Any) -> FirstPriceBidder:
    """Return a bidder that learns by its feedback graph, unless `options` say otherwise."""
    given = {"bids": BIDS, "value_range": (0, HIGHEST), "algorithm": CrossGraphAdaptive()}
    return FirstPriceBidder(**{**given, "seed": 0, **options})


def place(
    bidder: FirstPriceBidder, arm: int, value: float = HIGHEST, reserve: float | None = None
) -> Bid:
    """Bid until the bidder happens to choose `arm`."""
    for _ in range(10_000):
        bid = bidder.bid(value, reserve=reserve)
        if float(bid) == BIDS[arm]:
            return bid
    raise AssertionError(f"bid {arm} was never made")


def learned(bidder: FirstPriceBidder, bid: Bid, **outcome: Any) -> tuple[Decision, Floats]:
    """Settle `bid` and return what the learner was told."""
    told: list[tuple[Decision, Floats]] = []
    bidder.learner.learn = lambda *arguments: told.append(arguments)
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
    feedback: Feedback, ties: Ties, reserve: float, at_most_value: bool
) -> None:
    """For every bid and every price: the losses of all revealed bids, at every value."""
    own = bidder(feedback=feedback, ties=ties, reserve=reserve, at_most_value=at_most_value)
    for arm, price in product(arms_to_settle(feedback), PRICES):
        won = beats(BIDS[arm], price, ties) and BIDS[arm] >= reserve
        told = {"always": True, "after-loss": not won, "after-win": won, "won-lost": False}
        decision, rows = learned(
            own,
            place(own, arm),
            won=won,
            highest_competing_bid=price if told[feedback] else None,
        )
        assert list(decision.revealed) == revealed_by(arm, feedback)
        for b, row in zip(decision.revealed, rows, strict=True):
            b_wins = beats(BIDS[b], price, ties) and BIDS[b] >= reserve
            for value in (0.0, 2.5, HIGHEST):
                earned = value - BIDS[b] if b_wins else 0.0
                loss = (HIGHEST - earned) / (HIGHEST if at_most_value else HIGHEST + BIDS[-1])
                assert row @ [1.0, value / HIGHEST] == pytest.approx(loss, abs=1e-12)
                if BIDS[b] <= value or not at_most_value:
                    assert -1e-12 <= loss <= 1 + 1e-12


def arms_to_settle(feedback: Feedback) -> range:
    """Return all arms, but without that of no bid if losers are told nothing."""
    return range(0 if feedback in ("after-loss", "always") else 1, len(BIDS))


def beats(bid: float, price: float, ties: Ties) -> bool:
    """Return whether a bid beats the others; a bid of 0 is no bid."""
    return bid > 0 and (bid > price or (bid == price and ties == "win"))


def revealed_by(arm: int, feedback: Feedback) -> list[int]:
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
    """Only a bid of 0 is left, which is none, or not even that."""
    assert bidder().bid(0).amount is None
    own = bidder(bids=[1.0, 2.0])
    bid = own.bid(0.5)
    assert bid.amount is None
    assert float(bid) == 0.0
    assert own.rounds == 0
    own.settle(bid, won=False, highest_competing_bid=3.0)
    own.settle(bid, won=False)
    with pytest.raises(InvalidLossesError, match="No bid was made"):
        own.settle(bid, won=True)
    assert Bid.from_json(json.loads(json.dumps(bid.to_json()))) == bid


@pytest.mark.parametrize("ties", ["win", "lose"])
def test_a_bid_of_0_never_wins(ties: Ties) -> None:
    own = bidder(ties=ties, feedback="always")
    _, rows = learned(own, place(own, 0), won=False, highest_competing_bid=0)
    earned = np.append(0, 4 - np.array(BIDS[1:]))
    np.testing.assert_allclose(rows @ [1, 0.5], 1 - earned / HIGHEST, atol=1e-12)
    with pytest.raises(InvalidLossesError, match="No bid was made"):
        own.settle(place(own, 0), won=True, highest_competing_bid=0)
    quiet = bidder(ties=ties, feedback="won-lost")
    with pytest.raises(InvalidLossesError, match="No bid was made"):
        quiet.settle(place(quiet, 0), won=True)
    strict = bidder(ties=ties, feedback="always", reserve=1.0)
    _, rows = learned(strict, place(strict, 0), won=False, highest_competing_bid=0)
    assert (rows[:, 1] < 0).tolist() == [False, True, True, True, True]


@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("ties", ["win", "lose"])
def test_an_auction_may_have_a_reserve_of_its_own(feedback: Feedback, ties: Ties) -> None:
    """It takes the place of the bidder's, and what is learned is what that bidder would learn."""
    own = bidder(feedback=feedback, ties=ties, reserve=1.0)
    for reserve, arm, price in product((0.0, 2.5, 5.0), arms_to_settle(feedback), PRICES):
        same = AuctionRules(bids=BIDS, highest_value=HIGHEST, ties=ties, reserve=reserve)
        won = bool(same.wins(BIDS[arm], price))
        told = {"always": True, "after-loss": not won, "after-win": won, "won-lost": False}
        decision, rows = learned(
            own,
            place(own, arm),
            won=won,
            highest_competing_bid=price if told[feedback] else None,
            reserve=reserve,
        )
        expected = same.block([price]).base[0][list(decision.revealed)]
        np.testing.assert_array_equal(rows, expected)
    assert own.rules.reserve == 1.0


@pytest.mark.parametrize("at_most_value", [True, False])
def test_no_bid_is_below_a_reserve_that_is_known(at_most_value: bool) -> None:
    own = bidder(at_most_value=at_most_value)
    for value, reserve in product((0.0, 2.0, 2.5, 5.0, HIGHEST), (0.0, 1.0, 2.6, 6.0, 6.1)):
        may = [reserve <= b and (b <= value or not at_most_value) for b in BIDS]
        policy = own.policy(value, reserve=reserve)
        if any(may):
            context = [1.0, value / HIGHEST]
            np.testing.assert_array_equal(policy, own.learner.policy(context, np.array(may)))
        bid = own.bid(value, reserve=reserve)
        assert (bid.value, bid.reserve) == (value, reserve)
        assert Bid.from_json(json.loads(json.dumps(bid.to_json()))) == bid
        assert (policy > 0).tolist() == may
        if not any(may):
            assert (bid.amount, bid.decision) == (None, None)
            own.settle(bid, won=False)
            continue
        assert float(bid) in np.array(BIDS)[may]
        curve = own.shading_curve([value], reserve=reserve)
        assert reserve <= curve.low[0] <= curve.bids[0] <= curve.high[0]
    assert np.isnan(own.shading_curve([5.0], reserve=6.1).bids).all()


@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("ties", ["win", "lose"])
def test_what_is_learned_with_a_known_reserve_holds_without_it(
    feedback: Feedback, ties: Ties
) -> None:
    """All revealed bids are judged by the competing bid alone; the bidder's own reserve stays."""
    own = bidder(feedback=feedback, ties=ties, reserve=1.0)
    for reserve, arm, price in product((1.0, 2.5, 5.0), range(len(BIDS)), PRICES):
        if BIDS[arm] < reserve:
            continue
        won = beats(BIDS[arm], price, ties)
        told = {"always": True, "after-loss": not won, "after-win": won, "won-lost": False}
        decision, rows = learned(
            own,
            place(own, arm, reserve=reserve),
            won=won,
            highest_competing_bid=price if told[feedback] else None,
        )
        assert list(decision.revealed) == revealed_by(arm, feedback)
        for b, row in zip(decision.revealed, rows, strict=True):
            b_wins = beats(BIDS[b], price, ties) and BIDS[b] >= 1.0
            for value in (0.0, 2.5, HIGHEST):
                loss = (HIGHEST - (value - BIDS[b] if b_wins else 0.0)) / HIGHEST
                assert row @ [1.0, value / HIGHEST] == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("algorithm", [CrossGraphAdaptive(), CrossGraph()])
def test_a_known_reserve_is_a_mask_of_the_learner(feedback: Feedback, algorithm: Any) -> None:
    """The same bids as of a learner that is told which may be made, with losses by hand."""
    own = bidder(feedback=feedback, horizon=400, algorithm=algorithm)
    learner = own.learner.algorithm.start(own.learner.problem, seed=0)
    generator = np.random.default_rng(3)
    for _ in range(400):
        value, price = generator.uniform(0, HIGHEST), generator.uniform(0, 7)
        reserve = float(generator.choice([0.0, 1.0, 3.0]))
        bid = own.bid(value, reserve=reserve)
        mask = np.array([reserve <= b <= value for b in BIDS])
        if not mask.any():
            assert bid.amount is None
            continue
        decision = learner.act([1.0, value / HIGHEST], mask)
        assert float(bid) == BIDS[decision.arm]
        won = float(bid) >= price
        told = {"always": True, "after-loss": not won, "after-win": won, "won-lost": False}
        own.settle(bid, won=won, highest_competing_bid=price if told[feedback] else None)
        learner.learn(
            decision,
            [
                [1 + BIDS[b] / HIGHEST, -1.0] if BIDS[b] >= price else [1.0, 0.0]
                for b in decision.revealed
            ],
        )
    assert own.rounds == learner.round > 200


def test_a_reserve_of_nothing_changes_nothing() -> None:
    plain, told = bidder(bids=11), bidder(bids=11)
    generator = np.random.default_rng(2)
    for _ in range(300):
        value, price = generator.uniform(0, HIGHEST), generator.uniform(0, 5)
        bid, same = plain.bid(value), told.bid(value, reserve=0)
        assert bid.amount == same.amount
        won = float(bid) >= price
        for own, its in ((plain, bid), (told, same)):
            own.settle(its, won=won, highest_competing_bid=None if won else price)


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always"])
def test_with_reserves_that_are_known_the_best_bids_are_found(feedback: Feedback) -> None:
    """Whatever the reserve, what is bid in the end earns nearly what the best bid does."""
    own = bidder(bids=17, feedback=feedback)
    generator = np.random.default_rng(4)
    prices = generator.uniform(0, 5, 6000)
    for price in prices:
        bid = own.bid(generator.uniform(0, HIGHEST), reserve=float(generator.choice([0.0, 3.0])))
        won = bid.amount is not None and bid.amount >= price
        own.settle(bid, won=won, highest_competing_bid=price)
    for value, reserve in product((4.0, 6.0, 8.0), (0.0, 3.0)):
        wins = (own.bids[:, None] >= prices).mean(axis=1)
        earns = np.where(own.bids >= reserve, (value - own.bids) * wins, 0.0)
        assert own.policy(value, reserve=reserve) @ earns > 0.95 * earns.max()


def test_a_reserve_that_was_known_is_not_told_again_as_another() -> None:
    own = bidder(feedback="always", reserve=1.0)
    bid = place(own, 3, reserve=2.5)
    with pytest.raises(InvalidLossesError, match=r"for a reserve price of 2\.5\. Got reserve=3\."):
        own.settle(bid, won=True, highest_competing_bid=0.5, reserve=3.0)
    _, same = learned(own, bid, won=True, highest_competing_bid=0.5, reserve=2.5)
    _, rows = learned(own, bid, won=True, highest_competing_bid=0.5)
    np.testing.assert_array_equal(rows, same)
    with pytest.raises(
        InvalidContextError, match=r"'reserve' parameter of bid .* of at least 1\. "
    ):
        own.bid(5.0, reserve=0.5)


def test_a_bid_kept_without_a_reserve_is_a_bid() -> None:
    """As bids were written before they had one."""
    bid = bidder().bid(5.0)
    data = bid.to_json()
    del data["reserve"]
    assert Bid.from_json(data) == bid


def test_a_replaced_amount_is_not_believed() -> None:
    """What counts is the bid that the learner remembers."""
    own = bidder()
    bid = replace(place(own, 2), amount=0.1)
    with pytest.raises(InvalidLossesError, match=r"The outcome of the bid of 2\.5 .* lost against"):
        own.settle(bid, won=False, highest_competing_bid=1.0)
    own.settle(bid, won=False, highest_competing_bid=3.0)


@pytest.mark.parametrize("wrong", [None, 2.5, (1, 2)])
def test_only_a_bid_can_be_settled(wrong: Any) -> None:
    with pytest.raises(DecisionError, match="settle takes the Bid to be settled"):
        bidder().settle(wrong, won=False, highest_competing_bid=1.0)


def test_a_bid_of_another_bidder_is_refused_as_foreign_first() -> None:
    other = bidder(bids=100, value_range=(0, 100))
    bid = other.bid(90.0)
    outcome: dict[str, Any] = {"won": "maybe", "highest_competing_bid": -1.0}
    with pytest.raises(DecisionError, match="another learner"):
        bidder().settle(bid, **outcome)


@pytest.mark.parametrize(
    ("options", "arm", "outcome", "message"),
    [
        ({}, 2, {"won": False, "highest_competing_bid": 1.0}, "cannot have lost against"),
        ({}, 2, {"won": True, "highest_competing_bid": 3.0}, "cannot have won against"),
        ({}, 2, {"won": False, "highest_competing_bid": 2.4999}, "cannot have lost against"),
        ({"ties": "lose"}, 2, {"won": True, "highest_competing_bid": 2.5001}, "cannot have won"),
        ({"reserve": 3.0}, 2, {"won": True}, "below the reserve price, 3"),
        ({}, 2, {"won": False}, "'after-loss': the competing bid is told to losers"),
        ({"feedback": "after-win"}, 2, {"won": True}, "told to the winner"),
        ({"feedback": "always"}, 2, {"won": True}, "told to everyone"),
        ({}, 2, {"won": False, "highest_competing_bid": math.inf}, "finite number"),
        ({}, 2, {"won": False, "highest_competing_bid": -1.0}, "at least 0"),
        ({}, 2, {"won": False, "highest_competing_bid": "3"}, "'highest_competing_bid'"),
        ({}, 2, {"won": 2}, "True or False"),
        ({}, 2, {"won": True, "reserve": 2.6}, "below the reserve price, 2.6"),
        ({}, 2, {"won": True, "reserve": -1}, "'reserve' .* of at least 0"),
        ({}, 2, {"won": False, "highest_competing_bid": 1.2345678}, r"1\.2345678\. Nothing"),
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
        ({"value_range": (-1, 5)}, "amounts from 0"),
        ({"value_range": (0, 1e200)}, "from 0 to 1e"),
        ({"value_range": (0, True)}, "Got True among them"),
        ({"value_range": 5}, "a pair"),
        ({"bids": 1}, "at least 2"),
        ({"bids": [1.0, -2.0]}, "-2.0 among them"),
        ({"bids": [1.0, math.inf]}, "inf among them"),
        ({"bids": [[1.0, 2.0]]}, "'bids'"),
        ({"bids": "many"}, "'bids'"),
        ({"bids": ["1", "2"]}, "'bids' parameter of FirstPriceBidder .* Got '1' among them"),
        ({"bids": True}, "'bids' .* Got True"),
        ({"feedback": "sometimes"}, "'after-loss'"),
        ({"reserve": -1}, "'reserve'"),
        ({"ties": "draw"}, "'win', 'lose'"),
        ({"at_most_value": 1}, "True or False"),
        ({"algorithm": CrossGraph()}, "horizon"),
        ({"algorithm": CrossGraph}, r"'algorithm' .* FirstPriceBidder .* such as CrossGraph\(\)"),
        ({"algorithm": "cross-graphs"}, "There is no algorithm 'cross-graphs'"),
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


@pytest.mark.parametrize(("highest", "count", "parts"), [(10, 101, 10), (1, 101, 100), (5, 51, 10)])
def test_evenly_spread_bids_are_the_decimals_that_people_write(
    highest: int, count: int, parts: int
) -> None:
    """So a competing bid of 0.3 ties with the bid of 0.3, and a value of 0.3 allows it."""
    own = bidder(bids=count, value_range=(0, highest))
    assert own.rules.amounts.tolist() == [k / parts for k in range(count)]


def test_the_highest_bid_is_the_highest_value() -> None:
    for count, highest in product(range(2, 300), (0.1, 0.7, 9.99)):
        assert bid_grid("", count, highest)[-1] == highest


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
def test_a_saved_bidder_resumes_exactly(tmp_path: Path, algorithm: Any) -> None:
    own = bidder(bids=11, horizon=1000, algorithm=algorithm)
    auctions(own, 151)
    waiting = own.bid(7.0)
    own.save(tmp_path / "bidder")
    again = FirstPriceBidder.load(tmp_path / "bidder")
    assert again.settings() == own.settings()
    assert again.pending == own.pending == 1
    kept = Bid.from_json(json.loads(json.dumps(waiting.to_json())))
    assert kept == waiting
    assert hash(kept) == hash(waiting)
    for each in (own, again):
        each.settle(kept, won=False, highest_competing_bid=7.5)
    assert auctions(own, 100, seed=1) == auctions(again, 100, seed=1)


def test_a_file_without_a_bidder_is_refused(tmp_path: Path) -> None:
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
    np.testing.assert_array_equal(own.policy(value), policy)
    below = own.rules.amounts < curve.bids[i]
    assert (
        policy[below].sum()
        < 0.5
        <= policy[below].sum() + policy[own.rules.amounts == curve.bids[i]]
    )
    with pytest.raises(InvalidContextError, match="'value'"):
        own.shading_curve([9.0])


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.5]])
def test_a_shading_curve_without_a_bid(values: list[float], tmp_path: Path) -> None:
    curve = bidder(bids=[2.0, 3.0]).shading_curve(values)
    assert curve.values.tolist() == values
    for bids in (curve.low, curve.bids, curve.high):
        np.testing.assert_array_equal(bids, np.full(len(values), np.nan))
    curve.save(tmp_path / "curve.svg")
    assert "median bid" in (tmp_path / "curve.svg").read_text(encoding="utf-8")


def test_the_shading_curve_has_no_bid_where_none_may_be_made(tmp_path: Path) -> None:
    curve = bidder(bids=[2.0, 3.0]).shading_curve([1.0, 2.0, 5.0])
    assert curve.values.tolist() == [1.0, 2.0, 5.0]
    assert np.isnan([curve.low[0], curve.bids[0], curve.high[0]]).all()
    assert (curve.low[1], curve.bids[1], curve.high[1]) == (2.0, 2.0, 2.0)
    assert curve.bids[2] in (2.0, 3.0)
    curve.save(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    _, labels = curve.plot().get_legend_handles_labels()
    assert labels == ["value", "middle 80 % of bids", "median bid"]


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
    for ties, reserve in product(get_args(Ties), (0.0, 2.5)):
        rules = AuctionRules(bids=BIDS, highest_value=HIGHEST, ties=ties, reserve=reserve)
        for value in (0.0, 2.5, 7.0):
            rows = rules.block(PRICES).base @ rules.contexts(value)
            earned = rules.surplus(value, rules.amounts, np.array(PRICES)[:, None])
            np.testing.assert_allclose(rows, 1 - earned / HIGHEST, atol=1e-12)


def test_an_algorithm_that_leaves_anchors_open_gets_them_where_they_help() -> None:
    open_ = CrossGraphAdaptive(half_life=1000.0)
    assert bidder(algorithm=open_).learner.algorithm == replace(open_, anchored=True)
    plain = replace(open_, anchored=False)
    assert bidder(algorithm=plain).learner.algorithm == plain
    assert bidder(algorithm=open_, feedback="after-win").learner.algorithm == plain
    assert bidder().learner.algorithm == CrossGraphAdaptive(anchored=True)


def test_a_quantile_of_bids_is_the_first_that_reaches_its_share() -> None:
    policies = np.array([[0.5, 0.5, 0.0], [0.1, 0.3, 0.6], [0.0, 0.9, 0.1]])
    curve = ShadingCurve.of(np.ones(3), np.array([0.0, 1.0, 2.0]), policies)
    np.testing.assert_array_equal(curve.low, [0, 0, 1])
    np.testing.assert_array_equal(curve.bids, [0, 2, 1])
    np.testing.assert_array_equal(curve.high, [1, 2, 1])
