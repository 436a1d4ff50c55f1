"""`Uniforms`: random numbers for choices, drawn in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from crossbandit.types import Booleans, Floats

_BLOCK = 1024  # random numbers that are drawn at a time


class Uniforms:
    """Random numbers from [0, 1), drawn in blocks: taking a few is faster than calling a generator.

    Args:
        generator: The generator. Nothing else may draw from it.

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
        """Return the next numbers. The caller must not change the array.

        Args:
            count: How many.
        """
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
        """Return the next numbers for some of n rounds. The caller must not change the array.

        Args:
            active: (n,). Whether there is something to choose in each round.
            each: How many numbers are drawn for each such round.

        Returns:
            The numbers, (n, each); 0 in the other rounds.
        """
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
