"""Losses given as a table with an entry for each round, context and arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments.contexts import distribution_over
from crossbandit.environments.environment import BlockEnvironment, row_block
from crossbandit.errors import InvalidLossesError
from crossbandit.kernels.rows import first_outside
from crossbandit.losses.forms import ROUNDING
from crossbandit.problem import Problem, required_graph
from crossbandit.validation import array

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.environments.contexts import ContextDistribution
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock


class LossTable(BlockEnvironment):
    """Dense losses, one number for each round, context and arm; made by `from_table`."""

    def __init__(self, losses: Any, graph: FeedbackGraph, context_distribution: Any) -> None:
        rows = _arm_major(losses, required_graph("from_table", graph))
        horizon, _, contexts = rows.shape
        self.problem = Problem(graph, contexts=contexts, horizon=horizon)
        self.context_distribution = distribution_over("from_table", context_distribution, contexts)
        self._rows = rows

    def block(self, start: int, stop: int) -> LossBlock:
        return row_block(self._rows[start:stop])


def from_table(
    losses: npt.ArrayLike,
    graph: FeedbackGraph,
    context_distribution: npt.ArrayLike | ContextDistribution | None = None,
) -> LossTable:
    """Return the environment with the losses `losses[t, c, a]`.

    Args:
        losses: Numbers from 0 to 1, of shape (rounds, contexts, arms).
        graph: The feedback graph.
        context_distribution: A distribution or a probability for each context; uniform if None.

    Raises:
        InvalidLossesError: The losses have another shape, or a number is outside [0, 1].

    >>> from crossbandit import graphs
    >>> losses = np.zeros((100, 2, 3))
    >>> from_table(losses, graphs.complete(3), [0.9, 0.1]).problem
    Problem(3 arms, 2 contexts, horizon 100)
    """
    return LossTable(losses, graph, context_distribution)


def _arm_major(losses: Any, graph: FeedbackGraph) -> npt.NDArray[np.float64]:
    expected = f"an array of numbers of shape (rounds, contexts, {graph.arms})"
    table = array("from_table", "losses", expected, losses, error=InvalidLossesError, copy=None)
    if table.ndim != 3 or table.shape[2] != graph.arms or 0 in table.shape:
        raise InvalidLossesError(
            f"The 'losses' parameter of from_table must be {expected}. Got shape {table.shape}."
        )
    rows = np.array(table.transpose(0, 2, 1), order="C")
    rows.flags.writeable = False
    bad = first_outside(rows.reshape(-1, rows.shape[2]), -ROUNDING, 1.0 + ROUNDING)
    if bad >= 0:
        t, a, c = np.unravel_index(bad, rows.shape)
        raise InvalidLossesError(
            "The 'losses' parameter of from_table must hold numbers from 0 to 1. "
            f"Got {rows[t, a, c]} in round {t}, context {c}, arm {a}."
        )
    return rows
