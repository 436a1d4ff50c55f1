"""What algorithms with exponential weights and exploration share, and their learner."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.tuned import TunedAlgorithm, required_contexts, required_horizon
from crossbandit.kernels import exponential
from crossbandit.kernels.exponential import (
    ExponentialParameters,
    ExponentialSetting,
    ExponentialState,
)
from crossbandit.kernels.loops import Steps
from crossbandit.learners.compiled_learner import CompiledLearner, estimate_shape, scratch
from crossbandit.learners.estimator import Estimator, acyclic_bound, observed_share
from crossbandit.losses.forms import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.learners.decisions import PendingDecision
    from crossbandit.learners.learner import Learner
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


@dataclass(frozen=True, kw_only=True)
class ExponentialAlgorithm(TunedAlgorithm[ExponentialParameters]):
    """Exponential weights over weighted losses, mixed with exploration.

    In the context c of a round, p(a) is proportional to exp(-eta L_c(a)), and the arm is drawn from

        q = (1 - rho) p + rho u,

    where u is a distribution of arms to be explored. If arm b is revealed, its loss is multiplied
    by

        1 / (q(N_in(b)) + gamma),

    and added in every context (cross-learning), or in context c only. In both cases, q is the
    policy of the round's own context, so with gamma = 0 the estimates of every context are
    unbiased.

    An algorithm of this kind has some of the parameters eta, rho, gamma, beta, scale and
    cross_learning as fields, and overrides `tuning_rule` and, if arms are not explored uniformly,
    `explored_arms`.
    """

    parameters_type: ClassVar[type[ExponentialParameters]] = ExponentialParameters
    needs_observability: ClassVar[str] = "strong"

    @property
    def crosses(self) -> bool:
        """Whether a round is learned from in every context."""
        return bool(getattr(self, "cross_learning", False))

    def explored_arms(self, problem: Problem) -> Floats:
        """Return the distribution of the arms that are explored; uniform by default.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            A probability for each arm.
        """
        return np.full(problem.arms, 1.0 / problem.arms)

    def implicit(self, problem: Problem, parameters: ExponentialParameters) -> Floats:
        """Return what is added to the observation probability of each arm.

        Args:
            problem: The problem.
            parameters: The parameters for it.

        Returns:
            A number for each arm.
        """
        return np.full(problem.arms, parameters.gamma)

    def adaptation(self, problem: Problem) -> dict[str, float]:
        """Return how rates adapt to the entropy of the policies; fixed rates by default.

        Args:
            problem: The problem.

        Returns:
            `exponent`, `spread` and `floor`, as the kernels take them.
        """
        del problem
        return {"exponent": 0.0, "spread": 0.0, "floor": 0.0}

    def estimator(self, problem: Problem) -> Estimator | None:
        if problem.graph_kind != "fixed":
            return None
        parameters = self.parameters(problem)
        implicit = self.implicit(problem, parameters)
        loopless = list(problem.graph.arms_without_self_loop) if parameters.beta else []

        def shares(policies: Floats, context: int) -> Floats:
            return observed_share(problem.graph, policies[context], implicit)

        def correction(policies: Floats, context: int) -> Floats:
            added = np.zeros(problem.arms)
            if loopless:
                special = max(loopless, key=lambda a: policies[context, a])
                observed = problem.graph.observation_mass(policies[context])[special]
                added[special] = parameters.beta / (observed + implicit[special])
            return added

        explored = self.explored_arms(problem)

        def policy(learner: Learner[Any], p: Floats) -> Floats:
            rho = learner.state()["rates"][:, 1:]
            return np.asarray((1.0 - rho) * p + rho * explored)

        return Estimator(
            problem.graph,
            shares,
            correction,
            self.crosses,
            rate=lambda learner: np.array(learner.state()["rates"][:, 0]),
            policy=policy,
            second_moment=None if parameters.scale else self._second_moment(problem, parameters),
        )

    def _second_moment(self, problem: Problem, parameters: ExponentialParameters) -> float | None:
        """Return a bound on sum_a p(a) / q(N_in(a)), without corrections; None if none is known.

        q(N_in(a)) is at least rho u(N_in(a)), for any contexts of q and p. If they belong
        to one context, the graph bounds the sum as well.
        """
        if parameters.beta:
            return None
        least = parameters.rho * problem.graph.observation_mass(self.explored_arms(problem)).min()
        explored = 1.0 / least if least > 0 else math.inf
        acyclic = None if self.crosses else acyclic_bound(problem.graph, parameters.rho)
        bound = min(explored, math.inf if acyclic is None else acyclic)
        return None if math.isinf(bound) else bound

    def start(self, problem: Problem, *, seed: Seed) -> ExponentialLearner:
        self.require_playable(problem)
        return ExponentialLearner(self, problem, seed)


class ExponentialLearner(CompiledLearner[ExponentialAlgorithm]):
    """Exponential weights with exploration, learned in all contexts or in each separately."""

    steps = Steps(exponential.policy, exponential.play, exponential.learn, exponential.count)
    changed_by_play = ("bias", "rates", "entropies")
    additive_state: ClassVar[tuple[str, ...]] = ("estimates", "bias")

    def __init__(self, algorithm: ExponentialAlgorithm, problem: Problem, seed: Seed) -> None:
        self.parameters = algorithm.parameters(problem)
        loopless = problem.graph.arms_without_self_loop if self.parameters.beta else ()
        setting = ExponentialSetting(
            parameters=self.parameters,
            in_ranges=problem.graph.in_ranges,
            exploration=np.array(algorithm.explored_arms(problem)),
            implicit=algorithm.implicit(problem, self.parameters),
            loopless=np.asarray(loopless, dtype=np.int64),
            own_column=np.ones((1, 1)),
            cross=algorithm.crosses,
            **algorithm.adaptation(problem),
        )
        super().__init__(algorithm, problem, _empty_state(algorithm, problem), setting, seed=seed)
        self.arrays.rates[:] = self.parameters[:2]

    def play(self, pending: PendingDecision) -> float:
        probability = super().play(pending)
        if self.graph_kind == "uninformed":
            # Until the graph of the round is known, its policy is stored instead of its weights.
            pending.weights = self.arrays.chosen.copy()
        return probability

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        graph, state = pending.graph, self.arrays
        if self.graph_kind == "uninformed" and graph is not None and pending.weights is not None:
            state.chosen[:] = pending.weights
            self.call(exponential.weigh, self.setting, graph.in_ranges, state, pending.arm)
            pending = replace(pending, weights=state.weights)
        super().update(pending, rows)

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        # What is explored may come from a linear program: a checkpoint keeps its solution.
        return {**super().state(), "exploration": self.setting.exploration}

    def check_state(self) -> None:
        super().check_state()
        explored, rates = self.setting.exploration, self.arrays.rates
        right = bool((explored >= 0).all()) and abs(float(explored.sum()) - 1.0) < 1e-9
        self.require_state("exploration", right, "a distribution", explored)
        eta, rho = rates.T
        right = bool((eta > 0).all() and (rho >= 0).all() and (rho < 1).all())
        self.require_state("rates", right, "an eta above 0 and a rho below 1", rates)


def _empty_state(algorithm: ExponentialAlgorithm, problem: Problem) -> ExponentialState:
    arms, shape = problem.arms, estimate_shape(algorithm, problem, cross=algorithm.crosses)
    return ExponentialState(
        estimates=zeros(type(algorithm).__name__, shape, problem.form.dtype),
        bias=np.zeros(shape[:2]),
        rates=np.zeros((shape[0], 2)),
        entropies=np.zeros((shape[0], 2)),
        **scratch(arms),
    )


def rounds_to_learn_from(algorithm: ExponentialAlgorithm, problem: Problem) -> float:
    """Return T with cross-learning, and T / M, the mean number of rounds of a context, without.

    Args:
        algorithm: The algorithm that is tuned.
        problem: A problem with a horizon and, without cross-learning, a list of contexts.

    Returns:
        The number of rounds.
    """
    horizon = required_horizon(algorithm.id, problem)
    return horizon if algorithm.crosses else horizon / required_contexts(algorithm.id, problem)
