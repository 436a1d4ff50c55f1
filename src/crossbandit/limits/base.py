"""The limits of a bidder and their state: how periods begin and end, and how it is saved."""

from __future__ import annotations

from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import InvalidParameterError
from crossbandit.kernels.compilation import Bound, MachineCode
from crossbandit.kernels.pace_steps import cost_of_holding
from crossbandit.kernels.pacing import (
    AT_ONCE,
    AUCTIONS,
    BID_FOR,
    BINS,
    BY_TIME,
    COSTS,
    DUE,
    END,
    EXPECTED,
    GIVEN,
    HOLDING_SQUARES,
    LATEST,
    OF_PERIOD,
    OPEN,
    OPEN_SQUARES,
    PERIOD,
    PLANNED,
    RESERVED,
    SPENT,
    SQUARES,
    START,
    WAITING,
    Reserved,
    at_risk,
    pass_time,
)
from crossbandit.limits.periods import Traffic, period_around
from crossbandit.limits.reservations import Reservations
from crossbandit.limits.rules import checked, empty_state, in_units, pace_rules, timed, unit_of
from crossbandit.limits.settings import Budget, Lease, Money
from crossbandit.validation import array, number, reject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.limits.settings import Limit
    from crossbandit.types import Floats

_CARRIED = 0.5  # the share of the sum of squared gradients that the next period starts with
_NEVER = 2.0**62
# The parts of a law, these parts bound with those of the limits, and the slots without classes.
_NO_LAW: tuple[Any, Any, Any] = (None, None, None)
_LATER = {"duals": 3, "times": 1}  # columns that files of an earlier version do not have


