"""Runs of the learner under test, with the definition of Algorithm 2 computed beside it.

The learner plays with `act` and `learn`. The definition gets the same contexts, losses and uniform
numbers. It also computes the population quantities and the ideal trajectory, which no learner can
know. Every probability that the learner reports must agree with the definition, so a wrong learner
fails at its first deviation.

The compiled simulation, which makes all tables and figures, is also compared with the definition.
`GraphBenchmark` is the environment on which statements about whole runs are checked.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.core.forms import LinearForm
from crossbandit.core.streams import fixed, stream
from crossbandit.core.validation import reject, verbatim
from crossbandit.environments import BlockEnvironment, Environment, paper_benchmark
from crossbandit.environments.environment import horizon_of
from crossbandit.environments.simulation import simulate
from crossbandit.errors import CheckFailedError
from crossbandit.graphs import loopless_clique, random_strongly_observable
from crossbandit.verify.theory.definition import Definition, Moment, PairDraws, drawn_arm
from crossbandit.verify.theory.exact import TWO_LOOPLESS
from crossbandit.verify.theory.statements import (
    CheckResult,
    Differences,
    Effort,
    Subject,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.algorithms import CrossGraph, Decision, Learner
    from crossbandit.core.blocks import LossBlock
    from crossbandit.core.forms import LossForm
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats, Integers
    from crossbandit.graphs import FeedbackGraph

TOLERANCE = 1e-9  # of probabilities: both sides round differently, in long sums
_PANEL = 16  # in so many contexts, whole policies are compared at each new epoch
_SEEDS = {Effort.QUICK: range(2), Effort.FULL: range(10)}


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
        rows = environment.losses(round_)
        return RoundLosses(rows, _in_all_contexts(environment.problem.form, rows))

    horizon = horizon_of(environment)
    if isinstance(environment, BlockEnvironment):
        comparator = environment.best_arms
    else:
        comparator = np.argmin(sum(losses(t).table for t in range(horizon)), axis=1)
    return EnvironmentView(environment, horizon, nu, comparator, losses)


def _in_all_contexts(form: LossForm, rows: Floats) -> Floats:
    """Return the losses of a round as a table (M, K)."""
    if isinstance(form, LinearForm) and form.table is not None:
        read: Floats = np.einsum("caf,af->ca", form.table, rows)
        return read
    return rows.T


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
        for seed in _SEEDS[effort]:
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
