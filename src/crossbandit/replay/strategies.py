"""Strategies that bid in a replay: learners, best responses, fixed rules, the log itself.

A strategy is asked for its bids one chunk at a time, and uses from the chunk only what it would
have been told: a learner what its feedback graph reveals, a best response what its own bids reveal.
Only the oracles (`crossbandit.replay.oracles`) use more. They are there for comparison.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

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
from crossbandit.kernels.paced_rounds import limit_round, respond_paced, settle_round
from crossbandit.kernels.rounds import Rounds
from crossbandit.replay.chunks import Entry, paced_rounds, pseudo_values
from crossbandit.simulation.players import BatchPlayer
from crossbandit.validation import number

if TYPE_CHECKING:
    from crossbandit.algorithms import Algorithm
    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.kernels.paced_rounds import PacedRounds
    from crossbandit.kernels.rounds import ContextBlock, LossBlock
    from crossbandit.limits import Pacer
    from crossbandit.replay.chunks import Chunk, Setting
    from crossbandit.types import Floats, Integers

KINDS = ("learner", "own", "fitted", "fixed", "oracle")  # of strategies, in the order of tables

# The kinds of feedback, as the kernels number them.
_CODES = {
    "after-loss": AFTER_LOSS,
    "after-win": AFTER_WIN,
    "always": ALWAYS,
    "won-lost": WON_LOST,
}


class Strategy(ABC):
    """A way to bid. It may learn from chunk to chunk.

    Attributes:
        name: What tables call it.
        kind: "learner", "own", "fitted", "fixed" or "oracle"; tables are grouped by it.
        note: A short remark for tables.
    """

    kind: str = "fitted"
    name: str
    note: str = ""
    pseudo: Floats | None = None  # with limits: the pseudo-values of the last chunk

    def entries(self, chunk: Chunk) -> list[Entry]:
        """Bid as `bids` does; an oracle may make several bids, each in a share of an auction.

        Args:
            chunk: The auctions.

        Returns:
            Bids with their shares.
        """
        return [Entry(self.bids(chunk))]

    @abstractmethod
    def bids(self, chunk: Chunk) -> Floats:
        """Bid in the auctions of the next chunk, and learn from them.

        Args:
            chunk: The auctions. The bid in an auction may depend on earlier auctions of the chunk,
                as far as their feedback would have been told.

        Returns:
            One bid per auction, in money.
        """

    @abstractmethod
    def curve(self, values: Floats) -> Floats:
        """Return the average bid that the strategy would make now at some values.

        Args:
            values: What an auction could be worth.

        Returns:
            One bid per value; NaN where the bid does not depend on the value alone.
        """


class LearnerStrategy(Strategy):
    """A learner of this library; it sees what its feedback graph reveals."""

    kind = "learner"

    def __init__(self, name: str, algorithm: Algorithm, setting: Setting, seed: int) -> None:
        self.name = name
        self.learner = algorithm.start(setting.problem, seed=seed)
        self._rules = setting.rules
        self._pacer = setting.pacer()

    def bids(self, chunk: Chunk) -> Floats:
        if self._pacer is not None:
            return self._paced(chunk, self._pacer)
        rounds = Rounds.to_play(chunk.contexts, chunk.losses)
        if isinstance(self.learner, BatchPlayer):
            self.learner.simulate(rounds)
        else:
            self._play(chunk, rounds.arms)
        bids: Floats = self._rules.amounts[rounds.arms]
        return bids

    def _paced(self, chunk: Chunk, pacer: Pacer) -> Floats:
        """Bid under limits, for pseudo-values in place of values; other strategies share chunk."""
        arms = np.empty(chunk.values.size, dtype=np.int64)
        self.pseudo = np.empty(chunk.values.size)
        form = self.learner.problem.form
        for start, paced in paced_rounds(chunk, pacer, self._rules):
            now = slice(start, start + paced.values.size)
            available = np.ones((paced.values.size, self._rules.arms), dtype=np.bool_)
            contexts = form.block(chunk.vectors[now].copy(), available)
            losses = chunk.losses._replace(
                base=chunk.losses.base[now], coefficients=chunk.losses.coefficients[now]
            )
            if isinstance(self.learner, BatchPlayer):
                rounds = Rounds.to_play(contexts, losses, limits=paced)
                self.learner.simulate(rounds)
                arms[now] = rounds.arms
            else:
                self._play_paced(contexts, losses, paced, arms[now])
            self.pseudo[now] = paced.pseudo
        bids: Floats = self._rules.amounts[arms]
        return bids

    def _play_paced(
        self, contexts: ContextBlock, losses: LossBlock, paced: PacedRounds, arms: Integers
    ) -> None:
        """Play an algorithm that has no compiled loop, under limits."""
        for i in range(arms.size):
            limit_round(paced, contexts, i)
            decision = self.learner.act(contexts.table[i, 0], contexts.available[i])
            self.learner.learn(decision, losses.base[i, list(decision.revealed)])
            arms[i] = decision.arm
            settle_round(paced, i, decision.arm)

    def _play(self, chunk: Chunk, arms: Integers) -> None:
        """Play an algorithm that has no compiled loop."""
        for i, available in enumerate(chunk.contexts.available):
            decision = self.learner.act(chunk.vectors[i], available)
            self.learner.learn(decision, chunk.losses.base[i, list(decision.revealed)])
            arms[i] = decision.arm

    def curve(self, values: Floats) -> Floats:
        if self._pacer is not None:
            values = pseudo_values(self._pacer, values)
        contexts, available = self._rules.contexts(values), self._rules.available(values)
        masks = [None] * values.size if available is None else list(available)
        policies = list(map(self.learner.policy, contexts, masks))
        mean: Floats = np.array(policies) @ self._rules.amounts
        return mean


class BestResponse(Strategy):
    """Bid what would earn most against the distribution of prices, estimated from the past.

    It knows of the past what `feedback` would have told it. Told after a loss, the estimate starts
    from nothing: every bid above 0 is taken to win until prices are known. Otherwise it starts
    from one imagined auction whose price is uniform on the grid, because a bidder that is told
    nothing about higher bids would never raise its bid.
    """

    def __init__(
        self,
        rules: AuctionRules,
        feedback: str,
        name: str,
        note: str,
        pacer: Pacer | None = None,
    ) -> None:
        self.name, self.note = name, note
        self._rules = rules
        self._pacer = pacer
        self._feedback = _CODES[feedback]
        self._seen = _first_observations(rules.arms, self._feedback)
        self._chances = np.empty(rules.arms)
        estimate(self._feedback, self._seen, np.empty((3, rules.arms)), self._chances)

    def bids(self, chunk: Chunk) -> Floats:
        arms = np.empty(chunk.values.size, dtype=np.int64)
        amounts = self._rules.amounts
        blocks = np.empty((3, amounts.size))
        if self._pacer is not None:
            self.pseudo = np.empty(arms.size)
            for start, paced in paced_rounds(chunk, self._pacer, self._rules):
                now = slice(start, start + paced.values.size)
                respond_paced(
                    paced,
                    self._rules.first_winner,
                    self._feedback,
                    self._seen,
                    self._chances,
                    blocks,
                    arms[now],
                )
                self.pseudo[now] = paced.pseudo
            return np.asarray(amounts[arms])
        respond(
            chunk.values,
            chunk.cells,
            amounts,
            self._rules.first_winner,
            self._feedback,
            self._seen,
            self._chances,
            blocks,
            arms,
        )
        bids: Floats = amounts[arms]
        return bids

    def curve(self, values: Floats) -> Floats:
        if self._pacer is not None:
            values = pseudo_values(self._pacer, values)
        return best_on_grid(values, self._rules, self._chances)


def _first_observations(arms: int, feedback: int) -> Observations:
    if feedback == AFTER_LOSS:
        return Observations(np.zeros(arms + 1), np.zeros(arms + 1))
    if feedback != WON_LOST:
        return Observations(np.full(arms + 1, 1 / (arms + 1)), np.zeros(arms + 1))
    rising = np.append(np.arange(1, arms + 1) / (arms + 1), 0.0) / arms
    return Observations(rising, 1 / arms - rising)


class Shading(Strategy):
    """Bid a fixed fraction of the value, not rounded to the grid.

    Args:
        fraction: Which part of the value to bid, above 0 and at most 1.

    Raises:
        InvalidParameterError: The fraction is invalid.

    >>> Shading(0.25).name, Shading(1).name
    ('shading 0.25', 'truthful')
    """

    kind = "fixed"

    def __init__(self, fraction: float) -> None:
        self.fraction = number("Shading", "fraction", fraction, above=0, at_most=1)
        shown = max(f"{fraction:.2f}", f"{fraction:.15g}", key=len)
        self.name = "truthful" if fraction == 1 else f"shading {shown}"
        self.note = "bids the value, so never earns" if fraction == 1 else ""

    def bids(self, chunk: Chunk) -> Floats:
        return self.curve(chunk.values)

    def curve(self, values: Floats) -> Floats:
        return self.fraction * values


class OwnBids(Strategy):
    """The bids in the log; a bid of 0 means that no bid was made."""

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
    best_bids(values, rules.amounts, chances, rules.first_winner, arms)
    bids: Floats = rules.amounts[arms]
    return bids
