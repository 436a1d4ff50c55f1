"""What one simulation recorded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment
    from crossbandit.kernels.rounds import Floats, Integers


@dataclass(frozen=True, eq=False)
class Run:
    """One algorithm on one environment under one seed, round by round.

    The comparator plays, in each context, the one arm with the least total loss over the horizon;
    both are charged on the contexts that occurred.
    """

    algorithm: Algorithm
    environment: Environment
    seed: np.random.SeedSequence
    contexts: npt.NDArray[Any]
    arms: Integers
    losses: Floats
    comparator_arms: Integers
    comparator_losses: Floats

    @cached_property
    def regret(self) -> Floats:
        """The regret after each round."""
        return np.cumsum(self.losses - self.comparator_losses)

    @property
    def final_regret(self) -> float:
        """The regret after the last round."""
        return float(self.regret[-1])

    def __repr__(self) -> str:
        return (
            f"Run({self.algorithm.id} for {self.arms.size} rounds, "
            f"final regret {self.final_regret:.2f})"
        )
