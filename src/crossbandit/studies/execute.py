"""Run the missing cells of a study, and store each result as it arrives."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from crossbandit import backends
from crossbandit.errors import StudyError
from crossbandit.modules import source_hashes
from crossbandit.studies.build import draws_table_per_seed, own_builders
from crossbandit.studies.provenance import differences
from crossbandit.studies.queue import Queue
from crossbandit.studies.store import writable
from crossbandit.studies.warning_types import (
    ChangedModulesWarning,
    FailedCellsWarning,
    MixedProvenanceWarning,
    StudyWarning,
)
from crossbandit.studies.worker import CellFailure, CellResult, kind, run_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crossbandit.backends import Pool
    from crossbandit.studies.plan import Cell, Study


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
        queue = Queue(_shared_tables_together(missing), study.modules)
        count = _Count(len(cells) - queue.total, queue.total, queue.total_rounds)
        tell(count.progress())
        if queue.total:
            with backends.open_pool(backend, jobs, address, warning=StudyWarning) as pool:
                if pool.workers > 1:
                    _check_loadable(missing)
                for results in _execute(pool, queue):
                    store.add(results, sources)
                    failures += [one for one in results if isinstance(one, CellFailure)]
                    count.add(results, queue.finish(results))
                    tell(count.progress())
        different = differences(store.provenances(keys))
    if different:
        warnings.warn(_mixed_text(different), MixedProvenanceWarning, stacklevel=2)
    if failures:
        text = _failed_text(failures, queue.total, str(directory))
        warnings.warn(text, FailedCellsWarning, stacklevel=2)
    return RunSummary(count.computed, count.kept, count.failed, time.monotonic() - began)


def _shared_tables_together(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells in an order in which those with the same losses follow each other."""
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


class _Count:
    """How many cells are done, and at which rate.

    The clock starts again with the first result of an environment and an algorithm together:
    before it, workers start, and load and compile what they need.
    """

    def __init__(self, kept: int, total: int, total_rounds: int) -> None:
        self.kept = kept
        self.computed = self.failed = 0
        self._total = total
        self._total_rounds = total_rounds
        self._rounds = 0
        self._first: tuple[float, int, int] | None = None
        self._known: set[tuple[str, str]] = set()

    def add(self, results: Sequence[CellResult | CellFailure], rounds: int) -> None:
        failed = sum(isinstance(result, CellFailure) for result in results)
        self.failed += failed
        self.computed += len(results) - failed
        self._rounds += rounds
        kinds = {kind(result.environment, result.algorithm) for result in results}
        if self._first is None or not kinds <= self._known:
            self._known |= kinds
            self._first = (time.monotonic(), self.computed + self.failed, self._rounds)

    def progress(self) -> StudyProgress:
        state = StudyProgress(
            kept=self.kept,
            total=self._total,
            computed=self.computed,
            failed=self.failed,
            rounds=self._rounds,
            total_rounds=self._total_rounds,
        )
        if self._first is None:
            return state
        since, cells, rounds = self._first
        seconds = time.monotonic() - since
        if self._rounds == rounds or seconds <= 0:
            return state
        left = seconds * (self._total_rounds - self._rounds) / (self._rounds - rounds)
        return state._replace(rate=(state.done - cells) / seconds, seconds_left=left)


def _execute(pool: Pool, queue: Queue) -> Iterator[Sequence[CellResult | CellFailure]]:
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
