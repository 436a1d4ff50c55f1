"""Algorithm 2 (alg:unknown): unknown context distribution, graphical feedback."""

from typing import Any

import numpy as np

from .common import (
    NO_ARM,
    Bools,
    EpochTrace,
    Floats,
    Ints,
    Losses,
    Reference,
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
    eta: float,
    gamma: float,
    rho: float,
    beta: float,
    L: int,
) -> EpochTrace:
    """Play len(contexts) rounds.

    A pair of rounds takes four uniforms: arm of the first round, arm of the second round, split,
    retention. The warm-up epoch reads the retention number and ignores it. If T is odd, the last
    round takes one. L need not divide T: the last epoch is then shorter.
    """
    if L < 2 or L % 2 != 0:
        raise ValueError(f"L must be even and positive, got {L}")
    T = len(contexts)
    M, K = losses(0).shape
    s_bar = arms_without_self_loop(adjacency)

    arms = np.zeros(T, dtype=np.int64)
    incurred = np.zeros(T)
    probabilities = np.zeros(T)
    fallbacks = np.zeros(T, dtype=np.bool_)

    # sum_{s < t} (lhat_{s,c} + b_s)
    cumulative = np.zeros((M, K))

    # "Set s_{1,c} = s_{2,c} = s_{3,c} = 1/K": s, W and j are indexed by the epoch.
    s: dict[int, Floats] = {e: np.full((M, K), 1 / K) for e in (1, 2, 3)}
    W: dict[int, Floats] = {}
    j: dict[int, int] = {}

    E = -(-T // L)  # T / L, rounded up
    for e in range(1, E + 1):
        # "Set w_{e+1}(a) = m_{e+1}(a) = 0", "Compute r_{e+1,c}"
        w_hat = np.zeros(K)
        m_hat = np.zeros(K)
        r_e = mix(s[e], rho)
        r_next = mix(s[e + 1], rho)

        start, stop = (e - 1) * L, min(e * L, T)
        for t in range(start, stop, 2):
            if e == 1:
                # Warm-up epoch: play A_t ~ s_{1,c_t}.
                q = s[1]
                fallback = np.zeros(M, dtype=np.bool_)
            else:
                # "Compute p_{t,c} and r^p_{t,c} for every c"
                p = softmax(cumulative, eta)
                r_p = mix(p, rho)
                # "q_{t,c} = r^p_{t,c} if 2 r^p_{t,c}(a) >= r_{e,c}(a) for every a,
                # otherwise q_{t,c} = r_{e,c}"
                fallback = ~np.all(2 * r_p >= r_e, axis=1)
                q = np.where(fallback[:, None], r_e, r_p)

            # "for t' in {t, t+1}: observe c_t' and play A_t' ~ q_{t,c_t'}; observe l_{t',c}(a)".
            # Pairs start at even rounds, so the uniforms of this one start at 4 (t / 2) = 2 t.
            pair = [t, t + 1] if t + 1 < stop else [t]
            loss: dict[int, Floats] = {}
            for i, t_prime in enumerate(pair):
                c = contexts[t_prime]
                a = draw(q[c], float(uniforms[2 * t + i]))
                arms[t_prime] = a
                loss[t_prime] = losses(t_prime)
                incurred[t_prime] = loss[t_prime][c, a]
                probabilities[t_prime] = q[c, a]
                fallbacks[t_prime] = fallback[c]
            if len(pair) == 1:
                break  # T is odd: nothing is learned from the round without a partner

            # "(t_f, t_l) <- RandPerm(t, t+1)"
            u_split, u_retain = uniforms[2 * t + 2], uniforms[2 * t + 3]
            t_l, t_f = (t, t + 1) if u_split < 0.5 else (t + 1, t)
            c_l, c_f = contexts[t_l], contexts[t_f]

            # "w_{e+1}(a) <- w_{e+1}(a) + r_{e+1,c_f}(N_in(a)) / L"
            w_hat += in_mass(adjacency, r_next[c_f]) / L
            # "m_{e+1}(a) <- m_{e+1}(a) + 2 r_{e+1,c_l}(a) / L"
            m_hat += 2 * r_next[c_l] / L

            if e == 1:
                continue  # nothing is learned in the warm-up epoch

            # "Draw S_t ~ Bernoulli(r_{e,c_l}(A_l) / (2 q_{t,c_l}(A_l)))"
            A_l = arms[t_l]
            retained = u_retain < r_e[c_l, A_l] / (2 * q[c_l, A_l])

            # "lhat_{t_l,c}(a) = 2 l_{t_l,c}(a) 1{B_{t_l} in N_in(a)} / W_e(a) for every c"
            if retained:
                cumulative += 2 * loss[t_l] * adjacency[A_l] / W[e]
            # "b_{t_l}(a) = beta 1{a = j_e} / W_e(j_e)", retained or not
            if j[e] != NO_ARM:
                cumulative[:, j[e]] += beta / W[e][j[e]]

        if e == E:
            break  # what follows would only serve epoch E + 1
        # "Set W_{e+1}(a) = w_{e+1}(a) + 3 gamma / 2"
        W[e + 1] = w_hat + 1.5 * gamma
        # "j_{e+1} in argmax over S-bar of m_{e+1}(a)"
        j[e + 1] = special_arm(m_hat, s_bar)
        # "Set s_{e+2,c} = p_{eL,c}": the FTRL state after all updates of epoch e.
        if e >= 2:
            s[e + 2] = softmax(cumulative, eta)

    return EpochTrace(
        arms=arms,
        losses=incurred,
        probabilities=probabilities,
        cumulative=cumulative,
        fallbacks=fallbacks,
        denominators=[W[e] for e in range(2, E + 1)],
        special_arms=[j[e] for e in range(2, E + 1)],
        snapshots=[s[e] for e in range(2, E + 1)],
    )


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run` for a problem."""
    del nu
    p = algorithm.parameters(problem)
    return {"eta": p.eta, "gamma": p.gamma, "rho": p.rho, "beta": p.beta, "L": p.epoch_length}


REFERENCES = {
    "cross-graph": Reference(
        run, arguments, {"eta": 0.3, "gamma": 0.02, "rho": 0.1, "beta": 0.05, "epoch_length": 6}
    )
}
