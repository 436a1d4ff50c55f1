"""Neighbourhoods as ranges: masses, graphs of many rounds, common neighbours, observability."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crossbandit import FeedbackGraph, graphs
from crossbandit.core.blocks import graphs_of_matrices
from crossbandit.core.losses import first_unobservable
from crossbandit.core.types import Booleans, Floats
from crossbandit.environments import graph_block
from tests.reference.graphs import in_mass
from tests.sources import interpreted

GRAPHS = [
    graphs.singletons(7),
    graphs.complete(7),
    graphs.loopless_clique(7),
    graphs.ring(7, 2),
    graphs.paper_ring(7, 3),
    graphs.threshold(7),
    graphs.threshold(7, reveals="lower"),
    graphs.random_strongly_observable(7, 0.4, seed=1),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=range(len(GRAPHS)))
@given(mass=arrays(np.float64, 7, elements=st.floats(0, 1)))
def test_masses_are_sums_over_in_neighbours(graph: FeedbackGraph, mass: Floats) -> None:
    expected = in_mass(graph.adjacency, mass)
    np.testing.assert_allclose(graph.observation_mass(mass), expected, rtol=1e-12, atol=1e-15)


@given(
    arrays(np.bool_, (6, 6)),
    arrays(np.float64, 6, elements=st.floats(0, 1)),
    st.permutations(range(6)),
)
def test_relabelling_the_arms_relabels_the_masses(
    adjacency: np.ndarray, mass: Floats, order: list[int]
) -> None:
    relabelled = FeedbackGraph(adjacency[np.ix_(order, order)]).observation_mass(mass[order])
    expected = FeedbackGraph(adjacency).observation_mass(mass)[order]
    np.testing.assert_allclose(relabelled, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("tiny", [1e-300, 1e-20, 5e-324])
@pytest.mark.parametrize("heavy", range(7))
def test_a_tiny_mass_beside_a_heavy_one_is_not_lost(tiny: float, heavy: int) -> None:
    """A difference of prefix sums alone would round it away."""
    mass = np.full(7, tiny)
    mass[heavy] = 1.0
    for graph in GRAPHS:
        exact = np.array([mass[graph.in_neighbors(a)].sum() for a in range(7)])
        result = graph.observation_mass(mass)
        assert (result[exact > 0] > 0).all()
        np.testing.assert_allclose(result, exact, rtol=1e-12, atol=4 * tiny)


# ------------------------------------------------------------------- the graphs of many rounds

ADJACENCY = st.tuples(st.integers(1, 4), st.integers(2, 6)).flatmap(
    lambda shape: arrays(np.bool_, (shape[0], shape[1], shape[1]))
)


@given(ADJACENCY)
@settings(deadline=None)
def test_matrices_become_the_graphs_that_they_are(present: Booleans) -> None:
    rounds, arms, _ = present.shape
    block = graphs_of_matrices(present)
    same = graph_block([*map(FeedbackGraph, present)], np.arange(rounds))
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
    arithmetic, zeros = interpreted("core.arithmetic"), np.zeros((1, one.arms))
    core = arithmetic.EstimateCore(zeros[:, :, None], zeros, zeros, (1, 1))
    known, true = arithmetic.Ranges(one.out_ranges), arithmetic.Ranges(other.out_ranges)
    for arm in range(one.arms):
        count = core.list_common(known, true, 0, arm)
        expected = np.flatnonzero(present[0, arm] & present[1, arm])
        np.testing.assert_array_equal(core.revealed[:count], expected)
        assert known.has_self_loop(0, arm) == present[0, arm, arm]
