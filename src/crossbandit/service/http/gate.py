"""The steps from a request to its answer: host, access, size, body, handler, errors."""

from __future__ import annotations

import asyncio
import json
import time
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from crossbandit.service.http.access import ADMIN, OPEN
from crossbandit.service.http.bodies import JSON, Answer, Refusal, refusal_of, send_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crossbandit.service.http.access import Access
    from crossbandit.service.http.metrics import RequestMetrics
    from crossbandit.service.http.operations import Operation

_BODY_SECONDS = 30.0  # the time in which a whole body must arrive
_LARGE = 20_000  # bytes; a larger body is decoded in a thread
_READING = frozenset({"GET", "HEAD"})  # the methods that change nothing
_encode = msgspec.json.Encoder().encode


class Call(NamedTuple):
    """A request, decoded."""

    name: str  # the bidder, or ""
    body: Any  # the decoded body, or None
    query: Any  # the decoded query, or None
    headers: Mapping[bytes, bytes]


@dataclass(frozen=True)
class Gate:
    """The checks that every request must pass."""

    access: Access  # who may do what
    metrics: RequestMetrics  # counts requests
    hosts: frozenset[bytes] | None = None
    most_bytes: int = 8_000_000  # the size of the largest body

    def check(self, method: str, headers: Mapping[bytes, bytes], role: str) -> None:
        """Raise unless a request is allowed."""
        if self.hosts is not None and _host(headers.get(b"host", b"")) not in self.hosts:
            raise Refusal(
                "forbidden",
                "The service answers requests to loopback only. To use another name, start it with "
                "--host and access tokens.",
            )
        if method not in _READING and _is_foreign(headers):
            raise Refusal(
                "forbidden",
                "A browser sent this request for a page of another origin. Such pages may change "
                "nothing. Send it from a program, or from a page of this address.",
            )
        if role != OPEN:
            self.access.check(headers.get(b"authorization"), role)

    async def body(self, headers: Mapping[bytes, bytes], receive: Any) -> bytes:
        """Return the body of a request."""
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != JSON:
            raise Refusal("not-json", "The body must have the content type application/json.")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.most_bytes:
            raise self._too_large()
        parts: list[bytes] = []
        count = 0
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                while True:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    count += len(parts[-1])
                    if count > self.most_bytes:
                        raise self._too_large()
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal(
                "too-slow",
                f"The body did not arrive within {_BODY_SECONDS:g} seconds.",
                headers=[(b"connection", b"close")],
            ) from None

    def _too_large(self) -> Refusal:
        return Refusal(
            "too-large",
            f"A body may have at most {self.most_bytes:,} bytes. Send smaller batches.",
            headers=[(b"connection", b"close")],
        )


@dataclass
class Endpoint:
    """All operations of one path, as an ASGI application."""

    gate: Gate  # the checks of all requests
    service: Any  # the first argument of the handlers
    operations: Mapping[str, Operation]  # the operations, by method
    _decoders: dict[str, Any] = field(default_factory=dict)
    _threaded: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for method, operation in self.operations.items():
            if operation.body is not None:
                self._decoders[method] = msgspec.json.Decoder(operation.body).decode
            if not iscoroutinefunction(operation.handler):
                self._threaded.add(method)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        began, method = time.perf_counter(), scope["method"]
        # The server sends no body in answer to HEAD.
        operation = self.operations.get("GET" if method == "HEAD" else method)
        try:
            answer = await self._answer(operation, scope, receive)
        except Exception as error:  # noqa: BLE001 - every error gets an answer
            answer = refusal_of(error).answer()
        await send_answer(send, answer)
        path = next(iter(self.operations.values())).path
        self.gate.metrics.note(path, method, answer.status, time.perf_counter() - began)

    async def _answer(self, operation: Operation | None, scope: Any, receive: Any) -> Answer:
        if operation is None:
            raise self._no_such_method(scope["method"])
        headers = dict(scope["headers"])
        self.gate.check(operation.method, headers, operation.role)
        query = None if operation.query is None else parsed_query(scope, operation.query)
        body = None
        if operation.body is not None:
            content = await self.gate.body(headers, receive)
            decode = self._decoders[operation.method]
            if len(content) > _LARGE:
                body = await asyncio.to_thread(decoded, content, decode)
            else:
                body = decoded(content, decode)
        name = scope["path_params"].get("name", "")
        if name and operation.method != "PUT":
            await self.service.find(name)
        call = Call(name, body, query, headers)
        if operation.method in self._threaded:
            threads = self.service.changing if operation.role == ADMIN else None
            run = partial(copy_context().run, operation.handler, self.service, call)
            done = await asyncio.get_running_loop().run_in_executor(threads, run)
        else:
            done = await operation.handler(self.service, call)
        if isinstance(done, Answer):
            return done
        return Answer(b"" if done is None else _encode(done), status=operation.status)

    def _no_such_method(self, method: str) -> Refusal:
        allowed = ", ".join([*self.operations, *(["HEAD"] if "GET" in self.operations else [])])
        return Refusal(
            "method-not-allowed",
            f"This path takes {allowed}. Got {method}.",
            headers=[(b"allow", allowed.encode())],
        )


def parsed_query(scope: Any, kind: Any) -> Any:
    """Return the query of a request as a struct.

    A JSON object in the query is decoded.
    """
    try:
        text = scope["query_string"].decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict")
        given = dict(pairs)
        if len(given) < len(pairs):
            raise Refusal(
                "invalid", "The query must give each parameter once. One was given twice."
            )
        values = {
            key: decoded(value.encode(), msgspec.json.decode) if value[:1] == "{" else value
            for key, value in given.items()
        }
        return msgspec.convert(values, kind, strict=False)
    except msgspec.MsgspecError as error:
        raise Refusal("invalid", f"The query is not valid: {error}.") from None
    except (ValueError, RecursionError) as error:
        raise Refusal("invalid", f"The query cannot be read: {error}.") from None


def decoded(content: bytes, decode: Callable[[bytes], Any]) -> Any:
    """Return decoded JSON.

    If a key came twice in one object, one of its values would be ignored.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise Refusal(
            "invalid", f"The body must be UTF-8. Byte {error.start} is not: encode it again."
        ) from None
    found = decode(content)
    _keys.decode(text)
    return found


def _checked(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise msgspec.ValidationError(f"it gives the key {twice!r} twice")


# Numbers are kept as texts, because only the keys matter.
_keys = json.JSONDecoder(object_pairs_hook=_checked, parse_int=str, parse_float=str, strict=False)


def _is_foreign(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a browser sent a request for a page of another origin.

    Browsers send `Sec-Fetch-Site` or `Origin`, and pages cannot change them. Programs send neither.
    """
    if headers.get(b"sec-fetch-site", b"none").lower() not in {b"none", b"same-origin"}:
        return True
    origin, host = headers.get(b"origin"), headers.get(b"host", b"")
    return origin is not None and _authority(origin) != _authority(b"//" + host)


def _authority(address: bytes) -> bytes:
    """Return the host and the port of an address; the usual ports are left out."""
    host = address.lower().partition(b"//")[2]
    return host.removesuffix(b":80").removesuffix(b":443")


def _host(header: bytes) -> bytes:
    """Return the name of a `Host` header, without the port."""
    if header.startswith(b"["):
        return header.partition(b"]")[0] + b"]"
    return header.partition(b":")[0].lower()
