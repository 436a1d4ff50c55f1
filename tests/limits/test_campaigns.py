"""One bidder with campaigns: one law, and limits of each campaign by itself."""

from __future__ import annotations

import copy
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import (
    ForeignDecisionError,
    InvalidContextError,
    InvalidParameterError,
    LearnedBeforeError,
)
from crossbandit.limits import Budget, CostPer, Lease, ReturnOnSpend, SharedBudget
from crossbandit.limits.periods import Periods

if TYPE_CHECKING:
    from pathlib import Path

AT = 1_700_000_000.0
GRID = [round(0.1 * i, 1) for i in range(101)]


class Name(str, Enum):  # noqa: UP042 - its text is not its value
    SHOES = "running shoes"


ASAP: dict[str, Any] = {"per": "day", "pacing": "asap", "worst_case": 0}


def made(campaigns: Any, **given: Any) -> FirstPriceBidder:
    settings = {"bids": GRID, "value_range": (0, 10), "max_jump": None, "seed": 3, **given}
    return FirstPriceBidder(campaigns=campaigns, **settings)


def budgets(**amounts: float) -> dict[str, Any]:
    return {name: {"budget": Budget(amount, **ASAP)} for name, amount in amounts.items()}


def play(
    bidder: FirstPriceBidder, names: list[str], auctions: int, seed: int = 0
) -> dict[str, Any]:
    """Bid in auctions of campaigns in turn; return what each has paid."""
    rng = np.random.default_rng(seed)
    paid = dict.fromkeys(names, Decimal(0))
    for i in range(auctions):
        name = names[i % len(names)]
        bid = bidder.bid(float(rng.uniform(1, 10)), campaign=name, at=AT + i)
        price = float(rng.uniform(0, 6))
        if bid.decimal is not None:
            won = float(bid) >= price
            token = bid.token if i % 3 == 0 else bid
            bidder.settle(token, won=won, highest_competing_bid=None if won else price)
            paid[name] += bid.decimal if won else 0
    return paid


def test_each_campaign_keeps_its_own_limits() -> None:
    bidder = made({**budgets(shoes=20, boots=5), "caps": {"target": CostPer(2)}, "free": {}})
    paid = play(bidder, ["shoes", "boots", "caps", "free"], 2_000)
    shoes, boots, caps = (bidder.campaigns[one] for one in ("shoes", "boots", "caps"))
    assert [one.limits[0].spent for one in (shoes, boots, caps)] == [*paid.values()][:3]
    assert [one.limits[0].reserved for one in (shoes, boots)] == [0, 0]
    assert 19 < paid["shoes"] <= 20
    assert 4 < paid["boots"] <= 5
    assert float(caps.limits[0].slack or 0) >= 0
    assert paid["free"] > 100
    assert bidder.limits == bidder.campaigns["free"].limits == ()
    assert bidder.rounds > 400  # all of them learn one law
    assert bidder.missing_outcomes is not None


def test_one_campaign_bids_as_a_bidder_with_the_same_limits() -> None:
    alone = FirstPriceBidder(
        bids=GRID,
        value_range=(0, 10),
        classes=["campaign"],
        budget=Budget(20, per=500),
        seed=3,
    )
    bidder = made({"shoes": {"budget": Budget(20, per=500)}})
    assert play(alone, ["shoes"], 500) == play(bidder, ["shoes"], 500)
    assert alone.limits == bidder.campaigns["shoes"].limits


def test_many_bids_at_once_are_paid_by_their_campaigns() -> None:
    rng = np.random.default_rng(1)
    bidder = made({**budgets(shoes=6, boots=2), "free": {}}, classes=["site"])
    paid = dict.fromkeys(bidder.campaigns, 0.0)
    for i in range(40):
        names = rng.choice([*paid], 30)
        bids = bidder.bid_many(
            rng.uniform(1, 10, 30), campaign=names.tolist(), site="a", at=AT + 60 * i
        )
        prices = rng.uniform(0, 6, 30)
        won = bids.amounts >= prices
        given: Any = bids if i % 2 else bids.tokens
        bidder.settle_many(given, won=won, highest_competing_bid=np.where(won, np.nan, prices))
        for name in paid:
            paid[name] += float(np.nansum(bids.amounts[won & (names == name)]))
        assert [one.classes for one in bids] == [(name, "a") for name in names.tolist()]
        reasons = [one.reason for one in bids]
        assert all(
            (reason is None) == (bid.amount is not None)
            for reason, bid in zip(reasons, bids, strict=True)
        )
    for name in ("shoes", "boots"):
        status = bidder.campaigns[name].limits[0]
        assert float(status.spent) == pytest.approx(paid[name], abs=1e-9)
        assert status.reserved == 0
        amount = {"shoes": 6, "boots": 2}[name]
        assert amount - 0.5 < status.spent <= amount


