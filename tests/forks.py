"""A task in a forked process."""

import os
import signal
import warnings
from collections.abc import Callable

import pytest

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")


def in_fork(task: Callable[..., str]) -> str:
    """Return what a task returns in a forked child, which must end well."""
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
    assert os.waitpid(child, 0)[1] == 0, "The forked process failed or hung."
    return found
