"""Exp3.G, Exp3-IX, Exp3-SET, ELP and the high-probability Exp3: exponential weights on graphs.

Each is written with the formulas of its own paper. Without cross-learning, a round is learned from
in its own context only.
"""

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
    arms_without_self_loop,
    mix,
    run_rounds,
    softmax,
    special_arm,
)
from .graphs import in_mass


def run_exp3_g(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    eta: float,
    rho: float,
    u: Floats,
    cross: bool,
) -> Trace:
    """Exp3.G: p_t = (1 - gamma) q_t + gamma u, lhat_t(i) = l_t(i) 1{i observed} / P_t(i).

    The paper's gamma is our rho, its q_t our p, its p_t our q. ELP is the same with its own u.
    """

    def policy(cumulative: Floats, c: int) -> Floats:
        q: Floats = (1 - rho) * softmax(cumulative[c], eta) + rho * u
        return q

    def learn(cumulative: Floats, q: Floats, c: int, A: int, loss: Floats) -> None:
        P = in_mass(adjacency, q)
        for i in range(len(adjacency)):
            if adjacency[A, i]:
                for other in range(len(loss)) if cross else [c]:
                    cumulative[other, i] += loss[other, i] / P[i]

    return run_rounds(losses, contexts, uniforms, policy, learn)


def run_exp3_set(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    eta: float,
    cross: bool,
) -> Trace:
    """Exp3-SET: the same without exploration."""
    u = np.zeros(len(adjacency))
    return run_exp3_g(adjacency, losses, contexts, uniforms, eta=eta, rho=0.0, u=u, cross=cross)


def run_exp3_ix(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    eta: float,
    gamma: float,
) -> Trace:
    """Exp3-IX: lhat_t(i) = l_t(i) O_t(i) / (o_t(i) + gamma), o_t(i) = p_t(N_in(i))."""

    def learn(cumulative: Floats, p: Floats, c: int, A: int, loss: Floats) -> None:
        o = in_mass(adjacency, p)
        O = adjacency[A]  # noqa: E741 - the paper's name
        cumulative[c] += loss[c] * O / (o + gamma)

    def policy(cumulative: Floats, c: int) -> Floats:
        return softmax(cumulative[c], eta)

    return run_rounds(losses, contexts, uniforms, policy, learn)


def run_high_probability(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    eta: float,
    rho: float,
    gamma: float,
    beta: float,
) -> Trace:
    """lhat(i) = l(i) 1{i observed} / (W(i) + gamma 1{i in S}), b(j) = beta / W(j), W = q(N_in)."""
    s_bar = arms_without_self_loop(adjacency)
    in_s = np.diag(adjacency).astype(float)

    def policy(cumulative: Floats, c: int) -> Floats:
        return mix(softmax(cumulative[c], eta), rho)

    def learn(cumulative: Floats, q: Floats, c: int, A: int, loss: Floats) -> None:
        W = in_mass(adjacency, q)
        j = special_arm(q, s_bar)
        cumulative[c] += loss[c] * adjacency[A] / (W + gamma * in_s)
        if j != NO_ARM:
            cumulative[c, j] += beta / W[j]

    return run_rounds(losses, contexts, uniforms, policy, learn)


def rates(algorithm: Any, problem: Any, *names: str) -> dict[str, float]:
    """Return some of the parameters for a problem."""
    every = algorithm.parameters(problem)._asdict()
    return {name: every[name] for name in names}


def explored(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run_exp3_g`."""
    del nu
    u = algorithm.explored_arms(problem)
    return {**rates(algorithm, problem, "eta", "rho"), "u": u, "cross": algorithm.cross_learning}


REFERENCES = {
    "exp3-g": Reference(run_exp3_g, explored, {"eta": 0.3, "rho": 0.1, "cross_learning": False}),
    "elp": Reference(run_exp3_g, explored, {"eta": 0.2, "cross_learning": False}),
    "exp3-set": Reference(
        run_exp3_set,
        lambda algorithm, problem, _: {
            **rates(algorithm, problem, "eta"),
            "cross": algorithm.cross_learning,
        },
        {"eta": 0.02, "cross_learning": True},
    ),
    "exp3-ix": Reference(
        run_exp3_ix,
        lambda algorithm, problem, _: rates(algorithm, problem, "eta", "gamma"),
        {"eta": 0.4, "gamma": 0.05},
    ),
    "exp3-high-probability": Reference(
        run_high_probability,
        lambda algorithm, problem, _: rates(algorithm, problem, "eta", "rho", "gamma", "beta"),
        {"eta": 0.3, "rho": 0.1, "gamma": 0.02, "beta": 0.05},
    ),
}
