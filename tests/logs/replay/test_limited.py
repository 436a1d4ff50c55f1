"""Replays under limits: they are kept by everyone, and the optima are what can be had at most."""

import functools
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from crossbandit import Problem
from crossbandit.applications.bidding.auctions import AuctionRules
from crossbandit.core.types import Ties
from crossbandit.errors import CrossbanditError, LogError
from crossbandit.limits import Budget, CostPer, Limit, ReturnOnSpend
from crossbandit.logs import Auctions
from crossbandit.logs.replay import AuctionLog, Replay, ReplayRules, Shading, make_log, replay
from crossbandit.logs.replay.limits import ReplayLimits
from crossbandit.logs.replay.play import StrategyRun, limited_result
from crossbandit.logs.replay.strategies import (
    ONE_MULTIPLIER,
    PACED,
    BestResponse,
    OwnBids,
    PerfectKnowledge,
    ReplaySetting,
    make_chunk,
)

LIMITS: dict[str, list[Limit]] = {
    "whole log": [Budget(120, per=None)],
    "by auctions, asap": [Budget(30, per=700, pacing="asap")],
    "by day": [Budget(12, per="day", pacing="even", timezone="Europe/Berlin")],
    "return": [ReturnOnSpend(3.0)],
    "cost per win": [CostPer(1.0, aim="surplus")],
    "hours and days": [Budget(2, per="hour"), Budget(12, per="day")],
    "overlapping": [Budget(12, per="day"), Budget(30, per=700), Budget(90, per=None)],
    "all": [Budget(12, per="day"), Budget(100, per=None), ReturnOnSpend(4.0), CostPer(1.2)],
}
STRATEGIES = [
    "law",
    "guarded law",
    "cross-graph-adaptive",
    "cross-graph",
    "best response",
    "shading 0.3",
]
UNITS = ReplayRules(bids=[0, 1, 2, 3, 4])
every_limit = pytest.mark.parametrize("case", LIMITS)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_log(tmp_path_factory.mktemp("logs") / "log.parquet", 2_000, seed=3)


@pytest.fixture(scope="module")
def results(path: Path) -> Callable[[str], Replay]:
    """A replay for each of the limits, made when it is first asked for."""
    return functools.cache(lambda case: played(path, LIMITS[case]))


def timed(path: Path) -> AuctionLog:
    return AuctionLog(path, columns={"time": "timestamp"})


def played(path: Path, limits: list[Limit], **options: Any) -> Replay:
    options = {"strategies": STRATEGIES, "seeds": 2, "jobs": 2, **options}
    return replay(timed(path), limits=limits, show_progress=False, **options)


@every_limit
def test_everyone_keeps_the_limits(results: Callable[[str], Replay], case: str) -> None:
    result = results(case)
    assert result.limits is not None
    for one in result.outcomes:
        kept = one.limited
        assert kept is not None
        assert kept.spend.sum() == pytest.approx(one.spend.mean())
        assert kept.spend_curve[:, -1] == pytest.approx(one.spend)
        assert kept.value.sum() == pytest.approx(one.mean_value)
        for calendar in result.limits.calendars:
            budget, of = calendar.budget, result.limits.periods_of(calendar)
            left_out = one.kind == "oracle" and budget in result.limits.left_out()
            if budget is not None and one.strategy != ONE_MULTIPLIER and not left_out:
                assert np.bincount(of, kept.spend).max() <= budget.amount * (1 + 1e-9)
        assert one.spend.max() <= result.limits.total * (1 + 1e-9)
        slack = kept.slack if one.kind == "oracle" else kept.least_slack
        assert (slack >= -1e-6).all()
    table = result.table().set_index("strategy")
    if result.limits.targets:
        assert table["target_kept"].all()
    if math.isfinite(result.limits.total):
        np.testing.assert_allclose(table["budget_used"], table["spend"] / result.limits.total)


