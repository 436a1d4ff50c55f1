import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit.core.report.statistics import (
    half_width,
    half_widths,
    holm,
    paired_test,
    slope,
    slope_interval,
)


def test_half_width_by_hand() -> None:
    # Mean 3, squared deviations 4 + 0 + 4, variance 8 / 2 = 4, standard error 2 / sqrt(3);
    # 4.302653 is Student's quantile for three seeds.
    assert half_width([1.0, 3.0, 5.0]) == pytest.approx(4.302653 * 2 / math.sqrt(3))
    assert math.isnan(half_width([1.0]))
    assert half_widths([[1.0, 1.0], [3.0, 1.0], [5.0, 1.0]]).tolist() == pytest.approx(
        [4.302653 * 2 / math.sqrt(3), 0.0]
    )


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_intervals_of_few_seeds_cover_as_often_as_they_say(seeds: int) -> None:
    # 20,000 intervals of 95 %: 5 standard errors of the share are 0.0077. Chance of a false alarm:
    # 6e-7. With 1.96 standard errors, the shares would be 0.70, 0.81 and 0.88.
    samples = np.random.default_rng(5).normal(size=(seeds, 20_000))
    covered = np.mean(np.abs(samples.mean(axis=0)) <= half_widths(samples))
    assert covered == pytest.approx(0.95, abs=0.0077)


def test_a_paired_test_by_hand() -> None:
    # Differences 1, 3: mean 2, standard deviation sqrt(2), standard error 1. Student's t with one
    # degree of freedom is Cauchy's law: P(|t| > 2) = 1 - 2 atan(2) / pi.
    test = paired_test([2.0, 4.0], [1.0, 1.0])
    assert (test.difference, test.pairs) == (2.0, 2)
    assert test.half_width == pytest.approx(12.706205)
    assert test.p_value == pytest.approx(1 - 2 * math.atan(2) / math.pi)
    back = paired_test([1.0, 1.0], [2.0, 4.0])
    assert back == (-2.0, test.half_width, test.p_value, 2)


def test_pairs_that_never_or_always_differ() -> None:
    assert paired_test([1.0, 2.0], [1.0, 2.0])[:3] == (0.0, 0.0, 1.0)
    assert paired_test([2.0, 3.0], [1.0, 2.0])[:3] == (1.0, 0.0, 0.0)
    assert math.isnan(paired_test([2.0], [1.0]).p_value)


def test_pairing_removes_what_both_share() -> None:
    common = np.array([0.0, 100.0, 200.0, 300.0])
    test = paired_test(common + np.array([1.0, 2.0, 1.0, 2.0]), common)
    assert test.difference == 1.5
    assert test.p_value < 0.02


def test_p_values_are_uniform_without_a_difference() -> None:
    # 4,000 tests: 5 standard errors of a share of 5 % are 0.0172. Chance of a false alarm: 6e-7.
    draws = np.random.default_rng(1).normal(size=(4_000, 2, 4))
    small = np.mean([paired_test(first, second).p_value < 0.05 for first, second in draws])
    assert small == pytest.approx(0.05, abs=0.0172)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_order_and_never_lowers(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert list(np.array(adjusted)[order]) == sorted(adjusted)


def test_holm_by_hand() -> None:
    assert holm([0.02, math.nan, 0.01])[::2] == pytest.approx([0.02, 0.02])
    assert holm([0.5, 0.9, 0.6]) == [1.0, 1.0, 1.0]


def test_a_power_has_its_exponent() -> None:
    x = [10.0, 20.0, 50.0]
    assert slope(x, [3 * place**0.7 for place in x]) == pytest.approx(0.7)


def test_the_interval_of_a_slope_covers_as_often_as_it_says() -> None:
    # Noise that a seed has in common at all x, and noise of its own. 2,000 intervals: 4 standard
    # errors of the share are 0.0195. The jackknife is only nearly exact: 0.01 more are allowed.
    x = np.array([1_000.0, 4_000.0, 16_000.0])
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(2_000):
        shared = generator.normal(1, 0.02, size=5)
        own = generator.normal(1, 0.03, size=(3, 5))
        estimate = slope_interval(x, np.sqrt(x)[:, None] * shared * own)
        covered += abs(estimate.value - 0.5) <= estimate.half_width
    assert covered / 2_000 == pytest.approx(0.95, abs=0.03)


def test_a_slope_without_an_interval() -> None:
    assert math.isnan(slope_interval([1, 2], [[1.0], [2.0]]).half_width)
    # Without the second seed, the mean at the first x would be negative.
    assert math.isnan(slope_interval([1, 2], [[-1.0, 5.0], [2.0, 2.0]]).half_width)
