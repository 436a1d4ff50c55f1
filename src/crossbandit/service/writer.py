"""The thread that writes everything to the store. It commits all waiting items together.

If another process has locked rows of a bidder and does not go on, what is to be written for this
bidder waits, and is tried again until the rows are free. What is for other bidders is written.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from itertools import accumulate
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit.service.causes import (
    LockedError,
    NotReadyError,
    OverloadedError,
    ServiceError,
    StoreError,
    UnknownBidderError,
)
from crossbandit.service.contents import encode
from crossbandit.service.figures import Histogram
from crossbandit.service.store import OUTCOMES, Append, Decide, Keep

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from crossbandit.service.contents import Row
    from crossbandit.service.live import LiveBidder
    from crossbandit.service.store import Checkpoint, PolicyRow, Session, Write

_LARGEST = 5_000  # the most outcomes that are committed together
_AGAIN = 0.05  # seconds until a locked row is tried again
_GATHERING = 0.005  # seconds to wait for items that come together
_DURATIONS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of commits, in seconds


class _Item(NamedTuple):
    bidder: int
    future: Future[Any]
    rows: Sequence[Any] = ()  # outcomes; or decisions, if there is a state
    live: LiveBidder | None = None  # the state that made the decisions or is kept
    answer: Any = None  # the result of the future
    keep: Keep | None = None

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
        clock: Callable[[], float],
        room: int,
        patience: float,
        wrote: Callable[[Iterable[int]], None],
    ) -> None:
        self._session, self._clock, self._room, self._wrote = session, clock, room, wrote
        self._patience = patience
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

    def report(self, bidder: int, rows: list[Row]) -> Future[None]:
        """Add outcomes to the log of a bidder."""
        if self.waiting + len(rows) > self._room:
            raise OverloadedError(
                f"{self.waiting} outcomes are waiting to be stored, and there is room for "
                f"{self._room}. Try again later, or send smaller batches."
            )
        return self._put(_Item(bidder, Future(), rows))

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
                self._defer(self._commit(items), time.monotonic() + self._patience)
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
                return self._session.write(writes, self._clock())
            except LockedError:  # the process that has locked a row may have been stopped
                pass
        return self._session.write(writes, self._clock(), wait=False)

    def _finish_all(
        self, items: list[_Item], error: ServiceError | None, done: Container[int]
    ) -> None:
        with self._lock:
            self.waiting -= sum(len(item.rows) for item in items)
        for item in items:
            _finish(item, error, done=id(item) in done)

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
            self._defer(waiting.items[count:], now + self._patience)


def _write(items: list[_Item]) -> Write:
    """Return one write for items with the same key."""
    first, rows = items[0], [row for item in items for row in item.rows]
    if first.keep is not None:
        return first.keep
    if first.live is not None:
        return Decide(first.bidder, first.live.fence, rows)
    return Append(first.bidder, len(rows), OUTCOMES, encode(rows))


def _finish(item: _Item, error: ServiceError | None, *, done: bool) -> None:
    """Complete the future of an item."""
    live = item.live
    # A state is wrong if one of its decisions is not in the log, or if its lease is old.
    if not done and live is not None and (error is None or item.rows):
        live.lost = True
    if done and live is not None and item.rows:
        live.logged = item.rows[-1].number + 1
    if not item.future.set_running_or_notify_cancel():
        return
    if done:
        item.future.set_result(item.answer)
    elif error is not None:
        item.future.set_exception(error)
    elif live is not None:
        item.future.set_exception(
            NotReadyError("Another node decides for this bidder now. Try again.")
        )
    else:
        item.future.set_exception(
            UnknownBidderError("The bidder was deleted. Create it again, or drop its outcomes.")
        )
