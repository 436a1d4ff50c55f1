"""Environments on which the adaptive learner is measured: its bars, and some that may break it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit import Problem, environments, graphs
from crossbandit.environments import BlockEnvironment, FiniteContexts, UniformVectors, zipf
from crossbandit.environments.environment import row_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit import FeedbackGraph
    from crossbandit.environments.contexts import ContextLaw
    from crossbandit.kernels.rounds import Floats, LossBlock

_CHUNK = 1000


class Auctions(BlockEnvironment):
    """First-price auctions; a context is (1, value).

    The loss of a bid b against the price m is (1 - (value - b) 1{b >= m}) / 2. Prices are
    Beta(2, 4), or move with a slow wave.
    """

    def __init__(self, horizon: int, *, drifting: bool, bids: int = 100) -> None:
        noise = np.random.default_rng(0).beta(2, 4, horizon)
        wave = 1 + np.sin(3 * np.pi * np.arange(horizon) / horizon)
        moving = 0.15 + 0.1875 * wave + 0.5 * (noise - 1 / 3)
        self._prices = np.clip(moving, 0, 1) if drifting else noise
        self._bids = np.arange(bids) / bids
        self.problem = Problem(graphs.threshold(bids), features=2, horizon=horizon)
        self.context_law = UniformVectors([1, 0], [1, 1])

    def block(self, start: int, stop: int) -> LossBlock:
        won = self._bids >= self._prices[start:stop, None]
        return row_block(np.stack([0.5 * (1 + won * self._bids), -0.5 * won], axis=2))


class Phases(BlockEnvironment):
    """Losses whose means (K, contexts) are constant in each phase; Bernoulli, or the means.

    phases: (share of the horizon at which it begins, means of the arms) pairs. With `turned`,
    context c has the means of the arms turned by c places. `spread` shrinks losses towards 1/2.
    """

    def __init__(
        self,
        graph: FeedbackGraph,
        horizon: int,
        phases: Sequence[tuple[float, npt.ArrayLike]],
        *,
        contexts: int = 1,
        turned: bool = False,
        noisy: bool = True,
        spread: float = 1.0,
        context_law: ContextLaw | None = None,
    ) -> None:
        self._starts = np.array([int(share * horizon) for share, _ in phases])
        self._means = np.array([_turn(means, contexts, turned=turned) for _, means in phases])
        self._noisy, self._spread = noisy, spread
        self.problem = Problem(graph, contexts=contexts, horizon=horizon)
        self.context_law = FiniteContexts(contexts) if context_law is None else context_law

    def block(self, start: int, stop: int) -> LossBlock:
        phase = np.searchsorted(self._starts, np.arange(start, stop), side="right") - 1
        losses = self._means[phase]
        if self._noisy:
            losses = (self._uniforms(start, stop) < losses).astype(np.float64)
        return row_block(0.5 + self._spread * (losses - 0.5))

    def _uniforms(self, start: int, stop: int) -> Floats:
        pieces = []
        for chunk in range(start // _CHUNK, (stop - 1) // _CHUNK + 1):
            uniforms = np.random.default_rng([0, chunk]).random((_CHUNK, *self._means.shape[1:]))
            first = chunk * _CHUNK
            pieces.append(uniforms[max(start - first, 0) : min(stop - first, _CHUNK)])
        return np.concatenate(pieces)


class Alternating(BlockEnvironment):
    """Two arms that lose 1 and 0 in turn, `period` rounds each; a third that always loses 0.42."""

    def __init__(self, horizon: int, period: int) -> None:
        up = (np.arange(horizon) // period) % 2
        self._losses = np.full((horizon, 5, 1), 0.6)
        self._losses[:, 0, 0] = up
        self._losses[:, 1, 0] = 1 - up
        self._losses[:, 2, 0] = 0.42
        self.problem = Problem(graphs.singletons(5), contexts=1, horizon=horizon)
        self.context_law = FiniteContexts(1)

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


def gaps(
    graph: FeedbackGraph, horizon: int, contexts: int, gap: float, *, best: int | None = None
) -> Phases:
    """Return Bernoulli losses of mean 1/2, in each context less by `gap` for one random arm."""
    rng = np.random.default_rng(0)
    arms = rng.integers(graph.arms, size=contexts) if best is None else np.full(contexts, best)
    means = np.full((graph.arms, contexts), 0.5)
    means[arms, np.arange(contexts)] -= gap
    return Phases(graph, horizon, [(0.0, means)], contexts=contexts)


def late(graph: FeedbackGraph, horizon: int, **options: Any) -> Phases:
    """Return losses in which the worst arm becomes the best after a third of the rounds."""
    before = np.full(graph.arms, 0.5)
    before[:2] = 0.7, 0.4
    after = before.copy()
    after[0] = 0.1
    return Phases(graph, horizon, [(0.0, before), (1 / 3, after)], **options)


def turning_bad(graph: FeedbackGraph, horizon: int) -> Phases:
    """Return losses in which an arm without self-loop is best and later worst."""
    before = np.full(graph.arms, 0.5)
    before[graph.arms_without_self_loop[0]] = 0.1
    after = np.full(graph.arms, 0.5)
    after[graph.arms_without_self_loop[0]] = 0.9
    return Phases(graph, horizon, [(0.0, before), (0.4, after)])


def skewed(horizon: int, contexts: int) -> environments.PaperBenchmark:
    """Return the paper's benchmark with contexts by Zipf's law."""
    benchmark = environments.paper_benchmark(horizon, alpha=4, contexts=contexts)
    object.__setattr__(benchmark, "context_law", zipf(contexts))
    return benchmark


def _turn(means: npt.ArrayLike, contexts: int, *, turned: bool) -> Floats:
    means = np.asarray(means, dtype=np.float64)
    if means.ndim == 2:
        return means
    return np.stack([np.roll(means, c if turned else 0) for c in range(contexts)], axis=1)
