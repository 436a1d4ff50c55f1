"""Leases are taken, renewed and lost, on a store that a test controls."""

from types import SimpleNamespace
from typing import Any

import pytest

from crossbandit.service import learner as module
from crossbandit.service.causes import StoreError
from crossbandit.service.learner import Leases


class FakeSession:
    """Grants the fences that a test has set, and records what it is asked."""

    def __init__(self) -> None:
        self.fences: dict[int, int] = {}
        self.asked: list[list[int]] = []
        self.ended: list[tuple[int, str]] = []
        self.closed = self.broken = False

    def take_leases(
        self, bidders: list[int], holder: str, url: str | None, seconds: float
    ) -> dict[int, int]:
        assert (holder, url, seconds) == ("me", None, 5.0)
        self.asked.append(bidders)
        return {one: self.fences[one] for one in bidders if one in self.fences}

    def end_lease(self, bidder: int, holder: str) -> None:
        if self.broken:
            raise StoreError("The store does not answer.")
        self.ended.append((bidder, holder))

    def close(self) -> None:
        self.closed = True


def known(**holders: str) -> list[Any]:
    """Return bidders with the numbers 1, 2, ... and these holders."""
    rows = enumerate(holders.values(), 1)
    return [SimpleNamespace(row=SimpleNamespace(id=i, holder=holder)) for i, holder in rows]


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
def leases(session: FakeSession) -> Leases:
    return Leases(session, "me", None, seconds=5.0)  # type: ignore[arg-type]


def test_free_leases_are_taken_and_own_ones_renewed(leases: Leases, session: FakeSession) -> None:
    session.fences = {1: 7, 3: 9}
    leases.take(known(a="", b="another", c="me"))
    assert session.asked == [[1, 3]]
    assert {one: held.fence for one, held in leases.held.items()} == {1: 7, 3: 9}
    first = leases.held[1]
    leases.take(known(a="me", b="another", c="me"))
    assert leases.held[1] is first  # its state is kept
    assert not first.lost


def test_a_lease_with_another_fence_has_another_state(leases: Leases, session: FakeSession) -> None:
    session.fences = {1: 7}
    leases.take(known(a=""))
    before = leases.held[1]
    session.fences = {1: 8}
    leases.take(known(a="me"))
    assert leases.held[1].fence == 8
    assert leases.held[1] is not before
    assert before.lost


def test_a_state_that_was_lost_is_replaced(leases: Leases, session: FakeSession) -> None:
    session.fences = {1: 7}
    leases.take(known(a=""))
    leases.held[1].lost = True
    leases.take(known(a="me"))
    assert not leases.held[1].lost


def test_a_lease_that_is_not_granted_is_lost(leases: Leases, session: FakeSession) -> None:
    session.fences = {1: 7}
    leases.take(known(a=""))
    before = leases.held[1]
    leases.take(known(a="another"))
    assert before.lost
    assert leases.held == {}


def test_a_holder_that_has_ended_is_replaced_at_once(
    leases: Leases, session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "is_gone", lambda holder: holder == "ended")
    session.fences = {1: 1, 2: 2}
    leases.take(known(a="ended", b="alive"))
    assert session.ended == [(1, "ended")]
    assert list(leases.held) == [1]


def test_the_end_ends_all_leases_also_if_the_store_does_not_answer(
    leases: Leases, session: FakeSession
) -> None:
    session.fences = {1: 1, 2: 2}
    leases.take(known(a="", b=""))
    leases.end()
    assert session.ended == [(1, "me"), (2, "me")]
    assert leases.held == {}
    leases.take(known(a="", b=""))
    session.broken, session.closed = True, False
    leases.end()
    assert session.closed
    assert leases.held == {}
