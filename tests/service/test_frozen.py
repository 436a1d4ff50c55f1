"""A process that is stopped, and not ended, keeps its locks for a while. Other nodes go on.

For PostgreSQL, a process that was stopped inside a transaction is a connection with an open
transaction on which nothing happens. So these tests open one, and do nothing on it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from crossbandit.service import HeldElsewhereError, Node, StoreError, open_store
from crossbandit.service.client.client import Transport
from crossbandit.service.http import create_app
from crossbandit.service.store import (
    OUTCOMES,
    Append,
    Checkpoint,
    Decide,
    DecisionRow,
    Keep,
    NewBidder,
    PolicyRow,
)
from tests.service.conftest import new_database
from tests.service.live import served
from tests.service.test_node import LIMITED, SETTINGS, decide, play, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.postgresql_server import PostgresqlServer

LEASE = 2.0  # for tests that wait until it has expired
LONG = 20.0  # for tests in which it must not expire
POLICY = PolicyRow(0, 5.0, b"policy", b"figures")


@pytest.fixture
def address(server: PostgresqlServer) -> str:
    return new_database(server)


@pytest.fixture
def node(address: str) -> Iterator[Node]:
    made = Node(open_store(address), poll=0.05, publish=0.05, lease=LONG)
    made.start()
    yield made
    made.close()


def number(node: Node, name: str) -> int:
    return node.directory.find(name).row.id


@contextmanager
def locked(address: str, statement: str) -> Iterator[None]:
    """Keep a lock, as a process that was stopped; no time limit ends it before the end."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as stopped:
        stopped.execute("BEGIN")
        stopped.execute(statement.encode())
        yield
        stopped.execute("ROLLBACK")


class Stopped:
    """A node that was stopped while it wrote for a bidder, under its lease."""

    def __init__(self, address: str, bidder: int) -> None:
        self.session: Any = open_store(address).session(LEASE)
        self.bidder, self.fence = bidder, 0
        self.began = 0.0

    def begin(self) -> None:
        """Take the lease, and stop in the middle of a transaction."""
        wait_until(self._taken, 30.0)
        self.began = time.monotonic()
        self.session._begin(write=True)
        self.session._lease(self.bidder, wait=True)
        assert self.session._append(self.outcome(), 1.0, wait=True)
        decision = Decide(self.bidder, self.fence, [DecisionRow(0, 0, b"never committed")])
        assert self.session._write_fenced(decision, 1.0)

    def send_a_part(self) -> None:
        """Send the first part of a statement, as a process that was stopped while it sent one."""
        parse = b"\0SELECT $1\0" + struct.pack("!h", 0)
        messages = b"P" + struct.pack("!i", len(parse) + 4) + parse
        messages += b"B" + struct.pack("!i", 1_000_000) + b"\0" * 1000
        os.write(self.session._connection.fileno(), messages)

    def _taken(self) -> bool:
        found = self.session.take_leases({self.bidder: 0}, "stopped", "http://127.0.0.1:1", LEASE)
        self.fence = found.get(self.bidder, 0)
        return bool(found)

    def outcome(self) -> Append:
        return Append(self.bidder, 1, OUTCOMES, b"never committed")


@pytest.mark.parametrize("where", ["between statements", "inside a statement"])
def test_a_stopped_node_is_replaced_within_two_leases_and_cannot_write_when_it_wakes_up(
    address: str, where: str
) -> None:
    first = Node(open_store(address), poll=0.05, lease=LEASE)
    first.start()
    first.create("limited", LIMITED)
    first.create("plain", SETTINGS)
    bidder = number(first, "limited")
    first.close()
    stopped = Stopped(address, bidder)
    stopped.begin()
    if where == "inside a statement":
        stopped.send_a_part()
    node = Node(open_store(address), poll=0.05, publish=0.05, lease=LEASE)
    node.start()
    problems = set()

    def taken_over() -> bool:
        problems.add(node.health()["store"])
        return any(one.row.id == bidder and one.state is not None for one in node.directory.all())

    wait_until(taken_over, 60.0)
    spent = time.monotonic() - stopped.began
    assert spent < 2 * LEASE + 20.0  # for a busy machine; locks would last for a minute
    assert problems == {""}  # it was ready all the time
    assert decide(node, "limited", 5.0).amount is not None
    # The process goes on where it was stopped. Its transaction was ended.
    with pytest.raises(StoreError), stopped.session._transaction():
        pass
    late = Keep(bidder, stopped.fence, POLICY, Checkpoint(9, 9, b"old"))
    decision = Decide(bidder, stopped.fence, [DecisionRow(1, 0, b"old")])
    assert stopped.session.write([late, decision], 1.0) == [False, False]
    assert [one.number for one in stopped.session.decisions(bidder, 0)] == [0]
    assert stopped.session.entries(bidder, 0, 10) == []
    stopped.session.close()
    node.close()


