"""What a bidder has learned is a function of its log, to the bits, however it was read."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
import numpy as np
import pytest

from crossbandit.algorithms.learners.tokens import Token, packed, unpacked
from crossbandit.applications import Bid, FirstPriceBidder
from crossbandit.errors import CheckpointError
from crossbandit.service import BidderSettings, BudgetSettings, ReturnOnSpendSettings
from crossbandit.service.bidder import LiveBidder
from crossbandit.service.contents import (
    Change,
    Request,
    Row,
    decision_of,
    encode,
    rows_of,
)
from crossbandit.service.figures import learned_figures
from crossbandit.service.settings import CampaignChanges, CampaignSettings, changed
from crossbandit.service.store import CHANGE, OUTCOMES, DecisionRow, Entries

PLAIN = BidderSettings(value_range=(0, 10), bids=11, seed=3)
LIMITED = BidderSettings(
    value_range=(0, 10),
    bids=11,
    seed=3,
    budget=[BudgetSettings(40.0, per="day"), BudgetSettings(9.0, per="hour", pacing="even")],
    target=ReturnOnSpendSettings(1.2, keep="long-run"),
    expires=50.0,
)
CASES = {
    "plain": PLAIN,
    "classes": BidderSettings(value_range=(0, 10), bids=11, seed=3, classes=("site",)),
    "guarded": BidderSettings(value_range=(0, 10), bids=11, seed=3, guarded=True),
    "refuse": BidderSettings(value_range=(0, 10), bids=11, seed=3, missing="refuse"),
    "limited": LIMITED,
    "limited classes": msgspec.structs.replace(LIMITED, classes=("site",)),
    "limited guarded": msgspec.structs.replace(LIMITED, guarded=True),
    "limited campaigns": BidderSettings(
        value_range=(0, 10),
        bids=11,
        seed=3,
        classes=("site", "campaign"),
        campaigns={
            "campaign0": CampaignSettings(LIMITED.budget, LIMITED.target),
            "campaign1": CampaignSettings(BudgetSettings(20.0, per="day", worst_case=0.1)),
            "campaign2": CampaignSettings(),
        },
        expires=50.0,
    ),
    "any amount": BidderSettings(seed=3, classes=("site",)),
    "limited to any amount": msgspec.structs.replace(LIMITED, value_range=None, bids=None),
    "limited to any amount below": msgspec.structs.replace(
        LIMITED, value_range=None, bids=None, max_bid=9.0, tick_size=0.01
    ),
}


def with_budgets(settings: BidderSettings, first: list[BudgetSettings], other: float) -> Any:
    """Return settings with other budgets: of the bidder or its first campaign, and of the next."""
    if settings.campaigns is None:
        return msgspec.structs.replace(settings, budget=first)
    second = [BudgetSettings(other, per="day")]
    new = {f"campaign{i}": CampaignChanges(one) for i, one in enumerate((first, second))}
    return changed("shop", settings, new)


def limits(live: LiveBidder) -> list[Any]:
    return [one for of in live.bidder.accounts.sets.values() if of for one in of.status()]


class Script:
    """Makes a log: decisions of several deciders, outcomes that are late, twice and corrected."""

    def __init__(self, settings: BidderSettings, renew: float = 0.02) -> None:
        self.settings, self.rng, self.renew = settings, np.random.default_rng(0), renew
        self.live, self.levels = LiveBidder(settings.build()), 3
        self.first = self.live.checkpoint()
        self.time, self.entry = 1_800_000_000.0, 0
        self.entries: list[Entries] = []
        self.decisions: list[DecisionRow] = []
        self.pending: list[Row] = []
        self.old: list[Row] = []
        self.deciders: list[FirstPriceBidder] = []

    def labels(self) -> dict[str, Any]:
        return {name: f"{name}{self.rng.integers(self.levels)}" for name in self.settings.classes}

    def decide(self) -> None:
        value, price = self.rng.uniform([1, 0.1], [10, 6]).tolist()
        self.time += float(self.rng.exponential(3.0))
        labels = self.labels()
        if self.settings.limited and self.rng.random() < 0.3:
            mixed: list[Any] = ["a", 3, "3", "a\0"]
            requests = [
                Request(value, reserve, self.time, {**labels, **odd}, self.time)
                for one, reserve in zip(mixed, (None, 2.0, None, 9.5), strict=True)
                for labels in [self.labels()]
                for odd in [{name: one for name in labels if name != "campaign"}]
            ]
            bids, rows = self.live.decide_many(requests)
            self.decisions += rows
            for one in bids:
                self.made(one, price)
            return
        if self.settings.limited:
            ahead = self.live.ahead(self.live.campaign(labels))
            bid, row = self.live.decide(Request(value, None, self.time, labels, self.time, ahead))
            self.decisions.append(row)
        else:
            if not self.deciders or self.rng.random() < self.renew:
                made = self.live.bidder.snapshot(int(self.rng.integers(1 << 30)))
                made.learner.clock = lambda: self.time
                self.deciders = [*self.deciders[-2:], made]
            at = self.rng.integers(len(self.deciders))
            bid = self.deciders[at].bid(value, **labels)
        self.made(bid, price)

    def made(self, bid: Bid, price: float) -> None:
        if bid.amount is None or bid.decision is None:
            return
        won = bid.amount >= price and bid.amount > 0
        self.pending.append(Row(bid.token, won, None if won else price))

    def report(self) -> None:
        self.rng.shuffle(self.pending)
        count = int(self.rng.integers(len(self.pending) + 1))
        rows, self.pending = self.pending[:count], self.pending[count:]
        self.old.extend(rows)
        if self.old and self.rng.random() < 0.2:
            rows = [*rows, self.old[self.rng.integers(len(self.old))]]
        if self.old and self.rng.random() < 0.2 and not self.settings.guarded:
            one = self.old[self.rng.integers(len(self.old))]
            turned = Row(one.token, not one.won, 9.5 if one.won else None, None, correction=True)
            rows = [*rows, turned]
        if rows:
            self.add(len(rows), OUTCOMES, encode(rows))

    def add(self, size: int, kind: str, content: bytes) -> None:
        self.entries.append(Entries(self.entry + 1, size, self.time, kind, content))
        self.entry += size
        self.live.learn(self.entries[-1])

    def run(self, steps: int) -> None:
        for _ in range(steps):
            for _ in range(int(self.rng.integers(1, 12))):
                self.decide()
            self.report()


def read(script: Script, every: int | None) -> LiveBidder:
    """Read a log from its beginning, and save and restore the bidder every so many entries."""
    live = LiveBidder().load(script.first)
    at = 0
    for i, one in enumerate([*script.entries, None]):
        while at < len(script.decisions) and script.decisions[at].after == live.entry:
            live.repeat(script.decisions[at])
            at += 1
        if every is not None and i % every == 0:
            live = LiveBidder().load(live.checkpoint())
        if one is not None:
            live.learn(one)
    assert at == len(script.decisions)
    return live


def check_that_any_reading_agrees(script: Script) -> None:
    wanted = script.live.checkpoint()
    for every in (None, 1, 7):
        assert read(script, every).checkpoint() == wanted


@pytest.mark.parametrize(
    "name",
    [name for name in CASES if name.startswith("limited") and name != "limited to any amount"],
)
def test_decisions_that_were_lost_leave_the_same_state_however_the_log_is_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crossbandit.service.bidder.SHARE", 1.0)
    budgets = [BudgetSettings(4e3, per="day"), BudgetSettings(2e3, per="hour", pacing="even")]
    settings = msgspec.structs.replace(with_budgets(CASES[name], budgets, 4e3), expires=1e5)
    script = Script(settings)
    script.run(30)
    count = len(script.decisions)
    last = next(  # that allowed all that follow
        one.number
        for one in script.decisions
        if one.number + 1 + decision_of(one.content).ahead >= count
    )
    assert last + 10 < count
    spent = [one.spent for one in limits(script.live)]
    assert min(spent) > 0
    states = []
    for every in (None, 1, 7):
        live = LiveBidder().load(script.first)
        decisions = script.decisions[: last + 1]
        for i, one in enumerate([*script.entries, None]):
            while decisions and decisions[0].after == live.entry:
                live.repeat(decisions.pop(0))
            if not decisions:
                live.recover(script.time)
            if every is not None and i % every == 0:
                live = LiveBidder().load(live.checkpoint())
            if one is not None:
                live.learn(one)
        states.append(live.checkpoint())
        assert [one.spent for one in limits(live)] == spent
        assert live.tally.refused == script.live.tally.refused
    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize("name", CASES)
def test_the_state_is_a_function_of_the_log(name: str) -> None:
    script = Script(CASES[name])
    script.run(60)
    check_that_any_reading_agrees(script)
    if script.settings.limited:
        budgets = [BudgetSettings(55.0, per="day"), BudgetSettings(7.0, per="hour", pacing="even")]
        after = with_budgets(script.settings, budgets, 9.0)
        if after.campaigns is None:
            target = ReturnOnSpendSettings(1.5, keep="long-run")
            after = changed("shop", after, {"": CampaignChanges(target=target)})
        else:  # one more
            new = CampaignChanges(BudgetSettings(8.0, per="hour"))
            after = changed("shop", after, {"campaign3": new})
        script.add(1, CHANGE, encode(Change(after.budget, after.target, after.campaigns)))
        assert [one.limit.amount for one in limits(script.live)[:2]] == [55.0, 7.0]
        script.levels = max(3, len(after.sets))
        script.run(20)
        check_that_any_reading_agrees(script)
    tally = script.live.tally
    assert tally.won > 3
    assert tally.lost > 3
    assert tally.refused.get("learned-before", 0) > 0


def test_the_law_is_that_of_a_plain_bidder_that_saw_each_outcome_once() -> None:
    script = Script(PLAIN)
    script.run(40)
    bidder = PLAIN.build()
    learner = bidder.learner
    learner.learner = script.live.bidder.learner.learner
    learner.clock = learner.seen.clock = learner.watch.clock = lambda: script.time
    seen = set()
    won = 0
    for one in script.entries:
        for row in rows_of(one.content):
            if row.correction:
                bidder.settle(
                    row.token,
                    won=row.won,
                    highest_competing_bid=row.highest_competing_bid,
                    correction=True,
                )
            elif row.token not in seen:
                seen.add(row.token)
                bidder.settle(
                    row.token, won=row.won, highest_competing_bid=row.highest_competing_bid
                )
                won += row.won
    mine, theirs = script.live.bidder.learner.law.arrays(), learner.law.arrays()
    assert set(mine) == set(theirs)
    for name, array in mine.items():
        assert np.array_equal(array, theirs[name]), name
    tally = script.live.tally
    assert tally.won + tally.lost == len(seen)


def test_a_clock_that_jumps_loses_no_outcome() -> None:
    script = Script(PLAIN)
    script.run(5)
    for jump in (3 * 86_400.0, -6 * 86_400.0, 3 * 86_400.0):  # within what is remembered
        script.time += jump
        script.run(5)
    refused = script.live.tally.refused
    assert set(refused) <= {"learned-before", "contradiction"}
    assert read(script, 2).checkpoint() == script.live.checkpoint()


@pytest.mark.parametrize("missing", ["warn", "refuse", "accept"])
def test_missing_losses_are_shown_and_refused_if_wanted(missing: str) -> None:
    script = Script(BidderSettings(value_range=(0, 10), bids=41, seed=1, missing=missing))
    decider = script.live.bidder.snapshot(1)
    decider.learner.clock = lambda: script.time
    for _ in range(30):
        script.time += 1.0
        values = script.rng.uniform(2, 10, 100)
        prices = values * script.rng.beta(2, 3, 100)
        bids = decider.bid_many(values)
        won = (bids.amounts >= prices) & (bids.amounts > 0)
        rows = [Row(bid.token, won=True) for bid in bids.part(won)]
        script.add(len(rows), OUTCOMES, encode(rows))
        decider.learner.follow(script.live.bidder.snapshot(1).learner)
    shown = learned_figures(script.live, script.time, None)
    assert len(shown.alerts) == (missing != "accept")
    assert all("those that lost are missing" in one for one in shown.alerts)
    assert ("Nothing is learned" in str(shown.alerts)) == (missing == "refuse")
    refused = script.live.tally.refused
    assert refused["missing-outcomes"] > 0 if missing == "refuse" else refused == {}
    assert read(script, 5).checkpoint() == script.live.checkpoint()


def test_a_setting_has_one_default_in_the_service_and_embedded() -> None:
    embedded = inspect.signature(FirstPriceBidder).parameters
    fields = {one.name: one for one in msgspec.structs.fields(BidderSettings)}
    own = {name for name, one in fields.items() if not one.required} - {"seed"}  # no default there
    assert own <= set(embedded)
    assert {name: fields[name].default for name in own} == {
        name: embedded[name].default for name in own
    }


def test_figures_are_those_of_the_log() -> None:
    script = Script(PLAIN)
    assert learned_figures(script.live, 0.0, None).exploration is None
    script.run(30)
    shown = learned_figures(script.live, script.time, None)
    assert shown.diagnosis is not None
    assert "no evidence" in shown.diagnosis.words
    assert shown.exploration is not None
    assert 0.0 <= shown.exploration < 5.0
    tally = shown.tally
    learned = tally.won + tally.lost
    assert sum(one.outcomes for one in tally.minutes) == learned
    assert sum(one.wins for one in tally.minutes) == tally.won
    assert sum(one.spend for one in tally.minutes) == pytest.approx(tally.spend)
    assert sum(one.surplus for one in tally.minutes) == pytest.approx(tally.value - tally.spend)
    assert [one.time for one in tally.minutes] == sorted({one.time for one in tally.minutes})


def test_a_correction_takes_back_what_was_counted() -> None:
    script = Script(PLAIN)
    while not script.pending or not script.pending[-1].won:
        script.decide()
    won = script.pending[-1]
    script.add(1, OUTCOMES, encode([won]))
    assert script.live.tally.spend > 0
    lost = Row(won.token, won=False, highest_competing_bid=9.9, correction=True)
    script.add(1, OUTCOMES, encode([lost]))
    tally = script.live.tally
    assert (tally.won, tally.lost, tally.spend, tally.value) == (0, 1, 0.0, 0.0)
    script.add(1, OUTCOMES, encode([lost]))  # again: nothing changes
    assert (tally.won, tally.lost, tally.corrected) == (0, 1, 2)


def test_a_made_up_token_is_counted_and_harms_nothing() -> None:
    script = Script(PLAIN)
    script.run(3)
    before = script.live.tally.won + script.live.tally.lost
    script.add(2, OUTCOMES, encode([Row(b"nonsense", won=True), Row(b"", won=False)]))
    assert script.live.tally.refused["damaged-token"] == 2
    assert script.live.tally.won + script.live.tally.lost == before


@pytest.mark.parametrize("name", ["plain", "classes", "guarded"])
def test_what_was_made_up_never_gets_into_a_checkpoint(name: str) -> None:
    live = LiveBidder(CASES[name].build())
    maker = live.bidder.snapshot()
    classes = dict.fromkeys(CASES[name].classes, "x")
    wrong = [float("nan"), -1.0, 1e308, 1, True, None, "x", (1,), (1.5,), (None,), 2**60, b""]
    entry = 0
    for place in range(len(unpacked(_token(maker, classes).payload))):
        for value in wrong:
            token = _token(maker, classes)
            payload = list(unpacked(token.payload))
            payload[place] = value
            for decider in (token.decider, token.learner):
                made_up = token._replace(payload=packed(tuple(payload)), decider=decider)
                rows = [Row(made_up.encode(), won=False, highest_competing_bid=10.0)]
                entry += 1
                live.learn(Entries(entry, 1, 1_800_000_000.0, OUTCOMES, encode(rows)))
    LiveBidder().load(live.checkpoint())
    assert live.policy(0.0).entry == entry
    assert live.tally.refused["damaged-token"] > 20


def test_made_up_times_do_not_make_other_decisions_expire() -> None:
    """Without a key, anyone can make up a date. There are too many of them to be remembered."""
    live, now = LiveBidder(PLAIN.build()), 1_800_000_000.0
    live.bidder.learner.seen.limit = 8 * 1024  # eight pages
    maker = live.bidder.snapshot()
    maker.learner.clock = lambda: now
    token = _token(maker, {})
    forged = [token._replace(decider=f"{i:016x}", time=now + 6.9 * 86_400) for i in range(20)]
    for i, one in enumerate(forged):
        rows = [Row(one.encode(), won=False, highest_competing_bid=10.0)]
        live.learn(Entries(i + 1, 1, now, OUTCOMES, encode(rows)))
    rows = [Row(token.encode(), won=False, highest_competing_bid=10.0)] * 2
    live.learn(Entries(21, 2, now, OUTCOMES, encode(rows)))
    assert (live.tally.lost, live.tally.refused) == (2, {"expired": 19, "learned-before": 1})


def _token(maker: FirstPriceBidder, classes: dict[str, Any]) -> Token:
    while (bid := maker.bid(9.0, **classes)).amount is None:
        pass
    return Token.decode(bid.token)


def test_decisions_that_a_backup_does_not_have_are_refused_and_checkpoints_can_be_read() -> None:
    live = LiveBidder(LIMITED.build())
    backup = live.checkpoint()
    made = [live.decide(Request(8.0, None, 1e9 + i, {}, 1e9 + i))[0] for i in range(5)]
    rows = [Row(one.token, won=True) for one in made if one.amount is not None]
    assert rows
    again = LiveBidder().load(backup)
    again.learn(Entries(1, len(rows), 1e9 + 9, OUTCOMES, encode(rows)))
    assert again.tally.refused == {"not-learned": len(rows)}
    assert LiveBidder().load(again.checkpoint()).checkpoint() == again.checkpoint()


def test_missing_entries_and_damaged_checkpoints_are_noticed() -> None:
    script = Script(PLAIN)
    script.run(3)
    fresh = LiveBidder().load(script.first)
    with pytest.raises(CheckpointError, match="Entry 1 is missing"):
        fresh.learn(script.entries[-1])
    good = script.live.checkpoint()
    for bad in (good.content[:-7], good.content.replace(b"header", b"hxader"), b""):
        with pytest.raises(CheckpointError):
            LiveBidder().load(good._replace(content=bad))
