"""Run the missing cells of a study, and store each result as it arrives."""

from __future__ import annotations

import inspect
import json
import math
import time
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import crossbandit
from crossbandit.algorithms import from_json
from crossbandit.core import backends
from crossbandit.core.modules import load_modules, source_hashes
from crossbandit.core.progress import ProgressLine, bar, duration
from crossbandit.environments.environment import horizon_of
from crossbandit.environments.simulation import simulate
from crossbandit.errors import StudyError
from crossbandit.studies.plan import build_environment, draws_table_per_seed, own_builders
from crossbandit.studies.store import CellFailure, CellResult, differences, provenance, writable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crossbandit.algorithms import Algorithm
    from crossbandit.core.backends import BackendName, Pool
    from crossbandit.core.types import Integers
    from crossbandit.environments import Environment
    from crossbandit.environments.simulation.run import RecordKind
    from crossbandit.studies.plan import Cell, Study


CURVE_POINTS = 200

# Longer runs are recorded thinned, so that their memory does not grow with the rounds.
_FULL_ROUNDS = 200_000

_PACKAGE = str(Path(crossbandit.__file__).parent)


def run_batch(cells: Sequence[Cell], *, modules: tuple[str, ...]) -> list[CellResult | CellFailure]:
    """Run cells one after the other. A cell that fails does not stop the next."""
    results: list[CellResult | CellFailure] = []
    for cell in cells:
        try:
            load_modules(modules)
            results.append(_simulate(cell))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any error is reported
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
            frame = (own or frames)[-1]  # the last outside this package, if any
            results.append(
                failure(
                    cell,
                    "".join(traceback.format_exception_only(error)).strip(),
                    location=f"{frame.filename}, line {frame.lineno}, in {frame.name}",
                    traceback="".join(traceback.format_exception(error)),
                )
            )
    return results


def failure(cell: Cell, error: str, *, location: str = "", traceback: str = "") -> CellFailure:
    """Return the record of a cell that failed, or that is given up."""
    return CellFailure(
        **_identity(cell),
        error=error,
        failed_at=datetime.now(UTC).replace(tzinfo=None),
        location=location,
        traceback=traceback,
    )


def _identity(cell: Cell) -> dict[str, Any]:
    """Return what a result and a failure say about their cell."""
    return {
        "cell": cell.key,
        "environment": cell.environment,
        "algorithm": cell.algorithm,
        "seed": cell.seed,
        "version": crossbandit.__version__,
        "provenance": provenance(),
    }


