"""Budgets that are paused, resumed and changed while the bidder runs, and those of flights."""

from __future__ import annotations

import copy
import io
import random
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crossbandit.applications import Bid, FirstPriceBidder
from crossbandit.errors import InvalidParameterError
from crossbandit.limits import Budget, CostPer, Pacer, ReturnOnSpend
from crossbandit.limits.periods import period_at
from crossbandit.limits.settings import limit_from_json
from crossbandit.limits.state import BINS

START = datetime(2026, 7, 1, tzinfo=UTC).timestamp()
HOUR, DAY = 3_600.0, 86_400.0
GRID = [0.1, 0.2, 0.3, 0.45, 0.7, 1.0]


def made(*budgets: Budget, **more: Any) -> FirstPriceBidder:
    settings = {"bids": GRID, "value_range": (0, 1), "seed": 1, "max_jump": None}
    return FirstPriceBidder(**{**settings, "budget": list(budgets), **more})


def restarted(bidder: FirstPriceBidder) -> FirstPriceBidder:
    file = io.BytesIO()
    bidder.save(file)
    return FirstPriceBidder.load(io.BytesIO(file.getvalue()))


def play(bidder: FirstPriceBidder, begins: float, hours: float, each: float = 60.0) -> float:
    """Bid in steady traffic, with outcomes at once; return what was paid."""
    rng, paid = np.random.default_rng(5), 0.0
    for i in range(int(hours * HOUR / each)):
        value, price = rng.uniform(0, [1, 0.6])
        bid = bidder.bid(value, at=begins + i * each)
        if bid.amount is not None:
            won = bid.amount >= price
            bidder.settle(bid, won=won, highest_competing_bid=None if won else price)
            paid += bid.amount * won
    return paid


