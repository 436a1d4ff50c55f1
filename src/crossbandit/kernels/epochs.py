"""One round of Algorithm 2, and a loop of them.

Epochs count from 0 here: epoch 0 is the warm-up. The paper's delay, s_{e+2} = p_{eL}, means that
epoch e is played against the state with which epoch e - 1 began. Two slots are enough: entering
epoch e, the live state goes to the slot of epoch e + 1, and the slot of epoch e was filled one
epoch before.
"""

from __future__ import annotations

from typing import NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.copying import copy_matrix, copy_vector
from crossbandit.kernels.ranges import ArmRanges, range_masses
from crossbandit.kernels.rounds import Rounds, add_row, loss_at
from crossbandit.kernels.simplex import context_weights, draw
from crossbandit.types import Booleans, Floats, Integers

UNIFORMS_PER_PAIR = 4  # arm of the first round, arm of the second, split, retention

LIVE = 0
ROUND, EPOCH, SPECIAL_ARM, FIRST_OF_PAIR, AVAILABLE_OF_PAIR = 0, 1, 2, 3, 4
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
    frequency: Floats  # (K,): sum of r_{e+1,c} over the frequency rounds of epoch e so far
    mass: Floats  # (K,): sum of r_{e+1,c} over its loss rounds, if more than one arm can be special
    retention: Floats  # (2,): probability of keeping the feedback of either round of the pair
    counters: Integers  # (5,): round to come, epoch, special arm or -1, and of the pair's first
    # context where it reads, and how many entries of `pair_available` count: K, or 0 if none
    pair_values: Floats  # (K or 1, width): how the pair's first context reads
    pair_available: Booleans  # (K,): the arms that are available to it
    snapshot: Floats  # (K,), scratch: r_{e,c} of the round's context
    chosen: Floats  # (K,), scratch: q_{t,c} of the round's context
    sums: Floats  # (2, K + 1), scratch


@inlined
def policy(
    state: EpochState,
    parameters: EpochParameters,
    first: int,
    values: Floats,
    available: Booleans,
    snapshot: Floats,
    out: Floats,
) -> None:
    """Set `out` (K,) to q_{t,c}, and `snapshot` (K,) to r_{e,c}, for the round to come."""
    epoch = state.counters[ROUND] // parameters.epoch_length
    estimates, bias = state.estimates, state.bias
    _policy(estimates, bias, epoch, parameters, first, values, available, snapshot, out)


@inlined
def _slot(epoch: int) -> int:
    return 1 + (epoch & 1)


@inlined
def _policy(
    estimates: Floats,
    bias: Floats,
    epoch: int,
    parameters: EpochParameters,
    first: int,
    values: Floats,
    available: Booleans,
    snapshot: Floats,
    out: Floats,
) -> None:
    eta, rho = parameters.eta, parameters.rho
    context_weights(estimates, bias, _slot(epoch), first, values, available, eta, rho, snapshot)
    context_weights(estimates, bias, LIVE, first, values, available, eta, rho, out)
    for a in range(out.size):
        if 2.0 * out[a] < snapshot[a]:
            copy_vector(snapshot, out)
            return


