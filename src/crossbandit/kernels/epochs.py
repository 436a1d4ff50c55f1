"""One round of Algorithm 2: its policy, how it is played, and a batch of rounds.

Epochs count from 0 here: epoch 0 is the warm-up. The paper's delay, s_{e+2} = p_{eL}, means that
epoch e is played against the state with which epoch e - 1 began. Two slots are enough: entering
epoch e, the live state is copied to the slot of epoch e + 1, and the slot of epoch e was filled one
epoch before.

`add_revealed` adds the losses of a round, with the weights that `play` has set.
"""

from __future__ import annotations

from typing import NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.ranges import ArmRanges, range_masses
from crossbandit.kernels.rounds import Readout, Rounds, feedback_of, readout_at, record
from crossbandit.kernels.rows import add_revealed
from crossbandit.kernels.simplex import (
    context_weights,
    copy_matrix,
    copy_vector,
    draw,
    heaviest,
    may_play,
)
from crossbandit.types import Booleans, Floats, Integers

LIVE = 0
_HALF = 0.5


class EpochParameters(NamedTuple):
    """The constants of Algorithm 2, by the paper's names; `epoch_length` is its L."""

    eta: float
    gamma: float
    rho: float
    beta: float
    epoch_length: int


class EpochGraph(NamedTuple):
    """The graph as Algorithm 2 uses it."""

    in_ranges: ArmRanges
    loopless: Integers  # the arms without self-loop, ascending
    explore: Floats  # (K,): extra probability of playing each arm; (0,) for none


class EpochState(NamedTuple):
    """The state of Algorithm 2. Copy 0 of `estimates` and `bias` is live, 1 and 2 are snapshots."""

    estimates: Floats  # (3, K, columns): sums of loss estimates
    bias: Floats  # (3, K): sums of the pessimistic correction, the same in every context
    denominators: Floats  # (K,): W_e
    weights: Floats  # (K,): 2 / W_e, the factors of this epoch's losses
    frequency: Floats  # (K,): sum of r_{e+1,c} over the frequency rounds of epoch e so far
    mass: Floats  # (K,): sum of r_{e+1,c} over its loss rounds, if more than one arm can be special
    retention: Floats  # (2,): probability of keeping the feedback of either round of the pair
    epoch: Integers  # (1,)
    special: Integers  # (1,): the special arm, or -1
    pair_offset: Integers  # (1,): the readout of the pair's first round: its offset,
    pair_coefficients: Floats  # (K or 1, width): its coefficients,
    pair_available: Booleans  # (K,): the arms that are available,
    pair_restricted: Integers  # (1,): and how many entries of `pair_available` are used: K, or 0
    snapshot: Floats  # (K,), scratch: r_{e,c} of the round's context
    chosen: Floats  # (K,), scratch: q_{t,c} of the round's context
    sums: Floats  # (2, K + 1), scratch
    revealed: Integers  # (K,), scratch


@inlined
def _slot(epoch: int) -> int:
    return 1 + (epoch & 1)


@inlined
def policy(
    state: EpochState,
    parameters: EpochParameters,
    explore: Floats,
    readout: Readout,
    epoch: int,
    snapshot: Floats,
    out: Floats,
) -> None:
    """Set `out` (K,) to q_{t,c}, and `snapshot` (K,) to r_{e,c}, for a round of `epoch`."""
    eta, rho, slot = parameters.eta, parameters.rho, _slot(epoch)
    context_weights(state.estimates, state.bias, slot, readout, eta, rho, snapshot)
    context_weights(state.estimates, state.bias, LIVE, readout, eta, rho, out)
    _mix(explore, readout, snapshot)
    _mix(explore, readout, out)
    for a in range(out.size):
        if 2.0 * out[a] < snapshot[a]:
            copy_vector(snapshot, out)
            return


@inlined
def _mix(explore: Floats, readout: Readout, out: Floats) -> None:
    """Add its extra probability to each available arm, and scale the others down, in place."""
    if explore.size == 0:
        return
    available = readout.available
    taken = 0.0
    for a in range(out.size):
        if may_play(available, a):
            taken += explore[a]
    for a in range(out.size):
        if may_play(available, a):
            out[a] = (1.0 - taken) * out[a] + explore[a]


@inlined
def play(
    state: EpochState,
    parameters: EpochParameters,
    graph: EpochGraph,
    readout: Readout,
    round_: int,
    uniform: float,
    split: float,
    retain: float,
) -> tuple[int, float, int, bool]:
    """Play one round and, if it is the second of its pair, close the pair. Changes `state`.

    Returns the arm, its probability, which round of the pair is the loss-estimation round (0, 1,
    or -1 while the pair is open), and whether that round's feedback is retained. `split` and
    `retain` are used by the second round only.
    """
    if round_ == (state.epoch[0] + 1) * parameters.epoch_length:
        _enter_epoch(state, parameters, graph)
    arm, probability, loss_side = play_round(
        state, parameters, graph.explore, readout, round_, uniform, split
    )
    if loss_side < 0:
        return arm, probability, loss_side, False
    explore = graph.explore
    selecting = graph.loopless.size > 1  # a single arm without self-loop is always the special one
    for round_of_pair in range(2):
        if round_of_pair != loss_side:
            _count(state, parameters, explore, round_of_pair, readout, state.frequency)
        elif selecting:
            _count(state, parameters, explore, round_of_pair, readout, state.mass)
    if state.epoch[0] == 0:
        return arm, probability, loss_side, False
    special = state.special[0]
    if special >= 0:
        state.bias[LIVE, special] += parameters.beta / state.denominators[special]
    return arm, probability, loss_side, retain < state.retention[loss_side]


