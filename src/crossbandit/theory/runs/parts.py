"""What one run contributes to each part of the decomposition, pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.validation import choice

if TYPE_CHECKING:
    from crossbandit.kernels.epochs import EpochParameters
    from crossbandit.theory.runs.trajectories import Pair
    from crossbandit.theory.runs.worlds import World
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
SPLIT = tuple(name for name in Parts._fields if name.endswith(("_regular", "_special")))


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts that make up a term.

    >>> parts_of("bias_2"), parts_of("ftrl")
    (('bias_2_regular', 'bias_2_special'), ('ftrl',))
    """
    if name in Parts._fields:
        return (name,)
    whole = choice("Decomposition", "name", name, (*Parts._fields, *_SPLIT_TERMS))
    return tuple(part for part in SPLIT if part.startswith(whole))


class Book:
    """The sums of one run."""

    def __init__(self, world: World, parameters: EpochParameters) -> None:
        epochs = -(-world.horizon // parameters.epoch_length) - 1
        self._world = world
        self._every = np.arange(world.law.size)
        self._comparator_mass = np.bincount(world.comparator, world.law, len(world.reveals))
        self.parts = np.zeros((epochs, len(Parts._fields)))
        self.warm_up = self.pseudo_regret = self.realised_regret = 0.0

    def enter(self, pair: Pair) -> None:
        """Add a pair to the sums of its epoch."""
        rounds = [self._regret(pair.policy, losses) for losses in pair.losses]
        self.pseudo_regret += sum(one.regret for one in rounds)
        for arm, context, losses in zip(pair.arms, pair.contexts, pair.losses, strict=True):
            best = self._world.comparator[context]
            self.realised_regret += losses[arm, context] - losses[best, context]
        if pair.epoch.number == 1:
            self.warm_up += sum(one.regret for one in rounds)
        else:
            self.parts[pair.epoch.number - 2] += self._parts(pair, rounds[pair.loss_side])

    def _regret(self, policy: Floats, losses: Floats) -> _Round:
        law, comparator = self._world.law, self._world.comparator
        best = law * losses[comparator, self._every]
        played = (policy * losses) @ law
        regret = float(played.sum() - best.sum())
        by_arm = np.bincount(comparator, best, len(losses)).astype(np.float64, copy=False)
        return _Round(regret, played, by_arm)

    def _parts(self, pair: Pair, selected: _Round) -> Parts:
        """Return what the loss-estimation round contributes, from sums over contexts."""
        law, epoch, losses = self._world.law, pair.epoch, pair.doubled
        weighted = pair.weights * losses
        learner, ideal, best = weighted @ law, (pair.ideal * losses) @ law, 2.0 * selected.best
        mass = pair.weights @ law

        pseudo, real = pair.observed / epoch.population, pair.observed / epoch.denominators
        bias_2 = (1.0 - pseudo) * (learner - best)
        bias_3 = (pseudo - real) * (ideal - best)
        bias_4 = (pseudo - real) * (learner - ideal)
        bias_5 = float(epoch.correction @ (mass - self._comparator_mass))
        squares = real**2 * ((weighted * losses) @ law)
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
        special = epoch.special
        if special is None:
            return every_arm
        # The special arm's own input is subtracted from every arm's: z in the paper.
        shift = real[special] * losses[special] + epoch.correction[special]
        crossed = real * (weighted @ (law * shift))
        away = float(((1.0 - pair.weights[special]) * shift**2) @ law)
        regular_norm = squares.sum() - squares[special]
        share, population = self._comparator_mass[special], epoch.population[special]
        ideal_mass = float(pair.ideal[special] @ law)
        return every_arm._replace(
            bias_2_regular=every_arm.bias_2_regular - bias_2[special],
            bias_2_special=bias_2[special],
            bias_3_regular=every_arm.bias_3_regular - bias_3[special],
            bias_3_special=bias_3[special],
            bias_4_regular=every_arm.bias_4_regular - bias_4[special],
            bias_4_special=bias_4[special],
            excess=max(0.0, mass[special] - share) / population,
            ideal_excess=max(0.0, ideal_mass - share) / population,
            norm=regular_norm - 2.0 * (crossed.sum() - crossed[special]) + away,
            regular_norm=regular_norm,
            away_norm=away,
        )


class _Round(NamedTuple):
    """One round, averaged over contexts."""

    regret: float
    played: Floats  # (K,): what the policy loses by each arm
    best: Floats  # (K,): what the comparator loses by each arm
