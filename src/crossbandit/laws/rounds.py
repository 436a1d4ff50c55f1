"""Rounds of a law: check what is given, choose an amount, and say what outcomes show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.core.validation import array, reject
from crossbandit.core.validation import number as checked_number
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.laws.levels import NOTHING
from crossbandit.laws.state import ABOVE, ALWAYS, AT_MOST, TOLD, TOLD_AFTER, WON_LOST

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy.typing as npt

    from crossbandit.core.types import Floats, Integers
    from crossbandit.core.uniforms import Uniforms
    from crossbandit.laws.levels import Label
    from crossbandit.laws.outcome_law import OutcomeLaw

    # A round in which an amount is chosen: context, labels, worth, cost, first and last.
    Given = tuple[float, tuple[Label, ...], float, float, int, int]

_NO_NOISE = np.array([0.0, 0.0, 1.0 - 1e-9])  # random numbers with which nothing is tried
_POINTS = 64  # quantiles, for a choice that uses one random number
_SIDE = 24  # quantiles of each, for a choice that uses two random numbers
_OUTCOMES = {"told": TOLD, "at-most": AT_MOST, "above": ABOVE}


@dataclass(frozen=True)
class AmountChoice:
    """An amount to play. It has all that learning from its outcome needs, however late that comes.

    Attributes:
        index: The number of the amount.
        amount: The amount.
        context: The context of the round.
        classes: The labels, in the order of the law's features.
    """

    index: int
    amount: float
    context: float
    classes: tuple[Label, ...] = ()


def context_of(
    law: OutcomeLaw,
    owner: str,
    context: object,
    classes: Mapping[str, object],
) -> tuple[float, Integers]:
    """Return a context, moved into the range of the law, and the keys of the features."""
    at = checked_number(owner, "context", context, error=InvalidContextError)
    low, high = law.context_range
    labels = law.levels.labels(owner, classes)
    return min(max(at, low), high), law.levels.slots(labels)


def round_of(
    law: OutcomeLaw,
    owner: str,
    context: object,
    classes: Mapping[str, object],
    worth: object,
    cost: object,
    first: int,
    last: int | None,
) -> Given:
    """Return the arguments of `OutcomeLaw.decide` as `choose` takes them."""
    bad = InvalidContextError
    at = checked_number(owner, "context", context, error=bad)
    labels = law.levels.labels(owner, classes)
    value = at if worth is None else checked_number(owner, "worth", worth, error=bad)
    paid = checked_number(owner, "cost", cost, error=bad)
    first, last = int(first), law.highest(value, at) if last is None else int(last)
    if not 0 <= first <= last < law.amounts.size:
        reject(owner, "first, last", "a range of amounts", (first, last), error=bad)
    low, high = law.context_range
    return min(max(at, low), high), labels, value, paid, first, last


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
    """Do what `OutcomeLaw.decide` does, with arguments that the caller has checked."""
    drawn = law.uniforms.take(3) if uniforms is None else uniforms
    slots = law.levels.slots(labels)
    found: int = law.core.decide(context, slots, worth, cost, first, last, drawn)
    return found


def chances_of(law: OutcomeLaw) -> Floats:
    """Return the chance that each amount reaches the number, by the law that was read last."""
    rules, _, scratch = law.parts
    chances = scratch.chances
    found: Floats = 1.0 - chances[::-1] if rules.mirrored else chances.copy()
    return found


def best_without(law: OutcomeLaw, given: Given, names: Collection[str] = ()) -> int:
    """Return the amount that is best by the law, as if some features were not known.

    Nothing is tried, and no random number is used.
    """
    context, labels, worth, cost, first, last = given
    slots = law.levels.slots(labels)
    for f, name in enumerate(law.classes):
        if name in names:
            slots[f] = NOTHING
    found: int = law.core.decide(context, slots, worth, cost, first, last, _NO_NOISE)
    return found


def declines(law: OutcomeLaw) -> bool:
    """Return whether the lowest amount of a law means not to act: in an auction, a bid of 0."""
    return law.payoff == "first-price" and bool(law.amounts[0] == 0.0)


def weighed(law: OutcomeLaw, given: Given, tried_from: float = 0.0) -> Floats:
    """Return the probability with which `choose` chooses each amount; see `OutcomeLaw.policy`."""
    context, labels, worth, cost, first, last = given
    slots, chances = law.levels.slots(labels), np.zeros(law.amounts.size)
    feedback = law.parts[0].feedback
    # Random numbers (n, 2) that stand for all that a choice may draw.
    drawn = np.zeros((1, 2)) if feedback == ALWAYS else _pairs(two=feedback == WON_LOST)
    weights = np.full(len(drawn), 1.0 / len(drawn))
    to = (drawn, weights, chances)
    law.core.weigh_choices(context, slots, worth, cost, first, last, tried_from, *to)
    return chances


@cache
def _pairs(*, two: bool) -> Floats:
    """Return pairs of numbers in [0, 1) that the core turns into normal quantiles, (n, 2)."""
    from statistics import NormalDist

    count = _SIDE if two else _POINTS
    quantiles = [NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)]
    normals = product(quantiles, quantiles) if two else ((x, 0.0) for x in quantiles)
    return np.array(
        [
            (-math.expm1(-(x * x + y * y) / 2), math.atan2(y, x) / (2 * math.pi) % 1.0)
            for x, y in normals
        ]
    )


def shown_by(
    law: OutcomeLaw,
    amount: float,
    *,
    reached: bool,
    number: float | None = None,
    context: float = 1.0,
) -> tuple[int, int, int]:
    """Return what an outcome says on the grid of amounts.

    If an amount between two amounts of the grid has reached the number, the higher of the two
    reaches it as well. If it has not, the lower of the two does not reach it either. The context is
    needed by a law that lays its own grid.
    """
    told = reached in TOLD_AFTER[law.feedback]
    if told and (number is None or not math.isfinite(number)):
        reject("learn", "number", "a finite number", number, error=InvalidLossesError)
    if told and number is not None:
        reaches = amount >= number if law.ties == "win" else amount > number
        if reaches != reached:
            raise InvalidLossesError(
                f"An amount of {amount:.15g} and a number of {number:.15g} contradict "
                f"reached={reached}. Nothing was learned."
            )
    given = (float(amount), bool(reached), float(number) if told and number else 0.0)
    found: tuple[int, int, int] = law.core.shown(*given, context)
    return found


def kind_of(law: OutcomeLaw, kind: str, index: int, amount: int) -> int:
    """Return the number of the kind of an outcome that `OutcomeLaw.observe` is given."""
    told = TOLD_AFTER[law.feedback]
    possible = (bool(told), True not in told, False not in told)
    allowed = tuple(one for one, may_be in zip(_OUTCOMES, possible, strict=True) if may_be)
    if kind not in allowed:
        reject("observe", "kind", f"one of {allowed}", kind, error=InvalidLossesError)
    if not 0 <= index < law.amounts.size + (kind == "told"):
        reject("observe", "index", "a cell or an amount", index, error=InvalidLossesError)
    if not -1 <= amount < law.amounts.size:
        reject("observe", "amount", "an amount or -1", amount, error=InvalidLossesError)
    return _OUTCOMES[kind]


class LogRounds(NamedTuple):
    """n rounds of a log. The slots have the shape (n, width), all other arrays (n,)."""

    contexts: Floats
    slots: Integers
    worths: Floats
    costs: Floats
    firsts: Integers
    lasts: Integers
    cells: Integers

    def part(self, start: int, stop: int) -> LogRounds:
        """Return the rounds start, ..., stop - 1."""
        return LogRounds._make(column[start:stop] for column in self)

    def uniforms(self, source: Uniforms, each: int) -> Floats:
        """Draw `each` random numbers for every round in which there is something to choose."""
        drawn: Floats = source.rows(self.firsts <= self.lasts, each)
        return drawn


def prepared(
    law: OutcomeLaw,
    contexts: npt.ArrayLike,
    numbers: npt.ArrayLike,
    worths: npt.ArrayLike | None = None,
    costs: npt.ArrayLike | float = 0.0,
    firsts: npt.ArrayLike | None = None,
    lasts: npt.ArrayLike | None = None,
    classes: Mapping[str, npt.ArrayLike] | None = None,
    cells: npt.ArrayLike | None = None,
) -> LogRounds:
    """Return the rounds of a log; see `OutcomeLaw.play` for what they mean."""
    values = _column("contexts", contexts)
    count, size = values.size, law.amounts.size
    worth = values if worths is None else _column("worths", worths, count)
    paid = np.broadcast_to(_column("costs", costs), (count,)).copy()
    if cells is None:
        cells = law.cells(_column("numbers", numbers, count))
    low = _indices("firsts", np.zeros(count) if firsts is None else firsts, count, 0, size)
    if lasts is None:
        lasts = np.full(count, size - 1)
        if law.payoff == "first-price":
            lasts = np.maximum(np.searchsorted(law.amounts, worth, "right") - 1, 0)
    high = _indices("lasts", lasts, count, -1, size - 1)
    return LogRounds(
        contexts=np.clip(values, *law.context_range),
        slots=law.levels.table(classes or {}, count),
        worths=worth,
        costs=paid,
        firsts=low,
        lasts=high,
        cells=_indices("cells", cells, count, 0, size),
    )


def shown_to(
    law: OutcomeLaw, cells: Integers, played: npt.ArrayLike | None
) -> tuple[Integers, Integers, Integers]:
    """Return what amounts have shown: kinds of outcomes, their cells or amounts, the amounts."""
    count = cells.size
    if played is None:
        if law.feedback == "won-lost":
            reject("warm_up", "played", "given, as the feedback is 'won-lost'", None)
        return np.full(count, TOLD), cells, np.full(count, -1)
    made = _indices("played", played, count, 0, law.amounts.size - 1)
    reached = cells <= made
    told = np.isin(reached, TOLD_AFTER[law.feedback])
    kinds = np.where(told, TOLD, np.where(reached, AT_MOST, ABOVE))
    return kinds, np.where(told, cells, made), made


def _column(name: str, values: npt.ArrayLike, count: int | None = None) -> Floats:
    column = array("play", name, "finite numbers", values)
    shape = column.shape if count is None else (count,)
    if not np.isfinite(column).all() or column.shape != shape:
        reject("play", name, "finite numbers, one per round", values)
    return column


def _indices(name: str, values: npt.ArrayLike, count: int, low: int, high: int) -> Integers:
    indices = np.asarray(values)
    if indices.shape != (count,) or not np.array_equal(indices, indices.astype(np.int64)):
        reject("play", name, f"{count} integers", values)
    if count and (indices.min() < low or indices.max() > high):
        reject("play", name, f"integers from {low} to {high}", values)
    return np.ascontiguousarray(indices, dtype=np.int64)
