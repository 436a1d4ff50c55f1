"""Alerts where far less is spent than planned, and none where that is no fault."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from crossbandit.service import (
    BidderSettings,
    BudgetSettings,
    Node,
    Outcome,
    ReturnOnSpendSettings,
    open_store,
)
from crossbandit.service.figures import under_delivery
from crossbandit.service.http import create_app
from tests.service.asgi import request
from tests.service.live import eventually
from tests.service.page.stub import budget
from tests.service.test_node import decide

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crossbandit.service import BidderFigures

HOUR, DAY = 3_600.0, 86_400.0
MIDNIGHT = time.time() // DAY * DAY - 2 * DAY
LARGE = BudgetSettings(1_000.0, per="day", pacing="even")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(open_store(tmp_path / "service.db"), publish=0.01, poll=0.05)
    made.start()
    yield made
    made.close()


def played(
    node: Node,
    hours: float,
    *,
    since: float = 0.0,
    auctions: int = 150,
    price: float = 2.0,
    told: bool = True,
    **settings: Any,
) -> BidderFigures:
    """Return the figures of a bidder after some hours of a day with evenly spread auctions."""
    given = {"budget": LARGE, **settings}
    bidder = BidderSettings(value_range=(0, 10), bids=21, seed=1, missing="accept", **given)
    node.create("shop", bidder)
    reported = 0
    for i in range(auctions):
        at = MIDNIGHT + since * HOUR + hours * HOUR * i / (auctions - 1)
        made = decide(node, "shop", 5.0, at=at)
        if made.token is None or made.amount is None or not told:
            continue
        won = made.amount >= price
        row = Outcome(made.token, won=won, highest_competing_bid=None if won else price)
        node.report("shop", [row]).result(30)
        reported += 1
    eventually(lambda: node.figures("shop").learned == reported)
    return node.figures("shop")


def test_a_budget_that_cannot_be_spent_raises_an_alert(node: Node) -> None:
    figures = played(node, 18, price=9.0)
    assert figures.limits[0].planned == pytest.approx(750, rel=0.01)
    (alert,) = figures.alerts
    assert alert.startswith("Far less was spent than planned. The budget of 1000 per day: spent 0")
    assert "too few auctions come, or too few are won" in alert
    metrics = request(create_app(node), "GET", "/metrics").content.decode()
    labels = '{bidder="shop",limit="budget",number="0"}'
    assert f"crossbandit_limit_under_delivery{labels} 1\n" in metrics
    assert 'crossbandit_alerts{bidder="shop"} 1\n' in metrics
    node.pause("shop")
    eventually(lambda: node.figures("shop").paused)
    assert node.figures("shop").alerts == ()  # somebody wants it not to spend


def test_money_that_waits_for_outcomes_is_named_as_the_cause(node: Node) -> None:
    budget = BudgetSettings(60.0, per="day", pacing="even")
    (alert,) = played(node, 18, told=False, budget=budget).alerts
    assert "report every outcome, set 'expires', or raise 'worst_case'" in alert


def test_it_is_said_how_late_outcomes_come() -> None:
    one = budget(amount=1_000.0, reserved=420.0, left=400.0, planned=750.0, auctions=200)
    assert under_delivery(one, (one,), 1_860.0).endswith(
        "Outcomes come 31 min late. Most of the money, 420, is reserved for bids without an "
        "outcome: report every outcome, set 'expires', or raise 'worst_case'."
    )
    assert "late" not in under_delivery(one, (one,), 5.0)


def test_a_target_is_named_as_the_cause(node: Node) -> None:
    target = ReturnOnSpendSettings(4.0)
    (alert,) = played(node, 18, target=target).alerts
    assert "A target holds bids back. The return on spend of 4" in alert


@pytest.mark.parametrize(
    "given",
    [
        {"hours": 10},  # the day has begun: more auctions may come later
        {"hours": 18, "auctions": 90},  # too few to judge by
        {"hours": 5, "since": 12, "price": 9.0},  # it began at noon
        {"hours": 18, "budget": BudgetSettings(100.0, per="day", pacing="even")},  # it is spent
        {"hours": 18, "budget": BudgetSettings(1_000.0, per="day", pacing="asap")},  # no plan
        {"hours": 18, "budget": [LARGE, BudgetSettings(50.0, per="day", pacing="even")]},
        {"hours": 18, "budget": [LARGE, BudgetSettings(50.0, per="day", pacing="asap")]},
    ],
)
def test_no_alert_without_a_fault(node: Node, given: dict[str, Any]) -> None:
    figures = played(node, **given)
    assert figures.alerts == ()
    assert not any(one.under_delivery for one in figures.limits)
