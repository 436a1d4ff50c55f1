"""A seller who posts prices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms import CrossGraphAdaptive
from crossbandit.applications.application import Application, started
from crossbandit.applications.play import Play, made, played
from crossbandit.environments.posted_price import REPORTS, SellerRules
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.problem import Problem
from crossbandit.validation import boolean, choice, number

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.streams import Seed
    from crossbandit.types import Booleans, Floats


@dataclass(frozen=True)
class Offer(Play):
    """One offer: ask for `price`, and hand the offer to `settle` once the buyer has answered.

    It is None where nothing may be asked: all prices are below the cost.
    """

    price: float | None
    cost: float


class PostedPriceSeller(Application):
    """Learns which price to ask at the cost of the day; a buyer takes it or leaves it.

    `prices` may be asked, `cost_range` bounds the costs to come as (lowest, highest); money may be
    in any unit. `reports` says when buyers tell how much they would have paid at most:

    - "never": a sale then shows that lower prices sell, a refusal that higher ones do not: what a
      price reveals depends on the outcome, which no feedback graph can say. The seller learns
      from the price itself alone, which is sound whatever happens, and slow. Ask the buyers.
    - "after-sale": those who have bought tell. Each price reveals itself and all higher prices.
    - "after-refusal": those who refuse tell. Each price reveals itself and all lower prices.
    - "always": all tell. Each price reveals all prices.

    With `at_least_cost`, no price is below the cost; where all prices are, no offer is made.

    `algorithm` is the parameter-free learner unless given; others may need the `horizon`, which is
    the number of offers to come.

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

    kind: ClassVar[str] = "posted-price-seller"

    def __init__(
        self,
        *,
        prices: npt.ArrayLike,
        cost_range: tuple[float, float],
        reports: str = "never",
        at_least_cost: bool = True,
        horizon: int | None = None,
        algorithm: Algorithm | None = None,
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
        # Neighbouring amounts go together: see docs/explanation/the-adaptive-learner.md.
        usual = CrossGraphAdaptive(anchored=reports == "after-refusal")
        self.learner = started(owner, algorithm, problem, seed, usual)

    @property
    def prices(self) -> Floats:
        """The prices that may be asked, ascending; in the order of `policy`."""
        return self.rules.amounts

    def settings(self) -> dict[str, Any]:
        return {
            "prices": self.prices.tolist(),
            "cost_range": list(self.rules.cost_range),
            "reports": self.reports,
            "at_least_cost": self.rules.at_least_cost,
            "horizon": self.learner.problem.horizon,
        }

    def price(self, cost: float) -> Offer:
        """Choose a price for something that costs `cost`."""
        spent, available = self._cost("price", cost)
        if available is not None and not available.any():
            return Offer(None, None, spent)
        decision = self.learner.act(self.rules.contexts(spent), available)
        return Offer(decision, float(self.prices[decision.arm]), spent)

    def settle(self, offer: Offer, *, sold: bool, willingness: float | None = None) -> None:
        """Learn from a buyer's answer.

        Offers may be settled late and in any order. One whose outcome was lost by chance may be
        left. Where some of those buyers stay silent who should tell, leaving their offers would
        mislead the seller, as the outcomes of the others are not left: use reports "never".

        `willingness`, the most that the buyer would have paid, is needed where the seller's reports
        say that it is told; elsewhere it is only checked against `sold`.
        """
        if made(offer, Offer).decision is None:
            if boolean("settle", "sold", sold, error=InvalidLossesError):
                raise InvalidLossesError("No offer was made, so it cannot have been sold.")
            return
        decision = played(offer, Offer, self.learner)
        has_sold = boolean("settle", "sold", sold, error=InvalidLossesError)
        asked = float(self.prices[decision.arm])
        willing = self._willingness(asked, willingness, sold=has_sold)
        rows = self.rules.rows([willing])[0]
        self.learner.learn(decision, rows[list(decision.revealed)])

    def policy(self, cost: float) -> Floats:
        """Return the probability with which each price would be asked now; all 0 if none may be."""
        spent, available = self._cost("policy", cost)
        if available is not None and not available.any():
            return np.zeros(self.prices.size)
        return self.learner.policy(self.rules.contexts(spent), available)

    def _cost(self, owner: str, cost: object) -> tuple[float, Booleans | None]:
        low, high = self.rules.cost_range
        spent = number(owner, "cost", cost, at_least=low, at_most=high, error=InvalidContextError)
        available = self.rules.available([spent])
        return spent, None if available is None else available[0]

    def _willingness(self, asked: float, told: float | None, *, sold: bool) -> float:
        """Return a willingness at which all revealed prices sell as they did, or would have."""
        if told is None:
            if self.reports in ("always", "after-sale" if sold else "after-refusal"):
                raise InvalidLossesError(
                    f"The seller's reports are {self.reports!r}: "
                    f"{REPORTS[self.reports].split(':')[0]}. Got sold={sold} and no willingness. "
                    "Give it. A single offer may be left unsettled; if some buyers do not tell, "
                    "that would mislead the seller: make one with reports 'never'."
                )
            return asked if sold else -math.inf
        willing = number("settle", "willingness", told, at_least=0, error=InvalidLossesError)
        if sold != (willing >= asked):
            outcome = "sold to" if sold else "refused by"
            raise InvalidLossesError(
                f"A price of {asked:.15g} cannot have been {outcome} a buyer who would have paid "
                f"{willing:.15g}. Nothing was learned; correct the outcome."
            )
        return willing
