"""Algorithm 2 with a graph of its own in each round, written with all contexts at once.

It shares nothing with the cores, and nothing with `crossbandit.verify.theory.definition`.
"""

from collections.abc import Callable
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
    draw,
    mix,
    softmax,
    special_arm,
)

Graphs = Callable[[int], Bools]  # the adjacency matrix of a round


def run_on_graphs(
    graphs: Graphs,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    eta: float,
    gamma: float,
    rho: float,
    beta: float,
    L: int,
    explore: Floats | None = None,
    by_context: bool = False,
) -> Trace:
    """Play len(contexts) rounds; the uniforms of a pair are those of `cross_graph.run`.

    explore: (K,), x u_D: what each arm gets of the exploration. by_context: whether the graph of a
    round is a function of its context.
    """
    T = len(contexts)
    M, K = losses(0).shape
    x = np.zeros(K) if explore is None else explore

    def mixed(p: Floats) -> Floats:
        # r = (1 - x) ((1 - rho) p + rho / K) + x u_D
        r: Floats = (1 - x.sum()) * mix(p, rho) + x
        return r

    uniform = np.full((M, K), 1 / K)
    snapshots = {1: uniform, 2: uniform, 3: uniform}  # s_{e,c}
    cumulative = np.zeros((M, K))
    # The samples of the previous and the present epoch: (context, graph) of each round.
    frequency: dict[int, list[tuple[int, Bools]]] = {}
    loss: dict[int, list[tuple[int, Bools]]] = {}
    arms, incurred, probabilities = [], [], []

    for t in range(0, T, 2):
        e = t // L + 1
        if t % L == 0:
            frequency[e], loss[e] = [], []
            if e >= 2:
                snapshots[e + 1] = softmax(cumulative, eta) if e > 2 else uniform  # p_{(e-1)L}
        r_e = mixed(snapshots[e])
        r_p = mixed(softmax(cumulative, eta))
        q = np.where((2 * r_p >= r_e).all(axis=1, keepdims=True), r_p, r_e)
        pair = range(t, min(t + 2, T))
        for i, t_prime in enumerate(pair):
            c = contexts[t_prime]
            A = draw(q[c], float(uniforms[2 * t + i]))
            arms.append(A)
            incurred.append(losses(t_prime)[c, A])
            probabilities.append(q[c, A])
        if len(pair) == 1:
            break
        side = 0 if uniforms[2 * t + 2] < 0.5 else 1
        t_loss, t_frequency = t + side, t + 1 - side
        frequency[e].append((contexts[t_frequency], graphs(t_frequency)))
        loss[e].append((contexts[t_loss], graphs(t_loss)))
        if e == 1:
            continue
        G, c, A = graphs(t_loss), contexts[t_loss], arms[t_loss]
        # Half the probability of observing each arm under the snapshots, from the epoch before.
        samples = frequency[e - 1]
        if by_context:
            masses = [r_e[c_s] @ G_s for c_s, G_s in samples]
        else:
            masses = [r_e[c_s] @ G for c_s, _ in samples]
        W = sum(masses) / len(samples) / 2 + 1.5 * gamma
        # The special arm: by the loss sample of the epoch before.
        m = np.zeros(K)
        lacking = ~np.diag(G)
        if by_context:
            for c_s, G_s in loss[e - 1]:
                m += r_e[c_s] * ~np.diag(G_s)
            lacking = m > 0
        else:
            for c_s, _ in loss[e - 1]:
                m += r_e[c_s]
        j = special_arm(m, np.flatnonzero(lacking).astype(np.int64))
        if j != NO_ARM:
            cumulative[:, j] += beta / W[j]
        if uniforms[2 * t + 3] < r_e[c, A] / (2 * q[c, A]):
            cumulative += losses(t_loss) * G[A] * 2 / W
    return Trace(
        arms=np.array(arms, dtype=np.int64),
        losses=np.array(incurred),
        probabilities=np.array(probabilities),
        cumulative=cumulative,
    )


def run(
    adjacency: Bools, losses: Losses, contexts: Ints, uniforms: Floats, **parameters: Any
) -> Trace:
    """Play on a graph that is the same in all rounds."""
    return run_on_graphs(lambda _: adjacency, losses, contexts, uniforms, **parameters)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run` for a problem."""
    del nu
    p = algorithm.parameters(problem)
    return {"eta": p.eta, "gamma": p.gamma, "rho": p.rho, "beta": p.beta, "L": p.epoch_length}


REFERENCES = {
    "cross-graph-varying": Reference(
        run, arguments, {"eta": 0.3, "gamma": 0.02, "rho": 0.1, "beta": 0.05, "epoch_length": 6}
    )
}
