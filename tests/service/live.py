"""A service in a thread of this process, on a port of its own."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn

from crossbandit.service.serving import BoundedProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def served(app: Any, port: int = 0) -> Iterator[str]:
    """Serve an application; the address is yielded."""
    config = uvicorn.Config(
        app, port=port, http=BoundedProtocol, ws="none", lifespan="on", log_level="error"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    eventually(lambda: server.started or not thread.is_alive())
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def eventually(check: Callable[[], Any], seconds: float = 30.0) -> None:
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)
