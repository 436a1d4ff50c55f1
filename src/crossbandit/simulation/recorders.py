"""What a simulation keeps of its rounds: all of them, or a thinned regret curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from crossbandit.simulation.players import BatchRecord
from crossbandit.simulation.run import Run

if TYPE_CHECKING:
    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment
    from crossbandit.types import Floats

THIN_POINTS = 1000


class Recorder(Protocol):
    """Records a run batch by batch."""

    def take(self, batch: BatchRecord) -> None:
        """Record the next rounds."""

    def finish(
        self, algorithm: Algorithm, environment: Environment, seed: np.random.SeedSequence
    ) -> Run:
        """Return the run."""


class FullRecorder:
    """Keeps every round."""

    def __init__(self) -> None:
        self._batches: list[BatchRecord] = []

    def take(self, batch: BatchRecord) -> None:
        self._batches.append(batch)

    def finish(
        self, algorithm: Algorithm, environment: Environment, seed: np.random.SeedSequence
    ) -> Run:
        log = BatchRecord(*(np.concatenate(parts) for parts in zip(*self._batches, strict=True)))
        return Run(
            algorithm=algorithm,
            environment=environment,
            seed=seed,
            rounds=np.arange(1, log.arms.size + 1),
            regret=np.cumsum(log.losses - log.comparator_losses),
            loss=float(log.losses.sum()),
            comparator_loss=float(log.comparator_losses.sum()),
            log=log,
        )


class ThinRecorder:
    """Keeps the regret after `THIN_POINTS` evenly spread rounds, in constant memory."""

    def __init__(self, horizon: int) -> None:
        points = np.linspace(1, horizon, min(THIN_POINTS, horizon))
        self._rounds = np.unique(points.round().astype(np.int64))
        self._regret: list[Floats] = []
        self._played = 0
        self._last = self._loss = self._comparator_loss = 0.0

    def take(self, batch: BatchRecord) -> None:
        stop = self._played + batch.arms.size
        first, last = np.searchsorted(self._rounds, [self._played, stop], side="right")
        curve = _cumulative(self._last, batch.losses - batch.comparator_losses)
        self._regret.append(curve[self._rounds[first:last] - self._played])
        self._last = float(curve[-1])
        self._loss = float(_cumulative(self._loss, batch.losses)[-1])
        self._comparator_loss = float(
            _cumulative(self._comparator_loss, batch.comparator_losses)[-1]
        )
        self._played = stop

    def finish(
        self, algorithm: Algorithm, environment: Environment, seed: np.random.SeedSequence
    ) -> Run:
        return Run(
            algorithm=algorithm,
            environment=environment,
            seed=seed,
            rounds=self._rounds,
            regret=np.concatenate(self._regret),
            loss=self._loss,
            comparator_loss=self._comparator_loss,
        )


def _cumulative(sum_: float, numbers: Floats) -> Floats:
    """Return cumulative sums that start at `sum_`; they do not depend on the length of batches."""
    sums: Floats = np.cumsum(np.append(sum_, numbers))
    return sums
