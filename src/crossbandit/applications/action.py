"""What an application returns: an action that is kept until its outcome is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

from crossbandit.algorithms import Decision
from crossbandit.algorithms.learners.decisions import FIELDS
from crossbandit.algorithms.learners.shell import only_decides
from crossbandit.algorithms.learners.tokens import ACTION, LAW, Token, to_text, unpacked
from crossbandit.core.validation import reject, verbatim
from crossbandit.errors import DamagedTokenError, DecisionError, InvalidParameterError
from crossbandit.laws.levels import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.core.types import Floats

_Action = TypeVar("_Action", bound="Action")


@dataclass(frozen=True)
class Action:
    """A decision in the terms of an application.

    Attributes:
        decision: The learner's decision; None if there was nothing to choose from.
    """

    __slots__ = ()

    decision: Decision | None

    @property
    def token(self) -> bytes:
        """The action as bytes. `settle` takes them anywhere and at any time, once.

        Raises:
            DecisionError: There is nothing to settle, or the learner needs the decision itself.
        """
        decision = self.decision
        if decision is None:
            name = type(self).__name__
            raise DecisionError(f"This {name} has nothing to settle: no decision was made.")
        values = tuple(getattr(self, one.name) for one in fields(self)[1:])
        if decision.by_law:
            values = tuple(tuple(map(short, v)) if isinstance(v, tuple) else v for v in values)
        return decision.action_token(values)

    @property
    def text(self) -> str:
        """The token as text that a URL can hold."""
        return to_text(self.token)

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write, to keep an action until its outcome is known."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "decision": None if self.decision is None else self.decision.to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return the action that `to_json` wrote.

        Args:
            data: What `to_json` returned; `json` may have written and read it since.

        Raises:
            InvalidParameterError: `to_json` did not write `data`.
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
    try:
        return Decision.from_json(data)
    except InvalidParameterError:
        expected = f"a dict with the keys {', '.join(map(repr, FIELDS))}"
        reject(owner, "decision", expected, data)


@cache
def _width(kind: type) -> int:
    """Return how many fields an action has besides its decision."""
    return len(fields(kind)) - 1


def _parted(values: Any, width: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the fields of an action, and what its decision has packed."""
    if not isinstance(values, tuple) or len(values) <= width:
        raise ValueError(f"it does not have {width} fields")
    return values[:width], values[width:]


def action_of(token: bytes | str, kind: type[_Action], learner: Any, key: bytes | None) -> _Action:
    """Return the action of a token with this key; raise a DecisionError if it is another's."""
    found = Token.decode(token, key)
    if found.kind not in (LAW, ACTION):
        raise DamagedTokenError(
            f"A token must be that of a {kind.__name__}. Got one of kind {found.kind}. Give it to "
            "the learner that made it, or drop it."
        )
    try:
        width = _width(kind)  # type: ignore[arg-type]  # a class is hashable
        values, content = _parted(unpacked(found.payload), width)
        return kind(learner.decision_in(found, content), *values)
    except (AttributeError, TypeError, ValueError) as error:
        raise DamagedTokenError(
            f"A token must be that of a {kind.__name__} of this learner. Got another: {error}. "
            "Give it to the application that made it, or drop it."
        ) from None


def required_action(action: Any, kind: type[_Action], learner: Any) -> _Action:
    """Return the action, given it or its token; raise DecisionError if it cannot be settled."""
    found: _Action = action if type(action) is kind else _read(action, kind, learner)
    if found.decision is not None:
        if not learner.learns:
            raise only_decides("settle")
        learner.expects(found.decision)
    return found


def _read(action: Any, kind: type[_Action], learner: Any) -> _Action:
    if isinstance(action, kind):
        return action
    if isinstance(action, bytes | bytearray | memoryview | str):
        if not learner.learns:
            raise only_decides("settle")
        token = action if isinstance(action, str) else bytes(action)
        return action_of(token, kind, learner, learner.token_key)
    name = kind.__name__
    hint = f" {name}.from_json makes one of it." if isinstance(action, dict) else ""
    if action is None:
        hint = f" A {name} that was not made has no token: leave it out."
    raise DecisionError(
        f"settle takes the {name} to be settled, or its token. Got {action!r}.{hint}"
    )


def pending_decision(action: Any, kind: type[_Action], learner: Any) -> tuple[_Action, Any]:
    """Return the action, given it or its token, and its decision, which must exist."""
    found = required_action(action, kind, learner)
    if found.decision is None:
        raise DecisionError(f"This {kind.__name__} has nothing to settle: no decision was made.")
    return found, found.decision


def rows_of(rows: Floats, revealed: Sequence[int]) -> Floats:
    """Return the rows of the arms that a decision reveals."""
    if isinstance(revealed, range):  # true of most neighbourhoods; this makes no list
        return rows[revealed.start : revealed.stop]
    return rows[list(revealed)]
