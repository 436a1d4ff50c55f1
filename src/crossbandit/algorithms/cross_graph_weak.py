"""Algorithm 2 for weakly observable graphs: cross-learning with exploration on few arms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from crossbandit.algorithms.cross_graph import EpochLearner
from crossbandit.algorithms.epoch_estimator import epoch_estimator
from crossbandit.algorithms.tuned import TunedAlgorithm, required_horizon
from crossbandit.algorithms.tuning import epoch_length
from crossbandit.kernels.epochs import EpochParameters
from crossbandit.learners.algorithm import register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.learners.estimator import Estimator
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats

_MOST = 0.5  # the largest probability of exploration


class WeakParameters(NamedTuple):
    """The parameters of `CrossGraphWeak`."""

    eta: float
    gamma: float
    rho: float
    exploration: float
    epoch_length: int

    def of_epochs(self) -> EpochParameters:
        """Return the parameters that Algorithm 2 has too. No arm is corrected: beta is 0."""
        return EpochParameters(self.eta, self.gamma, self.rho, 0.0, self.epoch_length)


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphWeak(TunedAlgorithm[WeakParameters]):
    r"""The epochs of Algorithm 2, with exploration on a weakly dominating set.

    Let D be a smallest set of arms that reveals every weakly observable arm, delta its size (the
    weak domination number) and u_D the uniform distribution on D. If D is one arm without
    self-loop, the first other arm, which reveals it, is added. Every context plays

        r^p_{t,c} = (1 - x) ((1 - rho) p_{t,c} + rho / K) + x u_D,

    where x is `exploration`, and p is FTRL as in `CrossGraph`. Snapshots are mixed in the same way.
    Epochs, pairs, fallback, retention, W_e and lhat are those of `CrossGraph`. No arm is corrected
    (beta = 0): exploration observes every arm without self-loop. If no arm is weakly observable, D
    is empty and u_D is uniform on all arms.

    An arm without self-loop is observed with probability at least x / max(delta, 2). So the graph
    sum of a round, sum_a p(a) / w(a), is at most O~(alpha + delta / x), and the paper's
    decomposition gives

        regret  <~  L + log(K) / eta + (x + rho) T + (eta + gamma) (alpha + delta / x) T

    as long as eta (L + iota / gamma) <= c and gamma >= C iota / L, iota = log(M K T). With eta and
    gamma of the order 1 / L (up to iota), the best x is (delta iota / T)^(1/3), and L = x T.

    Bound: expected regret O~(delta^(1/3) T^(2/3)) if T is large compared with alpha^3 / delta^2,
    with no polynomial factor of the number of contexts. That is the best rate on weakly observable
    graphs (Alon et al. 2015). docs/explanation/every-graph.md says which steps are the paper's and
    which are new. The new steps are not machine-checked.

    Tuning, with d = max(delta, 1): x = (d log(K) / T)^(1/3), at most 1/2; eta = gamma = x^2 / d,
    as in Exp3.G (Alon et al. 2015), theorem 2; L near 1 / (eta sqrt(log K)), as in the paper's
    experiment rule; rho = eta.

    Args:
        eta: The learning rate.
        gamma: The implicit exploration, added to estimated observation probabilities.
        rho: The probability of uniform exploration.
        exploration: The probability x of exploration on the weakly dominating set.
        epoch_length: The number of rounds in an epoch, even.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.revealing_action(4), contexts=3, horizon=2_000)
    >>> learner = CrossGraphWeak().start(problem, seed=7)
    >>> for t in range(2_000):
    ...     decision = learner.act(t % 3)
    ...     losses = [[abs(b - 1 - context) / 4 for context in range(3)] for b in decision.revealed]
    ...     learner.learn(decision, losses)
    >>> learner.policy(2).round(1)
    array([0.1, 0. , 0. , 0.9])
    """

    id: ClassVar[str] = "cross-graph-weak"
    parameters_type: ClassVar[type[WeakParameters]] = WeakParameters
    needs_observability: ClassVar[str] = "weak"

    eta: float | None = None
    gamma: float | None = None
    rho: float | None = None
    exploration: float | None = None
    epoch_length: int | None = None

    def start(self, problem: Problem, *, seed: Seed) -> WeakLearner:
        self.require_playable(problem)
        return WeakLearner(self, problem, self.parameters(problem), seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        parameters = self.parameters(problem)
        explore = _explored(problem, parameters.exploration)
        return epoch_estimator(problem.graph, parameters.of_epochs(), explore)

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        horizon = required_horizon("experiment", problem)
        delta, log = max(1, len(problem.graph.weakly_dominating_set)), math.log(problem.arms)
        exploration = min(_MOST, (delta * log / horizon) ** (1 / 3))
        eta = exploration**2 / delta
        length = epoch_length(horizon, 1.0 / (eta * math.sqrt(log)))
        return WeakParameters(eta, eta, eta, exploration, length)._asdict()


class WeakLearner(EpochLearner[CrossGraphWeak]):
    """A running `CrossGraphWeak`."""

    def __init__(
        self, algorithm: CrossGraphWeak, problem: Problem, parameters: WeakParameters, seed: Seed
    ) -> None:
        graph = problem.graph
        explore = _explored(problem, parameters.exploration)
        super().__init__(algorithm, problem, graph, parameters.of_epochs(), seed, explore)
        self.weak_parameters = parameters

    def tuned(self) -> Mapping[str, Any]:
        return self.weak_parameters._asdict()


def _explored(problem: Problem, exploration: float) -> Floats:
    """Return the probability with which exploration plays each arm."""
    chosen = list(problem.graph.weakly_dominating_set) or list(range(problem.arms))
    if len(chosen) == 1 and chosen[0] in problem.graph.arms_without_self_loop:
        chosen.append(0 if chosen[0] > 0 else 1)
    explore = np.zeros(problem.arms)
    explore[chosen] = exploration / len(chosen)
    return explore
