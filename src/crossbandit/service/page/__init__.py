"""The live page: one HTML page, and a stream of events with its data.

The page itself has no data, so it can be read without an access token. The stream needs a token if
the service does.
"""

from __future__ import annotations

import asyncio
import json
import time
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

from crossbandit.core.report import render
from crossbandit.errors import CrossbanditError
from crossbandit.service.page.views import Track, about, beliefs, detail, row, summary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from crossbandit.service.figures import BidderFigures
    from crossbandit.service.node import Node

__all__ = ["Board", "event_stream", "page_html", "page_routes"]

_Found = TypeVar("_Found")
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
    ("bids", "Bids by value", "The median bid at each value. The band has eight of ten bids."),
    ("law", "Law of prices", "The probability that a bid wins. Bands: two standard errors."),
    ("surplus", "Surplus", "The values won less the money spent, since the start."),
    ("spend", "Spend", "The money spent. With a budget: in its present period, and the plan."),
    ("wins", "Win rate", "The share of auctions won, by the time at which outcomes arrived."),
    ("exploration", "Exploration", "The cost of random bids per auction, by the law of prices."),
    ("multiplier", "Multiplier", "Values are divided by it before bidding, to keep the limits."),
)


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
        self._overview: tuple[float, dict[str, Any]] | None = None
        self._known: dict[str, BidderFigures] = {}
        self._tracks: dict[str, Track] = {}
        self._beliefs: dict[str, tuple[float, str, dict[str, Any]]] = {}

    def overview(self) -> dict[str, Any]:
        """Return a row for every bidder, and a summary of all."""
        with self._lock:
            now = self._clock()
            if self._overview is None or not 0 <= now - self._overview[0] <= _FRESH:
                self._overview = now, self._all(now)
            return self._overview[1]

    def _all(self, now: float) -> dict[str, Any]:
        found = {name: _known(self._node.figures, name) for name in sorted(self._node.names())}
        self._known = {name: one for name, one in found.items() if one is not None}
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
            settings, charts = self._believed(now, name)
            found = detail(name, settings, figures, self._tracks[name].points(now, figures))
            return {**found, "charts": {**charts, **found["charts"]}}

    def _believed(self, now: float, name: str) -> tuple[str, dict[str, Any]]:
        fresh = self._beliefs.items()
        kept = {key: one for key, one in fresh if 0 <= now - one[0] <= _BELIEFS_FRESH}
        if name not in kept:
            bidder = _known(self._node.bidder, name)
            kept[name] = now, "" if bidder is None else about(bidder), beliefs(bidder)
        self._beliefs = kept
        return kept[name][1:]


def _known(function: Callable[[str], _Found], name: str) -> _Found | None:
    """Return what a node has of a bidder; None if it was deleted, or is not ready yet."""
    try:
        return function(name)
    except CrossbanditError:
        return None


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
