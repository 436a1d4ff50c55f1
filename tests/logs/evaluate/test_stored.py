"""A log on disk: the same numbers as in memory, piece by piece."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import LogError
from crossbandit.logs import AuctionLog
from crossbandit.logs.evaluate import (
    CensoredLog,
    StoredLog,
    evaluate,
    open_censored,
    read_censored,
)
from crossbandit.logs.evaluate import log as log_module
from crossbandit.logs.evaluate.groups import make_groups
from tests.logs.evaluate.worlds import full_log

ROLES = {"bid": "bid", "won": "won"}


def frame(count: int, feedback: str, *, drawn: bool = False) -> pd.DataFrame:
    values, prices, bids = full_log(count, 5, correlation=0.4)
    rng = np.random.default_rng(6)
    values = np.round(values, 1)
    if drawn:
        bids = rng.choice([0.4, 0.6, 0.8], count) * values
    bids = np.minimum(bids, values)
    won = (bids >= prices) & (bids > 0)
    told = {"after-loss": ~won, "won-lost": won & False, "always": won | True}[feedback]
    site = rng.choice(["a", "b", "c", "rare"], count, p=[0.5, 0.3, 0.15, 0.05])
    device = rng.choice(["x", "y"], count)
    columns = {"value": values, "bid": bids, "won": won, "min_bid_to_win": prices}
    found = pd.DataFrame({**columns, "site": site, "device": device})
    found["min_bid_to_win"] = np.where(told, prices, np.nan)
    return found


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "PIECE", 700)
    monkeypatch.setattr(log_module, "SAMPLE", 1_000)


def both(data: object, **options: object) -> tuple[CensoredLog, StoredLog]:
    log = AuctionLog(data, columns={**ROLES, **options.pop("columns", {})}, **options)  # type: ignore[arg-type, dict-item]
    on_disk = open_censored(log, in_memory=0).log
    assert isinstance(on_disk, StoredLog)
    return read_censored(log).log, on_disk


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("feedback", ["after-loss", "won-lost", "always"])
def test_a_log_on_disk_has_the_same_numbers(feedback: str) -> None:
    data = frame(5_000, feedback)
    data["when"] = np.random.default_rng(7).permutation(5_000) + 1.7e9
    columns = {"columns": {"time": "when"}, "classes": ["site", "device"]}
    bidder = FirstPriceBidder(bids=21, value_range=(0, 40), classes=("site",), seed=1)
    memory, disk = both(data, **columns)
    settings = {"fractions": [0.5, 0.7], "bidders": {"mine": bidder}}
    one, other = (evaluate(log, **settings) for log in (memory, disk))  # type: ignore[arg-type]
    assert len(list(disk.pieces(None))) > 1
    assert one.notes == other.notes
    assert one.groups == other.groups == len(make_groups(memory))
    for first, second in zip(one.results, other.results, strict=True):
        assert (first.strategy, first.note) == (second.strategy, second.note)
        assert first.known == pytest.approx(second.known)
        for left, right in zip(first.estimates, second.estimates, strict=True):
            assert dataclasses.astuple(left)[1:] == pytest.approx(
                dataclasses.astuple(right)[1:], nan_ok=True
            )
    for before, after in zip(one.checks, other.checks, strict=True):
        assert before.score == pytest.approx(after.score)


@pytest.mark.usefixtures("small_pieces")
def test_bids_drawn_at_random_have_the_same_propensities() -> None:
    memory, disk = both(frame(3_000, "won-lost", drawn=True))
    one, other = (
        evaluate(log, fractions=[0.6], random_bids=True)["60 % of value"] for log in (memory, disk)
    )
    assert one.best.method == "doubly robust"
    for left, right in zip(one.estimates, other.estimates, strict=True):
        assert left.method == right.method
        assert left.weight == pytest.approx(right.weight, nan_ok=True)
        assert left.value == pytest.approx(right.value)
        assert left.high == pytest.approx(right.high)
    assert math.isfinite(one.best.size)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("scale", [1.0, 0.3])
@pytest.mark.parametrize("given", [False, True])
def test_bids_rounded_to_cents_have_propensities(scale: float, given: bool) -> None:
    """Fractions of 0.4, 0.6 and 0.8 of the value; low values have the same bid for two of them."""
    count, (fractions, chances) = 6_000, ([0.4, 0.6, 0.8], [0.2, 0.5, 0.3])
    values, prices, _ = full_log(count, 8, correlation=0.4)
    values, prices = scale * values, scale * prices
    values[:200] = np.linspace(0.021, 0.06, 200)
    drawn = np.random.default_rng(9).choice(3, count, p=chances)
    every = np.round(np.outer(fractions, values), 2)
    bids = every[drawn, np.arange(count)]
    true = (np.array(chances)[:, None] * (every == bids)).sum(axis=0)
    won = (bids >= prices) & (bids > 0)
    data = pd.DataFrame({"value": values, "bid": bids, "won": won, "min_bid_to_win": np.nan})
    data["p"] = true
    columns = {"propensity": "p"} if given else {}
    logs = both(data, columns=columns)
    if not given:
        found = np.asarray(log_module.with_propensities(logs[0]).propensities)  # type: ignore[union-attr]
        # A bid that is half a cent off both fractions may count as either.
        assert (np.abs(found - true) < 0.02).mean() > 0.999
    bid = np.round(0.6 * values, 2)
    truth = np.where((bid >= prices) & (bid > 0), values - bid, 0.0).sum()
    for log in logs:
        one = evaluate(log, fractions=[0.6], random_bids=not given)["60 % of value"]
        assert one.best.method == "doubly robust"
        assert one.best.low < truth < one.best.high
        weighted = one.estimate("inverse propensity")
        assert weighted is not None
        assert weighted.weight == pytest.approx(1, abs=0.04)


def test_amounts_are_not_taken_for_rounded_fractions() -> None:
    values, prices, _ = full_log(2_000, 3)
    values = np.maximum(values, 2.0)
    bids = np.random.default_rng(4).choice([0.5, 1.0, 1.5, 2.0], 2_000)
    log = CensoredLog(values, bids, bids >= prices)
    found = np.asarray(log_module.with_propensities(log).propensities)  # type: ignore[union-attr]
    assert np.unique(found).size <= 4
    np.testing.assert_allclose(found, 0.25, atol=0.04)


@pytest.mark.usefixtures("small_pieces")
def test_many_equal_values_make_the_same_bands() -> None:
    data = frame(4_000, "after-loss")
    data["value"] = np.maximum(np.round(data["value"]), np.ceil(data["bid"]))
    memory, disk = both(data)
    sizes = sorted(rows.size for rows in make_groups(memory, 8).members)
    assert sizes == sorted(rows.size for piece in disk.pieces(8) for rows in piece.members)
    assert len(sizes) < 8


def test_a_log_on_disk_is_checked() -> None:
    data = frame(3_000, "after-loss")
    data.loc[2_999, "bid"] = 1e6
    log = AuctionLog(data, columns=ROLES)
    with pytest.raises(LogError, match="in auction 3,000: a bid of 1000000"):
        open_censored(log, in_memory=0)
    lost = data[~data["won"]].iloc[:-1]
    with pytest.raises(LogError, match="Your own bids win 0 %"):
        open_censored(AuctionLog(lost, columns=ROLES), in_memory=0)


def test_a_log_of_few_auctions_is_read_into_memory() -> None:
    read = open_censored(AuctionLog(frame(50, "after-loss"), columns=ROLES))
    assert isinstance(read.log, CensoredLog)


@pytest.mark.usefixtures("small_pieces")
def test_rounded_amounts_have_the_same_numbers() -> None:
    """Outcomes are those of the amounts before they were rounded to whole units."""
    data = frame(4_000, "always")
    prices = np.ceil(10 * data["min_bid_to_win"])
    bids = np.minimum(np.ceil(10 * data["bid"]), 10 * data["value"])
    data = data.assign(value=10 * data["value"], bid=bids, min_bid_to_win=prices)
    data["won"] = data["won"] & (bids >= prices)
    memory, disk = both(data)
    one, other = (evaluate(log, fractions=[0.5]) for log in (memory, disk))
    assert memory.outcomes.rounded
    assert memory.ties == disk.ties == "both"
    assert one.notes == other.notes
    assert "so amounts were rounded" in one.notes[1]
    known = one["50 % of value"].known
    assert known.share < 1
    assert known == pytest.approx(other["50 % of value"].known)
    assert one["50 % of value"].best.value == pytest.approx(other["50 % of value"].best.value)


@pytest.mark.usefixtures("small_pieces")
def test_equal_bids_that_all_lost_are_taken_to_lose() -> None:
    data = frame(2_000, "after-loss")
    lost = data.index[~data["won"] & (data["bid"] > 0)][:3]
    data.loc[lost, "min_bid_to_win"] = data.loc[lost, "bid"]
    for in_memory in (0, 10_000):
        read = open_censored(AuctionLog(data, columns=ROLES), in_memory=in_memory)
        assert read.log.ties == "lose"
        assert "All bids that equal the price have lost" in read.notes[1]
        with pytest.raises(LogError, match="try --ties lose"):
            open_censored(AuctionLog(data, columns=ROLES), ties="win", in_memory=in_memory)
