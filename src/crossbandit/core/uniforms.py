"""Random numbers for single rounds."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.pycapsule import PyCapsule_GetPointer

import numpy as np


@cython.cclass
class Uniforms:
    """The random numbers from [0, 1) of a generator, one at a time or many.

    Machine code takes them from its bit generator, by the functions that NumPy offers for that:
    a call of the generator would take a hundred times as long. Its lock is not taken: the owner of
    the generator must have one.

    >>> uniforms = Uniforms(np.random.default_rng(7))
    >>> [*uniforms.take(2), *uniforms.take(1)] == np.random.default_rng(7).random(3).tolist()
    True
    """

    def __init__(self, generator) -> None:
        self.generator, self.source = generator, generator.bit_generator
        if cython.compiled:
            pointer = PyCapsule_GetPointer(self.source.capsule, b"BitGenerator")
            self.bits = cython.cast("Bits *", pointer)

    def __reduce__(self):
        return type(self), (self.generator,)

    def next(self):
        """Return the next number."""
        if cython.compiled:
            return self.bits.next_double(self.bits.state)
        else:  # noqa: RET505 - what follows a return would be unreachable in machine code
            return self.generator.random()

    def take(self, count):
        """Return the next numbers."""
        return self.generator.random(count)

    def rows(self, active, each: cython.Py_ssize_t):
        """Return the next numbers for some of n rounds."""
        count: cython.Py_ssize_t = np.count_nonzero(active)
        drawn = self.take((count, each))
        if count == active.size:
            return drawn
        found = np.zeros((active.size, each))
        found[active] = drawn
        return found

    @property
    def state(self):
        """The state of the generator; may be set."""
        return dict(self.source.state)

    @state.setter
    def state(self, state):
        self.source.state = state
