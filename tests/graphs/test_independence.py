from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit import graphs
from crossbandit.errors import IndependenceNumberError
from crossbandit.graphs import FeedbackGraph, independence, neighborhoods
from tests.graphs.strategies import (
    Bools,
    brute_force_independence_number,
    is_independent,
    matrices,
    random_undirected,
)


@given(matrices())
@settings(deadline=None)
def test_brute_force_agrees(adjacency: Bools) -> None:
    graph = FeedbackGraph(adjacency)
    truth = brute_force_independence_number(adjacency)
    lower, upper = graph.independence_bounds
    assert lower <= truth <= upper
    assert graph.independence_number == truth
    witness = graph.independent_set
    assert len(witness) == truth
    assert witness == tuple(sorted(witness))
    assert is_independent(adjacency, witness)
    assert graph.independence_bounds == (truth, truth)


@given(matrices(max_arms=9))
@settings(deadline=None)
def test_each_search_agrees_with_brute_force(adjacency: Bools) -> None:
    graph = FeedbackGraph(adjacency)
    closed = neighborhoods.closed_union(graph.out_ranges, graph.in_ranges)
    truth = brute_force_independence_number(adjacency)
    deadline = time.monotonic() + 60
    witness, upper = independence.cover_bounds(closed)
    assert is_independent(adjacency, tuple(witness))
    assert witness.size <= truth <= upper
    nothing = np.zeros(0, dtype=np.int64)
    for start in (nothing, witness):
        found, upper = independence.by_clique_search(closed, start, graph.arms, deadline)
        assert found.size == upper == truth
        assert is_independent(adjacency, tuple(found))
    if (closed.last > closed.first).any() or closed.first.size > graph.arms:
        rows = independence.clique_rows(closed)
        assert truth <= independence.relaxed_bound(rows, deadline) <= graph.arms
        found, upper = independence.by_integer_program(rows, nothing, graph.arms, deadline)
        assert found.size == upper == truth
        assert is_independent(adjacency, tuple(found))


