"""The adaptive learner, written out from its formulas: all contexts, all arms, every round."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .common import (
    Bools,
    Floats,
    Ints,
    Losses,
    Reference,
    Trace,
    arms_without_self_loop,
    draw,
    softmax,
)
from .cross_graph_weak import dominating_sets, weakly_observable
from .graphs import in_mass


def anchors(adjacency: Bools) -> dict[int, int]:
    """Return the anchor of each arm that has one: N_in(anchor) = N_in(arm) + {anchor}."""
    K = len(adjacency)
    found = {}
    for a in range(K):
        seen_by = set(np.flatnonzero(adjacency[:, a]).tolist())
        fitting = [
            b
            for b in range(K)
            if b not in seen_by
            and seen_by
            and set(np.flatnonzero(adjacency[:, b]).tolist()) == seen_by | {b}
        ]
        if fitting:
            found[a] = min(fitting, key=lambda b: abs(b - a))
    return found


def run(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    rate: float,
    exploration: float,
    recency: float,
    half_life: float | None,
    eta: float | None = None,
    anchored: bool = False,
    available: Bools | None = None,
    D: tuple[int, ...] = (),
    graphs: Callable[[int], Bools] | None = None,
    by_context: bool = False,
) -> Trace:
    """Play len(contexts) rounds; each takes one uniform. available: (T, K), all arms if None.

    D: a smallest weakly dominating set. graphs: the adjacency matrix of each round, if they change.
    """
    anchor = anchors(adjacency) if anchored and graphs is None else {}
    weak = weakly_observable(adjacency) if graphs is None else []
    assert graphs is not None or D in dominating_sets(adjacency)
    T = len(contexts)
    M, K = losses(0).shape
    keep = 1.0 if half_life is None else 0.5 ** (1 / half_life)
    s_bar = arms_without_self_loop(adjacency)
    owed = np.full(K, 1 / K)
    owed[s_bar] = 1.0
    owed[weak] = 0.0

    arms = np.zeros(T, dtype=np.int64)
    incurred = np.zeros(T)
    probabilities = np.zeros(T)

    cumulative = np.zeros((M, K))  # discounted sums of lhat
    gaps = 0.0  # discounted sum of the mixability gaps
    n = 0.0  # discounted number of rounds
    played = np.zeros(K)
    w = np.ones(K)
    seen: list[float] = []
    numerator = denominator = 0.0

    awake = np.ones((T, K), dtype=bool) if available is None else available

    def explore(q: Floats, floor: Floats, may: Bools) -> Floats:
        r = np.zeros(K)
        left = 1.0
        for a in range(K):
            lack = max(0.0, floor[a] - w[a])
            showing = np.flatnonzero(may & (np.arange(K) != a if a in s_bar else np.arange(K) == a))
            if a in weak:
                continue
            if len(showing) > 0:
                r[showing] += lack / len(showing)
                left -= lack
        r += left * q
        on_D = [d for d in D if may[d]]
        if weak and on_D:
            lacking = max(0.0, *(len(D) * (weak_floor - w[a]) for a in weak))
            r *= 1 - lacking
            r[on_D] += lacking / len(on_D)
        return r

    def restricted_softmax(scores: Floats, rate_now: float, may: Bools) -> Floats:
        q = np.zeros(K)
        q[may] = softmax(scores[may], rate_now)
        return q

    for t in range(T):
        cumulative *= keep
        gaps *= keep
        recent = keep * n
        n = recent + 1
        spread = max(seen) - min(seen) if seen else 0.0
        rate_now = rate * np.log(K) / (spread + gaps) if spread > 0 else 0.0
        if eta is not None:
            rate_now = eta
        if graphs is not None:
            adjacency = graphs(t)
            s_bar = arms_without_self_loop(adjacency)
            owed = np.where(np.diag(adjacency), 1 / K, 1.0)
            if t > 0 and not by_context:
                w = in_mass(adjacency, played)
        floor = min(0.5, exploration / np.sqrt(n)) * owed
        weak_floor = min(0.5, exploration * (len(D) / n) ** (1 / 3)) / max(1, len(D))

        c = contexts[t]
        may = awake[t]
        q = restricted_softmax(cumulative[c], rate_now, may)
        r = explore(q, floor, may)
        A = draw(r, float(uniforms[t]))
        loss = losses(t)
        arms[t], incurred[t], probabilities[t] = A, loss[c, A], r[A]

        # w_t: a running mean that includes this round
        step = 1 / (1 + recent / recency)
        played = played + step * (r - played)
        w = w + step * (in_mass(adjacency, r) - w) if by_context else in_mass(adjacency, played)
        added = floor.copy()
        added[weak] = weak_floor
        weights = adjacency[A] / (w + added)

        # m_t: a running mean of the policy's loss, self-normalised; the first is a round's own
        r = explore(q, floor, may)
        total = float((r * weights * loss[c]).sum())
        weight = float((r * weights).sum())
        if not adjacency[A].any():
            continue
        seen += list(loss[c, adjacency[A] & may])
        own = adjacency[A] & may if (adjacency[A] & may).any() else adjacency[A]
        m = numerator / denominator if denominator > 0 else loss[c, own].mean()
        if denominator == 0:
            numerator, denominator = total, weight
        numerator += step * (total - numerator)
        denominator += step * (weight - denominator)

        lhat = np.zeros((M, K))
        for a in sorted(range(K), key=lambda a: -adjacency[:, a].sum()):
            if a in anchor:
                lhat[:, a] = lhat[:, anchor[a]] + (loss[:, a] - loss[:, anchor[a]]) * weights[a]
            else:
                lhat[:, a] = (loss[:, a] - m) * weights[a]
        cumulative += lhat
        if rate_now > 0:
            lowest = lhat[c][r > 0].min()
            mixed = lowest - np.log((r * np.exp(-rate_now * (lhat[c] - lowest))).sum()) / rate_now
            gaps += max(0.0, float(r @ lhat[c]) - mixed)

    return Trace(arms=arms, losses=incurred, probabilities=probabilities, cumulative=cumulative)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run`; of the problem, they need a dominating set."""
    del nu
    given = {name: value for name, value in algorithm.to_json().items() if name != "id"}
    fixed = problem.graph_kind == "fixed"
    return {**given, "D": problem.graph.weakly_dominating_set if fixed else ()}


REFERENCES = {
    "cross-graph-adaptive": Reference(
        run,
        arguments,
        {"half_life": 50.0, "rate": 0.5, "exploration": 3.0, "recency": 2.0, "anchored": True},
    )
}
