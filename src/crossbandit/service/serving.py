"""A process that serves: a socket, a node, and an orderly end."""

from __future__ import annotations

import gc
import ipaddress
import logging
import signal
import socket
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from crossbandit.algorithms.tokens import checked_key
from crossbandit.errors import InvalidParameterError
from crossbandit.service.causes import BidderExistsError
from crossbandit.service.http import create_app
from crossbandit.service.http.protocol import TimedProtocol
from crossbandit.service.settings import BidderSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    from crossbandit.service.http import Access
    from crossbandit.service.node import Node

_log = logging.getLogger("crossbandit.service")

KEY_VARIABLE = "CROSSBANDIT_KEY"
EXAMPLE = {"example": BidderSettings(value_range=(0.0, 10.0))}

_PATIENCE = 10  # seconds for open requests, when the process is to end
_MOST_CONNECTIONS = 2_000
_SWITCH = 0.0005  # seconds for which a thread that learns may keep requests waiting


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address.

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
    """Return the key with which tokens of decisions are signed; None if there is none.

    Args:
        path: A file that holds it, or None. A line break at its end does not count.
        environment: The variables of the process; CROSSBANDIT_KEY may hold it.

    Raises:
        InvalidParameterError: It cannot be read, or cannot be a key.
    """
    if path is None:
        text = environment.get(KEY_VARIABLE)
        return None if text is None else checked_key(KEY_VARIABLE, "key", text.encode())
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidParameterError(f"{path} cannot be read: {error.strerror}.") from None
    return checked_key("--key-file", "key", content.rstrip(b"\r\n"))


def add_bidders(
    node: Node, wanted: Mapping[str, BidderSettings], *, limits_from_file: bool = False
) -> list[str]:
    """Create the bidders that are not in the store yet.

    Limits of those that are there may have been changed while they ran, so those of the store hold.

    Args:
        node: The node. It must have been started.
        wanted: The settings of bidders, by name.
        limits_from_file: Whether to change limits in the store to these.

    Returns:
        The names of those that were created.

    Raises:
        InvalidParameterError: A bidder is in the store with other settings.
    """
    created = []
    there = set(node.names())
    for name, settings in wanted.items():
        if name not in there:
            try:
                node.create(name, settings)
                created.append(name)
                continue
            except BidderExistsError:  # another node has made it just now
                node.directory.refresh()
        known = node.settings(name)
        others = [
            field
            for field in settings.__struct_fields__
            if getattr(settings, field) != getattr(known, field)
        ]
        if not set(others) <= {"budget", "target"}:
            raise InvalidParameterError(
                f"The bidder {name!r} is in the store with another {others[0]!r}: "
                f"{getattr(known, others[0])!r}. What it has learned holds for that. Change the "
                "file back, give the new bidder another name, or delete the old one."
            )
        for field in others:
            message = (
                "The %s of the bidder %r is now %s, as the file says. It was %s."
                if limits_from_file
                else "The file says that the %s of the bidder %r is %s. In the store it is %s, and "
                "that holds. To take the file's, start with --limits-from-file."
            )
            _log.warning(message, field, name, getattr(settings, field), getattr(known, field))
        if others and limits_from_file:
            node.change(name, **{field: getattr(settings, field) for field in others})
    return created


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Args:
        host: The address or name.
        port: The port; 0 for any that is free.

    Raises:
        InvalidParameterError: It cannot be used, perhaps because another process uses it.
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
            f"Cannot listen on {host}, port {port}: {error.strerror}. Another port: --port."
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

    Open requests are finished first. A second Ctrl-C ends it at once; nothing that was acknowledged
    is lost even then.

    Args:
        node: The node. It must have been started.
        listening: The socket.
        access: Who may do what; None to let everybody do everything.
        most_bytes: The largest body of a request.
        begun: Called once requests are answered.

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
    """Let neither threads that learn nor the garbage collector keep requests waiting for long.

    What was loaded so far, about a million objects of libraries, is not searched for garbage: that
    takes a tenth of a second.
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
    """A server that says when it has begun, and by which signal it was ended."""

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
        """Let signals end the server; the process goes on, and decides what is next."""
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
    """Return the address under which a node is reached.

    Args:
        host: What it listens on.
        port: Its port.

    >>> default_url("::1", 8000)
    'http://[::1]:8000'
    """
    name = socket.gethostname() if host in {"", "0.0.0.0", "::"} else host  # noqa: S104 - compared
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def warm_up() -> None:
    """Load the compiled code, so that no request has to wait for it."""
    import numpy as np

    bidder = EXAMPLE["example"].build()
    snapshot: Any = bidder.snapshot()
    tokens = [snapshot.bid(5.0).text for _ in range(2)]
    bidder.settle(tokens[0], won=False, highest_competing_bid=10.0)
    bidder.settle_many(tokens[1:], won=np.array([True]))
    bidder.snapshot()