def test_random_sequences_break_no_hard_cap(tmp_path: Path) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        share = float(rng.choice([0.0, 0.2, 1.0]))
        limits = {
            name: {"budget": Budget(float(rng.uniform(1, 8)), per="day", worst_case=share)}
            for name in "abc"
        }
        bidder = made(limits, expires=None)
        paid = dict.fromkeys("abc", Decimal(0))
        waiting: list[tuple[Any, str]] = []
        now = AT - AT % 86_400
        for step in range(400):
            now += float(rng.exponential(60))
            name = str(rng.choice([*"abc"]))
            deed = rng.random()
            if deed < 0.6:
                bid = bidder.bid(float(rng.uniform(1, 10)), campaign=name, at=now)
                if bid.amount is not None:
                    waiting.append((bid, name))
            elif deed < 0.95 and waiting:
                bid, name = waiting.pop(int(rng.integers(len(waiting))))
                won = rng.random() < 0.8  # far more often than the law expects
                given = bid if rng.random() < 0.5 else bid.token
                bidder.settle(given, won=won, highest_competing_bid=None if won else float(bid))
                paid[name] += bid.decimal if won else 0
            elif step % 5 == 0:
                bidder.save(tmp_path / "bidder")
                bidder = FirstPriceBidder.load(tmp_path / "bidder")
            for one, campaign in bidder.campaigns.items():
                status, most = campaign.limits[0], Decimal(repr(limits[one]["budget"].amount))
                open_bids = sum((bid.decimal for bid, of in waiting if of == one), Decimal(0))
                assert status.spent == paid[one]
                assert paid[one] + open_bids <= most * (1 + Decimal(repr(share)))


def test_a_campaign_is_paused_and_changed_by_itself() -> None:
    bidder = made(budgets(shoes=20, boots=5))
    shoes, boots = bidder.campaigns.values()
    shoes.pause()
    assert "paused" in str(shoes.bid(8.0, at=AT).reason)
    assert boots.bid(8.0, at=AT).amount is not None
    shoes.resume(at=AT)
    assert shoes.bid(8.0, at=AT).amount is not None
    shoes.change_limits(budget=Budget(1, **ASAP))
    assert [one.limits[0].limit for one in (shoes, boots)] == [Budget(1, **ASAP), Budget(5, **ASAP)]
    with pytest.raises(InvalidParameterError, match=r"campaigns\[name\].pause"):
        bidder.pause()


def test_a_file_has_all_campaigns(tmp_path: Path) -> None:
    bidder = made({**budgets(shoes=20, boots=5), "free": {}})
    play(bidder, ["shoes", "boots", "free"], 300)
    bidder.campaigns["boots"].pause()
    bidder.campaign("größer #1", budget=Budget(7, **ASAP), target=ReturnOnSpend(2))
    bid = bidder.bid(9.0, campaign="größer #1", at=AT + 999)
    bidder.save(tmp_path / "bidder")
    loaded = FirstPriceBidder.load(tmp_path / "bidder")
    loaded.settle(bid, won=True)
    bidder.settle(bid, won=True)
    for name, campaign in bidder.campaigns.items():
        assert loaded.campaigns[name].limits == campaign.limits
    assert play(loaded, ["shoes", "free"], 90) == play(bidder, ["shoes", "free"], 90)
    fewer = FirstPriceBidder.load(
        tmp_path / "bidder", campaigns={**budgets(shoes=30, hats=2), "free": {}}
    )
    assert [*fewer.campaigns] == ["shoes", "hats", "free"]
    assert fewer.campaigns["shoes"].limits[0].spent == bidder.campaigns["shoes"].limits[0].spent
    assert fewer.campaigns["hats"].limits[0].left == 2


