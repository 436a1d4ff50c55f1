from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from crossbandit import graphs
from crossbandit.errors import InvalidGraphError
from crossbandit.graphs import FeedbackGraph
from tests.graphs.strategies import Bools, matrices


def literal_observability(adjacency: Bools) -> str:
    arms = range(len(adjacency))
    worst = "strong"
    for a in arms:
        others = [bool(adjacency[b, a]) for b in arms if b != a]
        if not adjacency[:, a].any():
            return "none"
        if not adjacency[a, a] and not all(others):
            worst = "weak"
    return worst


@given(matrices(max_arms=5))
def test_observability_follows_the_definition(adjacency: Bools) -> None:
    graph = FeedbackGraph(adjacency)
    assert graph.observability == literal_observability(adjacency)
    if graph.observability == "strong":
        graph.require_observable("Anything", "strong")
    else:
        with pytest.raises(InvalidGraphError):
            graph.require_observable("Anything", "strong")


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (graphs.singletons(3), "every arm has a self-loop"),
        (
            graphs.paper_ring(9, 2),
            "every arm has a self-loop, except arm 0, which is revealed by all others",
        ),
        (
            graphs.loopless_clique(5),
            (
                "every arm has a self-loop, except arms 0, 1, 2 and 2 more, "
                "which are revealed by all others"
            ),
        ),
        (FeedbackGraph.from_edges(3, [(0, 0), (1, 1)]), "no arm reveals arm 2"),
        (FeedbackGraph.from_edges(3, [(0, 0)]), "no arm reveals arms 1 and 2"),
        (
            FeedbackGraph.from_edges(3, [(0, 0), (1, 1), (0, 2)]),
            "arm 2 has no self-loop, and not every other arm reveals it",
        ),
        (
            FeedbackGraph.from_edges(4, [(0, 0), (0, 1), (0, 2), (0, 3)]),
            "arms 1, 2 and 3 have no self-loop, and not every other arm reveals them",
        ),
        (FeedbackGraph([[False]]), "no arm reveals arm 0"),
    ],
)
def test_the_reason_names_the_arms(graph: FeedbackGraph, reason: str) -> None:
    assert graph.observability_reason == reason


def test_a_weak_graph_is_refused_by_naming_the_arm_and_the_cure() -> None:
    graph = FeedbackGraph.from_edges(4, [(0, 0), (1, 1), (2, 2), (0, 3)])
    message = (
        r"^The 'graph' parameter of CrossGraph must be strongly observable: each arm has a "
        r"self-loop or is revealed by every other arm\. Got a graph in which arm 3 has no "
        r"self-loop and is not revealed by arms 1 and 2; add the self-loop \(3, 3\), or an edge to "
        r"arm 3 from every other arm\.$"
    )
    with pytest.raises(InvalidGraphError, match=message):
        graph.require_observable("CrossGraph", "strong")


def test_a_hidden_arm_is_named_before_a_weak_one() -> None:
    graph = FeedbackGraph.from_edges(3, [(0, 0), (0, 1)])
    with pytest.raises(InvalidGraphError, match="arm 2 has no self-loop and is not revealed by"):
        graph.require_observable("CrossGraph", "strong")


def test_a_lone_arm_without_self_loop_is_refused() -> None:
    with pytest.raises(InvalidGraphError, match=r"arm 0 has no self-loop; add the self-loop"):
        FeedbackGraph(np.zeros((1, 1), dtype=bool)).require_observable("CrossGraph", "strong")
