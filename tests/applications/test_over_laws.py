"""Applications over a law: the law's own choices, late outcomes, files, merging, logs, refusals."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraphAdaptive
from crossbandit.applications import Bid, FirstPriceBidder, Newsvendor, PostedPriceSeller
from crossbandit.applications.bidding.auctions import FEEDBACK, AuctionRules
from crossbandit.applications.bidding.inputs import numbers_to_reach
from crossbandit.applications.newsvendor import SALES_FEEDBACK, SalesFeedback
from crossbandit.applications.seller import REPORTS, Reports
from crossbandit.core import record
from crossbandit.core.types import Feedback, Ties
from crossbandit.errors import (
    CheckpointError,
    DamagedTokenError,
    DecisionError,
    ExpiredDecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
    LearnedBeforeError,
)
from crossbandit.laws import GuardedLaw, OutcomeLaw

GRID = 21
HIGHEST = 8.0


def bidder(**options: Any) -> FirstPriceBidder:
    return FirstPriceBidder(**{"bids": GRID, "value_range": (0, HIGHEST), "seed": 0, **options})


def told(feedback: str, won: bool) -> bool:
    return {"always": True, "after-loss": not won, "after-win": won, "won-lost": False}[feedback]


def rounds(count: int, seed: int = 0) -> list[tuple[float, float, str]]:
    """Return values, prices that are correlated with them, and sites."""
    generator = np.random.default_rng(seed)
    values = generator.uniform(0.5, HIGHEST, count)
    prices = 0.6 * values * generator.random(count)
    sites = generator.choice(["a", "b", "c"], count)
    return list(zip(values.tolist(), prices.tolist(), sites.tolist(), strict=True))


def settle(own: FirstPriceBidder, bid: Bid, price: float) -> None:
    won = bid.amount is not None and bool(own.rules.wins(bid.amount, price))
    shown = told(own.feedback, won)
    own.settle(bid, won=won, highest_competing_bid=price if shown else None)


def play(own: FirstPriceBidder, log: list[tuple[float, float, str]]) -> list[float]:
    """Bid in all auctions of a log; return what was bid."""
    amounts = []
    for value, price, site in log:
        classes: dict[str, Any] = {"site": site} if own.classes else {}
        bid = own.bid(value, **classes)
        settle(own, bid, price)
        amounts.append(float(bid))
    return amounts


# ---------------------------------------------------------------------------- the law's choices


@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("ties", ["win", "lose"])
def test_bids_are_those_of_the_law(feedback: Feedback, ties: Ties) -> None:
    own = bidder(feedback=feedback, ties=ties, classes=["site"], seed=5)
    law = OutcomeLaw(
        own.bids.copy(), (0, HIGHEST), classes=["site"], feedback=feedback, ties=ties, seed=5
    )
    expected = []
    for value, price, site in rounds(400):
        made = law.decide(value, site=site)
        reached = made.amount >= price if ties == "win" else made.amount > price
        law.learn(made, reached=reached, number=price)
        expected.append(made.amount)
    assert play(own, rounds(400)) == expected
    assert len(set(expected)) > 3


def test_guarded_bids_are_those_of_the_guarded_law() -> None:
    own = bidder(guarded=True, seed=5)
    law = GuardedLaw(OutcomeLaw(own.bids.copy(), (0, HIGHEST), seed=5))
    for value, price, _ in rounds(400):
        made, bid = law.decide(value), own.bid(value)
        assert bid.amount == made.amount
        law.learn(made, reached=made.amount >= price, number=price)
        settle(own, bid, price)
    for name, array in law.arrays().items():
        np.testing.assert_array_equal(own.learner.guard.arrays()[name], array)


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 0.3, 2.5])
def test_a_bid_wins_if_it_reaches_the_number(ties: Ties, reserve: float) -> None:
    """Ties, a reserve price, and bids of 0 that never win, for every bid and price."""
    bids = (0.0, 1.0, 2.5, 4.0)
    rules = AuctionRules(bids=bids, highest_value=8, ties=ties, reserve=reserve)
    law = OutcomeLaw(np.array(bids), (0, 8), ties=ties)
    for price in (0.0, 0.5, 1.0, 2.5, 3.0, 4.0, 9.0):
        cell = int(law.cells(numbers_to_reach(rules, price)))
        assert [cell <= k for k in range(4)] == rules.wins(bids, price).tolist()


@pytest.mark.parametrize("feedback", SALES_FEEDBACK)
def test_orders_are_those_of_the_law(feedback: SalesFeedback) -> None:
    shop = Newsvendor(
        orders=range(21),
        price_range=(2, 4),
        cost_range=(1, 2),
        feedback=feedback,
        algorithm="law",
        seed=5,
    )
    law = OutcomeLaw(
        np.arange(21.0),
        (2, 4),
        feedback="after-win" if feedback == "sales" else "always",
        payoff="newsvendor",
        ties="lose",
        seed=5,
    )
    generator = np.random.default_rng(0)
    for _ in range(300):
        price, cost, demand = generator.uniform(2, 4), generator.uniform(1, 2), generator.poisson(9)
        order, made = shop.order(price, cost), law.decide(price, cost=cost)
        assert order.quantity == made.amount
        law.learn(made, reached=made.amount > demand, number=float(demand))
        shop.settle(order, sold=min(order.quantity, demand), demand=demand)
    assert shop.demand_law(3.0).quantile(0.5) == pytest.approx(10, abs=1)
    assert "demands are correlated with prices" in str(shop.diagnosis())


@pytest.mark.parametrize("reports", REPORTS)
def test_offers_are_those_of_the_law(reports: Reports) -> None:
    shop = PostedPriceSeller(
        prices=range(1, 11), cost_range=(0, 5), reports=reports, algorithm="law", seed=5
    )
    told: dict[str, Feedback] = {
        "never": "won-lost",
        "after-sale": "after-loss",
        "after-refusal": "after-win",
        "always": "always",
    }
    feedback = told[reports]
    law = OutcomeLaw(
        np.arange(1.0, 11),
        (0, 5),
        feedback=feedback,
        payoff="posted-price",
        ties="lose",
        seed=5,
    )
    generator = np.random.default_rng(0)
    for _ in range(300):
        cost, willing = generator.uniform(0, 5), generator.uniform(0, 10)
        offer = shop.price(cost)
        made = law.decide(cost, cost=cost, first=max(math.ceil(cost) - 1, 0))
        assert offer.price == made.amount
        sold = made.amount <= willing
        law.learn(made, reached=not sold, number=willing)
        shop.settle(offer, sold=sold, willingness=willing)
    assert shop.policy(2.0).sum() == pytest.approx(1)
    assert shop.willingness_law(2.0).chances[-1] > 0.8


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_the_policy_is_what_is_bid(feedback: str) -> None:
    """Frequencies of 4,000 bids, and looking changes nothing."""
    own, twin = bidder(feedback=feedback), bidder(feedback=feedback)
    for each in (own, twin):
        play(each, rounds(60))
    policy = own.policy(6.0, reserve=0.5)
    np.testing.assert_array_equal(policy, own.policy(6.0, reserve=0.5))
    bids = [own.bid(6.0, reserve=0.5).amount for _ in range(4_000)]
    assert bids == [twin.bid(6.0, reserve=0.5).amount for _ in range(4_000)]
    drawn = [bids.count(amount) / 4_000 for amount in own.bids]
    np.testing.assert_allclose(policy, drawn, atol=0.04)
    assert policy.sum() == pytest.approx(1)
    curve = own.shading_curve([6.0], reserve=0.5)
    assert curve.low <= curve.bids <= curve.high


def test_the_policy_of_a_guarded_bidder_is_what_is_bid() -> None:
    own = bidder(guarded=True)
    play(own, rounds(200))
    policy = own.policy(6.0, reserve=1.0)
    bids = [own.bid(6.0, reserve=1.0).amount for _ in range(4_000)]
    np.testing.assert_allclose(policy, [bids.count(b) / 4_000 for b in own.bids], atol=0.04)


# ------------------------------------------------------------------------- late, files, merging


def counts(own: Any) -> list[Any]:
    state = own.learner.law.state
    return [getattr(state, name).copy() for name in ("told", "hidden", "visits", "rounds")]


def test_late_and_unordered_outcomes_give_the_same_counts() -> None:
    """But for the discounted counts, which depend on the order."""
    log = rounds(300)
    prompt, late = bidder(feedback="always", bids=9), bidder(feedback="always", bids=9)
    play(prompt, log)
    waiting = [(late.bid(value), price) for value, price, _ in log]
    assert late.pending == sum(bid.amount is not None for bid, _ in waiting) > 250
    for i in np.random.default_rng(1).permutation(300):
        bid, price = waiting[i]
        settle(late, Bid.from_json(json.loads(json.dumps(bid.to_json()))), price)
    assert late.pending == 0
    pool = 2**9 - 1
    for ours, theirs in zip(counts(prompt), counts(late), strict=True):
        np.testing.assert_array_equal(ours[:pool], theirs[:pool])
    with pytest.raises(DecisionError, match="learned from before"):
        settle(late, waiting[7][0], waiting[7][1])
    with pytest.raises(DecisionError, match="made by another learner"):
        settle(prompt, waiting[7][0], waiting[7][1])


def test_old_decisions_expire() -> None:
    own = bidder()
    now = [1e9]
    own.learner.clock = own.learner.seen.clock = lambda: now[0]
    first = own.bid(5.0)
    own.learner.seen.window = 60.0
    now[0] += 61
    second = own.bid(5.0)
    with pytest.raises(ExpiredDecisionError, match="61 seconds ago and has expired"):
        own.settle(first, won=False, highest_competing_bid=7.0)
    own.settle(second.token, won=False, highest_competing_bid=7.5)
    assert (own.pending, own.rounds, own.learner.law.rounds) == (1, 2, 1)


@pytest.mark.parametrize("options", [{}, {"classes": ["site"]}, {"guarded": True}])
def test_a_saved_bidder_resumes_exactly(options: dict[str, Any], tmp_path: Path) -> None:
    own = bidder(**options)
    play(own, rounds(150))
    site: dict[str, Any] = {"site": "a"} if own.classes else {}
    waiting = own.bid(7.0, **site)
    own.save(tmp_path / "file")
    again = FirstPriceBidder.load(tmp_path / "file")
    again.save(tmp_path / "file")
    again = FirstPriceBidder.load(tmp_path / "file")
    assert (repr(again), again.settings()) == (repr(own), own.settings())
    for each in (own, again):
        each.settle(waiting, won=False, highest_competing_bid=7.5)
    assert play(own, rounds(100, seed=1)) == play(again, rounds(100, seed=1))
    assert own.diagnosis() == again.diagnosis()
    later = own.bid(3.0, **site)
    assert again.bid(3.0, **site).amount == later.amount
    again.settle(later.text, won=False, highest_competing_bid=7.5)  # made after the file
    with pytest.raises(LearnedBeforeError):
        again.settle(later, won=False, highest_competing_bid=7.5)


def test_other_applications_resume_exactly(tmp_path: Path) -> None:
    shop = Newsvendor(
        orders=range(9),
        price_range=(2, 4),
        cost_range=(1, 2),
        classes=["shop"],
        algorithm="law",
        seed=1,
    )
    for sold in (0, 1, 2):
        order = shop.order(3, 1, shop="x")
        shop.settle(order, sold=min(sold, order.quantity))
    shop.save(tmp_path / "file")
    again = Newsvendor.load(tmp_path / "file")
    assert [again.order(3, 1, shop="x").quantity for _ in range(20)] == [
        shop.order(3, 1, shop="x").quantity for _ in range(20)
    ]


def changed(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    file = record.read(path)
    header, arrays = dict(file.header), dict(file.arrays)
    change(header, arrays)
    record.write(path, header, arrays, owner="test")


CHANGES: list[Callable[[dict[str, Any], dict[str, Any]], Any]] = [
    lambda header, _: header.pop("limit"),
    lambda header, _: header["watch"].pop("alike"),
    lambda header, _: header["notes"].pop("state"),
    lambda header, _: header.update(answered=99),
    lambda header, _: header.update(learner="xyz"),
    lambda header, _: header.update(watch=[[1, 2]]),
    lambda header, _: header.update(window=-1),
    lambda header, _: header.update(notes=3),
    lambda header, _: header.update(round=-1),
    lambda header, _: header.update(round="x"),
    lambda header, _: header.pop("law"),
    lambda header, _: header["law"].update(ties="lose"),
    lambda header, _: header["law"].update(levels=[[7, ["a"]]]),
    lambda header, _: header["law"].update(generator={}),
    lambda header, _: header["test"].update(rounds=-1),
    lambda header, _: header["notes"]["settings"].update(bids=[0, 1, 2]),
    lambda header, _: header["notes"]["settings"].update(guarded=True),
    lambda _, arrays: arrays.pop("law.told"),
    lambda _, arrays: arrays.update({"law.roots": np.array([10**6])}),
    lambda _, arrays: arrays.update({"test.sums": np.zeros(3)}),
    lambda _, arrays: arrays.update({"test.counts": -1 - arrays["test.counts"]}),
    lambda _, arrays: arrays.update({"seen.codes": arrays["seen.codes"][:, :5]}),
    lambda _, arrays: arrays.pop("seen.numbers"),
    lambda _, arrays: arrays.update({"guard.wins": np.zeros(GRID)}),
    lambda _, arrays: arrays.update({"more": np.zeros(1)}),
]


@pytest.mark.parametrize("change", CHANGES)
def test_an_impossible_file_is_refused(change: Any, tmp_path: Path) -> None:
    own = bidder()
    play(own, rounds(5))
    own.bid(5.0)
    own.bid(6.0)
    own.save(tmp_path / "file")
    changed(tmp_path / "file", change)
    with pytest.raises(CheckpointError):
        FirstPriceBidder.load(tmp_path / "file")


@pytest.mark.parametrize("version", [1, 4, 6, None])
def test_a_file_of_another_format_says_which_version_reads_it(
    version: int | None, tmp_path: Path
) -> None:
    own = bidder()
    own.save(tmp_path / "file")
    changed(tmp_path / "file", lambda header, _: header.update(version=version))
    message = f"has format {version}, and this version of Crossbandit reads format 5. Load it"
    with pytest.raises(CheckpointError, match=f"{message} with the version that wrote it"):
        FirstPriceBidder.load(tmp_path / "file")


def test_a_snapshot_of_another_format_says_which_version_reads_it() -> None:
    file = record.from_bytes(bidder().snapshot().to_bytes())
    old = record.to_bytes({**file.header, "version": 1}, file.arrays, owner="test")
    message = "has format 1, and this version .* reads format 3. .* the version that wrote it"
    with pytest.raises(CheckpointError, match=message):
        FirstPriceBidder.from_bytes(old)


def test_merged_counts_add_up() -> None:
    """The pool's counts are those of one bidder that has seen both halves."""
    log = rounds(400)
    whole, one, two = (bidder(feedback="always", classes=["site"]) for _ in range(3))
    play(whole, log)
    play(one, log[::2])
    play(two, log[1::2])
    one.merge(two)
    pool = 2**9 - 1
    for ours, theirs in zip(counts(whole), counts(one), strict=True):
        np.testing.assert_array_equal(ours[:pool], theirs[:pool])
    for site in "abc":
        assert one.price_law(6.0, site=site).own_rounds == pytest.approx(
            whole.price_law(6.0, site=site).own_rounds
        )
    assert one.diagnosis().rounds == 400
    assert one.diagnosis().log_evidence == pytest.approx(whole.diagnosis().log_evidence, rel=0.5)


