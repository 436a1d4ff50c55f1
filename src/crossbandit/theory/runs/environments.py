"""An environment as the analysis sees it: the context distribution, and all losses.

`GraphBenchmark` is the environment on which statements about whole runs are checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.environments import BlockEnvironment, Environment, paper_benchmark
from crossbandit.environments.environment import horizon_of
from crossbandit.losses import LinearForm
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.losses import LossForm
    from crossbandit.types import Floats, Integers

_KEPT = 2  # the number of rounds that are kept: a pair


class Losses(NamedTuple):
    """The losses of all arms in one round."""

    rows: Floats  # (K, columns), as a learner is given them
    table: Floats  # (M, K)


@dataclass(frozen=True, eq=False, kw_only=True)
class EnvironmentView:
    """The context distribution, the comparator and all losses, which no learner knows."""

    environment: Environment
    horizon: int
    nu: Floats  # (M,): the context distribution
    comparator: Integers  # (M,): pi
    _recent: dict[int, Losses] = field(default_factory=dict, repr=False)

    def losses(self, round_: int) -> Losses:
        """Return the losses of a round. Runs that play it together share the work."""
        known = self._recent.get(round_)
        if known is None:
            rows = self.environment.losses(round_)
            known = Losses(rows, _in_all_contexts(self.environment.problem.form, rows))
            if len(self._recent) >= _KEPT:
                self._recent.clear()
            self._recent[round_] = known
        return known


def view_environment(owner: str, environment: Environment) -> EnvironmentView:
    """Return the view of an environment, which must have a list of contexts."""
    if not isinstance(environment, Environment):
        expected = "an Environment: something with problem, context_distribution and losses"
        reject(owner, "environment", expected, environment)
    nu = environment.context_distribution.probabilities
    if nu is None or environment.problem.contexts is None:
        expected = "an Environment with a list of contexts, each with its probability"
        reject(owner, "environment", expected, verbatim("continuous contexts"))
    return EnvironmentView(
        environment=environment,
        horizon=horizon_of(environment),
        nu=nu,
        comparator=_comparator(environment),
    )


def _comparator(environment: Environment) -> Integers:
    if isinstance(environment, BlockEnvironment):
        return environment.best_arms
    form = environment.problem.form
    every = range(horizon_of(environment))
    totals = sum(_in_all_contexts(form, environment.losses(t)) for t in every)
    best: Integers = np.argmin(totals, axis=1)
    return best


def _in_all_contexts(form: LossForm, rows: Floats) -> Floats:
    """Return the losses of a round as a table (M, K)."""
    if isinstance(form, LinearForm) and form.table is not None:
        read: Floats = np.einsum("caf,af->ca", form.table, rows)
        return read
    return rows.T


class GraphBenchmark(BlockEnvironment):
    """The losses of the paper's benchmark on any graph, in linear form: no cost grows with M.

    In the first `favoured` rounds (in all, if None), the losses of arm 0 are multiplied by
    `favour`. With a small factor, arm 0 is the best arm in nearly all contexts. If it has no
    self-loop, it becomes the special arm, which is rarely observed. If the advantage ends before
    the horizon, the learner plays arm 0 more than the comparator does. The pessimistic correction
    is made for this case.
    """

    def __init__(
        self,
        graph: FeedbackGraph,
        horizon: int,
        contexts: int,
        *,
        favour: float = 1.0,
        favoured: int | None = None,
        table_seed: int = 0,
    ) -> None:
        benchmark = paper_benchmark(
            horizon, radius=0, arms=graph.arms, contexts=contexts, table_seed=table_seed
        )
        self._linear = benchmark.factored()
        self._favour = favour
        self._favoured = horizon if favoured is None else favoured
        self.problem = self._linear.problem.with_graph(graph)
        self.context_distribution = self._linear.context_distribution

    def block(self, start: int, stop: int) -> LossBlock:
        block = self._linear.block(start, stop)
        count = min(stop, self._favoured) - start
        if self._favour == 1.0 or count <= 0:
            return block
        rows = block.base.copy()
        rows[:count, 0] *= self._favour
        return block._replace(base=rows)
