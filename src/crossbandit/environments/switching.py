"""An oblivious adversary that changes the best arm at random rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.environments.contexts import UNIFORM, ContextDistribution, distribution_over
from crossbandit.environments.environment import BlockEnvironment, check_rounds
from crossbandit.environments.registry import register
from crossbandit.kernels.rounds import LossBlock
from crossbandit.problem import Problem, required_graph, set_fields
from crossbandit.streams import stream
from crossbandit.validation import MAX_SIZE, integer, number, reject, verbatim

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.types import Floats

# Contexts differ from their group by up to this share of the gap. It does not change the best arm.
_SPREAD = 0.25


@register("switching")
@dataclass(frozen=True, kw_only=True, eq=False)
class Switching(BlockEnvironment):
    """Losses whose best arm changes at random rounds.

    The contexts form groups. Each group has one *champion*, the best arm over the horizon, and
    `switches + 1` phases that begin at random rounds. In the first phase, and in every second one,
    a random other arm is best by `gap`, and the champion is worst by `gap`. In the other phases the
    champion is best by twice the gap. So the best arm of every context changes at every switch.
    More switches and a smaller gap make the problem harder.

    Args:
        graph: The feedback graph, of at least 3 arms.
        horizon: The number of rounds.
        contexts: The number of contexts.
        groups: The number of groups of contexts.
        switches: How often the best arm changes, less than the horizon.
        gap: The difference between the best arm and the others, above 0 and at most 0.2.
        table_seed: The seed of everything random in the losses, at least 0.
        context_distribution: A distribution or a probability for each context; uniform if None.

    >>> from crossbandit import graphs
    >>> environment = switching(graphs.complete(5), 1_000, switches=3)
    >>> [int(environment.losses(t)[:, 0].argmin()) for t in (0, 999)]
    [2, 0]
    """

    graph: FeedbackGraph = field(kw_only=False)
    horizon: int = field(kw_only=False)
    contexts: int = 100
    groups: int = 4
    switches: int = 5
    gap: float = 0.2
    table_seed: int = 0
    context_distribution: ContextDistribution = UNIFORM
    problem: Problem = field(init=False, repr=False)

    def __post_init__(self) -> None:
        required_graph("switching", self.graph)
        integer("switching", "contexts", self.contexts, at_least=1, at_most=MAX_SIZE)
        integer("switching", "groups", self.groups, at_least=1, at_most=MAX_SIZE)
        check_rounds("switching", self.horizon, self.table_seed)
        integer("switching", "switches", self.switches, at_least=1)
        if self.switches >= self.horizon:
            expected = f"an integer below the horizon, {self.horizon}"
            reject("switching", "switches", expected, self.switches)
        number("switching", "gap", self.gap, above=0, at_most=0.2)
        if self.graph.arms < 3:
            got = verbatim(f"{self.graph.arms} arms")
            reject("switching", "graph", "a FeedbackGraph of at least 3 arms", got)
        problem = Problem(self.graph, contexts=self.contexts, horizon=self.horizon)
        distribution = distribution_over("switching", self.context_distribution, self.contexts)
        set_fields(self, problem=problem, context_distribution=distribution)

    @cached_property
    def _schedule(self) -> tuple[npt.NDArray[np.int64], Floats]:
        """The first round of each phase (groups, phases), and its losses (groups, phases, K)."""
        generator = stream(self.table_seed, "losses")
        phases = self.switches + 1
        starts = np.zeros((self.groups, phases), dtype=np.int64)
        offsets = np.zeros((self.groups, phases, self.graph.arms))
        for group in range(self.groups):
            rounds = generator.choice(self.horizon - 1, size=self.switches, replace=False) + 1
            starts[group, 1:] = np.sort(rounds)
            champion = generator.integers(self.graph.arms)
            for phase in range(phases):
                if phase % 2 == 0:
                    decoy = (champion + generator.integers(1, self.graph.arms)) % self.graph.arms
                    offsets[group, phase, decoy] = -self.gap
                    offsets[group, phase, champion] = self.gap
                else:
                    offsets[group, phase, champion] = -2 * self.gap
        return starts, offsets

    @cached_property
    def _base(self) -> tuple[Floats, Floats]:
        generator = stream(self.table_seed, "contexts of losses")
        width = _SPREAD * self.gap
        spread = generator.uniform(-width, width, (1, self.graph.arms, self.contexts))
        membership = np.arange(self.contexts) % self.groups == np.arange(self.groups)[:, None]
        return 0.5 + spread, membership.astype(np.float64)

    def block(self, start: int, stop: int) -> LossBlock:
        starts, offsets = self._schedule
        base, features = self._base
        rounds = np.arange(start, stop)
        coefficients = np.empty((stop - start, self.graph.arms, self.groups))
        for group in range(self.groups):
            phase = np.searchsorted(starts[group], rounds, side="right") - 1
            coefficients[:, :, group] = offsets[group, phase]
        return LossBlock(base, coefficients, features, clip=True)


switching = Switching
