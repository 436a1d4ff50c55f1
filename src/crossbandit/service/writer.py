"""The thread that writes everything to the store. It commits all waiting items together."""

from __future__ import annotations

import time
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit.service.causes import (
    NotReadyError,
    OverloadedError,
    ServiceError,
    StoreError,
    UnknownBidderError,
)
from crossbandit.service.contents import encode
from crossbandit.service.store.rows import OUTCOMES, Append, Decide, Keep
from crossbandit.service.tally import Histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crossbandit.service.contents import Row
    from crossbandit.service.leases import HeldBidder
    from crossbandit.service.store import Session
    from crossbandit.service.store.rows import Checkpoint, DecisionRow, Policy, Write

_LARGEST = 5_000  # the most outcomes that are committed together
_DURATIONS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of commits, in seconds


class _Item(NamedTuple):
    bidder: int
    future: Future[Any]
    rows: list[Row] | None = None
    held: HeldBidder | None = None
    decision: DecisionRow | None = None
    keep: Keep | None = None

    @property
    def size(self) -> int:
        """The number of outcomes or decisions."""
        if self.keep is not None:
            return 0
        return 1 if self.rows is None else len(self.rows)

    @property
    def key(self) -> tuple[str, int]:
        """Items with the same key are one write: outcomes of a bidder, decisions under a lease."""
        if self.rows is not None:
            return "outcomes", self.bidder
        return ("decisions", id(self.held)) if self.keep is None else ("keep", id(self))


class Writer:
    """Writes outcomes, decisions, policies and checkpoints, in the order in which they come.

    Args:
        session: A connection that nothing else uses.
        clock: Returns the time in seconds.
        room: How many outcomes may wait.
        wrote: Called after a commit with the numbers of the bidders whose logs have grown.

    Attributes:
        commits: The number of commits.
        durations: The number of commits, by their duration.
        waiting: The number of outcomes that wait.
    """

    def __init__(
        self,
        session: Session,
        clock: Callable[[], float],
        room: int,
        wrote: Callable[[Iterable[int]], None],
    ) -> None:
        self._session, self._clock, self._room, self._wrote = session, clock, room, wrote
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
        """Add outcomes to the log of a bidder.

        Args:
            bidder: The number of the bidder.
            rows: The outcomes.

        Returns:
            A future that is done when the outcomes are durable.

        Raises:
            OverloadedError: Too many outcomes are waiting.
        """
        if self.waiting + len(rows) > self._room:
            raise OverloadedError(
                f"{self.waiting} outcomes are waiting to be stored, and there is room for "
                f"{self._room}. Try again later, or send smaller batches."
            )
        return self._put(_Item(bidder, Future(), rows=rows))

    def decide(self, held: HeldBidder, decision: DecisionRow) -> Future[None]:
        """Log a decision. The decisions of a bidder must come in order.

        Args:
            held: The bidder.
            decision: The decision.
        """
        return self._put(_Item(held.bidder, Future(), held=held, decision=decision))

    def keep(
        self, held: HeldBidder, policy: Policy | None, checkpoint: Checkpoint | None
    ) -> Future[None]:
        """Store a policy, a checkpoint or both, after all decisions that were logged before.

        Args:
            held: The bidder.
            policy: Its policy.
            checkpoint: Its checkpoint.
        """
        keep = Keep(held.bidder, held.fence, policy, checkpoint)
        return self._put(_Item(held.bidder, Future(), held=held, keep=keep))

    def _put(self, item: _Item) -> Future[Any]:
        with self._lock:
            if self._closed:
                raise StoreError("The node is closing. Use another node, or try again later.")
            self.waiting += item.size
            self._queue.put(item)
        return item.future

    # --- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            items, last = self._take()
            if items:
                self._commit(items)
            if last:
                return

    def _take(self) -> tuple[list[_Item], bool]:
        """Return the waiting items, and whether they are the last ones."""
        item = self._queue.get()
        items: list[_Item] = []
        count = 0
        while item is not None:
            items.append(item)
            count += len(item.rows or ())
            if count >= _LARGEST:
                return items, False
            try:
                item = self._queue.get_nowait()
            except Empty:
                return items, False
        return items, True

    def _commit(self, items: list[_Item]) -> None:
        before = time.perf_counter()
        error: ServiceError | None = None
        groups: dict[tuple[str, int], list[_Item]] = {}
        done: list[bool] = []
        for item in items:
            if item.held is None or not item.held.lost:
                groups.setdefault(item.key, []).append(item)
        try:
            if groups:
                writes = [_write(group) for group in groups.values()]
                done = self._session.write(writes, self._clock())
        except ServiceError as problem:
            error = problem
        except Exception as problem:  # noqa: BLE001 - tell the waiting callers, and continue
            error = StoreError(f"The store has failed: {problem!r}. Nothing was acknowledged.")
        self.commits += 1
        self.durations.note(time.perf_counter() - before)
        with self._lock:
            self.waiting -= sum(item.size for item in items)
        written = [group for group, good in zip(groups.values(), done, strict=False) if good]
        if written:
            self._wrote({group[0].bidder for group in written})
        finished = {id(item) for group in written for item in group}
        for item in items:
            _finish(item, error, done=id(item) in finished)


def _write(items: list[_Item]) -> Write:
    """Return one write for items with the same key."""
    first = items[0]
    if first.keep is not None:
        return first.keep
    if first.held is not None:
        decisions = [item.decision for item in items if item.decision is not None]
        return Decide(first.bidder, first.held.fence, decisions)
    rows = [row for item in items for row in item.rows or ()]
    return Append(first.bidder, len(rows), OUTCOMES, encode(rows))


def _finish(item: _Item, error: ServiceError | None, *, done: bool) -> None:
    """Complete the future of an item."""
    # A state is wrong if one of its decisions is not in the log, or if its lease is old.
    if not done and item.held is not None and (error is None or item.decision is not None):
        item.held.lost = True
    if not item.future.set_running_or_notify_cancel():
        return
    if done:
        item.future.set_result(None)
    elif error is not None:
        item.future.set_exception(error)
    elif item.held is not None:
        item.future.set_exception(
            NotReadyError("Another node decides for this bidder now. Try again.")
        )
    else:
        item.future.set_exception(
            UnknownBidderError("The bidder was deleted. Create it again, or drop its outcomes.")
        )
