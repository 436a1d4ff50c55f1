"""Strategies that know nothing of limits, kept to them by leaving out bids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.paced_rounds import throttle
from crossbandit.replay.chunks import paced_rounds
from crossbandit.replay.strategies import Strategy

if TYPE_CHECKING:
    from crossbandit.replay.chunks import Chunk, Setting
    from crossbandit.types import Floats


class ThrottledStrategy(Strategy):
    """A strategy that knows nothing of limits, and what an engineer would put around it.

    A bid is not made if it could break a limit, or if the strategy has spent more than the plan of
    a budget allows for up to now. The plan is that of the budget: even in time, or in the number of
    auctions; with "asap" there is none. The strategy itself is not told.

    Args:
        strategy: The strategy.
        setting: What is known before the first auction, with limits.
    """

    def __init__(self, strategy: Strategy, setting: Setting) -> None:
        pacer = setting.pacer()
        if pacer is None:
            raise ValueError("Without limits, there is nothing to throttle.")
        self.strategy, self._pacer, self._rules = strategy, pacer, setting.rules
        self.name, self.kind, self.note = strategy.name, strategy.kind, strategy.note

    def bids(self, chunk: Chunk) -> Floats:
        wanted = np.asarray(self.strategy.bids(chunk), dtype=np.float64)
        won = self._rules.wins(wanted, chunk.prices)
        costs = np.ceil(wanted / self._pacer.rules.unit).astype(np.int64)
        made = np.empty(wanted.size, dtype=np.bool_)
        for start, paced in paced_rounds(chunk, self._pacer, self._rules):
            now = slice(start, start + paced.values.size)
            throttle(paced, costs[now], won[now], made[now])
        return np.where(made, wanted, 0.0)

    def curve(self, values: Floats) -> Floats:
        return self.strategy.curve(values)


def unthrottled(strategy: Strategy) -> Strategy:
    """Return the strategy inside a throttle."""
    return strategy.strategy if isinstance(strategy, ThrottledStrategy) else strategy