@pytest.mark.parametrize(
    "other",
    [
        lambda own: own,
        lambda _: bidder(bids=20),
        lambda _: bidder(ties="lose"),
        lambda _: bidder(guarded=True),
        lambda _: None,
    ],
)
def test_only_bidders_with_the_same_settings_merge(other: Callable[..., Any]) -> None:
    own = bidder()
    with pytest.raises(InvalidParameterError, match="another FirstPriceBidder with the same"):
        own.merge(other(own))


def test_counts_move_to_a_finer_grid_and_another_range() -> None:
    """Each price is known to within a step of the coarse grid, so the medians agree to a step."""
    coarse = bidder(feedback="always", classes=["site"])
    play(coarse, rounds(1_000))
    low, high = coarse.value_range
    fine = bidder(feedback="always", classes=["site"], bids=81, value_range=(low, 1.25 * high))
    fine.take_counts(coarse)
    assert fine.learner.law.rounds == coarse.learner.law.rounds == 1_000
    step = float(np.diff(coarse.bids).max())
    for site in "abc":
        ours, theirs = fine.price_law(6.0, site=site), coarse.price_law(6.0, site=site)
        assert abs(ours.quantile(0.5) - theirs.quantile(0.5)) <= step
    with pytest.raises(InvalidParameterError, match="has learned from 1000 rounds"):
        fine.take_counts(coarse)


