"""Simulate many seeds of one algorithm on one environment, on all cores."""

from __future__ import annotations

import os
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from crossbandit.environments import BlockEnvironment, Environment
from crossbandit.progress import progress
from crossbandit.simulation.simulate import form_to_play, play_through, require_simulation
from crossbandit.streams import fixed
from crossbandit.validation import integer, reject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np

    from crossbandit.algorithms import Algorithm
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
    """Simulate once for each seed, each time as `simulate` would.

    The losses and the comparator are the same for all seeds, and are computed once. The runs then
    share `jobs` threads. Compiled rounds run in parallel: they do not hold Python's global lock.

    Args:
        algorithm: The algorithm.
        environment: The environment.
        seeds: The seeds, at least one.
        jobs: The number of threads; one per core if None.
        record: "full", or "thin" to keep the regret at 1,000 evenly spread rounds only.
        show_progress: Whether to show a progress bar; None shows one on a terminal
            and in a notebook.

    Returns:
        The runs, in the order of the seeds.

    Raises:
        InvalidInputError: An argument is not valid, or the environment breaks a rule that
            `check_environment` tests.

    >>> from crossbandit import CrossGraph, environments
    >>> environment = environments.paper_benchmark(1_000, alpha=4)
    >>> [run.arms.size for run in simulate_many(CrossGraph(), environment, range(3))]
    [1000, 1000, 1000]
    """
    require_simulation("simulate_many", algorithm, environment, record)
    try:
        roots = [fixed(seed) for seed in seeds]
    except TypeError:
        roots = []
    if not roots:
        reject("simulate_many", "seeds", "a list of at least one seed", seeds)
    if jobs is None:
        jobs = os.cpu_count() or 1
    workers = integer("simulate_many", "jobs", jobs, at_least=1)
    _prepare(algorithm, environment)
    with progress(algorithm.id, len(roots), show=show_progress) as tell:
        return _run_all(algorithm, environment, roots, workers, record, tell)


def _run_all(
    algorithm: Algorithm,
    environment: Environment,
    roots: list[np.random.SeedSequence],
    workers: int,
    record: str,
    tell: Callable[[int], None],
) -> list[Run]:
    """Simulate once for each seed in a pool of threads; end all of them if one raises."""
    stop = threading.Event()
    with ThreadPoolExecutor(workers) as pool:
        futures = [
            pool.submit(
                play_through,
                algorithm,
                environment,
                root,
                compiled=None,
                factored=None,
                record=record,
                show_progress=False,
                stopped=stop.is_set,
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
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _prepare(algorithm: Algorithm, environment: Environment) -> None:
    """Compute cached properties before the threads start, so that each is computed once."""
    played = form_to_play(algorithm, environment, compiled=None, factored=None)
    if not isinstance(played, BlockEnvironment):
        return
    _ = played.totals
    if played.problem.contexts is not None:
        _ = played.best_arms
