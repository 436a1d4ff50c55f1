"""Algorithm 2 replayed from its definition, in all contexts, beside the learner under test.

The learner is driven through `act` and `learn`. The replay sees the same contexts, losses and
uniform numbers, and computes by itself what the paper defines: policies, snapshots, denominators,
the special arm, and what no learner can know, the population quantities and the ideal trajectory.
Wherever the learner shows a probability, both must agree; so a wrong learner does not get past its
first deviation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import CheckFailedError
from crossbandit.streams import fixed, stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms import CrossGraph, Decision, Learner
    from crossbandit.kernels.epochs import EpochParameters
    from crossbandit.streams import Seed
    from crossbandit.theory.runs.worlds import World
    from crossbandit.types import Floats

TOLERANCE = 1e-9  # of a probability: both sides round differently, and sums are long
_PANEL = 16  # contexts whose whole policy is compared at the beginning of each epoch


class Epoch(NamedTuple):
    """What is fixed throughout epoch `number`, which counts from 1 as the paper does.

    All but the first two arrays have a number per arm. Nothing is estimated before the warm-up,
    epoch 1: there, every estimate is 0.
    """

    number: int
    frozen: Floats  # s_e, (K, M)
    snapshot: Floats  # r_e, (K, M)
    mass: Floats  # m_e
    estimated_mass: Floats  # mhat_e
    observation: Floats  # w_e
    estimated_observation: Floats  # what_e
    population: Floats  # u_e = w_e + gamma
    denominators: Floats  # W_e = what_e + 3/2 gamma
    special: int | None  # j_e
    correction: Floats  # b_t of a loss round
    ideal_correction: Floats  # the same with u_e in place of W_e


class Pair(NamedTuple):
    """Two rounds played from one policy. Arrays over arms and contexts are (K, M)."""

    epoch: Epoch
    first: int
    contexts: tuple[int, int]
    arms: tuple[int, int]
    losses: tuple[Floats, Floats]
    loss_side: int  # 0 or 1: which of the two is the loss-estimation round
    doubled: Floats  # twice the losses of that round: what the analysis works with
    observed: Floats  # I_{t,a}, (K,): 1 where its feedback shows the arm and is kept
    weights: Floats  # p_t
    ideal: Floats  # ptilde_t
    policy: Floats  # q_t
    fallback: npt.NDArray[np.bool_]  # (M,): where q_t is the snapshot


def replays(
    algorithm: CrossGraph, world: World, seeds: Sequence[Seed]
) -> Iterator[tuple[Pair, ...]]:
    """Yield the same pair of all seeds at a time: the runs share the losses of its rounds."""
    return zip(*(replay(algorithm, world, seed) for seed in seeds), strict=True)


def replay(algorithm: CrossGraph, world: World, seed: Seed) -> Iterator[Pair]:
    """Play `algorithm` to the horizon and yield every pair; an odd last round is left out.

    Raises CheckFailedError as soon as the learner departs from Algorithm 2.
    """
    root = fixed(seed)
    problem = world.environment.problem
    parameters = algorithm.parameters(problem)
    learner = algorithm.start(problem, seed=root)
    contexts = world.environment.context_distribution.draw(stream(root, "contexts"), world.horizon)
    uniforms = stream(root, "learner").random(2 * world.horizon)  # four per pair of rounds
    state = _State(world, parameters)
    for first in range(0, world.horizon - 1, 2):
        begins = first % parameters.epoch_length == 0
        if begins:
            state.enter_epoch(1 + first // parameters.epoch_length)
        policy, fallback = state.policy()
        if begins:
            _compare_policies(learner, policy, first)
        here = (int(contexts[first]), int(contexts[first + 1]))
        arms, losses = [], []
        for side, context in enumerate(here):
            rows, by_context = world.losses(first + side)
            decision = learner.act(context)
            arms.append(_drawn(decision, policy[:, context], uniforms[2 * first + side]))
            learner.learn(decision, rows[list(decision.revealed)])
            losses.append(by_context)
        split, coin = uniforms[2 * first + 2 : 2 * first + 4]
        side = 0 if split < 0.5 else 1
        arm, context = arms[side], here[side]
        kept = coin < state.epoch.snapshot[arm, context] / (2.0 * policy[arm, context])
        pair = Pair(
            epoch=state.epoch,
            first=first,
            contexts=here,
            arms=(arms[0], arms[1]),
            losses=(losses[0], losses[1]),
            loss_side=side,
            doubled=2.0 * losses[side],
            observed=world.reveals[arm] * float(kept),
            weights=state.real.weights,
            ideal=state.ideal.weights,
            policy=policy,
            fallback=fallback,
        )
        yield pair
        state.take(pair)


class _Trajectory:
    """Exponential weights of summed inputs, in all contexts."""

    def __init__(self, inputs: Floats, eta: float) -> None:
        self._inputs = inputs
        self._eta = eta
        self.weights = softmax(-eta * inputs)

    def feed(self, factors: Floats, losses: Floats, correction: Floats) -> None:
        """Add `factors[a] * losses[a, c] + correction[a]`."""
        self._inputs += correction[:, None]
        if factors.any():
            self._inputs += factors[:, None] * losses
            self.weights = softmax(-self._eta * self._inputs)
        elif correction.any():
            # The same in every context, so there is no exponential to take in each.
            moved = np.exp(-self._eta * correction)[:, None] * self.weights
            self.weights = moved / moved.sum(axis=0)

    def copy(self) -> _Trajectory:
        return _Trajectory(self._inputs.copy(), self._eta)


class _State:
    """All that Algorithm 2 keeps, and the ideal trajectory beside it."""

    def __init__(self, world: World, parameters: EpochParameters) -> None:
        arms, contexts = len(world.reveals), world.law.size
        self._world = world
        self._parameters = parameters
        uniform = np.full((arms, contexts), 1.0 / arms)
        self._snapshots = {1: uniform, 2: uniform, 3: uniform}  # s_e
        self._frequency = np.zeros(arms)  # sums of r_{e+1,c} over the frequency rounds ...
        self._mass = np.zeros(arms)  # ... and over the loss rounds of epoch e
        self.real = _Trajectory(np.zeros((arms, contexts)), parameters.eta)
        self.ideal = self.real.copy()
        self.epoch: Epoch

    def enter_epoch(self, number: int) -> None:
        if number >= 3:
            self._snapshots[number + 1] = self.real.weights
            del self._snapshots[number - 2]
        self.epoch = self._epoch(number)
        self._frequency = np.zeros_like(self._frequency)
        self._mass = np.zeros_like(self._mass)
        self.ideal = self.real.copy()

    def _epoch(self, number: int) -> Epoch:
        """Return the epoch that begins now, from the sums of the one before."""
        world, parameters = self._world, self._parameters
        frozen = self._snapshots[number]
        snapshot = self._mixed(frozen)
        mass = snapshot @ world.law
        observation = (mass @ world.reveals) / 2.0
        population = observation + parameters.gamma
        estimated_mass = 2.0 * self._mass / parameters.epoch_length
        estimated = (self._frequency @ world.reveals) / parameters.epoch_length
        denominators = estimated + 1.5 * parameters.gamma
        special = None
        corrected = np.zeros_like(mass)
        if world.loopless and number >= 2:
            special = max(world.loopless, key=lambda a: estimated_mass[a])
            corrected[special] = parameters.beta
        return Epoch(
            number=number,
            frozen=frozen,
            snapshot=snapshot,
            mass=mass,
            estimated_mass=estimated_mass,
            observation=observation,
            estimated_observation=estimated,
            population=population,
            denominators=denominators,
            special=special,
            correction=corrected / denominators,
            ideal_correction=corrected / population,
        )

    def policy(self) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return q_t in all contexts, and where it falls back on the snapshot."""
        mixed, snapshot = self._mixed(self.real.weights), self.epoch.snapshot
        fallback = np.any(2.0 * mixed < snapshot, axis=0)
        if fallback.any():
            mixed = np.where(fallback, snapshot, mixed)
        return mixed, fallback

    def _mixed(self, weights: Floats) -> Floats:
        rho = self._parameters.rho
        mixed: Floats = (1.0 - rho) * weights + rho / len(weights)
        return mixed

    def take(self, pair: Pair) -> None:
        """Close a pair: count it for the next epoch, and learn from its loss round."""
        epoch = self.epoch
        following = self._snapshots[epoch.number + 1]
        loss, frequency = pair.contexts[pair.loss_side], pair.contexts[1 - pair.loss_side]
        self._frequency += self._mixed(following[:, frequency])
        self._mass += self._mixed(following[:, loss])
        if epoch.number == 1:
            return
        self.real.feed(pair.observed / epoch.denominators, pair.doubled, epoch.correction)
        self.ideal.feed(pair.observed / epoch.population, pair.doubled, epoch.ideal_correction)


