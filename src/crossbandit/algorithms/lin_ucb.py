"""LinUCB: optimism for losses that are linear in the features of a context."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.tuned import required_horizon
from crossbandit.kernels import stochastic
from crossbandit.kernels.loops import Steps
from crossbandit.kernels.stochastic import LinearState
from crossbandit.learners.algorithm import Algorithm, register
from crossbandit.learners.compiled_learner import CompiledLearner
from crossbandit.losses.forms import zeros
from crossbandit.validation import positive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


@register
@dataclass(frozen=True, kw_only=True)
class LinUcb(Algorithm):
    """LinUCB (Li, Chu, Langford and Schapire 2010, Algorithm 1), with graph feedback.

    The loss of arm b at the features x of a context is assumed to be theta_b . x plus noise. From
    the revealed losses z of the arm, at the features x of their rounds,

        A_b = I + sum x x^T,    theta_b = A_b^(-1) sum z x,

    and the arm with the least theta_b . x - width sqrt(x^T A_b^(-1) x) is played; ties go to the
    smallest arm. The inverse is kept, and updated by the formula of Sherman and Morrison. An arm
    without self-loop is treated as in UcbN.

    It is the contextual baseline without cross-learning: it uses only the loss at the context of
    the round, and not the rest of a revealed row. If losses are linear in the features *in every
    round* (linear losses of this package), cross-learning has the whole row, and needs no
    regression. If losses are dense, each context is an indicator feature, and LinUCB is UCB in each
    context.

    Bound: none is known for this rule itself. SupLinUCB, a variant of it (Chu, Li, Reyzin and
    Schapire 2011), has O~(sqrt(n T)) for a single parameter vector of n entries. Vectors of d
    entries for each of K arms are one of n = K d, so it has O~(sqrt(K d T)), for stochastic losses
    and singletons, if features and parameters have a norm of at most 1.

    Args:
        width: The factor of the confidence width; 1 + sqrt(log(2 T) / 2) if None, which is the
            paper's rule for an error probability of 1 / T.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.singletons(2), features=2, horizon=100)
    >>> learner = LinUcb(width=1.0).start(problem, seed=1)
    >>> decision = learner.act([1.0, 0.5])
    >>> decision.arm
    0
    >>> learner.learn(decision, [[0.9, 0.1]])
    >>> learner.act([1.0, 0.5]).arm
    1
    """

    id: ClassVar[str] = "linucb"
    needs_observability: ClassVar[str] = "weak"
    stochastic_only: ClassVar[bool] = True
    needs_memory: ClassVar[bool] = False

    width: float | None = None

    def __post_init__(self) -> None:
        self.check_parameters(positive, "width")

    def start(self, problem: Problem, *, seed: Seed) -> LinUcbLearner:
        self.require_playable(problem)
        return LinUcbLearner(self, problem, self.confidence_width(problem), seed)

    def confidence_width(self, problem: Problem) -> float:
        """Return the width: as it was given, or as the rule sets it.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The width.

        Raises:
            InvalidParameterError: The rule needs a horizon, and the problem has none.
        """
        if self.width is not None:
            return self.width
        return 1.0 + math.sqrt(math.log(2.0 * required_horizon(self.id, problem)) / 2.0)


class LinUcbLearner(CompiledLearner[LinUcb]):
    """A running LinUCB."""

    steps = Steps(stochastic.policy_linear, stochastic.play_linear, stochastic.learn_linear)
    stored = ("inverses", "responses")
    weighted = False
    needs_all_feedback = False  # a regression on the losses that came

    def __init__(self, algorithm: LinUcb, problem: Problem, width: float, seed: Seed) -> None:
        arms, features = problem.arms, problem.form.shape[1]
        blocks = problem.form.columns // features
        inverses = zeros("LinUcb", (blocks, arms, features, features))
        inverses[:] = np.eye(features)
        state = LinearState(
            inverses=inverses,
            responses=np.zeros((blocks, arms, features)),
            lower=np.zeros(arms),
            upper=np.zeros(arms),
            product=np.zeros(features),
            weights=np.ones(arms),
            revealed=np.zeros(arms, dtype=np.int64),
        )
        super().__init__(algorithm, problem, state, width, seed=seed)

    def random_numbers(self, rounds: int | None = None) -> Any:
        return 0.0 if rounds is None else np.zeros(rounds)  # none are needed

    def tuned(self) -> Mapping[str, Any]:
        return {"width": self.setting}
