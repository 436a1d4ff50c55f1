"""Tests of whether the hidden number depends on the context or the class, and their results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.record import add
from crossbandit.core.validation import integer, number
from crossbandit.laws.levels import NOTHING
from crossbandit.laws.memory import bands_of, empty_test, fill_test, test_arrays
from crossbandit.laws.rounds import chances_of, shown_by
from crossbandit.laws.state import FIRST_CODE
from crossbandit.laws.test_core import TestCore, TestParts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.core.types import Integers
    from crossbandit.laws.laying import Kept
    from crossbandit.laws.levels import Label
    from crossbandit.laws.outcome_law import OutcomeLaw
    from crossbandit.laws.rounds import AmountChoice
    from crossbandit.laws.state import TestState

    _Place = tuple[float, tuple[Label, ...]]  # the context and the classes of a round

SAMPLE = 256  # the contexts of this many recent rounds are kept
_SLOTS = SAMPLE + 1  # and that of a round which is not counted yet
_ENOUGH = 100.0  # the evidence that is enough; a false alarm has a probability of about 1 / 100
_WORTHWHILE = 0.01  # a smaller gain does not matter


@dataclass(frozen=True)
class Diagnosis:
    """What a test has found.

    Attributes:
        log_evidence: The logarithm of the evidence that the number depends on the context. If there
            are classes, rounds of the same class are compared. If the number does not depend on the
            context, the probability that this ever exceeds log(100) is about 1 %.
        gain: An estimate of how much more is earned if the law depends on the context and the
            classes than with one law for all rounds; 0.05 is 5 %. NaN if it is not known.
        rounds: How many outcomes were looked at.
        words: The words of the application for numbers, contexts, and choosing by context.
        class_log_evidence: The same as `log_evidence` for the class, among rounds with nearly the
            same context. NaN if there are no classes.
        features: For each feature, an estimate of how much more is earned because the law has it,
            given the others; 0.05 is 5 %. Empty if it is not known.
        error: About one standard error of the gain, as if chances at all contexts erred together.
    """

    log_evidence: float
    gain: float
    rounds: int
    words: tuple[str, str, str] = ("outcomes", "the context", "choosing by context")
    class_log_evidence: float = math.nan
    features: tuple[tuple[str, float], ...] = ()
    error: float = 0.0

    @property
    def depends(self) -> bool:
        """Whether the evidence is enough to say that the number depends on the context.

        If there are classes, this means given the class. For the class, see `depends_on_class`.
        """
        return self.log_evidence >= math.log(_ENOUGH)

    @property
    def depends_on_class(self) -> bool:
        """Whether the evidence is enough to say that the number depends on the class.

        This means given the context. It is False if there are no classes.
        """
        return self.class_log_evidence >= math.log(_ENOUGH)

    def __str__(self) -> str:
        numbers, contexts, choosing = self.words
        if math.isnan(self.class_log_evidence):
            found = f"are correlated with {contexts} here" if self.depends else ""
            return self._sentence(found, f"are correlated with {contexts}", choosing)
        doing, _, by = choosing.partition(" by ")
        given = f"are correlated with {contexts}, given the class"
        of_class = "are correlated with the class"
        if self.depends and self.depends_on_class:
            found = f"are correlated with {contexts} here, given the class, and with the class"
            return self._sentence(found, "", f"{doing} by {by} and class")
        if self.depends:
            first = self._sentence(f"{given}, here", "", choosing)
            return f"{first} Nothing shows that {numbers} {of_class}."
        if self.depends_on_class:
            first = self._sentence(f"{of_class} here", "", f"{doing} by class")
            return f"{first} Nothing shows that {numbers} {given}."
        return self._sentence("", f"are correlated with {contexts} or with the class", "")

    def _sentence(self, found: str, sought: str, choosing: str) -> str:
        """Return a sentence: what was found and what it is worth; or that nothing was found."""
        numbers, rounds = self.words[0], f"{self.rounds:,} rounds"
        if not found:
            return (
                f"There is no evidence so far, in {rounds}, that {numbers} {sought}. "
                "With few rounds this does not show that they are independent."
            )
        found = f"{numbers.capitalize()} {found}"
        if math.isnan(self.gain):
            return f"{found} ({rounds})."
        least, most = self.gain - 2 * self.error, self.gain + 2 * self.error
        if most < _WORTHWHILE:
            return (
                f"{found} ({rounds}), but knowing it "
                f"earns an estimated {100 * self.gain:.1f} % more: it hardly matters."
            )
        if least <= 0:
            return f"{found} ({rounds}). How much more {choosing} earns is not known yet."
        known = f"an estimated {100 * self.gain:.0f} % more"
        if self.error:
            known += f", at least {100 * least:.0f} %"
        return f"{found}: {choosing} earns {known} ({rounds})."


class IndependenceTest(TestParts):
    """Tests online whether the hidden number of a law depends on the context, and on the class.

    For every cell that could have been told, it compares what happened with what other rounds of
    the same class make likely, and asks whether the difference depends on the rank of the context.
    Separately, it compares pairs of rounds of different classes in the same narrow band of
    contexts. So numbers that depend on the class alone are not taken for numbers that depend on the
    context, nor the other way round.

    The evidence may be looked at after every round. For the class, the probability that there is
    ever a false alarm is at most 1 %, if contexts within a band do not differ. For the context, it
    would be at most 1 % if the law within a class were known. As this law is estimated, it is about
    1 %. Several features together count as one class. Only the first 512 classes are tested.

    Args:
        law: The law whose outcomes are tested. The gain is computed from it.

    Attributes:
        tested: (1,), the number of outcomes. Its core counts, too.

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
        self._law = law
        self.tested, self.answered = np.zeros((2, 1), dtype=np.int64)
        self._use(empty_test(law.parts[0], law.class_limit))
        self.ring = [None] * _SLOTS

    def begin_again(self, learned: tuple[Kept, Integers] | None) -> None:
        """Forget what was seen on another grid, and look at rounds that were learned on this one.

        Args:
            learned: The rounds, and the codes of their outcomes.
        """
        rules = self._law.parts[0]
        self._use(empty_test(rules, self._law.class_limit))
        if learned is None:
            return
        kept, codes = learned
        known = codes >= FIRST_CODE
        rounds, codes = kept.rounds[known], codes[known] - FIRST_CODE
        scaled = rounds[:, 1] / rounds[:, 0] ** rules.power
        made = np.minimum(np.searchsorted(rules.amounts, scaled), rules.amounts.size - 1)
        made[rounds[:, 1] < 0.0] = -1
        slots, bands = kept.keys[known], bands_of(rules, rounds[:, 0])
        outcomes = (bands, slots, codes % 4, codes // 4, made)
        self.core.test_all(rules.feedback, rules.mirrored, *outcomes)

    def _use(self, state: TestState) -> None:
        self._state, self.core = state, TestCore(state, self.tested, self.answered)

    def learn(self, made: AmountChoice, *, reached: bool, number: float | None = None) -> None:
        """Test with an outcome; the arguments are those of `OutcomeLaw.learn`.

        Args:
            made: What `OutcomeLaw.decide` returned.
            reached: Whether the amount reached the number.
            number: The number, where the law's feedback says that it is shown.
        """
        kind, index, _ = shown_by(self._law, made.amount, reached=bool(reached), number=number)
        self.learn_all(
            [made.context],
            np.array([kind]),
            np.array([index]),
            [made.classes],
            played=np.array([made.index]),
        )

    def learn_all(
        self,
        contexts: npt.ArrayLike,
        kinds: Integers,
        indices: Integers,
        labels: Sequence[tuple[Label, ...]] | None = None,
        *,
        played: Integers | None = None,
        classes: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        """Test with many outcomes.

        Args:
            contexts: A context per round.
            kinds: What is known of each number: 0 its cell, 1 that an amount reaches it, 2 that
                an amount does not.
            indices: The cells or amounts, by number.
            labels: The classes of each round, in the order of the law's features.
            played: The numbers of the amounts played; -1 where they are not known. Used only if
                there are classes: two rounds are compared by what both could have shown.
            classes: The same labels as `labels`, as a column for each feature. If the law has
                classes, one of the two must be given.

        Raises:
            InvalidParameterError: The classes are missing, or are not one per round.
        """
        values, names = np.asarray(contexts, dtype=float), self._law.classes
        columns = dict(classes or {})
        if labels is not None and names:
            columns = {name: np.array([one[i] for one in labels]) for i, name in enumerate(names)}
        slots = self._law.levels.table(columns, values.size)
        rules = self._law.parts[0]
        made = np.full(values.size, -1) if played is None else np.asarray(played)
        outcomes = (bands_of(rules, values), slots, np.asarray(kinds), np.asarray(indices), made)
        self.core.test_all(rules.feedback, rules.mirrored, *outcomes)
        last = [np.asarray(columns[name])[-SAMPLE:].tolist() for name in names]
        latest = values[-SAMPLE:].tolist()
        labels = list(zip(*last, strict=True)) or [()] * len(latest)
        self.seeing(values.size, latest, labels)()
        self.tested += values.size

    @property
    def state(self) -> TestState:
        """The arrays of the test; they change as it learns."""
        return self._state

    def seeing(
        self, count: int, contexts: Sequence[float], labels: Sequence[tuple[Label, ...]]
    ) -> Callable[[], Any]:
        """Return the step that notes many rounds; see `at_once`. A compiled step counts them.

        Args:
            count: How many.
            contexts: The contexts of the last rounds: at least `SAMPLE`, or all if there are fewer.
            labels: Their classes.
        """
        latest = list(zip(contexts, labels, strict=True))
        if len(latest) < SAMPLE:
            latest = [*self.recent, *latest]
        ring = _ring_of(self.tested.item() + count, latest)
        return partial(setattr, self, "ring", ring)

    @property
    def recent(self) -> list[_Place]:
        """The contexts and classes of the latest rounds, the oldest first."""
        end = self.tested.item()
        found = (self.ring[i % _SLOTS] for i in range(end - SAMPLE, end))
        return [one for one in found if one is not None]

    def merge(self, other: IndependenceTest) -> None:
        """Add what another test has seen. Sums over independent rounds are added.

        If there is no free stratum for a class of the other test, the counts of that class are left
        out, but its evidence counts.

        Args:
            other: A test of a law of the same form. It is not changed.
        """
        mine, theirs = self._state, other._state
        pairs = [(0, 0)]
        for key, there in zip(theirs.owners.tolist(), theirs.rows.tolist(), strict=True):
            row = self.core.class_row(key) if there >= 0 else -1
            if row >= 0:
                pairs.append((row, there))
        for row, there in pairs:
            total = np.maximum(mine.counts[row] + theirs.counts[there], 1.0)
            usual = mine.usual[row] * mine.counts[row] + theirs.usual[there] * theirs.counts[there]
            mine.usual[row] = usual / total
            for name in ("told", "counts", "shown"):
                getattr(mine, name)[row] += getattr(theirs, name)[there]
        add(mine._asdict(), theirs._asdict(), ("ranks", "sums", "variances"))
        self._use(mine)
        latest = [*self.recent, *other.recent]
        self.tested += other.tested
        self.ring = _ring_of(self.tested.item(), latest)

    def settings(self) -> dict[str, Any]:
        """Return all that `restore` needs besides the arrays, in a form that JSON can hold."""
        recent = [[at, *names] for at, names in self.recent]
        return {"rounds": self.tested.item(), "recent": recent}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of the arrays of the test, by name; only the strata that are in use."""
        return test_arrays(self._state)

    def restore(self, settings: Mapping[str, Any], arrays: Mapping[str, npt.ArrayLike]) -> None:
        """Replace what this test has seen by what a test of a law of the same form has seen.

        Args:
            settings: What `settings()` returned.
            arrays: What `arrays()` returned.

        Raises:
            CheckpointError: They do not fit the law, or hold impossible numbers.
        """
        rounds = integer("restore", "rounds", settings["rounds"], at_least=0)
        state = empty_test(self._law.parts[0], self._law.class_limit)
        fill_test(state, {name: np.asarray(part) for name, part in arrays.items()})
        recent: list[_Place] = []
        for at, *names in settings["recent"][-SAMPLE:]:
            classes = dict(zip(self._law.classes, names, strict=True))
            place = number("restore", "recent", at)
            recent.append((place, self._law.levels.labels("restore", classes)))
        self._use(state)
        self.tested[0] = rounds
        self.ring = _ring_of(rounds, recent)

    def evidence(self, *, by_class: bool = False) -> float:
        """Return the logarithm of the evidence so far; see `Diagnosis`.

        Args:
            by_class: True for the evidence that the number depends on the class, which is NaN if
                there are no classes; False for the evidence that it depends on the context.
        """
        if by_class and not self._law.classes:
            return math.nan
        return float(self.core.log_evidence(int(by_class)))

    def diagnosis(self) -> Diagnosis:
        """Return what the tests have found so far."""
        gain, error = self._gain()
        return Diagnosis(
            log_evidence=self.evidence(),
            gain=gain,
            rounds=self.tested.item(),
            class_log_evidence=self.evidence(by_class=True),
            features=self._worth(),
            error=error,
        )

    def _worth(self) -> tuple[tuple[str, float], ...]:
        """Return the gain of each feature: of best amounts over those chosen without it."""
        law, recent = self._law, self.recent
        if law.payoff != "first-price" or not recent:
            return ()
        totals = np.zeros(len(law.classes) + 1)
        for context, labels in recent:
            slots = law.levels.slots(labels)
            margins = np.maximum(context - law.amounts_at(context), 0.0)
            law.core.read(context, slots)
            earned = margins * chances_of(law)
            totals[-1] += earned.max()
            for f in range(len(law.classes)):
                without = slots.copy()
                without[f] = NOTHING
                law.core.read(context, without)
                totals[f] += earned[(margins * chances_of(law)).argmax()]
        gains = totals[-1] / np.maximum(totals[:-1], 1e-300) - 1.0
        return tuple(zip(law.classes, gains.tolist(), strict=True))

    def _gain(self) -> tuple[float, float]:
        """Return the gain of recent rounds' best amounts over those of the pool, and its error."""
        law, recent = self._law, self.recent
        if law.payoff != "first-price" or not recent:
            return math.nan, 0.0
        best, pooled, error = 0.0, 0.0, 0.0
        for context, labels in recent:
            view = law.law(context, **dict(zip(law.classes, labels, strict=True)))
            margins = np.maximum(context - law.amounts_at(context), 0.0)
            usual, own = int((margins * view.pool).argmax()), int((margins * view.chances).argmax())
            best += float(margins[own] * view.chances[own])
            error += float(margins[own] * view.errors[own])
            pooled += float(margins[usual] * view.chances[usual])
        return (best / pooled - 1.0, error / pooled) if pooled > 0 else (0.0, 0.0)


def _ring_of(rounds: int, latest: Sequence[_Place]) -> list[_Place | None]:
    """Return places by their rounds, modulo `_SLOTS`. latest: those before round `rounds`."""
    ring: list[_Place | None] = [None] * _SLOTS
    for i, one in enumerate(reversed(latest[-SAMPLE:]), 1):
        ring[(rounds - i) % _SLOTS] = one
    return ring