@given(matrices(max_arms=12), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_relabelling_the_arms_changes_nothing(
    adjacency: Bools, random: np.random.Generator
) -> None:
    order = np.arange(len(adjacency))
    random.shuffle(order)
    relabelled = FeedbackGraph(adjacency[np.ix_(order, order)])
    assert relabelled.independence_number == FeedbackGraph(adjacency).independence_number


@given(matrices())
@settings(deadline=None)
def test_self_loops_and_directions_do_not_matter(adjacency: Bools) -> None:
    number = FeedbackGraph(adjacency).independence_number
    assert FeedbackGraph(adjacency.T).independence_number == number
    assert (
        FeedbackGraph(adjacency | np.eye(len(adjacency), dtype=bool)).independence_number == number
    )


@given(st.integers(2, 14), st.data())
@settings(deadline=None)
def test_chordal_graphs_need_no_search(arms: int, data: st.DataObject) -> None:
    points = data.draw(st.lists(st.integers(0, 30), min_size=arms, max_size=arms))
    parents = [data.draw(st.integers(0, arm - 1)) for arm in range(1, arms)]
    order = data.draw(st.permutations(range(arms)))
    tree = [(order[arm], order[parent]) for arm, parent in enumerate(parents, start=1)]
    for graph in (graphs.similarity(points, 4), FeedbackGraph.from_edges(arms, tree)):
        lower, upper = graph.independence_bounds
        assert lower == upper


def test_the_papers_five_graphs() -> None:
    found = [graphs.paper_ring(9, radius).independence_number for radius in (8, 3, 2, 1, 0)]
    assert found == [1, 2, 3, 4, 8]


@pytest.mark.parametrize(
    ("name", "arguments", "number"),
    [
        ("threshold", (10_000, "higher"), 1),
        ("threshold", (10_000, "lower"), 1),
        ("complete", (10_000,), 1),
        ("loopless_clique", (10_000,), 1),
        ("singletons", (10_000,), 10_000),
        ("ring", (10_000, 3), 2_500),
        ("ring", (9_999, 3), 2_499),
        ("ring", (10_000, 1_000), 9),
        ("ring", (9, 4), 1),
        ("paper_ring", (10_000, 3), 2_500),
    ],
)
def test_large_structured_graphs_are_settled_without_a_search(
    name: str, arguments: tuple[int, ...], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(independence, "improved")
    graph = getattr(graphs, name)(*arguments)
    assert graph.independence_number == number
    assert len(graph.independent_set) == number


def test_the_relaxation_settles_a_ring_that_does_not_close() -> None:
    graph = graphs.paper_ring(10_002, 3)
    assert graph.independence_bounds == (2_500, 2_501)
    assert graph.independence_number == 2_500


def test_a_join_of_many_parts() -> None:
    # Arm 0 reveals all; then a path of three, a triangle and a lone arm: 2 + 1 + 1.
    edges = [(0, arm) for arm in range(1, 8)] + [(1, 2), (2, 3), (4, 5), (5, 6), (6, 4)]
    graph = FeedbackGraph.from_edges(8, edges)
    assert graph.independence_number == 4
    assert graph.independent_set[:2] == (1, 3)
    assert graph.independent_set[3] == 7


@pytest.mark.parametrize(
    ("arms", "density", "number"),
    [
        (200, 0.02, 95),
        (200, 0.05, 61),
        (200, 0.1, 42),
        (200, 0.2, 25),
        (200, 0.3, 18),
        (200, 0.5, 12),
        (200, 0.7, 7),
        (200, 0.9, 4),
        (2_000, 0.9, 6),
    ],
)
def test_random_graphs_are_solved(arms: int, density: float, number: int) -> None:
    adjacency = random_undirected(arms, density, seed=0)
    graph = FeedbackGraph(adjacency)
    lower, upper = graph.independence_bounds
    assert lower <= number <= upper
    assert graph.independence_number == number
    assert is_independent(adjacency, graph.independent_set)


def test_two_searches_agree_on_a_graph_that_is_out_of_reach_of_brute_force() -> None:
    graph = FeedbackGraph(random_undirected(60, 0.15, seed=3))
    closed = neighborhoods.closed_union(graph.out_ranges, graph.in_ranges)
    deadline = time.monotonic() + 60
    nothing = np.zeros(0, dtype=np.int64)
    by_cliques, upper = independence.by_clique_search(closed, nothing, 60, deadline)
    assert by_cliques.size == upper
    rows = independence.clique_rows(closed)
    by_program, upper = independence.by_integer_program(rows, nothing, 60, deadline)
    assert by_cliques.size == by_program.size == upper


def test_many_points_in_a_plane_are_left_to_the_integer_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(independence, "by_clique_search")
    points = np.random.default_rng(0).random((500, 2))
    distance = np.hypot(*(points[:, None] - points).T)
    adjacency = np.asarray(distance < 0.1)
    graph = FeedbackGraph(adjacency)
    assert graph.independence_number == 81
    assert is_independent(adjacency, graph.independent_set)


def test_the_time_limit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(independence, "TIME_LIMIT", 0.5)
    graph = FeedbackGraph(random_undirected(300, 0.1, seed=0))
    lower, upper = graph.independence_bounds
    began = time.monotonic()
    with pytest.raises(IndependenceNumberError):
        _ = graph.independence_number
    assert time.monotonic() - began < 20  # seconds; a whole search takes hours
    better_lower, better_upper = graph.independence_bounds
    assert lower <= better_lower < better_upper <= upper


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_out_of_time_is_an_error_that_offers_bounds(
    density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(independence, "TIME_LIMIT", 0.0)
    graph = FeedbackGraph(random_undirected(200, density, seed=0))
    number = {0.05: 61, 0.5: 12}[density]
    with pytest.raises(IndependenceNumberError, match="Use independence_bounds") as caught:
        _ = graph.independence_number
    lower, upper = graph.independence_bounds
    assert lower <= number <= upper
    assert f"at least {lower} and at most {upper}" in str(caught.value)


def test_a_search_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    solved, failed = graphs.paper_ring(9, 2), FeedbackGraph(random_undirected(200, 0.5, seed=0))
    assert solved.independence_number == 3
    monkeypatch.setattr(independence, "TIME_LIMIT", 0.0)
    with pytest.raises(IndependenceNumberError):
        _ = failed.independence_number
    monkeypatch.delattr(independence, "solve")
    monkeypatch.delattr(independence, "estimate")
    assert solved.independence_number == 3
    assert solved.independence_bounds == (3, 3)
    assert failed.independence_bounds.lower < 12
    with pytest.raises(IndependenceNumberError):
        _ = failed.independence_number


def test_a_graph_past_every_limit_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(independence, "_PROGRAM_ARMS", 100)
    monkeypatch.setattr(independence, "_SEARCH_ARMS", 100)
    monkeypatch.delattr(independence, "by_integer_program")
    monkeypatch.delattr(independence, "by_clique_search")
    for density in (0.05, 0.5):
        with pytest.raises(IndependenceNumberError):
            _ = FeedbackGraph(random_undirected(200, density, seed=0)).independence_number
