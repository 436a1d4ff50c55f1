"""The two threads of a node that keep leases and learn."""

from __future__ import annotations

import logging
import math
import time
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

import msgspec

from crossbandit.errors import CrossbanditError
from crossbandit.service.causes import StoreError
from crossbandit.service.figures import learned_figures
from crossbandit.service.leases import Leases, new_holder
from crossbandit.service.live import PIECE, restore

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from crossbandit.service.figures import LearnedFigures
    from crossbandit.service.known import Directory
    from crossbandit.service.leases import HeldBidder
    from crossbandit.service.live import LiveBidder
    from crossbandit.service.store import Store
    from crossbandit.service.writer import Writer

_log = logging.getLogger("crossbandit.service")
_SHARE = 10.0  # publishing may take one tenth of the time ...
_LATEST = 5.0  # ... but happens at least every 5 seconds
_VIEWS = 5.0  # seconds for which a diagnosis is reused
_PRUNE = 60.0  # seconds between two searches for old entries


class LearnerThread:
    """Takes leases, learns for the bidders whose leases it has, and reads the policies of others.

    Args:
        store: The store.
        directory: The bidders.
        name: The name of the node; None for a new one.
        url: The address of the node, or None.
        learn: Whether to take leases.
        lease: How many seconds a lease lasts.
        poll: Seconds between two reads of the store.
        publish: The least number of seconds between two policies of a bidder.
        checkpoint_entries: A checkpoint is made after this many entries.
        checkpoint_seconds: A checkpoint is made after this many seconds.
        retention: How many seconds old entries are kept; None for ever.

    Attributes:
        writer: The thread that writes. Set it before the start.
        problem: The present problem with the store; None if there is none.
    """

    writer: Writer

    def __init__(
        self,
        store: Store,
        directory: Directory,
        *,
        name: str | None,
        url: str | None,
        learn: bool,
        lease: float,
        poll: float,
        publish: float,
        checkpoint_entries: int,
        checkpoint_seconds: float,
        retention: float | None,
    ) -> None:
        self._leases = Leases(store.session(), name or new_holder(), url, seconds=lease)
        self._session = store.session()
        self._directory, self._learn = directory, learn
        self._lease, self._poll, self._publish = lease, poll, publish
        self._checkpoint_entries = checkpoint_entries
        self._checkpoint_seconds, self._retention = checkpoint_seconds, retention
        self.problem: str | None = None
        self._due: dict[int, _Schedule] = {}
        self._grown: set[int] = set()
        self._lock = Lock()
        self._wake, self._look, self._closing = Event(), Event(), Event()
        self._threads = [
            Thread(target=self._keep_leases, name="crossbandit-leases", daemon=True),
            Thread(target=self._run, name="crossbandit-learner", daemon=True),
        ]

    def start(self) -> None:
        """Start both threads."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop learning, and make checkpoints of what was learned."""
        self._closing.set()
        self._look.set()
        self._wake.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        for held in list(self.held.values()):
            if held.live is not None and not held.lost:
                self._keep(held, checkpoint=True)
        self._session.close()

    def end_leases(self) -> None:
        """End all leases, so that other nodes take over at once. Call it after the last write."""
        self._leases.end()

    @property
    def holder(self) -> str:
        """The name under which leases are held."""
        return self._leases.holder

    @property
    def held(self) -> dict[int, HeldBidder]:
        """The bidders whose leases this node has, by number."""
        return self._leases.held

    def has_grown(self, bidders: Iterable[int]) -> None:
        """Wake the thread that learns, because logs have grown.

        Args:
            bidders: The numbers of the bidders.
        """
        with self._lock:
            self._grown.update(bidders)
        self._wake.set()

    def look(self) -> None:
        """Read the list of bidders, and wake the thread that keeps leases."""
        self._directory.refresh()
        self._look.set()

    # --- leases --------------------------------------------------------------------------------

    def _keep_leases(self) -> None:
        while not self._closing.is_set():
            self._look.clear()
            try:
                known = self._directory.refresh()
                if self._learn:
                    self._leases.take(known)
                behind = {
                    one.row.id
                    for one in known
                    if one.row.id in self.held and one.row.last > self._entry(one.row.id)
                }
                self.problem = None
                if behind:
                    self.has_grown(behind)
            except CrossbanditError as error:
                self._trouble(error)
            except Exception:  # noqa: BLE001 - nobody would notice that the thread has ended
                _log.exception("The leases could not be kept")
            self._look.wait(min(self._poll, self._lease / 3))

    def _entry(self, bidder: int) -> int:
        """Return the last entry that was learned; -1 for a bidder that has to be restored."""
        held = self.held.get(bidder)
        return held.live.entry if held is not None and held.live is not None else -1

    # --- learning ------------------------------------------------------------------------------

    def _run(self) -> None:
        pruned = time.monotonic()
        while not self._closing.is_set():
            self._wake.wait(self._next_due())
            self._wake.clear()
            with self._lock:
                grown, self._grown = self._grown, set()
            for held in list(self.held.values()):
                if self._closing.is_set():
                    return
                self._guarded(held, grown=held.bidder in grown)
            if self._retention is not None and time.monotonic() > pruned + _PRUNE:
                pruned = time.monotonic()
                self._prune(self._retention)

    def _guarded(self, held: HeldBidder, *, grown: bool) -> None:
        """Learn. If that fails, the bidder is restored from the store later."""
        try:
            if not held.lost:
                self._step(held, grown=grown)
        except Exception as error:  # noqa: BLE001 - the bidder is restored from the store
            held.lost = True
            if isinstance(error, CrossbanditError):
                self._trouble(error)
            else:
                self.problem = repr(error)
                _log.exception("A bidder could not learn")

    def _step(self, held: HeldBidder, *, grown: bool) -> None:
        if held.live is None:
            held.live = restore(self._session, held.bidder, self._directory.key)
            self._due[held.bidder] = _Schedule(held.live)
        live, due = held.live, self._due[held.bidder]
        if grown:
            entries = self._session.entries(held.bidder, live.entry, PIECE)
            for one in entries:
                live.learn(one)
            if entries:
                self.has_grown([held.bidder])  # there may be more
        now = time.monotonic()
        news = live.entry > due.published or live.decisions > due.decided
        if news and now >= due.publish_at:
            late = live.entry + live.decisions >= due.kept + self._checkpoint_entries
            late |= now >= due.kept_at + self._checkpoint_seconds
            self._keep(held, checkpoint=late)
            spent = time.monotonic() - now
            due.publish_at = now + max(self._publish, min(_SHARE * spent, _LATEST))

    def _keep(self, held: HeldBidder, *, checkpoint: bool) -> None:
        """Publish the policy, and make a checkpoint if `checkpoint` is True."""
        live = held.live
        if live is None:
            return
        now = self._directory.clock()
        due = self._due[held.bidder]
        with live.lock:
            again = due.views if time.monotonic() < due.views_at else None
            shown = learned_figures(live, now, again)
            if again is None:
                due.views, due.views_at = shown, time.monotonic() + _VIEWS
            policy = live.policy(now, msgspec.msgpack.encode(shown))
            kept = live.checkpoint() if checkpoint else None
            due.published, due.decided = live.entry, live.decisions
        if kept is not None:
            due.kept, due.kept_at = kept.entry + kept.decisions, time.monotonic()
        self.writer.keep(held, policy, kept).add_done_callback(lambda done: self._kept(due, done))

    def _kept(self, due: _Schedule, done: Future[None]) -> None:
        error = done.exception()
        if error is not None:
            due.again()
            if isinstance(error, StoreError):
                self._trouble(error)

    def _next_due(self) -> float:
        now = time.monotonic()
        waits = [
            due.publish_at - now
            for held in list(self.held.values())
            if (due := self._due.get(held.bidder)) is not None
            and held.live is not None
            and (held.live.entry > due.published or held.live.decisions > due.decided)
        ]
        return max(min([self._poll, *waits]), 0.001)

    def _prune(self, retention: float) -> None:
        try:
            for bidder in list(self.held):
                self._session.prune(bidder, self._directory.clock() - retention)
        except CrossbanditError as error:
            self._trouble(error)

    def _trouble(self, error: CrossbanditError) -> None:
        """Keep a problem, and log it once."""
        if self.problem != str(error):
            _log.warning("%s", error)
        self.problem = str(error)


class _Schedule:
    """When the next policy and the next checkpoint of a bidder are due."""

    def __init__(self, live: LiveBidder) -> None:
        self.published, self.decided = -1, live.decisions
        self.kept, self.kept_at = live.began, time.monotonic()
        self.publish_at = 0.0
        self.views: LearnedFigures | None = None
        self.views_at = 0.0

    def again(self) -> None:
        """Publish and make a checkpoint again, because the last ones could not be written."""
        self.published = -1
        self.kept_at = -math.inf
