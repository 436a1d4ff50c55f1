"""A learner that plays with chosen random numbers.

This is the one module of `theory` that knows how a learner draws and where it keeps its sums.
"""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crossbandit.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import CrossGraph, Decision, Learner
    from crossbandit.environments import Environment
    from crossbandit.simulation import Run
    from crossbandit.types import Floats


class _Script:
    """A generator that returns chosen numbers."""

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
    """Return an independent copy; immutable parts are shared."""
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


def simulate_and_keep(
    algorithm: CrossGraph, environment: Environment, seed: int
) -> tuple[Run, Learner]:
    """Simulate, and return the learner as well, in its last state."""
    kept: list[Learner] = []

    def start(self: Any, *arguments: Any, **options: Any) -> Learner:
        kept.append(type(algorithm).start(self, *arguments, **options))
        return kept[-1]

    keeping = type(type(algorithm).__name__, (type(algorithm),), {"start": start})
    same = keeping(**{field.name: getattr(algorithm, field.name) for field in fields(algorithm)})
    run = simulate(same, environment, seed=seed, show_progress=False)
    return run, kept[0]
