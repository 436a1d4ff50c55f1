"""The newsvendor problem: order before the demand is known; unsold units are worth nothing."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from crossbandit import graphs
from crossbandit.environments.amounts import AmountRules, check_margin, grid, span
from crossbandit.environments.contexts import UniformVectors
from crossbandit.environments.environment import BlockEnvironment, check_rounds, row_block
from crossbandit.environments.registry import register
from crossbandit.problem import Problem, set_fields
from crossbandit.streams import uniforms
from crossbandit.validation import MAX_SIZE, choice, integer, number

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Floats

# What is seen of the demand, and what an order then reveals.
SALES_FEEDBACK = {
    "sales": "only sales are seen: an order reveals itself and all smaller orders",
    "demand": "all customers are counted: an order reveals all orders",
}

# Demand is a sum of this many exponential numbers: bell-shaped, never negative.
_STAGES = 4


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

    def graph(self, feedback: str) -> FeedbackGraph:
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


@register("newsvendor", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class NewsvendorEnvironment(BlockEnvironment):
    """Orders against random demand. A context is (1, price, cost), uniform in the given ranges.

    Args:
        horizon: The number of rounds.
        orders: The number of orders: 0, ..., orders - 1 units; or the orders themselves.
        feedback: What is seen: "sales" or "demand".
        demand: The mean demand over a season.
        season: The share by which the mean moves up and down, from 0 to 1.
        period: The number of rounds in a season.
        price_range: The lowest and the highest price.
        cost_range: The lowest and the highest cost.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> environment = newsvendor(2_000)
    >>> environment.problem
    Problem(41 arms, contexts of 3 features, horizon 2000)
    """

    horizon: int = field(kw_only=False)
    orders: int = 41
    feedback: str = "sales"
    demand: float = 15.0
    season: float = 0.3
    period: int = 365
    price_range: tuple[float, float] = (2.0, 4.0)
    cost_range: tuple[float, float] = (0.5, 2.0)
    table_seed: int = 0
    rules: NewsvendorRules = field(init=False, repr=False)
    problem: Problem = field(init=False, repr=False)
    context_distribution: UniformVectors = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_rounds("newsvendor", self.horizon, self.table_seed)
        integer("newsvendor", "period", self.period, at_least=1)
        number("newsvendor", "demand", self.demand, above=0)
        number("newsvendor", "season", self.season, at_least=0, at_most=1)
        orders: npt.ArrayLike = self.orders
        if not np.ndim(orders):
            orders = np.arange(
                integer("newsvendor", "orders", orders, at_least=2, at_most=MAX_SIZE)
            )
        rules = NewsvendorRules(
            orders=orders,
            price_range=self.price_range,
            cost_range=self.cost_range,
            owner="newsvendor",
        )
        choice("newsvendor", "feedback", self.feedback, SALES_FEEDBACK)
        problem = Problem(rules.graph(self.feedback), features=3, horizon=self.horizon)
        low, high = zip((1.0, 1.0), rules.price_range, rules.cost_range, strict=True)
        set_fields(
            self, rules=rules, problem=problem, context_distribution=UniformVectors(low, high)
        )

    def demands(self, start: int, stop: int) -> Floats:
        """Return the demand of consecutive rounds, in whole units.

        Args:
            start: The first round.
            stop: The round after the last.
        """
        noise = uniforms(self.table_seed, "losses", start, stop, _STAGES)
        wave = np.sin(2 * np.pi * np.arange(start, stop) / self.period)
        mean = self.demand * (1 + self.season * wave)
        demand: Floats = np.rint(-mean / _STAGES * np.log1p(-noise).sum(axis=1))
        return demand

    def block(self, start: int, stop: int) -> LossBlock:
        return row_block(self.rules.rows(self.demands(start, stop)))


newsvendor = NewsvendorEnvironment
