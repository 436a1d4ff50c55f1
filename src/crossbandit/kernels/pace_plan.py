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
    STEP,
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
    done = pass_time(state, limit, now)
    state.bins[limit, 1, BINS] += 1.0
    at = int((times[LATEST] - times[START]) / (times[END] - times[START]) * BINS)
    at = min(max(at, 0), BINS - 1)
    state.bins[limit, 1, at] += 1.0
    gap, before = expected_gap(state, limit, at)
    return float(gap / max(1.0 - done - before + gap, gap)) if gap > 0.0 else 0.0


@inlined
def pass_time(state: PaceState, limit: int, now: float) -> float:
    """Let time pass, and return the share of the plan until `now`.

    Auctions that came at the same time share the gap that follows them.
    """
    times = state.times[limit]
    before = planned_until(state, limit, times[LATEST])
    times[LATEST] = max(times[LATEST], now)
    done = planned_until(state, limit, times[LATEST])
    together = state.bins[limit, 1, BINS]
    if done > before and together > 0.0:
        gap = (done - before) / together
        if times[GAPS] >= _LONG and times[GAP] > 0.0:
            gap = min(gap, _LONG * times[GAP])
        times[GAPS] = min(times[GAPS] + together, _MEMORY)
        weight = min(together, times[GAPS]) / times[GAPS]
        times[GAP] += (gap - times[GAP]) * weight
        times[STEP] += (gap * together - times[STEP]) * weight
        state.bins[limit, 1, BINS] = 0.0
    return done


@inlined
def expected_gap(state: PaceState, limit: int, at: int) -> tuple[float, float]:
    """Return the shares of the plan for the latest auction, in bin `at`, and for those of its time.

    It is the usual gap, with a bound: the n-th auction of one time has an n-th of the bin, or of
    the usual step from one time to the next, if that is longer. So a batch that is larger than
    usual cannot use up the money. While only one time is known, there is no usual gap. Nothing is
    planned then, until a bin's share of the money was used; after that the bound is the gap.
    """
    times, plan = state.times[limit], state.bins[limit, 0]
    part = plan[at + 1] - plan[at]
    most, together = max(times[STEP], part), state.bins[limit, 1, BINS]
    if times[GAP] > 0.0:
        before = min((together - 1.0) * times[GAP], most)
        return float(min(times[GAP], most / together)), float(before)
    given = float(state.money[limit, GIVEN])
    used = given - expected_left(state, limit)
    return (float(most / together), float(part)) if used > part * given else (0.0, 0.0)


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
