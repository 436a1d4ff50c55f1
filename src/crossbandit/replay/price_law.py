"""The law of prices as a strategy: it learns prices by value and class, and bids by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.laws import GuardedLaw, IndependenceTest, OutcomeLaw
from crossbandit.laws.learning import shown_to
from crossbandit.replay.chunks import pseudo_values
from crossbandit.replay.strategies import Strategy

if TYPE_CHECKING:
    from crossbandit.laws import Diagnosis
    from crossbandit.replay.chunks import Chunk, Setting
    from crossbandit.types import Floats, Integers

LAW, GUARDED = "price law", "guarded price law"
_ENTRIES = 2**19  # classes times bids that a law tells apart
_MOST_CLASSES = 4096
_SAMPLE = 16  # auctions whose classes the curve is averaged over
_NO_NOISE = (0.0, 0.0, 1.0 - 1e-9)  # random numbers with which a law does what it thinks best


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
        worths = values if self._pacer is None else pseudo_values(self._pacer, values)
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
