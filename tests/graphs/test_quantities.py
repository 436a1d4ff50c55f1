"""Weak domination, its fractional version and acyclic sets, against brute force on small graphs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from crossbandit import FeedbackGraph, graphs
from crossbandit.errors import GraphNumberError, InvalidGraphError
from crossbandit.graphs import domination, independence
from tests.reference.cross_graph_weak import dominating_sets, weakly_observable

Matrix = np.ndarray[tuple[int, int], np.dtype[np.bool_]]


@st.composite
def matrices(draw: st.DrawFn, observable: bool = False) -> Matrix:
    arms = draw(st.integers(2, 6))
    matrix = draw(arrays.arrays(np.bool_, (arms, arms)))
    if observable:
        for arm in np.flatnonzero(~matrix.any(axis=0)):
            matrix[draw(st.integers(0, arms - 1)), arm] = True
    return matrix


def has_cycle(matrix: Matrix, arms: tuple[int, ...]) -> bool:
    inside = matrix[np.ix_(arms, arms)] & ~np.eye(len(arms), dtype=bool)
    reached = inside.copy()
    for _ in arms:
        reached |= (reached.astype(int) @ inside.astype(int)) > 0
    return bool(np.diag(reached).any())


def largest_acyclic(matrix: Matrix) -> int:
    arms = range(len(matrix))
    return max(
        size
        for size in range(1, len(matrix) + 1)
        if any(not has_cycle(matrix, chosen) for chosen in combinations(arms, size))
    )


@given(matrices())
def test_each_arm_is_graded_by_the_definition(matrix: Matrix) -> None:
    grades = FeedbackGraph(matrix).arm_observability
    others = ~np.eye(len(matrix), dtype=bool)
    for arm, grade in enumerate(grades):
        if not matrix[:, arm].any():
            expected = "none"
        elif matrix[arm, arm] or matrix[others[arm], arm].all():
            expected = "strong"
        else:
            expected = "weak"
        assert grade == expected
    worst = next(grade for grade in ("none", "weak", "strong") if grade in grades)
    assert FeedbackGraph(matrix).observability == worst


@given(matrices(observable=True))
@settings(deadline=None)
def test_the_weakly_dominating_set_is_a_smallest_one(matrix: Matrix) -> None:
    graph = FeedbackGraph(matrix)
    smallest = dominating_sets(matrix)
    lower, upper = graph.weak_domination_bounds
    assert lower <= len(smallest[0]) <= upper
    assert graph.weakly_dominating_set in smallest
    assert graph.weak_domination_number == len(smallest[0])


@given(matrices(observable=True))
@settings(deadline=None)
def test_fractional_weights_dominate_and_are_optimal(matrix: Matrix) -> None:
    graph = FeedbackGraph(matrix)
    number, weights = graph.fractional_weak_domination
    weak = weakly_observable(matrix)
    assert (weights >= 0).all()
    assert (weights @ matrix[:, weak] >= 1 - 1e-9).all()
    assert number == pytest.approx(weights.sum())
    # Weak duality: a packing y >= 0 of the weak arms with sum of y over what an arm reveals <= 1
    # bounds from below. The best one attains the number.
    if not weak:
        assert number == 0
        return
    from scipy.optimize import linprog

    dual = linprog(-np.ones(len(weak)), matrix[:, weak], np.ones(len(matrix)))
    assert number == pytest.approx(-dual.fun)
    assert number <= graph.weak_domination_number + 1e-9


@given(matrices())
@settings(deadline=None)
def test_bounds_of_the_largest_acyclic_set(matrix: Matrix) -> None:
    graph = FeedbackGraph(matrix)
    expected = largest_acyclic(matrix)
    lower, upper = graph.maximum_acyclic_bounds
    assert lower <= expected <= upper
    assert graph.independence_number <= expected


def test_named_graphs() -> None:
    assert graphs.revealing_action(9).weakly_dominating_set == (0,)
    assert graphs.revealing_action(9, revealing=3).weak_domination_number == 3
    assert graphs.complete(4).weak_domination_number == 0
    assert graphs.loopless_ring(12, radius=5).weak_domination_number == 3  # ceil(12 / 5)
    assert graphs.loopless_ring(12, radius=5).fractional_weak_domination_number == pytest.approx(
        12 / 5
    )
    assert graphs.loopy_star(5).maximum_acyclic_bounds == (5, 5)
    assert graphs.complete(5).maximum_acyclic_bounds == (1, 1)
    assert graphs.loopless_ring(7, radius=1).maximum_acyclic_bounds == (6, 6)
    assert graphs.threshold(50_000).maximum_acyclic_bounds == (50_000, 50_000)


def test_larger_graphs_are_solved_exactly() -> None:
    graph = graphs.random_weakly_observable(80, density=0.05, seed=3)
    lower, upper = graph.weak_domination_bounds
    assert lower <= graph.weak_domination_number <= upper
    assert graph.adjacency[list(graph.weakly_dominating_set)].any(axis=0).all()


def test_without_time_there_are_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domination, "_PROGRAM_EDGES", 0)
    weak = graphs.loopless_ring(7, radius=3)  # greedy and packing do not meet: 2 < 3
    assert weak.weak_domination_bounds == (2, 3)
    with pytest.raises(GraphNumberError, match="at least 2 and at most 3"):
        _ = weak.weak_domination_number
    assert len(weak.weakly_dominating_set) == 3
    assert graphs.ring(9, radius=4).maximum_acyclic_bounds == (5, 7)


def test_an_arm_that_nobody_reveals_is_named() -> None:
    graph = FeedbackGraph([[1, 0], [1, 0]])
    with pytest.raises(InvalidGraphError, match="arm 1 has no self-loop"):
        _ = graph.weak_domination_number
    with pytest.raises(InvalidGraphError, match="observable: each arm is revealed by some arm"):
        _ = graph.fractional_weak_domination


@given(matrices(), st.data())
def test_edges_that_another_graph_lacks(matrix: Matrix, data: st.DataObject) -> None:
    other = data.draw(arrays.arrays(np.bool_, matrix.shape))
    missing = np.argwhere(matrix & ~other)
    expected = tuple(missing[0].tolist()) if len(missing) else None
    assert FeedbackGraph(matrix).edge_not_in(FeedbackGraph(other)) == expected


def test_acyclic_bounds_hold_for_graphs_of_too_many_edges_to_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(independence, "_EDGES", 0)
    order = [2, 0, 3, 1]  # no cycle, but edges go both up and down
    matrix = np.zeros((4, 4), dtype=bool)
    matrix[np.ix_(order, order)] = np.triu(np.ones((4, 4), dtype=bool))
    lower, upper = FeedbackGraph(matrix).maximum_acyclic_bounds
    assert lower <= 4 <= upper
