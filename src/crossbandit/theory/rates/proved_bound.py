"""The machine-checked bound as a number, beside the regret of real runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.algorithms import tuning
from crossbandit.graphs import apple_tasting, paper_ring
from crossbandit.problem import Problem
from crossbandit.simulation import simulate_many
from crossbandit.theory.proofs import PROVED_BOUND
from crossbandit.theory.runs.environments import GraphBenchmark
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.graphs import FeedbackGraph

_HORIZONS = {Effort.QUICK: (100_000, 1_000_000), Effort.FULL: (100_000, 1_000_000, 10_000_000)}
_SEEDS = range(2)


@statement(11, "Theorem 1: the machine-checked bound")
def regret_is_below_the_proved_bound(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The mean regret of `CrossGraph(tuning="proved")` is at most the bound that is proved."""
    algorithm = replace(subject, tuning="proved")
    ratios, lines = [], []
    for graph, name in ((apple_tasting(), "apple tasting"), (paper_ring(9, 1), "paper's ring")):
        for horizon in _HORIZONS[effort]:
            environment = GraphBenchmark(graph, horizon, 100)
            runs = simulate_many(
                algorithm, environment, list(_SEEDS), record="thin", show_progress=False
            )
            regret = float(np.mean([run.final_regret for run in runs]))
            bound = tuning.proved_bound(environment.problem)
            ratios.append(regret / bound)
            lines.append(f"{name}, T = {horizon:,}: regret {regret:,.0f}, bound {bound:,.0f}")
    yield CheckResult(
        statement=PROVED_BOUND,
        checked="mean regret with tuning='proved', against tuning.proved_bound",
        instances=len(ratios) * len(_SEEDS),
        worst=f"regret/bound at most {max(ratios):.2g}",
        passed=max(ratios) <= 1.0,
        note=(
            "; ".join(lines)
            + f". The bound is below T from T = {shortest_horizon(apple_tasting()):,} on for "
            f"apple tasting, and from {shortest_horizon(paper_ring(9, 1)):,} on for the ring. It "
            "does not depend on the number of contexts."
        ),
    )


def shortest_horizon(graph: FeedbackGraph) -> int:
    """Return a horizon, to two digits, from which on the proved bound is below T."""

    def says_something(horizon: int) -> bool:
        return tuning.proved_bound(Problem(graph, contexts=1, horizon=horizon)) < horizon

    scale = 100
    while not says_something(100 * scale):
        scale *= 10
    return next(scale * digits for digits in range(10, 101) if says_something(scale * digits))
