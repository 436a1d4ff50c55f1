"""What an algorithm declares about its loss estimates, so that it can be checked exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.types import Booleans, Floats
from crossbandit.errors import CheckFailedError

if TYPE_CHECKING:
    from crossbandit.algorithms.learners.learner import Learner
    from crossbandit.graphs import FeedbackGraph

PolicyFunction = Callable[[Floats, int], Floats]


def no_correction(policies: Floats, context: int) -> Floats:
    """Return 0 for each arm.

    Args:
        policies: The policy of each context (contexts, arms).
        context: The number of the round's context.
    """
    del context
    return np.zeros(policies.shape[1])


def no_share(policies: Floats, context: int) -> Floats:
    """Raise an error: the shares depend on what a learner has seen."""
    del policies, context
    raise CheckFailedError(
        "The shares of this declaration depend on the learner. Ask for them with "
        "declared.of_round(learner)."
    )


def estimates_of(learner: Learner, copy: int = 0) -> Floats:
    """Return the sums of estimates and corrections of a learner of the package.

    Args:
        learner: A learner whose state has `estimates`: either a row for each context, or, together
            with `bias`, the form that the cores of the package use.
        copy: Which copy, if the state has several: 0 for that of the next round.

    Returns:
        A new array of contexts by arms.
    """
    state: Any = learner.state()
    estimates = np.array(state["estimates"], dtype=np.float64)
    if estimates.ndim == 2:  # a row for each context
        return estimates
    algorithm: Any = learner.algorithm
    if getattr(algorithm, "crosses", getattr(algorithm, "cross_learning", True)) is False:
        return np.asarray(estimates[:, :, 0] + state["bias"])
    offsets, entries, table, _ = learner.problem.form.support()
    width, own = table.shape[2], estimates[copy]
    return np.array(
        [
            state["bias"][copy] + (own[:, offset : offset + width] * table[entry]).sum(axis=1)
            for offset, entry in zip(offsets, entries, strict=True)
        ]
    )


def rate_of(learner: Learner) -> float:
    """Return the learning rate `eta` that the learner was given or has set.

    Args:
        learner: The learner.

    Raises:
        CheckFailedError: It has none.
    """
    rate = learner.tuned().get("eta", getattr(learner.algorithm, "eta", None))
    if rate is None:
        raise CheckFailedError(
            f"{type(learner.algorithm).__name__} has no parameter eta, and its Estimator declares "
            "no rate. Give Estimator(..., rate=...), a function of the learner."
        )
    return float(rate)


@dataclass(frozen=True)
class Pairs:
    """How an algorithm learns from pairs of rounds that are played from the same policies.

    A fair coin decides from which of the two rounds the algorithm learns. The feedback of the arm
    played in it is kept with some probability. If it is not kept, nothing is added.
    """

    kept: PolicyFunction
    epoch_length: int  # the number of rounds in which the weights stay the same
    shift: float  # what is added to estimated observation probabilities


@dataclass(frozen=True)
class Estimator:
    """The expectation of what one round adds to the estimates of an algorithm.

    A round in context c draws its arm from policies[c] and reveals arm b with the probability
    `P(b) = policies[c](N_in(b))`. The loss of a revealed arm is multiplied by a weight and added to
    its estimate. So the share of its loss that arm b is given in expectation is

        share(b) = P(b) * weight(b),

    which is 1 if the estimate is unbiased, and P(b) / (P(b) + gamma) with implicit exploration.
    The mean and the variance of what is added follow from it. All other arithmetic of an algorithm
    can be compared with them by playing every arm once.

    The estimates are the input of FTRL with the negative entropy as regulariser: in each context,
    p(a) is proportional to exp(-rate * estimate(a)). The policy is p, mixed with exploration.

    `check_estimator`, `theory.decompose` and `theory.verify` use this declaration and no other.

    Attributes:
        graph: What plays reveal to the learner.
        share: Takes the policies of all contexts (contexts, arms) and the number of the round's
            context. Returns the share of each arm (arms,).
        correction: Takes the same. Returns what is added to each arm, revealed or not (arms,).
        cross_learning: Whether a round is added in every context. If not, only in its own.
        estimates: Takes a learner. Returns what it has added up in each context for each arm, a new
            array (contexts, arms).
        rate: Takes a learner. Returns the learning rate of its next round: one, or one for each
            context (contexts,).
        policy: Takes a learner and the distributions p of FTRL (contexts, arms). Returns the
            policies of the next round. If None, any mixture of p with a distribution that is the
            same in all contexts is right.
        baseline: What is subtracted from a revealed loss before it is weighted. None means the mean
            of the losses that the round reveals in its context.
        pairs: How it learns from one of two rounds; None if it learns from every round.
        second_moment: A bound on the mean of sum_a p(a) lhat(a)^2, where lhat is what a round adds
            and losses are at most 1. With cross-learning it is averaged over contexts; without,
            it is that of the round's context. None if nothing is claimed.
        at: If the shares depend on what a learner has seen: takes a learner and which arms are
            available (arms,), or None for all. Returns the declaration for its next round.

    >>> from crossbandit import graphs
    >>> apple = graphs.apple_tasting()
    >>> unbiased = Estimator(apple, lambda policies, context: np.ones(2))
    >>> policies, losses = np.array([[0.25, 0.75]]), np.array([[0.5, 1.0]])
    >>> unbiased.mean(policies, 0, losses)
    array([[0.5, 1. ]])
    """

    graph: FeedbackGraph
    share: PolicyFunction
    correction: PolicyFunction = no_correction
    cross_learning: bool = True
    estimates: Callable[[Learner], Floats] = estimates_of
    rate: Callable[[Learner], Floats | float] = rate_of
    policy: Callable[[Learner, Floats], Floats] | None = None
    baseline: float | None = 0.0
    pairs: Pairs | None = None
    second_moment: float | None = None
    at: Callable[[Learner, Booleans | None], Estimator] | None = None

    @property
    def rounds(self) -> int:
        """How many rounds are played for one step of learning: 2 for pairs, otherwise 1."""
        return 1 if self.pairs is None else 2

    def of_round(self, learner: Learner, available: Booleans | None = None) -> Estimator:
        """Return the declaration for the next round of a learner.

        Args:
            learner: The learner.
            available: Which arms may be played in the round (arms,); None for all.
        """
        return self if self.at is None else self.at(learner, available)

    def ftrl(self, learner: Learner) -> Floats:
        """Return the distributions of FTRL before the next round of a learner.

        Args:
            learner: The learner.

        Returns:
            p, proportional to exp(-rate * estimates), in each context (contexts, arms).
        """
        estimates = self.estimates(learner)
        rates = np.broadcast_to(self.rate(learner), len(estimates))
        return exponential_weights(estimates, rates)

    def observed(self, policies: Floats, context: int) -> Floats:
        """Return the probability that a round reveals each arm and that its feedback is kept.

        Args:
            policies: The policy of each context (contexts, arms).
            context: The context of the round.
        """
        played = policies[context]
        if self.pairs is not None:
            played = played * self.pairs.kept(policies, context)
        return self.graph.observation_mass(played)

    def mean(self, policies: Floats, context: int | tuple[int, ...], losses: Floats) -> Floats:
        """Return the expectation of what a round adds, over all that is drawn in it.

        Args:
            policies: The policy of each context in this round (contexts, arms).
            context: The number of the round's context; the numbers of both for a pair.
            losses: The losses of the round (contexts, arms); for a pair (2, contexts, arms).

        Returns:
            What is added in each context to each arm, in expectation (contexts, arms).
        """
        means = [self._moments(policies, c, table)[0] for c, table in _rounds(context, losses)]
        return np.asarray(np.mean(means, axis=0))

    def variance(self, policies: Floats, context: int | tuple[int, ...], losses: Floats) -> Floats:
        """Return the variance of what a round adds, over all that is drawn in it.

        Args:
            policies: The policy of each context in this round (contexts, arms).
            context: The number of the round's context; the numbers of both for a pair.
            losses: The losses of the round (contexts, arms); for a pair (2, contexts, arms).

        Returns:
            The variance in each context of each arm (contexts, arms).
        """
        both = [self._moments(policies, c, table) for c, table in _rounds(context, losses)]
        means, variances = zip(*both, strict=True)
        return np.asarray(np.mean(variances, axis=0) + np.var(means, axis=0))

    def _moments(self, policies: Floats, context: int, losses: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the variance of what is added, if this round is learned from."""
        share, correction = self.share(policies, context), self.correction(policies, context)
        if self.baseline is None:
            mean, variance = self._with_own_mean(policies[context], losses, context, share)
        else:
            observed = self.observed(policies, context)
            shared = (losses - self.baseline) * share
            mean, variance = shared + correction, shared**2 * _odds(observed)
        return self._in_contexts(context, mean), self._in_contexts(context, variance)

    def _with_own_mean(
        self, policy: Floats, losses: Floats, context: int, share: Floats
    ) -> tuple[Floats, Floats]:
        """Return the mean and the variance if revealed losses are measured against their mean."""
        observed = self.graph.observation_mass(policy)
        weights = np.divide(share, observed, out=np.zeros_like(share), where=observed > 0)
        added = []
        for seen in self.graph.adjacency:
            base = losses[context, seen].mean() if seen.any() else 0.0
            added.append((losses - base) * seen * weights)
        mean = np.einsum("i,icb->cb", policy, np.array(added))
        return mean, np.einsum("i,icb->cb", policy, np.square(np.array(added) - mean))

    def _in_contexts(self, context: int, added: Floats) -> Floats:
        if self.cross_learning:
            return added
        own = np.zeros_like(added)
        own[context] = added[context]
        return own