@pytest.mark.parametrize("worst_case", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_changed_no_more_is_outstanding_than_is_allowed(  # noqa: C901
    seed: int, worst_case: float
) -> None:
    """Random worlds: late and lost outcomes, pauses, changes, restarts, several days."""
    rng = random.Random(seed)  # noqa: S311 - worlds, not secrets
    bidder = made(Budget(3, worst_case=worst_case))
    amount, paused, now = Fraction(3), False, START
    allowed = amount * (1 + Fraction(worst_case))
    spent, day, open_, bids = Fraction(0), 0, dict[int, tuple[Bid, int]](), 0
    for step in range(900):
        now += rng.choice([5.0, 60.0, 900.0])
        what = rng.random()
        if what < 0.02:
            bidder.pause()
            paused = True
        elif what < 0.05:
            bidder.resume(at=now)
            paused = False
        elif what < 0.08:
            amount = Fraction(rng.choice(["0.5", "1.25", "3", "7"]))
            worst_case = rng.choice([0.0, 0.5, 1.0])
            bidder.change_limits(budget=Budget(float(amount), worst_case=worst_case))
        elif what < 0.09:
            bidder = restarted(bidder)
        elif what < 0.6:
            bid = bidder.bid(rng.random(), at=now)
            assert bid.amount is None or not paused
            if int((now - START) // DAY) > day:
                day, spent = int((now - START) // DAY), Fraction(0)
            if bid.amount is not None:
                bids += 1
                open_[step] = bid, day
        elif open_:
            bid, made_on = open_.pop(rng.choice(list(open_)))
            won = rng.random() < 0.4
            bidder.settle(bid, won=won, highest_competing_bid=None if won else 1.0)
            assert bid.amount is not None
            spent += Fraction(str(bid.amount)) if won and made_on == day else 0
        (status,) = bidder.limits
        outstanding = sum(
            Fraction(str(one.amount)) for one, made_on in open_.values() if made_on == day
        )
        if bids:
            assert Fraction(status.spent) == spent
            assert Fraction(status.outstanding) == outstanding
        bound = amount * (1 + Fraction(worst_case))
        # What was outstanding when an amount was lowered stays: nothing is added to it.
        allowed = max(bound, min(allowed, spent + outstanding))
        assert spent + outstanding <= allowed
    assert bids > 30
    assert day > 1


def test_a_pause_makes_no_bids_and_the_plan_begins_again() -> None:
    bidder = made(Budget(40, pacing="even"))
    play(bidder, START, 6)
    bidder.pause()
    bid = bidder.bid(0.9, at=START + 6 * HOUR)
    assert bid.amount is None
    assert bid.reason == "The budgets are paused. To bid again, call 'resume'."
    (paused,) = bidder.limits
    assert paused.paused
    assert paused.left == 0
    assert paused.planned is None
    assert "(paused)" in str(paused)
    bidder.resume(at=START + 18 * HOUR)
    (before,) = bidder.limits
    assert not before.paused
    assert before.planned == pytest.approx(float(before.spent))
    paid = play(bidder, START + 18 * HOUR, 3)
    (now,) = bidder.limits
    rest = 40 - float(before.spent)
    assert now.planned == pytest.approx(float(before.spent) + rest / 2, rel=0.01)
    assert paid == pytest.approx(rest / 2, rel=0.1)
    play(bidder, START + 21 * HOUR, 3)
    assert 0.97 * 40 <= float(bidder.limits[0].spent) <= 40


@pytest.mark.parametrize("amount", [20, 80])
@pytest.mark.parametrize("per", ["day", 1_440, timedelta(days=1)])
def test_a_changed_amount_is_planned_for_the_rest(per: Any, amount: float) -> None:
    bidder = made(Budget(40, per=per, pacing="even"))
    play(bidder, START, 12)
    (before,) = bidder.limits
    bidder.change_limits(budget=Budget(amount, per=per, pacing="even"))
    (changed,) = bidder.limits
    assert (changed.spent, changed.limit.amount) == (before.spent, amount)  # type: ignore[union-attr]
    assert changed.planned == pytest.approx(float(before.spent), abs=0.1)
    play(bidder, START + 12 * HOUR, 12)
    if amount > float(before.spent):
        assert 0.96 * amount <= float(bidder.limits[0].spent) <= amount
    else:
        assert bidder.limits[0].spent == before.spent
        over = bidder.limits[0].overspent
        assert over > 0
        assert per != "day" or f"by {over:.6g}" in str(bidder.bid(0.9, at=START + DAY - 1).reason)


def test_pacing_and_targets_can_be_changed() -> None:
    bidder = made(Budget(40, pacing="asap"), target=ReturnOnSpend(1.5))
    play(bidder, START, 2)
    bidder.change_limits(budget=Budget(40), target=ReturnOnSpend(2.5, keep="long-run"))
    budget, target = bidder.limits
    assert (budget.limit, target.limit) == (Budget(40), ReturnOnSpend(2.5, keep="long-run"))
    assert budget.planned == pytest.approx(float(budget.spent))
    bidder.change_limits(target=ReturnOnSpend(2))
    assert [one.limit for one in bidder.limits] == [Budget(40), ReturnOnSpend(2)]
    assert bidder.settings()["target"][0]["ratio"] == 2
    play(bidder, START + 2 * HOUR, 22)
    assert float(bidder.limits[0].spent) <= 40


def test_periods_keep_their_times() -> None:
    """Otherwise the money of a period could be spent again, after a change and one back."""
    for before, after in (
        (Budget(20), Budget(20, timezone="Australia/Darwin")),
        (Budget(20, per=timedelta(hours=24)), Budget(20, per=timedelta(hours=24), begins=START)),
    ):
        bidder = made(before)
        paid = play(bidder, START, 2)
        with pytest.raises(InvalidParameterError, match="cannot change while the bidder runs"):
            bidder.change_limits(budget=after)
        assert float(bidder.limits[0].spent) == pytest.approx(paid)


@pytest.mark.parametrize("worst_case", [0, 1])
def test_a_cap_that_was_lifted_can_be_set_again(worst_case: float) -> None:
    bidder = made(Budget(20, pacing="asap", worst_case=worst_case))
    paid = play(bidder, START, 1)
    bidder.change_limits(budget=Budget(1e12, pacing="asap", worst_case=worst_case))
    paid += play(bidder, START + HOUR, 1)
    bidder.change_limits(budget=Budget(5.5 + paid, pacing="asap", worst_case=worst_case))
    assert float(bidder.limits[0].spent) == pytest.approx(paid, abs=1e-3)
    play(bidder, START + 2 * HOUR, 20)
    assert float(bidder.limits[0].spent) <= (5.5 + paid) * (1 + worst_case) + 1e-3


def test_a_change_that_does_not_fit_changes_nothing() -> None:
    bidder = made(Budget(40), target=CostPer(0.5))
    play(bidder, START, 1)
    before = [str(one) for one in bidder.limits]
    bad: list[dict[str, Any]] = [
        {"budget": Budget(40, per="hour")},
        {"budget": [Budget(40), Budget(50, per="week")]},
        {"target": ReturnOnSpend(2)},
        {"budget": Budget(0.05)},
        {"budget": []},
        {"budget": "50"},
    ]
    for change in bad:
        with pytest.raises(InvalidParameterError):
            bidder.change_limits(**change)
        assert [str(one) for one in bidder.limits] == before
    shared = Budget(40).share()
    leased = made(budget=shared.lease(5))
    for call in (leased.pause, lambda: leased.change_limits(budget=shared.lease(5))):
        with pytest.raises(InvalidParameterError, match="'renew'"):
            call()
    free = FirstPriceBidder(value_range=(0, 1), seed=1)
    with pytest.raises(InvalidParameterError, match="'pause' needs a bidder with limits"):
        free.pause()
    with pytest.raises(InvalidParameterError, match="is a copy"):
        copy.deepcopy(bidder).resume()


def test_a_pause_survives_a_restart_and_the_end_of_a_day() -> None:
    bidder = made(Budget(40))
    play(bidder, START, 6)
    bidder.pause()
    other = restarted(bidder)
    assert other.bid(0.9, at=START + DAY + 1).amount is None
    assert other.limits[0].paused
    assert other.limits[0].spent == 0
    other.resume(at=START + DAY + 2)
    assert other.limits[0].left == 40
    assert play(other, START + DAY + 60, 3) > 1


def test_hours_of_a_pause_without_calls_are_not_learned_as_hours_without_traffic() -> None:
    learned = {}
    for paused in (False, True):
        bidder = made(Budget(40))
        play(bidder, START, 6)
        if paused:
            bidder.pause()
            bidder.resume(at=START + 18 * HOUR)
        play(bidder, START + 18 * HOUR, 7)  # an hour into the next day
        spending = bidder.spending
        assert spending is not None
        learned[paused] = spending.pacer.periods.traffic[0].table[1]
    quarter = BINS // 4
    assert (learned[False] > 0).all()
    assert (learned[True][quarter + 1 : 3 * quarter] == 0).all()
    assert (learned[True][: quarter - 1] > 0).all()
    assert (learned[True][3 * quarter + 1 :] > 0).all()


FLIGHT = {"begins": START + 6 * HOUR, "ends": START + 30 * HOUR}


def test_the_budget_of_a_flight_is_spent_from_its_start_to_its_end() -> None:
    bidder = made(Budget(40, per=None, pacing="even", **FLIGHT))  # type: ignore[arg-type]
    assert play(bidder, START, 6) == 0
    assert "begins: 2026-07-01 06:00+00:00" in str(bidder.bid(0.9, at=START + 5 * HOUR).reason)
    half = play(bidder, START + 6 * HOUR, 12)
    assert half == pytest.approx(20, rel=0.2)
    assert bidder.limits[0].planned == pytest.approx(20, rel=0.01)
    rest = play(bidder, START + 18 * HOUR, 12)
    assert 0.97 * 40 <= half + rest <= 40
    (before,) = bidder.limits
    assert play(bidder, START + 30 * HOUR, 12) == 0
    assert "has ended: 2026-07-02 06:00+00:00" in str(bidder.bid(0.9, at=START + DAY * 2).reason)
    (status,) = bidder.limits
    assert (status.spent, status.begins, status.ends) == (before.spent, *FLIGHT.values())


def test_a_flight_that_ends_in_a_pause_is_over() -> None:
    bidder = made(Budget(40, per=None, **FLIGHT))  # type: ignore[arg-type]
    paid = play(bidder, START + 6 * HOUR, 6)
    bidder.pause()
    bidder.resume(at=START + 31 * HOUR)
    assert bidder.limits[0].left == 0
    assert play(bidder, START + 31 * HOUR, 1) == 0
    assert float(bidder.limits[0].spent) == pytest.approx(paid)


def test_days_of_a_flight_each_have_their_budget() -> None:
    bidder = made(Budget(10, per="day", **FLIGHT))  # type: ignore[arg-type]
    paid = [play(bidder, START + hour * HOUR, 6) for hour in range(0, 48, 6)]
    assert paid[0] == paid[5] == paid[6] == paid[7] == 0
    assert 9.5 <= sum(paid[1:4]) <= 10
    assert 9.0 <= paid[4] <= 10


@pytest.mark.parametrize("per", [None, "day"])
@pytest.mark.parametrize("ended", [False, True])
def test_a_flight_can_be_made_longer_and_what_was_spent_counts_on(per: Any, *, ended: bool) -> None:
    ends = START + 12 * HOUR
    bidder = made(Budget(20, per=per, begins=START, ends=ends))
    paid = play(bidder, START, 13 if ended else 9)
    assert paid > (19 if ended else 10)
    bidder.change_limits(budget=Budget(30, per=per, begins=START, ends=START + 20 * HOUR))
    (status,) = bidder.limits
    assert float(status.spent) == pytest.approx(paid)
    assert status.ends == START + 20 * HOUR
    paid += play(bidder, START + 13 * HOUR, 8)
    assert 29 <= paid <= 30
    bidder.change_limits(budget=Budget(60, per=per, begins=START, ends=START + 15 * HOUR))
    assert play(bidder, START + 21 * HOUR, 2) == 0


def test_a_flight_can_be_moved_before_it_begins() -> None:
    bidder = made(Budget(20, per=None, begins=START + DAY, ends=START + 2 * DAY))
    assert play(bidder, START, 2) == 0
    bidder.change_limits(budget=Budget(20, per=None, begins=START + 3 * HOUR, ends=START + 2 * DAY))
    assert play(bidder, START + 2 * HOUR, 1) == 0
    bidder = restarted(bidder)
    assert play(bidder, START + 3 * HOUR, 3) > 1
    spent = bidder.limits[0].spent
    bidder = restarted(bidder)
    assert bidder.limits[0].spent == spent
    assert (bidder.limits[0].begins, bidder.limits[0].ends) == (START + 3 * HOUR, START + 2 * DAY)


@pytest.mark.parametrize("per", [None, "day", "month"])
@pytest.mark.parametrize("ended", [False, True])
def test_a_flight_cannot_begin_again_in_a_period_with_money_spent(per: Any, *, ended: bool) -> None:
    bidder = made(Budget(20, per=per, begins=START, ends=START + 6 * HOUR))
    paid = play(bidder, START, 7 if ended else 3)
    assert paid > 5
    later = {"begins": START + 10 * HOUR, "ends": START + 80 * DAY}
    with pytest.raises(InvalidParameterError, match="cannot begin later in a period in which"):
        bidder.change_limits(budget=Budget(20, per=per, **later))  # type: ignore[arg-type]
    assert float(bidder.limits[0].spent) == pytest.approx(paid)
    assert bidder.limits[0].limit.ends == START + 6 * HOUR  # type: ignore[union-attr]
    if per is not None:
        again = START + (DAY if per == "day" else 31 * DAY)
        bidder.change_limits(budget=Budget(20, per=per, begins=again, ends=START + 80 * DAY))
        assert play(bidder, again - HOUR, 1) == 0
        assert play(bidder, again, 5) > 1


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_flight_that_had_ended_begins_a_new_day_with_a_new_budget(zone: str) -> None:
    bidder = made(Budget(10, begins=START, ends=START + 6 * HOUR, timezone=zone))
    first = play(bidder, START, 30)
    assert 9.5 <= first <= 10
    bidder.change_limits(budget=Budget(10, timezone=zone))  # without an end
    assert bidder.bid(0.9, at=START + 30 * HOUR).amount is not None
    second = play(bidder, START + 30 * HOUR, 8)
    assert 1 < second <= 20
    assert float(bidder.limits[0].spent) <= 10


def test_periods_of_a_flight_begin_with_it() -> None:
    budget = Budget(5, per=timedelta(hours=7), begins=START + HOUR, ends=START + 20 * HOUR)
    hours = [(0.5, 1), (1, 8), (7.9, 8), (8, 15), (15, 20), (19, 20)]
    for at, ends in hours:
        assert period_at(budget, START + at * HOUR, START)[1] == START + ends * HOUR


def test_settings_of_flights() -> None:
    begins = datetime(2026, 7, 1, tzinfo=UTC)
    budget = Budget(5, per=None, begins=begins, ends=begins + timedelta(days=30))
    assert budget.begins == START
    assert limit_from_json(budget.to_json()) == budget
    assert set(Budget(5).to_json()) == {
        "kind", "amount", "per", "pacing", "timezone", "worst_case",
    }  # fmt: skip
    for bad, name in [
        ({"begins": begins, "ends": begins}, "ends"),
        ({"per": None, "begins": begins}, "ends"),
        ({"per": None, "ends": begins}, "begins"),
        ({"per": 100, "ends": begins}, "ends"),
        ({"begins": datetime(2026, 7, 1)}, "begins"),  # noqa: DTZ001
        ({"begins": "today"}, "begins"),
    ]:
        with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of Budget"):
            Budget(5, **bad)  # type: ignore[arg-type]


def test_a_shared_budget_leases_in_its_flight_only() -> None:
    shared = Budget(40, per=None, worst_case=0, **FLIGHT).share()  # type: ignore[arg-type]
    assert shared.left(at=START) == 0
    with pytest.raises(InvalidParameterError):
        shared.lease(1, at=START)
    lease = shared.next_lease(at=START + 6 * HOUR, lasts=timedelta(hours=12))
    assert lease.amount == 20
    assert shared.next_lease(at=START + 29 * HOUR).ends == FLIGHT["ends"]
    assert shared.left(at=START + 30 * HOUR) == 0


@pytest.mark.parametrize("per", ["week", "month"])
def test_calendar_periods_are_spent(per: str) -> None:
    amount = 40 if per == "week" else 100
    bidder = made(Budget(amount, per=per, timezone="Europe/Berlin"))
    days = 5 if per == "week" else 31  # the first of July is a Wednesday
    paid = play(bidder, START - 2 * HOUR, days * 24, each=600)
    assert 0.95 * amount <= paid <= 1.000001 * amount
    assert play(bidder, START - 2 * HOUR + days * DAY, 24, each=600) > 2


def test_files_of_versions_without_pauses_are_read() -> None:
    pacer = Pacer([0.1, 0.5], [Budget(5, pacing="even")], value_range=(0, 1))
    pacer.open(0.5, START + 6 * HOUR, 0, 1)
    arrays = pacer.freeze()()
    later = Pacer([0.1, 0.5], [Budget(5, pacing="even")], value_range=(0, 1))
    later.restore({name: arrays[name] for name in arrays.keys() - {"planned_from", "paused"}})
    np.testing.assert_array_equal(later.state.planned_from, pacer.state.planned_from)
    assert later.state.planned_from[0, 0] == 0.25