@pytest.mark.parametrize("other", [bidder(ties="lose"), bidder(classes=["site"]), "a bidder"])
def test_only_counts_of_the_same_kind_are_taken(other: Any) -> None:
    with pytest.raises(InvalidParameterError, match="with the same feedback, ties and classes"):
        bidder().take_counts(other)


def test_guarded_bidders_merge() -> None:
    one, two = bidder(guarded=True), bidder(guarded=True)
    play(one, rounds(50))
    play(two, rounds(70, seed=1))
    expected = one.learner.guard.gains + two.learner.guard.gains
    one.merge(two)
    np.testing.assert_allclose(one.learner.guard.gains, expected)


# ------------------------------------------------------------------------------- logs and classes


def columns(log: list[tuple[float, float, str]]) -> tuple[Any, Any, Any]:
    values, prices, sites = zip(*log, strict=True)
    return np.array(values), np.array(prices), np.array(sites)


def test_a_log_counts_like_auctions_of_its_own() -> None:
    """With the bids of another bidder, exactly what that one has learned."""
    for feedback in FEEDBACK:
        own, other = (
            bidder(feedback=feedback, classes=["site"]),
            bidder(feedback=feedback, classes=["site"]),
        )
        log = rounds(200)
        bids = np.array(play(own, log))
        values, prices, sites = columns(log)
        won = own.rules.wins(bids, prices)
        hidden = np.array([not told(feedback, w) for w in won])
        known = np.where(hidden, np.nan, prices)
        other.warm_up(values, known, bids=bids, won=won, site=sites)
        for ours, theirs in zip(counts(own), counts(other), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert own.diagnosis() == other.diagnosis()
        if feedback in ("after-loss", "after-win"):
            again = bidder(feedback=feedback, classes=["site"])
            again.warm_up(values, known, bids=bids, site=sites)
            np.testing.assert_array_equal(counts(again)[0], counts(own)[0])


def test_a_log_of_all_prices_and_of_bids_between_those_of_the_grid() -> None:
    own = bidder(bids=[0, 2, 4, 8])
    own.warm_up([5.0, 5.0], [3.0, 0.0])
    assert counts(own)[0][0].tolist() == [0, 1, 1, 0, 0]
    own = bidder(bids=[0, 2, 4, 8])
    own.warm_up([5.0, 5.0, 5.0], [np.nan, np.nan, 7.0], bids=[3.0, 9.0, 3.0])
    assert counts(own)[0][0].tolist() == [0, 0, 0, 1, 0]
    assert counts(own)[1][0].tolist() == [0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("options", "arguments", "error", "message"),
    [
        ({}, {"values": [9.0], "prices": [1.0]}, InvalidContextError, "from 0 to 8"),
        ({}, {"values": [[1.0]], "prices": [1.0]}, InvalidContextError, "'values'"),
        ({}, {"values": ["a"], "prices": [1.0]}, InvalidContextError, r"'values' .* Got \['a'\]"),
        ({}, {"values": [1.0], "prices": ["1"]}, InvalidLossesError, "'prices'"),
        ({}, {"values": [1.0], "prices": np.array(["x"], object)}, InvalidLossesError, "'prices'"),
        ({}, {"values": [1.0], "prices": [-1.0]}, InvalidLossesError, "at least 0"),
        ({}, {"values": [1.0], "prices": [1.0, 2.0]}, InvalidLossesError, "'prices'"),
        ({}, {"values": [1.0], "prices": [math.nan]}, InvalidLossesError, "'bids'"),
        ({}, {"values": [1.0], "prices": [1.0], "bids": [-1.0]}, InvalidLossesError, "'bids'"),
        (
            {},
            {"values": [1.0], "prices": [1.0], "bids": [2.0], "won": [False]},
            InvalidLossesError,
            "a bid of 2 against a highest competing bid of 1 cannot have lost",
        ),
        (
            {},
            {"values": [1.0], "prices": [math.nan], "bids": [2.0], "won": [False]},
            InvalidLossesError,
            "known where the feedback 'after-loss' tells them",
        ),
        (
            {"feedback": "won-lost"},
            {"values": [1.0], "prices": [math.nan], "bids": [2.0]},
            InvalidLossesError,
            "'won'",
        ),
        (
            {"feedback": "won-lost"},
            {"values": [1.0], "prices": [1.0]},
            InvalidLossesError,
            "'bids'",
        ),
        ({"classes": ["site"]}, {"values": [1.0], "prices": [1.0]}, InvalidContextError, "site"),
        (
            {"classes": ["site"]},
            {"values": [1.0], "prices": [1.0], "site": ["a", "b"]},
            InvalidContextError,
            "'site'",
        ),
        ({"guarded": True}, {"values": [1.0], "prices": [1.0]}, InvalidParameterError, "guard"),
        (
            {"algorithm": CrossGraphAdaptive()},
            {"values": [1.0], "prices": [1.0]},
            InvalidParameterError,
            "warm_up needs a FirstPriceBidder that learns by the law",
        ),
    ],
)
def test_a_bad_log_is_refused(
    options: dict[str, Any], arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    own = bidder(**options)
    with pytest.raises(error, match=message):
        own.warm_up(**arguments)
    assert options.get("algorithm") or own.learner.law.rounds == 0


def test_no_auctions_teach_nothing() -> None:
    own = bidder()
    own.observe([], bid=[], won=[])
    own.warm_up([], [])
    assert own.learner.law.rounds == 0


def test_classes_are_told_apart_as_they_come() -> None:
    own = bidder(classes=("site", "device"), feedback="always")
    generator = np.random.default_rng(0)
    for t in range(3_000):
        dear = t % 2
        bid = own.bid(7.0, site="dear" if dear else "cheap", device=int(generator.integers(3)))
        price = generator.uniform(3, 5) if dear else generator.uniform(0, 2)
        own.settle(bid, won=float(bid) >= price, highest_competing_bid=price)
    curves = [own.shading_curve([7.0], site=s, device=1).bids[0] for s in ("cheap", "dear")]
    assert curves[0] < 2.1
    assert curves[1] > 3.5
    view = own.price_law(7.0, site="cheap", device=1)
    assert view.classes_weight > 0.9
    assert view.quantile(0.5) == pytest.approx(1.2, abs=0.4)
    unknown = own.price_law(7.0, site="new", device=7)
    assert 1.0 < unknown.quantile(0.5) < 4.0
    assert own.bid(7.0, site="new", device=7).classes == ("new", 7)


def test_the_diagnosis_speaks_of_prices_and_values() -> None:
    own = bidder(feedback="always")
    assert str(own.diagnosis()).startswith(
        "There is no evidence so far, in 0 rounds, that prices are correlated"
    )
    play(own, rounds(3_000))
    assert own.diagnosis().depends
    assert str(own.diagnosis()).startswith("Prices are correlated with values here")
    assert own.price_law(4.0).plot().get_xlabel() == "amount"


def test_prices_that_go_with_a_class_are_not_said_to_go_with_values() -> None:
    rng = np.random.default_rng(0)
    own = FirstPriceBidder(bids=21, value_range=(0, 10), classes=["site"], missing="accept", seed=1)
    for _ in range(30):
        values, dear = rng.uniform(0, 10, 50), rng.random(50) < 0.5
        prices = np.where(dear, 7.0, 3.0) * rng.beta(4, 3, 50)
        bids = own.bid_many(values, site=np.where(dear, "dear", "cheap"))
        won = bids.amounts >= prices
        own.settle_many(bids, won=won, highest_competing_bid=np.where(won, np.nan, prices))
    found = own.diagnosis()
    assert not found.depends  # although bids go with the class, and decide what is shown
    assert found.depends_on_class
    assert str(found).startswith(
        "Prices are correlated with the class here: bidding by class earns"
    )
    assert str(found).endswith(
        "Nothing shows that prices are correlated with values, given the class."
    )


# ------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": "site"}, "'classes' .* a list of names"),
        ({"classes": ["value"]}, "'classes' .* names other than .*value"),
        ({"classes": ["no name"]}, "'classes'"),
        ({"classes": ["a", "a"]}, "'classes' .* different"),
        ({"classes": ["a"], "algorithm": CrossGraphAdaptive()}, "'classes' .* unless .* the law"),
        ({"guarded": True, "algorithm": CrossGraphAdaptive()}, "'guarded' .* unless .* the law"),
        ({"guarded": True, "at_most_value": False}, "'guarded' .* if at_most_value is False"),
        ({"guarded": 1}, "'guarded' .* True or False"),
        ({"algorithm": "laws"}, "There is no algorithm 'laws'"),
        ({"bids": 100_000}, "the law has room for 14285 amounts. Got 100000"),
        ({"bids": 3_000, "classes": ["a"]}, "room for 2083 amounts"),
    ],
)
def test_a_bad_setting_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        bidder(**options)


