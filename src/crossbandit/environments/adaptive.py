"""Environments whose losses depend on the arms played before: adaptive adversaries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crossbandit.environments.contexts import UNIFORM, ContextDistribution, distribution_over
from crossbandit.environments.environment import check_rounds
from crossbandit.environments.registry import register
from crossbandit.problem import Problem, required_graph, set_fields
from crossbandit.streams import stream
from crossbandit.validation import MAX_SIZE, integer, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.types import Floats


class AdaptiveEnvironment(ABC):
    """An environment whose losses may depend on the arms played in earlier rounds.

    A subclass sets `problem` and `context_distribution`, and overrides `losses`. The plain loop
    simulates it. The guarantees of the shipped algorithms are for oblivious losses. Here, regret
    compares with the loss of a fixed policy *on the losses that occurred*. Under the fixed policy,
    other losses would have occurred; `Run.policy_regret` takes this into account.

    Attributes:
        adaptive: True. It marks the environment.
    """

    adaptive: ClassVar[bool] = True
    problem: Problem
    context_distribution: ContextDistribution

    @abstractmethod
    def losses(self, round_: int, arms: Sequence[int] = ()) -> Floats:
        """Return the losses of all arms in one round.

        Args:
            round_: The round, from 0.
            arms: The arms that were played in all rounds before it.

        Returns:
            Losses of shape (K, contexts), or coefficients of shape (K, features). The same
            arguments must give the same losses.
        """


@register("congestion", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class Congestion(AdaptiveEnvironment):
    """Congestion: an arm costs more, the more often it was played recently.

        l_{t,c}(a) = (1 - weight) base_c(a) + weight share_t(a),

    where share_t(a) is the share of the last `memory` plays that were a. Before the first round, no
    arm was played.

    The base losses are uniform in [0, 1]. A policy that always plays the arm with the least base
    loss raises the loss of that arm. Policy regret includes this. Regret does not, because it uses
    the losses that the learner's own plays caused.

    Args:
        graph: The feedback graph.
        horizon: The number of rounds.
        contexts: The number of contexts.
        memory: The number of past rounds that count.
        weight: The weight of the congestion, from 0 to 1.
        table_seed: The seed of the base losses, at least 0.
        context_distribution: A distribution or a probability for each context; uniform if None.

    >>> from crossbandit import graphs
    >>> environment = congestion(graphs.complete(3), 100, contexts=2, memory=4, weight=0.5)
    >>> fresh, worn = environment.losses(9), environment.losses(9, [2, 2, 2, 0, 1, 1, 2, 1, 1])
    >>> (worn - fresh).round(3)[:, 0]
    array([0.   , 0.375, 0.125])
    """

    graph: FeedbackGraph = field(kw_only=False)
    horizon: int = field(kw_only=False)
    contexts: int = 2
    memory: int = 10
    weight: float = 0.5
    table_seed: int = 0
    context_distribution: ContextDistribution = UNIFORM
    problem: Problem = field(init=False, repr=False)

    def __post_init__(self) -> None:
        required_graph("congestion", self.graph)
        check_rounds("congestion", self.horizon, self.table_seed)
        integer("congestion", "contexts", self.contexts, at_least=1, at_most=MAX_SIZE)
        integer("congestion", "memory", self.memory, at_least=1)
        number("congestion", "weight", self.weight, at_least=0, at_most=1)
        distribution = distribution_over("congestion", self.context_distribution, self.contexts)
        problem = Problem(self.graph, contexts=self.contexts, horizon=self.horizon)
        set_fields(self, problem=problem, context_distribution=distribution)

    @cached_property
    def base(self) -> Floats:
        """The losses of arms that were not played recently, (K, contexts)."""
        base = stream(self.table_seed, "losses").random((self.graph.arms, self.contexts))
        base.flags.writeable = False
        return base

    def losses(self, round_: int, arms: Sequence[int] = ()) -> Floats:
        del round_
        recent = np.asarray(arms[-self.memory :], dtype=np.int64)
        share = np.bincount(recent, minlength=self.graph.arms) / self.memory
        return (1.0 - self.weight) * self.base + self.weight * share[:, None]


congestion = Congestion
