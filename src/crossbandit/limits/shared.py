"""A budget that several processes spend: each leases a slice of it, and gives back the rest."""

from __future__ import annotations

import secrets
import time
from datetime import timedelta
from decimal import Decimal
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, Self

from crossbandit.core import forks
from crossbandit.core.steps import at_once
from crossbandit.core.types import SteadyPacing
from crossbandit.core.validation import number, reject
from crossbandit.errors import InvalidParameterError
from crossbandit.limits.periods import check_jump, jump_of, period_at, steady_time
from crossbandit.limits.settings import Budget, Lease, parsed, seconds, timed
from crossbandit.limits.state import EXACT, MAX_JUMP, money_up_to

_USUAL = timedelta(minutes=10)
_AHEAD = timedelta(hours=1)
_FOREVER = 4e9


class _Money(NamedTuple):
    """Money that counts as spent, and money that is spent if all bids without an outcome win."""

    used: Decimal
    most: Decimal

    def plus(self, other: _Money, sign: int = 1) -> _Money:
        return _Money(*(EXACT.fma(sign, b, a) for a, b in zip(self, other, strict=True)))


_NOTHING = _Money(Decimal(0), Decimal(0))


def _used(owner: str, used: object, most: object, name: str = "used") -> _Money:
    """Return amounts of money that a caller gave, exactly."""

    def exact(label: str, given: object) -> Decimal:
        if isinstance(given, Decimal) and given.is_finite() and given >= 0:
            return given
        return Decimal(repr(number(owner, label, given, at_least=0)))

    return _Money(exact(name, used), exact("most", used if most is None else most))


