from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit import graphs
from crossbandit.errors import InvalidGraphError, InvalidInputError, InvalidParameterError
from crossbandit.graphs import FeedbackGraph
from crossbandit.graphs.neighborhoods import canonical, induced, matrix_of_ranges
from tests.graphs.strategies import Bools, matrices


@given(matrices())
def test_the_adjacency_comes_back(adjacency: Bools) -> None:
    graph = FeedbackGraph(adjacency)
    assert graph.arms == len(adjacency)
    assert np.array_equal(graph.adjacency, adjacency)
    assert graph.edge_count == adjacency.sum()


@given(matrices())
def test_all_constructors_agree(adjacency: Bools) -> None:
    graph = FeedbackGraph(adjacency)
    arms = graph.arms
    edges = graph.edges()
    assert edges == [(a, b) for a in range(arms) for b in range(arms) if adjacency[a, b]]
    twins = [
        FeedbackGraph.from_edges(arms, edges),
        FeedbackGraph.from_edges(arms, reversed(edges + edges)),
        FeedbackGraph.from_ranges(arms, [(a, b, b) for a, b in edges]),
        FeedbackGraph.from_networkx(graph.to_networkx()),
        FeedbackGraph.from_json(json.loads(json.dumps(graph.to_json()))),
        FeedbackGraph(adjacency.astype(int)),
        FeedbackGraph(adjacency.tolist()),
        pickle.loads(pickle.dumps(graph)),  # noqa: S301 - its own
        copy.deepcopy(graph),
    ]
    for twin in twins:
        assert twin == graph
        assert hash(twin) == hash(graph)
        for mine, its in zip(
            (*graph.out_ranges, *graph.in_ranges), (*twin.out_ranges, *twin.in_ranges), strict=True
        ):
            assert np.array_equal(mine, its)
            assert its.dtype == np.int64
            assert not its.flags.writeable


@given(matrices())
def test_in_runs_are_the_transpose_of_out_runs(adjacency: Bools) -> None:
    graph = FeedbackGraph.from_edges(len(adjacency), np.argwhere(adjacency))
    assert np.array_equal(matrix_of_ranges(graph.out_ranges), adjacency)
    assert np.array_equal(matrix_of_ranges(graph.in_ranges), adjacency.T)


@given(matrices())
def test_runs_ascend_and_do_not_touch(adjacency: Bools) -> None:
    graph = FeedbackGraph.from_edges(len(adjacency), np.argwhere(adjacency))
    for ranges in (graph.out_ranges, graph.in_ranges):
        assert (ranges.first <= ranges.last).all()
        for a in range(graph.arms):
            own = slice(ranges.starts[a], ranges.starts[a + 1])
            assert (ranges.first[own][1:] > ranges.last[own][:-1] + 1).all()


@given(st.integers(1, 8), st.data())
def test_overlapping_runs_are_united(arms: int, data: st.DataObject) -> None:
    arm = st.integers(0, arms - 1)
    triples = data.draw(st.lists(st.tuples(arm, arm, arm).map(lambda t: (t[0], *sorted(t[1:])))))
    adjacency = np.zeros((arms, arms), dtype=bool)
    for a, first, last in triples:
        adjacency[a, first : last + 1] = True
    assert FeedbackGraph.from_ranges(arms, triples) == FeedbackGraph(adjacency)


@given(matrices(), st.data())
def test_induced_runs_are_the_submatrix(adjacency: Bools, data: st.DataObject) -> None:
    keep = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(adjacency), max_size=len(adjacency)))
    )
    ranges = induced(FeedbackGraph(adjacency).out_ranges, keep)
    assert np.array_equal(matrix_of_ranges(ranges), adjacency[np.ix_(keep, keep)])


def test_no_runs_are_canonical() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    ranges = canonical(3, nothing, nothing, nothing)
    assert ranges.starts.tolist() == [0, 0, 0, 0]
    assert ranges.first.size == ranges.last.size == 0


@given(matrices())
def test_neighbors(adjacency: Bools) -> None:
    graph = FeedbackGraph(adjacency)
    for a in range(graph.arms):
        assert graph.out_neighbors(a).tolist() == np.flatnonzero(adjacency[a]).tolist()
        assert graph.in_neighbors(a).tolist() == np.flatnonzero(adjacency[:, a]).tolist()
        assert graph.out_neighbors(a).dtype == np.int64
    loopless = tuple(np.flatnonzero(~np.diag(adjacency)).tolist())
    assert graph.arms_without_self_loop == loopless


