"""Answers to requests, and to requests that fail."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from crossbandit.errors import CrossbanditError
from crossbandit.service.causes import cause_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    Send = Callable[[Any], Awaitable[None]]

Headers = list[tuple[bytes, bytes]]

JSON = b"application/json"
BYTES = b"application/octet-stream"
TEXT = b"text/plain; version=0.0.4; charset=utf-8"

# The HTTP status of each error code.
STATUS = {
    "invalid": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not-found": 404,
    "unknown-bidder": 404,
    "method-not-allowed": 405,
    "too-slow": 408,
    "exists": 409,
    "paused": 409,
    "learned-before": 409,
    "reported-otherwise": 409,
    "limited": 409,
    "too-large": 413,
    "not-json": 415,
    "damaged-token": 422,
    "foreign-token": 422,
    "expired": 422,
    "not-learned": 422,
    "missing-outcomes": 422,
    "contradiction": 422,
    "too-many-requests": 429,
    "error": 500,
    "internal": 500,
    "not-ready": 503,
    "store-unavailable": 503,
}

_log = logging.getLogger("crossbandit.service")
_encode = msgspec.json.Encoder().encode


class ErrorBody(msgspec.Struct):
    """The answer of the service to a request that failed.

    Attributes:
        code: A short name of the error. It does not change between versions.
        message: The error, and what to do.
    """

    code: str
    message: str


class Answer(NamedTuple):
    """The answer to a request."""

    content: bytes = b""
    kind: bytes = JSON  # its media type
    status: int = 200
    headers: Headers = []  # noqa: RUF012 - never changed


class Refusal(Exception):  # noqa: N818 - it becomes an answer
    """A request that is refused."""

    def __init__(self, code: str, message: str, headers: Sequence[tuple[bytes, bytes]] = ()):
        super().__init__(message)
        self.code, self.message, self.headers = code, message, list(headers)

    def answer(self) -> Answer:
        """Return the answer to the request."""
        content = _encode(ErrorBody(self.code, self.message))
        return Answer(content, status=STATUS[self.code], headers=self.headers)


def refusal_of(error: Exception) -> Refusal:
    """Return the answer to an error. An unexpected error is logged, and its text is not shown."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, msgspec.MsgspecError):
        return Refusal("invalid", f"The body is not valid: {error}.")
    if isinstance(error, CrossbanditError):
        return Refusal(cause_of(error), str(error))
    _log.error("A request failed: %s", type(error).__name__, exc_info=error)
    return Refusal(
        "internal", "The request failed because of an error in the service. See its log."
    )


async def send_answer(send: Send, answer: Answer) -> None:
    """Send an answer."""
    headers = [*answer.headers]
    if answer.status not in {204, 304}:  # these have no body
        length = str(len(answer.content)).encode()
        headers += [(b"content-type", answer.kind), (b"content-length", length)]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.content})
