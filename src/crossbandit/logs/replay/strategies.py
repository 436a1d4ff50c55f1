"""Strategies, from fixed fractions of the value to learners, and the chunks that they bid in.

A strategy is asked for its bids one chunk at a time, and uses from the chunk only what it would
have been told: a learner uses what its feedback graph reveals, a best response what its own bids
reveal. With limits, both bid for pseudo-values in place of values. Only the oracles use more. They
serve for comparison.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.algorithms import (
    Algorithm,
    CrossGraph,
    CrossGraphAdaptive,
    from_json,
    registered,
)
from crossbandit.applications.application import anchored_as
from crossbandit.core.blocks import PacedRounds, Rounds
from crossbandit.core.types import Feedback
from crossbandit.core.validation import choice, number, reject
from crossbandit.environments.simulation.players import BatchPlayer
from crossbandit.errors import InvalidInputError, InvalidParameterError
from crossbandit.laws import GuardedLaw, IndependenceTest, OutcomeLaw
from crossbandit.laws.price_core import PriceEstimate
from crossbandit.laws.rounds import shown_to
from crossbandit.laws.state import AFTER_LOSS, FEEDBACK_CODES, WON_LOST
from crossbandit.limits.optima import Level, Purchases, best_maps, paced_maps
from crossbandit.logs.replay.limits import ReplayLimits, describe
from crossbandit.logs.survey import VALUE_BINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.applications import FirstPriceBidder
    from crossbandit.applications.bidding.auctions import AuctionRules
    from crossbandit.core.blocks import ContextBlock, LossBlock
    from crossbandit.core.types import Floats, Integers
    from crossbandit.laws import Diagnosis
    from crossbandit.limits import Limit, Pacer
    from crossbandit.limits.optima import Map, Terms
    from crossbandit.logs.log import Auctions
    from crossbandit.logs.replay.results import StrategyResult
    from crossbandit.logs.survey import Survey


KINDS = ("learner", "own", "fitted", "fixed", "oracle")  # in the order of tables


class ReplaySetting(NamedTuple):
    """What every strategy knows before the first auction."""

    rules: AuctionRules
    feedback: Feedback
    problem: Problem
    features: int = 0  # the number of class columns
    limits: ReplayLimits = ReplayLimits()
    delay: float = 0.0  # seconds from a bid to its outcome
    campaign: int | None = None  # the number of the class column whose levels have limits each
    each: tuple[Limit, ...] = ()  # the limits of each; `limits` are of all together
    lays: bool = False  # whether the price distribution needs no grid of bids

    def pacer(self) -> Pacer | None:
        """Return a pacer that keeps one strategy within the limits; None without limits."""
        limits = self.limits if self.campaign is None else ReplayLimits(self.each)
        return limits.pacer(self.rules, self.limits.auctions) if limits else None


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive auctions, with everything that more than one strategy needs.

    Attributes:
        values: What each auction is worth.
        prices: What had to be beaten in each auction: the highest competing bid, or the auction's
            own reserve if that is higher. A strategy must not use a price before its own bid.
        cells: The index of the lowest bid that wins against each price, or the number of bids.
        vectors: The contexts of the auctions.
        contexts: The contexts, as cores read them.
        losses: The losses of all bids, as cores read them.
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


class SharedBids(NamedTuple):
    """Bids in the auctions of a chunk, and the share of each auction in which they are made."""

    bids: Floats
    shares: Floats | float = 1.0


def make_chunk(
    auctions: Auctions,
    rules: AuctionRules,
    problem: Problem,
    limits: ReplayLimits | None = None,
    start: int = 0,
) -> Chunk:
    """Return auctions in all the forms that strategies need; `start` is the number of the first."""
    values, prices = auctions.values, prices_to_beat(auctions, rules)
    vectors, stop = rules.contexts(values), start + values.size
    return Chunk(
        values=values,
        prices=prices,
        cells=rules.cells(prices),
        vectors=vectors,
        contexts=problem.form.block(vectors, rules.available(values)),
        losses=rules.block(prices),
        own=auctions.bids,
        classes=auctions.classes,
        times=auctions.times,
        sections=limits.sections_at(start, stop) if limits else None,
        parts=limits.parts(start, stop) if limits else None,
    )


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
    throttled: Strategy | None = None  # what it plays: later, or some of its bids

    def entries(self, chunk: Chunk) -> list[SharedBids]:
        """Bid as `bids` does; an oracle may make several bids, each in a share of an auction.

        Args:
            chunk: The auctions.

        Returns:
            Bids with their shares.
        """
        return [SharedBids(self.bids(chunk))]

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
    ('25 % of value', 'truthful')
    """

    kind = "fixed"

    def __init__(self, fraction: float) -> None:
        self.fraction = number("Shading", "fraction", fraction, above=0, at_most=1)
        self.name = "truthful" if fraction == 1 else f"{100 * fraction:.15g}{_OF_VALUE}"
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
    none = np.zeros(rules.arms + 1)
    estimate = PriceEstimate(0, rules.amounts, none, none, np.array(chances))
    estimate.best_bids(np.asarray(values, dtype=float), rules.first_winner, arms)
    bids: Floats = rules.amounts[arms]
    return bids


