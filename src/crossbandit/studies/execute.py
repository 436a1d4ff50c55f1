"""Run what is missing of a study, and keep each result as it comes in."""

from __future__ import annotations

import time
import warnings
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import crossbandit
from crossbandit.studies import backends
from crossbandit.studies.build import source_hashes
from crossbandit.studies.store import writable
from crossbandit.studies.worker import Batch, Failed, Finished, Task, kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crossbandit.studies.backends import Pool
    from crossbandit.studies.plan import Cell, Study

# A batch should take this long: much longer than to send it and to keep its results (some 20 ms),
# short enough that little is lost when everything stops. Many workers get longer batches, so that
# the one process that writes is not asked more than some 30 times a second.
_BATCH_SECONDS = 1.0
_BATCH_SECONDS_PER_WORKER = 0.03
_MOST_CELLS = 500

# A cell whose worker died this often is given up, the last time having run alone.
_DEATHS = 3


class ChangedModulesWarning(UserWarning):
    """Cells are kept from before, and a module that they were computed with has changed."""


class Progress(NamedTuple):
    """How far a study is. `kept` cells had been finished before and are not in the other counts.

    `rate`, in cells a second, and `seconds_left` are None until there is something to go by.
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
        """Cells that are through, with or without success."""
        return self.computed + self.failed


@dataclass(frozen=True)
class Outcome:
    """What a run of a study did: cells computed now, kept from before, and failed."""

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
    progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Compute the cells of `study` that `directory` does not hold yet, and keep them there.

    Interrupted, killed or out of disk space, it has kept every finished cell: the same call goes
    on from there. A cell that fails is recorded (see `failures`), does not stop the others, and is
    tried again by the next call. Cells that were computed before one of the study's own modules
    changed are kept as they are, with a `ChangedModulesWarning`.

    Args:
        study: what to compute.
        directory: the folder of the results file; made if need be.
        jobs: how many workers; all cores if None. With one, cells run in this process.
        backend: "local", "ray" or "dask".
        address: where a Ray or Dask cluster answers; a local one is started if None.
        progress: called with a `Progress` at the start and after each batch.
    """
    began = time.monotonic()
    tell = (lambda _: None) if progress is None else progress
    sources = source_hashes(study.modules)
    with writable(directory) as store:
        store.enroll(study)
        finished = store.finished()
        cells = list({cell.key: cell for cell in study.cells}.values())
        changed = store.changed({cell.key for cell in cells}, sources)
        if changed:
            warnings.warn(_warning(changed), ChangedModulesWarning, stacklevel=2)
        queue = _Queue([cell for cell in cells if cell.key not in finished], study.modules)
        count = _Count(len(cells) - queue.total, queue.total, queue.total_rounds)
        tell(count.progress())
        if queue.total:
            with backends.opened(backend, jobs, address) as pool:
                for results in _execute(pool, queue):
                    store.add(results, sources)
                    count.add(results, queue.finish(results))
                    tell(count.progress())
    return Outcome(count.computed, count.kept, count.failed, time.monotonic() - began)


def _warning(changed: Mapping[str, int]) -> str:
    files = " and ".join(sorted(changed))
    have, cells = "has" if len(changed) == 1 else "have", max(changed.values())
    return (
        f"{files} {have} changed since {cells} of these cells were computed. They are kept as they "
        "were. To compute them anew, give what has changed another id or name, or use another "
        "folder (--out)."
    )


class _Count:
    """What is done, and at which pace.

    The clock starts anew with the first result of an environment and an algorithm together: before
    it, workers start, and load and compile what they need.
    """

    def __init__(self, kept: int, total: int, total_rounds: int) -> None:
        self.kept = kept
        self.computed = self.failed = 0
        self._total = total
        self._total_rounds = total_rounds
        self._rounds = 0
        self._first: tuple[float, int, int] | None = None
        self._known: set[tuple[str, str]] = set()

    def add(self, results: Sequence[Finished | Failed], rounds: int) -> None:
        failed = sum(isinstance(result, Failed) for result in results)
        self.failed += failed
        self.computed += len(results) - failed
        self._rounds += rounds
        kinds = {kind(result.environment, result.algorithm) for result in results}
        if self._first is None or not kinds <= self._known:
            self._known |= kinds
            self._first = (time.monotonic(), self.computed + self.failed, self._rounds)

    def progress(self) -> Progress:
        counts = (self.kept, self._total, self.computed, self.failed)
        state = Progress(*counts, self._rounds, self._total_rounds)
        if self._first is None:
            return state
        since, cells, rounds = self._first
        seconds = time.monotonic() - since
        if self._rounds == rounds or seconds <= 0:
            return state
        left = seconds * (self._total_rounds - self._rounds) / (self._rounds - rounds)
        return state._replace(rate=(state.done - cells) / seconds, seconds_left=left)


