"""The learner behind the two baselines that keep every context to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crossbandit.algorithms.learner import Learner, Ticket
from crossbandit.errors import InvalidParameterError
from crossbandit.kernels import per_context
from crossbandit.kernels.per_context import PerContextState
from crossbandit.kernels.simplex import exponential_weights
from crossbandit.losses.memory import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.algorithm import Algorithm
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import Rounds
    from crossbandit.losses import Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


class PerContextLearner(Learner):
    """Exponential weights in each context, learned from that context's own rounds alone."""

    def __init__(
        self, algorithm: Algorithm, problem: Problem, graph: FeedbackGraph, eta: float, seed: Seed
    ) -> None:
        if problem.contexts is None:
            raise InvalidParameterError(
                f"{type(algorithm).__name__} keeps a learner for each context, and this problem "
                "has feature vectors without end. Give it a table, Problem(graph, "
                "features=table), or use CrossGraph, which needs no list of contexts."
            )
        super().__init__(algorithm, problem, graph, seed)
        self.eta = eta
        self._learners = _empty_state(
            type(algorithm).__name__, (problem.contexts, problem.arms), problem.form.dtype
        )

    @property
    def round(self) -> int:
        return int(self._learners.counters[0])

    def policy(self, context: Any, available: Any = None) -> Floats:
        readout = self._readout(context, available)
        own = self._learners.estimates[_number(readout)]
        out = np.empty(self.problem.arms)
        exponential_weights(own, readout.available, self.eta, 0.0, out)
        return out

    def _play(self, ticket: Ticket) -> float:
        ticket.arm, probability = per_context.play(
            self._learners,
            self.eta,
            self._graph.in_ranges,
            _number(ticket.readout),
            ticket.readout.available,
            self._generator.random(),
        )
        ticket.weights = 1.0 / self._learners.observed
        return probability

    def _absorb(self, ticket: Ticket, rows: Floats) -> None:
        losses = ticket.readout.losses(rows, self.reveals(ticket.arm))
        own = self._learners.estimates[_number(ticket.readout)]
        self._add(own[:, None], ticket, losses[:, None])

    def _parameters(self) -> Mapping[str, Any]:
        return {"eta": self.eta}

    def _state(self) -> Mapping[str, npt.NDArray[Any]]:
        return self._learners._asdict()

    def simulate(self, rounds: Rounds) -> None:
        """Play a batch of rounds, compiled."""
        per_context.simulate(
            self._learners,
            self.eta,
            self._graph.in_ranges,
            self._graph.out_ranges,
            rounds,
            self._generator.random(rounds.arms.size),
        )


def _number(readout: Readout) -> int:
    # A problem with finitely many contexts, which these learners insist on, has numbers for them.
    return cast("int", readout.context)


def _empty_state(owner: str, shape: tuple[int, int], dtype: npt.DTypeLike) -> PerContextState:
    arms = shape[1]
    return PerContextState(
        estimates=zeros(owner, shape, dtype),
        observed=np.zeros(arms),
        counters=np.zeros(1, dtype=np.int64),
        chosen=np.zeros(arms),
        sums=np.zeros((2, arms + 1)),
    )
