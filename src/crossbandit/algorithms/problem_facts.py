"""What tuning rules need to know of a problem: horizon, contexts, alpha and epoch length."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.errors import IndependenceNumberError, InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.problem import Problem

# An epoch length that divides the horizon is taken if it is this close to the rule's value.
_NEAR = 2.0

# Past this horizon no divisor is looked for: the search would take seconds, then hours.
_FACTORABLE = 10**12


def required_alpha(rule: str, problem: Problem) -> int:
    """Return the independence number that `rule` needs, or raise an error with advice."""
    try:
        return problem.graph.independence_number
    except IndependenceNumberError as error:
        raise IndependenceNumberError(
            f"The {rule!r} tuning rule needs the independence number of the graph, which cannot be "
            f"computed here: it lies within {tuple(problem.graph.independence_bounds)}. Give every "
            "parameter of the algorithm by hand."
        ) from error


def required_horizon(rule: str, problem: Problem) -> int:
    """Return the horizon that `rule` needs, or raise an error with advice."""
    if problem.horizon is None:
        raise InvalidParameterError(
            f"The {rule!r} tuning rule needs a horizon. Give Problem(..., horizon=T), or give "
            "every parameter of the algorithm by hand."
        )
    return problem.horizon


def required_contexts(rule: str, problem: Problem) -> int:
    """Return the number of contexts that `rule` needs, or raise an error with advice."""
    if problem.contexts is None:
        raise InvalidParameterError(
            f"The {rule!r} tuning rule needs the number of contexts here, and this problem has "
            "continuous contexts. Give it a table, Problem(graph, features=table), or give "
            "every parameter of the algorithm by hand."
        )
    return problem.contexts


def epoch_length(horizon: int, target: float) -> int:
    """Return the even divisor of `horizon` nearest to `target`, or the nearest even number.

    It is at most half of the horizon, because nothing is learned in the first epoch.

    Args:
        horizon: The number of rounds.
        target: The length that the rule asks for.

    Returns:
        An even number.

    >>> epoch_length(10_000, 134.9), epoch_length(9_973, 134.9), epoch_length(6, 5.1)
    (100, 134, 2)
    """
    longest = horizon // 2
    near = [
        even
        for even in _even_divisors(horizon)
        if target / _NEAR <= even <= target * _NEAR and even <= longest
    ]
    if near:
        return min(near, key=lambda even: (abs(even - target), even))
    return max(2, 2 * round(min(target, longest - longest % 2) / 2))


def _even_divisors(horizon: int) -> list[int]:
    if horizon > _FACTORABLE:
        return []
    small = [d for d in range(1, math.isqrt(horizon) + 1) if horizon % d == 0]
    return [d for d in {*small, *(horizon // s for s in small)} if d % 2 == 0]
