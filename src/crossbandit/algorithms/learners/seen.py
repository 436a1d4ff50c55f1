"""An exact, bounded memory of the decisions that were learned from."""

from __future__ import annotations

import heapq
import itertools
import os
import time as system_time
from array import array
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms.learners.seen_core import Page, SeenPages
from crossbandit.core import record
from crossbandit.core.steps import at_once
from crossbandit.core.validation import integer, number
from crossbandit.errors import CheckpointError, ExpiredDecisionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from crossbandit.core.types import Booleans, Floats, Integers

SHIFT = 10
PAGE = 1 << SHIFT  # decisions on a page
WINDOW = 7 * 86_400.0
LIMIT = 1 << 25
_SKEW = 60.0  # seconds by which clocks of machines may differ
_SHARE = 8  # one page of so many may be dated further ahead


def new_id() -> str:
    """Return an id for a learner or a decider: 16 random hexadecimal digits."""
    return os.urandom(8).hex()


class SeenDecisions(SeenPages):
    """Remembers which decisions were learned from, with a code of the outcome of each.

    A decision is named by its decider and a counter. Its code is 0 until another is set. Codes
    are kept on pages of 1,024 consecutive decisions of a decider, 2 bytes for each decision.

    Memory is bounded in two ways. A page whose decisions are all older than `window` is dropped. If
    the pages have room for more than `limit` decisions, the oldest page is dropped. A
    dropped decision never counts as new: a decision that is older than the window, or not later
    than one on a dropped page, has expired.

    If the clock is set back, nothing expires early and nothing counts twice. A decision dated more
    than a window in the future is refused: its page would stay in memory until then. One eighth of
    the pages may be dated in the future; then further decisions dated so are refused, because dates
    can be forged, and the pages of all others would be dropped before these.

    The class has no lock: its owner must hold one.

    >>> seen = SeenDecisions(window=60.0, clock=lambda: 100.0)
    >>> seen.check("00000000000000aa", 3, 95.0)
    0
    >>> seen.put_many("00000000000000aa", np.array([3]), np.array([95.0]), 2)
    >>> seen.check("00000000000000aa", 3, 95.0)
    2
    """

    def __init__(
        self,
        *,
        window: float = WINDOW,
        limit: int = LIMIT,
        clock: Callable[[], float] = system_time.time,
    ) -> None:
        self.window = window
        self.limit = limit
        self.clock = clock
        self.pages = {}  # by decider and number
        self.latest, self.decider, self.number = None, None, -1
        self._oldest: list[tuple[float, str, int]] = []  # a heap; its times may be outdated
        self._ahead: set[tuple[str, int]] = set()  # pages that were dated in the future
        self._looked = -np.inf  # when pages that are not any more were last looked for
        self.dropped = -np.inf  # the latest time of a decision on a dropped page
        self.generation = 0

    @property
    def window(self) -> float:
        """For how long decisions are remembered, in seconds; may be set."""
        return self.span

    @window.setter
    def window(self, seconds: float) -> None:
        self.span = number("SeenDecisions", "window", seconds, above=0)

    @property
    def limit(self) -> int:
        """How many decisions the pages may hold together; may be set."""
        return self._limit

    @limit.setter
    def limit(self, decisions: int) -> None:
        self._limit = integer("SeenDecisions", "limit", decisions, at_least=1)
        self._most = -(-self._limit // PAGE)  # pages
        self._most_ahead = max(self._most // _SHARE, 1)

    @property
    def nbytes(self) -> int:
        """The memory of the codes, in bytes."""
        return 2 * PAGE * len(self.pages)

    # --- decisions -----------------------------------------------------------------------------

    def check(self, decider: str, counter: int, time: float) -> int:
        """Return the code of a decision, 0 if it was not learned from."""
        self.require(time)
        return self.code(decider, counter)

    def code(self, decider: str, counter: int) -> int:
        """Return the code of a decision of any age; 0 if it is not remembered."""
        page = self.pages.get((decider, counter >> SHIFT))
        return 0 if page is None else page.codes[counter & (PAGE - 1)]

    def page_if_live(self, decider: str, counter: int, time: float) -> Page | None:
        """Return what `page_of` returns; None if the decision has expired."""
        return None if self._is_expired(time) else self.live_page(decider, counter, time)

    def live_page(self, decider: str, counter: int, time: float) -> Page:
        """Do what `page_of` does for a decision that is known not to have expired."""
        page = self.pages.get((decider, counter >> SHIFT))
        if page is None or page.generation != self.generation or page.newest < time:
            page = self._page(decider, counter >> SHIFT, time)
        return page

    def require(self, time: float) -> None:
        """Raise if a decision of this time has expired."""
        if self._is_expired(time):
            raise self._expiry(time)

    def _is_expired(self, time: float) -> bool:
        now = self.clock()
        return time <= self.dropped or not now - self.span <= time <= self._latest(now)

    def _expiry(self, time: float) -> ExpiredDecisionError:
        age = self.clock() - time
        if age < 0:
            return ExpiredDecisionError(
                f"The decision is dated {-age:.0f} seconds in the future. That is more than the "
                f"window of {self.span:.0f} seconds, or there are too many such decisions. Set "
                "the clock of the machine that made it."
            )
        return ExpiredDecisionError(
            f"The decision was made {age:.0f} seconds ago and has expired: decisions are "
            f"remembered for {self.span:.0f} seconds, and at most {self._limit} of them. Send "
            "feedback earlier, or start with a longer window or a larger limit."
        )

    def expired(self, times: Floats) -> Booleans:
        """Return which decisions have expired, as `check` would say."""
        now = self.clock()
        recent = (times >= now - self.span) & (times <= self._latest(now))
        outcome: Booleans = ~recent | (times <= self.dropped)
        return outcome

    def codes(self, decider: str, counters: Integers, *, run: bool = False) -> Integers:
        """Return the codes of decisions of one decider. run: whether they are consecutive."""
        out = np.zeros(counters.size, dtype=np.int64)
        for number_, at, places in by_page(counters, run=run):
            page = self.pages.get((decider, number_))
            if page is not None:
                out[places] = codes_of(page)[at]
        return out

    def put_many(self, decider: str, counters: Integers, times: Floats, codes: Any = 1) -> None:
        """Set the codes of decisions of one decider that have not expired."""
        new = np.broadcast_to(np.asarray(codes), counters.shape)
        at_once(*self.putting(decider, counters, times, new))

    def putting(
        self,
        decider: str,
        counters: Integers,
        times: Floats,
        codes: npt.NDArray[Any],
        *,
        run: bool = False,
    ) -> list[Callable[[], Any]]:
        """Return the steps that do what `put_many` does; see `at_once`.

        codes: they may be set until the steps are made. run: whether the decisions are consecutive
        and were made at one time.
        """
        steps: list[Callable[[], Any]] = []
        for number_, at, places in by_page(counters, run=run):
            newest = float(times[0] if run else times[places].max())
            page = codes_of(self._page(decider, number_, newest))
            if isinstance(places, slice):
                new = codes[places]
            else:  # a copy would have the codes of now
                new = np.empty(places.size, dtype=codes.dtype)
                steps.append(partial(codes.take, places, None, new))
            steps.append(partial(page.__setitem__, at, new))
        return steps

    # --- saving --------------------------------------------------------------------------------

    def freeze(self) -> Callable[[], dict[str, npt.NDArray[Any]]]:
        """Return a function that returns everything as arrays, as it is now.

        Call `freeze` under the owner's lock: it takes a fraction of a millisecond. The function
        does the work, and needs no lock: pages are copied before they are changed again.
        """
        pages, dropped = self.pages.copy(), self.dropped
        self.generation += 1
        return partial(to_arrays, pages, dropped)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Replace what is remembered by what the function from `freeze` returned."""
        record.check(_MODEL, arrays, _FIELDS, "memory of decisions")
        names = [f"{one:016x}" for one in arrays["deciders"].tolist()]
        keys = list(zip(names, arrays["numbers"].tolist(), strict=True))
        contents = [array("H", one.tobytes()) for one in arrays["codes"]]
        pages = {
            key: Page(codes, newest, self.generation)
            for key, codes, newest in zip(keys, contents, arrays["newest"].tolist(), strict=True)
        }
        if len(pages) != len(keys):
            raise CheckpointError("Its memory of decisions has a page twice.")
        self.latest = None
        self.pages, self.dropped = pages, max([-np.inf, *arrays["dropped"].tolist()])
        self._ahead, self._looked = set(pages), -np.inf
        self._oldest = [(page.newest, *key) for key, page in pages.items()]
        heapq.heapify(self._oldest)

    def merge(self, other: SeenDecisions) -> None:
        """Add what another memory remembers."""
        for (decider, number_), page in other.pages.items():
            own = self._page(decider, number_, page.newest)
            own.codes[:] = page.codes
        self.dropped = max(self.dropped, other.dropped)

    # --- pages ---------------------------------------------------------------------------------

    def _page(self, decider: str, number_: int, time: float) -> Page:
        """Return a page that may be changed, with a decision of this time on it."""
        key = (decider, number_)
        page = self.pages.get(key)
        if page is None:
            # If an interrupt comes between the two, `_drop` removes the entry without a page.
            heapq.heappush(self._oldest, (time, decider, number_))
            page = self.pages[key] = Page(array("H", bytes(2 * PAGE)), time, self.generation)
            self._drop(keep=key)
        elif page.generation != self.generation:
            page = self.pages[key] = page.copied(self.generation)
            self.latest = None
        page.newest = max(page.newest, time)
        if time > self.clock() + _SKEW:
            self._ahead.add(key)
        return page

    def _latest(self, now: float) -> float:
        """Return the latest date that a decision may have."""
        if len(self._ahead) < self._most_ahead:
            return now + self.span
        if not self._looked <= now <= self._looked + _SKEW:
            self._looked, pages = now, self.pages
            ahead = {key for key in self._ahead if key in pages}
            self._ahead = {key for key in ahead if pages[key].newest > now + _SKEW}
        many = len(self._ahead) >= self._most_ahead
        return now + (min(_SKEW, self.span) if many else self.span)

    def _drop(self, keep: tuple[str, int]) -> None:
        """Drop pages that are too old or too many, except one."""
        cut = self.clock() - self.span
        kept = None
        while self._oldest and (self._oldest[0][0] < cut or len(self.pages) > self._most):
            entry = heapq.heappop(self._oldest)
            time, key = entry[0], entry[1:]
            page = self.pages.get(key)
            if page is None:
                continue
            if key == keep:
                kept = entry
            elif page.newest > time:  # decisions have been added since
                heapq.heappush(self._oldest, (page.newest, *key))
            else:
                self.dropped = max(self.dropped, page.newest)  # first: an interrupt may come
                self.latest = None
                del self.pages[key]
        if kept is not None:
            heapq.heappush(self._oldest, kept)


# ------------------------------------------------------------------------------------------- pages

_PAGES = record.Field(rows="pages", grows=True)
_FIELDS = {
    "deciders": _PAGES,
    "numbers": _PAGES._replace(low=0),
    "newest": _PAGES,
    "codes": _PAGES,
    "dropped": record.Field(rows="dropped"),
}
_MODEL: dict[str, npt.NDArray[Any]] = {
    "deciders": np.empty(0, dtype=np.uint64),
    "numbers": np.empty(0, dtype=np.int64),
    "newest": np.empty(0),
    "codes": np.empty((0, PAGE), dtype=np.uint16),
    "dropped": np.empty(1),  # or 0, if no page was dropped
}


def codes_of(page: Page) -> npt.NDArray[np.uint16]:
    """Return the codes of a page as an array that shares its memory."""
    return np.frombuffer(page.codes, dtype=np.uint16)


def ascending(counters: Integers) -> bool:
    """Return whether each number is higher than the one before."""
    return bool((counters[1:] > counters[:-1]).all())


def by_page(counters: Integers, *, run: bool) -> Iterator[tuple[int, Any, Any]]:
    """Yield the number of each page, and where its decisions are on it and in `counters`.

    run: whether the numbers are consecutive.
    """
    if counters.size == 0:
        return
    if run:
        first = int(counters[0])
        end = first + counters.size
        for page in range(first >> SHIFT, (end - 1 >> SHIFT) + 1):
            begin = page << SHIFT
            low, high = max(first, begin), min(end, begin + PAGE)
            yield page, slice(low - begin, high - begin), slice(low - first, high - first)
        return
    numbers, at = counters >> SHIFT, counters & (PAGE - 1)
    if ascending(counters):  # the decisions of a page are neighbours
        edges = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist(), counters.size]
        parts: list[Any] = [slice(start, stop) for start, stop in itertools.pairwise(edges)]
    else:
        order = np.argsort(numbers, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
    for part in parts:
        yield int(numbers[part][0]), at[part], part


def to_arrays(pages: Mapping[tuple[str, int], Page], dropped: float) -> dict[str, npt.NDArray[Any]]:
    """Return a memory of decisions as arrays; dropped: the latest time on a dropped page."""
    codes = np.zeros((len(pages), PAGE), dtype=np.uint16)
    for i, page in enumerate(pages.values()):
        codes[i] = codes_of(page)
    return {
        "deciders": np.array([int(key[0], 16) for key in pages], dtype=np.uint64),
        "numbers": np.array([key[1] for key in pages], dtype=np.int64),
        "newest": np.array([page.newest for page in pages.values()], dtype=np.float64),
        "codes": codes,
        "dropped": np.array([dropped] if np.isfinite(dropped) else [], dtype=np.float64),
    }
