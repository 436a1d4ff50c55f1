"""The steps of one auction under limits: what may be bid, and the accounting of bids."""

from __future__ import annotations

import copy
import math
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.compilation import Bound
from crossbandit.kernels.pace_steps import adapt, open_bound, pay, reserve_bound, settle_bound
from crossbandit.kernels.paced_laws import decide_bound
from crossbandit.kernels.pacing import BID_FOR, MADE_AT, SPENT, look
from crossbandit.limits.base import PacerBase
from crossbandit.limits.rules import in_units

if TYPE_CHECKING:
    from crossbandit.laws import OutcomeLaw
    from crossbandit.laws.levels import Label

_NO_NUMBERS = np.zeros(3)  # random numbers for an auction without a choice


class PacerSteps(PacerBase):
    """Limits and the steps of one auction; see `Pacer`.

    The machine code of a step is that for the types of its first call. So numbers become floats.
    """

    def open(self, value: float, now: float, first: int, last: int) -> tuple[float, int, int]:
        """Count an auction, and return what to bid for and how much may be bid.

        Args:
            value: What winning is worth.
            now: The time, in seconds since 1970.
            first: The lowest amount that may be bid without limits, by number.
            last: The highest one.

        Returns:
            The pseudo-value; the highest amount up to it, or `first` if that is higher; and the
            highest amount that cannot break a limit, or -1 if there is none, or if `first` is
            above the pseudo-value.
        """
        now = self._moved(now)
        given = (self.reserved.opened, now, float(value), first, last)
        opened: tuple[float, int, int] = self._code[open_bound](self._bound, *given)
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
        """Do what `open` does, and let a law choose. Call `hold` next if a bid is made.

        Args:
            law: The law of prices, with the same amounts.
            labels: The classes of the auction, in the order of the law's features.
            value: As in `open`; in the range of the law's contexts.
            now: As in `open`.
            first: As in `open`.
            last: As in `open`.

        Returns:
            What `open` returns, and the amount that the law wants. The lower of the last two is the
            bid; its money is already reserved. If nothing may be bid, both are -1, and the auction
            is already accounted for.
        """
        now = self._moved(now)
        parts, bound, no_slots = self._law
        if parts is not law.parts:
            bound, no_slots = Bound(*law.parts, *self._bound.parts), law.levels.slots(())
            self._law = law.parts, bound, no_slots
        found: tuple[float, int, int, int] = law.code[decide_bound](
            bound,
            self.reserved.opened,
            now,
            float(value),
            law.levels.slots(labels) if labels else no_slots,
            first,
            last,
            law.uniforms.take(3) if first <= last else _NO_NUMBERS,
        )
        return found

    def hold(self, key: int) -> None:
        """Remember the bid that `choose` has just reserved money for, until it is settled.

        Args:
            key: A unique number for the bid.
        """
        reserved = self.reserved
        reserved.rows[key] = reserved.opened
        if reserved.free:
            reserved.opened = reserved.free.pop()
        else:
            self._resize(1)

    def decline(self, value: float) -> None:
        """Account for the auction that was opened last, in which no bid was made.

        Args:
            value: What winning was worth.
        """
        ticket = self.reserved.table.tickets[self.reserved.opened]
        adapt(self.rules, self.state, ticket, value, 0, -1)

    def reserve(self, key: int, value: float, amount: int, wanted: int) -> None:
        """Reserve money for a bid in the auction that was opened last.

        Args:
            key: A unique number for the bid.
            value: What winning is worth.
            amount: The amount, by number; at most the highest that `open` returned.
            wanted: The amount that would have been bid without that bound, by number.
        """
        given = (self.reserved.opened, self._now, float(value), amount, wanted)
        self._code[reserve_bound](self._bound, *given)
        self.hold(key)

    def settle(self, key: int, value: float, amount: float, *, won: bool, least: float) -> None:
        """Account for a bid whose outcome is known.

        If a bid wins after it has expired, it is paid from what is left now.

        Args:
            key: The number of the bid.
            value: What winning was worth.
            amount: The amount, as money.
            won: Whether it won.
            least: The lowest amount that would have won; infinite if it lost and that is not known.
        """
        reserved = self.reserved
        row = reserved.rows.pop(key, None)
        if row is not None:
            self._code[settle_bound](self._bound, row, won, float(least), not reserved.rows)
            reserved.free.append(row)
            if len(reserved.free) > reserved.spare:
                self._resize(0)
        elif won:
            self._pay_late(value, amount)

    def _pay_late(self, value: float, amount: float) -> None:
        """Pay for a win of a bid that had expired."""
        self.late += in_units(amount, self.unit, ROUND_CEILING)
        self.correct(value, amount, won=True)

    def correct(self, value: float, amount: float, *, won: bool) -> None:
        """Correct an outcome that was reported wrongly before. The change counts in this period.

        Args:
            value: What winning was worth.
            amount: The amount, as money.
            won: The right outcome: whether the bid has won.
        """
        price = in_units(amount, self.unit, ROUND_CEILING)
        for limit in range(len(self.limits)):
            if won or self.state.money[limit, SPENT] >= price:
                pay(self.rules, self.state, limit, value, price, 1 if won else -1)

    def look(
        self, value: float, first: int, last: int, now: float | None = None
    ) -> tuple[float, int, int]:
        """Return what `open` would return. Changes nothing.

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
        """Begin periods and expire bids up to `now`. Return the time, which never goes back."""
        if now > self._now:
            self._now = now = float(now)
        else:
            now = self._now
        if now >= self._ends or self._auctions <= 0:
            self.turn(now)
        self._auctions -= 1
        if self.expires is not None:
            self._expire(now - self.expires)
        return now

    def _take(self, count: int) -> list[int]:
        """Take free rows for this many bids, and return them."""
        free = self.reserved.free
        if len(free) < count:
            self._resize(count)
            free = self.reserved.free
        at = len(free) - count
        taken = free[at:]
        del free[at:]
        return taken

    def _resize(self, more: int) -> None:
        """Make room for more bids without an outcome, or free memory that is not needed."""
        self.reserved.resize(more)
        self._bind()

    def _expire(self, before: float) -> None:
        """Count bids without an outcome as lost if they were made up to the time `before`."""
        held, expired = self.reserved.table.held, []
        for key, row in self.reserved.rows.items():
            if held[row, MADE_AT] > before:
                break
            expired.append((key, float(held[row, BID_FOR])))
        for key, value in expired:
            self.settle(key, value, 0.0, won=False, least=math.inf)
