"""A progress bar that appears only on a terminal, and only when a simulation takes long."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_SECONDS = 1.0


@contextmanager
def progress(label: str, rounds: int, *, show: bool | None) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of rounds done.

    `show` is True, False, or None for "on a terminal".
    """
    wanted = sys.stderr.isatty() if show is None else show
    bar: Any = None
    task: Any = None
    began = time.monotonic()

    def tell(done: int) -> None:
        nonlocal bar, task
        if not wanted:
            return
        if bar is None:
            if time.monotonic() - began < PATIENCE_SECONDS:
                return
            bar = _bar()
            task = bar.add_task(label, total=rounds)
            bar.start()
        bar.update(task, completed=done)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
