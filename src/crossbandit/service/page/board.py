"""What all readers of the live page are shown: computed once for all of them, and not too often."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Any

from crossbandit.errors import CrossbanditError
from crossbandit.service.page.track import Track
from crossbandit.service.page.views import detail, row, summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.service.node import Node

_FRESH = 0.9  # seconds for which the figures are not asked for again
_DETAIL_FRESH = 1.9  # what is bid and believed takes longer to compute


class Board:
    """Keeps what the page shows for a moment; any number of threads may ask.

    Args:
        node: The node whose bidders are shown.
        clock: Returns the time in seconds since 1970.
    """

    def __init__(self, node: Node, clock: Callable[[], float] = time.time) -> None:
        self._node = node
        self._clock = clock
        self._lock = Lock()
        self._overview: tuple[float, dict[str, Any]] | None = None
        self._details: dict[str, tuple[float, dict[str, Any]]] = {}
        self._tracks: dict[str, Track] = {}

    def overview(self) -> dict[str, Any]:
        """Return a row for every bidder and a sentence about all."""
        with self._lock:
            now = self._clock()
            if self._overview is None or not 0 <= now - self._overview[0] <= _FRESH:
                self._overview = now, self._all(now)
            return self._overview[1]

    def _all(self, now: float) -> dict[str, Any]:
        found = {name: self._figures(name) for name in sorted(self._node.names())}
        known = {name: one for name, one in found.items() if one is not None}
        self._tracks = {name: self._tracks.get(name) or Track() for name in known}
        for name, one in known.items():
            self._tracks[name].note(now, one)
        return {
            "rows": [
                row(name, one, self._tracks[name].points(now, one)) for name, one in known.items()
            ],
            "summary": summary(list(known.values())),
        }

    def detail(self, name: str) -> dict[str, Any] | None:
        """Return all about one bidder.

        Args:
            name: Its name.

        Returns:
            As `crossbandit.service.page.views.detail`; None if there is no such bidder.
        """
        with self._lock:
            now = self._clock()
            kept = {
                key: one for key, one in self._details.items() if 0 <= now - one[0] <= _DETAIL_FRESH
            }
            if name not in kept:
                figures = self._figures(name)
                if figures is None:
                    return None
                points = self._tracks.setdefault(name, Track()).points(now, figures)
                kept[name] = now, detail(name, self._bidder(name), figures, points)
            self._details = kept
            return kept[name][1]

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
