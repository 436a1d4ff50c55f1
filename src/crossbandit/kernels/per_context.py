"""One round of a learner per context (no cross-learning), and a loop of them."""

from __future__ import annotations

from typing import NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.ranges import ArmRanges, range_masses
from crossbandit.kernels.rounds import Rounds, loss_at
from crossbandit.kernels.simplex import draw, exponential_weights
from crossbandit.types import Booleans, Floats, Integers


class PerContextState(NamedTuple):
    """All that the per-context learners keep."""

    estimates: Floats  # (M, K): sums of loss estimates, a learner per row
    observed: Floats  # (K,): observation probabilities in the round played last
    counters: Integers  # (1,): the round to come
    chosen: Floats  # (K,), scratch: p_t of the round's context
    sums: Floats  # (2, K + 1), scratch


@inlined
def play(
    state: PerContextState,
    eta: float,
    in_ranges: ArmRanges,
    context: int,
    available: Booleans,
    uniform: float,
) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`.

    Sets `state.observed`. Where the arm played reveals b, the mass of b's in-neighbourhood is at
    least the arm's own probability; holding to that keeps rounding from a division by nothing.
    """
    arms = state.observed.size
    chosen = state.chosen
    exponential_weights(state.estimates[context], available, eta, 0.0, chosen)
    arm = draw(chosen, uniform)
    range_masses(in_ranges, chosen, state.sums, state.observed)
    for b in range(arms):
        state.observed[b] = max(state.observed[b], chosen[arm])
    state.counters[0] += 1
    return arm, chosen[arm]


@compiled
def simulate(
    state: PerContextState,
    eta: float,
    in_ranges: ArmRanges,
    out_ranges: ArmRanges,
    rounds: Rounds,
    uniforms: Floats,
) -> None:
    """Play `rounds`, filling in what was done, and change `state`. uniforms: one a round."""
    numbers, contexts, losses, arms, incurred = rounds
    for i in range(arms.size):
        first = contexts.first[i]
        values = contexts.table[contexts.entry[i]]
        arm, _ = play(state, eta, in_ranges, numbers[i], contexts.available[i], uniforms[i])
        arms[i] = arm
        incurred[i] = loss_at(losses, i, arm, first, values)
        for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
            for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
                loss = loss_at(losses, i, b, first, values)
                state.estimates[numbers[i], b] += (1.0 / state.observed[b]) * loss
