"""Bidding under limits: pseudo-values that keep to the plan, and money that is reserved."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.kernels.pacing import (
    ASKED,
    AT_ONCE,
    AUCTIONS,
    BINS,
    BUDGET,
    BY_AUCTIONS,
    BY_TIME,
    END,
    GIVEN,
    LATEST,
    LOG,
    LOOSE_TARGET,
    PAID,
    SQUARES,
    START,
    TARGET,
    PaceRules,
    PaceState,
)
from crossbandit.limits.periods import Traffic, period_around
from crossbandit.limits.settings import Budget, CostPer, ReturnOnSpend
from crossbandit.validation import array, reject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.laws import OutcomeLaw
    from crossbandit.limits.settings import Limit
    from crossbandit.types import Floats, Integers

_DIGITS = 9  # of the highest bid, after its first
_MOST_DIGITS = 17  # of a budget: its units fit into 63 bits
_CARRIED = 0.5  # of what was learned for steps, into the next period


class PacedLog(NamedTuple):
    """What was bid on a log.

    Attributes:
        bids: (n,), by number; -1 where nothing could be bid.
        pseudo_values: (n,), what was bid for.
    """

    bids: Integers
    pseudo_values: Floats


class Pacer:
    """Limits on the spending of one bidder, and how it keeps to them.

    Every limit has a multiplier. Without limits, a bidder bids for the value v. Under limits it
    bids for a *pseudo-value*, the lowest of

    - v exp(s) under a budget, where s is at most 0 if the surplus is to be high;
    - c (1 + exp(s)) under a target, where c is what a win allows to spend: the value divided by the
      return on spend. With the aim "surplus": c + (v - c) exp(s).

    These are the bids that maximise the Lagrangian. After an auction, s goes down by
    `g / sqrt(sum of g^2)`: under a budget g is what was paid less what was planned, under a target
    what was paid less c. What was planned is the share of the money left that falls on this
    auction. Steps need no scale: the first is 1, later ones become smaller, and half of the sum is
    carried into the next period.

    A limit that is kept at any time is also a cap: no bid is made that could break it, whatever
    becomes of bids that are outstanding. Under a target, g then is that of the bid without the cap,
    as with the cap the target is always kept and s would only rise.

    Args:
        amounts: The amounts that may be bid, ascending.
        limits: Budgets and targets, at least one of them.
        value_range: The lowest and the highest value.
        horizon: The number of auctions to come, for budgets that have no period.

    Raises:
        InvalidParameterError: The limits contradict each other, or a budget is too small for any
            bid.

    >>> from crossbandit.laws import OutcomeLaw
    >>> rng = np.random.default_rng(0)
    >>> values, prices = rng.uniform(0, 1, (2, 10_000))
    >>> law = OutcomeLaw(np.linspace(0, 1, 51), (0, 1))
    >>> pacer = Pacer(law.amounts, [Budget(200, per=10_000)], value_range=(0, 1))
    >>> log = pacer.play(law, values, prices)
    >>> won = law.amounts[log.bids] >= prices
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
    ) -> None:
        grid = array("Pacer", "amounts", "ascending numbers", amounts)
        self.limits = _checked(limits)
        self._digits = _exponent(grid, self.limits)
        self._unit = Decimal(1).scaleb(self._digits)
        kinds, plans, allowed = [], [], []
        for limit in self.limits:
            kinds.append(_kind(limit))
            plans.append(_plan(limit, horizon))
            allowed.append((*_credit(limit), _scale(limit, value_range)))
        self._horizon = horizon
        aims = {limit.aim for limit in self.limits if isinstance(limit, ReturnOnSpend | CostPer)}
        self.rules = PaceRules(
            prices=np.array([self._units(amount, ROUND_CEILING) for amount in grid.tolist()]),
            unit=float(self._unit),
            kinds=np.array(kinds),
            plans=np.array(plans),
            credits=np.array(allowed, dtype=float),
            surplus=aims != {"value"},
        )
        count = len(self.limits)
        self.state = PaceState(
            money=np.zeros((count, 3), dtype=np.int64),
            duals=np.zeros((count, 4)),
            times=np.zeros((count, 6)),
            plan=np.tile(np.linspace(0.0, 1.0, BINS + 1), (count, 1)),
            counts=np.zeros((count, BINS)),
        )
        self._ticket = np.zeros((count, 2))
        self._traffic = [Traffic(limit.timezone) for limit in self.limits]
        self._first = math.nan
        self._ends = -math.inf
        self._require_room(grid)
        self._start_at(value_range)

    @property
    def timed(self) -> bool:
        """Whether a limit has periods of the clock, so that times of auctions are needed."""
        return any(_timed(limit) for limit in self.limits)

    def play(
        self,
        law: OutcomeLaw,
        values: npt.ArrayLike,
        prices: npt.ArrayLike,
        *,
        times: npt.ArrayLike | None = None,
        firsts: npt.ArrayLike | None = None,
        lasts: npt.ArrayLike | None = None,
        classes: Mapping[str, npt.ArrayLike] | None = None,
        cells: npt.ArrayLike | None = None,
    ) -> PacedLog:
        """Bid on a log under the limits, in compiled code; every outcome is known at once.

        The law learns as in `OutcomeLaw.play`. A log may come in parts: call it for each of them.

        Args:
            law: The law of prices, with the same amounts. It chooses its law by the value, and its
                payoff by the pseudo-value.
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
            if self.timed:
                expected = "given, as a limit has periods of the clock"
                reject("play", "times", expected, None, error=InvalidContextError)
            times = np.zeros(count)
        nows = np.maximum.accumulate(array("play", "times", "numbers, one per auction", times))
        bids, pseudo = np.empty(count, dtype=np.int64), np.empty(count)
        log = law.log(values, prices, firsts, lasts, classes, cells)
        for start, stop in self.pieces(nows):
            law.paced(
                log.part(start, stop),
                self.rules,
                self.state,
                nows[start:stop],
                self._ticket,
                bids[start:stop],
                pseudo[start:stop],
            )
        return PacedLog(bids, pseudo)

    def pieces(self, times: Floats) -> Iterator[tuple[int, int]]:
        """Yield the first of some auctions and the one after the last, cut where periods begin.

        The auctions of a piece must have been played before the next one is asked for.

        Args:
            times: (n,), seconds since 1970, ascending.
        """
        start = 0
        while start < times.size:
            self.turn(float(times[start]))
            stop = self._until(times, start)
            yield start, stop
            start = stop

    def turn(self, now: float) -> None:
        """Begin new periods, where they are due.

        Args:
            now: The time of the next auction.
        """
        if math.isnan(self._first):
            self._first = now
            self._ends = -math.inf
        for i, limit in enumerate(self.limits):
            times = self.state.times[i]
            passed = times[AUCTIONS] if isinstance(limit.per, int) else now
            if times[END] == 0.0 or (limit.per is not None and passed >= times[END]):
                self._begin(i, limit, now)
        self._ends = min(
            (float(self.state.times[i, END]) for i, one in enumerate(self.limits) if _timed(one)),
            default=math.inf,
        )

    def _begin(self, i: int, limit: Limit, now: float) -> None:
        state, times = self.state, self.state.times[i]
        fresh = times[END] == 0.0
        begins, ends = 0.0, math.inf if self._horizon is None else float(self._horizon)
        if isinstance(limit.per, int):
            ends = float(limit.per)
        if _timed(limit):
            if not fresh:
                self._traffic[i].learn(times[START], times[END], self._first, state.counts[i])
            begins, ends = period_around(limit.per, limit.timezone, now, self._first)
            times[LATEST] = now if fresh else begins
            if isinstance(limit, Budget) and limit.pacing == "traffic":
                state.plan[i] = self._traffic[i].plan(begins, ends)
        times[[START, END, AUCTIONS]] = begins, ends, 0.0
        state.counts[i] = 0.0
        state.money[i] = 0
        if isinstance(limit, Budget):
            state.money[i, GIVEN] = self._units(limit.amount, ROUND_FLOOR)
        state.duals[i, [SQUARES, PAID, ASKED]] *= _CARRIED

    def _until(self, nows: Floats, start: int) -> int:
        """Return the first auction after `start` in which a period begins."""
        stop = int(np.searchsorted(nows, self._ends, "left"))
        for i, limit in enumerate(self.limits):
            if isinstance(limit.per, int):
                stop = min(stop, start + limit.per - int(self.state.times[i, AUCTIONS]))
        return min(max(stop, start + 1), nows.size)

    def _units(self, amount: float, rounding: str) -> int:
        return int((Decimal(repr(float(amount))) / self._unit).to_integral_value(rounding))

    def _require_room(self, grid: Floats) -> None:
        positive = grid[grid > 0]
        for limit in self.limits:
            if isinstance(limit, Budget) and positive.size and limit.amount < positive[0]:
                expected = f"at least the lowest bid, {positive[0]:.15g}"
                reject("Budget", "amount", expected, limit.amount)

    def _start_at(self, value_range: tuple[float, float]) -> None:
        """Let pseudo-values begin at 2 c under targets whose aim is the surplus, if that is less.

        Where prices are uniform, a half of the pseudo-value is bid.
        """
        middle = (value_range[0] + value_range[1]) / 2
        for i, limit in enumerate(self.limits):
            if isinstance(limit, ReturnOnSpend | CostPer) and self.rules.surplus:
                base, slope = limit.credit()
                credit = base + slope * middle
                if 2 * credit < middle:
                    self.state.duals[i, LOG] = math.log(credit / (middle - credit))


def _checked(limits: Sequence[Limit]) -> tuple[Limit, ...]:
    listed = tuple(limits)
    for limit in listed:
        if not isinstance(limit, Budget | ReturnOnSpend | CostPer):
            reject("Pacer", "limits", "Budgets, ReturnOnSpends and CostPers", limit)
    if not listed:
        reject("Pacer", "limits", "at least one limit", listed)
    aims = {limit.aim for limit in listed if isinstance(limit, ReturnOnSpend | CostPer)}
    if len(aims) > 1:
        reject("Pacer", "limits", "targets with the same aim", sorted(aims))
    return listed


def _exponent(grid: Floats, limits: Sequence[Limit]) -> int:
    """Return the power of ten of the unit of money."""
    highest = math.floor(math.log10(max(float(np.abs(grid).max()), 1e-300))) - _DIGITS
    budgets = [limit.amount for limit in limits if isinstance(limit, Budget)]
    return max([highest, *(math.floor(math.log10(one)) - _MOST_DIGITS for one in budgets)])


def _kind(limit: Limit) -> int:
    if isinstance(limit, ReturnOnSpend | CostPer):
        return TARGET if limit.keep == "always" else LOOSE_TARGET
    return BUDGET


def _plan(limit: Limit, horizon: int | None) -> int:
    if not isinstance(limit, Budget) or limit.pacing == "asap":
        return AT_ONCE
    if _timed(limit):
        return BY_TIME
    if limit.per is None and horizon is None:
        expected = "'asap' for a budget without a period, unless the horizon is given"
        reject("Budget", "pacing", expected, limit.pacing)
    return BY_AUCTIONS


def _timed(limit: Limit) -> bool:
    return limit.per is not None and not isinstance(limit.per, int)


def _credit(limit: Limit) -> tuple[float, float]:
    return limit.credit() if isinstance(limit, ReturnOnSpend | CostPer) else (0.0, 0.0)


def _scale(limit: Limit, value_range: tuple[float, float]) -> float:
    """Return what a value is multiplied by, so that a pseudo-value is 2 c where s is 0."""
    base, slope = _credit(limit)
    middle = (value_range[0] + value_range[1]) / 2
    return slope + base / middle
