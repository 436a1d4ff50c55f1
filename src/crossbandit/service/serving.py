"""Serve a node over HTTP until a signal ends the process, with bounds on its connections."""

from __future__ import annotations

import gc
import heapq
import ipaddress
import signal
import socket
import sys
from collections import deque
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from crossbandit.algorithms.learners.tokens import checked_key
from crossbandit.errors import InvalidParameterError
from crossbandit.service.causes import Refusal
from crossbandit.service.http import Access, create_app
from crossbandit.service.http.access import secret_bytes
from crossbandit.service.http.handlers import answer_to

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle, Transport
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import FrameType

    from uvicorn.server import ServerState

    from crossbandit.service.node import Node

KEY_VARIABLE = "CROSSBANDIT_KEY"

_MOST = 2_000
_RESERVE = 50  # further connections, on which only questions about health are answered
_FILES = 150  # open files that the process needs besides
_PART = 20  # one of so many connections is closed at once to make room
_HEALTH = "/healthz"
_AHEAD = 16  # requests that a client may send before it has the answer to an earlier one
_STARTS = 10  # requests that are started in one turn of the event loop
_HEADER_SECONDS = 30.0  # the time in which the headers of a request must arrive
_HEADER_BYTES = 65_536
_READ_SECONDS = 30.0  # a client must read something in this time
_SLOW = 1.0  # seconds after which a client that does not read may be cut off to make room
_PATIENCE = 10  # seconds to finish open requests before the process ends
_BACKLOG = 8_192  # connections that may wait to be accepted; the kernel may allow fewer
_SWITCH = 0.0005  # seconds that a learning thread may keep requests waiting


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_key(path: str | Path | None, environment: Mapping[str, str]) -> bytes | None:
    """Return the key that signs the tokens of decisions; None for the one that the store keeps."""
    if path is None:
        text = environment.get(KEY_VARIABLE)
        return None if text is None else checked_key(KEY_VARIABLE, "key", text.encode())
    try:
        content = secret_bytes(path)
    except OSError as error:
        raise InvalidParameterError(f"{path} cannot be read: {error.strerror}.") from None
    return checked_key("--key-file", "key", content.rstrip(b"\r\n"))


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
        except BaseException:
            found.close()
            raise
    except OSError as error:
        raise InvalidParameterError(
            f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another port with "
            "--port."
        ) from None
    return found


def serve(
    node: Node,
    listening: socket.socket,
    *,
    access: Access | None = None,
    most_bytes: int = 8_000_000,
    begun: Callable[[], None] = lambda: None,
) -> int:
    """Serve a node until a signal ends it.

    Open requests are finished first. A second Ctrl-C ends it at once; acknowledged outcomes are not
    lost even then.
    """
    server: _Server

    app = create_app(node, access=access, most_bytes=most_bytes, ending=lambda: server.should_exit)
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        loop="asyncio",
        ws="none",
        lifespan="on",
        access_log=False,  # `RequestLog` has more
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_PATIENCE,
        backlog=_BACKLOG,
    )
    server = _Server(config, begun)
    with _without_pauses():
        server.run(sockets=[listening])
    return server.ended_by


