"""The usual bid and the usual outcome of a bidder that has a law and no limits.

Everything else is for `FirstPriceBidder`, which also checks what is given.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.object import PyObject_GenericSetAttr as set_field
else:
    from crossbandit.learners.shell_core import LawShell

    set_field = object.__setattr__  # a bid is frozen

from bisect import bisect_right
from math import inf


@cython.cclass
class BidCore:
    """The rules of a bidder's auctions.

    quiet: whether winners are told nothing. reason_of: says why no bid is made.
    """

    def __init__(self, types, rules, value_range, quiet, reason_of) -> None:
        self.made_of = (types, rules, value_range, quiet, reason_of)
        self.bid_type, self.decision_type = types
        self.rules, self.reason_of = rules, reason_of
        self.grid = rules.amounts.tolist()
        self.low, self.high = value_range
        self.reserve, self.least = rules.reserve, rules.least
        self.at_most_value, self.quiet = rules.at_most_value, quiet

    def __reduce__(self):
        return type(self), self.made_of

    def bid(self, shell: LawShell, value, labels: tuple):
        """Return a bid; None if the value is no float in the range, or no bid is possible."""
        if type(value) is not float or not self.low <= value <= self.high:
            return None
        count: cython.Py_ssize_t = len(self.grid)
        last: cython.Py_ssize_t = bisect_right(self.grid, value) if self.at_most_value else count
        if last == 0:
            return None
        made = shell.decide(value, value, 0.0, labels, 0, last - 1)
        amount = self.grid[made.arm]
        reason = None
        if amount <= 0.0:
            amount, reason = None, self.reason_of(self.rules, value, None, 0, last - 1)
        # This is `Bid(...)`, in a quarter of the time.
        bid = self.bid_type.__new__(self.bid_type)
        set_field(bid, "decision", made)
        set_field(bid, "amount", amount)
        set_field(bid, "value", value)
        set_field(bid, "reserve", None)
        set_field(bid, "classes", labels)
        set_field(bid, "reason", reason)
        return bid

    def settle(self, shell: LawShell, bid, won, told) -> bool:
        """Learn from an outcome that is clearly consistent. Return False otherwise."""
        if type(bid) is not self.bid_type or shell.learning is None:
            return False
        decision, amount, labels = bid.decision, bid.amount, bid.classes
        if type(decision) is not self.decision_type or amount is None:
            return False
        if decision.learner != shell.learner or len(labels) != shell.features:
            return False
        placed: cython.double = amount
        number: cython.double = self.least
        if won is True:
            if told is not None or not self.quiet or placed < self.reserve:
                return False
        elif won is False and type(told) is float and placed < told < inf:
            number = max(number, told)
        else:
            return False
        return shell.learn_usual(decision, bid.value, labels, placed, won, number)
