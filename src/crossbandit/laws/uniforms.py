"""Random numbers drawn in blocks, in the order in which they would come one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from crossbandit.types import Floats

_BLOCK = 1024


class Uniforms:
    """Numbers from [0, 1) of a generator; a few of them cost less than a call of the generator.

    Args:
        generator: The generator. Nobody else may draw from it.

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
        """Return the next numbers; they may be overwritten by nobody.

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
        """Let the generator stand where the numbers that were taken end."""
        if self._block.size:
            self._generator.bit_generator.state = self._before
            self._generator.random(self._used)
        self._begin()
