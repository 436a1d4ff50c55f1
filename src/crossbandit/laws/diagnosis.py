"""Whether the hidden number goes with the context, and what it is worth to know."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import CheckpointError
from crossbandit.kernels.laws.independence import RANKS, TestState, log_evidence, test_all
from crossbandit.laws.memory import FEEDBACK
from crossbandit.validation import integer, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.laws.levels import Label
    from crossbandit.laws.outcome_law import Choice, OutcomeLaw
    from crossbandit.types import Floats, Integers

SAMPLE = 256  # rounds of which the contexts are kept
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
        words: What numbers and contexts are called, and what choosing by context is.
    """

    log_evidence: float
    gain: float
    rounds: int
    words: tuple[str, str, str] = ("outcomes", "the context", "choosing by context")

    @property
    def depends(self) -> bool:
        """Whether the evidence is enough to say that the number goes with the context."""
        return self.log_evidence >= math.log(_ENOUGH)

    def __str__(self) -> str:
        numbers, contexts, choosing = self.words
        if not self.depends:
            return (
                f"There is no evidence so far, in {self.rounds:,} rounds, that {numbers} go with "
                f"{contexts}. With few rounds this does not show that they are independent."
            )
        found = f"{numbers.capitalize()} go with {contexts} here"
        if math.isnan(self.gain):
            return f"{found} ({self.rounds:,} rounds)."
        if self.gain < _WORTHWHILE:
            return (
                f"{found} ({self.rounds:,} rounds), but knowing it "
                f"earns an estimated {100 * self.gain:.1f} % more: it hardly matters."
            )
        return (
            f"{found}: {choosing} earns an estimated "
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
            sides=np.zeros(size),
            risk=np.stack([np.zeros(size), np.zeros(size), 1.0 / np.arange(1.0, size + 1)]),
        )
        self._rounds = 0
        self._recent: deque[tuple[float, tuple[Label, ...]]] = deque(maxlen=SAMPLE)

    def learn(self, made: Choice, *, reached: bool, number: float | None = None) -> None:
        """Take in what `OutcomeLaw.learn` is told.

        Args:
            made: What `OutcomeLaw.decide` returned.
            reached: Whether the amount reached the number.
            number: The number, where the law's feedback says that it is shown.
        """
        kind, index, _ = self._law.shown(made.amount, reached=bool(reached), number=number)
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
            self._recent.extend(zip(values[-SAMPLE:].tolist(), labels[-SAMPLE:], strict=True))

    @property
    def state(self) -> TestState:
        """The arrays of the test; they change as it learns."""
        return self._state

    def saw(self, context: float, labels: tuple[Label, ...]) -> None:
        """Note a round whose outcome a compiled step has taken into `state`.

        Args:
            context: Its context.
            labels: Its classes.
        """
        self._rounds += 1
        self._recent.append((context, labels))

    def saw_many(
        self, count: int, contexts: Sequence[float], labels: Sequence[tuple[Label, ...]]
    ) -> None:
        """Note rounds whose outcomes a compiled step has taken into `state`.

        Args:
            count: How many.
            contexts: The contexts of the last ones, at least `SAMPLE` if there are as many.
            labels: Their classes.
        """
        self._rounds += count
        self._recent.extend(zip(contexts, labels, strict=True))

    def merge(self, other: IndependenceTest) -> None:
        """Add what another test has seen. Sums over independent rounds add up.

        Args:
            other: A test of a law of the same form. It is not changed.
        """
        mine, theirs = self._state, other._state
        total = np.maximum(mine.counts + theirs.counts, 1.0)
        mine.usual[:] = (mine.usual * mine.counts + theirs.usual * theirs.counts) / total
        for name in ("told", "hidden", "counts", "ranks", "sums", "variances"):
            getattr(mine, name)[:] += getattr(theirs, name)
        self._rounds += other._rounds
        self._recent.extend(other._recent)

    def settings(self) -> dict[str, Any]:
        """Return all that `restore` needs besides the arrays, in a form that JSON can hold."""
        return {"rounds": self._rounds, "recent": [[at, *names] for at, names in self._recent]}

    def arrays(self) -> dict[str, Floats]:
        """Return copies of the arrays of the test, by name."""
        kept = self._state._asdict().items()
        return {name: part.copy() for name, part in kept if name != "risk"}

    def restore(self, settings: Mapping[str, Any], arrays: Mapping[str, npt.ArrayLike]) -> None:
        """Take over what a test of a law of the same form has seen.

        Args:
            settings: What `settings()` returned.
            arrays: What `arrays()` returned.

        Raises:
            CheckpointError: They do not fit the law, or hold impossible numbers.
        """
        earlier = {"sides": np.zeros_like(self._state.sides)}  # versions that did not keep them
        for name in self.arrays():
            part = getattr(self._state, name)
            given = np.asarray({**earlier, **arrays}.get(name, np.nan), dtype=float)
            signed = name in ("usual", "sums", "sides")
            if given.shape != part.shape or not np.isfinite(given).all():
                raise CheckpointError(f"The array {name!r} of a test is missing or impossible.")
            if not signed and (given < 0).any():
                raise CheckpointError(f"The array {name!r} of a test holds negative numbers.")
            part[:] = given
        self._rounds = integer("restore", "rounds", settings["rounds"], at_least=0)
        recent = settings["recent"][-SAMPLE:]
        self._recent.clear()
        for at, *names in recent:
            classes = dict(zip(self._law.classes, names, strict=True))
            place = number("restore", "recent", at)
            self._recent.append((place, self._law.labels("restore", classes)))

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
