"""UCB-N, TS-N, successive elimination and LinUCB, for stochastic losses."""

from math import inf, log, sqrt
from typing import Any

import numpy as np

from .common import Bools, Floats, Ints, Losses, Reference, Trace, draw


def in_neighbors(adjacency: Bools, b: int) -> list[int]:
    return np.flatnonzero(adjacency[:, b]).tolist()


def to_observe(adjacency: Bools, lower: list[float], b: int) -> int:
    """Return b if it reveals itself, or else the arm with the least lower bound that reveals it."""
    if adjacency[b, b]:
        return b
    return min(in_neighbors(adjacency, b), key=lambda a: lower[a], default=b)


def optimist(adjacency: Bools, lower: list[float], upper: list[float]) -> int:
    """Return the arm that optimism plays."""
    K = len(lower)
    b = min(range(K), key=lambda a: lower[a])
    if all(upper[b] <= lower[a] for a in range(K) if a != b):
        return b
    return to_observe(adjacency, lower, b)


class Observations:
    """All losses that were revealed, by context and arm."""

    def __init__(self, M: int, K: int, cross: bool) -> None:
        self.losses: list[list[list[float]]] = [[[] for _ in range(K)] for _ in range(M)]
        self.cross = cross

    def add(self, adjacency: Bools, loss: Floats, c: int, A: int) -> None:
        for b in np.flatnonzero(adjacency[A]):
            for other in range(len(loss)) if self.cross else [c]:
                self.losses[other][b].append(float(loss[other, b]))

    def sums(self) -> Floats:
        return np.array([[sum(one) for one in row] for row in self.losses])


def run(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    numbers: Floats,
    *,
    rule: str,
    scale: float,
    cross: bool,
) -> Trace:
    """Play a round after the other. numbers: a uniform, or K normal numbers, for each round."""
    T = len(contexts)
    M, K = losses(0).shape
    arms, incurred, probabilities = np.zeros(T, dtype=np.int64), np.zeros(T), np.ones(T)
    seen = Observations(M, K, cross)
    for t in range(T):
        c = contexts[t]
        own = seen.losses[c]
        if rule == "ts-n":
            A = thompson(own, scale, numbers[t])
        elif rule == "ucb-n":
            A = ucb(adjacency, own, scale, t)
        else:
            p = elimination(adjacency, own, scale)
            A = draw(p, float(numbers[t]))
            probabilities[t] = p[A]
        loss = losses(t)
        arms[t], incurred[t] = A, loss[c, A]
        seen.add(adjacency, loss, c, A)
    return Trace(arms=arms, losses=incurred, probabilities=probabilities, cumulative=seen.sums())


def ucb(adjacency: Bools, own: list[list[float]], scale: float, t: int) -> int:
    lower, upper = [], []
    for z in own:
        n = len(z)
        mean, radius = (sum(z) / n, sqrt(scale * log(t + 1) / n)) if n else (0.0, inf)
        lower.append(mean - radius)
        upper.append(mean + radius)
    return optimist(adjacency, lower, upper)


def thompson(own: list[list[float]], deviation: float, normals: Floats) -> int:
    theta = []
    for z, normal in zip(own, normals, strict=True):
        n = len(z)
        theta.append((sum(z) + 0.5) / (n + 1) + deviation / sqrt(n + 1) * normal)
    return int(np.argmin(theta))


def elimination(adjacency: Bools, own: list[list[float]], delta: float) -> Floats:
    K = len(own)
    counts = [len(z) for z in own]
    lower, upper = [], []
    for z in own:
        n = len(z)
        mean = sum(z) / n if n else 0.0
        radius = sqrt(log(2 * K * n * (n + 1) / delta) / (2 * n)) if n else inf
        lower.append(mean - radius)
        upper.append(mean + radius)
    active = [b for b in range(K) if lower[b] <= min(upper)]
    p = np.zeros(K)
    if len(active) == 1:
        p[active[0]] = 1.0
        return p
    fewest = [b for b in active if counts[b] == min(counts[a] for a in active)]
    for b in fewest:
        p[to_observe(adjacency, lower, b)] += 1 / len(fewest)
    return p


def run_linucb(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    numbers: Floats,
    *,
    features: Floats,
    width: float,
) -> Trace:
    """LinUCB: solves the normal equations of each arm anew in each round."""
    del numbers
    T = len(contexts)
    M, K = losses(0).shape
    d = features.shape[1]
    arms, incurred = np.zeros(T, dtype=np.int64), np.zeros(T)
    A_ = [np.eye(d) for _ in range(K)]
    b_ = [np.zeros(d) for _ in range(K)]
    for t in range(T):
        x = features[contexts[t]]
        lower, upper = [], []
        for a in range(K):
            theta = np.linalg.solve(A_[a], b_[a])
            radius = width * sqrt(x @ np.linalg.solve(A_[a], x))
            lower.append(float(theta @ x - radius))
            upper.append(float(theta @ x + radius))
        # Solving leaves rounding: bounds that differ by less are the same.
        arm = optimist(adjacency, [round(v, 9) for v in lower], [round(v, 9) for v in upper])
        loss = losses(t)[contexts[t]]
        arms[t], incurred[t] = arm, loss[arm]
        for a in np.flatnonzero(adjacency[arm]).tolist():
            A_[a] = A_[a] + np.outer(x, x)
            b_[a] = b_[a] + loss[a] * x
    cumulative = np.array(
        [[features[c] @ np.linalg.solve(A_[a], b_[a]) for a in range(K)] for c in range(M)]
    )
    return Trace(arms=arms, losses=incurred, probabilities=np.ones(T), cumulative=cumulative)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run`."""
    del nu
    return {
        "rule": algorithm.id,
        "scale": algorithm.scale(problem),
        "cross": algorithm.cross_learning,
    }


def linucb_arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run_linucb`: without features, contexts are indicators."""
    table = np.eye(len(nu)) if problem.features is None else np.asarray(problem.features)
    return {"features": table, "width": algorithm.confidence_width(problem)}


REFERENCES = {
    "ucb-n": Reference(run, arguments, {"exploration": 0.3, "cross_learning": False}),
    "ts-n": Reference(run, arguments, {"deviation": 0.2, "cross_learning": False}),
    "successive-elimination": Reference(run, arguments, {"delta": 0.9, "cross_learning": False}),
    "lin-ucb": Reference(run_linucb, linucb_arguments, {"width": 0.4}),
}
