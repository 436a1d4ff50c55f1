"""Pacing against its literal definition, compiled and step by step, and what is kept."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crossbandit.algorithms.learners.law_learner import LawLearner, Round
from crossbandit.core.types import Feedback
from crossbandit.errors import CheckpointError, InvalidContextError, InvalidParameterError
from crossbandit.laws import OutcomeLaw
from crossbandit.limits import Budget, CostPer, Lease, Limit, Pacer, ReturnOnSpend
from crossbandit.limits.periods import LeaseUse
from crossbandit.limits.state import GAP, GIVEN, LOG, PLANNED, SPENT, SQUARES
from crossbandit.limits.status import reason, status
from tests.limits.rows import held
from tests.reference.pacing import literal_pacing

GRID = np.round(np.linspace(0.0, 1.0, 21), 2)
DAY = 86_400.0


def auctions(count: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    generator = np.random.default_rng(seed)
    return generator.uniform(0.05, 1, count), generator.uniform(0, 0.6, count)


def made(*limits: Limit, **settings: Any) -> Pacer:
    return Pacer(GRID, limits, value_range=(0, 1), **settings)


def under_way(*limits: Limit) -> Pacer:
    """A pacer whose budgets have multipliers of 1 and first steps of 1."""
    pacer = made(*limits)
    pacer.state.duals[:, SQUARES] = 1.0  # a square of a unit
    return pacer


def test_a_budget_sets_out_at_what_its_plan_can_pay() -> None:
    """By hand: 0.01 is a 20th of 0.2, a quarter of the value, so the multiplier is 1 / 20^0.5."""
    pacer, rich = made(Budget(10, per=1_000)), made(Budget(1_000, per=1_000))
    first = 0.8 / 20**0.5
    assert pacer.open(0.8, 0.0, 0, 16)[0] == pytest.approx(first)
    pacer.reserve(0, 0.8, 3, 3)
    pacer.settle(0, 0.8, 0.15, won=True, least=0.1)
    step = 0.14 / np.hypot(first, 0.14)
    assert pacer.open(0.4, 0.0, 0, 8)[0] == pytest.approx(0.5 * first * np.exp(-step))
    assert rich.open(0.8, 0.0, 0, 16)[0] == 0.8
    day = made(Budget(4.8, per="day"))  # 0.05 in each of 96 bins
    assert day.open(0.8, 1e9, 0, 16)[0] == pytest.approx(0.8 / 4**0.5)
    later = made(Budget(0.4, per=2))
    for key in range(3):  # the second period begins with what the first has learned
        later.open(0.8, 0.0, 0, 16)
        later.reserve(key, 0.8, 4, 4)
        later.settle(key, 0.8, 0.2, won=False, least=0.3)
    assert later.state.duals[0, LOG] == 0.0


CASES: dict[str, tuple[list[Limit], list[dict[str, Any]], bool]] = {
    "budget": ([Budget(20, per=400)], [{"budget": 20, "auctions": 400}], True),
    "budget per 100": ([Budget(1.5, per=100)], [{"budget": 1.5, "auctions": 100}], True),
    "return": ([ReturnOnSpend(2.5)], [{"credit": (0, 1 / 2.5)}], False),
    "return, surplus": ([ReturnOnSpend(5, aim="surplus")], [{"credit": (0, 1 / 5)}], True),
    "cost per win": ([CostPer(0.2)], [{"credit": (0.2, 0)}], False),
    "both": (
        [Budget(15, per=400), ReturnOnSpend(3)],
        [{"budget": 15, "auctions": 400}, {"credit": (0, 1 / 3)}],
        False,
    ),
    "two budgets": (
        [Budget(4, per=100), Budget(10, per=400)],
        [{"budget": 4, "auctions": 100}, {"budget": 10, "auctions": 400}],
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pacing_is_its_literal_definition(name: str) -> None:
    limits, plain, surplus = CASES[name]
    values, prices = auctions(400)
    rows = list(zip(values.tolist(), prices.tolist(), strict=True))
    expected = literal_pacing(rows, GRID.tolist(), plain, surplus=surplus, highest=1.0)
    pacer = made(*limits)
    for key, ((value, price), was) in enumerate(zip(rows, expected, strict=True)):
        highest = int(np.searchsorted(GRID, value, "right")) - 1
        worth, last, cap = pacer.open(value, 0.0, 0, highest)
        assert worth == pytest.approx(was["worth"], rel=1e-5)
        if cap < 0:
            assert was["amount"] == -1
            pacer.decline(value)
            continue
        assert GRID[last] <= max(min(worth, value), 0)
        wanted = int(np.searchsorted(GRID, min(worth, value) / 2, "right")) - 1
        amount = min(wanted, cap)
        assert amount == was["amount"]
        pacer.reserve(key, value, amount, wanted)
        pacer.settle(key, value, GRID[amount], won=bool(GRID[amount] >= price), least=price)
    for i, limit in enumerate(plain):
        assert pacer.state.duals[i, LOG] == pytest.approx(limit["s"], rel=1e-4)
        assert Fraction(status(pacer)[i].spent) == limit["spent"]


def limited_choice(law: OutcomeLaw, value: float, worth: float, last: int) -> int:
    """The lowest bid is tried only where the best is at least a half of the value."""
    numbers = law.uniforms.take(3).tolist()
    best = law.decide(value, worth=worth, last=last, uniforms=(*numbers[:2], math.inf)).index
    if 2 * GRID[best] < value:
        return best
    return law.decide(value, worth=worth, last=last, uniforms=tuple(numbers)).index


@pytest.mark.parametrize("feedback", ["after-loss", "won-lost"])
def test_the_compiled_log_is_the_steps_one_by_one(feedback: Feedback) -> None:
    values, prices = auctions(600)
    limits: list[Limit] = [Budget(8, per=250), ReturnOnSpend(3.0)]
    law = OutcomeLaw(GRID, (0, 1), feedback=feedback)
    pacer = made(*limits)
    log = pacer.play(law, values, prices)
    single, stepwise = OutcomeLaw(GRID, (0, 1), feedback=feedback), made(*limits)
    cells = single.cells(prices)
    for i, value in enumerate(values.tolist()):
        worth, last, cap = stepwise.open(value, 0.0, 0, single.highest(value))
        assert worth == log.pseudo_values[i]
        if cap < 0:
            assert log.bids[i] == -1
            single.uniforms.take(3)  # the log draws them, too
            stepwise.decline(value)
            continue
        wanted = limited_choice(single, value, worth, last)
        amount = min(wanted, cap)
        assert amount == log.bids[i]
        stepwise.reserve(i, value, amount, wanted, single.core.chance(amount))
        won = bool(cells[i] <= amount)
        told = feedback == "after-loss" and not won
        least = prices[i] if told or won else math.inf
        stepwise.settle(i, value, GRID[amount], won=won, least=least)
        kind = "told" if told else "at-most" if won else "above"
        single.observe(value, kind, int(cells[i]) if told else amount, amount=amount)
    for one, other in zip(pacer.state, stepwise.state, strict=True):
        np.testing.assert_array_equal(one, other)


class NothingDrawn:
    """Random numbers that are all 0: whatever may be tried is tried."""

    def take(self, count: int) -> np.ndarray[Any, Any]:
        return np.zeros(count)


def test_where_limits_make_bids_low_the_lowest_is_not_tried() -> None:
    law, dear = OutcomeLaw(GRID, (0, 1)), OutcomeLaw(GRID, (0, 1))
    for price in np.random.default_rng(5).uniform(0.3, 0.35, 200):
        law.observe(0.8, "told", int(np.searchsorted(GRID, price)), amount=5)
        dear.observe(0.8, "told", int(np.searchsorted(GRID, price + 0.3)), amount=11)
    law.uniforms = dear.uniforms = NothingDrawn()  # type: ignore[assignment]
    last = law.highest(0.45)
    assert law.decide(0.8, worth=0.45, last=last).index < 4
    pacer = made(ReturnOnSpend(0.8 / 0.3, keep="long-run"))
    worth, _, bid = pacer.choose(0, law, (), (0.8, 0.0, 0, law.highest(0.8)))
    assert 0.4 < worth < 0.8
    assert 0.3 < GRID[bid] < 0.4  # less than a half of the value
    free = made(Budget(1e6, per=100))
    worth, _, bid = free.choose(0, dear, (), (0.8, 0.0, 0, law.highest(0.8)))
    assert worth == 0.8
    assert GRID[bid] < 0.35  # the best is more than a half of the value: its half is tried
    decider = LawLearner(law)
    chances = decider.policy(Round(0.8, 0.45, 0.0, ()), 0, last)
    assert chances[:5].sum() == pytest.approx(0)
    assert chances.sum() == pytest.approx(1)
    assert law.policy(0.8, worth=0.45, last=last)[:5].sum() > 0.01


def test_a_log_may_come_in_parts() -> None:
    values, prices = auctions(500)
    times = 1e9 + np.sort(np.random.default_rng(2).uniform(0, 2.5 * DAY, 500))
    whole, parts = made(Budget(6)), made(Budget(6))
    law, other = OutcomeLaw(GRID, (0, 1)), OutcomeLaw(GRID, (0, 1))
    bids = whole.play(law, values, prices, times=times).bids
    got = [
        parts.play(other, values[part], prices[part], times=times[part]).bids
        for part in (slice(0, 7), slice(7, 300), slice(300, 500))
    ]
    np.testing.assert_array_equal(np.concatenate(got), bids)
    for one, two in zip(whole.state, parts.state, strict=True):
        np.testing.assert_array_equal(one, two)


def test_each_day_has_its_budget() -> None:
    values, prices = auctions(3_000)
    generator = np.random.default_rng(1)
    times = 1.6e9 + np.sort(generator.uniform(0, 4 * DAY, 3_000))
    pacer = made(Budget(12, per="day", pacing="even"))
    bids = pacer.play(OutcomeLaw(GRID, (0, 1)), values, prices, times=times).bids
    paid = np.where((bids >= 0) & (GRID[bids] >= prices), GRID[bids], 0.0)
    days = times // DAY
    spent = [paid[days == day].sum() for day in np.unique(days)]
    assert len(spent) == 5
    assert max(spent) <= 12 + 1e-9
    assert min(spent[1:4]) > 11


@pytest.mark.parametrize("together", [1, 20, 100])
def test_auctions_that_come_at_the_same_time_share_the_gap(together: int) -> None:
    """Times of a batch, or of a log that has minutes only: the day's budget lasts the day."""
    each = 2_400
    times = 18_000 * DAY + np.repeat(np.arange(2 * each // together), together) * (
        DAY * together / each
    )
    values, prices = auctions(times.size)
    pacer = made(Budget(40, per="day", pacing="even"))
    bids = pacer.play(OutcomeLaw(GRID, (0, 1)), values, prices, times=times).bids
    paid = np.where((bids >= 0) & (GRID[bids] >= prices), GRID[bids], 0.0).reshape(2, each)
    assert pacer.state.times[0, GAP] == pytest.approx(1 / each)
    assert paid.sum(axis=1).min() > 38
    assert 16 < paid[1, : each // 2].sum() < 24


def test_pacing_by_traffic_leaves_money_for_a_busy_evening() -> None:
    """Most auctions come in the evening. Known, they get the money in proportion."""
    generator = np.random.default_rng(3)
    hours = np.where(generator.random((6, 1_500)) < 0.7, 20.0, 0.0)
    hours = np.where(hours > 0, hours + generator.uniform(0, 3, hours.shape), 0)
    hours = np.where(hours == 0, generator.uniform(0, 20, hours.shape), hours)
    times = np.sort(hours * 3600, axis=1) + DAY * (18_000 + np.arange(6)[:, None])
    values, prices = auctions(times.size)
    shares = {}
    for pacing in ("traffic", "even", "asap"):
        pacer = made(Budget(30, per="day", pacing=pacing))
        law = OutcomeLaw(GRID, (0, 1))
        bids = pacer.play(law, values, prices, times=times.ravel()).bids
        paid = np.where((bids >= 0) & (GRID[bids] >= prices), GRID[bids], 0.0)
        last = paid.reshape(times.shape)[-1]
        evening = times[-1] % DAY >= 20 * 3600
        shares[pacing] = last[evening].sum() / last.sum()
    assert shares["traffic"] == pytest.approx(0.7, abs=0.08)
    assert shares["even"] < 0.35
    assert shares["asap"] < 0.2


def test_a_clock_that_goes_back_begins_no_day_anew() -> None:
    pacer = made(Budget(1, per="day", pacing="asap"))
    for key, now in enumerate([1e9, 1e9 + DAY, 1e9 + 10, 1e9 + DAY + 5]):
        _, _, cap = pacer.open(1.0, now, 0, 20)
        assert cap == [20, 20, 10, 10][key]
        if key != 2:
            pacer.reserve(key, 1.0, 10, 10)
            pacer.settle(key, 1.0, 0.5, won=True, least=0.0)
    assert pacer.periods.now == 1e9 + DAY + 5
    assert status(pacer)[0].spent == 1  # of the second day


def test_money_is_reserved_until_the_outcome_is_known() -> None:
    pacer = made(Budget(1, per="day", pacing="asap"))
    caps = []
    for key in range(3):
        caps.append(pacer.open(1.0, 1e9, 0, 20)[2])
        if caps[-1] >= 0:
            pacer.reserve(key, 1.0, min(12, caps[-1]), 12)
    assert caps == [20, 8, -1]  # 1, then 0.4 is left
    assert "reserved" in reason(pacer, 1.0, 1.0, 0.05)
    pacer.settle(0, 1.0, 0.6, won=False, least=2.0)
    assert pacer.open(1.0, 1e9, 0, 20)[2] == 12
    pacer.settle(1, 1.0, 0.4, won=True, least=0.0)
    assert pacer.open(1.0, 1e9, 0, 20)[2] == 12
    shown = status(pacer)[0]
    assert (shown.spent, shown.left) == (Decimal("0.4"), Decimal("0.6"))
    assert shown.reserved == 0


def test_bids_without_an_outcome_count_as_expected() -> None:
    """By hand: nothing is known of wins, so a bid of 0.5 is expected to cost 0.5."""
    pacer = under_way(Budget(10, per=1_000))
    assert pacer.open(0.8, 0.0, 0, 16)[0] == 0.8
    pacer.reserve(0, 0.8, 10, 10)
    one = 0.5 - 10 / 1_000
    assert pacer.look(0.8, 0, 16)[0] == pytest.approx(0.8 * np.exp(-1))
    pacer.open(0.8, 0.0, 0, 16)
    pacer.reserve(1, 0.8, 4, 4)
    two = 0.2 - (10 - 0.5) / 999
    at = (one + two) / np.hypot(one, two)
    assert pacer.look(0.8, 0, 16)[0] == pytest.approx(0.8 * np.exp(-at))
    pacer.settle(0, 0.8, 0.5, won=False, least=0.9)
    after = pacer.state.duals[0, LOG]
    assert after == 0.0  # it cannot be relaxed further
    squares = 0.01**2 + two**2
    assert pacer.look(0.8, 0, 16)[0] == pytest.approx(0.8 * np.exp(-two / squares**0.5))
    pacer.open(0.8, 0.0, 0, 16)
    pacer.reserve(2, 0.8, 10, 10)  # such a bid has lost: half as likely to win now
    assert held(pacer, 2).ticket[0, 3] == pytest.approx(0.5e9 / 2)
    pacer.settle(1, 0.8, 0.2, won=False, least=0.9)
    pacer.settle(2, 0.8, 0.5, won=False, least=0.9)
    assert pacer.look(0.8, 0, 16)[0] == 0.8


def test_a_cost_is_half_of_what_a_law_expected() -> None:
    """By hand: the second bid has lost, and was expected to cost 0.2 * 0.3 * 1 / 1.5."""
    pacer = under_way(Budget(10, per=1_000))
    pacer.open(0.8, 0.0, 0, 16)
    pacer.reserve(0, 0.8, 4, 4, 0.5)
    pacer.settle(0, 0.8, 0.2, won=True, least=0.1)
    one = (0.2 + 0.1) / 2 - 0.01
    assert pacer.state.duals[0, LOG] == pytest.approx(-1)
    pacer.open(0.8, 0.0, 0, 16)
    pacer.reserve(1, 0.8, 4, 4, 0.3)
    pacer.settle(1, 0.8, 0.2, won=False, least=0.3)
    two = (0 + 0.2 * min(0.3 * 2 / 1.5, 1)) / 2 - 9.8 / 999
    size = np.hypot(one, two)  # more than what was planned so far
    assert pacer.state.duals[0, LOG] == pytest.approx(-1 - two / size)


def test_a_step_is_smaller_while_other_bids_are_open() -> None:
    pacer = under_way(Budget(10, per=1_000))
    for key in range(2):
        pacer.open(0.8, 0.0, 0, 16)
        pacer.reserve(key, 0.8, 4, 4)
    pacer.settle(0, 0.8, 0.2, won=True, least=0.1)
    gradient = 0.2 - 0.01
    assert pacer.state.duals[0, LOG] == pytest.approx(-gradient / (0.2 + gradient))


def test_late_outcomes_do_not_upset_the_pace() -> None:
    """Outcomes come 50 auctions late. Without foresight, a quarter would be spent at once."""
    values, prices = auctions(2_000)
    pacer = made(Budget(20, per=2_000))
    law, spent = OutcomeLaw(GRID, (0, 1)), []
    cells = law.cells(prices).tolist()
    for i, value in enumerate(values.tolist()):
        pacer.choose(i, law, (), (value, 0.0, 0, law.highest(value)))
        late = i - 50
        if late in pacer.reserved.rows:
            amount = round(held(pacer, late).price * 1e-9 / 0.05)
            won = cells[late] <= amount
            pacer.settle(late, values[late], GRID[amount], won=won, least=prices[late])
            kind, index = ("at-most", amount) if won else ("told", cells[late])
            law.observe(values[late], kind, index, amount=amount)
        spent.append(status(pacer)[0].spent)
    assert spent[200] < 4
    assert 8 < spent[1_000] < 12
    assert spent[-1] > 18


@pytest.mark.parametrize("given", [1, np.float32(1), np.int32(1)])
def test_whole_numbers_do_not_round_later_ones(given: Any) -> None:
    """The first call of a compiled step must not settle the kinds of numbers of all others."""

    def played(first: Any) -> list[tuple[float, int, int]]:
        pacer = Pacer(GRID, [Budget(1, per="hour")], value_range=(0, 1), expires=9.5)
        found = []
        later = [(0.7, 1.5 * i, 0.3) for i in (1, 2, 3)]
        for k, (value, now, least) in enumerate([(first,) * 3, *later]):
            found.append(pacer.open(value, now, 0, 10))
            pacer.reserve(k, value, 2, 6)
            pacer.settle(k, value, 0.2, won=False, least=least)
            pacer.settle(k + 100, value, 0.2, won=k == 1, least=math.inf)
        return found

    assert played(given) == played(1.0)


def test_a_bid_without_an_outcome_expires() -> None:
    pacer = made(Budget(1, per="day", pacing="asap"), expires=60)
    pacer.open(1.0, 1e9, 0, 20)
    pacer.reserve(0, 1.0, 20, 20)
    assert pacer.open(1.0, 1e9 + 59, 0, 20)[2] == -1
    assert pacer.open(1.0, 1e9 + 60, 0, 20)[2] == 20
    pacer.settle(0, 1.0, 1, won=True, least=0.0)  # in spite of all: it has to be paid
    assert pacer.open(1.0, 1e9 + 61, 0, 20)[2] == -1
    shown = status(pacer)[0]
    assert shown.spent == shown.late == 1


def test_a_bid_belongs_to_the_day_on_which_it_was_made() -> None:
    pacer = made(Budget(1, per="day", pacing="asap"))
    pacer.open(1.0, DAY - 1, 0, 20)
    pacer.reserve(0, 1.0, 20, 20)
    assert pacer.open(1.0, DAY + 1, 0, 20)[2] == 20
    pacer.settle(0, 1.0, 1, won=True, least=0.0)
    assert pacer.open(1.0, DAY + 2, 0, 20)[2] == 20
    assert status(pacer)[0].spent == 0


def test_a_target_is_kept_whatever_becomes_of_outstanding_bids() -> None:
    pacer = made(ReturnOnSpend(2.0))
    assert pacer.open(0.5, 0.0, 0, 20)[2] == 5  # half of the value
    pacer.reserve(0, 0.5, 2, 2)  # 0.1, so 0.15 to spare if it wins
    assert pacer.open(0.5, 0.0, 0, 20)[2] == 5
    pacer.settle(0, 0.5, 0.1, won=True, least=0.0)
    _, _, cap = pacer.open(0.5, 0.0, 0, 20)
    assert cap == 8  # 0.25 + 0.15
    pacer.reserve(1, 0.5, 8, 8)
    assert pacer.open(0.5, 0.0, 0, 20)[2] == 5  # if that one wins, nothing is to spare
    assert status(pacer)[0].slack == Decimal("0.15")


def test_a_target_in_the_long_run_shows_its_slack() -> None:
    pacer = made(ReturnOnSpend(2.0, keep="long-run"))
    assert pacer.open(0.5, 0.0, 0, 10)[2] > 5
    pacer.reserve(0, 0.5, 10, 10)
    pacer.settle(0, 0.5, 0.5, won=True, least=0.0)
    shown = status(pacer)[0]
    assert shown.slack == Decimal("-0.25")
    assert "not kept" in str(shown)


def test_a_target_that_cannot_be_met_is_said_and_nothing_is_bid() -> None:
    pacer, worth = made(ReturnOnSpend(100.0)), 0.0
    for _ in range(50):
        worth, _, cap = pacer.open(0.9, 0.0, 0, 18)
        assert cap == -1
        assert np.isfinite(worth)
        pacer.decline(0.9)
    assert reason(pacer, 0.9, worth, 0.05) == (
        "The return on spend of 100 leaves 0.009 to bid at a value of 0.9. The lowest bid is 0.05."
    )


def test_budgets_that_fit_no_bid_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"at least the lowest bid, 0\.05"):
        made(Budget(0.04))


def test_limits_must_fit_together() -> None:
    with pytest.raises(InvalidParameterError, match="at least one limit"):
        made()
    with pytest.raises(InvalidParameterError, match="Got 5"):
        made(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="the same aim"):
        made(ReturnOnSpend(2), CostPer(1, aim="surplus"))
    with pytest.raises(InvalidParameterError, match="unless the horizon is given"):
        made(Budget(5, per=None))
    with pytest.raises(InvalidParameterError, match="'expires' parameter of Pacer"):
        made(Budget(5), expires=0)
    with pytest.raises(InvalidContextError, match="'times' parameter of play"):
        made(Budget(5)).play(OutcomeLaw(GRID, (0, 1)), [0.5], [0.5])


def test_a_budget_for_all_time_is_never_refilled() -> None:
    values, prices = auctions(300)
    pacer = made(Budget(3, per=None), horizon=200)
    bids = pacer.play(OutcomeLaw(GRID, (0, 1)), values, prices).bids
    paid = np.where((bids >= 0) & (GRID[bids] >= prices), GRID[bids], 0.0)
    assert 2.5 < paid[:200].sum() <= paid.sum() <= 3 + 1e-12


def test_a_lease_ends_and_is_renewed() -> None:
    pacer = made(Lease("a", 1.0, 100.0, 200.0, "asap"))
    pacer.open(1.0, 150.0, 0, 20)
    pacer.reserve(0, 1.0, 4, 4)
    pacer.settle(0, 1.0, 0.2, won=True, least=0.0)
    pacer.open(1.0, 160.0, 0, 20)
    pacer.reserve(1, 1.0, 6, 6)
    assert pacer.open(1.0, 200.0, 0, 20)[2] == -1
    pacer.settle(1, 1.0, 0.3, won=False, least=0.5)
    assert pacer.open(1.0, 201.0, 0, 20)[2] == -1
    assert pacer.periods.renew() == LeaseUse("a", *[Decimal("0.2")] * 2)
    again = under_way(Lease("a", 1.0, 100.0, 200.0))
    again.open(1.0, 150.0, 0, 20)
    again.reserve(0, 1.0, 4, 4)
    assert again.periods.renew(Lease("b", 0.5, 160.0, 300.0)) == LeaseUse(
        "a", *[Decimal("0.2")] * 2
    )
    assert again.open(1.0, 250.0, 0, 20)[2] == 10
    again.settle(0, 1.0, 0.2, won=True, least=0.0)  # paid from the first lease
    assert again.open(1.0, 251.0, 0, 20)[2] == 10
    assert again.periods.renew() == LeaseUse("b", *[Decimal(0)] * 2)
    assert again.open(1.0, 252.0, 0, 20)[2] == -1
    with pytest.raises(InvalidParameterError, match="'lease' parameter of renew"):
        made(Budget(5)).periods.renew()


def test_what_was_spent_of_a_lease_is_told_once() -> None:
    """The next lease has ended when it comes, and the one after that is used."""
    pacer = under_way(Lease("a", 1.0, 100.0, 200.0, "asap"))
    for key, amount in enumerate((4, 6)):
        pacer.open(1.0, 150.0, 0, 20)
        pacer.reserve(key, 1.0, amount, amount)
    pacer.settle(0, 1.0, 0.2, won=True, least=0.0)
    assert pacer.open(1.0, 500.0, 0, 20)[2] == -1
    assert pacer.periods.renew(Lease("b", 1.0, 200.0, 300.0)) == LeaseUse(
        "a", *[Decimal("0.5")] * 2
    )
    assert pacer.open(1.0, 501.0, 0, 20)[2] == -1
    pacer.settle(1, 1.0, 0.3, won=True, least=0.0)  # paid from the first lease
    assert pacer.periods.renew(Lease("c", 1.0, 500.0, 600.0)) == LeaseUse("b", *[Decimal(0)] * 2)
    assert pacer.open(1.0, 502.0, 0, 20)[2] == 20


def test_a_restart_in_the_middle_of_a_day_goes_on() -> None:
    values, prices = auctions(400)
    times = (1e9 + np.arange(400) * 500.0).tolist()
    settings: list[Limit] = [Budget(5, per="day"), ReturnOnSpend(2, per=150)]
    straight, restarted = made(*settings, expires=3_000), made(*settings, expires=3_000)
    for i, (value, price) in enumerate(zip(values.tolist(), prices.tolist(), strict=True)):
        if i % 37 == 0:
            arrays = restarted.freeze()()
            restarted = made(*settings, expires=3_000)
            restarted.restore(arrays)
        opened = [pacer.open(value, times[i], 0, 20) for pacer in (straight, restarted)]
        assert opened[0] == opened[1]
        for pacer in (straight, restarted):
            worth, _, cap = opened[0]
            if cap < 0:
                pacer.decline(value)
                continue
            wanted = int(np.searchsorted(GRID, worth / 2, "right")) - 1
            pacer.reserve(i, value, min(wanted, cap), wanted)
            if i % 5 and i - 3 in pacer.reserved.rows:  # outcomes are late, some are lost
                bid = held(pacer, i - 3)
                won = bid.price >= price * 1e9
                pacer.settle(i - 3, bid.value, bid.price / 1e9, won=won, least=price)
    assert straight.reserved.rows
    assert straight.late.tolist() == restarted.late.tolist()


def test_a_damaged_state_is_refused() -> None:
    pacer = made(Budget(5))
    pacer.open(1.0, 1e9, 0, 20)
    pacer.reserve(0, 1.0, 4, 4)
    good = pacer.freeze()()
    for name, bad in {
        "money": good["money"] - 10**12,
        "duals": good["duals"] * np.nan,
        "prices": -good["prices"],
        "keys": good["keys"][:0],
        "bins": good["bins"][:, :, :3],
        "times": good["times"].astype(np.float32),
    }.items():
        with pytest.raises(CheckpointError, match="impossible"):
            made(Budget(5)).restore({**good, name: bad})


def test_money_is_kept_when_the_amounts_change() -> None:
    """A grid that is a hundred times higher has a coarser unit."""
    pacer = made(Budget(5, per="day", pacing="asap"), ReturnOnSpend(2))
    for key, won in enumerate((True, False)):
        pacer.open(1.0, 1e9, 0, 20)
        pacer.reserve(key, 1.0, 9, 9)
        if won:
            pacer.settle(key, 1.0, 0.45, won=True, least=0.3)
    high = Pacer(100 * GRID, pacer.limits, value_range=(0, 100))
    high.restore(pacer.freeze()())
    before, after = status(pacer), status(high)
    assert after[0].spent == before[0].spent == Decimal("0.45")
    assert after[0].reserved == before[0].reserved == Decimal("0.45")
    assert after[1].slack == before[1].slack == Decimal("0.05")
    high.settle(1, 1.0, 0.45, won=True, least=0.3)
    assert [one.reserved for one in status(high)] == [0, 0]
    assert status(high)[0].left == Decimal("4.1")


def test_an_outcome_can_be_corrected() -> None:
    pacer = made(Budget(2, per="day", pacing="asap"), CostPer(0.5))
    pacer.open(1.0, 1e9, 0, 20)
    pacer.reserve(0, 1.0, 8, 8)
    pacer.settle(0, 1.0, 0.4, won=False, least=0.9)
    pacer.correct(0, 1.0, 0.4, won=True)
    assert [one.spent for one in status(pacer)] == [Decimal("0.4")] * 2
    assert status(pacer)[1].slack == Decimal("0.1")
    pacer.correct(0, 1.0, 0.4, won=False)
    assert [one.spent for one in status(pacer)] == [0, 0]
    assert status(pacer)[1].slack == 0
    pacer.correct(0, 1.0, 0.4, won=False)  # a mistake: nothing to take back
    assert status(pacer)[0].left == 2


def test_looking_changes_nothing() -> None:
    pacer = under_way(Budget(5, per="day"), ReturnOnSpend(2))
    assert pacer.look(0.8, 0, 16) == (0.8, 16, 8)
    before = pacer.freeze()()
    pacer.look(0.8, 0, 16)
    for name, own in pacer.freeze()().items():
        np.testing.assert_array_equal(own, before[name])
    assert pacer.open(0.8, 1e9, 0, 16) == (0.8, 16, 8)


def test_steps_stay_finite_in_extreme_worlds() -> None:
    """Free wins for a tiny budget, and a rich one that never wins."""
    for budget, price in ((0.05, 0.0), (1e12, 2.0)):
        pacer = made(Budget(budget, per=100))
        values = np.full(5_000, 0.9)
        pacer.play(OutcomeLaw(GRID, (0, 1)), values, np.full(5_000, price))
        assert np.isfinite(pacer.state.duals).all()
        assert (pacer.state.duals[:, SQUARES] >= 0).all()


def test_the_status_says_what_is_planned() -> None:
    pacer = made(Budget(10, per=100), ReturnOnSpend(2))
    assert status(pacer)[0].left == 10
    values, prices = auctions(25)
    pacer.play(OutcomeLaw(GRID, (0, 1)), values, prices)
    budget, target = status(pacer)
    assert budget.planned == pytest.approx(2.5)
    assert budget.auctions == 25
    assert budget.multiplier >= 0
    assert "planned by now: 2.5" in str(budget)
    assert target.planned is None
    assert "kept" in str(target)
    day = made(Budget(24, per="day", pacing="even"))
    for hour, planned in ((6, 0), (15, 12), (24 + 6, 6)):  # it begins in the morning
        day.open(1.0, DAY * 100 + hour * 3600, 0, 20)
        assert status(day)[0].planned == pytest.approx(planned)
    assert status(day)[0].ends == 102 * DAY


def planned_in_batch(pacer: Pacer, now: float, count: int, paid: int) -> list[float]:
    """Bid 0.5 in auctions of one time, win the first `paid`; return what was planned for each."""
    planned = []
    for key in range(count):
        pacer.open(1.0, now, 0, 20)
        pacer.reserve(key, 1.0, 10, 10)
        planned.append(float(held(pacer, key).ticket[0, PLANNED]) * float(pacer.unit))
        pacer.settle(key, 1.0, 0.5, won=key < paid, least=0.5 if key < paid else math.inf)
    return planned


def test_a_first_batch_has_a_bin_of_the_plan() -> None:
    """A bin is a 96th of the day, so 1; wins cost 0.5 each, so it is used up by the third."""
    pacer = made(Budget(96, per="day", pacing="even"))
    planned = planned_in_batch(pacer, 20_000 * DAY, 6, paid=3)
    assert planned[:3] == [0.0, 0.0, 0.0]
    gaps = [1 / 96 / n for n in (4, 5, 6)]
    assert planned[3:] == pytest.approx([94.5 * gap / (1 - 1 / 96 + gap) for gap in gaps])


def test_a_batch_that_is_a_whole_period_sets_the_gap_of_the_next() -> None:
    pacer = made(Budget(96, per="day", pacing="even"))
    planned_in_batch(pacer, 20_000 * DAY, 8, paid=0)
    planned = planned_in_batch(pacer, 20_001 * DAY, 10, paid=0)
    assert pacer.state.times[0, GAP] == pytest.approx(1 / 8)
    shares = [*(1 / (9 - n) for n in range(8)), 1.0, 1.0]  # all of it after as many as before
    assert planned == pytest.approx([96 * share for share in shares])


def test_a_batch_that_is_larger_than_usual_has_a_bin_at_most() -> None:
    """After 20 auctions that came one by one every 864 seconds, a hundredth of the plan each."""
    pacer, begins = made(Budget(96, per="day", pacing="even")), 20_000 * DAY
    for i in range(20):
        planned_in_batch(pacer, begins + 864 * i, 1, paid=0)
    planned = planned_in_batch(pacer, begins + 864 * 20, 50, paid=0)
    most = 1 / 96
    for n, one in enumerate(planned, start=1):
        gap, before = min(0.01, most / n), min(0.01 * (n - 1), most)
        assert one == pytest.approx(96 * gap / (0.8 - before + gap)), n


@pytest.mark.parametrize("size", [5, 50])
def test_auctions_that_come_in_bursts_use_their_budget(size: int) -> None:
    """Gaps between bursts are a part of the plan, and no pauses."""
    generator, count, days, money = np.random.default_rng(3), 1_500, 4, 8.0
    times = []
    for day in range(days):
        starts = generator.uniform(0, DAY - 60, count // size)
        bursts = starts[:, None] + generator.exponential(5.0, (count // size, size))
        times.append(day * DAY + np.sort(np.minimum(bursts.ravel(), DAY - 1)))
    values, prices = auctions(count * days)
    spent, surplus = {}, {}
    for per in ("day", count):
        law = OutcomeLaw(GRID, (0, 1), seed=1)
        log = made(Budget(money, per=per)).play(law, values, prices, times=np.concatenate(times))
        bids = np.where(log.bids >= 0, GRID[log.bids], 0.0)
        won = (bids >= prices) & (bids > 0)
        spent[per] = bids[won].sum() / (days * money)
        surplus[per] = (values - bids)[won].sum()
    assert 0.9 < spent["day"] <= 1.0 + 1e-9
    assert surplus["day"] > 0.9 * surplus[count]


def test_credits_of_many_wins_do_not_overflow() -> None:
    """One win has a credit of 2**52 units or so; 2**12 of them would not fit into 63 bits."""
    pacer = Pacer(np.array([0.0, 0.001]), [ReturnOnSpend(1)], value_range=(0, 1e4))
    for _ in range(3_000):
        pacer.correct(0, 4_503.0, 0.001, won=True)
    assert pacer.state.money[0, GIVEN] > pacer.state.money[0, SPENT]
    assert pacer.open(4_503.0, 0.0, 0, 1)[2] == 1
    assert Pacer(GRID, [CostPer(1e15)], value_range=(0, 1)).open(0.5, 0.0, 0, 10)[2] > 0
