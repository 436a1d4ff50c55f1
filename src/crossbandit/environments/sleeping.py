"""Sleeping arms: in each round only some arms may be played."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments.contexts import FiniteContexts
from crossbandit.environments.environment import BlockEnvironment, check_rounds, row_block
from crossbandit.environments.registry import register
from crossbandit.problem import Problem, required_graph, set_fields
from crossbandit.streams import stream, uniforms
from crossbandit.validation import MAX_SIZE, integer, number

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Floats


@register("sleeping", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class Sleeping(BlockEnvironment):
    """Bernoulli losses of arms that are not always available (sleeping arms).

    The means are evenly spread from 0.2 to 0.8, in random order. A context is a set of available
    arms. The loss of an arm does not depend on the set: it is linear in one feature, which is 1. So
    a learner uses what it learns in one set in all sets. The comparator plays the best available
    arm of each set.

    Args:
        graph: The feedback graph.
        horizon: The number of rounds.
        sets: The number of sets, that is, of contexts.
        awake: The probability that an arm is in a set, above 0 and at most 1.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> from crossbandit import graphs
    >>> environment = sleeping(graphs.singletons(6), 1_000, sets=3, table_seed=1)
    >>> environment.available(np.array([0])).astype(int)
    array([[0, 0, 0, 1, 1, 1]])
    """

    graph: FeedbackGraph = field(kw_only=False)
    horizon: int = field(kw_only=False)
    sets: int = 100
    awake: float = 0.5
    table_seed: int = 0
    problem: Problem = field(init=False, repr=False)
    context_distribution: FiniteContexts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        required_graph("sleeping", self.graph)
        check_rounds("sleeping", self.horizon, self.table_seed)
        integer("sleeping", "sets", self.sets, at_least=1, at_most=MAX_SIZE)
        number("sleeping", "awake", self.awake, above=0, at_most=1)
        constant = np.ones((self.sets, 1))
        problem = Problem(self.graph, features=constant, horizon=self.horizon)
        set_fields(self, problem=problem, context_distribution=FiniteContexts(self.sets))

    @cached_property
    def awake_sets(self) -> npt.NDArray[np.bool_]:
        """Which arms are available in each set, (sets, K); at least one is."""
        generator = stream(self.table_seed, "awake")
        awake = generator.random((self.sets, self.graph.arms)) < self.awake
        spare = generator.integers(self.graph.arms, size=self.sets)
        empty = np.flatnonzero(~awake.any(axis=1))
        awake[empty, spare[empty]] = True
        awake.flags.writeable = False
        return awake

    @cached_property
    def means(self) -> Floats:
        """The mean loss of each arm, (K,)."""
        means = np.linspace(0.2, 0.8, self.graph.arms)
        return stream(self.table_seed, "means").permutation(means)

    def available(self, contexts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        awake: npt.NDArray[np.bool_] = self.awake_sets[contexts]
        return awake

    def block(self, start: int, stop: int) -> LossBlock:
        noise = uniforms(self.table_seed, "losses", start, stop, self.graph.arms)
        return row_block((noise < self.means)[:, :, None].astype(np.float64))


sleeping = Sleeping
