# cython: infer_types=True
"""The core of Algorithm 2: its state, how a round is played, and the loop over a batch of rounds.

Epochs count from 0 here: epoch 0 is the warm-up. The paper's delay, s_{e+2} = p_{eL}, means that
epoch e is played against the state with which epoch e - 1 began. Two slots are enough: entering
epoch e, the live state is copied to the slot of epoch e + 1, and the slot of epoch e was filled one
epoch before.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if not cython.compiled:  # the .pxd names what machine code imports
    from crossbandit.algorithms.learners.graph_core import GraphShell
    from crossbandit.algorithms.learners.seen_core import DecisionFields
    from crossbandit.core.arithmetic import Contexts, Losses, Ranges
    from crossbandit.core.rounds import RoundCore

from typing import NamedTuple

import numpy as np


class EpochParameters(NamedTuple):
    """The constants of Algorithm 2, by the paper's names; `epoch_length` is its L."""

    eta: float
    gamma: float
    rho: float
    beta: float
    epoch_length: int


# Copy 0 of `estimates` and `bias` is live, 1 and 2 are snapshots.
LIVE = cython.declare(cython.Py_ssize_t, 0)

# The rows: a number for each arm.
WEIGHTS = cython.declare(cython.Py_ssize_t, 0)  # 2 / W_e, the factors of this epoch's losses
CHOSEN = cython.declare(cython.Py_ssize_t, 1)  # scratch: q_{t,c} of the round's context
GIVEN = cython.declare(cython.Py_ssize_t, 2)  # scratch: the weights of feedback
DENOMINATORS = cython.declare(cython.Py_ssize_t, 3)  # W_e
FREQUENCY = cython.declare(cython.Py_ssize_t, 4)  # sum of r_{e+1,c} over e's frequency rounds
MASS = cython.declare(cython.Py_ssize_t, 5)  # and over its loss rounds, if arms can be special
SNAPSHOT = cython.declare(cython.Py_ssize_t, 6)  # scratch: r_{e,c} of the round's context
OBSERVING = cython.declare(cython.Py_ssize_t, 7)  # changing graphs: FREQUENCY of the epoch before
HEAVIEST = cython.declare(cython.Py_ssize_t, 8)  # changing graphs: MASS of the epoch before
SHOWN = cython.declare(cython.Py_ssize_t, 9)  # scratch: r_{e,c} for `policy`


