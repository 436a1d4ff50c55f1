"""OBPC-Graph and OBPC-Exp3: one learner per context, no cross-learning (Section "Experiments")."""

from typing import Any

from .common import Bools, Floats, Ints, Losses, Reference, Trace, run_rounds, softmax
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

    def policy(cumulative: Floats, c: int) -> Floats:
        return softmax(cumulative[c], eta)

    def learn(cumulative: Floats, p: Floats, c: int, A: int, loss: Floats) -> None:
        # lhat_t(a) = l_{t,c_t}(a) / p(N_in(a)) for every a in N_out(A_t), in context c_t only
        observed = adjacency[A]
        cumulative[c, observed] += loss[c, observed] / in_mass(adjacency, p)[observed]

    return run_rounds(losses, contexts, uniforms, policy, learn)


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
    "per-context-graph": Reference(run_graph, arguments, {"eta": 0.4}),
    "per-context-exp3": Reference(run_exp3, arguments, {"eta": 0.2}),
}
