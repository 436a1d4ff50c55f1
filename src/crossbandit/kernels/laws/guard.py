"""Compare a law of first-price auctions with a learner that assumes nothing about prices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.feedback import AFTER_LOSS, AFTER_WIN, ALWAYS
from crossbandit.kernels.laws.choice import choose, read_law
from crossbandit.kernels.laws.learning import absorb
from crossbandit.kernels.laws.outcomes import outcome_kind
from crossbandit.kernels.laws.state import TOLD

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.types import Floats, Integers

_LEAST = 0.25  # over sqrt(rounds): the least probability of following an expert


class GuardState(NamedTuple):
    """The state of a guard."""

    wins: Floats  # (K,): estimates of how often each amount would have won, discounted
    spent: Floats  # (3,): sums of variances, of squared differences of gains, and of rounds
    gains: Floats  # (2,): estimates of what the law and the learner have earned, over `top`
    chances: Floats  # (K,): the learner's policy
    seen: Floats  # (K,): the probability that the outcome of each amount is shown


@inlined
def learner_chances(
    rules: LawRules, guard: GuardState, worth: float, top: float, last: int
) -> None:
    """Set the learner's policy on the amounts up to `last`: exponential weights.

    The estimate of what amount k would have earned at this worth is (worth - a_k) * wins[k].
    """
    size = rules.amounts.size
    rate = math.sqrt(math.log(size) / (1.0 + guard.spent[0]))
    most = -math.inf
    for k in range(last + 1):
        guard.chances[k] = rate * (worth - rules.amounts[k]) / top * guard.wins[k]
        most = max(most, guard.chances[k])
    total = 0.0
    for k in range(last + 1):
        guard.chances[k] = math.exp(guard.chances[k] - most)
        total += guard.chances[k]
    for k in range(size):
        guard.chances[k] = guard.chances[k] / total if k <= last else 0.0


@inlined
def law_weight(guard: GuardState) -> float:
    """Return the probability that the law is followed.

    The weights begin with K : 1 for the law, because the learner has K amounts, one of which may be
    right by chance, and the law is one choice. So the learner must have gained log(K) / rate more
    before it is followed.
    """
    rate = math.sqrt(math.log(2.0) / (1.0 + guard.spent[1]))
    lead = rate * (guard.gains[0] - guard.gains[1]) + math.log(guard.wins.size)
    weight = 1.0 / (1.0 + math.exp(-min(max(lead, -500.0), 500.0)))
    least = min(0.5, _LEAST / math.sqrt(1.0 + guard.spent[2]))
    return min(max(weight, least), 1.0 - least)


@inlined
def see(rules: LawRules, guard: GuardState, weight: float, bid: int) -> None:
    """Set `seen` from `chances`, for this weight of the law and its amount `bid`."""
    size = rules.amounts.size
    total = 0.0
    if rules.feedback == AFTER_LOSS:
        for k in range(size):
            total += (1.0 - weight) * guard.chances[k] + (weight if k == bid else 0.0)
            guard.seen[k] = total
    elif rules.feedback == AFTER_WIN:
        for k in range(size - 1, -1, -1):
            total += (1.0 - weight) * guard.chances[k] + (weight if k == bid else 0.0)
            guard.seen[k] = total
    else:
        for k in range(size):
            own = (1.0 - weight) * guard.chances[k] + (weight if k == bid else 0.0)
            guard.seen[k] = 1.0 if rules.feedback == ALWAYS else own


@inlined
def draw(guard: GuardState, weight: float, bid: int, last: int, first: float, second: float) -> int:
    """Return the amount to play: the law's, or one that is drawn from the learner's policy."""
    if first < weight:
        return bid
    total = 0.0
    for k in range(last + 1):
        total += guard.chances[k]
        if second < total:
            return k
    return last


@inlined
def guarded_learn(
    rules: LawRules, guard: GuardState, worth: float, top: float, bid: int, played: int, cell: int
) -> None:
    """Add what an outcome says about all amounts that it shows, and update both experts' gains.

    `chances` and `seen` must be those of the decision. cell: any cell for which the shown amounts
    win and lose as they did.
    """
    size = rules.amounts.size
    least = _LEAST / math.sqrt(1.0 + guard.spent[2])
    mean, square, law = 0.0, 0.0, 0.0
    for k in range(size):
        if rules.feedback == AFTER_LOSS:
            shown = k >= played
        elif rules.feedback == AFTER_WIN:
            shown = k <= played
        else:
            shown = rules.feedback == ALWAYS or k == played
        if not shown or cell > k:
            continue
        win = 1.0 / (guard.seen[k] + least)
        guard.wins[k] += win
        gain = win * (worth - rules.amounts[k]) / top
        mean += guard.chances[k] * gain
        square += guard.chances[k] * gain * gain
        if k == bid:
            law = gain
    guard.gains[0] += law
    guard.gains[1] += mean
    guard.spent[0] += max(square - mean * mean, 0.0)
    guard.spent[1] += (law - mean) * (law - mean)
    guard.spent[2] += 1.0


@inlined
def guarded_choice(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    guard: GuardState,
    top: float,
    band: int,
    worth: float,
    first: int,
    last: int,
    uniforms: Floats,
) -> tuple[int, int, float]:
    """Do what `guarded_decide` does, if `scratch` already holds the laws at the context."""
    bid = choose(rules, state, scratch, band, worth, 0.0, first, last, uniforms)
    learner_chances(rules, guard, worth, top, last)
    weight = law_weight(guard)
    see(rules, guard, weight, bid)
    amount = max(draw(guard, weight, bid, last, uniforms[3], uniforms[4]), first)
    return amount, bid, weight


@compiled
def guarded_play(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    guard: GuardState,
    top: float,
    contexts: Floats,
    slots: Integers,
    worths: Floats,
    firsts: Integers,
    lasts: Integers,
    cells: Integers,
    uniforms: Floats,
    out: Integers,
) -> None:
    """Decide and learn in n rounds. slots: (n, width). uniforms: (n, 5). Other arrays: (n,)."""
    for i in range(contexts.size):
        if firsts[i] > lasts[i]:
            out[i] = -1
            continue
        band = read_law(rules, state, scratch, contexts[i], slots[i])
        amount, bid, _ = guarded_choice(
            rules,
            state,
            scratch,
            guard,
            top,
            band,
            worths[i],
            firsts[i],
            lasts[i],
            uniforms[i],
        )
        out[i] = amount
        guarded_learn(rules, guard, worths[i], top, bid, amount, cells[i])
        kind = outcome_kind(rules.feedback, amount, cells[i])
        index = cells[i] if kind == TOLD else amount
        # The law tries untried amounts itself: the learner's bids do not count as its tries.
        tried = amount if amount == bid else -1
        absorb(rules, state, scratch, band, slots[i], kind, index, tried)


@compiled
def guarded_decide(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    guard: GuardState,
    top: float,
    context: float,
    slots: Integers,
    worth: float,
    first: int,
    last: int,
    uniforms: Floats,
) -> tuple[int, int, float]:
    """Return the amount to play, the amount of the law, and the weight of the law.

    Changes only `chances` and `seen` of the guard. uniforms: (5,).
    """
    band = read_law(rules, state, scratch, context, slots)
    return guarded_choice(rules, state, scratch, guard, top, band, worth, first, last, uniforms)
