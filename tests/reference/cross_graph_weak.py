"""Algorithm 2 on a weakly observable graph: exploration on a weakly dominating set, beta = 0.

The epochs are those of `cross_graph_varying`, on one graph. The set is found by trying all sets in
the order of their size.
"""

from itertools import combinations
from typing import Any

import numpy as np

from .common import Bools, Floats, Ints, Losses, Reference, Trace
from .cross_graph_varying import run_on_graphs


def weakly_observable(adjacency: Bools) -> list[int]:
    """The arms without self-loop that some, but not all, other arms reveal."""
    K = len(adjacency)
    return [a for a in range(K) if not adjacency[a, a] and 0 < int(adjacency[:, a].sum()) < K - 1]


def dominating_sets(adjacency: Bools) -> list[tuple[int, ...]]:
    """All smallest sets of arms that reveal every weakly observable arm."""
    K, weak = len(adjacency), weakly_observable(adjacency)
    for size in range(K + 1):
        found = [
            D
            for D in combinations(range(K), size)
            if all(adjacency[list(D), a].any() for a in weak)
        ]
        if found:
            return found
    raise AssertionError("Some arm is not observable.")


def run(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    D: tuple[int, ...],
    x: float,
    **parameters: Any,
) -> Trace:
    """Play len(contexts) rounds. D must be one of `dominating_sets`."""
    assert D in dominating_sets(adjacency)
    K = len(adjacency)
    explore = np.zeros(K)
    chosen = D or tuple(range(K))
    if len(D) == 1 and not adjacency[D[0], D[0]]:
        chosen = (*D, min(a for a in range(K) if a != D[0]))  # which reveals the arm of D
        assert adjacency[chosen[1], D[0]]
    for d in chosen:
        explore[d] = x / len(chosen)
    return run_on_graphs(
        lambda _: adjacency, losses, contexts, uniforms, explore=explore, beta=0.0, **parameters
    )


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run` for a problem."""
    del nu
    p = algorithm.parameters(problem)
    return {
        "eta": p.eta,
        "gamma": p.gamma,
        "rho": p.rho,
        "L": p.epoch_length,
        "x": p.exploration,
        "D": problem.graph.weakly_dominating_set,
    }


REFERENCES = {
    "cross-graph-weak": Reference(
        run,
        arguments,
        {"eta": 0.3, "gamma": 0.02, "rho": 0.1, "exploration": 0.2, "epoch_length": 6},
    )
}
