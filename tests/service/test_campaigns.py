"""Campaigns of a served bidder: one law, and limits of each campaign by itself."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from crossbandit.errors import InvalidContextError, InvalidParameterError
from crossbandit.service import (
    BidderSettings,
    BudgetSettings,
    CampaignChanges,
    CampaignSettings,
    CostPerSettings,
    Decided,
    HeldElsewhereError,
    Node,
    Outcome,
    UnknownCampaignError,
    open_store,
)
from crossbandit.service.settings import add_bidders, read_bidders
from tests.service.test_crashes import cost, state, vanish, wins
from tests.service.test_node import decide, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


ASAP: dict[str, Any] = {"per": "day", "pacing": "asap", "worst_case": 0.0}


def shop(**amounts: float | None) -> BidderSettings:
    campaigns = {
        name: CampaignSettings(None if amount is None else BudgetSettings(amount, **ASAP))
        for name, amount in amounts.items()
    }
    return BidderSettings(value_range=(0, 10), bids=11, seed=1, campaigns=campaigns)


@pytest.fixture
def node(address: str) -> Iterator[Node]:
    made = Node(open_store(address), poll=0.05, publish=0.05)
    made.start()
    yield made
    made.close()


def bid(node: Node, campaign: str, value: float = 10.0) -> Decided:
    return decide(node, "shop", value, classes={"campaign": campaign})


def play(node: Node, names: list[str], count: int, seed: int = 0) -> dict[str, float]:
    """Bid in auctions of campaigns in turn, report them, and return what each has paid."""
    rng = np.random.default_rng(seed)
    paid, outcomes = dict.fromkeys(names, 0.0), []
    for i in range(count):
        name, price = names[i % len(names)], float(rng.uniform(0, 6))
        made = bid(node, name, float(rng.uniform(1, 10)))
        if made.amount is not None:
            won = made.amount >= price
            outcomes.append(Outcome(made.token or "", won, None if won else price))
            paid[name] += made.amount if won else 0.0
    before = learned(node)
    node.report("shop", outcomes).result(30)
    wait_until(lambda: learned(node) == before + len(outcomes))
    return paid


def learned(node: Node) -> int:
    figures = node.figures("shop")
    return figures.won + figures.lost


def status(node: Node, campaign: str) -> Any:
    return node.bidder("shop").campaigns[campaign].limits[0]


def test_each_campaign_keeps_its_own_limits_over_a_restart(address: str) -> None:
    node = Node(open_store(address), poll=0.05, publish=0.05)
    node.start()
    node.create("shop", shop(shoes=40.0, boots=9.0, free=None))
    paid = dict.fromkeys(["shoes", "boots", "free"], 0.0)
    for seed in range(8):
        for name, amount in play(node, [*paid], 45, seed).items():
            paid[name] += amount
    node.close()
    node = Node(open_store(address), poll=0.05, publish=0.05)
    node.start()
    assert bid(node, "boots", 1.0) is not None
    for name, most in (("shoes", 40.0), ("boots", 9.0)):
        found = status(node, name)
        assert float(found.spent) == paid[name]
        assert most - 4.0 <= found.spent + found.reserved <= most
    figures = node.figures("shop")
    assert paid["free"] == figures.campaigns["free"].spend > 40.0
    assert {name: one.spend for name, one in figures.campaigns.items()} == paid
    assert sum(one.won for one in figures.campaigns.values()) == figures.won
    assert sum(one.lost for one in figures.campaigns.values()) == figures.lost
    assert figures.value_won == pytest.approx(
        sum(one.value_won for one in figures.campaigns.values())
    )
    assert [(one.campaign, one.amount) for one in figures.limits] == [
        ("shoes", 40.0),
        ("boots", 9.0),
    ]
    assert (figures.limited, figures.exploration) == (True, None)
    node.close()


def test_a_correction_counts_for_its_campaign(node: Node) -> None:
    node.create("shop", shop(shoes=40.0, boots=9.0))
    made = bid(node, "boots")
    node.report("shop", wins([made])).result(30)
    wait_until(lambda: node.figures("shop").campaigns["boots"].won == 1)
    lost = Outcome(made.token or "", False, 9.9, correction=True)
    node.report("shop", [lost]).result(30)
    wait_until(lambda: node.figures("shop").campaigns["boots"].lost == 1)
    one = node.figures("shop").campaigns["boots"]
    assert (one.won, one.spend, one.value_won) == (0, 0.0, 0.0)
    assert status(node, "boots").spent == 0


def test_a_batch_is_paid_by_its_campaigns_and_read_again_as_it_was_decided(address: str) -> None:
    node = Node(open_store(address), poll=0.05, publish=1e6)
    node.start()
    node.create("shop", shop(shoes=3000.0, boots=2000.0, free=None))
    rng = np.random.default_rng(3)
    tokens: dict[str, list[Decided]] = {}
    for _ in range(6):
        names = rng.choice(["shoes", "boots", "free"], 40).tolist()
        made: Any = node.decide_many(
            "shop", rng.uniform(1, 10, 40).tolist(), classes={"campaign": names}
        )
        for name, one in zip(names, made.result(30), strict=True):
            tokens.setdefault(name, []).append(one)
    before = {name: status(node, name) for name in ("shoes", "boots")}
    for name, found in before.items():
        assert float(found.outstanding) == pytest.approx(cost(tokens[name]))
    vanish(node)  # it is read from the log
    again = state(address, "shop").bidder
    assert {name: again.campaigns[name].limits[0] for name in before} == before


def test_a_campaign_is_paused_and_resumed_by_itself(node: Node, address: str) -> None:
    node.create("shop", shop(shoes=40.0, boots=9.0))
    node.pause("shop", "shoes")
    assert "'shoes' is paused" in str(bid(node, "shoes").reason)
    assert bid(node, "boots").amount is not None
    made: Any = node.decide_many(
        "shop", [9.0, 8.0, 7.0], classes={"campaign": ["shoes", "boots", "shoes"]}
    )
    first, second, third = made.result(30)
    assert first.amount is third.amount is None
    assert "is paused" in first.reason == third.reason
    assert second.amount is not None
    none: Any = node.decide_many("shop", [9.0], classes={"campaign": "shoes"})
    assert none.result(30) == [first]
    assert node.figures("shop").campaigns["shoes"].paused
    other = Node(open_store(address), poll=60.0, learn=False)
    other.start()
    other.resume("shop", "shoes")
    wait_until(lambda: not node.settings("shop").sets["shoes"].paused)
    assert bid(node, "shoes").amount is not None
    with pytest.raises(UnknownCampaignError, match="Existing campaigns: boots, shoes"):
        other.pause("shop", "hats")
    assert not node.figures("shop").paused
    other.close()


def test_limits_of_one_campaign_are_changed_and_campaigns_added(node: Node) -> None:
    node.create("shop", shop(shoes=40.0, free=None))
    paid = play(node, ["shoes", "free"], 60)
    raised = CampaignChanges(budget=BudgetSettings(90.0, **ASAP))
    hats = CampaignChanges(BudgetSettings(5.0, **ASAP), CostPerSettings(3.0, per="day"))
    node.change("shop", campaigns={"shoes": raised, "hats": hats})
    wait_until(lambda: "hats" in node.bidder("shop").campaigns)
    assert float(status(node, "shoes").spent) == paid["shoes"]
    assert status(node, "shoes").limit.amount == 90.0
    assert bid(node, "hats").amount is not None
    assert node.settings("shop").sets["free"] == CampaignSettings()
    node.change("shop", campaigns={"hats": CampaignChanges(target=CostPerSettings(2.0, per="day"))})
    assert node.settings("shop").sets["hats"].budget == hats.budget
    for changes, words in (
        ({"shoes": CampaignChanges(budget=BudgetSettings(90.0, per="hour"))}, "kinds and periods"),
        ({"shoes": CampaignChanges(budget=None)}, "campaign 'shoes' .* not removed"),
        ({"free": CampaignChanges(budget=BudgetSettings(9.0))}, "created without limits"),
        ({"socks": CampaignChanges(budget=BudgetSettings(-9.0))}, "'amount'"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            node.change("shop", campaigns=changes)
    with pytest.raises(InvalidParameterError, match="Change these: free, hats"):
        node.change("shop", budget=BudgetSettings(3.0))
    node.create("plain", BidderSettings(value_range=(0, 10), bids=11))
    with pytest.raises(InvalidParameterError, match="has no campaigns"):
        node.change("plain", campaigns={"hats": hats})
    assert node.figures("shop").alerts == ()


def test_a_campaign_that_there_is_not_is_an_error_that_names_the_others(node: Node) -> None:
    node.create("shop", shop(shoes=40.0, boots=9.0))
    for classes in ({"campaign": "hats"}, {"campaign": None}):
        with pytest.raises(UnknownCampaignError, match="Existing campaigns: boots, shoes"):
            decide(node, "shop", 9.0, classes=classes)
    with pytest.raises(UnknownCampaignError, match="no campaign 'hats'"):
        node.decide_many("shop", [9.0, 8.0], classes={"campaign": ["shoes", "hats"]})
    with pytest.raises(InvalidContextError, match="campaign"):
        decide(node, "shop", 9.0)
    found = status(node, "shoes")
    assert (found.reserved, found.auctions) == (0, 0)


def test_a_bidder_without_campaigns_may_have_a_feature_of_that_name(node: Node) -> None:
    budget = BudgetSettings(900.0, **ASAP)
    plain = BidderSettings(value_range=(0, 10), bids=11, classes=("campaign",), budget=budget)
    node.create("shop", plain)
    assert bid(node, "any").amount is not None
    assert node.figures("shop").campaigns == {}
    assert [one.campaign for one in node.figures("shop").limits] == [""]


def test_only_the_node_with_the_lease_decides_for_campaigns(address: str, node: Node) -> None:
    node.create("shop", shop(free=None))
    other = Node(open_store(address), poll=0.05, learn=False)
    other.start()
    with pytest.raises(HeldElsewhereError):
        other.decide("shop", 9.0, classes={"campaign": "free"})
    assert other.bidder("shop").campaigns.keys() == {"free"}
    other.close()


def early(node: Node, campaign: str, count: int) -> list[Decided]:
    return [one for one in (bid(node, campaign) for _ in range(count)) if one.amount is not None]


def test_what_a_crash_takes_from_the_log_is_not_spent_again_by_any_campaign(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crossbandit.service.bidder.SHARE", 0.6)  # small budgets are enough
    node = Node(open_store(address), poll=0.05, publish=1e6)
    node.start()
    node.create("shop", shop(shoes=100.0, boots=60.0, hats=200.0, free=None))
    bidder = node.directory.find("shop")
    wait_until(lambda: bidder.policy is not None and bidder.state is not None)
    made: dict[str, list[Decided]] = {"shoes": [], "boots": [], "free": []}
    for name in [*made, *made, *made]:
        made[name] += early(node, name, 1)
    vanish(node)
    session = open_store(address).session()
    logged = len(session.decisions(bidder.row.id, 0))
    session.close()
    assert logged < sum(map(len, made.values()))  # some were answered, and are not in the log
    node = Node(open_store(address), poll=0.05, publish=0.05)
    node.start()
    only = early(node, "hats", 1)
    assert float(status(node, "hats").outstanding) == cost(only)  # none could be lost before
    for name in ("shoes", "boots"):
        lost = cost(made[name])
        assert status(node, name).outstanding >= lost
    for name in made:
        made[name] += early(node, name, 100)
    everything = [one for some in made.values() for one in some]
    node.report("shop", wins(everything)).result(30)
    wait_until(lambda: learned(node) == len(everything))
    for name, most in (("shoes", 100.0), ("boots", 60.0)):
        assert float(status(node, name).spent) == cost(made[name]) <= most
    assert len({one.token for one in everything}) == len(everything)
    assert node.figures("shop").refused == {}
    node.close()


def test_a_campaign_is_answered_early_only_as_far_as_its_own_money_goes(address: str) -> None:
    node = Node(open_store(address), poll=0.05, publish=1e6)
    node.start()
    node.create("shop", shop(rich=100_000.0, poor=20.0))
    bidder = node.directory.find("shop")
    wait_until(lambda: bidder.policy is not None and bidder.state is not None)
    for _ in range(3):
        for name in ("rich", "poor"):
            bid(node, name)
    kinds = {
        name: type(node.decide("shop", 9.0, classes={"campaign": name}))
        for name in ("rich", "poor")
    }
    assert kinds == {"rich": Decided, "poor": Future}
    node.close()


def test_campaigns_of_a_file_are_created_added_and_changed(tmp_path: Path) -> None:
    file = tmp_path / "bidders.toml"
    head = "[bidders.shop]\nvalue_range = [0, 10]\nbids = 11\n"
    table = "[bidders.shop.campaigns.{}]\nbudget = {{amount = {}, pacing = 'asap'}}\n"
    file.write_text(head + table.format("shoes", 40))
    node = Node(open_store(tmp_path / "service.db"), poll=0.05)
    node.start()
    add_bidders(node, read_bidders(file))
    node.pause("shop", "shoes")
    file.write_text(head + table.format("shoes", 50) + table.format("hats", 7) + "paused = true\n")
    add_bidders(node, read_bidders(file))
    sets: Any = node.settings("shop").sets
    assert {name: (one.budget.amount, one.paused) for name, one in sets.items()} == {
        "shoes": (40.0, True),
        "hats": (7.0, True),
    }
    add_bidders(node, read_bidders(file), limits_from_file=True)
    sets = node.settings("shop").sets
    assert (sets["shoes"].budget.amount, sets["shoes"].paused) == (50.0, True)
    file.write_text(head + "[bidders.shop.campaigns.shoes]\nbudjet = 3\n")
    with pytest.raises(InvalidParameterError, match=r"campaigns.*budjet"):
        read_bidders(file)
    node.close()


def test_spending_that_is_far_behind_is_said_of_the_campaign_that_is_behind(node: Node) -> None:
    budget = BudgetSettings(100_000.0, per=200, pacing="even", worst_case=0.0)
    campaigns = {"slow": CampaignSettings(budget), "off": CampaignSettings(budget, paused=True)}
    node.create("shop", msgspec.structs.replace(shop(free=None), campaigns=campaigns))
    play(node, ["slow"], 150)
    (alert,) = node.figures("shop").alerts
    assert alert.startswith("Campaign 'slow': Far less was spent than planned.")
    before = time.monotonic()
    node.pause("shop", "slow")
    wait_until(lambda: not node.figures("shop").alerts)
    assert time.monotonic() < before + 30
