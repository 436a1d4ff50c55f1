"""The arrays of limits, the numbers of their columns, and money in whole units.

`pace_core.py` works on these arrays. `pace_core.pxd` has the same numbers, for the compiler.
"""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Context, Decimal
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

if TYPE_CHECKING:
    from crossbandit.core.types import Floats, Integers

BUDGET, TARGET, LOOSE_TARGET = range(3)  # a loose target holds only in the long run
# Columns of `PaceState.money`. A budget has its amount, what was spent, what its bids without an
# outcome cost if all of them win, what they count with, and what may be spent at the very most. A
# target has the credits of wins, what was spent, and, twice, by how much the reserved bids could
# exceed their credits.
GIVEN, SPENT, RESERVED, COUNTED, MOST = range(5)
# Columns of `PaceState.duals`: the logarithm s; the sum of squared gradients. Four are about bids
# without an outcome: the sum of their expected gradients; the sum of the squares of these; what
# those of this period are expected to cost; how many there are. The last two are the logarithm of
# the cost of holding money, 0 for none, and its sum of squared gradients.
LOG, SQUARES, OPEN, OPEN_SQUARES, DUE, WAITING, HOLDING, HOLDING_SQUARES = range(8)
# Columns of a ticket: what was planned for the auction; 1 if the limit may be relaxed after it; the
# period of the auction; what the bid is expected to cost, and what it counts with, in units.
PLANNED, RELAXES, OF_PERIOD, EXPECTED, COUNTS = range(5)
# Columns of `Reserved.held`: also the chance that the bid wins, as it was given and calibrated.
MADE_AT, BID_FOR, CHANCE, LIKELY = range(4)
# Columns of `Reserved.prices`.
COSTS, WANTED = range(2)
NO_BID = 2**63 - 1  # in place of the number of a period's first bid: above that of any bid

# How a budget is spread: not at all, over a number of auctions, or over time.
AT_ONCE, BY_AUCTIONS, BY_TIME = range(3)
# Columns of `PaceState.times`: when the period began and when it ends, in seconds or auctions; the
# time of the latest auction; the number of auctions of the period; the mean share of the plan
# between two auctions (the usual gap), and over how many it is averaged; the number of the period;
# the mean share of the plan between two times at which auctions came (the usual step).
START, END, LATEST, AUCTIONS, GAP, GAPS, PERIOD, STEP = range(8)
BINS = 96  # bins of a period: quarters of an hour, if it is a day
GROUPS = 16  # groups of amounts, each with its own wins
WON, FORETOLD, BIDS = range(3)  # columns of `PaceState.wins`: wins, the sum of chances, bids
# Doubt j tests whether bids win more than 2^j times as often as their calibrated chances say. The
# last entry of `PaceState.doubts` is the factor by which bids without an outcome count more.
DOUBTS = 5
# While chances are calibrated, a budget is exceeded by more than 1 % with a probability below 1e-4:
# RISK solves 0.01 RISK = log(1e4 (1 + 1.75 RISK)).
RISK = 1722.17

MAX_JUMP = timedelta(days=1)  # by how much a time may be ahead of the clock and of the last one
EXACT = Context(prec=60)  # of money, whatever context the user has set


def in_units(amount: float | Decimal, unit: Decimal, rounding: str) -> int:
    """Return an amount in units. A float is taken as it is printed: 0.1 is exactly a tenth."""
    exact = amount if isinstance(amount, Decimal) else Decimal(repr(float(amount)))
    units = exact.scaleb(-unit.adjusted(), EXACT)
    return int(units.to_integral_value(rounding, EXACT))


def as_money(units: int, unit: Decimal) -> Decimal:
    """Return an amount of units as money, exactly."""
    return EXACT.add(Decimal(int(units)).scaleb(unit.adjusted(), EXACT).normalize(EXACT), 0)


def money_up_to(money: Decimal) -> float:
    """Return the largest float whose printed form is at most an amount of money."""
    found = float(money)
    return found if Decimal(repr(found)) <= money else math.nextafter(found, 0.0)


class PaceRules(NamedTuple):
    """The settings of L limits on K amounts. There are few arrays, as passing each takes time."""

    amounts: Floats  # (K,), ascending
    prices: Integers  # (K,): what each amount costs, in units, rounded up
    unit: float  # of money
    kinds: Integers  # (L,): BUDGET, TARGET or LOOSE_TARGET
    plans: Integers  # (L,): AT_ONCE, BY_AUCTIONS or BY_TIME
    # (L, 4): a win of value v has the credit credits[0] + credits[1] * v. The third number is a
    # scale. The fourth is the lowest s, below which nothing is bid anyway.
    credits: Floats
    surplus: bool  # whether v - b is earned, not v
    risks: Floats  # (L,), per unit: RISK by the amount; infinite if bids count with their price


class PaceState(NamedTuple):
    """The state of the limits."""

    money: Integers  # (L, 5), in units
    duals: Floats  # (L, 8)
    wins: Floats  # (GROUPS, 3), by groups of amounts
    doubts: Floats  # (DOUBTS + 1,)
    times: Floats  # (L, 8)
    # (L, 2, BINS + 1). First row: the share of the period's budget that is planned up to each bin.
    # Second row: the auctions in each bin; its last entry: those since the plan last advanced.
    bins: Floats
    # (L, 2): where the plan begins that the status shows: the share of the period's plan, and what
    # was spent, in units. It begins again when a limit is changed.
    planned_from: Floats

    @classmethod
    def empty(cls, limits: int) -> Self:
        """Return the state before the first auction."""
        bins = np.zeros((limits, 2, BINS + 1))
        bins[:, 0] = np.linspace(0.0, 1.0, BINS + 1)
        return cls(
            money=np.zeros((limits, 5), dtype=np.int64),
            duals=np.zeros((limits, 8)),
            wins=np.zeros((GROUPS, 3)),
            doubts=np.append(np.zeros(DOUBTS), 1.0),
            times=np.zeros((limits, 8)),
            bins=bins,
            planned_from=np.zeros((limits, 2)),
        )


class Reserved(NamedTuple):
    """Bids without an outcome, one per row; other rows are free."""

    held: Floats  # (N, 4): when it was made, the value that was bid for, chances
    # (N, 2), in units: what it costs if it wins; what would have been bid without hard limits, or 0
    # if it is not known whether the bid was made, and how much it costs is an upper bound.
    prices: Integers
    tickets: Floats  # (N, L, 5): what each limit needs to know when the auction is over

    @classmethod
    def empty(cls, rows: int, limits: int) -> Self:
        """Return free rows."""
        prices = np.zeros((rows, 2), dtype=np.int64)
        return cls(np.zeros((rows, 4)), prices, np.zeros((rows, limits, 5)))
