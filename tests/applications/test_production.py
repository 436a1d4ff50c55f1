"""A bidder in production: tokens, batches, snapshots, threads, corrections, missing outcomes."""

import copy
import math
import os
import pickle
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit import CrossGraph, CrossGraphAdaptive, Problem, graphs
from crossbandit.algorithms.learners.decisions import TOP
from crossbandit.algorithms.learners.law_learner import code_of, outcome_of
from crossbandit.algorithms.learners.missing import COHORT, Cohort, OutcomeWatch
from crossbandit.algorithms.learners.shell_core import is_watched, watched
from crossbandit.algorithms.learners.tokens import packed, unpacked
from crossbandit.applications import Bid, FirstPriceBidder, Newsvendor, PostedPriceSeller
from crossbandit.applications.action import action_of
from crossbandit.applications.bidding.auctions import FEEDBACK
from crossbandit.core.uniforms import Uniforms
from crossbandit.errors import (
    CheckpointError,
    DamagedTokenError,
    DecisionError,
    ExpiredDecisionError,
    ForeignDecisionError,
    InvalidContextError,
    InvalidInputError,
    InvalidLossesError,
    InvalidParameterError,
    LearnedBeforeError,
    MissingFeedbackWarning,
    MissingOutcomesError,
)
from tests.forks import forks, in_fork

GRID, HIGHEST = 21, 8.0
POOL = 2**9 - 1  # the rows of the pool, whose counts are not discounted


def bidder(**options: Any) -> FirstPriceBidder:
    return FirstPriceBidder(**{"bids": GRID, "value_range": (0, HIGHEST), "seed": 0, **options})


def auctions(count: int, seed: int = 0) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    values = generator.uniform(0.5, HIGHEST, count)
    return values, 0.6 * values * generator.random(count)


def outcome(own: FirstPriceBidder, amount: float, price: float) -> dict[str, Any]:
    won = bool(own.rules.wins(amount, price))
    told = {"always": True, "after-loss": not won, "after-win": won, "won-lost": False}
    return {"won": won, "highest_competing_bid": price if told[own.feedback] else None}


def play(own: FirstPriceBidder, count: int, seed: int = 0, **classes: Any) -> list[float]:
    amounts = []
    for value, price in zip(*auctions(count, seed), strict=True):
        bid = own.bid(value, **classes)
        own.settle(bid, **outcome(own, float(bid), price))
        amounts.append(float(bid))
    return amounts


def arrays(own: FirstPriceBidder) -> dict[str, Any]:
    return {name: part.copy() for name, part in own.learner.law.state._asdict().items()}


def same(one: FirstPriceBidder, other: FirstPriceBidder) -> None:
    for name, array in arrays(one).items():
        np.testing.assert_array_equal(array, arrays(other)[name], err_msg=name)


# ------------------------------------------------------------------------------------------ tokens


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_a_token_is_as_good_as_its_bid(feedback: str) -> None:
    """Also in a copy that was loaded from a file: to the same bits."""
    own, other = (bidder(feedback=feedback, classes=["site"]) for _ in range(2))
    other.learner.former.add(own.learner.learner)
    for i, (value, price) in enumerate(zip(*auctions(150), strict=True)):
        bid = own.bid(value, site=i % 3, reserve=0.1 if i % 2 else None)
        other.bid(value, site=i % 3, reserve=0.1 if i % 2 else None)
        assert len(bid.token) < 100
        result = outcome(own, float(bid), price)
        other.settle(bid.token if i % 3 else bid.text, **result)
        own.settle(bid, **result)
    same(own, other)


def test_a_guarded_token_has_less_than_a_kilobyte_and_loses_no_bit() -> None:
    own = FirstPriceBidder(bids=100, value_range=(0, HIGHEST), guarded=True, seed=5)
    other = FirstPriceBidder(bids=100, value_range=(0, HIGHEST), guarded=True, seed=5)
    other.learner.former.add(own.learner.learner)
    for value, price in zip(*auctions(60), strict=True):
        bid = own.bid(value)
        assert other.bid(value).amount == bid.amount
        assert len(bid.token) <= 1024
        other.settle(bid.token, **outcome(own, float(bid), price))
        own.settle(bid, **outcome(own, float(bid), price))
    for name, array in own.learner.guard.arrays().items():
        np.testing.assert_array_equal(array, other.learner.guard.arrays()[name])


APPLICATIONS: list[tuple[Any, str, dict[str, Any], dict[str, Any]]] = [
    (
        bidder,
        "bid",
        {"value": 5.0},
        {"won": False, "highest_competing_bid": 7.0},
    ),
    (
        lambda **o: Newsvendor(
            orders=range(1, 9), price_range=(2, 4), cost_range=(1, 2), seed=1, **o
        ),
        "order",
        {"price": 3.0, "cost": 1.0},
        {"sold": 0.0},
    ),
    (
        lambda **o: PostedPriceSeller(prices=range(1, 9), cost_range=(0, 5), seed=1, **o),
        "price",
        {"cost": 2.0},
        {"sold": False},
    ),
]


@pytest.mark.parametrize("algorithm", ["law", CrossGraphAdaptive()])
@pytest.mark.parametrize(("make", "method", "given", "result"), APPLICATIONS)
def test_tokens_and_snapshots_of_all_kinds(
    make: Any, method: str, given: dict[str, Any], result: dict[str, Any], algorithm: Any
) -> None:
    own = make(algorithm=algorithm)
    own.token_key = b"secret"
    worker = own.snapshot(seed=3)
    again = type(own).from_bytes(worker.to_bytes(), seed=3, key=b"secret")
    forged = type(own).from_bytes(worker.to_bytes(), seed=3, key=b"guess")
    made = [getattr(each, method)(**given) for each in (worker, again, own)]
    assert made[0].to_json().keys() == made[1].to_json().keys()
    for action in made:
        assert len(action.token) <= 1024
        own.settle(action.token, **result)
        with pytest.raises(LearnedBeforeError):
            own.settle(action.text, **result)
    with pytest.raises(DamagedTokenError, match="read with the key"):
        own.settle(getattr(forged, method)(**given).token, **result)
    twin = make(algorithm=algorithm)
    twin.token_key = b"secret"
    with pytest.raises(ForeignDecisionError):
        twin.settle(made[0].token, **result)
    for call in (lambda: worker.settle(made[0], **result), worker.snapshot):
        with pytest.raises(InvalidParameterError, match="A snapshot only decides"):
            call()
    with pytest.raises(InvalidParameterError, match="to_bytes is for snapshots"):
        own.to_bytes()


