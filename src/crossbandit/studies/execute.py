"""Run the missing cells of a study, and store each result as it arrives."""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossbandit import backends
from crossbandit.errors import StudyError
from crossbandit.modules import source_hashes
from crossbandit.studies.plan import draws_table_per_seed, own_builders
from crossbandit.studies.progress import Count
from crossbandit.studies.provenance import differences
from crossbandit.studies.store import writable
from crossbandit.studies.worker import Batch, CellFailure, CellResult, failure, run_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crossbandit.backends import Pool
    from crossbandit.studies.plan import Cell, Study
    from crossbandit.studies.progress import StudyProgress

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
    backend: str = "local",
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
            Crossbandit, Python, NumPy or Numba, or on different processors.
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
        queue = _Queue(_shared_tables_together(missing), study.modules)
        count = Count(len(cells) - queue.total, queue.total, queue.total_rounds)
        tell(count.progress)
        if queue.total:
            with backends.open_pool(backend, jobs, address, warning=StudyWarning) as pool:
                if pool.workers > 1:
                    _check_loadable(missing)
                for results in _execute(pool, queue):
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
    order: dict[str, int] = {}
    for cell in cells:
        order.setdefault(cell.environment, len(order))
    per_seed = {text for text in order if draws_table_per_seed(json.loads(text))}
    return sorted(
        cells,
        key=lambda cell: (
            order[cell.environment],
            cell.seed if cell.environment in per_seed else 0,
        ),
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


def _execute(pool: Pool, queue: _Queue) -> Iterator[Sequence[CellResult | CellFailure]]:
    """Yield results until no cell is waiting, whatever happens to the workers.

    When a worker dies, it is unknown which cell ended it. All cells that were with a worker are
    sent again one by one. Those whose worker dies again then run alone, so a cell is given up
    only if it ends its worker when it runs alone.
    """
    while queue:
        for batch in queue.alone():
            try:
                yield from pool.map(run_batch, [batch], ahead=1)
            except pool.died as error:
                yield queue.return_lost(error)
        try:
            yield from pool.map(run_batch, queue.batches(pool.workers))
        except pool.died as error:
            yield queue.return_lost(error)


class _Queue:
    """The cells that wait, and those that are with a worker.

    Args:
        cells: The cells to run, each once.
        modules: The modules that a worker loads first.
    """

    def __init__(self, cells: Sequence[Cell], modules: tuple[str, ...]) -> None:
        self.total = len(cells)
        self.total_rounds = sum(cell.horizon for cell in cells)
        self._modules = modules
        self._waiting = deque(cells)
        self._sent: dict[str, Cell] = {}
        self._deaths: Counter[str] = Counter()
        self._pace: dict[str, float] = {}  # seconds per round, by algorithm

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def batches(self, workers: int) -> Iterator[Batch]:
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

    def alone(self) -> Iterator[Batch]:
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

    def _send(self, cells: list[Cell]) -> Batch:
        self._sent.update((cell.key, cell) for cell in cells)
        return Batch(cells, self._modules)
