"""Notice outcomes that are missing more often after a loss, or after a win."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import CheckpointError, MissingFeedbackWarning, MissingOutcomesError
from crossbandit.kernels.laws.watching import EXCESS, HIGHEST, LOSSES, LOWEST, MATERIAL

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Floats

MISSING = ("refuse", "warn", "accept")
_DOUBT, _ALARM = 1e-3, 1e-6  # the probability that it is ever noticed without reason


class OutcomeWatch:
    """Compares the decisions whose outcomes came with all decisions, by their chance of winning.

    Every decision carries its chance q of winning, and the mean m of the chances before it. If an
    outcome comes or not whatever it is, the sum of q - m over the decisions with an outcome stays
    near 0: over all decisions it telescopes to a multiple of the change of m, and leaving out some
    at random adds a martingale. If losses are missing, decisions that were likely to win have
    outcomes more often, and the sum grows. It does not matter how late outcomes come, once those
    of wins and losses come at the same rate; while losses come later than wins, it does, and the
    law would be misled in the same way.

    The sum is compared with Freedman's bound after every 64 outcomes. The probability that it is
    ever exceeded without reason is at most 0.001 for a warning, and a millionth for an error. What
    lies back fades with a half-life of 4,096 outcomes, so an imbalance that has ended is forgotten.

    Args:
        missing: "refuse" to raise where the law would be misled, "warn", or "accept".
        words: What a reached and a missed number are called: ("won", "lost").
    """

    def __init__(self, missing: str, words: tuple[str, str]) -> None:
        self.missing = missing
        self._words = words
        self._sums = np.zeros(10)
        self._sums[LOWEST], self._sums[LOSSES] = 1.0, 1.0
        self._warned = False

    @property
    def sums(self) -> Floats:
        """What is counted; it changes."""
        return self._sums

    @property
    def relative(self) -> float:
        """How often a decision that missed has an outcome, relative to one that reached."""
        return float(self._sums[LOSSES])

    @property
    def limit(self) -> float:
        """The excess from which on nothing is learned."""
        return math.log(1.0 / _ALARM) if self.missing == "refuse" else math.inf

    def error(self, count: int = 1) -> MissingOutcomesError:
        """Return the error for outcomes that were not learned from.

        Args:
            count: How many.
        """
        what = "Nothing was learned" if count == 1 else f"{count} outcomes were not learned"
        return MissingOutcomesError(f"{self._found()} {what}. {_REMEDY}")

    def warn(self) -> None:
        """Warn, once, if the difference is beyond chance and large enough to mislead the law."""
        excess = float(self._sums[EXCESS])
        if excess < math.log(1.0 / _DOUBT):
            self._warned = self._warned and excess > 0.0
        elif not self._warned and not MATERIAL <= self.relative <= 1.0 / MATERIAL:
            self._warned = True
            if self.missing != "accept":
                warnings.warn(f"{self._found()} {_REMEDY}", MissingFeedbackWarning, stacklevel=5)

    def _found(self) -> str:
        reached, missed = self._words
        few, many, share = missed, reached, self.relative
        if share > 1.0:
            few, many, share = reached, missed, 1.0 / share
        return (
            f"Outcomes of decisions that {few} come only about {share:.0%} as often as those of "
            f"decisions that {many}. Learning from them would mislead: it would seem as if almost "
            f"all decisions {many}."
        )

    def restore(self, sums: npt.ArrayLike) -> None:
        """Take over what was counted.

        Args:
            sums: What `sums` was.

        Raises:
            CheckpointError: It is impossible.
        """
        given = np.asarray(sums, dtype=float)
        rest = np.delete(given, [1, EXCESS]) if given.shape == self._sums.shape else given - np.inf
        if not np.isfinite(given).all() or (rest < 0).any() or given[HIGHEST] > 65_535:
            raise CheckpointError("The sums of the watch over missing outcomes are impossible.")
        self._sums[:] = given


_REMEDY = (
    "Report every outcome, also losses, as soon as it is certain: count a decision without an "
    "answer as lost after a fixed time. If outcomes come late, learning goes on by itself once "
    "both kinds come. Only if you know that nothing is wrong, set missing='accept'."
)
