"""Intervals over seeds and over time cover as often as they say."""

import math

import numpy as np
import pytest

from crossbandit.core.report.statistics import half_widths
from crossbandit.core.types import Floats
from crossbandit.logs.replay.results import half_widths_over_time, resample_totals

POINTS = 500


def test_half_widths_cover_as_often_as_they_say() -> None:
    samples = np.random.default_rng(0).normal(size=(5, 20_000))
    covered = np.mean(np.abs(samples.mean(axis=0)) <= half_widths(samples))
    assert covered == pytest.approx(0.95, abs=0.006)  # four standard errors
    assert math.isnan(half_widths(samples[:1])[0])


def waves(count: int, memory: float, seed: int) -> Floats:
    """Return the running sums of autoregressive sequences with mean 0."""
    noise = np.random.default_rng(seed).normal(size=(count, POINTS + 100))
    steps = np.zeros_like(noise)
    for t in range(1, noise.shape[1]):
        steps[:, t] = memory * steps[:, t - 1] + noise[:, t]
    return np.cumsum(steps[:, 100:], axis=1)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.8])
def test_intervals_over_time_cover_also_where_neighbours_are_alike(memory: float) -> None:
    """Of 2,000 sequences, 92 % to 97 % are covered; the standard error is 0.5 %."""
    curves = waves(2_000, memory, seed=1)
    widths = np.concatenate(
        [half_widths_over_time(resample_totals(part)) for part in np.split(curves, 20)]
    )
    covered = np.mean(np.abs(curves[:, -1]) <= widths)
    assert 0.92 < covered < 0.97


def test_intervals_that_took_neighbours_for_independent_would_be_too_narrow() -> None:
    curves = waves(2_000, 0.8, seed=1)
    naive = 1.96 * np.diff(curves, prepend=0.0, axis=1).std(axis=1) * np.sqrt(POINTS)
    assert np.mean(np.abs(curves[:, -1]) <= naive) < 0.6


def test_what_two_curves_have_in_common_cancels() -> None:
    market, own = waves(2, 0.8, seed=2)
    deviations = resample_totals(np.array([market, market + 0.01 * own, 3 * market]))
    alone, pair = half_widths_over_time(np.array([deviations[0], deviations[1] - deviations[0]]))
    own_width = half_widths_over_time(resample_totals(own[None]))[0]
    assert pair == pytest.approx(0.01 * own_width)
    assert pair < 0.05 * alone
    np.testing.assert_allclose(deviations[2], 3 * deviations[0], atol=1e-9)


def test_a_curve_that_rises_evenly_has_no_interval_and_a_short_one_is_unknown() -> None:
    even = np.arange(1.0, 48.0)[None]  # a number of points that blocks do not divide
    np.testing.assert_allclose(resample_totals(even), 0, atol=1e-9)
    assert np.isnan(resample_totals(even[:, :19])).all()


def test_the_random_numbers_are_fixed() -> None:
    curves = waves(3, 0.5, seed=3)
    np.testing.assert_array_equal(resample_totals(curves), resample_totals(curves))
    np.testing.assert_allclose(resample_totals(curves)[1:2], resample_totals(curves[1:2]))


@pytest.mark.parametrize("at", [0, 50, 150, 199])
def test_every_part_of_a_log_is_drawn_as_often(at: int) -> None:
    curve = (np.arange(200) >= at).astype(float)[None]  # all that was earned came in one moment
    assert abs(resample_totals(curve).mean()) < 0.1
