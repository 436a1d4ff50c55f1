"""Requests to an application in this process."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


def request(
    app: Any,
    method: str,
    path: str,
    body: Any = None,
    *,
    headers: dict[str, str] | None = None,
    parts: list[bytes] | None = None,
) -> Answer:
    """Send a request; `parts` are sent as the body one by one, as they are."""
    content = b"" if body is None else json.dumps(body).encode()
    given = {"host": "127.0.0.1:8000", "content-type": "application/json", **(headers or {})}
    where, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": where,
        "raw_path": where.encode(),
        "query_string": query.encode("latin-1"),
        "root_path": "",
        "headers": [(key.lower().encode(), text.encode("latin-1")) for key, text in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    waiting = [content] if parts is None else list(parts)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.001)
        if not waiting:
            return {"type": "http.disconnect"}
        part = waiting.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    found = {key.decode(): text.decode("latin-1") for key, text in sent[0]["headers"]}
    return Answer(sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:]))
