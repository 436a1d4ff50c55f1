"""Functions for the `Estimator` of an algorithm: shares, estimates, rates and bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import CheckFailedError

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.learners.learner import Learner
    from crossbandit.types import Booleans, Floats


def no_correction(policies: Floats, context: int) -> Floats:
    """Return 0 for each arm.

    Args:
        policies: The policy of each context (contexts, arms).
        context: The number of the round's context.
    """
    del context
    return np.zeros(policies.shape[1])


def no_share(policies: Floats, context: int) -> Floats:
    """Raise an error: the shares depend on what a learner has seen.

    Args:
        policies: The policy of each context (contexts, arms).
        context: The number of the round's context.

    Raises:
        CheckFailedError: Always.
    """
    del policies, context
    raise CheckFailedError(
        "The shares of this declaration depend on the learner. Ask for them with "
        "declared.of_round(learner)."
    )


def estimates_of(learner: Learner, copy: int = 0) -> Floats:
    """Return the sums of estimates and corrections of a learner of the package.

    Args:
        learner: A learner whose state has `estimates`: a row for each context; or with `bias`, as
            the kernels of the package keep them.
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


def exponential_weights(
    estimates: Floats, rates: Floats, available: Booleans | None = None
) -> Floats:
    """Return exp(-rate * estimates), normalised in each context.

    Args:
        estimates: The estimates (contexts, arms).
        rates: The learning rate of each context (contexts,).
        available: Which arms may be played (arms,); None for all.

    Returns:
        A distribution for each context (contexts, arms).
    """
    scores = -np.asarray(rates)[:, None] * estimates
    if available is not None:
        scores = np.where(available, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


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


def acyclic_bound(graph: FeedbackGraph, rho: float = 0.0) -> float | None:
    """Return a bound on sum_a p(a) / q(N_in(a)) for all q that are at least (1 - rho) p.

    If every arm has a self-loop, sum_a q(a) / q(N_in(a)) is at most the maximum acyclic subgraph
    number (Alon et al. 2013).

    Args:
        graph: The graph.
        rho: The probability of exploration.

    Returns:
        The bound; None if some arm has no self-loop.
    """
    if graph.arms_without_self_loop:
        return None
    return graph.maximum_acyclic_bounds.upper / (1.0 - rho)
