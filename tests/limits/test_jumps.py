"""Times that jump ahead: one wrong clock must not end the periods of a budget."""

import io
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from crossbandit import CrossGraphAdaptive
from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidContextError, InvalidParameterError
from crossbandit.limits import Budget, SharedBudget, periods

DAY = 86_400.0
KINDS: dict[str, dict[str, Any]] = {
    "law": {},
    "guarded": {"guarded": True},
    "graph": {"algorithm": CrossGraphAdaptive()},
}


def made(**settings: Any) -> FirstPriceBidder:
    given = {
        "bids": [0.0, 1.0],
        "value_range": (0, 10),
        "budget": Budget(1, pacing="asap", worst_case=0),
    }
    return FirstPriceBidder(**{**given, "missing": "accept", "seed": 1, **settings})


def reloaded(bidder: FirstPriceBidder) -> FirstPriceBidder:
    file = io.BytesIO()
    bidder.save(file)
    return FirstPriceBidder.load(io.BytesIO(file.getvalue()))


def single(bidder: FirstPriceBidder, at: Any) -> float | None:
    return bidder.bid(9.0, at=at).amount


def batch(bidder: FirstPriceBidder, at: Any) -> float | None:
    return bidder.bid_many([9.0], at=at)[0].amount


@pytest.mark.parametrize("ask", [single, batch])
@pytest.mark.parametrize("kind", KINDS)
def test_a_time_far_ahead_is_refused_and_changes_nothing(
    kind: str, ask: Callable[[FirstPriceBidder, Any], float | None]
) -> None:
    bidder, now = made(**KINDS[kind]), time.time()
    with pytest.raises(InvalidContextError, match="ahead of the clock"):
        ask(bidder, datetime.now(UTC) + timedelta(days=400))
    with pytest.raises(InvalidContextError, match="is 12,300 days ahead of the clock"):
        ask(bidder, now + 12_345 * DAY)
    with pytest.raises(InvalidContextError, match="ahead of the clock") as refused:
        ask(bidder, now + 400 * DAY)
    said = str(refused.value)
    assert "400 days" in said
    assert datetime.fromtimestamp(now + 400 * DAY, UTC).date().isoformat() in said
    assert "at most 1 day (max_jump)" in said
    assert [status.auctions for status in bidder.limits] == [0]
    days = [now + day * DAY for day in range(30)]  # each from the day before, so none is a jump
    while bidder.limits[0].left:
        ask(bidder, now)
    with pytest.raises(InvalidContextError, match="the last time that was seen"):
        ask(bidder, now + 400 * DAY)
    assert ask(bidder, now) is None
    for day in days[1:]:
        begun = bidder.limits[0].begins
        while bidder.limits[0].left or bidder.limits[0].begins == begun:
            ask(bidder, day)
    assert bidder.limits[0].reserved == 1


def test_times_that_are_past_may_have_gaps_and_go_back_a_little() -> None:
    bidder = made()
    for at in (DAY, 9_000 * DAY, 9_000 * DAY - 5.0, 9_400 * DAY, time.time()):
        bidder.bid(9.0, at=at)
    assert bidder.limits[0].begins == time.time() // DAY * DAY


def test_a_bidder_goes_on_after_a_long_pause() -> None:
    """The clock of the system has moved on by years, and so has that of the process."""
    bidder = made()
    bidder.bid(9.0, at=9_000 * DAY)
    again = reloaded(bidder)
    assert again.bid(9.0).amount == 1.0


def test_a_clock_that_is_set_far_ahead_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    bidder, true = made(), time.time
    bidder.bid(9.0)
    monkeypatch.setattr(time, "time", lambda: true() + 400 * DAY)
    with pytest.raises(InvalidContextError, match="400 days ahead of the clock"):
        bidder.bid(9.0)
    monkeypatch.setattr(time, "time", lambda: true() + 3_600.0)
    bidder.bid(9.0)


def test_the_bound_can_be_set() -> None:
    ahead = time.time() + 400 * DAY
    assert made(max_jump=None).bid(9.0, at=ahead).amount == 1.0
    patient = made(max_jump=timedelta(days=500))
    assert patient.bid(9.0, at=ahead).amount == 1.0
    assert reloaded(patient).settings()["max_jump"] == 500 * DAY
    strict = made(max_jump=60)
    with pytest.raises(InvalidContextError, match=r"at most 1 minute \(max_jump\)"):
        strict.bid(9.0, at=time.time() + 90.0)
    for bad in (0, -1, "day", True):
        with pytest.raises(InvalidParameterError, match="'max_jump' parameter of FirstPriceBidder"):
            made(max_jump=bad)


def test_a_shared_budget_refuses_times_that_jump() -> None:
    shared, now = Budget(20, per="day").share(), time.time()
    shared.lease(5, at=now)
    for ask in (shared.left, lambda at: shared.lease(1, at=at)):
        with pytest.raises(InvalidContextError, match="ahead of the clock"):
            ask(at=now + 400 * DAY)
    assert shared.left(at=now) == 15
    open_ended = SharedBudget(Budget(20, per="day"), max_jump=None)
    assert open_ended.left(at=now + 400 * DAY) == 20
    again = SharedBudget.from_bytes(open_ended.to_bytes())
    assert again.left(at=now + 900 * DAY) == 20


def test_the_clock_of_the_process_follows_that_of_the_system() -> None:
    assert periods.steady_time() == pytest.approx(time.time(), abs=60.0)
