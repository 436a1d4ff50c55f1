"""Check an algorithm by simulations: both loops agree, nothing hidden is read, regret is small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.checks.episodes import CONTEXTS, DISTRIBUTION, require
from crossbandit.environments import BlockEnvironment, from_table
from crossbandit.simulation import simulate
from crossbandit.simulation.players import BatchPlayer

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Booleans, Floats

_ROUNDS = 2000
_CONTEXTS = 2
_LEAST = 0.8  # as a share of the regret of uniform play


def check_simulation(algorithm: Algorithm, environment: BlockEnvironment) -> None:
    """Check that the compiled and the plain simulation play the same arms.

    If the algorithm can be told which arms are available, this is repeated with a missing arm.
    """
    _check_loops(algorithm, environment)
    if algorithm.takes_availability:
        _check_loops(algorithm, _MaskedEnvironment(environment))


def _check_loops(algorithm: Algorithm, environment: BlockEnvironment) -> None:
    run = simulate(algorithm, environment, seed=6, show_progress=False)
    require(
        np.isfinite(run.final_regret),
        f"A simulation ended with a regret of {run.final_regret}.",
        "Look for an overflow.",
    )
    learner = algorithm.start(environment.problem.with_distribution(DISTRIBUTION), seed=6)
    if not isinstance(learner, BatchPlayer):
        return
    plain = simulate(algorithm, environment, seed=6, compiled=False, show_progress=False)
    require(
        np.array_equal(run.arms, plain.arms),
        "The compiled and the plain simulation played different arms.",
        "Do both use the same kernel, and draw the same numbers in the same order?",
    )


class _MaskedEnvironment(BlockEnvironment):
    """An environment in which one arm is not available in each context but the last."""

    def __init__(self, whole: BlockEnvironment) -> None:
        self.problem, self.context_distribution, self._whole = (
            whole.problem,
            whole.context_distribution,
            whole,
        )

    def block(self, start: int, stop: int) -> LossBlock:
        return self._whole.block(start, stop)

    def available(self, contexts: npt.NDArray[Any]) -> Booleans:
        missing = contexts[:, None] % self.problem.arms == np.arange(self.problem.arms)
        mask: Booleans = ~missing | (contexts[:, None] == CONTEXTS - 1)
        return mask


def check_secrecy(
    algorithm: Algorithm, graph: FeedbackGraph, losses: Floats, distribution: list[float]
) -> None:
    """Check that losses which no play revealed make no difference.

    A run is repeated with other losses wherever nothing was revealed. If the algorithm then plays
    other arms, it has read losses that were not revealed. Compiled code can do that by mistake: it
    is given the losses of all arms.

    Args:
        algorithm: The algorithm.
        graph: The graph.
        losses: Losses of shape (rounds, contexts, arms).
        distribution: The probability of each context.

    Raises:
        CheckFailedError: The arms differ.
    """
    environment = from_table(losses, graph, distribution)
    first = simulate(algorithm, environment, seed=9, show_progress=False)
    revealed = graph.adjacency[first.arms]
    if algorithm.needs_own_loss:  # it ignores the graph
        revealed = np.eye(graph.arms, dtype=np.bool_)[first.arms]
    changed = np.where(revealed[:, None, :], losses, 1.0 - losses)
    second = simulate(
        algorithm, from_table(changed, graph, distribution), seed=9, show_progress=False
    )
    require(
        np.array_equal(first.arms, second.arms),
        "Other losses where nothing was revealed led to other arms.",
        "Learn from what feedback_of returns, not from rounds.losses.",
    )


def check_beats_uniform(algorithm: Algorithm, graph: FeedbackGraph) -> None:
    """Check that an algorithm has clearly less regret than uniform play on an easy problem.

    In all 2,000 rounds the best arm of a context loses 0.2 and the others 0.8. The two contexts
    have different best arms. Its regret must be below 0.8 times that of uniform play. Uniform play
    itself passes with a probability of at most exp(-2 T (0.2 (K - 1) / K)^2), by Hoeffding's
    inequality: below 1e-17 for two arms or more. The seed is fixed.

    Args:
        algorithm: The algorithm.
        graph: A graph on which it can play. Nothing is checked if the algorithm promises nothing:
            if some arm is not observable, or if the algorithm is for stochastic losses and some arm
            has no self-loop.

    Raises:
        CheckFailedError: Its regret is not clearly less.
    """
    hidden = graph.observability == "none" and not algorithm.needs_own_loss
    unproved = algorithm.stochastic_only and graph.arms_without_self_loop
    if graph.arms < 2 or hidden or unproved:
        return
    losses = np.full((_CONTEXTS, graph.arms), 0.8)
    losses[np.arange(_CONTEXTS), [1, 0]] = 0.2
    table = np.broadcast_to(losses, (_ROUNDS, *losses.shape))
    environment = from_table(table, graph)
    regret = simulate(algorithm, environment, seed=3, show_progress=False).final_regret
    uniform = 0.6 * (1.0 - 1.0 / graph.arms) * _ROUNDS
    require(
        regret < _LEAST * uniform,
        f"In {_ROUNDS} rounds in which the best arm of a context loses 0.2 and all others 0.8, its "
        f"regret is {regret:.1f}; uniform play has {uniform:.1f}.",
        "Does it prefer arms with small estimates, and do estimates have the right sign?",
    )
