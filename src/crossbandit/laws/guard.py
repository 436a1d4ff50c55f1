"""`GuardedLaw`: a law that is compared in every round with a learner that assumes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.notebook import card
from crossbandit.core.record import Field, add, fill
from crossbandit.core.steps import at_once
from crossbandit.core.validation import reject
from crossbandit.laws.guard_core import GuardCore
from crossbandit.laws.rounds import AmountChoice, declines, prepared, round_of, shown_by, weighed
from crossbandit.laws.state import ABOVE, AT_MOST, TOLD, GuardState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.core.types import Floats, Integers
    from crossbandit.laws.levels import Label
    from crossbandit.laws.outcome_law import OutcomeLaw

# A win at a bid above its worth is a loss, so gains can be negative.
_FIELDS = {name: Field(low=0.0) for name in GuardState._fields if name != "gains"}


@dataclass(frozen=True, eq=False)
class GuardedAmountChoice(AmountChoice):
    """An amount that a `GuardedLaw` has chosen, with all that learning from its outcome needs.

    Attributes:
        index: The number of the amount.
        amount: The amount.
        context: The context of the round.
        classes: The labels, in the order of the law's features.
        worth: What winning was worth.
        law_index: What the law would have played.
        chances: The learner's probability of each amount.
        seen: The probability that the outcome of each amount is shown. If the array is empty, it is
            computed again from `chances` and `weight`.
        weight: The probability with which the law was followed.
    """

    worth: float = 0.0
    law_index: int = 0
    chances: Floats = field(default_factory=lambda: np.zeros(0))
    seen: Floats = field(default_factory=lambda: np.zeros(0))
    weight: float = 1.0


class GuardedLaw:
    """Follows a law's bids, or exponential weights over all bids, whichever earns more.

    The law is a best response to the past: somebody who knows it can exploit it. Exponential
    weights with cross-learning (importance-weighted by what each bid shows) assume nothing about
    prices. A second exponential weighting chooses between these two experts, by what they would
    have earned. With K bids, it begins with the weights K : 1 for the law. So the learner is
    followed only when it is ahead by more than log(K) sqrt(V), where V is the sum of the squared
    differences between the two. Noise in the comparison, or low bids that the law tries, do not
    change which one is followed. Each is always followed with a probability of at least
    0.25 / sqrt(rounds).

    No regret bound is proved. By construction, the law and the learner are compared by estimates of
    what both recommend. These are importance-weighted, and shrunk by the implicit exploration. The
    expert with the lower weight is followed in at least 0.5 sqrt(T) of T rounds, on average. Its
    estimates can have a variance of the order of sqrt(T), so the usual argument for exponential
    weights gives T^(3/4) at best. Both experts learn from what the guard plays: what either would
    have earned alone is not compared. If a bid of the learner is below the reserve, the reserve is
    bid instead, and the learner's estimates do not take that into account.

    Args:
        law: A law for first-price auctions. It also learns from the outcomes.

    >>> from crossbandit.laws import OutcomeLaw
    >>> law = GuardedLaw(OutcomeLaw(np.linspace(0, 1, 51), (0, 1), seed=1))
    >>> rng = np.random.default_rng(0)
    >>> bids = law.play(rng.random(2_000), 0.4 * rng.random(2_000))
    >>> bool(law.law_weight > 0.5)
    True
    >>> bid = law.decide(0.8)
    >>> law.learn(bid, reached=True)
    """

    def __init__(self, law: OutcomeLaw) -> None:
        if law.payoff != "first-price":
            reject("GuardedLaw", "law", "a law for first-price auctions", law.payoff)
        if law.lays:
            reject("GuardedLaw", "law", "a law that was given amounts", law)
        size = law.amounts.size
        self.law = law
        self._guard = GuardState(
            wins=np.zeros(size),
            spent=np.zeros(3),
            gains=np.zeros(2),
            chances=np.zeros(size),
            seen=np.zeros(size),
        )
        self._core: tuple[Any, GuardCore] | None = None

    def __repr__(self) -> str:
        return f"GuardedLaw({self.law!r}, followed with probability {self.law_weight:.2f})"

    def _repr_html_(self) -> str:
        followed = f"followed with probability {self.law_weight:.2f}"
        facts = [(followed, "otherwise a learner that assumes nothing about prices bids")]
        from crossbandit.laws.view import law_picture

        return card("GuardedLaw", [*facts, (repr(self.law), "the law")], law_picture(self.law))

    @property
    def core(self) -> GuardCore:
        """The compiled steps of the guard, with those of its law as it is now."""
        if self._core is None or self._core[0] is not self.law.core:
            made = GuardCore(self.law.core, self._guard, self.law.context_range[1])
            self._core = self.law.core, made
        return self._core[1]

    @property
    def gains(self) -> Floats:
        """Estimates of what the law and the learner would have earned, over the highest value."""
        return self._guard.gains.copy()

    @property
    def law_weight(self) -> float:
        """The probability with which the law is followed now."""
        return float(self.core.law_weight())

    def decide(
        self,
        context: float,
        *,
        worth: float | None = None,
        first: int = 0,
        last: int | None = None,
        **classes: Label,
    ) -> GuardedAmountChoice:
        """Choose an amount; see `OutcomeLaw.decide`.

        Args:
            context: As in `OutcomeLaw.decide`.
            worth: As in `OutcomeLaw.decide`.
            first: As in `OutcomeLaw.decide`.
            last: As in `OutcomeLaw.decide`.
            **classes: A label for every feature of the law.

        Returns:
            The choice, with what `learn` needs of it.
        """
        given = round_of(self.law, "decide", context, classes, worth, 0.0, first, last)
        at, labels, worth, _, first, last = given
        index, bid, weight = self.choose(at, worth, 0.0, labels, first, last)
        return GuardedAmountChoice(
            index=index,
            amount=float(self.law.amounts[index]),
            context=context,
            classes=labels,
            worth=worth,
            law_index=bid,
            chances=self.chances,
            seen=self._guard.seen.copy(),
            weight=weight,
        )

    def choose(
        self,
        context: float,
        worth: float,
        cost: float,
        labels: tuple[Label, ...],
        first: int,
        last: int,
        uniforms: Floats | None = None,
    ) -> tuple[int, int, float]:
        """Do what `decide` does, with arguments that the caller has checked.

        The guard's `chances` and `seen` are set, and nothing else changes.

        Args:
            context: A finite float in the range of the contexts.
            worth: As in `decide`.
            cost: Ignored: a guard has none.
            labels: The classes, in the order of the law's features.
            first: As in `decide`.
            last: As in `decide`; at least `first`.
            uniforms: Five random numbers from [0, 1), in place of the law's own.

        Returns:
            The amount to play and the one that the law recommends, by number; the law's weight.
        """
        del cost
        law = self.law
        drawn = law.uniforms.take(5) if uniforms is None else uniforms
        found: tuple[int, int, float] = self.core.decide(
            context, law.levels.slots(labels), worth, first, last, drawn
        )
        return found

    @property
    def chances(self) -> Floats:
        """The learner's probability of each amount, in the round decided last."""
        return self._guard.chances.copy()

    def learn(
        self, made: GuardedAmountChoice, *, reached: bool, number: float | None = None
    ) -> None:
        """Learn from the outcome of a choice, as `OutcomeLaw.learn` does.

        Outcomes may come in any order. Each counts once.

        Args:
            made: What `decide` returned.
            reached: Whether the amount reached the number.
            number: The number, where the law's feedback says that it is shown.
        """
        self.law.learn(made, reached=reached, number=number, tried=made.index == made.law_index)
        kind, index, _ = shown_by(self.law, made.amount, reached=reached, number=number)
        if made.index > 0 or kind == TOLD or not declines(self.law):
            self.weigh(made, kind, index)

    def weigh(self, made: GuardedAmountChoice, kind: int, index: int) -> None:
        """Update the weights of the law and the learner by an outcome that the law has learned.

        Args:
            made: What `decide` returned.
            kind: As in `weighing`.
            index: As in `weighing`.
        """
        given = (made.worth, made.law_index, made.index, made.weight, made.chances)
        at_once(*self.weighing(*given, kind, index, made.seen))

    def weighing(
        self,
        worth: float,
        law_index: int,
        played: int,
        weight: float,
        chances: Floats,
        kind: int,
        index: int,
        seen: Floats | None = None,
    ) -> Sequence[Callable[[], Any]]:
        """Return the steps that weigh the law and the learner by an outcome; see `at_once`.

        Args:
            worth: What winning was worth.
            law_index: What the law would have played.
            played: What was played.
            weight: As in `GuardedAmountChoice`.
            chances: As in `GuardedAmountChoice`.
            kind: What is known of the number: 0 its cell, 1 that an amount reaches it, 2 that an
                amount does not.
            index: The cell or the amount.
            seen: As in `GuardedAmountChoice`; None if it is to be computed again.
        """
        cell = {TOLD: index, AT_MOST: 0, ABOVE: self.law.amounts.size}[kind]
        guard, core = self._guard, self.core
        shown: Any = partial(core.see, weight, law_index)
        if seen is not None and seen.size:
            shown = partial(guard.seen.__setitem__, slice(None), seen)
        return (
            partial(guard.chances.__setitem__, slice(None), chances),
            shown,
            partial(core.learn, worth, law_index, played, cell),
        )

    def policy(
        self,
        context: float,
        *,
        worth: float | None = None,
        first: int = 0,
        last: int | None = None,
        **classes: Label,
    ) -> Floats:
        """Return the probability with which `decide` would choose each amount. Changes nothing.

        Args:
            context: As in `OutcomeLaw.decide`.
            worth: As in `OutcomeLaw.decide`.
            first: As in `OutcomeLaw.decide`.
            last: As in `OutcomeLaw.decide`.
            **classes: A label for every feature of the law.
        """
        given = round_of(self.law, "policy", context, classes, worth, 0.0, first, last)
        law = weighed(self.law, given)
        context, labels, value, _, first, last = given
        self.choose(context, value, 0.0, labels, first, last, np.zeros(5))
        chances = self.chances
        chances[first] += chances[:first].sum()
        chances[:first] = 0.0
        mixed: Floats = self.law_weight * law + (1 - self.law_weight) * chances
        return mixed

    def merge(self, other: GuardedLaw) -> None:
        """Add what another guarded law has learned. Its estimates are sums, so they are added.

        Args:
            other: A guarded law of the same form. It is not changed.

        Raises:
            InvalidParameterError: Its law has another grid, range, feedback or features.
        """
        self.law.merge(other.law)
        add(self._guard._asdict(), other._guard._asdict(), ("wins", "spent", "gains"))

    def arrays(self) -> dict[str, Floats]:
        """Return copies of the guard's arrays, by name; the law has its own."""
        return {name: part.copy() for name, part in self._guard._asdict().items()}

    def restore(self, arrays: Mapping[str, npt.ArrayLike]) -> None:
        """Take over the arrays of a guard on the same amounts.

        Args:
            arrays: What `arrays()` returned.

        Raises:
            CheckpointError: An array is missing, has another shape, or holds impossible numbers.
        """
        given = {name: np.asarray(one, dtype=float) for name, one in arrays.items()}
        fill(self._guard._asdict(), given, _FIELDS, "guard")

    def play(
        self,
        contexts: npt.ArrayLike,
        numbers: npt.ArrayLike,
        *,
        worths: npt.ArrayLike | None = None,
        firsts: npt.ArrayLike | None = None,
        classes: Mapping[str, npt.ArrayLike] | None = None,
        cells: npt.ArrayLike | None = None,
    ) -> Integers:
        """Decide and learn in all rounds of a log; see `OutcomeLaw.play`.

        Args:
            contexts: As in `OutcomeLaw.play`.
            numbers: As in `OutcomeLaw.play`.
            worths: As in `OutcomeLaw.play`.
            firsts: As in `OutcomeLaw.play`.
            classes: As in `OutcomeLaw.play`.
            cells: As in `OutcomeLaw.play`.

        Returns:
            What was played, by number; -1 for nothing.
        """
        law = self.law
        log = prepared(law, contexts, numbers, worths, firsts=firsts, classes=classes, cells=cells)
        out = np.empty(log.contexts.size, dtype=np.int64)
        self.core.play(
            log.contexts,
            log.slots,
            log.worths,
            log.firsts,
            log.lasts,
            log.cells,
            log.uniforms(law.uniforms, 5),
            out,
        )
        return out
