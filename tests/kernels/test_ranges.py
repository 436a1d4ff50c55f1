"""Masses of neighbourhoods: right for every graph, and never nothing for a small positive mass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crossbandit import FeedbackGraph, graphs
from crossbandit.types import Floats
from tests.reference.graphs import in_mass

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
