"""Stochastic losses: drawn in every round, with means that never or rarely change.

`misleading` has losses that mislead learners which keep the means of all observed losses.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments.contexts import UNIFORM, ContextDistribution, distribution_over
from crossbandit.environments.environment import BlockEnvironment, check_rounds, row_block
from crossbandit.environments.registry import register
from crossbandit.problem import Problem, required_graph, set_fields
from crossbandit.streams import stream, uniforms
from crossbandit.validation import MAX_SIZE, boolean, integer, number, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Floats, Integers

# For `misleading`: the share of rounds after which means change, and the means before and after.
_CHANGE = 0.3
_BEST, _SHOWING, _HIDING, _OTHER = (0.9, 0.1), (0.4, 0.9), (0.5, 0.5), (0.75, 0.75)


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


@register("misleading", random_losses=True)
def misleading(
    graph: FeedbackGraph,
    horizon: int,
    *,
    contexts: int = 10,
    table_seed: int = 0,
    context_distribution: ContextDistribution | None = None,
) -> Stochastic:
    """Return Bernoulli losses whose best arm is bad while it is seen, and good while it is not.

    Three arms have roles, the same in all contexts. They are drawn among those with an edge
    showing -> best and without an edge hiding -> best. Means change once:

    | arm | first 3/10 of the rounds | later |
    |---|---:|---:|
    | best | 0.9 | 0.1 |
    | showing | 0.4 | 0.9 |
    | hiding | 0.5 | 0.5 |
    | others | 0.75 | 0.75 |

    A learner that plays what was good so far plays the showing arm first, and observes that the
    best arm is bad. Then it plays the hiding arm, which does not reveal that the best arm is now
    good. The learner trusts its mean of many losses and does not try the best arm again. Its regret
    grows like 0.16 T. A learner that explores at a constant rate, or divides losses by the
    probabilities of observing them, notices the change. From 0.6 T on, the best arm has the least
    total loss.

    If there are no three such arms, only the best and the hiding arm have roles. If every arm
    reveals every other one, nothing can be hidden, and the losses are not hard.

    Args:
        graph: The feedback graph, of at least 2 arms.
        horizon: The number of rounds.
        contexts: The number of contexts.
        table_seed: The seed of the roles and of everything random in the losses, at least 0.
        context_distribution: A distribution or a probability for each context; uniform if None.

    Raises:
        InvalidParameterError: A number is outside its range, or there is one arm only.

    >>> from crossbandit import graphs, simulate
    >>> from crossbandit.algorithms import SuccessiveElimination
    >>> environment = misleading(graphs.loopy_star(4), 20_000, contexts=1)
    >>> run = simulate(SuccessiveElimination(), environment, seed=1)
    >>> bool(run.final_regret > 0.1 * 20_000)
    True
    """
    arms = required_graph("misleading", graph).arms
    integer("misleading", "contexts", contexts, at_least=1, at_most=MAX_SIZE)
    integer("misleading", "table_seed", table_seed, at_least=0, at_most=None)
    if arms < 2:
        got = verbatim(f"{arms} arm")
        reject("misleading", "graph", "a FeedbackGraph of at least 2 arms", got)
    best, hiding, showing = _roles(graph, table_seed)
    phases = []
    for phase, share in enumerate((0.0, _CHANGE)):
        means = np.full((arms, contexts), _OTHER[phase])
        if showing is not None:
            means[showing] = _SHOWING[phase]
        means[best], means[hiding] = _BEST[phase], _HIDING[phase]
        phases.append((share, means))
    return Stochastic(
        graph=graph,
        horizon=horizon,
        phases=phases,
        table_seed=table_seed,
        context_distribution=distribution_over("misleading", context_distribution, contexts),
    )


def _roles(graph: FeedbackGraph, table_seed: int) -> tuple[int, int, int | None]:
    """Return the best arm, one that hides it, and one that shows it, if there is one."""
    edges = graph.adjacency
    pairs = list(permutations(range(graph.arms), 2))
    hidden = [(best, hiding) for best, hiding in pairs if not edges[hiding, best]]
    found: list[tuple[int, int, int | None]] = [
        (best, hiding, int(showing))
        for best, hiding in hidden
        for showing in np.flatnonzero(edges[:, best])
        if showing != best
    ]
    found = found or [(best, hiding, None) for best, hiding in hidden or pairs]
    return found[stream(table_seed, "roles of arms").integers(len(found))]
