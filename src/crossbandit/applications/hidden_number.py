"""Base class of applications with one hidden number per round: a price, demand or valuation."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from crossbandit.algorithms.learners.law_learner import LawLearner, Round, difference
from crossbandit.algorithms.learners.shell import only_decides
from crossbandit.applications.action import rows_of
from crossbandit.applications.application import Application, start_learner
from crossbandit.applications.money import flag_of
from crossbandit.core.types import Feedback, Ties
from crossbandit.core.validation import reject, verbatim
from crossbandit.errors import DecisionError, InvalidContextError, InvalidParameterError
from crossbandit.laws import OutcomeLaw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crossbandit.algorithms import Algorithm
    from crossbandit.algorithms.learners.law_learner import Payment, Shown
    from crossbandit.algorithms.learners.missing import Missing, MissingOutcomes
    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.applications.money import AmountRules
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Booleans, Floats
    from crossbandit.laws import Diagnosis, LawView
    from crossbandit.laws.levels import Label
    from crossbandit.laws.memory import Payoff

LAW = "law"  # the algorithm that is no feedback graph
_EXPECTED = "None, 'law', or an Algorithm such as CrossGraph() or its id"
# A law keeps some numbers per node and amount. This limits them to about 300 MB.
_MOST_CELLS = 10_000_000
_NODES, _CLASS_NODES = 700, 4100
_RESERVED = {"context", "worth", "cost", "first", "last", "uniforms", "self"}


class LawForm(NamedTuple):
    """How an application learns by the law of its hidden number; see `OutcomeLaw`."""

    context_range: tuple[float, float] | None  # None if the law lays its own grid
    feedback: Feedback
    payoff: Payoff
    ties: Ties
    guarded: bool = False
    missing: Missing = "refuse"


class HiddenNumberApplication(Application):
    """An application that learns by the law of a hidden number, or by a feedback graph.

    `algorithm` chooses: None for the default of the application, "law" for the law, an `Algorithm`
    for a learner that uses the feedback graph. Classes need the law.

    Attributes:
        rules: What amounts earn.
        classes: The names of the categorical features.
        words: What messages call the number, the context, and choosing by context.
        reserved: Names of arguments, which classes must not have.
        answers: The words for an action whose amount reached the number, and for one that did not.
    """

    listed = "classes diagnosis guarded missing missing_outcomes take_counts"
    fixed: ClassVar[tuple[str, ...]] = ("_grid", "_horizon")
    rules: AmountRules
    classes: tuple[str, ...]
    words: ClassVar[tuple[str, str, str]]
    reserved: ClassVar[set[str]] = set()
    answers: ClassVar[tuple[str, str]] = ("reached", "missed")

    def diagnosis(self) -> Diagnosis:
        """Return whether the hidden number depends on the context, and what knowing it is worth.

        With classes there are two answers: whether the number depends on the context, given the
        class, and whether it depends on the class, given the context.

        Returns:
            The diagnosis; `print` shows it in words.

        Raises:
            InvalidParameterError: This application does not learn by the law.
        """
        learner = self._law("diagnosis")
        with learner.learning, learner.deciding:
            return replace(learner.test.diagnosis(), words=self.words)

    @property
    def missing_outcomes(self) -> MissingOutcomes:
        """Which outcomes are missing: how many, for which amounts, and whether that misleads.

        Raises:
            InvalidParameterError: This application does not learn by the law.
        """
        learner = self._law("missing_outcomes")
        with learner.learning:
            return learner.watch.found()

    def merge(self, other: Self) -> None:
        """Add what another one has learned from other rounds: the counts of both are added.

        The decisions of the other that are pending can still be settled there, and only there.

        Args:
            other: One with the same settings. It is not changed.

        Raises:
            InvalidParameterError: The other has different settings, is this one, or does not learn
                by the law.
        """
        if type(other) is not type(self) or other is self or self._form() != other._form():
            reject("merge", "other", f"another {type(self).__name__} with the same settings", other)
        self._law("merge").merge(other._law("merge"))

    def take_counts(self, other: Self) -> None:
        """Begin with what another one has learned on other amounts, or on another range.

        Outcomes are kept as far as they hold on the new amounts. The test of independence and the
        guard start again. Pending decisions of the other can still be settled there.

        Args:
            other: One with the same feedback, ties and classes. It is not changed.

        Raises:
            InvalidParameterError: This one has learned something already, or the two do not fit.

        >>> from crossbandit.applications import FirstPriceBidder
        >>> coarse = FirstPriceBidder(bids=11, value_range=(0, 10), seed=1)
        >>> coarse.warm_up([8.0] * 100, [3.0] * 100)
        >>> fine = FirstPriceBidder(bids=101, value_range=(0, 12), seed=1)
        >>> fine.take_counts(coarse)
        >>> float(fine.price_law(8.0).quantile(0.5)) <= 4.0
        True
        """
        expected = f"another {type(self).__name__} with the same feedback, ties and classes"
        if type(other) is not type(self) or other is self:
            reject("take_counts", "other", expected, other)
        mine, theirs = self._law("take_counts"), other._law("take_counts")
        name = difference(mine.law, theirs.law)
        if name is not None:
            got = f"{name} {getattr(theirs.law, name)!r}, not {getattr(mine.law, name)!r}"
            reject("take_counts", "other", expected, verbatim(got))
        if mine.law.rounds > 0:
            raise InvalidParameterError(
                f"take_counts is for a new {type(self).__name__}. This one has learned from "
                f"{mine.law.rounds} rounds, which would be lost. Make a new one."
            )
        first, second = sorted((mine, theirs), key=id)  # as in `merge`: no deadlock
        with first.learning, second.learning, mine.deciding:
            mine.law.take_counts(theirs.law)

    def _form(self) -> dict[str, Any]:
        """Return the settings that what is learned depends on."""
        free = ("horizon", "missing", "budget", "target", "campaigns", "expires", "max_jump")
        return {name: one for name, one in self.settings().items() if name not in free}

    def _start(
        self,
        algorithm: Algorithm | str | None,
        problem: Problem,
        seed: Seed,
        form: LawForm,
        *,
        classes: Sequence[str],
        anchored: bool,
    ) -> None:
        """Set `classes` and `learner`. anchored: see `anchored_as`."""
        owner = type(self).__name__
        if isinstance(classes, str):
            reject(owner, "classes", "a list of names", classes)
        reserved = _RESERVED | self.reserved
        for name in classes:
            if name in reserved:
                expected = f"names other than {', '.join(sorted(reserved))}"
                reject(owner, "classes", expected, name)
        self._horizon = problem.horizon
        self.classes = tuple(classes)
        if not isinstance(algorithm, str) or algorithm != LAW:
            if classes:
                reject(owner, "classes", "empty, unless the algorithm is the law", self.classes)
            if form.guarded:
                reject(owner, "guarded", "False, unless the algorithm is the law", form.guarded)
            self.learner = start_learner(
                owner, algorithm, problem, seed, anchored=anchored, expected=_EXPECTED
            )
            return
        context_range = form.context_range
        amounts = self.rules.amounts
        most = _MOST_CELLS // (_NODES + (_CLASS_NODES if classes else 0))
        if amounts.size > most:
            expected = f"{_EXPECTED}; the law has room for {most} amounts"
            reject(owner, "algorithm", expected, verbatim(f"{amounts.size} amounts"))
        grid = None if context_range is None else amounts.copy()
        if context_range is not None and context_range[0] == context_range[1]:
            low = context_range[0]  # with one context, any range works
            context_range = (low, low + max(low, 1.0))
        law = OutcomeLaw(
            grid,
            context_range,
            classes=self.classes,
            feedback=form.feedback,
            payoff=form.payoff,
            ties=form.ties,
            seed=seed,
        )
        self.learner = LawLearner(
            law, guarded=form.guarded, missing=form.missing, words=self.answers
        )

    def _law(self, method: str) -> LawLearner:
        if self.learner.law is None:
            name = type(self).__name__
            raise InvalidParameterError(
                f"{name}.{method} needs a {name} that learns by the law: make one with "
                f"algorithm='law'. This one has {self.learner.algorithm}."
            )
        if not self.learner.learns:
            raise only_decides(method)
        learner: LawLearner = self.learner
        return learner

    def _view(self, method: str, context: float, classes: Mapping[str, object]) -> LawView:
        learner = self._law(method) if self.learner.law is None else self.learner
        labels = learner.law.levels.labels(method, classes)
        from crossbandit.laws.view import view_of

        with learner.deciding:
            given = dict(zip(learner.law.classes, labels, strict=True))
            return view_of(learner.law, context, given, counts=learner.learns)

    def _labels(self, owner: str, classes: Mapping[str, object]) -> tuple[Label, ...]:
        if self.learner.law is not None:
            labels: tuple[Label, ...] = self.learner.law.levels.labels(owner, classes)
            return labels
        if classes:
            reject(
                owner, "classes", "left out: this one has none", classes, error=InvalidContextError
            )
        return ()

    @abstractmethod
    def _features(self, worth: float, cost: float) -> Any:
        """Return the context of a round for a learner with a feedback graph."""

    def _choices(
        self, worth: float, first: int, last: int, cost: float = 0.0
    ) -> tuple[Any, Booleans | None]:
        """Return what a learner with a feedback graph takes: a context, and a mask of amounts."""
        if first == 0 and last == self.rules.arms - 1:
            return self._features(worth, cost), None
        numbers = np.arange(self.rules.arms)
        return self._features(worth, cost), (numbers >= first) & (numbers <= last)

    def _among(self, given: Round, first: int, last: int) -> tuple[Any, ...]:
        """Return what `act` and `policy` of the learner take."""
        if self.learner.law is not None:
            return given, first, last
        return self._choices(given.worth, first, last, given.cost)

    def _act(self, given: Round, first: int, last: int) -> Any:
        """Return a decision for an amount from `first` to `last`; None if there is none."""
        return None if first > last else self.learner.act(*self._among(given, first, last))

    def _probabilities(self, given: Round, first: int, last: int) -> Floats:
        """Return the probability of each amount, if one from `first` to `last` may be chosen."""
        if first > last:
            return np.zeros(self.rules.arms)
        policy: Floats = self.learner.policy(*self._among(given, first, last))
        return policy

    def _corrects(self, correction: object) -> bool:
        """Return whether an outcome replaces a learned one; raise if that is impossible."""
        corrects = flag_of("settle", "correction", correction)
        if corrects and self.learner.law is None:
            raise DecisionError(
                f"{self.learner.algorithm.id} cannot take an outcome back: what it has decided "
                "since depends on it. Leave the first outcome; its share fades as more are "
                "learned. A law can be corrected: algorithm='law'."
            )
        return corrects

    def _learn(
        self,
        decision: Any,
        given: tuple[float, tuple[Label, ...]],
        shown: Shown,
        *,
        correction: bool,
        rules: AmountRules | None = None,
        payment: Payment | None = None,
    ) -> None:
        """Learn from the number of a round, or from a number that shows the same.

        given: the context and the classes. rules: those of this round, if it has its own.
        """
        learner = self.learner
        if learner.law is not None:
            learner.learn(decision, *given, shown, correction=correction, payment=payment)
            return
        losses = rows_of((rules or self.rules).rows([shown.number])[0], decision.revealed)
        if payment is None:
            learner.learn(decision, losses)
            return
        with payment.money.lock:
            paid = payment.money.settled(payment.key, given[0], *shown)
            learner.learn_with(paid, decision, losses)
