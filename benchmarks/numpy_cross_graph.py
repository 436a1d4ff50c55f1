"""Algorithm 2 in NumPy as a good engineer would write it: only for the contexts that are played.

The literal version of `tests/reference` computes the policies of all contexts in every round, as
the paper writes them. Here the estimates of all contexts are kept, and a policy is computed when
its context is played. It plays the same arms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crossbandit.algorithms.epoch_core import EpochParameters
    from crossbandit.core.types import Booleans, Floats, Integers


def run(
    adjacency: Booleans,
    table: Floats,
    contexts: Integers,
    uniforms: Floats,
    parameters: EpochParameters,
) -> Integers:
    """Play an even number of rounds, one for each context; return the arms.

    Args:
        adjacency: The graph.
        table: (n, K, M), the losses, which repeat after n rounds.
        contexts: (T,).
        uniforms: (2 T,), used as the literal version uses them.
        parameters: Those of the algorithm.
    """
    eta, gamma, rho = parameters.eta, parameters.gamma, parameters.rho
    arms, pairs = adjacency.shape[0], parameters.epoch_length // 2
    into = adjacency.astype(np.float64)
    neighbors = [np.flatnonzero(row) for row in adjacency]
    estimates = np.zeros(table.shape[1:])
    snapshot, following = estimates.copy(), estimates.copy()  # those of two policies per context
    denominators = np.ones(arms)
    without_loop = np.flatnonzero(~adjacency.diagonal())
    special = -1
    seen: list[tuple[int, int]] = []  # of each pair: the context that counts, that which learns
    played = np.empty(contexts.size, dtype=np.int64)

    def policy(of: Floats, context: int) -> Floats:
        scores = -eta * of[:, context]
        weights = np.exp(scores - scores.max())
        result: Floats = (1 - rho) / weights.sum() * weights + rho / arms
        return result

    for t in range(0, contexts.size, 2):
        side = 0 if uniforms[2 * t + 2] < 0.5 else 1
        kept = False
        for i in (0, 1):
            context = int(contexts[t + i])
            q, r = policy(estimates, context), policy(snapshot, context)
            if (2 * q < r).any():
                q = r
            arm = min(int(q.cumsum().searchsorted(uniforms[2 * t + i], "right")), arms - 1)
            played[t + i] = arm
            if i == side:
                kept = bool(uniforms[2 * t + 3] < r[arm] / (2 * q[arm]))
        seen.append((int(contexts[t + 1 - side]), int(contexts[t + side])))
        if kept and t >= parameters.epoch_length:  # the first epoch learns nothing
            rows = neighbors[played[t + side]]
            weights = 2 / denominators[rows]
            estimates[rows] += weights[:, None] * table[(t + side) % len(table), rows]
        if special >= 0:
            estimates[special] += parameters.beta / denominators[special]
        if len(seen) == pairs:
            counted, learned = np.mean(
                [[policy(following, context) for context in pair] for pair in seen], axis=0
            )
            denominators = counted @ into / 2 + 1.5 * gamma
            if without_loop.size:
                special = int(without_loop[learned[without_loop].argmax()])
            snapshot, following = following, estimates.copy()
            seen.clear()
    return played
