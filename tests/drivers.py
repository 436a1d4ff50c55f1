"""Ways to drive a learner: with an environment's losses or chosen numbers; and a look inside."""

import copy
from collections.abc import Iterable
from typing import Any, TypeVar, cast

import numpy as np

from crossbandit import Decision, FeedbackGraph, Problem
from crossbandit.algorithms import Algorithm, Learner
from crossbandit.algorithms.cross_graph_adaptive import anchors_of
from crossbandit.algorithms.exp3 import ExponentialLearner
from crossbandit.algorithms.exponential_core import (
    Adaptation,
    ExponentialCore,
    ExponentialParameters,
)
from crossbandit.algorithms.learners.learner import CoreLearner
from crossbandit.algorithms.tuning import core_problem
from crossbandit.core.streams import stream
from crossbandit.core.types import Floats
from crossbandit.environments import BlockEnvironment

_Learner = TypeVar("_Learner", bound=Learner)


class PerContextLearner(ExponentialLearner):
    """Exponential weights in each context, for any algorithm and graph: to be broken by tests."""

    def __init__(
        self, algorithm: Any, problem: Problem, graph: FeedbackGraph, eta: float, seed: Any
    ) -> None:
        self.parameters = ExponentialParameters(eta, 0.0, 0.0, 0.0, 0.0)
        uniform = np.full(problem.arms, 1.0 / problem.arms)
        shape = (algorithm.require_contexts(problem), problem.arms, 1)
        known = core_problem(problem, graph, apart=True)
        core = ExponentialCore(
            np.zeros(shape), known, self.parameters, uniform, 0.0 * uniform, Adaptation()
        )
        CoreLearner.__init__(self, algorithm, problem, core, seed=seed, graph=graph)

    def state(self) -> Any:
        return {**super().state(), "estimates": self.core.state()["estimates"][:, :, 0]}


class Scripted:
    """Stands in for a learner's generator and hands out chosen numbers."""

    def __init__(self, numbers: Iterable[float]) -> None:
        self._numbers = iter(numbers)

    def random(self, size: int | None = None) -> Any:
        if size is None:
            return next(self._numbers)
        return np.array([next(self._numbers) for _ in range(size)])


def act(learner: Learner, context: Any, *numbers: float, **options: Any) -> Decision:
    """Let `learner` act with exactly these random numbers."""
    cast("Any", learner).generator = Scripted(numbers)
    return learner.act(context, **options)


def inside(policy: Floats, arm: int) -> float:
    """Return a uniform number that draws `arm` from `policy`, well away from its neighbours."""
    return float(policy[:arm].sum() + policy[arm] / 2)


def clone(learner: _Learner) -> _Learner:
    """Return an independent copy: the same state, the same random numbers to come."""
    shared = (learner.problem, learner.algorithm, learner.graph)
    return copy.deepcopy(learner, {id(thing): thing for thing in shared})


def start(algorithm: Algorithm, environment: BlockEnvironment, seed: int = 0) -> Learner:
    """Start `algorithm` as a simulation would."""
    return algorithm.start(problem_for(algorithm, environment), seed=seed)


def problem_for(algorithm: Algorithm, environment: BlockEnvironment) -> Problem:
    """Return the environment's problem, with the law of contexts if the algorithm needs it."""
    law = environment.context_distribution.probabilities
    if algorithm.needs_context_distribution and law is not None:
        return environment.problem.with_distribution(law)
    return environment.problem


def contexts_of(environment: BlockEnvironment, seed: int = 0) -> Any:
    """Return the contexts of all rounds, as a simulation with this seed draws them."""
    horizon = environment.problem.horizon
    assert horizon is not None
    return environment.context_distribution.draw(stream(seed, "contexts"), horizon)


def revealed(environment: BlockEnvironment, decision: Decision) -> Floats:
    """Return the rows of losses that a decision reveals."""
    return environment.losses(decision.round)[list(decision.revealed)]


def play(learner: Learner, environment: BlockEnvironment, rounds: int | None = None) -> list[int]:
    """Play on, with prompt feedback, until `rounds` rounds are played in all; return the arms."""
    arms = []
    for context in contexts_of(environment)[learner.round : rounds]:
        decision = learner.act(context)
        learner.learn(decision, revealed(environment, decision))
        arms.append(decision.arm)
    return arms


def cumulative(learner: Learner) -> Floats:
    """Return what the learner has summed up, as the paper has it: contexts by arms."""
    state = learner.state()
    if "bias" not in state:
        return np.array(state["estimates"])
    if _own_contexts(learner):  # a copy for each context
        return np.array(state["estimates"][:, :, 0] + state["bias"])
    estimates, bias = state["estimates"][0], state["bias"][0]
    offsets, entries, table, _ = learner.problem.form.support()
    width = table.shape[2]
    own = np.array(
        [
            bias + (estimates[:, offset : offset + width] * table[entry]).sum(axis=1)
            for offset, entry in zip(offsets, entries, strict=True)
        ]
    )
    algorithm: Any = learner.algorithm
    if getattr(algorithm, "anchored", False) and table.shape[1] == 1:
        anchor, order, _ = anchors_of(learner.graph)  # it keeps differences to an anchor
        for a in order:
            if anchor[a] >= 0:
                own[:, a] += own[:, anchor[a]]
    return own


def _own_contexts(learner: Learner) -> bool:
    algorithm: Any = learner.algorithm
    return getattr(algorithm, "crosses", getattr(algorithm, "cross_learning", True)) is False


def assert_same_state(learner: Learner, other: Learner) -> None:
    """Fail unless both have learned the same, to the last bit, and draw the same numbers."""
    ours, theirs = learner.state(), other.state()
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    assert learner.generator.bit_generator.state == other.generator.bit_generator.state


def assert_same_but_for_scratch(learner: Learner, other: Learner) -> None:
    """Fail unless both have learned the same, to the last bit; scratch arrays may differ."""
    ours, theirs = learner.state(), other.state()
    scratch = {"weights", "softmax", "chosen", "losses", "inferred", "pooled", "sums", "revealed"}
    for name in ours.keys() - scratch - {"place", "mean", "denominators"}:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
