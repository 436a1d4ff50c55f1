"""Choose an amount by a law, and compute how likely each choice is."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.feedback import ALWAYS, WON_LOST
from crossbandit.kernels.laws.choice import decide, weigh_choices

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules
    from crossbandit.laws.levels import Label
    from crossbandit.laws.outcome_law import OutcomeLaw
    from crossbandit.laws.rounds import Given
    from crossbandit.types import Floats

_POINTS = 64  # quantiles, for a choice that uses one random number
_SIDE = 24  # quantiles of each, for a choice that uses two random numbers


def choose(
    law: OutcomeLaw,
    context: float,
    labels: tuple[Label, ...],
    worth: float,
    cost: float,
    first: int,
    last: int,
    uniforms: Floats | None = None,
) -> int:
    """Do what `OutcomeLaw.decide` does, with arguments that the caller has checked.

    Args:
        law: The law.
        context: A finite float in the range of the contexts.
        labels: The classes, in the order of the law's features.
        worth: As in `OutcomeLaw.decide`.
        cost: As in `OutcomeLaw.decide`.
        first: As in `OutcomeLaw.decide`.
        last: As in `OutcomeLaw.decide`; at least `first`.
        uniforms: As in `OutcomeLaw.decide`.

    Returns:
        The number of the amount.
    """
    drawn = law.uniforms.take(3) if uniforms is None else uniforms
    slots = law.levels.slots(labels)
    found: int = law.code[decide](law.bound, context, slots, worth, cost, first, last, drawn)
    return found


def last_chance(law: OutcomeLaw, index: int) -> float:
    """Return the probability that an amount reaches the number, in the round decided last.

    Args:
        law: The law.
        index: The number of the amount.
    """
    rules, _, scratch = law.parts
    found = scratch.chances.item(-1, -1 - index if rules.mirrored else index)
    return 1.0 - found if rules.mirrored else found


def weighed(law: OutcomeLaw, given: Given, tried_from: float = 0.0) -> Floats:
    """Return the probability with which `choose` chooses each amount; see `OutcomeLaw.policy`."""
    context, labels, worth, cost, first, last = given
    slots, chances = law.levels.slots(labels), np.zeros(law.amounts.size)
    drawn = (*_quantiles(law.parts[0]), chances)
    weigh_choices(*law.parts, context, slots, worth, cost, first, last, tried_from, *drawn)
    return chances


def _quantiles(rules: LawRules) -> tuple[Floats, Floats]:
    """Return random numbers (n, 2) that stand for all that a choice may draw, and weights (n,)."""
    if rules.feedback == ALWAYS:
        return np.zeros((1, 2)), np.ones(1)
    pairs = _pairs(two=rules.feedback == WON_LOST)
    return pairs, np.full(len(pairs), 1.0 / len(pairs))


@cache
def _pairs(*, two: bool) -> Floats:
    """Return pairs of numbers in [0, 1) that the kernel turns into normal quantiles, (n, 2)."""
    count = _SIDE if two else _POINTS
    quantiles = [NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)]
    normals = product(quantiles, quantiles) if two else ((x, 0.0) for x in quantiles)
    return np.array(
        [
            (-math.expm1(-(x * x + y * y) / 2), math.atan2(y, x) / (2 * math.pi) % 1.0)
            for x, y in normals
        ]
    )
