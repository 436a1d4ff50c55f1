"""What an application hands out: keep it until its outcome is known, here or in another process."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self, TypeVar

from crossbandit.algorithms import Decision
from crossbandit.errors import DecisionError

if TYPE_CHECKING:
    from crossbandit.algorithms import Learner

_Kind = TypeVar("_Kind", bound="Play")


@dataclass(frozen=True)
class Play:
    """A decision, in the words of an application; None where there was nothing to choose from."""

    decision: Decision | None

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write, to keep a play until its outcome is known."""
        words = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**words, "decision": None if self.decision is None else self.decision.to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return the play that `to_json` wrote."""
        decision = data["decision"]
        known = None if decision is None else Decision.from_json(decision)
        words = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return cls(**{**words, "decision": known})  # type: ignore[arg-type]  # fields by name


def made(play: object, kind: type[_Kind]) -> _Kind:
    """Return `play`, or refuse what is not a play of this kind."""
    if not isinstance(play, kind):
        raise DecisionError(f"settle takes the {kind.__name__} to be settled. Got {play!r}.")
    return play


def played(play: object, kind: type[Play], learner: Learner) -> Decision:
    """Return the decision of a play that waits to be settled, or refuse what does not."""
    decision = made(play, kind).decision
    if decision is None:
        raise DecisionError(f"This {kind.__name__} has nothing to settle: no decision was made.")
    learner.expects(decision)
    return decision
