"""A seller who posts prices."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from crossbandit import graphs
from crossbandit.algorithms.learners.law_learner import Round, Shown
from crossbandit.algorithms.learners.problem import Problem, set_fields
from crossbandit.applications.action import Action, required_action
from crossbandit.applications.hidden_number import HiddenNumberApplication, LawForm
from crossbandit.applications.money import AmountRules, amount_of, check_margin, flag_of, grid, span
from crossbandit.core.types import Feedback
from crossbandit.core.validation import boolean, choice
from crossbandit.errors import InvalidContextError, InvalidLossesError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.laws import LawView
    from crossbandit.laws.levels import Label


# When buyers tell what they would have paid, and what a price then reveals.
Reports = Literal["never", "after-sale", "after-refusal", "always"]
REPORTS: dict[Reports, str] = {
    "never": "only sold or not is seen: a price reveals itself",
    "after-sale": "buyers who have bought tell: a price reveals itself and all higher prices",
    "after-refusal": "buyers who refuse tell: a price reveals itself and all lower prices",
    "always": "all buyers tell: a price reveals all prices",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class SellerRules(AmountRules):
    """The prices that may be posted, and what each of them earns. Money may have any unit.

    A buyer buys if their willingness to pay w is at least the price p; a unit costs c. So

        profit = (p - c) * 1{w >= p}.

    With `at_least_cost`, prices below the cost are not available. The most that can be earned is
    highest price - lowest cost. The least is 0, or what the lowest available price loses at the
    highest cost. The loss is (most - profit) / (most - least). The difference most - least is the
    *scale*. The loss is linear in the features (1, (cost - lowest cost) / scale), which lose no
    digits if costs are large and close to each other.

    >>> rules = SellerRules(prices=[1, 2, 3], cost_range=(0, 2))
    >>> rules.profit(cost=0.5, prices=[1, 2, 3], willingness=2.4)
    array([0.5, 1.5, 0. ])
    >>> rules.available([1.5])
    array([[False,  True,  True]])
    """

    prices: npt.ArrayLike
    cost_range: tuple[float, float]
    at_least_cost: bool = True
    owner: InitVar[str] = "SellerRules"  # the name for error messages

    def __post_init__(self, owner: str) -> None:
        set_fields(
            self,
            prices=grid(owner, "prices", self.prices),
            cost_range=span(owner, "cost_range", self.cost_range),
        )
        boolean(owner, "at_least_cost", self.at_least_cost)
        check_margin(owner, "prices", self.amounts[-1], self.cost_range[0])

    @property
    def amounts(self) -> Floats:
        return np.asarray(self.prices)

    @property
    def most(self) -> float:
        return float(self.amounts[-1]) - self.cost_range[0]

    @property
    def scale(self) -> float:
        if self.at_least_cost:
            return self.most
        return self.most - min(0.0, float(self.amounts[0]) - self.cost_range[1])

    def graph(self, reports: str) -> FeedbackGraph:
        """Return what a price reveals under one of the kinds of `REPORTS`.

        Without a report, a sale at p shows that all lower prices sell, and a refusal that no higher
        price does. Only p itself is revealed in both cases. A report of w reveals all prices. With
        reports after sales, higher prices are always revealed: by w, or by the refusal. With
        reports after refusals, lower prices are: by w, or by the sale.
        """
        choice("SellerRules", "reports", reports, REPORTS)
        if reports == "always":
            return graphs.complete(self.arms)
        if reports == "never":
            return graphs.singletons(self.arms)
        return graphs.threshold(self.arms, "higher" if reports == "after-sale" else "lower")

    def contexts(self, costs: npt.ArrayLike) -> Floats:
        """Return the feature vectors (1, (cost - lowest cost) / scale) of costs."""
        above = (np.asarray(costs, dtype=np.float64) - self.cost_range[0]) / self.scale
        return np.stack([np.ones_like(above), above], axis=-1)

    def costs(self, contexts: Floats) -> Floats:
        """Return the costs of feature vectors (n, 2)."""
        costs: Floats = self.cost_range[0] + self.scale * contexts[:, 1]
        return costs

    def available(self, costs: npt.ArrayLike) -> npt.NDArray[np.bool_] | None:
        """Return which prices may be posted at each cost, (n, K); None if all may."""
        if not self.at_least_cost:
            return None
        may: npt.NDArray[np.bool_] = self.amounts >= np.asarray(costs, dtype=np.float64)[:, None]
        return may

    def rows(self, willingness: npt.ArrayLike) -> Floats:
        """Return the losses of all prices, (n, K, 2), for n buyers."""
        sold = self.amounts <= np.asarray(willingness, dtype=np.float64)[:, None]
        most_earned = sold * (self.amounts - self.cost_range[0])  # at the lowest cost
        return np.stack([(self.most - most_earned) / self.scale, sold], axis=2)

    def profit(
        self, cost: npt.ArrayLike, prices: npt.ArrayLike, willingness: npt.ArrayLike
    ) -> Floats:
        """Return what prices earn at a cost from a buyer."""
        prices = np.asarray(prices, dtype=np.float64)
        earned: Floats = np.where(np.asarray(willingness) >= prices, prices - cost, 0.0)
        return earned


@dataclass(frozen=True)
class Offer(Action):
    """One offer. Ask for its price, and pass it to `settle` when the buyer has answered.

    Attributes:
        decision: The learner's decision; None if there was nothing to choose from.
        price: The price to ask. None if all prices are below the cost.
        cost: The cost of a unit.
        classes: The levels of the seller's classes, in their order.
    """

    price: float | None
    cost: float
    classes: tuple[Label, ...] = ()


# The feedback of the law. Its number is the willingness to pay: prices above it reach it.
_LAW_FEEDBACK: dict[Reports, Feedback] = {
    "never": "won-lost",
    "after-sale": "after-loss",
    "after-refusal": "after-win",
    "always": "always",
}


class PostedPriceSeller(HiddenNumberApplication):
    """Learns which price to ask at the cost of the day. A buyer accepts or refuses.

    `reports` says when buyers tell the most that they would have paid:

    - "never": a sale then shows that lower prices sell, a refusal that higher ones do not. What a
      price reveals depends on the outcome, which a feedback graph cannot express. The seller learns
      only from the price itself, which is always correct, and slow.
    - "after-sale": buyers who have bought tell. Each price reveals itself and all higher prices.
    - "after-refusal": buyers who refuse tell. Each price reveals itself and all lower prices.
    - "always": all buyers tell. Each price reveals all prices.

    Args:
        prices: The prices that may be asked, in any unit of money.
        cost_range: The lowest and the highest cost to come.
        reports: When buyers tell what they would have paid, as above.
        at_least_cost: Whether prices below the cost are never asked. Then no offer is made if all
            prices are below it.
        classes: Names of categorical features, such as ("country",), for the law; `price` then
            takes a level of each.
        horizon: The number of offers to come. The default algorithm does not need it.
        algorithm: None for the parameter-free default, `CrossGraphAdaptive`; another `Algorithm`;
            or "law", to learn the law of the willingness given the cost and the classes.
        seed: The seed of the random choices.

    Raises:
        InvalidParameterError: A setting is not possible.

    >>> seller = PostedPriceSeller(
    ...     prices=range(1, 11), cost_range=(0, 5), reports="after-refusal", seed=1
    ... )
    >>> for willing in np.random.default_rng(0).permutation(2_000) / 200:
    ...     offer = seller.price(cost=2.0)
    ...     sold = offer.price <= willing
    ...     seller.settle(offer, sold=sold, willingness=None if sold else willing)
    >>> int(seller.prices[seller.policy(2.0).argmax()])  # where (p - 2) (10 - p) is largest
    6
    """

    listed = "price prices reports rules settle willingness_law"
    kind: ClassVar[str] = "posted-price-seller"
    words: ClassVar[tuple[str, str, str]] = ("valuations", "costs", "pricing by cost")
    reserved: ClassVar[set[str]] = {"cost"}
    answers: ClassVar[tuple[str, str]] = ("were refused", "were accepted")
    rules: SellerRules

    def __init__(
        self,
        *,
        prices: npt.ArrayLike,
        cost_range: tuple[float, float],
        reports: Reports = "never",
        at_least_cost: bool = True,
        classes: Sequence[str] = (),
        horizon: int | None = None,
        algorithm: Algorithm | str | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        self.rules = SellerRules(
            prices=prices,
            cost_range=cost_range,
            at_least_cost=boolean(owner, "at_least_cost", at_least_cost),
            owner=owner,
        )
        self.reports = choice(owner, "reports", reports, REPORTS)
        problem = Problem(self.rules.graph(reports), features=2, horizon=horizon)
        form = LawForm(self.rules.cost_range, _LAW_FEEDBACK[reports], "posted-price", "lose")
        self._start(
            algorithm, problem, seed, form, classes=classes, anchored=reports == "after-refusal"
        )

    @property
    def prices(self) -> Floats:
        """The prices that may be asked, ascending, in the order of `policy`."""
        return self.rules.amounts

    def settings(self) -> dict[str, Any]:
        return {
            "prices": self.prices.tolist(),
            "cost_range": list(self.rules.cost_range),
            "reports": self.reports,
            "at_least_cost": self.rules.at_least_cost,
            "classes": list(self.classes),
            "horizon": self._horizon,
        }

    def price(self, cost: float, **classes: Label) -> Offer:
        """Choose a price.

        Args:
            cost: The cost of a unit.
            **classes: A level, a text or an integer, of each of the seller's classes.

        Returns:
            The offer. Ask for its `price`, and pass it to `settle` when the buyer has answered.

        Raises:
            InvalidContextError: The cost is outside its range, or a class is missing.
        """
        spent, first = self._cost("price", cost)
        labels = self._labels("price", classes)
        decision = self._act(Round(spent, spent, spent, labels), first, self.rules.arms - 1)
        price = None if decision is None else float(self.prices[decision.arm])
        return Offer(decision, price, spent, labels)

    def settle(
        self,
        offer: Offer | bytes | str,
        *,
        sold: bool,
        willingness: float | None = None,
        correction: bool = False,
    ) -> None:
        """Learn from the answer of a buyer.

        Offers may be settled late and in any order. An answer may be missing by chance: whether it
        is missing must depend neither on the buyer nor on the price. If some buyers do not tell
        although they should, use the reports "never". Leaving out their offers would mislead the
        seller.

        Args:
            offer: The offer, or its token.
            sold: Whether the buyer accepted.
            willingness: The most that the buyer would have paid. Required where `reports` says that
                it is told; elsewhere it is only checked against `sold`.
            correction: Whether the offer was settled before with a wrong outcome, which this one
                replaces. Only the law can take an outcome back.

        Raises:
            DecisionError: The offer is not one of this seller's, was settled before, or has
                expired; or there is nothing to correct.
            MissingOutcomesError: Answers are missing with a bias. Nothing is learned.
            InvalidLossesError: The outcome is incomplete or contradicts itself. Nothing is learned,
                and the offer can still be settled.
        """
        if correction is not False:
            correction = self._corrects(correction)
        made = required_action(offer, Offer, self.learner)
        has_sold = flag_of("settle", "sold", sold)
        if made.decision is None or made.price is None:
            if has_sold:
                raise InvalidLossesError("No offer was made, so it cannot have been sold.")
            return
        willing = self._willingness(made.price, willingness, sold=has_sold)
        self._learn(
            made.decision,
            (made.cost, made.classes),
            Shown(made.price, not has_sold, willing),
            correction=correction,
        )

    def policy(self, cost: float, **classes: Label) -> Floats:
        """Return the probability with which each price would be asked now.

        Args:
            cost: The cost of a unit.
            **classes: As for `price`.

        Returns:
            A probability for each of `prices`; all 0 if no offer may be made.

        Raises:
            InvalidContextError: As for `price`.
        """
        spent, first = self._cost("policy", cost)
        given = Round(spent, spent, spent, self._labels("policy", classes))
        return self._probabilities(given, first, self.rules.arms - 1)

    def willingness_law(self, cost: float, **classes: Label) -> LawView:
        """Return the law of what buyers would pay at a cost, with its uncertainty.

        Args:
            cost: The cost of a unit.
            **classes: As for `price`.

        Returns:
            The probability that each price is refused, and where it comes from.

        Raises:
            InvalidContextError: The cost is outside its range, or a class is missing.
            InvalidParameterError: This seller does not learn by the law.
        """
        spent, _ = self._cost("willingness_law", cost)
        return self._view("willingness_law", spent, classes)

    def _features(self, worth: float, cost: float) -> Floats:
        del worth
        return self.rules.contexts(cost)

    def _cost(self, owner: str, cost: object) -> tuple[float, int]:
        """Return the cost, and the number of the lowest price that may be asked."""
        low, high = self.rules.cost_range
        spent = amount_of(
            owner, "cost", cost, at_least=low, at_most=high, error=InvalidContextError
        )
        first = int(np.searchsorted(self.prices, spent)) if self.rules.at_least_cost else 0
        return spent, first

    def _willingness(self, asked: float, told: float | None, *, sold: bool) -> float:
        """Return a willingness at which all revealed prices sell as they would have sold."""
        if told is None:
            if self.reports in ("always", "after-sale" if sold else "after-refusal"):
                raise InvalidLossesError(
                    f"The seller's reports are {self.reports!r}: "
                    f"{REPORTS[self.reports].split(':')[0]}. Got sold={sold} and no willingness. "
                    "Give it. A single offer may be left unsettled; if some buyers do not tell, "
                    "that would mislead the seller: make one with reports 'never'."
                )
            return asked if sold else -math.inf
        willing = amount_of("settle", "willingness", told, error=InvalidLossesError)
        if sold != (willing >= asked):
            outcome = "sold to" if sold else "refused by"
            raise InvalidLossesError(
                f"A price of {asked:.15g} cannot have been {outcome} a buyer who would have paid "
                f"{willing:.15g}. Nothing was learned; correct the outcome."
            )
        return willing
