"""FTRL with graph feedback: what the algorithms share, and one class for each."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from crossbandit.algorithms.exponential_core import (
    Adaptation,
    ExponentialCore,
    ExponentialParameters,
)
from crossbandit.algorithms.learners.algorithm import register
from crossbandit.algorithms.learners.estimator import (
    Estimator,
    acyclic_bound,
    no_share,
    observed_share,
)
from crossbandit.algorithms.learners.learner import CoreLearner, Learner, estimate_shape
from crossbandit.algorithms.learners.problem import GRAPH_KINDS
from crossbandit.algorithms.means_core import EdgeCore
from crossbandit.algorithms.tuning import (
    CheckedAlgorithm,
    TunedAlgorithm,
    core_problem,
    required_alpha,
    required_contexts,
    required_horizon,
)
from crossbandit.core.forms import zeros
from crossbandit.core.validation import number
from crossbandit.graphs import singletons
from crossbandit.graphs.domination import fractional_cover

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crossbandit.algorithms.learners.algorithm import Algorithm
    from crossbandit.algorithms.learners.decisions import Decision
    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Booleans, Floats
    from crossbandit.graphs import FeedbackGraph


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
    power: ClassVar[float] = 1.0  # of the regulariser: 1 for exponential weights

    def seen_graph(self, problem: Problem) -> FeedbackGraph:
        """Return the graph that the algorithm learns with: the problem's, or the singleton graph.

        Args:
            problem: The problem.
        """
        return singletons(problem.arms) if self.needs_own_loss else problem.graph

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

    def adaptation(self, problem: Problem) -> Adaptation:
        """Return how rates adapt to the entropy of the policies; fixed rates by default.

        Args:
            problem: The problem.
        """
        del problem
        return Adaptation()

    def estimator(self, problem: Problem) -> Estimator | None:
        if self.power != 1.0 or not (self.needs_own_loss or problem.graph_kind == "fixed"):
            return None
        parameters, graph = self.parameters(problem), self.seen_graph(problem)
        implicit = self.implicit(problem, parameters)
        loopless = list(graph.arms_without_self_loop) if parameters.beta else []

        def shares(policies: Floats, context: int) -> Floats:
            return observed_share(graph, policies[context], implicit)

        def correction(policies: Floats, context: int) -> Floats:
            added = np.zeros(problem.arms)
            if loopless:
                special = max(loopless, key=lambda a: policies[context, a])
                observed = graph.observation_mass(policies[context])[special]
                added[special] = parameters.beta / (observed + implicit[special])
            return added

        explored = self.explored_arms(problem)

        def policy(learner: Learner[Any], p: Floats) -> Floats:
            rho = learner.state()["rates"][:, 1:]
            return np.asarray((1.0 - rho) * p + rho * explored)

        return Estimator(
            graph,
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
        graph = self.seen_graph(problem)
        least = parameters.rho * graph.observation_mass(self.explored_arms(problem)).min()
        explored = 1.0 / least if least > 0 else math.inf
        acyclic = None if self.crosses else acyclic_bound(graph, parameters.rho)
        bound = min(explored, math.inf if acyclic is None else acyclic)
        return None if math.isinf(bound) else bound

    def start(self, problem: Problem, *, seed: Seed) -> ExponentialLearner:
        self.require_playable(problem)
        adapts = self.parameters(problem).scale > 0
        return (AdaptingLearner if adapts else ExponentialLearner)(self, problem, seed)


class ExponentialLearner(CoreLearner[ExponentialAlgorithm]):
    """Exponential weights with exploration, learned in all contexts or in each separately."""

    usual = True  # it plays in another way only if the graph is given to `learn`
    changed_by_play = ("bias", "rates", "entropies")
    additive_state: ClassVar[tuple[str, ...]] = ("estimates", "bias")

    def __init__(self, algorithm: ExponentialAlgorithm, problem: Problem, seed: Seed) -> None:
        self.parameters = algorithm.parameters(problem)
        shape = estimate_shape(algorithm, problem, cross=algorithm.crosses)
        graph = algorithm.seen_graph(problem)
        core = ExponentialCore(
            zeros(type(algorithm).__name__, shape, problem.form.dtype),
            core_problem(problem, graph, apart=not algorithm.crosses),
            self.parameters,
            algorithm.explored_arms(problem),
            algorithm.implicit(problem, self.parameters),
            algorithm.adaptation(problem),
        )
        super().__init__(algorithm, problem, core, seed=seed, graph=graph)

    def play(self, pending: Decision) -> float:
        probability = super().play(pending)
        if self.graph_kind == "uninformed":
            # Until the graph of the round is known, its policy is stored instead of its weights.
            pending.weights = self.core.state()["chosen"].copy()
        return probability

    def core_steps(self, pending: Decision, rows: Floats, last: int) -> Sequence[Callable[[], Any]]:
        graph, chosen = pending.graph, pending.weights
        if self.graph_kind == "uninformed" and graph is not None and chosen is not None:
            weights = self.core.weigh_again(chosen, graph, pending.arm)
            pending = copy.copy(pending)
            pending.weights = weights
        return super().core_steps(pending, rows, last)

    def check_state(self) -> None:
        super().check_state()
        # What is explored may come from a linear program: a checkpoint keeps its solution.
        explored, rates = self.state()["exploration"], self.state()["rates"]
        right = bool((explored >= 0).all()) and abs(float(explored.sum()) - 1.0) < 1e-9
        self.require_state("exploration", right, "a distribution", explored)
        eta, rho = rates.T
        right = bool((eta > 0).all() and (rho >= 0).all() and (rho < 1).all())
        self.require_state("rates", right, "an eta above 0 and a rho below 1", rates)


class AdaptingLearner(ExponentialLearner):
    """A running learner whose rates adapt."""

    additive_state: ClassVar[tuple[str, ...]] = ()  # rates are not sums


def rounds_to_learn_from(algorithm: Algorithm, problem: Problem) -> float:
    """Return T with cross-learning, and T / M, the mean number of rounds of a context, without."""
    horizon = required_horizon(algorithm.id, problem)
    crosses = getattr(algorithm, "cross_learning", False)
    return horizon if crosses else horizon / required_contexts(algorithm.id, problem)


@register
@dataclass(frozen=True, kw_only=True)
class Exp3IX(ExponentialAlgorithm):
    """Exp3-IX (Neu 2015; with graph feedback Kocak, Neu, Valko and Munos 2014, Algorithm 1).

    In the context of the round, and in no other, exponential weights p are played as they are, and

        lhat(b) = l(b) 1{b revealed} / (p(N_in(b)) + gamma).

    Nothing is explored on purpose: gamma makes the estimates too small for arms that are rarely
    observed, so that they are tried. Losses of other contexts are ignored: an estimate that is too
    small by a factor that depends on the context of the round would mislead all other contexts.
    CrossGraphKnown averages the observation probability over contexts instead.

    Bound: O~(sqrt(alpha n)) for each context with n = T / M rounds, in expectation and with high
    probability, if every arm has a self-loop: sum_b p(b) / (p(N_in(b)) + gamma) is at most
    2 alpha log(1 + (ceil(K^2 / gamma) + K) / alpha) + 2 (Kocak et al., Lemma 1). For other strongly
    observable graphs no bound is known; Exp3HighProbability has one. Rates:
    eta = sqrt(2 log(K) / (alpha n)), gamma = eta / 2, which is Neu's rule with alpha for K and
    without the logarithm that his bound has inside the root (ours).

    Graphs may change, and be revealed before or after the round: p does not depend on them. alpha
    is then that of the edges which every round has.

    Args:
        eta: The learning rate; set by the rule if None.
        gamma: The implicit exploration; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.singletons(2), contexts=1, horizon=100)
    >>> learner = Exp3IX(eta=1.0, gamma=0.5).start(problem, seed=1)
    >>> decision = learner.act(0)
    >>> learner.learn(decision, [[1.0]])  # its estimate is 1 / (1/2 + 1/2) = 1
    >>> round(float(learner.policy(0)[decision.arm]), 4)  # 1 / (1 + e)
    0.2689
    """

    id: ClassVar[str] = "exp3-ix"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed", "informed", "uninformed")

    eta: float | None = None
    gamma: float | None = None

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        size = required_alpha(self.id, problem) * rounds_to_learn_from(self, problem)
        eta = math.sqrt(2.0 * math.log(problem.arms) / size) if self.eta is None else self.eta
        return {"eta": eta, "gamma": eta / 2.0}


@register
@dataclass(frozen=True, kw_only=True)
class Exp3Set(ExponentialAlgorithm):
    """Exp3-SET (Alon, Cesa-Bianchi, Gentile and Mansour 2013, Figure 1).

    Exponential weights p are played as they are, and

        lhat(b) = l(b) 1{b revealed} / p(N_in(b)).

    Bound without cross-learning: log(K) / eta + eta / 2 sum_t Q_t for each context with n = T / M
    rounds, where Q_t = sum_b p_t(b) / p_t(N_in(b)). If every arm has a self-loop, Q_t is at most
    the maximum acyclic subgraph number m, which is alpha if all edges go both ways. Rate:
    eta = sqrt(2 log(K) / (m n)), with an upper bound for m if it is not known; then the regret is
    at most sqrt(2 m n log K). For arms without self-loop nothing is proved.

    Graphs may change, and be revealed before or after the round: p does not depend on them. m is
    that of the edges which every round has.

    With cross-learning (ours), lhat is added in every context. It is unbiased, but nothing
    bounds its variance, because nothing is explored: an arm that matters in one context may have
    almost no probability in the others. There is no bound. Use Exp3G, or CrossGraph.

    Args:
        eta: The learning rate; set by the rule if None.
        cross_learning: Whether a round is learned from in every context.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.complete(2), contexts=1, horizon=100)
    >>> learner = Exp3Set(eta=1.0).start(problem, seed=1)
    >>> learner.learn(learner.act(0), [[1.0], [0.0]])
    >>> learner.policy(0).round(4)  # 1 / (1 + e), e / (1 + e)
    array([0.2689, 0.7311])
    """

    id: ClassVar[str] = "exp3-set"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed", "informed", "uninformed")

    eta: float | None = None
    cross_learning: bool = False

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        acyclic = problem.graph.maximum_acyclic_bounds.upper
        size = acyclic * rounds_to_learn_from(self, problem)
        return {"eta": math.sqrt(2.0 * math.log(problem.arms) / size)}


@register
@dataclass(frozen=True, kw_only=True)
class Exp3HighProbability(ExponentialAlgorithm):
    """Implicit exploration with a correction for arms without self-loop (Luo et al. 2023).

    In the context of the round, and in no other, q = (1 - rho) p + rho / K is played, and

        lhat(b) = l(b) 1{b revealed} / (q(N_in(b)) + gamma 1{b has a self-loop}).

    Implicit exploration is for arms with a self-loop only. Among the others the one played most,
    j in argmax q (ties to the smallest arm), is rarely observed, and its estimate has a large
    variance. In every round it is given the pessimistic correction beta / q(N_in(j)).

    Bound (Luo, Tong, Zhang and Zhang 2023, Theorem 1): O~(sqrt(alpha n)), up to terms that do not
    grow with n, with high probability, for each context with n = T / M rounds, on every strongly
    observable graph. Rates: eta = gamma = beta = 1 / sqrt(alpha n) and rho = min(eta, 1/2), the
    order that the theorem asks for; the constants are ours.

    The correction of CrossGraph comes from this one. For cross-learning use CrossGraph.

    Args:
        eta: The learning rate; set by the rule if None.
        rho: The probability of uniform exploration; set by the rule if None.
        gamma: The implicit exploration; set by the rule if None.
        beta: The pessimistic correction; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.loopless_clique(3), contexts=4, horizon=400)
    >>> Exp3HighProbability().parameters(problem).eta
    0.1
    """

    id: ClassVar[str] = "exp3-high-probability"
    needs_memory: ClassVar[bool] = False

    eta: float | None = None
    rho: float | None = None
    gamma: float | None = None
    beta: float | None = None

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        size = required_alpha(self.id, problem) * rounds_to_learn_from(self, problem)
        rate = 1.0 / math.sqrt(size)
        return {"eta": rate, "rho": min(rate, 0.5), "gamma": rate, "beta": rate}

    def implicit(self, problem: Problem, parameters: ExponentialParameters) -> Floats:
        added = np.full(problem.arms, parameters.gamma)
        added[list(problem.graph.arms_without_self_loop)] = 0.0
        return added


_PROGRAM_EDGES = 1_000_000  # with more edges, the linear program takes minutes


class Covering(NamedTuple):
    """A distribution that reveals each of some arms with a probability of at least 1 / number."""

    number: float  # at least 1
    distribution: Floats  # a probability for each arm (K,)


@register
@dataclass(frozen=True, kw_only=True)
class Exp3G(ExponentialAlgorithm):
    """Exp3.G (Alon, Cesa-Bianchi, Dekel and Koren 2015, Algorithm 1), for any observable graph.

        q = (1 - rho) p + rho u,    lhat(b) = l(b) 1{b revealed} / q(N_in(b)).

    Without cross-learning there is a learner for each context, with n = T / M rounds, and its
    tuning is that of the paper (Theorem 2):

    - strongly observable: u is uniform over all arms, rho = min(1 / sqrt(alpha n), 1/2) and
      eta = 2 rho. Bound: O(sqrt(alpha n) log(K n)) for each context.
    - weakly observable: u is uniform over a smallest set of delta arms that reveals all weakly
      observable arms, rho = min((delta log(K) / n)^(1/3), 1/2) and eta = rho^2 / delta. Bound:
      O((delta log K)^(1/3) n^(2/3)) for each context, if n is at least K^3 log(K) / delta^2.

    With `fractional`, u is the fractional dominating set instead, and delta its sum, which is never
    larger (Chen, Huang, Li and Zhang 2021; the constants of the rates are those above).

    With cross-learning (ours), lhat is added in every context, and u maximises the least
    probability 1 / delta with which exploration reveals an arm: a linear program. As q belongs to
    the context of the round, lhat is unbiased in every context, and its second moment is at most
    delta / rho, because q(N_in(b)) is at least rho / delta. So the regret is at most

        rho T + log(K) / eta + eta T delta / (2 rho)  <=  3 (delta log(K) / 2)^(1/3) T^(2/3)

    for rho = (delta log(K) / (2 T))^(1/3) and eta = sqrt(2 rho log(K) / (delta T)), for contexts
    drawn independently and oblivious losses, strongly or weakly observable, for any number of
    contexts. (The right side holds where rho is at most 1/2, its largest value.) On weakly
    observable graphs, T^(2/3) is the best possible. On strongly observable graphs CrossGraph is
    better.

    Args:
        eta: The learning rate; set by the rule if None.
        rho: The probability of exploration; set by the rule if None.
        fractional: Whether a fractional dominating set is explored. With cross-learning, it always
            is.
        cross_learning: Whether a round is learned from in every context.

    >>> from crossbandit import FeedbackGraph, Problem
    >>> revealing = FeedbackGraph([[1, 1, 1], [0, 0, 0], [0, 0, 0]])
    >>> problem = Problem(revealing, contexts=2, horizon=1000)
    >>> learner = Exp3G().start(problem, seed=1)
    >>> learner.policy(0).round(3)
    array([0.388, 0.306, 0.306])
    """

    id: ClassVar[str] = "exp3-g"
    needs_observability: ClassVar[str] = "weak"
    needs_memory: ClassVar[bool] = False

    eta: float | None = None
    rho: float | None = None
    fractional: bool = False
    cross_learning: bool = True

    def explored_arms(self, problem: Problem) -> Floats:
        dominating = self.dominating(problem.graph)
        if dominating is None:
            return np.full(problem.arms, 1.0 / problem.arms)
        return dominating.distribution

    def dominating(self, graph: FeedbackGraph) -> Covering | None:
        """Return what is explored on a graph; None for all arms equally.

        Args:
            graph: An observable graph.

        Returns:
            The distribution of exploration, and delta.
        """
        if self.cross_learning:
            return covering(graph)
        if graph.observability == "strong":
            return None
        if self.fractional:
            number, weights = graph.fractional_weak_domination
            return Covering(number, weights / number)
        dominating = list(graph.weakly_dominating_set)
        explored = np.zeros(graph.arms)
        explored[dominating] = 1.0 / len(dominating)
        return Covering(len(dominating), explored)

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        rounds = rounds_to_learn_from(self, problem)
        dominating = self.dominating(problem.graph)
        if dominating is None:
            alpha = required_alpha(self.id, problem)
            usual = min(1.0 / math.sqrt(alpha * rounds), 0.5)
            rho = usual if self.rho is None else self.rho
            return {"eta": 2.0 * (rho or usual), "rho": rho}
        delta, bits = dominating.number, math.log(problem.arms)
        if self.cross_learning:
            return covering_rule(delta, problem.arms, rounds, self.rho)
        rho = min((delta * bits / rounds) ** (1.0 / 3.0), 0.5) if self.rho is None else self.rho
        return {"eta": rho**2 / delta, "rho": rho}


@lru_cache(maxsize=16)  # a learner asks several times when it starts
def covering(graph: FeedbackGraph) -> Covering:
    """Return the distribution u for which the least u(N_in(b)) over all arms b is largest.

    With x = number * u it is a linear program: minimise the sum of x so that x(N_in(b)) is at least
    1 for each arm b. The number is the fractional total domination number of the graph.

    >>> from crossbandit import graphs
    >>> covering(graphs.ring(5, radius=1)).number, covering(graphs.complete(5)).number
    (2.5, 1.0)
    """
    arms = graph.arms
    uniform = np.full(arms, 1.0 / arms)
    candidates = [uniform]
    if graph.edge_count <= _PROGRAM_EDGES:
        revealing = [graph.in_neighbors(arm) for arm in range(arms)]
        shares = fractional_cover(revealing, arms)
        candidates.append(shares / shares.sum())
    numbers = [1.0 / float(graph.observation_mass(one).min()) for one in candidates]
    best = int(np.argmin(np.round(numbers, 9)))  # ties to the uniform distribution
    candidates[best].flags.writeable = False
    return Covering(max(numbers[best], 1.0), candidates[best])


def covering_rule(
    delta: float, arms: int, rounds: float, rho: float | None = None
) -> dict[str, float]:
    """Return the rates that minimise rho T + log(K) / eta + eta T delta / (2 rho)."""
    bits = math.log(arms)
    if rho is None:
        rho = min((delta * bits / (2.0 * rounds)) ** (1.0 / 3.0), 0.5)
    return {"eta": math.sqrt(2.0 * rho * bits / (delta * rounds)), "rho": rho}


@register
@dataclass(frozen=True, kw_only=True)
class Exp3ClU(ExponentialAlgorithm):
    """EXP3.CL-U (Balseiro, Golrezaei, Mahdian, Mirrokni and Schneider 2019), with losses.

    The context distribution is not known. It uses cross-learning and ignores the graph:

        q = (1 - rho) p + rho / K,    lhat(a) = l(a) 1{a played} / q(a),

    and lhat is added in every context, while q is the policy of the round's own. It learns the loss
    of the arm played, also of an arm without self-loop.

    Rates: rho = min((K log(K) / T)^(1/3), 1/2) and eta = sqrt(rho log(K) / (K T)). Bound, for any
    number of contexts drawn independently and oblivious losses:

        rho T + log(K) / eta + eta K T / (2 rho)  <=  5/2 (K log K)^(1/3) T^(2/3)

    where rho is below 1/2. The paper has rewards and the order; this form for losses and its
    constant are ours.

    Args:
        eta: The learning rate; set by the rule if None.
        rho: The probability of exploration; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.singletons(2), contexts=3, horizon=1000)
    >>> learner = Exp3ClU(eta=1.0, rho=0.5).start(problem, seed=1)
    >>> decision = learner.act(0)
    >>> learner.learn(decision, [[0.0, 1.0, 1.0]])  # estimates are 0, 2 and 2
    >>> [round(float(learner.policy(c)[decision.arm]), 3) for c in range(2)]
    [0.5, 0.31]
    """

    id: ClassVar[str] = "exp3-cl-u"
    needs_observability: ClassVar[str] = "none"
    needs_memory: ClassVar[bool] = False
    needs_own_loss: ClassVar[bool] = True
    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)  # any: it ignores the graph
    cross_learning: ClassVar[bool] = True

    eta: float | None = None
    rho: float | None = None

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        rounds, arms = required_horizon(self.id, problem), problem.arms
        bits = math.log(arms)
        rho = min((arms * bits / rounds) ** (1.0 / 3.0), 0.5) if self.rho is None else self.rho
        return {"eta": math.sqrt(rho * bits / (arms * rounds)), "rho": rho}


@register
@dataclass(frozen=True, kw_only=True)
class Elp(ExponentialAlgorithm):
    """ELP (Mannor and Shamir 2011; Alon et al. 2017), with losses instead of rewards.

        q = (1 - rho) p + rho s,    lhat(b) = l(b) 1{b revealed} / q(N_in(b)),

    where s maximises the least probability s(N_in(b)) with which exploration reveals an arm: one
    linear program, solved at the start. Its value is 1 / delta, and delta is the fractional
    domination number of the graph.

    Without cross-learning, rho = min(eta delta, 1/2), as in the paper: then eta lhat is at most 1.
    Bound for each context with n = T / M rounds, if every arm has a self-loop and all edges go
    both ways: Q = sum_b p(b) / q(N_in(b)) is at most 2 alpha, and delta is at most alpha, so the
    regret is at most

        eta delta n + log(K) / eta + eta alpha n  <=  2 sqrt(2 alpha n log K)

    for eta = sqrt(log(K) / (2 alpha n)), where rho is at most 1/2. (This form for losses and its
    constant are ours.) On directed graphs, the maximum acyclic subgraph number takes the place of
    alpha, as for Exp3Set.

    With cross-learning it is the same as Exp3G, with the same bound, on strongly observable graphs:
    3 (delta log(K) / 2)^(1/3) T^(2/3), for any number of contexts.

    Args:
        eta: The learning rate; set by the rule if None.
        rho: The probability of exploration; set by the rule if None.
        cross_learning: Whether a round is learned from in every context.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.ring(5, radius=1), contexts=2, horizon=1000)
    >>> Elp().start(problem, seed=1).policy(0).round(6)
    array([0.2, 0.2, 0.2, 0.2, 0.2])
    """

    id: ClassVar[str] = "elp"
    needs_memory: ClassVar[bool] = False

    eta: float | None = None
    rho: float | None = None
    cross_learning: bool = True

    def explored_arms(self, problem: Problem) -> Floats:
        return covering(problem.graph).distribution

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        rounds = rounds_to_learn_from(self, problem)
        delta = covering(problem.graph).number
        if self.cross_learning:
            return covering_rule(delta, problem.arms, rounds, self.rho)
        size = 2.0 * required_alpha(self.id, problem) * rounds
        eta = math.sqrt(math.log(problem.arms) / size) if self.eta is None else self.eta
        return {"eta": eta, "rho": min(eta * delta, 0.5)}


@register
@dataclass(frozen=True, kw_only=True)
class BestOfBothWorlds(ExponentialAlgorithm):
    """FTRL with an adaptive rate, after Ito, Tsuchiya and Honda (2022).

        q = (1 - rho) p + rho u,    lhat(b) = l(b) 1{b revealed} / q(N_in(b)),

    where p are exponential weights with the rate eta = 1 / B. Let S be the sum of the entropies of
    all p so far, and t their number. B grows more slowly while p is uncertain:

        B <- B + scale (1 + S / log K)^(-k).

    - Strongly observable, without cross-learning: k = 1/2, u is uniform and rho = 2 / B.
    - Otherwise: k = 1/3, u reveals every arm with a probability of at least 1 / delta (as Exp3G
      with cross-learning), and rho = sqrt(delta s / B) + delta / B, where
      s = (1 + S / log K) / (t + 1).

    rho is at most 1/2, and B begins at max(4, scale), or max(4 delta, scale). No horizon is needed.
    The paper shows O~(sqrt(alpha n)) and O(alpha log(n)^3 / D) on strongly observable graphs, and
    O~(delta^(1/3) n^(2/3)) and a power of log(n) on weakly observable ones. What follows is our own
    argument, not the paper's. B grows with the entropy as in the paper, but rho, the rule for
    weakly observable graphs and all constants are ours. So we do not claim the paper's theorems
    with their constants. We argue for the orders below, and give no constants for them.

    The scale is sqrt((alpha + 2) / (2 log K)), or (2 delta / (3 log(K)^2))^(1/3): these minimise
    the sum below for the largest entropies, with z = alpha, or z = delta / rho.

    Bounds for each context with n = T / M rounds. Let A be the arms without self-loop if u is
    uniform, and all arms otherwise: those whose lhat is at most B. The second-order inequality of
    Alon et al. (2015, Lemma 4) gives a regret of at most

        sum rho + sum z / B + sum (growth of B) * (entropy of the next p),

    where z is the mean of sum_b p(b) (1 - p(b)) lhat(b)^2 over the arms of A, plus that of
    sum_b p(b) lhat(b)^2 over the others. z is at most O(alpha log(K n)) if u is uniform and the
    graph strongly observable, and at most delta / rho times the entropy of p where every arm is
    explored. With the growth above, the sums are, up to logarithms of n and K, of the order

        sqrt(alpha S),    and    delta^(1/3) S^(2/3).

    S is at most n log K, so the regret is O~(sqrt(alpha n)), and O~(delta^(1/3) n^(2/3)), for all
    losses. If losses are stochastic with a single best arm and a smallest gap D, S is at most
    O(log(K n)) times the mean number of plays of other arms, which is at most the regret / D.
    Solving for the regret gives O~(alpha / D) and O~(delta / D^2), with powers of log(n).

    With cross-learning all contexts share B and S, which counts the entropy in the context of each
    round. The same sums then bound the regret averaged over any number of contexts. We
    argue this for the mean of S over contexts drawn independently; the step from the mean to S
    itself is not written out. With cross-learning, strongly observable graphs get no better rate
    than weakly observable ones.

    Args:
        scale: How fast the rate falls; set by the rule if None.
        cross_learning: Whether a round is learned from in every context.

    >>> from crossbandit import graphs, simulate
    >>> from crossbandit.environments import stochastic
    >>> environment = stochastic(graphs.complete(4), 5_000, contexts=1, gap=0.4)
    >>> run = simulate(BestOfBothWorlds(cross_learning=False), environment, seed=1)
    >>> bool(run.pseudo_regret[-1] < 100)
    True
    """

    id: ClassVar[str] = "best-of-both-worlds"
    needs_observability: ClassVar[str] = "weak"
    needs_memory: ClassVar[bool] = False

    scale: float | None = None
    cross_learning: bool = True

    def explored_arms(self, problem: Problem) -> Floats:
        if self._uniform(problem):
            return super().explored_arms(problem)
        return covering(problem.graph).distribution

    def adaptation(self, problem: Problem) -> Adaptation:
        if self._uniform(problem):
            return Adaptation(1.0 / 2.0, 0.0, 2.0)
        delta = covering(problem.graph).number
        return Adaptation(1.0 / 3.0, delta, delta)

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        bits = math.log(problem.arms)
        if self._uniform(problem):
            alpha = required_alpha(self.id, problem)
            return {"scale": math.sqrt((alpha + 2.0) / (2.0 * bits))}
        delta = covering(problem.graph).number
        return {"scale": (2.0 * delta / (3.0 * bits**2)) ** (1.0 / 3.0)}

    def parameters(self, problem: Problem) -> ExponentialParameters:
        """Return the scale, and eta and rho of the first round.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            All parameters, as the core takes them.
        """
        scale = self.tuning_rule(problem)["scale"] if self.scale is None else self.scale
        spread, floor = self.adaptation(problem)[1:3]
        eta = 1.0 / max(4.0 if self._uniform(problem) else 4.0 * floor, scale)
        rho = min(math.sqrt(spread * eta) + floor * eta, 0.5)
        return ExponentialParameters(eta, rho, 0.0, 0.0, scale)

    def _uniform(self, problem: Problem) -> bool:
        return not self.cross_learning and problem.graph.observability == "strong"


@register
@dataclass(frozen=True, kw_only=True)
class TsallisInf(ExponentialAlgorithm):
    """Tsallis-INF in each context (Zimmert and Seldin 2021, with importance weights).

    In the context of the round, and in no other, FTRL with the Tsallis entropy of power 1/2 and

        eta_t = 2 / sqrt(t),    lhat(a) = l(a) 1{a played} / p(a),

    where t is the number of rounds in the context so far, with this one. So the policy is
    p(a) = 4 (eta_t (L(a) - x))^(-2) for the x at which it sums to 1. Nothing has to be known or
    tuned. It ignores the graph and learns the loss of the arm played, also of an arm without
    self-loop: a baseline that is best of both worlds without a graph.

    Bound (their Theorem 1), for each context with n rounds: 4 sqrt(K n) + 1 for all losses, and
    O(sum over the other arms of log(n) / gap) for stochastic losses with one best arm, without
    changes.

    >>> from crossbandit import Problem, graphs
    >>> learner = TsallisInf().start(Problem(graphs.singletons(2), contexts=1), seed=1)
    >>> decision = learner.act(0)
    >>> learner.learn(decision, [[1.0]])  # its estimate is 2: p = 4 (sqrt(2) (2 - x))^(-2)
    >>> round(float(learner.policy(0)[decision.arm]), 4)
    0.1594
    """

    id: ClassVar[str] = "tsallis-inf"
    needs_observability: ClassVar[str] = "none"
    needs_memory: ClassVar[bool] = False
    needs_own_loss: ClassVar[bool] = True
    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)  # any: it ignores the graph
    power: ClassVar[float] = 0.5

    def adaptation(self, problem: Problem) -> Adaptation:
        del problem
        return Adaptation(anytime=True, power=self.power)

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        del problem
        return {}

    def parameters(self, problem: Problem) -> ExponentialParameters:
        """Return eta of the first round of a context, which is also what it is divided from.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            All parameters, as the core takes them.
        """
        del problem
        return ExponentialParameters(2.0, 0.0, 0.0, 0.0, 2.0)


@register
@dataclass(frozen=True, kw_only=True)
class QFtrl(ExponentialAlgorithm):
    """FTRL with the Tsallis entropy whose power suits the graph (Eldowa et al. 2023, Algorithm 1).

    In the context of the round, and in no other, p minimises <p, L> + Psi(p) / eta with

        Psi(p) = (1 - sum_a p(a)^q) / (q (1 - q)),    lhat(b) = l(b) 1{b revealed} / p(N_in(b)),

    and is played as it is. The power q lies between that of bandits, 1/2, and that of exponential
    weights, 1: with z = log(K / alpha),

        q = (1 + z / (sqrt(z^2 + 4) + 2)) / 2,    eta = sqrt(2 K^(1 - q) / (q (1 - q) alpha^q n)).

    (The paper's eta is q times this one.)

    Bound (their Theorem 1), for each context with n = T / M rounds: 2 sqrt(e alpha n (2 + z)), if
    all edges go both ways and every arm has a self-loop. It has no log(K) where alpha is K. For
    arms without self-loop the paper shifts the estimates, which is not done here: nothing is proved
    for them, nor for directed graphs.

    Args:
        eta: The learning rate; set by the rule if None.
        q: The power of the entropy, above 0 and below 1; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.singletons(4), contexts=1, horizon=100)
    >>> QFtrl().power_of(problem), QFtrl().parameters(problem).eta
    (0.5, 0.2828...)
    """

    id: ClassVar[str] = "q-ftrl"
    needs_memory: ClassVar[bool] = False
    power: ClassVar[float] = math.nan  # it depends on the graph
    checks: ClassVar = {"q": partial(number, above=0, below=1)}

    eta: float | None = None
    q: float | None = None

    def power_of(self, problem: Problem) -> float:
        """Return q.

        Args:
            problem: The problem on which a learner is to be started.

        Raises:
            IndependenceNumberError: The rule needs the independence number, which is not known.
        """
        if self.q is not None:
            return self.q
        z = math.log(problem.arms / required_alpha(self.id, problem))
        return (1.0 + z / (math.sqrt(z * z + 4.0) + 2.0)) / 2.0

    def adaptation(self, problem: Problem) -> Adaptation:
        return Adaptation(power=self.power_of(problem))

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        q = self.power_of(problem)
        size = required_alpha(self.id, problem) ** q * rounds_to_learn_from(self, problem)
        return {"eta": math.sqrt(2.0 * problem.arms ** (1.0 - q) / (q * (1.0 - q) * size))}


# --- a learner for each context -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PerContextAlgorithm(ExponentialAlgorithm):
    """Exponential weights in each context, with plain observation probabilities."""

    needs_memory: ClassVar[bool] = False

    eta: float | None = None

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        """Return eta = sqrt(2 log K / (alpha T / M)), the rule of the appendix.

        alpha is that of `seen_graph`: K if the algorithm ignores the problem's.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The learning rate, by its name.
        """
        size = required_alpha("experiment", problem.with_graph(self.seen_graph(problem)))
        rounds = required_horizon("experiment", problem) / required_contexts("experiment", problem)
        return {"eta": math.sqrt(2.0 * math.log(problem.arms) / (size * rounds))}

    def learning_rate(self, problem: Problem) -> float:
        """Return eta: as it was given, or as the rule sets it.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The learning rate.

        Raises:
            InvalidParameterError: The rule needs a fact that the problem does not have.
        """
        return self.parameters(problem).eta


@register
@dataclass(frozen=True, kw_only=True)
class PerContextExp3(PerContextAlgorithm):
    """A separate Exp3 for each context (OBPC-Exp3).

    In the context c of the round, and in no other,

        lhat_{t,c}(a) = l_{t,c}(a) 1{a played} / p_{t,c}(a).

    It learns the loss of the arm played. As in the paper's evaluation, this also holds for an arm
    without self-loop, so `decision.revealed` is always the arm itself.

    Bound: O(sqrt(K M T log K)) for the M contexts taken separately. Tuning (appendix):
    eta = sqrt(2 log K / (K T / M)).

    Args:
        eta: The learning rate; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.complete(4), contexts=2, horizon=100)
    >>> round(PerContextExp3().learning_rate(problem), 4)
    0.1177
    """

    id: ClassVar[str] = "per-context-exp3"
    needs_observability: ClassVar[str] = "none"
    needs_own_loss: ClassVar[bool] = True
    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)  # any: it ignores the graph


@register
@dataclass(frozen=True, kw_only=True)
class PerContextGraph(PerContextAlgorithm):
    """Separate exponential weights with graph feedback for each context (OBPC-Graph).

    In the context c of the round, and in no other,

        lhat_{t,c}(a) = l_{t,c}(a) 1{a revealed} / p_{t,c}(N_in(a)),

    the plain observation probability: no implicit exploration, no mixing. The losses of other
    contexts are ignored.

    Bound: O~(sqrt(alpha M T)) for the M contexts taken separately (stated for such learners in
    the paper's introduction). Tuning (appendix): eta = sqrt(2 log K / (alpha T / M)).

    Args:
        eta: The learning rate; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.threshold(3), contexts=2, horizon=100)
    >>> learner = PerContextGraph().start(problem, seed=1)
    >>> decision = learner.act(1)
    >>> learner.learn(decision, [[0.5, 0.5] for _ in decision.revealed])
    >>> learner.policy(0)
    array([0.33333333, 0.33333333, 0.33333333])
    """

    id: ClassVar[str] = "per-context-graph"


# --- graphs that are never revealed ---------------------------------------------------------------


@register
@dataclass(frozen=True, kw_only=True)
class Exp3Edges(CheckedAlgorithm):
    """Exponential weights for graphs whose edges are drawn at random, with unknown probabilities.

    The setting is that of Esposito, Fusco, van der Hoeven and Cesa-Bianchi (2022): in each round,
    playing arm a reveals arm b with an unknown probability F(a, b), independently of the losses,
    which are arbitrary. The learner sees which arms its play reveals, and nothing else of a graph.

    As in the paper, arms are first played in turn to learn the edges. Then exponential weights p
    are played with uniform exploration, q = (1 - rho) p + rho / K, and

        lhat(b) = l(b) 1{b revealed} / sum_a q(a) f(a, b),

    where f(a, b) is the share of the plays of a that revealed b, among all rounds whose feedback
    has arrived. The paper plays a fixed graph of all edges above a threshold instead, in blocks
    that are long enough for each of its edges to occur. Using the estimates f in the weights is
    ours.

    Rates: with 1 / delta the least observation probability under uniform exploration, estimated
    after the warm-up, rho = (delta log(K) / (2 T))^(1/3) and eta = sqrt(2 rho log(K) / (delta T)),
    as Exp3G with cross-learning. The warm-up takes T^(2/3) rounds. (T / M instead of T without
    cross-learning.)

    Bound: if f were F, the regret after the warm-up would be at most
    3 (delta log(K) / 2)^(1/3) T^(2/3), as shown for Exp3G. An estimated edge of probability F has a
    relative error of the order sqrt(K / (T^(2/3) F)) after the warm-up, which adds at most T times
    the largest such error: O~(T^(2/3)) in all. This is an argument, not a proof: f also depends
    on the rounds in which it is used. Against an adversary that chooses the graphs as well, nothing
    like it is possible.

    Args:
        warm_up: The number of rounds in which arms are played in turn; set by the rule if None.
        eta: The learning rate; set by the rule if None.
        rho: The probability of uniform exploration; set by the rule if None.
        cross_learning: Whether a round is learned from in every context.

    >>> from crossbandit import simulate
    >>> from crossbandit.environments import random_graphs
    >>> environment = random_graphs(20_000, arms=4, density=0.5, kind="unknown", gap=0.4)
    >>> run = simulate(Exp3Edges(), environment, seed=1)
    >>> bool(run.pseudo_regret[-1] < 3_000)  # playing at random costs 6,000
    True
    """

    id: ClassVar[str] = "exp3-edges"
    needs_observability: ClassVar[str] = "weak"
    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)

    warm_up: int | None = None
    eta: float | None = None
    rho: float | None = None
    cross_learning: bool = True

    def least_observability(self, kind: str) -> str:
        return self.needs_observability if kind == "fixed" else "none"

    def start(self, problem: Problem, *, seed: Seed) -> EdgeLearner:
        self.require_playable(problem)
        return EdgeLearner(self, problem, seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        if problem.graph_kind != "fixed":
            return None
        graph, (warm_up, rounds) = problem.graph, self.schedule(problem)
        uniform = np.full(problem.arms, 1.0 / problem.arms)

        def rates(learner: Learner[Any]) -> tuple[float, float]:
            eta, rho = (float(rate) for rate in learner.state()["rates"])
            least = max(float((uniform @ _shares(learner)).min()), 1.0 / problem.arms**2)
            known = 2.0 * math.log(problem.arms) / rounds
            rho = rho or min((known / (4.0 * least)) ** (1.0 / 3.0), 0.5)
            return eta or math.sqrt(known * rho * least), rho

        def policy(learner: Learner[Any], p: Floats) -> Floats:
            rho = rates(learner)[1]
            if learner.round >= warm_up:
                return (1.0 - rho) * p + rho / problem.arms
            return np.tile(np.eye(problem.arms)[learner.round % problem.arms], (len(p), 1))

        def at(learner: Learner[Any], available: Booleans | None) -> Estimator:
            del available
            revealing, learns = _shares(learner), learner.round >= warm_up

            def share(policies: Floats, context: int) -> Floats:
                estimated = policies[context] @ revealing
                observed = graph.observation_mass(policies[context])
                known = (estimated > 0) & learns
                added: Floats = np.divide(
                    observed, estimated, out=np.zeros_like(observed), where=known
                )
                return added

            return replace(declared, share=share)

        declared = Estimator(
            graph,
            no_share,
            cross_learning=self.cross_learning,
            rate=lambda learner: rates(learner)[0],
            policy=policy,
            at=at,
        )
        return declared

    def schedule(self, problem: Problem) -> tuple[int, float]:
        """Return what the rule sets before the first round.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The length of the warm-up, and how many rounds a copy of the estimates learns from.

        Raises:
            InvalidParameterError: The rule needs a fact that the problem does not have.
        """
        if None not in (self.warm_up, self.eta, self.rho):
            return cast("int", self.warm_up), 1.0
        rounds = rounds_to_learn_from(self, problem)
        horizon = required_horizon(self.id, problem)
        usual = min(math.ceil(horizon ** (2.0 / 3.0)), horizon // 2)
        return usual if self.warm_up is None else self.warm_up, rounds


class EdgeLearner(CoreLearner[Exp3Edges]):
    """A running Exp3 that learns edges."""

    def __init__(self, algorithm: Exp3Edges, problem: Problem, seed: Seed) -> None:
        shape = estimate_shape(algorithm, problem, cross=algorithm.cross_learning)
        self.warm_up, rounds = algorithm.schedule(problem)
        core = EdgeCore(
            zeros("Exp3Edges", shape, problem.form.dtype),
            core_problem(problem, apart=not algorithm.cross_learning),
            self.warm_up,
            rounds,
            (algorithm.eta or 0.0, algorithm.rho or 0.0),
        )
        super().__init__(algorithm, problem, core, seed=seed)

    def tuned(self) -> Mapping[str, Any]:
        return {"warm_up": self.warm_up}


def _shares(learner: Learner[Any]) -> Floats:
    """Return f(a, b): the share of the plays of a that revealed b; 0 if a was never played."""
    state: Any = learner.state()
    played = np.maximum(state["played"], 1.0)
    return np.asarray(state["seen"] / played[:, None])
