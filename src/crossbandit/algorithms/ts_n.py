"""TS-N: Thompson sampling for stochastic losses with graph feedback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from crossbandit.algorithms.means import MeansAlgorithm, MeansLearner
from crossbandit.kernels import stochastic
from crossbandit.kernels.loops import Steps
from crossbandit.learners.algorithm import register
from crossbandit.validation import positive

if TYPE_CHECKING:
    import numpy as np

    from crossbandit.losses import Context, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


@register
@dataclass(frozen=True, kw_only=True)
class TsN(MeansAlgorithm):
    """Thompson sampling with side observations (TS-N), with normal distributions.

    Each arm has a normal distribution of its mean loss, from the prior N(1/2, deviation^2) and
    losses with standard deviation `deviation`. After n observations with the sum S it is

        N((S + 1/2) / (n + 1), deviation^2 / (n + 1)).

    A round draws a mean for each arm, and plays the arm with the least. Every revealed arm counts.
    The default of 1/2 is the largest standard deviation that a loss in [0, 1] can have.

    Bound, if every arm has a self-loop and losses are drawn independently: O~(sqrt(alpha T)) for
    the prior that it assumes, and, with Beta distributions, for any prior (Lykouris, Tardos and
    Wali 2020). Normal distributions (Agrawal and Goyal 2017, for bandits without graphs, with
    deviation 1) need no losses of 0 and 1 and can be sampled quickly; for them on graphs, and with
    cross-learning, we know of no proof.

    It needs a strongly observable graph: an arm is played only if it seems best, so an arm that
    only bad arms reveal would never be observed.

    Args:
        deviation: The standard deviation of a loss.
        cross_learning: Whether a revealed row counts in every context. If not, its loss counts in
            the context of the round only.

    >>> from crossbandit import graphs, simulate
    >>> from crossbandit.environments import stochastic
    >>> environment = stochastic(graphs.threshold(4), 2_000, contexts=3, gap=0.2)
    >>> run = simulate(TsN(), environment, seed=1)
    >>> bool(run.pseudo_regret[-1] < 50)
    True
    """

    id: ClassVar[str] = "ts-n"
    needs_observability: ClassVar[str] = "strong"

    deviation: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_parameters(positive, "deviation")

    def start(self, problem: Problem, *, seed: Seed) -> ThompsonLearner:
        self.require_playable(problem)
        return ThompsonLearner(self, problem, seed)

    def scale(self, problem: Problem) -> float:
        del problem
        return self.deviation


class ThompsonLearner(MeansLearner):
    """A running TS-N."""

    steps = Steps(None, stochastic.play_sampled, stochastic.learn)
    samples_only = True

    def random_numbers(self, rounds: int | None = None) -> Any:
        arms = self.problem.arms
        return self.generator.standard_normal(arms if rounds is None else (rounds, arms))

    def sample(self, context: Context, readout: Readout, generator: np.random.Generator) -> int:
        now = self.round_of(context, readout)
        normals = generator.standard_normal(self.problem.arms)
        arm, _ = self.call(self.steps.play, self.arrays, self.setting, now, normals)
        return int(arm)
