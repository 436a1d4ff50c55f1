"""The data of the live page. It is computed at most once a second, for all its readers."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Any

from crossbandit.errors import CrossbanditError
from crossbandit.service.page.track import Track
from crossbandit.service.page.views import about, beliefs, detail, row, summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.service.figures import BidderFigures
    from crossbandit.service.node import Node

_FRESH = 0.9  # seconds for which figures are reused
_BELIEFS_FRESH = 1.9  # the same for policies and laws, which take longer to compute


class Board:
    """Computes the data of the page and keeps it for a second. Any thread may use it.

    Args:
        node: The node whose bidders are shown.
        clock: Returns the time in seconds since 1970.
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
        found = {name: self._figures(name) for name in sorted(self._node.names())}
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
        """Return the details of one bidder, as of the last overview.

        Args:
            name: Its name.

        Returns:
            As `crossbandit.service.page.views.detail`, with the charts of its policy and its law;
            None if there is no such bidder.
        """
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
            bidder = self._bidder(name)
            kept[name] = now, "" if bidder is None else about(bidder), beliefs(bidder)
        self._beliefs = kept
        return kept[name][1:]

    def _figures(self, name: str) -> Any:
        try:
            return self._node.figures(name)
        except CrossbanditError:  # it was deleted, or is not ready yet
            return None

    def _bidder(self, name: str) -> Any:
        try:
            return self._node.bidder(name)
        except CrossbanditError:
            return None
