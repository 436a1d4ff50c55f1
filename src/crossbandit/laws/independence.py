"""Tests of whether the hidden number depends on the context, and on the class."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import CheckpointError
from crossbandit.kernels.laws.independence import (
    RANKS,
    STRATA,
    TestState,
    class_row,
    log_evidence,
    test_all,
)
from crossbandit.kernels.laws.pairs import waiting_rounds
from crossbandit.laws.diagnosis import Diagnosis
from crossbandit.laws.memory import FEEDBACK
from crossbandit.validation import integer, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.laws.learning import AmountChoice
    from crossbandit.laws.levels import Label
    from crossbandit.laws.outcome_law import OutcomeLaw
    from crossbandit.types import Integers

SAMPLE = 256  # rounds of which the contexts are kept
_SIGNED = ("usual", "sums", "shown", "rows", "owners", "sides", "expected", "waiting")
_SUMS = ("told", "counts", "shown")  # by stratum


class IndependenceTest:
    """Tests online whether the hidden number of a law depends on the context, and on the class.

    For every cell that could have been told, it compares what happened with what other rounds of
    the same class make likely, and asks whether the difference depends on the rank of the context.
    Separately, it compares pairs of rounds of different classes in the same narrow band of
    contexts. So numbers that depend on the class alone are not taken for numbers that depend on the
    context, nor the other way round.

    The evidence may be looked at after every round. For the class, the chance of a false alarm,
    ever, is at most 1 %, but for contexts that differ within a band. For the context, it would be
    at most 1 % were the law within a class known; the law is estimated, so it is about 1 %. Several
    features count together, as one class. The first 512 classes are looked at.

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
        self._law = law
        self._code = FEEDBACK[law.feedback]
        self._state = _empty(law)
        self._rounds = 0
        self._recent: deque[tuple[float, tuple[Label, ...]]] = deque(maxlen=SAMPLE)

    def learn(self, made: AmountChoice, *, reached: bool, number: float | None = None) -> None:
        """Take in what `OutcomeLaw.learn` is told.

        Args:
            made: What `OutcomeLaw.decide` returned.
            reached: Whether the amount reached the number.
            number: The number, where the law's feedback says that it is shown.
        """
        kind, index, _ = self._law.shown(made.amount, reached=bool(reached), number=number)
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
        """Take in many outcomes.

        Args:
            contexts: A context per round.
            kinds: What is known of each number: 0 its cell, 1 that an amount reaches it, 2 that
                an amount does not.
            indices: The cells or amounts, by number.
            labels: The classes of each round, in the order of the law's features.
            played: What was played, by number; -1 where it is not known. It is looked at if there
                are classes: rounds are compared by what both could have shown.
            classes: The same as columns: labels by the name of a feature. A law with classes needs
                one of the two.

        Raises:
            InvalidParameterError: The classes are missing, or are not one per round.
        """
        values, names = np.asarray(contexts, dtype=float), self._law.classes
        columns = dict(classes or {})
        if labels is not None and names:
            columns = {name: np.array([one[i] for one in labels]) for i, name in enumerate(names)}
        slots = self._law.slot_table(columns, values.size, used=False)
        bins, mirrored = self._law.bands(values), self._law.feedback == "after-win"
        made = np.full(values.size, -1) if played is None else np.asarray(played)
        outcomes = (bins, slots, np.asarray(kinds), np.asarray(indices), made)
        test_all(self._code, mirrored, self._state, *outcomes)
        last = [np.asarray(columns[name])[-SAMPLE:].tolist() for name in names]
        latest = values[-SAMPLE:].tolist()
        self.saw_many(values.size, latest, list(zip(*last, strict=True)) or [()] * len(latest))

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

        Classes of the other for which there is no stratum left are left out, but their evidence
        counts.

        Args:
            other: A test of a law of the same form. It is not changed.
        """
        mine, theirs = self._state, other._state
        slots = self._law.matched(other._law)
        pairs = [(0, 0)]
        for slot, there in zip(slots[:, None], theirs.rows.tolist(), strict=False):
            row = class_row(mine, slot) if there >= 0 else -1
            if row >= 0:
                pairs.append((row, there))
        for row, there in pairs:
            total = np.maximum(mine.counts[row] + theirs.counts[there], 1.0)
            usual = mine.usual[row] * mine.counts[row] + theirs.usual[there] * theirs.counts[there]
            mine.usual[row] = usual / total
            for name in _SUMS:
                getattr(mine, name)[row] += getattr(theirs, name)[there]
        for name in ("ranks", "sums", "variances"):
            getattr(mine, name)[:] += getattr(theirs, name)
        self._rounds += other._rounds
        self._recent.extend(other._recent)

    def settings(self) -> dict[str, Any]:
        """Return all that `restore` needs besides the arrays, in a form that JSON can hold."""
        return {"rounds": self._rounds, "recent": [[at, *names] for at, names in self._recent]}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of the arrays of the test, by name; only the strata that are in use."""
        used = int(self._state.used[0])
        parts = {
            name: part.copy() for name, part in self._state._asdict().items() if name != "risk"
        }
        return parts | {name: parts[name][:used] for name in (*_SUMS, "usual")}

    def restore(self, settings: Mapping[str, Any], arrays: Mapping[str, npt.ArrayLike]) -> None:
        """Take over what a test of a law of the same form has seen.

        Earlier versions did not compare pairs of rounds. With classes, the test begins anew from a
        file of such a version.

        Args:
            settings: What `settings()` returned.
            arrays: What `arrays()` returned.

        Raises:
            CheckpointError: They do not fit the law, or hold impossible numbers.
        """
        self._state = _empty(self._law)
        rounds = integer("restore", "rounds", settings["rounds"], at_least=0)
        given = {name: np.asarray(part) for name, part in arrays.items()}
        if "waiting" in given:
            self._fill(given)
        elif self._law.classes:
            rounds = 0
        else:
            self._fill(_without_classes(given, self._state))
        self._rounds = rounds
        recent = settings["recent"][-SAMPLE:]
        self._recent.clear()
        for at, *names in recent:
            classes = dict(zip(self._law.classes, names, strict=True))
            place = number("restore", "recent", at)
            self._recent.append((place, self._law.labels("restore", classes)))

    def _fill(self, given: Mapping[str, npt.NDArray[Any]]) -> None:
        """Set the arrays, the strata in use first; see `restore`."""
        for name in self.arrays():
            part = getattr(self._state, name)
            found = np.asarray(given.get(name, np.nan))
            by_stratum = name in (*_SUMS, "usual") and 1 <= len(np.atleast_1d(found)) <= len(part)
            target = part[: len(found)] if by_stratum and found.ndim == part.ndim else part
            if found.shape != target.shape or not np.isfinite(found).all():
                raise CheckpointError(f"The array {name!r} of a test is missing or impossible.")
            if name not in _SIGNED and (found < 0).any():
                raise CheckpointError(f"The array {name!r} of a test holds negative numbers.")
            target[...] = found
        rows, used = self._state.rows, int(self._state.used[0])
        if not 1 <= used <= len(self._state.told) or ((rows >= 0) & (rows < 1)).any():
            raise CheckpointError("The array 'used' of a test is impossible.")
        if (rows >= used).any():
            raise CheckpointError("The array 'rows' of a test refers to classes that it has not.")
        waiting, columns = self._state.waiting, self._state.told.shape[1]
        inside = ((waiting >= 0) & (waiting < (used, columns + 1, 2, columns + 1))).all(axis=1)
        inside &= waiting[:, 1] + waiting[:, 2] <= columns  # what was told is in a column
        if not (inside | (waiting[:, 0] == -1)).all():
            raise CheckpointError("The array 'waiting' of a test is impossible.")

    def evidence(self, *, by_class: bool = False) -> float:
        """Return the logarithm of the evidence by now; see `Diagnosis`.

        Args:
            by_class: Whether it is the evidence that the number depends on the class, not on the
                context. It is NaN if there are no classes.
        """
        if by_class and not self._law.classes:
            return math.nan
        return float(log_evidence(self._state, int(by_class)))

    def diagnosis(self) -> Diagnosis:
        """Return what is known by now."""
        return Diagnosis(
            log_evidence=self.evidence(),
            gain=self._gain(),
            rounds=self._rounds,
            class_log_evidence=self.evidence(by_class=True),
        )

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


