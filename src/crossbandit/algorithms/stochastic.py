"""Algorithms for stochastic losses: means of what was observed, and LinUCB."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.learners.algorithm import register
from crossbandit.algorithms.learners.learner import CoreLearner, estimate_shape
from crossbandit.algorithms.learners.problem import GRAPH_KINDS
from crossbandit.algorithms.means_core import LinUcbCore, MeansCore
from crossbandit.algorithms.tuning import CheckedAlgorithm, core_problem, required_horizon
from crossbandit.core.forms import reading_of, zeros
from crossbandit.core.validation import positive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.forms import Context, Readout
    from crossbandit.core.streams import Seed


@dataclass(frozen=True, kw_only=True)
class MeansAlgorithm(CheckedAlgorithm):
    """Means of observed losses, for losses that are drawn independently from one distribution.

    These algorithms learn from what is revealed; the graph of the round does not matter. If an arm
    has no self-loop, they look for an arm that reveals it in the graph of the problem.

    If graphs change, the graph of the problem holds only the edges that every round has. An arm
    that no arm reveals in every round is played itself in order to be observed. `UcbN` and
    `SuccessiveElimination` then need that playing it reveals it in some rounds. If it never does,
    they learn nothing from playing it, and their regret is linear. Use `TsN` or `Exp3Edges` then.

    Args:
        cross_learning: Whether a revealed row counts in every context. If not, its loss counts in
            the context of the round only.
    """

    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)
    stochastic_only: ClassVar[bool] = True
    needs_memory: ClassVar[bool] = False
    rule: ClassVar[str] = "optimism"

    cross_learning: bool = True

    def least_observability(self, kind: str) -> str:
        # A round whose graph does not reveal an arm changes nothing about that arm.
        return self.needs_observability if kind == "fixed" else "none"

    def start(self, problem: Problem, *, seed: Seed) -> MeansLearner:
        self.require_playable(problem)
        return MeansLearner(self, problem, seed)

    def scale(self, problem: Problem) -> float:
        """Return the parameter of the rule: as it was given, or as the tuning rule sets it.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The number.
        """
        raise NotImplementedError


class MeansLearner(CoreLearner[MeansAlgorithm]):
    """A running algorithm that keeps means."""

    stored = ("sums", "counts")
    weighted = False
    needs_all_feedback = False  # missing losses do not change the mean of the others
    additive_state = ("sums", "counts")

    def __init__(self, algorithm: MeansAlgorithm, problem: Problem, seed: Seed) -> None:
        shape = estimate_shape(algorithm, problem, cross=algorithm.cross_learning)
        core = MeansCore(
            zeros(type(algorithm).__name__, shape, problem.form.dtype),
            core_problem(problem, apart=not algorithm.cross_learning),
            algorithm.rule,
            algorithm.scale(problem),
        )
        super().__init__(algorithm, problem, core, seed=seed)

    def tuned(self) -> Mapping[str, Any]:
        if not hasattr(self.algorithm, "delta"):  # then no rule sets the scale
            return {}
        return {"delta": self.algorithm.scale(self.problem)}


@register
@dataclass(frozen=True, kw_only=True)
class UcbN(MeansAlgorithm):
    """UCB-N (Caron, Kveton, Lelarge and Bhagat 2012), for losses.

    In round t, counted from 1, an arm b that was observed n(b) times, with a mean loss of m(b) in
    the context of the round, has the bounds

        m(b) -+ sqrt(exploration * log(t) / n(b)).

    The arm with the least lower bound is played; ties go to the smallest arm, and arms that were
    never observed come first. Every revealed arm counts as observed, also those not played.

    An arm without self-loop is played only if its upper bound is at most the lower bounds of all
    others. Until then, of the arms that reveal it, the one with the least lower bound is played.
    This rule is ours. With it, the algorithm also works on weakly observable graphs.

    If graphs change, only edges that every round has count as self-loops or as revealing. An arm
    without any is played itself: if that never reveals it, the regret is linear. Use TsN or
    Exp3Edges for such graphs.

    Bound: if every arm has a self-loop, the expected regret is at most of order
    sum over a clique cover of max Delta / min Delta^2 * log T (Caron et al. 2012), and
    O~(sqrt(alpha T)) for any gaps (Lykouris, Tardos and Wali 2020). With cross-learning a
    revealed row counts in every context, because each context has the means of its own column. The
    probability that some confidence bound fails is then M times as large for M contexts, so the
    number of contexts enters the regret only through a logarithm. Losses must be drawn
    independently in each round, and independently of the contexts.

    Args:
        exploration: The factor in the width of the bounds; 2 is that of UCB1.
        cross_learning: Whether a revealed row counts in every context. If not, its loss counts in
            the context of the round only.

    >>> from crossbandit import graphs, simulate
    >>> from crossbandit.environments import stochastic
    >>> environment = stochastic(graphs.threshold(4), 2_000, contexts=3, gap=0.2)
    >>> both = [UcbN(), UcbN(cross_learning=False)]
    >>> cross, own = (simulate(one, environment, seed=1).pseudo_regret[-1] for one in both)
    >>> bool(cross < own)
    True
    """

    id: ClassVar[str] = "ucb-n"
    needs_observability: ClassVar[str] = "weak"
    rule: ClassVar[str] = "optimism"

    checks: ClassVar = {"exploration": positive}

    exploration: float = 2.0

    def scale(self, problem: Problem) -> float:
        del problem
        return self.exploration


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
    rule: ClassVar[str] = "sampling"
    needs_observability: ClassVar[str] = "strong"

    deviation: float = 0.5

    def start(self, problem: Problem, *, seed: Seed) -> ThompsonLearner:
        self.require_playable(problem)
        return ThompsonLearner(self, problem, seed)

    def scale(self, problem: Problem) -> float:
        del problem
        return self.deviation


class ThompsonLearner(MeansLearner):
    """A running TS-N."""

    samples_only = True

    def random_numbers(self, rounds: int | None = None) -> Any:
        arms = self.problem.arms
        return self.generator.standard_normal(arms if rounds is None else (rounds, arms))

    def sample(self, context: Context, readout: Readout, generator: np.random.Generator) -> int:
        normals = generator.standard_normal(self.problem.arms)
        number = context if isinstance(context, int) else 0
        arm, _, _ = self.core.play(self.round, number, reading_of(readout), None, normals)
        return int(arm)


@register
@dataclass(frozen=True, kw_only=True)
class SuccessiveElimination(MeansAlgorithm):
    """Arms are observed equally often until they are known to be worse than another.

    An arm b that was observed n times, with a mean loss of m(b) in the context of the round, has
    the bounds m(b) -+ r(n) with

        r(n) = sqrt(log(2 K n (n + 1) / delta) / (2 n)).

    By Hoeffding's inequality and a union bound (sum over n of 1 / (n (n + 1)) = 1), all bounds of
    a context hold in all rounds with probability 1 - delta. An arm is *active* in a context if its
    lower bound is at most the least upper bound of the available arms. Among the active arms that
    were observed least often, one is drawn uniformly, and played. If it has no self-loop, then of
    the arms that reveal it, the one with the least lower bound is played instead (ours). The last
    active arm is played as it is.

    This is the algorithm of Cohen, Hazan and Koren (2016) for graphs that are never revealed, with
    counts instead of their passes over the active arms (ours): drawing uniformly among
    arms not yet observed reveals all of them with O(alpha log K) plays in expectation, although the
    graph is not known. Bound for stochastic losses, if every arm has a self-loop in every
    round: O~(sqrt(alpha T)). Against an adversary this is impossible: Cohen et al. show that
    without the graph no algorithm can do better than sqrt(K T), as if there were no side
    observations. Against an adversary use an algorithm for bandits, such as PerContextExp3.

    If graphs change, only edges that every round has count as self-loops or as revealing. An arm
    without any is played itself: if that never reveals it, the regret is linear. Use TsN or
    Exp3Edges for such graphs.

    With cross-learning a revealed row counts in every context, and contexts differ in which arms
    are active. The bounds hold in all M contexts with probability 1 - M delta.

    Args:
        delta: The probability of an error in a context; 1 / T if None.
        cross_learning: Whether a revealed row counts in every context. If not, its loss counts in
            the context of the round only.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.singletons(3), contexts=2, horizon=100, graph_kind="unknown")
    >>> learner = SuccessiveElimination().start(problem, seed=1)
    >>> decision = learner.act(0)
    >>> learner.learn(decision, {0: [0.5, 0.5], decision.arm: [0.5, 0.5]})
    """

    id: ClassVar[str] = "successive-elimination"
    needs_observability: ClassVar[str] = "weak"
    rule: ClassVar[str] = "elimination"

    delta: float | None = None

    def scale(self, problem: Problem) -> float:
        if self.delta is not None:
            return self.delta
        return min(1.0 / required_horizon(self.id, problem), 0.5)


@register
@dataclass(frozen=True, kw_only=True)
class LinUcb(CheckedAlgorithm):
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

    id: ClassVar[str] = "lin-ucb"
    needs_observability: ClassVar[str] = "weak"
    stochastic_only: ClassVar[bool] = True
    needs_memory: ClassVar[bool] = False

    width: float | None = None

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


class LinUcbLearner(CoreLearner[LinUcb]):
    """A running LinUCB."""

    stored = ("inverses", "responses")
    weighted = False
    needs_all_feedback = False  # a regression on the losses that came

    def __init__(self, algorithm: LinUcb, problem: Problem, width: float, seed: Seed) -> None:
        features = problem.form.shape[1]
        blocks = problem.form.columns // features
        inverses = zeros("LinUcb", (blocks, problem.arms, features, features))
        inverses[:] = np.eye(features)
        core = LinUcbCore(inverses, core_problem(problem), width)
        super().__init__(algorithm, problem, core, seed=seed)
        self.width = width

    def random_numbers(self, rounds: int | None = None) -> Any:
        return 0.0 if rounds is None else np.zeros((rounds, 1))  # none are needed

    def tuned(self) -> Mapping[str, Any]:
        return {"width": self.width}