def test_a_snapshot_has_a_lease_of_each_campaign() -> None:
    shared = {name: SharedBudget(Budget(100, per="day"), max_jump=None) for name in ("a", "b")}
    bidder = made(budgets(a=100, b=100))
    one = bidder.snapshot(seed=1)
    assert "lease" in str(one.bid(8.0, campaign="a", at=AT).reason)
    for name, holder in shared.items():
        one.campaigns[name].renew(holder.lease(4, pacing="asap", at=AT))
    other = FirstPriceBidder.from_bytes(one.to_bytes())  # has no money
    assert "lease" in str(other.bid(8.0, campaign="a", at=AT).reason)
    paid = Decimal(0)
    for i in range(200):
        bid = one.bid(8.0, campaign="a", at=AT + i)
        if bid.decimal is not None:
            one.settle(bid, won=True)
            bidder.settle(bid.token, won=True)  # learns, and does not pay
            paid += bid.decimal
    assert 3 < paid <= 4
    assert one.campaigns["a"].limits[0].spent == paid
    assert one.campaigns["b"].limits[0].spent == 0
    assert bidder.campaigns["a"].limits[0].spent == 0
    assert bidder.rounds == 0 < bidder.price_law(8.0, campaign="a").chances.size
    used = one.campaigns["a"].renew(None)
    assert shared["a"].take_back(used.id, used.used, used.most, at=AT + 300)
    assert shared["a"].left(at=AT + 300) == 100 - paid


def test_a_snapshot_pays_each_bid_once() -> None:
    bidder = made(budgets(a=100))
    one, other = bidder.snapshot(), bidder.snapshot()
    for snapshot in (one, other):
        snapshot.campaigns["a"].renew(Lease(str(id(snapshot)), 5.0, AT, AT + 1e6))
    bid = one.bid(8.0, campaign="a", at=AT)
    with pytest.raises(ForeignDecisionError, match="Settle it there"):
        other.settle(bid, won=True)
    one.settle(bid.token, won=True)
    with pytest.raises(LearnedBeforeError, match="settled before"):
        one.settle(bid, won=True)
    assert one.campaigns["a"].limits[0].spent == bid.decimal


