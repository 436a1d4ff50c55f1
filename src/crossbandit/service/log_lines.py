"""The log of the service: one line for each record, as text or as JSON; and a line per request."""

from __future__ import annotations

import json
import logging
import random
import sys
import threading
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

# The id of the request that is being answered; "" outside of requests.
request_id: ContextVar[str] = ContextVar("request_id", default="")

_HEADER = b"x-request-id"
_LONGEST_ID, _LONGEST_PATH = 64, 300
_log = logging.getLogger("crossbandit.service.requests")


def begin_log(level: str, form: str) -> None:
    """Write the log of this process to the standard error. Libraries only log warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(form))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)
    threading.excepthook = _log_end
    for name in ("crossbandit", "uvicorn"):
        logging.getLogger(name).setLevel(level.upper())


def _log_end(end: threading.ExceptHookArgs) -> None:
    """Log an error that has ended a thread, which Python would print."""
    name = "" if end.thread is None else end.thread.name
    error = end.exc_value or end.exc_type()
    logging.getLogger("crossbandit.service").error("The thread %s ended.", name, exc_info=error)


class LineFormatter(logging.Formatter):
    """Formats a record with its `fields` and with the id of its request."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._json = form == "json"

    def format(self, record: logging.LogRecord) -> str:
        """Return a line; as text, a traceback follows in more lines."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        at, message = at.removesuffix("+00:00") + "Z", record.getMessage()
        fields: dict[str, Any] = dict(getattr(record, "fields", {}))
        if request_id.get():
            fields["request"] = request_id.get()
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        if self._json:
            level = record.levelname.lower()
            line = {"time": at, "level": level, "logger": record.name, "message": message}
            return json.dumps({**line, **fields, **({"traceback": trace} if trace else {})})
        shown = [f"{name}={json.dumps(one)}" for name, one in fields.items()]
        text = " ".join([at, record.levelname, message, *shown])
        return f"{text}\n{trace}" if trace else text


class RequestLog:
    """An ASGI application that logs the requests of another one, and gives each an id.

    The id is that of the header `X-Request-ID`, if it has one; the answer has the same header. No
    query, body or other header is logged: they may hold secrets and tokens.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, own = time.perf_counter(), 500, _id_of(scope)

        async def send_with_id(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message["headers"], (_HEADER, own.encode())]
                message = {**message, "headers": headers}
            await send(message)

        kept = request_id.set(own)
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            level = logging.WARNING if status >= 500 else logging.INFO
            if _log.isEnabledFor(level):
                _write(level, scope, status, time.perf_counter() - began)
            request_id.reset(kept)


def _id_of(scope: Any) -> str:
    """Return the id that a client gave to its request, or a new one."""
    given = next((text for name, text in scope["headers"] if name == _HEADER), b"")
    text = given.decode("latin-1")
    usable = 0 < len(text) <= _LONGEST_ID and text.isascii() and text.isprintable()
    # It is no secret. A call of the system would let go of the lock of Python in each request.
    return text if usable else f"{random.getrandbits(64):016x}"


def _write(level: int, scope: Any, status: int, seconds: float) -> None:
    fields = {
        "method": scope["method"],
        "path": scope["path"][:_LONGEST_PATH],
        "status": status,
        "milliseconds": round(1000 * seconds, 3),
    }
    bidder = scope.get("path_params", {}).get("name")  # the router has noted it
    if bidder is not None:
        fields["bidder"] = bidder[:_LONGEST_PATH]
    _log.log(level, "request", extra={"fields": fields})
