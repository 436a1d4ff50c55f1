"""Many seeds of one algorithm on one environment, on all cores."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from crossbandit.environments import BlockEnvironment
from crossbandit.simulation.progress import progress
from crossbandit.simulation.simulate import simulate
from crossbandit.streams import fixed
from crossbandit.validation import integer, reject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment
    from crossbandit.simulation.run import Run
    from crossbandit.streams import Seed


def simulate_many(
    algorithm: Algorithm,
    environment: Environment,
    seeds: Iterable[Seed],
    *,
    jobs: int | None = None,
    record: str = "full",
    show_progress: bool | None = None,
) -> list[Run]:
    """Simulate once for each seed, in the order of the seeds; each as `simulate` would.

    What the seeds share, the losses and the comparator, is made once. The runs then take turns on
    `jobs` threads (one per core, if None): compiled rounds run side by side, as they do not hold
    Python's lock.

    >>> from crossbandit import CrossGraph, environments
    >>> environment = environments.paper_benchmark(1_000, alpha=4)
    >>> [run.arms.size for run in simulate_many(CrossGraph(), environment, range(3))]
    [1000, 1000, 1000]
    """
    roots = [fixed(seed) for seed in seeds]
    if not roots:
        reject("simulate_many", "seeds", "at least one seed", roots)
    workers = (
        os.cpu_count() or 1 if jobs is None else integer("simulate_many", "jobs", jobs, at_least=1)
    )
    _prepare(environment)
    with (
        progress(algorithm.id, len(roots), show=show_progress) as tell,
        ThreadPoolExecutor(workers) as pool,
    ):
        futures = [
            pool.submit(
                simulate, algorithm, environment, seed=root, record=record, show_progress=False
            )
            for root in roots
        ]
        try:
            outstanding = set(futures)
            while outstanding:
                done, outstanding = wait(outstanding, return_when=FIRST_COMPLETED)
                tell(len(futures) - len(outstanding))
                for future in done:
                    future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _prepare(environment: Environment) -> None:
    """Make what is made on first use before the threads start, so that it is made once."""
    if not isinstance(environment, BlockEnvironment):
        return
    for world in (environment, environment.factored()):
        if world is None:
            continue
        _ = world.totals
        if world.problem.contexts is not None:
            _ = world.best_arms