class _Queue:
    """The cells that wait, and those that are out with a worker."""

    def __init__(self, cells: Sequence[Cell], modules: tuple[str, ...]) -> None:
        self.total = len(cells)
        self.total_rounds = sum(cell.horizon for cell in cells)
        self._modules = modules
        self._waiting = deque(cells)
        self._out: dict[str, Cell] = {}
        self._deaths: Counter[str] = Counter()
        self._pace: dict[str, float] = {}  # seconds per round, by algorithm

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def batches(self, workers: int) -> Iterator[Batch]:
        """Yield what waits, in batches of about the same time."""
        longest = max(_BATCH_SECONDS, _BATCH_SECONDS_PER_WORKER * workers)
        fair = max(1, len(self._waiting) // (4 * workers))  # leave something for every worker
        while self._waiting:
            cells = [self._waiting.popleft()]
            spent = self._expected(cells[0])
            while self._waiting and len(cells) < min(fair, _MOST_CELLS):
                spent += self._expected(self._waiting[0])
                if spent > longest:
                    break
                cells.append(self._waiting.popleft())
            yield self._sent(cells)

    def _expected(self, cell: Cell) -> float:
        if self._deaths[cell.key]:
            return float("inf")  # in a batch of its own
        slowest = max(self._pace.values(), default=float("inf"))
        return self._pace.get(cell.algorithm, slowest) * cell.horizon

    def alone(self) -> Iterator[Batch]:
        """Yield, one by one, the cells that would be given up at the next death."""
        suspects = [cell for cell in self._waiting if self._deaths[cell.key] == _DEATHS - 1]
        for cell in suspects:
            self._waiting.remove(cell)
            yield self._sent([cell])

    def _sent(self, cells: list[Cell]) -> Batch:
        self._out.update((cell.key, cell) for cell in cells)
        tasks = [Task(cell.key, cell.environment, cell.algorithm, cell.seed) for cell in cells]
        return Batch(tasks, self._modules)

    def finish(self, results: Iterable[Finished | Failed]) -> int:
        """Take the cells off the list, note their pace, and return how many rounds they were."""
        rounds = 0
        for result in results:
            cell = self._out.pop(result.cell, None)
            if cell is not None:
                rounds += cell.horizon
            if isinstance(result, Finished):
                self._pace[result.algorithm] = result.seconds / result.horizon
        return rounds

    def bury(self, error: BaseException) -> list[Failed]:
        """After a worker died, let its cells wait again; return those that are given up."""
        given_up = []
        for cell in self._out.values():
            self._deaths[cell.key] += 1
            if self._deaths[cell.key] < _DEATHS:
                self._waiting.append(cell)
                continue
            text = f"The worker died {_DEATHS} times while it ran this cell: {_brief(error)}"
            content = (cell.key, cell.environment, cell.algorithm, cell.seed)
            given_up.append(Failed(*content, text, crossbandit.__version__))
        # Those that are given up stay out until `finish`.
        self._out = {failed.cell: self._out[failed.cell] for failed in given_up}
        return given_up


def _execute(pool: Pool, queue: _Queue) -> Iterator[Sequence[Finished | Failed]]:
    """Yield results until nothing waits, whatever happens to the workers.

    When a worker dies, nobody says which cell killed it: all that were out come under suspicion,
    and are sent again one by one. Those that meet a second death run alone from then on, so only a
    cell that kills by itself is given up.
    """
    while queue:
        for batch in queue.alone():
            try:
                yield from pool.map([batch], ahead=1)
            except pool.died as error:
                yield queue.bury(error)
        try:
            yield from pool.map(queue.batches(pool.workers))
        except pool.died as error:
            yield queue.bury(error)


def _brief(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