@given(matrices(), st.data())
def test_observation_mass_is_exact_for_whole_masses(adjacency: Bools, data: st.DataObject) -> None:
    # Sums of whole numbers below 2**53 are exact in any order, so equality is the right test.
    whole = st.integers(0, 2**40)
    mass = np.array(data.draw(st.lists(whole, min_size=len(adjacency), max_size=len(adjacency))))
    observed = FeedbackGraph(adjacency).observation_mass(mass)
    assert np.array_equal(observed, (adjacency.T.astype(int) @ mass).astype(float))


def test_a_tiny_mass_is_not_lost_beside_a_large_one() -> None:
    graph = graphs.loopless_clique(3)
    assert graph.observation_mass([1.0, 1e-300, 2e-300]).tolist() == [1e-300 + 2e-300, 1.0, 1.0]
    graph = graphs.loopless_clique(50)
    mass = np.full(50, 1e-300)
    mass[0] = 1.0
    assert graph.observation_mass(mass)[0] == pytest.approx(49e-300, rel=1e-14)
    ends = graphs.loopless_clique(4)
    assert ends.observation_mass([1e-300, 1.0, 1.0, 1e-300])[1] == 1.0
    assert (ends.observation_mass([1e-300, 0.0, 1.0, 0.0])[[1, 3]] == 1.0).all()
    assert ends.observation_mass([1e-300, 0.0, 1.0, 0.0])[2] == 1e-300


def test_observation_mass_leaves_its_input_alone() -> None:
    p = np.array([0.25, 0.75])
    p.flags.writeable = False
    observed = graphs.complete(2).observation_mass(p)
    assert observed.tolist() == [1.0, 1.0]
    assert observed.flags.writeable


def test_nothing_that_a_graph_hands_out_changes_it() -> None:
    source = np.eye(3, dtype=bool)
    graph = FeedbackGraph(source)
    source[0, 1] = True
    assert graph == graphs.singletons(3)
    graph.out_neighbors(0)[:] = 2
    graph.to_json()["ranges"].clear()
    assert graph == graphs.singletons(3)
    for array in (graph.adjacency, *graph.out_ranges, *graph.in_ranges):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        graph.arms = 4  # type: ignore[misc]


def test_equality_tells_graphs_apart() -> None:
    different = {
        graphs.singletons(3),
        graphs.singletons(4),
        graphs.complete(3),
        graphs.threshold(3),
        graphs.threshold(3, reveals="lower"),
    }
    assert len(different) == 5
    assert graphs.singletons(3) != "singletons"
    assert FeedbackGraph.from_edges(2, []) != FeedbackGraph.from_edges(3, [])


def test_networkx_nodes_may_come_in_any_order_and_keep_their_numbers() -> None:
    digraph = nx.DiGraph()
    digraph.add_nodes_from([2, 0, 1])
    digraph.add_edge(2, 0)
    graph = FeedbackGraph.from_networkx(digraph)
    assert graph.edges() == [(2, 0)]
    assert sorted(graph.to_networkx().nodes) == [0, 1, 2]


def test_repr() -> None:
    assert repr(graphs.ring(5, 1)) == "FeedbackGraph(arms=5, edges=10, observability='strong')"


def test_a_large_structured_graph_stays_small() -> None:
    graph = graphs.threshold(10_000)
    assert len(graph.to_json()["ranges"]) == 10_000
    assert len(pickle.dumps(graph)) < 1_000_000
    assert FeedbackGraph.from_json(graph.to_json()) == graph


@pytest.mark.parametrize(
    ("adjacency", "got"),
    [
        ([], r"shape \(0,\)"),
        (np.zeros((0, 0), dtype=bool), r"shape \(0, 0\)"),
        ([True, False], r"shape \(2,\)"),
        ([[True, False]], r"shape \(1, 2\)"),
        ([[True], [True, False]], "rows of unequal length"),
        ([[0.0, 0.5], [1.0, 0.0]], r"0.5 at \[0, 1\]"),
        ([[float("nan"), 1.0], [1.0, 0.0]], r"nan at \[0, 0\]"),
        ([["a", "b"], ["c", "d"]], "type <U1"),
        ([[0, 1], [2, 0]], r"2 at \[1, 0\]"),
        ([[0, -1], [1, 0]], r"-1 at \[0, 1\]"),
        (None, r"shape \(\)"),
    ],
)
def test_a_bad_adjacency(adjacency: Any, got: str) -> None:
    message = r"^The 'adjacency' parameter of FeedbackGraph must be a square matrix .* Got .*"
    with pytest.raises(InvalidGraphError, match=message + got):
        FeedbackGraph(adjacency)


