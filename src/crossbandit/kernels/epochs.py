"""One round of Algorithm 2, and a loop of them.

Epochs count from 0 here: epoch 0 is the warm-up. The paper's delay, s_{e+2} = p_{eL}, means that
epoch e is played against the state with which epoch e - 1 began. Two slots are enough: entering
epoch e, the live state goes to the slot of epoch e + 1, and the slot of epoch e was filled one
epoch before.
"""

from __future__ import annotations

from typing import NamedTuple

from crossbandit.kernels.compilation import compiled
from crossbandit.kernels.rounds import (
    ContextBlock,
    Floats,
    Integers,
    LossBlock,
    add_row,
    loss_at,
    read,
)
from crossbandit.kernels.runs import Runs, run_masses
from crossbandit.kernels.simplex import draw, exponential_weights

UNIFORMS_PER_PAIR = 4  # arm of the first round, arm of the second, split, retention

LIVE = 0
ROUND, SPECIAL_ARM = 0, 1
_HALF = 0.5


class EpochParameters(NamedTuple):
    """The constants of Algorithm 2, by the paper's names; `epoch_length` is its L."""

    eta: float
    gamma: float
    rho: float
    beta: float
    epoch_length: int


class EpochState(NamedTuple):
    """All that Algorithm 2 keeps; of `estimates` and `bias`, 0 is live, 1 and 2 are snapshots."""

    estimates: Floats  # (3, K, columns): sums of loss estimates
    bias: Floats  # (3, K): sums of the pessimistic correction, the same in every context
    denominators: Floats  # (K,): W_e
    frequency: Floats  # (K,): the next epoch's w-hat, as far as it has come
    mass: Floats  # (K,): the next epoch's m-hat, as far as it has come
    upcoming: Floats  # (2, K): the next epoch's r, for the two contexts of the pair
    retention: Floats  # (2,): probability of keeping the feedback of either round of the pair
    counters: Integers  # (2,): the round to come, and the special arm or -1
    scratch: Floats  # (3, K + 1)


@compiled
def policy(
    state: EpochState,
    parameters: EpochParameters,
    first: int,
    values: Floats,
    snapshot: Floats,
    out: Floats,
) -> None:
    """Set `out` (K,) to q_{t,c}, and `snapshot` (K,) to r_{e,c}, for the round to come."""
    slot = 1 + (state.counters[ROUND] // parameters.epoch_length) % 2
    read(state.estimates[slot], state.bias[slot], first, values, snapshot)
    exponential_weights(snapshot, parameters.eta, parameters.rho, snapshot)
    read(state.estimates[LIVE], state.bias[LIVE], first, values, out)
    exponential_weights(out, parameters.eta, parameters.rho, out)
    for a in range(out.size):
        if 2.0 * out[a] < snapshot[a]:
            out[:] = snapshot
            return


@compiled
def play(
    state: EpochState,
    parameters: EpochParameters,
    in_runs: Runs,
    loopless: Integers,
    first: int,
    values: Floats,
    uniform: float,
    split: float,
    retain: float,
) -> tuple[int, float, int, bool]:
    """Play one round and, if it is the second of its pair, close the pair. Changes `state`.

    Returns the arm, its probability, which round of the pair is the loss-estimation round (0, 1,
    or -1 while the pair is open), and whether that round's feedback is retained. `split` and
    `retain` are used by the second round only.
    """
    round_ = state.counters[ROUND]
    epoch = round_ // parameters.epoch_length
    if epoch > 0 and round_ % parameters.epoch_length == 0:
        _enter_epoch(state, parameters, loopless, epoch)
    side = round_ % 2
    arms = state.denominators.size
    snapshot, chosen = state.scratch[0, :arms], state.scratch[1, :arms]
    policy(state, parameters, first, values, snapshot, chosen)
    arm = draw(chosen, uniform)
    probability = chosen[arm]
    state.retention[side] = snapshot[arm] / (2.0 * probability)
    following = 1 + (epoch + 1) % 2
    upcoming = state.upcoming[side]
    read(state.estimates[following], state.bias[following], first, values, upcoming)
    exponential_weights(upcoming, parameters.eta, parameters.rho, upcoming)
    state.counters[ROUND] = round_ + 1
    if side == 0:
        return arm, probability, -1, False
    loss_side = 0 if split < _HALF else 1
    _count_pair(state, parameters, in_runs, loss_side)
    if epoch == 0:
        return arm, probability, loss_side, False
    special = state.counters[SPECIAL_ARM]
    if special >= 0:
        state.bias[LIVE, special] += parameters.beta / state.denominators[special]
    return arm, probability, loss_side, retain < state.retention[loss_side]


@compiled
def _enter_epoch(
    state: EpochState, parameters: EpochParameters, loopless: Integers, epoch: int
) -> None:
    following = 1 + (epoch + 1) % 2
    state.estimates[following] = state.estimates[LIVE]
    state.bias[following] = state.bias[LIVE]
    state.denominators[:] = state.frequency + 1.5 * parameters.gamma
    if loopless.size > 0:
        special = loopless[0]
        for a in loopless[1:]:
            if state.mass[a] > state.mass[special]:
                special = a
        state.counters[SPECIAL_ARM] = special
    state.frequency[:] = 0.0
    state.mass[:] = 0.0


@compiled
def _count_pair(
    state: EpochState, parameters: EpochParameters, in_runs: Runs, loss_side: int
) -> None:
    arms = state.denominators.size
    observed = state.scratch[0, :arms]
    run_masses(in_runs, state.upcoming[1 - loss_side], state.scratch[1], state.scratch[2], observed)
    length = parameters.epoch_length
    for a in range(arms):
        state.frequency[a] += observed[a] / length
        state.mass[a] += 2.0 * state.upcoming[loss_side, a] / length


@compiled
def simulate(
    state: EpochState,
    parameters: EpochParameters,
    in_runs: Runs,
    out_runs: Runs,
    loopless: Integers,
    losses: LossBlock,
    contexts: ContextBlock,
    uniforms: Floats,
    arms: Integers,
    incurred: Floats,
) -> None:
    """Play len(arms) rounds, beginning with a pair; fill `arms` and `incurred`, change `state`.

    uniforms: four per pair, in the order of `UNIFORMS_PER_PAIR`; one for a last round alone.
    """
    for i in range(arms.size):
        first = contexts.first[i]
        values = contexts.values[min(i, contexts.values.shape[0] - 1)]
        side = i % 2
        at = UNIFORMS_PER_PAIR * (i // 2)
        split, retain = (uniforms[at + 2], uniforms[at + 3]) if side == 1 else (0.0, 0.0)
        arm, _, loss_side, retained = play(
            state, parameters, in_runs, loopless, first, values, uniforms[at + side], split, retain
        )
        arms[i] = arm
        incurred[i] = loss_at(losses, i, arm, first, values)
        if not retained:
            continue
        learned = i - 1 + loss_side
        played = arms[learned]
        for run in range(out_runs.starts[played], out_runs.starts[played + 1]):
            for b in range(out_runs.first[run], out_runs.last[run] + 1):
                weight = 2.0 / state.denominators[b]
                add_row(losses, learned, b, weight, state.estimates[LIVE, b])