def test_a_learner_that_needs_memory_settles_tokens_and_has_no_snapshot() -> None:
    own = bidder(algorithm=CrossGraph(), horizon=100)
    own.settle(own.bid(5.0).token, won=False, highest_competing_bid=7.0)
    with pytest.raises(InvalidParameterError, match="must remember its decisions"):
        own.snapshot()


def test_a_token_of_another_action_or_none_is_refused() -> None:
    own = bidder()
    with pytest.raises(DecisionError, match="nothing to settle"):
        own.settle(own.bid(0.2, reserve=7.0).token, won=False)
    shop = Newsvendor(orders=[1, 2], price_range=(2, 4), cost_range=(1, 2), algorithm="law", seed=1)
    with pytest.raises(DecisionError):
        own.settle(shop.order(3, 1).token, won=True)
    with pytest.raises(DamagedTokenError):
        own.settle("bid", won=True)


LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
)
ROWS = st.lists(LEAVES, max_size=4).map(tuple)
VALUES: st.SearchStrategy[Any] = st.one_of(LEAVES, ROWS, st.tuples(LEAVES, ROWS, ROWS))


@given(VALUES)
@settings(max_examples=60)
def test_packing_loses_nothing(value: Any) -> None:
    data = packed(value)
    assert repr(unpacked(data)) == repr(value)
    for wrong in (data + b"N", data[:-1], b"x", b""):
        with pytest.raises(ValueError, match=r"."):
            unpacked(wrong)


def test_an_unknown_kind_cannot_be_packed() -> None:
    with pytest.raises(TypeError, match="cannot pack a dict"):
        packed({})


@given(st.lists(st.integers(1, 1500), max_size=8), st.integers(0, 2**32))
@settings(max_examples=30)
def test_blocks_of_random_numbers_are_the_same_numbers(counts: list[int], seed: int) -> None:
    """In any portions, and after the state was taken and set in between."""
    uniforms, plain = Uniforms(np.random.default_rng(seed)), np.random.default_rng(seed)
    for i, count in enumerate(counts):
        np.testing.assert_array_equal(uniforms.take(count), plain.random(count))
        if i % 2:
            other = Uniforms(np.random.default_rng(0))
            other.state = uniforms.state
            uniforms = other


# ----------------------------------------------------------------------------------------- batches


def flat(results: list[dict[str, Any]]) -> dict[str, Any]:
    prices = [one["highest_competing_bid"] for one in results]
    return {"won": [one["won"] for one in results], "highest_competing_bid": prices}


@pytest.mark.parametrize(
    "options",
    [
        {"feedback": "after-loss", "classes": ["site"]},
        {"feedback": "after-win", "ties": "lose"},
        {"feedback": "won-lost", "reserve": 0.4},
        {"feedback": "always", "at_most_value": False},
        {"guarded": True},
        {"algorithm": CrossGraphAdaptive()},
    ],
)
def test_a_batch_is_the_same_as_bids_in_turns(options: dict[str, Any]) -> None:
    one, many = bidder(**options), bidder(**options)
    for start in range(3):
        values, prices = auctions(40, seed=start)
        reserves = np.where(np.arange(40) % 3 == 0, 5.0, np.nan)
        sites = np.arange(40) % 4
        classes: dict[str, Any] = {"site": sites} if one.classes else {}
        bids = many.bid_many(values, reserve=reserves, **classes)
        turns = [
            one.bid(
                values[i],
                reserve=None if np.isnan(reserves[i]) else reserves[i],
                **({"site": int(sites[i])} if one.classes else {}),
            )
            for i in range(40)
        ]
        assert [bid.amount for bid in bids] == [bid.amount for bid in turns]
        assert np.isnan(bids.amounts).any() == one.rules.at_most_value
        results = [outcome(one, float(b), p) for b, p in zip(turns, prices, strict=True)]
        for bid, result in zip(turns, results, strict=True):
            one.settle(bid, **result)
        if start == 1:  # as tokens, in another order
            order = [i for i in range(39, -1, -1) if bids[i].decision is not None]
            many.settle_many(
                [bids[i].token for i in reversed(order)],
                **flat([results[i] for i in reversed(order)]),
            )
        else:
            many.settle_many(bids, **flat(results))
        assert many.pending == one.pending == 0
    if not options.get("algorithm"):
        same(one, many)
        assert one.diagnosis() == many.diagnosis()


def test_a_batch_carries_the_same_as_bids_in_turns() -> None:
    """Scores and their sums, also after a round trip through the token."""
    one, many = bidder(), bidder()
    values = auctions(30)[0]
    reserves = np.where(np.arange(30) % 4 == 0, 7.0, np.nan)
    bids = many.bid_many(values, reserve=reserves)
    total = 0
    for i, value in enumerate(values):
        single = one.bid(value, reserve=None if np.isnan(reserves[i]) else reserves[i])
        batched: Any = bids[i].decision
        if batched is None:
            assert single.decision is None
            continue
        own: Any = single.decision
        read: Any = action_of(bids[i].token, Bid, many.learner, None).decision
        for each in (own, read):
            assert (each.round, each.score, each.total) == (
                batched.round,
                batched.score,
                batched.total,
            )
        assert own.total == total
        total += own.score
    assert one.learner.total == many.learner.total == total > 0


