"""Exp3 that learns the probabilities of edges: for random graphs that are never revealed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from crossbandit.algorithms.means_core import EdgeCore
from crossbandit.algorithms.tuning import core_problem, required_contexts, required_horizon
from crossbandit.learners.algorithm import Algorithm, register
from crossbandit.learners.core_learner import CoreLearner, estimate_shape
from crossbandit.learners.estimator import Estimator, no_share
from crossbandit.losses.forms import zeros
from crossbandit.problem import GRAPH_KINDS
from crossbandit.validation import boolean, integer, positive, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.learners.learner import Learner
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Booleans, Floats


class EdgeSchedule(NamedTuple):
    """When `Exp3Edges` learns."""

    warm_up: int  # the number of rounds in which arms are played in turn
    rounds: float  # how many rounds a copy of the estimates learns from


@register
@dataclass(frozen=True, kw_only=True)
class Exp3Edges(Algorithm):
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

    def __post_init__(self) -> None:
        self.check_parameters(lambda *it: integer(*it, at_least=0), "warm_up")
        self.check_parameters(positive, "eta")
        self.check_parameters(share, "rho")
        self.check_parameters(boolean, "cross_learning")

    def least_observability(self, kind: str) -> str:
        return self.needs_observability if kind == "fixed" else "none"

    def start(self, problem: Problem, *, seed: Seed) -> EdgeLearner:
        self.require_playable(problem)
        return EdgeLearner(self, problem, seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        if problem.graph_kind != "fixed":
            return None
        graph, setting = problem.graph, self.schedule(problem)
        uniform = np.full(problem.arms, 1.0 / problem.arms)

        def rates(learner: Learner[Any]) -> tuple[float, float]:
            eta, rho = (float(rate) for rate in learner.state()["rates"])
            least = max(float((uniform @ _shares(learner)).min()), 1.0 / problem.arms**2)
            known = 2.0 * math.log(problem.arms) / setting.rounds
            rho = rho or min((known / (4.0 * least)) ** (1.0 / 3.0), 0.5)
            return eta or math.sqrt(known * rho * least), rho

        def policy(learner: Learner[Any], p: Floats) -> Floats:
            rho = rates(learner)[1]
            if learner.round >= setting.warm_up:
                return (1.0 - rho) * p + rho / problem.arms
            return np.tile(np.eye(problem.arms)[learner.round % problem.arms], (len(p), 1))

        def at(learner: Learner[Any], available: Booleans | None) -> Estimator:
            del available
            revealing, learns = _shares(learner), learner.round >= setting.warm_up

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

    def schedule(self, problem: Problem) -> EdgeSchedule:
        """Return what the rule sets before the first round.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The length of the warm-up, and the number of rounds.

        Raises:
            InvalidParameterError: The rule needs a fact that the problem does not have.
        """
        rounds, warm_up = 1.0, self.warm_up
        if warm_up is None or self.eta is None or self.rho is None:
            horizon = required_horizon(self.id, problem)
            rounds = float(horizon)
            if not self.cross_learning:
                rounds = horizon / required_contexts(self.id, problem)
            if warm_up is None:
                warm_up = min(math.ceil(horizon ** (2.0 / 3.0)), horizon // 2)
        return EdgeSchedule(warm_up, rounds)


class EdgeLearner(CoreLearner[Exp3Edges]):
    """A running Exp3 that learns edges."""

    def __init__(self, algorithm: Exp3Edges, problem: Problem, seed: Seed) -> None:
        shape = estimate_shape(algorithm, problem, cross=algorithm.cross_learning)
        self.schedule = algorithm.schedule(problem)
        core = EdgeCore(
            zeros("Exp3Edges", shape, problem.form.dtype),
            core_problem(problem, apart=not algorithm.cross_learning),
            *self.schedule,
            (algorithm.eta or 0.0, algorithm.rho or 0.0),
        )
        super().__init__(algorithm, problem, core, seed=seed)

    def tuned(self) -> Mapping[str, Any]:
        return {"warm_up": self.schedule.warm_up}


def _shares(learner: Learner[Any]) -> Floats:
    """Return f(a, b): the share of the plays of a that revealed b; 0 if a was never played."""
    state: Any = learner.state()
    played = np.maximum(state["played"], 1.0)
    return np.asarray(state["seen"] / played[:, None])
