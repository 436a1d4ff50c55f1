"""Turn limits into the form that compiled steps need, with money in whole units."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.limits.settings import CostPer, Lease, Money, ReturnOnSpend, timed
from crossbandit.limits.state import (
    AT_ONCE,
    BINS,
    BUDGET,
    BY_AUCTIONS,
    BY_TIME,
    GROUPS,
    LOG,
    LOOSE_TARGET,
    TARGET,
    PaceRules,
    PaceState,
)
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.limits.settings import Limit
    from crossbandit.types import Floats

EXACT = Context(prec=60)  # of money, whatever context the user has set
_DIGITS = 9  # digits of the highest bid after the first digit
_TINY = -7.0  # the logarithm of about a thousandth
_MOST_DIGITS = 17  # digits of a budget after the first: its units fit into 63 bits


def checked(limits: Sequence[Limit], grid: Floats) -> tuple[Limit, ...]:
    """Return limits that fit together and leave room for a bid."""
    listed = tuple(limits)
    for limit in listed:
        if not isinstance(limit, Money | ReturnOnSpend | CostPer):
            reject("Pacer", "limits", "Budgets, Leases, ReturnOnSpends and CostPers", limit)
    if not listed:
        reject("Pacer", "limits", "at least one limit", listed)
    aims = {limit.aim for limit in listed if isinstance(limit, ReturnOnSpend | CostPer)}
    if len(aims) > 1:
        reject("Pacer", "limits", "targets with the same aim", sorted(aims))
    leases = [limit for limit in listed if isinstance(limit, Lease)]
    if len(leases) > 1:
        reject("Pacer", "limits", "at most one Lease", leases)
    positive = grid[grid > 0]
    for limit in listed:
        if isinstance(limit, Money) and positive.size and limit.amount < positive[0]:
            expected = f"at least the lowest bid, {positive[0]:.15g}"
            reject(type(limit).__name__, "amount", expected, limit.amount)
    return listed


def unit_of(grid: Floats, limits: Sequence[Limit]) -> Decimal:
    """Return the unit of money: a power of ten, far below the bids, in which sums are exact."""
    highest = math.floor(math.log10(max(float(np.abs(grid).max()), 1e-300))) - _DIGITS
    budgets = [limit.amount for limit in limits if isinstance(limit, Money)]
    exponents = [highest, *(math.floor(math.log10(one)) - _MOST_DIGITS for one in budgets)]
    return Decimal(1).scaleb(max(exponents))


def in_units(amount: float, unit: Decimal, rounding: str) -> int:
    """Return an amount in units. The amount is taken as it is printed: 0.1 is exactly a tenth."""
    units = Decimal(repr(float(amount))).scaleb(-unit.adjusted(), EXACT)
    return int(units.to_integral_value(rounding, EXACT))


def as_money(units: int, unit: Decimal) -> Decimal:
    """Return an amount of units as money, exactly."""
    return EXACT.add(Decimal(int(units)).scaleb(unit.adjusted(), EXACT).normalize(EXACT), 0)


def pace_rules(
    grid: Floats,
    limits: Sequence[Limit],
    value_range: tuple[float, float],
    horizon: int | None,
) -> PaceRules:
    """Return the settings of the limits, as compiled steps take them."""
    unit = unit_of(grid, limits)
    middle = value_range[1] / 2
    table = []
    for limit in limits:
        base, slope = (0.0, 0.0) if isinstance(limit, Money) else limit.credit()
        # The third number is a factor of the value: with it, a pseudo-value is about 2 c at s = 0.
        lowest = _lowest(limit, grid, value_range[1])
        table.append((base, slope, slope + base / middle, lowest))
    aims = {limit.aim for limit in limits if not isinstance(limit, Money)}
    return PaceRules(
        amounts=grid,
        prices=np.array([in_units(amount, unit, ROUND_CEILING) for amount in grid.tolist()]),
        unit=float(unit),
        kinds=np.array([_kind(limit) for limit in limits]),
        plans=np.array([_plan(limit, horizon) for limit in limits]),
        credits=np.array(table),
        surplus=aims != {"value"},
    )


def empty_state(rules: PaceRules, value_range: tuple[float, float]) -> PaceState:
    """Return the state before the first auction.

    If prices are uniform, half of the pseudo-value is bid. So under a target, pseudo-values begin
    at twice the credit of a win, or at the value if that is less.
    """
    count = rules.kinds.size
    state = PaceState(
        money=np.zeros((count, 3), dtype=np.int64),
        duals=np.zeros((count, 8)),
        wins=np.zeros((GROUPS, 2)),
        times=np.zeros((count, 8)),
        bins=np.zeros((count, 2, BINS + 1)),
    )
    state.bins[:, 0] = np.linspace(0.0, 1.0, BINS + 1)
    middle = value_range[1] / 2
    for i in range(count):
        credit = rules.credits[i, 0] + rules.credits[i, 1] * middle
        if rules.surplus and rules.kinds[i] != BUDGET and 2 * credit < middle:
            state.duals[i, LOG] = math.log(credit / (middle - credit))
    return state


def _lowest(limit: Limit, grid: Floats, value: float) -> float:
    """Return the lowest logarithm s that makes a difference."""
    if not isinstance(limit, Money):
        return _TINY
    return math.log(float(grid[grid > 0].min(initial=grid[-1])) / value)


def _kind(limit: Limit) -> int:
    if isinstance(limit, Money):
        return BUDGET
    return TARGET if limit.keep == "always" else LOOSE_TARGET


def _plan(limit: Limit, horizon: int | None) -> int:
    if not isinstance(limit, Money) or limit.pacing == "asap":
        return AT_ONCE
    if timed(limit):
        return BY_TIME
    if limit.per is None and horizon is None:
        expected = "'asap' for a budget without a period, unless the horizon is given"
        reject("Budget", "pacing", expected, limit.pacing)
    return BY_AUCTIONS
