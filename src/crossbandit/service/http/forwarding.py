"""Requests for a bidder with limits are forwarded to the node that decides for it."""

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

    The request is forwarded with its own access token.

    Args:
        transports: The connections to other nodes, by address. A new one is added.
        error: The error that names the node.
        path: The path of the request.
        body: Its body.
        headers: Its headers.

    Raises:
        HeldElsewhereError: The address of the node is not known; or the request was forwarded
            before, so that two nodes would forward it to each other for ever.
        Refusal: The node does not answer.
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
