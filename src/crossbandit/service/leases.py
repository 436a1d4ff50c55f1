"""The leases of a node: for which bidders it learns, and under which fences it writes."""

from __future__ import annotations

import logging
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from crossbandit.errors import CrossbanditError

if TYPE_CHECKING:
    from crossbandit.service.known import KnownBidder
    from crossbandit.service.live import LiveBidder
    from crossbandit.service.store import Session

_log = logging.getLogger("crossbandit.service")


class HeldBidder:
    """A bidder whose lease this node has.

    Attributes:
        bidder: Its number.
        fence: The number of the lease. The store refuses writes with an older number.
        live: The bidder; None until it is restored.
        lost: Whether the lease was lost, or a write failed. The state may then differ from the log,
            and is dropped.
    """

    def __init__(self, bidder: int, fence: int) -> None:
        self.bidder, self.fence = bidder, fence
        self.live: LiveBidder | None = None
        self.lost = False


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


# --- holders -----------------------------------------------------------------------------------


def new_holder() -> str:
    """Return a name for this process as a holder of leases: machine, process, random digits."""
    return f"{_machine()}/{os.getpid()}/{secrets.token_hex(4)}"


def _machine() -> str:
    """Return a name of this machine, and of its process numbers. It changes with a restart."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return secrets.token_hex(8)


def is_gone(holder: str) -> bool:
    """Return whether a holder was a process on this machine that has ended.

    Args:
        holder: A name from `new_holder`, or any other name.
    """
    machine, _, rest = holder.partition("/")
    process = rest.partition("/")[0]
    return machine == _machine() and process.isdigit() and not Path(f"/proc/{process}").exists()
