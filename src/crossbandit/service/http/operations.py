"""The operations of the service. Routes and the OpenAPI document are made from their list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.service.http.gate import Call

BIDDER = "/v1/bidders/{name}"

# Error codes that several operations have.
DECIDING = ("paused", "not-ready", "store-unavailable")
STORING = ("store-unavailable", "too-many-requests")

_Handler = TypeVar("_Handler", bound="Callable[[Any, Call], Any]")


@dataclass(frozen=True)
class Operation:
    """An operation of the service, with its documentation."""

    method: str
    path: str  # the path, with `{name}` for the bidder
    role: str  # the role that it needs; "read" for any token, "open" for none
    handler: Callable[[Any, Call], Any]
    summary: str  # one sentence for the documentation
    body: Any = None  # the type of the body, or None
    query: Any = None  # the type of the query, or None
    answer: Any = None  # the type of the answer, or its media type
    status: int = 200
    codes: tuple[str, ...] = ()  # the error codes that not all operations have


# In the order of the modules that define them. Routes are searched in this order, so the most
# frequent requests come first.
OPERATIONS: list[Operation] = []


def operation(method: str, path: str, role: str, **more: Any) -> Callable[[_Handler], _Handler]:
    """Add a handler to the operations; a decorator. The summary is the docstring of the handler."""

    def register(handler: _Handler) -> _Handler:
        summary = (handler.__doc__ or "").partition("\n")[0]
        OPERATIONS.append(Operation(method, path, role, handler, summary, **more))
        return handler

    return register
