"""What the algorithms share that play exponential weights and explore: `start`, the learner."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.algorithm import Algorithm
from crossbandit.algorithms.estimator import Estimator, observed_share
from crossbandit.algorithms.learner import Learner
from crossbandit.algorithms.tuning import required_contexts, required_horizon
from crossbandit.errors import InvalidParameterError
from crossbandit.kernels import exponential
from crossbandit.kernels.exponential import (
    ExponentialParameters,
    ExponentialSetting,
    ExponentialState,
)
from crossbandit.losses.memory import zeros
from crossbandit.validation import boolean, positive, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.decisions import PendingDecision
    from crossbandit.kernels.rounds import Rounds
    from crossbandit.losses import Context, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats

_CHECKS = {"eta": positive, "rho": share, "gamma": positive, "beta": positive, "scale": positive}


@dataclass(frozen=True, kw_only=True)
class ExponentialAlgorithm(Algorithm):
    """Exponential weights over weighted losses, mixed with exploration.

    In the context c of a round, p(a) is proportional to exp(-eta L_c(a)), and the arm is drawn from

        q = (1 - rho) p + rho u,

    where u is a distribution of arms to be explored. If arm b is revealed, its loss counts with

        1 / (q(N_in(b)) + gamma),

    in every context (cross-learning), or in context c only. q is the policy of the round's own
    context in both cases, so with gamma = 0 the estimates of every context are unbiased.

    An algorithm of this kind has some of the parameters eta, rho, gamma, beta, scale and
    cross_learning as fields, and overrides `tuning_rule` and, if arms are not explored uniformly,
    `explored_arms`.
    """

    needs_observability: ClassVar[str] = "strong"

    def __post_init__(self) -> None:
        names = {field.name for field in fields(self)}
        for name, check in _CHECKS.items():
            if name in names:
                self.settle(check, name)
        if "cross_learning" in names:
            self.settle(boolean, "cross_learning")

    @property
    def crosses(self) -> bool:
        """Whether a round is learned from in every context."""
        return bool(getattr(self, "cross_learning", False))

    @abstractmethod
    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        """Return what the rule sets for a problem: a value for each rate that is a field.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The rates by name.
        """

    def explored_arms(self, problem: Problem) -> Floats:
        """Return the distribution of the arms that are explored; uniform by default.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            A probability for each arm.
        """
        return np.full(problem.arms, 1.0 / problem.arms)

    def parameters(self, problem: Problem) -> ExponentialParameters:
        """Return the parameters for a problem: those that were given, and the rule's for the rest.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            All parameters, as the kernels take them; 0 for those that the algorithm does not have.

        Raises:
            InvalidParameterError: The rule needs a horizon or another fact that the problem does
                not have.
        """
        rates = [name for name in _CHECKS if hasattr(self, name)]
        given = self.given(*rates)
        if len(given) < len(rates):
            given = {**self.tuning_rule(problem), **given}
        return ExponentialParameters(*(given.get(name, 0.0) for name in _CHECKS))

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

        return Estimator(problem.graph, shares, correction, self.crosses)

    def start(self, problem: Problem, *, seed: Seed) -> ExponentialLearner:
        self.require_playable(problem)
        return ExponentialLearner(self, problem, seed)


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


class ExponentialLearner(Learner[ExponentialAlgorithm]):
    """Exponential weights with exploration, learned in all contexts or in each separately."""

    changed_by_play = ("bias", "rates", "entropies")
    additive_state: ClassVar[tuple[str, ...]] = ("estimates", "bias")

    def __init__(self, algorithm: ExponentialAlgorithm, problem: Problem, seed: Seed) -> None:
        if not algorithm.crosses and problem.contexts is None:
            raise InvalidParameterError(
                f"{type(algorithm).__name__} without cross-learning keeps a learner for each "
                "context, and this problem has continuous contexts. Give it a table, "
                "Problem(graph, features=table), or use CrossGraph, which needs no list of "
                "contexts."
            )
        super().__init__(algorithm, problem, seed=seed)
        self.parameters = algorithm.parameters(problem)
        loopless = problem.graph.arms_without_self_loop if self.parameters.beta else ()
        self._setting = ExponentialSetting(
            in_ranges=problem.graph.in_ranges,
            exploration=algorithm.explored_arms(problem),
            implicit=algorithm.implicit(problem, self.parameters),
            loopless=np.asarray(loopless, dtype=np.int64),
            own_column=np.ones((1, 1)),
            cross=algorithm.crosses,
            changing=self.graph_kind != "fixed",
            **algorithm.adaptation(problem),
        )
        self._weighted = _empty_state(algorithm, problem)
        self._weighted.rates[:] = self.parameters[:2]

    def distribution(self, context: Context, readout: Readout) -> Floats:
        out = np.empty(self.problem.arms)
        exponential.policy(self._weighted, self._setting, self._number(context), readout, out)
        return out

    def play(self, pending: PendingDecision) -> float:
        pending.arm, probability = self.call(
            exponential.play,
            self._weighted,
            self.parameters,
            self._setting,
            (self.graph if pending.graph is None else pending.graph).in_ranges,
            self._number(pending.context),
            pending.readout,
            self.generator.random(),
        )
        state, unseen = self._weighted, self.graph_kind == "uninformed"
        # Until the graph of the round is known, the policy is kept in the place of the weights.
        pending.weights = (state.chosen if unseen else state.weights).copy()
        return float(probability)

    def count_round(self, pending: PendingDecision) -> None:
        self.call(
            exponential.count,
            self._weighted,
            self.parameters,
            self._setting,
            self._number(pending.context),
            pending.readout,
        )

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        weights = pending.weights
        if weights is None:
            return
        if self.graph_kind == "uninformed" and pending.graph is not None:
            self._weighted.chosen[:] = weights
            seeing = pending.graph.in_ranges
            self.call(exponential.weigh, self._setting, seeing, self._weighted, pending.arm)
            weights = self._weighted.weights
        self.call(
            exponential.learn,
            self._weighted,
            self._setting,
            self._number(pending.context),
            pending.readout,
            weights,
            self.feedback(pending, rows),
        )

    def tuned(self) -> Mapping[str, Any]:
        rates = self.parameters._asdict()
        return {name: rate for name, rate in rates.items() if hasattr(self.algorithm, name)}

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        # What is explored may come from a linear program: a checkpoint keeps its solution.
        return {**self._weighted._asdict(), "exploration": self._setting.exploration}

    def check_state(self) -> None:
        super().check_state()
        explored = self._setting.exploration
        right = bool((explored >= 0).all()) and abs(float(explored.sum()) - 1.0) < 1e-9
        self.require_state("exploration", right, "a distribution", explored)
        eta, rho = self._weighted.rates.T
        right = bool((eta > 0).all() and (rho >= 0).all() and (rho < 1).all())
        self.require_state("rates", right, "an eta above 0 and a rho below 1", self._weighted.rates)

    def simulate(self, rounds: Rounds) -> int:
        """Play a batch of rounds, compiled.

        Args:
            rounds: What happens in the rounds; what was done is filled in.

        Returns:
            How many rounds were played: fewer than given if their budget was used up.
        """
        return self.play_batch(
            rounds,
            lambda uniforms: exponential.simulate(
                self._weighted,
                self.parameters,
                self._setting,
                self.graph.out_ranges,
                rounds,
                uniforms,
            ),
        )

    def _number(self, context: Context) -> int:
        # With cross-learning, a context is only read through its readout.
        return context if isinstance(context, int) else 0


def _empty_state(algorithm: ExponentialAlgorithm, problem: Problem) -> ExponentialState:
    arms, form, contexts = problem.arms, problem.form, problem.contexts
    shape = (1, arms, form.columns) if algorithm.crosses else (contexts or 1, arms, 1)
    return ExponentialState(
        estimates=zeros(type(algorithm).__name__, shape, form.dtype),
        bias=np.zeros(shape[:2]),
        rates=np.zeros((shape[0], 2)),
        entropies=np.zeros((shape[0], 2)),
        weights=np.zeros(arms),
        chosen=np.zeros(arms),
        sums=np.zeros((2, arms + 1)),
        revealed=np.zeros(arms, dtype=np.int64),
    )
