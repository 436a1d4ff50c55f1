"""Learn from outcomes: from one, from many, or from the columns of a whole log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import InvalidLossesError
from crossbandit.kernels.laws.learning import learn
from crossbandit.kernels.laws.outcomes import learn_all
from crossbandit.kernels.laws.state import ABOVE, AT_MOST, TOLD
from crossbandit.laws.keeping import KeptLaw
from crossbandit.validation import array, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.laws.base import Uniforms
    from crossbandit.laws.levels import Label
    from crossbandit.types import Floats, Integers

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


class LearningLaw(KeptLaw):
    """A law that learns from outcomes; see `OutcomeLaw`."""

    def learn(
        self, made: AmountChoice, *, reached: bool, number: float | None = None, tried: bool = True
    ) -> None:
        """Learn from the outcome of a choice. Outcomes may come in any order; each counts once.

        Args:
            made: What `decide` returned.
            reached: Whether the amount reached the number.
            number: The hidden number, if the law's feedback shows it after this outcome. Otherwise
                it is ignored.
            tried: Whether the amount was the law's own choice.

        Raises:
            InvalidLossesError: The number is missing or contradicts `reached`.
        """
        kind, index, _ = self.shown(made.amount, reached=bool(reached), number=number)
        classes = dict(zip(self.classes, made.classes, strict=True))
        at, labels = self._at("learn", made.context, classes)
        slots = self._levels.slots(labels, new=True)
        self.code[learn](*self.parts, at, slots, kind, index, made.index if tried else -1)

    def observe(
        self,
        context: float,
        kind: str,
        index: int,
        *,
        amount: int = -1,
        labels: tuple[Label, ...] = (),
    ) -> None:
        """Learn from what is known about a hidden number, whether an amount was played or not.

        Args:
            context: The context.
            kind: "told": the number's cell is `index`; "at-most": amount `index` reaches it;
                "above": amount `index` does not.
            index: A cell or an amount, by number.
            amount: What was played, by number; -1 if nothing was.
            labels: The classes, in the order of the law's features.

        Raises:
            InvalidLossesError: The law's feedback has no such outcome, or the index is outside.
        """
        told = self._told
        possible = (bool(told), True not in told, False not in told)
        allowed = tuple(one for one, may_be in zip(_OUTCOMES, possible, strict=True) if may_be)
        if kind not in allowed:
            reject("observe", "kind", f"one of {allowed}", kind, error=InvalidLossesError)
        if not 0 <= index < self.amounts.size + (kind == "told"):
            reject("observe", "index", "a cell or an amount", index, error=InvalidLossesError)
        if not -1 <= amount < self.amounts.size:
            reject("observe", "amount", "an amount or -1", amount, error=InvalidLossesError)
        at, named = self._at("observe", context, dict(zip(self.classes, labels, strict=True)))
        slots = self._levels.slots(named, new=True)
        self.code[learn](*self.parts, at, slots, _OUTCOMES[kind], index, amount)

    def warm_up(
        self,
        contexts: npt.ArrayLike,
        numbers: npt.ArrayLike,
        *,
        played: Integers | None = None,
        classes: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        """Learn from a log, without deciding.

        Args:
            contexts: A context per round.
            numbers: The hidden number of each round.
            played: The numbers of the amounts played: only what they show is learned. If None, the
                hidden numbers themselves are learned. With "won-lost" feedback it must be given.
            classes: A column of labels for every feature.
        """
        log = prepared(self, contexts, numbers, classes=classes)
        kinds, indices, made = shown_to(self, log.cells, played)
        self._learn_all(log, kinds, indices, made)

    def learn_all(
        self,
        contexts: npt.ArrayLike,
        kinds: Integers,
        indices: Integers,
        *,
        played: Integers | None = None,
        classes: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        """Learn from many outcomes, as `observe` does from one.

        Args:
            contexts: A context per round.
            kinds: What is known of each number: 0 its cell, 1 that an amount reaches it, 2 that
                an amount does not.
            indices: The cells or amounts, by number.
            played: The numbers of the amounts played; -1 if nothing was played, or an amount that
                is not on the grid.
            classes: A column of labels for every feature.
        """
        count = np.size(contexts)
        log = prepared(self, contexts, np.zeros(count), classes=classes, cells=indices)
        made = np.full(count, -1) if played is None else played
        self._learn_all(log, np.asarray(kinds), log.cells, np.asarray(made))

    def _learn_all(
        self, log: LogRounds, kinds: Integers, indices: Integers, made: Integers
    ) -> None:
        learn_all(*self.parts, log.contexts, log.slots, kinds, indices, made)


class LogRounds(NamedTuple):
    """n rounds of a log. The slots have the shape (n, width), all other arrays (n,)."""

    contexts: Floats
    worths: Floats
    costs: Floats
    firsts: Integers
    lasts: Integers
    cells: Integers
    slots: Integers

    def part(self, start: int, stop: int) -> LogRounds:
        """Return the rounds start, ..., stop - 1."""
        return LogRounds._make(column[start:stop] for column in self)

    def uniforms(self, source: Uniforms, each: int) -> Floats:
        """Draw `each` random numbers for every round in which there is something to choose."""
        drawn = np.zeros((self.contexts.size, each))
        active = self.firsts <= self.lasts
        drawn[active] = source.take(each * int(active.sum())).reshape(-1, each)
        return drawn


def prepared(
    law: KeptLaw,
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
    active, columns = low <= high, {name: np.asarray(one) for name, one in (classes or {}).items()}
    if active.all():
        slots = law.slot_table(columns, count)
    else:
        slots = law.slot_table(columns, count, new=False)
        some = {name: one[active] for name, one in columns.items()}
        slots[active] = law.slot_table(some, int(active.sum()))
    return LogRounds(
        contexts=np.clip(values, *law.context_range),
        worths=worth,
        costs=paid,
        firsts=low,
        lasts=high,
        cells=_indices("cells", cells, count, 0, size),
        slots=slots,
    )


def shown_to(
    law: KeptLaw, cells: Integers, played: npt.ArrayLike | None
) -> tuple[Integers, Integers, Integers]:
    """Return what amounts have shown: kinds of outcomes, their cells or amounts, the amounts."""
    count = cells.size
    if played is None:
        if law.feedback == "won-lost":
            reject("warm_up", "played", "given, as the feedback is 'won-lost'", None)
        return np.full(count, TOLD), cells, np.full(count, -1)
    made = _indices("played", played, count, 0, law.amounts.size - 1)
    reached = cells <= made
    shown = np.full(count, law.feedback == "always")
    if law.feedback in ("after-loss", "after-win"):
        shown = reached == (law.feedback == "after-win")
    kinds = np.where(shown, TOLD, np.where(reached, AT_MOST, ABOVE))
    return kinds, np.where(shown, cells, made), made


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