@contextmanager
def _without_pauses() -> Iterator[None]:
    """Keep requests from waiting long for learning threads or for the garbage collector.

    The garbage collector skips the objects that are loaded already, about a million objects of
    libraries. Searching them takes a tenth of a second.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)


class _Server(uvicorn.Server):
    """A server that reports when it has started, and which signal ended it."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = begun
        self.ended_by = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._begun()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals end the server, but not the process."""
        kept = {
            one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for one, handler in kept.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.ended_by = sig
        super().handle_exit(sig, frame)


def default_url(host: str, port: int) -> str:
    """Return the address at which a node is reached.

    >>> default_url("::1", 8000)
    'http://[::1]:8000'
    """
    name = socket.gethostname() if host in {"", "0.0.0.0", "::"} else host  # noqa: S104 - compared
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


# --- connections ---------------------------------------------------------------------------------


@cache
def most_connections() -> int:
    """Return how many connections may be open. Raise the limit of open files first, if needed."""
    if resource is None:
        return _MOST
    others = _RESERVE + _FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _MOST + others:
        return _MOST
    soft = _MOST + others if hard == resource.RLIM_INFINITY else min(_MOST + others, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(min(_MOST, soft - others), 10)


class _Turns:
    """Starts a few requests in each turn of the event loop; the others wait.

    Questions about health do not wait, so that thousands of requests at once do not delay them.
    """

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop, self._started = loop, 0
        self._waiting: deque[Callable[[], None]] = deque()

    def start(self, begin: Callable[[], None]) -> None:
        """Start a request, now or in a later turn."""
        if self._started == 0:
            self._loop.call_soon(self._next)
        if self._started < _STARTS:
            self._started += 1
            begin()
        else:
            self._waiting.append(begin)

    def _next(self) -> None:
        self._started = min(len(self._waiting), _STARTS)
        if self._started:
            self._loop.call_soon(self._next)
        for _ in range(self._started):
            self._waiting.popleft()()


_turns: WeakKeyDictionary[ServerState, _Turns] = WeakKeyDictionary()


class BoundedProtocol(HttpToolsProtocol):
    """The HTTP connection of uvicorn, with bounds on the number of connections and on waiting.

    If too many connections are open, those are closed whose client has kept the service waiting
    longest: it has sent no request, or only a part of one, or does not read its answer. If none
    waits for its client, a new connection is answered about health only.
    """

    _header_timer: TimerHandle | None = None
    _read_timer: TimerHandle | None = None
    _received = 0
    _unread: int | None = None  # bytes that the client had not read at the last check
    active = 0.0  # when the client last sent or read something

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.active = self.loop.time()
        transport.set_write_buffer_limits(high=0)  # `pause_writing` tells that something is unread
        most = most_connections()
        if len(self.connections) > most:
            self._make_room(most)
        if len(self.connections) > most + _RESERVE:
            transport.abort()
            return
        if len(self.connections) > most:
            self.app = _only_health(self.app)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    # --- the number of connections -------------------------------------------------------------

    def _make_room(self, most: int) -> None:
        """Close some of the connections that have waited longest for their clients."""
        others = (one for one in self.connections if isinstance(one, BoundedProtocol))
        waiting = [one for one in others if one is not self and one.waits()]
        count = max(most // _PART, len(self.connections) - most)
        oldest = heapq.nsmallest(count, waiting, key=lambda one: one.active)
        for one in oldest:
            self.connections.discard(one)
            one.transport.abort()
        if oldest:
            self.logger.warning(
                "%d connections were open. Closed %d that waited for their clients.",
                len(self.connections) + len(oldest),
                len(oldest),
            )

    def waits(self) -> bool:
        """Return whether the service waits for the client."""
        if self.flow.write_paused:
            return self.loop.time() - self.active > _SLOW
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    # --- requests ------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self.active = self.loop.time()
        super().data_received(data)
        if self._header_timer is not None:
            self._received += len(data)
            if self._received > _HEADER_BYTES:
                self._end(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if len(self.pipeline) >= _AHEAD:  # thousands of such clients would stop the service
            self.transport.abort()
            raise OverflowError("too many requests wait on one connection")  # the parser stops
        if self._header_timer is None:
            self._await_headers()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        begin = partial(self._begin, cycle, app)
        if cycle.scope["path"] == _HEALTH:
            begin()
        else:
            _turns.setdefault(self.server_state, _Turns(self.loop)).start(begin)

    def _begin(self, cycle: RequestResponseCycle, app: Any) -> None:
        if not self.transport.is_closing():
            super()._start_asgi_task(cycle, app)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def _await_headers(self) -> None:
        self._received = 0
        self._header_timer = self.loop.call_later(_HEADER_SECONDS, self._too_late)

    def _stop_waiting(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _too_late(self) -> None:
        earlier: RequestResponseCycle | None = self.cycle
        if earlier is not None and not earlier.response_complete:
            self._await_headers()  # an earlier request on this connection is still running
        else:
            self._end(b"408 Request Timeout")

    def _end(self, status: bytes) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            head = b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(head)
            self.transport.close()

    # --- answers -------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        self.active = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.active = self.loop.time()
        self._read_timer = self.loop.call_later(_READ_SECONDS, self._check_reading)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.active, self._unread = self.loop.time(), None
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _check_reading(self) -> None:
        """Cut the client off if it has read nothing since the last check."""
        unread = self.transport.get_write_buffer_size()
        if self._unread is not None and unread >= self._unread:
            self.transport.abort()
            return
        self._unread = unread
        self._read_timer = self.loop.call_later(_READ_SECONDS, self._check_reading)


def _only_health(app: Any) -> Any:
    """Return an application that answers about health, and refuses everything else."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == _HEALTH:
            await app(scope, receive, send)
            return
        refusal = Refusal(
            "not-ready",
            "All connections of the service are in use. Try again soon.",
            headers=[(b"connection", b"close"), (b"retry-after", b"1")],
        )
        await answer_to(refusal).send(send)

    return answer
