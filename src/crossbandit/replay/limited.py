"""Limits on the spending of every strategy of a replay: periods, accounts, what to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from crossbandit.errors import LogError
from crossbandit.limits import Budget, CostPer, Pacer, ReturnOnSpend
from crossbandit.limits.optima import Ceiling, Terms
from crossbandit.limits.periods import period_around
from crossbandit.validation import reject

if TYPE_CHECKING:
    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.limits import Limit, Target
    from crossbandit.logs import AuctionLog
    from crossbandit.types import Floats, Integers

_PARTS = 20  # of a log without periods, each of which is to spend the same
_MOST_ENTRIES = 2**23  # periods times bands times bids that the best maps are computed from


def check_limits(limits: Sequence[Limit], log: AuctionLog) -> tuple[Limit, ...]:
    """Return limits that a replay can keep; raise if it cannot.

    Raises:
        InvalidParameterError: They are no limits, or too many of a kind.
        LogError: They need times, and the log has none.
    """
    expected = "a list of limits, such as [Budget(500, per='day'), ReturnOnSpend(3)]"
    given: object = limits
    if isinstance(given, str) or not isinstance(given, Sequence):
        reject("replay", "limits", expected, given)
    for one in given:
        if not isinstance(one, Budget | ReturnOnSpend | CostPer):
            reject("replay", "limits", expected, one)
    budgets = [one for one in limits if isinstance(one, Budget)]
    if len([one for one in budgets if one.per is not None]) > 1:
        expected = "limits with at most one budget that has a period"
        reject("replay", "limits", expected, limits)
    if len([one for one in budgets if one.per is None]) > 1:
        reject("replay", "limits", "limits with at most one budget for the whole log", limits)
    timed = [one for one in limits if is_timed(one)]
    if timed and "time" not in log.places:
        raise LogError(
            f"A limit per {_word(timed[0])} needs the time of each auction. Name its column with "
            "--time-column (columns={'time': ...} in Python), or give a number of auctions as the "
            "period."
        )
    return tuple(limits)


def is_timed(limit: Limit) -> bool:
    """Whether a limit has periods of the clock."""
    return limit.per is not None and not isinstance(limit.per, int)


def _word(limit: Limit) -> str:
    return limit.per if isinstance(limit.per, str) else "period of time"


class Calendar:
    """The periods of a budget in a log, found while the log is read for the first time.

    Args:
        budget: A budget with a period; None for one period, the whole log.
        zone: The time zone of the names of periods, if there is no budget.

    Attributes:
        starts: The number of the first auction of each period.
        names: What tables call the periods.
        bounds: When each period begins and ends, in seconds, or NaN.
    """

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget
        self.starts: list[int] = []
        self.names: list[str] = []
        self.bounds: list[tuple[float, float]] = []
        self.auctions = 0
        self._latest = -np.inf
        self._first = np.nan

    def add(self, count: int, times: Floats | None) -> Integers:
        """Return the periods of the next auctions.

        Raises:
            LogError: The time goes back.
        """
        begin = self.auctions
        self.auctions += count
        if self._budget is None or self._budget.per is None:
            self._open(begin, count, 0, "the log")
        elif isinstance(self._budget.per, int):
            for start in range(
                -(-begin // self._budget.per), -(-self.auctions // self._budget.per)
            ):
                number = start * self._budget.per
                self._start(number, str(start + 1), (np.nan, np.nan))
        elif times is not None:
            self._by_clock(self._budget, begin, times)
        return self.at(begin, self.auctions)

    def _open(self, begin: int, count: int, number: int, name: str) -> None:
        if count and len(self.starts) == number:
            self._start(begin, name, (np.nan, np.nan))

    def _start(self, auction: int, name: str, bounds: tuple[float, float]) -> None:
        self.starts.append(auction)
        self.names.append(name)
        self.bounds.append(bounds)

    def _by_clock(self, budget: Budget, begin: int, times: Floats) -> None:
        back = np.flatnonzero(np.diff(times, prepend=self._latest) < 0)
        if back.size:
            raise LogError(
                f"The time goes back at auction {begin + int(back[0]) + 1:,}. With a limit per "
                f"{_word(budget)}, auctions must be in the order of time: sort the log by time "
                "(--sort-by in the command)."
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
            i = int(np.searchsorted(times, self.bounds[-1][1], "left"))

    def _name(self, budget: Budget, begins: float) -> str:
        local = datetime.fromtimestamp(begins, ZoneInfo(budget.timezone))
        return f"{local:%Y-%m-%d}" if budget.per == "day" else f"{local:%Y-%m-%d %H:%M}"

    def at(self, start: int, stop: int) -> Integers:
        """Return the periods of auctions that were added."""
        periods: Integers = (
            np.searchsorted(self.starts, np.arange(start, stop), "right").astype(np.int64) - 1
        )
        return periods


@dataclass(frozen=True, eq=False)
class ReplayLimits:
    """The limits of a replay, and the periods of its log.

    Args:
        limits: The limits.
        auctions: The number of auctions.
        calendar: The periods; complete once the log was read.
    """

    limits: tuple[Limit, ...]
    auctions: int
    calendar: Calendar = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calendar", Calendar(self.periodic))

    @property
    def periodic(self) -> Budget | None:
        """The budget that has a period, if there is one."""
        budgets = [one for one in self.limits if isinstance(one, Budget)]
        return next((one for one in budgets if one.per is not None), None)

    @property
    def whole(self) -> Budget | None:
        """The budget for the whole log, if there is one."""
        budgets = [one for one in self.limits if isinstance(one, Budget)]
        return next((one for one in budgets if one.per is None), None)

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets."""
        return tuple(one for one in self.limits if isinstance(one, ReturnOnSpend | CostPer))

    @property
    def aims_at_value(self) -> bool:
        """Whether value is to be high, not surplus."""
        return any(one.aim == "value" for one in self.targets)

    def pacer(self, rules: AuctionRules) -> Pacer:
        """Return what keeps one strategy to the limits."""
        highest = (0.0, float(rules.highest_value))
        return Pacer(rules.amounts, self.limits, value_range=highest, horizon=self.auctions)

    @property
    def periods(self) -> int:
        """The number of periods."""
        return len(self.calendar.starts)

    @property
    def total(self) -> float:
        """What may be spent in all; infinite without a budget."""
        amounts = [np.inf]
        if self.periodic is not None:
            amounts.append(self.periodic.amount * self.periods)
        if self.whole is not None:
            amounts.append(self.whole.amount)
        return float(min(amounts))

    def ceilings(self) -> tuple[Ceiling, ...]:
        """Return what is asked for over the whole log."""
        targets = tuple(
            Ceiling(per_value=slope, per_win=base)
            for base, slope in (one.credit() for one in self.targets)
        )
        if self.periodic is not None and self.whole is not None:
            return (*targets, Ceiling(amount=self.whole.amount))
        return targets

    def terms(self, *, paced: bool) -> Terms:
        """Return the limits as optima need them: by period, or over the whole log together."""
        if paced and self.periodic is not None:
            budgets = np.full(self.periods, self.periodic.amount)
        elif paced:
            budgets = np.full(_PARTS, self.total / _PARTS)
        else:
            budgets = np.array([self.total])
        return Terms(budgets, self.ceilings(), paid_counts=not self.aims_at_value)

    def parts(self, start: int, stop: int) -> Integers:
        """Return the periods of auctions; without periods, the part of the log they lie in."""
        if self.periodic is not None:
            return self.calendar.at(start, stop)
        return np.arange(start, stop) * _PARTS // self.auctions

    @property
    def part_count(self) -> int:
        """The largest number that `parts` returns, and 1."""
        return self.periods if self.periodic is not None else _PARTS

    def require_few_periods(self, entries: int) -> None:
        """Raise if the log has too many periods for a table of `entries` for each of them."""
        if self.part_count * entries > _MOST_ENTRIES:
            raise LogError(
                f"The log has more than {_MOST_ENTRIES // entries:,} periods of a budget. Choose a "
                "longer period, or fewer bids."
            )

    def plan(self, points: Integers) -> Floats | None:
        """Return what is planned to be spent up to each of some auctions; None without a budget.

        Within a period, the plan follows the auctions of the log; with "asap", it is the whole
        budget from the first auction on.
        """
        budget = self.periodic or self.whole
        if budget is None:
            return None
        starts = np.array([*self.calendar.starts, self.auctions])
        periods = np.searchsorted(starts, points - 1, "right") - 1
        sizes = np.diff(starts)[periods]
        inside = (points - starts[periods]) / sizes
        if budget.pacing == "asap":
            inside = np.ones(points.size)
        planned: Floats = budget.amount * (periods + inside)
        return np.minimum(planned, self.total)
