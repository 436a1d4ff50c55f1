"""What one run contributes to each part of the decomposition, and the bounds of the parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.algorithms.tuned import required_alpha, required_horizon
from crossbandit.validation import choice

if TYPE_CHECKING:
    from crossbandit.kernels.epochs import EpochParameters
    from crossbandit.problem import Problem
    from crossbandit.theory.runs.environments import EnvironmentView
    from crossbandit.theory.runs.following import PlayedPair
    from crossbandit.types import Floats


class Parts(NamedTuple):
    """What a loss-estimation round contributes to regret, its terms, and what bounds them."""

    regret: float = 0.0
    bias_1: float = 0.0
    bias_2_regular: float = 0.0
    bias_2_special: float = 0.0
    bias_3_regular: float = 0.0
    bias_3_special: float = 0.0
    bias_4_regular: float = 0.0
    bias_4_special: float = 0.0
    bias_5: float = 0.0
    ftrl: float = 0.0
    excess: float = 0.0  # V: how much more than pi plays j_e, over u_e(j_e)
    ideal_excess: float = 0.0  # Vtilde: the same on the ideal trajectory
    norm: float = 0.0  # sum of p (y - z)^2: the shifted local norm
    regular_norm: float = 0.0  # sum of p lhat^2 over regular arms
    away_norm: float = 0.0  # sum of p z^2 over all arms but j_e


_SPLIT_TERMS = ("bias_2", "bias_3", "bias_4")
_SPLIT = tuple(name for name in Parts._fields if name.endswith(("_regular", "_special")))


def fields_of(name: str) -> tuple[str, ...]:
    """Return the parts that make up a term.

    >>> fields_of("bias_2"), fields_of("ftrl")
    (('bias_2_regular', 'bias_2_special'), ('ftrl',))
    """
    if name in Parts._fields:
        return (name,)
    whole = choice("Decomposition", "name", name, (*Parts._fields, *_SPLIT_TERMS))
    return tuple(part for part in _SPLIT if part.startswith(whole))


class RunParts:
    """The sums of one run, pair by pair."""

    def __init__(self, view: EnvironmentView, parameters: EpochParameters) -> None:
        epochs = -(-view.horizon // parameters.epoch_length) - 1
        self._view = view
        self._arms = view.environment.problem.arms
        self._every = np.arange(view.nu.size)
        self._comparator_mass = np.bincount(view.comparator, view.nu, self._arms)
        self.parts = np.zeros((epochs, len(Parts._fields)))
        self.warm_up = self.pseudo_regret = self.realised_regret = 0.0

    def add(self, pair: PlayedPair) -> None:
        """Add a pair to the sums of its epoch."""
        rounds = [self._regret(pair.moment.q, losses) for losses in pair.losses]
        self.pseudo_regret += sum(one.regret for one in rounds)
        for arm, context, losses in zip(
            pair.draws.arms, pair.draws.contexts, pair.losses, strict=True
        ):
            best = self._view.comparator[context]
            self.realised_regret += losses[context, arm] - losses[context, best]
        if pair.moment.epoch == 1:
            self.warm_up += sum(one.regret for one in rounds)
        else:
            self.parts[pair.moment.epoch - 2] += self._parts(pair, rounds[pair.draws.loss_side])

    def _regret(self, policy: Floats, losses: Floats) -> _Round:
        nu, comparator = self._view.nu, self._view.comparator
        best = nu * losses[self._every, comparator]
        played = nu @ (policy * losses)
        regret = float(played.sum() - best.sum())
        by_arm = np.bincount(comparator, best, self._arms).astype(np.float64, copy=False)
        return _Round(regret, played, by_arm)

    def _parts(self, pair: PlayedPair, selected: _Round) -> Parts:
        """Return what the loss-estimation round contributes, from sums over contexts."""
        nu, moment, losses = self._view.nu, pair.moment, pair.doubled
        weights, population, correction = moment.p, moment.u, moment.correction
        weighted = weights * losses
        learner, ideal, best = nu @ weighted, nu @ (pair.ideal.p * losses), 2.0 * selected.best

        pseudo, real = pair.observed / population, pair.observed / moment.denominators
        bias_2 = (1.0 - pseudo) * (learner - best)
        bias_3 = (pseudo - real) * (ideal - best)
        bias_4 = (pseudo - real) * (learner - ideal)
        bias_5 = float(correction @ (nu @ weights - self._comparator_mass))
        squares = real**2 * (nu @ (weighted * losses))
        every_arm = Parts(
            regret=2.0 * selected.regret,
            bias_1=float((2.0 * selected.played - learner).sum()),
            bias_2_regular=bias_2.sum(),
            bias_3_regular=bias_3.sum(),
            bias_4_regular=bias_4.sum(),
            bias_5=bias_5,
            ftrl=float(real @ (learner - best)) + bias_5,
            norm=squares.sum(),
            regular_norm=squares.sum(),
        )
        special = moment.special
        if special is None:
            return every_arm
        # The special arm's own input is subtracted from every arm's: z in the paper.
        shift = real[special] * losses[:, special] + correction[special]
        crossed = real * ((nu * shift) @ weighted)
        away = float(nu @ ((1.0 - weights[:, special]) * shift**2))
        regular_norm = squares.sum() - squares[special]
        share = self._comparator_mass[special]
        return every_arm._replace(
            bias_2_regular=every_arm.bias_2_regular - bias_2[special],
            bias_2_special=bias_2[special],
            bias_3_regular=every_arm.bias_3_regular - bias_3[special],
            bias_3_special=bias_3[special],
            bias_4_regular=every_arm.bias_4_regular - bias_4[special],
            bias_4_special=bias_4[special],
            excess=max(0.0, nu @ weights[:, special] - share) / population[special],
            ideal_excess=max(0.0, nu @ pair.ideal.p[:, special] - share) / population[special],
            norm=regular_norm - 2.0 * (crossed.sum() - crossed[special]) + away,
            regular_norm=regular_norm,
            away_norm=away,
        )


class _Round(NamedTuple):
    """One round, averaged over contexts."""

    regret: float
    played: Floats  # (K,): the policy's loss through each arm
    best: Floats  # (K,): the comparator's loss through each arm


class Orders(NamedTuple):
    """One order for each bound of the appendix, for given parameters."""

    graph_sum: float  # A_G = alpha log(K^2 / (alpha rho)) + 1
    bias_1: float  # rho T
    bias_2_regular: float  # gamma A_G T
    bias_3_regular: float  # A_G (gamma + 1 / L) T
    bias_4_regular: float  # the same
    bias_4_special: float  # eta A_G (1 + L gamma) T
    special: float  # the order of Bias 2, 3 and 4 on the special arm less Bias 5
    regular_norm: float  # A_G T
    away_norm: float  # T
    ftrl: float  # log K / eta + eta A_G T + eta T
    total: float  # the assembly: Theorem 1 before the parameters are chosen


def orders(problem: Problem, parameters: EpochParameters) -> Orders:
    """Return the orders for `problem` when Algorithm 2 runs with `parameters`.

    >>> from crossbandit import CrossGraph, Problem, graphs
    >>> problem = Problem(graphs.complete(2), contexts=1, horizon=10_000)
    >>> round(orders(problem, CrossGraph().parameters(problem)).total)
    3965
    """
    alpha = required_alpha("orders", problem)
    horizon = required_horizon("orders", problem)
    arms = problem.arms
    eta, gamma, rho, beta, length = parameters
    graph_sum = alpha * math.log(arms**2 / (alpha * rho)) + 1.0
    random_denominator = graph_sum * (gamma + 1.0 / length) * horizon
    trajectory = eta * graph_sum * (1.0 + length * gamma) * horizon
    special = (beta + gamma) * horizon + trajectory
    ftrl = math.log(arms) / eta + eta * graph_sum * horizon + eta * horizon
    return Orders(
        graph_sum=graph_sum,
        bias_1=rho * horizon,
        bias_2_regular=gamma * graph_sum * horizon,
        bias_3_regular=random_denominator,
        bias_4_regular=random_denominator,
        bias_4_special=trajectory,
        special=special,
        regular_norm=graph_sum * horizon,
        away_norm=horizon,
        ftrl=ftrl,
        total=length
        + rho * horizon
        + math.log(arms) / eta
        + eta * graph_sum * horizon
        + random_denominator
        + special,
    )
