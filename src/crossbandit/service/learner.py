"""The two threads of a node that keep leases and learn."""

from __future__ import annotations

import logging
import math
import os
import secrets
import time
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from crossbandit.errors import CrossbanditError
from crossbandit.service.causes import LockedError, StoreError
from crossbandit.service.figures import learned_figures
from crossbandit.service.known import LearningFailure
from crossbandit.service.live import PIECE, LiveBidder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from crossbandit.service.known import Directory, KnownBidder
    from crossbandit.service.store import Session
    from crossbandit.service.writer import Writer

_log = logging.getLogger("crossbandit.service")
_SHARE = 10.0  # publishing may take one tenth of the time ...
_LATEST = 5.0  # ... but happens at least every 5 seconds
_VIEWS = 5.0  # seconds for which a diagnosis is reused
_PRUNE = 60.0  # seconds between two searches for old entries
_LONGEST = 60.0  # seconds until a bidder that cannot learn is tried again, at most


class Leases:
    """Takes and renews leases, each with a state of its bidder. One thread calls `take`."""

    def __init__(self, session: Session, holder: str, url: str | None, seconds: float) -> None:
        self._session, self._url, self._seconds = session, url, seconds
        self.holder = holder

    def take(self, bidders: list[KnownBidder], key: bytes | None = None) -> None:
        """Renew the leases of this node, take those that are free, and mark the others as lost.

        A state that was lost is replaced under a new fence. A bidder that has just failed is left
        to other nodes for a while.
        """
        wanted = {}
        for one in bidders:
            holder = one.row.holder
            if one.failure is not None and time.monotonic() < one.failure.until:
                continue
            if holder and holder != self.holder and is_gone(holder):
                self._session.end_lease(one.row.id, holder)
                holder = ""
            if holder in ("", self.holder):
                live = one.live
                wanted[one.row.id] = 0 if live is None or live.lost else live.fence
        fences, until = {}, time.monotonic() + self._seconds
        if wanted:
            fences = self._session.take_leases(wanted, self.holder, self._url, self._seconds)
        for one in bidders:
            fence, live = fences.get(one.row.id), one.live
            if live is not None and (live.lost or live.fence != fence):
                live.lost, live = True, None
            if live is None and fence is not None and fence != wanted[one.row.id]:
                live = LiveBidder(number=one.row.id, fence=fence, key=key)
            if live is not None:
                live.until = until
            one.live = live

    def end(self, bidders: Iterable[KnownBidder]) -> None:
        """End the leases of bidders, and close the connection."""
        held = [one for one in bidders if one.live is not None]
        try:
            for one in held:
                self._session.end_lease(one.row.id, self.holder)
        except CrossbanditError as error:
            _log.warning("Leases could not be ended: %s", error)
        for one in held:
            one.live = None
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
    """Return whether a holder was a process on this machine that has ended."""
    machine, _, rest = holder.partition("/")
    process = rest.partition("/")[0]
    return machine == _machine() and process.isdigit() and not Path(f"/proc/{process}").exists()


# --- the two threads -----------------------------------------------------------------------------


class Timing(NamedTuple):
    """When a node reads, publishes and keeps; see `Node`."""

    lease: float
    poll: float
    publish: float
    checkpoint_entries: int
    checkpoint_seconds: float
    retention: float | None


