# cython: infer_types=True
"""The cores of learners for stochastic losses: those that keep means, LinUCB, and learned edges.

The learners that keep means count how often each arm was observed, and sum up its losses. With
cross-learning they do this once for all contexts, because a revealed row has a loss for every
context. Otherwise they do it for each context separately.

LinUCB is a ridge regression for each arm. A context has a vector of features for each arm: the
coefficients by which it reads. If losses are dense, each context reads one column, and its vector
is the indicator of that column. So each context has a *block* of one column. If losses are linear,
there is one block for all contexts.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if not cython.compiled:  # the .pxd names what machine code imports
    from math import inf as INFINITY  # noqa: N812
    from math import log, pow, sqrt
    from math import nan as NAN  # noqa: N812

    from crossbandit.core.arithmetic import loss_of
    from crossbandit.core.rounds import RoundCore

import numpy as np

WEIGHTS = cython.declare(cython.Py_ssize_t, 0)
CHOSEN = cython.declare(cython.Py_ssize_t, 1)
LOWER = cython.declare(cython.Py_ssize_t, 3)  # scratch: bounds on the mean losses of the context
UPPER = cython.declare(cython.Py_ssize_t, 4)  # scratch
PLAYED = cython.declare(cython.Py_ssize_t, 3)  # learned edges: how often each arm was played


@cython.cclass
class BoundsCore(RoundCore):
    """Chooses an arm by bounds on the loss of each in the context of the round."""

    def observing_arm(self, b):
        """Return the available arm with the least lower bound that reveals `b`; `b` if none does.

        If `b` reveals itself, it is returned. Ties go to the smallest arm.
        """
        best: cython.Py_ssize_t = b
        least: cython.double = INFINITY
        for j in range(self.in_ranges.starts[b], self.in_ranges.starts[b + 1]):
            for a in range(self.in_ranges.first[j], self.in_ranges.last[j] + 1):
                if a == b:
                    return b
                if self.contexts.may_play(self.i, a) and (best == b or self.rows[LOWER, a] < least):
                    best, least = a, self.rows[LOWER, a]
        return best

    def optimistic_arm(self):
        """Return the arm with the least lower bound, or one that reveals it.

        An arm that does not reveal itself is played only if its upper bound is at most all other
        lower bounds. Until then the best arm that reveals it is played instead.
        """
        best: cython.Py_ssize_t = -1
        for a in range(self.arms):
            if self.contexts.may_play(self.i, a) and (
                best < 0 or self.rows[LOWER, a] < self.rows[LOWER, best]
            ):
                best = a
        other: cython.Py_ssize_t = self.observing_arm(best)
        if other == best:
            return best
        for a in range(self.arms):
            if (
                a != best
                and self.contexts.may_play(self.i, a)
                and self.rows[LOWER, a] < self.rows[UPPER, best]
            ):
                return other
        return best


@cython.cclass
class MeansCore(BoundsCore):
    """Means of the losses that were observed."""

    def __init__(self, totals, problem, rule, scale) -> None:
        copies, arms, _ = totals.shape
        RoundCore.__init__(self, totals, problem, 5, arms if rule == "sampling" else 1)
        self.made_of = (totals, problem, rule, scale)
        self.optimism, self.sampling, self.scale = rule == "optimism", rule == "sampling", scale
        self.keep("sums", totals)
        self.counts = self.keep("counts", np.zeros((copies, arms)))
        self.arrays["weights"][:] = 1.0  # every loss counts once

    def set_means(self):
        """Set LOWER to the mean losses of the context, 0 if unobserved."""
        self.read(self.copy, self.contexts, self.i, LOWER)
        for a in range(self.arms):
            self.rows[LOWER, a] /= max(self.counts[self.copy, a], 1.0)

    def set_bounds(self):
        """Set bounds on the mean losses of the context."""
        arms: cython.double = self.arms
        self.set_means()
        for a in range(self.arms):
            n = self.counts[self.copy, a]
            if n == 0.0:
                self.rows[LOWER, a] = -INFINITY
                self.rows[UPPER, a] = INFINITY
                continue
            if self.optimism:
                radius = sqrt(self.scale * log(self.number + 1.0) / n)
            else:
                radius = sqrt(log(2.0 * arms * n * (n + 1.0) / self.scale) / (2.0 * n))
            self.rows[UPPER, a] = self.rows[LOWER, a] + radius
            self.rows[LOWER, a] -= radius

    def set_policy(self, out):
        self.set_bounds()
        for a in range(self.arms):
            self.rows[out, a] = 0.0
        if self.optimism:
            self.rows[out, self.optimistic_arm()] = 1.0
            return
        least_upper: cython.double = INFINITY
        for a in range(self.arms):
            if self.contexts.may_play(self.i, a):
                least_upper = min(least_upper, self.rows[UPPER, a])
        active: cython.Py_ssize_t = 0
        ties: cython.double = 0.0
        fewest: cython.double = INFINITY
        for a in range(self.arms):
            if self.contexts.may_play(self.i, a) and self.rows[LOWER, a] <= least_upper:
                active += 1
                if self.counts[self.copy, a] < fewest:
                    fewest, ties = self.counts[self.copy, a], 0.0
                if self.counts[self.copy, a] == fewest:
                    ties += 1.0
        for a in range(self.arms):
            if (
                self.contexts.may_play(self.i, a)
                and self.rows[LOWER, a] <= least_upper
                and self.counts[self.copy, a] == fewest
            ):
                seen = a if active == 1 else self.observing_arm(a)
                self.rows[out, seen] += 1.0 / ties

    def choose(self):
        if self.sampling:
            self.probability = NAN
            return self.sampled_arm()
        self.set_policy(CHOSEN)
        arm = self.draw(CHOSEN, self.numbers[self.i, 0])
        self.probability = self.rows[CHOSEN, arm]
        return arm

    def sampled_arm(self):
        """Return the arm whose sampled mean loss is least.

        The mean of an arm that was observed n times is normal around (its sum + 1/2) / (n + 1),
        with standard deviation scale / sqrt(n + 1).
        """
        best: cython.Py_ssize_t = -1
        least: cython.double = INFINITY
        self.set_means()
        for a in range(self.arms):
            n = self.counts[self.copy, a]
            mean = (self.rows[LOWER, a] * n + 0.5) / (n + 1.0)
            sampled = mean + self.scale * self.numbers[self.i, a] / sqrt(n + 1.0)
            if self.contexts.may_play(self.i, a) and (best < 0 or sampled < least):
                best, least = a, sampled
        return best

    def learn_losses(self, arm, losses, t, weights, count, by_arm):
        for j in range(count):
            self.counts[self.copy, self.revealed[j]] += 1.0
        RoundCore.learn_losses(self, arm, losses, t, weights, count, by_arm)


@cython.cclass
class LinUcbCore(BoundsCore):
    """A ridge regression for each arm."""

    def __init__(self, inverses, problem, width) -> None:
        blocks, arms, features, _ = inverses.shape
        RoundCore.__init__(self, np.zeros((1, arms, 0)), problem, 5)
        self.made_of = (inverses, problem, width)
        self.inverses, self.width = self.keep("inverses", inverses), width
        self.responses = self.keep("responses", np.zeros((blocks, arms, features)))
        self.product = np.zeros(features)
        self.arrays["weights"][:] = 1.0

    def x(self, arm, v):
        own: cython.Py_ssize_t = min(arm, self.contexts.table.shape[1] - 1)
        return self.contexts.table[self.contexts.entry[self.i], own, v]

    def quadratic(self, arm, total):
        """Set `product` to the inverse of an arm times x; return `total` + x^T inverse x."""
        block: cython.Py_ssize_t = self.contexts.offset[self.i]
        features: cython.Py_ssize_t = self.contexts.table.shape[2]
        for i in range(features):
            row: cython.double = 0.0
            for j in range(features):
                row += self.inverses[block, arm, i, j] * self.x(arm, j)
            self.product[i] = row
            total += row * self.x(arm, i)
        return total

    def choose(self):
        block: cython.Py_ssize_t = self.contexts.offset[self.i]
        for a in range(self.arms):
            width = self.width * sqrt(max(self.quadratic(a, 0.0), 0.0))
            mean: cython.double = 0.0
            for i in range(self.contexts.table.shape[2]):
                mean += self.product[i] * self.responses[block, a, i]
            self.rows[LOWER, a] = mean - width
            self.rows[UPPER, a] = mean + width
        self.probability = 1.0
        return self.optimistic_arm()

    def set_policy(self, out):
        for a in range(self.arms):
            self.rows[out, a] = 0.0
        self.rows[out, self.choose()] = 1.0

    def learn_losses(self, arm, losses, t, weights, count, by_arm):
        """Learn the losses at the round's own context: one step of Sherman and Morrison per arm."""
        block: cython.Py_ssize_t = self.contexts.offset[self.i]
        features: cython.Py_ssize_t = self.contexts.table.shape[2]
        for k in range(count):
            b = self.revealed[k]
            place: cython.Py_ssize_t = b if by_arm else k
            loss = loss_of(losses, t, place, b, self.contexts, self.i)
            denominator = self.quadratic(b, 1.0)
            for i in range(features):
                self.responses[block, b, i] += loss * self.x(b, i)
                for j in range(features):
                    self.inverses[block, b, i, j] -= self.product[i] * self.product[j] / denominator


