"""A slice of a budget that one bidder may spend."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from typing import Any, ClassVar, Self

from crossbandit.validation import choice, number, reject


@dataclass(frozen=True)
class Lease:
    """A slice of a budget that one bidder may spend until a time: `FirstPriceBidder(budget=lease)`.

    Args:
        id: Which lease it is.
        amount: The money.
        begins: From when on, in seconds since 1970.
        ends: Until when. Later, nothing is bid.
        pacing: "even" to spread it over that time, or "asap".

    Raises:
        InvalidParameterError: An argument is not possible.
    """

    kind: ClassVar[str] = "lease"
    timezone: ClassVar[str] = "UTC"
    id: str
    amount: float
    begins: float
    ends: float
    pacing: str = "even"

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            reject("Lease", "id", "a text", self.id)
        number("Lease", "amount", self.amount, above=0)
        number("Lease", "begins", self.begins, at_least=0)
        number("Lease", "ends", self.ends, above=self.begins)
        choice("Lease", "pacing", self.pacing, ("even", "asap"))

    @property
    def per(self) -> timedelta:
        """How long it lasts."""
        return timedelta(seconds=self.ends - self.begins)

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return the lease that `to_json` wrote.

        Args:
            data: What `to_json` returned.

        Raises:
            InvalidParameterError: It is something else.
        """
        names = {"kind", *(field.name for field in fields(cls))}
        if not isinstance(data, dict) or set(data) != names or data["kind"] != cls.kind:
            reject("Lease.from_json", "data", "what to_json returned", data)
        return cls(**{name: value for name, value in data.items() if name != "kind"})

    def to_bytes(self) -> bytes:
        """Return a form to send to another process."""
        return json.dumps(self.to_json()).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the lease that `to_bytes` wrote.

        Args:
            data: What `to_bytes` returned.

        Raises:
            InvalidParameterError: It is something else.
        """
        return cls.from_json(parsed("Lease.from_bytes", data))


def parsed(owner: str, data: object) -> Any:
    """Return what JSON text, as bytes, holds.

    Args:
        owner: Whom an error names.
        data: The text.

    Raises:
        InvalidParameterError: It is something else.
    """
    try:
        return json.loads(data)  # type: ignore[arg-type]  # whatever was given
    except (TypeError, ValueError):
        reject(owner, "data", "what to_bytes returned", data)
