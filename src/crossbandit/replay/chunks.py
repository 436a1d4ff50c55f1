"""Auctions of a log as strategies meet them: chunks, and what is known before the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.kernels.paced_rounds import TICKET, PacedRounds
from crossbandit.kernels.pacing import pseudo_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.kernels.rounds import ContextBlock, LossBlock
    from crossbandit.limits import Pacer
    from crossbandit.logs.auctions import Auctions
    from crossbandit.problem import Problem
    from crossbandit.replay.limited import ReplayLimits
    from crossbandit.types import Floats, Integers


class Setting(NamedTuple):
    """What every strategy knows before the first auction."""

    rules: AuctionRules
    feedback: str
    problem: Problem
    features: int = 0  # class columns
    limits: ReplayLimits | None = None

    def pacer(self) -> Pacer | None:
        """Return what keeps one strategy to the limits; None without limits."""
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
    """Bids in the auctions of a chunk, and which share of each auction they are made in."""

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


def pseudo_values(pacer: Pacer, values: Floats) -> Floats:
    """Return what would be bid for at some values now. Changes nothing."""
    found = [pseudo_value(pacer.rules, pacer.state, value) for value in values.tolist()]
    return np.minimum(found, values)


def paced_rounds(
    chunk: Chunk, pacer: Pacer, rules: AuctionRules
) -> Iterator[tuple[int, PacedRounds]]:
    """Yield the auctions of a chunk under limits, cut where periods begin: numbers and auctions."""
    times = np.zeros(chunk.values.size) if chunk.times is None else chunk.times
    for start, stop in pacer.pieces(times):
        now = slice(start, stop)
        yield (
            start,
            PacedRounds(
                pacer.rules,
                pacer.state,
                bids=rules.amounts,
                values=np.ascontiguousarray(chunk.values[now]),
                cells=chunk.cells[now],
                times=np.ascontiguousarray(times[now]),
                ticket=np.zeros((len(pacer.limits), TICKET)),
                pseudo=np.empty(stop - start),
                factor=1.0 / rules.highest_value,
            ),
        )
