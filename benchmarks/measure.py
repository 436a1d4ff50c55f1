"""How a claim is measured: alternating repetitions in one process, medians, one ratio."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Result:
    """One claim: a number, and what it should be at most, or at least."""

    name: str
    value: float
    aim: float
    unit: str
    at_least: bool = False
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the number is as it should be."""
        return self.value >= self.aim if self.at_least else self.value <= self.aim


def peak_memory() -> float:
    """Return the peak memory of this process in MB.

    `ru_maxrss` would not do: it is at least what the parent had when it started this process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return int(next(one for one in lines if one.startswith("VmHWM")).split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds(task: Callable[[], object]) -> float:
    """Return how long one call takes."""
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def cpu_seconds(*arguments: str) -> float:
    """Return the processor time of a new Python with these arguments, with all that it starts.

    It may write bytecode, as pip does when it installs a package.
    """
    may_write = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=may_write
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def medians(*tasks: Callable[[], object], repetitions: int = 9) -> list[float]:
    """Return the median time of each task.

    The tasks take turns, so that whatever slows the machine for a while slows all of them.
    """
    for task in tasks:
        task()
    times = [[seconds(task) for task in tasks] for _ in range(repetitions)]
    return [statistics.median(column) for column in zip(*times, strict=True)]
