"""What a simulation reveals: what the environment's graph reveals, and nothing else.

There is one exception. An algorithm that ignores the graph (`Algorithm.needs_own_loss`) is shown
the loss of the arm that it played, if the problem allows it (`Problem.grants_own_loss`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments import BlockEnvironment
from crossbandit.environments.round_graphs import block_of, checked_graphs, graph_block, graph_rule
from crossbandit.errors import CheckFailedError
from crossbandit.graphs import FeedbackGraph, singletons
from crossbandit.kernels.ranges import first_unobservable

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.algorithms import Decision, Learner
    from crossbandit.environments import Environment
    from crossbandit.kernels.ranges import GraphBlock
    from crossbandit.types import Booleans, Floats


class FeedbackSource:
    """Gives one learner the feedback of its plays in one environment.

    Args:
        environment: The environment.
        learner: The learner.

    Raises:
        CheckFailedError: The learner expects losses that the environment does not reveal.
    """

    def __init__(self, environment: Environment, learner: Any) -> None:
        self._environment = environment
        self._learner = learner
        self._owner = type(learner.algorithm).__name__
        self._rule = graph_rule(environment)
        problem = environment.problem
        self._ignores_graph = learner.algorithm.needs_own_loss
        self._kind = "fixed" if self._ignores_graph else problem.graph_kind
        granted = learner.algorithm.uses_grant(problem)
        self._all_rounds = singletons(problem.arms) if granted else problem.graph
        claimed = getattr(learner, "graph", None)
        if self._kind == "fixed" and isinstance(claimed, FeedbackGraph):
            edge = claimed.edge_not_in(self._all_rounds)
            if edge is not None:
                raise self._refusal(*edge)
        self._allowed: dict[int, object] = {}

    def block(self, start: int, contexts: npt.NDArray[Any]) -> GraphBlock:
        """Return what plays reveal in consecutive rounds, for compiled code."""
        if self._kind == "fixed":
            return graph_block([self._all_rounds], np.zeros(len(contexts), dtype=np.int64))
        environment = self._environment
        if isinstance(environment, BlockEnvironment):
            given = environment.graphs(start, contexts)
            block = checked_graphs(environment, given, len(contexts))
        else:
            block = block_of(self._rule, start, contexts)
        self._check_observability(block)
        return block

    def _check_observability(self, block: GraphBlock) -> None:
        """Raise if the algorithm cannot play on one of the graphs."""
        algorithm, arms = self._learner.algorithm, self._environment.problem.arms
        least = algorithm.least_observability(self._kind)
        if least != "none":
            bad = first_unobservable(block.in_ranges, arms, least == "strong")
            if bad >= 0:
                algorithm.require_graph(FeedbackGraph.from_block(block, bad, arms), self._kind)

    def play(
        self, learner: Learner, round_: int, context: Any, available: Booleans | None, rows: Floats
    ) -> Decision:
        """Let the learner act in one round, and show it what its play reveals.

        Args:
            learner: The learner.
            round_: The round.
            context: Its context.
            available: Which arms may be played; None for all.
            rows: The losses of all arms (K, columns).

        Returns:
            The decision.
        """
        if self._kind == "fixed":
            decision = learner.act(context, available)
            self._check_claim(decision)
            learner.learn(decision, rows[list(decision.revealed)])
            return decision
        graph = self._rule(round_, context)
        if self._kind == "informed":
            decision = learner.act(context, available, graph=graph)
        else:
            decision = learner.act(context, available)
        revealed = graph.out_neighbors(decision.arm)
        if self._kind == "unknown":
            learner.learn(decision, {int(b): rows[b].copy() for b in revealed})
        elif self._kind == "uninformed":
            learner.learn(decision, rows[revealed], graph=graph)
        else:
            for b in decision.revealed:
                if b not in revealed:
                    raise self._refusal(decision.arm, b)
            learner.learn(decision, rows[list(decision.revealed)])
        return decision

    def _check_claim(self, decision: Decision) -> None:
        """Raise if a decision expects losses that the graph of all rounds does not reveal."""
        arm, revealed = decision.arm, decision.revealed
        # Learners list the neighbours of an arm once, and these types cannot change afterwards.
        if isinstance(revealed, range | tuple) and self._allowed.get(arm) is revealed:
            return
        for b in np.setdiff1d(revealed, self._all_rounds.out_neighbors(arm)):
            raise self._refusal(arm, int(b))
        self._allowed[arm] = revealed

    def _refusal(self, arm: int, other: int) -> CheckFailedError:
        return CheckFailedError(
            f"The learner of {self._owner} expects that playing arm {arm} reveals the loss of arm "
            f"{other}. The graph of {type(self._environment).__name__} does not reveal it. A "
            "learner must learn by problem.graph. If it ignores the graph and learns the loss of "
            "the arm played, set needs_own_loss = True."
        )
