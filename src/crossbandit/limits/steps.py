"""One auction after another under limits: what may be bid, and what a bid costs."""

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

_NO_NUMBERS = np.zeros(3)  # where there is nothing to choose from


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
            The pseudo-value, the highest amount up to it (or the first), and the highest one that
            can break no limit: -1 if there is none.
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
        now = self._moved(now)
        parts, bound, no_slots = self._law
        if parts is not law.parts:
            bound, no_slots = Bound(*law.parts, *self._bound.parts), law.slots(())
            self._law = law.parts, bound, no_slots
        found: tuple[float, int, int, int] = law.code[decide_bound](
            bound,
            self.reserved.opened,
            now,
            float(value),
            law.slots(labels) if labels else no_slots,
            first,
            last,
            law.uniforms.take(3) if first <= last else _NO_NUMBERS,
        )
        return found

    def hold(self, key: int) -> None:
        """Remember the bid that `choose` has just reserved money for, until it is settled.

        Args:
            key: A number of the bid that is its own.
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
        """Set money aside for a bid in the auction that was opened last.

        Args:
            key: A number of the bid that is its own.
            value: What winning is worth.
            amount: The amount, by number; at most the highest that `open` returned.
            wanted: The amount that would have been bid without that limit, by number.
        """
        given = (self.reserved.opened, self._now, float(value), amount, wanted)
        self._code[reserve_bound](self._bound, *given)
        self.hold(key)

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
        """Return free rows for so many bids without an outcome. They are free no more."""
        free = self.reserved.free
        if len(free) < count:
            self._resize(count)
            free = self.reserved.free
        at = len(free) - count
        taken = free[at:]
        del free[at:]
        return taken

    def _resize(self, more: int) -> None:
        """Make room for more bids without an outcome, or give room back."""
        self.reserved.resize(more)
        self._bind()

    def _expire(self, before: float) -> None:
        """Count bids without an outcome as lost; the oldest ones come first."""
        held, expired = self.reserved.table.held, []
        for key, row in self.reserved.rows.items():
            if held[row, MADE_AT] > before:
                break
            expired.append((key, float(held[row, BID_FOR])))
        for key, value in expired:
            self.settle(key, value, 0.0, won=False, least=math.inf)