def test_a_batch_is_a_sequence_of_bids() -> None:
    own = bidder()
    bids = own.bid_many([5.0, 0.1, 7.0], reserve=1.0)
    assert len(bids) == 3
    assert [bid.amount is None for bid in bids[:2]] == [False, True]
    assert bids[-1] == bids[2]
    assert [token is None for token in bids.tokens] == [False, True, False]
    assert repr(bids) == "Bids(3 bids, 2 of them made)"
    own.settle(bids[0].token, won=True)
    with pytest.raises(LearnedBeforeError, match="Row 0 of 2 has been learned"):
        own.settle_many([bids[0], bids[2]], won=[1, 1])
    assert own.learner.law.rounds == 1
    assert not len(own.bid_many([]))
    again = own.bid_many([5.0, 0.1, 7.0], reserve=1.0)
    own.settle_many(again.part([False, True, True]), won=[0, 1])
    own.settle_many(again.part([0]), won=[1])
    assert (own.learner.law.rounds, own.pending) == (3, 1)
    listed = type(again).of(list(again))
    assert [bid.amount for bid in listed.part([2, 0])] == [again[2].amount, again[0].amount]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"won": [0, 1]}, InvalidLossesError, "'won' .* each of 4 bids"),
        ({"won": [0, 1, 2, 0]}, InvalidLossesError, "'won' .* True or False. Got 2"),
        ({"highest_competing_bid": [9.0] * 3}, InvalidLossesError, "4 amounts. Got 3"),
        ({"highest_competing_bid": [9, -1, 9, -1]}, InvalidLossesError, "row 1; 2 rows are wrong"),
        ({"highest_competing_bid": [9, "x", 9, 9]}, InvalidLossesError, "column of amounts"),
        (
            {"highest_competing_bid": [9, 0.0, None, 9]},
            InvalidLossesError,
            "2 rows are wrong. Nothing was learned. row 1: .* row 2: ",
        ),
        ({"won": [1, 0, 0, 0]}, InvalidLossesError, "row 0: .* cannot have won against"),
        ({"bids": "text"}, DecisionError, "settle_many takes the Bids"),
        ({"bids": [0, 1, 1, 2]}, LearnedBeforeError, "Row 2 of 4 has .* come twice"),
    ],
)
def test_bad_rows_are_named_and_nothing_is_learned(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    own = bidder(bids=[1.0, 2.0])
    bids = own.bid_many([5.0] * 4)
    given: dict[str, Any] = {"won": [0] * 4, "highest_competing_bid": [9.0] * 4, **change}
    made = given.pop("bids", bids)
    if isinstance(made, list) and made[0] is not None:
        made = [bids[i] for i in made]
    with pytest.raises(error, match=message):
        own.settle_many(made, **given)
    assert own.learner.law.rounds == 0
    own.settle_many(bids, won=[0] * 4, highest_competing_bid=[9.0] * 4)
    assert own.learner.law.rounds == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"values": [1.0, 9.0]}, "from 0 to 8. Got 9.0 in row 1; 1 rows"),
        ({"values": [math.nan]}, "'values'"),
        ({"values": 5.0}, "column of amounts"),
        ({"values": [1.0], "reserve": [1.0, 2.0]}, "1 amounts. Got 2"),
        ({"values": [1.0], "site": "a", "more": 1}, "'classes'"),
        ({"values": [1.0, 2.0], "site": ["a"]}, "'site' .* 2 labels"),
        ({"values": [1.0], "site": [math.inf]}, r"'site\[0\]' "),
        ({"values": [1.0] * 2, "site": ["a", 2**63]}, r"'site\[1\]' .* an integer of 64 bits"),
        ({"values": [1.0], "site": np.array([2**63], np.uint64)}, "an integer of 64 bits"),
    ],
)
def test_a_bad_batch_makes_no_bid(given: dict[str, Any], message: str) -> None:
    own = bidder(classes=["site"] if "site" in given else [])
    with pytest.raises(InvalidContextError, match=message):
        own.bid_many(**given)
    assert own.rounds == 0


def test_bids_of_another_bidder_or_too_old_are_refused() -> None:
    own, other = bidder(), bidder()
    bids = own.bid_many([5.0, 6.0])
    with pytest.raises(ForeignDecisionError, match="made by another learner"):
        other.settle_many(bids, won=[0, 0], highest_competing_bid=[9.0, 9.0])
    made: Any = bids[0].decision
    own.learner.seen.clock = lambda: made.time + 1e9
    with pytest.raises(ExpiredDecisionError, match="Rows 0 and 1 of 2 have expired"):
        own.settle_many(bids, won=[0, 0], highest_competing_bid=[9.0, 9.0])


KINDS: list[dict[str, Any]] = [{}, {"guarded": True}, {"algorithm": CrossGraphAdaptive()}]


@pytest.mark.parametrize("maker", KINDS)
@pytest.mark.parametrize("learner", KINDS)
def test_a_batch_of_another_bidder_is_refused_whatever_made_it(maker: Any, learner: Any) -> None:
    own, other = bidder(**learner), bidder(**maker)
    bids = other.bid_many([5.0, 6.0])
    with pytest.raises(DecisionError, match=r"made by another learner|takes the Decision that"):
        own.settle_many(bids, won=[0, 0], highest_competing_bid=[9.0, 9.0])
    other.settle_many(bids, won=[0, 0], highest_competing_bid=[9.0, 9.0])
    assert (own.rounds, other.pending) == (0, 0)


# --------------------------------------------------------------------------------------- snapshots


@pytest.mark.parametrize("options", [{}, {"classes": ["site"]}, {"guarded": True}])
def test_a_snapshot_decides_as_the_bidder_did(options: dict[str, Any]) -> None:
    own = bidder(**options)
    site: dict[str, Any] = {"site": "a"} if own.classes else {}
    play(own, 600, **site)
    worker = own.snapshot(seed=9)
    shipped = FirstPriceBidder.from_bytes(worker.to_bytes(), seed=9)
    before, law = own.policy(6.0, **site), own.price_law(6.0, **site)
    for each in (worker, shipped):
        np.testing.assert_array_equal(each.policy(6.0, **site), before)
        view = each.price_law(6.0, **site)
        np.testing.assert_array_equal(view.chances, law.chances)
        np.testing.assert_array_equal(view.errors, law.errors)
        assert np.isnan(view.pool).all()
        assert np.isnan(view.own_share)
        assert str(law).endswith(str(view))
        np.testing.assert_array_equal(
            each.shading_curve([6.0], **site).bids, own.shading_curve([6.0], **site).bids
        )
    values = auctions(50)[0]
    amounts = worker.bid_many(values, **site).amounts
    np.testing.assert_array_equal(shipped.bid_many(values, **site).amounts, amounts)
    play(own, 300, seed=1, **site)
    np.testing.assert_array_equal(worker.policy(6.0, **site), before)
    assert (own.policy(6.0, **site) != before).any()
    free = [bidder().snapshot().bid_many(values).amounts for _ in range(2)]
    assert (free[0] != free[1]).any()
    for method, arguments in (("diagnosis", ()), ("save", ("x",))):
        with pytest.raises(InvalidParameterError, match="A snapshot only decides"):
            getattr(worker, method)(*arguments)


