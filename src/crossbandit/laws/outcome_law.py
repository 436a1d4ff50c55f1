"""A law of the hidden number, learned online, that chooses amounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.kernels.laws.choice import decide, look, weigh_choices
from crossbandit.kernels.laws.learning import learn
from crossbandit.kernels.laws.loops import learn_all, play
from crossbandit.kernels.laws.state import ABOVE, AT_MOST, TOLD
from crossbandit.laws.base import LawBase
from crossbandit.laws.logs import prepared, shown_to
from crossbandit.laws.quantiles import chance_grid
from crossbandit.laws.view import LawView, alone, in_order, share_of
from crossbandit.notebook import card, counted
from crossbandit.validation import number, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.laws.levels import Label
    from crossbandit.laws.logs import LogRounds
    from crossbandit.types import Floats, Integers

OUTCOMES = {"told": TOLD, "at-most": AT_MOST, "above": ABOVE}


@dataclass(frozen=True)
class LawDecision:
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


class OutcomeLaw(LawBase):
    """Learns the law of one hidden number per round, given a context and classes.

    An amount *reaches* the number if it is at least as high (`ties="win"`), or higher
    (`ties="lose"`). `feedback` says what is shown once an amount was played:

    - "after-loss": the number, if the amount did not reach it (a competing bid told to losers);
    - "after-win": the number, if the amount reached it (a demand below the order);
    - "always": the number;
    - "won-lost": only whether the amount reached it (bought or not bought).

    What is learned in one context counts in others exactly as far as the data support it: a tree
    of bands of the context, each drawn towards its parent by empirical Bayes. Categorical features
    (`classes`) get trees of their own; those that say nothing are ignored. Recent rounds are kept
    apart, with two half-lives, and weigh as much as they predict better than all rounds.

    `payoff` is what amounts earn, with a worth w and a cost c of the round: "first-price": w - a if
    amount a reaches the number, less c times the amount in any case; "posted-price": a - c if it
    does not; "newsvendor": w times the smaller of number and amount, less c times the amount.

    Memory is bounded: it depends on the number of amounts and on `class_limit`, not on the rounds.

    Args:
        amounts: What may be played, ascending; at least 2.
        context_range: The lowest and the highest context. Contexts beyond count as these.
        classes: Names of categorical features.
        feedback: What is shown, as above.
        payoff: What is earned, as above.
        ties: Whether an amount that equals the number reaches it.
        class_limit: How many levels of features, and combinations of them, are told apart.
        probing: How often lower amounts are tried where a band of contexts does not know what they
            would earn, relative to the usual; 0 for never.
        seed: Of the randomness of choices.

    Raises:
        InvalidParameterError: An argument is outside its domain.

    >>> law = OutcomeLaw(np.linspace(0, 10, 101), (0, 10), seed=1)
    >>> rng = np.random.default_rng(0)
    >>> for value in rng.uniform(2, 10, 3_000):
    ...     price = 0.5 * value + rng.uniform(-1, 1)  # prices depend on values
    ...     bid = law.decide(value)
    ...     won = bid.amount >= price
    ...     law.learn(bid, reached=won, number=None if won else price)
    >>> [round(law.law(value).quantile(0.5)) for value in (4.0, 8.0)]
    [2, 4]
    """

    def decide(
        self,
        context: float,
        *,
        worth: float | None = None,
        cost: float = 0.0,
        first: int = 0,
        last: int | None = None,
        uniforms: npt.ArrayLike | None = None,
        **classes: Label,
    ) -> LawDecision:
        """Choose an amount. Nothing is changed but the law's random numbers.

        Args:
            context: Chooses the law, as learned.
            worth: What the payoff is made of: the context unless given. With a budget, less.
            cost: What the payoff is made of, too.
            first: The lowest amount that may be played, by number.
            last: The highest one; unless given, in a first-price auction the highest that is at
                most the worth, otherwise the highest of all.
            uniforms: Three random numbers from [0, 1), in place of the law's own.
            **classes: A label for every feature of the law.

        Returns:
            The choice, to be handed to `learn` with its outcome.

        Raises:
            InvalidContextError: The context is no number, classes are missing, or no amount is
                left to choose from.
        """
        at, labels = self._at("decide", context, classes)
        value = number(
            "decide", "worth", context if worth is None else worth, error=InvalidContextError
        )
        paid = number("decide", "cost", cost, error=InvalidContextError)
        if last is None:
            last = self.highest(value)
        first, last = int(first), int(last)  # compiled code takes one type
        if not 0 <= first <= last < self.amounts.size:
            got = (first, last)
            reject("decide", "first, last", "a range of amounts", got, error=InvalidContextError)
        drawn = None if uniforms is None else np.array(uniforms, dtype=float)
        index = self.choose(at, labels, value, paid, first, last, drawn)
        return LawDecision(index, float(self.amounts[index]), at, labels)

    def last_chance(self, index: int) -> float:
        """Return the chance of reaching the number in the round that was last decided.

        Args:
            index: The number of the amount.
        """
        mirrored, chances = self._rules.mirrored, self._scratch.chances
        return 1.0 - chances.item(-1, -1 - index) if mirrored else chances.item(-1, index)

    def choose(
        self,
        context: float,
        labels: tuple[Label, ...],
        worth: float,
        cost: float,
        first: int,
        last: int,
        uniforms: Floats | None = None,
    ) -> int:
        """Do what `decide` does, with arguments that were checked before.

        Args:
            context: A finite float in the range of the contexts.
            labels: The classes, in the order of the law's features.
            worth: As in `decide`.
            cost: As in `decide`.
            first: As in `decide`.
            last: As in `decide`; at least `first`.
            uniforms: As in `decide`.

        Returns:
            The number of the amount.
        """
        drawn = self.uniforms.take(3) if uniforms is None else uniforms
        found: int = self.code[decide](
            self._bound,
            context,
            self._levels.slots(labels),
            worth,
            cost,
            first,
            last,
            drawn,
        )
        return found

    def policy(
        self,
        context: float,
        *,
        worth: float | None = None,
        cost: float = 0.0,
        first: int = 0,
        last: int | None = None,
        tried_from: float = 0.0,
        **classes: Label,
    ) -> Floats:
        """Return the probability with which `decide` would choose each amount. Changes nothing.

        The random numbers of a choice are integrated over a fixed grid of quantiles: probabilities
        are the same in every call, and right up to 1/64.

        Args:
            context: As in `decide`.
            worth: As in `decide`.
            cost: As in `decide`.
            first: As in `decide`.
            last: As in `decide`.
            tried_from: No lower amount is tried in place of an amount below this one.
            **classes: A label for every feature of the law.

        Returns:
            A probability for each amount.

        Raises:
            InvalidContextError: As for `decide`.
        """
        at, labels = self._at("policy", context, classes)
        value = float(context if worth is None else worth)
        if last is None:
            last = self.highest(value)
        if not 0 <= first <= last < self.amounts.size:
            got = (first, last)
            reject("policy", "first, last", "a range of amounts", got, error=InvalidContextError)
        uniforms, weights = chance_grid(self._rules)
        chances = np.zeros(self.amounts.size)
        slots = self._levels.slots(labels)
        weigh_choices(
            self._rules,
            self._state,
            self._scratch,
            at,
            slots,
            value,
            float(cost),
            first,
            last,
            float(tried_from),
            uniforms,
            weights,
            chances,
        )
        return chances

    def highest(self, worth: float) -> int:
        """Return the number of the highest amount that it makes sense to play.

        Args:
            worth: What reaching the number is worth.
        """
        if self.payoff != "first-price":
            return self.amounts.size - 1
        return max(int(np.searchsorted(self.amounts, worth, "right")) - 1, 0)

    def learn(
        self, made: LawDecision, *, reached: bool, number: float | None = None, tried: bool = True
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

    def play(
        self,
        contexts: npt.ArrayLike,
        numbers: npt.ArrayLike,
        *,
        worths: npt.ArrayLike | None = None,
        costs: npt.ArrayLike | float = 0.0,
        firsts: npt.ArrayLike | None = None,
        lasts: npt.ArrayLike | None = None,
        classes: Mapping[str, npt.ArrayLike] | None = None,
        cells: npt.ArrayLike | None = None,
    ) -> Integers:
        """Decide and learn in all rounds of a log, in one compiled call.

        It makes the same choices, to the same bits, as `decide` and `learn` in turns would.

        Args:
            contexts: A context per round.
            numbers: The hidden number of each; only what the feedback shows of it is learned.
            worths: As in `decide`; one per round.
            costs: As in `decide`; one for all, or one per round.
            firsts: The lowest amount that may be played, per round.
            lasts: The highest one. Where it is below the lowest, nothing is played.
            classes: A column of labels for every feature.
            cells: The cells of the numbers, if known; the numbers are not looked at then.

        Returns:
            What was played, by number; -1 for nothing.
        """
        log = prepared(self, contexts, numbers, worths, costs, firsts, lasts, classes, cells)
        uniforms = log.uniforms(self.uniforms, 3)
        out = np.empty(log.contexts.size, dtype=np.int64)
        play(
            self._rules,
            self._state,
            self._scratch,
            log.contexts,
            log.slots,
            log.worths,
            log.costs,
            log.firsts,
            log.lasts,
            log.cells,
            uniforms,
            out,
        )
        return out

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

    def __repr__(self) -> str:
        return f"OutcomeLaw({self.amounts.size} amounts, {self.rounds} rounds learned)"

    def _repr_html_(self) -> str:
        low, high = self.context_range
        facts = [
            (counted(self.rounds, "round"), "how many outcomes were learned from"),
            (counted(self.amounts.size, "amount"), "from which one is chosen in each round"),
            (f"contexts from {low:g} to {high:g}", "on which the number may depend"),
            (self.feedback, "what is told after a round"),
            *((f"by {name}", "a class on which the number may depend") for name in self.classes),
        ]
        return card("OutcomeLaw", facts, self.picture())

    def picture(self) -> str:
        """Return the law at the middle context as a small SVG picture, for notebooks.

        Returns:
            The picture; empty if the law has classes, as each class has a law of its own.
        """
        return "" if self.classes else self.law(sum(self.context_range) / 2).picture()

    def law(self, context: float, **classes: Label) -> LawView:
        """Return the law at a context: chances, errors, and where they come from.

        Args:
            context: The context.
            **classes: A label for every feature of the law.
        """
        return self.view(context, classes)

    def view(self, context: float, classes: Mapping[str, Label], *, counts: bool = True) -> LawView:
        """Return the law at a context, as `law` does.

        Args:
            context: The context.
            classes: A label for every feature of the law.
            counts: Whether this law has its counts; a copy that only decides does not.
        """
        at, labels = self._at("law", context, classes)
        slots, scratch = self._levels.slots(labels), self._scratch
        look(self._rules, self._state, scratch, at, slots)
        experts = self._state.weights.size
        memories = self._rules.growth.size
        chances = in_order(self._rules, scratch.chances[experts])
        spread = np.sqrt(scratch.spreads[experts])
        if self._rules.mirrored:
            spread = spread[::-1]
        if self.feedback == "won-lost":
            errors = spread * chances * (1 - chances)
        else:
            errors = spread * (1 - chances if self._rules.mirrored else chances)
        rows = [int(row) for row in scratch.rows[:, 0] if row >= 0]
        named = [row for row in rows[memories:] if self._state.visits[row] > 0]
        nearest = min([rows[0], *named], key=lambda row: float(self._state.visits[row]))
        own = pool = np.full_like(chances, np.nan)
        if counts:
            own, pool = alone(self._rules, self._state, nearest), alone(self._rules, self._state, 0)
        weights = self._state.weights
        return LawView(
            amounts=self.amounts,
            chances=chances,
            errors=np.minimum(errors, 0.5),
            pool=pool,
            own=own,
            own_rounds=float(self._state.visits[nearest]),
            own_share=share_of(chances, pool, own) if counts else np.nan,
            classes_weight=float(weights[memories:].sum()),
            recent_weight=float(1 - weights[::memories].sum()),
        )
