"""An HTTP connection with limits on the time and the size of request headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

_SECONDS = 30.0  # for the headers of a request to arrive
_MOST_BYTES = 65_536  # in the headers of a request
_TOO_SLOW = b"408 Request Timeout"
_TOO_LARGE = b"431 Request Header Fields Too Large"


class TimedProtocol(HttpToolsProtocol):
    """The HTTP connection of uvicorn, with a time limit for the headers of a request.

    Without a limit, clients that never complete a request would use up all connections.
    """

    _timer: TimerHandle | None = None
    _received = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._timer is not None:
            self._received += len(data)
            if self._received > _MOST_BYTES:
                self._end(_TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._timer is None:
            self._await_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def _await_headers(self) -> None:
        self._received = 0
        self._timer = self.loop.call_later(_SECONDS, self._too_late)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        earlier: RequestResponseCycle | None = self.cycle
        if earlier is not None and not earlier.response_complete:
            self._await_headers()  # an earlier request on this connection is still running
        else:
            self._end(_TOO_SLOW)

    def _end(self, status: bytes) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            head = b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(head)
            self.transport.close()
