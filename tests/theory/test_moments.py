"""Exact probabilities: against sums by hand, and under random parameters."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit.theory.lemmas import moments
from crossbandit.theory.lemmas.moments import Sample, binomial, freedman, sample_at

shares = st.floats(0, 1)


@given(st.integers(1, 60), shares)
def test_binomial_probabilities(n: int, p: float) -> None:
    masses = binomial(n, p)
    assert masses.sum() == pytest.approx(1, abs=1e-9)
    assert masses @ np.arange(n + 1) == pytest.approx(n * p, abs=1e-9)


@settings(max_examples=200)
@given(st.sampled_from([8, 32, 128]), st.lists(shares, min_size=5, max_size=5))
def test_moments_and_failures(n: int, point: list[float]) -> None:
    sample = sample_at(n, 0.5, np.array(point))
    assert sample.gamma >= 4 * sample.iota / sample.length * (1 - 1e-12)
    assert 0 <= sample.values.min() <= sample.values.max() <= 0.5
    assert sample.masses @ sample.values == pytest.approx(sample.mean, abs=1e-9)
    assert moments.ratio_mean(sample).ratio <= 0.5 + 1e-9
    assert moments.ratio_mean_below(sample).left <= 1e-12
    assert moments.ratio_square(sample).ratio <= 4
    assert moments.frequency_failure(sample).ratio <= 1
    wide = sample_at(n, 1.0, np.array(point))
    assert moments.selector_failure(wide).ratio <= 1


def test_moments_of_a_fair_coin_by_hand() -> None:
    """One draw from {0, 1/2} with gamma = 1/4: W is 3/8 or 7/8, u = 1/2."""
    sample = Sample(1, np.array([0.0, 0.5]), np.array([0.5, 0.5]), 0.25, 0.25, 1.0)
    low, high = 1 - 0.5 / 0.375, 1 - 0.5 / 0.875
    assert moments.ratio_mean(sample).left == pytest.approx((low + high) / 2)
    assert moments.ratio_mean(sample).right == pytest.approx(0.25 / 0.5)
    below = (-(low + high) / 2, math.exp(-1))
    assert moments.ratio_mean_below(sample) == pytest.approx(below)
    assert moments.ratio_square(sample).left == pytest.approx((low**2 + high**2) / 2)
    assert moments.ratio_square(sample).right == pytest.approx((0.25 / 2 + 0.25**2) / 0.25)


def test_failures_of_a_fair_coin_by_hand() -> None:
    """Four draws from {0, 1}, L = 8: radii 2 sqrt(iota / 16) and sqrt(iota / 8)."""
    masses = np.array([1, 4, 6, 4, 1]) / 16
    for iota, frequency, selector in ((0.2, 10 / 16, 10 / 16), (0.3, 2 / 16, 10 / 16)):
        sample = Sample(4, np.arange(5) / 4, masses, 0.5, 0.25, iota)
        bound = 2 * math.exp(-iota)
        assert moments.frequency_failure(sample) == pytest.approx((frequency, bound))
        assert moments.selector_failure(sample) == pytest.approx((selector, bound))
    farther = Sample(4, np.arange(5) / 4, masses, 0.5, 0.25, 0.6)
    assert moments.frequency_failure(farther).left == pytest.approx(2 / 16)
    assert moments.selector_failure(farther).left == pytest.approx(2 / 16)


@pytest.mark.parametrize(("w", "radius"), [(0.5, 2 * math.sqrt(0.5 * 0.05)), (0.0, 2 * 0.05)])
def test_frequency_radius(w: float, radius: float) -> None:
    assert moments.frequency_radius(w, 5.0, 100) == pytest.approx(radius)


def test_the_lower_side_of_equation_4_needs_gamma_of_order_1_over_length() -> None:
    """Without gamma >= 4 / L, E[phi] can be negative: the condition is used."""
    n = 32
    drawn = 0.5 * np.arange(n + 1) / n
    sample = Sample(n, drawn, binomial(n, 0.5), 0.25, 0.01 / n, 5.0)
    assert moments.ratio_mean_below(sample).left > 0.001


@pytest.mark.parametrize("error", [-1.0, 1.0])
def test_clipping_needs_the_constant_4(error: float) -> None:
    length, iota = 100, 5.0
    enough, too_little = 4 * iota / length, 3.9 * iota / length
    assert moments.clipping(0.0, error, enough, iota, length).ratio <= 1 + 1e-12
    assert (moments.clipping(0.0, error, too_little, iota, length).ratio > 1) == (error > 0)


@pytest.mark.parametrize("n", [8, 512])
def test_searches_begin_at_the_least_gamma_that_is_allowed(n: int) -> None:
    """At the corner of the cube, iota = 1 and gamma = 4 / L with L = 2 n."""
    sample = sample_at(n, 0.5, np.zeros(5))
    assert (sample.iota, sample.gamma) == pytest.approx((1, 2 / n))
    widest = sample_at(n, 0.5, np.array([1.0, 1.0, 0.0, 0.0, 0.0]))
    assert (widest.iota, widest.gamma) == pytest.approx((n / 4, 8 * 4 * (n / 4) / (2 * n)))


def test_the_search_for_clipping_meets_the_equality() -> None:
    """Where w = 0, what = 2 iota / L and gamma = 4 iota / L, theta = 4 / (2 + 6) = 1/2."""
    assert moments._clipping_at(np.array([0.3, 0.0, 1.0, 0.0])) == pytest.approx((2, 2))


def test_the_search_for_loss_failures_meets_the_least_gamma() -> None:
    """n = 8, iota = 1, gamma = 1/4, w = 1/2 and l = 2: it fails from 8 * 2 / (3/4) > 20 on."""
    left, right = moments._loss_failure_at(8, np.array([0.0, 0.0, 1.0, 1.0]))
    assert left == pytest.approx(1 / 2**8)
    assert right == pytest.approx(math.exp(-1))


def test_freedman_of_one_round_by_hand() -> None:
    """X = 1 with probability p, else 0: only a success can exceed, if 1 - p > p + log(1/delta)."""
    assert freedman(1.0, 0.0, 0.1, 1, 0.5).left == pytest.approx(0.1)
    assert freedman(1.0, 0.0, 0.1, 1, 0.4) == (0, 0.4)


def test_freedman_of_many_rounds_against_all_paths() -> None:
    p, down, rounds, delta = 0.3, 0.2, 10, 0.5
    mean, square = p - (1 - p) * down, p + (1 - p) * down**2
    failed = 0.0
    for path in range(2**rounds):
        ups = [(path >> t) & 1 for t in range(rounds)]
        total, worst = 0.0, -math.inf
        for t, up in enumerate(ups, start=1):
            total += (1.0 if up else -down) - mean
            worst = max(worst, total - t * square)
        if worst > -math.log(delta):
            failed += p ** sum(ups) * (1 - p) ** (rounds - sum(ups))
    assert freedman(1.0, down, p, rounds, delta).left == pytest.approx(failed)
    assert 0 < failed < delta


@settings(max_examples=100)
@given(st.integers(1, 20), shares, st.floats(-0.99, 3), st.floats(1e-4, 0.99))
def test_freedman(rounds: int, p: float, down: float, delta: float) -> None:
    assert freedman(1.0, down, p, rounds, delta).ratio <= 1
