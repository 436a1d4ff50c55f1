"""The leases of a node: for which bidders it learns, and under which fences it writes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from crossbandit.errors import CrossbanditError
from crossbandit.service.holders import is_gone
from crossbandit.service.writer import HeldBidder

if TYPE_CHECKING:
    from crossbandit.service.known import KnownBidder
    from crossbandit.service.store.rows import Session

_log = logging.getLogger("crossbandit.service")


class Leases:
    """Takes and renews leases. One thread calls `take`; any thread may read `held`.

    Args:
        session: A connection to the store, used for nothing else.
        holder: The name under which leases are held.
        url: The address of the node, or None.
        seconds: How many seconds a lease lasts.

    Attributes:
        holder: The name under which leases are held.
        held: The bidders whose leases this node has, by number.
    """

    def __init__(self, session: Session, holder: str, url: str | None, *, seconds: float) -> None:
        self._session, self._url, self._seconds = session, url, seconds
        self.holder = holder
        self.held: dict[int, HeldBidder] = {}

    def take(self, known: list[KnownBidder]) -> None:
        """Renew the leases of this node, and take those that are free.

        Args:
            known: All bidders.
        """
        free = []
        for one in known:
            holder = one.row.holder
            if holder and holder != self.holder and is_gone(holder):
                self._session.end_lease(one.row.id, holder)
                holder = ""
            if holder in ("", self.holder):
                free.append(one.row.id)
        fences = {}
        if free:
            fences = self._session.take_leases(free, self.holder, self._url, self._seconds)
        self._replace(fences)

    def _replace(self, fences: dict[int, int]) -> None:
        """Hold the leases with these fences, and mark all others as lost."""
        held = {}
        for bidder, fence in fences.items():
            now = self.held.get(bidder)
            if now is None or now.lost or now.fence != fence:
                now = HeldBidder(bidder, fence)
            held[bidder] = now
        for bidder, before in self.held.items():
            if held.get(bidder) is not before:
                before.lost = True
        self.held = held

    def end(self) -> None:
        """End all leases, and close the connection."""
        try:
            for bidder in list(self.held):
                self._session.end_lease(bidder, self.holder)
        except CrossbanditError as error:
            _log.warning("Leases could not be ended: %s", error)
        self.held = {}
        self._session.close()
