"""The progress of a study: what is done, at which rate, and how it is shown."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.progress import ProgressLine, bar, duration
from crossbandit.studies.worker import CellFailure, kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crossbandit.studies.worker import CellResult


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
        words.append(f"{_number(progress.rate)} cells a second")
    if progress.seconds_left is not None and progress.done < progress.total:
        words.append(f"{duration(progress.seconds_left)} left")
    return ", ".join(words)


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"
