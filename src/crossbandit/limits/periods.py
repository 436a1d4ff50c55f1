"""The periods of limits, such as days, and how the auctions of a day are spread over its times."""

from __future__ import annotations

import math
import time
from calendar import monthrange
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.core.validation import number, reject
from crossbandit.errors import InvalidContextError, InvalidParameterError
from crossbandit.limits import state as col
from crossbandit.limits.settings import Budget, Lease, Money, timed
from crossbandit.limits.state import BINS, as_money, in_units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from decimal import Decimal

    from crossbandit.core.types import Floats, Integers
    from crossbandit.limits.pacer import Pacer
    from crossbandit.limits.settings import Limit, Per

_DAY = 86_400.0
_HALF_LIFE = 7 * _DAY  # the half-life of the counts of auctions
_PRIOR = 4.0  # auctions that are added to each bin of the day, at the mean rate
_PARTS = 8  # a bin of a period is divided into parts, each with its own time of day
_NEVER = 2.0**62
_UNKNOWN = -(2.0**62)  # how many auctions came, where none were counted
_TICKS: Callable[[], float] = time.monotonic
if hasattr(time, "clock_gettime"):  # this one does not stop while the machine sleeps
    _TICKS = partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
_BEGAN = time.time() - _TICKS()
_UNITS = {"day": _DAY, "hour": 3600.0, "minute": 60.0, "second": 1.0}
_CARRIED = 0.5  # the share of the sum of squared gradients that the next period starts with


def jump_of(owner: str, bound: object) -> float | None:
    """Return in seconds by how much a time may be ahead; None for any."""
    if bound is None:
        return None
    given = bound.total_seconds() if isinstance(bound, timedelta) else bound
    return number(owner, "max_jump", given, above=0)


def steady_time() -> float:
    """Return the time in seconds since 1970, by a clock that is not set since the process began."""
    return _BEGAN + _TICKS()


def check_jump(owner: str, now: float, latest: float, bound: float | None, clock: float) -> None:
    """Raise if a time is ahead of a clock and of the latest time by more than a bound.

    A time that is ahead ends the present periods. Later times do not begin them again, so nothing
    more could be bid until that time has come.
    """
    if bound is None or now <= max(latest, clock) + bound:
        return
    named = [datetime.fromtimestamp(at, UTC).isoformat(" ", "seconds") for at in (now, clock)]
    last = ""
    if latest >= 0:
        last = f" and {datetime.fromtimestamp(latest, UTC).isoformat(' ', 'seconds')} the last time"
    raise InvalidContextError(
        f"The time that {owner} was given or has read, {named[0]}, is {lasting(now - clock)} "
        f"ahead of the clock. By the clock it is {named[1]}{last} that was seen; a later time may "
        f"be ahead of both by at most {lasting(bound)} (max_jump). It would end the periods of "
        "the budgets, and nothing more could be bid until then. Nothing was changed. Give the "
        "right time, or set the clock; if the time is right, set a larger max_jump, or None (after "
        "the system's clock was put right, a new process will do)."
    )


def lasting(seconds_: float) -> str:
    """Return a duration in words, in the largest unit of which it has at least one."""
    unit, size = next(((name, s) for name, s in _UNITS.items() if seconds_ >= s), ("second", 1.0))
    count = f"{float(f'{seconds_ / size:.3g}'):,.15g}"
    return f"{count} {unit}{'' if count == '1' else 's'}"


