"""Keep a bidder within its limits: how much may be bid, and the money of each bid."""

from __future__ import annotations

import copy
import math
from datetime import timedelta
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.kernels.compilation import Bound, MachineCode
from crossbandit.kernels.pace_steps import (
    adapt,
    cost_of_holding,
    open_bound,
    pay,
    reserve_bound,
    settle_bound,
)
from crossbandit.kernels.paced_laws import decide_bound, paced_guarded_play, paced_play
from crossbandit.kernels.pacing import BID_FOR, MADE_AT, OF_PERIOD, PERIOD, SPENT, look
from crossbandit.laws import GuardedLaw
from crossbandit.laws.rounds import prepared
from crossbandit.limits.periods import Periods
from crossbandit.limits.reservations import Reservations
from crossbandit.limits.rules import checked, empty_state, in_units, pace_rules, timed, unit_of
from crossbandit.validation import array, number, reject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.laws import OutcomeLaw
    from crossbandit.laws.levels import Label
    from crossbandit.limits.settings import Limit
    from crossbandit.types import Floats, Integers

_NO_NUMBERS = np.zeros(3)  # random numbers for an auction without a choice
_KEYS = 2**40  # more bids than a process makes: numbers of its bids differ by less
_KEPT = 8 * 86_400.0  # seconds; learners refuse outcomes that are older than a week
# The parts of a law, the limits, both of them bound together, and the slots without classes.
_NO_LAW: tuple[Any, Any, Any, Any] = (None, None, None, None)


class PacedLog(NamedTuple):
    """What was bid on a log.

    Attributes:
        bids: (n,), by number; -1 where nothing could be bid.
        pseudo_values: (n,), what was bid for.
    """

    bids: Integers
    pseudo_values: Floats


