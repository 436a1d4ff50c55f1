"""The service over loopback: durable outcomes and decisions a second, and how long each takes.

The service is a process of its own, on one core (`crossbandit serve`, SQLite); this process sends
the load from the other. Requests are sent by several connections at a constant rate, and a latency
is the time from when a request was due, so a service that stalls is not excused. The cost of a
budget is the processor time of the whole service for a decision, divided by that of a bidder
without limits. Memory and store are those of a bidder with two classes that has learned nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import Result
from crossbandit.service.client.client import Client, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 1_000
SECONDS = 10.0
CONNECTIONS = 16
VALUE_RANGE = (0.0, 10.0)


def results() -> Iterator[Result]:
    """Measure every claim about the service."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as url:
        yield from asyncio.run(_outcomes(url))
        yield from asyncio.run(_decisions(url))
        yield from _local(url)
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as (url, pid):
        yield from asyncio.run(_cost_of_limits(url, pid))
        yield _memory(url, pid)
    with tempfile.TemporaryDirectory() as folder:
        yield _room(Path(folder))


@contextmanager
def running(folder: Path, *options: str) -> Iterator[str]:
    """Start the service on one core, and stop it.

    Args:
        folder: Where it keeps its store.
        *options: More options of `crossbandit serve`.
    """
    with started(folder, *options) as (url, _):
        yield url


@contextmanager
def started(folder: Path, *options: str) -> Iterator[tuple[str, int]]:
    """Do what `running` does, and also tell the number of the process.

    Args:
        folder: Where it keeps its store.
        *options: More options of `crossbandit serve`.
    """
    command = [sys.executable, "-m", "crossbandit", "serve", "--port", "0", *options]
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:1])  # inherited
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    os.sched_setaffinity(0, cores[1:] or cores)
    try:
        for line in process.stdout or ():
            if "http://" in line:
                address = next(word for word in line.split() if word.startswith("http://"))
                yield address.rstrip("/"), process.pid
                break
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        os.sched_setaffinity(0, cores)


class Connection:
    """An HTTP connection that sends JSON and reads answers that have a length."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, url: str) -> Connection:
        """Connect."""
        host, _, port = url.removeprefix("http://").partition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def post(self, path: str, body: bytes) -> bytes:
        """Send a request, and return the body of the answer."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        length = answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        return await self._reader.readexactly(int(length))

    def close(self) -> None:
        """End it."""
        self._writer.close()


async def _made(url: str, count: int) -> list[dict[str, Any]]:
    """Make decisions, and return their outcomes."""
    connection = await Connection.to(url)
    rng = np.random.default_rng(0)
    found: list[dict[str, Any]] = []
    while len(found) < count:
        values = rng.uniform(*VALUE_RANGE, size=min(2_000, count - len(found))).tolist()
        body = json.dumps({"values": values}).encode()
        answer = json.loads(await connection.post("/v1/bidders/example/decide-many", body))
        found += [_outcome(one, rng) for one in answer["decisions"] if one["token"]]
    connection.close()
    return found


