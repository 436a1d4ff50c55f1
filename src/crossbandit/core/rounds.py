# cython: infer_types=True
"""The core of learners that play one round after the other: the loops, and the steps they call.

A step works on the round that the core is at: its `number`, the `copy` of the estimates that it
uses, how its context reads (`contexts` at `i`), and which arms reveal each arm (`ranges` from
`shift` on). Loops and single
calls set these, and then call the same steps.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.buffer import (
        PyBUF_C_CONTIGUOUS,
        PyBUF_FORMAT,
        PyBuffer_Release,
        PyObject_GetBuffer,
    )
    from cython.cimports.libc.string import memcpy
else:  # the .pxd names what machine code imports
    from crossbandit.core.arithmetic import (
        Batch,
        EstimateCore,
        Losses,
        Ranges,
        loss_of,
    )

from typing import Any, NamedTuple

import numpy as np

ARRAY = cython.declare(object, np.ndarray)

# The rows that every core has; those of an algorithm follow.
WEIGHTS = cython.declare(cython.Py_ssize_t, 0)  # the weight of each arm's loss in this round
CHOSEN = cython.declare(cython.Py_ssize_t, 1)  # the policy of this round's context
GIVEN = cython.declare(cython.Py_ssize_t, 2)  # scratch: the weights of feedback


class CoreProblem(NamedTuple):
    """What a core knows of the problem of its learner."""

    shape: tuple[int, ...]  # of the coefficients by which a context reads: (K or 1, width)
    ranges: tuple[Any, Any]  # which arms reveal each arm, and which each reveals, in every round
    loopless: tuple[int, ...]  # the arms without self-loop
    apart: bool = False  # whether each context learns from its own rounds only, in a copy
    changing: bool = False  # whether each round has a graph of its own


def copy_floats(given, dimensions, rows, columns, out):
    """Copy an array of floats to the first rows of `out`; return False if it is something else.

    It must have `columns` columns and, if it has two dimensions, `rows` rows.
    """
    if type(given) is not ARRAY:
        return False
    if not cython.compiled:
        shape = (rows, columns)[2 - dimensions :]
        fits = given.dtype == np.float64 and given.shape == shape and given.flags.c_contiguous
        if fits:
            out[:rows] = given
        return fits
    view = cython.declare("Py_buffer")
    try:
        PyObject_GetBuffer(given, cython.address(view), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    except ValueError:
        return False
    fits = (
        view.ndim == dimensions
        and view.shape[dimensions - 1] == columns
        and view.shape[0] == (rows if dimensions == 2 else columns)
        and view.format[0] == b"d"
        and view.format[1] == 0
    )
    if fits and view.len > 0:
        memcpy(cython.address(out[0, 0]), view.buf, view.len)
    PyBuffer_Release(cython.address(view))
    return fits


@cython.cclass
class RoundCore(EstimateCore):
    """What a learner keeps, and its steps: `set_policy`, `choose`, `learn_losses` and `count`."""

    def __init__(self, estimates, problem, count, width=1) -> None:
        bias, rows = np.zeros(estimates.shape[:2]), np.zeros((count, estimates.shape[1]))
        EstimateCore.__init__(self, estimates, bias, rows, problem.shape, problem.apart)
        self.in_ranges, self.out_ranges = Ranges(problem.ranges[0]), Ranges(problem.ranges[1])
        self.changing = problem.changing
        self.shift = self.i = self.number = self.copy = self.last = 0
        self.one_row = self.one_number = np.zeros((1, width))
        self.numbers = self.one_number
        self.contexts, self.ranges, self.shown = self.now, self.in_ranges, self.out_ranges
        self.baseline = np.nan
        self.arrays.update(estimates=estimates, bias=bias, weights=rows[0], chosen=rows[1])
        self.arrays.update(sums=np.asarray(self.sums), revealed=np.asarray(self.revealed))

    # --- steps that algorithms override --------------------------------------------------------

    def set_policy(self, out):
        """Set row `out` to the policy of the round."""

    def choose(self):
        """Return the arm to play; set its `probability`, and WEIGHTS."""
        self.set_policy(CHOSEN)
        arm: cython.Py_ssize_t = self.draw(CHOSEN, self.numbers[self.i, 0])
        self.probability = self.rows[CHOSEN, arm]
        return arm

    def learn_losses(self, arm, losses, t, weights, count, by_arm):
        """Learn the losses of the first `count` arms of `revealed` in round t of a block.

        arm: the arm that was played. weights: the row of weights. by_arm: whether the losses have a
        row for every arm, or only for those in `revealed`.
        """
        if self.apart:
            self.add_own(losses, t, weights, count, by_arm)
        else:
            self.add_revealed(0, losses, t, weights, count, by_arm)

    def add_own(self, losses, t, weights, count, by_arm):
        """Add its weight times its loss in the round's context to the copy of that context."""
        for j in range(count):
            b = self.revealed[j]
            added = loss_of(losses, t, b if by_arm else j, b, self.contexts, self.i)
            added *= self.rows[weights, b]
            if self.single:
                self.narrow[self.copy, b, 0] += added
            else:
                self.estimates[self.copy, b, 0] += added

    def count(self):
        """Make the changes of `choose` that need no feedback, for a round played elsewhere."""

    # --- single rounds -------------------------------------------------------------------------

    def weigh_revealed(self, arm):
        """Set WEIGHTS for a play without feedback, if `choose` does not."""

    def begin_round(self, number, context):
        """Begin a single round in the context that was read last."""
        self.number, self.copy, self.i, self.shift = number, context if self.apart else 0, 0, 0
        self.contexts, self.numbers = self.now, self.one_number
        self.ranges, self.shown = self.in_ranges, self.out_ranges

    def at_round(self, number, context, reading, graph):
        self.read_context(reading)
        self.begin_round(number, context)
        if graph is not None:
            self.ranges, self.shown = Ranges(graph.in_ranges), Ranges(graph.out_ranges)

    def policy(self, number, context, reading):
        """Return the policy of a round."""
        self.at_round(number, context, reading, None)
        self.set_policy(GIVEN)
        return np.array(self.rows[GIVEN])

    def play(self, number, context, reading, graph, random):
        """Play a round; return the arm, its probability, and the baseline (NaN if it has none)."""
        self.at_round(number, context, reading, graph)
        self.one_row[0] = random
        arm: cython.Py_ssize_t = self.choose()
        self.weigh_revealed(arm)
        return arm, self.probability, self.baseline

    def count_round(self, number, context, reading, graph, last: cython.longlong) -> None:
        """Count a round that was played elsewhere."""
        self.at_round(number, context, reading, graph)
        self.last = last
        self.count()

    def learn(
        self,
        number,
        context,
        reading,
        last: cython.longlong,
        arm: cython.Py_ssize_t,
        weights,
        baseline: cython.double,
        arms,
        rows,
    ) -> None:
        """Learn from one round."""
        self.at_round(number, context, reading, None)
        self.last, self.baseline = last, baseline
        losses: Losses = self.read_feedback(weights, GIVEN, arms, rows)
        self.learn_losses(arm, losses, 0, GIVEN, losses.base.shape[1], False)

    # --- usual single rounds: see `GraphShell` -------------------------------------------------

    def make_room(self, columns):
        """Make room for the losses of one round, `given`."""
        losses = np.zeros((1, self.arms, columns))
        self.given = losses[0]
        self.feedback = Losses((losses, np.empty((1, self.arms, 0)), np.empty((0, 1)), False))

    def play_usual(self, number, context, uniforms, count):
        """Play a round in the context that was read last, with `count` random numbers."""
        self.begin_round(number, context)
        for j in range(count):
            self.one_number[0, j] = uniforms.next()
        arm: cython.Py_ssize_t = self.choose()
        self.weigh_revealed(arm)
        return arm

    def packed_weights(self):
        """Return a copy of WEIGHTS as bytes: that takes a third of the time of an array."""
        if cython.compiled:
            packed = cython.cast(cython.p_char, cython.address(self.rows[WEIGHTS, 0]))
            return packed[: 8 * self.arms]
        else:  # noqa: RET505 - what follows a return would be unreachable in machine code
            return self.rows[WEIGHTS].tobytes()

    def give_weights(self, weights):
        """Set GIVEN to an array of weights, or to what `packed_weights` returned."""
        if type(weights) is bytes and len(weights) == 8 * self.arms:
            if cython.compiled:
                packed: cython.p_char = weights
                memcpy(cython.address(self.rows[GIVEN, 0]), packed, 8 * self.arms)
            else:
                self.rows[GIVEN] = np.frombuffer(weights)
            return True
        return copy_floats(weights, 1, 1, self.arms, self.rows[GIVEN:])

    def learn_usual(self, number, context, last, arm, baseline):
        """Learn from the losses in `given`, with the weights in GIVEN."""
        self.begin_round(number, context)
        self.last, self.baseline = last, baseline
        count: cython.Py_ssize_t = self.list_neighbors(self.out_ranges, 0, arm)
        self.learn_losses(arm, self.feedback, 0, GIVEN, count, False)

    # --- loops ---------------------------------------------------------------------------------

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def move_to(
        self,
        i: cython.Py_ssize_t,
        number: cython.longlong,
        named: cython.const[cython.longlong][::1],
    ) -> cython.void:
        self.i, self.number = i, number
        self.copy = named[i] if self.apart and named.shape[0] > 0 else 0

    def play_in(self, batch, i, number):
        self.move_to(i, number, batch.numbers)
        if self.changing:
            self.shift = batch.graph[i] * self.arms
        batch.arms[i] = self.choose()

    def list_shown(self, batch, i):
        """List in `revealed` what was revealed in round i, ascending; return how many arms.

        What the graph of the round does not reveal is left out, even if the core's graph reveals
        it. A core without changing graphs learns nothing that its own graph does not reveal.
        """
        if batch.graph.shape[0] == 0:
            return self.list_neighbors(self.out_ranges, 0, batch.arms[i])
        shift: cython.Py_ssize_t = batch.graph[i] * self.arms
        if self.changing:
            return self.list_neighbors(batch.out_ranges, shift, batch.arms[i])
        return self.list_common(self.out_ranges, batch.out_ranges, shift, batch.arms[i])

    def begin_batch(self, batch):
        if self.changing:
            self.ranges, self.shown = batch.in_ranges, batch.out_ranges

    def simulate_round(self, batch, i, number):
        self.play_in(batch, i, number)
        count: cython.Py_ssize_t = self.list_shown(batch, i)
        self.learn_losses(batch.arms[i], batch.losses, i, WEIGHTS, count, True)

    def simulate(self, rounds, start: cython.longlong, random, settle) -> None:
        """Play a batch of rounds. Fills in the arms."""
        batch: Batch = Batch(rounds)
        count: cython.Py_ssize_t = batch.arms.shape[0]
        self.set_loop(batch.contexts, random, count)
        self.begin_batch(batch)
        if settle is not None:
            for i in range(count):
                self.simulate_round(batch, i, start + i)
                settle(i, batch.arms[i])
            return
        with cython.nogil:
            for i in range(count):
                self.simulate_round(batch, i, start + i)

    def set_loop(self, contexts, random, count):
        self.contexts, self.numbers = contexts, random
        self.ranges, self.shown, self.shift = self.in_ranges, self.out_ranges, 0
        if self.numbers.shape[0] < count:
            raise ValueError("each round needs its random numbers")
