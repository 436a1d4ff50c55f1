"""How a budget is spread over its period, and what is noted of an auction when it opens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.pacing import (
    AT_ONCE,
    AUCTIONS,
    BINS,
    BY_AUCTIONS,
    DUE,
    END,
    EXPECTED,
    GAP,
    GAPS,
    GIVEN,
    LATEST,
    OF_PERIOD,
    PERIOD,
    PLANNED,
    RELAXES,
    SPENT,
    START,
    limited_value,
    look,
)

if TYPE_CHECKING:
    from crossbandit.kernels.pacing import PaceRules, PaceState
    from crossbandit.types import Floats

_MEMORY = 64.0  # auctions, of the usual gap
_LONG = 8.0  # usual gaps: a longer one counts as this, as nobody bids in a pause
_FAR = 1.0  # a limit whose pseudo-value is e times the one that counts is not relaxed further


@inlined
def planned_share(rules: PaceRules, state: PaceState, limit: int, now: float) -> float:
    """Count an auction, and return the share of what is left that is planned for it."""
    times = state.times[limit]
    times[AUCTIONS] += 1.0
    if rules.plans[limit] == BY_AUCTIONS:
        return float(1.0 / max(times[END] - times[AUCTIONS] + 1.0, 1.0))
    if rules.plans[limit] == AT_ONCE:
        return 0.0
    before = planned_until(state, limit, times[LATEST])
    times[LATEST] = max(times[LATEST], now)
    done = planned_until(state, limit, times[LATEST])
    gap = done - before
    if gap > 0.0 and (times[GAPS] > 0.0 or times[AUCTIONS] > 1.0):
        # Auctions that came at the same time share the gap that follows them.
        together = max(state.bins[limit, 1, BINS], 1.0)
        gap /= together
        if times[GAPS] >= _LONG and times[GAP] > 0.0:
            gap = min(gap, _LONG * times[GAP])
        times[GAPS] = min(times[GAPS] + together, _MEMORY)
        times[GAP] += (gap - times[GAP]) * min(together, times[GAPS]) / times[GAPS]
        state.bins[limit, 1, BINS] = 0.0
    state.bins[limit, 1, BINS] += 1.0
    at = int((times[LATEST] - times[START]) / (times[END] - times[START]) * BINS)
    state.bins[limit, 1, min(max(at, 0), BINS - 1)] += 1.0
    if times[GAP] <= 0.0:
        return 0.0
    return float(times[GAP] / (1.0 - done + times[GAP]))


@inlined
def planned_until(state: PaceState, limit: int, now: float) -> float:
    """Return the share of the period's budget that is planned until `now`."""
    times = state.times[limit]
    at = (now - times[START]) / (times[END] - times[START]) * BINS
    at = min(max(at, 0.0), float(BINS))
    low = min(int(at), BINS - 1)
    plan = state.bins[limit, 0]
    share: float = plan[low] + (at - low) * (plan[low + 1] - plan[low])
    return share


@inlined
def expected_left(state: PaceState, limit: int) -> float:
    """Return the units of a budget that are left, if bids without an outcome cost as expected."""
    left = state.money[limit, GIVEN] - state.money[limit, SPENT]
    return float(left - state.duals[limit, DUE])


@inlined
def count_auction(
    rules: PaceRules, state: PaceState, now: float, value: float, worth: float, ticket: Floats
) -> None:
    """Count an auction with the pseudo-value `worth`, and set its `ticket` (L, 4)."""
    for limit in range(rules.kinds.size):
        share = planned_share(rules, state, limit, now)
        ticket[limit, PLANNED] = share * expected_left(state, limit)
        far = limited_value(rules, state, limit, value) > worth * math.exp(_FAR)
        ticket[limit, RELAXES] = 0.0 if far else 1.0
        ticket[limit, OF_PERIOD] = state.times[limit, PERIOD]
        ticket[limit, EXPECTED] = 0.0


@inlined
def open_auction(
    rules: PaceRules,
    state: PaceState,
    now: float,
    value: float,
    first: int,
    last: int,
    ticket: Floats,
) -> tuple[float, int, int]:
    """Count an auction, and return what `look` returns. Sets `ticket`."""
    worth, usable, cap = look(rules, state, value, first, last)
    count_auction(rules, state, now, value, worth, ticket)
    return worth, usable, cap
