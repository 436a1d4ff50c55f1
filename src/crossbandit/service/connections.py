"""HTTP connections: how many may be open, and how long the service waits for their clients."""

from __future__ import annotations

import heapq
from functools import cache
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crossbandit.service.http.bodies import Refusal, send_answer

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

_MOST = 2_000
_RESERVE = 50  # further connections, on which only questions about health are answered
_FILES = 150  # open files that the process needs besides
_PART = 20  # one of so many connections is closed at once to make room
_HEALTH = "/healthz"
_HEADER_SECONDS = 30.0  # the time in which the headers of a request must arrive
_HEADER_BYTES = 65_536
_READ_SECONDS = 30.0  # a client must read something in this time
_SLOW = 1.0  # seconds after which a client that does not read may be cut off to make room


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
        if self._header_timer is None:
            self._await_headers()

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
        await send_answer(send, refusal.answer())

    return answer
