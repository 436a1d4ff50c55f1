"""A budget that several processes spend: each leases a slice of it, and gives back the rest."""

from __future__ import annotations

import secrets
import time
from datetime import timedelta
from decimal import Decimal, localcontext
from functools import partial
from threading import Lock
from typing import Any, Self

from crossbandit.core import forks
from crossbandit.core.steps import at_once
from crossbandit.core.validation import number, reject
from crossbandit.errors import InvalidParameterError
from crossbandit.limits.periods import (
    check_jump,
    jump_of,
    period_around,
    seconds,
    steady_time,
)
from crossbandit.limits.settings import Budget, Lease, parsed
from crossbandit.limits.state import EXACT, MAX_JUMP

_USUAL = timedelta(minutes=10)
_FOREVER = 4e9


class SharedBudget:
    """A budget that several processes spend, so that together they keep to it.

    One process holds it. The others ask for slices (`lease`), spend them, and give back what they
    have not spent (`take_back`). A slice counts as spent until it is given back. If its process is
    lost and never gives it back, it counts as spent until the period of the budget is over, because
    it may have been spent. Slices end with the period at the latest.

    Any number of threads may use it. To continue after a restart, store `to_bytes` after each
    change. In a forked process it leases nothing: the parent leases the same money.

    Args:
        budget: The budget. Its pacing is not used: the caller of `lease` decides how large slices
            are.
        max_jump: By how much a time may be ahead of both the clock and the latest time: a
            timedelta, or seconds; None for any time.

    Raises:
        InvalidParameterError: The budget has periods of auctions, which processes cannot count.

    >>> shared = SharedBudget(Budget(500, per="day"))
    >>> lease = shared.lease(50, at=1_000_000.0)
    >>> shared.left(at=1_000_000.0)
    Decimal('450.0')
    >>> shared.take_back(lease.id, spent=12.5, at=1_000_100.0)
    True
    >>> shared.left(at=1_000_100.0)
    Decimal('487.5')
    """

    def __init__(self, budget: Budget, *, max_jump: timedelta | float | None = MAX_JUMP) -> None:
        given: object = budget
        if not isinstance(given, Budget) or isinstance(given.per, int):
            reject("SharedBudget", "budget", "a Budget per day, hour, timedelta or None", budget)
        self.budget = budget
        self._max_jump = jump_of("SharedBudget", max_jump)
        self._lock = Lock()
        self._first = self._now = self._ends = -1.0
        self._spent = Decimal(0)
        self._leased: dict[str, Decimal] = {}
        self._forked = False
        forks.know(self)

    def fork_locks(self) -> tuple[Any, ...]:
        """Return the lock."""
        return (self._lock,)

    def after_fork(self) -> None:
        """Stop leasing in a forked process."""
        self._forked = True

    def left(self, *, at: object = None) -> Decimal:
        """Return what may still be leased in this period.

        Args:
            at: The time, a datetime with a time zone or seconds since 1970; by default now.

        Raises:
            InvalidContextError: The time is something else, or far ahead.
        """
        with self._lock:
            self._turn("left", at)
            return self._left()

    def lease(
        self,
        amount: float,
        *,
        lasts: timedelta = _USUAL,
        pacing: str = "even",
        at: object = None,
    ) -> Lease:
        """Return a slice that another process may spend.

        Args:
            amount: The money; at most what is left.
            lasts: For how long it may be spent. If the period of the budget ends earlier, so does
                the slice.
            pacing: "even" to spread the money over that time, or "asap".
            at: As in `left`.

        Raises:
            InvalidParameterError: More was asked for than is left, an argument is not possible, or
                this is a forked process.
        """
        if self._forked:
            raise InvalidParameterError(
                "A SharedBudget leases nothing in a forked process: it and its parent would lease "
                "the same money. Ask the process that made it for a lease."
            )
        given: object = lasts
        if not isinstance(given, timedelta) or given <= timedelta(0):
            reject("lease", "lasts", "a positive timedelta", lasts)
        asked = Decimal(repr(number("lease", "amount", amount, above=0)))
        with self._lock:
            now = self._turn("lease", at)
            if asked > self._left():
                raise InvalidParameterError(
                    f"The 'amount' parameter of lease must be at most what is left of the budget, "
                    f"{self._left()}. Got {asked}."
                )
            ends = min(now + lasts.total_seconds(), self._ends)
            made = Lease(secrets.token_hex(8), float(asked), now, ends, pacing)
            self._leased[made.id] = asked
            return made

    def take_back(self, lease: str, spent: object, *, at: object = None) -> bool:
        """Take back what was not spent of a slice. This can be done once for each slice.

        A slice that is unknown, was given back before, or belongs to an earlier period is ignored.

        Args:
            lease: The slice's id.
            spent: What was spent, and what bids without an outcome may still cost: a number or a
                Decimal. It is more than the slice only if bids have won after they had expired,
                or were first reported as lost; this is taken from what is left of the budget.
            at: As in `left`.

        Returns:
            Whether it was taken back, and not ignored.

        Raises:
            InvalidParameterError: What was spent is not a number of at least 0.
        """
        if isinstance(spent, Decimal) and spent.is_finite() and spent >= 0:
            paid = spent
        else:
            paid = Decimal(repr(number("take_back", "spent", spent, at_least=0)))
        with self._lock:
            self._turn("take_back", at)
            if lease not in self._leased:
                return False
            at_once(
                partial(self._leased.pop, lease),
                partial(vars(self).__setitem__, "_spent", EXACT.add(self._spent, paid)),
            )
            return True

    def to_bytes(self) -> bytes:
        """Return the whole state as bytes, for `from_bytes` after a restart."""
        import json

        with self._lock:
            return json.dumps(
                {
                    "budget": self.budget.to_json(),
                    "times": [self._first, self._now, self._ends],
                    "spent": str(self._spent),
                    "leased": {name: str(amount) for name, amount in self._leased.items()},
                    "max_jump": self._max_jump,
                }
            ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return what `to_bytes` wrote.

        Args:
            data: What `to_bytes` returned.

        Raises:
            InvalidParameterError: It is something else.
        """
        owner = "SharedBudget.from_bytes"
        given = parsed(owner, data)
        try:
            jump = given.get("max_jump", MAX_JUMP)
            made = cls(Budget.from_json(given["budget"]), max_jump=jump)
            made._first, made._now, made._ends = (float(one) for one in given["times"])
            made._spent = Decimal(given["spent"])
            made._leased = {name: Decimal(one) for name, one in given["leased"].items()}
            impossible = made._spent < 0 or any(one < 0 for one in made._leased.values())
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            reject(owner, "data", "what to_bytes returned", data)
        if impossible:
            reject(owner, "data", "what to_bytes returned", data)
        return made

    def _left(self) -> Decimal:
        with localcontext(EXACT):
            left = Decimal(repr(self.budget.amount)) - self._spent - sum(self._leased.values())
        return max(left, Decimal(0))

    def _turn(self, owner: str, at: object) -> float:
        """Begin a new period, if it is due, and return the time, which never goes back."""
        now = max(seconds(owner, time.time() if at is None else at), self._now)
        check_jump(owner, now, self._now, self._max_jump, steady_time())
        if self._first < 0:
            self._first = now
        if now >= self._ends:
            per, zone = self.budget.per, self.budget.timezone
            self._ends = min(period_around(per, zone, now, self._first)[1], _FOREVER)
            self._spent, self._leased = Decimal(0), {}
        self._now = now
        return now
