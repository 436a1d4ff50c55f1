"""What an algorithm declares about its loss estimates, so that it can be checked exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.types import Floats

if TYPE_CHECKING:
    from crossbandit.algorithms.learner import Learner
    from crossbandit.graphs import FeedbackGraph

OfPolicies = Callable[[Floats, int], Floats]


def no_correction(policies: Floats, context: int) -> Floats:
    """Return 0 for each arm.

    Args:
        policies: The policy of each context (contexts, arms).
        context: The number of the round's context.
    """
    del context
    return np.zeros(policies.shape[1])


def estimates_of(learner: Learner) -> Floats:
    """Return the sums of estimates and corrections of a learner of the package.

    Args:
        learner: A learner whose state has `estimates`: a row for each context, or as the kernels
            of the package keep them, beside `bias`.

    Returns:
        A new array of contexts by arms.
    """
    state: Any = learner.state()
    estimates = np.array(state["estimates"], dtype=np.float64)
    if estimates.ndim == 2:  # a row for each context
        return estimates
    if getattr(learner.algorithm, "crosses", True) is False:
        return np.asarray(estimates[:, :, 0] + state["bias"])
    offsets, entries, table, _ = learner.problem.form.support()
    width = table.shape[2]
    return np.array(
        [
            state["bias"][0] + (estimates[0, :, offset : offset + width] * table[entry]).sum(axis=1)
            for offset, entry in zip(offsets, entries, strict=True)
        ]
    )


@dataclass(frozen=True)
class Estimator:
    """The expectation of what one round adds to the estimates of an algorithm.

    A round in context c draws its arm from policies[c] and reveals arm b with the probability
    `P(b) = policies[c](N_in(b))`. The loss of a revealed arm is multiplied by a weight and added to
    its estimate. So the share of its loss that arm b is given in expectation is

        share(b) = P(b) * weight(b),

    which is 1 if the estimate is unbiased, and P(b) / (P(b) + gamma) with implicit exploration.
    Mean and variance of what is added follow from it: all other arithmetic of an algorithm can be
    compared with them by playing every arm once.

    Attributes:
        graph: What plays reveal to the learner.
        share: Takes the policies of all contexts (contexts, arms) and the number of the round's
            context. Returns the share of each arm (arms,).
        correction: Takes the same. Returns what is added to each arm, whatever is revealed (arms,).
        cross_learning: Whether a round is added in every context; if not, in its own only.
        estimates: Takes a learner. Returns what it has added up in each context for each arm, a new
            array (contexts, arms).

    >>> from crossbandit import graphs
    >>> apple = graphs.apple_tasting()
    >>> unbiased = Estimator(apple, lambda policies, context: np.ones(2))
    >>> policies, losses = np.array([[0.25, 0.75]]), np.array([[0.5, 1.0]])
    >>> unbiased.mean(policies, 0, losses)
    array([[0.5, 1. ]])
    """

    graph: FeedbackGraph
    share: OfPolicies
    correction: OfPolicies = no_correction
    cross_learning: bool = True
    estimates: Callable[[Learner], Floats] = estimates_of

    def mean(self, policies: Floats, context: int, losses: Floats) -> Floats:
        """Return the expectation of what a round adds, over the arm that is drawn.

        Args:
            policies: The policy of each context in this round (contexts, arms).
            context: The number of the round's context.
            losses: The losses of the round (contexts, arms).

        Returns:
            What is added in each context to each arm, in expectation (contexts, arms).
        """
        share, correction = self.share(policies, context), self.correction(policies, context)
        mean: Floats = self._in_contexts(context, losses * share + correction)
        return mean

    def variance(self, policies: Floats, context: int, losses: Floats) -> Floats:
        """Return the variance of what a round adds, over the arm that is drawn.

        Args:
            policies: The policy of each context in this round (contexts, arms).
            context: The number of the round's context.
            losses: The losses of the round (contexts, arms).

        Returns:
            The variance in each context of each arm (contexts, arms).
        """
        observed = self.graph.observation_mass(policies[context])
        weighted = losses * self.share(policies, context)
        odds = np.divide(1.0 - observed, observed, out=np.zeros_like(observed), where=observed > 0)
        variance: Floats = self._in_contexts(context, weighted**2 * odds)
        return variance

    def _in_contexts(self, context: int, added: Floats) -> Floats:
        if self.cross_learning:
            return added
        own = np.zeros_like(added)
        own[context] = added[context]
        return own


def observed_share(graph: FeedbackGraph, policy: Floats, implicit: Floats | float) -> Floats:
    """Return P / (P + implicit) for the observation probabilities P of a policy; 0 where P is 0.

    Args:
        graph: What plays reveal.
        policy: A probability for each arm (arms,).
        implicit: The implicit exploration, of all arms or of each (arms,).

    Returns:
        The share of each arm (arms,).
    """
    observed = graph.observation_mass(policy)
    share: Floats = np.divide(
        observed, observed + implicit, out=np.zeros_like(observed), where=observed > 0
    )
    return share