@cython.cclass
class EdgeCore(RoundCore):
    """Exponential weights that learn the probabilities of edges."""

    def __init__(self, estimates, problem, warm_up, rounds, rates) -> None:
        RoundCore.__init__(self, estimates, problem, 4)
        self.made_of = (estimates, problem, warm_up, rounds, rates)
        self.warm_up, self.rounds = warm_up, rounds
        self.rates = self.keep("rates", np.array(rates, dtype=np.float64))
        self.seen = self.keep("seen", np.zeros((self.arms, self.arms)))
        self.keep("played", np.asarray(self.rows)[PLAYED])
        del self.arrays["sums"]

    def observed(self, b):
        """Return the estimated probability that the policy in CHOSEN reveals `b`."""
        mass: cython.double = 0.0
        for a in range(self.arms):
            if self.seen[a, b] > 0.0:
                mass += self.rows[CHOSEN, a] * (self.seen[a, b] / self.rows[PLAYED, a])
        return mass

    def set_rates(self):
        """Set eta and rho: as given, or computed from the edges learned so far. Changes CHOSEN."""
        self.eta, self.rho = self.rates[0], self.rates[1]
        if self.eta > 0.0 and self.rho > 0.0:
            return
        arms: cython.double = self.arms
        for a in range(self.arms):
            self.rows[CHOSEN, a] = 1.0 / arms
        least: cython.double = 1.0
        for a in range(self.arms):
            least = min(least, max(self.observed(a), 1.0 / (arms * arms)))
        bits: cython.double = log(arms)
        if self.rho == 0.0:
            self.rho = min(pow(bits / (2.0 * least * self.rounds), 1.0 / 3.0), 0.5)
        if self.eta == 0.0:
            self.eta = sqrt(2.0 * self.rho * bits * least / self.rounds)

    def set_policy(self, out):
        """Set a row to the policy of the round: arms in turn at first."""
        if self.number < self.warm_up:
            for a in range(self.arms):
                self.rows[out, a] = 0.0
            a = self.number % self.arms
            while not self.contexts.may_play(self.i, a):
                a = (a + 1) % self.arms
            self.rows[out, a] = 1.0
            return
        self.set_rates()
        self.weigh(self.copy, self.contexts, self.i, self.eta, self.rho, out)

    def choose(self):
        """Play the round. Weights are 0 in the warm-up, and for arms that were never revealed."""
        if self.number >= self.warm_up:
            self.set_rates()
            self.rates[0], self.rates[1] = self.eta, self.rho
        self.set_policy(CHOSEN)
        arm: cython.Py_ssize_t = self.draw(CHOSEN, self.numbers[self.i, 0])
        for b in range(self.arms):
            mass = self.observed(b) if self.number >= self.warm_up else 0.0
            self.rows[WEIGHTS, b] = 1.0 / mass if mass > 0.0 else 0.0
        self.probability = self.rows[CHOSEN, arm]
        return arm

    def learn_losses(self, arm, losses, t, weights, count, by_arm):
        """Count what `arm` revealed, and add its weighted losses."""
        self.rows[PLAYED, arm] += 1.0
        for j in range(count):
            self.seen[arm, self.revealed[j]] += 1.0
        RoundCore.learn_losses(self, arm, losses, t, weights, count, by_arm)
