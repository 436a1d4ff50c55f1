"""The status of limits that a user sees, and the reasons why no bid could be made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from crossbandit.core.lazy import LazyTexts
from crossbandit.limits import state as col
from crossbandit.limits.settings import Budget, Lease, Money, named, timed
from crossbandit.limits.state import EXACT, as_money

if TYPE_CHECKING:
    from crossbandit.core.types import Floats, Integers
    from crossbandit.limits.pacer import PacedChoices, Pacer
    from crossbandit.limits.settings import Limit


@dataclass(frozen=True)
class LimitStatus:
    """The state of a limit in its present period.

    Attributes:
        limit: The limit.
        spent: The money that was paid for bids of this period.
        reserved: The money that bids without an outcome count with: what they are expected to cost,
            and a margin. Under a target, the amount by which they may exceed their credits.
        expected: The money that they are expected to cost; 0 under a target.
        outstanding: The money that they cost if all of them win; as `reserved` under a target.
        left: What may still be bid. Under a target, the credit of the next win is not included.
        planned: What should have been spent by now; None if nothing is planned, as in a pause. In
            the period of the first auction, the plan begins with that auction. It begins again with
            what was spent when the limit was changed or resumed.
        slack: Under a target, the credits of the wins minus what was spent; negative if the target
            does not hold. None under a budget.
        multiplier: How much a unit of money counts in bids: a value divided by its pseudo-value, at
            the middle of the range of values.
        begins: When the period began, in seconds since 1970; None if it is not a period of time.
        ends: When it ends.
        auctions: The auctions of the period.
        late: What was paid for bids that had expired, since the beginning.
        paused: Whether nothing is bid until `resume` is called.
    """

    limit: Limit
    spent: Decimal
    reserved: Decimal
    expected: float
    outstanding: Decimal
    left: Decimal
    planned: float | None
    slack: Decimal | None
    multiplier: float
    begins: float | None
    ends: float | None
    auctions: int
    late: Decimal
    paused: bool = False

    @property
    def overspent(self) -> Decimal:
        """By how much a budget or lease was exceeded, by late or corrected outcomes; usually 0."""
        if not isinstance(self.limit, Money):
            return Decimal(0)
        over = EXACT.subtract(self.spent, Decimal(repr(self.limit.amount)))
        return max(over.normalize(EXACT), Decimal(0))

    def __str__(self) -> str:
        if self.slack is not None:
            kept = "kept" if self.slack >= 0 else "not kept"
            return (
                f"{named(self.limit)}: {kept}, with a slack of {self.slack:.6g}; "
                f"spent {self.spent:.6g}, multiplier {self.multiplier:.3g}"
            )
        plan = "" if self.planned is None else f" (planned by now: {self.planned:.6g})"
        late = f" ({self.late:.6g} of it for bids that had expired)" if self.late else ""
        late += f", which is {self.overspent:.6g} too much" if self.overspent else ""
        pause = " (paused)" if self.paused else ""
        return (
            f"{named(self.limit)}{pause}: spent {self.spent:.6g}{late}{plan}, reserved "
            f"{self.reserved:.6g} (at most {self.outstanding:.6g}), left {self.left:.6g}, "
            f"multiplier {self.multiplier:.3g}"
        )


def status(pacer: Pacer) -> tuple[LimitStatus, ...]:
    """Return the status of each limit of a pacer, in their order."""
    return tuple(_status(pacer, i, limit) for i, limit in enumerate(pacer.limits))


def _status(pacer: Pacer, i: int, limit: Limit) -> LimitStatus:
    given, spent, outstanding, _, most = pacer.state.money[i].tolist()
    core, budget = pacer.reserved.core, isinstance(limit, Money)
    held = core.counted(i)
    left = given - spent - held
    if budget:
        left = min(left, most - spent - outstanding)
    times = pacer.state.times[i]
    seconds = timed(limit) and times[col.END] != 0.0
    money = partial(as_money, unit=pacer.unit)
    last = limit.flight[1] if isinstance(limit, Budget) else math.inf
    return LimitStatus(
        limit=limit,
        spent=money(spent),
        reserved=money(held),
        expected=max(float(pacer.state.duals[i, col.DUE]), 0.0) * pacer.rules.unit,
        outstanding=money(outstanding),
        left=money(max(left, 0)),
        planned=_planned(pacer, i, limit),
        slack=None if budget else money(given - spent),
        multiplier=pacer.middle / core.limited_value(i, pacer.middle),
        begins=float(times[col.START]) if seconds else None,
        ends=min(float(times[col.END]), last) if seconds else None,
        auctions=int(times[col.AUCTIONS]),
        late=money(pacer.late[i]),
        paused=pacer.periods.paused and isinstance(limit, Budget),
    )


def _planned(pacer: Pacer, i: int, limit: Limit) -> float | None:
    """Return what should have been spent by now. Nothing is planned before the first auction."""
    times, plan, periods = pacer.state.times[i], pacer.rules.plans[i], pacer.periods
    if not isinstance(limit, Money) or plan == col.AT_ONCE:
        return None
    if isinstance(limit, Budget) and pacer.state.money[i, col.GIVEN] == 0:
        return None
    if times[col.END] == 0.0:
        return 0.0
    before, spent = pacer.state.planned_from[i].tolist()
    if before >= 1.0:
        return float(spent * pacer.rules.unit)
    if plan == col.BY_AUCTIONS:
        now = min(float(times[col.AUCTIONS] / times[col.END]), 1.0)
    else:
        now = pacer.reserved.core.planned_until(i, max(periods.now, 0.0))
    spent *= pacer.rules.unit
    return float(spent + (limit.amount - spent) * ((now - before) / (1.0 - before)))


def lowest_bid(amounts: Floats, first: int, last: int) -> float | None:
    """Return the lowest positive amount that may be bid without limits; None if there is none."""
    possible = [one for one in amounts[first : last + 1].tolist() if one > 0]
    return possible[0] if possible else None


def reason(pacer: Pacer, value: float, worth: float, lowest: float) -> str:
    """Return why no bid may be made in the auction that was opened last."""
    core = pacer.reserved.core
    free = [core.free_money(i, value) for i in range(len(pacer.limits))]
    i = free.index(min(free))
    tightest = i, free[i], core.held_money(i)
    return _Words(pacer).why(tightest, value, worth, lowest)


def _why_closed(limit: Limit, now: float, *, paused: bool) -> str:
    """Return why a limit leaves nothing although nothing was spent."""
    if isinstance(limit, Lease):
        return "The lease has ended, or was given back. Lease money again, and call 'renew'."
    if not isinstance(limit, Budget):
        return ""
    begins, ends = limit.flight
    if now < begins or now >= ends:
        words, at = ("begins", begins) if now < begins else ("has ended", ends)
        local = datetime.fromtimestamp(at, ZoneInfo(limit.timezone)).isoformat(" ", "minutes")
        return f"{named(limit)} {words}: {local}. Nothing is bid outside of its flight."
    return "The budgets are paused. To bid again, call 'resume'." if paused else ""


class _Words:
    """Says why the limits of a pacer, as they are now, allow no bid."""

    def __init__(self, pacer: Pacer) -> None:
        self.limits, self.unit = [*pacer.limits], pacer.unit
        given, now = pacer.state.money[:, col.GIVEN].tolist(), pacer.periods.now
        self.closed = [
            "" if left else _why_closed(one, now, paused=pacer.periods.paused)
            for one, left in zip(self.limits, given, strict=True)
        ]

    def why(self, tightest: tuple[int, int, int], value: float, worth: float, lowest: float) -> str:
        """Return a sentence. tightest: the limit that leaves least; its free and reserved units."""
        i, free, reserved = tightest
        limit, left = self.limits[i], as_money(max(free, 0), self.unit)
        held = as_money(abs(reserved), self.unit)
        if self.closed[i]:
            return self.closed[i]
        if left >= Decimal(repr(lowest)):
            return (
                f"To keep to the plan, a value of {value:.6g} counts as {worth:.6g}. "
                f"The lowest bid is {lowest:.6g}."
            )
        if free + reserved < 0 <= reserved and isinstance(limit, Money):
            over = as_money(-free - reserved, self.unit)
            return f"{named(limit)} is exceeded by {over:.6g}, so nothing is bid."
        waiting = f", as {held:.6g} are reserved for bids without an outcome" if held else ""
        if reserved < 0:
            waiting = f", as {held:.6g} are due if all bids without an outcome win"
        return (
            f"{named(limit)} leaves {left:.6g} to bid at a value of {value:.6g}{waiting}. "
            f"The lowest bid is {lowest:.6g}."
        )


def reasons(
    pacer: Pacer, values: Floats, chosen: PacedChoices, firsts: Integers, lasts: Integers
) -> LazyTexts:
    """Return why a limit allowed no bid, for each auction of a batch."""
    columns = (values, chosen.pseudo_values, chosen.tightest, firsts, lasts)
    return LazyTexts(chosen.bids < 0, partial(_why, _Words(pacer), pacer.rules.amounts, columns))


def _why(words: _Words, amounts: Floats, columns: tuple[Any, ...], at: int) -> str | None:
    value, worth, tightest, first, last = (column[at].tolist() for column in columns)
    lowest = lowest_bid(amounts, first, last)
    return None if lowest is None else words.why(tightest, value, worth, lowest)