@pytest.mark.parametrize(
    ("options", "classes", "message"),
    [
        (
            {"classes": ["site"]},
            {},
            "'classes' parameter of bid must be a level or a number for each of site",
        ),
        (
            {"classes": ["site"]},
            {"site": [1]},
            "'site' parameter of bid .* text, an integer, a float",
        ),
        ({"classes": ["site"]}, {"site": "a", "more": 1}, "a level or a number for each of site"),
        ({}, {"site": "a"}, "'classes' parameter of bid must be left out: this one has none"),
        ({"algorithm": CrossGraphAdaptive()}, {"site": "a"}, "left out: this one has none"),
    ],
)
def test_a_class_that_is_missing_or_unknown_is_refused(
    options: dict[str, Any], classes: dict[str, Any], message: str
) -> None:
    own = bidder(**options)
    with pytest.raises(InvalidContextError, match=message):
        own.bid(5.0, **classes)
    assert own.rounds == 0


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ({"won": False, "highest_competing_bid": 0.0}, "cannot have lost against"),
        ({"won": True, "highest_competing_bid": 7.9}, "cannot have won against"),
        ({"won": False}, "told to losers"),
        ({"won": True, "reserve": 7.9}, "below the reserve price"),
    ],
)
def test_a_contradiction_is_refused_and_nothing_is_lost(
    outcome: dict[str, Any], message: str
) -> None:
    own = bidder(bids=[1.0, 2.0])
    bid = own.bid(5.0)
    with pytest.raises(InvalidLossesError, match=message):
        own.settle(bid, **outcome)
    assert (own.pending, own.learner.law.rounds) == (1, 0)
    own.settle(bid, won=False, highest_competing_bid=7.0, reserve=7.5)
    assert (own.pending, own.learner.law.rounds) == (0, 1)


def test_a_bid_that_was_changed_is_refused() -> None:
    own = bidder(classes=["site"])
    bid = own.bid(5.0, site="a")
    with pytest.raises(DecisionError, match="must come with its classes, site"):
        own.settle(replace(bid, classes=()), won=True)
    damaged = bytearray(bid.token)
    damaged[60] ^= 1
    with pytest.raises(DamagedTokenError, match="digest is wrong"):
        own.settle(bytes(damaged), won=True)
    assert own.pending == 1


@pytest.mark.parametrize("method", ["price_law", "merge", "diagnosis"])
def test_a_bidder_without_a_law_says_so(method: str) -> None:
    own, same = (bidder(algorithm=CrossGraphAdaptive()) for _ in range(2))
    arguments = {"price_law": (5.0,), "merge": (same,), "diagnosis": ()}[method]
    with pytest.raises(InvalidParameterError, match=f"{method} needs a .* algorithm='law'"):
        getattr(own, method)(*arguments)


def test_one_value_only_is_possible() -> None:
    own = bidder(value_range=(5, 5), bids=11)
    for price in np.random.default_rng(0).uniform(0, 2, 300):
        settle(own, own.bid(5), float(price))
    assert own.shading_curve([5.0]).bids[0] <= 2.5