def period_around(per: Per, zone: str, now: float, first: float) -> tuple[float, float]:
    """Return when the period that contains a time began, and when it ends.

    >>> begins, ends = period_around("day", "Europe/Berlin", 1774753200.0, 0.0)
    >>> (ends - begins) / 3600  # 2026-03-29, when clocks go forward
    23.0
    >>> begins, ends = period_around("month", "Europe/Berlin", 1774753200.0, 0.0)
    >>> (ends - begins) / 3600 - 31 * 24
    -1.0
    """
    if per is None:
        return -math.inf, math.inf
    if isinstance(per, timedelta):
        length = per.total_seconds()
        count = math.floor((now - first) / length)
        while first + (count + 1) * length <= now:  # after a rounding error
            count += 1
        return first + count * length, first + (count + 1) * length
    from zoneinfo import ZoneInfo

    local = datetime.fromtimestamp(now, ZoneInfo(zone))
    if per == "hour":
        offset = local.utcoffset() or timedelta(0)
        past = (now + offset.total_seconds()) % 3600.0
        return now - past, now - past + 3600.0
    first_day = last_day = local.date()
    if per == "week":
        first_day -= timedelta(days=local.weekday())
        last_day = first_day + timedelta(days=6)
    elif per == "month":
        first_day = first_day.replace(day=1)
        last_day = first_day + timedelta(days=monthrange(local.year, local.month)[1] - 1)
    bounds = (first_day, last_day + timedelta(days=1))
    midnights = [datetime(*one.timetuple()[:3], tzinfo=ZoneInfo(zone)) for one in bounds]
    return midnights[0].timestamp(), midnights[1].timestamp()


def period_at(limit: Limit, now: float, first: float) -> tuple[float, float]:
    """Return when the period of a limit at a time begins and ends. A flight cuts its periods.

    The time before a flight is a period of its own, in which nothing may be bid.
    """
    if isinstance(limit, Lease):
        return limit.begins, limit.ends
    begins, ends = limit.flight if isinstance(limit, Budget) else (-math.inf, math.inf)
    if now < begins:
        return now, begins
    anchor = first if math.isinf(begins) else begins
    start, stop = period_around(limit.per, limit.timezone, now, anchor)
    return max(start, begins), min(stop, ends)


