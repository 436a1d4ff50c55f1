"""The graphs of many rounds: stacked ranges, common neighbours, observability."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from crossbandit import FeedbackGraph
from crossbandit.kernels.ranges import (
    first_unobservable,
    graphs_of_matrices,
    has_self_loop,
    list_common_neighbors,
    stacked,
)
from crossbandit.types import Booleans

ADJACENCY = st.tuples(st.integers(1, 4), st.integers(2, 6)).flatmap(
    lambda shape: arrays.arrays(np.bool_, (shape[0], shape[1], shape[1]))
)


@given(ADJACENCY)
@settings(deadline=None)
def test_matrices_become_the_graphs_that_they_are(present: Booleans) -> None:
    rounds, arms, _ = present.shape
    block = graphs_of_matrices(present)
    same = stacked(
        [(graph.out_ranges, graph.in_ranges) for graph in map(FeedbackGraph, present)],
        np.arange(rounds),
    )
    for mine, theirs in zip(block[1:], same[1:], strict=True):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
    for i in range(rounds):
        assert FeedbackGraph.from_block(block, i, arms) == FeedbackGraph(present[i])


@given(ADJACENCY)
@settings(deadline=None)
def test_the_first_graph_that_is_not_observable_enough(present: Booleans) -> None:
    block = graphs_of_matrices(present)
    grades = [FeedbackGraph(matrix).observability for matrix in present]
    for strongly, enough in ((True, ("strong",)), (False, ("strong", "weak"))):
        bad = [i for i, grade in enumerate(grades) if grade not in enough]
        found = first_unobservable(block.in_ranges, present.shape[1], strongly)
        assert found == (bad[0] if bad else -1)


@given(ADJACENCY.filter(lambda present: len(present) >= 2))
@settings(deadline=None)
def test_common_neighbors_and_self_loops(present: Booleans) -> None:
    one, other = FeedbackGraph(present[0]), FeedbackGraph(present[1])
    out = np.empty(one.arms, dtype=np.int64)
    for arm in range(one.arms):
        count = list_common_neighbors(one.out_ranges, other.out_ranges, arm, out)
        expected = np.flatnonzero(present[0, arm] & present[1, arm])
        np.testing.assert_array_equal(out[:count], expected)
        assert has_self_loop(one.out_ranges, arm) == present[0, arm, arm]
