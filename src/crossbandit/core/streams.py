"""Random streams by name: every part of an experiment draws from its own stream.

A stream depends only on the seed and on its name. So all algorithms of a study see the same
contexts, and adding an algorithm changes no other result.
"""

from __future__ import annotations

import numbers
import zlib
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from crossbandit.core.validation import reject

if TYPE_CHECKING:
    from crossbandit.core.types import Floats

Seed = int | np.random.SeedSequence | np.random.Generator | None
_Call = TypeVar("_Call", bound=Callable[..., Any])


def takes_rng(call: _Call) -> _Call:
    """Let a function take its seed by the name `rng`, too, as SciPy and scikit-image call it.

    >>> takes_rng(lambda *, seed: seed)(rng=7)
    7
    """

    @wraps(call)
    def named(*args: Any, **options: Any) -> Any:
        if "rng" in options:
            if "seed" in options:
                owner = call.__qualname__.removesuffix(".__init__")
                reject(owner, "rng", "left out if seed is given", options["rng"])
            options["seed"] = options.pop("rng")
        return call(*args, **options)

    return cast("_Call", named)


def stream(seed: Seed, name: str) -> np.random.Generator:
    """Return the generator that belongs to `name` under `seed`.

    Args:
        seed: An int, a SeedSequence, a Generator, or None for a new seed each time. A Generator is
            advanced: two calls with the same Generator give two different streams.
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
        seed: An int, a SeedSequence, a Generator, or None for a new seed. A Generator is advanced.
    """
    return _sequence(seed)


def _sequence(seed: Seed) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(int(seed.integers(2**63)))
    if seed is None:
        return np.random.SeedSequence()
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        expected = "an integer of at least 0, a SeedSequence, a Generator or None"
        reject("Crossbandit", "seed", expected, seed)
    return np.random.SeedSequence(int(seed))
