"""Ways to play a batch of rounds: compiled, and plain through `act` and `learn`.

A simulation reveals what the environment's graph reveals, and nothing else (`FeedbackSource`).
There is one exception. An algorithm that ignores the graph (`Algorithm.needs_own_loss`) is shown
the loss of the arm that it played, if the problem allows it (`Problem.grants_own_loss`).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from crossbandit.core.blocks import ContextBlock, GraphBlock, Rounds
from crossbandit.core.losses import best_arms, first_unobservable, losses_of
from crossbandit.environments import BlockEnvironment, Environment
from crossbandit.environments import environment as base
from crossbandit.errors import CheckFailedError, CrossbanditError
from crossbandit.graphs import FeedbackGraph, singletons

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm, Decision, Learner
    from crossbandit.core.types import Booleans, Floats, Integers


PIECES = 200  # after which a certificate is recorded


@runtime_checkable
class BatchPlayer(Protocol):
    """A learner that can play a batch of rounds at once."""

    algorithm: Algorithm

    def simulate(self, rounds: Rounds) -> None:
        """Play all rounds: fill in the arms that were played."""


class BatchRecord(NamedTuple):
    """What happened in consecutive rounds; one entry a round."""

    contexts: npt.NDArray[Any]
    arms: Integers
    losses: Floats
    comparator_arms: Integers
    comparator_losses: Floats


def compiled_player(
    environment: BlockEnvironment, learner: BatchPlayer, after: Callable[[int], None] | None = None
) -> Callable[[int, npt.NDArray[Any]], BatchRecord]:
    """Return a function that plays the rounds from `start` on, in the given contexts.

    after: called with the number of rounds played, after each of `PIECES` pieces of the horizon.
    """
    form, horizon = environment.problem.form, environment.problem.horizon
    # Computing the comparator of every context is worth it only if most of them occur.
    listed = form.contexts is not None and horizon is not None and form.contexts <= horizon

    # The last batch is kept until the next is made. Otherwise its memory would be returned to the
    # system and allocated again, which takes a third of the time of the rounds.
    held: list[object] = []
    revealing = FeedbackSource(environment, learner)
    limits = environment.limits()
    marks = np.unique(np.linspace(0, horizon or 0, PIECES + 1).astype(np.int64))

    def play(start: int, contexts: npt.NDArray[Any]) -> BatchRecord:
        available = base.availability(environment, contexts)
        if available is not None:
            learner.algorithm.require_availability()
        block = form.block(contexts, available)
        losses = base.checked_block(environment, start, start + len(contexts))
        held[:] = [losses, block]
        numbers = None if form.contexts is None else contexts.astype(np.int64, copy=False)
        graphs = revealing.block(start, contexts)
        if limits is None:
            rounds = Rounds.to_play(block, losses, numbers, graphs=graphs)
        else:  # playing changes contexts and available arms
            shown = form.block(contexts.copy(), block.available.copy())
            paced = limits.rounds(start, contexts)
            rounds = Rounds.to_play(shown, losses, numbers, graphs=graphs, limits=paced)
        done = 0
        if after is not None:
            for stop in marks[(marks > start) & (marks < start + len(contexts))].tolist():
                learner.simulate(rounds.part(done, stop - start))
                after(stop)
                done = stop - start
        learner.simulate(rounds.part(done, len(contexts)) if done else rounds)
        _check_arms(learner, rounds, start, environment.problem.arms)
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
    """Return a function that plays the rounds from `start` on, in the given contexts.

    If the environment is adaptive, these must be all rounds: the comparator is not known before all
    losses are.
    """
    problem, form = environment.problem, environment.problem.form
    adaptive = base.is_adaptive(environment)
    totals = np.zeros((problem.arms, form.columns)) if adaptive else _totals(environment, tell)
    revealing = FeedbackSource(environment, learner)
    limits = environment.limits() if isinstance(environment, BlockEnvironment) else None

    def play(start: int, contexts: npt.NDArray[Any]) -> BatchRecord:
        batch = _blank(contexts)
        available = base.availability(environment, contexts)
        paced = None if limits is None else limits.rounds(start, contexts)
        limited = form.block(contexts.copy(), available)
        auctions = None if paced is None else paced.core.auctions(paced, limited)
        arms: list[int] = []
        met = np.empty((len(contexts), problem.arms))
        for i, drawn in enumerate(contexts):
            rows = base.checked_rows(environment, start + i, *([arms] if adaptive else []))
            met[i] = form.readout(drawn).losses(rows, range(problem.arms))
            context, mask = drawn, None if available is None else available[i]
            if auctions is not None:
                auctions.limit(i)
                context, mask = limited.table[i, 0], limited.available[i]
            arms.append(int(revealing.play(learner, start + i, context, mask, rows).arm))
            if auctions is not None:
                auctions.settle(i, arms[i])
            if adaptive:
                totals[:] += rows
                tell(i)
        batch.arms[:] = arms
        _compare(environment, totals, start, contexts, form.block(contexts, available), batch)
        every = np.arange(len(contexts))
        batch.losses[:] = met[every, batch.arms]
        batch.comparator_losses[:] = met[every, batch.comparator_arms]
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


def _check_arms(learner: BatchPlayer, rounds: Rounds, start: int, count: int) -> None:
    """Raise if compiled code, which does not check itself, played an arm that it must not."""
    arms, available = rounds.arms, rounds.contexts.available
    wrong = np.flatnonzero((arms < 0) | (arms >= count))
    rule = f". Its compiled loop must play all rounds, and arms from 0 to {count - 1}."
    if not wrong.size and available.size:
        wrong = np.flatnonzero(~available[np.arange(arms.size), arms])
        may_play = np.flatnonzero(available[wrong[0]]).tolist() if wrong.size else []
        rule = f", but only {may_play} were available. Its compiled loop must read "
        rule += "contexts.available."
    if wrong.size:
        i = int(wrong[0])
        owner = type(learner.algorithm).__name__
        raise CheckFailedError(f"{owner} played arm {arms[i]} in round {start + i}{rule}")


def _totals(environment: Environment, tell: Callable[[int], None]) -> Floats:
    if isinstance(environment, BlockEnvironment):
        return environment.totals
    totals = np.zeros((environment.problem.arms, environment.problem.form.columns))
    for t in range(base.horizon_of(environment)):
        totals += base.checked_rows(environment, t)
        tell(0)
    totals.flags.writeable = False  # as in a BlockEnvironment
    return totals


class FeedbackSource:
    """Gives one learner the feedback of its plays in one environment."""

    def __init__(self, environment: Environment, learner: Any) -> None:
        self._environment = environment
        self._learner = learner
        self._owner = type(learner.algorithm).__name__
        self._rule = base.graph_rule(environment)
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
            return base.graph_block([self._all_rounds], np.zeros(len(contexts), dtype=np.int64))
        environment = self._environment
        if isinstance(environment, BlockEnvironment):
            given = environment.graphs(start, contexts)
            block = base.checked_graphs(environment, given, len(contexts))
        else:
            block = base.block_of(self._rule, start, contexts)
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
        """Let the learner act in one round, and show it what its play reveals."""
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


MOST_POLICIES = 4096


def policy_regret(environment: Any, contexts: npt.NDArray[Any], losses: Floats) -> Floats:
    """Return the policy regret after each round of a run."""
    if environment.problem.contexts is None:
        raise CrossbanditError(
            "Policy regret tries every policy, an arm for each context. The contexts of "
            f"{type(environment).__name__} are continuous, so there is no list of policies."
        )
    occurring = np.unique(contexts)
    count = environment.problem.arms ** len(occurring)
    if count > MOST_POLICIES:
        raise CrossbanditError(
            f"Policy regret tries every policy, an arm for each context. There are {count} for "
            f"{environment.problem.arms} arms and {len(occurring)} contexts, and at most "
            f"{MOST_POLICIES} are tried. Use fewer contexts or arms."
        )
    available = base.availability(environment, occurring)
    arms = range(environment.problem.arms)
    if available is None:
        choices: list[Sequence[int]] = [arms] * len(occurring)
    else:
        choices = [np.flatnonzero(row).tolist() for row in available]
    place = np.searchsorted(occurring, contexts)
    best = min(
        (
            _losses_of_policy(environment, contexts, np.array(policy)[place])
            for policy in product(*choices)
        ),
        key=lambda incurred: float(incurred.sum()),
    )
    return np.cumsum(losses - best)


def _losses_of_policy(
    environment: Any, contexts: npt.NDArray[Any], arms: npt.NDArray[np.int64]
) -> Floats:
    """Return the losses of playing these arms, with the reactions of the environment to them."""
    form, history = environment.problem.form, arms.tolist()
    incurred = np.empty(len(arms))
    for t, context in enumerate(contexts):
        row = base.checked_rows(environment, t, history[:t])[history[t]]
        incurred[t] = form.readout(context).losses(row[None], [history[t]])[0]
    return incurred
