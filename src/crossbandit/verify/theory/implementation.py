"""The implementation of Algorithms 1 and 2 against the paper's definition.

**Exactly**, in everything that can happen on tiny instances. A node is the moment before a pair of
rounds: a learner in that state, and the same state by the definition. Copies of the learner play
every possible pair (two contexts, two arms, split, retention). The uniform number that decides
about retention is just below or just above the definition's threshold. Nothing is read from the
learner but policies and what it feeds to FTRL. One of the branches goes on: all checks are about
one pair, given a node. If policies and inputs are those of the definition in every branch, then so
are all distributions. What the paper says about them (Equation 3, Appendix A, the pair reduction,
the means in the proofs of Lemmas 11 and 12) follows from the definition, and is proved.

**On runs**, with the definition computed beside the learner, from the same contexts, losses and
uniform numbers. It also has the population quantities and the ideal trajectory, which no learner
can know. Every probability that the learner reports must agree with the definition, so a wrong
learner fails at its first deviation. The compiled simulation, which makes all tables and figures,
is compared with these runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.algorithms import CrossGraphKnown
from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.algorithms.learners.estimator import Estimator, Pairs, no_share
from crossbandit.algorithms.learners.problem import Problem
from crossbandit.core.forms import LinearForm
from crossbandit.core.streams import fixed, stream
from crossbandit.core.validation import reject, verbatim
from crossbandit.environments import BlockEnvironment, Environment, paper_benchmark
from crossbandit.environments.environment import horizon_of
from crossbandit.environments.simulation import simulate
from crossbandit.errors import CheckFailedError
from crossbandit.graphs import (
    FeedbackGraph,
    loopless_clique,
    random_strongly_observable,
    threshold,
)
from crossbandit.verify.checks.enumeration import (
    Enumeration,
    Route,
    drawn_at_edges,
    inside,
    policies_of,
)
from crossbandit.verify.theory.definition import (
    Definition,
    Moment,
    PairDraws,
    drawn_arm,
    heaviest,
    mixed,
    softmax,
)
from crossbandit.verify.theory.statements import CheckResult, Differences, Effort, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.algorithms import CrossGraph, Decision, Learner
    from crossbandit.core.blocks import LossBlock
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats, Integers
    from crossbandit.verify.checks.enumeration import Course

NU = np.array([0.25, 0.75])
TWO_LOOPLESS = FeedbackGraph([[0, 1, 0], [1, 0, 0], [1, 1, 1]])
_PARAMETERS = EpochParameters(0.8, 0.05, 0.2, 0.1, 2)  # a rate for which the fallback occurs
_EDGE = 1e-12


# Denominators and special arm are random from epoch 4 on: before, every snapshot is uniform. Much
# later, policies hardly change. Epochs of two pairs show mistakes in what is summed over an epoch.
_INSTANCES = (
    (loopless_clique(2), 2),
    (TWO_LOOPLESS, 2),
    (threshold(3), 2),
    (loopless_clique(2), 4),
)
_EPOCHS = 6
_SEEDS = {Effort.QUICK: range(5), Effort.FULL: range(20)}  # the courses that are followed


@dataclass(eq=False)
class PairNode:
    """A moment before a pair of rounds: by the definition, and a learner in that state."""

    moment: Moment
    learner: Learner
    losses: Floats  # (2, M, K): those of the pair

    def __post_init__(self) -> None:
        self.policies = policies_of(self.learner, NU.size)
        sums = self.policies.sum(axis=1)
        if not (np.all(self.policies >= 0) and np.all(np.abs(sums - 1) <= _EDGE)):
            raise CheckFailedError(
                f"The policies that the learner reports in epoch {self.moment.epoch}, pair "
                f"{self.moment.pair}, are not distributions: {self.policies.tolist()}."
            )

    def enumeration(self, contexts: tuple[int, ...]) -> Enumeration:
        """Return everything that can happen in these contexts: those of one round, or of both."""
        moment = self.moment

        def kept(_: Floats, context: int) -> Floats:
            shares: Floats = moment.r[context] / (2 * moment.q[context])
            return shares * (moment.epoch > 1)  # the warm-up epoch learns nothing

        pairs = Pairs(kept, moment.definition.parameters.epoch_length, 0.0)
        declared = Estimator(moment.definition.graph, no_share, pairs=pairs)
        route, losses = Route("", self.learner.graph), self.losses[: len(contexts)]
        return Enumeration(self.learner, declared, route, contexts, losses)

    @cached_property
    def courses(self) -> list[tuple[Course, PairDraws]]:
        """Everything that the learner can do in the pair, and what is drawn for it."""
        found = []
        for c, d in product(range(NU.size), repeat=2):
            for one in self.enumeration((c, d)).courses:
                a, b = one.arms
                found.append((one, PairDraws((c, d), (a, b), one.side, one.kept)))
        return found


def nodes(subject: Subject, effort: Effort) -> Iterator[PairNode]:
    """Yield the nodes that are played, of all instances. One course of each goes on."""
    for (graph, length), seed in product(_INSTANCES, _SEEDS[effort]):
        parameters, pairs = _PARAMETERS._replace(epoch_length=length), length // 2 * _EPOCHS
        rng = np.random.default_rng(seed)
        losses = rng.uniform(0.2, 1, (2 * pairs, NU.size, graph.arms))
        losses[:, 1] = 1.2 - losses[:, 0]  # the contexts disagree about the best arm
        problem = Problem(graph, contexts=NU.size)
        learner: Learner = replace(subject, **parameters._asdict()).start(problem, seed=0)
        moment = Definition(graph, NU, parameters).first()
        for first in range(0, 2 * pairs, 2):
            node = PairNode(moment, learner, losses[first : first + 2])
            yield node
            course, draws = node.courses[rng.integers(len(node.courses))]
            moment, learner = moment.after(draws, node.losses), course.learner


def learner_is_algorithm_2(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Every policy is q_{t,c} of the definition, and every input of FTRL is lhat + b."""
    policies, drawn, retained, fed = (Differences() for _ in range(4))
    fallbacks: list[bool] = []
    for node in nodes(subject, effort):
        moment = node.moment
        policies.compare(node.policies, moment.q)
        fallbacks += moment.fallback.tolist()
        for context, arm in product(range(NU.size), range(len(moment.u))):  # after the first round
            first = node.enumeration((context,)).play([inside(node.policies[context], arm)])
            policies.compare(policies_of(first.learner, NU.size), moment.q)
        for arm, wanted in drawn_at_edges(node.learner, node.policies, _EDGE):
            drawn.compare(arm, wanted)
        for one, draws in node.courses:
            # Unlike corrections, losses vary by context: the instances have no equal losses.
            retained.compare(np.ptp(one.added, axis=0).max() > _EDGE, one.kept)
            learns = moment.epoch > 1
            expected = moment.estimate(draws, node.losses) + moment.correction
            fed.compare(one.added, expected * learns)
    yield policies.result(
        "Equation 2 (FTRL) and the played q",
        "the policy of every context before every round of every branch, against the definition",
        f"At {sum(fallbacks):,} of {len(fallbacks):,} nodes and contexts, the fallback is played. "
        "p_{eL} is read as the state after all updates of epoch e: the literal sum over s < eL "
        "would drop an update of round eL.",
    )
    yield drawn.result(
        "Algorithm 2 (A ~ q)", "which arm a uniform number draws, at both ends of its interval"
    )
    yield retained.result(
        "Equation 3, Appendix A (retention)",
        "whether feedback is kept, just below and above the threshold r_e / (2 q)",
        "With policies that are those of the definition, P(B = a | c) = r_{e,c}(a) / 2 follows.",
    )
    yield fed.result(
        "Section 3.3 (what FTRL is fed: lhat + b)",
        "what every branch adds in every context, against 2 l I / W_e, with b on the arm j_e",
        "W_e is the mean over the frequency contexts + 3/2 gamma; j_e is the heaviest loopless arm "
        "on the loss-side contexts, the smallest of equal ones.",
    )


