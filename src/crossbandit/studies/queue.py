"""The cells of a study that wait to be run, and those that are with a worker."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from crossbandit.studies.worker import Batch, CellFailure, CellResult, Task, failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crossbandit.studies.plan import Cell

# The time of a batch: much longer than sending it and storing its results (some 20 ms), and short
# enough that little is lost when everything stops. With many workers, batches are longer, so that
# the one process that writes gets at most some 30 batches per second.
_BATCH_SECONDS = 1.0
_BATCH_SECONDS_PER_WORKER = 0.03
_MOST_CELLS = 500

# A cell is given up after its worker has died this many times. The last time, it runs alone.
_DEATHS = 3


class Queue:
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
        """Remove cells that are done, note their pace, and return how many rounds they have."""
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
            given_up.append(failure(_task(cell), text))
        # Cells that are given up stay in `_sent` until `finish`.
        self._sent = {failed.cell: self._sent[failed.cell] for failed in given_up}
        return given_up

    def _expected_seconds(self, cell: Cell) -> float:
        if self._deaths[cell.key]:
            return float("inf")  # in a batch of its own
        slowest = max(self._pace.values(), default=float("inf"))
        return self._pace.get(cell.algorithm, slowest) * cell.horizon

    def _send(self, cells: list[Cell]) -> Batch:
        self._sent.update((cell.key, cell) for cell in cells)
        return Batch([_task(cell) for cell in cells], self._modules)


def _task(cell: Cell) -> Task:
    return Task(
        key=cell.key, environment=cell.environment, algorithm=cell.algorithm, seed=cell.seed
    )
