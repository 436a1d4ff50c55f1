"""Losses that do reach their limits, so that nothing spares a dense run its additions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit import environments
from crossbandit.environments import BlockEnvironment

if TYPE_CHECKING:
    from crossbandit.core.blocks import LossBlock


class Clipping(BlockEnvironment):
    """The paper's benchmark, swinging five times as far."""

    def __init__(self, horizon: int) -> None:
        self._calm = environments.paper_benchmark(horizon, alpha=4)
        self.problem, self.context_distribution = (
            self._calm.problem,
            self._calm.context_distribution,
        )

    def block(self, start: int, stop: int) -> LossBlock:
        calm = self._calm.block(start, stop)
        return calm._replace(coefficients=5.0 * calm.coefficients)
