"""Check that an algorithm learns only from what its plays reveal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.checks.requirement import require
from crossbandit.environments import from_table
from crossbandit.simulation import simulate

if TYPE_CHECKING:
    from crossbandit.algorithms import Algorithm
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.types import Floats


def check_secrecy(
    algorithm: Algorithm, graph: FeedbackGraph, losses: Floats, distribution: list[float]
) -> None:
    """Check that losses which no play revealed make no difference.

    A run is repeated with other losses wherever nothing was revealed. If the algorithm then plays
    other arms, it has read losses that were not revealed. Compiled code can do that by mistake: it
    is given the losses of all arms.

    Args:
        algorithm: The algorithm.
        graph: The graph.
        losses: Losses of shape (rounds, contexts, arms).
        distribution: The probability of each context.

    Raises:
        CheckFailedError: The arms differ.
    """
    environment = from_table(losses, graph, distribution)
    first = simulate(algorithm, environment, seed=9, show_progress=False)
    revealed = graph.adjacency[first.arms]
    if algorithm.needs_own_loss:  # it ignores the graph
        revealed = np.eye(graph.arms, dtype=np.bool_)[first.arms]
    changed = np.where(revealed[:, None, :], losses, 1.0 - losses)
    second = simulate(
        algorithm, from_table(changed, graph, distribution), seed=9, show_progress=False
    )
    require(
        np.array_equal(first.arms, second.arms),
        "Other losses where nothing was revealed led to other arms.",
        "Learn from what feedback_of returns, not from rounds.losses.",
    )
