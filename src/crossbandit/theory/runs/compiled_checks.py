"""Checks of the compiled simulation, which makes all tables and figures, with the definition."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.environments import Environment, paper_benchmark
from crossbandit.graphs import FeedbackGraph, loopless_clique, random_strongly_observable
from crossbandit.theory.exact.differences import Differences
from crossbandit.theory.exact.driving import policies, simulate_and_keep
from crossbandit.theory.runs.environment_view import view_environment
from crossbandit.theory.runs.following import follow
from crossbandit.theory.runs.instances import GraphBenchmark
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEEDS = {Effort.QUICK: range(2), Effort.FULL: range(10)}


class _Instance(NamedTuple):
    parameters: dict[str, Any]
    environment: Environment


def _instances() -> tuple[_Instance, ...]:
    """Return both forms of losses, several kinds of graph, and epochs that do not fit T."""
    steep = {"eta": 0.3, "gamma": 0.02, "rho": 0.1, "beta": 0.05, "epoch_length": 6}
    two_loopless = FeedbackGraph([[0, 1, 0], [1, 0, 0], [1, 1, 1]])
    random = random_strongly_observable(6, density=0.4, seed=3)
    return (
        _Instance({"tuning": "experiment"}, paper_benchmark(1_000, alpha=4, contexts=20)),
        _Instance(steep, paper_benchmark(500, alpha=2, contexts=7)),
        _Instance(steep, GraphBenchmark(loopless_clique(4), 500, 7)),
        _Instance(steep, GraphBenchmark(two_loopless, 502, 5, favour=0.5)),
        _Instance(steep, GraphBenchmark(random, 300, 11)),
    )


@statement(27, "Algorithm 2: the compiled simulation")
def compiled_loop_is_algorithm_2(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Arms, losses and last policies of `simulate` are those of the definition."""
    arms, losses, last = Differences(), Differences(), Differences()
    for parameters, environment in _instances():
        algorithm = replace(subject, **parameters)
        view = view_environment("verify", environment)
        for seed in _SEEDS[effort]:
            run, learner = simulate_and_keep(algorithm, environment, seed)
            pairs = list(follow(algorithm, view, seed))
            arms.compare(run.arms, np.ravel([pair.draws.arms for pair in pairs]))
            expected = [
                table[context, arm]
                for pair in pairs
                for table, context, arm in zip(
                    pair.losses, pair.draws.contexts, pair.draws.arms, strict=True
                )
            ]
            losses.compare(run.losses, expected)
            end = pairs[-1].moment.after(pairs[-1].draws, pairs[-1].losses)
            last.compare(policies(learner, view.nu.size), end.q)
    yield arms.result(
        "Algorithm 2, compiled simulation (arms)",
        "the arms that `simulate` plays, against the definition on the same random numbers",
    )
    yield losses.result(
        "Algorithm 2, compiled simulation (losses)",
        "the losses that `simulate` records, against those of the arms of the definition",
    )
    yield last.result(
        "Algorithm 2, compiled simulation (last policies)",
        "the policies after the last round, in every context, against the definition",
    )
