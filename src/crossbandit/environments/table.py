"""Losses given as an array: a loss for each context, or a coefficient for each feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crossbandit.algorithms.learners.problem import Problem, required_graph
from crossbandit.core.forms import ROUNDING, feature_table
from crossbandit.core.losses import first_outside
from crossbandit.core.validation import array
from crossbandit.environments.contexts import ContextDistribution, distribution_over
from crossbandit.environments.environment import BlockEnvironment, row_block
from crossbandit.errors import InvalidLossesError, InvalidParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.core.blocks import LossBlock
    from crossbandit.core.types import Floats
    from crossbandit.graphs import FeedbackGraph


class _Table(BlockEnvironment):
    """Rows that are given for all rounds."""

    def __init__(self, rows: Floats, problem: Problem, distribution: ContextDistribution) -> None:
        self.problem, self.context_distribution, self._rows = problem, distribution, rows

    def block(self, start: int, stop: int) -> LossBlock:
        return row_block(self._rows[start:stop])


class LossTable(_Table):
    """Dense losses, one number for each round, context and arm; made by `from_table`."""


class LinearTable(_Table):
    """Linear losses, a coefficient for each round, arm and feature; made by `from_coefficients`."""


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
    rows = _arm_major(losses, required_graph("from_table", graph))
    horizon, _, contexts = rows.shape
    problem = Problem(graph, contexts=contexts, horizon=horizon)
    return LossTable(rows, problem, distribution_over("from_table", context_distribution, contexts))


def _arm_major(losses: Any, graph: FeedbackGraph) -> Floats:
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


def from_coefficients(
    coefficients: npt.ArrayLike,
    graph: FeedbackGraph,
    contexts: npt.ArrayLike | ContextDistribution,
    context_distribution: npt.ArrayLike | ContextDistribution | None = None,
) -> LinearTable:
    """Return the environment with losses `coefficients[t, a] @ x` for a context with features x.

    Args:
        coefficients: Numbers of shape (rounds, arms, features). Every loss must be in [0, 1].
        graph: The feedback graph.
        contexts: A table of feature vectors, one for each context; or a distribution that draws
            feature vectors, such as `UniformVectors`.
        context_distribution: With a table, a distribution or a probability for each context;
            uniform if None.

    Raises:
        InvalidLossesError: The coefficients have another shape, or are not finite.

    For example a first-price auction. With features (1, value), a winning bid b earns value - b.

    >>> from crossbandit import graphs
    >>> from crossbandit.environments import UniformVectors
    >>> bids, prices = np.array([0.0, 0.25, 0.5]), np.array([0.2, 0.4, 0.3])
    >>> won = bids >= prices[:, None]
    >>> losses = np.stack([0.5 * (1 + won * bids), -0.5 * won], axis=2)
    >>> values = UniformVectors([1, 0], [1, 1])
    >>> from_coefficients(losses, graphs.threshold(3), values).problem
    Problem(3 arms, contexts of 2 features, horizon 3)
    """
    arms = required_graph("from_coefficients", graph).arms
    table: Any = None
    if not hasattr(contexts, "draw"):
        table = contexts
        count = len(feature_table("from_coefficients", "contexts", table, arms))
        distribution = distribution_over("from_coefficients", context_distribution, count)
    elif context_distribution is None:
        distribution = cast("ContextDistribution", contexts)
    else:
        raise InvalidParameterError(
            "The 'context_distribution' parameter of from_coefficients must be None if "
            "'contexts' is a distribution of feature vectors. Got both."
        )
    rows = _coefficients(coefficients, graph)
    horizon, _, columns = rows.shape
    problem = Problem(graph, features=columns if table is None else table, horizon=horizon)
    if problem.form.columns != columns:
        raise InvalidLossesError(
            "The 'coefficients' parameter of from_coefficients must have a coefficient for "
            f"each of {problem.form.columns} features. Got {columns}."
        )
    return LinearTable(rows, problem, distribution)


def _coefficients(coefficients: Any, graph: FeedbackGraph) -> Floats:
    expected = f"an array of numbers of shape (rounds, {graph.arms}, features)"
    owner, name = "from_coefficients", "coefficients"
    rows = array(owner, name, expected, coefficients, error=InvalidLossesError)
    if rows.ndim != 3 or rows.shape[1] != graph.arms or 0 in rows.shape:
        raise InvalidLossesError(
            "The 'coefficients' parameter of from_coefficients must have shape "
            f"(rounds, {graph.arms}, features). Got shape {rows.shape}."
        )
    if not np.isfinite(rows).all():
        t, a, k = np.argwhere(~np.isfinite(rows))[0]
        raise InvalidLossesError(
            "The 'coefficients' parameter of from_coefficients must hold finite numbers. "
            f"Got {rows[t, a, k]} in round {t}, arm {a}, feature {k}."
        )
    rows.flags.writeable = False
    return rows
