"""One auction after another under limits: what may be bid, and what a bid costs."""

from __future__ import annotations

import copy
import math
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.kernels.compilation import resolved
from crossbandit.kernels.pace_plan import open_auction
from crossbandit.kernels.pace_steps import adapt, pay, reserve, settle
from crossbandit.kernels.paced_laws import paced_decide
from crossbandit.kernels.pacing import SPENT, look
from crossbandit.limits.base import Reservation
from crossbandit.limits.kept import KeptPacer
from crossbandit.limits.rules import in_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.laws import OutcomeLaw
    from crossbandit.laws.levels import Label

_NO_NUMBERS = np.zeros(3)  # where there is nothing to choose from


class _Steps(NamedTuple):
    """The machine code of the steps; to find it by their arguments takes longer than to run it."""

    open_auction: Callable[..., Any]
    reserve: Callable[..., Any]
    settle: Callable[..., Any]


class PacerSteps(KeptPacer):
    """Limits and the steps of one auction; see `Pacer`."""

    def open(self, value: float, now: float, first: int, last: int) -> tuple[float, int, int]:
        """Count an auction, and return what to bid for and how much may be bid.

        Args:
            value: What winning is worth.
            now: The time, in seconds since 1970.
            first: The lowest amount that may be bid without limits, by number.
            last: The highest one.

        Returns:
            The pseudo-value, the highest amount up to it (or the first), and the highest one that
            can break no limit: -1 if there is none.
        """
        now = self._moved(now)
        steps = self._steps or self._compile()
        opened: tuple[float, int, int] = steps.open_auction(
            self.rules, self.state, now, value, first, last, self._ticket
        )
        return opened

    def choose(
        self,
        law: OutcomeLaw,
        labels: tuple[Label, ...],
        value: float,
        now: float,
        first: int,
        last: int,
    ) -> tuple[float, int, int, int]:
        """Do what `open` does, and let a law choose; then `hold` or nothing is to follow.

        Args:
            law: The law of prices, with the same amounts.
            labels: The classes of the auction, in the order of the law's features.
            value: As in `open`; in the range of the law's contexts.
            now: As in `open`.
            first: As in `open`.
            last: As in `open`.

        Returns:
            What `open` returns, and the amount that was wanted. The lower one of the last two is to
            be bid; its money is reserved already. Both are -1 if nothing may be bid; the auction is
            accounted for then.
        """
        found: tuple[float, int, int, int] = law.code[paced_decide](
            *law.parts,
            self.rules,
            self.state,
            value,
            law.slots(labels),
            self._moved(now),
            value,
            first,
            last,
            law.uniforms.take(3) if first <= last else _NO_NUMBERS,
            self._ticket,
        )
        return found

    def hold(self, key: int, value: float, amount: int, wanted: int) -> None:
        """Remember a bid whose money is reserved, until it is settled.

        Args:
            key: A number of the bid that is its own.
            value: What winning is worth.
            amount: The amount, by number.
            wanted: The amount that would have been bid without a cap, by number.
        """
        prices, ticket = self._prices, self._ticket
        held = (self._now, value, prices[amount], prices[wanted], ticket)
        self.reserved[key] = tuple.__new__(Reservation, held)  # half the time of Reservation(...)
        self._ticket = np.empty(self._shape)  # faster than a copy; each auction sets all of it

    def decline(self, value: float) -> None:
        """Account for the auction that was opened last, in which no bid was made.

        Args:
            value: What winning was worth.
        """
        adapt(self.rules, self.state, self._ticket, value, 0, -1)

    def reserve(self, key: int, value: float, amount: int, wanted: int) -> None:
        """Set money aside for a bid in the auction that was opened last.

        Args:
            key: A number of the bid that is its own.
            value: What winning is worth.
            amount: The amount, by number; at most the highest that `open` returned.
            wanted: The amount that would have been bid without that limit, by number.
        """
        steps = self._steps or self._compile()
        steps.reserve(self.rules, self.state, self._ticket, value, self._prices[amount])
        self.hold(key, value, amount, wanted)

    def settle(self, key: int, value: float, amount: float, *, won: bool, least: float) -> None:
        """Account for a bid whose outcome is known.

        A win that comes after the bid has expired is paid from what is left now.

        Args:
            key: The number of the bid.
            value: What winning was worth.
            amount: The amount, as money.
            won: Whether it won.
            least: The lowest amount that would have won; infinite if it lost and that is not known.
        """
        held = self.reserved.pop(key, None)
        if held is not None:
            _, bid_for, price, wanted, ticket = held
            rules, steps = self.rules, self._steps or self._compile()
            paid = wanted if won or wanted * rules.unit >= least else -1
            steps.settle(rules, self.state, ticket, bid_for, price, paid, won, not self.reserved)
        elif won:
            self._pay_late(value, amount)

    def _pay_late(self, value: float, amount: float) -> None:
        """Pay for a win of a bid that had expired."""
        self.late += in_units(amount, self.unit, ROUND_CEILING)
        self.correct(value, amount, won=True)

    def correct(self, value: float, amount: float, *, won: bool) -> None:
        """Account for an outcome that is another one than was said before.

        It counts in the present period.

        Args:
            value: What winning was worth.
            amount: The amount, as money.
            won: Whether the bid has won after all; else it has lost.
        """
        price = in_units(amount, self.unit, ROUND_CEILING)
        for limit in range(len(self.limits)):
            if won or self.state.money[limit, SPENT] >= price:
                pay(self.rules, self.state, limit, value, price, 1 if won else -1)

    def look(
        self, value: float, first: int, last: int, now: float | None = None
    ) -> tuple[float, int, int]:
        """Return what `open` would return. Nothing is changed.

        Args:
            value: What winning is worth.
            first: As in `open`.
            last: As in `open`.
            now: The time; None for that of the latest auction.
        """
        if now is not None and now >= self._ends:
            later = copy.deepcopy(self)
            later.turn(now)
            return later.look(value, first, last)
        found: tuple[float, int, int] = look(self.rules, self.state, value, first, last)
        return found

    def _moved(self, now: float) -> float:
        """Let time pass: begin periods, let bids expire. Return the time, which never goes back."""
        if now > self._now:
            self._now = now
        else:
            now = self._now
        if now >= self._ends or self._auctions <= 0:
            self.turn(now)
        self._auctions -= 1
        if self.expires is not None:
            self._expire(now - self.expires)
        return now

    def _compile(self) -> _Steps:
        parts, ticket = (self.rules, self.state), self._ticket
        made = _Steps(
            resolved(open_auction, *parts, 0.0, 0.0, 0, 0, ticket),
            resolved(reserve, *parts, ticket, 0.0, 0),
            resolved(settle, *parts, ticket, 0.0, 0, 0, self.timed, self.timed),
        )
        self._steps = made
        return made

    def _expire(self, before: float) -> None:
        """Count bids without an outcome as lost; the oldest ones come first."""
        while self.reserved:
            key = next(iter(self.reserved))
            held = self.reserved[key]
            if held.time > before:
                return
            self.settle(key, held.value, 0.0, won=False, least=math.inf)
