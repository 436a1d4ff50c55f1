"""The two threads of a node that keep leases and learn."""

from __future__ import annotations

import logging
import math
import os
import secrets
import time
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from crossbandit.errors import CrossbanditError
from crossbandit.service.causes import LockedError, StoreError
from crossbandit.service.figures import learned_figures
from crossbandit.service.live import PIECE, restore

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from crossbandit.service.figures import LearnedFigures
    from crossbandit.service.known import Directory, KnownBidder
    from crossbandit.service.live import LiveBidder
    from crossbandit.service.store import Session, Store
    from crossbandit.service.writer import Writer


class HeldBidder:
    """A bidder whose lease this node has."""

    def __init__(self, bidder: int, fence: int) -> None:
        self.bidder, self.fence = bidder, fence
        self.live: LiveBidder | None = None
        self.lost = False
        self.until, self.logged = 0.0, 0


class Leases:
    """Takes and renews leases. One thread calls `take`; any thread may read `held`."""

    def __init__(self, session: Session, holder: str, url: str | None, *, seconds: float) -> None:
        self._session, self._url, self._seconds = session, url, seconds
        self.holder = holder
        self.held: dict[int, HeldBidder] = {}

    def take(self, known: list[KnownBidder]) -> None:
        """Renew the leases of this node, and take those that are free."""
        free = []
        for one in known:
            holder = one.row.holder
            if holder and holder != self.holder and is_gone(holder):
                self._session.end_lease(one.row.id, holder)
                holder = ""
            if holder in ("", self.holder):
                free.append(one.row.id)
        fences, until = {}, time.monotonic() + self._seconds
        if free:
            fences = self._session.take_leases(free, self.holder, self._url, self._seconds)
        self._replace(fences, until)

    def _replace(self, fences: dict[int, int], until: float) -> None:
        """Hold the leases with these fences, and mark all others as lost."""
        held = {}
        for bidder, fence in fences.items():
            now = self.held.get(bidder)
            if now is None or now.lost or now.fence != fence:
                now = HeldBidder(bidder, fence)
            now.until = until
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
    """Return whether a holder was a process on this machine that has ended."""
    machine, _, rest = holder.partition("/")
    process = rest.partition("/")[0]
    return machine == _machine() and process.isdigit() and not Path(f"/proc/{process}").exists()


# --- the two threads -----------------------------------------------------------------------------


_log = logging.getLogger("crossbandit.service")
_SHARE = 10.0  # publishing may take one tenth of the time ...
_LATEST = 5.0  # ... but happens at least every 5 seconds
_VIEWS = 5.0  # seconds for which a diagnosis is reused
_PRUNE = 60.0  # seconds between two searches for old entries
_LONGEST = 60.0  # seconds until a bidder that cannot learn is tried again, at most


class LearnerThread:
    """Takes leases, learns for the bidders whose leases it has and reads the policies of others."""

    writer: Writer  # The thread that writes. Set it before the start.

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
        self._leases = Leases(store.session(lease), name or new_holder(), url, seconds=lease)
        self._session = store.session(lease)
        self._directory, self._learn = directory, learn
        self._lease, self._poll, self._publish = lease, poll, publish
        self._checkpoint_entries = checkpoint_entries
        self._checkpoint_seconds, self._retention = checkpoint_seconds, retention
        self.problem: str | None = None
        self._due: dict[int, _Schedule] = {}
        self._failures: dict[int, _Failure] = {}
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
                held.live.finish(self._directory.clock())
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

    def problem_of(self, bidder: int) -> str | None:
        """Return why this node cannot learn for a bidder; None if it can."""
        failure = self._failures.get(bidder)
        return None if failure is None else failure.problem

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
                known = self._directory.refresh()
                if self._learn:
                    self._leases.take(self._able(known))
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

    def _able(self, known: list[KnownBidder]) -> list[KnownBidder]:
        """Return the bidders without those that have just failed. Another node may take them."""
        numbers = {one.row.id for one in known}
        for deleted in [one for one in self._failures if one not in numbers]:
            self._failures.pop(deleted, None)
        now = time.monotonic()
        resting = {one for one, failure in list(self._failures.items()) if now < failure.until}
        return [one for one in known if one.row.id not in resting]

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
                self._failures.pop(held.bidder, None)
        except StoreError as error:
            held.lost = True
            self._trouble(error)
        except Exception as error:  # noqa: BLE001 - the bidder is restored from the store
            held.lost = True
            self._fail(held.bidder, error)

    def _fail(self, bidder: int, error: Exception) -> None:
        """Give up the lease of a bidder for a while. The other bidders are not concerned."""
        before = self._failures.get(bidder)
        rest = 1.0 if before is None else min(2 * before.rest, _LONGEST)
        reason = str(error) if isinstance(error, CrossbanditError) else repr(error)
        problem = f"It does not learn. The node tries to restore it within a minute. {reason}"
        self._failures[bidder] = _Failure(problem, rest, time.monotonic() + rest)
        if before is None or before.problem != problem:
            known = list(self._directory.bidders.values())
            name = next((one.row.name for one in known if one.row.id == bidder), "")
            trace = None if isinstance(error, CrossbanditError) else error
            _log.error("The bidder %r has a problem. %s", name, problem, exc_info=trace)

    def _step(self, held: HeldBidder, *, grown: bool) -> None:
        if held.live is None:
            key, now = self._directory.key, self._directory.clock()
            held.live = restore(self._session, held.bidder, key, now)
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
            if live.unlogged:
                self.writer.decide(held, live)
        if kept is not None:
            due.kept, due.kept_at = kept.entry + kept.decisions, time.monotonic()
        self.writer.keep(held, policy, kept).add_done_callback(lambda done: self._kept(due, done))

    def _kept(self, due: _Schedule, done: Future[None]) -> None:
        error = done.exception()
        if error is not None:
            due.again()
            if isinstance(error, StoreError) and not isinstance(error, LockedError):
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


class _Failure(NamedTuple):
    """Why a bidder could not be restored or learn, and when it is tried again."""

    problem: str
    rest: float
    until: float


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
