"""Stochastic losses: drawn in every round, with means that never or rarely change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments.construction import check_rounds, set_fields
from crossbandit.environments.contexts import UNIFORM, ContextDistribution, distribution_over
from crossbandit.environments.environment import BlockEnvironment, row_block
from crossbandit.environments.noise import uniforms
from crossbandit.environments.registry import register
from crossbandit.problem import Problem, required_graph
from crossbandit.streams import stream
from crossbandit.validation import MAX_SIZE, boolean, integer, number, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Floats, Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Stochastic(BlockEnvironment):
    """Bernoulli losses whose means (arms, contexts) are constant in each phase.

    `phases` are pairs: the share of the horizon at which a phase begins, the first at 0, and its
    means. Arm a has one uniform number u_{t,a} in each round, and loses 1 in the contexts in which
    its mean is above this number. So the losses of every context are Bernoulli, and all contexts
    share the noise of a round. With `noisy=False`, the means themselves are the losses.

    So losses are linear. With v_0 < v_1 < ... the different means of a phase and v_{-1} = 0,

        1{u < mean}  =  sum_j 1{v_{j-1} <= u < v_j} 1{mean >= v_j},

    a coefficient per round and arm times a feature per context and arm. The time of a round depends
    on the number of different means, not on the number of contexts.
    """

    graph: FeedbackGraph
    horizon: int
    phases: Sequence[tuple[float, Any]]
    noisy: bool = True
    table_seed: int = 0
    context_distribution: ContextDistribution = UNIFORM
    problem: Problem = field(init=False, repr=False)
    _means: Floats = field(init=False, repr=False)
    _starts: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        arms = required_graph("stochastic", self.graph).arms
        check_rounds("stochastic", self.horizon, self.table_seed)
        boolean("stochastic", "noisy", self.noisy)
        pairs = _pairs(self.phases)
        shares = [number("stochastic", "phases", share) for share, _ in pairs]
        if not shares or shares[0] != 0 or not (np.diff([*shares, 1.0]) > 0).all():
            expected = "pairs that begin at ascending shares of the horizon, from 0 to below 1"
            reject("stochastic", "phases", expected, verbatim(f"the shares {shares}"))
        means = _means([means for _, means in pairs], arms)
        distribution = distribution_over("stochastic", self.context_distribution, means.shape[2])
        set_fields(self, _means=means, _starts=(np.array(shares) * self.horizon).astype(np.int64))
        problem = Problem(self.graph, features=self._features(), horizon=self.horizon)
        set_fields(self, problem=problem, context_distribution=distribution)

    def _features(self) -> Floats:
        """1{mean >= v_j} for each context, arm and level of each phase."""
        at_least = [
            means.T[:, :, None] >= levels
            for means, levels in zip(self._means, self._levels, strict=True)
        ]
        return np.concatenate(at_least, axis=2).astype(np.float64)

    @cached_property
    def _levels(self) -> list[Floats]:
        return [np.unique(means) for means in self._means]

    def block(self, start: int, stop: int) -> LossBlock:
        rounds, arms = np.arange(start, stop), self.graph.arms
        phase = np.searchsorted(self._starts, rounds, side="right") - 1
        noise = uniforms(self.table_seed, "losses", start, stop, arms)
        rows = np.zeros((stop - start, arms, self.problem.form.columns))
        column = 0
        for index, levels in enumerate(self._levels):
            now = np.flatnonzero(phase == index)
            for below, level in zip([0.0, *levels], levels, strict=False):
                if self.noisy:
                    rows[now, :, column] = (below <= noise[now]) & (noise[now] < level)
                else:
                    rows[now, :, column] = level - below
                column += 1
        return row_block(rows)

    def expected_block(self, start: int, stop: int) -> LossBlock:
        """Return the means of the losses of some rounds; see `Run.pseudo_regret`."""
        return self._noiseless.block(start, stop)

    @cached_property
    def _noiseless(self) -> Stochastic:
        return replace(self, noisy=False)


@register("stochastic", random_losses=True)
def stochastic(
    graph: FeedbackGraph,
    horizon: int,
    *,
    contexts: int = 10,
    gap: float = 0.1,
    best: int | None = None,
    late: float = 0.0,
    table_seed: int = 0,
    context_distribution: ContextDistribution | None = None,
) -> Stochastic:
    """Return Bernoulli losses of mean 1/2; the best arm of a context has a mean lower by `gap`.

    Args:
        graph: The feedback graph.
        horizon: The number of rounds.
        contexts: The number of contexts.
        gap: The difference of the means, above 0 and at most 0.5.
        best: The best arm of all contexts; random for each context if None.
        late: The share of the rounds, at the beginning, in which the later best arm is the worst:
            its mean is higher by `gap`.
        table_seed: The seed of everything random in the losses, at least 0.
        context_distribution: A distribution or a probability for each context; uniform if None.

    Raises:
        InvalidParameterError: A number is outside its range, or `best` is no arm.

    >>> from crossbandit import graphs
    >>> environment = stochastic(graphs.singletons(4), 1_000, contexts=3, gap=0.2, best=2)
    >>> environment.best_arms
    array([2, 2, 2])
    """
    arms = required_graph("stochastic", graph).arms
    integer("stochastic", "contexts", contexts, at_least=1, at_most=MAX_SIZE)
    integer("stochastic", "table_seed", table_seed, at_least=0, at_most=None)
    number("stochastic", "gap", gap, above=0, at_most=0.5)
    number("stochastic", "late", late, at_least=0, below=1)
    if best is not None and integer("stochastic", "best", best, at_least=0) >= arms:
        reject("stochastic", "best", f"an arm, an integer from 0 to {arms - 1}", best)
    drawn = stream(table_seed, "best arms").integers(arms, size=contexts)
    chosen = drawn if best is None else np.full(contexts, best)
    advantage = np.zeros((arms, contexts))
    advantage[chosen, np.arange(contexts)] = gap
    phases = [(0.0, 0.5 + advantage)] if late > 0 else []
    return Stochastic(
        graph=graph,
        horizon=horizon,
        phases=[*phases, (late, 0.5 - advantage)],
        table_seed=table_seed,
        context_distribution=distribution_over("stochastic", context_distribution, contexts),
    )


def _pairs(phases: Any) -> list[tuple[object, Any]]:
    try:
        return [(share, means) for share, means in phases]
    except (TypeError, ValueError):
        expected = "pairs: the share of the horizon at which a phase begins, and its means"
        reject("stochastic", "phases", expected, phases)


def _means(phases: list[Any], arms: int) -> Floats:
    """Return the means of all phases, (phases, arms, contexts); a vector is for one context."""
    expected = f"pairs with means from 0 to 1, all of shape ({arms}, contexts)"
    try:
        means = np.array([np.asarray(mean).reshape(len(mean), -1) for mean in phases], np.float64)
    except (TypeError, ValueError):
        reject("stochastic", "phases", expected, phases)
    if means.shape[1] != arms or means.size == 0:
        reject("stochastic", "phases", expected, verbatim(f"means of shape {means.shape[1:]}"))
    if not ((means >= 0) & (means <= 1)).all():
        got = verbatim(f"means from {means.min()} to {means.max()}")
        reject("stochastic", "phases", expected, got)
    return means
