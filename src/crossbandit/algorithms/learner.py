"""What all learners share: decisions, late feedback, validation, saving."""

from __future__ import annotations

import math
import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, cast

import numpy as np

from crossbandit.algorithms.changing import checked_graph, listed_arms, neighbors
from crossbandit.algorithms.decisions import (
    Decision,
    PendingDecision,
    check_maker,
    compact,
    no_longer_pending,
)
from crossbandit.algorithms.feedback import check_sizes, checked_rows
from crossbandit.algorithms.missing import FeedbackWatch
from crossbandit.errors import CheckpointError, DecisionError
from crossbandit.kernels.compilation import resolved
from crossbandit.kernels.rounds import Feedback, add_revealed, feedback_without_rows, with_rows
from crossbandit.kernels.simplex import draw
from crossbandit.losses.forms import restricted
from crossbandit.streams import Seed, stream
from crossbandit.types import Floats, Integers
from crossbandit.validation import integer

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt
    from typing_extensions import TypeVar

    from crossbandit.algorithms.algorithm import Algorithm
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import Rounds
    from crossbandit.losses import Context, Readout
    from crossbandit.problem import Problem

    AlgorithmT = TypeVar("AlgorithmT", bound=Algorithm, default=Any)
else:
    from typing import TypeVar

    AlgorithmT = TypeVar("AlgorithmT")

_SAMPLES = 1000  # from which the policy of a learner that only samples is estimated


