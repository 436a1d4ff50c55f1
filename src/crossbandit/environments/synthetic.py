"""Losses that are made up, as those of the benchmark, or given as an array; changing graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from crossbandit.algorithms.learners.problem import GRAPH_KINDS, GraphKind, Problem, set_fields
from crossbandit.core.blocks import GraphBlock, LossBlock, graphs_of_matrices, joined
from crossbandit.core.forms import ROUNDING, feature_table
from crossbandit.core.losses import first_outside
from crossbandit.core.streams import stream, uniforms
from crossbandit.core.types import Booleans, Floats, Integers
from crossbandit.core.validation import (
    MAX_SIZE,
    array,
    boolean,
    choice,
    integer,
    number,
    reject,
    verbatim,
)
from crossbandit.environments.environment import (
    UNIFORM,
    BlockEnvironment,
    ContextDistribution,
    check_settings,
    checked,
    distribution_over,
    graph_block,
    register,
    row_block,
    zipf,
)
from crossbandit.errors import InvalidLossesError, InvalidParameterError
from crossbandit.graphs import FeedbackGraph, paper_ring, singletons
from crossbandit.graphs.graph import as_graph

PERIOD = 2000
AMPLITUDE = 0.1

# Coefficients up to this size are computed once and kept; larger ones batch by batch.
_KEPT_BYTES = 2**26


@dataclass(frozen=True, kw_only=True)
class PaperBenchmark(BlockEnvironment):
    """One fixed, nonstationary loss table on the paper's ring.

        l_{t,c}(a) = clip(B_{c,a} + 0.1 sin(2 pi (t + 1) / 2000 + phi_c + psi_a), 0, 1),

    with B uniform in [0.15, 0.85] and the phases uniform in [0, 2 pi), drawn once from
    `table_seed`. Contexts are uniform unless a `context_distribution` is given. By the
    angle-addition formula, the moving part is a product of two coefficients per round and arm with
    two features per context.
    """

    horizon: int = field(metadata=checked(integer, at_least=1))
    radius: int
    arms: int = 9
    contexts: int = field(default=1000, metadata=checked(integer, at_least=1, at_most=MAX_SIZE))
    table_seed: int = field(default=0, metadata=checked(integer, at_least=0, at_most=None))
    context_distribution: ContextDistribution = UNIFORM
    owner: InitVar[str] = "paper_benchmark"  # the name for error messages

    def __post_init__(self, owner: str) -> None:
        check_settings(owner, self)
        graph = paper_ring(self.arms, self.radius)
        problem = Problem(graph, contexts=self.contexts, horizon=self.horizon)
        distribution = distribution_over(owner, self.context_distribution, self.contexts)
        set_fields(self, problem=problem, context_distribution=distribution)

    @cached_property
    def _table(self) -> tuple[Floats, Floats, Floats]:
        """B (1, arms, contexts), the features (2, contexts) of phi, and psi (arms,)."""
        generator = stream(self.table_seed, "losses")
        base = generator.uniform(0.15, 0.85, (self.contexts, self.arms))
        phi = generator.uniform(0.0, 2 * np.pi, self.contexts)
        psi = generator.uniform(0.0, 2 * np.pi, self.arms)
        return np.ascontiguousarray(base.T)[None], np.stack([np.cos(phi), np.sin(phi)]), psi

    def block(self, start: int, stop: int) -> LossBlock:
        base, features, _ = self._table
        kept = self.horizon * self.arms * 16 <= _KEPT_BYTES
        phases = self._all_phases[start:stop] if kept else self._phases(start, stop)
        return LossBlock(base, phases, features, clip=True)

    @cached_property
    def _all_phases(self) -> Floats:
        return self._phases(0, self.horizon)

    def factored(self) -> BlockEnvironment:
        """Return the benchmark in linear form: its losses stay within [0.05, 0.95]."""
        return cast("BlockEnvironment", super().factored())

    def _phases(self, start: int, stop: int) -> Floats:
        time = 2 * np.pi * (np.arange(start, stop) + 1) / PERIOD
        angle = time[:, None] + self._table[2]
        return AMPLITUDE * np.stack([np.sin(angle), np.cos(angle)], axis=2)


@register("paper-benchmark")
def paper_benchmark(
    horizon: int,
    *,
    alpha: int | None = None,
    radius: int | None = None,
    arms: int = 9,
    contexts: int = 1000,
    table_seed: int = 0,
) -> PaperBenchmark:
    """Return the paper's benchmark, with the ring given by its independence number or its radius.

    Args:
        horizon: The number of rounds.
        alpha: The independence number of the ring; give this or `radius`.
        radius: The radius of the ring; give this or `alpha`.
        arms: The number of arms, at least 2.
        contexts: The number of contexts.
        table_seed: The seed of the loss table, at least 0.

    >>> paper_benchmark(10_000, alpha=4).problem.graph.independence_number
    4
    """
    return PaperBenchmark(
        horizon=horizon,
        radius=_given_radius("paper_benchmark", arms, alpha, radius),
        arms=arms,
        contexts=contexts,
        table_seed=table_seed,
    )


@register("paper-benchmark-zipf")
def zipf_benchmark(
    horizon: int,
    *,
    alpha: int | None = None,
    radius: int | None = None,
    arms: int = 9,
    contexts: int = 1000,
    exponent: float = 1.0,
    table_seed: int = 0,
) -> PaperBenchmark:
    """Return the paper's benchmark with Zipf's distribution: few contexts are frequent.

    Args:
        horizon: The number of rounds.
        alpha: The independence number of the ring; give this or `radius`.
        radius: The radius of the ring; give this or `alpha`.
        arms: The number of arms, at least 2.
        contexts: The number of contexts.
        exponent: The exponent of Zipf's distribution, at least 0.
        table_seed: The seed of the loss table, at least 0.

    >>> zipf_benchmark(10_000, alpha=4, contexts=3).context_distribution.probabilities.round(3)
    array([0.545, 0.273, 0.182])
    """
    return PaperBenchmark(
        horizon=horizon,
        radius=_given_radius("zipf_benchmark", arms, alpha, radius),
        arms=arms,
        contexts=contexts,
        table_seed=table_seed,
        context_distribution=zipf(contexts, exponent),
        owner="zipf_benchmark",
    )


def _given_radius(owner: str, arms: int, alpha: int | None, radius: int | None) -> int:
    """Return the radius, or the largest at which the paper's ring has this independence number.

    On a ring, arms must be radius + 1 apart: arms // (radius + 1) of them fit, and can be turned
    to avoid arm 0, which is a neighbour of every arm. Only at radius 0 must it be left out.
    """
    if (alpha is None) == (radius is None):
        got = "neither" if alpha is None else "both"
        raise InvalidParameterError(
            f"{owner} must be given either 'alpha', the independence number of the ring, or "
            f"'radius'. Got {got}."
        )
    if radius is not None:
        return radius
    alpha = integer(owner, "alpha", alpha, at_least=1)
    integer(owner, "arms", arms, at_least=2, at_most=MAX_SIZE)
    if alpha <= arms // 2 and arms // (arms // alpha) == alpha:
        return arms // alpha - 1
    if alpha != arms - 1:
        expected = f"an independence number of a ring of {arms} arms: {_attained(arms)}"
        reject(owner, "alpha", expected, alpha)
    return 0


def _attained(arms: int) -> str:
    """Return the independence numbers of the paper's rings, the first ten if there are many."""
    numbers, spacing = {arms - 1}, 2
    while spacing <= arms:
        numbers.add(arms // spacing)
        spacing = arms // (arms // spacing) + 1  # the next that gives another number
    found = sorted(numbers)
    return str(found) if len(found) <= 20 else f"{str(found[:10])[:-1]}, ...]"


# For `misleading`: the share of rounds after which means change, and the means before and after.
_CHANGE = 0.3
_BEST, _SHOWING, _HIDING, _OTHER = (0.9, 0.1), (0.4, 0.9), (0.5, 0.5), (0.75, 0.75)


@register("phases", random_losses=True)
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
    horizon: int = field(metadata=checked(integer, at_least=1))
    phases: Sequence[tuple[float, Any]]
    noisy: bool = field(default=True, metadata=checked(boolean))
    table_seed: int = field(default=0, metadata=checked(integer, at_least=0, at_most=None))
    context_distribution: ContextDistribution = UNIFORM
    _means: Floats = field(init=False, repr=False)
    _starts: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_settings("stochastic", self)
        pairs = _pairs(self.phases)
        shares = [number("stochastic", "phases", share) for share, _ in pairs]
        if not shares or shares[0] != 0 or not (np.diff([*shares, 1.0]) > 0).all():
            expected = "pairs that begin at ascending shares of the horizon, from 0 to below 1"
            reject("stochastic", "phases", expected, verbatim(f"the shares {shares}"))
        means = _means([means for _, means in pairs], self.graph.arms)
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
    graph: FeedbackGraph | npt.ArrayLike,
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
    graph = as_graph("stochastic", graph)
    arms = graph.arms
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
    graph: FeedbackGraph | npt.ArrayLike,
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
    graph = as_graph("misleading", graph)
    arms = graph.arms
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


@register("lower-bound", random_losses=True)
def lower_bound(
    graph: FeedbackGraph | npt.ArrayLike,
    horizon: int,
    *,
    contexts: int = 1,
    times: float = 1.0,
    table_seed: int = 0,
    context_distribution: ContextDistribution | None = None,
) -> Stochastic:
    """Return the Bernoulli losses of the proofs that no algorithm can have less regret.

    Some arms hide from each other: a largest independent set, or, if the graph is weakly
    observable, one of its weakly observable arms. They have the mean 1/2, and one of them, drawn
    for each context, a lower one. All other arms have the mean 1, so a round in which they are
    played to observe these is lost. The gap is the least regret of the graph divided by the horizon
    (`FeedbackGraph.least_regret`): finding the best arm takes about as long as there is time. If
    every two arms see each other, all arms are used; a single weakly observable arm has an arm
    beside it that does not reveal it.

    The construction is that of Alon, Cesa-Bianchi, Dekel and Koren (2015).

    Args:
        graph: An observable graph, of at least 2 arms.
        horizon: The number of rounds.
        contexts: The number of contexts.
        times: A factor of the gap, which is at most 1/2.
        table_seed: The seed of everything random in the losses, at least 0.
        context_distribution: A distribution or a probability for each context; uniform if None.

    Raises:
        InvalidParameterError: A number is outside its range, or there is one arm only.
        InvalidGraphError: No arm reveals some arm.

    >>> from crossbandit import graphs
    >>> environment = lower_bound(graphs.loopy_star(5), 10_000)
    >>> environment.problem.graph.independent_set, environment.best_arms
    ((1, 2, 3, 4), array([3]))
    """
    graph = as_graph("lower_bound", graph)
    arms = graph.arms
    integer("lower_bound", "horizon", horizon, at_least=1)
    integer("lower_bound", "contexts", contexts, at_least=1, at_most=MAX_SIZE)
    integer("lower_bound", "table_seed", table_seed, at_least=0, at_most=None)
    number("lower_bound", "times", times, above=0)
    if arms < 2:
        got = verbatim(f"{arms} arm")
        reject("lower_bound", "graph", "a FeedbackGraph of at least 2 arms", got)
    gap = min(times * graph.least_regret(horizon) / horizon, 0.5)
    hidden = np.array(_hidden(graph))
    best = hidden[stream(table_seed, "best arms").integers(len(hidden), size=contexts)]
    means = np.ones((arms, contexts))
    means[hidden] = 0.5
    means[best, np.arange(contexts)] -= gap
    return Stochastic(
        graph=graph,
        horizon=horizon,
        phases=[(0.0, means)],
        table_seed=table_seed,
        context_distribution=distribution_over("lower_bound", context_distribution, contexts),
    )


def _hidden(graph: FeedbackGraph) -> list[int]:
    """Return at least two arms none of which reveals another; all arms if there are no such."""
    edges, grades = graph.adjacency, np.array(graph.arm_observability)
    weak = np.flatnonzero(grades == "weak")
    among = weak if weak.size else np.arange(graph.arms)
    inside = FeedbackGraph(edges[np.ix_(among, among)])
    found = [int(among[i]) for i in inside.independence(search=False).witness]
    if len(found) == 1 and weak.size:
        beside = np.flatnonzero(~edges[:, found[0]])
        found.append(int(beside[beside != found[0]][0]))
    return found if len(found) > 1 else list(range(graph.arms))


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
    horizon: int = field(kw_only=False, metadata=checked(integer, at_least=1))
    contexts: int = field(default=100, metadata=checked(integer, at_least=1, at_most=MAX_SIZE))
    groups: int = field(default=4, metadata=checked(integer, at_least=1, at_most=MAX_SIZE))
    switches: int = field(default=5, metadata=checked(integer, at_least=1))
    gap: float = field(default=0.2, metadata=checked(number, above=0, at_most=0.2))
    table_seed: int = field(default=0, metadata=checked(integer, at_least=0, at_most=None))
    context_distribution: ContextDistribution = UNIFORM

    def __post_init__(self) -> None:
        check_settings("switching", self)
        if self.switches >= self.horizon:
            expected = f"an integer below the horizon, {self.horizon}"
            reject("switching", "switches", expected, self.switches)
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


# --- losses given as an array -------------------------------------------------------------------


class LossTable(BlockEnvironment):
    """Losses that are given for all rounds, as numbers or as coefficients of features."""

    def __init__(self, rows: Floats, problem: Problem, distribution: ContextDistribution) -> None:
        self.problem, self.context_distribution, self._rows = problem, distribution, rows

    def block(self, start: int, stop: int) -> LossBlock:
        return row_block(self._rows[start:stop])


def from_table(
    losses: npt.ArrayLike,
    graph: FeedbackGraph | npt.ArrayLike,
    context_distribution: npt.ArrayLike | ContextDistribution | None = None,
) -> LossTable:
    """Return the environment with the losses `losses[t, c, a]`.

    Args:
        losses: Numbers from 0 to 1, of shape (rounds, contexts, arms).
        graph: The feedback graph.
        context_distribution: A distribution or a probability for each context; uniform if None.

    Raises:
        InvalidLossesError: The losses have another shape, or a number is outside [0, 1].

    >>> from crossbandit import graphs
    >>> losses = np.zeros((100, 2, 3))
    >>> from_table(losses, graphs.complete(3), [0.9, 0.1]).problem
    Problem(3 arms, 2 contexts, horizon 100)
    """
    graph = as_graph("from_table", graph)
    arms = graph.arms
    table = _given("from_table", "losses", losses, f"(rounds, contexts, {arms})", (2, arms))
    rows = np.array(table.transpose(0, 2, 1), order="C")
    rows.flags.writeable = False
    horizon, _, contexts = rows.shape
    bad = first_outside(rows.reshape(-1, contexts), -ROUNDING, 1.0 + ROUNDING)
    if bad >= 0:
        t, a, c = np.unravel_index(bad, rows.shape)
        raise InvalidLossesError(
            "The 'losses' parameter of from_table must hold numbers from 0 to 1. "
            f"Got {rows[t, a, c]} in round {t}, context {c}, arm {a}."
        )
    problem = Problem(graph, contexts=contexts, horizon=horizon)
    return LossTable(rows, problem, distribution_over("from_table", context_distribution, contexts))


def from_coefficients(
    coefficients: npt.ArrayLike,
    graph: FeedbackGraph | npt.ArrayLike,
    contexts: npt.ArrayLike | ContextDistribution,
    context_distribution: npt.ArrayLike | ContextDistribution | None = None,
) -> LossTable:
    """Return the environment with losses `coefficients[t, a] @ x` for a context with features x.

    Args:
        coefficients: Numbers of shape (rounds, arms, features). Every loss must be in [0, 1].
        graph: The feedback graph.
        contexts: A table of feature vectors, one for each context; or a distribution that draws
            feature vectors, such as `UniformVectors`.
        context_distribution: With a table, a distribution or a probability for each context;
            uniform if None.

    Raises:
        InvalidLossesError: The coefficients have another shape, or are not finite.

    For example a first-price auction. With features (1, value), a winning bid b earns value - b.

    >>> from crossbandit import graphs
    >>> from crossbandit.environments import UniformVectors
    >>> bids, prices = np.array([0.0, 0.25, 0.5]), np.array([0.2, 0.4, 0.3])
    >>> won = bids >= prices[:, None]
    >>> losses = np.stack([0.5 * (1 + won * bids), -0.5 * won], axis=2)
    >>> values = UniformVectors([1, 0], [1, 1])
    >>> from_coefficients(losses, graphs.threshold(3), values).problem
    Problem(3 arms, contexts of 2 features, horizon 3)
    """
    owner, name = "from_coefficients", "coefficients"
    graph = as_graph(owner, graph)
    arms = graph.arms
    table: Any = None
    if not hasattr(contexts, "draw"):
        table = contexts
        count = len(feature_table("from_coefficients", "contexts", table, arms))
        distribution = distribution_over("from_coefficients", context_distribution, count)
    elif context_distribution is None:
        distribution = cast("ContextDistribution", contexts)
    else:
        raise InvalidParameterError(
            "The 'context_distribution' parameter of from_coefficients must be None if "
            "'contexts' is a distribution of feature vectors. Got both."
        )
    rows = _given(owner, name, coefficients, f"(rounds, {arms}, features)", (1, arms))
    rows.flags.writeable = False
    if not np.isfinite(rows).all():
        t, a, k = np.argwhere(~np.isfinite(rows))[0]
        raise InvalidLossesError(
            f"The {name!r} parameter of {owner} must hold finite numbers. "
            f"Got {rows[t, a, k]} in round {t}, arm {a}, feature {k}."
        )
    horizon, _, columns = rows.shape
    problem = Problem(graph, features=columns if table is None else table, horizon=horizon)
    if problem.form.columns != columns:
        raise InvalidLossesError(
            "The 'coefficients' parameter of from_coefficients must have a coefficient for "
            f"each of {problem.form.columns} features. Got {columns}."
        )
    return LossTable(rows, problem, distribution)


def _given(owner: str, name: str, values: Any, shape: str, axis: tuple[int, int]) -> Floats:
    """Return a copy of an array of three dimensions, of which one has a given length."""
    expected = f"an array of numbers of shape {shape}"
    table = array(owner, name, expected, values, error=InvalidLossesError)
    if table.ndim != 3 or table.shape[axis[0]] != axis[1] or 0 in table.shape:
        got = verbatim(f"shape {table.shape}")
        reject(owner, name, expected, got, error=InvalidLossesError)
    return table


# --- graphs that change -------------------------------------------------------------------------


_CHANGING = tuple(kind for kind in GRAPH_KINDS if kind != "fixed")
_CHUNK = 2**21  # the most entries of random adjacency matrices that are drawn at once


class _GraphList:
    """A list of graphs; the round or the context decides which of them is used."""

    def __init__(self, graphs: list[FeedbackGraph], period: int | None) -> None:
        self._graphs, self._period = graphs, period
        self.by_context = period is None
        # The edges that every round has.
        self.certain = FeedbackGraph(np.logical_and.reduce([g.adjacency for g in graphs]))

    def graph(self, round_: int, context: Any) -> FeedbackGraph:
        if self._period is None:
            return self._graphs[int(context)]
        return self._graphs[round_ // self._period % len(self._graphs)]

    def graphs(self, start: int, contexts: npt.NDArray[Any]) -> GraphBlock:
        entry = contexts
        if self._period is not None:
            rounds = start + np.arange(len(contexts))
            entry = rounds // self._period % len(self._graphs)
        return graph_block(self._graphs, entry)


class _RandomEdges:
    """Each round has each edge (a, b) with probability `probabilities[a, b]`, independently."""

    by_context = False

    def __init__(self, probabilities: Floats, table_seed: int) -> None:
        self.probabilities, self.table_seed = probabilities, table_seed
        self.certain = FeedbackGraph(probabilities >= 1.0)

    def graph(self, round_: int, context: Any) -> FeedbackGraph:
        del context
        return FeedbackGraph(self._matrices(round_, round_ + 1)[0])

    def graphs(self, start: int, contexts: npt.NDArray[Any]) -> GraphBlock:
        stop, step = start + len(contexts), max(1, _CHUNK // self.probabilities.size)
        parts = [
            graphs_of_matrices(self._matrices(first, min(first + step, stop)))
            for first in range(start, stop, step)
        ]
        return GraphBlock(
            np.arange(len(contexts)),
            joined([part.out_ranges for part in parts]),
            joined([part.in_ranges for part in parts]),
        )

    def _matrices(self, start: int, stop: int) -> Booleans:
        arms = len(self.probabilities)
        drawn = uniforms(self.table_seed, "edges", start, stop, arms**2)
        present: Booleans = drawn.reshape(-1, arms, arms) < self.probabilities
        return present


class ChangingGraph(BlockEnvironment):
    """The losses and contexts of an environment, with graphs that change.

    Made by `cycling_graphs`, `context_graphs` and `random_edges`. The graph of its problem holds
    the edges that every round has.

    Args:
        environment: The environment with the losses and the contexts.
        rule: Which graph a round has.
        kind: What a learner knows: "informed", "uninformed" or "unknown".
    """

    def __init__(
        self, environment: BlockEnvironment, rule: _GraphList | _RandomEdges, kind: GraphKind
    ) -> None:
        by_context = rule.by_context
        self.problem = environment.problem.with_graph(rule.certain, kind, by_context=by_context)
        self.context_distribution = environment.context_distribution
        self._environment, self._rule = environment, rule
        expected = getattr(environment, "expected_block", None)
        if expected is not None:
            self.expected_block = expected

    def graph(self, round_: int, context: Any = None) -> FeedbackGraph:
        """Return the graph of a round.

        Args:
            round_: The round, from 0.
            context: The context of the round, on which the graph may depend.
        """
        return self._rule.graph(round_, context)

    def graphs(self, start: int, contexts: npt.NDArray[Any]) -> GraphBlock:
        return self._rule.graphs(start, contexts)

    def available(self, contexts: npt.NDArray[Any]) -> Booleans | None:
        return self._environment.available(contexts)

    def block(self, start: int, stop: int) -> LossBlock:
        return self._environment.block(start, stop)


def cycling_graphs(
    environment: BlockEnvironment,
    graphs: Sequence[FeedbackGraph],
    *,
    period: int = 1,
    kind: GraphKind = "informed",
) -> ChangingGraph:
    """Return an environment that uses the graphs of a list in turn.

    Args:
        environment: The environment with the losses and the contexts; its graph is not used.
        graphs: The graphs, with as many arms as the environment.
        period: The number of rounds after which the next graph is used.
        kind: What a learner knows: "informed", "uninformed" or "unknown".

    >>> from crossbandit import graphs
    >>> from crossbandit.environments import stochastic
    >>> base = stochastic(graphs.complete(4), 100, contexts=2)
    >>> turns = cycling_graphs(base, [graphs.complete(4), graphs.singletons(4)])
    >>> [turns.graph(t).edge_count for t in range(4)], turns.problem
    ([16, 4, 16, 4], Problem(4 arms, 2 contexts of 2 features, horizon 100, informed graphs))
    """
    _check("cycling_graphs", environment, kind)
    integer("cycling_graphs", "period", period, at_least=1)
    listed = _checked_list("cycling_graphs", environment, graphs)
    return ChangingGraph(environment, _GraphList(listed, period), kind)


def context_graphs(
    environment: BlockEnvironment, graphs: Sequence[FeedbackGraph], *, kind: GraphKind = "informed"
) -> ChangingGraph:
    """Return an environment in which each context has its own graph.

    Args:
        environment: The environment with the losses and numbered contexts; its graph is not used.
        graphs: A graph for each context, with as many arms as the environment.
        kind: What a learner knows: "informed", "uninformed" or "unknown".

    Raises:
        InvalidParameterError: Contexts are not numbered, or there is not one graph for each.

    >>> from crossbandit import graphs
    >>> from crossbandit.environments import stochastic
    >>> losses = stochastic(graphs.complete(3), 100, contexts=2)
    >>> changing = context_graphs(losses, [graphs.complete(3), graphs.ring(3, 1)])
    >>> changing.graph(0, 1).edge_count
    6
    """
    _check("context_graphs", environment, kind)
    listed = _checked_list("context_graphs", environment, graphs)
    contexts = environment.problem.contexts
    if contexts is None or len(listed) != contexts:
        expected = "a graph for each numbered context"
        got = verbatim(f"{len(listed)} graphs for {contexts or 'continuous'} contexts")
        reject("context_graphs", "graphs", expected, got)
    return ChangingGraph(environment, _GraphList(listed, None), kind)


def random_edges(
    environment: BlockEnvironment,
    probabilities: npt.ArrayLike,
    *,
    kind: GraphKind = "informed",
    table_seed: int = 0,
) -> ChangingGraph:
    """Return an environment with stochastic graphs: edges are drawn again in each round.

    Args:
        environment: The environment with the losses and the contexts; its graph is not used.
        probabilities: The probability of each edge (a, b), of shape (K, K).
        kind: What a learner knows: "informed", "uninformed" or "unknown".
        table_seed: The seed of the edges, at least 0.

    Raises:
        InvalidParameterError: The probabilities have another shape, or are not from 0 to 1.

    >>> from crossbandit import graphs
    >>> from crossbandit.environments import stochastic
    >>> losses = stochastic(graphs.complete(2), 100)
    >>> random_edges(losses, [[1.0, 0.0], [1.0, 1.0]]).graph(5).edges()
    [(0, 0), (1, 0), (1, 1)]
    """
    _check("random_edges", environment, kind)
    integer("random_edges", "table_seed", table_seed, at_least=0, at_most=None)
    arms = environment.problem.arms
    expected = f"probabilities of shape ({arms}, {arms})"
    table = array("random_edges", "probabilities", expected, probabilities)
    if table.shape != (arms, arms) or not ((table >= 0) & (table <= 1)).all():
        got = verbatim(f"an array of shape {table.shape}, with numbers up to {table.max()}")
        reject("random_edges", "probabilities", expected, got)
    table.flags.writeable = False
    return ChangingGraph(environment, _RandomEdges(table, table_seed), kind)


@register("random-graphs", random_losses=True)
def random_graphs(
    horizon: int,
    *,
    arms: int = 10,
    contexts: int = 10,
    density: float = 0.3,
    self_loops: bool = True,
    kind: GraphKind = "informed",
    gap: float = 0.1,
    late: float = 0.0,
    table_seed: int = 0,
) -> ChangingGraph:
    """Return the Bernoulli losses of `stochastic`, with a random graph in each round.

    Args:
        horizon: The number of rounds.
        arms: The number of arms, at least 2.
        contexts: The number of contexts.
        density: The probability of an edge between two arms, from 0 to 1.
        self_loops: Whether every arm always reveals itself; otherwise with probability `density`.
        kind: What a learner knows: "informed", "uninformed" or "unknown".
        gap: The difference between the mean of the best arm and the others, above 0 and at most
            0.5.
        late: The share of the rounds, at the beginning, in which the later best arm is the worst.
        table_seed: The seed of everything random in the losses and the graphs, at least 0.

    >>> environment = random_graphs(1_000, arms=4)
    >>> environment.problem.graph.edges()
    [(0, 0), (1, 1), (2, 2), (3, 3)]
    """
    integer("random_graphs", "arms", arms, at_least=2)
    number("random_graphs", "density", density, at_least=0, at_most=1)
    boolean("random_graphs", "self_loops", self_loops)
    base = stochastic(
        singletons(arms), horizon, contexts=contexts, gap=gap, late=late, table_seed=table_seed
    )
    probabilities = np.full((arms, arms), float(density))
    if self_loops:
        np.fill_diagonal(probabilities, 1.0)
    return random_edges(base, probabilities, kind=kind, table_seed=table_seed)


def _check(owner: str, environment: object, kind: str) -> None:
    if not isinstance(environment, BlockEnvironment):
        reject(owner, "environment", "a BlockEnvironment, such as stochastic(...)", environment)
    choice(owner, "kind", kind, _CHANGING)


def _checked_list(
    owner: str, environment: BlockEnvironment, graphs: Sequence[FeedbackGraph]
) -> list[FeedbackGraph]:
    arms = environment.problem.arms
    expected = f"a list of at least one FeedbackGraph of {arms} arms each"
    try:
        listed: list[Any] = list(graphs)
    except TypeError:
        listed = []
    if not listed:
        reject(owner, "graphs", expected, graphs)
    for graph in listed:
        if not isinstance(graph, FeedbackGraph) or graph.arms != arms:
            reject(owner, "graphs", expected, graph)
    return listed
