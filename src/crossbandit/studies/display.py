"""The progress of a study: one line on a terminal and in a notebook, plain lines elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from crossbandit.progress import ProgressLine, bar, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.studies.execute import StudyProgress


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
