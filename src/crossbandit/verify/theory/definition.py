"""Algorithm 2 as the paper defines it, one pair of rounds at a time.

This is the only literal definition. Implementations are compared with it, here and in the tests. It
shares no code with the cores. Policies, snapshots, denominators and the special arm are computed
from the formulas of the paper, for every context and from the whole sample. Epochs are numbered
from 1, as in the paper. Arrays over contexts and arms are (M, K).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.algorithms.epoch_core import EpochParameters
    from crossbandit.core.types import Booleans, Floats
    from crossbandit.graphs import FeedbackGraph


class PairDraws(NamedTuple):
    """All random numbers of one pair of rounds."""

    contexts: tuple[int, int]
    arms: tuple[int, int]
    loss_side: int  # 0 or 1: which of the two is the loss-estimation round
    retained: bool  # whether the feedback of that round is kept


def softmax(scores: Floats) -> Floats:
    """Return exp(scores) / sum(exp(scores)), over the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    normalised: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return normalised


def mixed(p: Floats, rho: float) -> Floats:
    """Return (1 - rho) p + rho / K."""
    result: Floats = (1 - rho) * p + rho / p.shape[-1]
    return result


def drawn_arm(q: Floats, uniform: float) -> int:
    """Return the first arm at which the running sum of q exceeds the uniform number."""
    arm = int(np.searchsorted(np.cumsum(q), uniform, side="right"))
    return min(arm, int(np.flatnonzero(q)[-1]))  # rounding may leave the whole sum below 1


@dataclass(frozen=True, eq=False)
class Definition:
    """An instance: graph, context distribution (M,) and the parameters of Algorithm 2."""

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
        uniform, zeros = np.full((contexts, arms), 1 / arms), np.zeros((contexts, arms))
        never = np.full(arms, np.inf)  # the warm-up epoch learns nothing: it divides by infinity
        return Moment(self, 1, 0, zeros, uniform, uniform, never, None)


@dataclass(frozen=True, eq=False)
class Moment:
    """Algorithm 2 before a pair of rounds."""

    definition: Definition
    epoch: int
    pair: int  # its number in the epoch, from 0
    cumulative: Floats  # (M, K): sum of lhat + b so far
    snapshot: Floats  # (M, K): s_e
    next_snapshot: Floats  # (M, K): s_{e+1}
    denominators: Floats  # (K,): W_e; infinite in the warm-up epoch
    special: int | None  # j_e
    frequency: tuple[int, ...] = ()  # contexts of this epoch's frequency rounds so far
    learning: tuple[int, ...] = ()  # contexts of its loss-estimation rounds

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
    def fallback(self) -> Booleans:
        """Whether the pointwise test of q fails, for every context: (M,)."""
        failed: Booleans = np.any(2 * self.r_p < self.r, axis=1)
        return failed

    @cached_property
    def q(self) -> Floats:
        """The distribution from which both rounds of the pair are played: (M, K)."""
        chosen: Floats = np.where(self.fallback[:, None], self.r, self.r_p)
        return chosen

    @cached_property
    def m(self) -> Floats:
        """The masses m_e of the snapshot: (K,)."""
        masses: Floats = self.definition.nu @ self.r
        return masses

    @property
    def w(self) -> Floats:
        """The observation probabilities w_e of Equation 3: (K,)."""
        result: Floats = self.m @ self.definition.into / 2
        return result

    @property
    def u(self) -> Floats:
        """The population denominators w_e + gamma: (K,)."""
        return self.w + self.definition.parameters.gamma

    @property
    def correction(self) -> Floats:
        """The pessimistic correction b_t of a loss-estimation round: (K,)."""
        b = np.zeros(self.definition.graph.arms)
        if self.special is not None:
            b[self.special] = self.definition.parameters.beta / self.denominators[self.special]
        return b

    def ideal(self) -> Moment:
        """Return this moment with u_e in place of W_e: the start of the ideal trajectory."""
        return self if self.epoch == 1 else replace(self, denominators=self.u)

    def retention(self, context: int, arm: int) -> float:
        """Return the probability r_e / (2 q) of keeping the feedback of a loss round."""
        return float(self.r[context, arm] / (2 * self.q[context, arm]))

    def observed(self, draws: PairDraws) -> Floats:
        """Return 1 for the arms whose losses are observed and kept, else 0: (K,)."""
        observed: Floats = self.definition.into[draws.arms[draws.loss_side]] * draws.retained
        return observed

    def estimate(self, draws: PairDraws, losses: Floats) -> Floats:
        """Return lhat of the pair's loss-estimation round: (M, K); `losses` (2, M, K)."""
        estimated: Floats = 2 * losses[draws.loss_side] * self.observed(draws) / self.denominators
        return estimated

    def after(self, draws: PairDraws, losses: Floats) -> Moment:
        """Return the moment before the next pair; `losses` (2, M, K)."""
        fed = self.estimate(draws, losses) + self.correction
        following = replace(
            self,
            pair=self.pair + 1,
            cumulative=self.cumulative + fed,
            frequency=(*self.frequency, draws.contexts[1 - draws.loss_side]),
            learning=(*self.learning, draws.contexts[draws.loss_side]),
        )
        if following.pair == self.definition.parameters.epoch_length // 2:
            return following.next_epoch()
        return following

    def next_epoch(self) -> Moment:
        """Return the beginning of epoch e + 1: W_{e+1}, j_{e+1} and s_{e+2} = p_{eL}."""
        parameters = self.definition.parameters
        r = mixed(self.next_snapshot, parameters.rho)
        w_hat = np.mean([r[c] @ self.definition.into / 2 for c in self.frequency], axis=0)
        m_hat = np.mean([r[c] for c in self.learning], axis=0)
        return Moment(
            self.definition,
            self.epoch + 1,
            0,
            self.cumulative,
            self.next_snapshot,
            self.p,
            w_hat + 1.5 * parameters.gamma,
            heaviest(m_hat, self.definition.graph.arms_without_self_loop),
        )


def heaviest(masses: Floats, arms: Sequence[int]) -> int | None:
    """Return the arm with the largest mass, of equal ones the smallest; None if `arms` is empty."""
    return max(arms, key=lambda a: (masses[a], -a)) if arms else None
