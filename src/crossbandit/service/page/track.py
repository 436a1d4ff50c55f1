"""The history of a bidder's figures: sums over time, for the charts of the page."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.service.figures import BidderFigures

_SAMPLES = 300  # five minutes, with one sample per second
_MOST_POINTS = 240
_WINDOWS = 30  # a win rate is that of a window, 1/30 of the time shown
_SHORTEST = 10.0  # seconds: the shortest window
_MINUTE = 60.0


class Point(NamedTuple):
    """The totals at a time.

    Attributes:
        time: In seconds since 1970.
        outcomes: The number of outcomes learned.
        wins: The number of auctions won among them.
        spend: The money paid.
        surplus: The values won less the money paid.
        exploration: The cost of random choices per auction at the time; NaN if unknown.
        multiplier: The highest multiplier of the limits at the time; NaN if unknown.
    """

    time: float
    outcomes: float
    wins: float
    spend: float
    surplus: float
    exploration: float = math.nan
    multiplier: float = math.nan


class Track:
    """The history of a bidder: a sample per second while the page is open, before that by minute.

    A service that has just started has no minutes yet. With the samples, its curves move at once.
    """

    def __init__(self) -> None:
        self._samples: deque[Point] = deque(maxlen=_SAMPLES)
        self._older: tuple[object, list[Point]] = (None, [])

    def note(self, now: float, figures: BidderFigures) -> None:
        """Add a sample.

        Args:
            now: The time, in seconds since 1970.
            figures: The figures.
        """
        point = _totals(now, figures)
        if self._samples and self._samples[-1].outcomes > point.outcomes:
            self._samples.clear()  # a new bidder with the same name
            self._older = (None, [])
        while self._samples and self._samples[-1].time >= now:  # the clock was set back
            self._samples.pop()
        self._samples.append(point)

    def points(self, now: float, figures: BidderFigures) -> list[Point]:
        """Return the totals over time, the present last.

        Args:
            now: The time, in seconds since 1970.
            figures: The figures now.
        """
        samples = [*self._samples] or [_totals(now, figures)]
        return thinned([*self._before(samples[0], figures), *samples], _MOST_POINTS)

    def _before(self, first: Point, figures: BidderFigures) -> list[Point]:
        """Return the points before a sample. They are computed once a minute."""
        begun = figures.history[0].time if figures.history else None
        known = (begun, first.time // _MINUTE)
        if self._older[0] != known:
            found = [point for point in _by_minute(figures) if point.time < first.time]
            self._older = known, thinned(found, _MOST_POINTS)
        return self._older[1]


def _totals(now: float, figures: BidderFigures) -> Point:
    outcomes = figures.won + figures.lost
    cost = math.nan if figures.exploration is None else figures.exploration
    multiplier = max((one.multiplier for one in figures.limits), default=math.nan)
    return Point(now, outcomes, figures.won, figures.spend, figures.surplus, cost, multiplier)


def _by_minute(figures: BidderFigures) -> list[Point]:
    """Return the totals at the end of each minute, and at the start of minutes after a pause.

    The first minute has no point at its start, because the bidder began at some time within it.
    """
    minutes = figures.history
    total = _totals(0.0, figures)
    sums = [
        total.outcomes - sum(one.outcomes for one in minutes),
        total.wins - sum(one.wins for one in minutes),
        total.spend - math.fsum(one.spend for one in minutes),
        total.surplus - math.fsum(one.surplus for one in minutes),
    ]
    found: list[Point] = []
    for one in minutes:
        if found and one.time > found[-1].time:
            found.append(Point(float(one.time), *sums))
        added = (one.outcomes, one.wins, one.spend, one.surplus)
        sums = [before + more for before, more in zip(sums, added, strict=True)]
        found.append(Point(one.time + _MINUTE, *sums))
    return found


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Return at most `most` points: for each of evenly spread times, the latest point before it.

    Args:
        points: The points, in order of time.
        most: The largest number of points, at least 2.

    Returns:
        The points that are kept, with the first and the last.

    >>> [point.time for point in thinned([Point(t, 0, 0, 0, 0) for t in range(9)], 3)]
    [0, 4, 8]
    """
    if len(points) <= most:
        return list(points)
    times = [point.time for point in points]
    at = np.linspace(times[0], times[-1], most)
    kept = np.unique(np.searchsorted(times, at, side="right") - 1)
    return [points[i] for i in kept]


def evenly(points: Sequence[Point], name: str, places: int) -> list[float]:
    """Return numbers at evenly spread times.

    Args:
        points: The totals over time.
        name: The field of the points.
        places: The number of times.

    Returns:
        The numbers, with four digits; none for fewer than two points.

    >>> evenly([Point(0, 0, 0, 0, 0), Point(1, 8, 4, 0, 0), Point(4, 8, 4, 0, 0)], "wins", 5)
    [0.0, 4.0, 4.0, 4.0, 4.0]
    """
    if len(points) < 2:
        return []
    times = [point.time for point in points]
    at = np.linspace(times[0], times[-1], places)
    found = np.interp(at, times, [getattr(point, name) for point in points])
    return [float(f"{number:.4g}") for number in found]


def win_rates(points: Sequence[Point]) -> list[float]:
    """Return the share won in a window before each point: 1/30 of the time shown.

    Args:
        points: The totals over time.

    Returns:
        A share per point; NaN if the window has no outcomes.

    >>> counts = [(0, 0, 0), (20, 10, 4), (40, 20, 12)]
    >>> win_rates([Point(*one, 0, 0) for one in counts])
    [nan, 0.4, 0.8]
    """
    if not points:
        return []
    width = max((points[-1].time - points[0].time) / _WINDOWS, _SHORTEST)
    rates, start = [], 0
    for i, point in enumerate(points):
        while start + 1 < i and points[start + 1].time <= point.time - width:
            start += 1
        outcomes = point.outcomes - points[start].outcomes
        wins = point.wins - points[start].wins
        rates.append(wins / outcomes if outcomes > 0 else math.nan)
    return rates
