"""The code that a worker runs: a batch of cells. It returns plain numbers and texts."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import json
import math
import time
import traceback
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import crossbandit
from crossbandit.algorithms import from_json
from crossbandit.environments.environment import horizon_of
from crossbandit.modules import load_modules
from crossbandit.simulation import simulate
from crossbandit.simulation.simulate import play_through
from crossbandit.streams import fixed
from crossbandit.studies.plan import build_environment, draws_table_per_seed
from crossbandit.studies.provenance import provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment
    from crossbandit.studies.plan import Cell
    from crossbandit.types import Integers

CURVE_POINTS = 200

# Longer runs are recorded thinned, so that their memory does not grow with the rounds.
_FULL_ROUNDS = 200_000

_PACKAGE = str(Path(crossbandit.__file__).parent)

# The pairs of environment and algorithm that this process has compiled, by name.
_WARM: set[tuple[str, str]] = set()


class CellResult(NamedTuple):
    """The stored result of a run. `provenance` and `parameters` are JSON objects."""

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
    provenance: str
    parameters: str


class CellFailure(NamedTuple):
    """The stored error of a cell, with the line of code that raised it, and the traceback."""

    cell: str
    environment: str
    algorithm: str
    seed: int
    error: str
    version: str
    location: str = ""
    traceback: str = ""
    provenance: str = ""


class Batch(NamedTuple):
    """Cells that are sent to a worker together."""

    cells: Sequence[Cell]
    modules: tuple[str, ...]


def run_batch(batch: Batch) -> list[CellResult | CellFailure]:
    """Run the cells one after the other. A cell that fails does not stop the next."""
    return [_run(cell, batch.modules) for cell in batch.cells]


def failure(cell: Cell, error: str, *, location: str = "", traceback: str = "") -> CellFailure:
    """Return the record of a cell that failed, or that is given up."""
    return CellFailure(
        cell=cell.key,
        environment=cell.environment,
        algorithm=cell.algorithm,
        seed=cell.seed,
        error=error,
        version=crossbandit.__version__,
        location=location,
        traceback=traceback,
        provenance=provenance(),
    )


def _run(cell: Cell, modules: tuple[str, ...]) -> CellResult | CellFailure:
    try:
        load_modules(modules)
        return _simulate(cell)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any error is reported
        return failure(
            cell,
            "".join(traceback.format_exception_only(error)).strip(),
            location=_location(error),
            traceback="".join(traceback.format_exception(error)),
        )


def _location(error: BaseException) -> str:
    """Return the file and line that raised an error: the last outside this package, if any."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
    frame = (own or frames)[-1]
    return f"{frame.filename}, line {frame.lineno}, in {frame.name}"


def _simulate(cell: Cell) -> CellResult:
    data = json.loads(cell.environment)
    environment = _environment(cell.environment, cell.seed if draws_table_per_seed(data) else 0)
    algorithm = from_json(json.loads(cell.algorithm))
    horizon = horizon_of(environment)
    record = "full" if horizon <= _FULL_ROUNDS else "thin"
    if kind(cell.environment, cell.algorithm) not in _WARM:
        _warm_up(algorithm, environment, cell.seed)
        _WARM.add(kind(cell.environment, cell.algorithm))
    began = time.perf_counter()
    run = simulate(algorithm, environment, seed=cell.seed, record=record, show_progress=False)
    seconds = time.perf_counter() - began
    if not np.isfinite(run.final_regret):
        raise ArithmeticError(f"the regret is {run.final_regret}")
    points = curve_points(run.rounds.size)
    return CellResult(
        cell=cell.key,
        environment=cell.environment,
        algorithm=cell.algorithm,
        seed=cell.seed,
        horizon=horizon,
        final_regret=run.final_regret,
        loss=run.loss,
        comparator_loss=run.comparator_loss,
        seconds=seconds,
        version=crossbandit.__version__,
        curve_rounds=run.rounds[points].tolist(),
        curve_regret=run.regret[points].tolist(),
        provenance=provenance(),
        parameters=json.dumps(chosen_parameters(algorithm, environment)),
    )


def chosen_parameters(algorithm: Algorithm, environment: Environment) -> dict[str, Any]:
    """Return the parameters of a run: those that were given, and those that a rule chose.

    A rule is a method `parameters(problem)` that returns a named tuple or a mapping, or a method
    `learning_rate(problem)`.

    >>> from crossbandit import PerContextExp3, environments
    >>> environment = environments.paper_benchmark(1_000, alpha=4)
    >>> chosen_parameters(PerContextExp3(), environment)["eta"]
    0.698...
    """
    given = {name: value for name, value in algorithm.to_json().items() if value is not None}
    del given["id"]
    for method in ("parameters", "learning_rate"):
        rule = getattr(algorithm, method, None)
        if inspect.ismethod(rule) and list(inspect.signature(rule).parameters) == ["problem"]:
            chosen = rule(environment.problem)
            if method == "learning_rate":
                chosen = {"eta": chosen}
            chosen = chosen._asdict() if hasattr(chosen, "_asdict") else chosen
            if isinstance(chosen, Mapping):
                given.update(chosen)
    return {name: _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


@lru_cache(maxsize=10_000)
def kind(environment: str, algorithm: str) -> tuple[str, str]:
    """Return the names of an environment and an algorithm, without their parameters."""
    return json.loads(environment)["name"], json.loads(algorithm)["id"]


class _WarmUpDoneError(Exception):
    """The first batch of a run has been played."""


def _warm_up(algorithm: Algorithm, environment: Environment, seed: int) -> None:
    """Play the first batch of a run, so that its time does not include loading and compiling."""
    batches = itertools.count()

    def stopped() -> bool:
        if next(batches):
            raise _WarmUpDoneError
        return False

    # If something is wrong with the cell, its run will report it.
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
def _environment(text: str, seed: int) -> Environment:
    """Return the environment. Consecutive cells share it, with what it has computed."""
    return build_environment(json.loads(text), seed)


def curve_points(recorded: int) -> Integers:
    """Return which points of a curve are kept. They are evenly spread and include the last.

    >>> curve_points(3), curve_points(1_000)[[0, 1, -1]]
    (array([0, 1, 2]), array([  4,   9, 999]))
    """
    kept = min(recorded, CURVE_POINTS)
    return np.arange(1, kept + 1) * recorded // kept - 1
