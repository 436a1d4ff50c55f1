"""Replays with late outcomes, and of campaigns that have limits of their own."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.limits import Budget, CostPer
from crossbandit.logs import AuctionLog
from crossbandit.logs.replay import ReplayRules, replay

GRID = [round(0.05 * i, 2) for i in range(61)]
RULES = ReplayRules(bids=GRID, feedback="after-loss")
AUCTIONS = 3_000


def frame(seed: int = 0, hours: float = 24.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    times = pd.Timestamp("2026-03-02", tz="UTC") + pd.to_timedelta(
        np.sort(rng.uniform(0, hours * 3_600, AUCTIONS)), unit="s"
    )
    site = rng.choice([*"abc"], AUCTIONS)
    prices = rng.lognormal(-0.5, 0.8, AUCTIONS) * pd.Series(site).map({"a": 0.5, "b": 1, "c": 2})
    values = np.minimum(rng.lognormal(0, 0.5, AUCTIONS), 3.0)
    return pd.DataFrame({"value": values, "market_price": prices, "time": times, "site": site})


def log(**given: Any) -> AuctionLog:
    return AuctionLog(frame(**given), columns={"time": "time"}, classes=["site"])


def played(limits: list[Any], strategies: list[Any], **given: Any) -> Any:
    options = {"rules": RULES, "seeds": 1, "jobs": 1, "show_progress": False, **given}
    return replay(
        options.pop("log", None) or log(), limits=limits, strategies=strategies, **options
    )


def test_the_law_is_played_as_a_bidder_with_late_outcomes() -> None:
    data = frame()
    times = [one.timestamp() for one in data["time"]]
    bidder = FirstPriceBidder(
        bids=GRID,
        value_range=(0, float(data["value"].max())),
        classes=["class_0"],
        budget=Budget(60, per="day"),
        max_jump=None,
        missing="accept",
        horizon=AUCTIONS,
        seed=0,
    )
    numbers: dict[str, int] = {}
    waiting: list[Any] = []
    surplus, paid = 0.0, Decimal(0)
    for row, now in zip(data.itertuples(), times, strict=True):
        while waiting and waiting[0][0] + 1_800 <= now:
            _, bid, price = waiting.pop(0)
            won = float(bid) > 0 and float(bid) >= price
            bidder.settle(bid, won=won, highest_competing_bid=None if won else price)
        level = numbers.setdefault(row.site, len(numbers))
        bid = bidder.bid(row.value, at=now, class_0=level)
        waiting.append((now, bid, row.market_price))
        if bid.decimal is not None and float(bid) >= row.market_price:
            surplus, paid = surplus + row.value - float(bid), paid + bid.decimal
    found = played([Budget(60, per="day")], ["law"], delay=timedelta(minutes=30))
    one = found.outcome("price distribution")
    assert one.surplus[0] == pytest.approx(surplus, rel=1e-12)
    assert one.spend[0] == pytest.approx(float(paid), rel=1e-12)


@pytest.mark.parametrize("worst", [0.0, 1.0])
def test_every_strategy_keeps_its_budget_with_late_outcomes(worst: float) -> None:
    names = ["law", "guarded law", "cross-graph-adaptive", "best responses", "shading 0.5"]
    found = played([Budget(40, per="day", worst_case=worst)], names, delay=1_800)
    table = found.table().set_index("strategy")
    players = table[table["kind"] != "oracle"]
    assert len(players) == 6
    assert (players["budget_used"] <= 1.01 if worst else players["budget_used"] <= 1 + 1e-9).all()
    assert (players["budget_used"] > (0.85 if worst else 0.5)).all()
    assert (players["reserved"] > 0).all()
    assert (players["expected"] > 0).all()
    assert (players["reserved"] >= players["expected"]).all()
    prompt = played([Budget(40, per="day", worst_case=worst)], names).table()
    assert "reserved" not in prompt
    earned = dict(zip(prompt["strategy"], prompt["surplus"], strict=True))
    assert players.loc["price distribution", "surplus"] < 1.05 * earned["price distribution"]


def test_notes_say_what_is_reserved_and_why_less_was_spent() -> None:
    found = played([Budget(40, per="day", worst_case=0)], ["law"], delay=4 * 3_600)
    words = [note for note in found.notes if note.startswith("price distribution spent")]
    assert len(words) == 1
    assert "because outcomes are 4 hours late and what was left was reserved" in words[0]
    held = found.table().set_index("strategy").loc["price distribution", "held_back"]
    assert f"In {100 * held:.0f} % of the auctions it could not bid" in words[0]
    free = played([Budget(1e6, per="day")], ["law"], delay=60)
    assert any("It bid what it would bid without a budget" in note for note in free.notes)
    without = played([], ["law"], delay=60)
    assert any(note.startswith("Outcomes come 1 minute after bids") for note in without.notes)


def test_a_delay_needs_times() -> None:
    data = frame().drop(columns="time")
    with pytest.raises(LogError, match="needs the time of each auction"):
        played([], ["law"], log=AuctionLog(data, classes=["site"]), delay=60)
    with pytest.raises(InvalidParameterError, match="'delay' parameter of replay must be"):
        played([], ["law"], delay=-1)


def test_a_log_that_is_over_before_its_first_outcome_is_said_to_teach_nothing() -> None:
    one_time = frame().assign(time=pd.Timestamp("2026-03-02", tz="UTC"))
    for data, lasts in ((one_time, "0 seconds"), (frame(hours=0.5), "30 minutes")):
        found = played([], ["law"], log=AuctionLog(data, columns={"time": "time"}), delay=7_200)
        assert any(f"nothing is learned: the log lasts {lasts}." in one for one in found.notes)
    assert not any("nothing is learned" in one for one in played([], ["law"], delay=60).notes)


@pytest.mark.parametrize("delay", [0, 600])
def test_campaigns_keep_limits_by_themselves(delay: float) -> None:
    names = ["law", "best response", "shading 0.5"]
    limits = [Budget(20, per="day", worst_case=0), CostPer(1.5)]
    found = played(limits, names, campaign="site", delay=delay)
    spent = found.by_class().query("kind != 'oracle'")
    assert len(spent) == 9
    assert (spent["spend"] <= 20 + 1e-9).all()
    assert (spent["spend"] > 10).all()
    assert found.campaigns == 3
    assert found.limits.total == 60
    assert any("Each of the 3 campaigns keeps the limits by itself" in one for one in found.notes)


def test_campaigns_need_a_class_column_and_a_law() -> None:
    with pytest.raises(InvalidParameterError, match="one of the class columns of the log"):
        played([], ["law"], campaign="value")
    with pytest.raises(InvalidParameterError, match="Campaigns share a law of prices"):
        played([], ["cross-graph"], campaign="site")


def test_notes_on_campaigns_say_what_is_so() -> None:
    without = played([], ["law"], campaign="site").notes
    assert any("Without limits, campaigns are classes" in one for one in without)
    assert not any("keeps the limits by itself" in one for one in without)
    data = frame().assign(site="a")
    one_level = AuctionLog(data, columns={"time": "time"}, classes=["site"])
    single = played([Budget(60)], ["law"], campaign="site", log=one_level).notes
    assert any("The log has one campaign only" in one for one in single)


def test_a_fraction_that_a_plan_holds_back_is_not_said_to_win_all_there_is() -> None:
    rng, times = np.random.default_rng(0), pd.date_range("2026-03-02", periods=400, freq="min")
    values = rng.uniform(1, 10, 400)
    prices, site = values * rng.uniform(0.1, 1, 400), rng.choice(["a", "b"], 400)
    data = pd.DataFrame({"value": values, "market_price": prices, "time": times, "site": site})
    late: Any = {"rules": None, "delay": 1800.0, "campaign": "site"}
    late["log"] = AuctionLog(data, columns={"time": "time"}, classes=["site"])
    notes = played([Budget(50, per="day")], ["law", "truthful"], **late).notes
    truthful = next(one for one in notes if one.startswith("truthful spent"))
    assert "without a budget" not in truthful


def test_a_delay_without_times_names_the_column_that_holds_them() -> None:
    data = frame().rename(columns={"time": "timestamp"})
    with pytest.raises(LogError, match="'timestamp' seems to be one"):
        played([], ["law"], delay=60.0, log=AuctionLog(data))
