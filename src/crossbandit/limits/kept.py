"""The state of limits as arrays: kept in a file, and taken back with other amounts."""

from __future__ import annotations

from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import InvalidParameterError
from crossbandit.kernels.pacing import (
    DUE,
    EXPECTED,
    GIVEN,
    HOLDING_SQUARES,
    OF_PERIOD,
    OPEN,
    OPEN_SQUARES,
    PERIOD,
    PLANNED,
    RESERVED,
    SPENT,
    SQUARES,
    at_risk,
)
from crossbandit.limits.base import PacerBase, Reservation
from crossbandit.limits.lease import Lease
from crossbandit.limits.rules import in_units
from crossbandit.limits.settings import Money

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from crossbandit.limits.settings import Limit
    from crossbandit.types import Floats

_LATER = {"duals": 3, "times": 1}  # columns that files of an earlier version do not have


class KeptPacer(PacerBase):
    """Limits whose state can be kept and taken back; see `Pacer`."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all that changes, by name; `restore` takes them back."""
        return self.freeze()()

    def freeze(self) -> Callable[[], dict[str, npt.NDArray[Any]]]:
        """Return a function that returns what `arrays` returns now.

        Call `freeze` under a lock: it takes a fraction of a millisecond. The function does the work
        for every bid without an outcome, and needs no lock: a reservation never changes.
        """
        count, reserved = len(self.limits), self.reserved.copy()
        copies = {
            **{name: part.copy() for name, part in self.state._asdict().items()},
            "traffic": np.array([traffic.table for traffic in self._traffic]),
            "clock": np.array([self._first, self._now]),
            "unit": np.array([self.unit.adjusted()]),
            "form": np.array([_form(limit) for limit in self.limits]),
            "late": self.late.copy(),
        }

        def arrays() -> dict[str, npt.NDArray[Any]]:
            held = list(reserved.values())
            return {
                **copies,
                "keys": np.array(list(reserved), dtype=np.int64),
                "held": np.array([one[:2] for one in held], dtype=float).reshape(-1, 2),
                "prices": np.array([one[2:4] for one in held], dtype=np.int64).reshape(-1, 2),
                "tickets": np.array([one.ticket for one in held]).reshape(-1, count, 4),
            }

        return arrays

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `arrays` returned, in a pacer with limits of the same kinds and periods.

        The amounts of limits and bids may be others. Money is rounded against the bidder if its
        unit is coarser now.

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
        columns = (arrays["keys"], arrays["held"], arrays["prices"], arrays["tickets"])
        self.reserved = {
            int(key): Reservation(float(at), float(value), int(price), int(wanted), ticket.copy())
            for key, (at, value), (price, wanted), ticket in zip(*columns, strict=True)
        }
        self._convert(int(arrays["unit"][0]) - self.unit.adjusted())
        for i, limit in enumerate(self.limits):
            if isinstance(limit, Money) and self.state.money[i, GIVEN] > 0:
                self.state.money[i, GIVEN] = in_units(limit.amount, self.unit, ROUND_FLOOR)

    def _convert(self, digits: int) -> None:
        """Count money in another unit, which has so many digits more."""
        if digits == 0:
            return
        factor = Decimal(1).scaleb(digits)

        def up(units: int) -> int:
            return int((int(units) * factor).to_integral_value(ROUND_CEILING))

        self.reserved = {
            key: held._replace(price=up(held.price), wanted=up(held.wanted))
            for key, held in self.reserved.items()
        }
        money = self.state.money
        for i in range(len(self.limits)):
            given = int((int(money[i, GIVEN]) * factor).to_integral_value(ROUND_FLOOR))
            money[i] = given, up(money[i, SPENT]), 0
            self.late[i] = up(self.late[i])
            for held in self.reserved.values():
                if held.ticket[i, OF_PERIOD] == self.state.times[i, PERIOD]:
                    money[i, RESERVED] += at_risk(self.rules, i, held.value, held.price)
        scale = float(factor)
        self.state.duals[:, [SQUARES, OPEN_SQUARES, HOLDING_SQUARES]] *= scale * scale
        self.state.duals[:, [OPEN, DUE]] *= scale
        for held in self.reserved.values():
            held.ticket[:, [PLANNED, EXPECTED]] *= scale


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
