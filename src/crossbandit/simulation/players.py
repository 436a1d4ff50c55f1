"""Two ways to play a batch of rounds: compiled, and plain through `act` and `learn`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from crossbandit.environments import BlockEnvironment
from crossbandit.environments.checking import availability, checked_block, checked_rows
from crossbandit.environments.environment import horizon_of, row_block
from crossbandit.errors import CheckFailedError
from crossbandit.kernels.paced_rounds import limit_round, settle_round
from crossbandit.kernels.rounds import Rounds, read_only
from crossbandit.kernels.rows import best_arms, losses_of
from crossbandit.simulation.revealing import FeedbackSource

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm, Learner
    from crossbandit.environments import Environment
    from crossbandit.kernels.rounds import ContextBlock
    from crossbandit.types import Booleans, Floats, Integers


@runtime_checkable
class BatchPlayer(Protocol):
    """A learner that can play a batch of rounds at once."""

    algorithm: Algorithm

    def simulate(self, rounds: Rounds) -> None:
        """Play all rounds: fill in the arms that were played.

        Args:
            rounds: What happens in the rounds.
        """


class BatchRecord(NamedTuple):
    """What happened in consecutive rounds; one entry a round."""

    contexts: npt.NDArray[Any]
    arms: Integers
    losses: Floats
    comparator_arms: Integers
    comparator_losses: Floats


def compiled_player(
    environment: BlockEnvironment, learner: BatchPlayer
) -> Callable[[int, npt.NDArray[Any]], BatchRecord]:
    """Return a function that plays the rounds from `start` on, in the given contexts."""
    form, horizon = environment.problem.form, environment.problem.horizon
    # Computing the comparator of every context is worth it only if most of them occur.
    listed = form.contexts is not None and horizon is not None and form.contexts <= horizon

    # The last batch is kept until the next is made. Otherwise its memory would be returned to the
    # system and allocated again, which takes a third of the time of the rounds.
    held: list[object] = []
    revealing = FeedbackSource(environment, learner)
    limits = environment.limits()

    def play(start: int, contexts: npt.NDArray[Any]) -> BatchRecord:
        available = availability(environment, contexts)
        if available is not None:
            learner.algorithm.require_availability()
        block = form.block(contexts, available)
        losses = checked_block(environment, start, start + len(contexts))
        held[:] = [losses, block]
        numbers = None if form.contexts is None else contexts.astype(np.int64, copy=False)
        graphs = revealing.block(start, contexts)
        if limits is None:
            rounds = Rounds.to_play(block, losses, numbers, graphs=graphs)
        else:  # playing changes contexts and available arms
            shown = form.block(contexts.copy(), block.available.copy())
            paced = limits.rounds(start, contexts)
            rounds = Rounds.to_play(shown, losses, numbers, graphs=graphs, limits=paced)
        learner.simulate(rounds)
        _check_arms(learner, rounds.arms, start, environment.problem.arms)
        if available is not None:
            _check_played(learner, rounds.contexts.available, rounds.arms, start)
        batch = _blank(contexts)._replace(arms=rounds.arms)
        losses_of(batch.arms, losses, block, batch.losses)
        if listed:
            batch.comparator_arms[:] = environment.best_arms[contexts]
        else:
            _compare(environment, environment.totals, start, contexts, block, batch)
        losses_of(batch.comparator_arms, losses, block, batch.comparator_losses)
        return batch

    return play


def plain_player(
    environment: Environment, learner: Learner, tell: Callable[[int], None]
) -> Callable[[int, npt.NDArray[Any]], BatchRecord]:
    """Return a function that plays the rounds from `start` on, in the given contexts."""
    form = environment.problem.form
    totals = _totals(environment, tell)
    revealing = FeedbackSource(environment, learner)
    limits = environment.limits() if isinstance(environment, BlockEnvironment) else None

    def play(start: int, contexts: npt.NDArray[Any]) -> BatchRecord:
        batch = _blank(contexts)
        available = availability(environment, contexts)
        _compare(environment, totals, start, contexts, form.block(contexts, available), batch)
        paced = None if limits is None else limits.rounds(start, contexts)
        limited = form.block(contexts.copy(), available)
        for i in range(len(contexts)):
            now = slice(i, i + 1)
            rows = checked_rows(environment, start + i)
            context, mask = contexts[i], None if available is None else available[i]
            if paced is not None:
                limit_round(paced, limited, i)
                context, mask = limited.table[i, 0], limited.available[i]
            arm = revealing.play(learner, start + i, context, mask, rows).arm
            batch.arms[i] = arm
            if paced is not None:
                settle_round(paced, i, arm)
            block, losses = form.block(contexts[now]), read_only(row_block(rows[None]))
            losses_of(batch.arms[now], losses, block, batch.losses[now])
            best = batch.comparator_arms[now]
            losses_of(best, losses, block, batch.comparator_losses[now])
        return batch

    return play


def _compare(
    environment: Environment,
    totals: Floats,
    start: int,
    contexts: npt.NDArray[Any],
    block: ContextBlock,
    batch: BatchRecord,
) -> None:
    """Set what the comparator plays."""
    given = None
    if isinstance(environment, BlockEnvironment):
        given = environment.comparator(start, contexts)
    if given is None:
        best_arms(totals, block, batch.comparator_arms)
    else:
        batch.comparator_arms[:] = given


def _blank(contexts: npt.NDArray[Any]) -> BatchRecord:
    rounds = len(contexts)
    return BatchRecord(
        contexts,
        np.empty(rounds, dtype=np.int64),
        np.empty(rounds),
        np.empty(rounds, dtype=np.int64),
        np.empty(rounds),
    )


def _check_arms(learner: BatchPlayer, arms: Integers, start: int, count: int) -> None:
    """Raise if compiled code, which does not check itself, played an arm that does not exist."""
    wrong = np.flatnonzero((arms < 0) | (arms >= count))
    if wrong.size:
        i = int(wrong[0])
        raise CheckFailedError(
            f"{type(learner.algorithm).__name__} played arm {arms[i]} in round {start + i}. Its "
            f"compiled loop must play all rounds, and arms from 0 to {count - 1}."
        )


def _check_played(learner: BatchPlayer, available: Booleans, arms: Integers, start: int) -> None:
    """Raise if compiled code, which does not check itself, played an arm that is not available."""
    wrong = np.flatnonzero(~available[np.arange(arms.size), arms])
    if wrong.size:
        i = int(wrong[0])
        raise CheckFailedError(
            f"{type(learner.algorithm).__name__} played arm {arms[i]} in round {start + i}, but "
            f"only {np.flatnonzero(available[i]).tolist()} were available. Its compiled loop must "
            "read contexts.available."
        )


def _totals(environment: Environment, tell: Callable[[int], None]) -> Floats:
    if isinstance(environment, BlockEnvironment):
        return environment.totals
    totals = np.zeros((environment.problem.arms, environment.problem.form.columns))
    for t in range(horizon_of(environment)):
        totals += checked_rows(environment, t)
        tell(0)
    totals.flags.writeable = False  # as in a BlockEnvironment: no kernel is compiled twice
    return totals
