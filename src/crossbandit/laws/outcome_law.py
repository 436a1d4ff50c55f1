"""`OutcomeLaw`: learns the law of the hidden number online, and chooses amounts."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.kernels.laws.choice import decide, weigh_choices
from crossbandit.kernels.laws.outcomes import play
from crossbandit.kernels.laws.state import ALWAYS, WON_LOST
from crossbandit.laws.learning import AmountChoice, LearningLaw, prepared
from crossbandit.laws.view import LawView, view_of
from crossbandit.notebook import card, counted
from crossbandit.validation import number, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.kernels.laws.state import LawRules
    from crossbandit.laws.levels import Label
    from crossbandit.types import Floats, Integers

_POINTS = 64  # quantiles, for a choice that uses one random number
_SIDE = 24  # quantiles of each, for a choice that uses two random numbers


class OutcomeLaw(LearningLaw):
    """Learns the law of one hidden number per round, given a context and classes.

    An amount *reaches* the number if it is at least as high (`ties="win"`), or higher
    (`ties="lose"`). `feedback` says what is shown once an amount was played:

    - "after-loss": the number, if the amount did not reach it (a competing bid told to losers);
    - "after-win": the number, if the amount reached it (a demand below the order);
    - "always": the number;
    - "won-lost": only whether the amount reached it (bought or not bought).

    What is learned in one context counts in others as far as the data support it. The contexts are
    a tree of bands, and the law of each band is shrunk towards that of its parent by empirical
    Bayes. Categorical features (`classes`) have trees of their own; features that do not help to
    predict the number are ignored. Recent rounds are also counted separately, with discounts of
    different half-lives. Their laws have more weight the better they predict.

    `payoff` is what an amount a earns, with a worth w and a cost c of the round:

    - "first-price": w - a if a reaches the number, and 0 if not; minus c a in both cases;
    - "posted-price": a - c if a does not reach the number, and 0 if it does;
    - "newsvendor": w times the smaller of the number and a, minus c a.

    Memory is bounded: it depends on the number of amounts and on `class_limit`, not on the rounds.

    Args:
        amounts: What may be played, ascending; at least 2.
        context_range: The lowest and the highest context. A context outside counts as the nearest
            of these two.
        classes: Names of categorical features.
        feedback: What is shown, as above.
        payoff: What is earned, as above.
        ties: Whether an amount that equals the number reaches it.
        class_limit: How many levels of features, and combinations of them, have laws of their own.
            If there are more, the most frequent ones have.
        probing: How often lower amounts are tried in contexts where it is not known what they would
            earn: a factor of the usual frequency, 0 for never.
        seed: The seed of the random numbers of choices.

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
            InvalidContextError: The context is not a number, classes are missing, or no amount may
                be played.
        """
        at, labels = self._at("decide", context, classes)
        value = number(
            "decide", "worth", context if worth is None else worth, error=InvalidContextError
        )
        paid = number("decide", "cost", cost, error=InvalidContextError)
        if last is None:
            last = self.highest(value)
        first, last = int(first), int(last)  # compiled code is for this type only
        if not 0 <= first <= last < self.amounts.size:
            got = (first, last)
            reject("decide", "first, last", "a range of amounts", got, error=InvalidContextError)
        drawn = None if uniforms is None else np.array(uniforms, dtype=float)
        index = self.choose(at, labels, value, paid, first, last, drawn)
        return AmountChoice(index, float(self.amounts[index]), at, labels)

    def last_chance(self, index: int) -> float:
        """Return the probability that an amount reaches the number, in the round decided last.

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
        """Do what `decide` does, with arguments that the caller has checked.

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
        at, labels = self._at("policy", context, classes)
        value = float(context if worth is None else worth)
        if last is None:
            last = self.highest(value)
        if not 0 <= first <= last < self.amounts.size:
            got = (first, last)
            reject("policy", "first, last", "a range of amounts", got, error=InvalidContextError)
        uniforms, weights = _quantiles(self._rules)
        chances = np.zeros(self.amounts.size)
        weigh_choices(
            *self.parts,
            at,
            self._levels.slots(labels),
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
        """Return the number of the highest amount that is worth playing.

        Args:
            worth: What reaching the number is worth.
        """
        if self.payoff != "first-price":
            return self.amounts.size - 1
        return max(int(np.searchsorted(self.amounts, worth, "right")) - 1, 0)

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
        """
        log = prepared(self, contexts, numbers, worths, costs, firsts, lasts, classes, cells)
        out = np.empty(log.contexts.size, dtype=np.int64)
        play(
            *self.parts,
            log.contexts,
            log.slots,
            log.worths,
            log.costs,
            log.firsts,
            log.lasts,
            log.cells,
            log.uniforms(self.uniforms, 3),
            out,
        )
        return out

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
        """Return the law at a context: its probabilities, their errors, and the data behind them.

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
            counts: Whether this law has its counts. A copy that only decides does not have them.
        """
        at, labels = self._at("law", context, classes)
        return view_of(self, at, self.slots(labels), counts=counts)


def _quantiles(rules: LawRules) -> tuple[Floats, Floats]:
    """Return random numbers (n, 2) that stand for all that a choice may draw, and weights (n,)."""
    if rules.feedback == ALWAYS:
        return np.zeros((1, 2)), np.ones(1)
    pairs = _pairs(two=rules.feedback == WON_LOST)
    return pairs, np.full(len(pairs), 1.0 / len(pairs))


@cache
def _pairs(*, two: bool) -> Floats:
    """Return pairs of numbers in [0, 1) that the kernel turns into normal quantiles, (n, 2)."""
    count = _SIDE if two else _POINTS
    quantiles = [NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)]
    normals = product(quantiles, quantiles) if two else ((x, 0.0) for x in quantiles)
    return np.array(
        [
            (-math.expm1(-(x * x + y * y) / 2), math.atan2(y, x) / (2 * math.pi) % 1.0)
            for x, y in normals
        ]
    )
