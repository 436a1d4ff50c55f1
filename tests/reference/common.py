"""What every algorithm of the paper shares: FTRL, mixing, drawing an arm, the special arm."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# losses(t)[c, a] is the loss of arm a in context c on round t.
Losses = Callable[[int], Floats]

# Stands for j_e when every arm has a self-loop, so that there is no special arm.
NO_ARM = -1


@dataclass(frozen=True, eq=False)
class Trace:
    """What one run did."""

    arms: Ints  # (T,) A_t
    losses: Floats  # (T,) l_{t,c_t}(A_t)
    probabilities: Floats  # (T,) the probability with which A_t was drawn, given c_t
    cumulative: Floats  # (M, K) sum over all rounds s of (lhat_{s,c} + b_s)


@dataclass(frozen=True, eq=False)
class EpochTrace(Trace):
    """What one run of Algorithm 2 did. Item i of each list belongs to epoch e = i + 2."""

    fallbacks: Bools  # (T,) whether q_{t,c_t} was r_{e,c_t} because the pointwise test failed
    denominators: list[Floats]  # (K,) W_e
    special_arms: list[int]  # j_e, or NO_ARM
    snapshots: list[Floats]  # (M, K) s_{e,c}


class Reference(NamedTuple):
    """How the tests find the transcription of a registered algorithm, by its id.

    `arguments(algorithm, problem, nu)` returns the parameters of `run`; nu is the distribution of
    contexts. `by_hand` are parameters with which the algorithm is tried besides its defaults.
    """

    run: Callable[..., Trace]
    arguments: Callable[[Any, Any, Floats], dict[str, Any]]
    by_hand: dict[str, Any]


def softmax(cumulative: Floats, eta: float) -> Floats:
    """FTRL with negative entropy (eq:ftrl-update): p_c(a) proportional to exp(-eta L_c(a)).

    Works on one context (K,) and on all contexts (M, K).
    """
    shifted = cumulative - cumulative.min(axis=-1, keepdims=True)
    weights = np.exp(-eta * shifted)
    p: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return p


def mix(p: Floats, rho: float) -> Floats:
    """r = (1 - rho) p + rho 1/K."""
    K = p.shape[-1]
    r: Floats = (1 - rho) * p + rho / K
    return r


def draw(q: Floats, u: float) -> int:
    """The smallest arm a with u < q(0) + ... + q(a)."""
    total = 0.0
    for a in range(len(q)):
        total += float(q[a])
        if u < total:
            return a
    # Rounding left the total at or below u.
    return int(np.flatnonzero(q > 0)[-1])


def run_rounds(
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    policy: Callable[[Floats, int], Floats],
    learn: Callable[[Floats, Floats, int, int, Floats], None],
) -> Trace:
    """Play len(contexts) rounds that are learned from at once; each takes one uniform.

    policy(cumulative, c) returns the distribution of context c. learn(cumulative, q, c, A, loss)
    adds the estimates of a round to cumulative (M, K): arm A was drawn from q in context c, and
    loss (M, K) are the losses of all arms in all contexts.
    """
    T = len(contexts)
    arms = np.zeros(T, dtype=np.int64)
    incurred = np.zeros(T)
    probabilities = np.zeros(T)
    cumulative = np.zeros(losses(0).shape)
    for t in range(T):
        c = int(contexts[t])
        q = policy(cumulative, c)
        A = draw(q, float(uniforms[t]))
        loss = losses(t)
        arms[t], incurred[t], probabilities[t] = A, loss[c, A], q[A]
        learn(cumulative, q, c, A, loss)
    return Trace(arms=arms, losses=incurred, probabilities=probabilities, cumulative=cumulative)


def arms_without_self_loop(adjacency: Bools) -> Ints:
    """S-bar, in increasing order."""
    return np.flatnonzero(~np.diag(adjacency)).astype(np.int64)


def special_arm(mass: Floats, s_bar: Ints) -> int:
    """argmax over S-bar of the mass; the smallest arm among ties; NO_ARM if S-bar is empty."""
    if len(s_bar) == 0:
        return NO_ARM
    return int(s_bar[np.argmax(mass[s_bar])])
