"""Clients that do nothing, or do not read, keep nobody else from being answered."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import threading
import time
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from crossbandit.service import serving
from crossbandit.service.client.client import Transport
from tests.service.live import eventually, served

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = 60_000_000  # bytes, more than the buffers of a connection hold


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(serving, "_MOST", 10)
    monkeypatch.setattr(serving, "_RESERVE", 3)
    serving.most_connections.cache_clear()
    yield
    serving.most_connections.cache_clear()


class App:
    """Answers "/large" with many bytes, "/slow" when it is let go, and everything else at once."""

    def __init__(self) -> None:
        self.running = 0
        self.go = False
        self.asked: list[str] = []
        self.stop, self.stopped = threading.Event(), threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": (await receive())["type"] + ".complete"})
            return
        self.asked.append(scope["path"])
        if scope["path"] == "/stop":  # the loop does nothing for a while
            self.stopped.set()
            assert self.stop.wait(60)
        body = b"x" * LARGE if scope["path"] == "/large" else b"{}"
        self.running += 1
        while scope["path"] == "/slow" and not self.go:
            await asyncio.sleep(0.01)
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self.running -= 1


def connect(stack: ExitStack, url: str, path: str | None = None) -> socket.socket:
    """Open a connection, perhaps send a request, and read nothing."""
    host, port = url.removeprefix("http://").split(":")
    made = stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
    if path is not None:
        made.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return made


def answered(one: socket.socket) -> bool:
    """Whether a request is answered with success."""
    found = b""
    while not found.endswith(b"{}"):
        part = one.recv(1000)
        assert part
        found += part
    return found.startswith(b"HTTP/1.1 200 ")


def rest(one: socket.socket) -> int:
    """Read to the end of an answer to "/large" or of the connection; return how much it was."""
    one.settimeout(2.0)
    count = 0
    with suppress(ConnectionError, TimeoutError):
        while part := one.recv(LARGE):
            count += len(part)
    return count


def ended(one: socket.socket) -> bool:
    """Whether the server has ended a connection, from which little is read."""
    one.settimeout(0.01)
    try:
        return one.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def status(url: str, path: str) -> int:
    with closing(Transport(url, timeout=60)) as transport:
        return transport.request("GET", path).status


def test_connections_that_wait_longest_for_their_client_are_closed() -> None:
    with served(App()) as url, ExitStack() as stack:
        made = [connect(stack, url) for _ in range(10)]
        used = connect(stack, url, "/")  # one more than there may be
        eventually(lambda: ended(made[0]))
        assert answered(used)
        for one in made[1:]:
            assert not ended(one)
        assert [status(url, "/") for _ in range(5)] == [200] * 5
        used.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")  # it was used after the others
        assert answered(used)


def test_clients_that_do_not_read_make_room() -> None:
    with served(App()) as url, ExitStack() as stack:
        for _ in range(10):
            connect(stack, url, "/large")
        eventually(lambda: status(url, "/") == 200)
        assert status(url, "/") == 200


def test_a_client_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_READ_SECONDS", 2.0)
    with served(App()) as url, ExitStack() as stack:
        slow, dead = (connect(stack, url, "/large") for _ in range(2))
        early = 0
        while early < LARGE // 2:  # one client reads a little at a time
            early += len(slow.recv(1_000_000))
            time.sleep(0.05)
        assert early + rest(slow) > LARGE
        time.sleep(3.0)  # with the time above, more than two checks
        assert rest(dead) < LARGE


def test_if_all_are_busy_health_is_answered_and_others_are_told() -> None:
    app = App()
    with served(app) as url, ExitStack() as stack:
        busy = [connect(stack, url, "/slow") for _ in range(10)]
        eventually(lambda: app.running == 10)
        for _ in range(5):
            assert status(url, "/healthz") == 200
            with closing(Transport(url, timeout=60)) as transport:
                answer = transport.request("GET", "/other")
            assert answer.status == 503
            assert json.loads(answer.content)["code"] == "not-ready"
        for _ in range(6):  # also if the reserve is used
            connect(stack, url)
            assert status(url, "/healthz") == 200
        app.go = True
        for one in busy:
            assert answered(one)
        assert status(url, "/other") == 200


def test_a_client_that_sends_many_requests_ahead_is_cut_off() -> None:
    app = App()
    request = b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n"
    with served(app) as url, ExitStack() as stack:
        few, many = connect(stack, url), connect(stack, url)
        few.sendall(request % b"slow" + 16 * (request % b"few"))
        many.sendall(request % b"slow" + 1000 * (request % b"many"))
        eventually(lambda: ended(many))
        app.go = True
        few.settimeout(30)
        found = b""
        while found.count(b"HTTP/1.1 200 ") < 17:
            found += few.recv(10_000)
        assert status(url, "/") == 200
    assert "/many" not in app.asked
    assert app.asked.count("/few") == 16


def test_health_is_answered_before_many_requests_that_came_earlier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "_MOST", 300)
    serving.most_connections.cache_clear()
    app = App()
    with served(app) as url, ExitStack() as stack:
        made = [connect(stack, url) for _ in range(200)]
        assert status(url, "/") == 200
        connect(stack, url, "/stop")
        assert app.stopped.wait(30)
        for one in made:
            one.sendall(b"GET /many HTTP/1.1\r\nHost: a\r\n\r\n")
        health = connect(stack, url, "/healthz")
        app.stop.set()
        assert answered(health)
        eventually(lambda: app.asked.count("/many") == 200)
    assert app.asked.index("/healthz") < 100


def test_connections_leave_room_for_other_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_MOST", 2_000)
    limits: dict[str, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.update(now=pair))
    for soft, hard, expected, most in (
        (1_024, 4_096, 2_153, 2_000),
        (1_024, 1_024, 1_024, 871),
        (100_000, 100_000, None, 2_000),
        (1_024, resource.RLIM_INFINITY, 2_153, 2_000),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, 2_000),
        (100, 100, 100, 10),
    ):
        limits.clear()
        monkeypatch.setattr(resource, "getrlimit", lambda _, pair=(soft, hard): pair)
        serving.most_connections.cache_clear()
        assert serving.most_connections() == most
        assert limits.get("now", (None,))[0] == expected
