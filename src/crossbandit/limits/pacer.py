"""Keep a bidder within its limits: how much may be bid, and the money of each bid."""

from __future__ import annotations

import copy
import math
from collections import deque
from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from crossbandit.core import record
from crossbandit.core.steps import at_once
from crossbandit.core.validation import array, number, reject
from crossbandit.errors import (
    CheckpointError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.laws import GuardedLaw
from crossbandit.laws.rounds import prepared
from crossbandit.limits import state as col
from crossbandit.limits.pace_core import AuctionColumns, PaceCore
from crossbandit.limits.periods import Periods
from crossbandit.limits.settings import KINDS, Budget, CostPer, Lease, Money, ReturnOnSpend, timed
from crossbandit.limits.state import EXACT, PaceRules, PaceState, Reserved, as_money, in_units

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.laws import OutcomeLaw
    from crossbandit.laws.levels import Label
    from crossbandit.limits.settings import Limit

_DIGITS = 9  # digits of the highest bid, or value, after the first digit
_MOST_DIGITS = 17  # digits of a budget after the first: its units fit into 63 bits
_TINY = -7.0  # the logarithm of about a thousandth
_LOG_RANGE = 60.0  # without a grid, no budget divides a value by more than exp(60)
_SMALLEST = -120  # the exponent of a unit that is below all amounts, before one has come
_MOST_UNITS = 2**61  # what costs more cannot be counted


def _check_limits(limits: Sequence[Limit], grid: Floats) -> None:
    """Raise unless limits fit together and leave room for a bid."""
    for limit in limits:
        if not isinstance(limit, Money | ReturnOnSpend | CostPer):
            reject("Pacer", "limits", "Budgets, Leases, ReturnOnSpends and CostPers", limit)
    if not limits:
        reject("Pacer", "limits", "at least one limit", ())
    aims = {limit.aim for limit in limits if not isinstance(limit, Money)}
    if len(aims) > 1:
        reject("Pacer", "limits", "targets with the same aim", sorted(aims))
    leases = [limit for limit in limits if isinstance(limit, Lease)]
    if len(leases) > 1:
        reject("Pacer", "limits", "at most one Lease", leases)
    positive = grid[grid > 0]
    for limit in limits:
        if isinstance(limit, Money) and positive.size and limit.amount < positive[0]:
            expected = f"at least the lowest bid, {positive[0]:.15g}"
            reject(type(limit).__name__, "amount", expected, limit.amount)


def _plan(limit: Limit, horizon: int | None) -> int:
    if not isinstance(limit, Money) or limit.pacing == "asap":
        return col.AT_ONCE
    if timed(limit):
        return col.BY_TIME
    if limit.per is None and horizon is None:
        expected = "'asap' for a budget without a period, unless the horizon is given"
        reject("Budget", "pacing", expected, limit.pacing)
    return col.BY_AUCTIONS


def _fine(highest: float) -> int:
    """Return the exponent of a unit that is far below an amount."""
    return math.floor(math.log10(max(highest, 1e-300))) - _DIGITS


_FEWEST = 1024  # the least number of rows
_SPARE = 7 / 8  # if a larger share of the rows is free, the arrays are made smaller


class Reservations:
    """The bids without an outcome, by their keys, in the order in which they were made.

    Each is a row of arrays, which compiled steps fill and read. A row is used again after its bid
    was settled.
    """

    def __init__(self, rules: PaceRules, state: PaceState) -> None:
        self.table = Reserved.empty(_FEWEST, rules.kinds.size)
        self._limits = rules, state
        self.core = PaceCore(rules, state, self.table)
        self.rows: dict[int, int] = {}
        self.free = list(range(1, _FEWEST))
        self.opened = 0
        self.spare = _FEWEST

    def hold(self, key: int) -> None:
        """Remember the bid of the opened row under a key, and open another row."""
        if not self.free:
            self.resize(1)
        at_once(  # an interrupt in between would let two bids share a row
            partial(self.rows.__setitem__, key, self.opened),
            partial(vars(self).__setitem__, "opened", self.free[-1]),
            self.free.pop,
        )

    def take(self, count: int) -> list[int]:
        """Return rows for many bids. Call `hold_many` next; they stay free if it is not called."""
        if len(self.free) < count:
            self.resize(count)
        rows = self.free[len(self.free) - count :]
        self.table.prices[rows] = 0  # nothing is reserved so far
        return rows

    def hold_many(self, keys: Integers, rows: Integers, made: Booleans) -> None:
        """Remember bids whose rows were taken. Rows without a bid stay free."""
        held = zip(keys[made].tolist(), rows[made].tolist(), strict=True)
        at_once(
            partial(self.rows.update, held),
            partial(self.free.__delitem__, slice(len(self.free) - rows.size, None)),
            partial(self.free.extend, rows[~made].tolist()),
        )

    def resize(self, more: int = 0) -> None:
        """Move all bids to new arrays that are as large as needed."""
        size = len(self.rows)
        total = 2 * max(size + more, _FEWEST)
        kept = np.array([*self.rows.values(), self.opened])
        table = Reserved.empty(total, self.table.tickets.shape[1])
        for new, old in zip(table, self.table, strict=True):
            new[: size + 1] = old[kept]
        new_state = {
            "table": table,
            "core": PaceCore(*self._limits, table),
            "rows": dict(zip(self.rows, range(size), strict=True)),
            "opened": size,
            "free": list(range(total - 1, size, -1)),
            "spare": int(_SPARE * max(total, 8 * _FEWEST)),
        }
        vars(self).update(new_state)  # one step, which no interrupt can part

    def freeze(self) -> Callable[[], dict[str, npt.NDArray[Any]]]:
        """Return a function that returns arrays of all bids as they are now."""
        rows, table = self.rows.copy(), Reserved._make(part.copy() for part in self.table)

        def arrays() -> dict[str, npt.NDArray[Any]]:
            at = np.array(list(rows.values()), dtype=np.int64)
            parts = {name: part[at] for name, part in table._asdict().items()}
            return {"keys": np.array(list(rows), dtype=np.int64), **parts}

        return arrays

    def replace(self, keys: Integers, table: Reserved) -> None:
        """Replace all bids by others."""
        self.rows = {}
        self.resize(keys.size)
        for own, given in zip(self.table, table, strict=True):
            own[1 : keys.size + 1] = given  # row 0 is the opened one
        self.rows = dict(zip(keys.tolist(), range(1, keys.size + 1), strict=True))
        self.free = list(range(self.table.held.shape[0] - 1, keys.size, -1))


# --- the pacer -----------------------------------------------------------------------------------


_NO_NUMBERS = np.zeros(3)  # random numbers for an auction without a choice
_KEYS = 2**40  # more bids than a process makes: numbers of its bids differ by less
_KEPT = 8 * 86_400.0  # seconds; learners refuse outcomes that are older than a week
_BIDS = record.Field(rows="bids", grows=True)  # arrays with a row for each bid
_FIELDS = {"keys": _BIDS, "held": _BIDS, "prices": _BIDS._replace(low=0), "tickets": _BIDS}


class PacedLog(NamedTuple):
    """What was bid on a log.

    Attributes:
        bids: (n,), by number; -1 where nothing could be bid. An amount of 0 is no bid either.
        pseudo_values: (n,), what was bid for.
    """

    bids: Integers
    pseudo_values: Floats


class PacedChoices(NamedTuple):
    """What was chosen in the auctions of a batch.

    Attributes:
        bids: (n,), by number; -1 where nothing could be bid. An amount of 0 is no bid either.
        chances: (n,), the probabilities of winning with these bids, by the law.
        usable: (n,), the highest amounts up to the pseudo-value.
        pseudo_values: (n,), what was bid for.
        tightest: (n, 3). Where nothing could be bid: the number of the limit that leaves least, the
            units that it leaves, and those that it has reserved.
        rows: (n,), the rows of these bids in `Pacer.reserved`. If nothing was bid, the row is not
            used.
    """

    bids: Integers
    chances: Floats
    usable: Integers
    pseudo_values: Floats
    tightest: Integers
    rows: Integers


def _check_same_periods(one: Budget, other: Budget) -> None:
    """Raise if periods would be cut at other times: what was spent in this one would be lost."""
    names = ["timezone"]
    if isinstance(one.per, timedelta) and isinstance(other.per, timedelta):
        names.append("begins")
    for name in names:
        if getattr(one, name) != getattr(other, name):
            raise InvalidParameterError(
                f"The '{name}' of a budget per {one.per} cannot change while the bidder runs: its "
                "periods would begin at other times, and what was spent in the present one would "
                f"be forgotten. Keep {getattr(one, name)!r}, or make a new bidder."
            )


class Pacer:
    """Keeps one bidder within its limits.

    Every limit has a multiplier. Without limits, a bidder bids for the value v. Under limits it
    bids for a *pseudo-value*, the lowest of

    - v exp(s) under a budget, where s is at most 0 if the aim is the surplus;
    - c (1 + exp(s)) under a target, where c is the credit of a win: the value divided by the return
      on spend. With the aim "surplus" it is c + (v - c) exp(s).

    These pseudo-values maximise the Lagrangian. After an auction, s is reduced by
    `g / sqrt(sum of g^2)`. Under a budget, g is the cost of the auction minus what was planned,
    which is the share of the remaining money that is meant for it. Its cost is the mean of what was
    paid and of what the law expected, which varies less. The steps are at most 2 g divided by the
    least of what was spent in the period, was planned, and is left: one multiplier for the whole
    period buys most, but the plan must be met in the end. They are smaller by what open bids are
    expected to cost. The first multiplier and the scale of the first steps are those of a plan that
    is paid by auctions of about a quarter of their value. Under a target, g is what was paid minus
    c; the steps need no scale: the first is 1, and later ones become smaller. The next period
    starts with half of the sum.

    A limit that must hold at any time is also a cap: no bid is made that could break it, whatever
    becomes of bids without an outcome. Under a target, g is then computed from the bid that would
    have been made without the cap: with the cap the target always holds, so s would only rise.

    For each auction call `open`, then `reserve` or `decline`; or `choose`, which does both. Call
    `settle` once the outcome is known. `play` does all this for the auctions of a log.

    Without a grid of amounts, call `open_between` and `reserve_money` instead. Pseudo-values and
    steps need no scale, so nothing has to be known of the values. The unit of money follows from
    the budgets; under targets, it becomes larger with the values that come.

    Args:
        amounts: The amounts that may be bid, ascending; None for any.
        limits: Budgets and targets, at least one of them.
        value_range: The lowest and the highest value; without amounts, the highest so far.
        most: The highest amount that is ever bid, if there is no grid of amounts.
        horizon: The number of auctions to come, for budgets that have no period.
        expires: The time after which a bid without an outcome counts as lost, as a timedelta or in
            seconds; None for never.
        owner: The class that an error about `expires` names.

    Attributes:
        limits: The limits.
        rules: The limits, as compiled steps take them.
        state: The state of the limits, as compiled steps take it.
        lowest: The number of the lowest bid that can be made: an amount of 0 means not to bid.
        middle: The value at which the status shows the multipliers: half of the highest one;
            without amounts, the cost of a win that a target allows.
        periods: The present periods; `periods.renew` replaces a lease.
        reserved: The bids without an outcome, by their keys.
        late: (limits,): what was paid for bids that had expired, in units.
        firsts: (limits,): the number of the first bid of each present period, or `NO_BID`.

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
        amounts: npt.ArrayLike | None,
        limits: Sequence[Limit],
        *,
        value_range: tuple[float, float],
        most: float = math.inf,
        horizon: int | None = None,
        expires: timedelta | float | None = None,
        owner: str = "Pacer",
    ) -> None:
        given = np.zeros(0) if amounts is None else amounts
        grid = array("Pacer", "amounts", "ascending numbers", given)
        if isinstance(expires, timedelta):
            expires = expires.total_seconds()
        self.expires = None if expires is None else number(owner, "expires", expires, above=0)
        self.limits, self._horizon, self._most = list(limits), horizon, most
        self._range, self.middle = value_range, value_range[1] / 2
        _check_limits(self.limits, grid)
        # A power of ten, far below the bids, in which sums are exact.
        budgets = [one.amount for one in self.limits if isinstance(one, Money)]
        digits = [math.floor(math.log10(amount)) - _MOST_DIGITS for amount in budgets]
        if grid.size:
            digits.append(_fine(float(np.abs(grid).max())))
        else:
            bases = [one.credit()[0] for one in self.limits if not isinstance(one, Money)]
            self.middle = max(bases, default=0.0) or 1.0
            if bases and value_range[1] > 0.0:  # credits of wins have to be counted, too
                digits.append(_fine(value_range[1]))
        self.unit = Decimal(1).scaleb(max(digits, default=_SMALLEST))
        self._prices = {one: in_units(one, self.unit, ROUND_CEILING) for one in grid.tolist()}
        self.rules = self._rules(grid, horizon)
        self.state = self._first_state()
        self.lowest = int(0 in self.rules.prices[:1])
        price = int(self.rules.prices[-1]) if grid.size else self._at_most(most)
        self._riskiest = value_range[0], price  # a value and a price
        self.reserved = Reservations(self.rules, self.state)
        self.periods = Periods(self, horizon)
        self.late = np.zeros(len(self.limits), dtype=np.int64)
        self.firsts = np.full(len(self.limits), col.NO_BID)

    def _rules(self, grid: Floats, horizon: int | None) -> PaceRules:
        """Return the limits as compiled steps take them."""
        kinds, credits_, aims = [], [], set()
        for limit in self.limits:
            if isinstance(limit, Money):
                kinds.append(col.BUDGET)
                lowest = -_LOG_RANGE
                if grid.size:
                    lowest = math.log(grid[grid > 0].min(initial=grid[-1]) / (2 * self.middle))
                credits_.append((0.0, 0.0, 0.0, lowest))
            else:
                kinds.append(col.TARGET if limit.keep == "always" else col.LOOSE_TARGET)
                base, slope = limit.credit()
                # The third number is a factor of the value: a pseudo-value is about 2 c at s = 0.
                credits_.append((base, slope, slope + base / self.middle, _TINY))
                aims.add(limit.aim)
        return PaceRules(
            amounts=grid,
            prices=np.array(list(self._prices.values()), dtype=np.int64),
            unit=float(self.unit),
            kinds=np.array(kinds),
            plans=np.array([_plan(limit, horizon) for limit in self.limits]),
            credits=np.array(credits_),
            surplus=aims != {"value"},
            risks=np.full(len(self.limits), math.inf),
        )

    def _first_state(self) -> PaceState:
        """Return the state before the first auction.

        If prices are uniform, half of the pseudo-value is bid. So under a target, pseudo-values
        begin at twice the credit of a win, or at the value if that is less.
        """
        state = PaceState.empty(len(self.limits))
        for i, (base, slope, *_) in enumerate(self.rules.credits):
            credit = base + slope * self.middle
            target = self.rules.kinds[i] != col.BUDGET
            if self.rules.surplus and target and 2 * credit < self.middle:
                state.duals[i, col.LOG] = math.log(credit / (self.middle - credit))
        return state

    def alone(self) -> PaceCore:
        """Return the compiled steps with one row of their own, for auctions settled at once."""
        return PaceCore(self.rules, self.state, Reserved.empty(1, len(self.limits)))

    @property
    def cost_of_holding(self) -> float:
        """What it costs to reserve a unit of money for a bid, whether the bid wins or not."""
        return float(self.reserved.core.cost_of_holding())

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
        opened: tuple[float, int, int] = reserved.core.open(
            reserved.opened, now, value, first, last
        )
        return opened

    def reserve(
        self, key: int, value: float, amount: int, wanted: int, chance: float = 1.0
    ) -> None:
        """Reserve money for a bid in the auction that was opened last.

        Args:
            key: A unique number for the bid.
            value: What winning is worth.
            amount: The amount, by number; at most the highest that `open` returned.
            wanted: The amount that would have been bid without that bound, by number.
            chance: The chance that the bid wins; 1 if no law knows it. It is multiplied by the wins
                of earlier bids of about this amount, divided by the sum of their chances.
        """
        price, more = self.rules.prices[[amount, wanted]].tolist()
        self._reserve(key, value, price, more, chance)

    def _reserve(self, key: int, value: float, price: int, wanted: int, chance: float) -> None:
        reserved = self.reserved
        if self.periods.begun:
            self.begin(key)
        reserved.core.reserve(reserved.opened, self.periods.now, value, price, wanted, chance)
        reserved.hold(key)

    def open_between(self, value: float, now: float) -> tuple[float, Decimal]:
        """Count an auction in which any amount may be bid, and return what limits leave of it.

        Args:
            value: What winning is worth.
            now: The time, in seconds since 1970.

        Returns:
            The pseudo-value, and the highest amount that cannot break a limit.
        """
        self._fit(value)
        worth = self.open(value, now, 0, -1)[0]
        return worth, self.left(value)

    def reserve_money(
        self, key: int, value: float, amount: float, wanted: float, chance: float
    ) -> None:
        """Do what `reserve` does, for amounts of money.

        Args:
            key: A unique number for the bid.
            value: What winning is worth.
            amount: The amount; at most what `open_between` returned.
            wanted: The amount that would have been bid without that bound.
            chance: As for `reserve`.
        """
        price = self._at_most(wanted)
        self.reserved.core.weigh_holding(price)
        paid = price if amount == wanted else self._price(amount)
        self._reserve(key, value, paid, price, chance)

    def left(self, value: float) -> Decimal:
        """Return the highest amount that may be bid.

        Args:
            value: What winning is worth.
        """
        core = self.reserved.core
        units = min(core.free_money(i, value) for i in range(len(self.limits)))
        return as_money(max(units, 0), self.unit)

    def _fit(self, value: float) -> None:
        """Count money in a larger unit, if the value of an auction is so high that it must be.

        Money is rounded against the bidder, as in `restore`.
        """
        if self._prices or value <= self._range[1] or all(self.rules.kinds == col.BUDGET):
            return
        highest = 10.0 ** (math.floor(math.log10(value)) + 1)
        self._become(self._again(self.limits, highest, self.freeze()()))

    def decline(self, value: float) -> None:
        """Account for the auction that was opened last, in which no bid was made.

        Args:
            value: What winning was worth.
        """
        self.reserved.core.decline(self.reserved.opened, value)

    def choose(
        self,
        key: int,
        law: OutcomeLaw,
        labels: tuple[Label, ...],
        auction: tuple[float, float, int, int],
    ) -> tuple[float, int, int]:
        """Let a law choose a bid, and reserve its money: `open`, then `reserve` or `decline`.

        Args:
            key: A unique number for the bid, if one is made.
            law: The law of prices, with the same amounts.
            labels: The classes of the auction, in the order of the law's features.
            auction: The value, in the range of the law's contexts; the time; and the lowest and the
                highest amount that may be bid, as in `open`.

        Returns:
            The pseudo-value and the highest amount up to it, as `open` returns them; and the amount
            that was chosen, by number, or -1 if nothing may be bid. If the amount is 0, no bid was
            made, and there is nothing to settle.
        """
        periods, reserved = self.periods, self.reserved
        value, now, first, last = auction
        if periods.now < now < periods.ends and periods.left > 0:  # `move`, without a call
            periods.now = now = float(now)
            periods.left -= 1
        else:
            now = periods.move(now)
        if self.expires is not None:
            self.expire(now - self.expires)
        found: tuple[float, int, int] = reserved.core.decide(
            law.core,
            reserved.opened,
            now,
            (value, first, last),
            law.levels.slots(labels),
            law.uniforms.take(3) if first <= last else _NO_NUMBERS,
        )
        if found[2] >= self.lowest:
            if periods.begun:
                self.begin(key)
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
        """Account for a bid whose outcome is known, in one step that no interrupt can part.

        If a bid wins after it has expired, it is paid from what is left now.

        Args:
            key: The number of the bid.
            value: What winning was worth.
            amount: The amount that was placed, as money; paid if it won, whatever was reserved.
            won: Whether it won.
            least: The lowest amount that would have won; infinite if it lost and that is not known.
        """
        at_once(*self.settled(key, value, amount, won, least))

    def settled(
        self,
        key: int,
        value: float,
        amount: float,
        won: bool,  # noqa: FBT001 - keywords take time
        least: float,
    ) -> Sequence[Callable[[], Any]]:
        """Return the steps that account for a bid whose outcome is known; see `at_once`.

        If a bid wins after it has expired, it is paid from what is left now.

        Args:
            key: The number of the bid.
            value: What winning was worth.
            amount: The amount, as money.
            won: Whether it won.
            least: The lowest amount that would have won; infinite if it lost and that is not known.
        """
        reserved = self.reserved
        if len(reserved.free) > reserved.spare:
            reserved.resize()
        row = reserved.rows.get(key)
        if row is None:
            if not won:
                return ()
            paid = self.corrected(key, value, amount, won=True)  # it had expired
            return (partial(self.late.__iadd__, self._price(amount)), *paid)
        return (
            *self.known(row, value, amount),
            partial(reserved.core.settle, row, won, least, len(reserved.rows) == 1),
            *(self._repriced(row, value, amount) if won else ()),
            partial(reserved.rows.pop, key),
            partial(reserved.free.append, row),
        )

    def _price(self, amount: float) -> int:
        """Return what an amount costs, in units, rounded up."""
        known = self._prices.get(amount)
        if known is not None:
            return known
        price = in_units(amount, self.unit, ROUND_CEILING)
        if price > _MOST_UNITS:
            expected = f"at most {as_money(_MOST_UNITS, self.unit):.3g} under these limits"
            reject("settle", "placed", expected, amount, error=InvalidLossesError)
        return price

    def _at_most(self, amount: float) -> int:
        """Return what an amount costs; of amounts that no limit allows, the same for all."""
        return self._price(min(amount, float(as_money(_MOST_UNITS, self.unit)) / 2))

    def _repriced(self, row: int, value: float, amount: float) -> list[Callable[[], Any]]:
        """Return the steps that pay another amount for a win than was reserved, if it is another.

        More is paid even if it exceeds a budget: it is the truth.
        """
        table, core = self.reserved.table, self.reserved.core
        price, wanted = (table.prices.item(row, one) for one in (col.COSTS, col.WANTED))
        paid = self._price(amount)
        if wanted == 0 or paid == price:  # a bid whose price was not known costs what is told
            return []
        now = np.flatnonzero(
            table.tickets[row, :, col.OF_PERIOD] == self.state.times[:, col.PERIOD]
        )
        steps: list[Callable[[], Any]] = []
        for limit in now.tolist():
            steps.append(partial(core.pay, limit, value, price, -1))
            steps.append(partial(core.pay, limit, value, paid, 1))
        return steps

    # --- bids that an interrupt has ended -----------------------------------------------------

    def vacate(self) -> None:
        """Note that nothing is reserved for the next bid so far, so that `withdraw` can tell."""
        self.reserved.table.prices[self.reserved.opened, col.COSTS] = 0

    def withdraw(self, keys: Sequence[int], rows: Sequence[int]) -> None:
        """Count bids as lost, as their caller did not get them. Call `vacate` before single bids.

        Args:
            keys: The numbers of bids that may have been remembered.
            rows: The rows of bids that may have been chosen.
        """
        reserved = self.reserved
        used, prices = {*reserved.rows.values(), -1}, reserved.table.prices
        for row in rows:
            if row not in used and prices[row, col.COSTS] > 0:
                at_once(
                    partial(reserved.core.settle, row, False, math.inf, not reserved.rows),  # noqa: FBT003
                    partial(prices[row].__setitem__, col.COSTS, 0),
                )
        for key in keys:
            if key in reserved.rows:
                self.settle(key, 0.0, 0.0, won=False, least=math.inf)

    # --- bids that may have been made ----------------------------------------------------------

    def spare(self, share: float, most: int) -> int:
        """Return for how many bids of the highest amount a share of the free money would do.

        It is 0 if money that is reserved for a bid that was never made would not become free again.

        Args:
            share: The share of what each limit leaves.
            most: The highest number to return.
        """
        if self.expires is None and any(limit.per is None for limit in self.limits):
            return 0
        core = self.reserved.core
        most = min(most, _MOST_UNITS // 4 // max(self._riskiest[1], 1))  # 0 without a highest bid
        for i in np.flatnonzero(self.rules.kinds != col.LOOSE_TARGET).tolist():
            risk = core.at_risk(i, *self._riskiest)
            if risk > 0:
                most = min(most, int(share * core.free_money(i, self._riskiest[0]) / risk))
        return max(most, 0)

    def reserve_unknown(self, keys: Integers, at: float) -> None:
        """Reserve the most that bids of the present periods can cost, if nothing else is known.

        Args:
            keys: The numbers of bids that may have been made.
            at: A time after which they were not made, in seconds since 1970.
        """
        if self.periods.begun:
            self.begin(int(keys[0]))
        reserved, (value, price) = self.reserved, self._riskiest
        rows = np.array(reserved.take(keys.size), dtype=np.int64)
        table, state = reserved.table, self.state
        table.held[rows] = at, value, 0.0, 0.0  # nothing is known of their chances
        table.prices[rows] = price, 0  # no bid that was made wants 0
        table.tickets[rows] = 0.0
        table.tickets[rows, :, col.OF_PERIOD] = state.times[:, col.PERIOD]
        for i, kind in enumerate(self.rules.kinds.tolist()):
            at_risk = reserved.core.at_risk(i, value, price)
            table.tickets[rows, i, col.COUNTS] = at_risk
            state.money[i, [col.RESERVED, col.COUNTED]] += keys.size * at_risk
            if kind == col.BUDGET:
                state.duals[i, col.WAITING] += keys.size
        reserved.hold_many(keys, rows, np.ones(keys.size, dtype=bool))

    def known(self, row: int, value: float, amount: float) -> list[Callable[[], Any]]:
        """Return the steps that undo `reserve_unknown` for a bid, and reserve what it costs.

        Args:
            row: The row of the bid.
            value: What winning was worth.
            amount: The amount, as money; 0 if it is not known.
        """
        table, money = self.reserved.table, self.state.money
        if table.prices.item(row, col.WANTED) > 0 or amount <= 0.0:
            return []
        price, core = self._price(amount), self.reserved.core
        before = float(table.held[row, col.BID_FOR]), int(table.prices[row, col.COSTS])
        present = table.tickets[row, :, col.OF_PERIOD] == self.state.times[:, col.PERIOD]
        at_risk = np.array([core.at_risk(i, value, price) for i in range(present.size)])
        released = present * ([core.at_risk(i, *before) for i in range(present.size)] - at_risk)
        return [
            partial(money[:, col.RESERVED].__isub__, released),
            partial(money[:, col.COUNTED].__isub__, released),
            partial(table.tickets[row, :, col.COUNTS].__setitem__, slice(None), at_risk),
            partial(table.prices[row].__setitem__, slice(None), price),
            partial(table.held[row].__setitem__, col.BID_FOR, value),
        ]

    def expire(self, before: float) -> None:
        """Count bids without an outcome as lost if they were made long ago.

        Args:
            before: The latest time at which such a bid was made.
        """
        held, expired = self.reserved.table.held, []
        for key, row in self.reserved.rows.items():
            if held[row, col.MADE_AT] > before:
                break
            expired.append((key, float(held[row, col.BID_FOR])))
        for key, value in expired:
            self.settle(key, value, 0.0, won=False, least=math.inf)

    def correct(self, key: int, value: float, amount: float, *, won: bool) -> None:
        """Correct an outcome that was reported wrongly before; see `corrected`.

        Args:
            key: The number of the bid.
            value: What winning was worth.
            amount: The amount, as money.
            won: The right outcome: whether the bid has won.
        """
        at_once(*self.corrected(key, value, amount, won=won))

    def corrected(
        self, key: int, value: float, amount: float, *, won: bool
    ) -> list[Callable[[], Any]]:
        """Return the steps that correct an outcome that was reported wrongly before.

        A win is paid in this period, even if more than the budget is spent then: it is the truth.
        Nothing is bid as long as that is so. The money of a win that was none is given back only if
        the bid is known to belong to this period: otherwise more could be spent in it.

        Args:
            key: The number of the bid.
            value: What winning was worth.
            amount: The amount, as money.
            won: The right outcome: whether the bid has won.
        """
        price, core = self._price(amount), self.reserved.core
        steps: list[Any] = []
        for limit in range(len(self.limits)):
            present = 0 <= key - self.firsts[limit] < _KEYS
            if won or (present and self.state.money[limit, col.SPENT] >= price):
                steps.append(partial(core.pay, limit, value, price, 1 if won else -1))
        return steps

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
        present, old = self.state.times[:, col.PERIOD], []
        for one, row in rows.items():
            if table.held[row, col.MADE_AT] > periods.now - _KEPT:
                break
            if (table.tickets[row, :, col.OF_PERIOD] != present).all():
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
        core = self._later(now).reserved.core
        found: tuple[float, int, int] = core.look(value, first, last)
        return found

    def look_between(self, value: float, now: float | None = None) -> tuple[float, Decimal]:
        """Return what `open_between` would return. Changes nothing.

        Args:
            value: What winning is worth.
            now: As in `look`.
        """
        pacer = self._later(now)
        worth = pacer.reserved.core.look(value, 0, -1)[0]
        return worth, pacer.left(value)

    def _later(self, now: float | None) -> Pacer:
        """Return this pacer; if a period begins until a time, a copy in which it has begun."""
        if now is None or now < self.periods.ends:
            return self
        later = copy.deepcopy(self)
        later.periods.turn(now)
        return later

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
        found = PacedLog(np.empty(count, dtype=np.int64), np.empty(count))
        guarded = isinstance(law, GuardedLaw)
        bare = law.law if isinstance(law, GuardedLaw) else law
        log = prepared(
            bare, values, prices, firsts=firsts, lasts=lasts, classes=classes, cells=cells
        )
        columns = {
            **log._asdict(),
            **found._asdict(),
            "uniforms": log.uniforms(bare.uniforms, 5 if guarded else 3),
            "times": nows,
            "rows": np.full(count, self.reserved.opened),
        }
        core = self.reserved.core
        play: Callable[..., None] = core.play_guarded if guarded else core.play
        for start, stop in self.periods.pieces(nows):
            play(law.core, AuctionColumns(columns, start, stop))
        return found

    # --- many auctions of one time -------------------------------------------------------------

    def choose_many(
        self,
        law: OutcomeLaw,
        auctions: Mapping[str, npt.NDArray[Any]],
        now: float,
        rows: Integers | None = None,
    ) -> PacedChoices:
        """Do what `choose` does in many auctions of one time. Call `hold_many` next.

        Args:
            law: As in `choose`.
            auctions: The values ("worths"), slots, firsts and lasts.
            now: As in `open`.
            rows: To be filled with the rows of the bids, for `withdraw`.

        Returns:
            What was chosen.
        """
        values, reserved = auctions["worths"], self.reserved
        count, now = values.size, max(now, self.periods.now)
        bids, usable = np.empty((2, count), dtype=np.int64)
        found = PacedChoices(
            bids=bids,
            chances=np.empty(count),
            usable=usable,
            pseudo_values=np.empty(count),
            tightest=np.full((count, 3), -1),
            rows=np.full(count, -1) if rows is None else rows,
        )
        times = np.full(count, now)
        uniforms = law.uniforms.rows(auctions["firsts"] <= auctions["lasts"], 3)
        given = {**auctions, "contexts": values, "times": times, "uniforms": uniforms}
        for start, stop in self.periods.pieces(times):
            if start == 0 and self.expires is not None:
                self.expire(now - self.expires)
            if start == 0:
                found.rows[:] = reserved.take(count)
            columns = AuctionColumns({**given, **found._asdict()}, start, stop)
            reserved.core.decide_all(law.core, columns)
        return found

    def hold_many(self, keys: Integers, chosen: PacedChoices) -> None:
        """Remember the bids that `choose_many` has just reserved money for.

        Args:
            keys: The number of each bid.
            chosen: What `choose_many` returned.
        """
        made, reserved = chosen.bids >= self.lowest, self.reserved
        if self.periods.begun and made.any():
            own, tickets = keys[made], reserved.table.tickets[chosen.rows[made]]
            for i in self.periods.begun:
                present = tickets[:, i, col.OF_PERIOD] == self.state.times[i, col.PERIOD]
                self.firsts[i] = own[present].min(initial=own[-1] + 1)
            self.forget()
        reserved.hold_many(keys, chosen.rows, made)

    def settled_many(
        self, keys: Integers, values: Floats, amounts: Floats, won: Booleans, least: Floats
    ) -> list[Callable[[], Any]]:
        """Return the steps that account for many bids, as `settled` does for each.

        Args:
            keys: The numbers of the bids.
            values: What winning was worth.
            amounts: The amounts, as money.
            won: Whether each has won.
            least: As in `settled`.
        """
        reserved = self.reserved
        if len(reserved.free) > reserved.spare:
            reserved.resize()
        rows = np.array([reserved.rows.get(key, -1) for key in keys.tolist()], dtype=np.int64)
        known = rows >= 0
        used = rows[known].tolist()
        gone = map(reserved.rows.pop, keys[known].tolist())
        unknown = np.flatnonzero(known)[
            reserved.table.prices[rows[known], col.WANTED] == 0
        ].tolist()
        steps: list[Callable[[], Any]] = []
        for i in unknown:
            steps += self.known(int(rows[i]), float(values[i]), float(amounts[i]))
        others, start = len(reserved.rows), 0
        for stop in [*np.flatnonzero(won & ~known).tolist(), keys.size]:
            part = start + np.flatnonzero(known[start:stop])
            others, start = others - part.size, stop
            given = rows[part], won[part].view(np.uint8), least[part], others
            steps.append(partial(reserved.core.settle_all, *given))
            if stop < keys.size:  # it had expired
                late = int(keys[stop]), float(values[stop]), float(amounts[stop])
                steps += self.settled(*late, True, 0.0)  # noqa: FBT003
        steps.append(partial(deque[Any](maxlen=0).extend, gone))
        steps.append(partial(reserved.free.extend, used))
        return steps

    # --- what was spent, in files --------------------------------------------------------------

    def freeze(self) -> Callable[[], dict[str, npt.NDArray[Any]]]:
        """Return a function that returns all that changes, as it is now.

        Call `freeze` under a lock: it only copies, in a fraction of a millisecond. The function
        sorts the bids without an outcome, and needs no lock.
        """
        reserved, periods = self.reserved.freeze(), self.periods
        copies = {
            **{name: part.copy() for name, part in self.state._asdict().items()},
            "traffic": np.array([traffic.table for traffic in periods.traffic]),
            "clock": np.array([periods.first, periods.now]),
            "unit": np.array([self.unit.adjusted()]),
            "form": self._form(),
            "late": self.late.copy(),
            "firsts": self.firsts.copy(),
            "paused": np.array([self.periods.paused]),
        }
        return lambda: {**copies, **reserved()}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore what `freeze` saved, under limits of the same kinds and periods.

        The amounts of limits and bids may differ. If the unit of money is now coarser, money is
        rounded against the bidder.

        Args:
            arrays: What the function that `freeze` returned has returned.

        Raises:
            CheckpointError: The arrays hold what is not possible.
            InvalidParameterError: The limits have other kinds or periods.
        """
        if not self._prices:  # its unit depends on the values that have come
            highest = 10.0 ** (int(arrays["unit"][0]) + _DIGITS)
            if highest > self._range[1]:
                self._become(self._again(self.limits, highest))
        arrays = {"paused": np.zeros(1, dtype=bool), **arrays}  # earlier versions had no pauses
        older = "planned_from" not in arrays
        arrays.setdefault("planned_from", np.zeros((len(self.limits), 2)))
        self._check_arrays(arrays)
        periods, reserved = self.periods, self.reserved
        for own, name in zip(self.state, self.state._fields, strict=True):
            own[:] = arrays[name]
        for traffic, table in zip(periods.traffic, arrays["traffic"], strict=True):
            traffic.table = np.array(table)
        periods.first, periods.now = arrays["clock"].tolist()
        periods.ends, periods.left = -1.0, 0  # `move` finds them out
        periods.paused = bool(arrays["paused"][0])
        self.late, self.firsts = np.array(arrays["late"]), np.array(arrays["firsts"])
        periods.begun = set(np.flatnonzero(self.firsts == col.NO_BID).tolist())
        reserved.replace(arrays["keys"], Reserved._make(arrays[name] for name in Reserved._fields))
        self._convert(int(arrays["unit"][0]) - self.unit.adjusted())
        self.state.planned_from[:, 1] *= 10.0 ** (int(arrays["unit"][0]) - self.unit.adjusted())
        for i, before in enumerate(self.state.money[:, col.GIVEN].tolist()):
            if before > 0:  # otherwise a lease or a flight has ended, or there is a pause
                periods.give(i)
            if older and self.rules.plans[i] == col.BY_TIME and self.state.times[i, col.END] > 0:
                share = reserved.core.planned_until(i, max(periods.first, 0.0))
                self.state.planned_from[i] = share, 0.0
            if self.rules.kinds[i] == col.BUDGET and self.state.money[i, col.GIVEN] != before:
                periods.plan_again(i)
            periods.refit(i)

    def change(self, limits: Sequence[Limit]) -> None:
        """Continue under other limits of the same kinds and periods; see `restore`.

        It takes effect in one step that no interrupt can part; if it raises, nothing has changed.

        Args:
            limits: The other limits, in the order of the present ones.

        Raises:
            InvalidParameterError: There is a Lease, or kinds or periods differ.
        """
        if any(isinstance(one, Lease) for one in limits):
            raise InvalidParameterError("A Lease is replaced by 'renew'.")
        for one, other in zip(self.limits, limits, strict=False):
            if isinstance(one, Budget) and isinstance(other, Budget):
                _check_same_periods(one, other)
        new = self._again(limits, self._range[1], self.freeze()())
        for i, (one, other) in enumerate(zip(self.limits, limits, strict=True)):
            if isinstance(one, Budget) and isinstance(other, Budget) and one.pacing != other.pacing:
                new.periods.spread_otherwise(i)
        self._become(new)

    def _again(
        self,
        limits: Sequence[Limit],
        highest: float,
        arrays: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Pacer:
        """Return a pacer with other limits, or a higher value; arrays: as for `restore`."""
        new = Pacer(
            self.rules.amounts if self._prices else None,
            limits,
            value_range=(self._range[0], highest),
            most=self._most,
            horizon=self._horizon,
            expires=self.expires,
        )
        if arrays is not None:
            new.restore(arrays)
        return new

    def _become(self, new: Pacer) -> None:
        """Go on as another pacer, in one step that no interrupt can part."""
        # Threads that wait for a lock may have the present objects.
        parts = vars(new.periods) | {"_pacer": self}
        at_once(
            partial(vars(self.periods).update, parts),
            partial(vars(self).update, vars(new) | {"periods": self.periods}),
        )

    def _check_arrays(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Raise unless arrays fit the limits and hold possible numbers."""
        if not np.array_equal(arrays["form"], self._form()):
            raise InvalidParameterError(
                "Saved spending can be restored only under limits of the same kinds and periods, "
                "in the same order. Amounts may change. Give such limits, or make a new bidder, "
                "which starts without what was spent. To go on with another lease, load the bidder "
                "without it, and call 'renew'."
            )
        record.check(self.freeze()(), arrays, _FIELDS, "limit")
        if (arrays["money"][:, col.RESERVED] < 0).any():
            raise CheckpointError("The limits' money is impossible.")

    def _convert(self, digits: int) -> None:
        """Count money in another unit, which is smaller by a factor of 10**digits."""
        if digits == 0:
            return

        def converted(units: int, rounding: str = ROUND_CEILING) -> int:
            return int(Decimal(int(units)).scaleb(digits, EXACT).to_integral_value(rounding, EXACT))

        rows, table = list(self.reserved.rows.values()), self.reserved.table
        for row in rows:
            table.prices[row] = [converted(one) for one in table.prices[row]]
        money, duals = self.state.money, self.state.duals
        largest = int(np.iinfo(np.int64).max)
        for i in range(len(self.limits)):
            spent = converted(money[i, col.SPENT])
            if spent > largest:
                raise InvalidParameterError(
                    "More was spent than a budget this small can count. Give a larger amount."
                )
            money[i] = (
                min(converted(money[i, col.GIVEN], ROUND_FLOOR), largest),
                spent,
                0,
                0,
                min(converted(money[i, col.MOST], ROUND_FLOOR), largest),
            )
            self.late[i] = converted(self.late[i])
            for row in rows:
                if table.tickets[row, i, col.OF_PERIOD] == self.state.times[i, col.PERIOD]:
                    value, price = (
                        float(table.held[row, col.BID_FOR]),
                        int(table.prices[row, col.COSTS]),
                    )
                    at_risk = self.reserved.core.at_risk(i, value, price)
                    counts = at_risk
                    if self.rules.kinds[i] == col.BUDGET:
                        counts = min(converted(table.tickets[row, i, col.COUNTS]), at_risk)
                    table.tickets[row, i, col.COUNTS] = counts
                    money[i, [col.RESERVED, col.COUNTED]] += at_risk, counts
        scale = 10.0**digits
        duals[:, [col.SQUARES, col.OPEN_SQUARES, col.HOLDING_SQUARES]] *= scale * scale
        duals[:, [col.OPEN, col.DUE]] *= scale
        table.tickets[:, :, [col.PLANNED, col.EXPECTED]] *= scale

    def _form(self) -> Floats:
        """Return the kinds and the periods of the limits as numbers."""
        named = {None: -1.0, "day": -2.0, "hour": -3.0, "week": -1e9, "month": -2e9}
        form = []
        for limit in self.limits:
            per = limit.per
            if isinstance(limit, Lease):
                period = float(crc32(limit.id.encode()))
            elif per is None and timed(limit):
                period = -3e9  # a flight
            elif isinstance(per, timedelta):
                period = -3.0 - per.total_seconds()
            else:
                period = float(per) if isinstance(per, int) else named[per]
            form.append((float(list(KINDS).index(limit.kind)), period))
        return np.array(form)
