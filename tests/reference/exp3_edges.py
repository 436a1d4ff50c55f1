"""Exp3 that learns the probabilities of edges."""

from math import log, sqrt
from typing import Any

import numpy as np

from .common import Bools, Floats, Ints, Losses, Reference, Trace, draw, mix, softmax


def run(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    warm_up: int,
    eta: float | None,
    rho: float | None,
    rounds: float,
    cross: bool,
) -> Trace:
    """Play arms in turn, then exponential weights with the shares f in the place of edges.

    `adjacency` is the graph of all rounds, or of each round: (T, K, K).
    """
    T = len(contexts)
    M, K = losses(0).shape
    arms, incurred, probabilities = np.zeros(T, dtype=np.int64), np.zeros(T), np.ones(T)
    cumulative = np.zeros((M, K))
    plays: list[tuple[int, Bools]] = []
    for t in range(T):
        c = contexts[t]
        shown = adjacency[t] if adjacency.ndim == 3 else adjacency
        loss = losses(t)
        if t < warm_up:
            A, weight = t % K, np.zeros(K)
        else:
            f = shares(plays, K)
            if t == warm_up:
                least = min(1.0, max(f.mean(axis=0).min(), 1 / K**2))
                if rho is None:
                    rho = min((log(K) / (2 * least * rounds)) ** (1 / 3), 0.5)
                if eta is None:
                    eta = sqrt(2 * rho * log(K) * least / rounds)
            assert eta is not None
            assert rho is not None
            q = mix(softmax(cumulative[c], eta), rho)
            A = draw(q, float(uniforms[t]))
            probabilities[t] = q[A]
            P = q @ f
            weight = np.array([1 / x if x > 0 else 0.0 for x in P])
        arms[t], incurred[t] = A, loss[c, A]
        for b in np.flatnonzero(shown[A]):
            for other in range(M) if cross else [c]:
                cumulative[other, b] += weight[b] * loss[other, b]
        plays.append((A, shown[A]))
    return Trace(arms=arms, losses=incurred, probabilities=probabilities, cumulative=cumulative)


def shares(plays: list[tuple[int, Bools]], K: int) -> Floats:
    f = np.zeros((K, K))
    for a in range(K):
        own = [shown for arm, shown in plays if arm == a]
        if own:
            f[a] = np.mean(own, axis=0)
    return f


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run`."""
    del nu
    warm_up, rounds = algorithm.schedule(problem)
    return {
        "warm_up": warm_up,
        "eta": algorithm.eta,
        "rho": algorithm.rho,
        "rounds": rounds,
        "cross": algorithm.cross_learning,
    }


REFERENCES = {
    "exp3-edges": Reference(
        run, arguments, {"eta": 0.2, "rho": 0.1, "warm_up": 7, "cross_learning": False}
    )
}
