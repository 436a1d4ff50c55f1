"""Serve a node over HTTP until a signal ends the process."""

from __future__ import annotations

import gc
import ipaddress
import signal
import socket
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crossbandit.errors import InvalidParameterError
from crossbandit.learners.tokens import checked_key
from crossbandit.service.bidders_file import EXAMPLE
from crossbandit.service.http import create_app

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from crossbandit.service.http import Access
    from crossbandit.service.node import Node

KEY_VARIABLE = "CROSSBANDIT_KEY"

_PATIENCE = 10  # seconds to finish open requests before the process ends
_MOST_CONNECTIONS = 2_000
_HEADER_SECONDS = 30.0  # the time in which the headers of a request must arrive
_HEADER_BYTES = 65_536
_SWITCH = 0.0005  # seconds that a learning thread may keep requests waiting


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Args:
        host: The address or name.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_key(path: str | Path | None, environment: Mapping[str, str]) -> bytes | None:
    """Return the key that signs the tokens of decisions; None if there is none.

    Args:
        path: A file with the key, or None. A line break at its end is ignored.
        environment: The variables of the process. CROSSBANDIT_KEY may have the key.

    Raises:
        InvalidParameterError: The file cannot be read, or the key is not valid.
    """
    if path is None:
        text = environment.get(KEY_VARIABLE)
        return None if text is None else checked_key(KEY_VARIABLE, "key", text.encode())
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidParameterError(f"{path} cannot be read: {error.strerror}.") from None
    return checked_key("--key-file", "key", content.rstrip(b"\r\n"))


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Args:
        host: The address or name.
        port: The port; 0 for any free port.

    Raises:
        InvalidParameterError: The port cannot be used, perhaps because another process uses it.
    """
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

    Args:
        node: The node. It must have been started.
        listening: The socket.
        access: Who may do what; None to let everybody do everything.
        most_bytes: The size of the largest request body.
        begun: Called when the server starts to answer requests.

    Returns:
        The number of the signal; 0 if there was none.
    """
    server: _Server

    app = create_app(node, access=access, most_bytes=most_bytes, ending=lambda: server.should_exit)
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        loop="asyncio",
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_PATIENCE,
        limit_concurrency=_MOST_CONNECTIONS,
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
            if self._received > _HEADER_BYTES:
                self._end(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._timer is None:
            self._await_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def _await_headers(self) -> None:
        self._received = 0
        self._timer = self.loop.call_later(_HEADER_SECONDS, self._too_late)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

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


def default_url(host: str, port: int) -> str:
    """Return the address at which a node is reached.

    Args:
        host: The address that it listens on.
        port: Its port.

    >>> default_url("::1", 8000)
    'http://[::1]:8000'
    """
    name = socket.gethostname() if host in {"", "0.0.0.0", "::"} else host  # noqa: S104 - compared
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def warm_up() -> None:
    """Load the compiled code before the first request, so that no request waits for it."""
    import numpy as np

    bidder = EXAMPLE["example"].build()
    snapshot: Any = bidder.snapshot()
    tokens = [snapshot.bid(5.0).text for _ in range(2)]
    bidder.settle(tokens[0], won=False, highest_competing_bid=10.0)
    bidder.settle_many(tokens[1:], won=np.array([True]))
    bidder.snapshot()