class Traffic:
    """How many auctions come at each time of the day, learned from whole periods.

    A bin of the day has a rate: auctions per second. It is shrunk towards the mean rate of all
    bins, as if `_PRIOR` more auctions had come at that rate. Old days count less.
    """

    def __init__(self, zone: str) -> None:
        from zoneinfo import ZoneInfo

        self._zone = ZoneInfo(zone)
        self.table: Floats = np.zeros((2, BINS))

    def learn(self, begins: float, ends: float, since: float, counts: Floats) -> None:
        """Learn from a period that is over."""
        width = (ends - begins) / BINS
        known = (begins + width * (np.arange(BINS) + 1.0) > since) & (counts >= 0.0)
        self.table *= 0.5 ** ((ends - begins) / _HALF_LIFE)
        bins = self._bins_of_day(begins, ends)
        np.add.at(self.table[0], bins, np.where(known, counts, 0.0)[:, None] / _PARTS)
        np.add.at(self.table[1], bins, np.where(known, width, 0.0)[:, None] / _PARTS)

    def plan(self, begins: float, ends: float) -> Floats:
        """Return which share of a period's auctions is expected up to the end of each part."""
        auctions, lasted = self.table
        if auctions.sum() <= 0.0:
            return np.linspace(0.0, 1.0, BINS + 1)
        mean = auctions.sum() / lasted.sum()
        rates = (auctions + _PRIOR) / (lasted + _PRIOR / mean)
        parts = rates[self._bins_of_day(begins, ends)].mean(axis=1)
        done = np.concatenate([[0.0], np.cumsum(parts)])
        plan: Floats = done / done[-1]
        return plan

    def _bins_of_day(self, begins: float, ends: float) -> Integers:
        """Return the bins of the day that the parts of a period lie in: (BINS, _PARTS)."""
        edges = begins + (ends - begins) * (np.arange(BINS * _PARTS) + 0.5) / (BINS * _PARTS)
        times = edges.reshape(BINS, _PARTS)
        first, last = self._offset(begins), self._offset(ends)
        middles = times[:, _PARTS // 2].tolist()
        offsets = [first] if first == last else [self._offset(at) for at in middles]
        local = times + np.array(offsets)[:, None]
        found: Integers = ((local % _DAY) / _DAY * BINS).astype(np.int64)
        return np.minimum(found, BINS - 1)

    def _offset(self, at: float) -> float:
        """Return by how many seconds the time zone is ahead of UTC at a time."""
        offset = datetime.fromtimestamp(at, self._zone).utcoffset()
        return 0.0 if offset is None else offset.total_seconds()


class LeaseUse(NamedTuple):
    """What a bidder has used of its lease.

    Attributes:
        id: The id of the lease.
        used: What was spent, and what bids without an outcome count with.
        most: What is spent if all of these win.
    """

    id: str
    used: Decimal
    most: Decimal


class Periods:
    """The present periods of a pacer's limits. It begins new ones when they are due."""

    def __init__(self, pacer: Pacer, horizon: int | None) -> None:
        self._pacer, self._limits, self._state = pacer, pacer.limits, pacer.state
        self._horizon = _NEVER if horizon is None else float(horizon)
        self.first = self.now = self.ends = -1.0
        self.left = 0
        self.paused = False
        self.begun: set[int] = set()
        self.traffic = [Traffic(limit.timezone) for limit in self._limits]
        for i in range(len(self._limits)):
            self.give(i)

    def move(self, now: float) -> float:
        """Count an auction, and begin the periods that are due."""
        if now > self.now:
            self.now = now = float(now)
        else:
            now = self.now
        if now >= self.ends or self.left <= 0:
            self.turn(now)
        self.left -= 1
        return now

    def pieces(self, times: Floats) -> Iterator[tuple[int, int]]:
        """Yield the start and the stop of each piece of some auctions, split where periods begin.

        Play the auctions of a piece before asking for the next piece.
        """
        start = 0
        while start < times.size:
            self.turn(float(times[start]))
            ends = int(np.searchsorted(times, self.ends, "left"))
            stop = min(max(min(ends, start + self.left), start + 1), times.size)
            yield start, stop
            self.now = float(times[stop - 1])
            self.left = 0  # `turn` finds out again how many are left
            start = stop

    def turn(self, now: float) -> None:
        """Begin the periods that are due, and find out when the next one is.

        If an interrupt comes in between, the next auction does all this again.
        """
        if self.first < 0:
            self.first = now
        self.ends, self.left = -1.0, 0
        ends, left = _NEVER, int(_NEVER)
        for i, limit in enumerate(self._limits):
            times, by_auctions = self._state.times[i], isinstance(limit.per, int)
            passed = times[col.AUCTIONS] if by_auctions else now
            if times[col.END] == 0.0 or (
                (by_auctions or timed(limit)) and passed >= times[col.END]
            ):
                before = times.copy()
                try:
                    self._begin(i, now)
                except BaseException:
                    before[col.PERIOD] = times[col.PERIOD]
                    times[:] = before
                    raise
            if by_auctions:
                left = min(left, int(times[col.END] - times[col.AUCTIONS]))
            elif timed(limit):
                ends = min(ends, float(times[col.END]))
        self.ends, self.left = ends, left

    def renew(self, lease: Lease | None = None, *, same: bool = True) -> LeaseUse:
        """End the lease, and continue with another one, or with more of the same.

        With the id of the present lease, bids without an outcome and what was spent count on, if
        the present lease is that of this bidder (`same`). Otherwise money is counted from 0 again.
        """
        old = next((limit for limit in self._limits if isinstance(limit, Lease)), None)
        if old is None:
            reject("renew", "lease", "for limits with a Lease", lease)
        if lease is not None and not isinstance(lease, Lease):
            reject("renew", "lease", "a Lease, or None", lease)
        i = self._limits.index(old)
        money, times = self._state.money[i], self._state.times[i]
        unit, counted = self._pacer.unit, self._pacer.reserved.core.counted(i)
        used = as_money(money[col.SPENT] + counted, unit)
        most = as_money(money[col.SPENT] + money[col.RESERVED], unit)
        money[[col.GIVEN, col.MOST]] = 0  # so nothing can be bid, whatever is released
        began = times[col.END] != 0.0
        times[col.END] = _NEVER  # also if no auction has begun the lease
        if lease is not None:
            self._limits[i] = lease
            self._pacer.rules.plans[i] = col.AT_ONCE if lease.pacing == "asap" else col.BY_TIME
            self.ends = -1.0
            if same and began and lease.id == old.id:
                if self.now < lease.ends:
                    times[[col.START, col.END]] = lease.begins, lease.ends
                    times[col.LATEST] = max(lease.begins, self.now)
                    self._state.bins[i, 1, BINS] = 0.0
                    self.give(i)
            else:
                self._clear(i)  # also if the new lease has ended already
                self._begin(i, max(self.now, lease.begins))
        return LeaseUse(old.id, used, most)

    # --- pauses and flights --------------------------------------------------------------------

    def pause(self) -> None:
        """Bid nothing under the budgets until `resume`. Auctions are still counted."""
        if not self._budgets:
            raise InvalidParameterError(
                "Only a bidder with a Budget can pause. One with a Lease gives it back by 'renew'."
            )
        self.paused = True
        self._state.money[np.ix_(list(self._budgets), [col.GIVEN, col.MOST])] = 0

    @property
    def _budgets(self) -> dict[int, Budget]:
        return {i: limit for i, limit in enumerate(self._limits) if isinstance(limit, Budget)}

    def resume(self, now: float) -> None:
        """Continue after a pause. What is left is planned for the rest of each period.

        If no auctions were counted since the pause, it is not learned that none came.
        """
        if not self.paused:
            return
        now, begun = max(now, self.now), self.first >= 0.0
        if begun:
            self.now = now
            for i in self._budgets:
                self._skip(i, now)
            self.turn(now)
        for i, limit in self._budgets.items():
            begins, ends = limit.flight
            if begun:
                self._skip(i, now)
            if begins <= now < ends or not begun:
                self.give(i)
            self.plan_again(i)
        self.paused = False  # at last: if an interrupt comes first, it can be called again

    def _skip(self, i: int, now: float) -> None:
        """Take the time since the latest auction for unknown, not for one without auctions."""
        times = self._state.times[i]
        if self._pacer.rules.plans[i] != col.BY_TIME or not 0.0 < times[col.END] < _NEVER:
            return
        bins = self._state.bins[i, 1]
        length = times[col.END] - times[col.START]
        low, high = (
            min(max(at - times[col.START], 0.0) / length, 1.0) * BINS
            for at in (times[col.LATEST], now)
        )
        passed = np.arange(math.ceil(low), math.floor(high))
        bins[passed] = np.where(bins[passed] == 0.0, _UNKNOWN, bins[passed])
        times[col.LATEST] = max(times[col.LATEST], min(now, times[col.END]))
        bins[BINS] = 0.0

    def plan_again(self, i: int) -> None:
        """Let the plan that the status shows begin now, with what was spent."""
        times, plan = self._state.times[i], self._pacer.rules.plans[i]
        share = 0.0
        if plan == col.BY_TIME and times[col.END] != 0.0:
            share = self._pacer.reserved.core.planned_until(i, max(self.now, 0.0))
        elif plan == col.BY_AUCTIONS and times[col.END] != 0.0:
            share = min(float(times[col.AUCTIONS] / times[col.END]), 1.0)
        self._state.planned_from[i] = share, self._state.money[i, col.SPENT]

    def refit(self, i: int) -> None:
        """Adapt the present period of a budget to a flight that has changed, if it has.

        What was spent counts on, unless a flight had ended in an earlier period.
        """
        limit, times, money = self._limits[i], self._state.times[i], self._state.money[i]
        if not isinstance(limit, Budget) or not timed(limit) or times[col.END] == 0.0:
            return
        now, (begins, ends) = max(self.now, 0.0), limit.flight
        if not begins <= now < ends:
            money[[col.GIVEN, col.MOST]] = 0
        if now >= ends:
            times[col.END] = _NEVER
            return
        found = self._fitted(limit, now, float(times[col.START]), money)
        if times[col.END] == _NEVER and now >= begins and limit.per is not None:
            before = min(max(float(times[col.START]), begins), now)
            if period_at(limit, before, self.first) != found:  # the next auction begins a period
                found = float(times[col.START]), max(now, 1e-9)
        if found[1] == times[col.END]:
            return
        times[[col.START, col.END]] = found
        if now >= begins and not self.paused:
            self.give(i)
        self.spread_otherwise(i)

    def _fitted(
        self, limit: Budget, now: float, start: float, money: Integers
    ) -> tuple[float, float]:
        """Return the period of a flight; raise if it forgets the money of the one from `start`."""
        begins, used = limit.flight[0], money[[col.SPENT, col.RESERVED]].any()
        if (
            now < begins
            and used
            and period_around(limit.per, limit.timezone, begins, begins)[0] <= start
        ):
            raise InvalidParameterError(
                "A flight cannot begin later in a period in which money was spent, as that would "
                "be forgotten. Pause the bidder, or begin in the next period."
            )
        return period_at(limit, now, self.first)

    def spread_otherwise(self, i: int) -> None:
        """Plan the rest of the present period again, by another pacing or to another end."""
        times = self._state.times[i]
        if timed(self._limits[i]) and 0.0 < times[col.END] < _NEVER:
            times[col.LATEST] = max(self.now, 0.0)
            times[[col.GAP, col.GAPS, col.STEP]] = 0.0
            self._state.bins[i, 1] = _UNKNOWN
            self._state.bins[i, 1, BINS] = 0.0
            self.set_plan(i)
        self.plan_again(i)

    def set_plan(self, i: int) -> None:
        """Set which share of a period's budget is planned up to each of its times."""
        limit, times = self._limits[i], self._state.times[i]
        if isinstance(limit, Budget) and limit.pacing == "traffic":
            plan = self.traffic[i].plan(float(times[col.START]), float(times[col.END]))
            self._state.bins[i, 0] = plan
        else:
            self._state.bins[i, 0] = np.linspace(0.0, 1.0, BINS + 1)

    # --- the next period -----------------------------------------------------------------------

    def _begin(self, i: int, now: float) -> None:
        """Begin a period of a limit."""
        limit, state, times = self._limits[i], self._state, self._state.times[i]
        fresh = times[col.END] == 0.0
        if self._pacer.rules.plans[i] == col.BY_TIME and 0.0 < times[col.END] < _NEVER:
            self._pacer.reserved.core.pass_time(i, min(now, times[col.END]))
        last = limit.flight[1] if isinstance(limit, Budget) else getattr(limit, "ends", math.inf)
        if now >= last:  # what was spent must be reported
            times[col.END] = _NEVER
            state.money[i, [col.GIVEN, col.MOST]] = 0
            return
        begins, ends = 0.0, self._horizon
        if isinstance(limit.per, int):
            ends = float(limit.per)
        if timed(limit):
            traffic = self.traffic[i]
            if isinstance(limit, Budget) and limit.pacing == "traffic" and not fresh:
                traffic.learn(times[col.START], times[col.END], self.first, state.bins[i, 1, :BINS])
            begins, ends = period_at(limit, now, self.first)
            if 0.0 < times[col.END] < _NEVER:  # the gaps are shares of a period
                times[[col.GAP, col.STEP]] *= (times[col.END] - times[col.START]) / (ends - begins)
            times[col.LATEST] = now if fresh else begins
        times[[col.START, col.END, col.AUCTIONS]] = begins, ends, 0.0
        state.bins[i, 1] = 0.0
        if timed(limit):
            self.set_plan(i)
        self._clear(i)
        if not isinstance(limit, Budget) or (not self.paused and limit.flight[0] <= now):
            self.give(i)
        state.duals[i, [col.SQUARES, col.HOLDING_SQUARES]] *= _CARRIED
        share = 0.0  # the plan of the first period begins with the first auction
        if self._pacer.rules.plans[i] == col.BY_TIME:
            share = self._pacer.reserved.core.planned_until(i, max(self.first, 0.0))
        self._state.planned_from[i] = share, 0.0

    def give(self, i: int) -> None:
        """Make the amount of a budget or lease available.

        A target has no amount: wins give credit.
        """
        limit, unit, rules = self._limits[i], self._pacer.unit, self._pacer.rules
        if isinstance(limit, Money):
            given = in_units(limit.amount, unit, ROUND_FLOOR)
            most = in_units(limit.at_most, unit, ROUND_FLOOR)
            whole = in_units(getattr(limit, "whole", None) or limit.amount, unit, ROUND_FLOOR)
            self._state.money[i, [col.GIVEN, col.MOST]] = given, most
            rules.risks[i] = col.RISK / max(whole, 1) if most > given else math.inf

    def _clear(self, i: int) -> None:
        """Count money from 0 again. Bids without an outcome belong to an earlier period."""
        self._state.times[i, col.PERIOD] += 1.0
        self._state.money[i] = 0
        self._state.duals[i, col.OPEN : col.WAITING + 1] = 0.0
        self._pacer.firsts[i] = col.NO_BID
        self.begun.add(i)
