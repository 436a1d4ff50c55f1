"""The limits of a replay, the periods and sections into which they divide a log; in words, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from crossbandit.core.validation import number, reject
from crossbandit.errors import LogError
from crossbandit.limits import Budget, CostPer, Pacer, ReturnOnSpend
from crossbandit.limits.optima import Ceiling, Level, Terms
from crossbandit.limits.periods import period_around
from crossbandit.limits.settings import timed as is_timed
from crossbandit.logs.files import time_sql
from crossbandit.logs.survey import steps_back_in_time

if TYPE_CHECKING:
    from crossbandit.applications.bidding.auctions import AuctionRules
    from crossbandit.core.types import Floats, Integers
    from crossbandit.limits import Limit
    from crossbandit.logs import AuctionLog


_PARTS = 20  # the most parts of a log without periods, which should spend equally
_MOST_ENTRIES = 2**23  # the most periods times bands times bids for the best maps


def check_limits(limits: Sequence[Limit], log: AuctionLog) -> tuple[Limit, ...]:
    """Return limits that a replay can keep; raise if it cannot."""
    expected = "a list of limits, such as [Budget(500, per='day'), ReturnOnSpend(3)]"
    given: object = limits
    if isinstance(given, str) or not isinstance(given, Sequence):
        reject("replay", "limits", expected, given)
    for one in given:
        if not isinstance(one, Budget | ReturnOnSpend | CostPer):
            reject("replay", "limits", expected, one)
        if isinstance(one, Budget) and (one.begins, one.ends) != (None, None):
            expected = "budgets without 'begins' and 'ends': replay the part of the log in a flight"
            reject("replay", "limits", expected, one)
    timed = [one for one in limits if is_timed(one)]
    if timed and "time" not in log.places:
        raise LogError(
            f"A limit per {period_word(timed[0])} {_needs_time(log)} "
            "Or give a number of auctions as the period."
        )
    return tuple(limits)


def of_all(limits: tuple[Limit, ...], campaigns: int) -> tuple[Limit, ...]:
    """Return the limits of several campaigns together, if each has these limits."""
    return tuple(
        replace(one, amount=one.amount * campaigns) if isinstance(one, Budget) else one
        for one in limits
    )


def campaigns_of(log: AuctionLog, campaign: str | int | None) -> tuple[int | None, int]:
    """Return the number of the class column of campaigns, and how many there are; 1 without it."""
    if campaign is None:
        return None, 1
    place = log.source.columns.find(campaign, "campaign")
    if place not in log.class_places.values():
        expected = "one of the class columns of the log (classes=[...] of AuctionLog)"
        reject("replay", "campaign", expected, campaign)
    query = (
        f"SELECT count(DISTINCT coalesce(level, '')) FROM ({log.source.select({'level': place})})"
    )
    with log.source.connect(log.timezone) as connection:
        found = connection.execute(f"{query} WHERE broken IS NULL").fetchall()
    return [*log.class_places.values()].index(place), int(found[0][0])


def check_delay(delay: object, log: AuctionLog) -> float:
    """Return a delay of outcomes in seconds; raise if a replay cannot play it."""
    given = delay.total_seconds() if isinstance(delay, timedelta) else delay
    seconds = number("replay", "delay", given, at_least=0)
    if seconds and "time" not in log.places:
        raise LogError(f"A delay of outcomes {_needs_time(log)}")
    return seconds


def length_of(log: AuctionLog) -> float:
    """Return how many seconds lie between the first and the last time of a log."""
    lines, time = log.source.select({"time": log.places["time"]}), time_sql("time")
    query = f"SELECT max({time}) - min({time}) FROM ({lines}) WHERE broken IS NULL"
    with log.source.connect(log.timezone) as connection:
        found = connection.execute(query).fetchall()
    return float(found[0][0] or 0.0)


def _needs_time(log: AuctionLog) -> str:
    """Return the end of a sentence about what needs a log with a column of times."""
    found = steps_back_in_time(log).column
    return (
        "needs the time of each auction. Name its column with --time-column "
        "(columns={'time': ...} in Python)" + (f"; {found} seems to be one." if found else ".")
    )


class ReplayLimits:
    """The limits of a replay, and the periods of its log.

    The periods of several budgets divide a log into *sections*: an auction begins a new section if
    it begins a period of some budget.
    """

    def __init__(self, limits: tuple[Limit, ...] = (), auctions: int = 0) -> None:
        self.limits, self.auctions = limits, auctions
        self.budgets = tuple(one for one in limits if isinstance(one, Budget))
        self.targets = tuple(one for one in limits if isinstance(one, ReturnOnSpend | CostPer))
        self.aims_at_value = any(one.aim == "value" for one in self.targets)
        whole = [one for one in self.budgets if one.per is None]
        self.whole = min(whole, key=lambda one: one.amount, default=None)
        self.periodic = len(whole) < len(self.budgets)
        own = tuple(Calendar(one) for one in self.budgets if one.per is not None)
        self.calendars = own or (Calendar(self.whole),)
        self.read = 0

    def __bool__(self) -> bool:
        return bool(self.limits)

    def add(self, count: int, times: Floats | None) -> Integers:
        """Return the sections of the next auctions, while the log is read for the first time."""
        begin = self.read
        self.read += count
        for calendar in self.calendars:
            calendar.add(begin, count, times)
        return self.sections_at(begin, self.read)

    def sections_at(self, start: int, stop: int) -> Integers:
        """Return the sections of auctions that were added."""
        found: Integers = np.searchsorted(self.starts, np.arange(start, stop), "right") - 1
        return found

    @property
    def starts(self) -> Integers:
        """The number of the first auction of each section."""
        return np.unique(np.concatenate([one.starts for one in self.calendars])).astype(np.int64)

    @property
    def sections(self) -> int:
        """The number of sections."""
        return self.starts.size

    def pacer(self, rules: AuctionRules, horizon: int) -> Pacer:
        """Return a pacer that keeps one strategy within the limits."""
        highest = (0.0, float(rules.highest_value))
        return Pacer(rules.amounts, self.limits, value_range=highest, horizon=horizon)

    @property
    def total(self) -> float:
        """What may be spent in all; infinite without a budget."""
        amounts = [one.allowed for one in self.calendars]
        return float(min([*amounts, np.inf if self.whole is None else self.whole.amount]))

    def periods_of(self, calendar: Calendar) -> Integers:
        """Return the period of each section, for the budget of a calendar."""
        found: Integers = np.searchsorted(calendar.starts, self.starts, "right") - 1
        return found

    def kept_by_oracles(self) -> list[Calendar]:
        """Return calendars whose periods are nested, from the shortest to the longest.

        If the periods of two budgets overlap, such as days and 1,000 auctions, the budget that
        allows for more is left out. So the optima are never too low.
        """
        kept: list[Calendar] = []
        for one in sorted(self.calendars, key=lambda one: one.allowed):
            starts = set(one.starts)
            if all(starts <= set(other.starts) or starts >= set(other.starts) for other in kept):
                kept.append(one)
        return sorted(kept, key=lambda one: -len(one.starts))

    def left_out(self) -> list[Budget]:
        """Return the budgets that no oracle keeps."""
        kept = self.kept_by_oracles()
        return [one.budget for one in self.calendars if one.budget and one not in kept]

    def terms(self, *, paced: bool) -> Terms:
        """Return the limits as optima need them: by section, or over the whole log together."""
        ceilings = tuple(
            Ceiling(per_value=slope, per_win=base)
            for base, slope in (one.credit() for one in self.targets)
        )
        if not paced:
            return Terms(np.array([self.total]), ceilings, not self.aims_at_value)
        if not self.periodic:
            budgets = np.full(self.part_count, self.total / self.part_count)
            return Terms(budgets, ceilings, not self.aims_at_value)
        levels = [
            Level(self.periods_of(one), np.full(len(one.starts), one.budget.amount))
            for one in self.kept_by_oracles()
            if one.budget is not None
        ]
        if self.whole is not None:
            everything = np.zeros(self.sections, dtype=np.int64)
            levels.append(Level(everything, np.array([self.whole.amount])))
        free = np.full(self.sections, np.inf)
        return Terms(free, ceilings, not self.aims_at_value, tuple(levels))

    def parts(self, start: int, stop: int) -> Integers:
        """Return the section of each auction; without periods, its part of the log."""
        if self.periodic:
            return self.sections_at(start, stop)
        return np.arange(start, stop) * self.part_count // self.auctions

    @property
    def part_count(self) -> int:
        """The number of parts: the largest number that `parts` returns, plus 1."""
        return self.sections if self.periodic else min(_PARTS, self.auctions)

    def require_few_periods(self, entries: int) -> None:
        """Raise if the log has too many periods for a table with `entries` entries per period."""
        if self.part_count * entries > _MOST_ENTRIES:
            raise LogError(
                f"The log has more than {_MOST_ENTRIES // entries:,} periods of a budget. Choose a "
                "longer period, or fewer bids."
            )

    def plan(self, points: Integers) -> Floats | None:
        """Return what is planned to be spent up to each of some auctions; None without a budget.

        Within a period, the plan follows the auctions of the log; with "asap", it is the whole
        budget from the first auction on. With several budgets, the lowest plan counts.
        """
        if not self.budgets:
            return None
        plans = [one.plan(points, self.auctions) for one in self.calendars]
        lowest: Floats = np.minimum(np.min(plans, axis=0), self.total)
        return lowest


def describe(limit: Limit) -> str:
    """Return a limit in words.

    >>> describe(Budget(500, per="day", timezone="Europe/Berlin"))
    'a budget of 500 per day (Europe/Berlin), paced by traffic'
    """
    if isinstance(limit, Budget):
        pace = {"traffic": "paced by traffic", "even": "paced evenly", "asap": "not paced"}
        return f"a budget of {limit.amount:g}{per_words(limit)}, {pace[limit.pacing]}"
    aim = "" if not isinstance(limit, ReturnOnSpend | CostPer) else f", aiming at {limit.aim}"
    if isinstance(limit, ReturnOnSpend):
        return f"a return on spend of {limit.ratio:g}{per_words(limit)}{aim}"
    if not isinstance(limit, CostPer):
        raise TypeError(f"not a limit of a replay: {limit!r}")
    unit = "win" if limit.worth is None else f"{limit.worth:g} of value"
    return f"a cost of at most {limit.amount:g} per {unit}{per_words(limit)}{aim}"


def per_words(limit: Limit) -> str:
    """Return the period of a limit in words, such as " per day (UTC)"; empty without one."""
    if limit.per is None:
        return ""
    if isinstance(limit.per, int):
        return f" per {limit.per:,} auctions"
    zone = f" ({limit.timezone})" if isinstance(limit.per, str) else ""
    return f" per {limit.per}{zone}"


_CHANGE = 3_600.0  # seconds by which clocks are usually changed
_MISSING = 1 / 24  # the share of a period that is missing if it is said to be cut ...
_GAPS = 20.0  # ... and how many usual gaps between its auctions that is


@dataclass(eq=False)
class Calendar:
    """The periods of a budget in a log, found while the log is read for the first time."""

    budget: Budget | None
    starts: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    seen: list[list[float]] = field(default_factory=list)  # the first and the last time of each
    _latest: float = -np.inf
    _first: float = np.nan

    @property
    def allowed(self) -> float:
        """What the budget allows to spend in all; infinite without a budget."""
        return np.inf if self.budget is None else self.budget.amount * len(self.starts)

    def plan(self, points: Integers, auctions: int) -> Floats:
        """Return what is planned to be spent up to each of some auctions."""
        if self.budget is None:
            return np.full(points.size, np.inf)
        starts = np.array([*self.starts, auctions])
        periods = np.searchsorted(starts, points - 1, "right") - 1
        inside = (points - starts[periods]) / np.diff(starts)[periods]
        if self.budget.pacing == "asap":
            inside = np.ones(points.size)
        planned: Floats = self.budget.amount * (periods + inside)
        return planned

    def add(self, begin: int, count: int, times: Floats | None) -> None:
        """Find the periods that begin in the next auctions."""
        per = None if self.budget is None else self.budget.per
        if per is None:
            if count and not self.starts:
                self._start(begin, "the log", (np.nan, np.nan))
        elif isinstance(per, int):
            for number in range(-(-begin // per), -(-(begin + count) // per)):
                self._start(number * per, str(number + 1), (np.nan, np.nan))
        elif times is not None and self.budget is not None:
            self._by_clock(self.budget, begin, times)

    def cut(self, auctions: int) -> list[str]:
        """Return the days, weeks and months of which hours are missing, each with where it is cut.

        A period is cut if its auctions end, or begin, an hour or more of a day from where they do
        in the others, and not because there are few.
        """
        if self.budget is None or self.budget.per not in {"day", "week", "month"}:
            return []
        zone, found = ZoneInfo(self.budget.timezone), []
        bounds, seen = np.array(self.bounds), np.array(self.seen)
        lengths = np.diff(bounds, axis=1)
        parts = (seen - bounds[:, :1]) / lengths  # of the period, at its first and last auction
        counts = np.diff([*self.starts, auctions])
        least = np.maximum(_MISSING, _GAPS * np.diff(parts, axis=1)[:, 0] / np.maximum(counts, 1))
        for i, name in enumerate(self.names):
            others = np.delete(parts, i, axis=0)
            usual = np.median(others, axis=0) if others.size else np.array([0.0, 1.0])
            begins, ends = (datetime.fromtimestamp(at, zone) for at in self.seen[i])
            if parts[i, 0] - usual[0] >= least[i]:
                found.append(f"{name} (from {begins:%Y-%m-%d %H:%M})")
            if usual[1] - parts[i, 1] >= least[i]:
                found.append(f"{name} (until {ends:%Y-%m-%d %H:%M})")
        return found

    def _start(self, auction: int, name: str, bounds: tuple[float, float]) -> None:
        self.starts.append(auction)
        self.names.append(name)
        self.bounds.append(bounds)

    def _by_clock(self, budget: Budget, begin: int, times: Floats) -> None:
        back = np.flatnonzero(np.diff(times, prepend=self._latest) < 0)
        if back.size:
            i = int(back[0])
            before = float(times[i - 1]) if i else self._latest
            raise LogError(
                f"The time goes back at auction {begin + i + 1:,}. "
                + _why_back(budget, before, float(times[i]))
            )
        self._latest = float(times[-1])
        if np.isnan(self._first):
            self._first = float(times[0])
        i = 0
        while i < times.size:
            if not self.bounds or times[i] >= self.bounds[-1][1]:
                now = float(times[i])
                bounds = period_around(budget.per, budget.timezone, now, self._first)
                self._start(begin + i, self._name(budget, bounds[0]), bounds)
                self.seen.append([now, now])
            i = int(np.searchsorted(times, self.bounds[-1][1], "left"))
            self.seen[-1][1] = float(times[i - 1])

    def _name(self, budget: Budget, begins: float) -> str:
        local = datetime.fromtimestamp(begins, ZoneInfo(budget.timezone))
        if budget.per in {"day", "week", "month"}:
            return f"{local:%Y-%m}" if budget.per == "month" else f"{local:%Y-%m-%d}"
        other = local.replace(fold=1 - local.fold)
        if other.utcoffset() != local.utcoffset():  # the clock shows this time twice
            return local.isoformat(" ", "minutes")
        return f"{local:%Y-%m-%d %H:%M}"


def _why_back(budget: Budget, before: float, after: float) -> str:
    """Return what to do if a time is followed by an earlier one."""
    if before - after <= _CHANGE:  # perhaps clocks were put back
        zone = ZoneInfo(budget.timezone)
        first, last = (
            datetime.fromtimestamp(at, zone) for at in (after - _CHANGE, before + _CHANGE)
        )
        if first.utcoffset() != last.utcoffset():
            return (
                f"On {last:%Y-%m-%d} the clocks of {budget.timezone} changed, and times without "
                "an offset are ambiguous. Write them in UTC, or with their offset such as "
                f"{last.isoformat(timespec='seconds')}. If the log is in another time zone, give "
                "that one."
            )
    return (
        f"With a limit per {period_word(budget)}, auctions must be in the order of time: sort the "
        "log by time (--sort-by in the command)."
    )


def period_word(limit: Limit) -> str:
    """Return what messages call the period of a limit."""
    return limit.per if isinstance(limit.per, str) else "period of time"