def _empty(law: OutcomeLaw) -> TestState:
    """Return the state of a test that has seen nothing."""
    columns, slots = law.amounts.size + 1, law.class_limit if law.classes else 0
    strata = 1 + min(slots, STRATA)
    places = waiting_rounds(FEEDBACK[law.feedback], RANKS, columns) if slots else 0
    return TestState(
        told=np.zeros((strata, columns)),
        counts=np.zeros((strata, columns)),
        usual=np.zeros((strata, 2, columns)),
        shown=np.zeros((strata, 4)),
        ranks=np.zeros(RANKS),
        sums=np.zeros((2, 4)),
        variances=np.zeros((2, 4)),
        rows=np.full(slots, -1),
        owners=np.full(slots, -1),
        used=np.array([1]),
        sides=np.zeros(columns),
        expected=np.zeros((2, columns + 1)),
        waiting=np.full((places, 4), -1),
        risk=np.zeros((2, columns)),
    )


def _without_classes(
    given: Mapping[str, npt.NDArray[Any]], empty: TestState
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a test without classes from those of an earlier version.

    The first version had no strata. What is left out here is found anew within few rounds.
    """
    made = {name: given[name] for name in ("told", "counts", "usual", "ranks") if name in given}
    made |= {name: given.get(name, np.zeros(0)) for name in ("sums", "variances")}
    if "hidden" in given:
        made |= {name: made[name][None] for name in ("told", "counts", "usual") if name in made}
        made |= {name: np.stack([made[name], 0 * made[name]]) for name in ("sums", "variances")}
    same = ("shown", "rows", "owners", "used", "sides", "expected", "waiting")
    return made | {name: getattr(empty, name) for name in same}
