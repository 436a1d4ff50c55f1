"""What the algorithms with epochs declare about their estimates.

Policies, snapshots and weights are computed here from the formulas of `CrossGraph`, with NumPy and
not by the kernels. Only sums are read from a learner: the sums of estimates, for FTRL and for the
snapshot, and the sums of snapshot policies over the counted rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.learners.estimator import (
    Estimator,
    Pairs,
    estimates_of,
    exponential_weights,
    no_share,
)

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.epochs import EpochParameters
    from crossbandit.learners.learner import Learner
    from crossbandit.types import Booleans, Floats


def epoch_estimator(
    graph: FeedbackGraph, parameters: EpochParameters, explore: Floats | None = None
) -> Estimator:
    """Return the declaration of an algorithm with the epochs of `CrossGraph`.

    A pair of rounds with contexts c_0, c_1 learns from round i with probability 1/2, and keeps the
    feedback of arm a with probability r_{e,c}(a) / (2 q_c(a)), c = c_i. The weight of a revealed
    arm is 2 / W_e, so

        share(b) = r_{e,c}(N_in(b)) / W_e(b),    correction(j_e) = beta / W_e(j_e).

    Args:
        graph: What plays reveal to the learner.
        parameters: The parameters of the learner.
        explore: Extra probability of playing each arm (arms,); None for none.

    Returns:
        The declaration. Its `at` reads the sums of an `EpochLearner`.
    """
    rule = _Epochs(graph, parameters, np.zeros(graph.arms) if explore is None else explore)
    pairs = Pairs(lambda policies, _: np.zeros(policies.shape[1]), *rule.constants)
    return Estimator(
        graph, no_share, rate=lambda _: parameters.eta, policy=rule.policy, pairs=pairs, at=rule.at
    )


class _Weights(NamedTuple):
    """W_e, infinite in the warm-up epoch, and the special arm, or -1."""

    denominators: Floats
    special: int


@dataclass(frozen=True)
class _Epochs:
    """The formulas of the algorithms with epochs."""

    graph: FeedbackGraph
    parameters: EpochParameters
    explore: Floats

    @property
    def constants(self) -> tuple[int, float]:
        return self.parameters.epoch_length, 1.5 * self.parameters.gamma

    def mixed(self, p: Floats, available: Booleans | None) -> Floats:
        """Return (1 - x) ((1 - rho) p + rho / K) + x u, on the available arms."""
        may = np.ones(self.graph.arms) if available is None else available.astype(np.float64)
        extra, rho = self.explore * may, self.parameters.rho
        uniform = (1.0 - rho) * p + rho * may / may.sum()
        return np.asarray((1.0 - extra.sum()) * uniform + extra)

    def snapshot(self, learner: Learner, available: Booleans | None) -> Floats:
        """Return r_e of every context, for the next round: (contexts, arms)."""
        epoch = learner.round // self.parameters.epoch_length
        estimates = estimates_of(learner, 1 + epoch % 2)
        rates = np.full(len(estimates), self.parameters.eta)
        return self.mixed(exponential_weights(estimates, rates, available), available)

    def policy(self, learner: Learner, p: Floats) -> Floats:
        """Return the policies that are played: p with exploration, or the snapshot."""
        own, snapshot = self.mixed(p, None), self.snapshot(learner, None)
        falls_back = np.any(2.0 * own < snapshot, axis=1, keepdims=True)
        return np.where(falls_back, snapshot, own)

    def weights(self, learner: Learner) -> _Weights:
        """Return W_e and j_e of the next pair, from sums over the rounds counted for them."""
        state: Any = learner.state()
        length, shift = self.constants
        epoch = learner.round // length
        if epoch == 0:
            return _Weights(np.full(self.graph.arms, np.inf), -1)
        entering = epoch != state["epoch"][0]
        if not entering and "observing" not in state:  # one graph: kept for the whole epoch
            return _Weights(state["denominators"].copy(), int(state["special"][0]))
        counted = state["frequency"] if entering else state["observing"]
        mass = state["mass"] if entering else state["heaviest"]
        denominators = self.graph.observation_mass(counted) / length + shift
        loopless = list(self.graph.arms_without_self_loop)
        special = loopless[int(np.argmax(mass[loopless]))] if loopless else -1
        return _Weights(denominators, special)

    def at(self, learner: Learner, available: Booleans | None) -> Estimator:
        """Return the declaration for the next pair of a learner."""
        snapshot = self.snapshot(learner, available)
        denominators, special = self.weights(learner)
        added = np.zeros(self.graph.arms)
        if special >= 0:
            added[special] = self.parameters.beta / denominators[special]

        def share(policies: Floats, context: int) -> Floats:
            del policies
            return np.asarray(self.graph.observation_mass(snapshot[context]) / denominators)

        def kept(policies: Floats, context: int) -> Floats:
            doubled, mass = 2.0 * policies[context], snapshot[context]
            probability: Floats = np.divide(
                mass, doubled, out=np.zeros_like(mass), where=doubled > 0
            )
            return probability

        declared = epoch_estimator(self.graph, self.parameters, self.explore)
        return replace(
            declared, share=share, correction=lambda *_: added, pairs=Pairs(kept, *self.constants)
        )