def test_damaged_snapshots_are_refused() -> None:
    from crossbandit.core import record

    own = bidder(classes=["site"])
    play(own, 30, site="a")
    data = own.snapshot().to_bytes()
    file = record.from_bytes(data)
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"version": 9}, {}),
        ({"application": "newsvendor"}, {}),
        ({"learner": "xy"}, {}),
        ({"latest": 7}, {}),
        ({"settings": {}}, {}),
        ({"class_limit": 1}, {}),
        ({}, {"law.rows": file.arrays["law.rows"][::-1]}),
        ({}, {"law.rows": file.arrays["law.rows"] + 10**6}),
        ({}, {"law.law": file.arrays["law.law"][:, 1:]}),
        ({}, {"law.terms": file.arrays["law.terms"] + 10**6}),
    ]
    for header, members in changes:
        wrong = record.to_bytes({**file.header, **header}, {**file.arrays, **members}, owner="test")
        with pytest.raises(CheckpointError):
            FirstPriceBidder.from_bytes(wrong)
    with pytest.raises(CheckpointError):
        FirstPriceBidder.from_bytes(data[:-100])


def test_tokens_of_older_snapshots_count_once_each() -> None:
    own, plain = bidder(feedback="always"), bidder(feedback="always")
    workers = [own.snapshot(seed=i) for i in range(3)]
    values, prices = auctions(60)
    for i, (value, price) in enumerate(zip(values, prices, strict=True)):
        bid = workers[i % 3].bid(value)
        own.settle(bid.token, **outcome(own, float(bid), price))
        if i == 30:
            workers[0] = own.snapshot(seed=7)
    plain.warm_up(values, prices)
    for name in ("told", "hidden", "visits"):
        np.testing.assert_array_equal(arrays(own)[name][:POOL], arrays(plain)[name][:POOL])
    assert own.pending == 0


# ----------------------------------------------------------------------------------------- threads


def trade(own: FirstPriceBidder, count: int, seed: int) -> None:
    site: dict[str, Any] = {"site": seed} if own.classes else {}
    for value, price in zip(*auctions(count, seed), strict=True):
        while (bid := own.bid(value, **site)).amount is None:
            pass
        own.settle(bid.token, **outcome(own, float(bid), price))


def look(own: FirstPriceBidder, path: Path, done: threading.Event) -> None:
    site: dict[str, Any] = {"site": 0} if own.classes else {}
    while not done.is_set():
        assert own.policy(5.0, **site).sum() == pytest.approx(1)
        own.snapshot().bid(5.0, **site)
        own.save(path)
        if own.classes:
            assert np.isfinite(own.price_law(5.0, **site).chances).all()


@pytest.mark.parametrize("options", [{}, {"guarded": True}, {"algorithm": CrossGraphAdaptive()}])
def test_eight_threads_on_one_bidder(options: dict[str, Any], tmp_path: Path) -> None:
    """Four bid and settle, four look, save and take snapshots; each outcome counts once."""
    own = bidder(feedback="always", classes=[] if options else ["site"], **options)
    done, each = threading.Event(), 120
    with ThreadPoolExecutor(8) as threads:
        lookers = [threads.submit(look, own, tmp_path / str(i), done) for i in range(4)]
        traders = [threads.submit(trade, own, each, i) for i in range(4)]
        try:
            for one in traders:
                one.result()
        finally:
            done.set()
        for one in lookers:
            one.result()
    assert own.rounds - own.pending == 4 * each
    if not options.get("algorithm"):  # such an algorithm has a round for each auction without a bid
        assert own.pending == 0
    assert FirstPriceBidder.load(tmp_path / "0").pending >= 0
    if options.get("algorithm"):
        return
    serial = bidder(feedback="always", classes=own.classes)
    for seed in range(4):
        values, prices = auctions(each, seed)
        serial.warm_up(values, prices, **({"site": np.full(each, seed)} if own.classes else {}))
    for name in ("told", "hidden", "visits"):
        np.testing.assert_array_equal(arrays(own)[name][:POOL], arrays(serial)[name][:POOL])
    assert np.isfinite(arrays(own)["law"]).all()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda own: pickle.loads(pickle.dumps(own))])  # noqa: S301 - its own
def test_a_copy_goes_on_alone(copied: Any) -> None:
    """It bids the same, and its bids are not taken for those of the first."""
    own = bidder()
    play(own, 50)
    again = copied(own)
    bids = [each.bid(5.0) for each in (own, again)]
    assert bids[0].amount == bids[1].amount
    for bid in bids:
        own.settle(bid.token, won=False, highest_competing_bid=7.0)
    again.settle(bids[0], won=False, highest_competing_bid=7.0)
    assert (own.learner.law.rounds, again.learner.law.rounds) == (52, 51)


# ------------------------------------------------------------------------------- files and settings


