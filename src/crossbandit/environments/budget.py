"""First-price auctions with a budget. The money left is part of the state of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments.auctions import FirstPrice
from crossbandit.environments.contexts import UniformVectors
from crossbandit.environments.registry import register
from crossbandit.kernels.paced_rounds import TICKET, PacedRounds
from crossbandit.kernels.pacing import GIVEN, LOG, SPENT
from crossbandit.limits import Budget, Pacer
from crossbandit.limits.optima import Terms, best_maps
from crossbandit.streams import uniforms
from crossbandit.validation import choice, integer, number, reject

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Floats, Integers

_QUANTILES = 1000  # the number of values for which the comparator is computed
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@register("first-price-budget", random_losses=True)
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

    budget: float = 0.05
    pacing: str = "even"
    levels: int | None = None
    owner = "first_price_budget"
    price_kinds = ("stationary", "drifting", "uniform")

    def __post_init__(self) -> None:
        owner = self.owner
        number(owner, "budget", self.budget, above=0)
        choice(owner, "pacing", self.pacing, ("even", "asap"))
        if self.at_most_value is not True:
            reject(owner, "at_most_value", "True: no bid above the value", self.at_most_value)
        super().__post_init__()
        if self.levels is not None:
            integer(owner, "levels", self.levels, at_least=2, at_most=10**6)
            object.__setattr__(self, "context_distribution", _Levels(self.levels))
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


class _Levels(UniformVectors):
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
    """The budget of one run: what was spent so far, and the multiplier.

    Args:
        environment: The environment of the run.
    """

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
        """Return consecutive rounds under the budget that this run has left.

        Args:
            start: The first round.
            contexts: Their contexts.
        """
        rules, count = self._environment.rules, len(contexts)
        return PacedRounds(
            self._pacer.rules,
            self._pacer.state,
            bids=rules.amounts,
            values=np.ascontiguousarray(contexts[:, 1]),
            cells=rules.cells(self._environment.competing_bids(start, start + count)),
            times=np.zeros(count),
            ticket=np.zeros((1, TICKET)),
            pseudo=np.empty(count),
            factor=1.0,
        )


first_price_budget = FirstPriceBudget
