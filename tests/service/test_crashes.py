"""Nothing acknowledged is lost and nothing counts twice, whatever ends, fills up or goes away."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from crossbandit.service import (
    BidderSettings,
    BudgetSettings,
    HeldElsewhereError,
    Node,
    NotReadyError,
    Outcome,
    ServiceError,
    StoreError,
    open_store,
)
from crossbandit.service.live import restore
from crossbandit.service.store import sqlite
from tests.service.conftest import new_database
from tests.service.test_node import LIMITED, SETTINGS, decide, play, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.postgresql_server import PostgresqlServer


def state(address: str, name: str) -> Any:
    session = open_store(address).session()
    bidder = next(row.id for row in session.bidders() if row.name == name)
    found = restore(session, bidder, None)
    session.close()
    return found


def learned(node: Node, name: str) -> int:
    figures = node.figures(name)
    return figures.won + figures.lost


def test_processes_are_killed_at_random_moments(address: str) -> None:
    # The whole check is in the benchmark, which kills 1,000; it fails with an assertion.
    command = [sys.executable, "-m", "benchmarks.service_kills", "--kills", "12", "--copies", "2"]
    done = subprocess.run(
        [*command, "--store", address], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "Nothing was lost." in done.stdout


def test_a_full_disk_refuses_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite.SqliteSession._connect
    limit = {"pages": 1_000_000}

    def limited(self: sqlite.SqliteSession) -> Any:
        made = connect(self)
        made.execute(f"PRAGMA max_page_count = {limit['pages']}")
        return made

    monkeypatch.setattr(sqlite.SqliteSession, "_connect", limited)
    address = str(tmp_path / "service.db")
    node = Node(open_store(address), poll=0.05)
    node.start()
    node.create("shop", SETTINGS)
    outcomes = play(node, "shop", 60)
    node.report("shop", outcomes[:20]).result(30)
    wait_until(lambda: learned(node, "shop") == 20)
    node.close()
    limit["pages"] = 1  # as many as there are now: SQLite takes no less
    node = Node(open_store(address), poll=0.05)
    node.start()
    accepted = 20
    problem = ""
    for one in outcomes[20:40] * 20:
        try:
            accepted += node.report("shop", [one] * 100).result(30).accepted
        except StoreError as error:
            problem = str(error)
            break
    assert "full" in problem
    assert decide(node, "shop", 5.0).token is not None  # deciding goes on
    node.close()
    limit["pages"] = 1_000_000
    node = Node(open_store(address), poll=0.05)
    node.start()
    node.report("shop", outcomes).result(30)
    wait_until(lambda: learned(node, "shop") == 60)
    node.close()
    assert state(address, "shop").entry == accepted + 60


def test_a_database_that_goes_away_and_comes_back(server: PostgresqlServer) -> None:
    address = new_database(server)
    node = Node(open_store(address), poll=0.05, publish=0.05, lease=1.0)
    node.start()
    node.create("shop", SETTINGS)
    node.create("budget", LIMITED)
    node.report("shop", play(node, "shop", 10)).result(30)
    known = play(node, "budget", 5)
    server.stop("immediate")
    outcomes = play(node, "shop", 10, seed=1)
    with pytest.raises(StoreError, match="Nothing was acknowledged"):
        node.report("shop", outcomes).result(30)
    with pytest.raises(ServiceError):
        decide_once(node, "budget")
    server.start()

    def reported() -> bool:
        try:
            return node.report("shop", outcomes).result(30).accepted == 10
        except StoreError:
            return False

    wait_until(reported)
    wait_until(lambda: learned(node, "shop") == 20)
    assert decide(node, "budget", 5.0) is not None
    node.report("budget", known).result(30)
    wait_until(lambda: learned(node, "budget") == len(known))
    node.close()
    assert state(address, "budget").decisions == 6


def test_another_node_takes_over_and_the_first_cannot_decide_any_more(address: str) -> None:
    first = Node(open_store(address), url="http://first", poll=0.05, lease=30.0)
    first.start()
    first.create("shop", LIMITED)
    outcomes = play(first, "shop", 10)
    held = first.learner.held[next(iter(first.learner.held))]
    # The first one still believes to have the lease, and does not look at the store any more.
    first.learner._closing.set()
    first.learner._look.set()
    for thread in first.learner._threads:
        thread.join()
    session = open_store(address).session()
    session.end_lease(held.bidder, first.name)
    session.close()
    second = Node(open_store(address), url="http://second", poll=0.05, lease=30.0)
    second.start()
    made = decide(second, "shop", 5.0)
    with pytest.raises(NotReadyError, match="Another node decides"):
        decide_once(first, "shop")
    first.report("shop", outcomes).result(30)  # any node takes outcomes
    wait_until(lambda: learned(second, "shop") == len(outcomes))
    assert made is not None
    third = Node(open_store(address), learn=False)
    third.start()
    with pytest.raises(HeldElsewhereError, match="http://second") as caught:
        third.decide("shop", 5.0)
    assert caught.value.url == "http://second"
    for node in (third, second, first):
        node.close()
    assert state(address, "shop").decisions == 11


def decide_once(node: Node, name: str) -> Any:
    made: Any = node.decide(name, 5.0)
    return made.result(30)


def test_two_nodes_that_both_believe_to_hold_the_lease(address: str) -> None:
    # With one name they have one lease and one fence. They learn the same from the same log, and
    # of two decisions with one number, one is refused.
    settings = BidderSettings(
        value_range=(0, 10), bids=11, seed=1, budget=BudgetSettings(20.0, per=10**6, pacing="asap")
    )
    nodes = [Node(open_store(address), name="twin", poll=0.02, publish=0.02) for _ in range(2)]
    for node in nodes:
        node.start()
    nodes[0].create("shop", settings)
    wait_until(lambda: "shop" in nodes[1].names())
    outcomes, refused = [], 0
    for i in range(60):
        try:
            made: Any = nodes[i % 2].decide("shop", 9.0)
            answer = made.result(30)
            if answer.amount:
                outcomes.append(Outcome(answer.token, won=True))
        except ServiceError:
            refused += 1
            time.sleep(0.05)
    assert refused > 0
    nodes[0].report("shop", outcomes[::2]).result(30)
    nodes[1].report("shop", [*outcomes[1::2], *outcomes[::2]]).result(30)
    for node in nodes:
        node.close()
    live = state(address, "shop")
    assert live.tally.won == len(outcomes)
    assert live.bidder.limits[0].spent + live.bidder.limits[0].reserved <= 20


def test_clocks_that_jump(address: str) -> None:
    shift = 0.0
    nodes = [
        Node(open_store(address), poll=0.05, clock=lambda: time.time() + shift),
        Node(open_store(address), poll=0.05, learn=False),
    ]
    for node in nodes:
        node.start()
    nodes[0].create("shop", SETTINGS)
    wait_until(lambda: "shop" in nodes[1].names())
    total = 0
    for shift in (0.0, 5 * 86_400.0, -5 * 86_400.0, 60.0):  # noqa: B007 - the clock reads it
        outcomes = [*play(nodes[0], "shop", 5), *play(nodes[1], "shop", 5)]
        nodes[0].report("shop", outcomes[::2]).result(30)
        nodes[1].report("shop", [*outcomes[1::2], *outcomes]).result(30)
        total += 10
    wait_until(lambda: learned(nodes[0], "shop") == total)
    assert nodes[0].figures("shop").refused == {"learned-before": total}
    for node in nodes:
        node.close()