# --- Algorithm 1, for a known context distribution -----------------------------------------------


def learner_is_algorithm_1(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Policies and inputs of FTRL of Algorithm 1, over all arms and contexts of a few rounds."""
    policies, fed = Differences(), Differences()
    eta, gamma, rho, beta, _ = _PARAMETERS
    algorithm = CrossGraphKnown(eta=eta, gamma=gamma, rho=rho, beta=beta)
    graphs = (loopless_clique(2), TWO_LOOPLESS, threshold(3))
    for graph, seed in product(graphs, range(20 if effort is Effort.QUICK else 200)):
        problem = Problem(graph, contexts=NU.size, context_distribution=NU)
        learner: Learner = algorithm.start(problem, seed=0)
        declared, route = Estimator(graph, no_share), Route("", graph)
        rng, sums = np.random.default_rng(seed), np.zeros((NU.size, graph.arms))
        for _ in range(6):
            losses = rng.random((1, NU.size, graph.arms))
            r = mixed(softmax(-eta * sums), rho)
            m, w = NU @ r, NU @ r @ graph.adjacency
            correction, special = np.zeros(graph.arms), heaviest(m, graph.arms_without_self_loop)
            if special is not None:
                correction[special] = beta / (w[special] + gamma)
            every: list[tuple[Course, Floats]] = []
            for context in range(NU.size):
                found = Enumeration(learner, declared, route, (context,), losses)
                policies.compare(found.policies, r)
                for one in found.courses:
                    seen = graph.adjacency[one.arms[0]]
                    added = losses[0] * seen / (w + gamma) + correction
                    fed.compare(one.added, added)
                    every.append((one, added))
            course, added = every[rng.integers(len(every))]
            learner, sums = course.learner, sums + added
    yield policies.result(
        "Algorithm 1 (FTRL, r = (1 - rho) p + rho / K)",
        "the policy of every context, against the definition",
    )
    yield fed.result(
        "Algorithm 1 (lhat + b)",
        "what each context and arm feeds to FTRL, against l I / (w + gamma), with b on the arm j",
        "So its mean is l w / (w + gamma) + b.",
    )


# --- runs ---------------------------------------------------------------------------------------

TOLERANCE = 1e-9  # of probabilities: both sides round differently, in long sums
_PANEL = 16  # in so many contexts, whole policies are compared at each new epoch
_RUNS = {Effort.QUICK: range(2), Effort.FULL: range(10)}


class RoundLosses(NamedTuple):
    """The losses of all arms in one round."""

    rows: Floats  # (K, columns), as a learner is given them
    table: Floats  # (M, K)


class EnvironmentView(NamedTuple):
    """The context distribution, the comparator and all losses, which no learner knows."""

    environment: Environment
    horizon: int
    nu: Floats  # (M,): the context distribution
    comparator: Integers  # (M,): pi
    losses: Callable[[int], RoundLosses]  # of a round


def view_environment(owner: str, environment: Environment) -> EnvironmentView:
    """Return the view of an environment, which must have a list of contexts."""
    if not isinstance(environment, Environment):
        expected = "an Environment: something with problem, context_distribution and losses"
        reject(owner, "environment", expected, environment)
    nu = environment.context_distribution.probabilities
    if nu is None or environment.problem.contexts is None:
        expected = "an Environment with a list of contexts, each with its probability"
        reject(owner, "environment", expected, verbatim("continuous contexts"))

    @lru_cache(maxsize=2)  # a pair of rounds: runs that play it together share the work
    def losses(round_: int) -> RoundLosses:
        rows, form = environment.losses(round_), environment.problem.form
        if isinstance(form, LinearForm) and form.table is not None:
            return RoundLosses(rows, np.einsum("caf,af->ca", form.table, rows))
        return RoundLosses(rows, rows.T)

    horizon = horizon_of(environment)
    if isinstance(environment, BlockEnvironment):
        comparator = environment.best_arms
    else:
        comparator = np.argmin(sum(losses(t).table for t in range(horizon)), axis=1)
    return EnvironmentView(environment, horizon, nu, comparator, losses)


class GraphBenchmark(BlockEnvironment):
    """The losses of the paper's benchmark on any graph, in linear form: no cost grows with M.

    In the first `favoured` rounds (in all, if None), the losses of arm 0 are multiplied by
    `favour`. With a small factor, arm 0 is the best arm in nearly all contexts. If it has no
    self-loop, it becomes the special arm, which is rarely observed. If the advantage ends before
    the horizon, the learner plays arm 0 more than the comparator does. The pessimistic correction
    is made for this case.
    """

    def __init__(
        self,
        graph: FeedbackGraph,
        horizon: int,
        contexts: int,
        *,
        favour: float = 1.0,
        favoured: int | None = None,
        table_seed: int = 0,
    ) -> None:
        benchmark = paper_benchmark(
            horizon, radius=0, arms=graph.arms, contexts=contexts, table_seed=table_seed
        )
        self._linear = benchmark.factored()
        self._favour = favour
        self._favoured = horizon if favoured is None else favoured
        self.problem = self._linear.problem.with_graph(graph)
        self.context_distribution = self._linear.context_distribution

    def block(self, start: int, stop: int) -> LossBlock:
        block = self._linear.block(start, stop)
        count = min(stop, self._favoured) - start
        if self._favour == 1.0 or count <= 0:
            return block
        rows = block.base.copy()
        rows[:count, 0] *= self._favour
        return block._replace(base=rows)


class PlayedPair(NamedTuple):
    """Two rounds that were played from one policy."""

    first: int  # the first of the two rounds
    moment: Moment  # Algorithm 2 before the pair
    ideal: Moment  # the same on the ideal trajectory, which has u_e in place of W_e
    draws: PairDraws
    losses: Floats  # (2, M, K)

    @property
    def observed(self) -> Floats:
        """I_{t,a}: 1 for the arms whose losses are observed and kept, else 0; (K,)."""
        return self.moment.observed(self.draws)

    @property
    def played_losses(self) -> Floats:
        """The losses of the two arms that were played: (2,)."""
        played: Floats = self.losses[[0, 1], self.draws.contexts, self.draws.arms]
        return played

    @property
    def doubled(self) -> Floats:
        """Twice the losses of the loss-estimation round, as in the analysis: (M, K)."""
        result: Floats = 2.0 * self.losses[self.draws.loss_side]
        return result


def follow(algorithm: CrossGraph, view: EnvironmentView, seed: Seed) -> Iterator[PlayedPair]:
    """Play `algorithm` to the horizon and yield every pair. An odd last round is left out.

    Raises CheckFailedError as soon as the learner departs from Algorithm 2.
    """
    root = fixed(seed)
    problem = view.environment.problem
    learner = algorithm.start(problem, seed=root)
    contexts = view.environment.context_distribution.draw(stream(root, "contexts"), view.horizon)
    uniforms = stream(root, "learner").random(2 * view.horizon)  # four per pair of rounds
    moment = Definition(problem.graph, view.nu, algorithm.parameters(problem)).first()
    ideal = moment
    for first in range(0, view.horizon - 1, 2):
        if moment.pair == 0:
            ideal = moment.ideal()
            _compare_policies(learner, moment.q, first)
        arms, tables = [], []
        for i in range(2):
            context = int(contexts[first + i])
            rows, table = view.losses(first + i)
            decision = learner.act(context)
            arms.append(_expected_arm(decision, moment.q[context], uniforms[2 * first + i]))
            learner.learn(decision, rows[list(decision.revealed)])
            tables.append(table)
        split, coin = uniforms[2 * first + 2 : 2 * first + 4]
        side = 0 if split < 0.5 else 1
        both = (int(contexts[first]), int(contexts[first + 1]))
        kept = bool(coin < moment.retention(both[side], arms[side]))
        draws = PairDraws(both, (arms[0], arms[1]), side, kept)
        pair = PlayedPair(first, moment, ideal, draws, np.array(tables))
        yield pair
        moment, ideal = moment.after(draws, pair.losses), ideal.after(draws, pair.losses)


def _expected_arm(decision: Decision, policy: Floats, uniform: float) -> int:
    """Return the arm that Algorithm 2 draws; raise if the decision differs from it."""
    expected = drawn_arm(policy, uniform)
    same = decision.arm == expected
    if not (same and abs(decision.probability - policy[expected]) <= TOLERANCE):
        raise CheckFailedError(
            f"In round {decision.round}, context {decision.context}, the learner played arm "
            f"{decision.arm} with probability {decision.probability:.12g}. Algorithm 2 plays arm "
            f"{expected} with probability {policy[expected]:.12g}."
        )
    return expected


def _compare_policies(learner: Learner, policy: Floats, first: int) -> None:
    """Compare whole policies in some contexts, other ones in each epoch."""
    contexts = len(policy)
    for context in {(first + i * max(1, contexts // _PANEL)) % contexts for i in range(_PANEL)}:
        shown = learner.policy(context)
        gaps = np.abs(shown - policy[context])
        if not gaps.max() <= TOLERANCE:
            arm = int(gaps.argmax())
            raise CheckFailedError(
                f"Before round {first}, the learner would play arm {arm} in context {context} with "
                f"probability {shown[arm]:.12g}. Algorithm 2 plays it with probability "
                f"{policy[context, arm]:.12g}."
            )


# --- the compiled simulation -------------------------------------------------------------------


def _instances(subject: Subject) -> tuple[tuple[CrossGraph, Environment], ...]:
    """Return both forms of losses, several kinds of graph, and epochs that do not fit T."""
    steep = replace(subject, eta=0.3, gamma=0.02, rho=0.1, beta=0.05, epoch_length=6)
    experiment = replace(subject, tuning="experiment")
    random = random_strongly_observable(6, density=0.4, seed=3)
    return (
        (experiment, paper_benchmark(1_000, alpha=4, contexts=20)),
        (steep, paper_benchmark(500, alpha=2, contexts=7)),
        (steep, GraphBenchmark(loopless_clique(4), 500, 7)),
        (steep, GraphBenchmark(TWO_LOOPLESS, 502, 5, favour=0.5)),
        (steep, GraphBenchmark(random, 300, 11)),
    )


def compiled_loop_is_algorithm_2(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Arms and losses of `simulate` are those of the definition."""
    arms, losses = Differences(), Differences()
    for algorithm, environment in _instances(subject):
        view = view_environment("verify", environment)
        for seed in _RUNS[effort]:
            run = simulate(algorithm, environment, seed=seed, show_progress=False)
            pairs = list(follow(algorithm, view, seed))
            arms.compare(run.arms, np.ravel([pair.draws.arms for pair in pairs]))
            losses.compare(run.losses, np.ravel([pair.played_losses for pair in pairs]))
    yield arms.result(
        "Algorithm 2, compiled simulation (arms)",
        "the arms that `simulate` plays, against the definition on the same random numbers",
    )
    yield losses.result(
        "Algorithm 2, compiled simulation (losses)",
        "the losses that `simulate` records, against those of the arms of the definition",
    )
