"""The certified learner, written out: a chain of contexts for each round, and nothing shared."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crossbandit.algorithms.tuning import exploring_arms

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
from .graphs import in_mass

PARTS = 8
SAMPLED = 4.0
LONGEST = 512
SEED = 11  # of tests/algorithms/test_parity.py


@dataclass(frozen=True)
class CertifiedTrace(Trace):
    """What one run did, and its measured bound."""

    certificate: float


@dataclass
class Block:
    """A block: the rounds and the chains of its own."""

    state: Floats  # (M, K), the estimates with which it is played
    eta: float
    rho: float
    m: float
    first: int
    size: int
    followed: bool
    stands_for: float
    N: float
    far: float
    graphs: list[Bools] = field(default_factory=list)  # of its rounds
    contexts: list[int] = field(default_factory=list)
    played: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)  # contexts after the block
    going: Bools | None = None  # (rounds, K), the chains that go on
    product: Floats | None = None  # (rounds, K), of the later contexts
    rests: Floats | None = None  # (rounds, K), what the block's own contexts leave of each chain
    coming: Floats | None = None
    paid: Floats | None = None  # what was added last, for each context and arm
    ending: Floats | None = None
    ended: Floats | None = None
    live: bool = True
    fresh: bool = False  # over, and what it added last is not measured yet


def run(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    alpha: float,
    block: int,
    slots: int,
    key: int,
    dominating: list[int],
    graph: Callable[[int], Bools] | None = None,
    by_context: bool = False,
) -> CertifiedTrace:
    """Play len(contexts) rounds; each takes a uniform. key: for the lots of blocks.

    dominating: what is explored if some arm is weakly observable. graph: that of each round, if
    graphs change; adjacency then has the edges that all of them have.
    """
    T = len(contexts)
    M, K = losses(0).shape
    s_bar = arms_without_self_loop(adjacency)
    by_round = graph is not None and not by_context
    B = min(max(block, int(alpha)), PARTS if by_round else LONGEST)

    arms = np.zeros(T, dtype=np.int64)
    incurred = np.zeros(T)
    probabilities = np.zeros(T)
    L = np.zeros((M, K))
    seen: list[float] = []
    mean, means = 0.0, 0
    K_sum = K_max = cut = explored = hidden = 0.0
    blocks: list[Block] = []  # those that hold a slot; the last is the open one
    old: Block | None = None
    measured = 0.0

    def longest_chain(t: int) -> float:
        return max(8.0, float(np.sqrt(alpha * (t + 1))))

    def exploration(t: int) -> float:
        return min(0.5, float(np.cbrt(len(dominating) * np.log(K) / (t + 1))))

    def limited(p: Floats, rho: float) -> tuple[Floats, float]:
        r = p.copy()
        if dominating and rho > 0:
            u = np.zeros(K)
            u[dominating] = 1 / len(dominating)
            r = (1 - rho) * p + rho * u
            return r, float(np.maximum(r - p, 0.0).sum())
        for a in s_bar:
            if rho > 0 and K > 1 and r[a] > 1 - rho:
                moved = float(r[a]) - (1 - rho)
                r += moved / (K - 1)
                r[a] = 1 - rho
                return r, moved
        return r, 0.0

    def policy(one: Block, c: int) -> Floats:
        return softmax(one.state[c], one.eta)

    def missed(one: Block, c: int, t: int) -> Floats:
        """1 - r_{e,c}(N_in(a)), for each round of the block, in the context c of round t."""
        r = limited(policy(one, c), one.rho)[0]
        used = one.graphs
        if graph is not None and by_context:
            used = [graph(t)] * len(one.graphs)
        return np.array([np.maximum(0.0, 1 - in_mass(own, r)) for own in used])

    def part(i: int, size: int) -> int:
        return i * min(PARTS, size) // size

    for t in range(T):
        c = int(contexts[t])
        loss = losses(t)
        now = blocks[-1] if blocks and len(blocks[-1].contexts) < blocks[-1].size else None
        if now is None:
            blocks = [one for one in blocks if one.live]
            if blocks:
                old = next((one for one in blocks if one.first + one.size == t), None)
            busy = len(blocks)
            N = longest_chain(t)
            far = N * np.log(t + 8)
            if dominating:
                far = max(N, len(dominating) / exploration(t)) * np.log(t + 8)
            wanted = B
            if not by_round:
                wanted = min(max(B, int((far if dominating else N) / (2 * slots))), LONGEST)
            size = min(wanted, 1 + (t + 1) // 32)
            if 2 * busy >= slots and not by_round:
                size *= 2 if 4 * busy < 3 * slots else 4
            followed = busy + 2 < slots and t > 0
            every = max(1.0, (far if len(s_bar) else N) / (SAMPLED * size))
            stands_for = 1.0 if t > 0 else 0.0
            if followed:
                stands_for = every if lot(key, t) * every < 1 else 0.0
            spread = max(seen) - min(seen) if seen else 0.0
            eta = np.log(K) / (spread + K_max) if spread > 0 else 0.0
            rho = 0.0
            if dominating:
                x = exploration(t)
                rho = x if hidden > 0.1 * (t + 1) * x else 0.0
            elif len(s_bar) and hidden > 0.1 * np.sqrt(alpha * (t + 1)):
                rho = min(0.5, 1 / N)
            now = Block(L.copy(), eta, rho, mean, t, size, followed, stands_for, N, far)
            blocks.append(now)

        # What was added at the end of the last block is measured in every second round.
        half = (now.size + 1) // 2
        if old is not None and len(now.contexts) % 2 == 0:
            p_old = policy(old, c)
            Y = now.state[c] - old.state[c] if old.eta > 0 else now.state[c]
            rate = old.eta if old.eta > 0 else now.eta
            if rate > 0:
                low = Y[p_old > 0].min()
                mixed = low - np.log((p_old * np.exp(-rate * (Y - low))).sum()) / rate
                measured += max(0.0, float(p_old @ Y) - mixed)
            for one in blocks:
                if one is not now and one.ended is not None:
                    p = policy(one, c)
                    cut += float(p @ one.ended) / half
                    if one.paid is not None and one is not old:
                        measured += float((p - p_old) @ (one.paid[c] - one.m * one.ended))

        # The chains of earlier blocks go on.
        for one in blocks:
            if one is now or one.going is None or not one.going.any():
                continue
            assert one.product is not None
            assert one.coming is not None
            assert one.ending is not None
            assert one.rests is not None
            misses = missed(one, c, t)
            one.later.append(c)
            length = len(one.later) + one.size - 1
            for i, a in zip(*np.nonzero(one.going), strict=True):
                one.product[i, a] *= misses[i, a]
                cap = one.far if a in s_bar else one.N
                if one.product[i, a] < 1 / one.N**2 or length >= cap:
                    one.going[i, a] = False
                    one.ending[a] += one.rests[i, a] * one.product[i, a]
                else:
                    one.coming[i, a] += one.product[i, a]

        r, moved = limited(policy(now, c), now.rho)
        explored += moved
        A = draw(r, float(uniforms[t]))
        arms[t], incurred[t], probabilities[t] = A, loss[c, A], r[A]
        now.contexts.append(c)
        now.played.append(A)
        now.graphs.append(adjacency if graph is None else graph(t))
        over = len(now.contexts) == now.size

        if over:
            # Instalments of the blocks before.
            for one in blocks[:-1]:
                if one.fresh:
                    one.live = one.fresh = False
                    continue
                assert one.coming is not None
                assert one.ending is not None
                assert one.rests is not None
                one.paid = np.zeros((M, K))
                for i in range(one.size):
                    shown = one.graphs[i][one.played[i]]
                    lhat = (losses(one.first + i) - one.m) * shown
                    one.paid += lhat * one.rests[i] * one.coming[i]
                one.ended = one.stands_for * one.ending
                hidden += float(one.ended[s_bar].sum())
                L += one.paid - one.m * one.ended
                one.coming, one.ending = np.zeros((one.size, K)), np.zeros(K)
                one.fresh = one.going is None or not one.going.any()
            # The block itself: each round is weighed by the contexts of the other parts.
            x_own = [missed(now, d, now.first + j) for j, d in enumerate(now.contexts)]
            shown = np.array([now.graphs[i][now.played[i]] for i in range(now.size)])
            needed = shown if by_round else np.tile(shown.any(axis=0), (now.size, 1))
            Z = np.zeros((now.size, K))
            now.rests = np.ones((now.size, K))
            rest_ended = np.zeros(K)
            for i in range(now.size):
                g = part(i, now.size)
                kept = range(min(now.size, 4 * B))
                others = [j for j in kept if part(j, now.size) > g]
                others += [j for j in kept if part(j, now.size) < g]
                for j in others:
                    Z[i] += now.rests[i]
                    now.rests[i] *= x_own[j][i]
                stops = np.full(K, not now.followed) | (now.rests[i] < 1 / now.N**2)
                rest_ended += np.where(stops, now.rests[i], 0.0)
                now.rests[i, stops] = 0.0
                Z[i] += now.rests[i]  # the first term of the later contexts' chain, times 1
            now.product = np.ones((now.size, K))
            now.coming, now.ending = np.zeros((now.size, K)), np.zeros(K)
            now.paid = np.zeros((M, K))
            now.going = (now.rests > 0) & (needed | (now.stands_for > 0)) & now.followed
            now.ended = now.stands_for * rest_ended
            hidden += float(now.ended[s_bar].sum())
            L -= now.m * now.ended
            for i in range(now.size):
                if now.first + i > 0:
                    L += (losses(now.first + i) - now.m) * shown[i] * Z[i]
            now.fresh = not now.going.any()
            K_sum += measured / ((now.size + 1) // 2)
            measured = 0.0
            K_max = max(K_max, K_sum)

        # The range and the mean of what was seen.
        reveals = now.graphs[-1][A]
        own = loss[c, reveals]
        seen += own.tolist()
        if len(own) > 0 and means == 0:
            mean, means = float(own.mean()), 1
        elif reveals[A]:
            mean += (loss[c, A] - mean) / (1 + means / 16)
            means += 1

    # The losses of the open block are added when it is over.
    bound = 2 + K_max + K_sum + cut + explored
    return CertifiedTrace(arms, incurred, probabilities, L, bound)


def lot(key: int, t: int) -> float:
    """A number from 0 to 1 for the block that begins with round t."""
    h = (key + t) % 2**31
    for _ in range(3):
        h = ((h ^ (h >> 15)) * 1103515245 + 12345) % 2**31
    return float((h ^ (h >> 15)) / 2**31)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run`, with the key of the seed of the tests."""
    del nu
    key = int(algorithm.start(problem, seed=SEED).state()["key"][0])
    found: dict[str, Any] = {"alpha": float(problem.graph.independence_bounds.upper), "key": key}
    explored = exploring_arms(problem.graph) if problem.graph_kind == "fixed" else []
    return {**found, "block": algorithm.block, "slots": algorithm.slots, "dominating": explored}


REFERENCES = {"cross-graph-certified": Reference(run, arguments, {"block": 3, "slots": 4})}
