# cython: infer_types=True
"""The core of the adaptive learner.

Forgetting: losses of round s count 2^((s - reference) / half_life) times, and the learning rate is
divided by the same power of the next round. So old estimates need not be changed.

Exploration raises the probability of observing each arm to a minimum, its *floor*.

Anchors: estimates are kept as differences between an arm and its anchor, which is revealed whenever
the arm is. The estimate of an arm is a sum of differences between its loss and that of its anchor.
Its score is the anchor's score plus that sum.

If graphs depend on the round, the graph of a round is applied to the running mean of what was
played. If they depend on the context, the probabilities of observing each arm are averaged, each
computed with the graph of its round.

The learning rate follows from the sum of the mixability gaps. Playing a round does not change what
determines the policy of a context. So for prompt feedback the exponential weights of the round are
still in SOFTMAX. For late feedback they are computed again.
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

WEIGHTS = cython.declare(cython.Py_ssize_t, 0)
CHOSEN = cython.declare(cython.Py_ssize_t, 1)  # SOFTMAX with exploration
PLAYED = cython.declare(cython.Py_ssize_t, 3)  # running mean of the distributions played
MASSES = cython.declare(cython.Py_ssize_t, 4)  # running mean of the chances of being observed
SOFTMAX = cython.declare(cython.Py_ssize_t, 5)  # scratch: exponential weights of one context
LOSSES = cython.declare(cython.Py_ssize_t, 6)  # scratch: revealed losses in the round's context
INFERRED = cython.declare(cython.Py_ssize_t, 7)  # scratch: their estimates in that context
POOLED = cython.declare(cython.Py_ssize_t, 8)  # scratch: CHOSEN, moved from hidden arms to anchors
SHARES = cython.declare(cython.Py_ssize_t, 9)  # the part of the floor that each arm gets
_ROWS = ("played", "masses", "softmax", "losses", "inferred", "pooled")

MOST = cython.declare(cython.double, 0.5)  # the largest floor
NOTHING = cython.declare(cython.double, 1e-18)
HALF_LIVES = cython.declare(cython.double, 64.0)  # then estimates are rescaled: 2^64 is no overflow


class AdaptiveParameters(NamedTuple):
    """The constants of the adaptive learner.

    A `half_life` of infinity forgets nothing. An `eta` of 0 means the learner's own learning rate.
    """

    rate: float
    exploration: float
    recency: float
    half_life: float
    eta: float


@cython.cclass
class AdaptiveCore(RoundCore):
    """The state and the steps of the adaptive learner."""

    def __init__(self, estimates, problem, parameters, floors, anchors, by_context) -> None:
        RoundCore.__init__(self, estimates, problem, 10)
        self.made_of = (estimates, problem, parameters, floors, anchors, by_context)
        arms, rows = self.arms, np.asarray(self.rows)
        self.rate, self.exploration, self.recency, self.half_life, self.eta = parameters
        self.anchor, self.order, self.roots = anchors
        self.anchored = self.order.shape[0] > 0
        rows[MASSES] = 1.0
        rows[SHARES], self.weak, self.dominating = floors
        self.by_context = by_context
        for row, name in enumerate(_ROWS, PLAYED):
            self.keep(name, rows[row])
        self.counted, self.gap = self.keep("counted", np.zeros(1)), self.keep("gap", np.zeros(1))
        self.least = self.keep("least", np.full(1, np.inf))
        self.largest = self.keep("largest", np.full(1, -np.inf))
        self.lost = self.keep("lost", np.zeros(1))
        self.lost_weight = self.keep("lost_weight", np.zeros(1))
        self.reference = self.keep("reference", np.zeros(1, dtype=np.int64))
        self.shown_arms = self.keep("shown", np.zeros(arms, dtype=np.bool_)).view(np.uint8)
        self.places = self.keep("place", np.zeros(arms, dtype=np.int64))
        if problem.changing:  # the shares of the round played last
            self.keep("shares", rows[SHARES])

    def learning_rate(self) -> float:
        """Return the learning rate of the round played last, before forgetting."""
        return self.rate_at(self.gap[0])

    def rate_at(self, gap):
        """Return the learning rate at a given sum of mixability gaps, before forgetting."""
        if self.eta > 0.0:
            return self.eta
        spread: cython.double = self.largest[0] - self.least[0]
        if not spread > 0.0:  # no losses differ so far
            return 0.0
        return self.rate * log(self.arms) / (spread + gap)

    def growth(self, round_):
        """Return how many times a loss of this round counts."""
        return power((round_ - self.reference[0]) / self.half_life)

    def set_softmax(self, gap, round_, out):
        """Set a row to the exponential weights of the context, at a sum of mixability gaps."""
        least: cython.double = INFINITY
        eta: cython.double = self.rate_at(gap) / self.growth(round_)
        if not self.anchored:
            self.weigh(0, self.contexts, self.i, eta, 0.0, out)
            return
        offset: cython.Py_ssize_t = self.contexts.offset[self.i]
        entry: cython.Py_ssize_t = self.contexts.entry[self.i]
        for i in range(self.arms):
            a = self.order[i]
            score: cython.double = self.bias[0, a]
            for v in range(self.contexts.table.shape[2]):
                score += self.estimate(a, offset + v) * self.contexts.table[entry, 0, v]
            if self.anchor[a] >= 0:
                score += self.rows[out, self.anchor[a]]
            self.rows[out, a] = score
        for a in range(self.arms):
            if self.rows[out, a] < least and self.contexts.may_play(self.i, a):
                least = self.rows[out, a]
        self.normalise(self.contexts, self.i, least, eta, 0.0, out)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def estimate(self, a: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.double:
        return self.narrow[0, a, m] if self.single else self.estimates[0, a, m]

    # --- exploration ---------------------------------------------------------------------------

    def floor_at(self, count):
        """Return the floor of observation after `count` rounds."""
        return min(MOST, self.exploration / sqrt(count))

    def weak_floor_at(self, count):
        """Return the floor of weakly observable arms together after `count` rounds."""
        members: cython.double = self.dominating.shape[0]
        return min(MOST, self.exploration * pow(members / count, 1.0 / 3.0))

    def mix_exploration(self, count, weights, out):
        """Set row `out` to `weights`, mixed with the exploration of round number `count`."""
        self.explore(self.floor_at(count), weights, out)
        if self.weak.shape[0] > 0:
            self.explore_weak(self.weak_floor_at(count), out)

    def count_available(self):
        count: cython.Py_ssize_t = 0
        for a in range(self.arms):
            if self.contexts.may_play(self.i, a):
                count += 1
        return count

    def showing(self, count, a):
        """Return how many available arms may be played in order to observe arm `a`.

        An arm with a self-loop is played itself. An arm without one is observed by playing any
        other arm. `count` is the number of available arms.
        """
        own: cython.Py_ssize_t = 1 if self.contexts.may_play(self.i, a) else 0
        return own if self.rows[SHARES, a] < 1.0 else count - own

    def lacking(self, floor):
        """Return by how much the observation probabilities of all arms fall short of their floors.

        An arm that no available arm can reveal now is not counted.
        """
        short: cython.bint = False
        total: cython.double = 0.0
        for a in range(self.arms):  # usually no arm is below its floor
            if floor * self.rows[SHARES, a] > self.rows[MASSES, a]:
                short = True
                break
        if not short:
            return 0.0
        count: cython.Py_ssize_t = self.count_available()
        for a in range(self.arms):
            if self.showing(count, a) > 0:
                total += max(0.0, floor * self.rows[SHARES, a] - self.rows[MASSES, a])
        return total

    def explore(self, floor, weights, out):
        """Set row `out` to `weights`, mixed with the exploration that lifts each arm to its floor.

        `out` may be `weights`.
        """
        lacking: cython.double = self.lacking(floor)
        if lacking == 0.0:
            self.copy_row(weights, out)
            return
        available: cython.Py_ssize_t = self.count_available()
        # What is lacking for arms without self-loop: for available ones, and for others.
        inside: cython.double = 0.0
        outside: cython.double = 0.0
        for a in range(self.arms):
            if self.rows[SHARES, a] == 1.0 and self.showing(available, a) > 0:
                lack = max(0.0, floor - self.rows[MASSES, a])
                if self.contexts.may_play(self.i, a):
                    inside += lack
                else:
                    outside += lack
        count: cython.double = available
        others: cython.double = max(1.0, count - 1.0)
        for a in range(self.arms):
            if not self.contexts.may_play(self.i, a):
                self.rows[out, a] = 0.0
                continue
            lack = 0.0
            if self.showing(available, a) > 0:
                lack = max(0.0, floor * self.rows[SHARES, a] - self.rows[MASSES, a])
            if self.rows[SHARES, a] < 1.0:
                extra = lack + inside / others
            else:
                extra = (inside - lack) / others
            self.rows[out, a] = (1.0 - lacking) * self.rows[weights, a] + (extra + outside / count)

    def explore_weak(self, floor, out):
        """Mix a row with the exploration that lifts weakly observable arms to their floor.

        The dominating arms that are available are played equally often. Each weakly observable arm
        is to be observed with probability `floor` / |dominating|.
        """
        lacking: cython.double = 0.0
        count: cython.double = 0.0
        members: cython.double = self.dominating.shape[0]
        for j in range(self.weak.shape[0]):
            lacking = max(lacking, floor - members * self.rows[MASSES, self.weak[j]])
        for j in range(self.dominating.shape[0]):
            if self.contexts.may_play(self.i, self.dominating[j]):
                count += 1.0
        if lacking == 0.0 or count == 0.0:
            return
        for a in range(self.arms):
            self.rows[out, a] *= 1.0 - lacking
        for j in range(self.dominating.shape[0]):
            a = self.dominating[j]
            if self.contexts.may_play(self.i, a):
                self.rows[out, a] += lacking / count

    # --- steps ---------------------------------------------------------------------------------

    def set_policy(self, out):
        keep: cython.double = power(-1.0 / self.half_life)
        self.set_softmax(keep * self.gap[0], self.number, out)
        self.mix_exploration(keep * self.counted[0] + 1.0, out, out)

    def count(self):
        self.count_at(self.last, self.in_ranges, 0)

    def count_at(self, round_, ranges, shift):
        """Count one round, in a context, in the running means. CHOSEN holds its distribution."""
        if (round_ - self.reference[0]) / self.half_life > HALF_LIVES:
            self.rescale(round_)
        keep: cython.double = power(-1.0 / self.half_life)
        recent: cython.double = keep * self.counted[0]
        self.counted[0] = recent + 1.0
        self.gap[0] *= keep
        self.set_softmax(self.gap[0], round_, SOFTMAX)
        self.mix_exploration(recent + 1.0, SOFTMAX, CHOSEN)
        step: cython.double = 1.0 / (1.0 + recent / self.recency)
        for a in range(self.arms):
            self.rows[PLAYED, a] += step * (self.rows[CHOSEN, a] - self.rows[PLAYED, a])
        self.masses(ranges, shift, PLAYED, MASSES)

    def choose(self):
        """Play the round. The baseline is the running mean of the policy's losses."""
        if self.changing:
            self.set_shares()
            if self.by_context:
                self.copy_row(MASSES, POOLED)  # scratch: changing graphs have no anchors
            elif self.counted[0] > 0.0:
                self.masses(self.ranges, self.shift, PLAYED, MASSES)
        self.count_at(self.number, self.ranges, self.shift)
        arm: cython.Py_ssize_t = self.draw(CHOSEN, self.numbers[self.i, 0])
        self.probability = self.rows[CHOSEN, arm]
        self.baseline = NAN
        if self.lost_weight[0] > 0.0:
            self.baseline = self.lost[0] / self.lost_weight[0]
        if self.changing and self.by_context:
            step = 1.0 / (1.0 + (self.counted[0] - 1.0) / self.recency)
            self.masses(self.ranges, self.shift, CHOSEN, MASSES)
            for a in range(self.arms):
                self.rows[MASSES, a] = self.rows[POOLED, a] + step * (
                    self.rows[MASSES, a] - self.rows[POOLED, a]
                )
        return arm

    def set_shares(self):
        """Set the shares of the floor to those of the round's graph."""
        arms: cython.double = self.arms
        for a in range(self.arms):
            loop: cython.bint = self.ranges.has_self_loop(self.shift, a)
            self.rows[SHARES, a] = 1.0 / arms if loop else 1.0

    def weigh_revealed(self, arm):
        for a in range(self.arms):
            self.rows[WEIGHTS, a] = 0.0
        self.set_weights(self.list_neighbors(self.shown, self.shift, arm))

    def set_weights(self, count):
        """Set the weight of each revealed arm in the round played last."""
        floor: cython.double = self.floor_at(self.counted[0])
        members: cython.double = self.dominating.shape[0]
        lifted: cython.double = 0.0
        if self.weak.shape[0] > 0:
            lifted = self.weak_floor_at(self.counted[0]) / members
        for j in range(count):
            b = self.revealed[j]
            if self.weak.shape[0] > 0 and self.rows[SHARES, b] == 0.0:
                self.rows[WEIGHTS, b] = 1.0 / (self.rows[MASSES, b] + lifted)
            else:
                self.rows[WEIGHTS, b] = 1.0 / (self.rows[MASSES, b] + floor * self.rows[SHARES, b])

    def rescale(self, round_):
        share: cython.double = 1.0 / self.growth(round_)
        for a in range(self.arms):
            self.combine(a, share, 0, 0.0, 0)
        self.reference[0] = round_

    def simulate_round(self, batch, i, number):
        self.play_in(batch, i, number)
        count: cython.Py_ssize_t = self.list_shown(batch, i)
        self.set_weights(count)
        self.last = number
        self.learn_round(batch.losses, i, WEIGHTS, count, True)

    def learn_losses(self, arm, losses, t, weights, count, by_arm):
        """Learn from feedback that may come at any later time."""
        self.set_softmax(self.gap[0], self.last, SOFTMAX)
        self.learn_round(losses, t, weights, count, by_arm)

    def learn_round(self, losses, t, weights, count, by_arm):
        """Learn from the round `number`, where `last` is the round played last.

        SOFTMAX holds the exponential weights of the round's context. The weights and the baseline
        are those with which the round was played. An arm that was not available in the round counts
        for other contexts only.
        """
        factor: cython.double = self.growth(self.number)
        if count > 0:
            eta: cython.double = self.rate_at(self.gap[0])
            self.mix_exploration(self.counted[0], SOFTMAX, CHOSEN)
            here: cython.double = 0.0
            elsewhere: cython.double = 0.0
            total: cython.double = 0.0
            mass: cython.double = 0.0
            known: cython.double = 0.0
            hidden: cython.double = 0.0
            for j in range(count):
                b = self.revealed[j]
                self.places[b] = b if by_arm else j
                loss = loss_of(losses, t, self.places[b], b, self.contexts, self.i)
                self.rows[LOSSES, b] = loss
                if self.contexts.may_play(self.i, b):
                    self.least[0] = min(self.least[0], loss)
                    self.largest[0] = max(self.largest[0], loss)
                    here += loss
                    known += 1.0
                else:
                    elsewhere += loss
                    hidden += 1.0
                weighted = self.rows[CHOSEN, b] * self.rows[weights, b]
                total += weighted * loss
                mass += weighted
            baseline: cython.double = self.baseline
            if isnan(baseline):  # played before anything was learned: the round's own mean
                baseline = here / known if known > 0.0 else elsewhere / hidden
            step: cython.double = 1.0
            if self.lost_weight[0] > 0.0:
                step /= 1.0 + (self.counted[0] - 1.0) / self.recency
            self.lost[0] += step * (total - self.lost[0])
            self.lost_weight[0] += step * (mass - self.lost_weight[0])
            age: cython.double = factor / self.growth(self.last)
            self.gap[0] += age * self.gap_of(factor, weights, baseline, count, eta * age)
        self.add_differences(losses, t, weights, count, factor)

    def subtract(self, b, factor, weights, baseline):
        """Subtract the baseline from the estimate of an arm."""
        self.bias[0, b] -= factor * self.rows[weights, b] * baseline
        self.rows[INFERRED, b] = self.rows[weights, b] * (self.rows[LOSSES, b] - baseline)

    def gap_of(self, factor, weights, baseline, count, eta):
        """Subtract the baseline from the revealed arms' estimates; return the mixability gap."""
        if not self.anchored:
            for j in range(count):
                self.subtract(self.revealed[j], factor, weights, baseline)
            return self.mixability_gap(CHOSEN, count, eta)
        for j in range(count):
            self.shown_arms[self.revealed[j]] = 1
        for j in range(self.roots.shape[0]):
            if self.shown_arms[self.roots[j]]:
                self.subtract(self.roots[j], factor, weights, baseline)
        for j in range(self.arms):
            a = self.order[j]
            anchor = self.anchor[a]
            if self.shown_arms[a] and anchor >= 0:
                self.rows[INFERRED, a] = self.rows[INFERRED, anchor] + self.rows[weights, a] * (
                    self.rows[LOSSES, a] - self.rows[LOSSES, anchor]
                )
        # An arm that was not revealed has the estimate of its anchor.
        self.copy_row(CHOSEN, POOLED)
        for j in range(self.arms - 1, -1, -1):
            a = self.order[j]
            anchor = self.anchor[a]
            if anchor >= 0 and not self.shown_arms[a]:
                self.rows[POOLED, anchor] += self.rows[POOLED, a]
                self.rows[POOLED, a] = 0.0
        for j in range(count):
            self.shown_arms[self.revealed[j]] = 0
        return self.mixability_gap(POOLED, count, eta)

    def mixability_gap(self, chosen, count, eta):
        """Return the mean of the estimates less their exponential mean; unrevealed ones are 0.

        Exponentials are taken relative to the least estimate, so they are at most 1.
        """
        if not eta > 0.0:
            return 0.0
        mean: cython.double = 0.0
        rest: cython.double = 0.0
        mass: cython.double = 0.0
        least: cython.double = INFINITY
        after: cython.Py_ssize_t = 0
        for j in range(count):
            b = self.revealed[j]
            for a in range(after, b):
                rest += self.rows[chosen, a]
            after = b + 1
            mean += self.rows[chosen, b] * self.rows[INFERRED, b]
            mass += self.rows[chosen, b]
            if self.rows[chosen, b] > 0.0:
                least = min(least, self.rows[INFERRED, b])
        for a in range(after, self.arms):
            rest += self.rows[chosen, a]
        total: cython.double = 0.0
        if rest > 0.0:
            least = min(least, 0.0)
            total = rest * exp(eta * least)
        for j in range(count):
            b = self.revealed[j]
            if self.rows[chosen, b] > NOTHING * total:  # otherwise it would not change the sum
                total += self.rows[chosen, b] * exp(-eta * (self.rows[INFERRED, b] - least))
        # Probabilities sum to 1, up to rounding. With the division, equal estimates have no gap.
        return max(0.0, mean - least + log(total / (rest + mass)) / eta)

    def add_differences(self, losses, t, weights, count, factor):
        """Add the row of each revealed arm, less the row of its anchor, to its estimates."""
        start: cython.Py_ssize_t = min(t, losses.base.shape[0] - 1)
        plain: cython.bint = losses.coefficients.shape[2] == 0
        for j in range(count):
            b = self.revealed[j]
            anchor = self.anchor[b] if self.anchored else -1
            weight = self.rows[weights, b] * factor
            if anchor < 0:
                self.add_loss_row(0, b, losses, t, self.places[b], weight)
            elif plain:
                for m in range(self.columns):
                    loss: cython.double = losses.base[start, self.places[b], m]
                    loss -= losses.base[start, self.places[anchor], m]
                    if self.single:
                        self.narrow[0, b, m] += weight * loss
                    else:
                        self.estimates[0, b, m] += weight * loss
            else:
                self.add_loss_row(0, b, losses, t, self.places[b], weight)
                self.add_loss_row(0, b, losses, t, self.places[anchor], -weight)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def power(exponent: cython.double) -> cython.double:
    # Without forgetting every exponent is 0, and a power takes as long as an exponential.
    return 1.0 if exponent == 0.0 else pow(2.0, exponent)
