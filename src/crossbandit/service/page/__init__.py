"""The live page: one HTML page, and a stream of events with its data.

The page itself has no data, so it can be read without an access token. The stream needs a token if
the service does.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from crossbandit.core.report import Chart, Series, render
from crossbandit.core.report.text import MISSING, count, decimals, number, percent
from crossbandit.errors import CrossbanditError
from crossbandit.service.figures import BidderFigures, LimitFigures, ShadingFigures, lateness

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from starlette.requests import Request

    from crossbandit.applications import FirstPriceBidder
    from crossbandit.service.node import Node

__all__ = ["Board", "event_stream", "page_html", "page_routes"]

_SECONDS = 1.0  # the time between two events
_FRESH = 0.9  # seconds for which figures are reused
_BELIEFS_FRESH = 1.9  # the same for policies and laws, which take longer to compute
_MOST_STREAMS = 100
_HEADERS = {
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_FIGURES = (
    (
        "bids",
        "Bids by value",
        "The median bid at each value. Bands: the middle 80 % of bids.",
    ),
    ("law", "Price distribution", "The probability that a bid wins. Bands: two standard errors."),
    ("surplus", "Surplus", "The values won less the money spent, since the start."),
    ("spend", "Spend", "The money spent. With a budget: in its present period, and the plan."),
    ("wins", "Win rate", "The share of auctions won, by the time at which outcomes arrived."),
    (
        "exploration",
        "Exploration",
        "What random bids cost per auction, by the price distribution.",
    ),
    ("multiplier", "Multiplier", "Values are divided by it before bidding, to keep the limits."),
)
_SAMPLES = 300  # five minutes, with one sample per second
_MOST_POINTS = 240
_WINDOWS = 30  # a win rate is that of a window, 1/30 of the time shown
_SHORTEST = 10.0  # seconds: the shortest window
_MINUTE = 60.0
_VALUES = 41  # the number of values at which the bid is shown
_MOST_CAMPAIGNS = 50  # the most campaigns that the page shows
_MOST_LINES = 4  # the most classes in one chart
_ERRORS = 2.0  # the number of standard errors on either side
_ALIKE = 0.02  # a difference of probabilities that is hardly visible
LATE = 30.0  # seconds by which a learner may be behind
_SPARK = 60  # the number of points of a small curve
_NOTHING = 1e-9  # less money is shown as 0


# --- totals over time ----------------------------------------------------------------------------


class Point(NamedTuple):
    """The totals at a time."""

    time: float  # in seconds since 1970
    outcomes: float  # the number of outcomes learned
    wins: float  # the number of auctions won among them
    spend: float  # the money paid
    surplus: float  # the values won less the money paid
    exploration: float = math.nan
    multiplier: float = math.nan  # the highest multiplier of the limits at the time; NaN if unknown


class Track:
    """The history of a bidder: a sample per second while the page is open, before that by minute.

    A service that has just started has no minutes yet. With the samples, its curves move at once.
    """

    def __init__(self) -> None:
        self._samples: deque[Point] = deque(maxlen=_SAMPLES)
        self._older: tuple[object, list[Point]] = (None, [])

    def note(self, now: float, figures: BidderFigures) -> None:
        """Add a sample."""
        point = _totals(now, figures)
        if self._samples and self._samples[-1].outcomes > point.outcomes:
            self._samples.clear()  # a new bidder with the same name
            self._older = (None, [])
        while self._samples and self._samples[-1].time >= now:  # the clock was set back
            self._samples.pop()
        self._samples.append(point)

    def points(self, now: float, figures: BidderFigures) -> list[Point]:
        """Return the totals over time, the present last."""
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


# --- charts --------------------------------------------------------------------------------------


def known_classes(bidder: FirstPriceBidder) -> list[dict[str, Any]]:
    """Return the features of a bidder's latest auctions, without repetitions."""
    if not bidder.classes or bidder.learner.law is None:
        return [{}]
    latest = bidder.learner.latest()
    return [dict(zip(bidder.classes, labels, strict=True)) for labels in latest]


def _class_lines(bidder: FirstPriceBidder) -> list[tuple[str, dict[str, Any]]]:
    """Return the names of the lines of a chart, and their classes."""
    known = known_classes(bidder)[:_MOST_LINES]
    return [(", ".join(map(str, classes.values())), classes) for classes in known]


