"""An exact, bounded memory of the decisions that were learned from."""

from __future__ import annotations

import heapq
import secrets
import time as system_time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import ExpiredDecisionError
from crossbandit.learners.seen_pages import (
    PAGE,
    SHIFT,
    Page,
    by_page,
    codes_of,
    empty_codes,
    from_arrays,
    pages_of,
    to_arrays,
)
from crossbandit.validation import integer, number

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from crossbandit.types import Booleans, Floats, Integers

WINDOW = 7 * 86_400.0
LIMIT = 1 << 25


def new_id() -> str:
    """Return an id for a learner or a decider: 16 random hexadecimal digits."""
    return secrets.token_hex(8)


class SeenDecisions:
    """Remembers which decisions were learned from, with a code of the outcome of each.

    A decision is named by its decider and a counter. Its code is 0 until `put` sets another. Codes
    are kept on pages of 1,024 consecutive decisions of a decider, 2 bytes for each decision.

    Memory is bounded in two ways. A page whose decisions are all older than `window` is dropped. If
    the pages have room for more than `limit` decisions, the oldest page is dropped. A
    dropped decision never counts as new: a decision that is older than the window, or not later
    than one on a dropped page, has expired.

    If the clock is set back, nothing expires early and nothing counts twice. A decision dated more
    than a window in the future is refused: its page would stay in memory until then.

    The class has no lock: its owner must hold one.

    Args:
        window: For how long decisions are remembered, in seconds.
        limit: How many decisions the pages may hold together; rounded up to whole pages.
        clock: Returns the time in seconds, on the same scale as the times of decisions.

    Raises:
        InvalidParameterError: A parameter is not valid.

    >>> seen = SeenDecisions(window=60.0, clock=lambda: 100.0)
    >>> seen.check("00000000000000aa", 3, 95.0)
    0
    >>> seen.put("00000000000000aa", 3, 95.0, code=2)
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
        self._pages: dict[tuple[str, int], Page] = {}
        self._oldest: list[tuple[float, str, int]] = []  # a heap; its times may be outdated
        self._dropped = -np.inf  # the latest time of a decision on a dropped page
        self._generation = 0

    @property
    def window(self) -> float:
        """For how long decisions are remembered, in seconds; may be set."""
        return self._window

    @window.setter
    def window(self, seconds: float) -> None:
        self._window = number("SeenDecisions", "window", seconds, above=0)

    @property
    def limit(self) -> int:
        """How many decisions the pages may hold together; may be set."""
        return self._limit

    @limit.setter
    def limit(self, decisions: int) -> None:
        self._limit = integer("SeenDecisions", "limit", decisions, at_least=1)

    @property
    def nbytes(self) -> int:
        """The memory of the codes, in bytes."""
        return 2 * PAGE * len(self._pages)

    # --- one decision --------------------------------------------------------------------------

    def check(self, decider: str, counter: int, time: float) -> int:
        """Return the code of a decision; raise if it has expired.

        Args:
            decider: The id of what made the decision, 16 hexadecimal digits.
            counter: The number of the decision, as its decider counts.
            time: When it was made, in seconds.

        Returns:
            The code, 0 if it was not learned from.

        Raises:
            ExpiredDecisionError: It is older than what is remembered, or dated in the future by
                more than the window.
        """
        now = self.clock()
        if time <= self._dropped or not now - self._window <= time <= now + self._window:
            raise self.expiry(time)
        page = self._pages.get((decider, counter >> SHIFT))
        return 0 if page is None else page.codes[counter & (PAGE - 1)]

    def page_of(self, decider: str, counter: int, time: float) -> array[int]:
        """Return the codes of a decision's page, to be read and set; raise if it has expired.

        While the owner's lock is held, the decision's code may be read and set, at
        `counter % PAGE`. This does what `check` and `put` do, but finds the page only once.

        Args:
            decider: The id of what made the decision.
            counter: The number of the decision.
            time: When it was made.

        Returns:
            The codes. They may be set until the lock is released.

        Raises:
            ExpiredDecisionError: As `check` says.
        """
        now = self.clock()
        if time <= self._dropped or not now - self._window <= time <= now + self._window:
            raise self.expiry(time)
        page = self._pages.get((decider, counter >> SHIFT))
        if page is None or page.generation != self._generation:
            page = self._page(decider, counter >> SHIFT, time)
        elif page.newest < time:
            page.newest = time
        return page.codes

    def code(self, decider: str, counter: int) -> int:
        """Return the code of a decision of any age; 0 if it is not remembered.

        Args:
            decider: The id of what made the decision.
            counter: The number of the decision.
        """
        page = self._pages.get((decider, counter >> SHIFT))
        return 0 if page is None else page.codes[counter & (PAGE - 1)]

    def put(self, decider: str, counter: int, time: float, code: int = 1) -> None:
        """Set the code of a decision that has not expired.

        Args:
            decider: The id of what made the decision.
            counter: The number of the decision.
            time: When it was made.
            code: The new code, from 0 to 65535; 0 makes the decision a new one again.
        """
        page = self._pages.get((decider, counter >> SHIFT))
        if page is None or page.generation != self._generation:
            page = self._page(decider, counter >> SHIFT, time)
        elif page.newest < time:
            page.newest = time
        page.codes[counter & (PAGE - 1)] = code

    def expiry(self, time: float) -> ExpiredDecisionError:
        """Return the error for a decision that has expired.

        Args:
            time: When it was made.
        """
        age = self.clock() - time
        if age < -self._window:
            return ExpiredDecisionError(
                f"The decision is dated {-age:.0f} seconds in the future, more than the window of "
                f"{self._window:.0f} seconds. Set the clock of the machine that made it."
            )
        return ExpiredDecisionError(
            f"The decision was made {age:.0f} seconds ago and has expired: decisions are "
            f"remembered for {self._window:.0f} seconds, and at most {self._limit} of them. Send "
            "feedback earlier, or start with a longer window or a larger limit."
        )

    # --- many decisions ------------------------------------------------------------------------

    def expired(self, times: Floats) -> Booleans:
        """Return which decisions have expired, as `check` would say.

        Args:
            times: When they were made.
        """
        now = self.clock()
        recent = (times >= now - self._window) & (times <= now + self._window)
        outcome: Booleans = ~recent | (times <= self._dropped)
        return outcome

    def codes(self, decider: str, counters: Integers) -> npt.NDArray[np.uint16]:
        """Return the codes of decisions of one decider.

        Args:
            decider: The id of what made them.
            counters: Their numbers.
        """
        out = np.zeros(counters.size, dtype=np.uint16)
        for number_, places in by_page(counters):
            page = self._pages.get((decider, number_))
            if page is not None:
                out[places] = codes_of(page)[counters[places] & (PAGE - 1)]
        return out

    def put_many(self, decider: str, counters: Integers, times: Floats, codes: Any = 1) -> None:
        """Set the codes of decisions of one decider that have not expired.

        Args:
            decider: The id of what made them.
            counters: Their numbers. If one comes twice, its last code counts.
            times: When they were made.
            codes: Their codes, or one for all.
        """
        new = np.broadcast_to(np.asarray(codes, dtype=np.uint16), counters.shape)
        for number_, places in by_page(counters):
            page = self._page(decider, number_, float(times[places].max()))
            codes_of(page)[counters[places] & (PAGE - 1)] = new[places]

    def is_new(self, decider: str, first: int, count: int, time: float) -> bool:
        """Return whether consecutive decisions made at one time are all new, and not expired.

        Args:
            decider: The id of what made them.
            first: The number of the first.
            count: How many, at least one.
            time: When they were made.
        """
        now = self.clock()
        if time <= self._dropped or not now - self._window <= time <= now + self._window:
            return False
        for page, start, stop in pages_of(first, count):
            found = self._pages.get((decider, page))
            if found is not None and codes_of(found)[start:stop].any():
                return False
        return True

    def put_run(self, decider: str, first: int, time: float, codes: Integers) -> None:
        """Set the codes of consecutive decisions that were made at one time and have not expired.

        Args:
            decider: The id of what made them.
            first: The number of the first.
            time: When they were made.
            codes: Their codes.
        """
        done = 0
        for page, start, stop in pages_of(first, codes.size):
            found = codes_of(self._page(decider, page, time))
            found[start:stop] = codes[done : done + stop - start]
            done += stop - start

    # --- saving --------------------------------------------------------------------------------

    def freeze(self) -> Callable[[], dict[str, npt.NDArray[Any]]]:
        """Return a function that returns everything as arrays, as it is now.

        Call `freeze` under the owner's lock: it takes a fraction of a millisecond. The function
        does the work, and needs no lock: pages are copied before they are changed again.

        Returns:
            A function without arguments. `restore` takes what it returns.
        """
        pages, dropped = self._pages.copy(), self._dropped
        self._generation += 1
        return partial(to_arrays, pages, dropped)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Replace what is remembered by what the function from `freeze` returned.

        Args:
            arrays: The arrays by name.

        Raises:
            ValueError: They are not such arrays. Then nothing has changed.
        """
        pages, self._dropped = from_arrays(arrays, self._generation)
        self._pages = pages
        self._oldest = [(page.newest, *key) for key, page in pages.items()]
        heapq.heapify(self._oldest)

    def merge(self, other: SeenDecisions) -> None:
        """Add what another memory remembers.

        Args:
            other: The other memory. It is not changed, and has no page of the same decisions.
        """
        for (decider, number_), page in other._pages.items():
            own = self._page(decider, number_, page.newest)
            own.codes[:] = page.codes
        self._dropped = max(self._dropped, other._dropped)

    # --- pages ---------------------------------------------------------------------------------

    def _page(self, decider: str, number_: int, time: float) -> Page:
        """Return a page that may be changed, with a decision of this time on it."""
        key = (decider, number_)
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = Page(empty_codes(), time, self._generation)
            heapq.heappush(self._oldest, (time, decider, number_))
            self._drop(keep=key)
        elif page.generation != self._generation:
            page = self._pages[key] = page.copied(self._generation)
        page.newest = max(page.newest, time)
        return page

    def _drop(self, keep: tuple[str, int]) -> None:
        """Drop pages that are too old or too many, except one."""
        cut = self.clock() - self._window
        most = -(-self._limit // PAGE)
        kept = None
        while self._oldest and (self._oldest[0][0] < cut or len(self._pages) > most):
            entry = heapq.heappop(self._oldest)
            time, key = entry[0], entry[1:]
            newest = self._pages[key].newest
            if key == keep:
                kept = entry
            elif newest > time:  # decisions have been added since
                heapq.heappush(self._oldest, (newest, *key))
            else:
                del self._pages[key]
                self._dropped = max(self._dropped, newest)
        if kept is not None:
            heapq.heappush(self._oldest, kept)