def test_settings_change_on_load_and_tokens_are_still_taken(tmp_path: Path) -> None:
    own = bidder(feedback="always", classes=["site"])
    play(own, 400, site="a")
    waiting, settled = own.bid_many([7.0] * 5, site="b"), own.bid(3.0, site="a")
    own.settle(settled, won=False, highest_competing_bid=3.5)
    own.save(tmp_path / "file")
    fine = FirstPriceBidder.load(
        tmp_path / "file", bids=[0.0, 0.7, 1.3, *np.linspace(2, 9, 40)], value_range=(0, 10)
    )
    assert fine.value_range == (0, 10)
    assert fine.bids.size == 43
    assert fine.learner.law.rounds == 401
    assert fine.pending == 5
    with pytest.raises(LearnedBeforeError):
        fine.settle(settled.token, won=False, highest_competing_bid=3.5)
    with pytest.raises(DecisionError, match="was learned on other amounts"):
        fine.settle(settled.token, won=False, highest_competing_bid=3.6, correction=True)
    fine.settle_many(waiting, won=[0] * 5, highest_competing_bid=[7.5] * 5)
    assert (fine.learner.law.rounds, fine.pending) == (406, 0)
    assert fine.price_law(9.5, site="a").own_rounds > 0
    quiet = FirstPriceBidder.load(tmp_path / "file", missing="accept")
    same(quiet, own)
    with pytest.raises(InvalidParameterError, match=r"'bid' .* one of bids, value_range"):
        FirstPriceBidder.load(tmp_path / "file", bid=3)
    with pytest.raises(InvalidParameterError, match="must be 'always' as in the file"):
        FirstPriceBidder.load(tmp_path / "file", feedback="after-win")


def test_a_feedback_graph_does_not_change_on_load(tmp_path: Path) -> None:
    own = bidder(algorithm=CrossGraphAdaptive())
    play(own, 20)
    own.save(tmp_path / "file")
    again = FirstPriceBidder.load(tmp_path / "file", missing="warn")
    assert again.policy(5.0).tolist() == own.policy(5.0).tolist()
    with pytest.raises(InvalidParameterError, match="holds for the settings it has"):
        FirstPriceBidder.load(tmp_path / "file", bids=7)


def test_an_off_grid_token_counts_for_the_nearest_bid_that_it_shows(tmp_path: Path) -> None:
    """A win of 2.4 shows that 3 wins, a loss that 2 loses; told prices count as they are."""
    own = bidder(bids=[0.0, 2.4], feedback="won-lost")
    bids = [bid for bid in own.bid_many([7.0] * 40) if bid.amount == 2.4][:3]
    own.save(tmp_path / "file")
    new = FirstPriceBidder.load(tmp_path / "file", bids=[0.0, 2.0, 3.0])
    new.settle(bids[0], won=True)
    new.settle(bids[1].token, won=False)
    told, hidden = arrays(new)["told"][0], arrays(new)["hidden"][0]
    assert told.tolist() == [0, 0, 1, 0]
    assert hidden.tolist() == [0, 1, 0, 0]
    low = FirstPriceBidder.load(tmp_path / "file", bids=[0.0, 1.0])
    low.settle(bids[2], won=True)  # says nothing about 1
    assert low.learner.law.rounds == 0
    with pytest.raises(LearnedBeforeError):
        low.settle(bids[2], won=True)


def test_private_settings_cannot_be_set_either() -> None:
    own = bidder()
    for name in ("_grid", "value_range", "rules", "learner"):
        with pytest.raises(AttributeError, match="cannot be set"):
            setattr(own, name, None)
    with pytest.raises(ValueError, match="read-only"):
        own.learner.law.amounts[0] = 3.0


def test_a_file_does_not_grow_with_pending_bids(tmp_path: Path) -> None:
    own = bidder()
    own.save(tmp_path / "before")
    own.bid_many(np.full(50_000, 5.0))
    own.save(tmp_path / "after")
    sizes = [(tmp_path / name).stat().st_size for name in ("before", "after")]
    assert sizes[1] <= sizes[0] + 100


def test_decisions_do_not_wait_for_saving() -> None:
    """A decision is made while the lock that saving holds is taken."""
    own = bidder()
    with own.learner.learning:
        assert own.bid(5.0).amount is not None


# ------------------------------------------------------------------------------------- corrections


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_a_correction_restores_the_counts(feedback: str) -> None:
    """At once, everything that is counted; later, what is not discounted. Then the laws too."""
    right, wrong = (bidder(feedback=feedback, classes=["site"]) for _ in range(2))
    play(right, 700, site="a")
    play(wrong, 700, site="a")
    truth: dict[str, Any] = {"won": True, "highest_competing_bid": 0.5}
    for own in (right, wrong):
        own.learner.law.uniforms.state = np.random.default_rng(4).bit_generator.state
    bids = [own.bid(6.0, site="a", reserve=2.0) for own in (right, wrong)]
    assert bids[0].amount == bids[1].amount
    right.settle(bids[0], **truth)
    wrong.settle(bids[1], won=False, highest_competing_bid=7.0)
    wrong.settle(bids[1].token, **truth, correction=True)
    for name in ("told", "hidden", "visits", "asked", "reached", "scale", "rounds"):
        np.testing.assert_allclose(
            arrays(wrong)[name], arrays(right)[name], rtol=1e-12, atol=1e-12, err_msg=name
        )
    for name in ("told", "counts"):
        found, expected = (one.learner.test.arrays()[name] for one in (wrong, right))
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(arrays(wrong)["weights"], arrays(right)["weights"], atol=1e-3)
    views = [own.price_law(6.0, site="a").chances for own in (right, wrong)]
    np.testing.assert_allclose(views[1], views[0], atol=0.02)
    # Computed anew from the counts, the laws of the two are the same.
    fresh = [bidder(feedback=feedback, classes=["site"]) for _ in range(2)]
    for new, own in zip(fresh, (right, wrong), strict=True):
        new.take_counts(own)
    np.testing.assert_allclose(arrays(fresh[1])["law"], arrays(fresh[0])["law"], rtol=1e-9)


def test_a_late_correction_restores_what_is_not_discounted() -> None:
    right, wrong = (bidder(feedback="always") for _ in range(2))
    values, prices = auctions(300)
    bids = [right.bid_many(values), wrong.bid_many(values)]
    right.settle_many(
        bids[0], **flat([outcome(right, *one) for one in zip(bids[0].amounts, prices, strict=True)])
    )
    broken = prices.copy()
    broken[0] = 7.9
    wrong.settle_many(
        bids[1], **flat([outcome(wrong, *one) for one in zip(bids[1].amounts, broken, strict=True)])
    )
    wrong.settle(bids[1][0], **outcome(right, bids[1].amounts[0], prices[0]), correction=True)
    for name in ("told", "hidden", "visits"):
        np.testing.assert_array_equal(arrays(wrong)[name][:POOL], arrays(right)[name][:POOL])
        total = arrays(wrong)[name].sum(), arrays(right)[name].sum()
        assert total[0] == pytest.approx(total[1], rel=1e-9)
        assert arrays(wrong)[name].min() >= 0


