"""How a learner starts, what an algorithm overrides in it, and what it may use there.

`DecisionRecords` adds the records of decisions, and `Learner` what a user of a learner calls.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import numpy as np

from crossbandit.errors import CheckpointError
from crossbandit.kernels.compilation import MachineCode
from crossbandit.kernels.rounds import Feedback, feedback_without_rows, with_rows
from crossbandit.kernels.rows import add_revealed
from crossbandit.kernels.simplex import draw
from crossbandit.learners.feedback import check_sizes, neighbors
from crossbandit.losses.forms import restricted
from crossbandit.streams import Seed, stream
from crossbandit.types import Floats, Integers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from typing_extensions import TypeVar

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.learners.algorithm import Algorithm
    from crossbandit.learners.decisions import PendingDecision
    from crossbandit.losses import Context, Readout
    from crossbandit.problem import Problem

    AlgorithmT = TypeVar("AlgorithmT", bound=Algorithm, default=Any)
else:
    from typing import TypeVar

    AlgorithmT = TypeVar("AlgorithmT")


class LearnerBase(ABC, Generic[AlgorithmT]):
    """The part of a learner that an algorithm overrides and uses.

    `Learner` describes the arguments and the attributes.
    """

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
        self.call = MachineCode()
        self._revealed: dict[int, Sequence[int]] = {}
        self._feedback: dict[int, Feedback] = {}

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

    def count_round(self, pending: PendingDecision) -> None:
        """Count a round that was not played here but by a snapshot, before `update` learns from it.

        Override it if `play` changes the state: make the same changes, but draw no arm.

        Args:
            pending: The decision. Its round is at most the round played last.
        """
        del pending

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

    def revealed_arms(self, arm: int) -> Integers:
        """Return `reveals(arm)` as an array, as kernels take it.

        Args:
            arm: An arm.
        """
        return self._template(arm).arms

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
