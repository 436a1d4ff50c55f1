"""Learning from outcomes: one, many, or a whole log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import InvalidLossesError
from crossbandit.kernels.laws.learning import learn
from crossbandit.kernels.laws.loops import learn_all
from crossbandit.kernels.laws.state import ABOVE, AT_MOST, TOLD
from crossbandit.laws.keeping import KeptLaw
from crossbandit.laws.logs import prepared, shown_to
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.laws.levels import Label
    from crossbandit.laws.logs import LogRounds
    from crossbandit.types import Integers

OUTCOMES = {"told": TOLD, "at-most": AT_MOST, "above": ABOVE}


@dataclass(frozen=True)
class AmountChoice:
    """An amount to play. It holds all that learning needs, so outcomes may come late.

    Attributes:
        index: The number of the amount.
        amount: The amount.
        context: What the law was chosen by.
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
        """Learn from the outcome of a choice; in any order, once each.

        Args:
            made: What `decide` returned.
            reached: Whether the amount reached the number.
            number: The number, where the law's feedback says that it is shown; not looked at
                elsewhere.
            tried: Whether the amount was the law's own choice.

        Raises:
            InvalidLossesError: The number is missing or contradicts `reached`.
        """
        kind, index, _ = self.shown(made.amount, reached=bool(reached), number=number)
        at, labels = self._at(
            "learn", made.context, dict(zip(self.classes, made.classes, strict=True))
        )
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
        """Learn from what is known of a number, however it came to be known.

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
        allowed = {
            "after-loss": ("told", "at-most"),
            "after-win": ("told", "above"),
            "always": ("told",),
            "won-lost": ("at-most", "above"),
        }[self.feedback]
        if kind not in allowed:
            reject("observe", "kind", f"one of {allowed}", kind, error=InvalidLossesError)
        if not 0 <= index < self.amounts.size + (kind == "told"):
            reject("observe", "index", "a cell or an amount", index, error=InvalidLossesError)
        if not -1 <= amount < self.amounts.size:
            reject("observe", "amount", "an amount or -1", amount, error=InvalidLossesError)
        at, named = self._at("observe", context, dict(zip(self.classes, labels, strict=True)))
        slots = self._levels.slots(named, new=True)
        code = OUTCOMES[kind]
        self.code[learn](*self.parts, at, slots, code, index, amount)

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
            played: What was played, by number: only what it shows is learned. If None, the whole
                number is learned, unless the feedback is "won-lost", which cannot.
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
        """Learn from many outcomes, however they came to be known; see `observe`.

        Args:
            contexts: A context per round.
            kinds: What is known of each number: 0 its cell, 1 that an amount reaches it, 2 that
                an amount does not.
            indices: The cells or amounts, by number.
            played: What was played, by number; -1 where nothing was, or no amount of the law's.
            classes: A column of labels for every feature.
        """
        count = np.size(contexts)
        log = prepared(self, contexts, np.zeros(count), classes=classes, cells=indices)
        made = np.full(count, -1) if played is None else played
        self._learn_all(log, np.asarray(kinds), log.cells, np.asarray(made))

    def _learn_all(
        self, log: LogRounds, kinds: Integers, indices: Integers, made: Integers
    ) -> None:
        learn_all(
            self._rules,
            self._state,
            self._scratch,
            log.contexts,
            log.slots,
            kinds,
            indices,
            made,
        )
