"""The parameters of Section "Experiments" and of its appendix. ``log`` is the natural logarithm."""

from math import log, sqrt
from typing import NamedTuple


class CrossGraphParameters(NamedTuple):
    """The parameters of Algorithm 2."""

    eta: float
    gamma: float
    rho: float
    beta: float
    L: int


class SchneiderZimmertParameters(NamedTuple):
    """The parameters of SZ-Context."""

    eta: float
    gamma: float
    L: int


def nearest_even_divisor(T: int, target: float) -> int:
    """The even divisor of T with the smallest |L - target|; the smaller one among ties."""
    divisors = [d for d in range(2, T + 1, 2) if T % d == 0]
    if not divisors:
        raise ValueError(f"T must be even and positive, got {T}")
    return min(divisors, key=lambda d: abs(d - target))


def cross_graph(alpha: int, K: int, T: int) -> CrossGraphParameters:
    """L nearest to sqrt(alpha T / log K); eta = gamma = rho = beta = 1 / sqrt(alpha T)."""
    L = nearest_even_divisor(T, sqrt(alpha * T / log(K)))
    rate = 1 / sqrt(alpha * T)
    return CrossGraphParameters(eta=rate, gamma=rate, rho=rate, beta=rate, L=L)


def schneider_zimmert(K: int, T: int) -> SchneiderZimmertParameters:
    """The same with K in place of alpha, and rho = beta = 0."""
    L = nearest_even_divisor(T, sqrt(K * T / log(K)))
    rate = 1 / sqrt(K * T)
    return SchneiderZimmertParameters(eta=rate, gamma=rate, L=L)


def per_context_graph(alpha: int, K: int, M: int, T: int) -> float:
    """eta_Graph = sqrt(2 log K / (alpha T / M))."""
    return sqrt(2 * log(K) / (alpha * T / M))


def per_context_exp3(K: int, M: int, T: int) -> float:
    """eta_Exp3 = sqrt(2 log K / (K T / M))."""
    return sqrt(2 * log(K) / (K * T / M))
