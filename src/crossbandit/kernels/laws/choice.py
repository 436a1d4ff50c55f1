"""Choose an amount: the best one under an optimistic law, or one from which more is learned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined, opened
from crossbandit.kernels.feedback import AFTER_LOSS, ALWAYS, WON_LOST
from crossbandit.kernels.laws.reading import band_of, find_rows, mixed_law
from crossbandit.kernels.laws.state import FIRST_PRICE, NEWSVENDOR, POSTED_PRICE
from crossbandit.kernels.laws.tries import probe, weigh_tries

if TYPE_CHECKING:
    from crossbandit.kernels.compilation import Bound
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.types import Floats, Integers

_SCATTER = 0.25  # standard deviation of an amount relative to the best, before anything is seen


@inlined
def payoff_of(
    rules: LawRules, k: int, chance: float, sold: float, worth: float, cost: float
) -> float:
    """Return what amount k earns on average if it reaches the number with `chance`.

    sold: with NEWSVENDOR, the mean of the smaller of the number and the amount.
    """
    earned: float = worth * sold - cost * rules.amounts[k]
    if rules.payoff == FIRST_PRICE:
        earned = (worth - rules.amounts[k]) * chance - cost * rules.amounts[k]
    if rules.payoff == POSTED_PRICE:
        earned = (rules.amounts[k] - cost) * (1.0 - chance)
    return earned


@inlined
def best_amount(
    rules: LawRules,
    chances: Floats,
    spreads: Floats,
    noise: float,
    worth: float,
    cost: float,
    first: int,
    last: int,
) -> int:
    """Return the amount from `first` to `last` that earns most; the lowest of equals.

    chances, spreads: (K,), in risk order. noise: by how many standard deviations the law is moved
    to the side where more is earned.
    """
    size = chances.size
    # In a first-price auction it is good to reach the number, otherwise it is bad. If the law is
    # mirrored, its chances are those of not reaching it.
    sign = 1.0 if (rules.payoff == FIRST_PRICE) != rules.mirrored else -1.0
    best, most = first, -math.inf
    sold, before = rules.amounts[0], 0.0
    start = 0 if rules.payoff == NEWSVENDOR else first
    for k in range(start, last + 1):
        if rules.payoff == FIRST_PRICE and 0.0 <= most >= worth - rules.amounts[k]:
            break  # no higher amount can earn more, even if it always wins
        column = size - 1 - k if rules.mirrored else k
        chance = chances[column]
        if noise != 0.0:
            moved = sign * noise * math.sqrt(spreads[column])
            if rules.feedback != WON_LOST:
                moved /= 1.0 - chance + 1e-3
            chance = chance / (chance + (1.0 - chance) * math.exp(-moved))
        if rules.mirrored:
            chance = 1.0 - chance
        if k > start and rules.payoff == NEWSVENDOR:
            # The units from amount k - 1 to k are sold if the number is above k - 1 (or at least
            # k): exact for numbers on the grid of the amounts.
            missed = chance if rules.strict else before
            sold += (rules.amounts[k] - rules.amounts[k - 1]) * (1.0 - missed)
        before = chance
        earned = payoff_of(rules, k, chance, sold, worth, cost)
        if k >= first and earned > most:
            most = earned
            best = k
    return best


@inlined
def scatter(
    rules: LawRules, visits: float, best: int, first: int, last: int, uniforms: Floats
) -> int:
    """Return a random amount near `best`. It is nearer the more rounds the node has.

    If it is only seen whether the amount reached the number, the slope of the law can be learned
    only if amounts vary. Near the best amount, that costs little. Otherwise the slope would be
    learned from other contexts, which play other amounts because their numbers are different.
    """
    normal = math.sqrt(-2.0 * math.log(1.0 - uniforms[0])) * math.sin(2.0 * math.pi * uniforms[1])
    width = _SCATTER * rules.probing * (1.0 + visits) ** -0.25
    near: int = math.floor(best + normal * width * (best + 1.0) + 0.5)
    return min(max(near, first), last)


@inlined
def read_law(
    rules: LawRules, state: LawState, scratch: Scratch, context: float, slots: Integers
) -> int:
    """Set the laws at a context in `scratch`, and return its band."""
    band = band_of(rules, context)
    find_rows(rules, state, band, slots, scratch.rows)
    mixed_law(rules, state, scratch)
    return band


@compiled
def decide(
    bound: Bound,
    context: float,
    slots: Integers,
    worth: float,
    cost: float,
    first: int,
    last: int,
    uniforms: Floats,
) -> int:
    """Return the amount to play. The state is not changed.

    bound: the rules, the state and the scratch of a law. The law is the one at `context`; `worth`
    and `cost` determine the payoff. slots: (features + 1,), the classes. uniforms: (3,), random
    numbers from [0, 1).
    """
    rules, state, scratch = opened(bound)
    band = read_law(rules, state, scratch, context, slots)
    return choose(rules, state, scratch, band, worth, cost, first, last, uniforms)


@compiled
def decide_all(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    contexts: Floats,
    slots: Integers,
    worths: Floats,
    costs: Floats,
    firsts: Integers,
    lasts: Integers,
    uniforms: Floats,
    out: Integers,
    chances: Floats,
) -> None:
    """Decide in n rounds. slots: (n, width). uniforms: (n, 3). All other arrays: (n,).

    If firsts[i] > lasts[i], no amount may be played, and out[i] = -1. chances: set to the
    probability that the amount reaches the number, by the law.
    """
    for i in range(contexts.size):
        if firsts[i] > lasts[i]:
            out[i] = -1
            chances[i] = 0.0
            continue
        band = read_law(rules, state, scratch, contexts[i], slots[i])
        out[i] = choose(
            rules,
            state,
            scratch,
            band,
            worths[i],
            costs[i],
            firsts[i],
            lasts[i],
            uniforms[i],
        )
        chances[i] = chance_of(rules, state, scratch, out[i])


@inlined
def chance_of(rules: LawRules, state: LawState, scratch: Scratch, amount: int) -> float:
    """Return the chance that an amount reaches the number, from the laws in `scratch`."""
    experts, size = state.weights.size, rules.amounts.size
    if rules.mirrored:
        opposite: float = scratch.chances[experts, size - 1 - amount]
        return 1.0 - opposite
    chance: float = scratch.chances[experts, amount]
    return chance


@inlined
def choose(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    band: int,
    worth: float,
    cost: float,
    first: int,
    last: int,
    uniforms: Floats,
) -> int:
    """Do what `decide` does, if `scratch` already holds the laws at the context."""
    best = without_tries(rules, state, scratch, worth, cost, first, last, uniforms)
    if not may_try(rules):
        return best
    chances = scratch.chances[state.weights.size]
    return probe(rules, state, chances, band, best, worth, first, uniforms[2])


@inlined
def may_try(rules: LawRules) -> bool:
    """Return whether lower amounts are sometimes tried."""
    return rules.feedback == AFTER_LOSS and rules.payoff == FIRST_PRICE and rules.probing > 0.0


@inlined
def without_tries(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    worth: float,
    cost: float,
    first: int,
    last: int,
    uniforms: Floats,
) -> int:
    """Return what `choose` returns if it does not try a lower amount."""
    experts = state.weights.size
    noise = 0.0
    if rules.feedback != ALWAYS:
        normal = math.sqrt(-2.0 * math.log(1.0 - uniforms[0])) * math.cos(
            2.0 * math.pi * uniforms[1]
        )
        noise = rules.optimism * normal
        if rules.feedback != WON_LOST:
            noise = max(noise, 0.0)
    best = best_amount(
        rules,
        scratch.chances[experts],
        scratch.spreads[experts],
        noise,
        worth,
        cost,
        first,
        last,
    )
    if rules.feedback == WON_LOST:
        return scatter(rules, state.visits[scratch.rows[0, 0]], best, first, last, uniforms)
    return best


@compiled
def weigh_choices(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    context: float,
    slots: Integers,
    worth: float,
    cost: float,
    first: int,
    last: int,
    lowest: float,
    uniforms: Floats,
    weights: Floats,
    out: Floats,
) -> None:
    """Add the weight of each row of random numbers to `out` (K,), at the amount chosen with it.

    lowest: if the best amount is below this one, no lower amount is tried. uniforms: (n, 2).
    weights: (n,).
    """
    band = read_law(rules, state, scratch, context, slots)
    chances = scratch.chances[state.weights.size]
    for i in range(weights.size):
        best = without_tries(rules, state, scratch, worth, cost, first, last, uniforms[i])
        if may_try(rules) and rules.amounts[best] >= lowest:
            weigh_tries(rules, state, chances, band, best, worth, first, weights[i], out)
        else:
            out[best] += weights[i]
