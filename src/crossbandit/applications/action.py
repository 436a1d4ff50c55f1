"""What an application returns: an action that is kept until its outcome is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Self, TypeVar

from crossbandit.algorithms import Decision
from crossbandit.algorithms.decisions import is_written
from crossbandit.errors import DecisionError
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from crossbandit.algorithms import Learner
    from crossbandit.applications.law_learner import LawLearner

_Action = TypeVar("_Action", bound="Action")


@dataclass(frozen=True)
class Action:
    """A decision in the terms of an application.

    Attributes:
        decision: The learner's decision; None if there was nothing to choose from.
    """

    decision: Decision | None

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write, to keep an action until its outcome is known."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "decision": None if self.decision is None else self.decision.to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return the action that `to_json` wrote.

        Args:
            data: What `to_json` returned, perhaps written and read by `json` since.

        Raises:
            InvalidParameterError: It is something else.
        """
        owner = f"{cls.__name__}.from_json"
        if not isinstance(data, Mapping):
            expected = "a dict that to_json returned; read text with json.loads first"
            reject(owner, "data", expected, data)
        names = [field.name for field in fields(cls)]
        required = [field.name for field in fields(cls) if field.default is MISSING]
        if not set(required) <= set(data) <= set(names):
            expected = f"a dict with the keys {', '.join(map(repr, names))}"
            reject(owner, "data", expected, verbatim(f"one with {list(data)}"))
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        decision = _decision(owner, data["decision"])
        return cls(**{**values, "decision": decision})  # type: ignore[arg-type]  # fields by name


def _decision(owner: str, data: Any) -> Decision | None:
    if data is None:
        return None
    parts = data if isinstance(data, Mapping) else {}
    typed = isinstance(parts.get("round"), int) and isinstance(parts.get("learner"), str)
    if not typed or not is_written(parts):
        expected = f"a dict with the keys {', '.join(map(repr, Decision._fields))}"
        reject(owner, "decision", expected, data)
    return Decision.from_json(dict(parts))


def require_action(action: object, kind: type[_Action]) -> _Action:
    """Return `action`, or raise DecisionError if it is not of this kind."""
    if not isinstance(action, kind):
        name = kind.__name__
        hint = f" {name}.from_json makes one of it." if isinstance(action, dict) else ""
        raise DecisionError(f"settle takes the {name} to be settled. Got {action!r}.{hint}")
    return action


def pending_decision(action: object, kind: type[Action], learner: Learner | LawLearner) -> Decision:
    """Return the decision of an action, or raise DecisionError if it cannot be learned from."""
    decision = require_action(action, kind).decision
    if decision is None:
        raise DecisionError(f"This {kind.__name__} has nothing to settle: no decision was made.")
    learner.expects(decision)
    return decision
