"""q-FTRL (Eldowa et al. 2023, Algorithm 1), in each context."""

from math import log, sqrt
from typing import Any

import numpy as np

from .common import Bools, Floats, Ints, Losses, Reference, Trace, run_rounds
from .graphs import in_mass


def weights(cumulative: Floats, eta: float, q: float) -> Floats:
    """Return argmin_p eta <p, L> + (1 - sum_i p(i)^q) / (1 - q), by bisection.

    At the minimum, eta L(i) - q / (1 - q) p(i)^(q - 1) is the same number for all i, -m.
    """

    def policy(m: float) -> Floats:
        p: Floats = ((1 - q) / q * (eta * cumulative + m)) ** (-1 / (1 - q))
        return p

    # The best arm alone has the weight 1 at the lower end, and all arms 1 / K at the upper one.
    best = -eta * float(cumulative.min())
    low, high = best + q / (1 - q), best + q / (1 - q) * len(cumulative) ** (1 - q)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if policy(middle).sum() > 1 else (low, middle)
    p = policy(low)
    return np.asarray(p / p.sum())


def run(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    eta: float,
    q: float,
) -> Trace:
    """lhat_t(i) = l_t(i) 1{I_t in N(i)} / P_t(i), P_t(i) = p_t(N(i))."""

    def policy(cumulative: Floats, c: int) -> Floats:
        return weights(cumulative[c], eta, q)

    def learn(cumulative: Floats, p: Floats, c: int, A: int, loss: Floats) -> None:
        cumulative[c] += loss[c] * adjacency[A] / in_mass(adjacency, p)

    return run_rounds(losses, contexts, uniforms, policy, learn)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the paper's q and eta; an eta that is given is the library's."""
    del nu
    K, alpha = problem.arms, problem.graph.independence_number
    q = algorithm.q
    if q is None:
        q = 1 / 2 * (1 + log(K / alpha) / (sqrt(log(K / alpha) ** 2 + 4) + 2))
    if algorithm.eta is not None:
        return {"eta": q * algorithm.eta, "q": q}
    T = problem.horizon / problem.contexts
    return {"eta": sqrt(2 * q * K ** (1 - q) / (T * (1 - q) * alpha**q)), "q": q}


REFERENCES = {"q-ftrl": Reference(run, arguments, {"eta": 0.4, "q": 0.8})}
