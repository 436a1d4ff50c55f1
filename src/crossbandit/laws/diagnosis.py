"""Whether the hidden number goes with the context, and what it is worth to know."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import InvalidLossesError
from crossbandit.kernels.laws.independence import RANKS, TestState, log_evidence, test_all
from crossbandit.laws.memory import FEEDBACK
from crossbandit.laws.outcome_law import OUTCOMES
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.laws.levels import Label
    from crossbandit.laws.outcome_law import Choice, OutcomeLaw
    from crossbandit.types import Integers

_SAMPLE = 256
_ENOUGH = 100.0  # evidence; a false alarm has at most the inverse of it as its probability
_WORTHWHILE = 0.01


@dataclass(frozen=True)
class Diagnosis:
    """What a test has found.

    Attributes:
        log_evidence: The logarithm of the evidence that the number goes with the context. The
            probability that it ever exceeds log(100) without reason is about 1 %.
        gain: An estimate of how much more is earned by the law at each context and its classes
            than by the law of all rounds; 0.05 is 5 %. NaN where it is not known.
        rounds: How many outcomes were looked at.
    """

    log_evidence: float
    gain: float
    rounds: int

    @property
    def depends(self) -> bool:
        """Whether the evidence is enough to say that the number goes with the context."""
        return self.log_evidence >= math.log(_ENOUGH)

    def __str__(self) -> str:
        if not self.depends:
            return (
                f"In {self.rounds:,} rounds nothing shows that outcomes go with the context: "
                "learning across contexts is sound here."
            )
        if math.isnan(self.gain):
            return f"Outcomes go with the context here ({self.rounds:,} rounds)."
        if self.gain < _WORTHWHILE:
            return (
                f"Outcomes go with the context here ({self.rounds:,} rounds), but knowing it "
                f"earns an estimated {100 * self.gain:.1f} % more: it hardly matters."
            )
        return (
            f"Outcomes go with the context here: choosing by context earns an estimated "
            f"{100 * self.gain:.0f} % more ({self.rounds:,} rounds)."
        )


class IndependenceTest:
    """Tests online whether the hidden number of a law depends on the context.

    For every cell that could have been told, it compares what happened with what all rounds
    together make likely, and asks whether the difference goes with the rank of the context. The
    evidence is a supermartingale up to the error of the pooled law, so it may be looked at after
    every round: the chance of a false alarm, ever, is about 1 %.

    Args:
        law: The law whose outcomes are tested; it is asked for what knowing them is worth.

    >>> from crossbandit.laws import OutcomeLaw
    >>> law = OutcomeLaw(np.linspace(0, 1, 21), (0, 1), feedback="always")
    >>> test = IndependenceTest(law)
    >>> rng = np.random.default_rng(0)
    >>> values = rng.random(2_000)
    >>> cells = law.cells(0.6 * values + 0.2 * rng.random(2_000))
    >>> test.learn_all(values, np.zeros(2_000, dtype=int), cells)
    >>> test.diagnosis().depends
    True
    """

    def __init__(self, law: OutcomeLaw) -> None:
        size = law.amounts.size + 1
        self._law = law
        self._code = FEEDBACK[law.feedback]
        self._state = TestState(
            told=np.zeros(size),
            hidden=np.zeros(size),
            usual=np.zeros((2, size)),
            counts=np.zeros(size),
            ranks=np.zeros(RANKS),
            sums=np.zeros(4),
            variances=np.zeros(4),
            risk=np.zeros(size),
        )
        self._rounds = 0
        self._recent: list[tuple[float, tuple[Label, ...]]] = []

    def learn(self, made: Choice, *, reached: bool, number: float | None = None) -> None:
        """Take in what `OutcomeLaw.learn` is told."""
        told = self._law.feedback == "always" or (
            self._law.feedback != "won-lost" and reached == (self._law.feedback == "after-win")
        )
        if told and number is None:
            reject("learn", "number", "a finite number", number, error=InvalidLossesError)
        kind = OUTCOMES["told" if told else "at-most" if reached else "above"]
        index = int(self._law.cells(float(number or 0.0))) if told else made.index
        self.learn_all([made.context], np.array([kind]), np.array([index]), [made.classes])

    def learn_all(
        self,
        contexts: npt.ArrayLike,
        kinds: Integers,
        indices: Integers,
        labels: Sequence[tuple[Label, ...]] | None = None,
    ) -> None:
        """Take in many outcomes.

        Args:
            contexts: A context per round.
            kinds: What is known of each number: 0 its cell, 1 that an amount reaches it, 2 that
                an amount does not.
            indices: The cells or amounts, by number.
            labels: The classes, in the order of the law's features; without them, rounds of a law
                with classes say nothing about the gain.
        """
        values = np.asarray(contexts, dtype=float)
        bins = self._law.bands(values)
        mirrored = self._law.feedback == "after-win"
        test_all(self._code, mirrored, self._state, bins, np.asarray(kinds), np.asarray(indices))
        self._rounds += values.size
        if labels is None and not self._law.classes:
            labels = [()] * values.size
        if labels is not None:
            pairs = zip(values[-_SAMPLE:].tolist(), labels[-_SAMPLE:], strict=True)
            self._recent = [*self._recent, *pairs][-_SAMPLE:]

    def diagnosis(self) -> Diagnosis:
        """Return what is known by now."""
        return Diagnosis(float(log_evidence(self._state)), self._gain(), self._rounds)

    def _gain(self) -> float:
        """Compare the two best amounts in recent rounds, both under the law there."""
        law = self._law
        if law.payoff != "first-price" or not self._recent:
            return math.nan
        best, pooled = 0.0, 0.0
        for context, labels in self._recent:
            view = law.law(context, **dict(zip(law.classes, labels, strict=True)))
            margins = np.where(law.amounts <= context, context - law.amounts, 0.0)
            usual = int((margins * view.pool).argmax())
            best += float((margins * view.chances).max())
            pooled += float(margins[usual] * view.chances[usual])
        return best / pooled - 1.0 if pooled > 0 else 0.0
