"""A law as the learner of an application: numbered decisions, each learned from once."""

from __future__ import annotations

import math
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.algorithms import Decision
from crossbandit.algorithms.decisions import check_maker, no_longer_pending
from crossbandit.errors import CheckpointError, DecisionError
from crossbandit.laws import Choice, GuardedChoice, GuardedLaw, IndependenceTest
from crossbandit.validation import integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.laws import Diagnosis, OutcomeLaw
    from crossbandit.laws.levels import Label
    from crossbandit.types import Booleans, Floats

_MAX_PENDING = 100_000
_LAST_ROUND = 2**62


class Round(NamedTuple):
    """What a law is told of a round before it decides.

    Attributes:
        context: What the hidden number may depend on.
        worth: What the payoff is made of; see `OutcomeLaw`.
        cost: What the payoff is made of, too.
        labels: The classes, in the order of the law's features.
    """

    context: float
    worth: float
    cost: float
    labels: tuple[Label, ...]


class _Pending(NamedTuple):
    """What is remembered of a decision; the last three only under a guard."""

    maker: str
    arm: int
    law_arm: int
    chances: Floats
    seen: Floats


_NOTHING: Floats = np.zeros(0)


class LawLearner:
    """An `OutcomeLaw` that makes decisions, and learns from each of them once.

    An outcome may come late: all that learning needs is in the decision, and in the round that the
    application keeps with it. Only which decisions are pending is remembered. Under a guard, the
    probabilities of the time of the decision are remembered as well.

    Args:
        law: The law.
        guarded: Whether `GuardedLaw` decides.

    Attributes:
        law: The law.
        test: The test of whether the hidden number goes with the context.
        guard: The guard, or None.
        round: The number of decisions made.
        id: Under which its decisions are known.
    """

    def __init__(self, law: OutcomeLaw, *, guarded: bool = False) -> None:
        self.law = law
        self.test = IndependenceTest(law)
        self.guard = GuardedLaw(law) if guarded else None
        self.round = 0
        self.id = secrets.token_hex(8)
        self._former_ids: list[str] = []
        self._max_pending = _MAX_PENDING
        self._pending: dict[int, _Pending] = {}

    @property
    def name(self) -> str:
        """What it is called in the text of an application."""
        return "law" if self.guard is None else "guarded-law"

    @property
    def pending(self) -> int:
        """How many decisions wait for their outcome."""
        return len(self._pending)

    @property
    def max_pending(self) -> int:
        """How many pending decisions are remembered; may be set."""
        return self._max_pending

    @max_pending.setter
    def max_pending(self, decisions: int) -> None:
        self._max_pending = integer("LawLearner", "max_pending", decisions, at_least=0)

    def act(self, given: Round, available: Booleans | None) -> Decision:
        """Choose an amount.

        Args:
            given: The round.
            available: Which amounts may be chosen: some in a row. None stands for all.

        Returns:
            The decision. Its probability is not known, and so NaN.
        """
        first, last = _ends(available, self.law.amounts.size)
        classes = dict(zip(self.law.classes, given.labels, strict=True))
        made: Choice
        if self.guard is None:
            made = self.law.decide(
                given.context,
                worth=given.worth,
                cost=given.cost,
                first=first,
                last=last,
                **classes,
            )
            kept = _Pending(self.id, made.index, -1, _NOTHING, _NOTHING)
        else:
            made = self.guard.decide(given.context, worth=given.worth, first=first, **classes)
            kept = _Pending(self.id, made.index, made.law_index, made.chances, made.seen)
        decision = Decision(self.round, (given.context,), made.index, math.nan, (), self.id)
        self._pending[self.round] = kept
        self.round += 1
        while len(self._pending) > self._max_pending:
            del self._pending[next(iter(self._pending))]
        return decision

    def learn(self, decision: Decision, given: Round, *, reached: bool, number: float) -> None:
        """Learn from the outcome of a decision.

        Args:
            decision: What `act` returned; each counts once.
            given: The round, as it was given to `act`.
            reached: Whether the amount reached the number.
            number: The number; not looked at where the law's feedback does not show it.

        Raises:
            DecisionError: The decision is another learner's, was learned from, or has expired.
            InvalidLossesError: The number contradicts `reached`. Nothing is learned.
        """
        kept = self._expected(decision)
        if len(given.labels) != len(self.law.classes):
            raise DecisionError(
                f"The decision of round {decision.round} must come with its classes, "
                f"{', '.join(self.law.classes)}. Got {given.labels}."
            )
        amount = float(self.law.amounts[kept.arm])
        if self.guard is None:
            made = Choice(kept.arm, amount, given.context, given.labels)
            self.law.learn(made, reached=reached, number=number)
        else:
            made = GuardedChoice(
                index=kept.arm,
                amount=amount,
                context=given.context,
                classes=given.labels,
                worth=given.worth,
                law_index=kept.law_arm,
                chances=kept.chances,
                seen=kept.seen,
            )
            self.guard.learn(made, reached=reached, number=number)
        self.test.learn(made, reached=reached, number=number)
        del self._pending[decision.round]

    def expects(self, decision: Decision) -> None:
        """Check that `learn` would take a decision now. Changes nothing.

        Args:
            decision: What `act` returned.

        Raises:
            DecisionError: The decision is another learner's, was learned from, or has expired.
        """
        self._expected(decision)

    def policy(self, given: Round, available: Booleans | None) -> Floats:
        """Return the probability of each amount, from a fixed grid of quantiles.

        Args:
            given: The round.
            available: Which amounts may be chosen: some in a row. None stands for all.
        """
        first, last = _ends(available, self.law.amounts.size)
        classes = dict(zip(self.law.classes, given.labels, strict=True))
        if self.guard is not None:
            return self.guard.policy(given.context, worth=given.worth, first=first, **classes)
        return self.law.policy(
            given.context, worth=given.worth, cost=given.cost, first=first, last=last, **classes
        )

    def diagnosis(self) -> Diagnosis:
        """Return whether the hidden number goes with the context, as far as is known."""
        return self.test.diagnosis()

    def merge(self, other: LawLearner) -> None:
        """Add what another learner has learned. Its pending decisions stay with it.

        Args:
            other: A learner of the same form. It is not changed.
        """
        if self.guard is not None and other.guard is not None:
            self.guard.merge(other.guard)
        else:
            self.law.merge(other.law)
        self.test.merge(other.test)

    # --- files ---------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return all that `resume` needs besides the arrays, in a form that `json` can write."""
        return {
            "ids": [*self._former_ids, self.id],
            "round": self.round,
            "max_pending": self._max_pending,
            "law": self.law.settings(),
            "test": self.test.settings(),
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all arrays, by name."""
        makers, kept = [*self._former_ids, self.id], list(self._pending.values())
        size = self.law.amounts.size if self.guard is not None else 0
        pending = {
            "rounds": np.array(list(self._pending), dtype=np.int64),
            "makers": np.array([makers.index(one.maker) for one in kept], dtype=np.int64),
            "arms": np.array([one.arm for one in kept], dtype=np.int64),
            "law_arms": np.array([one.law_arm for one in kept], dtype=np.int64),
            "chances": np.array([one.chances for one in kept]).reshape(len(kept), size),
            "seen": np.array([one.seen for one in kept]).reshape(len(kept), size),
        }
        parts = {"law": self.law.arrays(), "test": self.test.arrays(), "pending": pending}
        if self.guard is not None:
            parts["guard"] = self.guard.arrays()
        return {
            f"{part}.{name}": one for part, named in parts.items() for name, one in named.items()
        }

    def resume(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `header` and `arrays` returned, in a learner of the same form.

        Args:
            header: The header.
            arrays: The arrays by name.

        Raises:
            CheckpointError: They do not fit this learner, or hold impossible numbers.
        """
        settings, own = dict(header["law"]), self.law.settings()
        learned = {name: (settings.pop(name), own.pop(name)) for name in ("levels", "generator")}
        if settings != own:
            raise CheckpointError("Its settings describe another law than its learner's.")
        parts: dict[str, dict[str, Any]] = {"law": {}, "test": {}, "pending": {}, "guard": {}}
        for name, one in arrays.items():
            part, _, rest = name.partition(".")
            if part not in parts or (part == "guard" and self.guard is None):
                raise CheckpointError(f"It has an unknown member, {name!r}.")
            parts[part][rest] = one
        self.law.resume(learned["levels"][0], learned["generator"][0], parts["law"])
        self.test.restore(header["test"], parts["test"])
        if self.guard is not None:
            self.guard.restore(parts["guard"])
        self.round = integer("file", "round", header["round"], at_least=0, at_most=_LAST_ROUND)
        self.max_pending = header["max_pending"]
        self._former_ids = [str(former) for former in header["ids"]]
        self._pending = self._read_pending(parts["pending"])

    def _read_pending(self, arrays: Mapping[str, Any]) -> dict[int, _Pending]:
        rounds, makers, arms, law_arms = (
            _integers(arrays, name) for name in ("rounds", "makers", "arms", "law_arms")
        )
        count, size = len(rounds), self.law.amounts.size
        shape = (count, size if self.guard is not None else 0)
        chances, seen = (np.asarray(arrays[name], dtype=float) for name in ("chances", "seen"))
        lowest = -1 if self.guard is None else 0
        right = (
            len(set(rounds)) == len(makers) == len(arms) == len(law_arms) == count
            and chances.shape == seen.shape == shape
            and np.isfinite(chances).all()
            and np.isfinite(seen).all()
            and bool((chances >= 0).all())
            and bool((seen >= 0).all())
            and all(0 <= one < self.round for one in rounds)
            and all(0 <= one < len(self._former_ids) for one in makers)
            and all(0 <= one < size for one in arms)
            and all(lowest <= one < size for one in law_arms)
        )
        if not right:
            raise CheckpointError("Its pending decisions are impossible.")
        return {
            at: _Pending(self._former_ids[makers[i]], arms[i], law_arms[i], chances[i], seen[i])
            for i, at in enumerate(rounds)
        }

    def _expected(self, decision: Decision) -> _Pending:
        if not isinstance(decision, Decision):
            raise DecisionError(f"learn takes the Decision that act returned. Got {decision!r}.")
        kept = self._pending.get(decision.round)
        check_maker(decision, (self.id, *self._former_ids) if kept is None else (kept.maker,))
        if kept is None:
            raise no_longer_pending(decision, self._max_pending)
        if decision.arm != kept.arm:
            raise DecisionError(
                f"In round {decision.round} this learner played arm {kept.arm}. Got a decision "
                f"that says arm {decision.arm}."
            )
        return kept


def _ends(available: Booleans | None, size: int) -> tuple[int, int]:
    """Return the first and the last amount that may be chosen."""
    if available is None:
        return 0, size - 1
    may = np.flatnonzero(available)
    return int(may[0]), int(may[-1])


def _integers(arrays: Mapping[str, Any], name: str) -> list[int]:
    column = np.asarray(arrays[name])
    if column.ndim != 1 or column.dtype != np.int64:
        raise CheckpointError(f"The array {name!r} of the pending decisions is impossible.")
    found: list[int] = column.tolist()
    return found
