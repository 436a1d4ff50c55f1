"""Posted prices: a seller offers a price, and a buyer accepts or refuses it."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit import graphs
from crossbandit.environments.amounts import AmountRules, check_margin, grid, span
from crossbandit.environments.contexts import UniformVectors
from crossbandit.environments.environment import BlockEnvironment, check_rounds, row_block
from crossbandit.environments.registry import register
from crossbandit.problem import Problem, set_fields
from crossbandit.streams import uniforms
from crossbandit.validation import MAX_SIZE, boolean, choice, integer, number, reject

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Floats

# When buyers tell what they would have paid, and what a price then reveals.
REPORTS = {
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


@register("posted-price", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class PostedPrice(BlockEnvironment):
    """Posted prices for random buyers. A context is the cost of a unit, uniform in a range.

    A buyer's willingness to pay is the mean of two uniform numbers, reduced by a share that moves
    between 0 and `drift`.

    Args:
        horizon: The number of rounds.
        prices: The number of prices, evenly spread up to 1; or the prices themselves.
        reports: When buyers tell what they would have paid: "never", "after-sale",
            "after-refusal" or "always".
        drift: The largest reduction of the willingness to pay, from 0 to 1.
        period: The number of rounds in which the reduction moves up and down once.
        cost_range: The lowest and the highest cost.
        at_least_cost: Whether prices below the cost are unavailable. If so, no cost may be above
            the highest price.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> environment = posted_price(1_000, reports="after-refusal")
    >>> environment.problem.graph.independence_number
    1
    """

    horizon: int = field(kw_only=False)
    prices: int = 20
    reports: str = "never"
    drift: float = 0.0
    period: int = 5000
    cost_range: tuple[float, float] = (0.0, 0.5)
    at_least_cost: bool = True
    table_seed: int = 0
    rules: SellerRules = field(init=False, repr=False)
    problem: Problem = field(init=False, repr=False)
    context_distribution: UniformVectors = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_rounds("posted_price", self.horizon, self.table_seed)
        integer("posted_price", "period", self.period, at_least=1)
        number("posted_price", "drift", self.drift, at_least=0, at_most=1)
        prices: npt.ArrayLike = self.prices
        if not np.ndim(prices):
            count = integer("posted_price", "prices", prices, at_least=2, at_most=MAX_SIZE)
            prices = np.arange(1, count + 1) / count
        rules = SellerRules(
            prices=prices,
            cost_range=self.cost_range,
            at_least_cost=self.at_least_cost,
            owner="posted_price",
        )
        highest = rules.amounts[-1]
        if self.at_least_cost and rules.cost_range[1] > highest:
            expected = f"at most the highest price, {highest:.15g}; or at_least_cost must be False"
            reject("posted_price", "cost_range", expected, self.cost_range)
        choice("posted_price", "reports", self.reports, REPORTS)
        problem = Problem(rules.graph(self.reports), features=2, horizon=self.horizon)
        set_fields(
            self,
            rules=rules,
            problem=problem,
            context_distribution=UniformVectors(*rules.contexts(rules.cost_range)),
        )

    def willingness(self, start: int, stop: int) -> Floats:
        """Return the most that the buyers of consecutive rounds would pay.

        Args:
            start: The first round.
            stop: The round after the last.
        """
        noise = uniforms(self.table_seed, "losses", start, stop, 2).mean(axis=1)
        wave = 1 + np.cos(2 * np.pi * np.arange(start, stop) / self.period)
        willing: Floats = noise * (1 - self.drift / 2 * wave)
        return willing

    def block(self, start: int, stop: int) -> LossBlock:
        return row_block(self.rules.rows(self.willingness(start, stop)))

    def available(self, contexts: npt.NDArray[Any]) -> npt.NDArray[np.bool_] | None:
        return self.rules.available(self.rules.costs(contexts))


posted_price = PostedPrice
