"""Algorithm 2 of the paper: cross-learning with graph feedback, unknown context distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms import tuning
from crossbandit.algorithms.epoch_estimator import epoch_estimator
from crossbandit.algorithms.epoch_learner import EpochLearner
from crossbandit.algorithms.tuned import TunedAlgorithm
from crossbandit.kernels.epochs import EpochParameters
from crossbandit.learners.algorithm import register
from crossbandit.validation import choice, even, positive, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.learners.estimator import Estimator
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraph(TunedAlgorithm[EpochParameters]):
    r"""FTRL with delayed snapshots, for any strongly observable graph (Algorithm 2).

    Every context keeps exponential weights over estimated losses,

        p_{t,c}(a)  ~  exp(-eta * sum_{s<t} (lhat_{s,c}(a) + b_s(a))),        (FTRL update)

    and plays q = r^p = (1 - rho) p + rho / K. If 2 r^p >= r_e fails for some arm, q is r_e instead,
    a snapshot of two epochs ago. Feedback is kept with probability r_e(A) / (2 q(A)), as if the arm
    A had been drawn from r_e / 2. So the probability of observing an arm is constant in an epoch,
    although the policy changes. A fair coin gives one round of each pair to estimating

        w_e(a) = E_c[ r_{e,c}(N_in(a)) ] / 2                         (observation probability)

    for the next epoch, and one to learning,

        lhat_{t,c}(a) = 2 l_{t,c}(a) 1{a revealed and kept} / W_e(a),    W_e = what_e + 3/2 gamma,

    in every context c at once. Among the arms without self-loop, the one that snapshots play most
    (j_e, ties to the smallest arm) is given the pessimistic correction b_t = beta / W_e(j_e).

    Bound: expected regret O~(sqrt(alpha T)) against every fixed policy, for i.i.d. contexts and
    oblivious losses, with alpha the independence number of the graph and no polynomial factor of
    the number of contexts; proved for the `theorem` tuning.

    If the epoch length does not divide the horizon, the last epoch is shorter. If the horizon is
    odd, nothing is learned from its last round. Playing past the horizon is allowed.

    Parameters have the names of the paper. Those that are None are set by the rule `tuning`.

    Args:
        eta: The learning rate.
        gamma: The implicit exploration, added to estimated observation probabilities.
        rho: The probability of uniform exploration.
        beta: The pessimistic correction of an arm without self-loop.
        epoch_length: The number of rounds in an epoch, L in the paper; even.
        tuning: The rule: "experiment" (the paper's evaluation), "theorem" (the paper's theorem)
            or "proved" (the least machine-checked bound).

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.threshold(4), contexts=3, horizon=1_000)
    >>> learner = CrossGraph().start(problem, seed=7)
    >>> for t in range(1_000):
    ...     decision = learner.act(t % 3)
    ...     losses = [[abs(b - context) / 4 for context in range(3)] for b in decision.revealed]
    ...     learner.learn(decision, losses)
    >>> learner.policy(2).round(2)
    array([0.01, 0.01, 0.97, 0.01])
    """

    id: ClassVar[str] = "cross-graph"
    parameters_type: ClassVar[type[EpochParameters]] = EpochParameters
    needs_observability: ClassVar[str] = "strong"

    eta: float | None = None
    gamma: float | None = None
    rho: float | None = None
    beta: float | None = None
    epoch_length: int | None = None
    tuning: str = "experiment"

    def __post_init__(self) -> None:
        self.check_parameters(positive, "eta", "gamma", "beta")
        self.check_parameters(share, "rho")
        self.check_parameters(even, "epoch_length")
        choice("CrossGraph", "tuning", self.tuning, tuning.RULES)

    def start(self, problem: Problem, *, seed: Seed) -> EpochLearner:
        self.require_playable(problem)
        parameters = self.parameters(problem)
        return EpochLearner(self, problem, problem.graph, parameters, seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        if problem.graph_kind != "fixed":
            return None
        return epoch_estimator(problem.graph, self.parameters(problem))

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        return tuning.tuned(self.tuning, problem)._asdict()