class PacerBase:
    """The limits and their state. `Pacer` adds the steps of an auction."""

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
        self.reserved = Reservations(len(self.limits))
        self.late = np.zeros(len(self.limits), dtype=np.int64)
        self.unit = unit_of(grid, self.limits)
        for i, limit in enumerate(self.limits):
            if isinstance(limit, Money):
                self.state.money[i, GIVEN] = in_units(limit.amount, self.unit, ROUND_FLOOR)
        self.middle = value_range[1] / 2
        self._horizon = horizon
        self._traffic = [Traffic(limit.timezone) for limit in self.limits]
        self._first = self._now = self._ends = -1.0
        self._auctions = 0  # how many are left until a period of auctions ends
        self._code = MachineCode()
        self._bind()

    def _bind(self) -> None:
        """Bind the arrays into one argument: passing them one by one takes longer than a step."""
        self._bound = Bound(self.rules, self.state, self.reserved.table)
        self._law = _NO_LAW

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_law": _NO_LAW}  # the law is not the pacer's

    @property
    def timed(self) -> bool:
        """Whether a limit has periods of time, so that the times of auctions are needed."""
        return any(timed(limit) for limit in self.limits)

    @property
    def cost_of_holding(self) -> float:
        """What it costs to reserve a unit of money for a bid, whether the bid wins or not."""
        return float(cost_of_holding(self.state))

    @property
    def now(self) -> float:
        """The time of the latest auction. A clock that goes back does not change it."""
        return self._now

    def turn(self, now: float) -> None:
        """Begin the new periods that are due.

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
        """End the lease, and continue with another one.

        Bids without an outcome count as spent: they may still win.

        Args:
            lease: The new lease; None to stop bidding.

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
            self._clear(i)  # also if the new lease has ended already
            self._begin(i, lease, max(self._now, lease.begins))
            self._ends = -1.0  # looked up when the next auction is opened
        return str(getattr(old, "id", "")), used

    def _begin(self, i: int, limit: Limit, now: float) -> None:
        state, times = self.state, self.state.times[i]
        fresh = times[END] == 0.0
        if self.rules.plans[i] == BY_TIME and 0.0 < times[END] < _NEVER:
            pass_time(state, i, min(now, times[END]))
        if isinstance(limit, Lease) and now >= limit.ends:  # what was spent must be reported
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
        state.bins[i, 1] = 0.0
        self._clear(i)
        if isinstance(limit, Money):
            state.money[i, GIVEN] = in_units(limit.amount, self.unit, ROUND_FLOOR)
        state.duals[i, [SQUARES, HOLDING_SQUARES]] *= _CARRIED

    def _clear(self, i: int) -> None:
        """Begin to count money anew; bids without an outcome belong to an earlier period."""
        self.state.times[i, PERIOD] += 1.0
        self.state.money[i] = 0
        self.state.duals[i, [DUE, WAITING]] = 0.0

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all that changes, by name; `restore` takes them back."""
        return self.freeze()()

    def freeze(self) -> Callable[[], dict[str, npt.NDArray[Any]]]:
        """Return a function that returns what `arrays` returns now.

        Call `freeze` under a lock: it only copies, in a fraction of a millisecond. The function
        sorts the bids without an outcome, and needs no lock.
        """
        reserved = self.reserved.freeze()
        copies = {
            **{name: part.copy() for name, part in self.state._asdict().items()},
            "traffic": np.array([traffic.table for traffic in self._traffic]),
            "clock": np.array([self._first, self._now]),
            "unit": np.array([self.unit.adjusted()]),
            "form": np.array([_form(limit) for limit in self.limits]),
            "late": self.late.copy(),
        }
        return lambda: {**copies, **reserved()}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `arrays` returned, in a pacer with limits of the same kinds and periods.

        The amounts of limits and bids may differ. If the unit of money is now coarser, money is
        rounded against the bidder.

        Args:
            arrays: The arrays.

        Raises:
            ValueError: They do not fit the limits, or hold impossible numbers.
        """
        if not np.array_equal(arrays["form"], [_form(limit) for limit in self.limits]):
            raise InvalidParameterError(
                "What was spent under some limits holds for limits of the same kinds and periods, "
                "in the same order; only their amounts may change. Keep to them, or make a new "
                "bidder without what was spent."
            )
        rows = {"keys", "held", "prices", "tickets"}
        arrays = {
            **arrays,
            **{
                name: _completed(arrays[name], count, getattr(self.state, name))
                for name, count in _LATER.items()
            },
        }
        for name, own in self.arrays().items():
            given = np.asarray(arrays[name])
            fits = given.shape[1:] == own.shape[1:] if name in rows else given.shape == own.shape
            if not fits or given.dtype != own.dtype or not np.isfinite(given).all():
                raise ValueError(f"the limits' array {name!r} is impossible")
        counts = {arrays[name].shape[0] for name in rows}
        if len(counts) != 1 or (arrays["prices"] < 0).any():
            raise ValueError("the limits' reservations are impossible")
        if (arrays["money"][:, RESERVED] < 0).any():
            raise ValueError("the limits' money is impossible")
        for own, name in zip(self.state, self.state._fields, strict=True):
            own[:] = arrays[name]
        for traffic, table in zip(self._traffic, arrays["traffic"], strict=True):
            traffic.table = np.array(table)
        self._first, self._now = arrays["clock"].tolist()
        self._ends, self._auctions = -1.0, 0  # looked up when the next auction is opened
        self.late = np.array(arrays["late"])
        self.reserved.replace(arrays["keys"], Reserved._make(arrays[n] for n in Reserved._fields))
        self._bind()
        self._convert(int(arrays["unit"][0]) - self.unit.adjusted())
        for i, limit in enumerate(self.limits):
            if isinstance(limit, Money) and self.state.money[i, GIVEN] > 0:
                self.state.money[i, GIVEN] = in_units(limit.amount, self.unit, ROUND_FLOOR)

    def _convert(self, digits: int) -> None:
        """Count money in another unit, which is smaller by a factor of 10**digits."""
        if digits == 0:
            return
        factor = Decimal(1).scaleb(digits)

        def up(units: int) -> int:
            return int((int(units) * factor).to_integral_value(ROUND_CEILING))

        rows, table = list(self.reserved.rows.values()), self.reserved.table
        for row in rows:
            table.prices[row] = [up(one) for one in table.prices[row]]
        money = self.state.money
        for i in range(len(self.limits)):
            given = int((int(money[i, GIVEN]) * factor).to_integral_value(ROUND_FLOOR))
            money[i] = given, up(money[i, SPENT]), 0
            self.late[i] = up(self.late[i])
            for row in rows:
                if table.tickets[row, i, OF_PERIOD] == self.state.times[i, PERIOD]:
                    value, price = float(table.held[row, BID_FOR]), int(table.prices[row, COSTS])
                    money[i, RESERVED] += at_risk(self.rules, i, value, price)
        scale = float(factor)
        self.state.duals[:, [SQUARES, OPEN_SQUARES, HOLDING_SQUARES]] *= scale * scale
        self.state.duals[:, [OPEN, DUE]] *= scale
        table.tickets[:, :, [PLANNED, EXPECTED]] *= scale


def _seconds(expires: timedelta | float | None) -> float | None:
    if expires is None:
        return None
    given = expires.total_seconds() if isinstance(expires, timedelta) else expires
    return number("Pacer", "expires", given, above=0)


def _completed(given: npt.NDArray[Any], later: int, own: Floats) -> npt.NDArray[Any]:
    """Return an array of a file, with zeros for the columns that earlier versions do not have."""
    if given.ndim == 2 and own.shape[1] - given.shape[1] == later:
        return np.pad(given, ((0, 0), (0, later)))
    return given


def _form(limit: Limit) -> tuple[float, float]:
    """Return the kind and the period of a limit as numbers."""
    kinds = ("budget", "lease", "return-on-spend", "cost-per")
    named = {None: -1.0, "day": -2.0, "hour": -3.0}
    per = limit.per
    if isinstance(limit, Lease):
        return float(kinds.index(limit.kind)), 0.0
    if isinstance(per, timedelta):
        return float(kinds.index(limit.kind)), -3.0 - per.total_seconds()
    return float(kinds.index(limit.kind)), float(per) if isinstance(per, int) else named[per]