def test_a_bidder_for_which_a_stopped_node_wrote_can_be_deleted(address: str) -> None:
    session = open_store(address).session(LEASE)
    session.create(NewBidder("shop", "{}", "owner", 7.0), POLICY, Checkpoint(0, 0, b"state"))
    stopped = Stopped(address, session.bidders()[0].id)
    stopped.begin()
    session.delete(stopped.bidder)  # it waits until the database has ended the transaction
    assert session.bidders() == []
    assert session.decisions(stopped.bidder, 0) == []
    for one in (session, stopped.session):
        one.close()


@pytest.mark.parametrize("table", ["leases", "bidders"])
def test_a_locked_row_of_one_bidder_does_not_slow_down_the_others(
    node: Node, address: str, table: str
) -> None:
    for name in ("a", "b"):
        node.create(name, SETTINGS)
    node.create("c", LIMITED)
    play(node, "c", 1)  # it is restored
    outcomes = {name: play(node, name, 10) for name in ("a", "b")}
    column = "id" if table == "bidders" else "bidder"
    which = f"SELECT * FROM {table} WHERE {column} = {number(node, 'a')} FOR UPDATE"
    with locked(address, which):
        waiting = node.report("a", outcomes["a"])
        began = time.monotonic()
        for one in outcomes["b"]:
            assert node.report("b", [one]).result(30).accepted == 1
            assert decide(node, "c", 5.0) is not None
            assert node.health()["store"] == ""
        assert time.monotonic() - began < LONG  # all wait once, for a short time
        assert waiting.done() == (table == "leases")
        wait_until(lambda: node.figures("b").learned == 10)
        assert {"b", "c"} <= set(node.health()["learning"])
    # What waited for the lock is written, once, as soon as there is no lock.
    assert waiting.result(30).accepted == 10
    wait_until(lambda: node.figures("a").learned == 10)
    assert node.figures("a").refused == {}


def test_what_waits_for_a_lock_is_given_up_at_last_and_the_node_stays_ready(address: str) -> None:
    node = Node(open_store(address), poll=0.05, lease=LEASE)
    node.start()
    node.create("a", SETTINGS)
    outcomes = play(node, "a", 3)
    with locked(address, f"SELECT * FROM bidders WHERE id = {number(node, 'a')} FOR UPDATE"):
        with pytest.raises(StoreError, match="Nothing was acknowledged"):
            node.report("a", outcomes).result(30)
        assert node.writer.waiting == 0
        assert node.health()["store"] == ""
    assert node.report("a", outcomes).result(30).accepted == 3
    node.close()


def test_decisions_and_policies_wait_in_order_for_a_locked_lease(node: Node, address: str) -> None:
    node.create("a", LIMITED)
    play(node, "a", 2)
    bidder = number(node, "a")
    with locked(address, f"SELECT * FROM leases WHERE bidder = {bidder} FOR UPDATE"):
        made: list[Any] = [node.decide("a", 5.0) for _ in range(5)]
        time.sleep(0.3)
        assert not any(one.done() for one in made)
    assert all(one.result(30) is not None for one in made)
    session = open_store(address).session()
    assert [one.number for one in session.decisions(bidder, 0)] == list(range(7))
    session.close()
    assert node.directory.find("a").state is not None


def test_whoever_writes_under_a_lease_keeps_it_and_can_renew_it(address: str) -> None:
    store = open_store(address)
    one: Any = store.session()
    other, third = store.session(), store.session()
    one.create(NewBidder("shop", "{}", "owner", 7.0), POLICY, Checkpoint(0, 0, b"state"))
    bidder = one.bidders()[0].id
    fence = one.take_leases({bidder: 0}, "A", None, -1.0)[bidder]  # it has expired already
    one._begin(write=True)
    assert one._lease(bidder, wait=True) == [(fence,)]
    assert other.take_leases({bidder: 0}, "B", None, 30.0) == {}
    assert third.take_leases({bidder: fence}, "A", None, -1.0) == {bidder: fence}
    assert third.prune(bidder, 1e12) == 0
    one._end(commit=True)
    assert other.take_leases({bidder: 0}, "B", None, 30.0) == {bidder: fence + 1}
    for session in (one, other, third):
        session.close()


