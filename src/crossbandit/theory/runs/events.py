"""How often the good events of the analysis hold, and the fallback is played, on real runs.

Each event is a comparison with a deviation that grows with iota. So an epoch has a *critical* iota:
the least at which the event holds. One run then tests the bound on the probability of failure for
every iota: the critical iota of an epoch exceeds x with probability at most 2K e^-x (frequency and
selector) or MK e^-x (losses), whatever happened before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.algorithms.tuning import Constants
from crossbandit.theory.runs.environment_view import view_environment
from crossbandit.theory.runs.following import follow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.algorithms import CrossGraph
    from crossbandit.environments import Environment
    from crossbandit.kernels.epochs import EpochParameters
    from crossbandit.streams import Seed
    from crossbandit.theory.runs.following import PlayedPair
    from crossbandit.types import Floats

_LEAST = 1e-300  # smaller weights count as this, so that ratios are finite

EVENTS = ("frequency", "loss", "selector")


class EpochMeasurement(NamedTuple):
    """The measurements of one epoch."""

    frequency: float  # critical iota of |what_e - w_e| <= 2 max(sqrt(w_e iota / L), iota / L)
    loss: float  # critical iota of: sum of I l / u_e <= L + iota / gamma
    selector: float  # critical iota of |mhat_e - m_e| <= sqrt(iota / L)
    least_ratio: float  # of u_e / W_e over arms
    largest_ratio: float
    drift: float  # the largest factor between p_t, or ptilde_t, and s_e
    fallback: float  # share of rounds and contexts, the latter by their probabilities


@dataclass(frozen=True, eq=False, kw_only=True)
class Events:
    """The good events of one algorithm on one environment, in each epoch after the warm-up."""

    parameters: EpochParameters
    arms: int
    contexts: int
    iota: float  # C log(MKT) with the C of the theorem's rule, whichever rule is in use
    measured: Floats  # (seeds, epochs, fields of EpochMeasurement)

    def all(self, name: str) -> Floats:
        """Return one field of `EpochMeasurement` in all epochs, (seeds, epochs)."""
        result: Floats = self.measured[:, :, EpochMeasurement._fields.index(name)]
        return result

    def failures(self, event: str) -> float:
        """Return the share of epochs in which an event does not hold at `iota`."""
        return float((self.all(event) > self.iota).mean())

    def bound(self, event: str, iota: float) -> float:
        """Return the bound on the probability that an event fails in an epoch, at most 1."""
        sides = self.contexts if event == "loss" else 2
        return min(1.0, sides * self.arms * math.exp(-iota))

    @property
    def good(self) -> float:
        """The share of seeds for which all events held in all epochs: Q."""
        held = np.logical_and.reduce([self.all(event) <= self.iota for event in EVENTS])
        return float(held.all(axis=1).mean())

    @property
    def good_bound(self) -> float:
        """The bound on the probability of Q, at least 0."""
        epochs = self.measured.shape[1] + 1
        sides = 4 * self.arms + self.contexts * self.arms
        return float(max(0.0, 1.0 - epochs * sides * math.exp(-self.iota)))

    @property
    def strain(self) -> float:
        """The left side of the snapshot lemma's last condition; the right side is log 2."""
        eta, gamma, _, beta, length = self.parameters
        inputs = length + self.iota / gamma + length * beta / gamma
        return float(eta * Constants().stability * inputs)


def measure_events(
    algorithm: CrossGraph, environment: Environment, seeds: Sequence[Seed]
) -> Events:
    """Play `algorithm` once for each seed and measure the good events in every epoch.

    >>> from crossbandit import CrossGraph, environments
    >>> environment = environments.paper_benchmark(1_000, alpha=4, contexts=20)
    >>> events = measure_events(CrossGraph(), environment, range(2))
    >>> [events.failures(event) for event in EVENTS]
    [0.0, 0.0, 0.0]
    """
    view = view_environment("measure_events", environment)
    parameters = algorithm.parameters(environment.problem)
    arms, contexts = environment.problem.arms, view.nu.size
    measured = [
        [
            _measure(view.nu, parameters, pairs)
            for number, pairs in groupby(follow(algorithm, view, seed), _epoch)
            if number > 1
        ]
        for seed in seeds
    ]
    return Events(
        parameters=parameters,
        arms=arms,
        contexts=contexts,
        iota=Constants().iota * math.log(contexts * arms * view.horizon),
        measured=np.array(measured),
    )


def _epoch(pair: PlayedPair) -> int:
    return pair.moment.epoch


def _measure(
    nu: Floats, parameters: EpochParameters, pairs: Iterator[PlayedPair]
) -> EpochMeasurement:
    """Measure one epoch, which is not empty."""
    first = next(pairs)
    epoch, population = first.moment, first.moment.u
    sums = np.zeros_like(epoch.p)
    drift, fallback, count = 1.0, 0.0, 0
    for pair in chain([first], pairs):
        sums += pair.observed / population * pair.doubled
        drift = max(drift, *(_factor(p, epoch.snapshot) for p in (pair.moment.p, pair.ideal.p)))
        fallback += float(pair.moment.fallback @ nu)
        count += 1
    length = parameters.epoch_length
    error = np.abs(epoch.w_hat - epoch.w)
    frequency = np.minimum(length * error**2 / (4.0 * epoch.w), length * error / 2.0)
    ratio = population / epoch.denominators
    return EpochMeasurement(
        frequency=float(frequency.max()),
        loss=parameters.gamma * (float(sums.max()) - length),
        selector=length * float(np.abs(epoch.selector_mass - epoch.m).max()) ** 2,
        least_ratio=float(ratio.min()),
        largest_ratio=float(ratio.max()),
        drift=drift,
        fallback=fallback / count,
    )


def _factor(weights: Floats, snapshot: Floats) -> float:
    """Return the largest factor between a trajectory and the snapshot, either way."""
    ratio = np.maximum(weights, _LEAST) / np.maximum(snapshot, _LEAST)
    return max(float(ratio.max()), 1.0 / float(ratio.min()))
