"""A newsvendor: how much to order before demand is known."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from crossbandit import graphs
from crossbandit.algorithms.learners.law_learner import Round, Shown
from crossbandit.algorithms.learners.problem import Problem, set_fields
from crossbandit.applications.action import Action, pending_decision
from crossbandit.applications.hidden_number import HiddenNumberApplication, LawForm
from crossbandit.applications.money import AmountRules, amount_of, check_margin, grid, span
from crossbandit.core.validation import choice
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


SalesFeedback = Literal["sales", "demand"]
# What is seen of the demand, and what an order then reveals.
SALES_FEEDBACK: dict[SalesFeedback, str] = {
    "sales": "only sales are seen: an order reveals itself and all smaller orders",
    "demand": "all customers are counted: an order reveals all orders",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class NewsvendorRules(AmountRules):
    """The orders that may be made, and what each of them earns. Money may have any unit.

    An order of q units at a demand of d sells min(q, d), and earns

        profit = price * min(q, d) - cost * q.

    The most that can be earned is (highest price - lowest cost) * largest order, the least is
    -(highest cost) * largest order. The loss is (most - profit) / (most - least). It is linear in
    the features (1, price, cost).

    >>> rules = NewsvendorRules(orders=[0, 5, 10], price_range=(2, 3), cost_range=(1, 2))
    >>> rules.profit(price=3.0, cost=1.0, orders=[0, 5, 10], demand=6)
    array([ 0., 10.,  8.])
    """

    orders: npt.ArrayLike
    price_range: tuple[float, float]
    cost_range: tuple[float, float]
    owner: InitVar[str] = "NewsvendorRules"  # the name for error messages

    def __post_init__(self, owner: str) -> None:
        set_fields(
            self,
            orders=grid(owner, "orders", self.orders),
            price_range=span(owner, "price_range", self.price_range),
            cost_range=span(owner, "cost_range", self.cost_range),
        )
        check_margin(owner, "price_range", self.price_range[1], self.cost_range[0])

    @property
    def amounts(self) -> Floats:
        return np.asarray(self.orders)

    @property
    def most(self) -> float:
        return (self.price_range[1] - self.cost_range[0]) * float(self.amounts[-1])

    @property
    def scale(self) -> float:
        return self.most + self.cost_range[1] * float(self.amounts[-1])

    def graph(self, feedback: SalesFeedback) -> FeedbackGraph:
        """Return what an order reveals under one of the kinds of `SALES_FEEDBACK`.

        After an order of q that sold s = min(q, d), it is known what a smaller order q' would have
        sold: min(q', d) = min(q', s), whether q was sold out or not. A larger order might have sold
        more.
        """
        choice("NewsvendorRules", "feedback", feedback, SALES_FEEDBACK)
        if feedback == "demand":
            return graphs.complete(self.arms)
        return graphs.threshold(self.arms, "lower")

    def rows(self, demand: npt.ArrayLike) -> Floats:
        """Return the losses of all orders, (n, K, 3), at each of n demands.

        If an order of q has sold s, s can replace the demand for all orders up to q.
        """
        sold = np.minimum(self.amounts, np.asarray(demand, dtype=np.float64)[:, None])
        orders = np.broadcast_to(self.amounts, sold.shape)
        most = np.full(sold.shape, self.most)
        result: Floats = np.stack([most, -sold, orders], axis=2) / self.scale
        return result

    def profit(
        self,
        price: npt.ArrayLike,
        cost: npt.ArrayLike,
        orders: npt.ArrayLike,
        demand: npt.ArrayLike,
    ) -> Floats:
        """Return what orders earn at a price, a cost and a demand."""
        orders = np.asarray(orders, dtype=np.float64)
        earned: Floats = price * np.minimum(orders, demand) - cost * orders
        return earned


@dataclass(frozen=True)
class Order(Action):
    """One order. Place it, and pass it to `settle` when the sales are known.

    Attributes:
        decision: The learner's decision.
        quantity: The units to order.
        price: The price of a unit.
        cost: The cost of a unit.
        classes: The levels of the newsvendor's classes, in their order.
    """

    quantity: float
    price: float
    cost: float
    classes: tuple[Label, ...] = ()


class Newsvendor(HiddenNumberApplication):
    """Learns how much to order at the price and the cost of the day. Leftovers are worth nothing.

    If a leftover is worth s, subtract s from prices and costs. `feedback` says what is observed:

    - "sales": how much was sold. A smaller order would have sold the same, or all of it. So each
      order reveals itself and all smaller orders. Whether a larger one would have sold more is
      unknown once everything is sold.
    - "demand": also how much would have been sold. Each order reveals all orders.

    Args:
        orders: The quantities that may be ordered.
        price_range: The lowest and the highest price to come, in any unit of money.
        cost_range: The lowest and the highest cost to come.
        feedback: What is observed, as above.
        classes: Names of categorical features, such as ("shop",), for the law; `order` then takes
            a level of each.
        horizon: The number of orders to come. The default algorithm does not need it.
        algorithm: None for the parameter-free default, `CrossGraphAdaptive`; another `Algorithm`;
            or "law", to learn the law of the demand given the price and the classes.
        seed: The seed of the random choices.

    Raises:
        InvalidParameterError: A setting is not possible.

    >>> import numpy as np
    >>> newsvendor = Newsvendor(orders=range(31), price_range=(2, 4), cost_range=(1, 2), seed=1)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(3_000):
    ...     order = newsvendor.order(price=rng.uniform(2, 4), cost=rng.uniform(1, 2))
    ...     newsvendor.settle(order, sold=min(order.quantity, rng.integers(10, 21)))
    >>> usual = [newsvendor.policy(4, cost) @ newsvendor.orders for cost in (1, 2)]
    >>> np.round(usual)  # of the 10 to 20 that are wanted
    array([18., 15.])
    """

    listed = "demand_law feedback order orders rules settle"
    kind: ClassVar[str] = "newsvendor"
    words: ClassVar[tuple[str, str, str]] = ("demands", "prices", "ordering by price")
    reserved: ClassVar[set[str]] = {"price", "cost"}
    answers: ClassVar[tuple[str, str]] = ("left something over", "sold out")
    rules: NewsvendorRules

    def __init__(
        self,
        *,
        orders: npt.ArrayLike,
        price_range: tuple[float, float],
        cost_range: tuple[float, float],
        feedback: SalesFeedback = "sales",
        classes: Sequence[str] = (),
        horizon: int | None = None,
        algorithm: Algorithm | str | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        self.rules = NewsvendorRules(
            orders=orders, price_range=price_range, cost_range=cost_range, owner=owner
        )
        self.feedback = choice(owner, "feedback", feedback, SALES_FEEDBACK)
        problem = Problem(self.rules.graph(feedback), features=3, horizon=horizon)
        # A sold-out order shows that the demand is at least the order: it has not exceeded it.
        form = LawForm(
            self.rules.price_range,
            "after-win" if feedback == "sales" else "always",
            "newsvendor",
            "lose",
        )
        self._start(algorithm, problem, seed, form, classes=classes, anchored=feedback == "sales")

    @property
    def orders(self) -> Floats:
        """The quantities that may be ordered, ascending, in the order of `policy`."""
        return self.rules.amounts

    def settings(self) -> dict[str, Any]:
        return {
            "orders": self.orders.tolist(),
            "price_range": list(self.rules.price_range),
            "cost_range": list(self.rules.cost_range),
            "feedback": self.feedback,
            "classes": list(self.classes),
            "horizon": self._horizon,
        }

    def order(self, price: float, cost: float, **classes: Label) -> Order:
        """Choose how much to order.

        Args:
            price: The price at which a unit is sold.
            cost: The cost at which a unit is bought.
            **classes: A level, a text or an integer, of each of the newsvendor's classes.

        Returns:
            The order. Place its `quantity`, and pass it to `settle` when the sales are known.

        Raises:
            InvalidContextError: The price or the cost is outside its range, or a class is missing.
        """
        paid, spent = self._context("order", price, cost)
        labels = self._labels("order", classes)
        decision = self._act(Round(paid, paid, spent, labels), 0, self.rules.arms - 1)
        return Order(decision, float(self.orders[decision.arm]), paid, spent, labels)

    def settle(
        self,
        order: Order | bytes | str,
        *,
        sold: float,
        demand: float | None = None,
        correction: bool = False,
    ) -> None:
        """Learn from the sales of an order.

        Orders may be settled late and in any order. An outcome may be missing by chance: whether it
        is missing must depend neither on the demand nor on the quantity. If the demand of sold-out
        days is often missing, use the feedback "sales". Leaving out those days would mislead the
        newsvendor.

        Args:
            order: The order, or its token.
            sold: How much was sold.
            demand: How much would have been sold. Required if `feedback` is "demand" and everything
                was sold; elsewhere it is only checked against `sold`.
            correction: Whether the order was settled before with a wrong outcome, which this one
                replaces. Only the law can take an outcome back.

        Raises:
            DecisionError: The order is not one of this newsvendor's, was settled before, or has
                expired; or there is nothing to correct.
            MissingOutcomesError: Outcomes are missing with a bias. Nothing is learned.
            InvalidLossesError: The outcome is incomplete or contradicts itself. Nothing is learned,
                and the order can still be settled.
        """
        if correction is not False:
            correction = self._corrects(correction)
        made, decision = pending_decision(order, Order, self.learner)
        quantity = made.quantity
        sales = amount_of("settle", "sold", sold, at_most=quantity, error=InvalidLossesError)
        wanted = self._demand(quantity, sales, demand)
        self._learn(
            decision,
            (made.price, made.classes),
            Shown(quantity, wanted < quantity, wanted),
            correction=correction,
        )

    def policy(self, price: float, cost: float, **classes: Label) -> Floats:
        """Return the probability with which each quantity would be ordered now.

        Args:
            price: The price at which a unit is sold.
            cost: The cost at which a unit is bought.
            **classes: As for `order`.

        Returns:
            A probability for each of `orders`.

        Raises:
            InvalidContextError: As for `order`.
        """
        paid, spent = self._context("policy", price, cost)
        given = Round(paid, paid, spent, self._labels("policy", classes))
        return self._probabilities(given, 0, self.rules.arms - 1)

    def demand_law(self, price: float, **classes: Label) -> LawView:
        """Return the law of the demand at a price, with its uncertainty.

        Args:
            price: The price at which a unit is sold.
            **classes: As for `order`.

        Returns:
            The probability that the demand is below each order, and where it comes from.

        Raises:
            InvalidContextError: The price is outside its range, or a class is missing.
            InvalidParameterError: This newsvendor does not learn by the law.
        """
        paid = self._context("demand_law", price, self.rules.cost_range[0])[0]
        return self._view("demand_law", paid, classes)

    def _features(self, worth: float, cost: float) -> tuple[float, float, float]:
        return 1.0, worth, cost

    def _context(self, owner: str, price: object, cost: object) -> tuple[float, float]:
        low, high = self.rules.price_range
        bad = InvalidContextError
        paid = amount_of(owner, "price", price, at_least=low, at_most=high, error=bad)
        low, high = self.rules.cost_range
        spent = amount_of(owner, "cost", cost, at_least=low, at_most=high, error=bad)
        return paid, spent

    def _demand(self, quantity: float, sold: float, told: float | None) -> float:
        """Return a demand at which all revealed orders sell what they would have sold."""
        if told is None:
            if self.feedback == "demand" and sold == quantity:
                raise InvalidLossesError(
                    f"The newsvendor's feedback is 'demand': {SALES_FEEDBACK['demand']}. Got a "
                    f"sold-out order of {quantity:.15g} and no demand. Give it. A single order "
                    "may be left unsettled; if it is often missing, that would mislead the "
                    "newsvendor: make one with feedback 'sales'."
                )
            return sold
        demand = amount_of("settle", "demand", told, error=InvalidLossesError)
        if sold != min(quantity, demand):
            raise InvalidLossesError(
                f"An order of {quantity:.15g} at a demand of {demand:.15g} sells "
                f"{min(quantity, demand):.15g}. Got sold={sold:.15g}. Nothing was learned; correct "
                "the outcome."
            )
        return demand
