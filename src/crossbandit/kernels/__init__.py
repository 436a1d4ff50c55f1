"""Compiled steps: contiguous arrays in, arrays filled, nothing validated.

This module is the supported way to write a compiled algorithm of your own. A *kernel* is a function
of numbers, arrays and NamedTuples of them that allocates nothing. `inlined` compiles a step of a
round, `compiled` a loop over rounds. Everything runs as plain Python too, with
`NUMBA_DISABLE_JIT=1`.

A loop over a batch of rounds is the same for all algorithms:

    @compiled
    def simulate(state, out_ranges, rounds, uniforms):
        for i in range(rounds.arms.size):
            readout = readout_at(rounds.contexts, i)
            arm = play(state, readout, uniforms[i])
            record(rounds, i, arm, readout)
            feedback = feedback_of(rounds, i, out_ranges, state.revealed)
            add_revealed(state.estimates, 0, state.weights, feedback)
            if is_over(rounds):
                return i + 1
        return rounds.arms.size

It belongs into the file of its algorithm: compiled code is kept on disk with the file of its loop,
and compiled again when that file changes. docs/how-to/add-an-algorithm.md has a whole example.
"""

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.ranges import ArmRanges, has_self_loop, list_neighbors, range_masses
from crossbandit.kernels.round_graphs import GraphBlock, in_ranges_at, out_ranges_at
from crossbandit.kernels.rounds import (
    Budget,
    ContextBlock,
    Feedback,
    LossBlock,
    Readout,
    Rounds,
    add_revealed,
    add_row,
    feedback_of,
    is_over,
    loss_at,
    readout_at,
    record,
)
from crossbandit.kernels.simplex import context_weights, draw, exponential_weights

__all__ = [
    "ArmRanges",
    "Budget",
    "ContextBlock",
    "Feedback",
    "GraphBlock",
    "LossBlock",
    "Readout",
    "Rounds",
    "add_revealed",
    "add_row",
    "compiled",
    "context_weights",
    "draw",
    "exponential_weights",
    "feedback_of",
    "has_self_loop",
    "in_ranges_at",
    "inlined",
    "is_over",
    "list_neighbors",
    "loss_at",
    "out_ranges_at",
    "range_masses",
    "readout_at",
    "record",
]