def _rounds(context: int | tuple[int, ...], losses: Floats) -> list[tuple[int, Floats]]:
    contexts = [context] if isinstance(context, (int, np.integer)) else list(context)
    tables = losses.reshape(len(contexts), *losses.shape[-2:])
    return [(int(c), table) for c, table in zip(contexts, tables, strict=True)]


def _odds(observed: Floats) -> Floats:
    """Return (1 - P) / P; 0 where P is 0."""
    odds: Floats = np.divide(
        1.0 - observed, observed, out=np.zeros_like(observed), where=observed > 0
    )
    return odds


def exponential_weights(
    estimates: Floats, rates: Floats, available: Booleans | None = None
) -> Floats:
    """Return exp(-rate * estimates), normalised in each context."""
    scores = -np.asarray(rates)[:, None] * estimates
    if available is not None:
        scores = np.where(available, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def observed_share(graph: FeedbackGraph, policy: Floats, implicit: Floats | float) -> Floats:
    """Return P / (P + implicit) for the observation probabilities P of a policy; 0 where P is 0."""
    observed = graph.observation_mass(policy)
    share: Floats = np.divide(
        observed, observed + implicit, out=np.zeros_like(observed), where=observed > 0
    )
    return share


def acyclic_bound(graph: FeedbackGraph, rho: float = 0.0) -> float | None:
    """Return a bound on sum_a p(a) / q(N_in(a)) for all q that are at least (1 - rho) p.

    If every arm has a self-loop, sum_a q(a) / q(N_in(a)) is at most the maximum acyclic subgraph
    number (Alon et al. 2013).
    """
    if graph.arms_without_self_loop:
        return None
    return graph.maximum_acyclic_bounds.upper / (1.0 - rho)
