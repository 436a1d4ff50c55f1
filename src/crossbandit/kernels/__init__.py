"""Compiled functions. They take contiguous arrays, fill arrays, and validate nothing.

This module is the supported way to write a compiled algorithm of your own. A *kernel* is a function
of numbers, arrays and NamedTuples of them that allocates nothing. `inlined` compiles a step of a
round, `compiled` a loop over rounds. Everything runs as plain Python too, with
`NUMBA_DISABLE_JIT=1`.

An algorithm has a few kernels, its `Steps`. `crossbandit.algorithms.CompiledLearner` is a learner
that calls them, and the loops over rounds are compiled from them: see `crossbandit.kernels.loops`.
Machine code is kept on disk beside the file of the kernels. If that file changes, it is compiled
again.
docs/how-to/add-an-algorithm.md has a whole example.
"""

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.loops import EstimateState, Round, Steps
from crossbandit.kernels.ranges import (
    ArmRanges,
    GraphBlock,
    has_self_loop,
    in_ranges_at,
    list_neighbors,
    out_ranges_at,
    range_masses,
)
from crossbandit.kernels.rounds import (
    ContextBlock,
    Feedback,
    LossBlock,
    Readout,
    Rounds,
    feedback_of,
    readout_at,
    record,
)
from crossbandit.kernels.rows import add_revealed, add_row, loss_at
from crossbandit.kernels.simplex import context_weights, draw, exponential_weights

__all__ = [
    "ArmRanges",
    "ContextBlock",
    "EstimateState",
    "Feedback",
    "GraphBlock",
    "LossBlock",
    "Readout",
    "Round",
    "Rounds",
    "Steps",
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
    "list_neighbors",
    "loss_at",
    "out_ranges_at",
    "range_masses",
    "readout_at",
    "record",
]
