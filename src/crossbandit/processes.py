"""How worker processes start and end. This module is small, so that a worker loads it at once."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WATCH_SECONDS = 0.25

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # options of glibc's `mallopt`


def end_with_parent(parent: int) -> None:
    """Prepare a worker process: it ignores Ctrl-C, and ends when its parent process has ended.

    Args:
        parent: The process id of the parent.
    """
    ignore_interrupts()
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    _keep_freed_memory()


def ignore_interrupts() -> None:
    """Ignore Ctrl-C, which a terminal sends to every process; the parent reacts to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C in this thread, and in the processes that it starts meanwhile.

    A process that is still loading its modules would print a traceback otherwise. The signal is
    not lost: it arrives when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def _keep_freed_memory() -> None:
    """Let the process keep memory that it frees, because it needs it again within milliseconds.

    By default, glibc returns the arrays of a batch of rounds to the system after every batch.
    Getting them back costs a third of a long run, and more if several workers ask at once.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        tune = ctypes.CDLL(None).mallopt
        for option in (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD):
            tune(option, 2**30)
