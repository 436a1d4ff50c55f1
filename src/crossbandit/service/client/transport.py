"""Requests to the service. Connections stay open and are used again."""

from __future__ import annotations

import json
import os
from collections import deque
from http.client import HTTPConnection, HTTPException, HTTPSConnection, RemoteDisconnected
from typing import Any, NamedTuple, Self
from urllib.parse import SplitResult, quote, urlsplit

from crossbandit.core.validation import number, reject
from crossbandit.errors import InvalidParameterError, RefusedError, ServiceAwayError

_SHOWN = 200  # the number of characters of an answer that is not JSON in a message


class Response(NamedTuple):
    """What the service answered."""

    status: int
    headers: dict[str, str]  # the headers, by names in lower case
    content: bytes

    def json(self) -> Any:
        """Return the body."""
        self.check()
        try:
            return json.loads(self.content)
        except ValueError:
            raise self._stranger() from None

    def check(self) -> None:
        """Raise if the status is an error."""
        if self.status < 400:
            return
        try:
            problem = json.loads(self.content)
            code, message = str(problem["code"]), str(problem["message"])
        except (ValueError, LookupError, TypeError):
            raise self._stranger() from None
        raise RefusedError(message, code=code, status=self.status)

    def _stranger(self) -> ServiceAwayError:
        shown = self.content[:_SHOWN].decode("utf-8", "replace")
        return ServiceAwayError(
            f"Something that is not the service answered, with the status {self.status}: {shown!r}."
        )


class Transport:
    """Sends requests. Any number of threads may use it."""

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 10.0) -> None:
        parts = address_parts("Client", url)
        usable = isinstance(token, str) and token.isascii() and token.isprintable() and token
        if token is not None and not usable:
            raise InvalidParameterError(
                "The 'token' parameter of Client must be an access token as ASCII text, or None."
            )
        self.url = url.rstrip("/")
        self._timeout = number("Client", "timeout", timeout, above=0)
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._where = (parts.hostname or "", parts.port)
        self._prefix = parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._idle: deque[HTTPConnection] = deque()  # its methods are atomic
        self._closed = False
        self._process = os.getpid()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"  # without the token

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Response:
        """Send a request and return the answer, with any status.

        If an open connection of an earlier request has been closed in the meantime, the request is
        sent again on a new one.
        """
        given = {**self._headers, **(headers or {})}
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if content is not None:
            given["Content-Type"] = "application/json"
        try:
            reused = self._taken()
            if reused is not None:
                try:
                    return self._send(reused, method, path, content, given)
                except (RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                    pass
            fresh = self._kind(*self._where, timeout=self._timeout)
            return self._send(fresh, method, path, content, given)
        except (OSError, HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise ServiceAwayError(
                f"The service at {self.url} does not answer: {reason}."
            ) from None

    def _taken(self) -> HTTPConnection | None:
        if self._process != os.getpid():  # a forked process must not use its parent's connections
            self._idle = deque()
            self._process = os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _send(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        content: bytes | None,
        headers: dict[str, str],
    ) -> Response:
        try:
            connection.request(method, self._prefix + path, content, headers)
            answer = connection.getresponse()
            found = answer.read()
        except BaseException:
            connection.close()
            raise
        if answer.will_close or self._closed:
            connection.close()
        else:
            self._idle.append(connection)
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, names, found)

    def close(self) -> None:
        """Close the connections. Each later request opens a new connection."""
        self._closed = True
        while (connection := self._taken()) is not None:
            connection.close()


def address_parts(owner: str, url: str) -> SplitResult:
    """Return the parts of the address of a service.

    >>> address_parts("Client", "http://127.0.0.1:8000").port
    8000
    """
    expected = "an address such as 'http://127.0.0.1:8000'"
    try:
        parts = urlsplit(url)
        possible = parts.port is None or parts.port > 0
    except (ValueError, TypeError, AttributeError):
        reject(owner, "url", expected, url)
    extra = parts.query or parts.fragment
    if parts.scheme not in {"http", "https"} or not parts.hostname or extra or not possible:
        reject(owner, "url", expected, url)
    return parts


def bidder_path(bidder: str, rest: str = "") -> str:
    """Return the path of a bidder.

    >>> bidder_path("site a", "/decide")
    '/v1/bidders/site%20a/decide'
    """
    return f"/v1/bidders/{quote(bidder, safe='')}{rest}"
