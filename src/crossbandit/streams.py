"""Random streams by name: every part of an experiment draws from its own stream.

A stream depends only on the seed and on its name. So all algorithms of a study see the same
contexts, and adding an algorithm changes no other result.
"""

from __future__ import annotations

import numbers
import zlib
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crossbandit.validation import reject

if TYPE_CHECKING:
    from crossbandit.types import Booleans, Floats

Seed = int | np.random.SeedSequence | np.random.Generator

_BLOCK = 1024  # random numbers that `Uniforms` draws at a time


def stream(seed: Seed, name: str) -> np.random.Generator:
    """Return the generator that belongs to `name` under `seed`.

    Args:
        seed: An int, a SeedSequence or a Generator. A Generator is advanced: two calls with the
            same Generator give two different streams.
        name: The name of the stream.

    >>> stream(7, "contexts").random() == stream(7, "contexts").random()
    True
    >>> stream(7, "contexts").random() == stream(7, "learner").random()
    False
    """
    root = _sequence(seed)
    key = (*root.spawn_key, zlib.crc32(name.encode()))
    return np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=key))


def uniforms(seed: int, name: str, start: int, stop: int, width: int) -> Floats:
    """Return `width` uniform numbers for each of the rounds start, ..., stop - 1.

    They do not depend on how rounds are divided into batches.
    The generator jumps to the first round, so nothing has to be kept, and a longer horizon begins
    with the numbers of a shorter one.

    >>> bool((uniforms(7, "demand", 5, 9, 2) == uniforms(7, "demand", 0, 9, 2)[5:]).all())
    True
    """
    generator = stream(seed, name)
    cast("np.random.PCG64", generator.bit_generator).advance(start * width)
    return generator.random((stop - start, width))


def fixed(seed: Seed) -> np.random.SeedSequence:
    """Return a seed that can be used for several streams of one experiment.

    Args:
        seed: An int, a SeedSequence or a Generator. A Generator is advanced.
    """
    return _sequence(seed)


def _sequence(seed: Seed) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(int(seed.integers(2**63)))
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        reject(
            "Crossbandit", "seed", "an integer of at least 0, a SeedSequence or a Generator", seed
        )
    return np.random.SeedSequence(int(seed))


class Uniforms:
    """Random numbers from [0, 1), drawn in blocks: taking a few is faster than calling a generator.

    >>> uniforms = Uniforms(np.random.default_rng(7))
    >>> [*uniforms.take(2), *uniforms.take(1)] == np.random.default_rng(7).random(3).tolist()
    True
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._begin()

    def _begin(self) -> None:
        self._before = self._generator.bit_generator.state  # when the block was drawn
        self._block: Floats = np.zeros(0)
        self._used = 0

    def take(self, count: int) -> Floats:
        """Return the next numbers. The caller must not change the array."""
        start = self._used
        stop = start + count
        if stop <= self._block.size:
            self._used = stop
            return self._block[start:stop]
        self._rewind()
        if count > _BLOCK:
            return self._generator.random(count)
        self._before = self._generator.bit_generator.state
        self._block = self._generator.random(_BLOCK)
        self._used = count
        return self._block[:count]

    def rows(self, active: Booleans, each: int) -> Floats:
        """Return the next numbers for some of n rounds. The caller must not change the array."""
        count = int(np.count_nonzero(active))
        drawn = self.take(each * count).reshape(-1, each)
        if count == active.size:
            return drawn
        found = np.zeros((active.size, each))
        found[active] = drawn
        return found

    @property
    def state(self) -> dict[str, Any]:
        """The state of the generator after the numbers that were taken; may be set."""
        self._rewind()
        found: Any = self._generator.bit_generator.state
        return dict(found)

    @state.setter
    def state(self, state: Any) -> None:
        self._generator.bit_generator.state = state
        self._begin()

    def _rewind(self) -> None:
        """Set the generator to its state after the numbers that were taken."""
        if self._block.size:
            self._generator.bit_generator.state = self._before
            self._generator.random(self._used)
        self._begin()
