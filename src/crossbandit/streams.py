"""Randomness by name: every part of an experiment draws from a stream of its own.

A stream depends on the seed and on its name alone. So all algorithms of a cell meet the same
contexts, and adding one changes no other result.
"""

from __future__ import annotations

import numbers
import zlib

import numpy as np

from crossbandit.validation import reject

Seed = int | np.random.SeedSequence | np.random.Generator


def stream(seed: Seed, name: str) -> np.random.Generator:
    """Return the generator that belongs to `name` under `seed`.

    An int or a SeedSequence is left as it is. A Generator is asked for one seed, which advances
    it: two calls with the same Generator give two different streams.

    >>> stream(7, "contexts").random() == stream(7, "contexts").random()
    True
    >>> stream(7, "contexts").random() == stream(7, "learner").random()
    False
    """
    root = _sequence(seed)
    key = (*root.spawn_key, zlib.crc32(name.encode()))
    return np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=key))


def fixed(seed: Seed) -> np.random.SeedSequence:
    """Return a seed that may be used for several streams of one experiment."""
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
