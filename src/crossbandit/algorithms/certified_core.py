# cython: infer_types=True
"""The core of the certified learner.

Rounds are grouped into blocks; the policy of a block does not change. A block is over once its last
round is played. Its *chain* goes on in the contexts of later rounds: in each of them it is computed
how probable it was, under the policy of the block, that an arm is not observed. The products of
these numbers add up to the weight of the block's losses. So a block needs a copy of the estimates
with which it was played, a *slot*, until its chains have ended.

A loss is added as soon as it is known, with the part of its weight that is known by then. The rest
of the weight is added at the end of each later block, an instalment: for that, a slot holds the sum
of the block's losses, HELD.

There are few slots. If all are in use when a block begins, the chains of this block end with it.

If graphs change with the context, a chain uses the graphs of its contexts. If they change with the
round, each round of a block has chains of its own: a slot keeps the graphs of its rounds, and as
many chains and sums as a block has rounds.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if not cython.compiled:  # the .pxd names what machine code imports
    from math import exp, isnan, log, pow, sqrt
    from math import inf as INFINITY  # noqa: N812
    from math import nan as NAN  # noqa: N812

    from crossbandit.core.arithmetic import loss_of
    from crossbandit.core.rounds import RoundCore

from typing import NamedTuple

import numpy as np

WEIGHTS = cython.declare(cython.Py_ssize_t, 0)  # for feedback of which the block is not known
CHOSEN = cython.declare(cython.Py_ssize_t, 1)
SCORES = cython.declare(cython.Py_ssize_t, 3)  # scratch: the open block's, in this context
BEFORE = cython.declare(cython.Py_ssize_t, 4)  # scratch: the policy of the block before
CHANGES = cython.declare(cython.Py_ssize_t, 5)  # scratch: what was added since, in this context
POLICY = cython.declare(cython.Py_ssize_t, 6)  # scratch: the policy of a slot
MASSES = cython.declare(cython.Py_ssize_t, 7)  # scratch: what it observes
_ROWS = 8

# What is known of a slot.
FREE = cython.declare(cython.longlong, 0)
OPEN = cython.declare(cython.longlong, 1)
GOING = cython.declare(cython.longlong, 2)  # its chains go on
ENDED = cython.declare(cython.longlong, 3)  # what it added last is not measured yet

# The integers of a slot.
KIND = cython.declare(cython.Py_ssize_t, 0)
FIRST = cython.declare(cython.Py_ssize_t, 1)  # the first round of its block
SIZE = cython.declare(cython.Py_ssize_t, 2)  # how many rounds its block has
STEPS = cython.declare(cython.Py_ssize_t, 3)  # the length of its chains after the block
FOLLOWED = cython.declare(cython.Py_ssize_t, 4)  # whether its chains go on after the block
MEASURED = cython.declare(cython.Py_ssize_t, 5)  # 0 if BASE was not known when it began

# The numbers of a slot.
ETA = cython.declare(cython.Py_ssize_t, 0)
RHO = cython.declare(cython.Py_ssize_t, 1)
BASE = cython.declare(cython.Py_ssize_t, 2)  # what its losses are measured against
STANDS_FOR = cython.declare(cython.Py_ssize_t, 3)  # the blocks whose cut it stands for
CAP = cython.declare(cython.Py_ssize_t, 4)  # the longest chain,
FAR = cython.declare(cython.Py_ssize_t, 5)  # and that of arms without self-loop

# Numbers of the learner.
COST = cython.declare(cython.Py_ssize_t, 0)  # the sum of the measured costs
MOST = cython.declare(cython.Py_ssize_t, 1)  # its largest value so far
NOW = cython.declare(cython.Py_ssize_t, 2)  # the costs measured in the open block
CUT = cython.declare(cython.Py_ssize_t, 3)  # what the ends of chains leave out
EXPLORED = cython.declare(cython.Py_ssize_t, 4)
HIDDEN = cython.declare(cython.Py_ssize_t, 5)  # what they leave out for arms without self-loop
LEAST = cython.declare(cython.Py_ssize_t, 6)
LARGEST = cython.declare(cython.Py_ssize_t, 7)
MEAN = cython.declare(cython.Py_ssize_t, 8)  # running mean of the losses of played arms
LEARNED = cython.declare(cython.Py_ssize_t, 9)  # how many of these

# Integers of the learner.
NEW = cython.declare(cython.Py_ssize_t, 0)  # the slot of the open block, -1 before the first
OLD = cython.declare(cython.Py_ssize_t, 1)  # that of the block before
FILLED = cython.declare(cython.Py_ssize_t, 2)  # how many rounds of the open block were played
LATE = cython.declare(cython.Py_ssize_t, 3)  # 1 if feedback came that has no certificate
PLAYED = cython.declare(cython.Py_ssize_t, 4)  # the number of the next round

LOTS = cython.declare(cython.longlong, 1 << 31)  # how many different lots there are


class CertifiedParameters(NamedTuple):
    """The constants of the certified learner."""

    alpha: float
    block: int
    slots: int
    parts: int
    coins: float
    memory: int
    by_round: bool  # whether each round has a graph of its own, whatever its context


@cython.cclass
class CertifiedCore(RoundCore):
    """The state and the steps of the certified learner."""

    def __init__(self, estimates, problem, parameters, dominating) -> None:
        RoundCore.__init__(self, estimates, problem, _ROWS)
        self.made_of = (estimates, problem, parameters, dominating)
        self.alpha, self.block, self.slots, self.parts, self.coins, self.memory = parameters[:6]
        self.by_round, self.dominating = parameters.by_round, dominating
        self.chains = self.parts if self.by_round else 1
        arms = self.arms
        self.loopless = np.zeros(arms, dtype=np.uint8)
        np.asarray(self.loopless)[list(problem.loopless)] = 1
        self.any_loopless = len(problem.loopless) > 0
        self.frozen = self.elsewhere = False
        self.seen = np.zeros((self.chains, arms))
        self.keep("seen", np.asarray(self.seen) if self.by_round else np.asarray(self.seen)[0])
        shape = (self.slots * self.chains, arms)
        kept = self.slots * self.chains if self.by_round else 0
        graphs = np.zeros((kept, arms, arms), dtype=np.bool_)
        self.graphs = graphs.view(np.uint8)
        if self.by_round:
            self.keep("graphs", graphs)
        self.products = self.keep("products", np.ones(shape))
        self.added = self.keep("added", np.zeros(shape))
        self.coming = self.keep("coming", np.zeros(shape))
        self.instalments = self.keep("instalments", np.zeros(shape))
        self.left = self.keep("left", np.zeros(shape))
        self.ending = self.keep("ending", np.zeros(shape))
        self.ended = self.keep("ended", np.zeros(shape))
        self.goes_on = self.keep("goes_on", np.zeros(shape, dtype=np.bool_)).view(np.uint8)
        self.slot = self.keep("slot", np.zeros((self.slots, 6), dtype=np.int64))
        self.constants = self.keep("constants", np.zeros((self.slots, 6)))
        self.longest = self.block if self.by_round else self.memory // 8
        self.own = self.keep("own", np.zeros((4 * self.block, arms)))
        self.used = self.keep("used", np.zeros((self.parts, arms), dtype=np.bool_)).view(np.uint8)
        self.part_weights = np.zeros((2, self.parts, arms))
        self.counts = self.keep("counts", np.array([-1, -1, 0, 0, 0]))
        self.measured = self.keep("measured", np.zeros(10))
        self.key = self.keep("key", np.zeros(1, dtype=np.int64))
        self.weight = self.keep("weight", np.zeros((2, self.memory, arms)))
        self.home = self.keep("home", np.zeros((self.memory, 3), dtype=np.int64))
        self.arrays["home"][:, :2] = -1

    # --- the constants of a block ---------------------------------------------------------------

    def cap_at(self, round_):
        """Return how long a chain may be."""
        count: cython.double = round_ + 1
        return max(8.0, sqrt(self.alpha * count))

    def far_at(self, round_):
        """Return the same for arms without self-loop."""
        count: cython.double = round_ + 8
        length: cython.double = self.cap_at(round_)
        if self.dominating.shape[0] > 0:
            members: cython.double = self.dominating.shape[0]
            length = max(length, members / self.explored_at(round_))
        return length * log(count)

    def block_at(self, round_):
        """Return the usual number of rounds in a block: enough for the slots to suffice."""
        length: cython.double = self.cap_at(round_)
        if self.dominating.shape[0] > 0:
            length = self.far_at(round_)
        wanted: cython.longlong = cython.cast(cython.longlong, length / (2.0 * self.slots))
        return min(max(self.block, wanted), self.longest)

    def explored_at(self, round_):
        """Return how often dominating arms are explored, if weakly observable arms need it."""
        count: cython.double = round_ + 1
        members: cython.double = self.dominating.shape[0]
        return min(0.5, pow(members * log(self.arms) / count, 1.0 / 3.0))

    def rate_now(self):
        """Return the learning rate of a block that begins now."""
        spread: cython.double = self.measured[LARGEST] - self.measured[LEAST]
        if not spread > 0.0:
            return 0.0
        return log(self.arms) / (spread + self.measured[MOST])

    def rho_now(self):
        """Return how often a block that begins now explores for arms without self-loop."""
        count: cython.double = self.counts[PLAYED] + 1
        if self.dominating.shape[0] > 0:
            rho: cython.double = self.explored_at(self.counts[PLAYED])
            return rho if self.measured[HIDDEN] > 0.1 * count * rho else 0.0
        if not self.any_loopless or not self.measured[HIDDEN] > 0.1 * sqrt(self.alpha * count):
            return 0.0
        return min(0.5, 1.0 / self.cap_at(self.counts[PLAYED]))

    def knows_mean(self):
        """Return whether there is something to measure losses against.

        If plays may reveal nothing, it is 0 at first: the first loss would not be independent.
        """
        return self.measured[LEARNED] > 0.0 or (self.any_loopless and self.counts[PLAYED] > 0)

    def is_over(self):
        """Return whether a new block begins with the next round."""
        new = self.counts[NEW]
        return new < 0 or self.counts[FILLED] == self.slot[new, SIZE]

    # --- steps ----------------------------------------------------------------------------------

    def set_policy(self, out):
        self.finish_count()
        if self.is_over():
            self.weigh(0, self.contexts, self.i, self.rate_now(), 0.0, out)
            self.explore(self.rho_now(), out)
        else:
            e = self.counts[NEW]
            self.weigh(1 + e, self.contexts, self.i, self.constants[e, ETA], 0.0, out)
            self.explore(self.constants[e, RHO], out)

    def explore(self, rho, out):
        """Observe arms without self-loop more often; return the probability that was moved.

        On a weakly observable graph, its dominating arms are played with probability rho. Otherwise
        an arm without self-loop is limited to 1 - rho.
        """
        if not rho > 0.0:
            return 0.0
        return self.limit(rho, out) if self.dominating.shape[0] == 0 else self.mix(rho, out)

    def mix(self, rho, out):
        count: cython.double = 0.0
        moved: cython.double = rho
        for j in range(self.dominating.shape[0]):
            if self.contexts.may_play(self.i, self.dominating[j]):
                count += 1.0
        if count == 0.0:
            return 0.0
        for j in range(self.dominating.shape[0]):
            a = self.dominating[j]
            if self.contexts.may_play(self.i, a):
                moved -= min(rho * self.rows[out, a], rho / count)
        for a in range(self.arms):
            self.rows[out, a] *= 1.0 - rho
        for j in range(self.dominating.shape[0]):
            a = self.dominating[j]
            if self.contexts.may_play(self.i, a):
                self.rows[out, a] += rho / count
        return moved

    def limit(self, rho, out):
        count: cython.double = 0.0
        for a in range(self.arms):
            if self.contexts.may_play(self.i, a):
                count += 1.0
        if count < 2.0:
            return 0.0
        for a in range(self.arms):
            if self.loopless[a] and self.rows[out, a] > 1.0 - rho:
                moved: cython.double = self.rows[out, a] - (1.0 - rho)
                for b in range(self.arms):
                    if self.contexts.may_play(self.i, b):
                        self.rows[out, b] += moved / (count - 1.0)
                self.rows[out, a] = 1.0 - rho
                return moved
        return 0.0

    def choose(self):
        self.finish_count()
        if self.frozen:
            self.set_policy(CHOSEN)
            self.weigh_here()
        else:
            self.enter_round()
        self.baseline = NAN
        if self.is_over():  # only a snapshot decides before its learner begins the block
            if self.knows_mean():
                self.baseline = self.measured[MEAN]
        elif self.slot[self.counts[NEW], MEASURED]:
            self.baseline = self.constants[self.counts[NEW], BASE]
        arm: cython.Py_ssize_t = self.draw(CHOSEN, self.numbers[self.i, 0])
        self.probability = self.rows[CHOSEN, arm]
        if self.frozen:
            return arm
        self.leave_round(arm)
        return arm

    def count(self):
        self.finish_count()
        self.enter_round()
        self.elsewhere = True

    def finish_count(self):
        """Leave a round that was played elsewhere, and from which nothing was learned."""
        if self.elsewhere:
            self.elsewhere = False
            self.leave_round(-1)

    def round_learned(self, arm, weights, count):
        """Return the number of the round to learn from; -1 if its block is not known.

        A round that was played elsewhere belongs to the open block if it was played with its
        policy: then the two have the same weights and the same baseline. (A token has no others.)
        """
        if not self.elsewhere:
            i = self.number % self.memory
            return self.number if self.home[i, 0] == self.number else -1
        self.elsewhere = False
        e = self.counts[NEW]
        same: cython.bint = isnan(self.baseline)
        if self.slot[e, MEASURED]:
            same = self.baseline == self.constants[e, BASE]
        same = same and not self.changing
        for j in range(count):
            b = self.revealed[j]
            same = same and self.rows[weights, b] == self.rows[WEIGHTS, b]
        self.leave_round(arm if same else -1)
        return self.counts[PLAYED] - 1 if same else -1

    def enter_round(self):
        """Set CHOSEN to the policy of the round, and let the chains of the slots go on."""
        if self.is_over():
            self.open_block()
        e = self.counts[NEW]
        least: cython.double = self.read(1 + e, self.contexts, self.i, SCORES)
        self.copy_row(SCORES, CHOSEN)
        self.normalise(self.contexts, self.i, least, self.constants[e, ETA], 0.0, CHOSEN)
        self.measure(e)
        self.measured[EXPLORED] += self.explore(self.constants[e, RHO], CHOSEN)
        self.weigh_here()
        place: cython.Py_ssize_t = self.counts[FILLED]
        for a in range(self.arms if place < self.own.shape[0] else 0):
            if self.by_round:
                self.own[place, a] = self.rows[CHOSEN, a]
            else:
                self.own[place, a] = max(0.0, 1.0 - self.rows[MASSES, a])
        if self.by_round:
            self.keep_graph(e * self.chains + place)

    def keep_graph(self, k):
        """Keep the graph of the round."""
        for a in range(self.arms):
            for b in range(self.arms):
                self.graphs[k, a, b] = 0
            at: cython.Py_ssize_t = self.shift + a
            for j in range(self.ranges.starts[at], self.ranges.starts[at + 1]):
                for b in range(self.ranges.first[j], self.ranges.last[j] + 1):
                    self.graphs[k, a, b] = 1

    def chain_of(self, e, g):
        """Return the place of the chains of part g of the block in slot e."""
        return e * self.chains + (g if self.by_round else 0)

    def weigh_here(self):
        """Set WEIGHTS by the observation probabilities of this context alone."""
        cap: cython.double = self.cap_at(self.counts[PLAYED])
        if not self.is_over():
            cap = self.constants[self.counts[NEW], CAP]
        share: cython.double = 1.0 / cap
        self.masses(self.ranges, self.shift, CHOSEN, MASSES)
        for a in range(self.arms):
            self.rows[WEIGHTS, a] = 1.0 / (self.rows[MASSES, a] + share)

    def leave_round(self, arm):
        """Remember which block the round belongs to, and close the block after its last round.

        arm: the arm that was played, or -1 if it was played by another policy.
        """
        e = self.counts[NEW]
        i = self.counts[PLAYED] % self.memory
        self.home[i, 0] = self.counts[PLAYED] if arm >= 0 else -1
        if arm >= 0:
            k: cython.Py_ssize_t = self.counts[FILLED] if self.by_round else 0
            at: cython.Py_ssize_t = self.shift + arm
            for j in range(self.shown.starts[at], self.shown.starts[at + 1]):
                for b in range(self.shown.first[j], self.shown.last[j] + 1):
                    self.seen[k, b] = 1.0
        self.home[i, 1] = e
        self.home[i, 2] = self.part_of(self.counts[FILLED], self.slot[e, SIZE])
        self.counts[FILLED] += 1
        self.counts[PLAYED] += 1
        if self.counts[FILLED] == self.slot[e, SIZE]:
            self.close_block(e)

    def part_of(self, place, size):
        return place * min(self.parts, size) // size

    def open_block(self):
        """Begin a block with the present estimates."""
        busy: cython.Py_ssize_t = 0
        e: cython.Py_ssize_t = 0
        first = self.counts[PLAYED]
        for j in range(self.slots):
            if self.slot[j, KIND] != FREE:
                busy += 1
            else:
                e = j
        followed: cython.bint = busy + 2 < self.slots and first > 0
        size = min(self.block_at(first), 1 + (first + 1) // 32)
        if 2 * busy >= self.slots and not self.by_round:
            size *= 2 if 4 * busy < 3 * self.slots else 4
        for a in range(self.arms):
            self.combine(a, 0.0, 1 + e, 1.0, 0)
        self.slot[e, KIND], self.slot[e, FIRST], self.slot[e, SIZE] = OPEN, first, size
        self.slot[e, STEPS], self.slot[e, FOLLOWED] = 0, followed
        self.constants[e, ETA], self.constants[e, RHO] = self.rate_now(), self.rho_now()
        self.constants[e, BASE] = self.measured[MEAN]
        self.slot[e, MEASURED] = self.knows_mean()
        self.constants[e, CAP], self.constants[e, FAR] = self.cap_at(first), self.far_at(first)
        length: cython.double = self.constants[e, FAR if self.any_loopless else CAP]
        every: cython.double = max(1.0, length / (self.coins * size))
        self.constants[e, STANDS_FOR] = 1.0 if first > 0 else 0.0
        if followed:
            self.constants[e, STANDS_FOR] = every if self.lot(first) * every < 1.0 else 0.0
        for g in range(self.chains):
            k: cython.Py_ssize_t = self.chain_of(e, g)
            for a in range(self.arms):
                self.products[k, a] = 1.0
                self.added[k, a] = self.coming[k, a] = self.instalments[k, a] = 0.0
                self.left[k, a] = self.ending[k, a] = self.ended[k, a] = 0.0
                self.goes_on[k, a] = 0
                self.seen[g, a] = 0.0
        self.counts[OLD], self.counts[NEW], self.counts[FILLED] = self.counts[NEW], e, 0

    def lot(self, first):
        """Return a random number from 0 to 1 for a block, by its first round."""
        mixed: cython.longlong = (self.key[0] + first) % LOTS
        for _ in range(3):
            mixed = ((mixed ^ (mixed >> 15)) * 1103515245 + 12345) % LOTS
        number: cython.double = mixed ^ (mixed >> 15)
        return number / LOTS

    def score(self, copy, a):
        """Return what the context of the round reads from the row of an arm."""
        offset: cython.Py_ssize_t = self.contexts.offset[self.i]
        entry: cython.Py_ssize_t = self.contexts.entry[self.i]
        own: cython.Py_ssize_t = min(a, self.contexts.table.shape[1] - 1)
        total: cython.double = self.bias[copy, a]
        for v in range(self.contexts.table.shape[2]):
            estimate: cython.double
            if self.single:
                estimate = self.narrow[copy, a, offset + v]
            else:
                estimate = self.estimates[copy, a, offset + v]
            total += estimate * self.contexts.table[entry, own, v]
        return total

    # --- what is measured in the context of a round ----------------------------------------------

    def measure(self, new):
        """Measure what was added at the end of the last block, and let chains go on.

        Every second round of the block is measured.
        """
        old = self.counts[OLD]
        here: cython.bint = old >= 0 and self.counts[FILLED] % 2 == 0
        cost: cython.double = 0.0
        cut: cython.double = 0.0
        if here:
            eta: cython.double = self.constants[old, ETA]
            least: cython.double = self.read(1 + old, self.contexts, self.i, BEFORE)
            for a in range(self.arms):
                self.rows[CHANGES, a] = self.rows[SCORES, a]
                if eta > 0.0:  # otherwise all that was added so far counts now
                    self.rows[CHANGES, a] -= self.rows[BEFORE, a]
            self.normalise(self.contexts, self.i, least, eta, 0.0, BEFORE)
            cost += self.mixability_gap(eta if eta > 0.0 else self.constants[new, ETA])
        for j in range(self.slots):
            if self.slot[j, KIND] != GOING and self.slot[j, KIND] != ENDED:
                continue
            if not here and self.slot[j, KIND] == ENDED:
                continue
            policy: cython.Py_ssize_t = BEFORE
            if j != old or not here:
                policy = POLICY
                self.weigh(1 + j, self.contexts, self.i, self.constants[j, ETA], 0.0, POLICY)
            for k in range(self.chain_of(j, 0), self.chain_of(j, 0) + (self.chains if here else 0)):
                for a in range(self.arms):
                    if self.ended[k, a] > 0.0:
                        cut += self.rows[policy, a] * self.ended[k, a]
                    if j != old and (self.instalments[k, a] != 0.0 or self.ended[k, a] > 0.0):
                        change: cython.double = -self.base_of(j) * self.ended[k, a]
                        if self.instalments[k, a] != 0.0:
                            change += self.instalments[k, a] * self.score(1 + self.slots + k, a)
                        cost += (self.rows[policy, a] - self.rows[BEFORE, a]) * change
            if self.slot[j, KIND] == GOING:
                self.step(j, policy)
        count: cython.double = (self.slot[new, SIZE] + 1) // 2
        self.measured[NOW] += cost / count
        self.measured[CUT] += cut / count

    def base_of(self, slot):
        """Return what the losses of a slot are measured against."""
        return self.constants[slot, BASE] if self.slot[slot, MEASURED] else self.measured[MEAN]

    def mixability_gap(self, eta):
        """Return the mean of CHANGES under BEFORE, less their exponential mean."""
        mean: cython.double = 0.0
        total: cython.double = 0.0
        least: cython.double = INFINITY
        if not eta > 0.0:
            return 0.0
        for a in range(self.arms):
            if self.rows[BEFORE, a] > 0.0:
                mean += self.rows[BEFORE, a] * self.rows[CHANGES, a]
                least = min(least, self.rows[CHANGES, a])
        for a in range(self.arms):
            if self.rows[BEFORE, a] > 0.0:
                total += self.rows[BEFORE, a] * exp(-eta * (self.rows[CHANGES, a] - least))
        return max(0.0, mean - least + log(total) / eta)

    def step(self, j, policy):
        """Let the chains of a slot go on in the context of the round."""
        if self.constants[j, RHO] > 0.0:
            self.copy_row(policy, POLICY)
            self.explore(self.constants[j, RHO], POLICY)
            policy = POLICY
        if not self.by_round:
            self.masses(self.ranges, self.shift, policy, MASSES)
        self.slot[j, STEPS] += 1
        length: cython.double = self.slot[j, STEPS] + self.slot[j, SIZE] - 1
        cap: cython.double = self.constants[j, CAP]
        far: cython.double = self.constants[j, FAR]
        least: cython.double = 1.0 / (cap * cap)
        for k in range(self.chain_of(j, 0), self.chain_of(j, 0) + self.chains):
            for a in range(self.arms):
                if not self.goes_on[k, a]:
                    continue
                if self.by_round:
                    self.products[k, a] *= self.missed(k, a, self.rows, policy)
                else:
                    self.products[k, a] *= max(0.0, 1.0 - self.rows[MASSES, a])
                if self.products[k, a] < least or length >= (far if self.loopless[a] else cap):
                    self.goes_on[k, a] = 0
                    self.ending[k, a] += self.left[k, a] * self.products[k, a]
                else:
                    self.coming[k, a] += self.products[k, a]

    def missed(self, k, a, policies, row):
        """Return the probability that a policy does not reveal an arm, by the graph of a round."""
        mass: cython.double = 0.0
        for b in range(self.arms):
            if self.graphs[k, a, b]:
                mass += policies[row, b]
        return max(0.0, 1.0 - mass)

    # --- the end of a block ---------------------------------------------------------------------

    def close_block(self, e):
        """Weigh the block's losses, and add the instalments of the blocks before."""
        for j in range(self.slots):
            if self.slot[j, KIND] == ENDED:
                self.slot[j, KIND] = FREE
            elif self.slot[j, KIND] == GOING:
                self.pay(j)
        self.weigh_block(e)
        self.measured[COST] += self.measured[NOW]
        self.measured[NOW] = 0.0
        self.measured[MOST] = max(self.measured[MOST], self.measured[COST])

    def pay(self, j):
        """Add the instalments of a slot; free it if no chain goes on."""
        going: cython.bint = False
        for k in range(self.chain_of(j, 0), self.chain_of(j, 0) + self.chains):
            for a in range(self.arms):
                self.instalments[k, a] = self.coming[k, a]
                self.added[k, a] += self.coming[k, a]
                self.coming[k, a] = 0.0
                if self.instalments[k, a] != 0.0:
                    self.combine(a, 1.0, 0, self.instalments[k, a], 1 + self.slots + k)
                going = going or self.goes_on[k, a] != 0
                self.end_chain(j, k, a)
        if not going:
            self.slot[j, KIND] = ENDED
            self.settle(j)

    def end_chain(self, j, k, a):
        """Count what the ends of chains leave out."""
        self.ended[k, a] = self.constants[j, STANDS_FOR] * self.ending[k, a]
        self.ending[k, a] = 0.0
        if self.ended[k, a] > 0.0:
            self.bias[0, a] -= self.base_of(j) * self.ended[k, a]
            if self.loopless[a]:
                self.measured[HIDDEN] += self.ended[k, a]

    def settle(self, j):
        """Write the final weights of a block, for late feedback."""
        for round_ in range(self.slot[j, FIRST], self.slot[j, FIRST] + self.slot[j, SIZE]):
            i = round_ % self.memory
            if self.home[i, 0] != round_:
                continue
            k: cython.Py_ssize_t = self.chain_of(j, self.home[i, 2])
            for a in range(self.arms):
                self.weight[0, i, a] += self.weight[1, i, a] * self.added[k, a]
                self.weight[1, i, a] = 0.0
            self.home[i, 1] = -1

    def weigh_block(self, e):
        """Weigh the rounds of the block by the contexts of its other parts; begin its chains."""
        size: cython.Py_ssize_t = self.slot[e, SIZE]
        parts: cython.Py_ssize_t = min(self.parts, size)
        first = self.slot[e, FIRST]
        begin: cython.Py_ssize_t = 0
        going: cython.bint = False
        for g in range(parts):
            end: cython.Py_ssize_t = begin
            rounds: cython.double = 0.0
            while end < size and self.part_of(end, size) == g:
                if self.home[(first + end) % self.memory, 0] == first + end:
                    rounds += 1.0
                end += 1
            self.weigh_part(e, begin, end, rounds)
            begin = end
        for g in range(self.chains):
            k: cython.Py_ssize_t = self.chain_of(e, g)
            for a in range(self.arms):
                needed: cython.bint = self.constants[e, STANDS_FOR] > 0.0 or self.seen[g, a] > 0.0
                if needed and self.left[k, a] > 0.0:
                    self.goes_on[k, a] = 1
                    going = True
                self.added[k, a] = 1.0 if self.slot[e, FOLLOWED] else 0.0
                self.end_chain(e, k, a)
                self.combine(a, 0.0, 1 + self.slots + k, 0.0, 0)
        self.slot[e, KIND] = GOING if going else ENDED
        for g in range(parts):
            self.add_part(e, g)
        for place in range(size):
            i = (first + place) % self.memory
            g = self.part_of(place, size)
            for a in range(self.arms):
                self.weight[0, i, a] = self.part_weights[0, g, a]
                self.weight[1, i, a] = self.part_weights[1, g, a]
        if not going:
            self.settle(e)

    def weigh_part(self, e, begin, end, rounds):
        """Set the weights of the rounds from `begin` to `end`, of which `rounds` were played here.

        Chains use the contexts after the part first, and then those before it: of a long block,
        only those of its first rounds.
        """
        g = self.part_of(begin, self.slot[e, SIZE])
        k: cython.Py_ssize_t = self.chain_of(e, g)
        cap: cython.double = self.constants[e, CAP]
        least: cython.double = 1.0 / (cap * cap)
        kept: cython.Py_ssize_t = min(self.slot[e, SIZE], self.own.shape[0])
        first: cython.Py_ssize_t = min(begin, kept)
        last: cython.Py_ssize_t = min(end, kept)
        for a in range(self.arms):
            total: cython.double = 0.0
            product: cython.double = 1.0
            for after in range(kept - last + first):
                place = last + after if last + after < kept else last + after - kept
                total += product
                if self.by_round:
                    product *= self.missed(k, a, self.own, place)
                else:
                    product *= self.own[place, a]
            if not self.slot[e, FOLLOWED] or product < least:
                self.ending[k, a] += rounds * product
                product = 0.0
            self.left[k, a] += rounds * product
            self.part_weights[0, g, a], self.part_weights[1, g, a] = total, product

    def add_part(self, e, g):
        """Add the losses of a part that are known, and hold them for instalments."""
        part: cython.Py_ssize_t = 1 + self.slots * (1 + self.chains) + g
        k: cython.Py_ssize_t = self.chain_of(e, g)
        for a in range(self.arms):
            if not self.used[g, a]:
                continue
            self.used[g, a] = 0
            coming = self.part_weights[1, g, a]
            now: cython.double = self.part_weights[0, g, a] + coming * self.added[k, a]
            self.combine(a, 1.0, 0, now, part)
            if coming > 0.0:
                self.combine(a, 1.0, 1 + self.slots + k, coming, part)
            self.combine(a, 0.0, part, 0.0, part)

    # --- feedback -------------------------------------------------------------------------------

    def learn_losses(self, arm, losses, t, weights, count, by_arm):
        number = self.round_learned(arm, weights, count)
        known: cython.bint = number >= 0
        i = max(number, 0) % self.memory
        base: cython.double = self.look_at(arm, losses, t, count, by_arm)
        if number == 0:  # it only tells what losses are measured against
            return
        e = self.home[i, 1]  # -1 if its block is over and all chains have ended
        acc: cython.Py_ssize_t = 1 + self.slots * (1 + self.chains) + self.home[i, 2]
        k: cython.Py_ssize_t = self.chain_of(e, self.home[i, 2])
        if not known or number < self.slot[self.counts[NEW], FIRST]:
            self.counts[LATE] = 1
        for j in range(count):
            b = self.revealed[j]
            place = b if by_arm else j
            if not known:
                self.add_measured(0, b, losses, t, place, self.rows[weights, b], base)
            elif e >= 0 and self.slot[e, KIND] == OPEN:
                self.used[self.home[i, 2], b] = 1
                self.add_measured(acc, b, losses, t, place, 1.0, base)
            else:
                weight: cython.double = self.weight[0, i, b]
                coming: cython.double = self.weight[1, i, b]
                if coming > 0.0 and e >= 0:
                    weight += coming * self.added[k, b]
                    self.add_measured(1 + self.slots + k, b, losses, t, place, coming, base)
                self.add_measured(0, b, losses, t, place, weight, base)

    def add_measured(self, copy, b, losses, t, place, weight, base):
        self.add_loss_row(copy, b, losses, t, place, weight)
        self.bias[copy, b] -= weight * base

    def look_at(self, arm, losses, t, count, by_arm):
        """Learn the range and the mean of losses; return what they are measured against."""
        total: cython.double = 0.0
        known: cython.double = 0.0
        own: cython.double = NAN
        for j in range(count):
            b = self.revealed[j]
            loss = loss_of(losses, t, b if by_arm else j, b, self.contexts, self.i)
            if not self.contexts.may_play(self.i, b):
                continue
            if self.measured[LEARNED] == 0.0 and known == 0.0:
                self.measured[LEAST] = self.measured[LARGEST] = loss
            self.measured[LEAST] = min(self.measured[LEAST], loss)
            self.measured[LARGEST] = max(self.measured[LARGEST], loss)
            total += loss
            known += 1.0
            if b == arm:
                own = loss
        base: cython.double = self.baseline
        if known > 0.0:
            if self.measured[LEARNED] == 0.0:
                self.measured[MEAN] = total / known
                self.measured[LEARNED] = 1.0
            elif not isnan(own):
                step: cython.double = 1.0 / (1.0 + self.measured[LEARNED] * 0.0625)
                self.measured[LEARNED] += 1.0
                self.measured[MEAN] += step * (own - self.measured[MEAN])
            if isnan(base):  # played before anything was learned
                base = total / known
        return 0.0 if isnan(base) else base

    # --- what a learner calls -------------------------------------------------------------------

    def learning_rate(self) -> float:
        """Return the learning rate of the present block."""
        return 0.0 if self.counts[NEW] < 0 else self.constants[self.counts[NEW], ETA]

    def certificate(self) -> float:
        """Return the measured bound of the regret so far."""
        if self.counts[LATE]:
            return INFINITY
        bound: cython.double = 2.0 + self.measured[MOST] + self.measured[COST]
        return bound + self.measured[CUT] + self.measured[EXPLORED]