def bid_chart(bidder: FirstPriceBidder) -> Chart | None:
    """Return the median bid at each value, with a band that has the middle 80 % of bids.

    There is a line per class; None if no class is known yet.
    """
    values = np.linspace(*bidder.value_range, _VALUES)
    lines = []
    for name, classes in _class_lines(bidder):
        curve = bidder.shading_curve(values, **classes)
        ends = list(zip(curve.low, curve.high, strict=True))
        lines.append(Series(name=name or "bid", x=values, y=curve.bids, ends=ends))
    if not lines:
        return None
    lines.append(Series(name="the whole value", x=values, y=values, reference=True))
    return Chart(
        title="Bids by value", x_label="value", y_label="bid", series=tuple(lines), bands=True
    )


def law_chart(bidder: FirstPriceBidder) -> Chart | None:
    """Return the probability that each bid wins.

    There is a line per class at the middle value, or a line for each of three values if there are
    no classes; None if the bidder has no law or knows no class yet.
    """
    if bidder.learner.law is None:
        return None
    low, high = bidder.value_range
    if bidder.classes:
        places = [(name, (low + high) / 2, classes) for name, classes in _class_lines(bidder)]
    else:
        thirds = sorted({low + share * (high - low) for share in (0.25, 0.5, 0.75)})
        places = [(f"at value {value:.4g}", value, {}) for value in thirds]
    lines = [_law_line(bidder, *place) for place in places]
    if not lines:
        return None
    if not bidder.classes and all(np.allclose(one.y, lines[0].y, atol=_ALIKE) for one in lines):
        lines = [replace(lines[len(lines) // 2], name="at all values")]
    return Chart(
        title="Price distribution",
        x_label="bid",
        y_label="probability of winning",
        series=tuple(lines),
        bands=True,
        percent=True,
    )


def _law_line(bidder: FirstPriceBidder, name: str, value: float, classes: dict[str, Any]) -> Series:
    law = bidder.price_law(value, **classes)
    low = np.clip(law.chances - _ERRORS * law.errors, 0.0, 1.0)
    high = np.clip(law.chances + _ERRORS * law.errors, 0.0, 1.0)
    ends = list(zip(low, high, strict=True))
    return Series(name=name, x=law.amounts, y=law.chances, ends=ends)


def history_charts(figures: BidderFigures, points: Sequence[Point]) -> dict[str, Chart | None]:
    """Return the charts over time, by their place on the page; None where nothing is known yet."""
    times = [point.time for point in points]
    if figures.limits:
        numbers = [point.multiplier for point in points]
        last = {"multiplier": _time_chart("Multiplier", "multiplier", times, numbers)}
    else:
        numbers = [point.exploration for point in points]
        last = {"exploration": _time_chart("Exploration", "cost per auction", times, numbers)}
    if not figures.learned:
        return dict.fromkeys(("surplus", "spend", "wins", *last))
    surplus, rates = [point.surplus for point in points], win_rates(points)
    return {
        "surplus": _time_chart("Surplus", "surplus so far", times, surplus),
        "wins": _time_chart("Win rate", "share won", times, rates, percent=True),
        "spend": _spend_chart(figures, points),
        **last,
    }


def _spend_chart(figures: BidderFigures, points: Sequence[Point]) -> Chart | None:
    """Return the chart of the spend; with a budget, that of its present period, and the plan.

    The plan is a line from 0 at the start of the period to the amount planned by now.
    """
    budget = next((x for x in figures.limits if x.kind == "budget" and x.begins is not None), None)
    if budget is None or budget.campaign:
        times, spend = [point.time for point in points], [point.spend for point in points]
        return _time_chart("Spend", "spend so far", times, spend)
    begins = budget.begins or 0.0
    inside = [point for point in points if point.time >= begins]
    if not inside:
        return None
    before = inside[-1].spend - budget.spent
    times = [begins, *(point.time for point in inside if point.time > begins)]
    spend = [0.0, *(max(point.spend - before, 0.0) for point in inside if point.time > begins)]
    chart = _time_chart("Spend", "spend in this period", times, spend)
    if chart is None or budget.planned is None or len(times) < 2:
        return chart
    whole = times[-1] - begins
    planned = [budget.planned * (at - begins) / whole for at in times]
    plan = Series(name="plan", x=times, y=planned, reference=True)
    return replace(chart, series=(*chart.series, plan))


def _time_chart(
    title: str,
    label: str,
    times: Sequence[float],
    numbers: Sequence[float],
    *,
    percent: bool = False,
) -> Chart | None:
    """Return a chart of numbers over time; None if all are NaN."""
    if not any(map(math.isfinite, numbers)):
        return None
    line = Series(name=title.lower(), x=times, y=numbers)
    return Chart(
        title=title, x_label="time", y_label=label, series=(line,), x_time=True, percent=percent
    )


# --- texts ---------------------------------------------------------------------------------------


def state_of(figures: BidderFigures) -> str:
    """Return the state of a bidder, in one word."""
    if figures.paused:
        return "paused"
    if figures.lag_seconds > LATE:
        return "behind"
    return "learning" if figures.learned else "waiting"


def alerts_of(figures: BidderFigures) -> list[str]:
    """Return the alerts of a bidder."""
    found = list(figures.alerts)
    if figures.lag_seconds > LATE:
        found.append(
            f"Learning is {count(figures.lag, 'outcome')} behind. The oldest has waited for "
            f"{duration(figures.lag_seconds)}."
        )
    if not figures.holder:
        found.append("No node learns for this bidder now. Outcomes are stored and learned later.")
    return found


def row(name: str, figures: BidderFigures, points: Sequence[Point]) -> dict[str, Any]:
    """Return a row of the table of bidders."""
    outcomes = figures.won + figures.lost
    limits = limits_of(figures)
    if figures.campaigns:
        spent = f"{amount(figures.spend)}, {count(len(figures.campaigns), 'campaign')}"
        limits = [{"share": None, "text": spent}]
    return {
        "name": name,
        "state": state_of(figures),
        "win": share(figures.won, outcomes),
        "surplus": amount(figures.surplus if outcomes else None),
        "spend": amount(figures.spend if outcomes else None),
        "limit": limits[0] if limits else None,
        "lag": duration(figures.lag_seconds),
        "late": figures.lag_seconds > LATE,
        "alerts": len(alerts_of(figures)),
        "spark": evenly(points, "surplus", _SPARK) if outcomes else [],
    }


def summary(all_figures: Sequence[BidderFigures]) -> str:
    """Return a summary of all bidders, in words.

    >>> summary([])
    ''
    """
    if not all_figures:
        return ""
    outcomes = sum(one.won + one.lost for one in all_figures)
    alerts = sum(1 for one in all_figures if alerts_of(one))
    words = f"{count(len(all_figures), 'bidder')}. {count(outcomes, 'outcome')} learned."
    if not alerts:
        return words
    return f"{words} {count(alerts, 'bidder')} {'has' if alerts == 1 else 'have'} alerts."


def detail(
    name: str, settings: str, figures: BidderFigures, points: Sequence[Point]
) -> dict[str, Any]:
    """Return the details of one bidder, without the charts of its policy and its law."""
    return {
        "name": name,
        "state": state_of(figures),
        "about": settings,
        "alerts": alerts_of(figures),
        "tiles": tiles(figures),
        "limits": limits_of(figures),
        "diagnosis": "" if figures.diagnosis is None else figures.diagnosis.words,
        "refusals": [[cause, f"{n:,}"] for cause, n in sorted(figures.refused.items()) if n],
        "charts": drawn(history_charts(figures, points)),
    }


def drawn(charts: Mapping[str, Chart | None]) -> dict[str, Any]:
    """Return charts as JSON."""
    return {place: one and one.to_json() for place, one in charts.items()}


def about(bidder: FirstPriceBidder) -> str:
    """Return the settings of a bidder in a line."""
    told = {
        "after-loss": "price known after a loss",
        "after-win": "price known after a win",
        "always": "price always known",
        "won-lost": "only won or lost known",
    }[bidder.feedback]
    low, high = bidder.value_range
    grid = "any bid" if bidder.lays else f"{bidder.bids.size} bids"
    parts = [f"values from {low:g} to {high:g}", grid, told]
    if bidder.classes:
        parts.append(f"by {', '.join(bidder.classes)}")
    return " · ".join(parts)


def tiles(figures: BidderFigures) -> list[tuple[str, str, str]]:
    """Return the most important numbers of a bidder: label, number, note."""
    outcomes = figures.won + figures.lost
    multiplier = max((one.multiplier for one in figures.limits), default=0.0)
    cost = MISSING if figures.exploration is None else number(figures.exploration, 3)
    per_win = figures.spend / figures.won if figures.won else None
    random = (
        ("Multiplier", f"{multiplier:.2f}", "divides values, for the limits")
        if figures.limits
        else ("Exploration", cost, "cost per auction, now")
    )
    return [
        ("Win rate", share(figures.won, outcomes), f"of {count(outcomes, 'outcome')}"),
        ("Surplus", amount(figures.surplus), f"of {amount(figures.value_won)} value won"),
        ("Spend", amount(figures.spend), f"{amount(per_win)} per win"),
        random,
        *beside(figures.shading),
        ("Lag", duration(figures.lag_seconds), f"policy {duration(figures.policy_age)} old"),
        ("Decisions", f"{figures.decisions:,}", "by this process"),
    ]


def beside(shading: ShadingFigures | None) -> list[tuple[str, str, str]]:
    """Return the tile of what is earned beside the best fixed shading; none if it is not known."""
    if shading is None:
        return []
    low, high = (percent(shading.gain + sign * _ERRORS * shading.error) for sign in (-1, 1))
    note = f"{low} to {high}; the best bids {100 * shading.fraction:.0f} % of value"
    return [("Beside fixed shading", percent(shading.gain), note)]


def limits_of(figures: BidderFigures) -> list[dict[str, Any]]:
    """Return the state of all limits, by campaign: those that have spent most."""
    apart: dict[str, list[dict[str, Any]]] = {"": []}
    spent = sorted(figures.campaigns, key=lambda name: -figures.campaigns[name].spend)
    for name in spent[:_MOST_CAMPAIGNS]:
        did = figures.campaigns[name]
        outcomes = did.won + did.lost
        about = [f"{share(did.won, outcomes)} of {count(outcomes, 'auction')} won"] * (outcomes > 0)
        surplus = [f"surplus {amount(did.value_won - did.spend)}"] * (did.won > 0)
        words = ", ".join(["paused"] * did.paused + about + surplus) or "no outcomes yet"
        apart[name] = [{"words": f"{name}: {words}.", "share": None}]
    for one in figures.limits:
        if one.campaign in apart:
            apart[one.campaign].append(limit(one, figures.delay))
    found = [one for some in apart.values() for one in some]
    if len(spent) > _MOST_CAMPAIGNS:
        rest = count(len(spent) - _MOST_CAMPAIGNS, "campaign")
        found.append({"words": f"And {rest} that spent less.", "share": None})
    return found


def limit(given: LimitFigures, delay: float | None = None) -> dict[str, Any]:
    """Return the state of a budget or a target."""
    if given.slack is not None:
        kept = "target kept" if given.slack >= 0 else "target not kept"
        short = f"{amount(given.spent)}, {kept}"
        return {"words": f"{given.words}.", "share": None, "plan": None, "text": short}
    spent = f"{amount(given.spent)} of {amount(given.amount)}"
    plan = "" if given.planned is None else f", {amount(given.planned)} planned by now"
    held = ""
    if given.reserved:
        held = (
            f", {amount(given.reserved)} reserved ({amount(given.expected)} expected, "
            f"{amount(given.outstanding)} if all bids win)"
        )
    return {
        "words": f"Budget: {spent} spent{plan}{held}, {amount(given.left)} left. "
        f"{lateness(delay) if given.reserved else ''}".strip(),
        "share": given.spent / given.amount,
        "held": given.reserved / given.amount,
        "plan": None if given.planned is None else given.planned / given.amount,
        "text": spent if given.planned is None else f"{spent}, plan {amount(given.planned)}",
        "ends": given.ends,
    }


def amount(value: float | None) -> str:
    """Return money with about four digits.

    >>> amount(0.01234), amount(12.345), amount(-12345.6)
    ('0.01234', '12.35', '−12,346')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    return number(value, decimals(abs(value) if abs(value) >= _NOTHING else 0.0, 4))


def share(part: float, whole: float) -> str:
    """Return a part of a whole in percent.

    >>> share(1, 3)
    '33.3 %'
    """
    return f"{100 * part / whole:.1f} %" if whole else MISSING


def duration(seconds: float | None) -> str:
    """Return a time in a suitable unit.

    >>> duration(0.04), duration(12.3), duration(150), duration(7_300), duration(200_000)
    ('0.0 s', '12 s', '2.5 min', '2.0 h', '2.3 d')
    """
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f} s"
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


# --- the page -----------------------------------------------------------------------------------


@cache
def page_html() -> str:
    """Return the page. It is the same for every service and has no data."""
    return render(
        "crossbandit.service.page",
        "live.html",
        title="Bidders",
        charts={},
        kind="service",
        figures=_FIGURES,
        style=_asset("live.css"),
        live=_asset("live.js"),
    )


def _asset(name: str) -> str:
    found = files("crossbandit.service.page") / "assets" / name
    return found.read_text(encoding="utf-8").strip()


class Board:
    """The data of the page, computed at most once a second for all readers.

    Any thread may use it.
    """

    def __init__(self, node: Node, clock: Callable[[], float] = time.time) -> None:
        self._node = node
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, BidderFigures] = {}
        self._tracks: dict[str, Track] = {}
        self._made: dict[str, tuple[float, float, Any]] = {}  # when, for how long, and what

    def overview(self) -> dict[str, Any]:
        """Return a row for every bidder, and a summary of all."""
        with self._lock:
            now = self._clock()
            found: dict[str, Any] = self._fresh("", now, _FRESH, partial(self._all, now))
            return found

    def _all(self, now: float) -> dict[str, Any]:
        self._known = self._node.all_figures()
        self._tracks = {name: self._tracks.get(name) or Track() for name in self._known}
        for name, one in self._known.items():
            self._tracks[name].note(now, one)
        rows = [
            row(name, one, self._tracks[name].points(now, one)) for name, one in self._known.items()
        ]
        rows.sort(key=lambda one: one["alerts"] == 0)  # those with alerts first
        return {"rows": rows, "summary": summary(list(self._known.values()))}

    def detail(self, name: str) -> dict[str, Any] | None:
        """Return the details of one bidder, as of the last overview."""
        with self._lock:
            now = self._clock()
            figures = self._known.get(name)
            if figures is None:
                return None
            settings, charts = self._fresh(name, now, _BELIEFS_FRESH, partial(self._believed, name))
            found = detail(name, settings, figures, self._tracks[name].points(now, figures))
            return {**found, "charts": {**charts, **found["charts"]}}

    def _believed(self, name: str) -> tuple[str, dict[str, Any]]:
        try:
            bidder = self._node.bidder(name)
        except CrossbanditError:  # it was deleted, or is not ready yet
            return "", {"bids": None, "law": None}
        return about(bidder), drawn({"bids": bid_chart(bidder), "law": law_chart(bidder)})

    def _fresh(self, name: str, now: float, seconds: float, make: Callable[[], Any]) -> Any:
        """Return what was made for a name lately, or make it. What is too old is forgotten."""
        self._made = {key: one for key, one in self._made.items() if 0 <= now - one[0] <= one[1]}
        if name not in self._made:
            self._made[name] = now, seconds, make()
        return self._made[name][2]


async def event_stream(
    board: Board,
    name: str | None,
    *,
    ending: Callable[[], bool] = lambda: False,
    seconds: float = _SECONDS,
) -> AsyncIterator[str]:
    """Yield an event per second: all bidders, and the changes of the chosen one."""
    sent: dict[str, str] = {}
    while not ending():
        event = dict(await asyncio.to_thread(board.overview))
        chosen = None if name is None else await asyncio.to_thread(board.detail, name)
        if chosen is not None:
            chosen["places"] = list(chosen["charts"])
            texts = {place: _text(chart) for place, chart in chosen["charts"].items()}
            new = {place for place, text in texts.items() if sent.get(place) != text}
            sent = texts
            charts = {place: chart for place, chart in chosen["charts"].items() if place in new}
            event["detail"] = {**chosen, "charts": charts}
        yield f"data: {_text(event)}\n\n"
        await asyncio.sleep(seconds)


def _text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def page_routes(
    node: Node,
    check: Callable[[Request], None] = lambda _: None,
    *,
    ending: Callable[[], bool] = lambda: False,
) -> list[Route]:
    """Return the routes of the page, `/` and `/events`; `check` raises what becomes an answer."""
    board = Board(node)
    open_streams: set[object] = set()

    async def page(request: Request) -> Response:
        check(request)
        return HTMLResponse(page_html(), headers=_HEADERS)

    async def events(request: Request) -> Response:
        check(request)
        if len(open_streams) >= _MOST_STREAMS:
            return PlainTextResponse(
                f"{_MOST_STREAMS} pages are open, which is the limit. Close one and try again.\n",
                status_code=503,
            )
        return StreamingResponse(
            counted(request.query_params.get("bidder")),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def counted(name: str | None) -> AsyncIterator[str]:
        stream = event_stream(board, name, ending=ending)
        open_streams.add(stream)
        try:
            async for event in stream:
                yield event
        finally:
            open_streams.discard(stream)

    return [Route("/", page), Route("/events", events)]
