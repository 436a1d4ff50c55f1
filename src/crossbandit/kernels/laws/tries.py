"""Try lower amounts in contexts where the law of these amounts comes from other contexts.

If a band of contexts always plays high amounts, and these reach the number, it never sees what
lower amounts would have earned. If lower amounts could earn far more than the best one, they are
sometimes tried, at first half of the best amount. A lower amount reaches the number less often. So
if half of the best amount hardly ever does, nothing below it needs to be tried. Otherwise it is
tried again, and then lower amounts are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.laws.reading import node_of

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules, LawState
    from crossbandit.types import Floats

_FAR = 0.5  # the next lower amount that is tried, as a share of an amount
_TWICE = 2.0  # lower amounts are tried if they could earn this many times what the best earns
_CLEARLY = 1.2  # the same factor, if it is judged by the rounds in which they were tried
_ENOUGH = 128.0  # rounds after which an amount is not tried any more
_FEW = 16.0  # with fewer rounds, the share that reached the number says too little
_ERRORS = 2.0  # by how many standard errors that share may be too low
_SHARE = 1 / 128  # the mean cost of tries, as a share of what lower amounts could earn more
_MOST = 2.0  # what they could earn more counts up to this many times what the best earns
_OFTEN = 1 / 8  # the largest probability of a try


@inlined
def tries(
    rules: LawRules,
    state: LawState,
    row: int,
    chances: Floats,
    best: int,
    worth: float,
    first: int,
) -> tuple[int, float]:
    """Return an amount below `best` to try in a broad node, and the probability of a try.

    chances: (K,), by the law at the context. The probability is chosen so that, by this law, tries
    cost on average a share `_SHARE` of what could be gained.
    """
    most = (worth - rules.amounts[best]) * chances[best]
    tried = int(state.untried[row]) - 1
    if most <= 0.0 or state.visits[row] <= 0.0:
        return best, 0.0
    if tried > best * _FAR:
        amount = max(int(best * _FAR), first)
        upper, factor = chances[best], _TWICE
        possible = (worth - rules.amounts[first]) * upper
    else:
        upper, rounds = highest_chance(state, row, tried)
        amount, factor = max(tried, first), _CLEARLY
        possible = (worth - rules.amounts[amount]) * upper
        if rounds >= _ENOUGH or possible < factor * most:
            amount = max(int(tried * _FAR), first)
            possible = (worth - rules.amounts[first]) * upper
            if amount >= tried:
                return best, 0.0
    if amount >= best or possible < factor * most:
        return best, 0.0
    cost = most - (worth - rules.amounts[amount]) * chances[amount]
    allowed = rules.probing * _SHARE * min(possible - most, _MOST * most)
    return amount, _OFTEN if allowed >= _OFTEN * cost else allowed / cost


@inlined
def highest_chance(state: LawState, row: int, amount: int) -> tuple[float, float]:
    """Return an upper bound on an amount's chance, by a node's rounds with amounts up to it.

    The chance is that of reaching the number. Lower amounts reach it less often, so the rounds with
    the highest of these amounts say most. Also returns how many rounds there are.
    """
    total, reached, upper = 0.0, 0.0, 0.0
    for k in range(amount, -1, -1):
        total += state.asked[row, k]
        reached += state.reached[row, k]
        if total >= _FEW:
            chance = reached / total
            error = math.sqrt(chance * (1.0 - chance) / total)
            upper = max(upper, chance + _ERRORS * error)
    return min(upper, 1.0), total


@inlined
def probe(
    rules: LawRules,
    state: LawState,
    chances: Floats,
    band: int,
    best: int,
    worth: float,
    first: int,
    uniform: float,
) -> int:
    """Return `best`, or sometimes a lower amount; `uniform` is a random number from [0, 1)."""
    if uniform >= _OFTEN:
        return best
    for depth in range(1, 3):
        row = node_of(rules, band, depth)
        amount, probability = tries(rules, state, row, chances, best, worth, first)
        if uniform < probability:
            return amount
    return best


@inlined
def weigh_tries(
    rules: LawRules,
    state: LawState,
    chances: Floats,
    band: int,
    best: int,
    worth: float,
    first: int,
    weight: float,
    out: Floats,
) -> None:
    """Add a weight to `out`, divided among the amounts that `probe` may return by probability."""
    used = 0.0
    for depth in range(1, 3):
        row = node_of(rules, band, depth)
        amount, probability = tries(rules, state, row, chances, best, worth, first)
        if probability > used:
            out[amount] += weight * (probability - used)
            used = probability
    out[best] += weight * (1.0 - used)
