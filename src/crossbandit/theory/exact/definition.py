"""Algorithm 2 as its definitions say it, one pair of rounds at a time.

This is what an implementation is compared with. It shares no code with the kernels: snapshots,
denominators, selector and policies are recomputed from the formulas of the paper, for every context
and from the whole sample. Epochs count from 1 here, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.epochs import EpochParameters
    from crossbandit.types import Floats


class Pair(NamedTuple):
    """How the randomness of one pair of rounds came out."""

    contexts: tuple[int, int]
    arms: tuple[int, int]
    side: int  # which of the two is the loss-estimation round
    retained: bool


def softmax(scores: Floats) -> Floats:
    """Return exp(scores) / sum(exp(scores)), over the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    normalised: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return normalised


def mixed(p: Floats, rho: float) -> Floats:
    """Return (1 - rho) p + rho / K."""
    result: Floats = (1 - rho) * p + rho / p.shape[-1]
    return result


@dataclass(frozen=True, eq=False)
class Definition:
    """An instance: graph, law of the contexts (M,) and the parameters of Algorithm 2."""

    graph: FeedbackGraph
    nu: Floats
    parameters: EpochParameters

    @cached_property
    def into(self) -> Floats:
        """N_in as a matrix: r @ into is r(N_in(a)), for every arm a."""
        return self.graph.adjacency.astype(np.float64)

    def first(self) -> Moment:
        """Return the moment before round 1."""
        arms, contexts = self.graph.arms, self.nu.size
        uniform = np.full((contexts, arms), 1 / arms)
        return Moment(self, 1, 0, np.zeros((contexts, arms)), uniform, uniform)


@dataclass(frozen=True, eq=False)
class Moment:
    """Algorithm 2 before a pair of rounds."""

    definition: Definition
    epoch: int
    pair: int  # of the epoch, from 0
    cumulative: Floats  # (M, K): sum of lhat + b so far
    snapshot: Floats  # (M, K): s_e
    upcoming: Floats  # (M, K): s_{e+1}
    denominators: Floats | None = None  # (K,): W_e; None in the warm-up epoch
    special: int | None = None  # j_e
    frequency: tuple[int, ...] = ()  # contexts of this epoch's frequency rounds so far
    learning: tuple[int, ...] = ()  # contexts of its loss-estimation rounds

    @property
    def key(self) -> bytes:
        """What the future depends on; two histories that agree in it may be merged."""
        arrays = (self.cumulative, self.snapshot, self.upcoming, self.denominators)
        rest = (self.epoch, self.pair, self.special, self.frequency, self.learning)
        return b"".join(a.tobytes() for a in arrays if a is not None) + repr(rest).encode()

    @cached_property
    def p(self) -> Floats:
        """The FTRL iterate of every context: (M, K)."""
        return softmax(-self.definition.parameters.eta * self.cumulative)

    @cached_property
    def r_p(self) -> Floats:
        """The FTRL iterate, mixed with the uniform distribution."""
        return mixed(self.p, self.definition.parameters.rho)

    @cached_property
    def r(self) -> Floats:
        """The mixed snapshot r_e: (M, K)."""
        return mixed(self.snapshot, self.definition.parameters.rho)

    @cached_property
    def falls_back(self) -> list[bool]:
        """For every context, whether the pointwise test of q fails."""
        return [bool((2 * p < r).any()) for p, r in zip(self.r_p, self.r, strict=True)]

    @cached_property
    def q(self) -> Floats:
        """The distribution from which both rounds of the pair are played: (M, K)."""
        chosen: Floats = np.where(np.array(self.falls_back)[:, None], self.r, self.r_p)
        return chosen

    @cached_property
    def w(self) -> Floats:
        """The observation probabilities w_e of equation (3): (K,)."""
        result: Floats = self.definition.nu @ self.r @ self.definition.into / 2
        return result

    @property
    def u(self) -> Floats:
        """The population denominators w_e + gamma: (K,)."""
        return self.w + self.definition.parameters.gamma

    @property
    def correction(self) -> Floats:
        """The pessimistic correction b_t of a loss-estimation round: (K,)."""
        b = np.zeros(self.definition.graph.arms)
        if self.special is not None and self.denominators is not None:
            b[self.special] = self.definition.parameters.beta / self.denominators[self.special]
        return b

    def estimate(self, pair: Pair, losses: Floats) -> Floats:
        """Return lhat of the pair's loss-estimation round: (M, K); `losses` (2, M, K)."""
        if self.denominators is None or not pair.retained:
            return np.zeros_like(self.cumulative)
        revealed = self.definition.into[pair.arms[pair.side]]
        estimated: Floats = 2 * losses[pair.side] * revealed / self.denominators
        return estimated

    def after(self, pair: Pair, losses: Floats) -> Moment:
        """Return the moment before the next pair."""
        fed = self.estimate(pair, losses) + self.correction
        following = replace(
            self,
            pair=self.pair + 1,
            cumulative=self.cumulative + fed,
            frequency=(*self.frequency, pair.contexts[1 - pair.side]),
            learning=(*self.learning, pair.contexts[pair.side]),
        )
        if following.pair == self.definition.parameters.epoch_length // 2:
            return following.next_epoch()
        return following

    def next_epoch(self) -> Moment:
        """Return the beginning of epoch e + 1: W_{e+1}, j_{e+1} and s_{e+2} = p_{eL}."""
        parameters = self.definition.parameters
        r = mixed(self.upcoming, parameters.rho)
        w_hat = np.mean([r[c] @ self.definition.into / 2 for c in self.frequency], axis=0)
        m_hat = np.mean([r[c] for c in self.learning], axis=0)
        loopless = self.definition.graph.arms_without_self_loop
        return Moment(
            self.definition,
            self.epoch + 1,
            0,
            self.cumulative,
            self.upcoming,
            self.p,
            w_hat + 1.5 * parameters.gamma,
            max(loopless, key=lambda a: (m_hat[a], -a)) if loopless else None,
        )
