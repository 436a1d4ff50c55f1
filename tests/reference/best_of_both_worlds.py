"""FTRL with a learning rate that adapts to the entropy of its policies."""

from math import log, sqrt
from typing import Any

import numpy as np

from .common import Bools, Floats, Ints, Losses, Reference, Trace, draw, softmax
from .graphs import in_mass


def run(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    scale: float,
    u: Floats,
    delta: float | None,
    cross: bool,
) -> Trace:
    """Play with u uniform and k = 1/2 if delta is None, and with k = 1/3 if not.

    Every context has its own B, S and t; with cross-learning they are those of context 0.
    """
    T = len(contexts)
    M, K = losses(0).shape
    arms, incurred, probabilities = np.zeros(T, dtype=np.int64), np.zeros(T), np.zeros(T)
    cumulative = np.zeros((M, K))
    B = np.full(M, max(4.0 if delta is None else 4 * delta, scale))
    S, t_ = np.zeros(M), np.zeros(M)
    for t in range(T):
        c = contexts[t]
        own = 0 if cross else c
        p = softmax(cumulative[c], 1 / B[own])
        if delta is None:
            rho = 2 / B[own]
        else:
            s = (1 + S[own] / log(K)) / (t_[own] + 1)
            rho = sqrt(delta * s / B[own]) + delta / B[own]
        q = (1 - min(rho, 0.5)) * p + min(rho, 0.5) * u
        A = draw(q, float(uniforms[t]))
        loss = losses(t)
        arms[t], incurred[t], probabilities[t] = A, loss[c, A], q[A]
        P = in_mass(adjacency, q)
        for b in np.flatnonzero(adjacency[A]):
            for other in range(M) if cross else [c]:
                cumulative[other, b] += loss[other, b] / P[b]
        S[own] += -sum(x * log(x) for x in p if x > 0)
        t_[own] += 1
        k = 1 / 2 if delta is None else 1 / 3
        B[own] += scale * (1 + S[own] / log(K)) ** -k
    return Trace(arms=arms, losses=incurred, probabilities=probabilities, cumulative=cumulative)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run`."""
    del nu
    strong = problem.graph.observability == "strong" and not algorithm.cross_learning
    u = algorithm.explored_arms(problem)
    return {
        "scale": algorithm.parameters(problem).scale,
        "u": u,
        "delta": None if strong else 1 / float(problem.graph.observation_mass(u).min()),
        "cross": algorithm.cross_learning,
    }


REFERENCES = {
    "best-of-both-worlds": Reference(run, arguments, {"scale": 0.5, "cross_learning": False})
}
