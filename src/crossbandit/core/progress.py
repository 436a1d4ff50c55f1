"""Progress in one line of text, without another package.

On a terminal and in a notebook, the line is rewritten. Elsewhere, a new line is printed now and
then.
"""

from __future__ import annotations

import math
import shutil
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_SECONDS = 1.0  # the time after which progress is shown
_SECONDS_BETWEEN = 0.1
_SECONDS_BETWEEN_LINES = 5.0  # for a line that cannot be rewritten
_BAR = 20


class ProgressLine:
    """A line on the standard error, or in a notebook below the cell."""

    def __init__(self) -> None:
        notebook = in_notebook()
        self._stream = sys.stdout if notebook else sys.stderr  # notebooks show errors in red
        self.live = notebook or (self._stream is not None and self._stream.isatty())
        self._pause = _SECONDS_BETWEEN if self.live else _SECONDS_BETWEEN_LINES
        self._width = 0
        self._last = -math.inf

    def show(self, text: str, *, last: bool = False) -> None:
        """Replace the text of the line, unless it was replaced a moment ago."""
        now = time.monotonic()
        if now - self._last < self._pause and not last:
            return
        self._last = now
        if not self.live:
            print(text, file=self._stream, flush=True)
            return
        text = text[: shutil.get_terminal_size().columns - 1]
        print(f"\r{text:<{self._width}}", end="\r", file=self._stream, flush=True)
        self._width = len(text)

    def close(self) -> None:
        """Remove the line, if it can be rewritten."""
        if self.live and self._width:
            print(f"\r{'':<{self._width}}", end="\r", file=self._stream, flush=True)
            self._width = 0


@contextmanager
def progress(label: str, rounds: int, *, show: bool | None) -> Iterator[Callable[[int], None]]:
    """Show the progress of work that takes longer than a second."""
    line = ProgressLine()
    wanted = line.live if show is None else show
    began = time.monotonic()
    first: tuple[float, int] | None = None  # the time and the rounds when the first were done

    def tell(done: int) -> None:
        nonlocal first
        now = time.monotonic()
        if first is None and done:
            first = now, done
        if wanted and now - began >= PATIENCE_SECONDS:
            left = _left(now, done, rounds, first)
            text = f"{label} {bar(done / rounds)} {done:,} of {rounds:,}{left}"
            line.show(text, last=done == rounds)

    try:
        yield tell
    finally:
        line.close()


def _left(now: float, done: int, rounds: int, first: tuple[float, int] | None) -> str:
    """Return the time left, by the speed since `first`. The time before may include loading."""
    if done == rounds:
        return ", 0 s left"
    if first is None or done <= first[1]:
        return ""
    return f", {duration((now - first[0]) * (rounds - done) / (done - first[1]))} left"


def bar(share: float) -> str:
    """Return a bar of plain characters.

    >>> bar(0.25)
    '[#####---------------]'
    """
    full = int(_BAR * min(max(share, 0.0), 1.0))
    return f"[{'#' * full}{'-' * (_BAR - full)}]"


def duration(seconds: float) -> str:
    """Return a time in a suitable unit.

    >>> duration(75), duration(600), duration(9_000)
    ('75 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def in_notebook() -> bool:
    """Return whether this process runs a notebook, whose output is not a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
