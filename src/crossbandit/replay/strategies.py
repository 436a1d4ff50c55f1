"""Who bids in a replay: learners, best responses to the past, fixed rules, the log itself.

Every strategy is asked for its bids a chunk at a time, and takes from the chunk only what it would
have been told: a learner what its feedback graph reveals, a best response what its own bids reveal.
Only the oracles look further (`crossbandit.replay.oracles`); they are there to be compared with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crossbandit.kernels.bidding import (
    AFTER_LOSS,
    AFTER_WIN,
    ALWAYS,
    WON_LOST,
    Observations,
    best_bids,
    estimate,
    respond,
)
from crossbandit.kernels.rounds import Rounds
from crossbandit.simulation.players import CompiledLearner

if TYPE_CHECKING:
    from crossbandit.algorithms import Algorithm
    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.kernels.rounds import ContextBlock, LossBlock
    from crossbandit.problem import Problem
    from crossbandit.replay.log import Auctions
    from crossbandit.types import Floats, Integers

# The kinds of feedback, as compiled steps call them.
_CODES = {
    "after-loss": AFTER_LOSS,
    "after-win": AFTER_WIN,
    "always": ALWAYS,
    "won-lost": WON_LOST,
}


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive auctions, with everything that more than one strategy needs."""

    values: Floats
    prices: Floats  # with the auctions' own reserves in them
    cells: Integers  # of the prices: the lowest bid that wins, or the number of bids
    vectors: Floats  # the contexts, and below how they read
    contexts: ContextBlock
    losses: LossBlock
    own: Floats | None = None  # what was bid, as the log has it


def chunk_of(auctions: Auctions, rules: AuctionRules, problem: Problem) -> Chunk:
    """Return auctions in all the forms that strategies need."""
    values, prices = auctions.values, hurdles(auctions, rules)
    vectors = rules.contexts(values)
    contexts = problem.form.block(vectors, rules.available(values))
    cells, losses = cells_of(prices, rules), rules.block(prices)
    return Chunk(values, prices, cells, vectors, contexts, losses, auctions.bids)


def hurdles(auctions: Auctions, rules: AuctionRules) -> Floats:
    """Return prices that stand for the auctions' own reserves too: who beats one beats both.

    Where equal bids lose, the number just below a reserve stands for it: a bid that equals the
    reserve, and beats the price, wins.
    """
    reserves = auctions.reserves
    if reserves is None:
        return auctions.prices
    if rules.ties == "lose":
        reserves = np.nextafter(reserves, -np.inf)
    higher: Floats = np.maximum(auctions.prices, reserves)
    return higher


def cells_of(prices: Floats, rules: AuctionRules) -> Integers:
    """Return the number of the lowest bid that wins against each price; K if none does."""
    rivals = np.where(prices > 0, prices, -np.inf)  # a price of 0 is nobody's bid
    cells = np.searchsorted(rules.amounts, rivals, "left" if rules.ties == "win" else "right")
    lowest: Integers = np.maximum(cells, np.searchsorted(rules.amounts, rules.reserve))
    return lowest


class Strategy(ABC):
    """A way to bid; it may learn from chunk to chunk."""

    kind: ClassVar[str]
    name: str
    note: str = ""

    @abstractmethod
    def bids(self, chunk: Chunk) -> Floats:
        """Return the bids, in money, for the auctions of the next chunk, and learn from them."""

    @abstractmethod
    def curve(self, values: Floats) -> Floats:
        """Return what it would bid now at some values, on average."""


class Playing(Strategy):
    """A learner of this library; it sees what its feedback graph reveals."""

    kind = "learner"

    def __init__(
        self, name: str, algorithm: Algorithm, problem: Problem, rules: AuctionRules, seed: int
    ) -> None:
        self.name = name
        self.learner = algorithm.start(problem, seed=seed)
        self._rules = rules

    def bids(self, chunk: Chunk) -> Floats:
        rounds = Rounds.to_play(chunk.contexts, chunk.losses)
        if isinstance(self.learner, CompiledLearner):
            self.learner.simulate(rounds)
        else:
            self._play(chunk, rounds.arms)
        bids: Floats = self._rules.amounts[rounds.arms]
        return bids

    def _play(self, chunk: Chunk, arms: Integers) -> None:
        """Play an algorithm that has no compiled loop."""
        for i, available in enumerate(chunk.contexts.available):
            decision = self.learner.act(chunk.vectors[i], available)
            self.learner.learn(decision, chunk.losses.base[i, list(decision.revealed)])
            arms[i] = decision.arm

    def curve(self, values: Floats) -> Floats:
        contexts, available = self._rules.contexts(values), self._rules.available(values)
        masks = [None] * values.size if available is None else list(available)
        policies = list(map(self.learner.policy, contexts, masks))
        mean: Floats = np.array(policies) @ self._rules.amounts
        return mean


class BestResponse(Strategy):
    """Bid what would earn most against the law of prices, estimated from the past.

    It knows of the past what `feedback` would have told it. The estimate starts from one auction
    whose price is anywhere on the grid alike: that fades, and makes it bid half its value at first.
    """

    kind = "fitted"

    def __init__(self, rules: AuctionRules, feedback: str, name: str, note: str) -> None:
        self.name, self.note = name, note
        self._rules = rules
        self._feedback = _CODES[feedback]
        self._seen = _one_auction(rules.arms, self._feedback)
        self._chances = np.empty(rules.arms)
        estimate(self._feedback, self._seen, np.empty((3, rules.arms)), self._chances)

    def bids(self, chunk: Chunk) -> Floats:
        arms = np.empty(chunk.values.size, dtype=np.int64)
        amounts = self._rules.amounts
        blocks = np.empty((3, amounts.size))
        respond(
            chunk.values,
            chunk.cells,
            amounts,
            self._feedback,
            self._seen,
            self._chances,
            blocks,
            arms,
        )
        bids: Floats = amounts[arms]
        return bids

    def curve(self, values: Floats) -> Floats:
        return best_on_grid(values, self._rules, self._chances)


def _one_auction(arms: int, feedback: int) -> Observations:
    if feedback != WON_LOST:
        return Observations(np.full(arms + 1, 1 / (arms + 1)), np.zeros(arms + 1))
    rising = np.append(np.arange(1, arms + 1) / (arms + 1), 0.0) / arms
    return Observations(rising, 1 / arms - rising)


class Shading(Strategy):
    """Bid a fixed fraction of the value, to the last cent: not rounded to the grid."""

    kind = "fixed"

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction
        shown = max(f"{fraction:.2f}", f"{fraction:.15g}", key=len)
        self.name = "truthful" if fraction == 1 else f"shading {shown}"
        self.note = "bids the value, so never earns" if fraction == 1 else ""

    def bids(self, chunk: Chunk) -> Floats:
        return self.curve(chunk.values)

    def curve(self, values: Floats) -> Floats:
        return self.fraction * values


class OwnBids(Strategy):
    """What was bid when the log was written."""

    kind = "own"
    name = "the log's own bids"
    note = "as they were made"

    def bids(self, chunk: Chunk) -> Floats:
        if chunk.own is None:
            raise ValueError("A log without a column of bids has no bids of its own.")
        return chunk.own

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # the log has no bids at other values


def best_on_grid(values: Floats, rules: AuctionRules, chances: Floats) -> Floats:
    """Return the bids that earn most at some values if bid k wins with `chances[k]`."""
    arms = np.empty(values.size, dtype=np.int64)
    best_bids(values, rules.amounts, chances, arms)
    bids: Floats = rules.amounts[arms]
    return bids