@every_limit
def test_nobody_earns_more_than_with_perfect_knowledge(
    results: Callable[[str], Replay], case: str
) -> None:
    limits, result = LIMITS[case], results(case)
    earned = {one.strategy: result.earned(one) for one in result.outcomes}
    assert max(earned.values()) <= earned[PerfectKnowledge.name] * (1 + 1e-9)
    paced = all(one.pacing != "asap" for one in limits if isinstance(one, Budget))
    assert earned["price distribution"] > (0.6 if paced else 0.2) * earned[result.comparator]
    assert result.regret(result.outcome("price distribution")) == pytest.approx(
        earned[result.comparator] - earned["price distribution"]
    )
    if PACED in earned and result.limits is not None and result.limits.periodic:
        assert result.comparator == PACED


@pytest.mark.parametrize("auctions", [2, 3, 7, 19, 20])
def test_a_short_log_has_a_budget_too(auctions: int) -> None:
    """A log without periods is divided into 20 parts; a shorter one has a part per auction."""
    frame = pd.DataFrame({"value": 4.0, "market_price": np.arange(auctions) % 2 + 1.0})
    limits = [Budget(auctions, per=None)]
    result = replay(frame, limits=limits, strategies=["truthful"], rules=UNITS)
    for name in (ONE_MULTIPLIER, PACED, PerfectKnowledge.name):
        one = result.outcome(name)
        assert one.spend.mean() <= auctions * (1 + 1e-9)
        assert one.mean_surplus > 0
    # Each auction has 1 to spend: the cheap ones are bought, and half of each other one.
    cheap = -(-auctions // 2)
    paced = result.outcome(PACED).mean_surplus
    assert paced == pytest.approx(3 * cheap + (auctions - cheap))


def test_threads_and_company_change_nothing(path: Path, results: Callable[[str], Replay]) -> None:
    result = results("all")
    for name in ("law", "best response"):
        alone = played(path, LIMITS["all"], strategies=[name], jobs=1)
        own = alone.outcomes[0].strategy
        np.testing.assert_array_equal(alone.outcome(own).surplus, result.outcome(own).surplus)


def small_log(count: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    values, prices = rng.integers(1, 11, count) / 10, rng.integers(1, 11, count) / 10
    days = pd.Timestamp("2026-03-28 22:30") + pd.to_timedelta(np.arange(count) * 5.0, "h")
    return pd.DataFrame({"value": values, "market_price": prices, "time": days})


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("ratio", [None, 2.5])
def test_the_knapsack_is_that_of_a_linear_program(ties: Ties, ratio: float | None) -> None:
    frame = small_log(30)
    limits: list[Limit] = [Budget(0.5, per=10)]
    limits += [] if ratio is None else [ReturnOnSpend(ratio, aim="surplus")]
    result = replay(
        frame, limits=limits, strategies=["truthful"], rules=ReplayRules(ties=ties, bids=11)
    )
    values = frame["value"].to_numpy()
    grid = np.append(result.rules.amounts[1:], 1e6)  # what is paid is a bid of the grid
    prices = grid[
        np.searchsorted(grid, frame["market_price"], "right" if ties == "lose" else "left")
    ]
    rows = [np.where(np.arange(30) // 10 == p, prices, 0.0) for p in range(3)]
    if ratio is not None:
        rows.append(prices - values / ratio)
    bounds = [0.5, 0.5, 0.5, 0.0][: len(rows)]
    may = [(0, float(v >= p)) for v, p in zip(values, prices, strict=True)]
    found = linprog(-(values - prices), np.array(rows), bounds, bounds=may)
    assert result.outcome(PerfectKnowledge.name).mean_surplus == pytest.approx(-found.fun, abs=1e-9)


def test_with_several_budgets_the_knapsack_is_that_of_a_linear_program() -> None:
    """Periods of 5, 15 and 30 auctions are nested. Those of 5 and 7 are not: one is left out."""
    frame = small_log(30)
    values, prices = frame["value"].to_numpy(), frame["market_price"].to_numpy()
    may = [(0, float(v >= p)) for v, p in zip(values, prices, strict=True)]

    def optimum(budgets: list[Budget]) -> float:
        rows, bounds = [], []
        for one in budgets:
            length = one.per if isinstance(one.per, int) else 30
            for start in range(0, 30, length):
                inside = (np.arange(30) >= start) & (np.arange(30) < start + length)
                rows.append(np.where(inside, prices, 0.0))
                bounds.append(one.amount)
        return float(-linprog(-(values - prices), np.array(rows), bounds, bounds=may).fun)

    nested = [Budget(0.9, per=15), Budget(0.5, per=5), Budget(1.5, per=None), Budget(9, per=None)]
    crossing = [Budget(0.5, per=5), Budget(0.4, per=7)]
    for budgets, kept in ((nested, nested), (crossing, crossing[1:])):
        limits: list[Limit] = [*budgets]
        result = replay(
            frame, limits=limits, strategies=["truthful"], rules=ReplayRules(ties="win", bids=11)
        )
        found = result.outcome(PerfectKnowledge.name)
        assert found.mean_surplus == pytest.approx(optimum(kept), abs=1e-9)
        assert found.mean_surplus >= optimum(budgets) - 1e-9
        assert ("without a budget of 0.5 per 5 auctions" in found.note) == (budgets is crossing)
        assert ("overlap" in result.outcome(PACED).note) == (budgets is crossing)


def test_a_budget_that_never_binds_changes_no_optimum(path: Path) -> None:
    """Shorter periods give the oracles no multipliers of their own, unless their budgets bind."""
    day = Budget(12, per="day")
    alone = played(path, [day], strategies=["truthful"])
    for other in (Budget(1_000, per="hour"), Budget(9_000, per=300)):
        both = played(path, [day, other], strategies=["truthful"])
        for name in (ONE_MULTIPLIER, PACED, PerfectKnowledge.name):
            expected = alone.outcome(name)
            assert both.outcome(name).mean_surplus == pytest.approx(expected.mean_surplus), name
            assert both.outcome(name).spend[0] == pytest.approx(expected.spend[0]), name


def test_the_best_maps_keep_all_of_several_budgets(path: Path) -> None:
    """The budget of the log and those of some hours bind."""
    limits: list[Limit] = [Budget(12, per="day"), Budget(0.8, per="hour"), Budget(30, per=None)]
    result = played(path, limits, strategies=["truthful"])
    rows = result.spending().query("strategy == @PACED")
    assert (rows["spend"] <= rows["budget"] * (1 + 1e-9)).all()
    assert (rows["spend"] > 0.999 * rows["budget"]).any()
    assert result.outcome(PACED).spend[0] <= 30 * (1 + 1e-9)
    assert result.outcome(PACED).mean_surplus <= result.outcome(PerfectKnowledge.name).mean_surplus


def test_spending_has_the_periods_of_every_budget(path: Path) -> None:
    result = played(path, LIMITS["hours and days"], strategies=["law"], seeds=1)
    assert result.limits is not None
    hours, days = result.limits.calendars
    assert len(hours.names) > len(days.names) > 1
    rows = result.spending().query("strategy == 'price distribution'")
    assert rows["period"].tolist() == [*hours.names, *days.names]
    assert rows["budget"].tolist() == [2.0] * len(hours.names) + [12.0] * len(days.names)
    by_day = rows[rows["budget"] == 2].groupby(lambda i: rows["period"][i][:10])["spend"].sum()
    np.testing.assert_allclose(by_day, rows[rows["budget"] == 12]["spend"])
    plan = result.limits.plan(np.array([1, 1_000, 2_000]))
    assert plan is not None
    singles = [
        played(path, [one], strategies=["truthful"]).limits for one in LIMITS["hours and days"]
    ]
    apart = [one.plan(np.array([1, 1_000, 2_000])) for one in singles if one is not None]
    np.testing.assert_allclose(plan, np.array(apart, dtype=float).min(axis=0))


def test_the_best_map_is_that_of_brute_force() -> None:
    """Two bands that occur, five bids: all mixtures of pairs of the 25 maps."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"value": rng.choice([0.5, 1.0], 60), "market_price": rng.integers(0, 9, 60) / 8}
    )
    rules = AuctionRules(bids=5, highest_value=1.0)
    result = replay(
        frame, limits=[Budget(3.0, per=None)], strategies=["truthful"], rules=ReplayRules(bids=5)
    )
    values, prices = frame["value"].to_numpy(), frame["market_price"].to_numpy()
    points = []
    for low in rules.amounts:
        for high in rules.amounts:
            bids = np.where(values < 1, np.where(low <= 0.5, low, 0.0), high)
            won = rules.wins(bids, prices)
            points.append(((values - bids)[won].sum(), bids[won].sum()))
    best = max(earned for earned, spent in points if spent <= 3.0)
    for (one, cost), (other, more) in ((a, b) for a in points for b in points if a[1] < b[1]):
        if cost <= 3.0 < more:
            best = max(best, one + (3.0 - cost) / (more - cost) * (other - one))
    assert result.outcome(ONE_MULTIPLIER).mean_surplus == pytest.approx(best)
    assert result.outcome(ONE_MULTIPLIER).spend[0] == pytest.approx(3.0)


def test_days_are_those_of_the_time_zone() -> None:
    """In Berlin, the 29th of March 2026 has 23 hours, and begins at 23:00 of the 28th in UTC."""
    frame = small_log()
    for zone, first in (("UTC", "2026-03-28"), ("Europe/Berlin", "2026-03-28")):
        limits = [Budget(1, per="day", timezone=zone)]
        log = AuctionLog(frame, columns={"time": "time"})
        result = replay(log, limits=limits, strategies=["truthful"])
        local = frame["time"].dt.tz_localize("UTC").dt.tz_convert(zone).dt.strftime("%Y-%m-%d")
        expected = local.drop_duplicates().tolist()
        assert expected[0] == first
        assert result.spending()["period"].drop_duplicates().tolist() == expected
        assert result.limits is not None
        counts = local.value_counts(sort=False).tolist()
        starts = [*result.limits.calendars[0].starts, len(frame)]
        assert [b - a for a, b in pairwise(starts)] == counts


def test_a_fraction_is_held_back_as_said() -> None:
    """A bid is left out if more than planned was spent, or if it costs more than is left."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"value": rng.integers(2, 11, 400), "market_price": rng.uniform(0, 6, 400)}
    )
    amount = 150.0
    for pacing in ("even", "asap"):
        limits = [Budget(amount, per=200, pacing=pacing)]
        result = replay(frame, limits=limits, strategies=[Shading(0.5)])
        spent, total, wins = 0.0, 0.0, 0
        for i, (value, price) in enumerate(frame.itertuples(index=False)):
            if i % 200 == 0:
                total, spent = total + spent, 0.0
            ahead = pacing == "even" and spent > amount * (i % 200 + 1) / 200
            if not ahead and 0.5 * value <= amount - spent and 0.5 * value >= price:
                spent += 0.5 * value
                wins += 1
        outcome = result.outcome("50 % of value")
        assert outcome.spend[0] == pytest.approx(total + spent)
        assert outcome.wins[0] == wins


def test_own_bids_keep_the_limits_too() -> None:
    frame = small_log(40).assign(bid=0.4)
    log = AuctionLog(frame, columns={"bid": "bid"})
    result = replay(log, limits=[Budget(0.8, per=20, pacing="asap")], strategies=["truthful"])
    won = frame["market_price"].to_numpy().reshape(2, 20) <= 0.4
    assert result.outcome("the log's own bids").wins[0] == np.minimum(won.sum(axis=1), 2).sum()


def test_a_multiplier_rises_where_money_is_short(path: Path) -> None:
    short, long = (
        played(path, [Budget(amount, per=None)], strategies=["law"]).outcomes[0].limited
        for amount in (40, 400)
    )
    assert short is not None
    assert long is not None
    assert np.nanmedian(short.multipliers) > 1.5 * np.nanmedian(long.multipliers)
    assert np.nanmin(long.multipliers) >= 1.0


@pytest.mark.parametrize(
    ("budget", "matters"),
    [
        (Budget(100_000, per="day"), False),
        (Budget(12, per="day"), True),
        (Budget(40, per=1_900), True),  # the second period has 100 auctions
        (Budget(200, per=20_000), True),  # the log has a tenth of the period
        (Budget(40, per=1_900, pacing="asap"), True),  # it is spent early, and not held back
    ],
)
def test_whether_a_budget_matters_is_told(path: Path, budget: Budget, *, matters: bool) -> None:
    """Money that is left in a period which the log cuts off is no sign of a large budget."""
    notes = played(path, [budget], strategies=["law"], seeds=1).notes
    assert any("The budget hardly matters" in note for note in notes) is not matters


def test_the_plan_follows_the_auctions(path: Path) -> None:
    result = played(path, [Budget(30, per=700)], strategies=["truthful"])
    assert result.limits is not None
    plan = result.limits.plan(np.array([350, 700, 735, 2_000]))
    assert plan is not None
    np.testing.assert_allclose(plan, [15.0, 30.0, 31.5, 90.0], rtol=1e-12)
    asap = played(path, [Budget(30, per=700, pacing="asap")], strategies=["truthful"])
    assert asap.limits is not None
    steps = asap.limits.plan(np.array([1, 700, 701]))
    assert steps is not None
    np.testing.assert_allclose(steps, [30.0, 30.0, 60.0])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ([Budget(5, per="day")], "A limit per day needs the time of each auction. Name its column"),
        ([Budget(0.001, per=None)], "'amount' parameter of Budget must be at least the lowest bid"),
        (Budget(5), "'limits' parameter of replay must be a list of limits"),
        (["budget"], "'limits' parameter of replay must be a list of limits"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(path: Path, limits: Any, message: str) -> None:
    with pytest.raises(CrossbanditError, match=message):
        replay(path, limits=limits, strategies=["law"])


def test_times_that_go_back_are_refused() -> None:
    frame = small_log()
    frame.loc[7, "time"] = frame.loc[2, "time"]
    log = AuctionLog(frame, columns={"time": "time"})
    with pytest.raises(LogError, match="The time goes back at auction 8"):
        replay(log, limits=[Budget(5, per="day")], strategies=["law"])


@pytest.mark.parametrize(
    ("zone", "times"),
    [
        # Clocks go back from 3:00 to 2:00: the hour from 2:00 comes twice.
        ("Europe/Berlin", ["2025-10-26 02:50:00", "2025-10-26 02:10:00"]),
        # Clocks go forward from 2:00 to 3:00: times in UTC are taken for local ones.
        ("Europe/Berlin", ["2026-03-29 02:50:00", "2026-03-29 03:10:00"]),
    ],
)
def test_times_that_go_back_when_clocks_change_are_explained(zone: str, times: list[str]) -> None:
    columns = {"value": 2.0, "market_price": 1.0, "time": times}
    log = AuctionLog(pd.DataFrame(columns), columns={"time": "time"}, timezone=zone)
    message = "auction 2. On 20.*the clocks of Europe/Berlin changed.* with their offset"
    with pytest.raises(LogError, match=message):
        replay(log, limits=[Budget(5, per="hour", timezone=zone)], strategies=["law"])


def test_an_hour_that_the_clock_shows_twice_has_two_names() -> None:
    hours = ["2025-10-26T01:30+02:00", "2025-10-26T02:30+02:00", "2025-10-26T02:30+01:00"]
    columns = {"value": 2.0, "market_price": 1.0, "time": hours}
    log = AuctionLog(pd.DataFrame(columns), columns={"time": "time"})
    budgets = [Budget(5, per="hour", timezone="Europe/Berlin"), Budget(9, timezone="Europe/Berlin")]
    frame = replay(log, limits=budgets, strategies=["truthful"]).spending()
    rows = frame.query("strategy == 'truthful'")
    names = ["2025-10-26 01:00", "2025-10-26 02:00+02:00", "2025-10-26 02:00+01:00"]
    assert rows["period"].tolist() == [*names, "2025-10-26"]
    assert rows["per"].tolist() == ["hour"] * 3 + ["day"]


def test_a_column_that_seems_to_have_times_is_named() -> None:
    frame = small_log().rename(columns={"time": "timestamp"})
    with pytest.raises(LogError, match="'timestamp' seems to be one"):
        replay(AuctionLog(frame), limits=[Budget(5, per="day")], strategies=["law"])


def test_a_target_in_the_long_run_is_judged_at_the_end() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"value": rng.uniform(0, 1, 4_000), "market_price": rng.random(4_000)})
    for keep in ("always", "long-run"):
        limits = [ReturnOnSpend(3, keep=keep)]
        result = replay(frame, limits=limits, strategies=["law"], seeds=1)
        row = result.table().set_index("strategy").loc["price distribution"]
        kept = result.outcome("price distribution").limited
        assert kept is not None
        assert row["target_kept"] == bool(kept.slack[0] >= 0)
        assert (kept.least_slack[0] < 0) == (keep == "long-run")


def test_best_maps_show_no_bid_where_the_log_has_no_value() -> None:
    values = np.repeat([1.0, 2.0, 9.0], 40)
    frame = pd.DataFrame({"value": values, "market_price": values / 3})
    result = replay(frame, limits=[Budget(30, per=None)], strategies=["truthful"])
    for name in (PACED, ONE_MULTIPLIER):
        bids = result.outcome(name).bids
        # The bands end just above 1 and 2, and all higher values are in one with 9.
        assert np.isfinite(bids).all()
    short = replay(frame, limits=[Budget(30, per=None)], strategies=["truthful"], rules=UNITS)
    assert np.isfinite(short.outcome(PACED).bids).all()


def test_too_many_periods_are_refused() -> None:
    frame = pd.DataFrame({"value": np.full(5_000, 2.0), "market_price": np.full(5_000, 1.0)})
    with pytest.raises(LogError, match="more than 3,322 periods of a budget"):
        replay(frame, limits=[Budget(5, per=1)], strategies=["truthful"])


def test_a_target_that_cannot_be_met_is_told(path: Path) -> None:
    result = played(path, [ReturnOnSpend(1e6)])
    assert any("The target cannot be met" in note for note in result.notes)
    for one in result.outcomes:
        assert one.mean_surplus == one.spend.sum() == one.wins.sum() == 0
        assert np.isfinite(one.curve).all()
    frame = result.table()
    assert frame["return_on_spend"].isna().all()


def test_a_target_that_is_broken_is_told() -> None:
    """In the long run only: values 1 and 9, each bought for 2, with a return on spend of 2."""
    limits = ReplayLimits((ReturnOnSpend(2.0, keep="long-run"),), 2)
    ledger, one = StrategyRun(OwnBids(), np.array([1, 2]), limits=limits), np.ones(2)
    ledger.add(np.array([1.0, 9.0]), 2 * one, one, multipliers=3 * one)
    np.testing.assert_allclose(ledger.slack, [[0.5 - 2.0, 5.0 - 4.0]])
    np.testing.assert_allclose(ledger.spend_curve, [2.0, 4.0])
    np.testing.assert_allclose(ledger.multipliers, 3.0)
    result = limited_result([ledger])
    assert result.least_slack[0] == -1.5
    assert result.slack[0] == 1.0


def test_a_best_response_under_a_budget_is_that_of_a_literal_loop() -> None:
    """All prices told: the share of past prices that a bid beats, at value times exp(log)."""
    rng = np.random.default_rng(4)
    count, amount = 250, 4.0
    values, prices = rng.uniform(0, 1, count), rng.uniform(0, 0.8, count)
    rules = AuctionRules(bids=11, highest_value=1.0)
    problem = Problem(rules.graph("always"), features=2, horizon=count)
    limits = ReplayLimits((Budget(amount, per=count),), count)
    setting = ReplaySetting(rules, "always", problem, limits=limits)
    response = BestResponse(rules, "always", "response", "", setting.pacer())
    made = response.bids(make_chunk(Auctions(values, prices), rules, problem))
    told = np.full(12, 1 / 12)
    spent = 0.0
    log = 0.5 * math.log(4 * amount / count / values[0])  # as the budget sets out
    squares = (values[0] * math.exp(log)) ** 2
    for i, value in enumerate(values.tolist()):
        worth = value * math.exp(log)
        assert response.pseudo is not None
        assert response.pseudo[i] == pytest.approx(worth, rel=1e-9)
        chances = np.cumsum(told)[:-1] / told.sum()
        earned = np.where(rules.amounts <= worth, (worth - rules.amounts) * chances, 0.0)
        earned[0] = 0.0
        bid = rules.amounts[int(earned.argmax())]
        left = amount - spent
        bid = min(bid, rules.amounts[rules.amounts <= left + 1e-9][-1])
        assert made[i] == pytest.approx(bid, abs=1e-12), i
        paid = bid if rules.wins(bid, prices[i]) else 0.0
        gradient = paid - left / (count - i)
        squares += gradient**2
        spent += paid
        log = min(
            0.0,
            log
            - gradient
            / max(math.sqrt(squares), min(spent, amount * (i + 1) / count, amount - spent) / 2),
        )
        told[int(rules.cells(prices[i]))] += 1
    assert 0.9 * amount < spent <= amount


def test_a_map_makes_no_bid_above_the_value() -> None:
    """0.485 and 0.515 are in one band, whose best bid is 0.5: only the higher value bids it."""
    values = np.array([0.485, 0.515] * 20 + [1.0])
    frame = pd.DataFrame({"value": values, "market_price": np.where(values < 1, 0.45, 2.0)})
    limits = [Budget(1_000, per=None)]
    result = replay(frame, limits=limits, strategies=["truthful"], rules=ReplayRules(bids=5))
    assert result.outcome(ONE_MULTIPLIER).wins[0] == pytest.approx(20)
    assert result.outcome(ONE_MULTIPLIER).spend[0] == pytest.approx(10.0)


def noted(times: list[pd.Timestamp], budget: Budget) -> str:
    rng = np.random.default_rng(1)
    values, prices = rng.uniform(0, np.array([[1], [0.6]]), (2, len(times)))
    frame = pd.DataFrame({"value": values, "market_price": prices, "time": times})
    rules = ReplayRules(bids=5)
    log = AuctionLog(frame, columns={"time": "time"})
    result = replay(log, limits=[budget], strategies=["truthful"], rules=rules)
    return " ".join(result.notes)


@pytest.mark.parametrize("per", ["day", "week"])
def test_a_period_of_which_hours_are_missing_is_named(per: str) -> None:
    step = "10min" if per == "day" else "1h"
    whole = pd.date_range("2026-06-29", periods=3 * (144 if per == "day" else 168), freq=step)
    assert "only a part of" not in noted(list(whole), Budget(5, per=per))
    cut = list(whole[40:-60])
    name, last = ("2026-07-01", "13:50") if per == "day" else ("2026-07-13", "11:00")
    day = "2026-07-17" if per == "week" else name
    first = "2026-06-29 (from 2026-06-29 06:40)" if per == "day" else "2026-06-29 (from 2026-06-30"
    found = noted(cut, Budget(5, per=per))
    assert f"only a part of the {per} {first}" in found
    assert f"{name} (until {day} {last})" in found
    assert "only a part of" not in noted(cut, Budget(5, per="hour"))


def test_a_day_in_the_middle_may_be_cut_and_a_quiet_night_is_no_cut() -> None:
    days = pd.date_range("2026-06-29", periods=4, freq="D")
    office = [day + pd.Timedelta(minutes=m) for day in days for m in range(8 * 60, 18 * 60, 5)]
    assert "only a part of" not in noted(office, Budget(5))
    cut = [at for at in office if at < days[2] + pd.Timedelta(hours=12) or at >= days[3]]
    found = noted(cut, Budget(5))
    assert "only a part of the day 2026-07-01 (until 2026-07-01 11:55)." in found
    few = [day + pd.Timedelta(hours=h) for day in days for h in (3, 9, 15)]
    assert "only a part of" not in noted(few[:-1], Budget(5))


def test_budgets_of_flights_are_not_replayed() -> None:
    frame = pd.DataFrame({"value": [1.0, 1.0], "market_price": [0.5, 0.5]})
    with pytest.raises(CrossbanditError, match="replay the part of the log in a flight"):
        replay(frame, limits=[Budget(5, begins=1e9)])
