"""The base class of strategies, the chunks of auctions that they bid in, and simple strategies.

A strategy is asked for its bids one chunk at a time, and uses from the chunk only what it would
have been told: a learner uses what its feedback graph reveals, a best response what its own bids
reveal. Only the oracles (`crossbandit.replay.oracles`) use more. They serve for comparison.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.kernels.bidding import best_bids
from crossbandit.validation import number

if TYPE_CHECKING:
    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.kernels.rounds import ContextBlock, LossBlock
    from crossbandit.limits import Pacer
    from crossbandit.logs.auctions import Auctions
    from crossbandit.problem import Problem
    from crossbandit.replay.limited import ReplayLimits
    from crossbandit.types import Floats, Integers

KINDS = ("learner", "own", "fitted", "fixed", "oracle")  # in the order of tables


class Setting(NamedTuple):
    """What every strategy knows before the first auction."""

    rules: AuctionRules
    feedback: str
    problem: Problem
    features: int = 0  # the number of class columns
    limits: ReplayLimits | None = None

    def pacer(self) -> Pacer | None:
        """Return a pacer that keeps one strategy within the limits; None without limits."""
        return None if self.limits is None else self.limits.pacer(self.rules)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive auctions, with everything that more than one strategy needs.

    Attributes:
        values: What each auction is worth.
        prices: What had to be beaten in each auction: the highest competing bid, or the auction's
            own reserve if that is higher. A strategy must not use a price before its own bid.
        cells: The index of the lowest bid that wins against each price, or the number of bids.
        vectors: The contexts of the auctions.
        contexts: The contexts, as kernels read them.
        losses: The losses of all bids, as kernels read them.
        own: What was bid, if the log has it.
        classes: (n, columns + 1). The numbers of each auction's classes, and of their combination,
            if the log has class columns.
        times: Seconds since 1970, if the log has times.
        sections: With limits, the section of each auction; see `ReplayLimits`.
        parts: With limits, the number of the part of the log that should spend its own share.
    """

    values: Floats
    prices: Floats
    cells: Integers
    vectors: Floats
    contexts: ContextBlock
    losses: LossBlock
    own: Floats | None = None
    classes: Integers | None = None
    times: Floats | None = None
    sections: Integers | None = None
    parts: Integers | None = None


class Entry(NamedTuple):
    """Bids in the auctions of a chunk, and the share of each auction in which they are made."""

    bids: Floats
    shares: Floats | float = 1.0


def make_chunk(auctions: Auctions, rules: AuctionRules, problem: Problem) -> Chunk:
    """Return auctions in all the forms that strategies need."""
    values, prices = auctions.values, prices_to_beat(auctions, rules)
    vectors = rules.contexts(values)
    contexts = problem.form.block(vectors, rules.available(values))
    cells, losses = rules.cells(prices), rules.block(prices)
    own, classes = auctions.bids, auctions.classes
    return Chunk(values, prices, cells, vectors, contexts, losses, own, classes, auctions.times)


def prices_to_beat(auctions: Auctions, rules: AuctionRules) -> Floats:
    """Return the higher of price and reserve of each auction.

    Where equal bids lose, the number just below a reserve stands for it, so that a bid that equals
    the reserve and beats the price wins.
    """
    reserves = auctions.reserves
    if reserves is None:
        return auctions.prices
    if rules.ties == "lose":
        reserves = np.nextafter(reserves, -np.inf)
    higher: Floats = np.maximum(auctions.prices, reserves)
    return higher


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
    throttled: Strategy | None = None  # with limits: the strategy of which it drops some bids

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
