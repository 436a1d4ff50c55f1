"""Simulate one algorithm on one environment, by the compiled loop or by the plain one."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from crossbandit.algorithms.learners.algorithm import as_algorithm
from crossbandit.core.forms import ROUNDING, LinearForm
from crossbandit.core.losses import first_outside
from crossbandit.core.progress import progress
from crossbandit.core.streams import Seed, fixed, stream, takes_rng
from crossbandit.core.validation import choice, integer, reject
from crossbandit.environments import BlockEnvironment, Environment
from crossbandit.environments.environment import horizon_of, is_adaptive, longest_batch
from crossbandit.environments.simulation.players import (
    BatchPlayer,
    compiled_player,
    plain_player,
)
from crossbandit.environments.simulation.run import FullRecorder, RecordKind, Run, ThinRecorder
from crossbandit.errors import InvalidContextError, InvalidLossesError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm, Learner
    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.environments.simulation.players import BatchRecord


# The number of draws that represent the distribution of continuous contexts.
CONTEXT_SAMPLE = 1000

# Measured: from about here on, adding to a table in every round costs more than reading features.
_LEAST_CONTEXTS = 256

_FIRST_BATCH = 256
_BATCH_SECONDS = 0.1


@takes_rng
def simulate(
    algorithm: Algorithm | str,
    environment: Environment,
    *,
    seed: Seed,
    compiled: bool | None = None,
    factored: bool | None = None,
    record: RecordKind = "full",
    show_progress: bool | None = None,
) -> Run:
    """Run an algorithm on an environment from the first round to the horizon.

    Contexts depend on the seed alone: they are the same for all algorithms, and those of a shorter
    horizon are the first of a longer one. If contexts are continuous, an algorithm that needs their
    distribution is given 1,000 draws from it.

    Args:
        algorithm: The algorithm, or its id: "cross-graph" for `CrossGraph()`.
        environment: The environment. Its problem must have a horizon.
        seed: An int, a SeedSequence or a Generator, from which all random numbers are derived.
            None takes a new one each time.
        compiled: True for the compiled loop, False for the plain loop through `act` and `learn`.
            None takes the compiled loop if there is one. Both play the same arms.
        factored: False to keep a number per arm and context, even if the environment's losses are
            exactly linear. True to require the linear form. None takes the faster form.
        record: "full", or "thin" to keep the regret at 1,000 evenly spread rounds and nothing else,
            for horizons that would fill the memory.
        show_progress: Whether to show a progress bar; None shows one on a terminal
            and in a notebook.

    Returns:
        What happened: arms, losses, the comparator, the regret curve.

    Raises:
        InvalidInputError: An argument is not valid, or the environment breaks a rule that
            `check_environment` tests.

    >>> from crossbandit import CrossGraph, environments
    >>> run = simulate(CrossGraph(), environments.paper_benchmark(2_000, alpha=4), seed=200)
    >>> run.regret.shape, 150 < run.final_regret < 250
    ((2000,), True)
    """
    return play_through(
        required_algorithm("simulate", algorithm, environment, record),
        environment,
        fixed(seed),
        Options(compiled, factored, record, show_progress),
    )


class Options(NamedTuple):
    """How a run is played and recorded, as `simulate` is told."""

    compiled: bool | None = None
    factored: bool | None = None
    record: RecordKind = "full"
    show_progress: bool | None = False


def required_algorithm(
    owner: str, given: Algorithm | str, environment: object, record: RecordKind
) -> Algorithm:
    """Check what all simulations are given; return the algorithm."""
    expected = 'an Algorithm, such as CrossGraph(), or the name of one, such as "cross-graph"'
    algorithm = as_algorithm(owner, given, expected)
    if not isinstance(environment, Environment):
        expected = "an Environment: something with problem, context_distribution and losses"
        reject(owner, "environment", expected, environment)
    choice(owner, "record", record, get_args(RecordKind))
    if algorithm.stochastic_only and is_adaptive(environment):
        raise InvalidParameterError(
            f"{type(algorithm).__name__} is for stochastic losses (stochastic_only). Got "
            f"{type(environment).__name__}, whose losses depend on the arms played before. Use an "
            "algorithm for adversarial losses, such as CrossGraph."
        )
    return algorithm


def play_through(
    algorithm: Algorithm,
    environment: Environment,
    seed: np.random.SeedSequence,
    options: Options,
    stopped: Callable[[], bool] = bool,  # never
) -> Run:
    """Simulate as `simulate` does; raise KeyboardInterrupt as soon as `stopped` returns True."""
    compiled, factored, record, show_progress = options
    played = form_to_play(algorithm, environment, compiled=compiled, factored=factored)
    horizon = horizon_of(played)
    batches = [(0, horizon)] if is_adaptive(played) else timed_batches(played)
    learner = algorithm.start(_problem(algorithm, played, seed), seed=seed)
    measured: list[tuple[int, float]] = []
    recorder = FullRecorder() if record == "full" else ThinRecorder(horizon)
    generator = stream(seed, "contexts")
    with progress(algorithm.id, horizon, show=show_progress) as tell:

        def after(rounds: int) -> None:
            measured.append((rounds, learner.certificate()))  # type: ignore[attr-defined]

        certifies = hasattr(learner, "certificate")
        play = _player(played, learner, tell, after if certifies else None, compiled=compiled)
        for start, stop in batches:
            if stopped():
                raise KeyboardInterrupt
            batch = play(start, _contexts(played, generator, stop - start))
            _check(batch, start)
            recorder.take(batch)
            if certifies:
                after(stop)
            tell(stop)
    certificates = None
    if measured:
        certificates = (np.array([at for at, _ in measured]), np.array([x for _, x in measured]))
    return Run(algorithm, environment, seed, *recorder.recorded(), certificates)


def timed_batches(environment: Environment) -> Iterator[tuple[int, int]]:
    """Yield the batches of a simulation, each of about a tenth of a second.

    A round takes from a tenth of a microsecond to many milliseconds, so the length follows the
    clock. It does not change the result.
    """
    horizon, length = horizon_of(environment), _FIRST_BATCH
    longest = longest_batch(environment)
    start = 0
    while start < horizon:
        length = min(length, longest)
        stop = min(start + length, horizon)
        began = time.monotonic()
        yield start, stop
        factor = _BATCH_SECONDS / max(time.monotonic() - began, 1e-9)
        length = 2 * max(1, int(length * min(max(factor, 0.1), 8.0)) // 2)
        start = stop


def form_to_play(
    algorithm: Algorithm, environment: Environment, *, compiled: bool | None, factored: bool | None
) -> Environment:
    """Return the form of the environment in which it is simulated."""
    contexts = environment.problem.contexts
    if factored is None and (
        compiled is False
        or algorithm.needs_context_distribution
        or contexts is None
        or contexts < _LEAST_CONTEXTS
    ):
        # The plain loop gives a learner what `act` and `learn` would give it. An algorithm that
        # reads every context in every round reads a table faster than features. A small table costs
        # less than its features.
        return environment
    if factored is False or isinstance(environment.problem.form, LinearForm):
        return environment
    linear = environment.factored() if isinstance(environment, BlockEnvironment) else None
    if linear is None and factored:
        raise InvalidParameterError(
            f"{type(environment).__name__} cannot be factored: its losses are clipped, or are not "
            "linear in features of the contexts. Leave out factored=True."
        )
    return environment if linear is None else linear


def _contexts(
    environment: Environment, generator: np.random.Generator, horizon: int
) -> npt.NDArray[Any]:
    """Draw the contexts of the next rounds; raise if the problem does not have them."""
    contexts = np.asarray(environment.context_distribution.draw(generator, horizon))
    form = environment.problem.form
    if form.contexts is None:
        expected = f"{horizon} vectors of {form.columns} finite numbers"
        fits = contexts.shape == (horizon, form.columns) and bool(np.isfinite(contexts).all())
    else:
        expected = f"{horizon} integers from 0 to {form.contexts - 1}"
        fits = (
            contexts.shape == (horizon,)
            and contexts.dtype.kind in "iu"
            and bool(((contexts >= 0) & (contexts < form.contexts)).all())
        )
    if not fits:
        span = f", from {contexts.min()} to {contexts.max()}" if contexts.dtype.kind in "iu" else ""
        raise InvalidContextError(
            f"The context distribution of {type(environment).__name__} must draw {expected}. Got "
            f"an array of shape {contexts.shape} and type {contexts.dtype}{span}."
        )
    return contexts


def _check(batch: BatchRecord, start: int) -> None:
    """Raise unless every loss of the rounds played is in [0, 1]."""
    met = np.stack([batch.losses, batch.comparator_losses])
    bad = first_outside(met, -ROUNDING, 1.0 + ROUNDING)
    if bad < 0:
        return
    who, i = divmod(bad, batch.arms.size)
    arm = (batch.arms, batch.comparator_arms)[who][i]
    raise InvalidLossesError(
        f"The environment's losses must lie in [0, 1]. Got {met[who, i]} in round {start + i} for "
        f"arm {arm} in context {batch.contexts[i]}. crossbandit.verify.checks.check_environment "
        "finds such rounds."
    )


def _problem(
    algorithm: Algorithm, environment: Environment, seed: np.random.SeedSequence
) -> Problem:
    if not algorithm.needs_context_distribution:
        return environment.problem
    distribution = environment.context_distribution
    if distribution.probabilities is not None:
        return environment.problem.with_distribution(distribution.probabilities)
    # The stream must keep this name: another would change the results of a seed.
    sample = distribution.draw(stream(seed, "law"), CONTEXT_SAMPLE)
    return environment.problem.with_sample(sample)


def _player(
    environment: Environment,
    learner: Learner,
    tell: Callable[[int], None],
    after: Callable[[int], None] | None,
    *,
    compiled: bool | None,
) -> Callable[[int, npt.NDArray[Any]], BatchRecord]:
    if (
        compiled is not False
        and isinstance(environment, BlockEnvironment)
        and isinstance(learner, BatchPlayer)
    ):
        return compiled_player(environment, learner, after)
    if compiled:
        raise InvalidParameterError(
            f"There is no compiled loop for {type(learner.algorithm).__name__} on "
            f"{type(environment).__name__}: both must have a compiled form. Leave out "
            "compiled=True to use the plain loop."
        )
    return plain_player(environment, learner, tell)


@takes_rng
def simulate_many(
    algorithm: Algorithm | str,
    environment: Environment,
    seeds: Iterable[Seed],
    *,
    jobs: int | None = None,
    record: RecordKind = "full",
    show_progress: bool | None = None,
) -> list[Run]:
    """Simulate once for each seed, each time as `simulate` would.

    The losses and the comparator are the same for all seeds, and are computed once. The runs then
    share `jobs` threads. Compiled rounds run in parallel: they do not hold Python's global lock.

    Args:
        algorithm: The algorithm, or its id: "cross-graph" for `CrossGraph()`.
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
    algorithm = required_algorithm("simulate_many", algorithm, environment, record)
    try:
        roots = [fixed(seed) for seed in seeds]
    except TypeError:
        roots = []
    if not roots:
        reject("simulate_many", "seeds", "a list of at least one seed", seeds)
    if jobs is None:
        jobs = os.cpu_count() or 1
    workers = integer("simulate_many", "jobs", jobs, at_least=1)
    played = form_to_play(algorithm, environment, compiled=None, factored=None)
    if isinstance(played, BlockEnvironment):  # compute once what all threads need
        _ = played.totals
        if played.problem.contexts is not None:
            _ = played.best_arms
    stop = threading.Event()
    options = Options(record=record)
    play = partial(play_through, algorithm, environment, options=options, stopped=stop.is_set)
    shown = progress(algorithm.id, len(roots), show=show_progress)
    with shown as tell, ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(play, root) for root in roots]
        try:
            outstanding = set(futures)
            while outstanding:
                done, outstanding = wait(outstanding, return_when=FIRST_COMPLETED)
                tell(len(futures) - len(outstanding))
                for future in done:
                    future.result()
        except BaseException:  # end all runs if one raises
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
