"""The environments on which statements about whole runs are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.environments import BlockEnvironment, paper_benchmark

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock


class GraphBenchmark(BlockEnvironment):
    """The losses of the paper's benchmark on any graph, in linear form: the time is free of M.

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
