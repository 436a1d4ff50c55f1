"""Sets of arms, and distributions, that reveal given arms: what learners explore."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.types import Floats, Integers

# Past this many arms, or when this much time has passed, the greedy set is taken.
_LARGEST = 2000
_TIME_LIMIT = 10.0  # seconds


class Domination(NamedTuple):
    """A distribution that reveals every one of some arms with a probability of at least 1 / number.

    Attributes:
        number: The size of the dominating set, or the sum of a fractional one.
        distribution: A probability for each arm (K,).
    """

    number: float
    distribution: Floats


def domination(graph: FeedbackGraph, arms: Sequence[int], *, fractional: bool) -> Domination:
    """Return the best way to explore `arms`: by a smallest set, or by a distribution.

    A set D dominates the arms if an arm of D reveals each of them. A fractional one is a number
    x(a) of at least 0 for each arm so that x(N_in(b)) is at least 1 for each of `arms`; its sum is
    at most the size of the smallest set. Exploring D uniformly, or x divided by its sum, reveals
    each of `arms` with a probability of at least 1 / number.

    Args:
        graph: A feedback graph in which some arm reveals each of `arms`.
        arms: The arms to be revealed; at least one.
        fractional: Whether to take the distribution, a linear program.

    Returns:
        The number and the distribution. It is the greedy set for more than 2,000 arms, and where
        the smallest set is not found within 10 seconds.

    >>> from crossbandit import graphs
    >>> ring = graphs.ring(5, radius=1)
    >>> domination(ring, range(5), fractional=False).number
    3.0
    >>> domination(ring, range(5), fractional=True).number
    2.5
    """
    revealing = [graph.in_neighbors(arm) for arm in arms]
    share = _greedy(graph.arms, revealing)
    if graph.arms <= _LARGEST:
        share = _optimal(graph.arms, revealing, share, fractional=fractional)
    number = float(share.sum())
    return Domination(number, share / number)


def _greedy(arms: int, revealing: Sequence[Integers]) -> Floats:
    """Take the arm that reveals most of those that are left, until all are revealed."""
    left = np.ones(len(revealing), dtype=np.bool_)
    rows = np.repeat(np.arange(len(revealing)), [len(one) for one in revealing])
    columns = np.concatenate(revealing)
    taken = np.zeros(arms)
    while left.any():
        gains = np.bincount(columns[left[rows]], minlength=arms)
        best = int(gains.argmax())
        taken[best] = 1.0
        left[rows[columns == best]] = False
    return taken


def _optimal(
    arms: int, revealing: Sequence[Integers], start: Floats, *, fractional: bool
) -> Floats:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    ends = np.cumsum([0, *(len(one) for one in revealing)])
    entries = np.concatenate(revealing)
    rows = csr_array((np.ones(entries.size), entries, ends), shape=(len(revealing), arms))
    result = milp(
        np.ones(arms),
        integrality=np.full(arms, 0 if fractional else 1),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, 1, np.inf),
        options={"time_limit": _TIME_LIMIT},
    )
    if result.x is None:
        return start
    found = np.maximum(result.x, 0.0) if fractional else np.round(result.x)
    least = float((rows @ found).min())
    if least <= 0.5 or found.sum() / least > start.sum() + 1e-9:
        return start
    share: Floats = found / least  # the solver meets its constraints up to a tolerance
    return share
