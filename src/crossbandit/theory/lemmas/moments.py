"""Lemma 3, the good events and the random denominators, with exact probabilities.

A mean of n = L / 2 draws from two points takes n + 1 values with binomial probabilities. So every
probability and moment below is a finite sum, and the search runs over the two points, their
weights, gamma and iota.

The paper leaves the constants of (4) and (5) open. With x = W / u, the clipped phi satisfies
(x - 1) - 2 (x - 1)^2 <= phi <= x - 1 and |phi| <= 2 |x - 1|; and E[W] - u = gamma / 2,
Var(W) <= w / L. So 0 <= E[phi] <= gamma / (2 u) as soon as gamma >= 4 / L, and
E[phi^2] <= 4 w / (L u^2) + gamma^2 / u^2: no term exp(-iota) is needed.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.theory.lemmas.search import Case, Point, Sides, between, bounded, geometric
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from crossbandit.types import Floats

_SAMPLES = (8, 32, 128, 512)  # n = L / 2
_STABLE = 4.0  # the C of gamma >= C iota / L


class Sample(NamedTuple):
    """The mean of n draws from two points: its distribution, and the other parameters."""

    n: int
    values: Floats  # (n + 1,): what the mean may be
    masses: Floats  # (n + 1,)
    mean: float
    gamma: float
    iota: float

    @property
    def length(self) -> int:
        """The epoch length L."""
        return 2 * self.n

    def probability(self, event: npt.NDArray[np.bool_]) -> float:
        """Return the probability of an event that is given for every value."""
        return float(self.masses[event].sum())


@lru_cache(maxsize=8)
def _log_binomials(n: int) -> Floats:
    factorials = np.array([math.lgamma(k + 1) for k in range(n + 1)])
    logarithms: Floats = factorials[n] - factorials - factorials[::-1]
    return logarithms


def binomial(n: int, p: float) -> Floats:
    """Return the probabilities of 0 to n successes."""
    k = np.arange(n + 1)
    p = min(max(p, 1e-300), 1 - 1e-16)
    masses: Floats = np.exp(_log_binomials(n) + k * math.log(p) + (n - k) * math.log1p(-p))
    return masses


def sample_at(n: int, top: float, values: Floats) -> Sample:
    """Turn a point into a sample from two points of [0, top], with gamma >= 4 iota / L."""
    point = Point(values)
    iota = geometric(1.0, n / 4, point.one())
    gamma = _STABLE * iota / (2 * n) * geometric(1.0, 8.0, point.one())
    ends = np.sort(top * point.many(2) ** 3)
    p = geometric(1e-6, 1.0, point.one())
    low, high = float(ends[0]), float(ends[1])
    drawn = low + (high - low) * np.arange(n + 1) / n
    return Sample(n, drawn, binomial(n, p), low + (high - low) * p, gamma, iota)


# ------------------------------------------------------------------------------- the two sides


def ratio_mean(sample: Sample) -> Sides:
    """Equation 4, right: E[phi] <= C gamma / u."""
    u = sample.mean + sample.gamma
    return Sides(float(sample.masses @ _phi(sample)), sample.gamma / u)


def ratio_mean_below(sample: Sample) -> Sides:
    """Equation 4, left: -E[phi] <= C exp(-iota)."""
    return Sides(-float(sample.masses @ _phi(sample)), math.exp(-sample.iota))


def ratio_square(sample: Sample) -> Sides:
    """Equation 5: E[phi^2] <= C (w / (L u^2) + gamma^2 / u^2)."""
    w, u = sample.mean, sample.mean + sample.gamma
    right = (w / sample.length + sample.gamma**2) / u**2
    return Sides(float(sample.masses @ _phi(sample) ** 2), right)


def _phi(sample: Sample) -> Floats:
    u = sample.mean + sample.gamma
    clipped: Floats = np.clip(1 - u / (sample.values + 1.5 * sample.gamma), -1.0, 0.5)
    return clipped


def frequency_radius(w: float, iota: float, length: int) -> float:
    """Return how far what_e may be from w_e on the frequency event."""
    return 2 * max(math.sqrt(w * iota / length), iota / length)


def frequency_failure(sample: Sample) -> Sides:
    """P(frequency event fails at an arm) <= 2 exp(-iota)."""
    radius = frequency_radius(sample.mean, sample.iota, sample.length)
    failed = np.abs(sample.values - sample.mean) > radius
    return Sides(sample.probability(failed), 2 * math.exp(-sample.iota))


def selector_failure(sample: Sample) -> Sides:
    """P(selector event fails at an arm) <= 2 exp(-iota)."""
    radius = math.sqrt(sample.iota / sample.length)
    failed = np.abs(sample.values - sample.mean) > radius
    return Sides(sample.probability(failed), 2 * math.exp(-sample.iota))


def loss_failure(n: int, w: float, loss: float, gamma: float, iota: float) -> Sides:
    """P(loss event fails at an arm and context) <= exp(-iota), for a doubled loss in [0, 2]."""
    total = loss * np.arange(n + 1) / (w + gamma)
    failed = total > 2 * n + iota / gamma
    return Sides(float(binomial(n, w)[failed].sum()), math.exp(-iota))


def clipping(w: float, error: float, gamma: float, iota: float, length: int) -> Sides:
    """On the frequency event, theta = u / W is within a factor of two of 1; error in [-1, 1]."""
    w_hat = max(0.0, w + error * frequency_radius(w, iota, length))
    theta = (w + gamma) / (w_hat + 1.5 * gamma)
    return Sides(max(theta, 1 / theta), 2.0)


def freedman(up: float, down: float, p: float, rounds: int, delta: float) -> Sides:
    """Lemma 3 for independent X = up with probability p, else -down; lambda = 1 / up.

    Left: the probability that some partial sum exceeds the bound. Right: delta.
    """
    rate = 1 / up
    mean, square = p * up - (1 - p) * down, p * up**2 + (1 - p) * down**2
    alive, failed = np.ones(1), 0.0  # alive: masses of 0, 1, ... successes without excess so far
    for t in range(1, rounds + 1):
        masses = np.zeros(t + 1)
        masses[:-1] += (1 - p) * alive
        masses[1:] += p * alive
        successes = np.arange(t + 1)
        total = successes * up - (t - successes) * down - t * mean
        exceeds = total > rate * t * square - math.log(delta) / rate
        failed += float(masses[exceeds].sum())
        masses[exceeds] = 0.0
        alive = masses
    return Sides(failed, delta)


# ------------------------------------------------------------------------------- the searches


def _sample_cases(sides_of: Callable[[Sample], Sides], top: float) -> list[Case]:
    def at(n: int, point: Floats) -> Sides:
        return sides_of(sample_at(n, top, point))

    return [Case(5, partial(at, n)) for n in _SAMPLES]


def _freedman_at(rounds: int, values: Floats) -> Sides:
    point = Point(values)
    up, down = 1.0, between(-0.99, 2.0, point.one())
    p, delta = geometric(1e-4, 1.0, point.one()), geometric(1e-6, 0.9, point.one())
    return freedman(up, down, p, rounds, delta)


@statement(30, "Lemma 3")
def freedman_holds(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The probability of ever exceeding Freedman's bound is at most delta."""
    yield bounded(
        "Lemma 3 (Freedman)",
        "exact P(some partial sum exceeds the bound) over delta, for sums of two-point variables",
        [Case(3, partial(_freedman_at, rounds)) for rounds in (1, 5, 30)],
        effort,
    )


