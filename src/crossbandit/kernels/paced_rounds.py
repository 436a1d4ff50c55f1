"""Rounds of first-price auctions under limits: contexts that depend on what was spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.kernels.compilation import compiled
from crossbandit.kernels.pace_plan import open_auction
from crossbandit.kernels.pace_steps import adapt, pay
from crossbandit.kernels.pacing import EXPECTED, PaceRules, PaceState

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import ContextBlock
    from crossbandit.types import Floats, Integers


TICKET = EXPECTED + 1  # columns of a ticket


class PacedRounds(NamedTuple):
    """First-price auctions under limits: contexts and available bids depend on what was spent.

    Before each round its context becomes (1, factor * pseudo-value), and bids above the
    pseudo-value, or above what the limits leave, become unavailable. L limits, K bids.
    """

    rules: PaceRules
    state: PaceState  # changed
    bids: Floats  # (K,); the lowest means not to bid
    values: Floats  # (n,); (0,) without limits
    cells: Integers  # (n,): the number of the lowest bid that wins; K if none does
    times: Floats  # (n,): no period of a limit ends in between
    ticket: Floats  # (L, TICKET), scratch
    pseudo: Floats  # (n,), to be filled: the pseudo-values
    factor: float

    def part(self, now: slice) -> PacedRounds:
        """Return some of the rounds; they share their arrays with these."""
        return self._replace(
            values=self.values[now],
            cells=self.cells[now],
            times=self.times[now],
            pseudo=self.pseudo[now],
        )


def _unlimited() -> PacedRounds:
    none, integers = np.empty(0), np.empty(0, dtype=np.int64)
    table = np.empty((0, 0))
    rules = PaceRules(none, integers, 1.0, integers, integers, table, surplus=True)
    money, bins = np.empty((0, 0), dtype=np.int64), np.empty((0, 0, 0))
    state = PaceState(money, table, table, table, bins)
    return PacedRounds(rules, state, none, none, integers, none, table, none, 1.0)


UNLIMITED = _unlimited()


@compiled
def limit_round(limits: PacedRounds, contexts: ContextBlock, i: int) -> None:
    """Set the context of round `i`, and which bids it may make, to what the limits leave."""
    value, count = limits.values[i], limits.bids.size
    worth, _, cap = open_auction(
        limits.rules, limits.state, limits.times[i], value, 0, count - 1, limits.ticket
    )
    worth = min(worth, value)
    limits.pseudo[i] = worth
    contexts.table[contexts.entry[i], 0, 1] = limits.factor * worth
    for k in range(1, count):
        contexts.available[i, k] = k <= cap and limits.bids[k] <= worth
    contexts.available[i, 0] = True


@compiled
def settle_round(limits: PacedRounds, i: int, arm: int) -> None:
    """Pay for the bid that was made in round `i`, if it wins, and move the multipliers.

    The outcome is known at once, so no money needs to be reserved.
    """
    value, price = limits.values[i], limits.rules.prices[arm]
    won = limits.cells[i] <= arm
    if won:
        for limit in range(limits.rules.kinds.size):
            pay(limits.rules, limits.state, limit, value, price, 1)
    paid, wanted = (price, price) if won else (0, -1)
    adapt(limits.rules, limits.state, limits.ticket, value, paid, wanted)
