"""Environments that may break the adaptive learner, beside those that are registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit import Problem, graphs
from crossbandit.environments import BlockEnvironment, FiniteContexts
from crossbandit.environments.environment import row_block
from crossbandit.environments.synthetic import Stochastic

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit import FeedbackGraph
    from crossbandit.core.blocks import LossBlock


class Alternating(BlockEnvironment):
    """Two arms that lose 1 and 0 in turn, `period` rounds each; a third that always loses 0.42."""

    def __init__(self, horizon: int, period: int) -> None:
        up = (np.arange(horizon) // period) % 2
        self._losses = np.full((horizon, 5, 1), 0.6)
        self._losses[:, 0, 0] = up
        self._losses[:, 1, 0] = 1 - up
        self._losses[:, 2, 0] = 0.42
        self.problem = Problem(graphs.singletons(5), contexts=1, horizon=horizon)
        self.context_distribution = FiniteContexts(1)

    def block(self, start: int, stop: int) -> LossBlock:
        return row_block(self._losses[start:stop])


class Wandering:
    """Contexts that are not i.i.d.: a tenth of all, sliding over the whole list in the horizon."""

    probabilities = None

    def __init__(self, contexts: int, horizon: int) -> None:
        self._contexts, self._horizon = contexts, horizon
        self._drawn: tuple[Any, int] = (None, 0)

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        owner, at = self._drawn
        at = at if owner is generator else 0
        self._drawn = (generator, at + count)
        place = (at + np.arange(count)) / self._horizon + generator.random(count) / 10
        return (place * self._contexts).astype(np.int64) % self._contexts


def late(
    graph: FeedbackGraph, horizon: int, *, contexts: int = 1, noisy: bool = True
) -> Stochastic:
    """Return losses in which the worst arm becomes the best after a third of the rounds.

    Context c has the means of the arms turned by c places.
    """
    before = np.full(graph.arms, 0.5)
    before[:2] = 0.7, 0.4
    after = before.copy()
    after[0] = 0.1
    phases = [
        (share, np.stack([np.roll(means, c) for c in range(contexts)], axis=1))
        for share, means in ((0.0, before), (1 / 3, after))
    ]
    return Stochastic(graph=graph, horizon=horizon, phases=phases, noisy=noisy)


def turning_bad(graph: FeedbackGraph, horizon: int) -> Stochastic:
    """Return losses in which an arm without self-loop is best and later worst."""
    before, after = np.full((2, graph.arms), 0.5)
    before[graph.arms_without_self_loop[0]] = 0.1
    after[graph.arms_without_self_loop[0]] = 0.9
    return Stochastic(graph=graph, horizon=horizon, phases=[(0.0, before), (0.4, after)])