_OF_VALUE = " % of value"
TOLD, ALL_TOLD, TRUTHFUL = "best response", "full-information response", "truthful"
LAW, GUARDED = "price distribution", "guarded price distribution"
_LAW_ENTRIES = 2**19  # the most classes times bids that a law distinguishes
_MOST_CLASSES = 4096
_SAMPLE = 16  # the number of auctions whose classes the curve is averaged over
_NO_NOISE = (0.0, 0.0, 1.0 - 1e-9)  # random numbers with which a law does not explore


class LearnerStrategy(Strategy):
    """A learner of this library; it sees what its feedback graph reveals."""

    kind = "learner"

    def __init__(self, name: str, algorithm: Algorithm, setting: ReplaySetting, seed: int) -> None:
        self.name = name
        self.learner = algorithm.start(setting.problem, seed=seed)
        self._rules = setting.rules
        self._pacer = setting.pacer()
        self.embedded = {"algorithm": algorithm, "seed": seed}

    def follow(self, bidder: FirstPriceBidder) -> None:
        """Take over what a bidder learns, which plays instead."""
        self.learner = bidder.learner
        self._pacer = None if bidder.spending is None else bidder.spending.pacer

    def bids(self, chunk: Chunk) -> Floats:
        arms = np.empty(chunk.values.size, dtype=np.int64)
        if self._pacer is None:
            self._play(chunk.contexts, chunk.losses, None, arms)
        else:
            self.pseudo = np.empty(arms.size)
            for now, paced in paced_rounds(chunk, self._pacer, self._rules):
                # The limits change the contexts, and other strategies share the chunk.
                available = np.ones((paced.values.size, self._rules.arms), dtype=np.bool_)
                form = self.learner.problem.form
                contexts = form.block(chunk.vectors[now].copy(), available)
                losses = chunk.losses._replace(
                    base=chunk.losses.base[now], coefficients=chunk.losses.coefficients[now]
                )
                self._play(contexts, losses, paced, arms[now])
                self.pseudo[now] = paced.pseudo
        bids: Floats = self._rules.amounts[arms]
        return bids

    def _play(
        self, contexts: ContextBlock, losses: LossBlock, paced: PacedRounds | None, arms: Integers
    ) -> None:
        """Play consecutive auctions; `arms` is filled."""
        if isinstance(self.learner, BatchPlayer):
            rounds = Rounds.to_play(contexts, losses, limits=paced)
            self.learner.simulate(rounds)
            arms[:] = rounds.arms
            return
        auctions = None if paced is None else paced.core.auctions(paced, contexts)
        for i in range(arms.size):  # the algorithm has no compiled loop
            if auctions is not None:
                auctions.limit(i)
            decision = self.learner.act(contexts.table[i, 0], contexts.available[i])
            self.learner.learn(decision, losses.base[i, list(decision.revealed)])
            arms[i] = decision.arm
            if auctions is not None:
                auctions.settle(i, decision.arm)

    def curve(self, values: Floats) -> Floats:
        values = pseudo_values(self._pacer, values)
        contexts, available = self._rules.contexts(values), self._rules.available(values)
        masks = [None] * values.size if available is None else list(available)
        policies = list(map(self.learner.policy, contexts, masks))
        mean: Floats = np.array(policies) @ self._rules.amounts
        return mean