class Learner(ABC, Generic[AlgorithmT]):
    """A running algorithm: `act` on a context, then `learn` from what was revealed.

    Feedback may come late and out of order. The weight of a round's feedback is fixed when the
    round is played, so lateness changes when a loss counts, never how much. The latest
    `max_pending` pending decisions are remembered; older ones expire.

    Feedback may also never come. Whether it comes must then depend neither on the losses nor on the
    arm that was played: most learners count a missing loss as 0, so they come to prefer arms whose
    feedback is missing. A learner that notices such arms warns with `MissingFeedbackWarning`.
    `CrossGraphAdaptive` measures losses against their mean, so a missing loss counts as average: it
    is not misled by feedback that is missing more often after some arms.

    To write an algorithm, derive from `Learner[YourAlgorithm]` and override

    - `distribution`, the policy of one context; or `sample`, with `samples_only = True`, if arms
      can only be drawn, as in Thompson sampling;
    - `update`, which learns from the rows of losses that a decision revealed;
    - `state`, the arrays that hold everything learned;
    - `play`, only if losses need weights;
    - `check_state` and `tuned`, only if the state has indices or a rule sets parameters.

    These may use `algorithm`, `problem`, `graph`, `generator`, `round`, `readout`, `reveals`,
    `revealed`, `add` and `feedback`. `crossbandit.checks.check_algorithm` tests the result.

    Args:
        algorithm: The parameters of the algorithm.
        problem: What is known before the first round.
        seed: An int, a SeedSequence or a Generator (`crossbandit.streams.Seed`).
        graph: What plays reveal; the graph of the problem if None.

    Attributes:
        algorithm: The parameters of the algorithm.
        problem: What is known before the first round.
        graph: What plays reveal to this learner. If graphs change: what every round reveals.
        graph_kind: That of the problem; "fixed" if the algorithm ignores the problem's graph.
        generator: The random numbers of this learner. Use no others.
        round: The number of rounds played, which is the number of the next round.
        id: A name that is stored with its decisions.
        samples_only: Whether arms can be drawn, but their probabilities are not known.
        needs_all_feedback: Whether feedback that is missing more often for some arms misleads it.
    """

    samples_only: ClassVar[bool] = False
    needs_all_feedback: ClassVar[bool] = True

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
        self.round = 0
        self.id = secrets.token_hex(8)
        self._former_ids: list[str] = []  # under which it was saved
        self._max_pending = 100_000
        self._pending: dict[int, PendingDecision] = {}
        self._revealed: dict[int, Sequence[int]] = {}
        self._feedback: dict[int, Feedback] = {}
        self._machine_code: dict[str, Callable[..., Any]] = {}
        self._watch = FeedbackWatch() if self.needs_all_feedback else None

    # --- using a learner -----------------------------------------------------------------------

    def act(self, context: Any, available: Any = None, graph: Any = None) -> Decision:
        """Choose an arm.

        Args:
            context: The number of a context, or a feature vector.
            available: Which arms may be chosen, a boolean for each; no other arm is ever played.
                It is a part of the context. None means all arms.
            graph: The graph of the round, if the problem's `graph_kind` is "informed".

        Returns:
            The decision: its arm, and what `learn` needs later.

        Raises:
            InvalidContextError: The problem has no such context, or no arm is available.
            InvalidParameterError: The algorithm cannot be told which arms are available.
            InvalidGraphError: The graph of the round is missing, or the algorithm cannot play it.
        """
        plain, readout = self._read(context, available)
        pending = PendingDecision(self.round, plain, readout, -1, self.id)
        pending.graph = self._graph_of_round("act", graph)
        probability = self.play(pending)
        if pending.graph is not None:
            pending.revealed = neighbors(pending.graph, pending.arm)
        self.round = pending.round + 1
        self._pending[pending.round] = pending
        while len(self._pending) > self._max_pending:
            oldest = self._pending.pop(next(iter(self._pending)))
            if self._watch is not None:
                self._watch.expired(oldest)
        if self._watch is not None:
            self._watch.made(pending, self._pending.values())
        return Decision(
            pending.round, plain, pending.arm, probability, self.revealed(pending), self.id
        )

    def learn(self, decision: Decision, losses: Any, graph: Any = None) -> None:
        """Learn from the losses that a decision revealed.

        Args:
            decision: What `act` returned; each decision counts once.
            losses: One row per arm of `decision.revealed`, in that order: a number per context
                (dense losses) or a coefficient per feature (linear losses). Or a mapping from each
                revealed arm to its row. If graphs are unknown, it must be such a mapping.
            graph: The graph of the round, if the problem's `graph_kind` is "uninformed". The rows
                are then those of the arms that it reveals, ascending.

        Raises:
            DecisionError: The decision is another learner's, was learned from, or has expired.
            InvalidGraphError: The graph of the round is missing, or the algorithm cannot play it.
            InvalidLossesError: Losses have another shape, are masked, not finite, or not in [0, 1].
                Then nothing has changed.
        """
        pending = self._expected(decision)
        known = self._graph_of_round("learn", graph)
        revealed = self.revealed(pending)
        if known is not None:
            revealed = neighbors(known, pending.arm)
        elif self.graph_kind == "unknown":
            revealed = listed_arms(losses, self.problem.arms)
        rows = checked_rows(self.problem.form, pending, revealed, losses)
        del self._pending[pending.round]
        if self.graph_kind in {"uninformed", "unknown"}:
            pending.graph, pending.revealed = known, revealed
        self.update(pending, rows)

    def expects(self, decision: Decision) -> None:
        """Check that `learn` would accept a decision now. Changes nothing.

        Args:
            decision: What `act` returned.

        Raises:
            DecisionError: The decision is another learner's, was learned from, or has expired.
        """
        self._expected(decision)

    def policy(self, context: Any, available: Any = None) -> Floats:
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
        if not self.samples_only:
            return self.distribution(plain, readout)
        generator = np.random.default_rng(0)
        arms = [self.sample(plain, readout, generator) for _ in range(_SAMPLES)]
        return np.bincount(arms, minlength=self.problem.arms) / _SAMPLES

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file. `crossbandit.load` returns a learner that resumes exactly.

        Args:
            path: Where to write it; an existing file is replaced in one step.
        """
        from crossbandit.algorithms.checkpoints import save

        save(self, path)

    @property
    def pending(self) -> int:
        """How many decisions wait for their feedback."""
        return len(self._pending)

    @property
    def max_pending(self) -> int:
        """How many pending decisions are remembered; may be set."""
        return self._max_pending

    @max_pending.setter
    def max_pending(self, decisions: int) -> None:
        self._max_pending = integer("Learner", "max_pending", decisions, at_least=0)

    # --- what an algorithm overrides -----------------------------------------------------------

    def distribution(self, context: Context, readout: Readout) -> Floats:
        """Return the policy of a context. Override it unless arms can only be sampled.

        Args:
            context: The context: a number, or a tuple of features.
            readout: How the context reads rows, and which arms are available.

        Returns:
            A probability for each arm; 0 for those that are not available.
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

    def play(self, pending: PendingDecision) -> float:
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

    @abstractmethod
    def update(self, pending: PendingDecision, rows: Floats) -> None:
        """Learn from the losses that a decision revealed. They are valid: `learn` has checked them.

        Args:
            pending: The decision, as `play` left it.
            rows: A row for each arm of `self.revealed(pending)`: (revealed, columns).
        """

    @abstractmethod
    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the arrays that hold everything learned, by name.

        Returns:
            The arrays themselves, not copies: `crossbandit.load` fills them in place.
        """

    def check_state(self) -> None:
        """Check a state that was read from a file, before it is used.

        Override it, and call `super().check_state()`, if a kernel uses a number of the state as an
        index: compiled code does not check its indices, so an index outside its array corrupts
        memory. Also override it if a state may hold infinity.

        Raises:
            CheckpointError: A number is out of its range or not finite.
        """
        for name, array in self.state().items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise CheckpointError(f"The array {name!r} holds numbers that are not finite.")
        self.require_state("round", self.round >= 0, "an integer of at least 0", self.round)
        for one in (one for role in self.remembered().values() for one in role):
            self._check_remembered(one)

    def tuned(self) -> Mapping[str, Any]:
        """Return the parameters that a tuning rule has set, by name. A checkpoint stores them."""
        return {}

    def remembered(self) -> dict[str, list[PendingDecision]]:
        """Return the decisions that are remembered, by their role. A checkpoint stores them.

        Override it, and `restore`, if a learner keeps decisions in other places.
        """
        return {"pending": list(self._pending.values())}

    def restore(self, roles: Mapping[str, list[PendingDecision]]) -> None:
        """Take back what `remembered` returned.

        Args:
            roles: The decisions by their role.
        """
        self._pending = {pending.round: pending for pending in roles["pending"]}

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
            revealed = self._revealed[arm] = compact(self.graph.out_neighbors(arm).tolist())
        return revealed

    def revealed(self, pending: PendingDecision) -> Sequence[int]:
        """Return the arms whose losses a decision reveals, in ascending order.

        Args:
            pending: The decision, with its arm.

        Returns:
            The arms; none if the graph of the round is not known yet.
        """
        if pending.revealed is not None:
            return pending.revealed
        return self.reveals(pending.arm) if self.graph_kind == "fixed" else ()

    def add(self, estimates: Floats, pending: PendingDecision, rows: Floats) -> None:
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
        feedback = feedback_without_rows(np.array(revealed, dtype=np.int64), rows.shape[1])
        add_revealed(estimates[None], 0, pending.weights, with_rows(feedback, rows))

    def feedback(self, pending: PendingDecision, rows: Floats) -> Feedback:
        """Return the rows of a decision as kernels take them.

        Args:
            pending: The decision.
            rows: A row for each arm that was revealed (revealed, columns); it becomes read-only.
        """
        if self.graph_kind == "fixed":
            return with_rows(self._template(pending.arm), rows)
        arms = np.array(self.revealed(pending), dtype=np.int64)
        return with_rows(feedback_without_rows(arms, self.problem.form.columns), rows)

    def call(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Call a kernel without looking up the types of its arguments each time.

        Args:
            kernel: A kernel. Its arguments must have the same types in every call.
            *arguments: Its arguments.

        Returns:
            What the kernel returns.
        """
        code = self._machine_code.get(kernel.__name__)
        if code is None:
            code = self._machine_code[kernel.__name__] = resolved(kernel, *arguments)
        return code(*arguments)

    def revealed_arms(self, arm: int) -> Integers:
        """Return `reveals(arm)` as an array, as kernels take it.

        Args:
            arm: An arm.
        """
        return self._template(arm).arms

    def play_batch(self, rounds: Rounds, play: Callable[[Floats], int]) -> int:
        """Play a batch of rounds with a kernel that uses one random number per round.

        Args:
            rounds: The batch.
            play: Plays it with the given random numbers; returns how many rounds were played.

        Returns:
            How many rounds were played. Random numbers that were not used are given back.
        """
        before = self.generator.bit_generator.state
        played = play(self.generator.random(rounds.arms.size))
        if played < rounds.arms.size:
            self.generator.bit_generator.state = before
            self.generator.random(played)
        self.round += played
        return played

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

    # --- private steps -------------------------------------------------------------------------

    def _template(self, arm: int) -> Feedback:
        feedback = self._feedback.get(arm)
        if feedback is None:
            revealed = self.graph.out_neighbors(arm)
            feedback = feedback_without_rows(revealed, self.problem.form.columns)
            self._feedback[arm] = feedback
        return feedback

    def _read(self, context: Any, available: Any) -> tuple[Context, Readout]:
        plain, readout = self.problem.form.read(context)
        if available is not None:
            self.algorithm.require_availability()
            readout = restricted(readout, available, self.problem.arms)
        return plain, readout

    def _graph_of_round(self, call: str, graph: Any) -> FeedbackGraph | None:
        if self.graph_kind == "fixed" and (graph is None or self.algorithm.needs_own_loss):
            return None
        algorithm, arms = self.algorithm, self.problem.arms
        return cast(
            "FeedbackGraph | None", checked_graph(call, self.graph_kind, algorithm, arms, graph)
        )

    def _expected(self, decision: Decision) -> PendingDecision:
        if not isinstance(decision, Decision):
            raise DecisionError(f"learn takes the Decision that act returned. Got {decision!r}.")
        try:
            pending = self._pending.get(decision.round)
        except TypeError:  # a round that cannot be one
            pending = None
        makers = (self.id, *self._former_ids) if pending is None else (pending.learner,)
        check_maker(decision, makers)
        if pending is None:
            raise no_longer_pending(decision, self.max_pending)
        pending.check(decision, self.revealed(pending))
        return pending

    def _check_remembered(self, one: PendingDecision) -> None:
        arms, where = self.graph.arms, f"round {one.round}"
        right = 0 <= one.arm < arms
        self.require_state(f"arm of {where}", right, f"from 0 to {arms - 1}", one.arm)
        right = one.rows is None or bool(np.isfinite(one.rows).all())
        self.require_state(f"rows of {where}", right, "finite", one.rows)
        right = one.baseline is None or math.isfinite(one.baseline)
        self.require_state(f"baseline of {where}", right, "finite", one.baseline)
