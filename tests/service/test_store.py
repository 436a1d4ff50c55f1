"""The two stores: what is written together, who may write, and what is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from crossbandit.errors import InvalidParameterError
from crossbandit.service import StoreError, open_store
from crossbandit.service.store import (
    CHANGE,
    OUTCOMES,
    Append,
    Checkpoint,
    Decide,
    DecisionRow,
    Keep,
    NewBidder,
    PolicyRow,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crossbandit.service.store import Session

POLICY = PolicyRow(0, 5.0, b"policy", b"figures")


@pytest.fixture
def session(address: str) -> Iterator[Session]:
    made = open_store(address).session()
    yield made
    made.close()


def create(session: Session, name: str = "shop") -> int:
    assert session.create(NewBidder(name, "{}", "owner", 7.0), POLICY, Checkpoint(0, 0, b"state"))
    return next(one.id for one in session.bidders() if one.name == name)


def append(bidder: int, content: bytes, size: int = 1) -> Append:
    return Append(bidder, size, OUTCOMES, content)


def test_entries_have_consecutive_numbers(session: Session) -> None:
    one, two = create(session), create(session, "other")
    assert (
        session.write([append(one, b"a", 3), append(two, b"b"), append(one, b"c")], 10.0)
        == [True] * 3
    )
    assert session.write([append(one, b"d", 2)], 9.0) == [True]
    found = session.entries(one, 0, 100)
    assert [(e.first, e.size, e.at, e.content) for e in found] == [
        (1, 3, 10.0, b"a"),
        (4, 1, 10.0, b"c"),
        (5, 2, 9.0, b"d"),
    ]
    assert [e.content for e in session.entries(one, 3, 1)] == [b"c"]
    assert [row.last for row in session.bidders()] == [1, 6]  # "other" and "shop"


def test_a_bidder_is_created_once_and_deleted_with_all_it_has(session: Session) -> None:
    one = create(session)
    assert not session.create(NewBidder("shop", "{}", "owner", 8.0), POLICY, Checkpoint(0, 0, b""))
    session.write([append(one, b"a")], 1.0)
    session.delete(one)
    assert session.bidders() == []
    assert session.entries(one, 0, 10) == []
    assert session.checkpoints(one) == []
    assert session.policy(one) is None
    assert session.write([append(one, b"late")], 2.0) == [False]
    assert create(session) != one


def test_a_fence_keeps_an_earlier_holder_from_writing(session: Session) -> None:
    one = create(session)
    first = session.take_leases({one: 0}, "A", "http://a", 30.0)[one]
    assert session.take_leases({one: first}, "A", "http://a", 30.0) == {one: first}  # renewed
    first = session.take_leases({one: 0}, "A", "http://a", 30.0)[one]  # for a new state
    assert session.take_leases({one: 0}, "B", None, 30.0) == {}
    assert [(row.holder, row.url) for row in session.bidders()] == [("A", "http://a")]
    session.end_lease(one, "B")  # it does not have it
    assert session.take_leases({one: 0}, "B", None, 30.0) == {}
    session.end_lease(one, "A")
    assert session.bidders()[0].holder == ""
    second = session.take_leases({one: 0}, "B", None, 30.0)[one]
    assert second > first
    late = Keep(one, first, PolicyRow(3, 1.0, b"old", b""), Checkpoint(3, 0, b"old"))
    late_decision = Decide(one, first, [DecisionRow(0, 0, b"x")])
    assert session.write([late, late_decision, append(one, b"a")], 1.0) == [False, False, True]
    assert session.policy(one) == POLICY
    assert session.decisions(one, 0) == []
    good = Keep(one, second, PolicyRow(1, 2.0, b"new", b""), None)
    assert session.write([good], 1.0) == [True]
    assert session.policy(one) == PolicyRow(1, 2.0, b"new", b"")


def test_a_lease_ends_by_itself_and_one_from_the_future_does_not_hold(session: Session) -> None:
    one = create(session)
    session.take_leases({one: 0}, "A", None, -1.0)  # it ended before it began
    fence = session.take_leases({one: 0}, "B", None, 1000.0)[one]
    # As "C" sees it, no lease can last for 1,000 seconds: the clock was set back.
    assert session.take_leases({one: 0}, "C", None, 1.0) == {one: fence + 1}


def test_two_holders_of_one_lease_cannot_make_one_decision(session: Session) -> None:
    one = create(session)
    fence = session.take_leases({one: 0}, "A", None, 30.0)[one]
    mine = Decide(one, fence, [DecisionRow(0, 0, b"mine"), DecisionRow(1, 0, b"mine")])
    other = Decide(one, fence, [DecisionRow(1, 0, b"other"), DecisionRow(2, 0, b"other")])
    assert session.write([mine], 1.0) == [True]
    assert session.write([other], 1.0) == [False]
    assert [row.content for row in session.decisions(one, 0)] == [b"mine", b"mine"]
    assert [row.number for row in session.decisions(one, 1)] == [1]


def test_two_checkpoints_are_kept_and_entries_that_they_need(session: Session) -> None:
    one = create(session)
    fence = session.take_leases({one: 0}, "A", None, 30.0)[one]
    for i in range(6):
        session.write([append(one, b"%d" % i, 2)], float(i))
    for number in range(4):
        session.write([Decide(one, fence, [DecisionRow(number, 2, b"")])], 1.0)
    assert session.prune(one, 100.0) == 0  # one checkpoint, of the beginning
    for entry, decisions in ((4, 1), (8, 3)):
        state = Checkpoint(entry, decisions, b"%d" % entry)
        session.write([Keep(one, fence, None, state)], 1.0)
    assert [one.entry for one in session.checkpoints(one)] == [8, 4]
    assert session.prune(one, 1.0) == 1  # the others are too young
    assert session.prune(one, 100.0) == 1
    assert [entry.first for entry in session.entries(one, 0, 100)] == [5, 7, 9, 11]
    assert [row.number for row in session.decisions(one, 0)] == [1, 2, 3]


def test_an_address_or_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"begins with 'mysql'\.$"):
        open_store("mysql://user:secret@host/db")
    file = tmp_path / "text.db"
    file.write_text("not a database " * 100)
    with pytest.raises(
        StoreError, match=r"text.db' cannot be opened: file is not a database\. Give "
    ):
        open_store(file)
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(tmp_path / "missing" / "service.db")
    with pytest.raises(
        StoreError, match=r"in PostgreSQL cannot be opened: .*\. Check that it runs"
    ):
        open_store("postgresql://nobody@127.0.0.1:1/none")


def test_settings_replace_only_those_that_they_were_made_from(session: Session) -> None:
    bidder = create(session)
    (before,) = (one.settings for one in session.bidders())
    first, second = (
        Append(bidder, 1, CHANGE, b"", settings=text, replaces=before) for text in ("1", "2")
    )
    assert session.write([first], 1.0) == [True]
    assert session.write([second], 1.0) == [False]
    (row,) = session.bidders()
    assert (row.settings, row.last) == ("1", 1)
    assert session.write([second._replace(replaces="1")], 1.0) == [True]
    assert session.write([append(bidder, b"outcome")], 1.0) == [True]  # replaces nothing
    (row,) = session.bidders()
    assert (row.settings, row.last) == ("2", 3)


def test_a_store_of_another_format_is_refused(address: str) -> None:
    session = open_store(address).session()
    with session._transaction():  # to change what it says
        session._rows("UPDATE about SET version = 99")
    session.close()
    with pytest.raises(StoreError, match="format 99"):
        open_store(address)


def test_no_checkpoint_is_kept_with_a_decision_that_was_refused(session: Session) -> None:
    bidder = create(session)
    fence = session.take_leases({bidder: 0}, "me", None, 60.0)[bidder]
    first = Decide(bidder, fence, [DecisionRow(0, 0, b"one")])
    assert session.write([first], 1.0) == [True]
    other = Decide(bidder, fence, [DecisionRow(0, 0, b"another")])
    keep = Keep(bidder, fence, POLICY, Checkpoint(0, 1, b"with the other one"))
    assert session.write([other, keep], 2.0) == [False, False]
    assert [one.content for one in session.checkpoints(bidder)] == [b"state"]


def test_nothing_is_acknowledged_once_the_file_was_deleted_or_replaced(tmp_path: Path) -> None:
    path = tmp_path / "service.db"
    store = open_store(path)
    session = store.session()
    assert session.bidders() == []
    path.rename(tmp_path / "elsewhere.db")
    for one in (session, store.session()):
        with pytest.raises(StoreError, match="deleted or replaced"):
            one.write([], 0.0)
    open_store(path)
    with pytest.raises(StoreError, match="deleted or replaced"):
        session.write([], 0.0)
    session.close()
