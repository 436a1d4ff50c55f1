"""`OutcomeLaw`: learns the law of the hidden number online, and chooses amounts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from crossbandit.core.interrupts import interrupts_deferred
from crossbandit.core.streams import stream
from crossbandit.core.types import Feedback, Ties
from crossbandit.core.uniforms import Uniforms
from crossbandit.core.validation import choice, integer, number, reject
from crossbandit.laws import laying
from crossbandit.laws.law_core import LawCore, LawParts
from crossbandit.laws.levels import Levels
from crossbandit.laws.memory import (
    PAYOFFS,
    Payoff,
    add_counts,
    copied,
    empty_state,
    fill_law,
    grid_of,
    law_arrays,
    law_rules,
    move,
    scratch_for,
    unkept,
)
from crossbandit.laws.rounds import (
    AmountChoice,
    choose,
    context_of,
    kind_of,
    prepared,
    round_of,
    shown_by,
    shown_to,
    weighed,
)
from crossbandit.laws.state import FEEDBACK_CODES, TOLD_AFTER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats, Integers
    from crossbandit.laws.independence import IndependenceTest
    from crossbandit.laws.levels import Label
    from crossbandit.laws.state import LawRules, LawState, Scratch
    from crossbandit.laws.view import LawView


class OutcomeLaw(LawParts):
    """Learns the law of one hidden number per round, given a context and classes.

    An amount *reaches* the number if it is at least as high (`ties="win"`), or higher
    (`ties="lose"`). `feedback` says what is shown once an amount was played:

    - "after-loss": the number, if the amount did not reach it (a competing bid told to losers);
    - "after-win": the number, if the amount reached it (a demand below the order);
    - "always": the number;
    - "won-lost": only whether the amount reached it (bought or not bought).

    What is learned in one context counts in others as far as the data support it. The contexts are
    a tree of bands, and the law of each band is shrunk towards that of its parent by empirical
    Bayes. Features (`classes`) change the odds of this law: each level of a category, each band of
    a number, and each pair of them, as far as that helps to predict the number. Recent rounds are
    also counted separately, with discounts of different half-lives. Their laws have more weight the
    better they predict.

    `payoff` is what an amount a earns, with a worth w and a cost c of the round:

    - "first-price": w - a if a reaches the number, and 0 if not; minus c a in both cases. An amount
      of 0 means not to bid: it never reaches the number;
    - "posted-price": a - c if a does not reach the number, and 0 if it does;
    - "newsvendor": w times the smaller of the number and a, minus c a.

    Memory is bounded: it depends on the number of amounts and on `class_limit`, not on the rounds.

    Args:
        amounts: What may be played, ascending; at least 2.
        context_range: The lowest and the highest context. A context outside counts as the nearest
            of these two.
        classes: Names of features. A text or an integer is a level of a category, a float is a
            number; None and NaN are a level of their own.
        feedback: What is shown, as above.
        payoff: What is earned, as above.
        ties: Whether an amount that equals the number reaches it: "win" or "lose".
        class_limit: How many levels of features, and how many of pairs of features, have effects
            of their own. If there are more, only the most frequent ones do.
        probing: How often lower amounts are tried in contexts where it is not known what they would
            earn: a factor of the usual frequency, 0 for never.
        seed: The seed of the random numbers of choices.

    Attributes:
        state: The arrays of the law; they change as it learns.
        levels: The numbers of the levels of the features.
        parts: The rules, the state, and scratch arrays.
        core: The compiled steps, which work on these arrays.
        uniforms: The random numbers of choices.

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

    def __init__(
        self,
        amounts: npt.ArrayLike | None = None,
        context_range: tuple[float, float] | None = None,
        *,
        classes: Sequence[str] = (),
        feedback: Feedback = "after-loss",
        payoff: Payoff = "first-price",
        ties: Ties = "win",
        class_limit: int = 4096,
        probing: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        owner = type(self).__name__
        self.lays = amounts is None and context_range is None
        if amounts is None or context_range is None:
            if not self.lays or payoff != "first-price":
                expected = "both given, or both left out for amounts that suit what is seen"
                reject(owner, "amounts, context_range", expected, (amounts, context_range))
            grid, self.context_range = laying.first_amounts(), laying.ANY
        else:
            grid = grid_of(owner, amounts)
            low = number(owner, "context_range", context_range[0])
            high = number(owner, "context_range", context_range[1], above=low)
            self.context_range = (low, high)
        self.feedback = choice(owner, "feedback", feedback, FEEDBACK_CODES)
        self.payoff = choice(owner, "payoff", payoff, PAYOFFS)
        self.ties = choice(owner, "ties", ties, ("win", "lose"))
        self.class_limit = integer(owner, "class_limit", class_limit, at_least=1)
        self.probing = number(owner, "probing", probing, at_least=0, at_most=10)
        self.levels = Levels(owner, classes)
        self.classes = self.levels.features
        self._rules = law_rules(
            grid,
            self.context_range,
            feedback,
            payoff,
            len(self.classes),
            strict=ties == "lose",
            probing=self.probing,
        )
        if self.lays:
            self._rules = laying.first_rules(self._rules)
        self.use(empty_state(self._rules, self.class_limit))
        self.uniforms = Uniforms(stream(seed, "law"))

    def use(self, state: LawState) -> None:
        """Replace what was learned. `parts` becomes a new object, so callers can notice it.

        Args:
            state: The arrays.
        """
        self.state, self._rules = state, laying.rules_of(self._rules, state)
        self.amounts = self._rules.amounts.view()
        self.amounts.flags.writeable = False
        scratch = scratch_for(self._rules)
        self.parts: tuple[LawRules, LawState, Scratch] = (self._rules, state, scratch)
        self.core = LawCore(*self.parts)

    def settle_all(self, test: IndependenceTest | None, *columns: Any) -> None:
        """Learn from many outcomes in money, and set their codes.

        Args:
            test: The test that learns with the law, if any.
            *columns: As for `LawCore.settle_all`.
        """
        done = 0
        while done < len(columns[0]):
            core = None if test is None else test.core
            done += self.core.settle_all(core, *(column[done:] for column in columns))
            if self.core.stale:
                self.lay(test)

    def lay(self, test: IndependenceTest | None = None) -> None:
        """Lay the grid again if the latest rounds ask for it, for a law that was given none.

        Args:
            test: The test that learns with the law; it starts again with the same rounds.
        """
        with interrupts_deferred():
            found = laying.laid_again(self._rules, self.state, self.class_limit)
            self.core.stale = False
            if found is not None:
                self.use(found.state)
                if test is not None:
                    test.begin_again(found.learned)

    @property
    def rounds(self) -> int:
        """How many outcomes were learned from."""
        return int(self.state.rounds[0])

    def cells(self, numbers: npt.ArrayLike) -> Integers:
        """Return the number of the lowest amount that reaches each number; K if none does.

        Args:
            numbers: Hidden numbers.
        """
        side: Any = "left" if self.ties == "win" else "right"
        found: Integers = np.searchsorted(self.amounts, np.asarray(numbers, dtype=float), side)
        return found

    @property
    def contexts_seen(self) -> tuple[float, float]:
        """The lowest and the highest context since the start, for a law that lays its own grid."""
        count, _, low, high = self.state.ring[:4].tolist()
        return (low, high) if count else (1.0, 1.0)

    def amounts_at(self, context: float) -> Floats:
        """Return what may be played at a context.

        Args:
            context: The context.
        """
        found: Floats = self.amounts * context**self._rules.power
        return found

    def highest(self, worth: float, context: float = 1.0) -> int:
        """Return the number of the highest amount that is worth playing.

        Args:
            worth: What reaching the number is worth.
            context: The context; needed only by a law that lays its own grid.
        """
        if self.payoff != "first-price":
            return self.amounts.size - 1
        return max(int(np.searchsorted(self.amounts_at(context), worth, "right")) - 1, 0)

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
    ) -> AmountChoice:
        """Choose an amount. This changes only the law's random numbers.

        Args:
            context: The context of the round.
            worth: The worth w of the payoff; the context if None. Under a budget, it is less.
            cost: The cost c of the payoff.
            first: The lowest amount that may be played, by number.
            last: The highest amount that may be played, by number. If None, it is the highest one;
                in a first-price auction, the highest one up to the worth.
            uniforms: Three random numbers from [0, 1), in place of the law's own.
            **classes: A label for every feature of the law.

        Returns:
            The choice. Pass it to `learn`, with its outcome.

        Raises:
            InvalidContextError: An argument is not a number, classes are missing, or no amount may
                be played.
        """
        given = round_of(self, "decide", context, classes, worth, cost, first, last)
        drawn = None if uniforms is None else np.array(uniforms, dtype=float)
        index = choose(self, *given, drawn)
        return AmountChoice(index, float(self.amounts_at(given[0])[index]), given[0], given[1])

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

        A fixed grid of quantiles takes the place of the random numbers of a choice. So the
        probabilities are the same in every call, with an error of up to 1/64.

        Args:
            context: As in `decide`.
            worth: As in `decide`.
            cost: As in `decide`.
            first: As in `decide`.
            last: As in `decide`.
            tried_from: If the best amount is below this one, no lower amount is tried instead.
            **classes: A label for every feature of the law.

        Returns:
            A probability for each amount.

        Raises:
            InvalidContextError: As for `decide`.
        """
        given = round_of(self, "policy", context, classes, worth, cost, first, last)
        return weighed(self, given, float(tried_from))

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

        The results are exactly those of calling `decide` and `learn` for each round.

        Args:
            contexts: A context per round.
            numbers: The hidden number of each; only what the feedback shows of it is learned.
            worths: As in `decide`; one per round.
            costs: As in `decide`; one for all, or one per round.
            firsts: The lowest amount that may be played, per round.
            lasts: The highest one, per round. If it is below the lowest, nothing is played.
            classes: A column of labels for every feature.
            cells: The cells of the numbers, if they are known; the numbers are then ignored.

        Returns:
            What was played, by number; -1 for nothing.

        Raises:
            InvalidParameterError: The law has no grid of amounts.
        """
        self._check_grid("play")
        log = prepared(self, contexts, numbers, worths, costs, firsts, lasts, classes, cells)
        out = np.empty(log.contexts.size, dtype=np.int64)
        rounds: Any = (*log, log.uniforms(self.uniforms, 3), out)
        self.core.play(*rounds)
        return out

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
        shown_by(self, made.amount, reached=bool(reached), number=number)
        classes = dict(zip(self.classes, made.classes, strict=True))
        at, slots = context_of(self, "learn", made.context, classes)
        context, amount, told = np.array([[at], [made.amount], [number or 0.0]])
        marks = np.array([[reached], [tried]], dtype=np.uint8)
        columns = (context, slots[None], amount, marks[0], told, marks[1])
        self.settle_all(None, *columns, np.empty(1, dtype=np.int64))

    def replacing(self, place: int, *, reached: bool, number: float) -> Callable[[], None]:
        """Return the step that replaces the outcome of a round that is kept.

        Args:
            place: Where it is kept; see `laying.latest_place`.
            reached: Whether the amount reached the number.
            number: The number, if it is told.
        """
        tried = int(self.state.kept[place, 3]) & 2
        known = number if reached in TOLD_AFTER[self.feedback] else 0.0
        return partial(self.state.kept[place].__setitem__, slice(2, 4), (known, tried | reached))

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
        self._check_grid("observe")
        known = kind_of(self, kind, index, amount)
        classes = dict(zip(self.classes, labels, strict=True))
        place = context_of(self, "observe", context, classes)
        self.core.learn(*place, known, index, amount)

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

        Raises:
            InvalidParameterError: The law has no grid of amounts.
        """
        self._check_grid("warm_up")
        log = prepared(self, contexts, numbers, classes=classes)
        self.core.learn_all(log.contexts, log.slots, *shown_to(self, log.cells, played))

    def law(self, context: float, **classes: Label) -> LawView:
        """Return the law at a context: its probabilities, their errors, and the data behind them.

        Args:
            context: The context.
            **classes: A label for every feature of the law.
        """
        from crossbandit.laws.view import view_of

        return view_of(self, context, classes)

    def merge(self, other: Self) -> None:
        """Add what another law has learned: the counts of each node are added exactly.

        What each level of a feature has shown is added, too. If there is no room for all levels,
        those that were used most are kept.

        Discounted counts are added with their present values: the last round of each law counts as
        1. The weights of the experts are multiplied, because the likelihoods of different rounds
        are. Then a share of 0.0001 is spread over all experts, as after a round. Finally, all laws
        are computed from the new counts.

        Args:
            other: A law of the same form. It is not changed.

        Raises:
            InvalidParameterError: The other law has another grid, range, feedback or features.
        """
        if self._form() != other._form():
            reject("merge", "other", "a law of the same form; see `moved`", other)
        if self.lays and self._join(other):
            return
        state = other.state
        if self.lays:
            state = laying.moved(other.parts[0], state, self._rules, self.class_limit)
        add_counts(self._rules, self.state, state)
        self.use(self.state)

    def _join(self, other: Self) -> bool:
        """Learn what one of the two has kept, if that is all it has learned from."""
        mine, theirs = self.state, other.state
        if mine.ring[0] <= len(mine.kept) < theirs.ring[0]:
            self.use(copied(theirs))
            theirs = mine
        if theirs.ring[0] > len(theirs.kept):
            return False
        self.settle_all(None, *laying.Kept.of(theirs).columns)
        return True

    def moved(self, amounts: npt.ArrayLike, context_range: tuple[float, float]) -> Self:
        """Return a law on another grid or range that has learned the same, as far as it can.

        An outcome goes to the nearest new amount for which it still holds. A band of contexts goes
        to the new band that has its middle.

        Args:
            amounts: The new amounts.
            context_range: The new range of contexts.

        Raises:
            InvalidParameterError: The law has no grid of amounts.
        """
        self._check_grid("moved")
        grid = {"amounts": amounts, "context_range": context_range}
        made = type(self)(**{**self._form(), **grid}, probing=self.probing)
        made.take_counts(self)
        return made

    def take_counts(self, other: OutcomeLaw) -> None:
        """Replace what was learned by the counts of a law on another grid or range; see `moved`.

        Args:
            other: The other law. It is not changed.
        """
        if self.lays:  # `difference` has found that both are
            self.use(copied(other.state))
            return
        self.use(empty_state(self._rules, self.class_limit))
        move(other.parts[0], other.state, other.context_range, self._rules, self.state)

    def look_like(self, other: OutcomeLaw, seed: Seed | None) -> None:
        """Take what another law of the same form needs in order to decide, but not its counts.

        Args:
            other: The other law. It is not changed.
            seed: The seed of the random numbers; None for new ones.
        """
        empty = np.zeros((0, self.amounts.size + 1))
        state = other.state._replace(told=empty, hidden=empty, **unkept(other.state))
        self.use(copied(state))
        self.uniforms = Uniforms(np.random.default_rng() if seed is None else stream(seed, "law"))

    def _check_grid(self, owner: str) -> None:
        """Raise for what numbers amounts, if the law lays its own grid and may lay it again."""
        if self.lays:
            expected = "given: this law lays its own; call decide and learn, or FirstPriceBidder"
            reject(owner, "grid", expected, None)

    def _form(self) -> dict[str, Any]:
        """Return what two laws must have in common to be merged."""
        names = ("feedback", "payoff", "ties", "class_limit")
        return {
            "amounts": None if self.lays else self.amounts.tolist(),
            "context_range": None if self.lays else list(self.context_range),
            "classes": list(self.classes),
            **{name: getattr(self, name) for name in names},
        }

    def settings(self) -> dict[str, Any]:
        """Return all that `restore` needs besides the arrays, in a form that JSON can hold."""
        return {**self.description(), "generator": self.uniforms.state}

    def description(self) -> dict[str, Any]:
        """Return `settings` without the random numbers, which change with each decision."""
        return {**self._form(), "probing": self.probing}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of the arrays of the law, by name; only the nodes that are in use."""
        return law_arrays(self.state)

    @classmethod
    def restore(cls, settings: Mapping[str, Any], arrays: Mapping[str, npt.ArrayLike]) -> Self:
        """Return the law whose `settings()` and `arrays()` are given.

        Args:
            settings: What `settings()` returned.
            arrays: What `arrays()` returned.

        Raises:
            CheckpointError: The arrays do not fit the settings or hold impossible numbers.
        """
        given = dict(settings)
        generator = given.pop("generator")
        law = cls(**given)
        law.resume(generator, {name: np.asarray(one) for name, one in arrays.items()})
        return law

    def resume(
        self,
        generator: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[Any]],
    ) -> None:
        """Replace what was learned, and the random numbers, by those of a law of the same settings.

        Args:
            generator: As in `settings()`.
            arrays: What `arrays()` returned.

        Raises:
            CheckpointError: The arrays do not fit the settings or hold impossible numbers.
        """
        state = empty_state(self._rules, self.class_limit)
        fill_law(state, arrays)
        self.use(state)
        self.uniforms.state = generator

    def __repr__(self) -> str:
        return f"OutcomeLaw({self.amounts.size} amounts, {self.rounds} rounds learned)"

    def _repr_html_(self) -> str:
        from crossbandit.laws.view import law_card

        return law_card(self)
