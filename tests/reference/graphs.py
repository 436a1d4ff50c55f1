"""The feedback graph of the experiments, and the observation mass p(N_in(a))."""

import numpy as np

from .common import Bools, Floats


def paper_ring(K: int, r: int) -> Bools:
    """The graph of Section "Experiments": adjacency[a, b] iff playing a reveals b.

    A directed ring of radius r, a -> a, a+1, ..., a+r (mod K); then arm 0 loses its self-loop
    and every other arm gets an edge to arm 0.
    """
    adjacency = np.zeros((K, K), dtype=np.bool_)
    for a in range(K):
        for step in range(r + 1):
            adjacency[a, (a + step) % K] = True
    adjacency[:, 0] = True
    adjacency[0, 0] = False
    return adjacency


def singleton(K: int) -> Bools:
    """Standard bandit feedback: an arm reveals itself and nothing else."""
    return np.eye(K, dtype=np.bool_)


def in_mass(adjacency: Bools, p: Floats) -> Floats:
    """p(N_in(a)) = sum of p(v) over all v with v -> a, for every arm a.

    ``p`` is one distribution (K,) or one per context (M, K).
    """
    mass: Floats = p @ adjacency.astype(np.float64)
    return mass
