"""One thread writes everything. It commits all waiting items together."""

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
from crossbandit.service.contents import rows_content
from crossbandit.service.store.rows import OUTCOMES, Append, Decide, Keep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crossbandit.service.contents import Row
    from crossbandit.service.live import LiveBidder
    from crossbandit.service.store.rows import (
        Checkpoint,
        DecisionRow,
        Policy,
        Session,
        Write,
    )

_LARGEST = 5_000  # outcomes that are committed together
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # seconds of a commit


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


class _Item(NamedTuple):
    bidder: int
    future: Future[Any]
    rows: list[Row] | None = None
    held: HeldBidder | None = None
    decision: DecisionRow | None = None
    keep: Keep | None = None


class Writer:
    """Writes outcomes, decisions, policies and checkpoints, in the order in which they come.

    Args:
        session: A connection that nothing else uses.
        clock: Returns the time in seconds.
        room: How many outcomes may wait.
        wrote: Called after a commit with the numbers of the bidders whose logs have grown.

    Attributes:
        commits: The number of commits.
        seconds: The total time of all commits.
        histogram: The number of commits for each of `BUCKETS`, and of longer ones.
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
        self.commits, self.seconds, self.waiting = 0, 0.0, 0
        self.histogram = [0] * (len(BUCKETS) + 1)

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
        return self._put(_Item(bidder, Future(), rows=rows), len(rows))

    def decide(self, held: HeldBidder, decision: DecisionRow) -> Future[None]:
        """Log a decision. The decisions of a bidder must come in order.

        Args:
            held: The bidder.
            decision: The decision.
        """
        return self._put(_Item(held.bidder, Future(), held=held, decision=decision), 1)

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
        return self._put(_Item(held.bidder, Future(), held=held, keep=keep), 0)

    def _put(self, item: _Item, count: int) -> Future[Any]:
        with self._lock:
            if self._closed:
                raise StoreError("The node is closing. Use another node, or try again later.")
            self.waiting += count
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
        writes: list[Write] = []
        of: list[int | None] = [None] * len(items)
        done: list[bool] = []
        try:
            writes, of = _joined(items)
            done = [False] * len(writes)
            if writes:
                done = self._session.write(writes, self._clock())
        except ServiceError as problem:
            error = problem
        except Exception as problem:  # noqa: BLE001 - tell the waiting callers, and continue
            error = StoreError(f"The store has failed: {problem!r}. Nothing was acknowledged.")
        spent = time.perf_counter() - before
        self.commits, self.seconds = self.commits + 1, self.seconds + spent
        self.histogram[sum(spent > limit for limit in BUCKETS)] += 1
        with self._lock:
            self.waiting -= sum(_count(item) for item in items)
        grown = {one.bidder for one, good in zip(writes, done, strict=True) if good}
        if grown:
            self._wrote(grown)
        for item, number in zip(items, of, strict=True):
            _finish(item, error, done=number is not None and done[number])


def _joined(items: list[_Item]) -> tuple[list[Write], list[int | None]]:
    """Return the writes, and for each item the index of its write; None if it is not written."""
    rows: dict[int, list[Row]] = {}
    decisions: dict[int, list[DecisionRow]] = {}
    writes: list[Any] = []
    places: dict[tuple[str, int], int] = {}
    of: list[int | None] = []
    for item in items:
        if item.held is not None and item.held.lost:
            of.append(None)
        elif item.rows is not None:
            rows.setdefault(item.bidder, []).extend(item.rows)
            of.append(_place(places, writes, ("rows", item.bidder)))
        elif item.held is not None and item.decision is not None:
            decisions.setdefault(id(item.held), []).append(item.decision)
            of.append(_place(places, writes, ("decisions", id(item.held))))
            writes[of[-1] or 0] = Decide(item.bidder, item.held.fence, decisions[id(item.held)])
        else:
            writes.append(item.keep)
            of.append(len(writes) - 1)
    for bidder, all_rows in rows.items():
        content = rows_content(all_rows)
        writes[places["rows", bidder]] = Append(bidder, len(all_rows), OUTCOMES, content)
    return writes, of


def _place(places: dict[tuple[str, int], int], writes: list[Any], key: tuple[str, int]) -> int:
    if key not in places:
        places[key] = len(writes)
        writes.append(None)
    return places[key]


def _count(item: _Item) -> int:
    return 0 if item.keep is not None else len(item.rows) if item.rows is not None else 1


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
