"""Periods of time, such as days, and how the auctions of a day are spread over its times."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.kernels.pacing import BINS
from crossbandit.validation import number, reject

if TYPE_CHECKING:
    from crossbandit.limits.settings import Per
    from crossbandit.types import Floats

_DAY = 86_400.0
_HALF_LIFE = 7 * _DAY  # the half-life of the counts of auctions
_PRIOR = 4.0  # auctions that are added to each bin of the day, at the mean rate
_PARTS = 8  # a bin of a period is divided into parts, each with its own time of day
_LATEST = 4e9  # seconds: after the year 2090


def seconds(owner: str, at: object) -> float:
    """Return a time as seconds since 1970.

    Args:
        owner: The method or class that an error names.
        at: A datetime with a time zone, or seconds since 1970.

    Raises:
        InvalidContextError: It is something else.
    """
    if isinstance(at, datetime):
        if at.tzinfo is None:
            expected = "a datetime with a time zone, or seconds since 1970"
            reject(owner, "at", expected, at, error=InvalidContextError)
        at = at.timestamp()
    return number(owner, "at", at, at_least=0, at_most=_LATEST, error=InvalidContextError)


def period_around(per: Per, zone: str, now: float, first: float) -> tuple[float, float]:
    """Return when the period that contains a time began, and when it ends.

    Args:
        per: As in `Budget`, but not a number of auctions.
        zone: The name of the time zone.
        now: Seconds since 1970.
        first: The time of the first auction.

    >>> begins, ends = period_around("day", "Europe/Berlin", 1774753200.0, 0.0)
    >>> (ends - begins) / 3600  # 2026-03-29, when clocks go forward
    23.0
    """
    if per is None:
        return -math.inf, math.inf
    if isinstance(per, timedelta):
        length = per.total_seconds()
        begins = first + math.floor((now - first) / length) * length
        return begins, begins + length
    local = datetime.fromtimestamp(now, ZoneInfo(zone))
    if per == "hour":
        offset = local.utcoffset() or timedelta(0)
        past = (now + offset.total_seconds()) % 3600.0
        return now - past, now - past + 3600.0
    begins = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()
    tomorrow = local.date() + timedelta(days=1)
    ends = datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=ZoneInfo(zone)).timestamp()
    return begins, ends


class Traffic:
    """How many auctions come at each time of the day, learned from whole periods.

    A bin of the day has a rate: auctions per second. It is shrunk towards the mean rate of all
    bins, as if `_PRIOR` more auctions had come at that rate. Old days count less.

    Args:
        zone: The name of the time zone whose days count.

    Attributes:
        table: (2, BINS): auctions, and seconds in which they came, of each bin of the day.
    """

    def __init__(self, zone: str) -> None:
        self._zone = ZoneInfo(zone)
        self.table: Floats = np.zeros((2, BINS))

    def learn(self, begins: float, ends: float, since: float, counts: Floats) -> None:
        """Learn from a period that is over.

        Args:
            begins: When it began.
            ends: When it ended.
            since: The time of the very first auction. Earlier times are left out.
            counts: (BINS,): the auctions in each part of the period.
        """
        width = (ends - begins) / BINS
        known = begins + width * (np.arange(BINS) + 1.0) > since
        self.table *= 0.5 ** ((ends - begins) / _HALF_LIFE)
        bins = self._bins_of_day(begins, ends)
        np.add.at(self.table[0], bins, np.where(known, counts, 0.0)[:, None] / _PARTS)
        np.add.at(self.table[1], bins, np.where(known, width, 0.0)[:, None] / _PARTS)

    def plan(self, begins: float, ends: float) -> Floats:
        """Return which share of a period's auctions is expected up to the end of each part.

        Args:
            begins: When it begins.
            ends: When it ends.

        Returns:
            (BINS + 1,), from 0 to 1.
        """
        auctions, lasted = self.table
        if auctions.sum() <= 0.0:
            return np.linspace(0.0, 1.0, BINS + 1)
        mean = auctions.sum() / lasted.sum()
        rates = (auctions + _PRIOR) / (lasted + _PRIOR / mean)
        parts = rates[self._bins_of_day(begins, ends)].mean(axis=1)
        done = np.concatenate([[0.0], np.cumsum(parts)])
        plan: Floats = done / done[-1]
        return plan

    def _bins_of_day(
        self, begins: float, ends: float
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """Return the bins of the day that the parts of a period lie in: (BINS, _PARTS)."""
        edges = begins + (ends - begins) * (np.arange(BINS * _PARTS) + 0.5) / (BINS * _PARTS)
        times = edges.reshape(BINS, _PARTS)
        first, last = self._offset(begins), self._offset(ends)
        middles = times[:, _PARTS // 2].tolist()
        offsets = [first] if first == last else [self._offset(at) for at in middles]
        local = times + np.array(offsets)[:, None]
        found: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = (
            (local % _DAY) / _DAY * BINS
        ).astype(np.int64)
        return np.minimum(found, BINS - 1)

    def _offset(self, at: float) -> float:
        """Return by how many seconds the time zone is ahead of UTC at a time."""
        offset = datetime.fromtimestamp(at, self._zone).utcoffset()
        return 0.0 if offset is None else offset.total_seconds()
