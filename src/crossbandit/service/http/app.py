"""The ASGI application of a node: the steps from a request to its answer, for all operations."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route

from crossbandit.service.causes import Refusal
from crossbandit.service.http.access import ADMIN, OPEN, READ, Access
from crossbandit.service.http.handlers import (
    JSON,
    OPERATIONS,
    Answer,
    Call,
    Service,
    answer_to,
    to_json,
)
from crossbandit.service.http.metrics import RequestMetrics
from crossbandit.service.log_lines import RequestLog
from crossbandit.service.page import page_routes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping

    from starlette.requests import Request

    from crossbandit.service.http.handlers import Operation
    from crossbandit.service.node import Node

_LOOPBACK = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})
_BODY_SECONDS = 30.0  # the time in which a whole body must arrive
_LARGE = 20_000  # bytes; a larger body is decoded in a thread
_READING = frozenset({"GET", "HEAD"})  # the methods that change nothing


def create_app(
    node: Node,
    *,
    access: Access | None = None,
    hosts: Collection[str] | None = None,
    most_bytes: int = 8_000_000,
    ending: Callable[[], bool] = lambda: False,
    page: bool = True,
) -> Starlette:
    """Return the application of a node."""
    access = Access() if access is None else access
    names = _LOOPBACK if access.open else None
    if hosts is not None:
        names = frozenset(host.lower().encode() for host in hosts)
    service = Service(node, RequestMetrics())
    gate = Gate(access, names, most_bytes)
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    routes = [
        Route(path, Endpoint(gate, service, found), methods=None) for path, found in by_path.items()
    ]
    if page:

        def check(request: Request) -> None:  # the page itself has no data, so it needs no token
            role = OPEN if request.url.path == "/" else READ
            gate.check(request.method, dict(request.headers.raw), role)

        routes += page_routes(node, check, ending=ending)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(RequestLog)],
        exception_handlers={HTTPException: _refused, Refusal: _refused},
    )


async def _refused(request: Request, error: Any) -> Response:
    """Answer a request for the page that is not allowed, or for what does not exist."""
    headers: dict[str, str] = {}
    if isinstance(error, HTTPException):  # the path is unknown, or does not have the method
        headers.update(error.headers or {})
        code = "method-not-allowed" if error.status_code == 405 else "not-found"
        message = f"There is nothing at {request.url.path}. GET /openapi.json lists all operations."
        error = Refusal(code, message)
    answer = answer_to(error)
    headers |= {name.decode(): text.decode() for name, text in answer.headers}
    return Response(answer.content, answer.status, headers, JSON.decode())


# --- the steps of a request ----------------------------------------------------------------------


@dataclass(frozen=True)
class Gate:
    """The checks that every request must pass."""

    access: Access  # who may do what
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


@dataclass(frozen=True)
class Endpoint:
    """All operations of one path, as an ASGI application."""

    gate: Gate  # the checks of all requests
    service: Service  # the first argument of the handlers
    operations: Mapping[str, Operation]  # the operations, by method

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        began, method = time.perf_counter(), scope["method"]
        # The server sends no body in answer to HEAD.
        operation = self.operations.get("GET" if method == "HEAD" else method)
        try:
            answer = await self._answer(operation, scope, receive)
        except Exception as error:  # noqa: BLE001 - every error gets an answer
            answer = answer_to(error)
        await answer.send(send)
        path = next(iter(self.operations.values())).path
        self.service.metrics.note(path, method, answer.status, time.perf_counter() - began)

    async def _answer(self, operation: Operation | None, scope: Any, receive: Any) -> Answer:
        if operation is None:
            allowed = ", ".join([*self.operations, *(["HEAD"] if "GET" in self.operations else [])])
            raise Refusal(
                "method-not-allowed",
                f"This path takes {allowed}. Got {scope['method']}.",
                headers=[(b"allow", allowed.encode())],
            )
        headers = dict(scope["headers"])
        self.gate.check(operation.method, headers, operation.role)
        query = None if operation.query is None else parsed_query(scope, operation.query)
        body = None
        if operation.body is not None:
            content = await self.gate.body(headers, receive)
            if len(content) > _LARGE:
                body = await asyncio.to_thread(decoded, content, operation.decode)
            else:
                body = decoded(content, operation.decode)
        name = scope["path_params"].get("name", "")
        if name and operation.role != ADMIN:  # changes look for the bidder themselves
            await self.service.find(name)
        call = Call(name, body, query, headers)
        if operation.threaded:
            run = partial(copy_context().run, operation.handler, self.service, call)
            if operation.role == ADMIN:
                async with self.service.change_of(name) as threads:
                    done = await asyncio.get_running_loop().run_in_executor(threads, run)
            else:
                done = await asyncio.to_thread(run)
        else:
            done = await operation.handler(self.service, call)
        if isinstance(done, Answer):
            return done
        return Answer(b"" if done is None else to_json(done), status=operation.status)


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
    except ValueError as error:
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
    try:
        found = decode(content)
        _keys.decode(text)
    except RecursionError:
        raise Refusal(
            "invalid", "The body has too many levels. Send objects and lists as in /openapi.json."
        ) from None
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