class SharedBudget:
    """A budget that several processes spend, so that together they keep to it.

    One process holds it. The others ask for slices (`next_lease`, or `lease` for a given amount),
    spend them, and say what they have used. Bids without an outcome stay with the slice, and their
    money flows back as outcomes come. A slice counts as spent until its process reports. If the
    process is lost, it counts as spent until the period of the budget is over, because it may have
    been spent. Slices end with the period at the latest.

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
            reject("SharedBudget", "budget", "a Budget without a period of auctions", budget)
        self.budget = budget
        self._max_jump = jump_of("SharedBudget", max_jump)
        self._lock = Lock()
        self._first = self._now = self._ends = -1.0
        self._spent = _NOTHING
        self._leased: dict[str, _Money] = {}
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
            return self._left().used

    def lease(
        self,
        amount: float,
        *,
        lasts: timedelta = _USUAL,
        pacing: SteadyPacing = "even",
        at: object = None,
    ) -> Lease:
        """Return a slice that another process may spend.

        Args:
            amount: The money; at most what is left.
            lasts: For how long it may be spent, at most a period. If the present period of the
                budget ends earlier, so does the slice.
            pacing: "even" to spread the money over that time, or "asap".
            at: As in `left`.

        Raises:
            InvalidParameterError: More was asked for than is left, an argument is not possible, or
                this is a forked process.
        """
        asked = Decimal(repr(number("lease", "amount", amount, above=0)))
        with self._lock:
            now = self._start("lease", lasts, at)
            left = self._left()
            if asked > min(left):
                raise InvalidParameterError(
                    f"The 'amount' parameter of lease must be at most what is left of the budget, "
                    f"{min(left)}. Got {asked}."
                )
            more = EXACT.multiply(asked, Decimal(repr(self.budget.worst_case)))
            most = min(EXACT.add(asked, more), left.most)
            return self._made(secrets.token_hex(8), _Money(asked, most), now, lasts, pacing)

    def next_lease(
        self,
        lease: str | None = None,
        used: object = 0,
        most: object = None,
        *,
        traffic: float = 1.0,
        lasts: timedelta = _AHEAD,
        at: object = None,
    ) -> Lease:
        """Return the next slice of a process, sized by what is left, and by time and traffic.

        A process gets its share of what is left for the time that it asks for. If it has a slice,
        the next one has the same id, and a larger amount: bids without an outcome stay with it.

        Args:
            lease: The id of the slice that the process has; None for its first one.
            used: What it has used of it, as `FirstPriceBidder.renew` returns it.
            most: What is spent if all its bids win, as `renew` returns it; None for `used`.
            traffic: The share of all auctions that this process gets, such as 1/3 for three alike.
            lasts: For how long its money is meant, as in `lease`. Ask for the next slice well
                before, such as every ten minutes: outcomes that are late make what a process has
                spent differ from what was expected, and the money ahead makes up for it.
            at: As in `left`.

        Raises:
            InvalidParameterError: Nothing is left, an argument is not possible, or this is a forked
                process.

        >>> shared = SharedBudget(Budget(144, per="day"))
        >>> round(shared.next_lease(traffic=0.5, at=0.0).amount, 9)  # for an hour
        3.0
        """
        if not timed(self.budget):
            expected = "given if the budget has no period: use lease instead of next_lease"
            reject("next_lease", "amount", expected, None)
        paid = _used("next_lease", used, most)
        share = number("next_lease", "traffic", traffic, above=0, at_most=1)
        with self._lock:
            now = self._start("next_lease", lasts, at)
            name = lease if lease is not None and lease in self._leased else secrets.token_hex(8)
            least = paid if self._leased.pop(name, None) is not None else _NOTHING
            if least is not _NOTHING:
                self._leased[name] = least
            left = self._left()
            if min(left) <= 0:
                raise InvalidParameterError(
                    f"Nothing is left to lease of the budget of {self.budget.amount:.15g}. Wait "
                    "for outcomes, or for the next period."
                )
            part = min(lasts.total_seconds() / max(self._ends - now, 1.0), 1.0)
            more = EXACT.multiply(min(left), Decimal(share * part))
            worst = EXACT.multiply(left.most, Decimal(share * self.budget.worst_case))
            most_more = min(EXACT.add(more, worst), left.most)
            return self._made(name, least.plus(_Money(more, most_more)), now, lasts, "even")

    def report(self, lease: str, used: object, most: object = None, *, at: object = None) -> bool:
        """Note what was used of a slice that has ended, as often as outcomes come.

        Args:
            lease: The slice's id.
            used: What was used of it, as `FirstPriceBidder.renew` returns it.
            most: As in `next_lease`.
            at: As in `left`.

        Returns:
            Whether the slice is known, and of this period.

        Raises:
            InvalidParameterError: What was used is not a number of at least 0.
        """
        paid = _used("report", used, most)
        with self._lock:
            self._turn("report", at)
            if lease not in self._leased:
                return False
            self._leased[lease] = paid
            return True

    def take_back(
        self, lease: str, spent: object, most: object = None, *, at: object = None
    ) -> bool:
        """Take back what was not spent of a slice, once and for all; see also `report`.

        A slice that is unknown, was given back before, or belongs to an earlier period is ignored.

        Args:
            lease: The slice's id.
            spent: What was spent, and what bids without an outcome may still cost: a number or a
                Decimal. It is more than the slice only if bids have won after they had expired,
                or were first reported as lost; this is taken from what is left of the budget.
            most: As in `next_lease`.
            at: As in `left`.

        Returns:
            Whether it was taken back, and not ignored.

        Raises:
            InvalidParameterError: What was spent is not a number of at least 0.
        """
        paid = _used("take_back", spent, most, "spent")
        with self._lock:
            self._turn("take_back", at)
            if lease not in self._leased:
                return False
            at_once(
                partial(self._leased.pop, lease),
                partial(vars(self).__setitem__, "_spent", self._spent.plus(paid)),
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
                    "spent": list(map(str, self._spent)),
                    "leased": {name: list(map(str, one)) for name, one in self._leased.items()},
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
            made._spent = _Money(*map(Decimal, given["spent"]))
            made._leased = {n: _Money(*map(Decimal, one)) for n, one in given["leased"].items()}
            impossible = any(min(one) < 0 for one in (made._spent, *made._leased.values()))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            reject(owner, "data", "what to_bytes returned", data)
        if impossible:
            reject(owner, "data", "what to_bytes returned", data)
        return made

    def _start(self, owner: str, lasts: object, at: object) -> float:
        """Check how long a slice is to last, and return the time."""
        if self._forked:
            raise InvalidParameterError(
                "A SharedBudget leases nothing in a forked process: it and its parent would lease "
                "the same money. Ask the process that made it for a lease."
            )
        if not isinstance(lasts, timedelta) or lasts <= timedelta(0):
            reject(owner, "lasts", "a positive timedelta", lasts)
        now = self._turn(owner, at)
        begins, ends = period_at(self.budget, now, self._first)
        if lasts.total_seconds() > ends - begins:
            reject(owner, "lasts", f"at most the period, {timedelta(seconds=ends - begins)}", lasts)
        return now

    def _made(
        self, name: str, money: _Money, now: float, lasts: timedelta, pacing: SteadyPacing
    ) -> Lease:
        """Return a slice, and remember it. Amounts are floats, rounded down."""
        ends, budget = min(now + lasts.total_seconds(), self._ends), self.budget
        amount, most = map(money_up_to, money)
        self._leased[name] = _Money(Decimal(repr(amount)), Decimal(repr(max(amount, most))))
        most = max(amount, most)
        return Lease(name, amount, now, ends, pacing, most, budget.amount)

    def _left(self) -> _Money:
        """Return what is left of the amount, and of the most that may be spent."""
        begins, ends = self.budget.flight
        if not begins <= self._now < ends:
            return _NOTHING
        left = _Money(Decimal(repr(self.budget.amount)), self.budget.at_most)
        for one in (self._spent, *self._leased.values()):
            left = left.plus(one, -1)
        return _Money(*(max(one, Decimal(0)) for one in left))

    def _turn(self, owner: str, at: object) -> float:
        """Begin a new period, if it is due, and return the time, which never goes back."""
        now = max(seconds(owner, time.time() if at is None else at), self._now)
        check_jump(owner, now, self._now, self._max_jump, steady_time())
        if self._first < 0:
            self._first = now
        if now >= self._ends:
            self._ends = min(period_at(self.budget, now, self._first)[1], _FOREVER)
            self._spent, self._leased = _NOTHING, {}
        self._now = now
        return now
