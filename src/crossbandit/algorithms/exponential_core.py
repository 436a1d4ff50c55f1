# cython: infer_types=True
"""The cores of FTRL with graph feedback and exploration, and of Algorithm 1.

All algorithms of the first kind use the same steps with other numbers: the regulariser, which arms
are explored, how often, and what is added to observation probabilities. They learn from a round in
every context (cross-learning), or only in its own.

The regulariser is a negative Tsallis entropy with some power from 0 to 1 (Zimmert and Seldin 2021),

    Psi(p) = -sum_a (p(a)^power - power p(a)) / (power (1 - power)).

With power 1 it is, in the limit, the negative entropy: exponential weights; with power 0 the
log-barrier. The distribution that minimises <p, L> + Psi(p) / eta is

    p(a) = (y + (1 - power) eta (L(a) - min L))^(-1 / (1 - power)),

where y makes the sum 1.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if not cython.compiled:  # the .pxd names what machine code imports
    from math import log, pow, sqrt

    from crossbandit.core.arithmetic import Contexts
    from crossbandit.core.rounds import RoundCore

from typing import NamedTuple

import numpy as np

WEIGHTS = cython.declare(cython.Py_ssize_t, 0)
CHOSEN = cython.declare(cython.Py_ssize_t, 1)
EXPLORATION = cython.declare(cython.Py_ssize_t, 3)  # the distribution of arms that are explored
IMPLICIT = cython.declare(cython.Py_ssize_t, 4)  # what is added to observation probabilities
MEAN = cython.declare(cython.Py_ssize_t, 3)  # Algorithm 1, scratch: r_t averaged over contexts
DENOMINATORS = cython.declare(cython.Py_ssize_t, 4)  # Algorithm 1: u_t of the round played last


_STEPS = cython.declare(cython.Py_ssize_t, 100)  # of Newton's method; fewer than ten are needed


class ExponentialParameters(NamedTuple):
    """The constants of a learner; those that an algorithm does not have are 0."""

    eta: float  # the learning rate
    rho: float  # the probability of exploration
    gamma: float  # the implicit exploration of arms with a self-loop
    beta: float  # the pessimistic correction of an arm without self-loop
    scale: float  # how fast rates adapt to the entropy of the policies; 0 if they are fixed


class Adaptation(NamedTuple):
    """The regulariser, and how rates adapt to the entropy of the policies."""

    exponent: float = 0.0  # how strongly the entropy counts
    spread: float = 0.0  # 1 / (least probability with which exploration reveals an arm), or 0
    floor: float = 0.0  # eta times this is the least exploration
    anytime: bool = False  # whether eta is scale / sqrt(t) instead, in round t of its estimates
    power: float = 1.0  # of the regulariser


class KnownParameters(NamedTuple):
    """The constants of Algorithm 1, by the paper's names."""

    eta: float
    gamma: float
    rho: float
    beta: float