def _simulate(cell: Cell) -> CellResult:
    data = json.loads(cell.environment)
    environment = _environment(cell.environment, cell.seed if draws_table_per_seed(data) else 0)
    algorithm = from_json(json.loads(cell.algorithm))
    horizon = horizon_of(environment)
    record: RecordKind = "full" if horizon <= _FULL_ROUNDS else "thin"
    began = time.perf_counter()
    run = simulate(algorithm, environment, seed=cell.seed, record=record, show_progress=False)
    seconds = time.perf_counter() - began
    if not np.isfinite(run.final_regret):
        raise ArithmeticError(f"the regret is {run.final_regret}")
    points = curve_points(run.rounds.size)
    knows_losses = record == "full" and hasattr(environment, "expected_block")
    return CellResult(
        **_identity(cell),
        horizon=horizon,
        final_regret=run.final_regret,
        loss=run.loss,
        comparator_loss=run.comparator_loss,
        seconds=seconds,
        curve_rounds=run.rounds[points].tolist(),
        curve_regret=run.regret[points].tolist(),
        parameters=json.dumps(chosen_parameters(algorithm, environment)),
        pseudo_regret=float(run.pseudo_regret[-1]) if knows_losses else None,
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
    own = algorithm.to_json()
    given = {name: value for name, value in own.items() if name != "id" and value is not None}
    for method in ("parameters", "learning_rate"):
        rule = getattr(algorithm, method, None)
        if inspect.ismethod(rule) and list(inspect.signature(rule).parameters) == ["problem"]:
            chosen = rule(environment.problem)
            if method == "learning_rate":
                chosen = {"eta": chosen}
            chosen = chosen._asdict() if hasattr(chosen, "_asdict") else chosen
            if isinstance(chosen, Mapping):
                # A rule that several algorithms share returns 0 for what one of them lacks.
                given |= {name: value for name, value in chosen.items() if name in own}
    return {name: _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


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


class StudyProgress(NamedTuple):
    """The progress of a study.

    Attributes:
        kept: Cells that were finished before. They are not in the other counts.
        total: Cells to compute.
        computed: Cells that have been computed.
        failed: Cells that have failed.
        rounds: Rounds of the cells that are done.
        total_rounds: Rounds of all cells to compute.
        rate: Cells per second; None until it can be estimated.
        seconds_left: The estimated time to the end; None until it can be estimated.
    """

    kept: int
    total: int
    computed: int = 0
    failed: int = 0
    rounds: int = 0
    total_rounds: int = 0
    rate: float | None = None
    seconds_left: float | None = None

    @property
    def done(self) -> int:
        """Cells that are done, with or without success."""
        return self.computed + self.failed


class Count:
    """Keeps the progress of a study. The clock starts when workers have started: with a result."""

    def __init__(self, kept: int, total: int, total_rounds: int) -> None:
        self.progress = StudyProgress(kept, total, total_rounds=total_rounds)
        self._start: tuple[float, StudyProgress] | None = None

    def add(self, results: Sequence[CellResult | CellFailure], rounds: int) -> None:
        """Count a batch of cells that are done, and the rounds that they have together."""
        before, now = self.progress, time.monotonic()
        failed = sum(isinstance(result, CellFailure) for result in results)
        state = before._replace(
            computed=before.computed + len(results) - failed,
            failed=before.failed + failed,
            rounds=before.rounds + rounds,
            rate=None,
            seconds_left=None,
        )
        since, first = self._start = self._start or (now, state)
        seconds, played = now - since, state.rounds - first.rounds
        if played and seconds > 0:
            state = state._replace(
                rate=(state.done - first.done) / seconds,
                seconds_left=seconds * (state.total_rounds - state.rounds) / played,
            )
        self.progress = state


@contextmanager
def display(*, quiet: bool = False) -> Iterator[Callable[[StudyProgress], None] | None]:
    """Show the progress of a study.

    Args:
        quiet: Whether to show nothing.

    Yields:
        A function for the `progress` parameter of `run`; None if quiet.
    """
    if quiet:
        yield None
        return
    line = ProgressLine()

    def tell(progress: StudyProgress) -> None:
        full = f"{bar(progress.rounds / (progress.total_rounds or 1))} " if line.live else ""
        line.show(full + summary(progress), last=progress.done == progress.total)

    try:
        yield tell
    finally:
        line.close()


def summary(progress: StudyProgress) -> str:
    """Return the progress in words: cells, rate, time left."""
    words = [f"{progress.done} of {progress.total} cells"]
    if progress.kept:
        words.append(f"{progress.kept} kept from before")
    if progress.failed:
        words.append(f"{progress.failed} failed")
    if progress.rate is not None:
        rate = f"{progress.rate:.1f}" if progress.rate < 10 else f"{progress.rate:,.0f}"
        words.append(f"{rate} cells a second")
    if progress.seconds_left is not None and progress.done < progress.total:
        words.append(f"{duration(progress.seconds_left)} left")
    return ", ".join(words)


# The time of a batch: much longer than sending it and storing its results (some 20 ms), and short
# enough that little is lost when everything stops. With many workers, batches are longer, so that
# the one process that writes gets at most some 30 batches per second.
_BATCH_SECONDS = 1.0
_BATCH_SECONDS_PER_WORKER = 0.03
_MOST_CELLS = 500

# A cell is given up after its worker has died this many times. The last time, it runs alone.
_DEATHS = 3


class StudyWarning(UserWarning):
    """A warning about the results of a study."""


class ChangedModulesWarning(StudyWarning):
    """Cells are kept although a module that they were computed with has changed."""


class MixedProvenanceWarning(StudyWarning):
    """The cells of a study were computed with different versions or on different processors."""


class FailedCellsWarning(StudyWarning):
    """Cells failed, and are missing from the results."""


@dataclass(frozen=True)
class RunSummary:
    """What a call of `run` did.

    Attributes:
        computed: Cells that were computed.
        kept: Cells that were finished before.
        failed: Cells that failed.
        seconds: The time that the call took.
    """

    computed: int
    kept: int
    failed: int
    seconds: float


def run(
    study: Study,
    directory: str | Path,
    *,
    jobs: int | None = None,
    backend: BackendName = "local",
    address: str | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
) -> RunSummary:
    """Compute the cells of a study that a folder does not hold yet, and store them there.

    If the call is interrupted or killed, or the disk is full, every finished cell is stored, and
    the same call continues from there. A cell that fails is recorded with its traceback (see
    `failures`), does not stop the others, and is tried again by the next call.

    Args:
        study: What to compute.
        directory: The folder of the results file. It is created if it does not exist.
        jobs: The number of workers; None for one per core. With one, cells run in this process.
        backend: "local", "ray" or "dask".
        address: The address of a Ray or Dask cluster; None to start one on this machine.
        progress: Called with a `StudyProgress` at the start and after each batch of cells.

    Returns:
        How many cells were computed, kept and failed.

    Raises:
        StudyError: The study uses a class that worker processes cannot load.
        ResultsError: The results file is damaged, in use, or cannot be written.
        BackendError: The backend is not installed, or does not answer.

    Warns:
        ChangedModulesWarning: A module of the study has changed since cells were computed with it.
            These cells are kept as they are.
        MixedProvenanceWarning: The cells of the study were computed with different versions of
            Crossbandit, its cores, Python or NumPy, or on different processors.
        FailedCellsWarning: Cells failed.
    """
    began = time.monotonic()
    tell = (lambda _: None) if progress is None else progress
    sources = source_hashes(study.modules)
    failures: list[CellFailure] = []
    with writable(directory) as store:
        store.enroll(study)
        finished = store.finished()
        cells = list({cell.key: cell for cell in study.cells}.values())
        keys = {cell.key for cell in cells}
        changed = store.changed(keys, sources)
        if changed:
            warnings.warn(_changed_text(changed), ChangedModulesWarning, stacklevel=2)
        missing = [cell for cell in cells if cell.key not in finished]
        queue = _Queue(_shared_tables_together(missing))
        count = Count(len(cells) - queue.total, queue.total, queue.total_rounds)
        tell(count.progress)
        if queue.total:
            with backends.open_pool(backend, jobs, address, warning=StudyWarning) as pool:
                if pool.workers > 1:
                    _check_loadable(missing)
                for results in _execute(pool, queue, partial(run_batch, modules=study.modules)):
                    store.add(results, sources)
                    failures += [one for one in results if isinstance(one, CellFailure)]
                    count.add(results, queue.finish(results))
                    tell(count.progress)
        different = differences(store.provenances(keys))
    if different:
        warnings.warn(_mixed_text(different), MixedProvenanceWarning, stacklevel=2)
    if failures:
        text = _failed_text(failures, queue.total, str(directory))
        warnings.warn(text, FailedCellsWarning, stacklevel=2)
    done = count.progress
    return RunSummary(done.computed, done.kept, done.failed, time.monotonic() - began)


def _shared_tables_together(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells in an order in which cells with the same losses are adjacent."""
    order = {text: i for i, text in enumerate(dict.fromkeys(c.environment for c in cells))}
    per_seed = {text for text in order if draws_table_per_seed(json.loads(text))}
    return sorted(
        cells, key=lambda c: (order[c.environment], c.seed if c.environment in per_seed else 0)
    )


def _check_loadable(cells: Iterable[Cell]) -> None:
    """Raise if worker processes could not load a class or function that a cell uses."""
    for environment, algorithm in {(cell.environment, cell.algorithm) for cell in cells}:
        for name, builder in own_builders(environment, algorithm):
            if builder.__module__ == "__main__":
                raise StudyError(
                    f"{builder.__qualname__} ({name!r}) is defined in a notebook or in the script "
                    "that runs. Worker processes cannot load it from there. Move it to a Python "
                    "file and name the file under the study's modules, or run with jobs=1."
                )


def _changed_text(changed: Mapping[str, int]) -> str:
    files = " and ".join(sorted(changed))
    have, cells = "has" if len(changed) == 1 else "have", max(changed.values())
    return (
        f"{files} {have} changed since {cells} of these cells were computed. The cells are kept as "
        "they are. To compute them again, give what has changed another id or name, or use another "
        "folder (--out)."
    )


def _mixed_text(different: Mapping[str, Sequence[str]]) -> str:
    facts = "; ".join(f"{name}: {', '.join(values)}" for name, values in different.items())
    return (
        f"The cells of this study were not all computed with the same versions and processor "
        f"({facts}). The column 'provenance' of the results has those of each cell."
    )


def _failed_text(failures: Sequence[CellFailure], total: int, directory: str) -> str:
    first = failures[0]
    place = f" ({first.location})" if first.location else ""
    return (
        f"{len(failures)} of {total} cells failed. The first: {first.error}{place}. All of them, "
        f"with tracebacks: crossbandit.studies.failures({directory!r})"
    )


def _execute(
    pool: Pool, queue: _Queue, work: Callable[[list[Cell]], list[CellResult | CellFailure]]
) -> Iterator[Sequence[CellResult | CellFailure]]:
    """Yield results until no cell is waiting, whatever happens to the workers.

    When a worker dies, it is unknown which cell ended it. All cells that were with a worker are
    sent again one by one. Those whose worker dies again then run alone, so a cell is given up
    only if it ends its worker when it runs alone.
    """
    while queue:
        for batch in queue.alone():
            try:
                yield from pool.map(work, [batch], ahead=1)
            except pool.died as error:
                yield queue.return_lost(error)
        try:
            yield from pool.map(work, queue.batches(pool.workers))
        except pool.died as error:
            yield queue.return_lost(error)


class _Queue:
    """The cells that wait, and those that are with a worker."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.total = len(cells)
        self.total_rounds = sum(cell.horizon for cell in cells)
        self._waiting = deque(cells)
        self._sent: dict[str, Cell] = {}
        self._deaths: Counter[str] = Counter()
        self._pace: dict[str, float] = {}  # seconds per round, by algorithm

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def batches(self, workers: int) -> Iterator[list[Cell]]:
        """Yield the waiting cells, in batches that take about the same time."""
        longest = max(_BATCH_SECONDS, _BATCH_SECONDS_PER_WORKER * workers)
        fair = max(1, len(self._waiting) // (4 * workers))  # leave something for every worker
        while self._waiting:
            cells = [self._waiting.popleft()]
            spent = self._expected_seconds(cells[0])
            while self._waiting and len(cells) < min(fair, _MOST_CELLS):
                spent += self._expected_seconds(self._waiting[0])
                if spent > longest:
                    break
                cells.append(self._waiting.popleft())
            yield self._send(cells)

    def alone(self) -> Iterator[list[Cell]]:
        """Yield, one by one, the cells that are given up if their worker dies once more."""
        suspects = [cell for cell in self._waiting if self._deaths[cell.key] == _DEATHS - 1]
        for cell in suspects:
            self._waiting.remove(cell)
            yield self._send([cell])

    def finish(self, results: Iterable[CellResult | CellFailure]) -> int:
        """Remove cells that are done, record their speed, and return how many rounds they have."""
        rounds = 0
        for result in results:
            cell = self._sent.pop(result.cell, None)
            if cell is not None:
                rounds += cell.horizon
            if isinstance(result, CellResult):
                self._pace[result.algorithm] = result.seconds / result.horizon
        return rounds

    def return_lost(self, error: BaseException) -> list[CellFailure]:
        """Put the cells of a dead worker back into the queue; return those that are given up."""
        given_up = []
        for cell in self._sent.values():
            self._deaths[cell.key] += 1
            if self._deaths[cell.key] < _DEATHS:
                self._waiting.append(cell)
                continue
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            text = f"The worker died {_DEATHS} times while it ran this cell: {reason}"
            given_up.append(failure(cell, text))
        # Cells that are given up stay in `_sent` until `finish`.
        self._sent = {failed.cell: self._sent[failed.cell] for failed in given_up}
        return given_up

    def _expected_seconds(self, cell: Cell) -> float:
        if self._deaths[cell.key]:
            return float("inf")  # so that it is in a batch of its own
        slowest = max(self._pace.values(), default=float("inf"))
        return self._pace.get(cell.algorithm, slowest) * cell.horizon

    def _send(self, cells: list[Cell]) -> list[Cell]:
        self._sent.update((cell.key, cell) for cell in cells)
        return cells
