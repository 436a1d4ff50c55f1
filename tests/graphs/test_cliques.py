from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit.graphs import clique_core
from crossbandit.graphs.clique_core import CliqueSearch
from tests.graphs.strategies import (
    Bools,
    brute_force_independence_number,
    matrices,
    random_undirected,
)
from tests.sources import interpreted

ALL_STEPS = 10**9


def undirected(matrix: Bools) -> Bools:
    upper = np.triu(matrix, 1)
    return np.asarray(upper | upper.T)


def complement(adjacency: Bools) -> Bools:
    return ~(adjacency | np.eye(len(adjacency), dtype=np.bool_))


def largest_clique(adjacency: Bools, steps: int = ALL_STEPS) -> list[int]:
    search = CliqueSearch(adjacency, 0)
    while not search.advance(len(adjacency), steps):
        pass
    return search.clique()


def is_clique(adjacency: Bools, vertices: list[int]) -> bool:
    among = adjacency[np.ix_(vertices, vertices)]
    return bool((among | np.eye(len(vertices), dtype=np.bool_)).all())


def by_networkx(adjacency: Bools) -> int:
    found, _ = nx.max_weight_clique(nx.from_numpy_array(adjacency), weight=None)
    return len(found)


@given(matrices(max_arms=9).map(undirected))
def test_brute_force_agrees(adjacency: Bools) -> None:
    found = largest_clique(adjacency)
    assert len(set(found)) == len(found) == brute_force_independence_number(complement(adjacency))
    assert is_clique(adjacency, found)


@given(st.integers(2, 70), st.floats(0.05, 0.95), st.integers(0, 10**6))
@settings(max_examples=300)
def test_networkx_agrees(vertices: int, density: float, seed: int) -> None:
    # Past 64 vertices a set has two words; dense graphs are those in which proofs excuse much.
    adjacency = random_undirected(vertices, density, seed)
    found = largest_clique(adjacency)
    assert len(found) == by_networkx(adjacency)
    assert is_clique(adjacency, found)


@pytest.mark.parametrize("vertices", [63, 64, 65, 128, 129])
def test_sets_that_fill_their_words_or_just_do_not(vertices: int) -> None:
    assert len(largest_clique(complement(np.zeros((vertices, vertices), np.bool_)))) == vertices
    assert len(largest_clique(np.zeros((vertices, vertices), np.bool_))) == 1
    adjacency = random_undirected(vertices, 0.5, seed=vertices)
    assert len(largest_clique(adjacency)) == by_networkx(adjacency)


@given(st.integers(1, 40), st.integers(0, 10**6), st.integers(1, 50))
def test_neither_interruptions_nor_repetition_change_the_answer(
    vertices: int, seed: int, steps: int
) -> None:
    adjacency = random_undirected(vertices, 0.7, seed)
    at_once = largest_clique(adjacency)
    assert largest_clique(adjacency, steps) == at_once
    assert largest_clique(adjacency) == at_once


def test_a_call_takes_no_more_steps_than_it_is_given() -> None:
    adjacency = random_undirected(200, 0.9, seed=0)
    search = CliqueSearch(adjacency, 0)
    for steps in range(1, 11):
        assert not search.advance(200, 1)
        assert search.record <= steps
    assert not search.advance(200, 0)


@given(st.integers(1, 25), st.integers(0, 10**6), st.integers(0, 8))
def test_only_what_beats_the_record_is_found(vertices: int, seed: int, record: int) -> None:
    adjacency = random_undirected(vertices, 0.6, seed)
    number = by_networkx(adjacency)
    search = CliqueSearch(adjacency, record)
    assert search.advance(vertices, ALL_STEPS)
    assert search.record == max(number, record)
    if number > record:
        assert is_clique(adjacency, search.clique())


def test_enough_is_enough() -> None:
    adjacency = random_undirected(100, 0.8, seed=0)
    search = CliqueSearch(adjacency, 0)
    assert search.advance(5, ALL_STEPS)
    assert 5 <= search.record < len(largest_clique(adjacency))


def test_the_adjacency_is_left_alone() -> None:
    adjacency = random_undirected(30, 0.5, seed=0)
    before = adjacency.copy()
    largest_clique(adjacency)
    np.testing.assert_array_equal(adjacency, before)


@pytest.mark.parametrize(("vertices", "density"), [(40, 0.5), (70, 0.6), (70, 0.9)])
def test_interpreted_and_compiled_search_alike(vertices: int, density: float) -> None:
    adjacency = random_undirected(vertices, density, seed=1)
    searches = [
        module.CliqueSearch(adjacency, 0)
        for module in (clique_core, interpreted("graphs.clique_core"))
    ]
    for _ in range(150):
        one, other = [(search.advance(vertices, 1), search.record) for search in searches]
        assert one == other
    assert searches[0].clique() == searches[1].clique()