@pytest.mark.parametrize("kind", ["keep", "append"])
def test_a_bidder_is_deleted_while_its_learner_writes(address: str, kind: str) -> None:
    import psycopg

    store = open_store(address)
    writer: Any = store.session()
    writer.create(NewBidder("shop", "{}", "owner", 7.0), POLICY, Checkpoint(0, 0, b"state"))
    bidder = writer.bidders()[0].id
    fence = writer.take_leases({bidder: 0}, "A", None, 30.0)[bidder]
    deleter = store.session()
    problems: list[Exception] = []

    def delete() -> None:
        try:
            deleter.delete(bidder)
        except StoreError as error:
            problems.append(error)

    def waits() -> bool:
        with psycopg.connect(address, autocommit=True) as watch:
            found = watch.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                "AND datname = current_database()"
            ).fetchone()
        return found is not None and found[0] == 1

    thread = threading.Thread(target=delete)
    with writer._transaction():
        assert writer._lease(bidder, wait=True) == [(fence,)]
        thread.start()
        wait_until(waits, 30.0)
        if kind == "keep":  # the rest of the transaction, as the learner does it
            assert writer._write_fenced(Keep(bidder, fence, POLICY, Checkpoint(1, 0, b"x")), 1.0)
        else:
            assert writer._append(Append(bidder, 1, OUTCOMES, b"x"), 1.0, wait=True)
    thread.join(30)
    assert problems == []
    assert writer.bidders() == []
    assert writer.checkpoints(bidder) == []
    assert writer.entries(bidder, 0, 10) == []
    for session in (writer, deleter):
        session.close()


def test_requests_for_a_node_that_does_not_answer_do_not_delay_others(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.create("mine", LIMITED)
    node.create("theirs", LIMITED)
    decide(node, "mine", 5.0)
    decided = node.decide
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts, and never answers
        silent.listen(200)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"

        def elsewhere(name: str, *given: Any, **named: Any) -> Any:
            if name == "theirs":
                raise HeldElsewhereError("Another node decides.", url)
            return decided(name, *given, **named)

        monkeypatch.setattr(node, "decide", elsewhere)
        monkeypatch.setattr("crossbandit.service.http.handlers._TIMEOUT", 10.0)
        with served(create_app(node)) as mine:

            async def ask(name: str) -> int:
                with closing(Transport(mine, timeout=60.0)) as transport:
                    path = f"/v1/bidders/{name}/decide"
                    answer = await asyncio.to_thread(
                        transport.request, "POST", path, {"value": 5.0}
                    )
                return answer.status

            async def both() -> tuple[list[int], list[int]]:
                asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(120))
                waiting = [asyncio.create_task(ask("theirs")) for _ in range(100)]
                await asyncio.sleep(0.5)
                quick = [await ask("mine") for _ in range(5)]
                assert not any(one.done() for one in waiting)
                return quick, await asyncio.gather(*waiting)

            quick, slow = asyncio.run(both())
    assert quick == [200] * 5
    assert set(slow) == {503}  # they waited for a limited time


def test_changes_of_a_locked_bidder_do_not_delay_others(
    node: Node, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More requests wait for the row than there are threads for decisions or for changes."""
    monkeypatch.setattr("crossbandit.service.http.handlers._TURN", 60.0)
    for name in ("mine", "theirs"):
        node.create(name, LIMITED)
    row = f"SELECT 1 FROM bidders WHERE id = {number(node, 'theirs')} FOR UPDATE"
    with served(create_app(node)) as mine, ThreadPoolExecutor(40) as threads:

        def ask(method: str, path: str, body: Any = None) -> int:
            with closing(Transport(mine, timeout=60.0)) as transport:
                return transport.request(method, path, body).status

        with locked(address, row):
            path = "/v1/bidders/theirs/pause"
            waiting = [threads.submit(ask, "POST", path) for _ in range(40)]
            time.sleep(0.5)
            quick = [
                ask("GET", "/readyz"),
                ask("POST", "/v1/bidders/mine/decide-many", {"values": [5.0, 6.0]}),
                ask("GET", "/v1/bidders/mine/figures"),
                ask("POST", "/v1/bidders/mine/pause"),
            ]
            assert not any(one.done() for one in waiting)
        slow = [one.result() for one in waiting]
    assert quick == [200] * 4
    assert set(slow) == {200}
