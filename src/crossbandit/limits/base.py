"""What the limits of a bidder are made of, and their periods."""

from __future__ import annotations

from datetime import timedelta
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.kernels.pace_plan import pass_time
from crossbandit.kernels.pace_steps import cost_of_holding
from crossbandit.kernels.pacing import (
    AT_ONCE,
    AUCTIONS,
    BINS,
    BY_TIME,
    DUE,
    END,
    GIVEN,
    HOLDING_SQUARES,
    LATEST,
    PERIOD,
    RESERVED,
    SPENT,
    SQUARES,
    START,
    WAITING,
)
from crossbandit.limits.lease import Lease
from crossbandit.limits.periods import Traffic, period_around
from crossbandit.limits.rules import checked, empty_state, in_units, pace_rules, timed, unit_of
from crossbandit.limits.settings import Budget, Money
from crossbandit.validation import array, number, reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.limits.settings import Limit
    from crossbandit.types import Floats

_CARRIED = 0.5  # of the sum that sets the steps, into the next period
_NEVER = 2.0**62


class Reservation(NamedTuple):
    """Money that is set aside until the outcome of a bid is known.

    Attributes:
        time: When it was made.
        value: The value that was bid for.
        price: What it costs if it wins, in units.
        wanted: What would have been bid without a limit that is kept at any time, in units.
        ticket: (limits, 4): what each limit needs to know when the auction is over.
    """

    time: float
    value: float
    price: int
    wanted: int
    ticket: Floats


class PacerBase:
    """The limits and their state, without what is done with them; see `Pacer`."""

    def __init__(
        self,
        amounts: npt.ArrayLike,
        limits: Sequence[Limit],
        *,
        value_range: tuple[float, float],
        horizon: int | None = None,
        expires: timedelta | float | None = None,
    ) -> None:
        grid = array("Pacer", "amounts", "ascending numbers", amounts)
        self.limits = checked(limits, grid)
        self.expires = _seconds(expires)
        self.rules = pace_rules(grid, self.limits, value_range, horizon)
        self.state = empty_state(self.rules, value_range)
        self.reserved: dict[int, Reservation] = {}
        self._prices: list[int] = self.rules.prices.tolist()
        self.late = np.zeros(len(self.limits), dtype=np.int64)
        self.unit = unit_of(grid, self.limits)
        for i, limit in enumerate(self.limits):
            if isinstance(limit, Money):
                self.state.money[i, GIVEN] = in_units(limit.amount, self.unit, ROUND_FLOOR)
        self.middle = value_range[1] / 2
        self._horizon = horizon
        self._shape = (len(self.limits), 4)  # of a ticket
        self._ticket = np.zeros(self._shape)
        self._traffic = [Traffic(limit.timezone) for limit in self.limits]
        self._first = self._now = self._ends = -1.0
        self._auctions = 0  # until a period of auctions ends
        self._steps: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_steps": None}  # machine code stays where it is

    @property
    def timed(self) -> bool:
        """Whether a limit has periods of the clock, so that times of auctions are needed."""
        return any(timed(limit) for limit in self.limits)

    @property
    def cost_of_holding(self) -> float:
        """What a unit of money that is bid costs because it is reserved, whether it wins or not."""
        return float(cost_of_holding(self.state))

    @property
    def now(self) -> float:
        """The time of the latest auction. A clock that goes back does not change it."""
        return self._now

    def turn(self, now: float) -> None:
        """Begin new periods, where they are due.

        Args:
            now: The time of the next auction.
        """
        if self._first < 0:
            self._first = now
        for i, limit in enumerate(self.limits):
            times = self.state.times[i]
            passed = times[AUCTIONS] if isinstance(limit.per, int) else now
            if times[END] == 0.0 or (limit.per is not None and passed >= times[END]):
                self._begin(i, limit, now)
        ends = [self.state.times[i, END] for i, one in enumerate(self.limits) if timed(one)]
        self._ends = float(min(ends, default=_NEVER))
        self._auctions = min(
            (
                one.per - int(self.state.times[i, AUCTIONS])
                for i, one in enumerate(self.limits)
                if isinstance(one.per, int)
            ),
            default=int(_NEVER),
        )

    def renew(self, lease: Lease | None = None) -> tuple[str, Decimal]:
        """End the lease, and go on with another one.

        Bids without an outcome count as spent: they may still win.

        Args:
            lease: The new lease; None to bid no more.

        Returns:
            The id of the old lease and what was spent of it, for `SharedBudget.take_back`.

        Raises:
            InvalidParameterError: These limits have no lease.
        """
        found = [i for i, limit in enumerate(self.limits) if isinstance(limit, Lease)]
        if not found:
            reject("renew", "lease", "for limits with a Lease", lease)
        i, old = found[0], self.limits[found[0]]
        used = int(self.state.money[i, SPENT] + self.state.money[i, RESERVED]) * self.unit
        self.state.money[i, GIVEN] = 0  # so nothing can be bid, whatever is released
        if lease is not None:
            self.limits = (*self.limits[:i], lease, *self.limits[i + 1 :])
            self.rules.plans[i] = AT_ONCE if lease.pacing == "asap" else BY_TIME
            self._begin(i, lease, max(self._now, lease.begins))
            self._ends = -1.0  # looked up when the next auction is opened
        return str(getattr(old, "id", "")), used

    def _begin(self, i: int, limit: Limit, now: float) -> None:
        state, times = self.state, self.state.times[i]
        fresh = times[END] == 0.0
        if self.rules.plans[i] == BY_TIME and 0.0 < times[END] < _NEVER:
            pass_time(state, i, min(now, times[END]))
        if isinstance(limit, Lease) and now >= limit.ends:  # what was spent has to be told
            times[END] = _NEVER
            state.money[i, GIVEN] = 0
            return
        begins, ends = 0.0, _NEVER if self._horizon is None else float(self._horizon)
        if isinstance(limit.per, int):
            ends = float(limit.per)
        if timed(limit):
            follows = isinstance(limit, Budget) and limit.pacing == "traffic"
            if follows and not fresh:
                self._traffic[i].learn(
                    times[START], times[END], self._first, state.bins[i, 1, :BINS]
                )
            begins, ends = period_around(limit.per, limit.timezone, now, self._first)
            if isinstance(limit, Lease):
                begins, ends = limit.begins, limit.ends
            times[LATEST] = now if fresh else begins
            if follows:
                state.bins[i, 0] = self._traffic[i].plan(begins, ends)
        times[[START, END, AUCTIONS]] = begins, ends, 0.0
        times[PERIOD] += 1.0
        state.bins[i, 1] = 0.0
        state.money[i] = 0
        if isinstance(limit, Money):
            state.money[i, GIVEN] = in_units(limit.amount, self.unit, ROUND_FLOOR)
        state.duals[i, [SQUARES, HOLDING_SQUARES]] *= _CARRIED
        state.duals[i, [DUE, WAITING]] = 0.0


def _seconds(expires: timedelta | float | None) -> float | None:
    if expires is None:
        return None
    given = expires.total_seconds() if isinstance(expires, timedelta) else expires
    return number("Pacer", "expires", given, above=0)