class LearnerThread:
    """Takes leases, learns for the bidders whose leases it has and reads the policies of others."""

    writer: Writer  # The thread that writes. Set it before the start.

    def __init__(
        self, session: Session, directory: Directory, leases: Leases | None, timing: Timing
    ) -> None:
        self._session, self._directory, self._timing = session, directory, timing
        self._leases = leases  # without leases, it does not learn
        self.problem: str | None = None
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
        for bidder in self._directory.all():
            if bidder.state is not None and not bidder.state.lost:
                self._guarded(bidder, bidder.state, self._end)
        self._session.close()

    def _end(self, live: LiveBidder) -> None:
        live.finish(self._directory.clock())
        self._keep(live, checkpoint=True)

    def _states(self) -> list[LiveBidder]:
        """Return the states of all bidders whose leases this node has."""
        return [one.live for one in self._directory.all() if one.live is not None]

    def has_grown(self, bidders: Iterable[int]) -> None:
        """Wake the thread that learns, because logs have grown."""
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
                bidders = self._directory.refresh()
                if self._leases is not None:
                    self._leases.take(bidders, self._directory.key)
                behind = {
                    one.row.id
                    for one in bidders
                    if (live := one.live) and (not live.ready or one.row.last > live.entry)
                }
                self.problem = None
                if behind:
                    self.has_grown(behind)
            except CrossbanditError as error:
                self._trouble(error)
            except Exception:  # noqa: BLE001 - nobody would notice that the thread has ended
                _log.exception("The leases could not be kept")
            self._look.wait(min(self._timing.poll, self._timing.lease / 3))

    # --- learning ------------------------------------------------------------------------------

    def _run(self) -> None:
        pruned = time.monotonic()
        while not self._closing.is_set():
            self._wake.wait(self._next_due())
            self._wake.clear()
            with self._lock:
                grown, self._grown = self._grown, set()
            for bidder in self._directory.all():
                if self._closing.is_set():
                    return
                live = bidder.live
                if live is not None and not live.lost:
                    self._guarded(bidder, live, partial(self._step, grown=live.number in grown))
            if self._timing.retention is not None and time.monotonic() > pruned + _PRUNE:
                pruned = time.monotonic()
                self._prune(self._timing.retention)

    def _guarded(
        self, bidder: KnownBidder, live: LiveBidder, step: Callable[[LiveBidder], None]
    ) -> None:
        """Do a step. If that fails, the bidder is restored from the store later."""
        try:
            step(live)
            bidder.failure = None
        except StoreError as error:
            live.lost = True
            self._trouble(error)
        except Exception as error:  # noqa: BLE001 - the bidder is restored from the store
            live.lost = True
            self._fail(bidder, error)

    @staticmethod
    def _fail(bidder: KnownBidder, error: Exception) -> None:
        """Give up the lease of a bidder for a while. The other bidders are not concerned."""
        before, expected = bidder.failure, isinstance(error, CrossbanditError)
        rest = 1.0 if before is None else min(2 * before.rest, _LONGEST)
        reason = str(error) if expected else repr(error)
        problem = f"It does not learn. The node tries to restore it within a minute. {reason}"
        bidder.failure = LearningFailure(problem, rest, time.monotonic() + rest)
        if before is None or before.problem != problem:
            trace = None if expected else error
            _log.error("The bidder %r has a problem. %s", bidder.row.name, problem, exc_info=trace)

    def _step(self, live: LiveBidder, *, grown: bool) -> None:
        timing = self._timing
        if not live.ready:
            live.restore(self._session, self._directory.clock())
            live.kept_at = time.monotonic()
        if grown:
            entries = self._session.entries(live.number, live.entry, PIECE)
            for one in entries:
                live.learn(one)
            if entries:
                self.has_grown([live.number])  # there may be more
        now = time.monotonic()
        if live.news and now >= live.publish_at:
            late = live.entry + live.decisions >= live.kept + timing.checkpoint_entries
            late |= now >= live.kept_at + timing.checkpoint_seconds
            self._keep(live, checkpoint=late)
            spent = time.monotonic() - now
            live.publish_at = now + max(timing.publish, min(_SHARE * spent, _LATEST))

    def _keep(self, live: LiveBidder, *, checkpoint: bool) -> None:
        """Publish the policy, and make a checkpoint if `checkpoint` is True."""
        now = self._directory.clock()
        with live.lock:
            again = live.views if time.monotonic() < live.views_at else None
            shown = learned_figures(live, now, again)
            if again is None:
                live.views, live.views_at = shown, time.monotonic() + _VIEWS
            policy = live.policy(now, msgspec.msgpack.encode(shown))
            kept = live.checkpoint() if checkpoint else None
            live.published = live.entry, live.decisions
            if live.unlogged:
                self.writer.decide(live)
        if kept is not None:
            live.kept, live.kept_at = kept.entry + kept.decisions, time.monotonic()
        self.writer.keep(live, policy, kept).add_done_callback(lambda done: self._kept(live, done))

    def _kept(self, live: LiveBidder, done: Future[None]) -> None:
        """If a policy or a checkpoint could not be written, let both be made again."""
        error = done.exception()
        if error is not None:
            live.published, live.kept_at = None, -math.inf
            if isinstance(error, StoreError) and not isinstance(error, LockedError):
                self._trouble(error)

    def _next_due(self) -> float:
        now = time.monotonic()
        waits = [one.publish_at - now for one in self._states() if one.news and not one.lost]
        return max(min([self._timing.poll, *waits]), 0.001)

    def _prune(self, retention: float) -> None:
        try:
            for live in self._states():
                self._session.prune(live.number, self._directory.clock() - retention)
        except CrossbanditError as error:
            self._trouble(error)

    def _trouble(self, error: CrossbanditError) -> None:
        """Keep a problem, and log it once."""
        if self.problem != str(error):
            _log.warning("%s", error)
        self.problem = str(error)
