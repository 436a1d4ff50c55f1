"""Decisions, and what a learner remembers of them until their feedback comes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.errors import DecisionError
from crossbandit.types import Floats
from crossbandit.validation import reject

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.losses import Context, Readout


class Decision(NamedTuple):
    """One play. Keep it until its feedback comes, then pass both to `Learner.learn`.

    Attributes:
        round: The number of the round, from 0.
        context: The context: a number, or a tuple of features.
        arm: The arm that was chosen.
        probability: The probability with which it was chosen; NaN if the learner does not know it.
        revealed: The arms whose losses `learn` expects, in this order: a `range` or a tuple. Empty
            if the graph of the round is not known yet.
        learner: The id of the learner that made the decision.
    """

    round: int
    context: Context
    arm: int
    probability: float
    revealed: Sequence[int]
    learner: str

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write, to store a decision until its feedback comes.

        Returns:
            A dict of plain numbers, strings and lists. A probability of NaN becomes None.
        """
        probability = None if math.isnan(self.probability) else self.probability
        return {**self._asdict(), "revealed": list(self.revealed), "probability": probability}

    @classmethod
    def from_json(cls, data: Any) -> Decision:
        """Return the decision that `to_json` wrote.

        Args:
            data: What `to_json` returned, before or after a round trip through `json`.

        Returns:
            The decision. The learner that made it recognises it.

        Raises:
            InvalidParameterError: `data` is something else.
        """
        if not isinstance(data, Mapping) or set(data) != set(cls._fields):
            expected = f"what to_json wrote, a dict with the keys {', '.join(cls._fields)}"
            reject("Decision.from_json", "data", expected, data)
        context, revealed = data["context"], data["revealed"]
        probability = data["probability"]
        return cls(
            **{
                **data,
                "context": tuple(context) if isinstance(context, list) else context,
                "revealed": compact(revealed) if isinstance(revealed, list) else revealed,
                "probability": math.nan if probability is None else probability,
            }
        )


@dataclass(slots=True)
class PendingDecision:
    """What a learner remembers of a decision until its feedback comes.

    Attributes:
        round: The number of the round.
        context: The context: a number, or a tuple of features.
        readout: How the context reads rows of losses, and which arms are available.
        arm: The arm played; `Learner.play` sets it.
        learner: The id of the learner that made the decision.
        weights: The factors of the losses, a float for each arm. Those of the revealed arms are
            used. None means that the feedback of this round is not used. `Learner.play`
            sets them: the weight of feedback is fixed when the round is played.
        baseline: What is subtracted from the losses before they are weighted, if anything.
        rows: Feedback that has come, but may not be used yet.
        graph: The graph of the round, if graphs change and it is known.
        revealed: The arms whose losses are revealed, if graphs change and they are known.
    """

    round: int
    context: Context
    readout: Readout
    arm: int
    learner: str
    weights: Floats | None = None
    baseline: float | None = None
    rows: Floats | None = None
    graph: FeedbackGraph | None = None
    revealed: Sequence[int] | None = None

    def check(self, decision: Decision, revealed: Sequence[int]) -> None:
        """Raise DecisionError if `decision` was changed.

        Args:
            decision: What came back with the feedback.
            revealed: The arms that this decision reveals.
        """
        if not (
            _same(self.arm, decision.arm)
            and _same(self.context, decision.context)
            and _same(revealed, decision.revealed)
        ):
            raise DecisionError(
                f"In round {decision.round} this learner played arm {self.arm} in context "
                f"{self.context}, which reveals {list(revealed)}. Got a decision that says arm "
                f"{decision.arm} in context {decision.context}, which reveals {decision.revealed}."
            )


def check_maker(decision: Decision, makers: Sequence[str]) -> None:
    """Raise DecisionError unless a decision was made under one of these ids."""
    if decision.learner not in makers:
        raise DecisionError(
            f"The decision of round {decision.round} was made by another learner, or by this "
            f"one after the checkpoint from which it was restored ({decision.learner}). Give "
            "it to the learner that made it, or drop it."
        )


def no_longer_pending(decision: Decision, remembered: int) -> DecisionError:
    """Return the error for a decision of one's own that is not pending."""
    return DecisionError(
        f"The decision of round {decision.round} has been learned from before, or is older "
        f"than the {remembered} decisions that are remembered. Each counts once."
    )


def compact(arms: list[int]) -> Sequence[int]:
    """Return arms as a range if they are one, and as a tuple if not.

    Most neighbourhoods are one range, which takes constant memory for any number of arms.
    """
    if arms and isinstance(arms[0], int):
        consecutive = range(arms[0], arms[0] + len(arms))
        if list(consecutive) == arms:
            return consecutive
    return tuple(arms)


def _same(ours: int | Sequence[float], theirs: object) -> bool:
    """Return whether two values are equal; a list may be given instead of a tuple or a range."""
    if theirs is ours:
        return True
    if isinstance(ours, Sequence):
        return isinstance(theirs, Sequence) and list(theirs) == list(ours)
    return isinstance(theirs, int | np.integer) and theirs == ours