def test_a_correction_that_is_not_possible_is_refused() -> None:
    own = bidder()
    bid = own.bid(5.0)
    with pytest.raises(DecisionError, match="was not learned from"):
        own.settle(bid, won=True, correction=True)
    own.settle(bid, won=False, highest_competing_bid=7.0)
    before = arrays(own)
    own.settle(bid, won=False, highest_competing_bid=7.0, correction=True)  # the same
    for name, array in arrays(own).items():
        np.testing.assert_array_equal(array, before[name])
    for options in ({"guarded": True}, {"algorithm": CrossGraphAdaptive()}):
        other = bidder(**options)
        bid = other.bid(5.0)
        other.settle(bid, won=False, highest_competing_bid=7.0)
        with pytest.raises(DecisionError, match="cannot take an outcome back"):
            other.settle(bid, won=True, correction=True)


@given(st.integers(0, 2), st.integers(0, 14_285))
def test_codes_of_outcomes_fit_into_16_bits(kind: int, index: int) -> None:
    assert outcome_of(code_of(kind, index)) == (kind, index)
    assert 3 < code_of(kind, index) < 2**16
    assert outcome_of(code_of(-1, 0))[0] == -1


# --------------------------------------------------------------------------------- missing outcomes


def share_missing(
    own: FirstPriceBidder,
    batches: int,
    *,
    lost: float,
    won: float,
    delay: int = 0,
    seed: int = 0,
    size: int = 100,
) -> int:
    """Bid, and settle shares of the outcomes, losses after `delay` batches; return the refusals."""
    now = [time.time()]
    own.learner.clock = own.learner.seen.clock = own.learner.watch.clock = lambda: now[0]
    generator, refused = np.random.default_rng(seed), 0
    later: list[tuple[int, Any, Any, Any]] = []
    for i in range(batches):
        now[0] += 1.0
        values = generator.uniform(0.2, 1, size) * HIGHEST
        prices = values * generator.beta(2, 3, size)
        bids = own.bid_many(values)
        has_won = (bids.amounts >= prices) & (bids.amounts > 0)
        comes = generator.random(size) >= np.where(has_won, won, lost)
        for kind, wait in ((True, 0), (False, delay)):
            rows = np.flatnonzero(comes & (has_won == kind)).tolist()
            told = np.where(has_won, np.nan, prices)[rows]
            later.append((i + wait, [bids[row] for row in rows], has_won[rows], told))
        for _, made, result, told in [one for one in later if one[0] == i and one[1]]:
            try:
                own.settle_many(made, won=result, highest_competing_bid=told)
            except MissingOutcomesError:
                refused += 1
    return refused


