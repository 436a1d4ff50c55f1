"""The progress of a study: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from crossbandit.studies.execute import StudyProgress

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def display(
    *, quiet: bool = False, console: Console | None = None
) -> Iterator[Callable[[StudyProgress], None] | None]:
    """Show the progress of a study on the standard error.

    Args:
        quiet: Whether to show nothing.
        console: The console to use instead.

    Yields:
        A function for the `progress` parameter of `run`; None if quiet.
    """
    if quiet:
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True) if console is None else console
    if not console.is_terminal:
        yield _lines(console)
        return
    bar, tell = _live(console)
    with bar:
        yield tell


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
        words.append(f"{_duration(progress.seconds_left)} left")
    return ", ".join(words)


def _lines(console: Console) -> Callable[[StudyProgress], None]:
    last = -_SECONDS_BETWEEN_LINES

    def tell(progress: StudyProgress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES or progress.done == progress.total:
            last = now
            console.print(summary(progress), highlight=False, soft_wrap=True)

    return tell


def _live(console: Console) -> tuple[Any, Callable[[StudyProgress], None]]:
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(), TextColumn("{task.description}"))
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("starting", total=None)

    def tell(progress: StudyProgress) -> None:
        total = progress.total_rounds or 1
        bar.update(task, total=total, completed=progress.rounds, description=summary(progress))

    return bar, tell


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
