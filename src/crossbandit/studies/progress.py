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
    """Keeps the progress of a study.

    The clock starts again with the first result of an environment and an algorithm together:
    before it, workers start, and load and compile what they need.

    Attributes:
        progress: The progress so far.
    """

    def __init__(self, kept: int, total: int, total_rounds: int) -> None:
        self.progress = StudyProgress(kept, total, total_rounds=total_rounds)
        self._start: tuple[float, StudyProgress] | None = None
        self._known: set[tuple[str, str]] = set()

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
        kinds = {kind(result.environment, result.algorithm) for result in results}
        if self._start is None or not kinds <= self._known:
            self._known |= kinds
            self._start = now, state
        since, first = self._start
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
        words.append(f"{_number(progress.rate)} cells a second")
    if progress.seconds_left is not None and progress.done < progress.total:
        words.append(f"{duration(progress.seconds_left)} left")
    return ", ".join(words)


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"
