"""The learner of all algorithms that play exponential weights and explore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.learner import Learner
from crossbandit.errors import InvalidParameterError
from crossbandit.kernels import exponential
from crossbandit.kernels.exponential import ExponentialSetting, ExponentialState
from crossbandit.losses.memory import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.decisions import PendingDecision
    from crossbandit.algorithms.exponential import ExponentialAlgorithm
    from crossbandit.kernels.rounds import Rounds
    from crossbandit.losses import Context, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


class ExponentialLearner(Learner["ExponentialAlgorithm"]):
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
            exploration=np.array(algorithm.explored_arms(problem)),
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
