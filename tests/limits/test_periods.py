"""Days, hours and other periods, and the traffic of a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit.errors import InvalidContextError
from crossbandit.limits.periods import Traffic, period_around
from crossbandit.limits.settings import seconds
from crossbandit.limits.state import BINS

BERLIN = ZoneInfo("Europe/Berlin")
DAY = 86_400.0


def at(*parts: int, zone: ZoneInfo | None = None) -> float:
    return datetime(*parts, tzinfo=zone or UTC).timestamp()  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("day", "hours"), [((2026, 3, 29), 23), ((2026, 10, 25), 25), ((2026, 7, 1), 24)]
)
def test_days_last_as_long_as_their_clock_says(day: tuple[int, int, int], hours: int) -> None:
    begins = at(*day, zone=BERLIN)
    ends = begins + hours * 3600.0
    for offset in (0.0, 1.0, 2.5 * 3600, 3.5 * 3600, (hours - 0.001) * 3600):
        assert period_around("day", "Europe/Berlin", begins + offset, 0.0) == (begins, ends)
    assert period_around("day", "Europe/Berlin", ends, 0.0)[0] == ends


@given(
    now=st.floats(1e9, 2e9),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/Santiago", "Asia/Kolkata"]),
    per=st.sampled_from(["month", "week", "day", "hour", timedelta(hours=7), timedelta(days=3)]),
)
def test_periods_follow_each_other_without_gaps(now: float, zone: str, per: Any) -> None:
    begins, ends = period_around(per, zone, now, 1e9)
    assert begins <= now < ends
    assert period_around(per, zone, ends, 1e9)[0] == pytest.approx(ends, abs=1e-3)
    if begins > 1e9:
        assert period_around(per, zone, begins - 0.5, 1e9)[1] == pytest.approx(begins, abs=1e-3)


def test_weeks_begin_on_mondays_and_months_on_their_first_day() -> None:
    now = at(2028, 2, 29, 22, zone=BERLIN)  # a Tuesday
    week = at(2028, 2, 28, zone=BERLIN), at(2028, 3, 6, zone=BERLIN)
    month = at(2028, 2, 1, zone=BERLIN), at(2028, 3, 1, zone=BERLIN)
    assert period_around("week", "Europe/Berlin", now, 0.0) == week
    assert period_around("month", "Europe/Berlin", now, 0.0) == month
    assert period_around("month", "UTC", at(2026, 12, 31, 23), 0.0)[1] == at(2027, 1, 1)


def test_hours_are_those_of_the_zone() -> None:
    begins, ends = period_around("hour", "Asia/Kolkata", at(2026, 7, 1, 10, 40), 0.0)
    assert begins == at(2026, 7, 1, 10, 30)
    assert ends == at(2026, 7, 1, 11, 30)


def test_without_a_period_there_is_no_end() -> None:
    assert period_around(None, "UTC", 5.0, 0.0) == (-np.inf, np.inf)


def test_times_are_seconds_or_datetimes_with_a_zone() -> None:
    here = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert seconds("bid", here) == at(2026, 7, 1, 10)
    assert seconds("bid", 5) == 5.0
    for bad in (datetime(2026, 7, 1), "now", np.nan, -1.0, 1e12, True):  # noqa: DTZ001
        with pytest.raises(InvalidContextError, match="'at' parameter of bid"):
            seconds("bid", bad)


def test_without_knowledge_traffic_is_even() -> None:
    plan = Traffic("UTC").plan(0.0, DAY)
    np.testing.assert_allclose(plan, np.linspace(0, 1, BINS + 1))


def test_the_plan_follows_the_traffic_of_former_days() -> None:
    """Two days alike, 2,400 auctions in each quarter of an hour of the evening, 400 else."""
    traffic, counts = Traffic("UTC"), np.full(BINS, 400.0)
    counts[72:88] = 2_400.0
    for day in range(2):
        traffic.learn(day * DAY, (day + 1) * DAY, 0.0, counts)
    plan = np.diff(traffic.plan(2 * DAY, 3 * DAY))
    total = counts.sum()
    weight = 1 + 2 ** (-1 / 7)  # the first day counts a little less
    expected = (weight * counts + 4) / (weight * 900 + 4 / (total / DAY))
    np.testing.assert_allclose(plan, expected / expected.sum(), rtol=1e-12)
    assert plan[80] / plan[0] == pytest.approx(6, rel=0.05)


def test_the_plan_of_an_hour_knows_the_day() -> None:
    traffic, counts = Traffic("UTC"), np.full(BINS, 4_000.0)
    counts[:2] = 0.0  # nobody from 0:00 to 0:30
    traffic.learn(0.0, DAY, 0.0, counts)
    plan = traffic.plan(DAY, DAY + 3600)
    assert plan[BINS // 2] < 0.01
    assert plan[3 * BINS // 4] == pytest.approx(0.5, abs=0.01)


def test_the_times_of_a_long_day_are_those_of_its_clock() -> None:
    traffic, counts = Traffic("Europe/Berlin"), np.full(BINS, 4_000.0)
    counts[48:] = 0.0  # nobody in the afternoon
    begins = at(2026, 7, 1, zone=BERLIN)
    traffic.learn(begins, begins + DAY, 0.0, counts)
    long_day = at(2026, 10, 25, zone=BERLIN)
    plan = traffic.plan(long_day, long_day + 25 * 3600)
    noon = plan[round(13 / 25 * BINS)]  # 12 o'clock is 13 hours after midnight
    assert noon == pytest.approx(1.0, abs=0.02)
    assert plan[round(6.5 / 25 * BINS)] == pytest.approx(0.5, abs=0.02)


def test_nothing_is_learned_of_the_time_before_the_first_auction() -> None:
    traffic, counts = Traffic("UTC"), np.zeros(BINS)
    counts[48:] = 100.0
    traffic.learn(0.0, DAY, DAY / 2, counts)
    assert np.diff(traffic.plan(DAY, 2 * DAY)) == pytest.approx(np.full(BINS, 1 / BINS), rel=1e-9)


def test_a_period_that_floats_round_contains_its_time() -> None:
    first, length = 1_700_000_000.1, 1.1
    for count in range(300):
        now = first + count * length
        begins, ends = period_around(timedelta(seconds=length), "UTC", now, first)
        assert begins <= now < ends


@pytest.mark.parametrize("at", ["2026-07-05T00:00:00Z", 1_783_000_000_000, float("nan"), -1])
def test_other_times_are_refused_with_what_is_expected(at: Any) -> None:
    with pytest.raises(InvalidContextError, match="a datetime with a time zone, or seconds since"):
        seconds("bid", at)