@inlined
def play_round(
    state: EpochState,
    parameters: EpochParameters,
    explore: Floats,
    readout: Readout,
    round_: int,
    uniform: float,
    split: float,
) -> tuple[int, float, int]:
    """Draw an arm and, if the round is the second of its pair, split the pair.

    Returns the arm, its probability, and the loss-estimation round of the pair: 0, 1, or -1 while
    the pair is open.
    """
    side = round_ & 1
    snapshot, chosen = state.snapshot, state.chosen
    policy(state, parameters, explore, readout, state.epoch[0], snapshot, chosen)
    arm = draw(chosen, uniform)
    probability = chosen[arm]
    state.retention[side] = snapshot[arm] / (2.0 * probability)
    if side == 0:
        _open_pair(state, readout)
        return arm, probability, -1
    loss_side = 0 if split < _HALF else 1
    return arm, probability, loss_side


@inlined
def _open_pair(state: EpochState, readout: Readout) -> None:
    state.pair_offset[0] = readout.offset
    copy_matrix(readout.coefficients, state.pair_coefficients)
    state.pair_restricted[0] = readout.available.size
    for a in range(readout.available.size):
        state.pair_available[a] = readout.available[a]


@compiled
def _enter_epoch(state: EpochState, parameters: EpochParameters, graph: EpochGraph) -> None:
    keep_snapshot(state)
    weigh(state, parameters, graph.in_ranges, state.frequency)
    if graph.loopless.size > 0:
        state.special[0] = heaviest(graph.loopless, state.mass)
    for a in range(state.mass.size):
        state.frequency[a] = 0.0
        state.mass[a] = 0.0


@inlined
def keep_snapshot(state: EpochState) -> None:
    """Begin the next epoch, and keep the present state for the one after it."""
    state.epoch[0] += 1
    following = _slot(state.epoch[0] + 1)
    copy_matrix(state.estimates[LIVE], state.estimates[following])
    copy_vector(state.bias[LIVE], state.bias[following])


@inlined
def weigh(
    state: EpochState, parameters: EpochParameters, in_ranges: ArmRanges, frequency: Floats
) -> None:
    """Set W_e and the weights 2 / W_e of a graph. frequency: (K,), summed over L / 2 rounds."""
    # Masses are linear, so they are summed once for all L / 2 frequency rounds. what_e is the
    # mean of half the masses, which makes the sum divided by L.
    range_masses(in_ranges, frequency, state.sums, state.denominators)
    set_weights(state, parameters)


@inlined
def set_weights(state: EpochState, parameters: EpochParameters) -> None:
    """Turn the summed masses in `state.denominators` into W_e, and set the weights 2 / W_e."""
    for a in range(state.denominators.size):
        what = state.denominators[a] / parameters.epoch_length
        state.denominators[a] = what + 1.5 * parameters.gamma
        state.weights[a] = 2.0 / state.denominators[a]


@inlined
def _count(
    state: EpochState,
    parameters: EpochParameters,
    explore: Floats,
    round_of_pair: int,
    readout: Readout,
    total: Floats,
) -> None:
    """Add r_{e+1,c} of one round of the pair to `total` (K,). `readout` is the second round's."""
    set_upcoming(state, parameters, explore, round_of_pair, readout)
    for a in range(total.size):
        total[a] += state.snapshot[a]


@inlined
def set_upcoming(
    state: EpochState,
    parameters: EpochParameters,
    explore: Floats,
    round_of_pair: int,
    readout: Readout,
) -> None:
    """Set `state.snapshot` to r_{e+1,c} of one round of the pair. `readout` is the second round's.

    What it held is not needed once the arm is drawn.
    """
    out = state.snapshot
    if round_of_pair == 0:
        available = state.pair_available[: state.pair_restricted[0]]
        readout = Readout(state.pair_offset[0], state.pair_coefficients, available)
    slot = _slot(state.epoch[0] + 1)
    eta, rho = parameters.eta, parameters.rho
    context_weights(state.estimates, state.bias, slot, readout, eta, rho, out)
    _mix(explore, readout, out)


@compiled
def simulate(
    state: EpochState,
    parameters: EpochParameters,
    graph: EpochGraph,
    out_ranges: ArmRanges,
    rounds: Rounds,
    start: int,
    uniforms: Floats,
) -> None:
    """Play `rounds`, of which the first has the even number `start`.

    Fills in what was done and changes `state`. uniforms: four per pair (arm of the first round, arm
    of the second, split, retention); one if the last round has no partner.
    """
    at = 0
    for i in range(rounds.arms.size):
        readout = readout_at(rounds.contexts, i)
        closes = (i & 1) == 1
        split, retain = (uniforms[at + 1], uniforms[at + 2]) if closes else (0.0, 0.0)
        arm, _, loss_side, retained = play(
            state, parameters, graph, readout, start + i, uniforms[at], split, retain
        )
        at += 3 if closes else 1
        record(rounds, i, arm)
        if retained:
            feedback = feedback_of(rounds, i - 1 + loss_side, out_ranges, state.revealed)
            add_revealed(state.estimates, LIVE, state.weights, feedback)
