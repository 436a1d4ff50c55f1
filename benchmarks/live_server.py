"""The live page of a node on a free port, in a thread: for tests in a browser, and for pictures."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette

from crossbandit.service.page import page_routes

_PATIENCE = 20.0  # seconds until it has begun, or ended


class LiveServer:
    """A real server that shows the live page of a node.

    Args:
        node: The node, or what the page uses of one.
        port: The port; 0 for any that is free.
        app: The application to serve; None for one with the page alone.
    """

    def __init__(self, node: Any, port: int = 0, app: Any = None) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self._ending = False
        if app is None:
            app = Starlette(routes=page_routes(node, ending=lambda: self._ending))
        config = uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=3)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        end = time.monotonic() + _PATIENCE
        while not self._server.started and time.monotonic() < end:
            time.sleep(0.02)
        assert self._server.started
        return self

    def __exit__(self, *_: object) -> None:
        self._ending = self._server.should_exit = True
        self._thread.join(_PATIENCE)
        self._socket.close()
        assert not self._thread.is_alive()
