"""Check that an algorithm beats uniform play on an easy problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.checks.requirement import require
from crossbandit.environments import from_table
from crossbandit.simulation import simulate

if TYPE_CHECKING:
    from crossbandit.algorithms import Algorithm
    from crossbandit.graphs import FeedbackGraph

_ROUNDS = 2000
_CONTEXTS = 2
_LEAST = 0.8  # of the regret of uniform play


def check_beats_uniform(algorithm: Algorithm, graph: FeedbackGraph) -> None:
    """Check that an algorithm has clearly less regret than uniform play on an easy problem.

    In all 2,000 rounds the best arm of a context loses 0.2 and the others 0.8. The two contexts
    have different best arms. Its regret must be below 0.8 times that of uniform play. Uniform play
    itself passes with a probability of at most exp(-2 T (0.2 (K - 1) / K)^2), by Hoeffding's
    inequality: below 1e-17 for two arms or more. The seed is fixed.

    Args:
        algorithm: The algorithm.
        graph: A graph on which it can play. Nothing is checked if the algorithm promises nothing:
            if some arm is not observable, or if the algorithm is for stochastic losses and some arm
            has no self-loop.

    Raises:
        CheckFailedError: Its regret is not clearly less.
    """
    hidden = graph.observability == "none" and not algorithm.needs_own_loss
    unproved = algorithm.stochastic_only and graph.arms_without_self_loop
    if graph.arms < 2 or hidden or unproved:
        return
    losses = np.full((_CONTEXTS, graph.arms), 0.8)
    losses[np.arange(_CONTEXTS), [1, 0]] = 0.2
    table = np.broadcast_to(losses, (_ROUNDS, *losses.shape))
    environment = from_table(table, graph)
    regret = simulate(algorithm, environment, seed=3, show_progress=False).final_regret
    uniform = 0.6 * (1.0 - 1.0 / graph.arms) * _ROUNDS
    require(
        regret < _LEAST * uniform,
        f"In {_ROUNDS} rounds in which the best arm of a context loses 0.2 and all others 0.8, its "
        f"regret is {regret:.1f}; uniform play has {uniform:.1f}.",
        "Does it prefer arms with small estimates, and do estimates have the right sign?",
    )
