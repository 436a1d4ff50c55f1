"""Tsallis-INF (Zimmert and Seldin 2021), in each context: their Algorithms 1 and 2."""

from typing import Any

import numpy as np

from .common import Bools, Floats, Ints, Losses, Reference, Trace, run_rounds


def weights(cumulative: Floats, eta: float) -> Floats:
    """Algorithm 2: w_i = 4 (eta (L_i - x))^(-2), with Newton's steps for x from above."""
    x = float(cumulative.min()) - 2.0 / eta  # the best arm alone has the weight 1
    while True:
        w: Floats = 4.0 * (eta * (cumulative - x)) ** -2.0
        step = (w.sum() - 1.0) / (eta * (w**1.5).sum())
        x -= step
        if abs(step) <= 1e-14 * (1.0 + abs(x)):
            return np.asarray(w / w.sum())


def run(adjacency: Bools, losses: Losses, contexts: Ints, uniforms: Floats) -> Trace:
    """Of the adjacency nothing is used: every played arm shows its own loss."""
    del adjacency
    t = np.zeros(len(losses(0)), dtype=np.int64)  # the rounds of each context before this one

    def policy(cumulative: Floats, c: int) -> Floats:
        return weights(cumulative[c], 2.0 / np.sqrt(t[c] + 1.0))

    def learn(cumulative: Floats, w: Floats, c: int, A: int, loss: Floats) -> None:
        cumulative[c, A] += loss[c, A] / w[A]
        t[c] += 1

    return run_rounds(losses, contexts, uniforms, policy, learn)


def arguments(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return nothing: it has no parameters."""
    del algorithm, problem, nu
    return {}


REFERENCES = {"tsallis-inf": Reference(run, arguments, {})}
