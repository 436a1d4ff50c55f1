"""Algorithm 1 (alg:known): the context distribution nu is known."""

from typing import Any

import numpy as np

from .common import (
    NO_ARM,
    Bools,
    Floats,
    Ints,
    Losses,
    Reference,
    Trace,
    arms_without_self_loop,
    draw,
    mix,
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
    T = len(contexts)
    M, K = losses(0).shape
    s_bar = arms_without_self_loop(adjacency)

    arms = np.zeros(T, dtype=np.int64)
    incurred = np.zeros(T)
    probabilities = np.zeros(T)

    # L_{t-1,c} = sum_{s < t} (lhat_{s,c} + b_s)
    cumulative = np.zeros((M, K))

    for t in range(T):
        # p_{t,c} and r_{t,c} = (1 - rho) p_{t,c} + rho 1/K, for every c
        p = softmax(cumulative, eta)
        r = mix(p, rho)
        # eq:known-observation-probability:
        # m_t(a) = E_c[r_{t,c}(a)] and w_t(a) = E_c[r_{t,c}(N_in(a))].
        # Sums over axis 0 add row by row, so arms that are treated alike get equal masses.
        m = (nu[:, None] * r).sum(axis=0)
        w = (nu[:, None] * in_mass(adjacency, r)).sum(axis=0)
        u = w + gamma
        # j_t in argmax over S-bar of m_t(a)
        j = special_arm(m, s_bar)

        # Observe c_t, draw A_t ~ r_{t,c_t}
        c = contexts[t]
        A = draw(r[c], float(uniforms[t]))
        arms[t] = A
        loss = losses(t)
        incurred[t] = loss[c, A]
        probabilities[t] = r[c, A]

        # lhat_{t,c}(a) = l_{t,c}(a) 1{A_t in N_in(a)} / u_t(a), for every c
        cumulative += loss * adjacency[A] / u
        # b_t(a) = beta 1{a = j_t} / u_t(j_t)
        if j != NO_ARM:
            cumulative[:, j] += beta / u[j]

    return Trace(arms=arms, losses=incurred, probabilities=probabilities, cumulative=cumulative)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run` for a problem."""
    return {"nu": nu, **algorithm.parameters(problem)._asdict()}


REFERENCES = {
    "cross-graph-known": Reference(
        run, arguments, {"eta": 0.3, "gamma": 0.02, "rho": 0.1, "beta": 0.05}
    )
}
