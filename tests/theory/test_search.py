"""The maximiser finds known maxima, and a false inequality is not passed."""

import math

import numpy as np
import pytest

from crossbandit.theory.lemmas.search import (
    Case,
    Point,
    Sides,
    between,
    bounded,
    distribution,
    geometric,
    maximise,
)
from crossbandit.theory.statements import Effort
from crossbandit.types import Floats

PEAK = np.array([0.3, 0.7, 0.5])


def hill(point: Floats) -> Sides:
    """Return sides whose ratio is 2 at PEAK and less elsewhere."""
    return Sides(2 * math.exp(-10 * float(((point - PEAK) ** 2).sum())), 1.0)


def test_an_inner_maximum_is_found() -> None:
    found = maximise(Case(3, hill), Effort.QUICK)
    assert found.ratio == pytest.approx(2, rel=1e-6)
    np.testing.assert_allclose(found.point, PEAK, atol=1e-3)
    assert found.instances > 600


def test_a_maximum_in_a_corner_is_found() -> None:
    found = maximise(Case(8, lambda point: Sides(float(point.sum()), 1.0)), Effort.QUICK)
    assert found.ratio == pytest.approx(8, rel=1e-2)


def test_the_search_is_repeatable() -> None:
    first, second = (maximise(Case(3, hill), Effort.QUICK, seed=4) for _ in range(2))
    assert first.ratio == second.ratio
    np.testing.assert_array_equal(first.point, second.point)


@pytest.mark.parametrize(("constant", "passed"), [(2.0, True), (1.9, False)])
def test_a_bound_passes_if_its_constant_is_large_enough(constant: float, passed: bool) -> None:
    result = bounded("Lemma", "a hill", [Case(3, hill)], Effort.QUICK, constant=constant)
    assert result.passed is passed
    assert result.worst == f"smallest C that held 2; {constant:.4g} is derived"


@pytest.mark.parametrize("ratios", [(0.5, 3.0, 0.2), (3.0, 0.5, 0.2), (0.2, 0.5, 3.0)])
def test_one_false_case_of_several_fails_the_bound(ratios: tuple[float, ...]) -> None:
    def always(ratio: float) -> Case:
        return Case(1, lambda _: Sides(ratio, 1.0))

    cases = [always(ratio) for ratio in ratios]
    result = bounded("Lemma", "", cases, Effort.QUICK)
    assert not result.passed
    assert result.worst == "left/right at most 3"
    assert bounded("Lemma", "", cases, Effort.QUICK, constant=3.0).passed


@pytest.mark.parametrize("sides", [Sides(math.nan, 1.0), Sides(0.1, math.nan)])
@pytest.mark.parametrize("place", [0, 1])
def test_an_instance_without_a_number_fails_the_bound(sides: Sides, place: int) -> None:
    assert sides.ratio == math.inf
    cases = [Case(1, lambda _: Sides(0.5, 1.0))]
    cases.insert(place, Case(1, lambda _: sides))
    assert not bounded("Lemma", "", cases, Effort.QUICK).passed


def test_ratios_of_extreme_sides() -> None:
    assert Sides(1.0, 0.0).ratio == math.inf
    assert Sides(0.0, 0.0).ratio == 0
    assert Sides(-1.0, 2.0).ratio == -0.5
    result = bounded("Lemma", "", [Case(1, lambda _: Sides(1.0, 0.0))], Effort.QUICK)
    assert not result.passed


def test_points_become_instances() -> None:
    point = Point(np.arange(7) / 10)
    assert point.one() == 0
    np.testing.assert_array_equal(point.many(2, 3), [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    np.testing.assert_allclose(distribution(np.zeros((2, 4))), 0.25)
    assert distribution(np.array([0.0, 1.0]))[0] == pytest.approx(1)
    assert between(2, 4, 0.5) == 3
    assert geometric(1, 100, 0.5) == pytest.approx(10)
