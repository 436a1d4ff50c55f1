"""Environments whose graph changes: from round to round, at random, or with the context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms.learners.problem import GRAPH_KINDS
from crossbandit.core.blocks import GraphBlock, graphs_of_matrices, joined
from crossbandit.core.streams import uniforms
from crossbandit.core.validation import array, boolean, choice, integer, number, reject, verbatim
from crossbandit.environments.environment import BlockEnvironment, graph_block, register
from crossbandit.environments.synthetic import stochastic
from crossbandit.graphs import FeedbackGraph, singletons

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.core.blocks import LossBlock
    from crossbandit.core.types import Booleans, Floats

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
        self, environment: BlockEnvironment, rule: _GraphList | _RandomEdges, kind: str
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
    kind: str = "informed",
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
    environment: BlockEnvironment, graphs: Sequence[FeedbackGraph], *, kind: str = "informed"
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
    kind: str = "informed",
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
    kind: str = "informed",
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