def softmax(scores: Floats) -> Floats:
    """Turn scores (K, M) into a distribution over arms in each context, in place."""
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores


def _drawn(decision: Decision, policy: Floats, uniform: float) -> int:
    """Return the decision's arm, if it is the one that Algorithm 2 draws, and as likely."""
    expected = min(int(np.searchsorted(policy.cumsum(), uniform, side="right")), policy.size - 1)
    if decision.arm != expected or abs(decision.probability - policy[expected]) > TOLERANCE:
        raise CheckFailedError(
            f"In round {decision.round}, context {decision.context}, the learner played arm "
            f"{decision.arm} with probability {decision.probability:.12g}. Algorithm 2 plays arm "
            f"{expected} with probability {policy[expected]:.12g}."
        )
    return expected


def _compare_policies(learner: Learner, policy: Floats, first: int) -> None:
    """Compare whole policies in some contexts, other ones in each epoch."""
    contexts = policy.shape[1]
    for context in {(first + i * max(1, contexts // _PANEL)) % contexts for i in range(_PANEL)}:
        shown = learner.policy(context)
        off = np.abs(shown - policy[:, context])
        if off.max() > TOLERANCE:
            arm = int(off.argmax())
            raise CheckFailedError(
                f"Before round {first}, the learner would play arm {arm} in context {context} with "
                f"probability {shown[arm]:.12g}. Algorithm 2 plays it with probability "
                f"{policy[arm, context]:.12g}."
            )
