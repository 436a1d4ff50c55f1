"""A task in a forked process."""

import os
import signal
import warnings
from collections.abc import Callable
from typing import Any

import pytest

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")


def in_fork(task: Callable[..., str]) -> Any:
    """Return what a task returns in a forked child, a text; None if it ends in another way."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads and forks
        child = os.fork()
    if child == 0:
        signal.alarm(20)  # instead of waiting for ever
        os.write(writing, task().encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        found = file.read()
    return found if os.waitpid(child, 0)[1] == 0 else None
