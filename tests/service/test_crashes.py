"""Nothing acknowledged is lost and nothing counts twice, whatever ends, fills up or goes away."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.service_checks import said
from crossbandit.algorithms.learners.tokens import Token, token_bytes
from crossbandit.service import (
    BidderSettings,
    BudgetSettings,
    Decided,
    HeldElsewhereError,
    Node,
    NotReadyError,
    Outcome,
    ServiceError,
    StoreError,
    open_store,
)
from crossbandit.service.bidder import LiveBidder
from crossbandit.service.contents import Request, Row, encode
from crossbandit.service.store import OUTCOMES, Append, Decide, Keep, NewBidder, SqliteSession
from tests.service.conftest import new_database
from tests.service.test_node import LIMITED, SETTINGS, decide, play, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.postgresql_server import PostgresqlServer


def state(address: str, name: str) -> Any:
    session = open_store(address).session()
    bidder = next(row.id for row in session.bidders() if row.name == name)
    found = LiveBidder(number=bidder).restore(session)
    session.close()
    return found


def learned(node: Node, name: str) -> int:
    figures = node.figures(name)
    return figures.won + figures.lost


def test_processes_are_killed_and_stopped_at_random_moments(address: str) -> None:
    # The whole check is in the benchmark, which kills 1,000; it fails with an assertion.
    steps = {"--kills": 12, "--freezes": 4, "--deletes": 8, "--copies": 2, "--store": address}
    given = [str(one) for pair in steps.items() for one in pair]
    command = [sys.executable, "-m", "benchmarks.service_kills", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Nothing was lost." in done.stdout


def test_only_problems_of_a_machine_that_was_not_busy_are_faults(tmp_path: Path) -> None:
    notes = {
        "busy": "H 9.0 0.5\nP 10.0 no_answer\nP 20.0 locked\n",
        "other": "P 11.0 locked\nP 8.5 locked\nR plain cut",
        "stopped": "H 19.0 3.0\nP 19.5 no_answer\n",
    }
    for name, text in notes.items():
        (tmp_path / name).write_text(text)
    found = said(tmp_path).troubled({tmp_path / "stopped"}, 5.0)
    assert sorted(found) == [(8.5, "locked"), (20.0, "locked")]


def test_a_full_disk_refuses_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = SqliteSession._connect
    limit = {"pages": 1_000_000}

    def limited(self: SqliteSession) -> Any:
        made = connect(self)
        made.execute(f"PRAGMA max_page_count = {limit['pages']}")
        return made

    monkeypatch.setattr(SqliteSession, "_connect", limited)
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
    held = first.directory.find("shop").live
    assert held is not None
    # The first one still believes to have the lease, and does not look at the store any more.
    first.learner._closing.set()
    first.learner._look.set()
    for thread in first.learner._threads:
        thread.join()
    session = open_store(address).session()
    session.end_lease(held.number, first.name)
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
    # With one name they have one lease, and take it from each other: each state has its own fence.
    # They learn the same from the same log. A decision under an earlier fence is refused.
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
    found = state(address, "shop")
    assert found.tally.won == len(outcomes)
    assert found.bidder.limits[0].spent + found.bidder.limits[0].reserved <= 20


# --- decisions that are answered before they are in the log -----------------------------------


def early(settings: BidderSettings, address: str, **more: Any) -> Node:
    # It publishes, and so logs what it has answered, once only.
    node = Node(open_store(address), poll=0.05, publish=1e6, **more)
    node.start()
    node.create("shop", settings)
    bidder = node.directory.find("shop")
    wait_until(lambda: bidder.policy is not None and bidder.state is not None)
    return node


def vanish(node: Node) -> None:
    # As after kill -9: nothing more is written, and its leases end.
    node.learner._closing.set()
    node.learner._look.set()
    node.learner._wake.set()
    for thread in node.learner._threads:
        thread.join()
    for bidder in node.directory.all():
        if bidder.live is not None:
            bidder.live.lost = True
    node.close()


def bids(node: Node, count: int) -> list[Decided]:
    made = [decide(node, "shop", 10.0) for _ in range(count)]
    return [one for one in made if one.amount is not None]


def cost(made: list[Decided]) -> float:
    return sum(one.amount or 0.0 for one in made)


def money(node: Node) -> Any:
    return node.bidder("shop").limits[0]


def wins(made: list[Decided]) -> list[Outcome]:
    return [Outcome(one.token or "", won=True) for one in made]


def test_what_a_crash_takes_from_the_log_is_not_spent_again(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crossbandit.service.bidder.SHARE", 0.6)  # a small budget is enough
    limits = BudgetSettings(100.0, per="day", pacing="asap")
    settings = BidderSettings(value_range=(0, 10), bids=11, seed=1, budget=limits)
    node = early(settings, address)
    first = bids(node, 4)  # the first asks for 6 more, and the fifth asks again
    bidder = node.directory.find("shop").row.id
    vanish(node)
    session = open_store(address).session()
    assert len(session.decisions(bidder, 0)) == 1 < len(first)
    session.close()
    node = Node(open_store(address), poll=0.05, publish=0.05)
    node.start()
    second = bids(node, 100)
    assert money(node).spent + money(node).reserved <= 100
    node.report("shop", wins([*second, *first])).result(30)
    wait_until(lambda: learned(node, "shop") == len(first) + len(second))
    assert cost([*first, *second]) == money(node).spent <= 100
    tokens = [Token.decode(token_bytes(one.token or ""), node.key) for one in [*first, *second]]
    assert len({(one.decider, one.counter) for one in tokens}) == len(tokens)
    node.close()
    found = state(address, "shop")
    assert found.tally.won == len(tokens)
    assert not found.tally.refused


def test_no_decision_is_answered_before_the_log_allows_it(address: str) -> None:
    limits = BudgetSettings(10_000.0, per="day", pacing="asap")
    settings = BidderSettings(value_range=(0, 10), bids=11, seed=1, budget=limits)
    node = early(settings, address)
    commit = node.writer._session.write
    writing = Event()

    def waiting(*given: Any, **more: Any) -> Any:
        writing.wait(30)
        return commit(*given, **more)

    node.writer._session.write = waiting  # type: ignore[method-assign]
    made: list[Any] = [node.decide("shop", 9.0) for _ in range(5)]
    assert not any(one.done() for one in made)
    writing.set()
    assert all(one.result(30).token for one in made)
    assert isinstance(node.decide("shop", 9.0), Decided)
    node.close()


def test_outcomes_of_decisions_that_a_crash_took_from_the_log_count(address: str) -> None:
    limits = BudgetSettings(10_000.0, per="day", pacing="asap")
    settings = BidderSettings(value_range=(0, 10), bids=11, seed=1, budget=limits)
    node = early(settings, address)
    other = Node(open_store(address), poll=0.05, learn=False)
    other.start()
    made = bids(node, 8)
    other.report("shop", wins(made)).result(30)  # they are in the log, and the decisions are not
    vanish(node)
    node = Node(open_store(address), poll=0.05, publish=0.05)
    node.start()
    bids(node, 1)
    wait_until(lambda: learned(node, "shop") == len(made))
    assert float(money(node).spent) == cost(made)
    # 20 decisions might have been lost, 7 of which have an outcome now. The next is one more.
    reserved = money(node).reserved
    assert 130 <= reserved <= 140
    other.close()
    node.close()
    again = state(address, "shop")
    assert float(again.bidder.limits[0].spent) == cost(made)
    assert again.bidder.limits[0].reserved == reserved


def test_what_a_second_crash_takes_from_the_log_is_not_spent_again(address: str) -> None:
    # The first node was allowed 20 decisions ahead of the log. The second must ask for its own.
    limits = BudgetSettings(10_000.0, per="day", pacing="asap")
    settings = BidderSettings(value_range=(0, 10), bids=11, seed=1, budget=limits)
    node = early(settings, address, lease=60.0)
    made = bids(node, 4)
    bidder = node.directory.find("shop").row.id
    vanish(node)
    session = open_store(address).session()
    logged = len(session.decisions(bidder, 0))
    node = Node(open_store(address), poll=0.05, publish=1e6, lease=60.0)
    node.start()
    wait_until(lambda: len(session.decisions(bidder, 0)) == logged + 1)  # the loss
    made += bids(node, 4)
    vanish(node)
    assert len(session.decisions(bidder, 0)) == logged + 2  # the next, which asks for others
    session.close()
    node = Node(open_store(address), poll=0.05, publish=0.05)
    node.start()
    made += bids(node, 8)
    tokens = [Token.decode(token_bytes(one.token or ""), node.key) for one in made]
    assert len({(one.decider, one.counter) for one in tokens}) == len(made) == 16
    node.report("shop", wins(made)).result(30)
    wait_until(lambda: learned(node, "shop") == len(made))
    assert float(money(node).spent) == cost(made)
    assert node.figures("shop").refused == {}
    node.close()


def test_a_node_that_is_closed_reserves_only_what_was_bid(address: str) -> None:
    limits = BudgetSettings(10_000.0, per="day", pacing="asap")
    settings = BidderSettings(value_range=(0, 10), bids=11, seed=1, budget=limits)
    node = early(settings, address)
    made = bids(node, 8)
    node.close()
    node = Node(open_store(address), poll=0.05)
    node.start()
    made += bids(node, 8)
    assert float(money(node).outstanding) == cost(made)
    node.close()


@pytest.mark.parametrize("case", ["small", "no end", "new period", "old lease", "changed"])
def test_a_decision_is_logged_before_it_is_answered(case: str, address: str) -> None:
    amount, per = (20.0 if case == "small" else 10_000.0), (None if case == "no end" else "hour")
    limits = BudgetSettings(amount, per=per, pacing="asap")
    settings = BidderSettings(value_range=(0, 10), bids=11, seed=1, budget=limits)
    shift = 0.0
    node = early(settings, address, clock=lambda: time.time() + shift)
    usual = case not in {"small", "no end"}
    for _ in range(3):
        made: Any = node.decide("shop", 9.0)
        if isinstance(made, Future):
            made.result(30)
    assert isinstance(node.decide("shop", 9.0), Future) != usual
    if case == "new period":
        shift = 3600.0
    elif case == "old lease":
        held = node.directory.find("shop").live
        assert held is not None
        node._leases._seconds = -1.0
        wait_until(lambda: held.until < time.monotonic())
    elif case == "changed":
        node.change("shop", budget=BudgetSettings(9_000.0, per="hour", pacing="asap"))
        wait_until(lambda: money(node).limit.amount == 9_000.0)
    assert isinstance(node.decide("shop", 9.0), Future)
    node.close()


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


@pytest.mark.parametrize("where", ["_store", "_write_fenced"])
def test_a_decision_that_is_being_written_is_in_the_state_that_replaces_its_own(
    where: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(open_store(address), poll=0.05, publish=0.05, checkpoint_entries=1)
    node.start()
    node.create("shop", LIMITED)
    (late,) = play(node, "shop", 1)
    bidder = node.directory.find("shop")
    old = bidder.live
    assert old is not None
    wait_until(lambda: not old.news)
    reached, go_on = Event(), Event()
    owner: Any = node.writer if where == "_store" else node.writer._session
    step = getattr(owner, where)

    def wait(*given: Any, **named: Any) -> Any:
        if not reached.is_set():
            reached.set()
            assert go_on.wait(30)
        return step(*given, **named)

    monkeypatch.setattr(owner, where, wait)
    with old.lock:
        old._blocks = {}  # so that it is logged
        made = node.decide("shop", 5.0)
    assert isinstance(made, Future)
    assert reached.wait(30)
    old.lost = True  # as after an error of the store
    others = where == "_store" or address.startswith("postgresql")  # can write meanwhile
    if others:
        session = open_store(address).session()
        outcome = Row(token_bytes(late.token), late.won, late.highest_competing_bid)
        append = Append(bidder.row.id, 1, OUTCOMES, encode([outcome]))
        assert session.write([append], 1.0) == [True]
        session.close()
    node.learner.look()
    time.sleep(1.0)
    go_on.set()
    with suppress(NotReadyError):
        assert made.result(30).token is not None
    wait_until(lambda: bidder.live is not old and bidder.state is not None)
    time.sleep(0.5)  # if it can be kept, a checkpoint is
    assert decide(node, "shop", 5.0, seconds=10.0).token is not None
    node.close()
    assert state(address, "shop").entry == int(others)


def test_a_checkpoint_that_lacks_decisions_is_not_used(address: str) -> None:
    # Versions before each state had a fence of its own could store one.
    session = open_store(address).session()
    first = LiveBidder(LIMITED.build(), key=session.key())
    session.create(NewBidder("shop", "", "", 0.0), first.policy(0.0), first.checkpoint())
    number = session.bidders()[0].id
    fence = session.take_leases({number: 0}, "me", None, 60.0)[number]
    made = [first.decide(Request(5.0, None, 1e9, {}, 1e9)) for _ in range(3)]
    rows = [Row(made[0][0].token, won=True)]
    decide = Decide(number, fence, [row for _, row in made])
    append = Append(number, 1, OUTCOMES, encode(rows))
    assert session.write([decide, append], 1e9) == [True, True]
    other = LiveBidder(number=number, key=session.key()).load(session.checkpoints(number)[0])
    other.learn(session.entries(number, 0, 10)[0])
    assert session.write([Keep(number, fence, None, other.checkpoint())], 1e9) == [True]
    found = LiveBidder(number=number).restore(session)
    session.close()
    assert (found.entry, found.decisions, found.tally.won) == (1, 3, 1)
