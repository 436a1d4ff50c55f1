"""Environments of applications: auctions, prices, orders, recommendations, sleeping arms, spam."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np
import numpy.typing as npt

from crossbandit.algorithms.learners.problem import Problem, set_fields
from crossbandit.applications.bidding.auctions import FEEDBACK, AuctionRules
from crossbandit.applications.newsvendor import SALES_FEEDBACK, NewsvendorRules, SalesFeedback
from crossbandit.applications.recommender import similar_items
from crossbandit.applications.seller import REPORTS, SellerRules
from crossbandit.applications.spam_filter import mail_rows
from crossbandit.core.blocks import LossBlock, PacedRounds
from crossbandit.core.streams import stream, uniforms
from crossbandit.core.types import Booleans, Feedback, Floats, Integers, SteadyPacing
from crossbandit.core.validation import MAX_SIZE, choice, integer, number, reject, verbatim
from crossbandit.environments import environment as base
from crossbandit.graphs import FeedbackGraph, apple_tasting
from crossbandit.limits import Budget, Pacer
from crossbandit.limits.optima import Terms, best_maps
from crossbandit.limits.state import GIVEN, LOG, SPENT


@base.register("first-price", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class FirstPrice(base.BlockEnvironment):
    """First-price auctions. A context is (1, value), and values are uniform in [0, 1].

    Args:
        horizon: The number of rounds.
        bids: The number of bids, evenly spread from 0 to 1; or the bids themselves.
        prices: "stationary": the highest competing bid has the distribution Beta(2, 4).
            "drifting": its mean moves slowly up and down.
        feedback: What a bidder is told: "after-loss", "after-win", "always" or "won-lost".
        at_most_value: Whether bids above the value are unavailable.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> environment = first_price(1_000, bids=11)
    >>> int(environment.available(environment.rules.contexts([0.25])).sum())
    3
    """

    horizon: int = field(kw_only=False, metadata=base.checked(integer, at_least=1))
    bids: int = 100
    prices: str = "stationary"
    feedback: Feedback = field(
        default="after-loss", metadata=base.checked(choice, choices=FEEDBACK)
    )
    at_most_value: bool = True
    table_seed: int = field(default=0, metadata=base.checked(integer, at_least=0, at_most=None))
    rules: AuctionRules = field(init=False, repr=False)
    owner: ClassVar[str] = "first_price"  # the name for error messages
    price_kinds: ClassVar[tuple[str, ...]] = ("stationary", "drifting")

    def __post_init__(self) -> None:
        base.check_settings(self.owner, self)
        choice(self.owner, "prices", self.prices, self.price_kinds)
        rules = AuctionRules(
            bids=self.bids, highest_value=1.0, at_most_value=self.at_most_value, owner=self.owner
        )
        if self.at_most_value and rules.amounts[0] > 0:
            expected = (
                "such that one is 0, because values begin at 0; or at_most_value must be False"
            )
            got = verbatim(f"bids from {rules.amounts[0]:.15g}")
            reject(self.owner, "bids", expected, got)
        problem = Problem(rules.graph(self.feedback), features=2, horizon=self.horizon)
        values = base.UniformVectors([1, 0], [1, 1])
        set_fields(self, rules=rules, problem=problem, context_distribution=values)

    def competing_bids(self, start: int, stop: int) -> Floats:
        """Return the highest competing bids of consecutive rounds.

        Args:
            start: The first round.
            stop: The round after the last.
        """
        # The second smallest of five uniform numbers is Beta(2, 4).
        five = uniforms(self.table_seed, "losses", start, stop, 5)
        noise: Floats = np.partition(five, 1, axis=1)[:, 1]
        if self.prices == "stationary":
            return noise
        wave = 1 + np.sin(3 * np.pi * np.arange(start, stop) / self.horizon)
        drifting: Floats = np.clip(0.15 + 0.1875 * wave + 0.5 * (noise - 1 / 3), 0.0, 1.0)
        return drifting

    def block(self, start: int, stop: int) -> LossBlock:
        return self.rules.block(self.competing_bids(start, stop))

    def available(self, contexts: npt.NDArray[Any]) -> Booleans | None:
        return self.rules.available(contexts[:, 1])


first_price = FirstPrice


_QUANTILES = 1000  # the number of values for which the comparator is computed
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@base.register("first-price-budget", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class FirstPriceBudget(FirstPrice):
    """First-price auctions with a budget.

    Bids above the value, and bids above what is left of the budget, are not available. A learner
    need not know about the budget: with `pacing="even"`, the environment shows it a *pseudo-value*
    in place of the value, the value times a factor of at most 1. The factor falls when more is
    spent than planned, and rises when less is. Losses are computed from the value itself.

    Regret is measured against the *fluid optimum* in hindsight: the mixture of two fixed maps from
    values to bids that earns most against all prices of the run, among those whose spend per round,
    averaged over values and prices, is at most the budget. It may spend at any time.

    Args:
        horizon: The number of rounds.
        budget: What may be spent per round, on average: the whole budget is this times the horizon.
        pacing: "even" to spend evenly over the rounds, by pseudo-values; "asap" to show the values
            as they are, until the money is gone.
        bids: As in `first_price`.
        prices: As in `first_price`; or "uniform": uniform in [0, 1].
        feedback: As in `first_price`.
        at_most_value: Must be True.
        levels: If given, values and uniform prices are multiples of 1 / levels, from 1 / levels on.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> environment = first_price_budget(1_000, budget=0.01, bids=11)
    >>> bool(0 < environment.fluid_optimum < 0.1)
    True
    """

    budget: float = field(default=0.05, metadata=base.checked(number, above=0))
    pacing: SteadyPacing = field(
        default="even", metadata=base.checked(choice, choices=get_args(SteadyPacing))
    )
    levels: int | None = None
    owner = "first_price_budget"
    price_kinds = ("stationary", "drifting", "uniform")

    def __post_init__(self) -> None:
        owner = self.owner
        if self.at_most_value is not True:
            reject(owner, "at_most_value", "True: no bid above the value", self.at_most_value)
        super().__post_init__()
        if self.levels is not None:
            integer(owner, "levels", self.levels, at_least=2, at_most=10**6)
            object.__setattr__(self, "context_distribution", _LevelContexts(self.levels))
        lowest = float(self.rules.amounts[self.rules.first_winner])
        if self.total < lowest:
            expected = f"at least the lowest bid, {lowest:.15g}, divided by the horizon"
            reject(owner, "budget", expected, self.budget)

    @property
    def total(self) -> float:
        """The whole budget."""
        return float(self.budget * self.horizon)

    def limits(self) -> BudgetRun:
        """Return the budget of a new run."""
        return BudgetRun(self)

    @cached_property
    def win_rates(self) -> Floats:
        """The share of the rounds that each bid wins."""
        rules = self.rules
        rates: Floats = -self.totals[:, 1] * rules.scale / rules.most / self.horizon
        return rates

    @cached_property
    def _maps(self) -> tuple[Floats, Integers, float]:
        """The weights of the maps of the fluid optimum, the maps, and what they earn per round."""
        count = self.levels or _QUANTILES
        values = self._levels(count)
        rates = np.where(self.rules.amounts <= values[:, None], self.win_rates, 0.0) / count
        spend, worth = rates * self.rules.amounts, rates * values[:, None]
        found = best_maps(worth[None], spend[None], rates[None], Terms(np.array([self.budget])))
        weights = np.array([one.weights[0] for one in found])
        maps = np.array([one.bids[0] for one in found])
        earned = [(worth - spend)[np.arange(count), one].sum() for one in maps]
        return weights, maps, float(weights @ np.array(earned))

    def _levels(self, count: int) -> Floats:
        levels: Floats = np.arange(1, count + 1) / count
        return levels if self.levels else levels - 0.5 / count

    @property
    def fluid_optimum(self) -> float:
        """What the fluid optimum earns per round, on average."""
        return self._maps[2]

    def comparator(self, start: int, contexts: npt.NDArray[Any]) -> Integers:
        """Return the bids of the fluid optimum.

        Args:
            start: The first round.
            contexts: The contexts of consecutive rounds.

        Returns:
            A bid per round, by number. Of two maps, each is used in its share of the rounds.
        """
        weights, maps, _ = self._maps
        count = maps.shape[1]
        values = np.asarray(contexts)[:, 1]
        places = np.rint(values * count) - 1 if self.levels else np.floor(values * count)
        rounds = np.arange(start, start + len(values))
        which = np.minimum(np.searchsorted(np.cumsum(weights), rounds * _GOLDEN % 1), len(maps) - 1)
        arms: Integers = maps[which, np.clip(places, 0, count - 1).astype(np.int64)]
        # At the lower end of a quantile, the bid may be above the value.
        highest = np.searchsorted(self.rules.amounts, values, "right") - 1
        return np.minimum(arms, highest)

    def competing_bids(self, start: int, stop: int) -> Floats:
        if self.prices != "uniform":
            return super().competing_bids(start, stop)
        drawn = uniforms(self.table_seed, "losses", start, stop, 1)[:, 0]
        if self.levels is None:
            return drawn
        prices: Floats = np.ceil(np.maximum(drawn, 1e-300) * self.levels) / self.levels
        return prices


class _LevelContexts(base.UniformVectors):
    """Contexts (1, value) whose values are multiples of 1 / levels."""

    def __init__(self, levels: int) -> None:
        super().__init__([1, 0], [1, 1])
        object.__setattr__(self, "levels", levels)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        vectors = super().draw(generator, count)
        levels: int = self.__dict__["levels"]
        vectors[:, 1] = (np.floor(vectors[:, 1] * levels) + 1) / levels
        return vectors


class BudgetRun:
    """The budget of one run: what was spent so far, and the multiplier."""

    def __init__(self, environment: FirstPriceBudget) -> None:
        budget = Budget(environment.total, per=environment.horizon, pacing=environment.pacing)
        self._environment = environment
        self._pacer = Pacer(environment.rules.amounts, [budget], value_range=(0.0, 1.0))
        self._pacer.periods.turn(0.0)

    @property
    def spent(self) -> float:
        """What was spent so far."""
        return float(self._pacer.state.money[0, SPENT] * self._pacer.rules.unit)

    @property
    def share_left(self) -> float:
        """The share of the budget that is left."""
        money = self._pacer.state.money[0]
        return float((money[GIVEN] - money[SPENT]) / money[GIVEN])

    @property
    def factor(self) -> float:
        """The factor of the pseudo-values now, at most 1."""
        return float(np.exp(self._pacer.state.duals[0, LOG]))

    def rounds(self, start: int, contexts: npt.NDArray[Any]) -> PacedRounds:
        """Return consecutive rounds under the budget that this run has left."""
        rules, count = self._environment.rules, len(contexts)
        return PacedRounds(
            self._pacer.alone(),
            bids=rules.amounts,
            values=np.ascontiguousarray(contexts[:, 1]),
            cells=rules.cells(self._environment.competing_bids(start, start + count)),
            times=np.zeros(count),
            pseudo=np.empty(count),
            factor=1.0,
        )


first_price_budget = FirstPriceBudget


@base.register("posted-price", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class PostedPrice(base.BlockEnvironment):
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

    horizon: int = field(kw_only=False, metadata=base.checked(integer, at_least=1))
    prices: int = 20
    reports: str = field(default="never", metadata=base.checked(choice, choices=REPORTS))
    drift: float = field(default=0.0, metadata=base.checked(number, at_least=0, at_most=1))
    period: int = field(default=5000, metadata=base.checked(integer, at_least=1))
    cost_range: tuple[float, float] = (0.0, 0.5)
    at_least_cost: bool = True
    table_seed: int = field(default=0, metadata=base.checked(integer, at_least=0, at_most=None))
    rules: SellerRules = field(init=False, repr=False)

    def __post_init__(self) -> None:
        base.check_settings("posted_price", self)
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
        problem = Problem(rules.graph(self.reports), features=2, horizon=self.horizon)
        costs = base.UniformVectors(*rules.contexts(rules.cost_range))
        set_fields(self, rules=rules, problem=problem, context_distribution=costs)

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
        return base.row_block(self.rules.rows(self.willingness(start, stop)))

    def available(self, contexts: npt.NDArray[Any]) -> npt.NDArray[np.bool_] | None:
        return self.rules.available(self.rules.costs(contexts))


posted_price = PostedPrice


# Demand is a sum of this many exponential numbers: bell-shaped, never negative.
_STAGES = 4


@base.register("newsvendor", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class NewsvendorEnvironment(base.BlockEnvironment):
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

    horizon: int = field(kw_only=False, metadata=base.checked(integer, at_least=1))
    orders: int = 41
    feedback: SalesFeedback = field(
        default="sales", metadata=base.checked(choice, choices=SALES_FEEDBACK)
    )
    demand: float = field(default=15.0, metadata=base.checked(number, above=0))
    season: float = field(default=0.3, metadata=base.checked(number, at_least=0, at_most=1))
    period: int = field(default=365, metadata=base.checked(integer, at_least=1))
    price_range: tuple[float, float] = (2.0, 4.0)
    cost_range: tuple[float, float] = (0.5, 2.0)
    table_seed: int = field(default=0, metadata=base.checked(integer, at_least=0, at_most=None))
    rules: NewsvendorRules = field(init=False, repr=False)

    def __post_init__(self) -> None:
        base.check_settings("newsvendor", self)
        orders: npt.ArrayLike = self.orders
        if not np.ndim(orders):
            count = integer("newsvendor", "orders", orders, at_least=2, at_most=MAX_SIZE)
            orders = np.arange(count)
        rules = NewsvendorRules(
            orders=orders,
            price_range=self.price_range,
            cost_range=self.cost_range,
            owner="newsvendor",
        )
        problem = Problem(rules.graph(self.feedback), features=3, horizon=self.horizon)
        prices = base.UniformVectors(
            *zip((1.0, 1.0), rules.price_range, rules.cost_range, strict=True)
        )
        set_fields(self, rules=rules, problem=problem, context_distribution=prices)

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
        return base.row_block(self.rules.rows(self.demands(start, stop)))


newsvendor = NewsvendorEnvironment


@base.register("recommendation", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class RecommendationEnvironment(base.BlockEnvironment):
    """Random items. A user likes an item or not in each aspect, with a probability for each.

    Items whose vectors of probabilities have a cosine of at least `similarity` reveal each other.
    The user of a round belongs to a segment, and each segment has its own weights of the aspects:

        loss of item a in segment c  =  sum_k weight[c, k] * (1 - rating[t, a, k]),

    with ratings from 0 to 1 and weights that sum to 1. So a rating by one user can be evaluated in
    every segment, and losses are linear in the weights.

    Args:
        horizon: The number of rounds.
        items: The number of items, at least 2.
        segments: The number of segments of users.
        aspects: The number of aspects in which an item is rated.
        similarity: The least cosine at which two items reveal each other, from -1 to 1.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> environment = recommendation(1_000, items=20)
    >>> environment.problem
    Problem(20 arms, 100 contexts of 4 features, horizon 1000)
    """

    horizon: int = field(
        kw_only=False, metadata=base.checked(integer, at_least=1, at_most=MAX_SIZE)
    )
    items: int = field(default=50, metadata=base.checked(integer, at_least=2, at_most=MAX_SIZE))
    segments: int = field(default=100, metadata=base.checked(integer, at_least=1, at_most=MAX_SIZE))
    aspects: int = field(default=4, metadata=base.checked(integer, at_least=1, at_most=MAX_SIZE))
    similarity: float = field(default=0.9, metadata=base.checked(number, at_least=-1, at_most=1))
    table_seed: int = field(default=0, metadata=base.checked(integer, at_least=0, at_most=None))

    def __post_init__(self) -> None:
        base.check_settings("recommendation", self)
        graph = similar_items(self.qualities, self.similarity)
        weights = stream(self.table_seed, "segments").dirichlet(
            np.full(self.aspects, 0.5), size=self.segments
        )
        problem = Problem(graph, features=weights, horizon=self.horizon)
        set_fields(self, problem=problem, context_distribution=base.FiniteContexts(self.segments))

    @cached_property
    def qualities(self) -> Floats:
        """The mean rating of each item in each aspect, (items, aspects)."""
        return stream(self.table_seed, "items").uniform(0.1, 0.9, (self.items, self.aspects))

    def ratings(self, start: int, stop: int) -> Floats:
        """Return the ratings of consecutive rounds, (n, items, aspects), 0 or 1.

        Args:
            start: The first round.
            stop: The round after the last.
        """
        numbers = self.items * self.aspects
        noise = uniforms(self.table_seed, "losses", start, stop, numbers)
        liked = noise.reshape(-1, self.items, self.aspects) < self.qualities
        return liked.astype(np.float64)

    def block(self, start: int, stop: int) -> LossBlock:
        return base.row_block(1.0 - self.ratings(start, stop))


recommendation = RecommendationEnvironment


@base.register("sleeping", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class Sleeping(base.BlockEnvironment):
    """Bernoulli losses of arms that are not always available (sleeping arms).

    The means are evenly spread from 0.2 to 0.8, in random order. A context is a set of available
    arms. The loss of an arm does not depend on the set: it is linear in one feature, which is 1. So
    a learner uses what it learns in one set in all sets. The comparator plays the best available
    arm of each set.

    Args:
        graph: The feedback graph.
        horizon: The number of rounds.
        sets: The number of sets, that is, of contexts.
        awake: The probability that an arm is in a set, above 0 and at most 1.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> from crossbandit import graphs
    >>> environment = sleeping(graphs.singletons(6), 1_000, sets=3, table_seed=1)
    >>> environment.available(np.array([0])).astype(int)
    array([[0, 0, 0, 1, 1, 1]])
    """

    graph: FeedbackGraph = field(kw_only=False)
    horizon: int = field(kw_only=False, metadata=base.checked(integer, at_least=1))
    sets: int = field(default=100, metadata=base.checked(integer, at_least=1, at_most=MAX_SIZE))
    awake: float = field(default=0.5, metadata=base.checked(number, above=0, at_most=1))
    table_seed: int = field(default=0, metadata=base.checked(integer, at_least=0, at_most=None))

    def __post_init__(self) -> None:
        base.check_settings("sleeping", self)
        constant = np.ones((self.sets, 1))
        problem = Problem(self.graph, features=constant, horizon=self.horizon)
        set_fields(self, problem=problem, context_distribution=base.FiniteContexts(self.sets))

    @cached_property
    def awake_sets(self) -> npt.NDArray[np.bool_]:
        """Which arms are available in each set, (sets, K); at least one is."""
        generator = stream(self.table_seed, "awake")
        awake = generator.random((self.sets, self.graph.arms)) < self.awake
        spare = generator.integers(self.graph.arms, size=self.sets)
        empty = np.flatnonzero(~awake.any(axis=1))
        awake[empty, spare[empty]] = True
        awake.flags.writeable = False
        return awake

    @cached_property
    def means(self) -> Floats:
        """The mean loss of each arm, (K,)."""
        means = np.linspace(0.2, 0.8, self.graph.arms)
        return stream(self.table_seed, "means").permutation(means)

    def available(self, contexts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        awake: npt.NDArray[np.bool_] = self.awake_sets[contexts]
        return awake

    def block(self, start: int, stop: int) -> LossBlock:
        noise = uniforms(self.table_seed, "losses", start, stop, self.graph.arms)
        return base.row_block((noise < self.means)[:, :, None].astype(np.float64))


sleeping = Sleeping


@base.register("spam", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class Spam(base.BlockEnvironment):
    """Messages, some of them spam. Arm 0 blocks a message, arm 1 delivers it.

    A context is (harm of delivering spam, harm of blocking a good message), both uniform in [0, 1].

    Args:
        horizon: The number of rounds.
        share: The mean share of spam, from 0 to 1.
        campaigns: The amount by which the share moves up and down, from 0 to 1.
        period: The number of rounds in which the share moves up and down once.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> environment = spam(1_000)
    >>> environment.problem.graph.arms_without_self_loop
    (0,)
    """

    horizon: int = field(kw_only=False, metadata=base.checked(integer, at_least=1))
    share: float = field(default=0.4, metadata=base.checked(number, at_least=0, at_most=1))
    campaigns: float = field(default=0.2, metadata=base.checked(number, at_least=0, at_most=1))
    period: int = field(default=2000, metadata=base.checked(integer, at_least=1))
    table_seed: int = field(default=0, metadata=base.checked(integer, at_least=0, at_most=None))

    def __post_init__(self) -> None:
        base.check_settings("spam", self)
        problem = Problem(apple_tasting(), features=2, horizon=self.horizon)
        set_fields(self, problem=problem, context_distribution=base.UniformVectors([0, 0], [1, 1]))

    def junk(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Return which messages of consecutive rounds are spam.

        Args:
            start: The first round.
            stop: The round after the last.
        """
        noise = uniforms(self.table_seed, "losses", start, stop, 1)[:, 0]
        wave = np.sin(2 * np.pi * np.arange(start, stop) / self.period)
        junk: npt.NDArray[np.bool_] = noise < self.share + self.campaigns * wave
        return junk

    def block(self, start: int, stop: int) -> LossBlock:
        return base.row_block(mail_rows(self.junk(start, stop)))


spam = Spam
