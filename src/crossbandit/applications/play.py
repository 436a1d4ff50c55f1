"""What an application hands out: keep it until its outcome is known, here or in another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Self, TypeVar

from crossbandit.algorithms import Decision
from crossbandit.errors import DecisionError
from crossbandit.validation import reject, verbatim

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
        """Return the play that `to_json` wrote, or raise InvalidParameterError."""
        owner = f"{cls.__name__}.from_json"
        if not isinstance(data, Mapping):
            expected = "a dict that to_json returned; read text with json.loads first"
            reject(owner, "data", expected, data)
        every = [field.name for field in fields(cls)]
        needed = [field.name for field in fields(cls) if field.default is MISSING]
        if not set(needed) <= set(data) <= set(every):
            expected = f"a dict with the keys {', '.join(map(repr, every))}"
            reject(owner, "data", expected, verbatim(f"one with {list(data)}"))
        words = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        known = _decision(owner, data["decision"])
        return cls(**{**words, "decision": known})  # type: ignore[arg-type]  # fields by name


def _decision(owner: str, data: Any) -> Decision | None:
    if data is None:
        return None
    parts = data if isinstance(data, Mapping) else {}
    typed = isinstance(parts.get("round"), int) and isinstance(parts.get("learner"), str)
    if not typed or set(parts) != set(Decision._fields):
        expected = f"a dict with the keys {', '.join(map(repr, Decision._fields))}"
        reject(owner, "decision", expected, data)
    return Decision.from_json(dict(parts))


def made(play: object, kind: type[_Kind]) -> _Kind:
    """Return `play`, or refuse what is not a play of this kind."""
    if not isinstance(play, kind):
        name = kind.__name__
        hint = f" {name}.from_json makes one of it." if isinstance(play, dict) else ""
        raise DecisionError(f"settle takes the {name} to be settled. Got {play!r}.{hint}")
    return play


def played(play: object, kind: type[Play], learner: Learner) -> Decision:
    """Return the decision of a play that waits to be settled, or refuse what does not."""
    decision = made(play, kind).decision
    if decision is None:
        raise DecisionError(f"This {kind.__name__} has nothing to settle: no decision was made.")
    learner.expects(decision)
    return decision
