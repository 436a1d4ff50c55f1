"""A learner under chosen random numbers.

This is the one place of `theory` that knows how a learner draws and where it keeps its sums.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Decision, Learner
    from crossbandit.types import Floats


class _Script:
    """Stands in for a generator and hands out chosen numbers."""

    def __init__(self, numbers: Iterator[float]) -> None:
        self._numbers = numbers

    def random(self, size: int | None = None) -> Any:
        if size is None:
            return next(self._numbers)
        return np.array([next(self._numbers) for _ in range(size)])


def act(learner: Learner, context: int, *numbers: float) -> Decision:
    """Let `learner` act with exactly these uniform numbers: arm, and then split, retention."""
    cast("Any", learner).generator = _Script(iter(numbers))
    return learner.act(context)


def fork(learner: Learner) -> Learner:
    """Return an independent copy; what cannot change is shared."""
    shared = (learner.problem, learner.problem.graph, learner.algorithm)
    return copy.deepcopy(learner, {id(thing): thing for thing in shared})


def policies(learner: Learner, contexts: int) -> Floats:
    """Return the policies that the learner reports for the round to come: (M, K)."""
    return np.array([learner.policy(c) for c in range(contexts)])


def cumulative(learner: Learner) -> Floats:
    """Return the sums of all inputs that FTRL was fed: (M, K), for dense losses."""
    state = learner.state()
    summed: Floats = (state["estimates"][0] + state["bias"][0][:, None]).T
    return summed
