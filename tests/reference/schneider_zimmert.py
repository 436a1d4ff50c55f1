"""SZ-Context: cross-learning that ignores the graph (Section "Experiments")."""

from typing import Any

from . import cross_graph
from .common import Bools, EpochTrace, Floats, Ints, Losses, Reference
from .graphs import singleton


def run(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    eta: float,
    gamma: float,
    L: int,
) -> EpochTrace:
    """Algorithm 2 on the singleton graph with rho = beta = 0.

    Of the adjacency only the number of arms is used: every played arm shows its own loss, also
    where the graph has no self-loop.
    """
    K = len(adjacency)
    return cross_graph.run(
        singleton(K),
        losses,
        contexts,
        uniforms,
        eta=eta,
        gamma=gamma,
        rho=0.0,
        beta=0.0,
        L=L,
    )


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run` for a problem."""
    del nu
    p = algorithm.parameters(problem)
    return {"eta": p.eta, "gamma": p.gamma, "L": p.epoch_length}


REFERENCES = {
    "schneider-zimmert": Reference(run, arguments, {"eta": 0.3, "gamma": 0.02, "epoch_length": 4})
}