def test_outcomes_missing_at_random_raise_no_alarm() -> None:
    """In 200 runs; half of them with outcomes that are missing more often than not."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingFeedbackWarning)
        for seed in range(200):
            generator = np.random.default_rng(seed)
            watch = OutcomeWatch("refuse", ("won", "lost"), lambda: 0.0)
            scores = generator.integers(0, TOP, 2 * COHORT)
            scores[: COHORT // 2] //= 2  # bids change as the bidder learns
            totals = np.cumsum(scores) - scores
            comes = generator.random(2 * COHORT) < (0.3 if seed % 2 else 0.9)
            for i in np.flatnonzero(comes).tolist():
                reached = bool(generator.random() < 0.4)
                watch.add("a", i, 0.0, int(scores[i]), int(totals[i]), reached=reached)
                assert not watch.misled


def test_a_bidder_is_not_alarmed_by_outcomes_that_are_missing_or_late_at_random() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingFeedbackWarning)
        for lost, seed in ((0.0, 0), (0.5, 1), (0.2, 2)):
            own = bidder()
            assert share_missing(own, 30, lost=lost, won=lost, seed=seed) == 0


def test_missing_losses_are_refused() -> None:
    """And the law is not misled further. With "accept", it is, silently."""
    own = bidder()
    assert share_missing(own, 60, lost=1.0, won=0.0) > 20
    assert own.learner.law.rounds < 400
    with pytest.raises(MissingOutcomesError, match="those that lost are missing, or come later"):
        own.settle(own.bid(5.0), won=True)
    careless = bidder(missing="accept")
    assert share_missing(careless, 60, lost=1.0, won=0.0) == 0
    with pytest.warns(MissingFeedbackWarning, match="Report every outcome"):
        share_missing(bidder(missing="warn"), 60, lost=1.0, won=0.0)


def test_missing_wins_are_refused() -> None:
    own = bidder()
    assert share_missing(own, 60, lost=0.0, won=1.0) > 5
    with pytest.raises(MissingOutcomesError, match="those that won are missing"):
        own.settle(own.bid(5.0), won=False, highest_competing_bid=9.0)
    with pytest.warns(MissingFeedbackWarning, match="those that won are missing"):
        share_missing(bidder(missing="warn"), 60, lost=0.0, won=1.0)


def test_late_losses_stop_learning_until_they_come() -> None:
    own, plain = bidder(), bidder()
    assert share_missing(own, 150, lost=0.0, won=0.0, delay=20) > 0
    assert share_missing(plain, 150, lost=0.0, won=0.0) == 0
    assert own.learner.law.rounds > 5_000
    usual = [each.shading_curve([4.0, 8.0]).bids for each in (own, plain)]
    np.testing.assert_allclose(usual[0], usual[1], atol=0.9)


def test_refused_outcomes_may_be_settled_later_and_a_file_remembers(tmp_path: Path) -> None:
    own = bidder()
    share_missing(own, 30, lost=1.0, won=0.0)
    bid = own.bid(5.0)
    with pytest.raises(MissingOutcomesError):
        own.settle(bid, won=True)
    own.save(tmp_path / "file")
    again = FirstPriceBidder.load(tmp_path / "file", missing="accept")
    rounds = again.learner.law.rounds
    again.settle(bid.token, won=True)
    assert again.learner.law.rounds == rounds + 1
    assert again.learner.watch.settings() == own.learner.watch.settings()


def test_a_restart_does_not_end_an_alarm(tmp_path: Path) -> None:
    """The bids after it are of a cohort that is not watched, so nothing would raise it again."""
    own = bidder()
    share_missing(own, 30, lost=1.0, won=0.0)
    own.save(tmp_path / "file")
    for changed in ({}, {"bids": 31}):
        again = FirstPriceBidder.load(tmp_path / "file", **changed)
        with pytest.raises(MissingOutcomesError, match="those that lost are missing"):
            again.settle(again.bid(5.0), won=True)


@pytest.mark.parametrize("wrong", [{"biased": 1}, {"shares": [0.5]}, {"shares": [0.5, math.nan]}])
def test_an_impossible_watch_is_refused(wrong: dict[str, Any]) -> None:
    watch = OutcomeWatch("refuse", ("won", "lost"), lambda: 0.0)
    with pytest.raises(CheckpointError, match="watch over"):
        watch.restore(watch.settings() | wrong)


def test_what_a_cohort_knows_of_decisions_without_outcome() -> None:
    """Decisions 3 to 8 were made, with scores 30, ..., 80. Outcomes of 3, 4 and 8 came, 8 first."""
    cohort = Cohort.of(8, 5.0, 80, 30 + 40 + 50 + 60 + 70, reached=True)
    cohort = cohort.with_one(3, 1.0, 30, 0, reached=False).with_one(4, 2.0, 40, 30, reached=True)
    in_order = Cohort.of(3, 1.0, 30, 0, reached=False).with_one(4, 2.0, 40, 30, reached=True)
    places = cohort.both[0]
    assert in_order.with_one(8, 5.0, 80, 250, reached=True).both == cohort.both
    assert (cohort.made, cohort.newest, cohort.outcomes, cohort.reached) == (6, 5.0, 3, 2)
    assert (places.made, places.mean) == (6, 55.0)
    assert places.excess == pytest.approx(150 - 3 * 55)
    squares = (6400 + 900 + 1600) / 3 - 50**2
    assert places.variance == pytest.approx(3 * (1 - 3 / 6) * squares)


def test_a_large_fleet_does_not_push_out_cohorts_that_are_not_judged() -> None:
    """Outcomes take 10 seconds; a thousand snapshots begin each second, and losses are missing."""
    now = [0.0]
    watch = OutcomeWatch("refuse", ("won", "lost"), lambda: now[0])
    watch.warns = False
    generator = np.random.default_rng(0)
    for decider in range(200):
        now[0] += 0.5
        scores = generator.integers(0, TOP, 60)
        totals = np.cumsum(scores) - scores
        for i in np.flatnonzero(generator.random(60) < scores / TOP).tolist():
            name = (str(decider), i, now[0] - 10.0)
            watch.add(*name, int(scores[i]), int(totals[i]), reached=i % 2 == 0)
    assert len(watch.settings()["cohorts"]) == 64
    assert watch.misled


def test_which_decisions_are_watched() -> None:
    numbers = np.arange(300_000)
    found = np.zeros(numbers.size, dtype=bool)
    found[watched(numbers)] = True
    assert [is_watched(int(number)) for number in numbers[::77]] == found[::77].tolist()
    starts = np.flatnonzero(np.diff(found.astype(int), prepend=0) == 1)
    assert starts.tolist() == [0, 16384, 32768, 65536, 131072, 196608, 262144]
    assert found[: 17 * COHORT].all()
    assert not found[17 * COHORT]


# ------------------------------------------------------------------------------------------- money


def test_bids_are_in_ticks_and_decimals_are_taken() -> None:
    own = FirstPriceBidder(
        bids=50,
        value_range=(Decimal(0), Decimal("1.5")),
        tick_size=Decimal("0.05"),
        max_bid=Decimal("1.20"),
        seed=1,
    )
    assert own.bids.tolist() == [float(Decimal("0.05") * i) for i in range(25)]
    bid = own.bid(Decimal("1.5"), reserve=Decimal("0.10"))
    assert bid.decimal is not None
    assert bid.decimal % Decimal("0.05") == 0
    assert float(bid.decimal) == bid.amount
    own.settle(bid, won=np.False_, highest_competing_bid=Decimal("1.4"))
    assert own.settings()["tick_size"] == 0.05
    assert own.bid(0.04, reserve=0.05).decimal is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tick_size": 0}, "'tick_size'"),
        ({"tick_size": Decimal("NaN")}, "'tick_size'"),
        ({"tick_size": 100}, "'tick_size' .* fine enough"),
        ({"max_bid": 0}, "'max_bid' .* at least 2 bids are left"),
        ({"max_bid": Decimal("sNaN")}, "'max_bid'"),
        ({"missing": "ignore"}, "'missing' .* one of 'refuse'"),
    ],
)
def test_bad_money_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        bidder(**options)


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("won", [True, False])
@pytest.mark.parametrize("near", [0.0, 1e-15, -1e-15, 1e-10, -1e-10])
def test_a_tie_to_rounding_is_no_contradiction(ties: str, won: bool, near: float) -> None:
    """Told always: the bid itself wins or loses as it did, and the next bids as they would."""
    own = bidder(bids=[0.3, 0.5], ties=ties, feedback="always")
    bid = own.bid(0.4)
    assert bid.amount == 0.3
    own.settle(bid, won=int(won), highest_competing_bid=0.3 + near)
    assert arrays(own)["told"][0].tolist() == [float(won), float(not won), 0.0]


def test_a_bid_far_from_the_competing_one_is_still_a_contradiction() -> None:
    own = bidder(bids=[0.3, 0.5])
    bid = own.bid(0.4)
    with pytest.raises(InvalidLossesError, match="cannot have lost"):
        own.settle(bid, won=False, highest_competing_bid=0.2999999)


def test_a_batch_of_several_snapshots_is_settled_in_its_order_and_its_rows_are_named() -> None:
    own = bidder()
    workers = [own.snapshot(seed=seed) for seed in (1, 2)]
    values, prices = auctions(40)
    bids = [workers[i % 2].bid(value) for i, value in enumerate(values)]
    results = [outcome(own, float(bid), price) for bid, price in zip(bids, prices, strict=True)]
    turns = copy.deepcopy(own)
    for bid, result in zip(bids, results, strict=True):
        turns.settle(bid, **result)
    told = [one["highest_competing_bid"] for one in results]
    own.settle_many(bids, won=[one["won"] for one in results], highest_competing_bid=told)
    for name, array in arrays(turns).items():
        np.testing.assert_array_equal(arrays(own)[name], array, err_msg=name)
    assert [own.learner.code(bid.decision) for bid in bids] == [
        turns.learner.code(bid.decision) for bid in bids
    ]
    new = [workers[i % 2].bid(8.0) for i in range(4)]
    with pytest.raises(LearnedBeforeError, match=r"^Rows 1 and 4 of 6 have"):
        own.settle_many([new[0], bids[0], *new[1:3], bids[1], new[3]], won=[True] * 6)
    made = own.bid_many([0.0, 8.0, 0.0, 8.0], reserve=5.0)
    own.settle(made[3], won=True)
    with pytest.raises(LearnedBeforeError, match=r"^Row 3 of 4 has"):
        own.settle_many(made, won=[False, True, False, True])


def test_a_bid_that_was_not_made_has_no_token_and_needs_none() -> None:
    own = bidder()
    tokens: list[Any] = own.bid_many([1.0, 8.0], reserve=5.0).tokens
    with pytest.raises(InvalidLossesError, match="row 0: No bid was made"):
        own.settle_many(tokens, won=[True, True])
    with pytest.raises(DecisionError, match=r"Got None. .* leave it out"):
        own.settle(tokens[0], won=False)
    own.settle_many(tokens, won=[False, True])
    assert own.learner.law.rounds == 1


def test_decimal_bids_are_taken() -> None:
    own = bidder(bids=[Decimal("0.10"), Decimal("0.25"), 1])
    assert own.bids.tolist() == [0.1, 0.25, 1.0]


@pytest.mark.parametrize("wrong", ["no", None, 2])
def test_a_correction_must_be_said_clearly(wrong: Any) -> None:
    """A text such as "no" would count as yes."""
    own = bidder()
    bid = own.bid(5.0)
    own.settle(bid, won=True)
    with pytest.raises(InvalidInputError, match="'correction' parameter of settle"):
        own.settle(bid, won=False, highest_competing_bid=7.0, correction=wrong)


@pytest.mark.parametrize("changed", [{"feedback": "always"}, {"ties": "lose"}, {"classes": ("a",)}])
def test_settings_that_cannot_change_on_load_are_named(tmp_path: Path, changed: Any) -> None:
    bidder().save(tmp_path / "file")
    name = next(iter(changed))
    with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of load must be"):
        FirstPriceBidder.load(tmp_path / "file", **changed)


def test_a_file_with_impossibly_large_counts_is_refused(tmp_path: Path) -> None:
    """Their sum would overflow, and the next outcome would never be learned to its end."""
    own = bidder()
    play(own, 1)
    own.learner.law.state.told[:] = 1e308
    own.save(tmp_path / "file")
    with pytest.raises(CheckpointError, match="told"):
        FirstPriceBidder.load(tmp_path / "file")


@pytest.mark.parametrize("label", [2**63, -(2**63) - 1, "\ud800"])
def test_a_label_that_no_token_can_hold_is_refused_before_bidding(label: Any) -> None:
    own = bidder(classes=("site",))
    with pytest.raises(InvalidContextError, match="'site' parameter of bid must be"):
        own.bid(5.0, site=label)
    assert own.rounds == 0


# ----------------------------------------------------------------------------- forks and copies


@forks
def test_decisions_of_a_forked_process_have_names_of_their_own() -> None:
    own, other = bidder(), CrossGraphAdaptive()
    worker = own.snapshot()
    learner = other.start(Problem(graphs.complete(2), contexts=1), seed=0)
    helper = learner.snapshot()
    for each in (own, worker):
        texts = [each.bid(5.0).text, in_fork(lambda each=each: each.bid(5.0).text)]
        texts += [each.bid(5.0).text, in_fork(lambda each=each: each.bid(5.0).text)]
        for text in texts:
            own.settle(text, won=True)
    for text in [in_fork(lambda: helper.act(0).text), helper.act(0).text]:
        learner.learn(text, [[0.5], [0.5]])

    def settled() -> str:
        own.settle(own.bid(5.0), won=True)
        return str(own.pending)

    assert in_fork(settled) == str(own.pending)


@forks
def test_a_fork_waits_until_no_thread_holds_a_lock() -> None:
    own, ended = bidder(), threading.Event()

    def busy() -> None:
        while not ended.is_set():
            own.settle(own.bid(5.0), won=False, highest_competing_bid=7.0)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert in_fork(lambda: own.bid(5.0).text) is not None
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def drawn(snapshot: FirstPriceBidder) -> str:
    return str(snapshot.learner.law.uniforms.take(3))


def test_copies_of_a_snapshot_do_not_bid_alike() -> None:
    snapshot = bidder().snapshot()
    copied = pickle.loads(pickle.dumps(snapshot))  # noqa: S301 - our own
    copies = [copied, copy.deepcopy(snapshot), snapshot]
    found = {drawn(one) for one in copies}
    if hasattr(os, "fork"):
        found |= {in_fork(lambda: drawn(snapshot)) for _ in range(2)}
    assert len(found) == (5 if hasattr(os, "fork") else 3)
    learner = CrossGraphAdaptive().start(Problem(graphs.complete(2), contexts=1), seed=0)
    one, two = (copy.deepcopy(learner.snapshot()) for _ in range(2))
    assert one.id != two.id
    learner.learn_many([one.act(0), two.act(0)], [[[0.5], [0.5]]] * 2)
