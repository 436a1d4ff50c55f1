"""Algorithm 2 (alg:unknown): a run of the library's literal definition, with scripted numbers.

The definition is `crossbandit.verify.theory.definition`. It shares no code with the cores. The
numbers derived by hand in `test_reference.py` test it. `tests/proofs` compares the learners with
another transcription of the paper, the one that the Coq proof is about.
"""

from typing import Any

import numpy as np

from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.graphs import FeedbackGraph
from crossbandit.verify.theory.definition import Definition, PairDraws, drawn_arm

from .common import NO_ARM, Bools, EpochTrace, Floats, Ints, Losses, Reference


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
    T = len(contexts)
    M, _ = losses(0).shape
    parameters = EpochParameters(eta, gamma, rho, beta, L)
    moment = Definition(FeedbackGraph(adjacency), np.full(M, 1 / M), parameters).first()
    played: list[tuple[int, float, float, bool]] = []
    epochs = {}
    for t in range(0, T, 2):
        epochs[moment.epoch] = moment
        for i, t_prime in enumerate(range(t, min(t + 2, T))):
            c = int(contexts[t_prime])
            a = drawn_arm(moment.q[c], float(uniforms[2 * t + i]))
            fallback = bool(moment.fallback[c])
            played.append((a, float(losses(t_prime)[c, a]), float(moment.q[c, a]), fallback))
        if t + 1 == T:
            break  # T is odd: nothing is learned from the round without a partner
        side = 0 if uniforms[2 * t + 2] < 0.5 else 1
        both = (int(contexts[t]), int(contexts[t + 1]))
        arms = (played[t][0], played[t + 1][0])
        kept = bool(uniforms[2 * t + 3] < moment.retention(both[side], arms[side]))
        table = np.array([losses(t), losses(t + 1)])
        moment = moment.after(PairDraws(both, arms, side, kept), table)
    del epochs[1]
    return EpochTrace(
        arms=np.array([a for a, *_ in played], dtype=np.int64),
        losses=np.array([loss for _, loss, *_ in played]),
        probabilities=np.array([q for _, _, q, _ in played]),
        cumulative=moment.cumulative,
        fallbacks=np.array([fallback for *_, fallback in played], dtype=np.bool_),
        denominators=[one.denominators for one in epochs.values()],
        special_arms=[NO_ARM if one.special is None else one.special for one in epochs.values()],
        snapshots=[one.snapshot for one in epochs.values()],
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
