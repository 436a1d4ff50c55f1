"""Memory for the estimates of a learner, with an error if too little is free."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import OutOfMemoryError

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Floats

# An operating system allocates more memory than it has, and ends a process that uses all of it. At
# most this share of the free memory is used.
_SHARE = 0.9


def zeros(owner: str, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> Floats:
    """Return an array of zeros; raise OutOfMemoryError, with advice, if it would not fit."""
    needed = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
    free = available()
    if free is not None and needed > _SHARE * free:
        raise OutOfMemoryError(
            f"{owner} would keep {needed / 2**30:,.1f} GiB of estimates, and {free / 2**30:,.1f} "
            "GiB of memory are free. If losses are linear in features of the context, "
            "Problem(graph, features=...) needs no number per context; precision='float32' halves "
            "a table; fewer contexts need less."
        )
    return np.zeros(shape, dtype=dtype)


def available() -> int | None:
    """Return the memory that is free, in bytes; None if the system does not report it."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
