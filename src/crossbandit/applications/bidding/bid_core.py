"""The usual bid and the usual outcome of a bidder that has a law, with or without limits.

Everything else is for `FirstPriceBidder`, which also checks what is given.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.libc.math import INFINITY
else:
    from math import inf as INFINITY  # noqa: N812

    from crossbandit.algorithms.learners.seen_core import DecisionFields
    from crossbandit.algorithms.learners.shell_core import LawShell
    from crossbandit.core.locks import Lock
    from crossbandit.laws.law_core import LawCore, LawParts
    from crossbandit.limits.pace_core import PaceCore

import time as clock

import numpy as np


@cython.cclass
class BidFields:
    """What a bid says; see `Bid`."""


@cython.final
@cython.cclass
class BidCore:
    """The rules of a bidder's auctions.

    quiet: whether winners are told nothing. functions: `reason_of` and `first_key`.
    """

    def __init__(self, types, rules, value_range, quiet, functions) -> None:
        self.made_of = (types, rules, value_range, quiet, functions)
        self.bid_type, self.decision_type = types
        self.reason_of, self.first_key = functions
        self.rules = rules
        self.amounts, self.grid = rules.amounts, rules.amounts.tolist()
        self.low, self.high = value_range
        self.reserve, self.least = rules.reserve, rules.least
        self.at_most_value, self.quiet = rules.at_most_value, quiet

    def __reduce__(self):
        return type(self), self.made_of

    def bid(self, shell: LawShell, money, value, at, labels: tuple, taken: list):
        """Return a bid; None if anything is unusual, and then nothing has changed.

        It is unusual that the value is no float in the range, that no bid is possible, or that a
        period of a limit may have ended. money: see `Spending`; None if there are no limits. at:
        the time, if it is not now. taken: the key of the bid is added as soon as it has money.
        """
        if money is None:
            last: cython.Py_ssize_t = self.last_amount(value)
            if last < 0:
                return None
            made = shell.act_unguarded(value, value, 0.0, labels, 0, last)
        elif money.copied or money.pacer.expires is not None:
            return None
        else:
            now: cython.double = clock.time() if at is None else at
            made = self.decide(shell, money, now, value, labels, taken)
        if type(made) is tuple:  # not a decision
            return None if not made else self.make(None, value, None, labels, made[0])
        amount = self.grid[made.arm]
        if amount > 0.0:
            return self.make(made, value, amount, labels, None)
        reason = self.reason_of(self.rules, value, None, 0, self.last_amount(value))
        return self.make(made, value, None, labels, reason)

    def decide(self, shell, money, now, value, labels, taken):
        """Let the law decide under limits, and reserve the money.

        Returns the decision, an empty tuple if anything is unusual, or the reason of no bid.
        """
        last: cython.Py_ssize_t = self.last_amount(value)
        if last < 0:
            return ()
        pacer = money.pacer
        periods = pacer.periods
        lock: Lock = money.lock
        lock.acquire()
        shell.deciding.acquire()
        try:
            reserved, jump = pacer.reserved, money.max_jump
            if not periods.now < now < periods.ends or periods.left <= 0 or periods.begun:
                return ()
            if not reserved.free or (jump is not None and now > periods.now + jump):
                return ()
            parts: LawParts = shell.law
            law: LawCore = parts.core
            core: PaceCore = reserved.core
            row: cython.Py_ssize_t = reserved.opened
            key = self.first_key(shell.id) + shell.round
            core.check(row, 0, last)
            core.check_law(law)
            shell.set_round(law, labels)
            periods.now = now
            periods.left -= 1
            arm: cython.Py_ssize_t = core.decide_here(law, row, now, value, 0, last)
            if arm < 0:
                why = money.reason(now, value, core.worth, 0, last)
                return (why or self.reason_of(self.rules, value, None, 0, last),)
            if arm >= pacer.lowest:
                reserved.rows[key] = row
                reserved.opened = reserved.free.pop()
                taken.append(key)
            return shell.decided(arm, 0, core.usable, None)
        finally:
            shell.deciding.release()
            lock.release()

    def last_amount(self, value):
        """Return the highest amount that may be bid; -1 if none, or if the value is unusual."""
        if type(value) is not float or not self.low <= value <= self.high:
            return -1
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.amounts.shape[0]
        if not self.at_most_value:
            return high - 1
        most: cython.double = value
        while low < high:
            middle: cython.Py_ssize_t = (low + high) >> 1
            if most < self.amounts[middle]:
                high = middle
            else:
                low = middle + 1
        return low - 1

    def make(self, decision, value, amount, labels, reason):
        kind: type = self.bid_type
        if not cython.compiled:
            return kind(decision, amount, value, None, labels, reason)
        bid: BidFields = kind.__new__(kind)  # the same, in a fraction of the time
        bid.decision, bid.amount, bid.value, bid.reserve = decision, amount, value, None
        bid.classes, bid.reason = labels, reason
        return bid

    def settle(self, shell: LawShell, bid, won, told, money) -> bool:
        """Learn from an outcome that is clearly consistent. Return False otherwise."""
        if type(bid) is not self.bid_type or shell.seen is None:
            return False
        fields: BidFields = bid
        made, amount, labels = fields.decision, fields.amount, fields.classes
        if type(made) is not self.decision_type or amount is None:
            return False
        decision: DecisionFields = made
        own = decision.learner is shell.learner or decision.learner == shell.learner
        if not own or not decision.by_law or len(labels) != shell.features:
            return False
        placed: cython.double = amount
        number: cython.double = self.least
        if won is True:
            if told is not None or not self.quiet or placed < self.reserve:
                return False
        elif won is False and type(told) is float and placed < told < INFINITY:
            number = max(number, told)
        else:
            return False
        paid = None
        if money is not None:
            paid = (money, self.first_key(decision.decider) + decision.round)
        shell.learn_outcome(decision, fields.value, labels, (amount, won, number), False, paid)
        return True


# --- functions of many auctions ------------------------------------------------------------------


def write_auctions(
    bids: cython.const[cython.double][::1],
    prices: cython.const[cython.double][::1],
    ties_win: cython.bint,
    money: tuple,
    out: cython.double[:, :, ::1],
) -> None:
    """Set `out` (n, K, 2) to the rows of the bids (K,), ascending, against the prices (n,).

    money: the reserve price, the highest value, and the scale.

    A bid b that wins earns value - b, and one that loses earns nothing. The loss of a bid is the
    highest value minus what it earns, divided by `scale`. It is linear in the features
    (1, value / highest_value). A bid of 0 never wins, not even against a price of 0.
    """
    i: cython.Py_ssize_t
    a: cython.Py_ssize_t
    reserve: cython.double
    highest_value: cython.double
    scale: cython.double
    reserve, highest_value, scale = money
    for i in range(prices.shape[0]):
        for a in range(bids.shape[0]):
            beats: cython.bint = bids[a] >= prices[i] if ties_win else bids[a] > prices[i]
            if beats and bids[a] >= reserve and bids[a] > 0.0:
                out[i, a, 0] = (highest_value + bids[a]) / scale
                out[i, a, 1] = -highest_value / scale
            else:
                out[i, a, 0] = highest_value / scale
                out[i, a, 1] = 0.0


def plain_numbers(
    told_after: tuple,
    strict: cython.bint,
    lowest: tuple,
    bids: cython.const[cython.double][::1],
    won,
    told: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> list:
    """Set `out` to the number that each bid had to reach; return which outcomes are not plain.

    An outcome is plain if it is complete and agrees with itself to the last bit; nothing is set
    where it is not. told_after: whether the competing bid must be told after a loss, and after a
    win. strict: whether equal bids lose. lowest: the reserve price, and the least number. bids:
    (n,), NaN where none was made. told: (n,), NaN where it is not known.
    """
    after_loss: cython.bint
    after_win: cython.bint
    reserve: cython.double
    least: cython.double
    after_loss, after_win = told_after
    reserve, least = lowest
    i: cython.Py_ssize_t
    odd: list = []
    wins: cython.const[cython.uchar][::1] = won.view(np.uint8)
    for i in range(bids.shape[0]):
        known: cython.bint = told[i] == told[i]  # not NaN
        if bids[i] != bids[i] and not known and wins[i] == 0:  # no bid, and nothing is told
            out[i] = INFINITY
            continue
        can_win: cython.bint = bids[i] > 0.0 and bids[i] >= reserve
        beats: cython.bint = bids[i] > told[i] or (bids[i] == told[i] and not strict)
        win: cython.bint = wins[i] != 0
        if known and 0.0 <= told[i] < INFINITY and win == (beats and can_win):
            out[i] = max(told[i], least)
        elif not known and win and can_win and not after_win:
            out[i] = least
        elif not known and not win and not after_loss:
            out[i] = INFINITY
        else:
            odd.append(i)
    return odd
