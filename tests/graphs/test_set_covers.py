"""Small covering programs that are solved here, against HiGHS and against enumeration."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit.core.types import Integers
from crossbandit.graphs import domination

Sets = tuple[list[Integers], int]


@st.composite
def families(draw: st.DrawFn) -> Sets:
    arms = draw(st.integers(1, 8))
    one = st.sets(st.integers(0, arms - 1), min_size=1)
    sets = draw(st.lists(one, min_size=1, max_size=8))
    return [np.array(sorted(members)) for members in sets], arms


def smallest(sets: list[Integers], arms: int) -> int:
    return next(
        size
        for size in range(1, arms + 1)
        for chosen in combinations(range(arms), size)
        if all(set(chosen) & set(one.tolist()) for one in sets)
    )


@given(families())
def test_the_smallest_cover_is_one(family: Sets) -> None:
    sets, arms = family
    size = smallest(sets, arms)
    found = domination.smallest_cover(sets, arms, 1, arms)
    assert found is not None
    assert len(found) == size
    assert all(set(found) & set(one.tolist()) for one in sets)
    assert list(found) == sorted(found)
    assert domination.smallest_cover(sets, arms, 1, size - 1) == ()


@given(families())
@settings(max_examples=50)
def test_the_weights_are_those_of_the_linear_program(family: Sets) -> None:
    sets, arms = family
    weights = domination.fractional_cover(sets, arms)
    assert (weights >= 0).all()
    assert all(weights[one].sum() >= 1 - 1e-9 for one in sets)
    assert weights.sum() == pytest.approx(domination._by_linear_program(sets, arms).sum())


def random_sets(arms: int, density: float) -> list[Integers]:
    rng = np.random.default_rng(3)
    matrix = rng.random((arms, arms)) < density
    matrix[rng.permutation(arms), np.arange(arms)] = True
    return [np.flatnonzero(column) for column in matrix.T]


@pytest.mark.parametrize("density", [0.03, 0.1, 0.5])
def test_programs_of_the_largest_size(density: float) -> None:
    arms = domination._SMALL
    sets = random_sets(arms, density)
    weights = domination._simplex(sets, arms)
    assert weights is not None  # within the limit of pivots
    assert min(weights[one].sum() for one in sets) >= 1 - 1e-9
    assert weights.sum() == pytest.approx(domination._by_linear_program(sets, arms).sum())


def test_a_search_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = random_sets(30, 0.1)
    assert domination.smallest_cover(sets, 30, 1, 30)
    monkeypatch.setattr(domination, "_NODES", 5)
    assert domination.smallest_cover(sets, 30, 1, 30) is None
    monkeypatch.setattr(domination, "_PIVOTS", 2)
    assert domination._simplex(sets, 30) is None
    number = domination._by_linear_program(sets, 30).sum()
    assert domination.fractional_cover(sets, 30).sum() == pytest.approx(number)
