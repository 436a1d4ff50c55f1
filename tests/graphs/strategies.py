"""What the graph tests draw from, and the slow truths that they compare with."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

Bools = npt.NDArray[np.bool_]


def matrices(max_arms: int = 10) -> st.SearchStrategy[Bools]:
    """Square boolean matrices, from empty to full."""
    sizes = st.integers(1, max_arms)
    return sizes.flatmap(lambda arms: hnp.arrays(np.bool_, (arms, arms)))


def adjacent(adjacency: Bools, one: int, other: int) -> bool:
    return bool(adjacency[one, other] or adjacency[other, one])


def is_independent(adjacency: Bools, arms: tuple[int, ...]) -> bool:
    return not any(adjacent(adjacency, a, b) for a, b in combinations(arms, 2))


def brute_force_independence_number(adjacency: Bools) -> int:
    arms = range(len(adjacency))
    return max(
        size
        for size in range(1, len(adjacency) + 1)
        if any(is_independent(adjacency, subset) for subset in combinations(arms, size))
    )


def random_undirected(arms: int, density: float, seed: int) -> Bools:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((arms, arms)) < density, 1)
    return np.asarray(upper | upper.T)