@cython.cclass
class EpochCore(RoundCore):
    """The state and the steps of Algorithm 2, for a graph that does not change.

    A round has three random numbers: for its arm, and, in the second round of a pair, for the split
    of the pair and for keeping the feedback.
    """

    def __init__(self, estimates, problem, parameters, explore) -> None:
        RoundCore.__init__(self, estimates, problem, 10, 3)
        self.made_of = (estimates, problem, parameters, explore)
        self.eta, self.gamma, self.rho, self.beta, self.epoch_length = parameters
        self.loopless = np.array(problem.loopless, dtype=np.int64)
        self.explore = explore
        for row, name in enumerate(("denominators", "frequency", "mass", "snapshot"), 3):
            self.keep(name, np.asarray(self.rows)[row])
        self.retention = self.keep("retention", np.zeros(2))
        self.epoch = self.keep("epoch", np.zeros(1, dtype=np.int64))
        self.special = self.keep("special", np.full(1, -1))
        self.pair_offset = self.keep("pair_offset", np.zeros(1, dtype=np.int64))
        table, available = np.zeros((1, *problem.shape)), np.ones((1, self.arms), dtype=np.bool_)
        self.keep("pair_coefficients", table[0])
        self.keep("pair_available", available[0])
        self.pair_restricted = self.keep("pair_restricted", np.zeros(1, dtype=np.int64))
        self.pair_table, self.pair_available = table, available.view(np.uint8)
        offset, entry = np.asarray(self.pair_offset), np.zeros(1, dtype=np.int64)
        self.first = Contexts(offset, entry, table, available)

    # --- what a learner calls ------------------------------------------------------------------

    def learn(self, weights: cython.const[cython.double][::1], arms, rows) -> None:
        """Add weighted losses to the estimates of all contexts."""
        losses: Losses = self.read_feedback(weights, GIVEN, arms, rows)
        if losses.base.shape[2] != self.columns:
            raise ValueError("rows have another size than the estimates")
        self.add_revealed(LIVE, losses, 0, GIVEN, losses.base.shape[1], False)

    def learn_given(self, arm):
        """Add the losses in `given`, with the weights in GIVEN."""
        count: cython.Py_ssize_t = self.list_neighbors(self.out_ranges, 0, arm)
        self.add_revealed(LIVE, self.feedback, 0, GIVEN, count, False)

    # --- steps ---------------------------------------------------------------------------------

    def simulate_round(self, batch, i, number):
        self.play_in(batch, i, number)
        if self.retained:
            j: cython.Py_ssize_t = i - 1 + self.loss_side
            self.add_revealed(LIVE, batch.losses, j, WEIGHTS, self.list_shown(batch, j), True)

    def choose(self):
        """Play the round and, if it is the second of its pair, close the pair."""
        side: cython.Py_ssize_t = self.number % 2
        if self.number == (self.epoch[0] + 1) * self.epoch_length:
            self.enter_epoch()
        self.set_policies(self.epoch[0], SNAPSHOT, CHOSEN)
        arm: cython.Py_ssize_t = self.draw(CHOSEN, self.numbers[self.i, 0])
        self.probability = self.rows[CHOSEN, arm]
        self.retention[side] = self.rows[SNAPSHOT, arm] / (2.0 * self.probability)
        self.retained = False
        if side == 0:
            self.loss_side = -1
            self.open_pair()
        else:
            self.loss_side = 0 if self.numbers[self.i, 1] < 0.5 else 1
            self.close_pair()
            retain: cython.double = self.numbers[self.i, 2]
            self.retained = self.epoch[0] > 0 and retain < self.retention[self.loss_side]
        return arm

    def set_policy(self, out):
        self.set_policies(self.number // self.epoch_length, SHOWN, out)

    def set_policies(self, epoch, snapshot, out):
        """Set row `out` to q_{t,c}, and row `snapshot` to r_{e,c}, for a round of `epoch`."""
        self.weigh_mixed(slot(epoch), self.contexts, self.i, snapshot)
        self.weigh_mixed(LIVE, self.contexts, self.i, out)
        for a in range(self.arms):
            if 2.0 * self.rows[out, a] < self.rows[snapshot, a]:
                self.copy_row(snapshot, out)
                return

    def weigh_mixed(self, copy, contexts, i, out):
        """Set a row to the policy of a copy, with the extra probability of each available arm."""
        taken: cython.double = 0.0
        self.weigh(copy, contexts, i, self.eta, self.rho, out)
        if self.explore.shape[0] == 0:
            return
        for a in range(self.arms):
            if contexts.may_play(i, a):
                taken += self.explore[a]
        for a in range(self.arms):
            if contexts.may_play(i, a):
                self.rows[out, a] = (1.0 - taken) * self.rows[out, a] + self.explore[a]

    def open_pair(self):
        """Keep the context of the round until the pair is closed."""
        entry: cython.Py_ssize_t = self.contexts.entry[self.i]
        self.pair_offset[0] = self.contexts.offset[self.i]
        for a in range(self.pair_table.shape[1]):
            for v in range(self.pair_table.shape[2]):
                self.pair_table[0, a, v] = self.contexts.table[entry, a, v]
        self.pair_restricted[0] = self.arms if self.contexts.restricted else 0
        if self.contexts.restricted:
            for a in range(self.arms):
                self.pair_available[0, a] = self.contexts.available[self.i, a]

    def set_upcoming(self, round_of_pair):
        """Set SNAPSHOT to r_{e+1,c} of one round of the pair. This is its second round.

        What the row held is not needed once the arm is drawn.
        """
        if round_of_pair == 0:
            self.first.restricted = self.pair_restricted[0] > 0
            self.weigh_mixed(slot(self.epoch[0] + 1), self.first, 0, SNAPSHOT)
        else:
            self.weigh_mixed(slot(self.epoch[0] + 1), self.contexts, self.i, SNAPSHOT)

    def keep_snapshot(self):
        """Begin the next epoch, and keep the present state for the one after it."""
        self.epoch[0] += 1
        following: cython.Py_ssize_t = slot(self.epoch[0] + 1)
        for a in range(self.arms):
            self.combine(a, 0.0, following, 1.0, LIVE)

    def set_weights(self):
        """Turn the summed masses in DENOMINATORS into W_e, and set the weights 2 / W_e.

        Masses are linear, so they are summed once for all L / 2 frequency rounds. what_e is the
        mean of half the masses, which makes the sum divided by L.
        """
        length: cython.double = self.epoch_length
        for a in range(self.arms):
            self.rows[DENOMINATORS, a] = self.rows[DENOMINATORS, a] / length + 1.5 * self.gamma
            self.rows[WEIGHTS, a] = 2.0 / self.rows[DENOMINATORS, a]

    def begin_counting(self):
        for a in range(self.arms):
            self.rows[FREQUENCY, a] = 0.0
            self.rows[MASS, a] = 0.0

    def correct(self):
        """Add the pessimistic correction of a pair to the special arm."""
        special: cython.Py_ssize_t = self.special[0]
        if special >= 0:
            self.bias[LIVE, special] += self.beta / self.rows[DENOMINATORS, special]

    # --- what depends on the graph -------------------------------------------------------------

    def enter_epoch(self):
        self.keep_snapshot()
        self.masses(self.in_ranges, 0, FREQUENCY, DENOMINATORS)
        self.set_weights()
        if self.loopless.shape[0] > 0:
            self.special[0] = self.heaviest(self.loopless, MASS)
        self.begin_counting()

    def close_pair(self):
        """Count the policies of the pair, and correct the special arm."""
        self.set_upcoming(1 - self.loss_side)
        self.add_row(SNAPSHOT, FREQUENCY)
        if self.loopless.shape[0] > 1:  # a single arm without self-loop is always the special one
            self.set_upcoming(self.loss_side)
            self.add_row(SNAPSHOT, MASS)
        if self.epoch[0] > 0:
            self.correct()


@cython.cclass
class VaryingCore(EpochCore):
    """Algorithm 2 if each round has its own graph.

    If the graph depends on the round: the probability of observing an arm is linear in the mean
    policy of the snapshots. So this mean is estimated in each epoch, and the graph of a round is
    applied to it when the round's losses are weighted. If all rounds have one graph, all numbers
    are those of `EpochCore`.

    If the graph depends on the context: the probability of observing an arm is a mean over the
    graphs of all contexts. So the graph of each counted round is applied to the policy of that
    round, and the masses are averaged.

    The denominators, the weights and the special arm are those of the last pair.
    """

    def __init__(self, estimates, problem, parameters, by_context) -> None:
        EpochCore.__init__(self, estimates, problem, parameters, np.zeros(0))
        self.made_of = (estimates, problem, parameters, by_context)
        self.always_loops = self.loopless.shape[0] == 0
        self.by_context = by_context
        self.first_ranges, self.first_shift = self.in_ranges, 0
        self.keep("observing", np.asarray(self.rows)[OBSERVING])
        self.keep("heaviest", np.asarray(self.rows)[HEAVIEST])
        self.arrays["denominators"][:] = 1.0  # set by each pair; nothing reads them before

    def set_first(self, graph) -> None:
        """Set the graph of the first round of the pair, before its second round is played."""
        self.first_ranges, self.first_shift = Ranges(graph.in_ranges), 0

    def begin_batch(self, batch):
        RoundCore.begin_batch(self, batch)
        self.first_ranges = self.ranges

    def open_pair(self):
        EpochCore.open_pair(self)
        self.first_shift = self.shift

    def enter_epoch(self):
        self.keep_snapshot()
        self.copy_row(FREQUENCY, OBSERVING)
        self.copy_row(MASS, HEAVIEST)
        self.begin_counting()

    def close_pair(self):
        if self.loss_side == 0:
            self.count_pair(self.first_ranges, self.first_shift, self.ranges, self.shift)
        else:
            self.count_pair(self.ranges, self.shift, self.first_ranges, self.first_shift)

    def count_pair(self, ranges, shift, counted, counted_shift):
        """Count the policies of the pair, weigh its loss round, and correct the special arm.

        ranges, counted: which arms reveal each arm in the loss round and in the frequency round.
        """
        self.set_upcoming(1 - self.loss_side)
        if self.by_context:  # what the frequency round observes with its own graph
            self.masses(counted, counted_shift, SNAPSHOT, CHOSEN)
            self.add_row(CHOSEN, FREQUENCY)
        else:
            self.add_row(SNAPSHOT, FREQUENCY)
        if not self.always_loops:
            self.set_upcoming(self.loss_side)
            for a in range(self.arms):
                if not self.by_context or not ranges.has_self_loop(shift, a):
                    self.rows[MASS, a] += self.rows[SNAPSHOT, a]
        if self.epoch[0] == 0:
            return
        if self.by_context:
            self.copy_row(OBSERVING, DENOMINATORS)
        else:
            self.masses(ranges, shift, OBSERVING, DENOMINATORS)
        self.set_weights()
        self.special[0] = -1 if self.always_loops else self.special_arm(ranges, shift)
        self.correct()

    def special_arm(self, ranges, shift):
        """Return the arm without self-loop that snapshots play most; -1 if all have one.

        By context, it is an arm that lacked a self-loop in the epoch before.
        """
        special: cython.Py_ssize_t = -1
        for a in range(self.arms):
            if self.by_context:
                candidate: cython.bint = self.rows[HEAVIEST, a] > 0.0
            else:
                candidate = not ranges.has_self_loop(shift, a)
            if candidate and (special < 0 or self.rows[HEAVIEST, a] > self.rows[HEAVIEST, special]):
                special = a
        return special


@cython.cclass
class PairShell(GraphShell):
    """A learner that plays both rounds of a pair from one policy.

    So it keeps feedback that arrives between the two until the second round is played.
    """

    def play_usual(self, one, context):
        core: EpochCore = self.core
        first: DecisionFields = self._open
        one.arm = core.play_usual(one.round, context, self.uniforms, 1 if first is None else 3)
        if first is None:
            self._open = one
        else:
            self.close_pair(first, one)
        return core.probability

    def close_pair(self, first, second):
        """Give weights to the round that is learned from, and learn what was held."""
        core: object = self.core  # it may be one in plain Python
        self._open = None
        if core.retained:
            kept: DecisionFields = second if core.loss_side == 1 else first
            kept.factors = self._epoch_weights(second.round)
        held: list = self._held
        self._held = []
        for pending in held:
            one: DecisionFields = pending
            if one.rows is None or one.factors is None:
                continue
            if self.quick > 0 and self.read_feedback(one, one.rows):
                usual: EpochCore = core
                usual.learn_given(one.arm)
            else:
                core.learn(one.weights, self.arms_of(one), one.rows)

    def learn_here(self, one, losses):
        core: EpochCore = self.core
        if self._open is None:
            if one.factors is not None:
                core.learn_given(one.arm)
        elif one.factors is not None or one is self._open:
            one.rows = losses.copy()
            self._held.append(one)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def slot(epoch: cython.longlong) -> cython.Py_ssize_t:
    """Return the copy that holds the snapshot of an epoch."""
    return 1 + epoch % 2
