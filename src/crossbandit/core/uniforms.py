"""Random numbers for single rounds: drawn in blocks, taken a few at a time."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

import numpy as np

BLOCK = cython.declare(cython.Py_ssize_t, 1024)  # numbers that are drawn at a time


@cython.cclass
class Uniforms:
    """Random numbers from [0, 1), drawn in blocks: taking a few is faster than calling a generator.

    >>> uniforms = Uniforms(np.random.default_rng(7))
    >>> [*uniforms.take(2), *uniforms.take(1)] == np.random.default_rng(7).random(3).tolist()
    True
    """

    def __init__(self, generator, before=None, block=None, used=0) -> None:
        self.generator = generator
        self.begin()
        if block is not None:
            self.before, self.array, self.used = before, block, used
            self.block, self.size = block, len(block)

    def __reduce__(self):
        return type(self), (self.generator, self.before, self.array, self.used)

    def begin(self):
        self.before = self.generator.bit_generator.state  # when the block was drawn
        self.array = np.zeros(0)
        self.block = self.array
        self.used = self.size = 0

    def draw(self):
        self.before = self.generator.bit_generator.state
        self.array = self.generator.random(BLOCK)
        self.block = self.array
        self.used, self.size = 0, BLOCK

    def next(self):
        """Return the next number."""
        if self.used == self.size:
            self.draw()
        self.used += 1
        return self.block[self.used - 1]

    def take(self, count: cython.Py_ssize_t):
        """Return the next numbers. The caller must not change the array."""
        start: cython.Py_ssize_t = self.used
        if start + count <= self.size:
            self.used = start + count
            return self.array[start : self.used]
        self.rewind()
        if count > BLOCK:
            return self.generator.random(count)
        self.draw()
        self.used = count
        return self.array[:count]

    def rows(self, active, each: cython.Py_ssize_t):
        """Return the next numbers for some of n rounds. The caller must not change the array."""
        count: cython.Py_ssize_t = np.count_nonzero(active)
        drawn = self.take(each * count).reshape(-1, each)
        if count == active.size:
            return drawn
        found = np.zeros((active.size, each))
        found[active] = drawn
        return found

    @property
    def state(self):
        """The state of the generator after the numbers that were taken; may be set."""
        self.rewind()
        return dict(self.generator.bit_generator.state)

    @state.setter
    def state(self, state):
        self.generator.bit_generator.state = state
        self.begin()

    def rewind(self):
        """Set the generator to its state after the numbers that were taken."""
        if self.size > 0:
            self.generator.bit_generator.state = self.before
            self.generator.random(self.used)
        self.begin()