@cython.cclass
class ExponentialCore(RoundCore):
    """FTRL on weighted losses, mixed with exploration."""

    def __init__(self, estimates, problem, parameters, exploration, implicit, adaptation) -> None:
        RoundCore.__init__(self, estimates, problem, 5)
        self.made_of = (estimates, problem, parameters, exploration, implicit, adaptation)
        copies, rows = len(estimates), np.asarray(self.rows)
        rows[EXPLORATION], rows[IMPLICIT] = exploration, implicit
        self.scale, self.beta = parameters.scale, parameters.beta
        self.exponent, self.spread, self.floor, self.anytime, self.power = adaptation
        loopless = problem.loopless if parameters.beta else ()
        self.loopless = np.array(loopless, dtype=np.int64)
        self.rates = self.keep(
            "rates", np.tile(np.array(parameters[:2], dtype=np.float64), (copies, 1))
        )
        self.entropies = self.keep("entropies", np.zeros((copies, 2)))
        self.keep("exploration", rows[EXPLORATION])

    def explore(self, rho, out):
        """Set row `out` to (1 - rho) * out + rho * exploration.

        Only available arms are explored. If no arm with exploration is available, all available
        arms share it equally.
        """
        total: cython.double = 0.0
        count: cython.double = 0.0
        if rho == 0.0:
            return
        for a in range(self.arms):
            if self.contexts.may_play(self.i, a):
                total += self.rows[EXPLORATION, a]
                count += 1.0
        for a in range(self.arms):
            if self.contexts.may_play(self.i, a):
                explored = self.rows[EXPLORATION, a] / total if total > 0.0 else 1.0 / count
                self.rows[out, a] = (1.0 - rho) * self.rows[out, a] + rho * explored

    def set_policy(self, out):
        self.weigh(self.copy, self.contexts, self.i, self.rates[self.copy, 0], 0.0, out)
        self.explore(self.rates[self.copy, 1], out)

    def count(self):
        """Set CHOSEN to the policy of the round, and make all changes that need no feedback."""
        rho: cython.double = self.rates[self.copy, 1]
        self.weigh(self.copy, self.contexts, self.i, self.rates[self.copy, 0], 0.0, CHOSEN)
        if self.scale > 0.0:
            self.adapt()
        self.explore(rho, CHOSEN)
        if self.loopless.shape[0] > 0:
            self.correct()

    def choose(self):
        self.count()
        arm: cython.Py_ssize_t = self.draw(CHOSEN, self.numbers[self.i, 0])
        self.set_weights(arm)
        self.probability = self.rows[CHOSEN, arm]
        return arm

    def normalise(self, contexts, i, least, eta, rho, out):
        """Turn a row of scores into the distribution of FTRL.

        Newton's method finds y from below: the sum of the weights is convex and falls in y, and at
        y = 1 it is at least 1, as the best arm has the weight 1.
        """
        if self.power == 1.0:
            RoundCore.normalise(self, contexts, i, least, eta, rho, out)
            return
        y: cython.double = 1.0
        total: cython.double = 0.0
        exponent: cython.double = 1.0 / (1.0 - self.power)
        for a in range(self.arms):
            self.rows[out, a] = eta * (self.rows[out, a] - least) / exponent
        for _ in range(_STEPS):
            total = 0.0
            slope: cython.double = 0.0
            for a in range(self.arms):
                if contexts.may_play(i, a):
                    inverse: cython.double = 1.0 / (y + self.rows[out, a])
                    weight: cython.double = self.raised(inverse)
                    total += weight
                    slope += exponent * weight * inverse
            step: cython.double = (total - 1.0) / slope
            y += step
            if step <= 1e-15 * y:
                break
        total = 0.0
        for a in range(self.arms):
            weight = 0.0
            if contexts.may_play(i, a):
                weight = self.raised(1.0 / (y + self.rows[out, a]))
            self.rows[out, a] = weight
            total += weight
        for a in range(self.arms):
            self.rows[out, a] /= total

    def raised(self, x):
        """Return x^(1 / (1 - power)); a square takes a fifth of the time of a power."""
        return x * x if self.power == 0.5 else pow(x, 1.0 / (1.0 - self.power))

    def adapt(self):
        """Add the entropy of CHOSEN, the distribution of FTRL, and set the next rates."""
        entropy: cython.double = 0.0
        for a in range(self.arms):
            if self.rows[CHOSEN, a] > 0.0:
                entropy -= self.rows[CHOSEN, a] * log(self.rows[CHOSEN, a])
        copy: cython.Py_ssize_t = self.copy
        largest: cython.double = log(self.arms)
        self.entropies[copy, 0] += entropy
        self.entropies[copy, 1] += 1.0
        if self.anytime:
            self.rates[copy, 0] = self.scale / sqrt(self.entropies[copy, 1] + 1.0)
            return
        total: cython.double = self.entropies[copy, 0]
        growth: cython.double = self.scale * pow(1.0 + total / largest, -self.exponent)
        eta: cython.double = 1.0 / (1.0 / self.rates[copy, 0] + growth)
        mean: cython.double = (1.0 + total / largest) / (1.0 + self.entropies[copy, 1])
        self.rates[copy, 0] = eta
        self.rates[copy, 1] = min(sqrt(self.spread * mean * eta) + self.floor * eta, 0.5)

    def set_weights(self, arm):
        """Set WEIGHTS to 1 / (probability of observing each arm + implicit exploration).

        CHOSEN is the policy of the round. If the arm played reveals b, the mass of b's
        in-neighbourhood is at least the probability of that arm. The maximum ensures it despite
        rounding, so nothing is divided by 0.
        """
        self.masses(self.ranges, self.shift, CHOSEN, WEIGHTS)
        for b in range(self.arms):
            self.rows[WEIGHTS, b] = 1.0 / max(
                self.rows[WEIGHTS, b] + self.rows[IMPLICIT, b], self.rows[CHOSEN, arm]
            )

    def weigh_again(self, chosen, graph, arm: cython.Py_ssize_t):
        """Return the weights of a round whose graph has become known."""
        self.at_round(0, 0, (0, None, None), graph)
        self.arrays["chosen"][:] = chosen
        self.set_weights(arm)
        return self.arrays["weights"].copy()

    def correct(self):
        """Add the pessimistic correction to the arm without self-loop that is played most."""
        special: cython.Py_ssize_t = self.heaviest(self.loopless, CHOSEN)
        self.masses(self.in_ranges, 0, CHOSEN, WEIGHTS)
        observed: cython.double = self.rows[WEIGHTS, special] + self.rows[IMPLICIT, special]
        if observed > 0.0:  # 0 if no other arm is available: then there is nothing to correct
            self.bias[self.copy, special] += self.beta / observed