@inlined
def play(
    state: EpochState,
    parameters: EpochParameters,
    in_ranges: ArmRanges,
    loopless: Integers,
    first: int,
    values: Floats,
    available: Booleans,
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
    if round_ == (state.counters[EPOCH] + 1) * parameters.epoch_length:
        _enter_epoch(state, parameters, in_ranges, loopless)
    epoch = state.counters[EPOCH]
    side = round_ & 1
    snapshot, chosen = state.snapshot, state.chosen
    estimates, bias = state.estimates, state.bias
    _policy(estimates, bias, epoch, parameters, first, values, available, snapshot, chosen)
    arm = draw(chosen, uniform)
    probability = chosen[arm]
    state.retention[side] = snapshot[arm] / (2.0 * probability)
    state.counters[ROUND] = round_ + 1
    if side == 0:
        state.counters[FIRST_OF_PAIR] = first
        copy_matrix(values, state.pair_values)
        state.counters[AVAILABLE_OF_PAIR] = available.size
        for a in range(available.size):
            state.pair_available[a] = available[a]
        return arm, probability, -1, False
    loss_side = 0 if split < _HALF else 1
    selecting = loopless.size > 1  # of one arm without self-loop, the heaviest is known
    for round_of_pair in range(2):
        if round_of_pair != loss_side:
            _count(state, parameters, round_of_pair, first, values, available, state.frequency)
        elif selecting:
            _count(state, parameters, round_of_pair, first, values, available, state.mass)
    if epoch == 0:
        return arm, probability, loss_side, False
    special = state.counters[SPECIAL_ARM]
    if special >= 0:
        state.bias[LIVE, special] += parameters.beta / state.denominators[special]
    return arm, probability, loss_side, retain < state.retention[loss_side]


@compiled
def _enter_epoch(
    state: EpochState, parameters: EpochParameters, in_ranges: ArmRanges, loopless: Integers
) -> None:
    state.counters[EPOCH] += 1
    following = _slot(state.counters[EPOCH] + 1)
    copy_matrix(state.estimates[LIVE], state.estimates[following])
    copy_vector(state.bias[LIVE], state.bias[following])
    # Masses are linear: one look at the graph serves all L / 2 frequency rounds. what_e is the
    # mean of half the masses, which makes the sum divided by L.
    range_masses(in_ranges, state.frequency, state.sums, state.denominators)
    for a in range(state.denominators.size):
        what = state.denominators[a] / parameters.epoch_length
        state.denominators[a] = what + 1.5 * parameters.gamma
    if loopless.size > 0:
        special = loopless[0]
        for a in loopless[1:]:
            if state.mass[a] > state.mass[special]:
                special = a
        state.counters[SPECIAL_ARM] = special
    for a in range(state.mass.size):
        state.frequency[a] = 0.0
        state.mass[a] = 0.0


@inlined
def _count(
    state: EpochState,
    parameters: EpochParameters,
    round_of_pair: int,
    first: int,
    values: Floats,
    available: Booleans,
    total: Floats,
) -> None:
    """Add r_{e+1,c} of one round of the pair to `total` (K,).

    `first`, `values` and `available` are those of the second round.
    """
    if round_of_pair == 0:
        first = state.counters[FIRST_OF_PAIR]
        values = state.pair_values
        available = state.pair_available[: state.counters[AVAILABLE_OF_PAIR]]
    slot = _slot(state.counters[EPOCH] + 1)
    upcoming = state.snapshot  # what it held is not needed once the arm is drawn
    eta, rho = parameters.eta, parameters.rho
    estimates, bias = state.estimates, state.bias
    context_weights(estimates, bias, slot, first, values, available, eta, rho, upcoming)
    for a in range(total.size):
        total[a] += upcoming[a]


@compiled
def simulate(
    state: EpochState,
    parameters: EpochParameters,
    in_ranges: ArmRanges,
    out_ranges: ArmRanges,
    loopless: Integers,
    rounds: Rounds,
    uniforms: Floats,
) -> None:
    """Play `rounds`, beginning with a pair and filling in what was done, and change `state`.

    uniforms: four per pair, in the order of `UNIFORMS_PER_PAIR`; one for a last round alone.
    """
    _, contexts, losses, arms, incurred = rounds
    for i in range(arms.size):
        first = contexts.first[i]
        values = contexts.table[contexts.entry[i]]
        side = i & 1
        at = UNIFORMS_PER_PAIR * (i >> 1)
        split, retain = (uniforms[at + 2], uniforms[at + 3]) if side == 1 else (0.0, 0.0)
        arm, _, loss_side, retained = play(
            state,
            parameters,
            in_ranges,
            loopless,
            first,
            values,
            contexts.available[i],
            uniforms[at + side],
            split,
            retain,
        )
        arms[i] = arm
        incurred[i] = loss_at(losses, i, arm, first, values)
        if not retained:
            continue
        learned = i - 1 + loss_side
        played = arms[learned]
        for run in range(out_ranges.starts[played], out_ranges.starts[played + 1]):
            for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
                weight = 2.0 / state.denominators[b]
                add_row(losses, learned, b, weight, state.estimates[LIVE, b])
