"""Algorithm 1 of the paper: cross-learning with graph feedback, known context distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.exponential_core import KnownCore, KnownParameters
from crossbandit.algorithms.tuning import TunedAlgorithm, core_problem, experiment_rate
from crossbandit.core.blocks import ContextBlock
from crossbandit.errors import InvalidParameterError
from crossbandit.learners.algorithm import register
from crossbandit.learners.core_learner import CoreLearner
from crossbandit.learners.estimator import Estimator, acyclic_bound
from crossbandit.losses.forms import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.learners.learner import Learner
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphKnown(TunedAlgorithm[KnownParameters]):
    """FTRL with exact observation probabilities (Algorithm 1).

    Every context keeps exponential weights p_{t,c} and plays r_{t,c} = (1 - rho) p_{t,c} + rho / K.
    The context distribution is known, so the probability of observing an arm is known too, and
    every round is used for learning:

        w_t(a) = E_c[ r_{t,c}(N_in(a)) ],    u_t = w_t + gamma,        (observation probability)
        lhat_{t,c}(a) = l_{t,c}(a) 1{a revealed} / u_t(a).

    Among the arms without self-loop, the one played most, j_t in argmax E_c[ r_{t,c}(a) ] (ties to
    the smallest arm), is given the pessimistic correction b_t = beta / u_t(j_t).

    A round costs K times the number of contexts that have positive probability.

    Bound (Proposition 2): expected regret O~(sqrt(alpha T)) for eta, gamma, rho, beta of the order
    1 / sqrt(alpha T); that value replaces parameters that are None.

    The problem must have the distribution: Problem(..., context_distribution=...), or a sample of
    feature vectors, context_sample=.... A simulation passes on that of the environment.

    Args:
        eta: The learning rate.
        gamma: The implicit exploration, added to observation probabilities.
        rho: The probability of uniform exploration.
        beta: The pessimistic correction of an arm without self-loop.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(
    ...     graphs.complete(2), contexts=2, horizon=100, context_distribution=[0.9, 0.1]
    ... )
    >>> CrossGraphKnown().start(problem, seed=1).policy(0)
    array([0.5, 0.5])
    """

    id: ClassVar[str] = "cross-graph-known"
    parameters_type: ClassVar[type[KnownParameters]] = KnownParameters
    needs_observability: ClassVar[str] = "strong"
    needs_memory: ClassVar[bool] = False
    needs_context_distribution: ClassVar[bool] = True
    takes_availability: ClassVar[bool] = False  # the distribution does not include it

    eta: float | None = None
    gamma: float | None = None
    rho: float | None = None
    beta: float | None = None

    def start(self, problem: Problem, *, seed: Seed) -> KnownLearner:
        self.require_playable(problem)
        if problem.context_distribution is None and problem.context_sample is None:
            raise InvalidParameterError(
                "CrossGraphKnown needs the context distribution. Give Problem(..., "
                "context_distribution=...), or context_sample=... if contexts are feature "
                "vectors. Or use CrossGraph, which does not need it."
            )
        return KnownLearner(self, problem, seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        if problem.context_distribution is None:
            return None
        parameters, graph = self.parameters(problem), problem.graph
        law = np.asarray(problem.context_distribution)
        loopless = list(graph.arms_without_self_loop)

        def denominators(policies: Floats) -> Floats:
            return graph.observation_mass(law @ policies) + parameters.gamma

        def shares(policies: Floats, context: int) -> Floats:
            return graph.observation_mass(policies[context]) / denominators(policies)

        def correction(policies: Floats, context: int) -> Floats:
            del context
            added = np.zeros(problem.arms)
            if loopless:
                special = loopless[int(np.argmax((law @ policies)[loopless]))]
                added[special] = parameters.beta / denominators(policies)[special]
            return added

        def policy(learner: Learner[Any], p: Floats) -> Floats:
            del learner
            return (1.0 - parameters.rho) * p + parameters.rho / problem.arms

        # On average over contexts, p / w is at most 1 / (1 - rho) times the graph sum of r.
        bound = acyclic_bound(graph, parameters.rho)
        return Estimator(graph, shares, correction, policy=policy, second_moment=bound)

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        rate = experiment_rate(problem)
        return KnownParameters(rate, rate, min(rate, 0.5), rate)._asdict()


class KnownLearner(CoreLearner[CrossGraphKnown]):
    """A running Algorithm 1."""

    changed_by_play = ("bias",)
    additive_state = ("estimates", "bias")

    def __init__(self, algorithm: CrossGraphKnown, problem: Problem, seed: Seed) -> None:
        self.parameters = algorithm.parameters(problem)
        form = problem.form
        estimates = zeros("CrossGraphKnown", (1, problem.arms, form.columns), form.dtype)
        core = KnownCore(estimates, core_problem(problem), self.parameters, *_support(problem))
        super().__init__(algorithm, problem, core, seed=seed)


def _support(problem: Problem) -> tuple[ContextBlock, Floats]:
    """Return the contexts that can occur, and their probabilities."""
    if problem.context_sample is not None:
        sample = np.asarray(problem.context_sample)
        return problem.form.block(sample), np.full(len(sample), 1.0 / len(sample))
    probabilities = np.asarray(problem.context_distribution)
    possible = np.flatnonzero(probabilities)
    offset, entry, table, available = problem.form.support()
    support = ContextBlock(offset[possible], entry[possible], table, available[possible])
    return support, probabilities[possible]
