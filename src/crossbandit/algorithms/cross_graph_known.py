"""Algorithm 1 of the paper: cross-learning with graph feedback, known context distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.algorithm import Algorithm, register, require_problem
from crossbandit.algorithms.learner import Learner
from crossbandit.algorithms.tuning import experiment_rate
from crossbandit.errors import InvalidParameterError
from crossbandit.kernels import batches, known
from crossbandit.kernels.known import Knowledge, KnownParameters, KnownState
from crossbandit.kernels.rounds import ContextBlock, add_revealed
from crossbandit.losses.memory import zeros
from crossbandit.validation import positive, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.decisions import PendingDecision
    from crossbandit.kernels.batches import Answers, Plays
    from crossbandit.kernels.rounds import Rounds
    from crossbandit.losses import Context, LossForm, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphKnown(Algorithm):
    """FTRL with exact observation probabilities (Algorithm 1).

    Every context keeps exponential weights p_{t,c} and plays r_{t,c} = (1 - rho) p_{t,c} + rho / K.
    As the context distribution is known, so is the probability of observing an arm, and all rounds
    are learned from:

        w_t(a) = E_c[ r_{t,c}(N_in(a)) ],    u_t = w_t + gamma,        (observation probability)
        lhat_{t,c}(a) = l_{t,c}(a) 1{a revealed} / u_t(a).

    Among the arms without self-loop, the one played most, j_t in argmax E_c[ r_{t,c}(a) ] (ties to
    the smallest arm), is given the pessimistic correction b_t = beta / u_t(j_t).

    A round costs K times the number of contexts that have positive probability.

    Bound (Proposition 2): expected regret O~(sqrt(alpha T)) for eta, gamma, rho, beta of the order
    1 / sqrt(alpha T); that value is taken for whatever is None.

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
    needs_memory: ClassVar[bool] = False
    needs_context_distribution: ClassVar[bool] = True
    takes_availability: ClassVar[bool] = False  # the distribution does not tell

    eta: float | None = None
    gamma: float | None = None
    rho: float | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        self.settle(positive, "eta", "gamma", "beta")
        self.settle(share, "rho")

    def start(self, problem: Problem, *, seed: Seed) -> KnownLearner:
        require_problem("CrossGraphKnown", problem)
        problem.graph.require_strongly_observable("CrossGraphKnown")
        if problem.context_distribution is None and problem.context_sample is None:
            raise InvalidParameterError(
                "CrossGraphKnown needs the context distribution. Give Problem(..., "
                "context_distribution=...), or context_sample=... where contexts are feature "
                "vectors; or use CrossGraph, which does without."
            )
        return KnownLearner(self, problem, self.parameters(problem), seed)

    def parameters(self, problem: Problem) -> KnownParameters:
        """Return the parameters for a problem: those that were given, and the rule's for the rest.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            All parameters, as the kernels take them.

        Raises:
            InvalidParameterError: The rule needs a horizon or another fact that the problem does
                not have.
        """
        given = self.given(*KnownParameters._fields)
        if len(given) == len(KnownParameters._fields):
            return KnownParameters(**given)
        rate = experiment_rate(problem)
        return KnownParameters(rate, rate, min(rate, 0.5), rate)._replace(**given)


class KnownLearner(Learner[CrossGraphKnown]):
    """A running Algorithm 1."""

    changed_by_play = ("bias",)
    additive_state = ("estimates", "bias")

    def __init__(
        self,
        algorithm: CrossGraphKnown,
        problem: Problem,
        parameters: KnownParameters,
        seed: Seed,
    ) -> None:
        super().__init__(algorithm, problem, seed=seed)
        self.parameters = parameters
        loopless = np.asarray(problem.graph.arms_without_self_loop, dtype=np.int64)
        self._knowledge = Knowledge(problem.graph.in_ranges, loopless, *_support(problem))
        self._known = _empty_state(problem.arms, problem.form)

    def distribution(self, context: Context, readout: Readout) -> Floats:
        del context
        out = np.empty(self.problem.arms)
        known.policy(self._known, self.parameters, readout, out)
        return out

    def play(self, pending: PendingDecision) -> float:
        pending.arm, probability = self.call(
            known.play,
            self._known,
            self.parameters,
            self._knowledge,
            pending.readout,
            self.generator.random(),
        )
        pending.weights = self._known.weights.copy()
        return float(probability)

    def count_round(self, pending: PendingDecision) -> None:
        del pending
        self.call(known.count, self._known, self.parameters, self._knowledge)

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        if pending.weights is not None:
            feedback = self.feedback(pending, rows)
            self.call(add_revealed, self._known.estimates, 0, pending.weights, feedback)

    def play_many(
        self, contexts: ContextBlock, numbers: Integers, uniforms: Floats, plays: Plays
    ) -> None:
        del numbers
        step = (self._known, self.parameters, self._knowledge)
        batches.play_known(*step, contexts, uniforms, plays)

    def update_many(
        self, contexts: ContextBlock, numbers: Integers, last: int, answers: Answers
    ) -> None:
        del contexts, numbers, last
        batches.learn_known(self._known, self.parameters, self._knowledge, answers)

    def tuned(self) -> Mapping[str, Any]:
        return self.parameters._asdict()

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        return self._known._asdict()

    def simulate(self, rounds: Rounds) -> int:
        """Play a batch of rounds, compiled.

        Args:
            rounds: What happens in the rounds; what was done is filled in.

        Returns:
            How many rounds were played: fewer than given if their budget was used up.
        """
        return self.play_batch(
            rounds,
            lambda uniforms: known.simulate(
                self._known,
                self.parameters,
                self._knowledge,
                self.graph.out_ranges,
                rounds,
                uniforms,
            ),
        )


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


def _empty_state(arms: int, form: LossForm) -> KnownState:
    return KnownState(
        estimates=zeros("CrossGraphKnown", (1, arms, form.columns), form.dtype),
        bias=np.zeros((1, arms)),
        denominators=np.zeros(arms),
        weights=np.zeros(arms),
        chosen=np.zeros(arms),
        mean=np.zeros(arms),
        sums=np.zeros((2, arms + 1)),
        revealed=np.zeros(arms, dtype=np.int64),
    )
