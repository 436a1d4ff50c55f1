"""A learner that uses a feedback graph: what its user calls, and what an algorithm overrides."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, cast

import numpy as np

from crossbandit.algorithms.learners import files
from crossbandit.algorithms.learners.decisions import (
    Decision,
    decoded,
    expired_round,
    foreign,
    learned_before,
)
from crossbandit.algorithms.learners.feedback import (
    check_sizes,
    checked_graph,
    checked_rows,
    listed_arms,
    neighbors,
    read_many,
    rows_of_many,
)
from crossbandit.algorithms.learners.graph_core import GraphShell
from crossbandit.algorithms.learners.missing import FeedbackWatch
from crossbandit.algorithms.learners.seen import PAGE, SeenDecisions, new_id
from crossbandit.algorithms.learners.shell import Shell
from crossbandit.algorithms.learners.snapshots import Snapshot
from crossbandit.algorithms.learners.tokens import ACTION, GRAPH, Token
from crossbandit.core import record
from crossbandit.core.forms import reading_of, restricted
from crossbandit.core.notebook import card, counted
from crossbandit.core.steps import at_once
from crossbandit.core.streams import Seed, stream
from crossbandit.core.types import Floats, Integers
from crossbandit.core.validation import because_of, integer, reject, verbatim
from crossbandit.errors import (
    CheckpointError,
    DamagedTokenError,
    DecisionError,
    InvalidParameterError,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from typing_extensions import TypeVar

    from crossbandit.algorithms.learners.algorithm import Algorithm
    from crossbandit.algorithms.learners.files import Arrays, Kept, Written
    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.blocks import Rounds
    from crossbandit.core.forms import Context, Readout
    from crossbandit.graphs import FeedbackGraph

    AlgorithmT = TypeVar("AlgorithmT", bound=Algorithm, default=Any)
    # The arrays of a state with copies of what they were, and counts.
    GraphLike = FeedbackGraph | npt.ArrayLike
    LossesLike = npt.ArrayLike | Mapping[int, npt.ArrayLike]  # rows in order, or by arm
    _Before = tuple[list[tuple[npt.NDArray[Any], npt.NDArray[Any]]], tuple[int, int]]
else:
    from typing import TypeVar

    AlgorithmT = TypeVar("AlgorithmT")

Step = Callable[[], Any]  # see `at_once`
# What an algorithm may override that the usual case does not call.
_STEPS = {
    *("play", "random_numbers", "update", "update_steps", "core_steps", "count_round"),
    *("revealed", "reveals"),
}
_MOST_USUAL = 1 << 14  # numbers of feedback: more take longer than all calls
_SAMPLES = 1000  # from which the policy of a learner that only samples is estimated


def draw(probabilities: Floats, uniform: float) -> int:
    """Return the smallest arm whose cumulative probability exceeds `uniform`.

    If rounding leaves none, return the last arm with a positive probability.
    """
    arm = int(np.searchsorted(np.cumsum(probabilities), uniform, side="right"))
    return arm if arm < len(probabilities) else int(np.flatnonzero(probabilities)[-1])


class Learner(GraphShell, Shell, ABC, Generic[AlgorithmT]):
    """A running algorithm: `act` on a context, then `learn` from what was revealed.

    Feedback may arrive late and out of order. The weight of a round's feedback is fixed when the
    round is played, so a delay changes when a loss counts, never how much. A decision, or its
    token, carries everything that `learn` needs, so `learn` works in another process and after a
    restart. `learned_from` remembers which decisions were learned from, so that each counts once.
    If the algorithm has `needs_memory`, the latest `max_pending` decisions are remembered as well,
    and older ones expire.

    Any number of threads may use a learner. One lock makes each call of `act`, `learn`, `policy`,
    `expects`, `snapshot`, `merge`, `act_many` and `learn_many` one step; `save` holds it only while
    it copies the state. `snapshot` returns an object that decides elsewhere.

    Feedback may also be missing. Whether it is missing must then depend neither on the losses nor
    on the arm that was played: most learners count a missing loss as 0, so they would prefer arms
    whose feedback is missing. A learner that notices such arms warns with `MissingFeedbackWarning`.
    `CrossGraphAdaptive` measures losses against their mean, so a missing loss counts as average: it
    is not misled by feedback that is missing more often after some arms.

    To write an algorithm, derive from `Learner[YourAlgorithm]` and override

    - `distribution`, the policy of one context; or `sample`, with `samples_only = True`, if arms
      can only be drawn, as in Thompson sampling;
    - `update`, which learns from the rows of losses that a decision revealed;
    - `state`, the arrays that hold everything learned;
    - `play`, only if losses need weights;
    - `check_state` and `tuned`, only if the state has indices or a rule sets parameters;
    - `count_round`, `changed_by_play` and `additive_state`, only for snapshots and for `merge`.

    These may use `algorithm`, `problem`, `graph`, `generator`, `round`, `readout`, `reveals`,
    `revealed`, `add` and `feedback`. `crossbandit.verify.checks.check_algorithm` tests the result.

    Args:
        algorithm: The parameters of the algorithm.
        problem: What is known before the first round.
        seed: An int, a SeedSequence or a Generator (`crossbandit.core.streams.Seed`).
        graph: What plays reveal; the graph of the problem if None.

    Attributes:
        algorithm: The parameters of the algorithm.
        problem: What is known before the first round.
        graph: What plays reveal to this learner. If graphs change: what every round reveals.
        graph_kind: The problem's `graph_kind`; "fixed" if the algorithm ignores the graph.
        generator: The random numbers of this learner. Use no others.
        round: The number of rounds played, which is the number of the next round.
        parameters: The parameters that it runs with, as its core takes them; None if it has none.
        id: A name that is stored with its decisions.
        learned_from: Which decisions were learned from. Its `window`, `limit` and `clock` may be
            set.
        samples_only: Whether arms can be drawn, but their probabilities are not known.
        needs_all_feedback: Whether feedback that is missing more often for some arms misleads it.
        changed_by_play: The arrays of the state that `play` changes, other than scratch arrays. A
            snapshot undoes these changes.
        additive_state: The arrays of the state that are sums over rounds. If all others are scratch
            arrays, `merge` can add them.
    """

    listed = (
        "act act_many algorithm expects graph graph_kind learn learn_many learned_from max_pending "
        "merge "
        "pending problem revealed reveals round save snapshot state tuned"
    )
    locks: ClassVar[tuple[str | None, ...]] = (None, None, "_lock")  # its owner's come first
    kept: ClassVar[tuple[str, ...]] = (
        *("id", "_key", "core", "generator", "learned_from", "round", "_max_pending", "_pending"),
        *("_last_expired",),
        *("_revealed", "_waiting", "_watch"),
    )
    learns = True
    # Whether `play` and `update` are those of its core, so that `GraphShell` can do the same.
    usual: ClassVar[bool] = False

    algorithm: AlgorithmT
    parameters: Any = None

    samples_only: ClassVar[bool] = False
    needs_all_feedback: ClassVar[bool] = True
    changed_by_play: ClassVar[tuple[str, ...]] = ()
    additive_state: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        algorithm: AlgorithmT,
        problem: Problem,
        *,
        seed: Seed,
        graph: FeedbackGraph | None = None,
    ) -> None:
        algorithm.require_playable(problem)
        self.algorithm = algorithm
        self.problem = problem
        self.graph_kind = "fixed" if algorithm.needs_own_loss else problem.graph_kind
        self.graph = problem.graph if graph is None else graph
        self.generator = stream(seed, "learner")
        self._revealed = {}
        self._arrays: dict[int, Integers] = {}
        self.round = 0
        self.learned_from = SeenDecisions()
        self._former_ids: dict[str, int] = {}  # with the rounds that were counted under them
        self._waiting = 0  # own decisions without feedback
        self._max_pending = 100_000
        self._last_expired = -1  # the latest round that is not remembered any more
        self._pending = {}  # those that are remembered
        self._watch = None  # from the first decision on, if it is needed
        self._before: _Before | None = None  # the state before an update that has not ended
        self.core = None  # that of an algorithm follows
        Learner.as_copy(self)
        self._set_up()

    # --- what its user calls -------------------------------------------------------------------

    def act(
        self,
        context: npt.ArrayLike,
        available: npt.ArrayLike | None = None,
        graph: GraphLike | None = None,
    ) -> Decision:
        """Choose an arm.

        Args:
            context: The number of a context, or a feature vector.
            available: Which arms may be chosen, a boolean for each. No other arm is played. It is a
                part of the context. None means all arms.
            graph: The graph of the round, if the problem's `graph_kind` is "informed".

        Returns:
            The decision: its arm, and what `learn` needs later.

        Raises:
            InvalidContextError: The problem has no such context, or no arm is available.
            InvalidParameterError: The algorithm cannot be told which arms are available.
            InvalidGraphError: The graph of the round is missing, or the algorithm cannot play it.
        """
        if available is None and graph is None:
            decision = self.act_usual(context)
            if decision is not None:
                return decision
        plain, readout = self._read(context, available)
        known = self._graph_of_round("act", graph)
        with self._lock:
            pending = self.make(plain, readout, self.round)
            pending.graph = known
            probability = self.play(pending)
            if known is not None:
                pending.known = neighbors(known, pending.arm)
            self.record(pending, probability)
        return pending

    def learn(
        self,
        decision: Decision | bytes | str,
        losses: LossesLike,
        graph: GraphLike | None = None,
    ) -> None:
        """Learn from the losses that a decision revealed.

        Args:
            decision: What `act` returned, of this learner or one of its snapshots; or its token, as
                bytes or text. Each decision counts once.
            losses: One row per arm of `decision.revealed`, in that order: a number per context
                (dense losses) or a coefficient per feature (linear losses). Or a mapping from each
                revealed arm to its row. If graphs are unknown, it must be such a mapping.
            graph: The graph of the round, if the problem's `graph_kind` is "uninformed". The rows
                are then those of the arms that it reveals, ascending.

        Raises:
            LearnedBeforeError: The decision was learned from before.
            ExpiredDecisionError: The decision is older than what is remembered.
            ForeignDecisionError: Another learner made the decision.
            DamagedTokenError: The token is damaged or forged.
            DecisionError: It is not a decision, or was changed.
            InvalidGraphError: The graph of the round is missing, or the algorithm cannot play it.
            InvalidLossesError: Losses have another shape, are masked, not finite, or not in [0, 1].
                The learner is then unchanged.
        """
        if graph is not None or not self.learn_usual(decision, losses):
            self.learn_with((), decision, losses, graph)

    def learn_with(
        self,
        steps: Sequence[Step],
        decision: Decision | bytes | str,
        losses: LossesLike,
        graph: GraphLike | None = None,
    ) -> None:
        """Do what `learn` does, and make other changes in the same step, which cannot be parted.

        Args:
            steps: The other changes; see `crossbandit.core.steps.at_once`.
            decision: As in `learn`.
            losses: As in `learn`.
            graph: As in `learn`.

        Raises:
            DecisionError: As in `learn`; nothing has changed then.
        """
        with self._lock:
            if self._before is not None:
                self._recover()
            pending = self._expected(decision)
            known = self._graph_of_round("learn", graph)
            revealed = self.revealed(pending)
            if known is not None:
                revealed = neighbors(known, pending.arm)
            elif self.graph_kind == "unknown":
                revealed = listed_arms(losses, self.problem.arms)
            rows = checked_rows(self.problem.form, pending, revealed, losses)
            if self.graph_kind in {"uninformed", "unknown"}:
                pending.graph, pending.known = known, revealed
            self._learn_all([pending], [rows], lambda _: steps)

    def expects(self, decision: Decision | bytes | str) -> None:
        """Check that `learn` would accept a decision now. Changes nothing.

        Args:
            decision: What `act` returned, or its token.

        Raises:
            DecisionError: As `learn` would raise it.
        """
        with self._lock:
            self._expected(decision)

    def act_many(
        self, contexts: npt.ArrayLike, available: npt.ArrayLike | None = None
    ) -> Sequence[Decision]:
        """Choose an arm in each of many contexts, as `act` would one after the other.

        If the algorithm has a core, this is usually one call of machine code.

        Args:
            contexts: The contexts: numbers (n,), or feature vectors (n, features).
            available: Which arms may be chosen in each (n, arms); None means all arms.

        Returns:
            The decisions. `learn_many` takes them, and `learn` takes each.

        Raises:
            InvalidContextError: The problem has no such context, or no arm is available. The
                learner is then unchanged.
            InvalidParameterError: The algorithm cannot be told which arms are available.
        """
        given, masks = read_many(contexts, available)
        if self.graph_kind == "informed":
            got = verbatim("a problem whose graph is given to act before each round; call act")
            reject("act_many", "contexts", "those of a problem with one graph", got)
        decisions = self.act_many_usual(given) if available is None else None
        if decisions is not None:
            return decisions
        read = [self._read(context, mask) for context, mask in zip(given, masks, strict=True)]
        with self._lock:
            return [self.act(plain, mask) for (plain, _), mask in zip(read, masks, strict=True)]

    def learn_many(
        self,
        decisions: Sequence[Decision | bytes | str],
        losses: npt.ArrayLike | Sequence[LossesLike],
    ) -> None:
        """Learn from the losses that many decisions revealed, as `learn` would one by one.

        If the algorithm has a core, this is usually one call of machine code.

        Args:
            decisions: What `act_many` returned; or a list of decisions and tokens.
            losses: An entry for each decision, as `learn` takes it. Or one array with the rows of
                all decisions, one after the other.

        Raises:
            DecisionError: As `learn` would raise it for one of them; its `rows` are all that are
                wrong. The learner is then unchanged.
            InvalidLossesError: Losses are not valid. The learner is then unchanged.
        """
        plain = type(decisions) is list and isinstance(losses, list | tuple | np.ndarray)
        alike = plain and len(decisions) == len(cast("Any", losses))
        if not (alike and self.learn_many_usual(decisions, losses)):
            self.learn_many_with(lambda _: (), decisions, losses)

    def learn_many_with(
        self,
        also: Callable[[int | None], Sequence[Step]],
        decisions: Sequence[Decision | bytes | str],
        losses: Any,
    ) -> None:
        """Do what `learn_many` does, and make other changes in the same step.

        Args:
            also: Returns the other changes. It takes None; or the number of a decision, if the
                algorithm learns from each in a step of its own.
            decisions: As in `learn_many`.
            losses: As in `learn_many`.

        Raises:
            DecisionError: As in `learn_many`.
            InvalidParameterError: Graphs change, and are not known before the feedback.
        """
        with self._lock:
            self._recover()
            pending = self._expected_all(decisions)
            if self.graph_kind in {"uninformed", "unknown"}:
                expected = "those of a problem that says in advance what a play reveals; call learn"
                got = verbatim(f"those of {self.graph_kind} graphs")
                reject("learn_many", "decisions", expected, got)
            revealed = [self.revealed(one) for one in pending]
            rows = rows_of_many(self.problem.form, pending, revealed, losses)
            self._learn_all(pending, rows, also)

    def policy(self, context: npt.ArrayLike, available: npt.ArrayLike | None = None) -> Floats:
        """Return the distribution from which `act` would draw now. Changes nothing.

        Args:
            context: The number of a context, or a feature vector.
            available: Which arms may be chosen, a boolean for each; None means all arms.

        Returns:
            A probability for each arm. If `samples_only` is set, these are frequencies among 1,000
            samples.

        Raises:
            InvalidContextError: The problem has no such context, or no arm is available.
            InvalidParameterError: The algorithm cannot be told which arms are available.
        """
        plain, readout = self._read(context, available)
        with self._lock:
            if not self.samples_only:
                return self.distribution(plain, readout)
            generator = np.random.default_rng(0)
            arms = [self.sample(plain, readout, generator) for _ in range(_SAMPLES)]
        return np.bincount(arms, minlength=self.problem.arms) / _SAMPLES

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file. `crossbandit.load` returns a learner that resumes exactly.

        The key of tokens is not written. Other threads wait only while the state is copied, and the
        pending decisions if the algorithm needs memory.

        Args:
            path: Where to write it; an existing file is replaced in one step.
        """
        files.save(self, path, lambda: ({}, {}), "Learner")

    def snapshot(self, seed: Seed | None = None) -> Snapshot:
        """Return an object that decides as this learner would now, in any thread or process.

        This learner can learn from the decisions of all its snapshots. Each decision keeps the
        weights that were set when it was made.

        Args:
            seed: The seed of its random numbers. If None, they differ from those of all others.

        Returns:
            The snapshot.

        Raises:
            InvalidParameterError: The algorithm needs memory, so only the learner itself can
                decide.
        """
        return Snapshot.of(self, seed)

    @property
    def pending(self) -> int:
        """How many of its own decisions have no feedback so far.

        Decisions of its snapshots are not counted: it does not know them until it learns from them.
        """
        return len(self._pending) if self.algorithm.needs_memory else self._waiting

    @property
    def max_pending(self) -> int:
        """How many pending decisions are remembered, if the algorithm needs memory; may be set."""
        return self._max_pending

    @max_pending.setter
    def max_pending(self, decisions: int) -> None:
        self._max_pending = integer("Learner", "max_pending", decisions, at_least=0)

    def decision_of(self, token: bytes | str) -> Decision:
        """Return the decision of a token, whether it may still be learned from or not.

        Args:
            token: The token, as bytes or as text.

        Raises:
            DecisionError: It is damaged, or was made for another learner.
        """
        pending = self._decoded(token)
        self.finish(pending, math.nan)
        return pending

    def merge(self, other: Learner[AlgorithmT]) -> None:
        """Add what another learner has learned. This needs an algorithm that keeps only sums.

        Both must have started with nothing, on the same problem with the same parameters. Then the
        result is that of one learner which learned from all decisions of both. This learner then
        also accepts the decisions of the other. Each learner can be merged once. An algorithm that
        needs memory remembers its pending decisions by round, so the other must have none.

        Args:
            other: The other learner. It is not changed.

        Raises:
            InvalidParameterError: The algorithm keeps more than sums, or the two learners differ,
                have decisions in common, or the other remembers pending decisions.
        """
        self._check_mergeable(other)
        first, second = sorted((self, other), key=id)
        with first._lock, second._lock:  # in one order: two merges never wait for each other
            theirs = {**other._former_ids, other.id: other.round}
            if theirs.keys() & {self.id, *self._former_ids}:
                got = verbatim("one that comes from the same learner, or was merged before")
                reject("merge", "other", "a learner with decisions of its own", got)
            if other._pending:
                got = verbatim(f"one with {len(other._pending)} of them; learn from them first")
                reject("merge", "other", "a learner without pending decisions", got)
            record.add(self.state(), other.state(), self.additive_state)
            self.round += other.round
            self._waiting += other._waiting
            self._former_ids |= theirs
            self.learned_from.merge(other.learned_from)
            if self.needs_all_feedback:  # earlier rounds of the two have the same numbers
                self._start_watch(self.round)

    def _check_mergeable(self, other: Learner[AlgorithmT]) -> None:
        name = type(self.algorithm).__name__
        if not self.additive_state:
            raise InvalidParameterError(
                f"Learners of {name} cannot be merged: their state is more than sums. Give all "
                "tokens to one learner, and decide with its snapshots."
            )
        if type(other) is not type(self):
            reject("merge", "other", f"a learner of {name}", other)
        same = other.problem == self.problem and dict(other.tuned()) == dict(self.tuned())
        if not same or other.algorithm != self.algorithm:
            expected = f"a learner of {self.algorithm} on the same problem"
            got = verbatim(f"one of {other.algorithm}, or another problem")
            reject("merge", "other", expected, got)

    # --- what an algorithm overrides -----------------------------------------------------------

    def distribution(self, context: Context, readout: Readout) -> Floats:
        """Return the policy of a context. Override it unless arms can only be sampled.

        Args:
            context: The context: a number, or a tuple of features.
            readout: How the context reads rows, and which arms are available.

        Returns:
            A probability for each arm; 0 for those that are not available.

        Raises:
            NotImplementedError: The learner overrides neither this method nor `sample`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must override distribution, or set samples_only = True and "
            "override sample."
        )

    def sample(self, context: Context, readout: Readout, generator: np.random.Generator) -> int:
        """Draw an arm. Override it if `samples_only` is True.

        Args:
            context: The context: a number, or a tuple of features.
            readout: How the context reads rows, and which arms are available.
            generator: The random numbers to use. The learner itself must not change.

        Returns:
            An available arm.
        """
        return draw(self.distribution(context, readout), generator.random())

    def play(self, pending: Decision) -> float:
        """Play a round: set `pending.arm` and, if it is needed, `pending.weights`.

        By default, an arm is drawn from `distribution`, or by `sample`, and losses have weight 1.

        Args:
            pending: The decision to be made, with its context.

        Returns:
            The probability with which the arm was drawn; NaN if it is not known.
        """
        pending.weights = np.ones(self.problem.arms)
        if self.samples_only:
            pending.arm = self.sample(pending.context, pending.readout, self.generator)
            return math.nan
        policy = self.distribution(pending.context, pending.readout)
        pending.arm = draw(policy, self.generator.random())
        return float(policy[pending.arm])

    def count_round(self, pending: Decision) -> None:
        """Count a round that was not played here but by a snapshot, before `update` learns from it.

        Override it if `play` changes the state: make the same changes, but draw no arm.

        Args:
            pending: The decision. Its round is at most the round played last.
        """
        del pending

    @abstractmethod
    def update(self, pending: Decision, rows: Floats) -> None:
        """Learn from the losses that a decision revealed. They are valid: `learn` has checked them.

        Args:
            pending: The decision, as `play` left it.
            rows: A row for each arm of `self.revealed(pending)`: (revealed, columns).
        """

    def update_steps(
        self, pending: Decision, rows: Floats, last: int
    ) -> Sequence[Callable[[], Any]] | None:
        """Return the steps that `update` makes; see `crossbandit.core.steps.at_once`.

        Override it together with `update` if that is a call of machine code. Then an interrupt
        cannot come between learning and remembering that it was learned. Otherwise the state is
        copied before `update`, and restored if there is an interrupt.

        Args:
            pending: As in `update`.
            rows: As in `update`.
            last: The round played last, when the round of the decision is counted.

        Returns:
            The steps; None if there are none.
        """
        del pending, rows, last
        return None

    def count_steps(self, pending: Decision, last: int) -> Sequence[Callable[[], Any]]:
        """Return the steps that `count_round` makes, as `update_steps` does.

        Args:
            pending: As in `count_round`.
            last: As in `update_steps`.
        """
        del pending, last
        return ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Use no steps of a base class in place of those that were overridden."""
        super().__init_subclass__(**options)
        own = vars(cls)
        if {"update", "count_round"} & own.keys() and "update_steps" not in own:
            cls.update_steps = Learner.update_steps  # type: ignore[method-assign]
        if _STEPS & own.keys() and "usual" not in own:
            cls.usual = False

    @abstractmethod
    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the arrays that hold everything learned, by name.

        Returns:
            The arrays themselves, not copies: `crossbandit.load` fills them in place.
        """

    def tuned(self) -> Mapping[str, Any]:
        """Return the parameters that a tuning rule has set, by name. A checkpoint stores them.

        By default, these are the fields of `self.parameters`, a NamedTuple, if there is one.
        """
        rates = {} if self.parameters is None else self.parameters._asdict()
        return {name: rate for name, rate in rates.items() if hasattr(self.algorithm, name)}

    # --- what an algorithm may use -------------------------------------------------------------

    def readout(self, context: Any, available: Any = None) -> Readout:
        """Return how a context reads rows of losses and estimates.

        Args:
            context: The number of a context, or a feature vector.
            available: Which arms may be played, a boolean for each; None means all arms.

        Returns:
            The readout: `readout.losses(rows, arms)` reads rows.
        """
        return self._read(context, available)[1]

    def reveals(self, arm: int) -> Sequence[int]:
        """Return the arms whose losses playing `arm` reveals to this learner, in ascending order.

        Args:
            arm: An arm.
        """
        revealed = self._revealed.get(arm)
        if revealed is None:
            revealed = self._revealed[arm] = neighbors(self.graph, arm)
        return revealed

    def revealed(self, pending: Decision) -> Sequence[int]:
        """Return the arms whose losses a decision reveals, in ascending order.

        Args:
            pending: The decision, with its arm.

        Returns:
            The arms; none if the graph of the round is not known yet.
        """
        if pending.known is not None:
            return pending.known
        return self.reveals(pending.arm) if self.graph_kind == "fixed" else ()

    def add(self, estimates: Floats, pending: Decision, rows: Floats) -> None:
        """Add the weighted rows of a decision to estimates, in place.

        Args:
            estimates: An array with a row for each arm (arms, columns).
            pending: The decision, with its weights. If they are None, nothing is added.
            rows: A row for each arm that was revealed (revealed, columns).

        Raises:
            CheckFailedError: An array has another shape, or weights are not floats.
        """
        if pending.weights is None:
            return
        owner, revealed = type(self).__name__, self.revealed(pending)
        check_sizes(owner, self.graph.arms, estimates, pending, rows, len(revealed))
        arms = list(revealed)
        estimates[arms] += pending.weights[arms, None] * rows

    def arms_of(self, pending: Decision) -> Integers:
        """Return `revealed(pending)` as an array, as cores take it.

        Args:
            pending: The decision.
        """
        if self.graph_kind != "fixed":
            return np.array(self.revealed(pending), dtype=np.int64)
        return self.revealed_arms(pending.arm)

    def revealed_arms(self, arm: int) -> Integers:
        """Return `reveals(arm)` as an array, as cores take it.

        Args:
            arm: An arm.
        """
        arms = self._arrays.get(arm)
        if arms is None:
            arms = self._arrays[arm] = np.array(self.graph.out_neighbors(arm), dtype=np.int64)
        return arms

    def require_state(self, name: str, condition: object, expected: str, got: object) -> None:
        """Raise CheckpointError unless a number of the state is in its range.

        Args:
            name: The name of the number, for the message.
            condition: Whether the number is valid.
            expected: What the number must be.
            got: What the number is.

        Raises:
            CheckpointError: The condition does not hold.
        """
        if not condition:
            raise CheckpointError(f"{name!r} must be {expected}. Got {got}.")

    def check_state(self) -> None:
        """Check a state that was read from a file, before it is used.

        Override it, and call `super().check_state()`, if compiled code uses a number of the state
        as an index: it does not check indices, so one outside its array corrupts memory. Also
        override it if a state may hold infinity.

        Raises:
            CheckpointError: A number is out of its range or not finite.
        """
        for name, array in self.state().items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise CheckpointError(f"The array {name!r} holds numbers that are not finite.")
        self.require_state("round", self.round >= 0, "an integer of at least 0", self.round)
        for one in (one for role in self.remembered().values() for one in role):
            self._check_remembered(one)

    def remembered(self) -> dict[str, list[Decision]]:
        """Return the decisions that are remembered, by their role. A checkpoint stores them.

        Override it, and `restore`, if a learner keeps decisions in other places.
        """
        return {"pending": list(self._pending.values())}

    def restore(self, roles: Mapping[str, list[Decision]]) -> None:
        """Restore what `remembered` returned.

        Args:
            roles: The decisions by their role.
        """
        self._pending = {pending.round: pending for pending in roles["pending"]}

    # --- private steps -------------------------------------------------------------------------

    def as_decider(self) -> None:
        """Prepare to decide for a snapshot: override it if `play` changes more than arrays."""

    def as_copy(self) -> None:
        """Find out again what is usual."""
        self.quick, self.decision_type = 0, Decision
        self.remembers = self.algorithm.needs_memory
        self.watches = self.needs_all_feedback

    def _usual_parts(self) -> tuple[Any, ...] | None:
        """Return what `GraphShell` needs to know; None if no round of this learner is usual."""
        form, arms = self.problem.form, self.problem.arms
        fixed = self.graph_kind == self.problem.graph_kind == "fixed"
        small = arms * form.columns <= _MOST_USUAL and form.shape[0] == 1
        if not (self.usual and fixed and small):
            return None
        weighted = getattr(self, "weighted", True)
        return form, form.limits(), weighted

    def _read(self, context: Any, available: Any) -> tuple[Context, Readout]:
        plain, readout = self.problem.form.read(context)
        if available is not None:
            self.algorithm.require_availability()
            readout = restricted(readout, available, self.problem.arms)
        return plain, readout

    def _start_watch(self, first: int) -> FeedbackWatch:
        """Watch for missing feedback from a round on."""
        self._watch = FeedbackWatch(self.problem.arms, first)
        return self._watch

    def _expected(self, decision: Decision | bytes | str) -> Decision:
        """Return what learning from a decision needs; raise DecisionError if `learn` refuses it."""
        if isinstance(decision, Decision) and not decision.by_law:
            if decision.learner != self.id and decision.learner not in self._former_ids:
                raise foreign(decision.round, decision.learner)
            pending = self._pending and self._remembered(decision.round, decision.learner)
            found = pending or self._made(decision)
            told = self.graph_kind not in {"uninformed", "unknown"}  # when it was made
            found.check(decision, self.revealed(found) if told else ())
            return found if pending else self._unlearned(found)
        if not isinstance(decision, bytes | bytearray | memoryview | str):
            raise DecisionError(
                f"learn takes the Decision that act returned, or its token. Got {decision!r}."
            )
        read = self._decoded(decision)
        pending = self._remembered(read.round, read.learner)
        return self._unlearned(read) if pending is None else pending

    def _expected_all(self, decisions: Any) -> list[Decision]:
        """Return what `_expected` returns for each; raise if it refuses one, or one comes twice."""
        if isinstance(decisions, str | bytes) or not hasattr(decisions, "__len__"):
            raise DecisionError(
                f"learn_many takes what act_many returned, or a list of decisions and tokens. Got "
                f"{decisions!r}."
            )
        found: dict[tuple[str, int], Decision] = {}
        failed: dict[int, DecisionError] = {}
        for i, decision in enumerate(decisions):
            try:
                one = self._expected(decision)
                if (one.decider, one.counter) in found:
                    raise learned_before(one.round)
                found[one.decider, one.counter] = one
            except DecisionError as error:
                failed[i] = error
        if failed:
            raise because_of(failed, next(iter(failed.values())))
        return list(found.values())

    def _remembered(self, round_: object, learner: str) -> Decision | None:
        pending = self._pending.get(round_) if isinstance(round_, int) else None
        return pending if pending is not None and pending.learner == learner else None

    def _made(self, decision: Decision) -> Decision:
        """Return what was made, if a decision or its token carries it."""
        if decision.written is not None:
            return self._decoded(decision.written)
        if not decision.whole:
            raise expired_round(decision.round, self.max_pending)
        return decision

    def _decoded(self, data: bytes | str) -> Decision:
        token = Token.decode(data, self._key)
        if token.learner != self.id and token.learner not in self._former_ids:
            raise foreign(token.counter, token.learner)
        if token.kind != GRAPH:
            raise DamagedTokenError(
                f"A token must be of a learner with a feedback graph. Got one of kind {token.kind}."
            )
        pending = decoded(token, self.problem, self.reveals)
        own = token.decider == self.id or token.decider in self._former_ids
        if own and pending.round != pending.counter:
            raise DamagedTokenError(
                f"A token of a learner's own decision must have its round as its counter, "
                f"{token.counter}. Got the round {pending.round}."
            )
        return pending

    def _unlearned(self, pending: Decision) -> Decision:
        """Return a decision that is not remembered; raise unless it may be learned from."""
        if not self.algorithm.needs_memory:
            if self.learned_from.check(pending.decider, pending.counter, pending.time):
                raise learned_before(pending.round)
            return pending
        if not self._is_counted(pending):
            raise foreign(pending.round, pending.learner)
        if pending.round > self._last_expired:
            raise learned_before(pending.round)
        raise expired_round(pending.round, self.max_pending)

    def _is_counted(self, pending: Decision, played: int | None = None) -> bool:
        """Return whether a decision is one of the rounds that this learner has played.

        played: how many rounds count as played; None for all.
        """
        own = self.round if played is None else played
        rounds = own if pending.decider == self.id else self._former_ids.get(pending.decider)
        return rounds is not None and pending.counter < rounds

    def _learn_all(
        self,
        decisions: Sequence[Decision],
        rows: Sequence[Floats],
        also: Callable[[int | None], Sequence[Step]],
    ) -> None:
        """Learn from decisions that are expected, and mark them.

        All of it is one step, or each decision a step of its own if there are no steps. also:
        returns other changes for the same step; it takes None, or the number of the decision.
        """
        marked, counts, marks = self._marking(decisions)
        last, steps = self.round - 1, list[Step]()
        for one, mark, own in zip(decisions, marked, rows, strict=True):
            last += mark is not one
            update = self.update_steps(mark, own, last)
            if update is None:
                break
            steps += [*(self.count_steps(mark, last) if mark is not one else ()), *update]
        else:
            at_once(partial(self.set_counts, *counts), *steps, *marks, *also(None))
            return
        for i, (one, own) in enumerate(zip(decisions, rows, strict=True)):
            self._learn_alone(one, own, also(i))

    def _learn_alone(self, pending: Decision, rows: Floats, also: Sequence[Step]) -> None:
        (marked,), counts, marks = self._marking([pending])
        arrays = [(array, array.copy()) for array in self.state().values()]
        self._before = arrays, (self.round, self._waiting)
        try:
            self.set_counts(*counts)
            if marked is not pending:
                self.count_round(marked)
            self.update(marked, rows)
            at_once(*marks, *also, partial(setattr, self, "_before", None))
        except BaseException:
            self._recover()
            raise

    def _recover(self) -> None:
        """Undo an update that was interrupted. If this is interrupted, it can be called again."""
        if self._before is not None:
            arrays, counts = self._before
            for array, before in arrays:
                array[...] = before
            self.set_counts(*counts)
            self._before = None

    def _marking(
        self, decisions: Sequence[Decision]
    ) -> tuple[list[Decision], tuple[int, int], list[Step]]:
        """Prepare to mark decisions as learned from. Changes nothing."""
        steps: list[Step] = []
        marked, answered = [], []
        round_, waiting = self.round, self._waiting
        for one in decisions:
            if self._pending and self._pending.get(one.round) is one:
                steps.append(partial(self._pending.pop, one.round))
            else:
                page = self.learned_from.live_page(one.decider, one.counter, one.time)
                steps.append(partial(page.codes.__setitem__, one.counter % PAGE, 1))
            if self._is_counted(one, round_):
                waiting -= 1
                answered.append((one.round, one.arm))
                marked.append(one)
            else:
                counted = copy.copy(one)
                counted.sealed = False
                counted.round = min(one.round, round_)
                marked.append(counted)
                round_ += 1
        if self._watch is not None:
            steps += self._watch.answering(answered)
        return marked, (round_, waiting), steps

    def _check_remembered(self, one: Decision) -> None:
        arms, where = self.graph.arms, f"round {one.round}"
        right = 0 <= one.arm < arms
        self.require_state(f"arm of {where}", right, f"from 0 to {arms - 1}", one.arm)
        right = one.rows is None or bool(np.isfinite(one.rows).all())
        self.require_state(f"rows of {where}", right, "finite", one.rows)
        right = one.baseline is None or math.isfinite(one.baseline)
        self.require_state(f"baseline of {where}", right, "finite", one.baseline)

    # --- for applications, as `LawLearner` has it ----------------------------------------------

    @property
    def decider_name(self) -> str:
        """What the text of an application calls it."""
        return self.algorithm.id

    def written(self, kept: Kept) -> Written:
        """Return what a file has of this learner, and of what its owner keeps.

        Args:
            kept: Returns notes that `json` can write, and arrays.
        """
        return files.written(self, kept)

    def resumed(
        self, header: dict[str, Any], parts: Mapping[str, Arrays], size: int
    ) -> Learner[AlgorithmT]:
        """Return the learner of a file; raise if its problem is another one.

        Args:
            header: The header of the file.
            parts: Its arrays.
            size: Its size in bytes.
        """
        found = files.graph_learner(header, parts, size)
        self._check_problem(found.problem)
        return found

    def taking_over(self, other: Learner[AlgorithmT], owner: str) -> Learner[AlgorithmT]:
        """Return the learner of an application with other settings, if its problem is the same.

        Args:
            other: That learner.
            owner: The name of the application, for the error message.

        Raises:
            InvalidParameterError: It is another problem.
        """
        if other.problem != self.problem:
            raise InvalidParameterError(
                f"What this {owner} has learned holds for the settings it has. Make a new one."
            )
        return other

    def decider(self, new: Learner[AlgorithmT], seed: Seed | None) -> Snapshot:
        """Return a snapshot, for an application whose learner is new.

        Args:
            new: That learner.
            seed: As in `snapshot`.
        """
        del new
        return self.snapshot(seed)

    def decider_of(
        self, header: Mapping[str, Any], arrays: Arrays, seed: Seed | None, key: bytes | None
    ) -> Snapshot:
        """Return the snapshot whose `parts` are given, for the problem of this learner.

        Args:
            header: The header of the snapshot.
            arrays: Its arrays.
            seed: The seed of its random numbers; None for new ones.
            key: The key of the learner's tokens, or None.
        """
        del header
        made = Snapshot.from_bytes(arrays["learner"].tobytes(), seed=seed, key=key)
        self._check_problem(made.problem)
        return made

    def _check_problem(self, problem: Problem) -> None:
        if problem != self.problem:
            raise ValueError("its settings describe another problem than its learner's")

    def decision_in(self, token: Token, content: tuple[Any, ...]) -> Decision:
        """Return the decision in the token of an application's action.

        Args:
            token: The token.
            content: What follows the fields of the action in it.

        Raises:
            DecisionError: The decision was made for another learner.
            ValueError: It is the token of something else.
        """
        if token.kind != ACTION:
            raise ValueError(f"it is of kind {token.kind}")
        return self.decision_of(*content)

    def _graph_of_round(self, call: str, graph: Any) -> FeedbackGraph | None:
        if self.graph_kind == "fixed" and (graph is None or self.algorithm.needs_own_loss):
            return None
        return checked_graph(call, self.graph_kind, self.algorithm, self.problem.arms, graph)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.algorithm.id}, {self.round} rounds played)"

    def _repr_html_(self) -> str:
        problem = self.problem
        facts = [
            (self.algorithm.id, repr(self.algorithm)),
            (counted(self.round, "round"), "how many were played"),
            (f"{self.pending:,} pending", "decisions without feedback so far"),
            (counted(problem.arms, "arm"), repr(problem)),
            (f"observability: {self.graph.observability}", self.graph.observability_reason),
        ]
        return card(type(self).__name__, facts)

    def after_fork(self) -> None:
        """Take a new id and new random numbers, in a forked process.

        Decisions that were made before the fork can be learned from in both processes.
        """
        self._former_ids[self.id] = self.round
        self.id = new_id()
        self.generator = np.random.default_rng()


class CoreLearner(Learner[AlgorithmT]):
    """A learner whose steps are in a core. `act`, `learn` and the compiled loops call the same."""

    stored: ClassVar[tuple[str, ...]] = ()  # the arrays that `state` returns; all if empty
    weighted: ClassVar[bool] = True
    usual: ClassVar[bool] = True

    def __init__(
        self,
        algorithm: AlgorithmT,
        problem: Problem,
        core: Any,
        *,
        seed: Seed,
        graph: FeedbackGraph | None = None,
    ) -> None:
        super().__init__(algorithm, problem, seed=seed, graph=graph)
        self.core = core

    def random_numbers(self, rounds: int | None = None) -> Any:
        """Return the random numbers of one round, or of many: by default one for each."""
        numbers = self.generator.random(rounds)
        return numbers if rounds is None else numbers[:, None]

    def distribution(self, context: Context, readout: Readout) -> Floats:
        policy: Floats = self.core.policy(self.round, _number(context), reading_of(readout))
        return policy

    def play(self, pending: Decision) -> float:
        pending.arm, probability, baseline = self.core.play(
            *_round(pending), pending.graph, self.random_numbers()
        )
        pending.baseline = None if math.isnan(baseline) else baseline
        if self.weighted:
            pending.weights = self.core.state()["weights"].copy()
        return float(probability)

    def count_round(self, pending: Decision) -> None:
        at_once(*self.count_steps(pending, self.round - 1))

    def count_steps(self, pending: Decision, last: int) -> Sequence[Callable[[], Any]]:
        return (partial(self.core.count_round, *_round(pending), pending.graph, last),)

    def update(self, pending: Decision, rows: Floats) -> None:
        at_once(*self.core_steps(pending, rows, self.round - 1))

    def update_steps(
        self, pending: Decision, rows: Floats, last: int
    ) -> Sequence[Callable[[], Any]]:
        return self.core_steps(pending, rows, last)

    def core_steps(self, pending: Decision, rows: Floats, last: int) -> Sequence[Callable[[], Any]]:
        """Return the steps of the core that learn from a decision."""
        weights = pending.weights if self.weighted else self.core.state()["weights"]
        if weights is None:
            return ()
        baseline = math.nan if pending.baseline is None else pending.baseline
        learned = (weights, baseline, self.arms_of(pending), rows)
        return (partial(self.core.learn, *_round(pending), last, pending.arm, *learned),)

    def simulate(self, rounds: Rounds) -> None:
        """Play a batch of rounds, compiled."""
        count = rounds.arms.size
        self.core.simulate(rounds, self.round, self.random_numbers(count), rounds.settling())
        self.round += count

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = self.core.state()
        return {name: arrays[name] for name in self.stored or arrays}


def _number(context: Context) -> int:
    # A feature vector has no number: cores read it through its readout only.
    return context if isinstance(context, int) else 0


def _round(pending: Decision) -> tuple[int, int, tuple[Any, ...]]:
    return pending.round, _number(pending.context), reading_of(pending.readout)


def estimate_shape(algorithm: Algorithm, problem: Problem, *, cross: bool) -> tuple[int, int, int]:
    """Return the shape of estimates: one copy for all contexts, or a copy for each context."""
    if cross:
        return 1, problem.arms, problem.form.columns
    return algorithm.require_contexts(problem), problem.arms, 1
