"""The threads of a node: one keeps leases, one learns, one writes everything to the store.

The writer commits all waiting items together. If another process has locked rows of a bidder and
does not go on, what is to be written for this bidder waits, and is tried again until the rows are
free. What is for other bidders is written.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import time
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from crossbandit.errors import CrossbanditError
from crossbandit.service.bidder import PIECE, LearningFailure, LiveBidder
from crossbandit.service.causes import (
    LockedError,
    NotReadyError,
    OverloadedError,
    ServiceError,
    StoreError,
    UnknownBidderError,
)
from crossbandit.service.contents import encode
from crossbandit.service.figures import Histogram, learned_figures
from crossbandit.service.store import LEASE, OUTCOMES, Append, Decide, Keep

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from crossbandit.service.bidder import Directory, KnownBidder
    from crossbandit.service.contents import Row
    from crossbandit.service.store import Checkpoint, PolicyRow, Session, Write


_log = logging.getLogger("crossbandit.service")
_SHARE = 10.0  # publishing may take one tenth of the time ...
_LATEST = 5.0  # ... but happens at least every 5 seconds
_VIEWS = 5.0  # seconds for which a diagnosis is reused
_LARGEST = 5_000  # the most outcomes that are committed together
_AGAIN = 0.05  # seconds until a locked row is tried again
_GATHERING = 0.005  # seconds to wait for items that come together
_DURATIONS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of commits, in seconds
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


@dataclass(frozen=True)
class NodeOptions:
    """When a node reads, publishes and keeps, and how much may wait.

    Attributes:
        lease: How many seconds a lease lasts. If its node stops, another node takes over
            when the lease has expired. The locks of a node that stops end before.
        poll: Seconds between two reads of what other nodes have stored.
        publish: The least number of seconds between two policies of a bidder.
        checkpoint_entries: A checkpoint is made after this many entries.
        checkpoint_seconds: A checkpoint is made after this many seconds, if there are new entries.
        retention: How many seconds to keep entries that no recovery needs; None for ever.
        room: How many outcomes may wait to be stored.
        clock: Returns the time in seconds since 1970.
    """

    lease: float = LEASE
    poll: float = 1.0
    publish: float = 1.0
    checkpoint_entries: int = 100_000
    checkpoint_seconds: float = 300.0
    retention: float | None = 7 * 86_400.0
    room: int = 500_000
    clock: Callable[[], float] = time.time


class LearnerThread:
    """Takes leases, learns for the bidders whose leases it has and reads the policies of others."""

    writer: Writer  # The thread that writes. Set it before the start.

    def __init__(
        self, session: Session, directory: Directory, leases: Leases | None, options: NodeOptions
    ) -> None:
        self._session, self._directory, self._options = session, directory, options
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
            self._look.wait(min(self._options.poll, self._options.lease / 3))

    # --- learning ------------------------------------------------------------------------------

    def _run(self) -> None:
        pruned = time.monotonic()
        while not self._closing.is_set():
            now = time.monotonic()
            due = [one.publish_at - now for one in self._states() if one.news and not one.lost]
            self._wake.wait(max(min([self._options.poll, *due]), 0.001))
            self._wake.clear()
            with self._lock:
                grown, self._grown = self._grown, set()
            for bidder in self._directory.all():
                if self._closing.is_set():
                    return
                live = bidder.live
                if live is not None and not live.lost:
                    self._guarded(bidder, live, partial(self._step, grown=live.number in grown))
            kept = self._options.retention
            if kept is not None and time.monotonic() > pruned + _PRUNE:
                pruned = time.monotonic()
                try:
                    for live in self._states():
                        self._session.prune(live.number, self._directory.clock() - kept)
                except CrossbanditError as error:
                    self._trouble(error)

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
            live.lost, before = True, bidder.failure
            expected = isinstance(error, CrossbanditError)
            reason, trace = (str(error), None) if expected else (repr(error), error)
            problem = f"It does not learn. The node tries to restore it within a minute. {reason}"
            rest = 1.0 if before is None else min(2 * before.rest, _LONGEST)
            # Its lease is given up for a while. The other bidders are not concerned.
            bidder.failure = LearningFailure(problem, rest, time.monotonic() + rest)
            if before is None or before.problem != problem:
                name = bidder.row.name
                _log.error("The bidder %r has a problem. %s", name, problem, exc_info=trace)

    def _step(self, live: LiveBidder, *, grown: bool) -> None:
        options = self._options
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
            late = live.entry + live.decisions >= live.kept + options.checkpoint_entries
            late |= now >= live.kept_at + options.checkpoint_seconds
            self._keep(live, checkpoint=late)
            spent = time.monotonic() - now
            live.publish_at = now + max(options.publish, min(_SHARE * spent, _LATEST))

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

    def _trouble(self, error: CrossbanditError) -> None:
        """Keep a problem, and log it once."""
        if self.problem != str(error):
            _log.warning("%s", error)
        self.problem = str(error)


class _Item(NamedTuple):
    bidder: int
    future: Future[Any]
    rows: Sequence[Any] = ()  # outcomes; or decisions, if there is a state
    live: LiveBidder | None = None  # the state that made the decisions or is kept
    answer: Any = None  # the result of the future
    keep: Keep | None = None
    failed: Callable[[], object] | None = None  # called before the future has an error

    @property
    def key(self) -> tuple[str, int]:
        """Items with the same key are one write: outcomes of a bidder, decisions under a lease."""
        if self.live is None:
            return "outcomes", self.bidder
        return ("decisions", id(self.live)) if self.keep is None else ("keep", id(self))


class _Late(NamedTuple):
    """The items of a bidder whose rows another process has locked, and when they are given up."""

    items: list[_Item]
    until: float


class Writer:
    """Writes outcomes, decisions, policies and checkpoints, in the order in which they come."""

    def __init__(
        self,
        session: Session,
        options: NodeOptions,
        wrote: Callable[[Iterable[int]], None],
    ) -> None:
        self._session, self._options, self._wrote = session, options, wrote
        self._late: dict[int, _Late] = {}
        self._again_at = 0.0
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._lock = Lock()
        self._thread = Thread(target=self._run, name="crossbandit-writer", daemon=True)
        self._closed = False
        self.commits, self.waiting = 0, 0
        self.durations = Histogram(_DURATIONS)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Write all waiting items, and end the thread."""
        with self._lock:
            closed, self._closed = self._closed, True
        if not closed and self._thread.ident is not None:
            self._queue.put(None)
            self._thread.join()
        self._session.close()

    def report(
        self, bidder: int, rows: list[Row], answer: Any, failed: Callable[[], object]
    ) -> Future[Any]:
        """Add outcomes to the log of a bidder. If they are not added, `failed` is called first."""
        if self.waiting + len(rows) > self._options.room:
            raise OverloadedError(
                f"{self.waiting} outcomes are waiting to be stored, and there is room for "
                f"{self._options.room}. Try again later, or send smaller batches."
            )
        return self._put(_Item(bidder, Future(), rows, answer=answer, failed=failed))

    def decide(self, live: LiveBidder, answer: Any = None) -> Future[Any]:
        """Log the decisions of a bidder that are not logged yet. Its lock must be held."""
        decisions, live.unlogged = live.unlogged, []
        return self._put(_Item(live.number, Future(), decisions, live, answer))

    def keep(
        self, live: LiveBidder, policy: PolicyRow | None, checkpoint: Checkpoint | None
    ) -> Future[None]:
        """Store a policy, a checkpoint or both, after all decisions that were logged before."""
        keep = Keep(live.number, live.fence, policy, checkpoint)
        return self._put(_Item(live.number, Future(), live=live, keep=keep))

    def _put(self, item: _Item) -> Future[Any]:
        with self._lock:
            if self._closed:
                raise StoreError("The node is closing. Use another node, or try again later.")
            self.waiting += len(item.rows)
            self._queue.put(item)
        return item.future

    # --- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        several = False
        while True:
            items, last = self._take(several)
            several = len(items) > 1
            if items:
                self._defer(self._commit(items), time.monotonic() + self._options.lease)
            self._try_again()
            while last and self._late:
                time.sleep(_AGAIN)
                self._try_again()
            if last:
                return

    def _take(self, several: bool) -> tuple[list[_Item], bool]:  # noqa: FBT001 - it is private
        """Return the waiting items of bidders that are not late, and whether they are the last.

        several: whether several items came together before. Then others follow soon, and one commit
        for all of them costs little more than one for the first.
        """
        items: list[_Item] = []
        try:
            wait = max(self._again_at - time.monotonic(), 0.0) if self._late else None
            item = self._queue.get(timeout=wait)
        except Empty:
            return items, False
        if several:
            time.sleep(_GATHERING)
        count = 0
        while item is not None:
            # The items of a bidder stay in order.
            late = self._late.get(item.bidder)
            (items if late is None else late.items).append(item)
            count += len(item.rows) if item.live is None else 0
            if count >= _LARGEST:
                return items, False
            try:
                item = self._queue.get_nowait()
            except Empty:
                return items, False
        return items, True

    def _commit(self, items: list[_Item], *, wait: bool = True) -> list[_Item]:
        """Write items together; return those that need a row that is locked."""
        before = time.perf_counter()
        error: ServiceError | None = None
        groups: dict[tuple[str, int], list[_Item]] = {}
        done: list[bool | None] = []
        for item in items:
            if item.live is None or not item.live.lost:
                groups.setdefault(item.key, []).append(item)
        try:
            if groups:
                done = self._store([_write(group) for group in groups.values()], wait=wait)
        except ServiceError as problem:
            error = problem
        except Exception as problem:  # noqa: BLE001 - tell the waiting callers, and continue
            error = StoreError(f"The store has failed: {problem!r}. Nothing was acknowledged.")
        pairs = list(zip(groups.values(), done, strict=False))
        written = {id(one): one for group, made in pairs if made for one in group}
        locked = [one for group, made in pairs if made is None for one in group]
        if len(locked) < len(items):
            self.commits += 1
            self.durations.note(time.perf_counter() - before)
        grown = {one.bidder for one in written.values() if one.live is None}
        if grown:
            self._wrote(grown)
        kept = set(map(id, locked))
        self._finish_all([one for one in items if id(one) not in kept], error, written)
        return locked

    def _store(self, writes: list[Write], *, wait: bool) -> list[bool | None]:
        if wait:
            try:
                return self._session.write(writes, self._options.clock())
            except LockedError:  # the process that has locked a row may have been stopped
                pass
        return self._session.write(writes, self._options.clock(), wait=False)

    def _finish_all(
        self, items: list[_Item], error: ServiceError | None, done: Container[int]
    ) -> None:
        with self._lock:
            self.waiting -= sum(len(item.rows) for item in items)
        for item in items:
            live, written = item.live, id(item) in done
            # A state is wrong if one of its decisions is not in the log, or if its lease is old.
            if not written and live is not None and (error is None or item.rows):
                live.lost = True
            if written and live is not None and item.rows:
                live.logged = item.rows[-1].number + 1
            if not written and item.failed is not None:
                item.failed()
            if not item.future.set_running_or_notify_cancel():
                continue
            if written:
                item.future.set_result(item.answer)
            else:
                item.future.set_exception(error or _refusal(item))

    # --- locked rows ---------------------------------------------------------------------------

    def _defer(self, items: list[_Item], until: float) -> None:
        """Try items again later, until a time."""
        for item in items:
            self._late.setdefault(item.bidder, _Late([], until)).items.append(item)

    def _try_again(self) -> None:
        """Write what waits for locked rows, if they are free now. Give up what has waited long."""
        now = time.monotonic()
        if not self._late or now < self._again_at:
            return
        self._again_at = now + _AGAIN
        late, self._late = self._late, {}
        for waiting in late.values():
            if now > waiting.until:
                error = LockedError(
                    "Another process has locked this bidder in the store, and does not go on. "
                    "Nothing was acknowledged. Try again."
                )
                self._finish_all(waiting.items, error, ())
                continue
            sizes = accumulate(len(item.rows) for item in waiting.items)
            count = 1 + sum(size < _LARGEST for size in sizes)
            self._defer(self._commit(waiting.items[:count], wait=False), waiting.until)
            self._defer(waiting.items[count:], now + self._options.lease)


def _write(items: list[_Item]) -> Write:
    """Return one write for items with the same key."""
    first, rows = items[0], [row for item in items for row in item.rows]
    if first.keep is not None:
        return first.keep
    if first.live is not None:
        return Decide(first.bidder, first.live.fence, rows)
    return Append(first.bidder, len(rows), OUTCOMES, encode(rows))


def _refusal(item: _Item) -> ServiceError:
    """Return the error for an item that the store has refused."""
    if item.live is not None:
        return NotReadyError("Another node decides for this bidder now. Try again.")
    return UnknownBidderError("The bidder was deleted. Create it again, or drop its outcomes.")
