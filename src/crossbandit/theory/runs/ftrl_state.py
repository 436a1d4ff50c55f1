"""What FTRL and its policies are before a round, and the terms of the round's regret.

The terms are those in the docstring of `crossbandit.theory.runs.declared`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.algorithms import Estimator, Learner
    from crossbandit.types import Floats

_TOLERANCE = 1e-8


def expected_input(
    declared: Sequence[Estimator], policies: Floats, counts: Floats, losses: Floats
) -> Floats:
    """Return the declared expectation of what is added, also over contexts.

    Args:
        declared: The declared estimator of each round of a pair, or of one round.
        policies: The policy of each context (contexts, arms).
        counts: The probability of each context (contexts,).
        losses: The losses of each round (rounds, contexts, arms).

    Returns:
        What is added in each context to each arm, in expectation (contexts, arms).
    """
    mean = [
        share * one.mean(policies, int(c), table)
        for one, table in zip(declared, losses, strict=False)
        for c, share in enumerate(counts)
        if share > 0
    ]
    return np.asarray(np.sum(mean, axis=0) / len(losses))


@dataclass(frozen=True, eq=False)
class FtrlState:
    """The state before a round, or a pair: FTRL, the policies, and the sums of estimates.

    Attributes:
        declared: The declared estimator of the round.
        estimates: The sums of estimates (contexts, arms).
        rates: The learning rate of each context (contexts,).
        weights: The distributions p of FTRL (contexts, arms).
        policies: The policies q (contexts, arms).
    """

    declared: Estimator
    estimates: Floats
    rates: Floats
    weights: Floats
    policies: Floats

    @classmethod
    def of(cls, learner: Learner, declared: Estimator) -> FtrlState:
        """Return the state before the next round of a learner.

        Args:
            learner: The learner.
            declared: The declared estimator of the round.
        """
        estimates = declared.estimates(learner)
        contexts = range(len(estimates))
        return cls(
            declared,
            estimates,
            np.broadcast_to(declared.rate(learner), len(estimates)),
            declared.ftrl(learner),
            np.array([learner.policy(c) for c in contexts]),
        )

    def expected_policies(self, learner: Learner) -> Floats:
        """Return the policies that follow from FTRL and the declaration (contexts, arms).

        If the declaration has no policy, the policies must mix FTRL with one distribution. Its
        weight and the distribution are those that fit the first context best.

        Args:
            learner: The learner.
        """
        if self.declared.policy is not None:
            return self.declared.policy(learner, self.weights)
        differences = self.weights - self.weights[0]
        scale = float((differences**2).sum())
        if scale > _TOLERANCE**2:
            kept = float(((self.policies - self.policies[0]) * differences).sum()) / scale
        else:  # FTRL is the same in all contexts: take the largest possible weight
            kept = float((self.policies[0] / self.weights[0]).min())
        mixed = np.clip(self.policies[0] - kept * self.weights[0], 0.0, None)
        expected: Floats = kept * self.weights + mixed
        return expected

    def require_policies(self, learner: Learner) -> None:
        """Raise CheckFailedError unless the policies are those that are declared.

        Args:
            learner: The learner.
        """
        gap = np.abs(self.policies - self.expected_policies(learner)).max()
        if not gap <= _TOLERANCE:
            raise CheckFailedError(
                f"The policies of {type(learner.algorithm).__name__} in round {learner.round} are "
                "not FTRL with the rate, the estimates and the exploration that it declares. So "
                "their regret cannot be split into these terms."
            )

    def terms(self, best: Floats, losses: Floats, mean: Floats, after: Floats) -> Floats:
        """Return each term, and the regret, in each context (terms + 1, contexts).

        Args:
            best: 1 for the best arm of each context, else 0 (contexts, arms).
            losses: The losses of each round (rounds, contexts, arms).
            mean: The declared expectation of what is added (contexts, arms).
            after: The sums of estimates after the rounds (contexts, arms).
        """
        p, q, summed, added = (
            self.weights,
            self.policies,
            losses.sum(axis=0),
            after - self.estimates,
        )
        gap, normaliser = p - best, self._normaliser(added)
        return np.array(
            [
                ((q - p) * summed).sum(axis=1),
                (gap * (summed - mean)).sum(axis=1),
                (gap * (mean - added)).sum(axis=1),
                (p * added).sum(axis=1) + normaliser,
                -normaliser - (best * added).sum(axis=1),
                ((q - best) * summed).sum(axis=1),
            ]
        )

    def _normaliser(self, added: Floats) -> Floats:
        """Return log(Z) / eta; its limit where eta is 0."""
        least = added.min(axis=1, keepdims=True)
        rates = self.rates[:, None]
        z = (self.weights * np.exp(-rates * (added - least))).sum(axis=1)
        limit = -(self.weights * added).sum(axis=1)
        safe = np.where(self.rates > 0, self.rates, 1.0)
        normaliser: Floats = np.where(self.rates > 0, np.log(z) / safe - least[:, 0], limit)
        return normaliser