def test_a_copy_keeps_the_campaigns_apart() -> None:
    twin = copy.deepcopy(made(budgets(a=3, b=4)))
    with pytest.raises(InvalidParameterError, match="is a copy"):
        twin.bid(8.0, campaign="a", at=AT)
    locks = {id(one.spending.lock) for one in twin.campaigns.values() if one.spending}
    assert len(locks) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"campaigns": ["a"]}, "a limit or several for each name"),
        ({"campaigns": {"a": Budget(3)}}, "a limit or several for each name"),
        ({"campaigns": {"a": {"cap": 3}}}, "a limit or several for each name"),
        ({"campaigns": {7: {}}}, "a text that is not empty. Got 7"),
        ({"campaigns": {"a": {"budget": "3"}}}, "a Budget or a Lease"),
        ({"campaigns": {"a": {"budget": Budget(0.05)}}}, "at least the lowest bid, 0.1"),
        ({"campaigns": {}, "budget": Budget(5)}, "left out with campaigns"),
        ({"campaigns": {}, "algorithm": "cross-graph"}, "unless the algorithm is the law"),
        ({"campaigns": {}, "bids": None, "value_range": None}, "limits plan with the prices"),
    ],
)
def test_impossible_campaigns(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        made(**given)


def test_names_of_campaigns() -> None:
    bidder = made(budgets(shoes=3))
    with pytest.raises(InvalidParameterError, match="There is a campaign 'shoes' already"):
        bidder.campaign("shoes", budget=Budget(5))
    with pytest.raises(InvalidContextError, match=r"a campaign \('shoes'\).* Got 'boots'"):
        bidder.bid(3.0, campaign="boots")
    with pytest.raises(InvalidContextError, match="Got 'boots'"):
        bidder.bid_many([3.0, 4.0], campaign=["shoes", "boots"])
    assert bidder.rounds == 0
    with pytest.raises(InvalidParameterError, match="has no campaigns"):
        made(None).campaign("shoes")


def test_a_campaign_whose_lease_another_bidder_has_is_not_added() -> None:
    lease = Lease("one", 4.0, AT, AT + 1e6, pacing="asap")
    made(None, budget=lease)
    bidder = made({})
    with pytest.raises(InvalidParameterError, match="no bidder has or had"):
        bidder.campaign("shoes", budget=lease)
    assert bidder.campaigns == {}
    assert bidder.campaign("shoes", budget=Budget(5)).limits[0].left == 5


@pytest.mark.parametrize("name", ["x" * 200_000, Name.SHOES])
def test_any_name_is_paid_and_saved(name: str, tmp_path: Path) -> None:
    bidder = made({name: {"budget": Budget(20, **ASAP)}})
    bid = bidder.bid(9.0, campaign=name, at=AT)
    bidder.settle(bid.token, won=True)
    bidder.save(tmp_path / "bidder")
    loaded = FirstPriceBidder.load(tmp_path / "bidder")
    status = loaded.campaigns[str.__str__(name)].limits[0]
    assert status.spent == bid.decimal
    assert status.reserved == 0


def test_a_bid_of_a_bidder_with_fewer_classes_is_refused() -> None:
    other = made(None, classes=["site"]).bid(5.0, site="a", at=AT)
    bidder = made(budgets(shoes=3), classes=["site", "campaign"])
    with pytest.raises(ForeignDecisionError):
        bidder.settle(other, won=True)


def test_a_snapshot_pays_what_was_placed() -> None:
    one = made(budgets(a=100)).snapshot(seed=1)
    one.campaigns["a"].renew(Lease("placed", 50.0, AT, AT + 1e6, pacing="asap"))
    bids = one.bid_many([8.0, 9.0], campaign="a", at=AT)
    with pytest.raises(InvalidParameterError, match="has no settle_many"):
        one.settle_many(bids, won=[True, True])
    one.settle(bids[0], won=True, placed=7.3)
    assert one.campaigns["a"].limits[0].spent == Decimal("7.3")


def test_a_win_by_another_amount_corrects_a_loss_whose_price_was_told() -> None:
    bidder = made(budgets(a=100))
    bid = bidder.bid(9.0, campaign="a", at=AT)
    bidder.settle(bid, won=False, highest_competing_bid=8.0)
    bidder.settle(bid, won=True, placed=9.5, correction=True)
    assert bidder.campaigns["a"].limits[0].spent == Decimal("9.5")


def test_a_bidder_can_be_loaded_after_a_correction_of_another_amount(tmp_path: Path) -> None:
    bidder = made({"a": {}}, feedback="won-lost")
    bid = bidder.bid(9.0, campaign="a")
    bidder.settle(bid, won=True, placed=0.15)
    bidder.settle(bid, won=False, correction=True)
    bidder.save(tmp_path / "bidder")
    loaded = FirstPriceBidder.load(tmp_path / "bidder")
    assert loaded.policy(9.0, campaign="a").tolist() == bidder.policy(9.0, campaign="a").tolist()


@pytest.mark.parametrize("name", ["set_plan", "_clear", "give"])
@pytest.mark.parametrize("first", [True, False])
def test_a_period_begins_again_after_an_interrupt(
    name: str, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"a": {"budget": Budget(20, **ASAP)}}
    bidder, plain = made(limits), made(limits)
    if not first:
        for one in (bidder, plain):
            one.settle(one.bid(9.0, campaign="a", at=AT - 86_400), won=True)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Periods, name, stop)
        with pytest.raises(KeyboardInterrupt):
            bidder.bid(9.0, campaign="a", at=AT)
    paid = Decimal(0)
    for one in (plain, bidder):
        paid = Decimal(0)
        for i in range(2):
            bid = one.bid(9.0, campaign="a", at=AT + 1 + i)
            one.settle(bid, won=True)
            paid += bid.decimal or 0
        one.bid_many([9.0], campaign="a", at=AT + 9)  # looks whether a period is due
    ours, theirs = (one.campaigns["a"].limits[0] for one in (bidder, plain))
    assert (ours.begins, ours.ends) == (theirs.begins, theirs.ends) != (None, None)
    assert ours.spent == paid > 0
    assert ours.spent + ours.outstanding + ours.left == 20
    assert bidder.bid(9.0, campaign="a", at=AT + 86_400).amount is not None
    assert bidder.campaigns["a"].limits[0].spent == 0