def _loss_failure_at(n: int, values: Floats) -> Sides:
    point = Point(values)
    iota = geometric(1.0, n / 4, point.one())
    gamma = _STABLE * iota / (2 * n) * geometric(1.0, 8.0, point.one())
    return loss_failure(n, geometric(1e-6, 0.5, point.one()), 2 * point.one(), gamma, iota)


def _clipping_at(values: Floats) -> Sides:
    point = Point(values)
    length, iota = 1_000, geometric(1.0, 100.0, point.one())
    w, error = 0.5 * point.one() ** 4, 2 * point.one() - 1
    gamma = _STABLE * iota / length * geometric(1.0, 8.0, point.one())
    return clipping(w, error, gamma, iota, length)


@statement(51, "Appendix C: P(Q)", "Appendix C: clipping is inactive on Q")
def good_events_fail_rarely(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The failure probabilities that the union bound over Q adds up."""
    for name, sides_of, top in (
        ("frequency event", frequency_failure, 0.5),
        ("selector event", selector_failure, 1.0),
    ):
        yield bounded(
            f"Appendix C ({name})",
            "exact P(fails at one arm) over 2 exp(-iota); distributions on two points searched",
            _sample_cases(sides_of, top),
            effort,
        )
    yield bounded(
        "Appendix C (loss event)",
        "exact P(fails at one arm and context) over exp(-iota), with the doubled loss",
        [Case(4, partial(_loss_failure_at, n)) for n in _SAMPLES],
        effort,
        note="Together: P(not Q) <= (T/L) (2 K + 2 K + M K) exp(-iota), as in the paper.",
    )
    yield bounded(
        "Appendix C (clipping is inactive on Q)",
        "theta = u / W in [1/2, 2] on the frequency event, for gamma >= 4 iota / L",
        [Case(4, _clipping_at)],
        effort,
        note="4 is the smallest such constant: where w = 0, what = 2 iota / L gives theta = 1/2.",
    )


@statement(79, "Equation 4", "Equation 5")
def random_denominators_have_small_moments(
    _subject: Subject, effort: Effort
) -> Iterator[CheckResult]:
    """First and second moments of the clipped ratio error phi."""
    for number, claim, sides_of, constant, note in (
        ("4, left", "-E[phi] <= C exp(-iota)", ratio_mean_below, 1.0, "E[phi] is never negative."),
        ("4, right", "E[phi] <= C gamma / u", ratio_mean, 0.5, ""),
        ("5", "E[phi^2] <= C (w / (L u^2) + gamma^2 / u^2)", ratio_square, 4.0, ""),
    ):
        yield bounded(
            f"Equation {number} (random denominator)",
            f"{claim}, exact moments; distributions on two points, gamma >= 4 iota / L searched",
            _sample_cases(sides_of, 0.5),
            effort,
            constant=constant,
            note=note or "Holds without the term C exp(-iota).",
        )
