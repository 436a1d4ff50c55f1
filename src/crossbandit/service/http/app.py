"""The ASGI application of a node, made from the list of operations."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from crossbandit.service.http.access import OPEN, READ, Access
from crossbandit.service.http.bodies import Refusal, send_answer
from crossbandit.service.http.gate import Endpoint, Gate
from crossbandit.service.http.handlers import Service
from crossbandit.service.http.metrics import RequestMetrics
from crossbandit.service.http.openapi import document
from crossbandit.service.http.operations import OPERATIONS
from crossbandit.service.log_lines import RequestLog
from crossbandit.service.page import page_routes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection

    from crossbandit.service.http.operations import Operation
    from crossbandit.service.node import Node

_LOOPBACK = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})


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
    metrics = RequestMetrics()
    service = Service(node, metrics, document(OPERATIONS))
    gate = Gate(access, metrics, names, most_bytes)
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    routes = [
        Route(path, Endpoint(gate, service, found), methods=None) for path, found in by_path.items()
    ]
    if page:
        routes += _page(node, gate, ending)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(RequestLog)],
        exception_handlers={HTTPException: _not_found},
    )


def _page(node: Node, gate: Gate, ending: Callable[[], bool]) -> list[Route]:
    """Return the routes of the page. The page itself has no data, so it needs no token."""
    return [
        Route(
            one.path, _GuardedApp(one.app, gate, OPEN if one.path == "/" else READ), methods=["GET"]
        )
        for one in page_routes(node, ending=ending)
    ]


class _GuardedApp:
    """An ASGI application behind the check of access."""

    def __init__(self, app: Any, gate: Gate, role: str) -> None:
        self._app, self._gate, self._role = app, gate, role

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            self._gate.check(scope["method"], dict(scope["headers"]), self._role)
        except Refusal as refusal:
            await send_answer(send, refusal.answer())
        else:
            await self._app(scope, receive, send)


async def _not_found(request: Any, error: Any) -> Any:
    """Answer a request with an unknown path, or with a method that the path does not have."""
    from starlette.responses import JSONResponse

    code = "method-not-allowed" if error.status_code == 405 else "not-found"
    message = f"There is nothing at {request.url.path}. GET /openapi.json lists all operations."
    content = {"code": code, "message": message}
    return JSONResponse(content, error.status_code, headers=error.headers)