@cython.cclass
class KnownCore(RoundCore):
    """Algorithm 1, which knows the context distribution.

    Observation masses are linear in the policy, so the mean over contexts is taken once, before the
    masses are computed.
    """

    def __init__(self, estimates, problem, parameters, support, probabilities) -> None:
        RoundCore.__init__(self, estimates, problem, 5)
        self.made_of = (estimates, problem, parameters, support, probabilities)
        rows = np.asarray(self.rows)
        self.eta, self.gamma, self.rho, self.beta = parameters
        self.loopless = np.array(problem.loopless, dtype=np.int64)
        self.support, self.probabilities = Contexts(*support), probabilities
        self.keep("denominators", rows[DENOMINATORS])
        self.keep("mean", rows[MEAN])

    def set_policy(self, out):
        self.weigh(0, self.contexts, self.i, self.eta, self.rho, out)

    def choose(self):
        self.set_policy(CHOSEN)  # before the correction changes it
        arm: cython.Py_ssize_t = self.draw(CHOSEN, self.numbers[self.i, 0])
        self.probability = self.rows[CHOSEN, arm]
        self.count()
        return arm

    def count(self):
        """Set the weights of a round and add its pessimistic correction."""
        for a in range(self.arms):
            self.rows[MEAN, a] = 0.0
        for c in range(self.probabilities.shape[0]):
            self.weigh(0, self.support, c, self.eta, self.rho, CHOSEN)
            for a in range(self.arms):
                self.rows[MEAN, a] += self.probabilities[c] * self.rows[CHOSEN, a]
        self.masses(self.ranges, self.shift, MEAN, DENOMINATORS)
        for a in range(self.arms):
            self.rows[DENOMINATORS, a] += self.gamma
            self.rows[WEIGHTS, a] = 1.0 / self.rows[DENOMINATORS, a]
        if self.loopless.shape[0] > 0:
            special: cython.Py_ssize_t = self.heaviest(self.loopless, MEAN)
            self.bias[0, special] += self.beta / self.rows[DENOMINATORS, special]
