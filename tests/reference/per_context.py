"""OBPC-Graph and OBPC-Exp3: one learner per context, no cross-learning (Section "Experiments")."""

from typing import Any

import numpy as np

from .common import Bools, Floats, Ints, Losses, Reference, Trace, draw, softmax
from .graphs import in_mass, singleton


def run_graph(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    eta: float,
) -> Trace:
    """OBPC-Graph: exponential weights in each context; each round takes one uniform.

    Only the context that occurred learns, from the arms that were observed, and divides their
    losses by the plain observation probability p(N_in(a)).
    """
    T = len(contexts)
    M, K = losses(0).shape

    arms = np.zeros(T, dtype=np.int64)
    incurred = np.zeros(T)
    probabilities = np.zeros(T)
    cumulative = np.zeros((M, K))

    for t in range(T):
        c = contexts[t]
        p = softmax(cumulative[c], eta)
        A = draw(p, float(uniforms[t]))
        loss = losses(t)[c]
        arms[t] = A
        incurred[t] = loss[A]
        probabilities[t] = p[A]

        # lhat_t(a) = l_{t,c_t}(a) / p(N_in(a)) for every a in N_out(A_t), in context c_t only
        observed = adjacency[A]
        cumulative[c, observed] += loss[observed] / in_mass(adjacency, p)[observed]

    return Trace(arms=arms, losses=incurred, probabilities=probabilities, cumulative=cumulative)


def run_exp3(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    eta: float,
) -> Trace:
    """OBPC-Exp3: the same on the singleton graph, where the observation probability is p(a).

    Of the adjacency only the number of arms is used: every played arm shows its own loss, also
    where the graph has no self-loop.
    """
    return run_graph(singleton(len(adjacency)), losses, contexts, uniforms, eta=eta)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of either run for a problem."""
    del nu
    return {"eta": algorithm.learning_rate(problem)}


REFERENCES = {
    "obpc-graph": Reference(run_graph, arguments, {"eta": 0.4}),
    "obpc-exp3": Reference(run_exp3, arguments, {"eta": 0.2}),
}
