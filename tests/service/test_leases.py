"""Leases are taken, renewed and lost, on a store that a test controls."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from crossbandit.service import StoreError
from crossbandit.service import threads as module
from crossbandit.service.bidder import LearningFailure
from crossbandit.service.threads import Leases


class FakeSession:
    """Grants the fences that a test has set, and records what it is asked."""

    def __init__(self) -> None:
        self.fences: dict[int, int] = {}
        self.asked: list[dict[int, int]] = []
        self.ended: list[tuple[int, str]] = []
        self.closed = self.broken = False

    def take_leases(
        self, wanted: dict[int, int], holder: str, url: str | None, seconds: float
    ) -> dict[int, int]:
        assert (holder, url, seconds) == ("me", None, 5.0)
        self.asked.append(wanted)
        return {one: self.fences[one] for one in wanted if one in self.fences}

    def end_lease(self, bidder: int, holder: str) -> None:
        if self.broken:
            raise StoreError("The store does not answer.")
        self.ended.append((bidder, holder))

    def close(self) -> None:
        self.closed = True


def known(**holders: str) -> list[Any]:
    """Return bidders with the numbers 1, 2, ... and these holders."""
    rows = [SimpleNamespace(id=i, holder=holder) for i, holder in enumerate(holders.values(), 1)]
    return [SimpleNamespace(row=row, live=None, failure=None) for row in rows]


def held(bidders: list[Any]) -> dict[int, int]:
    """Return the fences of the leases that are held, by bidder."""
    return {one.row.id: one.live.fence for one in bidders if one.live is not None}


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
def leases(session: FakeSession) -> Leases:
    return Leases(session, "me", None, 5.0)  # type: ignore[arg-type]


def test_free_leases_are_taken_and_own_ones_renewed(leases: Leases, session: FakeSession) -> None:
    session.fences = {1: 7, 3: 9}
    bidders = known(a="", b="another", c="me")
    leases.take(bidders)
    assert session.asked == [{1: 0, 3: 0}]
    assert held(bidders) == {1: 7, 3: 9}
    first = bidders[0].live
    bidders[0].row.holder = "me"
    leases.take(bidders)
    assert session.asked[1] == {1: 7, 3: 9}
    assert bidders[0].live is first  # its state is kept
    assert not first.lost


def test_a_lease_with_another_fence_has_another_state(leases: Leases, session: FakeSession) -> None:
    session.fences = {1: 7}
    bidders = known(a="")
    leases.take(bidders)
    before = bidders[0].live
    session.fences = {1: 8}
    leases.take(bidders)
    assert bidders[0].live.fence == 8
    assert bidders[0].live is not before
    assert before.lost


def test_a_state_that_was_lost_is_replaced_under_a_new_fence(
    leases: Leases, session: FakeSession
) -> None:
    session.fences = {1: 7}
    bidders = known(a="")
    leases.take(bidders)
    bidders[0].live.lost = True
    session.fences = {1: 8}
    leases.take(bidders)
    assert session.asked[1] == {1: 0}
    assert held(bidders) == {1: 8}
    assert not bidders[0].live.lost


def test_a_state_that_is_lost_while_its_lease_is_renewed_waits_for_a_new_fence(
    leases: Leases, session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.fences = {1: 7}
    bidders = known(a="")
    leases.take(bidders)
    renew = session.take_leases

    def lose(*given: Any) -> dict[int, int]:
        bidders[0].live.lost = True
        return renew(*given)

    monkeypatch.setattr(session, "take_leases", lose)
    leases.take(bidders)
    assert held(bidders) == {}


def test_a_lease_that_is_not_granted_is_lost(leases: Leases, session: FakeSession) -> None:
    session.fences = {1: 7}
    bidders = known(a="")
    leases.take(bidders)
    before = bidders[0].live
    bidders[0].row.holder = "another"
    leases.take(bidders)
    assert before.lost
    assert held(bidders) == {}


def test_the_lease_of_a_bidder_that_has_failed_is_left_to_others_for_a_while(
    leases: Leases, session: FakeSession
) -> None:
    session.fences = {1: 7}
    bidders = known(a="me")
    leases.take(bidders)
    before, now = bidders[0].live, time.monotonic()
    bidders[0].failure = LearningFailure("It does not learn.", 60.0, now + 60.0)
    leases.take(bidders)
    assert session.asked == [{1: 0}]
    assert before.lost
    assert held(bidders) == {}
    bidders[0].failure = LearningFailure("It does not learn.", 60.0, now)
    leases.take(bidders)
    assert held(bidders) == {1: 7}


def test_a_holder_that_has_ended_is_replaced_at_once(
    leases: Leases, session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "is_gone", lambda holder: holder == "ended")
    session.fences = {1: 1, 2: 2}
    bidders = known(a="ended", b="alive")
    leases.take(bidders)
    assert session.ended == [(1, "ended")]
    assert held(bidders) == {1: 1}


def test_the_end_ends_all_leases_also_if_the_store_does_not_answer(
    leases: Leases, session: FakeSession
) -> None:
    session.fences = {1: 1, 2: 2}
    bidders = known(a="", b="")
    leases.take(bidders)
    leases.end(bidders)
    assert session.ended == [(1, "me"), (2, "me")]
    assert held(bidders) == {}
    leases.take(bidders)
    session.broken, session.closed = True, False
    leases.end(bidders)
    assert session.closed
    assert held(bidders) == {}
