"""Random numbers of rounds. They do not depend on how rounds are divided into batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from crossbandit.streams import stream

if TYPE_CHECKING:
    from crossbandit.types import Floats


def uniforms(seed: int, name: str, start: int, stop: int, width: int) -> Floats:
    """Return `width` uniform numbers for each of the rounds start, ..., stop - 1.

    The generator jumps to the first round, so nothing has to be kept, and a longer horizon begins
    with the numbers of a shorter one.

    >>> bool((uniforms(7, "demand", 5, 9, 2) == uniforms(7, "demand", 0, 9, 2)[5:]).all())
    True
    """
    generator = stream(seed, name)
    cast("np.random.PCG64", generator.bit_generator).advance(start * width)
    return generator.random((stop - start, width))
