"""Bid under limits: best responses to estimated prices, and bids that are held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.bidding import best_bid, estimate, observe
from crossbandit.kernels.compilation import compiled
from crossbandit.kernels.pace_plan import open_auction, planned_share, planned_until
from crossbandit.kernels.pace_steps import pay
from crossbandit.kernels.paced_rounds import settle_round
from crossbandit.kernels.pacing import (
    AUCTIONS,
    BUDGET,
    BY_AUCTIONS,
    BY_TIME,
    END,
    GIVEN,
    LATEST,
    SPENT,
    free_money,
)

if TYPE_CHECKING:
    from crossbandit.kernels.bidding import Observations
    from crossbandit.kernels.paced_rounds import PacedRounds
    from crossbandit.types import Booleans, Floats, Integers


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
    """Set `made[i]` to whether bid i is made: no limit could be broken, none is ahead of its plan.

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