class Pacer:
    """Keeps one bidder within its limits.

    Every limit has a multiplier. Without limits, a bidder bids for the value v. Under limits it
    bids for a *pseudo-value*, the lowest of

    - v exp(s) under a budget, where s is at most 0 if the aim is the surplus;
    - c (1 + exp(s)) under a target, where c is the credit of a win: the value divided by the return
      on spend. With the aim "surplus" it is c + (v - c) exp(s).

    These pseudo-values maximise the Lagrangian. After an auction, s is reduced by
    `g / sqrt(sum of g^2)`. Under a budget, g is what was paid minus what was planned, which is the
    share of the remaining money that is meant for this auction. Under a target, g is what was paid
    minus c. The steps need no scale: the first is 1, and later ones become smaller. The next period
    starts with half of the sum.

    A limit that must hold at any time is also a cap: no bid is made that could break it, whatever
    becomes of bids without an outcome. Under a target, g is then computed from the bid that would
    have been made without the cap: with the cap the target always holds, so s would only rise.

    For each auction call `open`, then `reserve` or `decline`; or `choose`, which does both. Call
    `settle` once the outcome is known. `play` does all this for the auctions of a log.

    Args:
        amounts: The amounts that may be bid, ascending.
        limits: Budgets and targets, at least one of them.
        value_range: The lowest and the highest value.
        horizon: The number of auctions to come, for budgets that have no period.
        expires: The time after which a bid without an outcome counts as lost, as a timedelta or in
            seconds; None for never.
        owner: The class that an error about `expires` names.

    Attributes:
        limits: The limits.
        rules: The limits, as compiled steps take them.
        state: The state of the limits, as compiled steps take it.
        middle: Half of the highest value. The status shows the multipliers at this value.
        periods: The present periods; `periods.renew` replaces a lease.
        reserved: The bids without an outcome, by their keys.
        late: (limits,): what was paid for bids that had expired, in units.
        firsts: (limits,): the number of the first bid of each present period.
        code: The machine code of the steps. Each step is compiled for the argument types of its
            first call, so numbers are converted to floats.

    Raises:
        InvalidParameterError: The limits do not fit together, or a budget is too small for any bid.

    >>> from crossbandit.laws import OutcomeLaw
    >>> from crossbandit.limits import Budget
    >>> rng = np.random.default_rng(0)
    >>> values, prices = rng.uniform(0, 1, (2, 10_000))
    >>> law = OutcomeLaw(np.linspace(0, 1, 51), (0, 1))
    >>> pacer = Pacer(law.amounts, [Budget(200, per=10_000)], value_range=(0, 1))
    >>> log = pacer.play(law, values, prices)
    >>> won = (log.bids >= 0) & (law.amounts[log.bids] >= prices)
    >>> spent = law.amounts[log.bids][won].sum()
    >>> bool(199 < spent <= 200)
    True
    """

    def __init__(
        self,
        amounts: npt.ArrayLike,
        limits: Sequence[Limit],
        *,
        value_range: tuple[float, float],
        horizon: int | None = None,
        expires: timedelta | float | None = None,
        owner: str = "Pacer",
    ) -> None:
        grid = array("Pacer", "amounts", "ascending numbers", amounts)
        if isinstance(expires, timedelta):
            expires = expires.total_seconds()
        self.expires = None if expires is None else number(owner, "expires", expires, above=0)
        self.limits = list(checked(limits, grid))
        self.rules = pace_rules(grid, self.limits, value_range, horizon)
        self.state = empty_state(self.rules, value_range)
        self.unit = unit_of(grid, self.limits)
        self.middle = value_range[1] / 2
        self.periods = Periods(self.limits, self.rules, self.state, self.unit, horizon)
        self.reserved = Reservations(self.rules, self.state)
        self.late, self.firsts = np.zeros((2, len(self.limits)), dtype=np.int64)
        self.code = MachineCode()
        self._law = _NO_LAW

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_law": _NO_LAW}  # the law is not the pacer's

    @property
    def cost_of_holding(self) -> float:
        """What it costs to reserve a unit of money for a bid, whether the bid wins or not."""
        return float(cost_of_holding(self.state))

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
        now = self.periods.move(now)
        if self.expires is not None:
            self.expire(now - self.expires)
        reserved = self.reserved
        given = (reserved.opened, now, float(value), first, last)
        opened: tuple[float, int, int] = self.code[open_bound](reserved.bound, *given)
        return opened

    def reserve(self, key: int, value: float, amount: int, wanted: int) -> None:
        """Reserve money for a bid in the auction that was opened last.

        Args:
            key: A unique number for the bid.
            value: What winning is worth.
            amount: The amount, by number; at most the highest that `open` returned.
            wanted: The amount that would have been bid without that bound, by number.
        """
        reserved = self.reserved
        if self.periods.begun:
            self.begin(key)
        given = (reserved.opened, self.periods.now, float(value), amount, wanted)
        self.code[reserve_bound](reserved.bound, *given)
        reserved.hold(key)

    def decline(self, value: float) -> None:
        """Account for the auction that was opened last, in which no bid was made.

        Args:
            value: What winning was worth.
        """
        ticket = self.reserved.table.tickets[self.reserved.opened]
        adapt(self.rules, self.state, ticket, value, 0, -1)

    def choose(
        self,
        key: int,
        law: OutcomeLaw,
        labels: tuple[Label, ...],
        value: float,
        now: float,
        first: int,
        last: int,
    ) -> tuple[float, int, int]:
        """Let a law choose a bid, and reserve its money: `open`, then `reserve` or `decline`.

        Args:
            key: A unique number for the bid, if one is made.
            law: The law of prices, with the same amounts.
            labels: The classes of the auction, in the order of the law's features.
            value: As in `open`; in the range of the law's contexts.
            now: As in `open`.
            first: As in `open`.
            last: As in `open`.

        Returns:
            The pseudo-value and the highest amount up to it, as `open` returns them; and the bid,
            by number, or -1 if nothing may be bid.
        """
        periods, reserved = self.periods, self.reserved
        if periods.now < now < periods.ends and periods.left > 0:  # `move`, without a call
            periods.now = now = float(now)
            periods.left -= 1
        else:
            now = periods.move(now)
        if periods.begun:
            self.begin(key)
        if self.expires is not None:
            self.expire(now - self.expires)
        parts, limits, bound, no_slots = self._law
        if parts is not law.parts or limits is not reserved.bound:
            bound, no_slots = Bound(*law.parts, *reserved.bound.parts), law.levels.slots(())
            self._law = law.parts, reserved.bound, bound, no_slots
        found: tuple[float, int, int] = law.code[decide_bound](
            bound,
            reserved.opened,
            now,
            float(value),
            law.levels.slots(labels) if labels else no_slots,
            first,
            last,
            law.uniforms.take(3) if first <= last else _NO_NUMBERS,
        )
        if found[2] >= 0:
            reserved.hold(key)
        return found

    def settle(
        self,
        key: int,
        value: float,
        amount: float,
        won: bool,  # noqa: FBT001 - keywords take time
        least: float,
    ) -> None:
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
        if row is None:
            if won:  # it had expired
                self.late += in_units(amount, self.unit, ROUND_CEILING)
                self.correct(key, value, amount, won=True)
            return
        self.code[settle_bound](reserved.bound, row, won, float(least), not reserved.rows)
        reserved.free.append(row)
        if len(reserved.free) > reserved.spare:
            reserved.resize()

    def expire(self, before: float) -> None:
        """Count bids without an outcome as lost if they were made long ago.

        Args:
            before: The latest time at which such a bid was made.
        """
        held, expired = self.reserved.table.held, []
        for key, row in self.reserved.rows.items():
            if held[row, MADE_AT] > before:
                break
            expired.append((key, float(held[row, BID_FOR])))
        for key, value in expired:
            self.settle(key, value, 0.0, won=False, least=math.inf)

    def correct(self, key: int, value: float, amount: float, *, won: bool) -> None:
        """Correct an outcome that was reported wrongly before.

        A win is paid in this period. The money of a win that was none is given back only if the bid
        is known to belong to this period: otherwise more than the budget could be spent in it.

        Args:
            key: The number of the bid.
            value: What winning was worth.
            amount: The amount, as money.
            won: The right outcome: whether the bid has won.
        """
        price = in_units(amount, self.unit, ROUND_CEILING)
        for limit in range(len(self.limits)):
            if won:
                pay(self.rules, self.state, limit, value, price, 1)
            elif 0 <= key - self.firsts[limit] < _KEYS and self.state.money[limit, SPENT] >= price:
                pay(self.rules, self.state, limit, value, price, -1)

    def begin(self, key: int) -> None:
        """Note the first bid of periods that have begun, and forget very old bids.

        Args:
            key: The number of the next bid. Later bids of the same process have higher ones.
        """
        self.firsts[list(self.periods.begun)] = key
        self.forget()

    def forget(self) -> None:
        """Forget very old bids without an outcome, after periods have begun.

        A bid that belongs to no present period has no money any more. It is kept for some days: if
        it wins, it must not be paid in this period.
        """
        periods, rows, table = self.periods, self.reserved.rows, self.reserved.table
        periods.begun.clear()
        present, old = self.state.times[:, PERIOD], []
        for one, row in rows.items():
            if table.held[row, MADE_AT] > periods.now - _KEPT:
                break
            if (table.tickets[row, :, OF_PERIOD] != present).all():
                old.append(one)
        self.reserved.free.extend(rows.pop(one) for one in old)

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
        if now is not None and now >= self.periods.ends:
            later = copy.deepcopy(self)
            later.periods.turn(now)
            return later.look(value, first, last)
        found: tuple[float, int, int] = look(self.rules, self.state, value, first, last)
        return found

    def play(
        self,
        law: OutcomeLaw | GuardedLaw,
        values: npt.ArrayLike,
        prices: npt.ArrayLike,
        *,
        times: npt.ArrayLike | None = None,
        firsts: npt.ArrayLike | None = None,
        lasts: npt.ArrayLike | None = None,
        classes: Mapping[str, npt.ArrayLike] | None = None,
        cells: npt.ArrayLike | None = None,
    ) -> PacedLog:
        """Bid on a log under the limits, in compiled code. Each outcome is known immediately.

        The law learns as in `OutcomeLaw.play`. If a log comes in parts, call this for each part.

        Args:
            law: The law of prices, with the same amounts; or a `GuardedLaw`. The value is the
                context of the law, and the pseudo-value is the worth in the payoff.
            values: The value of each auction.
            prices: The highest competing bid of each.
            times: Seconds since 1970, ascending; needed if a limit has periods of the clock.
            firsts: As in `OutcomeLaw.play`.
            lasts: As in `OutcomeLaw.play`; unless given, the highest amount up to the value.
            classes: As in `OutcomeLaw.play`.
            cells: As in `OutcomeLaw.play`.

        Returns:
            The bids and the pseudo-values.

        Raises:
            InvalidContextError: Times are missing.
        """
        count = np.size(values)
        if times is None:
            if any(timed(limit) for limit in self.limits):
                expected = "given, as a limit has periods of the clock"
                reject("play", "times", expected, None, error=InvalidContextError)
            times = np.full(count, max(self.periods.now, 0.0))
        nows = np.maximum.accumulate(array("play", "times", "numbers, one per auction", times))
        bids, pseudo = np.empty(count, dtype=np.int64), np.empty(count)
        guarded = isinstance(law, GuardedLaw)
        bare = law.law if isinstance(law, GuardedLaw) else law
        steps: Callable[..., None] = paced_guarded_play if guarded else paced_play
        ticket = self.reserved.table.tickets[self.reserved.opened]
        log = prepared(
            bare, values, prices, firsts=firsts, lasts=lasts, classes=classes, cells=cells
        )
        for start, stop in self.periods.pieces(nows):
            part = log.part(start, stop)
            auctions = (part.contexts, part.slots, part.worths, part.firsts, part.lasts, part.cells)
            drawn = part.uniforms(bare.uniforms, 5 if guarded else 3)
            filled = (ticket, bids[start:stop], pseudo[start:stop])
            steps(*law.parts, self.rules, self.state, *auctions, drawn, nows[start:stop], *filled)
        return PacedLog(bids, pseudo)
