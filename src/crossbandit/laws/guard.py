"""A law that is held against a learner which assumes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.laws.guard import GuardState, law_weight
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.kernels.rounds import Floats, Integers
    from crossbandit.laws.outcome_law import OutcomeLaw


class GuardedLaw:
    """Follows a law's bids, or exponential weights over all bids, whichever earns more.

    The law is a best response to the past: who knows it can exploit it. Exponential weights with
    cross-learning (importance-weighted by what each bid shows) assume nothing about prices. A
    second, two-sided exponential weighting chooses between the two by what they would have earned;
    a share of 0.25 / sqrt(rounds) is always left to the other.

    What is known of it: for prices fixed beforehand, what the two experts *recommend* is compared
    by unbiased estimates (up to the small implicit exploration), so the choice between them loses
    O(sqrt(T log T)) to the better recommendation, in expectation, times the highest value and the
    variance of the estimates; and the share left to the other costs at most 0.5 sqrt(T) values. The
    experts learn from what the guard plays: what either would have earned alone is not compared.

    Args:
        law: A law for first-price auctions; it learns along.

    >>> from crossbandit.laws import OutcomeLaw
    >>> law = GuardedLaw(OutcomeLaw(np.linspace(0, 1, 51), (0, 1), seed=1))
    >>> rng = np.random.default_rng(0)
    >>> bids = law.play(rng.random(2_000), 0.4 * rng.random(2_000))
    >>> bool(law.law_weight > 0.5)
    True
    """

    def __init__(self, law: OutcomeLaw) -> None:
        if law.payoff != "first-price":
            reject("GuardedLaw", "law", "a law for first-price auctions", law.payoff)
        size = law.amounts.size
        self.law = law
        self._guard = GuardState(
            wins=np.zeros(size),
            spent=np.zeros(3),
            gains=np.zeros(2),
            chances=np.zeros(size),
            seen=np.zeros(size),
        )

    @property
    def gains(self) -> Floats:
        """Estimates of what the law and the learner would have earned, in highest values."""
        return self._guard.gains.copy()

    @property
    def law_weight(self) -> float:
        """The probability with which the law is followed now."""
        return float(law_weight(self._guard))

    def play(
        self,
        contexts: npt.ArrayLike,
        numbers: npt.ArrayLike,
        *,
        worths: npt.ArrayLike | None = None,
        classes: Mapping[str, npt.ArrayLike] | None = None,
    ) -> Integers:
        """Decide and learn in all rounds of a log; see `OutcomeLaw.play`."""
        return self.law.guarded(self._guard, contexts, numbers, worths, classes)
