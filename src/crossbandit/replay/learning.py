"""Strategies that learn: algorithms, the law of prices, and best responses to past prices.

With limits they bid for pseudo-values in place of values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.bidding import Observations, estimate, respond
from crossbandit.kernels.feedback import AFTER_LOSS, FEEDBACK_CODES, WON_LOST
from crossbandit.kernels.paced_rounds import (
    TICKET,
    PacedRounds,
    limit_round,
    respond_paced,
    settle_round,
)
from crossbandit.kernels.pacing import pseudo_value
from crossbandit.kernels.rounds import Rounds
from crossbandit.laws import GuardedLaw, IndependenceTest, OutcomeLaw
from crossbandit.laws.rounds import shown_to
from crossbandit.replay.strategies import Strategy, best_on_grid
from crossbandit.simulation.players import BatchPlayer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.kernels.rounds import ContextBlock, LossBlock
    from crossbandit.laws import Diagnosis
    from crossbandit.limits import Pacer
    from crossbandit.replay.strategies import Chunk, Setting
    from crossbandit.types import Floats, Integers

LAW, GUARDED = "price law", "guarded price law"
_ENTRIES = 2**19  # the most classes times bids that a law distinguishes
_MOST_CLASSES = 4096
_SAMPLE = 16  # the number of auctions whose classes the curve is averaged over
_NO_NOISE = (0.0, 0.0, 1.0 - 1e-9)  # random numbers with which a law does not explore


class LearnerStrategy(Strategy):
    """A learner of this library; it sees what its feedback graph reveals."""

    kind = "learner"

    def __init__(self, name: str, algorithm: Algorithm, setting: Setting, seed: int) -> None:
        self.name = name
        self.learner = algorithm.start(setting.problem, seed=seed)
        self._rules = setting.rules
        self._pacer = setting.pacer()

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
        for i in range(arms.size):  # the algorithm has no compiled loop
            if paced is not None:
                limit_round(paced, contexts, i)
            decision = self.learner.act(contexts.table[i, 0], contexts.available[i])
            self.learner.learn(decision, losses.base[i, list(decision.revealed)])
            arms[i] = decision.arm
            if paced is not None:
                settle_round(paced, i, decision.arm)

    def curve(self, values: Floats) -> Floats:
        values = pseudo_values(self._pacer, values)
        contexts, available = self._rules.contexts(values), self._rules.available(values)
        masks = [None] * values.size if available is None else list(available)
        policies = list(map(self.learner.policy, contexts, masks))
        mean: Floats = np.array(policies) @ self._rules.amounts
        return mean


class LawStrategy(Strategy):
    """An `OutcomeLaw` of the highest competing bid; it is told what its own bids reveal.

    Args:
        setting: What is known before the first auction.
        seed: The seed of the law's random numbers.
        guarded: Whether a `GuardedLaw` bids.
        tested: Whether to test if prices depend on values.
    """

    kind = "learner"

    def __init__(
        self, setting: Setting, seed: int, *, guarded: bool = False, tested: bool = False
    ) -> None:
        rules = setting.rules
        self.name = GUARDED if guarded else LAW
        self.law = OutcomeLaw(
            rules.amounts,
            (0.0, rules.highest_value),
            classes=[f"class_{i}" for i in range(setting.features)],
            feedback=setting.feedback,
            ties=rules.ties,
            class_limit=min(_MOST_CLASSES, max(64, _ENTRIES // rules.arms)),
            seed=seed,
        )
        self._player = GuardedLaw(self.law) if guarded else self.law
        self._pacer = setting.pacer()
        self._test = IndependenceTest(self.law) if tested else None
        self._first = rules.first_winner
        self._recent: list[tuple[int, ...]] = [()]

    def bids(self, chunk: Chunk) -> Floats:
        labels = None if chunk.classes is None else chunk.classes[:, :-1]
        columns = {} if labels is None else dict(zip(self.law.classes, labels.T, strict=True))
        firsts = np.full(chunk.values.size, self._first)
        if self._pacer is None:
            arms = self._player.play(
                chunk.values, chunk.prices, firsts=firsts, cells=chunk.cells, classes=columns
            )
        else:
            arms, self.pseudo = self._pacer.play(
                self._player,
                chunk.values,
                chunk.prices,
                times=chunk.times,
                firsts=firsts,
                cells=chunk.cells,
                classes=columns,
            )
        if labels is not None:
            rows = np.linspace(0, len(labels) - 1, _SAMPLE).astype(np.int64)
            self._recent = list(map(tuple, labels[rows].tolist()))
        if self._test is not None:
            self._examine(self._test, chunk, labels, arms)
        bids: Floats = self.law.amounts[np.maximum(arms, 0)]  # amount 0 is no bid
        return bids

    def _examine(
        self, test: IndependenceTest, chunk: Chunk, labels: Integers | None, arms: Integers
    ) -> None:
        made = arms >= 0
        kinds, indices, _ = shown_to(self.law, chunk.cells[made], arms[made])
        columns = {} if labels is None else zip(self.law.classes, labels[made].T, strict=True)
        test.learn_all(chunk.values[made], kinds, indices, played=arms[made], classes=dict(columns))

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
            for labels in self._recent
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
        feedback: str,
        name: str,
        note: str,
        pacer: Pacer | None = None,
    ) -> None:
        self.name, self.note = name, note
        self._rules = rules
        self._pacer = pacer
        self._feedback = FEEDBACK_CODES[feedback]
        self._seen = _first_observations(rules.arms, self._feedback)
        self._chances = np.empty(rules.arms)
        estimate(self._feedback, self._seen, np.empty((3, rules.arms)), self._chances)

    def bids(self, chunk: Chunk) -> Floats:
        arms = np.empty(chunk.values.size, dtype=np.int64)
        amounts, first = self._rules.amounts, self._rules.first_winner
        learned = (self._feedback, self._seen, self._chances, np.empty((3, amounts.size)))
        if self._pacer is None:
            respond(chunk.values, chunk.cells, amounts, first, *learned, arms)
        else:
            self.pseudo = np.empty(arms.size)
            for now, paced in paced_rounds(chunk, self._pacer, self._rules):
                respond_paced(paced, first, *learned, arms[now])
                self.pseudo[now] = paced.pseudo
        bids: Floats = amounts[arms]
        return bids

    def curve(self, values: Floats) -> Floats:
        return best_on_grid(pseudo_values(self._pacer, values), self._rules, self._chances)


def _first_observations(arms: int, feedback: int) -> Observations:
    if feedback == AFTER_LOSS:
        return Observations(np.zeros(arms + 1), np.zeros(arms + 1))
    if feedback != WON_LOST:
        return Observations(np.full(arms + 1, 1 / (arms + 1)), np.zeros(arms + 1))
    rising = np.append(np.arange(1, arms + 1) / (arms + 1), 0.0) / arms
    return Observations(rising, 1 / arms - rising)


def pseudo_values(pacer: Pacer | None, values: Floats) -> Floats:
    """Return the pseudo-values of some values now; the values themselves without limits."""
    if pacer is None:
        return values
    found = [pseudo_value(pacer.rules, pacer.state, value) for value in values.tolist()]
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
