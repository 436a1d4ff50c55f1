"""Trying lower amounts, where what is believed of them comes from other contexts.

A band of contexts that always plays high amounts, and reaches the number, never sees what lower
ones would have done. If these could earn far more than the best one, they are tried at times: half
of the best amount first. What is lower can only reach the number more rarely, so if the half hardly
ever does, nothing below it matters. If it does, it is tried on, and then lower ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.laws.reading import node_of

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules, LawState
    from crossbandit.types import Floats

_FAR = 0.5  # of an amount: the next lower one that is tried
_TWICE = 2.0  # times what the best earns: what lower ones must be able to earn, to be tried
_CLEARLY = 1.2  # the same, by the rounds in which they were tried
_ENOUGH = 128.0  # rounds after which an amount need not be tried on
_FEW = 16.0  # rounds of which the share that reached the number says too little
_ERRORS = 2.0  # standard errors by which that share may be too low
_SHARE = 1 / 128  # of what lower amounts could earn more: what tries may cost on average
_MOST = 2.0  # times what the best earns: what counts of what lower ones could earn more
_OFTEN = 1 / 8  # no try is made with a higher probability


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

    chances: (K,), by the law at the context. The probability is such that a try costs, by this law
    and on average, a share of what it could show to be gained.
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
    """Return how likely an amount may be to reach the number, by a node's rounds up to it.

    Lower amounts reach it more rarely, so the rounds with the highest of these say most. Also
    returns how many rounds there are.
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
    """Return `best`, or at times a lower amount; `uniform` is a random number from [0, 1)."""
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
    """Share out a weight over what `probe` returns, by the probability of each."""
    used = 0.0
    for depth in range(1, 3):
        row = node_of(rules, band, depth)
        amount, probability = tries(rules, state, row, chances, best, worth, first)
        if probability > used:
            out[amount] += weight * (probability - used)
            used = probability
    out[best] += weight * (1.0 - used)
