"""The periods of a budget in a log."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from crossbandit.errors import LogError
from crossbandit.limits.periods import period_around

if TYPE_CHECKING:
    from crossbandit.limits import Budget, Limit
    from crossbandit.types import Floats

_CHANGE = 3_600.0  # seconds by which clocks are usually changed


class Calendar:
    """The periods of a budget in a log, found while the log is read for the first time.

    Args:
        budget: The budget. If it is None, or has no period, the whole log is one period.

    Attributes:
        budget: The budget.
        starts: The number of the first auction of each period.
        names: What tables call the periods.
        bounds: When each period begins and ends, in seconds, or NaN.
    """

    def __init__(self, budget: Budget | None) -> None:
        self.budget = budget
        self.starts: list[int] = []
        self.names: list[str] = []
        self.bounds: list[tuple[float, float]] = []
        self._latest = -np.inf
        self._first = np.nan

    def add(self, begin: int, count: int, times: Floats | None) -> None:
        """Find the periods that begin in the next auctions.

        Args:
            begin: The number of the first of them.
            count: How many they are.
            times: Their times, if they are known.

        Raises:
            LogError: The time goes back.
        """
        per = None if self.budget is None else self.budget.per
        if per is None:
            if count and not self.starts:
                self._start(begin, "the log", (np.nan, np.nan))
        elif isinstance(per, int):
            for number in range(-(-begin // per), -(-(begin + count) // per)):
                self._start(number * per, str(number + 1), (np.nan, np.nan))
        elif times is not None and self.budget is not None:
            self._by_clock(self.budget, begin, times)

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
            i = int(np.searchsorted(times, self.bounds[-1][1], "left"))

    def _name(self, budget: Budget, begins: float) -> str:
        local = datetime.fromtimestamp(begins, ZoneInfo(budget.timezone))
        if budget.per == "day":
            return f"{local:%Y-%m-%d}"
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
