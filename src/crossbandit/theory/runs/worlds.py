"""An environment as the analysis sees it: the true law, and all losses in all contexts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.environments import BlockEnvironment, Environment
from crossbandit.environments.environment import horizon_of
from crossbandit.losses import LinearForm
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from crossbandit.losses import LossForm
    from crossbandit.types import Floats, Integers


_KEPT = 2  # rounds: a pair


class Losses(NamedTuple):
    """The losses of all arms in one round."""

    rows: Floats  # (K, columns), as a learner is given them
    by_context: Floats  # (K, M)


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """What no learner is told."""

    environment: Environment
    horizon: int
    law: Floats  # nu, (M,)
    reveals: Floats  # (K, K): 1 where playing the row's arm reveals the column's
    loopless: tuple[int, ...]
    comparator: Integers  # pi, (M,)
    _recent: dict[int, Losses] = field(default_factory=dict, repr=False)

    def losses(self, round_: int) -> Losses:
        """Return the losses of a round; runs that go through it together share the work."""
        known = self._recent.get(round_)
        if known is None:
            rows = self.environment.losses(round_)
            known = Losses(rows, _in_all_contexts(self.environment.problem.form, rows))
            if len(self._recent) >= _KEPT:
                self._recent.clear()
            self._recent[round_] = known
        return known


def world_of(owner: str, environment: Environment) -> World:
    """Look at an environment, which must have a list of contexts."""
    if not isinstance(environment, Environment):
        expected = "an Environment: something with problem, context_distribution and losses"
        reject(owner, "environment", expected, environment)
    problem, law = environment.problem, environment.context_distribution.probabilities
    if law is None or problem.contexts is None:
        expected = "an Environment with a list of contexts, each with its probability"
        reject(owner, "environment", expected, verbatim("contexts without end"))
    return World(
        environment=environment,
        horizon=horizon_of(environment),
        law=law,
        reveals=problem.graph.adjacency.astype(np.float64),
        loopless=problem.graph.arms_without_self_loop,
        comparator=_comparator(environment),
    )


def _comparator(environment: Environment) -> Integers:
    if isinstance(environment, BlockEnvironment):
        return environment.best_arms
    form = environment.problem.form
    every = range(horizon_of(environment))
    totals = sum(_in_all_contexts(form, environment.losses(t)) for t in every)
    best: Integers = np.argmin(totals, axis=0)
    return best


def _in_all_contexts(form: LossForm, rows: Floats) -> Floats:
    if isinstance(form, LinearForm) and form.table is not None:
        read: Floats = np.einsum("caf,af->ac", form.table, rows)
        return read
    return rows