@pytest.mark.parametrize(
    ("edges", "got"),
    [
        ([(0, 3)], r"\(0, 3\)"),
        ([(0, 0), (-1, 0)], r"\(-1, 0\)"),
        ([(0, 2**63)], r"\(0, 9223372036854775808\)|type"),
        ([(0, 1, 2)], r"shape \(1, 3\)"),
        ([0, 1], r"shape \(2,\)"),
        ([(0, 1), (2,)], "rows of unequal length"),
        ([(0.0, 1.0)], "type float64"),
        ([(True, False)], "type bool"),
        (["ab"], "type <U2"),
        (None, "something else"),
    ],
)
def test_bad_edges(edges: Any, got: str) -> None:
    message = (
        r"^The 'edges' parameter of FeedbackGraph.from_edges must be pairs .* from 0 to 2. Got "
    )
    with pytest.raises(InvalidGraphError, match=message + f".*({got})"):
        FeedbackGraph.from_edges(3, edges)


@pytest.mark.parametrize("arms", [0, -1, 2.0, True, "3", None])
def test_bad_arms(arms: Any) -> None:
    for make in (FeedbackGraph.from_edges, FeedbackGraph.from_ranges):
        with pytest.raises(InvalidParameterError, match=r"'arms' .* an integer of at least 1"):
            make(arms, [])
    with pytest.raises(InvalidParameterError, match=r"'arms' .* an integer of at least 1"):
        FeedbackGraph.from_json({"arms": arms, "ranges": []})


def test_bad_runs() -> None:
    with pytest.raises(InvalidGraphError, match=r"with first <= last. Got \(0, 2, 1\)"):
        FeedbackGraph.from_ranges(3, [(0, 0, 1), (0, 2, 1)])
    with pytest.raises(InvalidGraphError, match=r"from 0 to 2. Got \(0, 2, 3\)"):
        FeedbackGraph.from_ranges(3, [(0, 2, 3)])


@pytest.mark.parametrize(
    "data", [None, [], {}, {"arms": 3}, {"arms": 3, "ranges": [], "more": 1}, '{"arms": 3}']
)
def test_bad_json(data: Any) -> None:
    with pytest.raises(InvalidGraphError, match=r"'data' .* the keys 'arms' and 'ranges'"):
        FeedbackGraph.from_json(data)


@pytest.mark.parametrize("ranges", [None, 3, "ab", [[0]], [[0, 0, 3]], [["a", "b", "c"]]])
def test_bad_runs_in_json(ranges: Any) -> None:
    with pytest.raises(InvalidGraphError, match=r"'ranges' parameter of FeedbackGraph.from_json"):
        FeedbackGraph.from_json({"arms": 3, "ranges": ranges})


@pytest.mark.parametrize(
    ("digraph", "got"),
    [
        (nx.path_graph(3), "an undirected graph"),
        (nx.DiGraph(), "no nodes"),
        (nx.DiGraph([("a", "b")]), "2 nodes, among them 'a'"),
        (nx.DiGraph([(1, 2)]), "2 nodes, among them 2"),
        ([(0, 1)], "a list"),
    ],
)
def test_a_bad_digraph(digraph: Any, got: str) -> None:
    with pytest.raises(InvalidGraphError, match=f"'digraph' .* Got {got}"):
        FeedbackGraph.from_networkx(digraph)


@pytest.mark.parametrize("arm", [-1, 3, 1.0, True, "0", None])
def test_an_unknown_arm(arm: Any) -> None:
    graph = graphs.singletons(3)
    for neighbors in (graph.out_neighbors, graph.in_neighbors):
        with pytest.raises(InvalidParameterError, match="The 'arm' parameter of FeedbackGraph"):
            neighbors(arm)


@pytest.mark.parametrize(
    ("p", "got"),
    [
        ([0.5, 0.5], r"shape \(2,\)"),
        ([[0.2], [0.3], [0.5]], r"shape \(3, 1\)"),
        (0.5, r"shape \(\)"),
        ([0.5, float("nan"), 0.5], "nan among them"),
        ([0.5, float("inf"), 0.5], "inf among them"),
        ([0.5, -0.1, 0.6], "-0.1 for arm 1"),
        (["a", "b", "c"], "text, such as 'a'"),
        (np.array([1j, 0, 0]), "complex numbers, such as 1j"),
        ([[0.5], [0.2, 0.3], 0.1], "rows of unequal length"),
    ],
)
def test_a_bad_mass(p: Any, got: str) -> None:
    message = "^The 'p' parameter of FeedbackGraph.observation_mass must be 3 finite .* Got .*"
    with pytest.raises(InvalidInputError, match=message + got):
        graphs.singletons(3).observation_mass(p)


def test_importing_graphs_loads_no_heavy_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import crossbandit.graphs; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "sys.exit(bool(new & {'scipy', 'networkx', 'matplotlib'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_public_names() -> None:
    assert graphs.__all__ == sorted(graphs.__all__)
    assert all(callable(getattr(graphs, name)) for name in graphs.__all__)
