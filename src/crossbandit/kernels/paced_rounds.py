"""First-price auctions under limits whose outcomes are known immediately.

This is for three kinds of bids: those of a learner with a feedback graph, best responses to
estimated prices, and given bids, some of which are not made (`throttle`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.kernels.bidding import best_bid, estimate, observe
from crossbandit.kernels.compilation import compiled
from crossbandit.kernels.pace_steps import adapt, pay
from crossbandit.kernels.pacing import (
    AUCTIONS,
    BUDGET,
    BY_AUCTIONS,
    BY_TIME,
    END,
    EXPECTED,
    GIVEN,
    LATEST,
    SPENT,
    PaceRules,
    PaceState,
    free_money,
    open_auction,
    planned_share,
    planned_until,
)

if TYPE_CHECKING:
    from crossbandit.kernels.bidding import Observations
    from crossbandit.kernels.rounds import ContextBlock
    from crossbandit.types import Booleans, Floats, Integers

TICKET = EXPECTED + 1  # columns of a ticket


class PacedRounds(NamedTuple):
    """First-price auctions under limits: contexts and available bids depend on what was spent.

    Before each round its context becomes (1, factor * pseudo-value), and bids above the
    pseudo-value, or above what the limits leave, become unavailable. L limits, K bids.
    """

    rules: PaceRules
    state: PaceState  # changed
    bids: Floats  # (K,); the lowest one means that no bid is made
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
    """Pay for the bid that was made in round `i`, if it wins, and update the multipliers.

    The outcome is known immediately, so no money needs to be reserved.
    """
    value, price = limits.values[i], limits.rules.prices[arm]
    won = limits.cells[i] <= arm
    if won:
        for limit in range(limits.rules.kinds.size):
            pay(limits.rules, limits.state, limit, value, price, 1)
    paid, wanted = (price, price) if won else (0, -1)
    adapt(limits.rules, limits.state, limits.ticket, value, paid, wanted)


@compiled
def respond_paced(
    limits: PacedRounds,
    first: int,
    feedback: int,
    seen: Observations,
    chances: Floats,
    blocks: Floats,
    out: Integers,
) -> None:
    """Set `out[i]` to the best response at the pseudo-value of auction i, as `respond` does.

    seen, chances: (K,), updated in place. blocks: (3, K), scratch space.
    """
    for i in range(limits.values.size):
        value, highest = limits.values[i], limits.bids.size - 1
        worth, _, cap = open_auction(
            limits.rules, limits.state, limits.times[i], value, 0, highest, limits.ticket
        )
        worth = min(worth, value)
        limits.pseudo[i] = worth
        made = min(best_bid(worth, limits.bids, chances, first), cap)
        if made < first:
            made = 0
        out[i] = made
        settle_round(limits, i, made)
        observe(feedback, made, limits.cells[i], seen)
        estimate(feedback, seen, blocks, chances)


@compiled
def throttle(limits: PacedRounds, costs: Integers, won: Booleans, made: Booleans) -> None:
    """Set `made[i]` to whether bid i is made: if it can break no limit, and none is ahead of plan.

    costs: (n,), in units of money. won: (n,), whether the bid wins if it is made.
    """
    rules, state = limits.rules, limits.state
    for i in range(costs.size):
        makes = costs[i] > 0
        for limit in range(rules.kinds.size):
            planned_share(rules, state, limit, limits.times[i])  # counts the auction
            makes = makes and costs[i] <= free_money(rules, state, limit, limits.values[i])
            times, money = state.times[limit], state.money[limit]
            if rules.kinds[limit] != BUDGET:
                continue
            if rules.plans[limit] == BY_AUCTIONS:
                makes = makes and money[SPENT] <= money[GIVEN] * times[AUCTIONS] / times[END]
            if rules.plans[limit] == BY_TIME:
                done = planned_until(state, limit, times[LATEST])
                makes = makes and money[SPENT] <= money[GIVEN] * done
        made[i] = makes
        if not makes or not won[i]:
            continue
        for limit in range(rules.kinds.size):
            pay(rules, state, limit, limits.values[i], costs[i], 1)
