"""Algorithm 1 (alg:known): the context distribution nu is known."""

from typing import Any

from .common import (
    NO_ARM,
    Bools,
    Floats,
    Ints,
    Losses,
    Reference,
    Trace,
    arms_without_self_loop,
    mix,
    run_rounds,
    softmax,
    special_arm,
)
from .graphs import in_mass


def run(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    nu: Floats,
    eta: float,
    gamma: float,
    rho: float,
    beta: float,
) -> Trace:
    """Play len(contexts) rounds; each takes one uniform."""
    s_bar = arms_without_self_loop(adjacency)

    # cumulative is L_{t-1,c} = sum_{s < t} (lhat_{s,c} + b_s)
    def policy(cumulative: Floats, c: int) -> Floats:
        # r_{t,c} = (1 - rho) p_{t,c} + rho 1/K
        return mix(softmax(cumulative[c], eta), rho)

    def learn(cumulative: Floats, q: Floats, c: int, A: int, loss: Floats) -> None:
        del q, c
        r = mix(softmax(cumulative, eta), rho)  # in every context
        # eq:known-observation-probability:
        # m_t(a) = E_c[r_{t,c}(a)] and w_t(a) = E_c[r_{t,c}(N_in(a))].
        # Sums over axis 0 add row by row, so arms that are treated alike get equal masses.
        m = (nu[:, None] * r).sum(axis=0)
        w = (nu[:, None] * in_mass(adjacency, r)).sum(axis=0)
        u = w + gamma
        # j_t in argmax over S-bar of m_t(a)
        j = special_arm(m, s_bar)
        # lhat_{t,c}(a) = l_{t,c}(a) 1{A_t in N_in(a)} / u_t(a), for every c
        cumulative += loss * adjacency[A] / u
        # b_t(a) = beta 1{a = j_t} / u_t(j_t)
        if j != NO_ARM:
            cumulative[:, j] += beta / u[j]

    return run_rounds(losses, contexts, uniforms, policy, learn)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run` for a problem."""
    return {"nu": nu, **algorithm.parameters(problem)._asdict()}


REFERENCES = {
    "cross-graph-known": Reference(
        run, arguments, {"eta": 0.3, "gamma": 0.02, "rho": 0.1, "beta": 0.05}
    )
}
