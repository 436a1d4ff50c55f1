"""What an application hands out: keep it until its outcome is known, here or in another process."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from crossbandit.algorithms import Decision
from crossbandit.errors import DecisionError


@dataclass(frozen=True)
class Play:
    """A decision, in the words of an application."""

    decision: Decision

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write, to keep a play until its outcome is known."""
        words = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**words, "decision": self.decision.to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return the play that `to_json` wrote."""
        return cls(**{**data, "decision": Decision.from_json(data["decision"])})


def played(play: object, kind: type[Play]) -> Decision:
    """Return the decision of a play, or refuse what is not one of this kind."""
    if not isinstance(play, kind):
        raise DecisionError(f"settle takes the {kind.__name__} to be settled. Got {play!r}.")
    return play.decision