def _outcome(decision: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    price = float(rng.uniform(0.1, 8.0))
    if decision["amount"] >= price:
        return {"token": decision["token"], "won": True}
    return {"token": decision["token"], "won": False, "highest_competing_bid": price}


async def _closed(url: str, path: str, bodies: list[bytes], connections: int) -> list[float]:
    """Send all bodies as fast as they are answered; return the latencies."""
    waiting = deque(bodies)
    taken: list[float] = []

    async def one() -> None:
        connection = await Connection.to(url)
        while waiting:
            body = waiting.popleft()
            began = time.perf_counter()
            await connection.post(path, body)
            taken.append(time.perf_counter() - began)
        connection.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    return taken


async def _outcomes(url: str) -> list[Result]:
    path = "/v1/bidders/example/"
    outcomes = await _made(url, 120 * BATCH + 20_000)
    batches = [outcomes[i : i + BATCH] for i in range(0, 120 * BATCH, BATCH)]
    bodies = [json.dumps({"outcomes": some}).encode() for some in batches]
    began = time.perf_counter()
    await _closed(url, f"{path}outcomes", bodies, 4)
    many = 120 * BATCH / (time.perf_counter() - began)
    single = [json.dumps(one).encode() for one in outcomes[120 * BATCH :]]
    began = time.perf_counter()
    taken = await _closed(url, f"{path}outcome", single, 32)
    alone = len(single) / (time.perf_counter() - began)
    return [
        Result("durable outcomes in batches of 1,000", many, 20_000, "/s", at_least=True),
        Result("durable outcomes, one a request", alone, 2_000, "/s", at_least=True),
        *_latencies("a durable outcome, 32 at a time", taken, 100.0),
    ]


async def _decisions(url: str, rate: float = 3_000.0, learning: float = 2_000.0) -> list[Result]:
    """Decide at a rate, while outcomes come at another and are learned."""
    await _caught_up(url)
    outcomes = await _made(url, int(learning * SECONDS))
    size = 200
    batches = [
        json.dumps({"outcomes": outcomes[i : i + size]}).encode()
        for i in range(0, len(outcomes), size)
    ]
    rng = np.random.default_rng(1)
    bodies = [json.dumps({"value": one}).encode() for one in rng.uniform(*VALUE_RANGE, size=1_000)]
    path = "/v1/bidders/example/"
    reporting = asyncio.create_task(
        _paced(url, f"{path}outcomes", batches, len(batches), learning / size, 1)
    )
    count = int(rate * SECONDS)
    began = time.perf_counter()
    taken = await _paced(url, f"{path}decide", bodies, count, rate, CONNECTIONS)
    done = count / (time.perf_counter() - began)
    await reporting
    return [
        Result("single decisions while learning", done, 0.97 * rate, "/s", at_least=True),
        *_latencies("a decision at 3,000/s while learning", taken, 10.0),
    ]


async def _caught_up(url: str) -> None:
    """Wait until everything is learned."""
    with closing(Transport(url)) as transport:
        path = "/v1/bidders/example/figures"
        while transport.request("GET", path).json()["lag"]:
            await asyncio.sleep(0.1)


async def _paced(
    url: str, path: str, bodies: list[bytes], count: int, rate: float, connections: int
) -> list[float]:
    """Send requests at a rate; return the latencies since each was due."""
    began = time.perf_counter() + 0.1
    taken: list[float] = []
    number = iter(range(count))

    async def one() -> None:
        connection = await Connection.to(url)
        for i in number:
            due = began + i / rate
            wait = due - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            await connection.post(path, bodies[i % len(bodies)])
            taken.append(time.perf_counter() - due)
        connection.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    return taken


def _latencies(name: str, taken: list[float], bar: float) -> list[Result]:
    """Return the quantiles of latencies, in milliseconds."""
    quantiles = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
    found = {key: 1e3 * float(np.quantile(taken, at)) for key, at in quantiles.items()}
    bars = {"p50": bar / 2, "p99": bar, "p99.9": 5 * bar}
    return [Result(f"{name}, {key}", found[key], bars[key], "ms") for key in quantiles]


def _local(url: str) -> Iterator[Result]:
    """Measure a client that decides by itself."""
    values = np.random.default_rng(2).uniform(*VALUE_RANGE, size=20_000)
    with Client(url, bidder="example") as client:
        client.decide_many(values)
        began = time.perf_counter()
        for _ in range(20):
            client.decide_many(values)
        many = 20 * values.size / (time.perf_counter() - began)
        one = values[0]
        began = time.perf_counter()
        for _ in range(20_000):
            client.decide(one)
        alone = 20_000 / (time.perf_counter() - began)
    yield Result("decisions of the local client, many at once", many, 200_000, "/s", at_least=True)
    yield Result("decisions of the local client, one by one", alone, 20_000, "/s", at_least=True)


async def _cost_of_limits(url: str, pid: int) -> list[Result]:
    """Measure the processor time of decisions with and without a budget, which take turns."""
    _create(url, "free", {})
    _create(url, "budget", {"budget": {"amount": 1e6}})
    rng, count = np.random.default_rng(3), 3_000
    bodies = [json.dumps({"value": one}).encode() for one in rng.uniform(*VALUE_RANGE, size=count)]
    found = []
    for connections, words in ((32, "32 at a time"), (1, "one by one")):
        ratios, spent = [], [0.0]
        for _ in range(3):
            spent = []
            for name in ("free", "budget"):
                path = f"/v1/bidders/{name}/decide"
                await _closed(url, path, bodies[:100], connections)
                before = _seconds(pid)
                await _closed(url, path, bodies, connections)
                spent.append((_seconds(pid) - before) / count)
            ratios.append(spent[1] / spent[0])
        note = f"{1e6 * spent[1]:.0f} and {1e6 * spent[0]:.0f} us in the last turn"
        name = f"processor time of a decision, with and without a budget, {words}"
        found.append(Result(name, float(np.median(ratios)), 1.5, "", note=note))
    return found


def _create(url: str, name: str, settings: dict[str, Any]) -> None:
    body = json.dumps({"value_range": VALUE_RANGE, **settings}).encode()
    with closing(Transport(url)) as transport:
        headers = {"Content-Type": "application/json"}
        transport.request("PUT", f"/v1/bidders/{name}", body, headers).check()
        value = json.dumps({"value": 1.0, "classes": dict.fromkeys(settings.get("classes", ()), 0)})
        path = f"/v1/bidders/{name}/decide"
        while transport.request("POST", path, value.encode(), headers).status == 503:
            time.sleep(0.05)


def _seconds(pid: int) -> float:
    """Return the processor time of a process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((one / "schedstat").read_text().split()[0]) for one in tasks) / 1e9


def _memory(url: str, pid: int, count: int = 10) -> Result:
    """Measure the memory of a new bidder; the first one is not counted."""
    settings = {"classes": ["site", "device"]}

    def used() -> float:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    _create(url, "first", settings)
    time.sleep(2)
    before = used()
    for i in range(count):
        _create(url, f"new-{i}", settings)
    time.sleep(2)  # so that all are loaded and learn
    return Result("memory of a new bidder", (used() - before) / count, 3.0, "MB")


def _room(folder: Path, count: int = 10) -> Result:
    """Measure the room of a new bidder in the store."""
    with running(folder) as url:
        for i in range(count):
            _create(url, f"new-{i}", {"classes": ["site", "device"]})
    room = sum(one.stat().st_size for one in folder.iterdir()) / count / 1e3
    return Result("room of a new bidder in the store", room, 200.0, "kB")
