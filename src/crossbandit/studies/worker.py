"""What a worker does: run a batch of cells and return plain numbers."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import threading
import time
import traceback
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import crossbandit
from crossbandit.environments.environment import horizon_of
from crossbandit.simulation import simulate
from crossbandit.simulation.simulate import play_through
from crossbandit.streams import fixed
from crossbandit.studies.build import build_algorithm, build_environment, load_modules

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment

CURVE_POINTS = 200

# Beyond this horizon a run is recorded thinned: its memory then does not grow with its rounds.
_FULL_ROUNDS = 200_000

_WATCH_SECONDS = 0.5

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's names and numbers


# What this process has loaded and compiled: environments and algorithms, by their names.
_WARM: set[tuple[str, str]] = set()


class Task(NamedTuple):
    """A cell, as far as a worker needs it."""

    key: str
    environment: str
    algorithm: str
    seed: int


class Finished(NamedTuple):
    """What is kept of a run."""

    cell: str
    environment: str
    algorithm: str
    seed: int
    horizon: int
    final_regret: float
    loss: float
    comparator_loss: float
    seconds: float
    version: str
    curve_rounds: list[int]
    curve_regret: list[float]


class Failed(NamedTuple):
    """Why there is no run."""

    cell: str
    environment: str
    algorithm: str
    seed: int
    error: str
    version: str


class Batch(NamedTuple):
    """Cells for one worker at once."""

    tasks: Sequence[Task]
    modules: tuple[str, ...]


def run_batch(batch: Batch) -> list[Finished | Failed]:
    """Run the cells one after the other; a cell that fails does not stop the next."""
    return [_run(task, batch.modules) for task in batch.tasks]


def follow(planner: int) -> None:
    """Make this process end with the one that started it: at its order, or when it is killed."""
    ignore_interrupts()
    _keep_freed_memory()
    threading.Thread(target=_end_after, args=(planner,), daemon=True).start()


def ignore_interrupts() -> None:
    """Leave Ctrl-C, which reaches every process of a terminal, to the planner."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _keep_freed_memory() -> None:
    """Let the process keep memory that it frees; it will want it again in a millisecond.

    By default, glibc returns the arrays of a batch of rounds to the system after every batch.
    Getting them back costs a third of a long run, and more where several workers ask at once.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        tune = ctypes.CDLL(None).mallopt
        for option in (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD):
            tune(option, 2**30)


def _end_after(planner: int) -> None:
    while os.getppid() == planner:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def _run(task: Task, modules: tuple[str, ...]) -> Finished | Failed:
    try:
        load_modules(modules)
        return _simulated(task)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it is reported
        text = "".join(traceback.format_exception_only(error)).strip()
        return Failed(*task, text, crossbandit.__version__)


def _simulated(task: Task) -> Finished:
    environment = _environment(task.environment)
    algorithm = build_algorithm(json.loads(task.algorithm))
    horizon = horizon_of(environment)
    record = "full" if horizon <= _FULL_ROUNDS else "thin"
    if kind(task.environment, task.algorithm) not in _WARM:
        _warm_up(algorithm, environment, task.seed)
        _WARM.add(kind(task.environment, task.algorithm))
    began = time.perf_counter()
    run = simulate(algorithm, environment, seed=task.seed, record=record, show_progress=False)
    seconds = time.perf_counter() - began
    if not np.isfinite(run.final_regret):
        raise ArithmeticError(f"the regret is {run.final_regret}")
    points = curve_points(run.rounds.size)
    return Finished(
        *task,
        horizon=horizon,
        final_regret=run.final_regret,
        loss=run.loss,
        comparator_loss=run.comparator_loss,
        seconds=seconds,
        version=crossbandit.__version__,
        curve_rounds=run.rounds[points].tolist(),
        curve_regret=run.regret[points].tolist(),
    )


@lru_cache(maxsize=10_000)
def kind(environment: str, algorithm: str) -> tuple[str, str]:
    """Return the names of an environment and an algorithm, without their parameters."""
    return json.loads(environment)["name"], json.loads(algorithm)["id"]


class _EnoughError(Exception):
    """The first batch of a run has been played."""


def _warm_up(algorithm: Algorithm, environment: Environment, seed: int) -> None:
    """Play the first batch of a run, so that loading and compiling do not count as its time."""
    batches = iter([False])

    def stopped() -> bool:
        for go_on in batches:
            return go_on
        raise _EnoughError

    # Whatever is wrong with the cell, its run will say so.
    with contextlib.suppress(Exception, SystemExit):
        play_through(
            algorithm,
            environment,
            fixed(seed),
            compiled=None,
            factored=None,
            record="thin",
            show_progress=False,
            stopped=stopped,
        )


@lru_cache(maxsize=2)
def _environment(text: str) -> Environment:
    """Return the environment; cells that follow each other share it, and what it keeps."""
    return build_environment(json.loads(text))


def curve_points(recorded: int) -> npt.NDArray[np.int64]:
    """Return which points of a curve are kept: evenly spread, the last among them.

    >>> curve_points(3), curve_points(1_000)[[0, 1, -1]]
    (array([0, 1, 2]), array([  4,   9, 999]))
    """
    kept = min(recorded, CURVE_POINTS)
    return np.arange(1, kept + 1) * recorded // kept - 1
