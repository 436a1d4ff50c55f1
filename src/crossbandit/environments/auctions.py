"""First-price auctions: the winner pays their own bid."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit import graphs
from crossbandit.environments.amounts import AmountRules, bid_grid
from crossbandit.environments.contexts import UniformVectors
from crossbandit.environments.environment import BlockEnvironment, check_rounds, row_block
from crossbandit.environments.registry import register
from crossbandit.kernels.bidding import write_auctions
from crossbandit.problem import Problem, set_fields
from crossbandit.streams import uniforms
from crossbandit.validation import boolean, choice, number, reject, verbatim

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Booleans, Floats, Integers

# When the highest competing bid is told, and what a bid then reveals.
FEEDBACK = {
    "after-loss": "the competing bid is told to losers: a bid reveals itself and all higher bids",
    "after-win": "the competing bid is told to the winner: a bid reveals itself and all lower bids",
    "always": "the competing bid is told to everyone: a bid reveals all bids",
    "won-lost": "nothing but won or lost is told: a bid reveals itself",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class AuctionRules(AmountRules):
    """The bids that may be made, and what each of them earns. Money may have any unit.

    A bid wins if it is at least `reserve` and beats the highest competing bid, the *price*; an
    equal bid wins or loses as `ties` says. A price of 0 means that there was no other bid. A bid of
    0 means not to bid: it never wins, not even against a price of 0. The winner earns value - bid,
    the others nothing. With `at_most_value`, bids above the value are not available.

    >>> rules = AuctionRules(bids=[0, 1, 2, 3], highest_value=4)
    >>> rules.surplus(values=[4.0, 4.0], bids=[2.0, 1.0], prices=[1.5, 1.5])
    array([2., 0.])
    >>> rules.available([1.5])
    array([[ True,  True, False, False]])
    """

    bids: npt.ArrayLike
    highest_value: float
    reserve: float = 0.0
    ties: str = "win"
    at_most_value: bool = True
    owner: InitVar[str] = "AuctionRules"  # the name for error messages

    def __post_init__(self, owner: str) -> None:
        number(owner, "highest_value", self.highest_value, above=0)
        number(owner, "reserve", self.reserve, at_least=0)
        choice(owner, "ties", self.ties, ("win", "lose"))
        boolean(owner, "at_most_value", self.at_most_value)
        object.__setattr__(self, "bids", bid_grid(owner, self.bids, self.highest_value))

    @property
    def amounts(self) -> Floats:
        return np.asarray(self.bids)

    @property
    def most(self) -> float:
        return float(self.highest_value)

    @cached_property
    def least(self) -> float:
        """The lowest number that a bid has to reach to win, as the law of prices sees it.

        Where equal bids win, a bid of 0 would reach a price of 0; but it means not to bid.
        """
        if self.ties == "win":
            return max(self.reserve, math.nextafter(0.0, 1.0))
        return max(math.nextafter(self.reserve, -1.0), 0.0)  # a bid equal to the reserve suffices

    @property
    def scale(self) -> float:
        return self.most + (0.0 if self.at_most_value else float(self.amounts[-1]))

    def graph(self, feedback: str) -> FeedbackGraph:
        """Return what a bid reveals under one of the kinds of `FEEDBACK`.

        For example "after-loss": after a loss at bid b, the price is told, so the outcome of every
        bid is known. After a win, it is known that all higher bids win too. In both cases, the
        outcomes of the bids from b upwards are known. The other kinds follow in the same way. With
        "won-lost", a win reveals the higher bids and a loss the lower ones. Only b itself is
        revealed in both cases.
        """
        choice("AuctionRules", "feedback", feedback, FEEDBACK)
        if feedback == "always":
            return graphs.complete(self.arms)
        if feedback == "won-lost":
            return graphs.singletons(self.arms)
        return graphs.threshold(self.arms, "higher" if feedback == "after-loss" else "lower")

    def block(self, prices: npt.ArrayLike) -> LossBlock:
        """Return the losses of all bids in consecutive auctions."""
        return row_block(self.rows(prices))

    def rows(self, prices: npt.ArrayLike) -> Floats:
        """Return the losses of all bids, (n, K, 2), in n auctions."""
        prices = np.ascontiguousarray(prices, dtype=np.float64)
        rows = np.empty((prices.size, self.arms, 2))
        write_auctions(
            self.amounts,
            prices,
            float(self.reserve),
            float(self.highest_value),
            self.scale,
            rows,
            ties_win=self.ties == "win",
        )
        return rows

    def contexts(self, values: npt.ArrayLike) -> Floats:
        """Return the feature vectors (1, value / highest_value) of values."""
        values = np.asarray(values, dtype=np.float64)
        return np.stack([np.ones_like(values), values / self.highest_value], axis=-1)

    def available(self, values: npt.ArrayLike) -> Booleans | None:
        """Return which bids may be made at each value, (n, K); None if all may."""
        if not self.at_most_value:
            return None
        may: Booleans = self.amounts <= np.asarray(values, dtype=np.float64)[:, None]
        return may

    def wins(self, bids: npt.ArrayLike, prices: npt.ArrayLike) -> Booleans:
        """Return which of the bids win against the prices."""
        bids, prices = np.asarray(bids), np.asarray(prices)
        beats = bids >= prices if self.ties == "win" else bids > prices
        won: Booleans = beats & (bids >= self.reserve) & (bids > 0)
        return won

    @property
    def first_winner(self) -> int:
        """The number of the lowest bid that is above 0 and at least the reserve."""
        above_zero = np.searchsorted(self.amounts, 0.0, "right")
        return int(max(above_zero, np.searchsorted(self.amounts, self.reserve)))

    def cells(self, prices: npt.ArrayLike) -> Integers:
        """Return the number of the lowest bid that wins against each price; K if none does."""
        side: Any = "left" if self.ties == "win" else "right"
        cells = np.searchsorted(self.amounts, np.asarray(prices, dtype=np.float64), side)
        lowest: Integers = np.maximum(cells, self.first_winner)
        return lowest

    def surplus(self, values: npt.ArrayLike, bids: npt.ArrayLike, prices: npt.ArrayLike) -> Floats:
        """Return what bids earn at values against prices."""
        margin = np.asarray(values, dtype=np.float64) - np.asarray(bids)
        earned: Floats = np.where(self.wins(bids, prices), margin, 0.0)
        return earned


@register("first-price", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class FirstPrice(BlockEnvironment):
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

    horizon: int = field(kw_only=False)
    bids: int = 100
    prices: str = "stationary"
    feedback: str = "after-loss"
    at_most_value: bool = True
    table_seed: int = 0
    rules: AuctionRules = field(init=False, repr=False)
    problem: Problem = field(init=False, repr=False)
    context_distribution: UniformVectors = field(init=False, repr=False)
    owner: ClassVar[str] = "first_price"  # the name for error messages
    price_kinds: ClassVar[tuple[str, ...]] = ("stationary", "drifting")

    def __post_init__(self) -> None:
        check_rounds(self.owner, self.horizon, self.table_seed)
        choice(self.owner, "prices", self.prices, self.price_kinds)
        choice(self.owner, "feedback", self.feedback, FEEDBACK)
        rules = AuctionRules(
            bids=self.bids,
            highest_value=1.0,
            at_most_value=self.at_most_value,
            owner=self.owner,
        )
        if self.at_most_value and rules.amounts[0] > 0:
            expected = (
                "such that one is 0, because values begin at 0; or at_most_value must be False"
            )
            got = verbatim(f"bids from {rules.amounts[0]:.15g}")
            reject(self.owner, "bids", expected, got)
        problem = Problem(rules.graph(self.feedback), features=2, horizon=self.horizon)
        set_fields(
            self, rules=rules, problem=problem, context_distribution=UniformVectors([1, 0], [1, 1])
        )

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