class LawStrategy(Strategy):
    """An `OutcomeLaw` of the highest competing bid; it is told what its own bids reveal."""

    kind = "learner"

    def __init__(
        self, setting: ReplaySetting, seed: int, *, guarded: bool = False, tested: bool = False
    ) -> None:
        rules = setting.rules
        self.name = GUARDED if guarded else LAW
        self.law = OutcomeLaw(
            rules.amounts,
            (0.0, rules.highest_value),
            classes=[f"class_{i}" for i in range(setting.features)],
            feedback=setting.feedback,
            ties=rules.ties,
            class_limit=min(_MOST_CLASSES, max(64, _LAW_ENTRIES // rules.arms)),
            seed=seed,
        )
        self._player = GuardedLaw(self.law) if guarded else self.law
        self._pacer = setting.pacer()
        self._test = IndependenceTest(self.law) if tested else None
        self._first = rules.first_winner
        self.recent: list[tuple[int, ...]] = [()]
        self.embedded = {"guarded": guarded, "seed": seed}

    def follow(self, bidder: FirstPriceBidder) -> None:
        """Take over what a bidder learns, which plays instead."""
        self.law = bidder.learner.law
        self._pacer = None if bidder.spending is None else bidder.spending.pacer
        self._test = self._test and bidder.learner.test

    def look_at(self, labels: Integers | None) -> None:
        """Note some of the latest classes, over which the curve is averaged."""
        if labels is not None:
            rows = np.linspace(0, len(labels) - 1, _SAMPLE).astype(np.int64)
            self.recent = list(map(tuple, labels[rows].tolist()))

    def bids(self, chunk: Chunk) -> Floats:
        labels = None if chunk.classes is None else chunk.classes[:, :-1]
        columns = {} if labels is None else dict(zip(self.law.classes, labels.T, strict=True))
        firsts = np.full(chunk.values.size, self._first)
        known: dict[str, Any] = {"firsts": firsts, "cells": chunk.cells, "classes": columns}
        if self._pacer is None:
            arms = self._player.play(chunk.values, chunk.prices, **known)
        else:
            arms, self.pseudo = self._pacer.play(
                self._player, chunk.values, chunk.prices, times=chunk.times, **known
            )
        self.look_at(labels)
        if self._test is not None:
            made = arms >= 0
            kinds, indices, _ = shown_to(self.law, chunk.cells[made], arms[made])
            given = {name: column[made] for name, column in columns.items()}
            played = arms[made]
            self._test.learn_all(chunk.values[made], kinds, indices, played=played, classes=given)
        bids: Floats = self.law.amounts[np.maximum(arms, 0)]  # amount 0 is no bid
        return bids

    def diagnosis(self) -> Diagnosis | None:
        """Return whether prices depend on values, if that was tested."""
        return None if self._test is None else self._test.diagnosis()

    def curve(self, values: Floats) -> Floats:
        worths = pseudo_values(self._pacer, values)
        return np.array(list(map(self._mean_bid, values.tolist(), worths.tolist())))

    def _mean_bid(self, value: float, worth: float) -> float:
        """Return the bid at a value, averaged over classes of recent auctions."""
        if self.law.highest(worth) < self._first:
            return 0.0
        amounts = [
            self.law.decide(
                value,
                worth=worth,
                first=self._first,
                uniforms=_NO_NOISE,
                **dict(zip(self.law.classes, labels, strict=True)),
            ).amount
            for labels in self.recent
        ]
        return float(np.mean(amounts))


class BestResponse(Strategy):
    """Bid what would earn most against the distribution of prices, estimated from the past.

    It knows of the past what `feedback` would have told it. If losers are told, the estimate starts
    from nothing: every bid above 0 is assumed to win until prices are known. Otherwise it starts
    from one imagined auction whose price is uniform on the grid, because a bidder that is told
    nothing about higher bids would never raise its bid.
    """

    def __init__(
        self,
        rules: AuctionRules,
        feedback: Feedback,
        name: str,
        note: str,
        pacer: Pacer | None = None,
    ) -> None:
        self.name, self.note = name, note
        self._rules, self._pacer = rules, pacer
        code = FEEDBACK_CODES[feedback]
        self._chances = np.empty(rules.arms)
        counts = _first_counts(rules.arms, code)
        self._estimate = PriceEstimate(code, rules.amounts, *counts, self._chances)
        self._estimate.estimate()

    def bids(self, chunk: Chunk) -> Floats:
        arms = np.empty(chunk.values.size, dtype=np.int64)
        amounts, first = self._rules.amounts, self._rules.first_winner
        if self._pacer is None:
            self._estimate.respond(chunk.values, chunk.cells, first, arms)
        else:
            self.pseudo = np.empty(arms.size)
            for now, paced in paced_rounds(chunk, self._pacer, self._rules):
                paced.core.auctions(paced).respond(first, self._estimate, arms[now])
                self.pseudo[now] = paced.pseudo
        bids: Floats = amounts[arms]
        return bids

    def follow(self, pacer: Pacer | None) -> None:
        """Take over the limits of a player that bids instead, one by one."""
        self._pacer = pacer

    def respond_to(self, worth: float, cap: int) -> tuple[int, float]:
        """Return the best response that may be made, by number, and its chance to win."""
        first = self._rules.first_winner
        arm = min(self._estimate.best_bid(worth, first), cap)
        return (arm, float(self._chances[arm])) if arm >= first else (0, 0.0)

    def learn_from(self, arm: int, cell: int) -> None:
        """Learn what the price of an auction shows after a bid."""
        self._estimate.learn(arm, cell)

    def curve(self, values: Floats) -> Floats:
        return best_on_grid(pseudo_values(self._pacer, values), self._rules, self._chances)


def _first_counts(arms: int, feedback: int) -> tuple[Floats, Floats]:
    """Return the told and the hidden auctions with which an estimate begins."""
    if feedback == AFTER_LOSS:
        return (np.zeros(arms + 1), np.zeros(arms + 1))
    if feedback != WON_LOST:
        return (np.full(arms + 1, 1 / (arms + 1)), np.zeros(arms + 1))
    rising = np.append(np.arange(1, arms + 1) / (arms + 1), 0.0) / arms
    return (rising, 1 / arms - rising)


def pseudo_values(pacer: Pacer | None, values: Floats) -> Floats:
    """Return the pseudo-values of some values now; the values themselves without limits."""
    if pacer is None:
        return values
    found = [pacer.reserved.core.pseudo_value(value) for value in values.tolist()]
    return np.minimum(found, values)


def paced_rounds(
    chunk: Chunk, pacer: Pacer, rules: AuctionRules
) -> Iterator[tuple[slice, PacedRounds]]:
    """Yield the auctions of a chunk, split where periods begin, with their positions in it."""
    times = np.zeros(chunk.values.size) if chunk.times is None else chunk.times
    for start, stop in pacer.periods.pieces(times):
        now = slice(start, stop)
        yield (
            now,
            PacedRounds(
                pacer.alone(),
                bids=rules.amounts,
                values=np.ascontiguousarray(chunk.values[now]),
                cells=chunk.cells[now],
                times=np.ascontiguousarray(times[now]),
                pseudo=np.empty(stop - start),
                factor=1.0 / rules.highest_value,
            ),
        )


class ThrottledStrategy(Strategy):
    """A strategy that knows nothing of limits, and a throttle that drops some of its bids.

    A bid is not made if it could break a limit, or if the strategy has spent more than the plan of
    a budget allows for up to now. The plan of a budget is even in time, or in the number of
    auctions; with "asap" there is none. The strategy does not know which of its bids are dropped.
    """

    def __init__(self, strategy: Strategy, setting: ReplaySetting) -> None:
        pacer = setting.pacer()
        if pacer is None:
            raise ValueError("Without limits, there is nothing to throttle.")
        self.throttled = self._strategy = strategy
        self._pacer, self._rules = pacer, setting.rules
        self.name, self.kind, self.note = strategy.name, strategy.kind, strategy.note

    def bids(self, chunk: Chunk) -> Floats:
        wanted = np.asarray(self._strategy.bids(chunk), dtype=np.float64)
        won = self._rules.wins(wanted, chunk.prices)
        costs = np.ceil(wanted / self._pacer.rules.unit).astype(np.int64)
        made = np.empty(wanted.size, dtype=np.bool_)
        for now, paced in paced_rounds(chunk, self._pacer, self._rules):
            auctions = paced.core.auctions(paced)
            auctions.throttle(costs[now], won[now].view(np.uint8), made[now])
        return np.where(made, wanted, 0.0)

    def curve(self, values: Floats) -> Floats:
        return self._strategy.curve(values)


# --- oracles, which know the whole log in advance: what could be earned, with limits or without --


BANDS = 25  # the most bands of values, each with about the same sum of values


class Hindsight(NamedTuple):
    """What the oracles need to know of a whole log."""

    edges: Floats  # at most BANDS - 1 values, ascending: where bands begin, but the first
    possible: float  # what could be earned by somebody who knows each price and may bid any amount
    auctions: Floats  # (BANDS,). The number of auctions in each band of values.
    wins: Floats  # (K,). The number of auctions that each bid would have won, at any value.
    band_wins: Floats  # (BANDS, K). Like `wins`, for each band; in one without auctions, `wins`.
    class_wins: Floats | None
    won: Floats
    worth: Floats  # (parts, BANDS, K). Their values, summed.
    purchases: Purchases | None  # with limits, the auctions that are worth their price


def band_edges(survey: Survey) -> Floats:
    """Return where bands of values begin, but the first, so that each has the same sum of values.

    Bands of the same width would put most auctions into one, if a few values are very high; with
    the same number of auctions, the highest values, in which there is most to earn, would share
    one.
    """
    bins = np.array(sorted(survey.value_counts))
    counts = np.array([survey.value_counts[one] for one in bins.tolist()], dtype=float)
    sums = np.cumsum(counts * np.exp2((bins + 0.5) / VALUE_BINS))
    last = np.unique(np.searchsorted(sums, sums[-1] * np.arange(1, BANDS) / BANDS))
    edges: Floats = np.exp2((bins[last[last < bins.size - 1]] + 1) / VALUE_BINS)
    return edges


def collect_hindsight(
    chunks: Iterable[Auctions],
    rules: AuctionRules,
    edges: Floats,
    limits: ReplayLimits | None = None,
) -> Hindsight:
    """Read a whole log into small tables; `edges` are those of bands of values."""
    width, possible = rules.arms + 1, 0.0
    counts, by_class = _Sums(BANDS, width), _Sums(1, width)
    won, worth = _Sums(BANDS, width), _Sums(BANDS, width)
    purchases = Purchases() if limits else None
    for chunk in chunks:
        prices = prices_to_beat(chunk, rules)
        first, bands = rules.cells(prices), bands_of(chunk.values, edges)
        possible += float(np.maximum(chunk.values - _enough_to_win(prices, rules), 0.0).sum())
        counts.add(bands, first)
        if chunk.classes is not None:
            by_class.add(chunk.classes[:, -1], first)
        if limits and purchases is not None:
            start = limits.read
            sections = limits.add(prices.size, chunk.times)
            limits.require_few_periods(width * BANDS)
            rows = bands + BANDS * limits.parts(start, start + prices.size)
            # An auction counts for the bids from the lowest that wins to the highest that is at
            # most the value: it is added at the first of them, and subtracted after the last.
            after = np.maximum(np.searchsorted(rules.amounts, chunk.values, "right"), first)
            for bids, sign in ((first, 1.0), (after, -1.0)):
                won.add(rows, bids, np.full(rows.size, sign))
                worth.add(rows, bids, sign * chunk.values)
            purchases.add(chunk.values, lowest_winners(first, rules), sections)
    by_band, auctions = counts.up_to_each(), counts.table.sum(axis=1)
    wins = by_band.sum(axis=0)
    shape = (-1, BANDS, rules.arms)
    numbers = np.rint(won.up_to_each()).reshape(shape)
    values = np.where(numbers > 0, worth.up_to_each().reshape(shape), 0.0)  # no rounding error
    return Hindsight(
        edges,
        possible,
        auctions,
        wins,
        np.where(auctions[:, None] > 0, by_band, wins),
        by_class.up_to_each() if by_class.table.any() else None,
        numbers,
        values,
        purchases,
    )


class _Sums:
    """Sums by rows and bids. The number of rows is doubled when there are more."""

    def __init__(self, rows: int, width: int) -> None:
        self.table = np.zeros((rows, width))

    def add(self, rows: Integers, bids: Integers, amounts: Floats | None = None) -> None:
        """Add amounts, or 1 each."""
        while rows.max(initial=0) >= len(self.table):
            self.table = np.vstack([self.table, np.zeros_like(self.table)])
        places = self.table.shape[1] * rows + bids
        self.table += np.bincount(places, amounts, self.table.size).reshape(self.table.shape)

    def up_to_each(self) -> Floats:
        """Return the running sums over the bids; what is above all bids is left out."""
        sums: Floats = self.table.cumsum(axis=1)[:, :-1]
        return sums


def lowest_winners(cells: Integers, rules: AuctionRules) -> Floats:
    """Return the lowest bid of the grid that wins, by the cells of prices; infinite if none."""
    bids: Floats = np.append(rules.amounts, np.inf)[cells]
    return bids


def _enough_to_win(prices: Floats, rules: AuctionRules) -> Floats:
    """Return the lowest amount that wins against each price, without a grid.

    A tie that would lose, and a price of 0, are beaten by the smallest possible amount.
    """
    enough = prices if rules.ties == "win" else np.nextafter(prices, np.inf)
    return np.maximum(enough, max(rules.reserve, np.nextafter(0.0, 1.0)))


def bands_of(values: Floats, edges: Floats) -> Integers:
    """Return the number of the band of each value."""
    return np.searchsorted(edges, values, "right")


class BestPolicy(Strategy):
    """At each value, the bid that would have earned most at this value over all prices of the log.

    It is the comparator of the paper's theorem, which assumes that prices do not depend on values.
    """

    kind = "oracle"
    name = "best fixed policy"
    note = "each value by all prices, in hindsight"

    def __init__(
        self, rules: AuctionRules, wins: Floats, edges: Floats | tuple[float, ...] = ()
    ) -> None:
        self._rules, self._wins, self._edges = rules, wins, np.asarray(edges)

    def bids(self, chunk: Chunk) -> Floats:
        return self.curve(chunk.values)

    def curve(self, values: Floats) -> Floats:
        return self._best(values, bands_of(values, self._edges))

    def _best(self, values: Floats, groups: Integers) -> Floats:
        bids = np.empty(values.size)
        for group in np.unique(groups):
            inside = groups == group
            bids[inside] = best_on_grid(values[inside], self._rules, self._wins[group])
        return bids


class BandPolicy(BestPolicy):
    """At each value, the bid that would have earned most there in all auctions of its band.

    Unlike the best fixed policy, it uses that prices may depend on values. With few auctions per
    band it is fitted to chance as well. In a band without auctions it bids like the best fixed
    policy.
    """

    name = "best policy per band"
    note = f"each value by the prices of its band, of {BANDS}, in hindsight"


class ClassPolicy(BestPolicy):
    """At each value, the bid that would have earned most there in all auctions of its class.

    With more than one class column, a class is a combination of levels.
    """

    name = "best policy per class"
    note = "each value by the prices of its class, in hindsight"

    def bids(self, chunk: Chunk) -> Floats:
        if chunk.classes is None:
            raise ValueError("A log without class columns has no policy per class.")
        return self._best(chunk.values, chunk.classes[:, -1])

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # it bids by class, too


class PerfectKnowledge(Strategy):
    """Make the lowest bid of the grid that wins, if the value is at least as high.

    With the bids of the grid, nobody can earn more.
    """

    kind = "oracle"
    name = "perfect knowledge"
    note = "knows each price beforehand; bids on the grid"

    def __init__(self, rules: AuctionRules) -> None:
        self._rules = rules

    def bids(self, chunk: Chunk) -> Floats:
        lowest = lowest_winners(chunk.cells, self._rules)
        return np.where(lowest <= chunk.values, lowest, 0.0)

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # it bids by price, not by value


POLICIES = (BestPolicy.name, BandPolicy.name, ClassPolicy.name)  # that know what no bidder knows


_ROUNDING = 1e-9  # share of a budget; a smaller excess is a rounding error


class LimitedBands(Strategy):
    """The bid per band of values that maximises earnings minus the multiplier times payments.

    The multiplier is the lowest that keeps the limits. At that multiplier two maps from bands to
    bids may be equally good; they are mixed so that the limits are used up. The result is exactly
    the best mixture of maps. Where the bid is above the value, no bid is made. Periods differ in
    nothing but their multiplier: what a bid wins is taken from the whole log. With several budgets,
    these are the longest periods, and the shorter ones whose budgets would be exceeded otherwise.
    """

    kind = "oracle"

    def __init__(
        self, rules: AuctionRules, hindsight: Hindsight, limits: ReplayLimits, *, paced: bool
    ) -> None:
        self.name = PACED if paced else ONE_MULTIPLIER
        self.note = _note(limits, paced=paced)
        self._rules, self._edges, self._paced = rules, hindsight.edges, paced
        self._empty = hindsight.auctions == 0  # bands in which nothing is known of bids
        won, worth = (one[: limits.part_count] for one in (hindsight.won, hindsight.worth))
        if not paced:
            won, worth = won.sum(axis=0, keepdims=True), worth.sum(axis=0, keepdims=True)
        find = _maps_by_section if paced else best_maps
        self._maps = find(worth, won * rules.amounts, won, limits.terms(paced=paced))

    def entries(self, chunk: Chunk) -> list[SharedBids]:
        """Return the bids of all maps, with their weights."""
        parts = chunk.parts if self._paced else None
        rows = np.zeros(chunk.values.size, dtype=np.int64) if parts is None else parts
        bands = bands_of(chunk.values, self._edges)
        return [
            SharedBids(self._bid(one.bids, rows, bands, chunk.values), one.weights[rows])
            for one in self._maps
        ]

    def bids(self, chunk: Chunk) -> Floats:
        entries = self.entries(chunk)
        mean: Floats = sum((one.bids * one.shares for one in entries), np.zeros(chunk.values.size))
        return mean

    def curve(self, values: Floats) -> Floats:
        bands, mean = bands_of(values, self._edges), np.zeros(values.size)
        for one in self._maps:
            for part, weight in enumerate(one.weights / len(one.weights)):
                rows = np.full(values.size, part)
                mean += weight * self._bid(one.bids, rows, bands, values)
        return np.where(self._empty[bands], np.nan, mean)

    def _bid(self, maps: Integers, rows: Integers, bands: Integers, values: Floats) -> Floats:
        bids = self._rules.amounts[maps[rows, bands]]
        return np.where(bids <= values, bids, 0.0)


def _maps_by_section(worth: Floats, spend: Floats, won: Floats, terms: Terms) -> list[Map]:
    """Return the best mixture of maps for each section; some sections share a multiplier.

    A short period gets a multiplier of its own only if its budget would be exceeded with that of
    the longer period. So a budget that never binds changes nothing.
    """
    own = [np.zeros(level.budgets.size, dtype=np.bool_) for level in terms.levels]
    own[-1][:] = True
    while True:
        groups, levels = _groups(terms.levels, own)
        sums = [np.zeros((levels[0].of.size, *worth.shape[1:])) for _ in range(3)]
        for total, table in zip(sums, (worth, spend, won), strict=True):
            np.add.at(total, groups, table)
        free = np.full(levels[0].of.size, np.inf)
        found = paced_maps(sums[0], sums[1], sums[2], terms._replace(budgets=free, longer=levels))
        maps = [one._replace(weights=one.weights[groups], bids=one.bids[groups]) for one in found]
        spent = np.zeros(len(groups))
        for one in maps:
            chosen = np.take_along_axis(spend, one.bids[:, :, None], axis=2)
            spent += one.weights * chosen.sum(axis=(1, 2))
        exceeded = [
            np.bincount(level.of, spent, level.budgets.size) > level.budgets * (1 + _ROUNDING)
            for level in terms.levels
        ]
        if not any((now & ~before).any() for now, before in zip(exceeded, own, strict=True)):
            return maps
        own = [now | before for now, before in zip(exceeded, own, strict=True)]


def _groups(
    levels: Sequence[Level], own: Sequence[npt.NDArray[np.bool_]]
) -> tuple[Integers, tuple[Level, ...]]:
    """Return the group of each section, and the budgets of groups in place of sections.

    A group is a period that has its own multiplier, without the shorter periods inside it that have
    their own. At the levels of shorter periods, a group has no budget.
    """
    last = len(levels)
    depths = [np.where(own[k][level.of], k, last) for k, level in enumerate(levels)]
    depth = np.min(depths, axis=0)
    # The periods of each section, the longest first; the number after the last means none.
    keys = [np.where(depth <= k, one.of, one.budgets.size) for k, one in enumerate(levels)]
    rows, groups = np.unique(np.stack(keys[::-1], axis=1), axis=0, return_inverse=True)
    found = []
    for k, level in enumerate(levels):
        periods, of = np.unique(rows[:, : last - k], axis=0, return_inverse=True)
        found.append(Level(of.ravel(), np.append(level.budgets, np.inf)[periods[:, -1]]))
    return groups.ravel(), tuple(found)


class LimitedKnowledge(PerfectKnowledge):
    """Buy the auctions with the most value per price: the lowest bid of the grid that wins.

    It is the optimum of a fractional knapsack: the last auction that a budget can pay for may be
    bought in part. With the bids of the grid, nobody can earn more under the limits.
    """

    note = "knows each price beforehand, and buys what is worth most for its price, on the grid"

    def __init__(self, rules: AuctionRules, hindsight: Hindsight, limits: ReplayLimits) -> None:
        super().__init__(rules)
        purchases = hindsight.purchases or Purchases()
        self._cuts = purchases.best(limits.terms(paced=limits.periodic))
        self.note = f"{self.note}{_without(limits)}"

    def entries(self, chunk: Chunk) -> list[SharedBids]:
        """Return the prices, and which part of each auction is bought."""
        prices = lowest_winners(chunk.cells, self._rules)
        sections = chunk.sections
        if sections is None:
            sections = np.zeros(prices.size, dtype=np.int64)
        shares = np.zeros(prices.size)
        for cut in self._cuts:
            shares += cut.weight * cut.shares(chunk.values, prices, sections)
        return [SharedBids(np.where(shares > 0, prices, 0.0), shares)]


ONE_MULTIPLIER = "best map, one multiplier"
PACED = "best map, evenly paced"


def comparator_of(limits: ReplayLimits, outcomes: Sequence[StrategyResult]) -> str:
    """Return the oracle that regret is counted from.

    With limits it is the best maps that keep each budget. Without, it is the policy that earned
    most, usually the one by bands: strategies that learn how prices depend on values, or on
    classes, earn more than one that pools all prices, so that their regret to it would be negative.
    """
    if limits:
        return PACED if limits.periodic else ONE_MULTIPLIER
    policies = [one for one in outcomes if one.strategy in POLICIES]
    return max(policies, key=lambda one: one.mean_surplus).strategy


def _note(limits: ReplayLimits, *, paced: bool) -> str:
    bands = f"a bid for each of {BANDS} bands of values, in hindsight"
    if paced:
        return f"{bands}; a multiplier for each period{_without(limits)}"
    return f"{bands}; money may be moved between periods" if limits.periodic else bands


def _without(limits: ReplayLimits) -> str:
    """Return which budgets an oracle does not keep, as a part of its note."""
    left = limits.left_out()
    if not left:
        return ""
    return f"; without {' and '.join(map(describe, left))}: its periods overlap those of another"


def oracles(rules: AuctionRules, hindsight: Hindsight, limits: ReplayLimits) -> Iterator[Strategy]:
    """Yield all oracles of a replay."""
    if not limits:
        yield BestPolicy(rules, hindsight.wins[None])
        yield BandPolicy(rules, hindsight.band_wins, hindsight.edges)
        if hindsight.class_wins is not None:
            yield ClassPolicy(rules, hindsight.class_wins)
        yield PerfectKnowledge(rules)
        return
    for paced in [False, True] if np.isfinite(limits.total) else [False]:
        yield LimitedBands(rules, hindsight, limits, paced=paced)
    yield LimitedKnowledge(rules, hindsight, limits)


# --- who takes part ----------------------------------------------------------------------------

LEARNERS, BEST_RESPONSES, FRACTIONS = "learners", "best responses", "fractions"
USUAL = (LEARNERS, BEST_RESPONSES, FRACTIONS)
USUAL_FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_SHADING = "shading "
_LAWS = {"law": LAW, LAW: LAW, "guarded law": GUARDED, GUARDED: GUARDED}
_GROUPS = {
    BEST_RESPONSES: (TOLD, ALL_TOLD),
    FRACTIONS: (*(f"{_SHADING}{fraction}" for fraction in USUAL_FRACTIONS), TRUTHFUL),
}


def build_strategies(
    wanted: Sequence[str | Algorithm | Strategy], setting: ReplaySetting, seeds: Sequence[int]
) -> tuple[list[Strategy], list[str]]:
    """Return the strategies, one per seed for a learner, and notes on learners left out.

    If a learner that was asked for cannot play the log, this raises; one of the usual learners is
    left out. The adaptive learner plays like a `FirstPriceBidder`, unless it is given with
    parameters.
    """
    found: dict[str, list[Strategy]] = {}
    notes = []
    usual = _anchored(CrossGraphAdaptive(), setting)
    for one in _expand(wanted):
        if one == LEARNERS:
            found.setdefault(LAW, _laws(LAW, setting, seeds))
            for algorithm in (usual, CrossGraph()):
                name = name_of(algorithm, usual)
                try:
                    found.setdefault(name, _learners(name, algorithm, setting, seeds))
                except InvalidInputError as error:
                    notes.append(f"{name} cannot play this log and is left out. {error}")
            continue
        strategies = _build(one, usual, setting, seeds)
        name = strategies[0].name
        if name in found and isinstance(one, Strategy) and not isinstance(one, Shading):
            reject("replay", "strategies", "strategies with different names", name)
        found.setdefault(name, strategies)
    players = [strategy for group in found.values() for strategy in group]
    return [kept_to_limits(strategy, setting) for strategy in players], notes


def kept_to_limits(strategy: Strategy, setting: ReplaySetting) -> Strategy:
    """Return the strategy, or one that keeps the limits of the replay if there are limits.

    If outcomes come late, or campaigns have limits of their own, it plays auction by auction. So
    does a law without a grid.
    """
    lays = setting.lays and strategy.name == LAW
    if setting.delay or setting.campaign is not None or lays:
        from crossbandit.logs.replay.late import late

        return late(strategy, setting)
    paces_itself = isinstance(strategy, LearnerStrategy | LawStrategy | BestResponse)
    return strategy if paces_itself or not setting.limits else ThrottledStrategy(strategy, setting)


def _expand(wanted: Sequence[object]) -> Iterator[object]:
    """Yield the wanted strategies, with the members of a group in place of its name."""
    if isinstance(wanted, str) or not wanted:
        reject("replay", "strategies", "a list of at least one strategy", wanted)
    for one in wanted:
        members = _GROUPS.get(one) if isinstance(one, str) else None
        yield from members or (one,)


def _build(
    one: object, usual: Algorithm, setting: ReplaySetting, seeds: Sequence[int]
) -> list[Strategy]:
    """Return a strategy; for a learner, one per seed."""
    if isinstance(one, Strategy):
        choice(type(one).__name__, "kind", one.kind, KINDS)
        return [one]
    if one == TOLD and setting.feedback != "always":
        note = "to past prices, as far as told"
        return [BestResponse(setting.rules, setting.feedback, TOLD, note, setting.pacer())]
    if one in {TOLD, ALL_TOLD}:
        note = "to all past prices"
        return [BestResponse(setting.rules, "always", ALL_TOLD, note, setting.pacer())]
    if isinstance(one, str) and one in _LAWS:
        return _laws(_LAWS[one], setting, seeds)
    if isinstance(one, str) and (fraction := _fraction(one)):
        return [Shading(fraction)]
    algorithm = one if isinstance(one, Algorithm) else _named(one)
    algorithm = _anchored(algorithm, setting)
    name = name_of(algorithm, usual)
    try:
        return _learners(name, algorithm, setting, seeds)
    except InvalidInputError as error:
        able = ", ".join(_able(setting)) or "none"
        raise type(error)(
            f"{name} cannot play this log. {error} Algorithms that can: {able}."
        ) from error


def _anchored(algorithm: Algorithm, setting: ReplaySetting) -> Algorithm:
    return anchored_as(algorithm, helps=setting.feedback == "after-loss")


def _learners(
    name: str, algorithm: Algorithm, setting: ReplaySetting, seeds: Sequence[int]
) -> list[Strategy]:
    if setting.campaign is not None:
        raise InvalidParameterError("Campaigns share a law of prices, and it has none.")
    return [LearnerStrategy(name, algorithm, setting, seed) for seed in seeds]


def _laws(name: str, setting: ReplaySetting, seeds: Sequence[int]) -> list[Strategy]:
    """Return a law per seed; the first one tests whether prices depend on values."""
    return [
        LawStrategy(setting, seed, guarded=name == GUARDED, tested=seed == seeds[0])
        for seed in seeds
    ]


def _fraction(name: str) -> float | None:
    """Return the fraction that a name such as "50 % of value" stands for, or None for others."""
    if name == TRUTHFUL:
        return 1.0
    try:
        if name.endswith(_OF_VALUE):
            return float(name.removesuffix(_OF_VALUE)) / 100
        return float(name.removeprefix(_SHADING)) if name.startswith(_SHADING) else None
    except ValueError:
        raise InvalidParameterError(
            f"A fixed fraction is named like '50 % of value' or 'shading 0.5'. Got {name!r}."
        ) from None


def _named(name: object) -> Algorithm:
    ids = list(registered())
    if isinstance(name, str) and name in ids:
        return from_json({"id": name})
    names = ["law", "guarded law", *ids, *USUAL, TOLD, ALL_TOLD, TRUTHFUL]
    near = get_close_matches(str(name), names, n=2)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise InvalidParameterError(
        "The 'strategies' parameter of replay must list strategies, algorithms, or names among "
        f"{', '.join(map(repr, names))} and '50 % of value'. Got {name!r}.{hint}"
    )


def _able(setting: ReplaySetting) -> Iterator[str]:
    """Yield the ids of the algorithms that can play."""
    for id_ in registered():
        try:
            _learners(id_, _anchored(from_json({"id": id_}), setting), setting, [0])
        except Exception:  # noqa: BLE001, S112  # an algorithm of a user's own may fail in any way
            continue
        yield id_


def name_of(algorithm: Algorithm, usual: Algorithm) -> str:
    """Return the id of an algorithm, with the parameters that differ from the usual ones.

    >>> from crossbandit import CrossGraphAdaptive
    >>> name_of(CrossGraphAdaptive(half_life=1000), CrossGraphAdaptive())
    'cross-graph-adaptive (half_life=1000.0)'
    """
    same = usual.to_json() if usual.id == algorithm.id else type(algorithm)().to_json()
    own = [f"{name}={value}" for name, value in algorithm.to_json().items() if value != same[name]]
    return f"{algorithm.id} ({', '.join(own)})" if own else algorithm.id
