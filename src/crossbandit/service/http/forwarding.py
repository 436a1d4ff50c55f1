"""Requests that another node has to answer, as it decides for a bidder with limits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from crossbandit.client.transport import Transport
from crossbandit.errors import ServiceAwayError
from crossbandit.service.http.answers import Refusal
from crossbandit.service.http.gate import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.service.causes import HeldElsewhereError

_MARK = b"crossbandit-forwarded"
_TIMEOUT = 5.0  # seconds


async def forwarded(
    transports: dict[str, Transport],
    error: HeldElsewhereError,
    path: str,
    body: Any,
    headers: Mapping[bytes, bytes],
) -> Answer:
    """Return the answer of the node that decides for a bidder.

    The request is sent with the access token that it came with.

    Args:
        transports: What sends to each node, by address; a new one is added.
        error: What says which node it is.
        path: The path of the request.
        body: Its body.
        headers: Its headers.

    Raises:
        HeldElsewhereError: That node is not known; or the request came from another node already,
            so that two nodes each take the other for the one that decides.
        Refusal: That node does not answer.
    """
    if error.url is None or _MARK in headers:
        raise error
    transport = transports.setdefault(error.url, Transport(error.url, timeout=_TIMEOUT))
    given = {_MARK.decode(): "1"}
    if b"authorization" in headers:
        given["Authorization"] = headers[b"authorization"].decode("latin-1")
    content = msgspec.json.encode(body)
    try:
        response = await asyncio.to_thread(transport.request, "POST", path, content, given)
    except ServiceAwayError:
        raise Refusal(
            "not-ready", "The node that decides for this bidder does not answer. Try again soon."
        ) from None
    return Answer(response.content, status=response.status)
