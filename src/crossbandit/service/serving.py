"""Serve a node over HTTP until a signal ends the process."""

from __future__ import annotations

import gc
import ipaddress
import signal
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from crossbandit.errors import InvalidParameterError
from crossbandit.learners.tokens import checked_key
from crossbandit.service.connections import BoundedProtocol
from crossbandit.service.http import create_app
from crossbandit.service.http.access import secret_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import FrameType

    from crossbandit.service.http import Access
    from crossbandit.service.node import Node

KEY_VARIABLE = "CROSSBANDIT_KEY"

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
