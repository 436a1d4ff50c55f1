"""Strategies as they are operated: auction by auction, with outcomes that come late.

Learners are played by a `FirstPriceBidder`, which is asked for bids and settles them. Best
responses and bids that are given keep their limits by a pacer for each campaign. A bidder that
could make no bid is told nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.applications import FirstPriceBidder
from crossbandit.applications.bidding.campaigns import CAMPAIGN, Campaign
from crossbandit.laws.state import TOLD_AFTER
from crossbandit.limits import Budget, CostPer, ReturnOnSpend
from crossbandit.limits import state as col
from crossbandit.limits.status import status
from crossbandit.logs.replay.strategies import (
    LAW,
    BestResponse,
    Chunk,
    LawStrategy,
    LearnerStrategy,
    ReplaySetting,
    Strategy,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.applications.bidding.campaigns import Limited
    from crossbandit.core.types import Floats
    from crossbandit.limits import LimitStatus, Pacer

_EVERY = 64  # auctions between two looks at what is reserved


class Waiting(NamedTuple):
    """A bid without an outcome."""

    made: float
    bid: Any  # what its player settles
    value: float
    amount: float
    pacer: Pacer | None
    price: float  # what had to be beaten
    cell: int


class LateStrategy(Strategy):
    """A strategy whose outcomes come late, and what was reserved for its bids.

    `reserved` and `expected` are sums over `looks`: what bids without an outcome counted with, and
    were expected to cost. `held_back` counts the auctions without a bid because of them.
    """

    def __init__(self, strategy: Strategy, setting: ReplaySetting) -> None:
        self.inner = self.throttled = strategy
        self.name, self.kind, self.note = strategy.name, strategy.kind, strategy.note
        self._setting, self._waiting = setting, deque[Waiting]()
        self.looks = self.held_back = 0
        self.reserved = self.expected = 0.0

    def bids(self, chunk: Chunk) -> Floats:
        made, waiting, delay = np.zeros(chunk.values.size), self._waiting, self._setting.delay
        times = np.zeros(made.size) if chunk.times is None else chunk.times
        if self._setting.limits:
            self.pseudo = np.empty(made.size)
        columns = (chunk.values, chunk.prices, chunk.cells, times)
        for i, (value, price, cell, now) in enumerate(
            zip(*(one.tolist() for one in columns), strict=True)
        ):
            while waiting and (not delay or waiting[0].made + delay <= now):
                self._settle(waiting.popleft())
            bid, amount, pacer, worth = self._bid(chunk, i, value, now)
            made[i] = amount
            if bid is not None:
                waiting.append(Waiting(now, bid, value, amount, pacer, price, cell))
            if pacer is not None and self.pseudo is not None:
                self.pseudo[i] = worth
                self.held_back += amount == 0 and _is_held_back(pacer, value)
                if i % _EVERY == 0:
                    self._look(status(pacer))
        return made

    def _look(self, limits: Sequence[LimitStatus]) -> None:
        budgets = [one for one in limits if isinstance(one.limit, Budget)]
        if budgets:  # the same bids are reserved in all of them
            self.looks += 1
            self.reserved += float(budgets[0].reserved)
            self.expected += budgets[0].expected

    @abstractmethod
    def _bid(
        self, chunk: Chunk, i: int, value: float, now: float
    ) -> tuple[Any, float, Pacer | None, float]:
        """Return a bid, its amount (0 for none), what keeps the limits, and the pseudo-value.

        A bid of None has no outcome that could be told.
        """

    @abstractmethod
    def _settle(self, one: Waiting) -> None:
        """Take the outcome of a bid."""

    def _has_won(self, one: Waiting) -> bool:
        won = self._setting.rules.wins(np.array([one.amount]), np.array([one.price]))
        return bool(won[0])

    def curve(self, values: Floats) -> Floats:
        return self.inner.curve(values)


def _is_held_back(pacer: Pacer, value: float) -> bool:
    """Return whether no bid could be made because of money that is reserved."""
    core, lowest = pacer.reserved.core, int(pacer.rules.prices[pacer.lowest])
    return any(
        core.free_money(i, value) < lowest and money[col.GIVEN] - money[col.SPENT] >= lowest
        for i, money in enumerate(pacer.state.money.tolist())
    )


class LateBidder(LateStrategy):
    """A learner, as it is embedded."""

    inner: LawStrategy | LearnerStrategy

    def __init__(self, strategy: LawStrategy | LearnerStrategy, setting: ReplaySetting) -> None:
        super().__init__(strategy, setting)
        rules, limits = setting.rules, setting.limits
        self._names = [f"class_{i}" for i in range(setting.features)]
        if isinstance(strategy, LearnerStrategy):
            self._names = []
        one = setting.campaign is None
        if not one:
            self._names[setting.campaign or 0] = CAMPAIGN
        self._lays = setting.lays and strategy.name == LAW
        self.bidder = FirstPriceBidder(
            bids=None if self._lays else rules.amounts,
            value_range=None if self._lays else (0.0, float(rules.highest_value)),
            feedback=setting.feedback,
            reserve=rules.reserve,
            ties=rules.ties,
            classes=self._names,
            budget=list(limits.budgets) if one and limits.budgets else None,
            target=list(limits.targets) if one and limits.targets else None,
            campaigns=None if one else {},
            max_jump=None,
            horizon=setting.problem.horizon,
            missing="accept",
            **strategy.embedded,
        )
        self._campaigns: dict[str, Campaign] = {}
        strategy.follow(self.bidder)

    def _campaign(self, name: str) -> Campaign:
        budgets = [one for one in self._setting.each if isinstance(one, Budget)]
        targets = [one for one in self._setting.each if isinstance(one, ReturnOnSpend | CostPer)]
        made = self.bidder.campaign(name, budget=budgets or None, target=targets or None)
        self._campaigns[name] = made
        return made

    def bids(self, chunk: Chunk) -> Floats:
        if isinstance(self.inner, LawStrategy) and chunk.classes is not None:
            self.inner.look_at(chunk.classes[:, :-1])
        return super().bids(chunk)

    def _bid(
        self, chunk: Chunk, i: int, value: float, now: float
    ) -> tuple[Any, float, Pacer | None, float]:
        labels: dict[str, Any] = {}
        if self._names and chunk.classes is not None:
            labels = dict(zip(self._names, chunk.classes[i].tolist(), strict=False))
        limited: Limited = self.bidder
        if self._setting.campaign is not None:
            name = labels[CAMPAIGN] = str(labels[CAMPAIGN])
            limited = self._campaigns.get(name) or self._campaign(name)
        bid: Any = self.bidder.bid(value, at=now, **labels)
        amount = bid.amount or 0.0
        if bid.decision is None:
            bid = None
        spending = limited.spending
        if spending is None:
            return bid, amount, None, value
        return bid, amount, spending.pacer, spending.pacer.reserved.core.pseudo_value(value)

    def curve(self, values: Floats) -> Floats:
        if not self._lays or not isinstance(self.inner, LawStrategy):
            return super().curve(values)
        each = [dict(zip(self._names, one, strict=True)) for one in self.inner.recent]
        bids = [self.bidder.shading_curve(values, **labels).bids for labels in each]
        mean: Floats = np.mean(bids, axis=0)
        return np.nan_to_num(mean)  # at a value of 0 nothing is bid

    def _settle(self, one: Waiting) -> None:
        won = self._has_won(one)
        told = one.price if won in TOLD_AFTER[self._setting.feedback] else None
        self.bidder.settle(one.bid, won=won, highest_competing_bid=told)


class LateResponse(LateStrategy):
    """A best response, or bids that are given: those of a log, or a share of the value."""

    def __init__(self, strategy: Strategy, setting: ReplaySetting) -> None:
        super().__init__(strategy, setting)
        self._pacers: dict[int, Pacer | None] = {}
        self._given: Floats | None = None
        self._key = 0

    def bids(self, chunk: Chunk) -> Floats:
        if not isinstance(self.inner, BestResponse):
            self._given = self.inner.bids(chunk)
        return super().bids(chunk)

    def _bid(
        self, chunk: Chunk, i: int, value: float, now: float
    ) -> tuple[Any, float, Pacer | None, float]:
        rules, inner, pacer = self._setting.rules, self.inner, self._pacer_of(chunk, i)
        amounts, worth, cap = rules.amounts, value, rules.arms - 1
        if pacer is not None:
            last = int(np.searchsorted(amounts, value, "right")) - 1
            worth, _, cap = pacer.open(value, now, 0, last if self._given is None else cap)
        if isinstance(inner, BestResponse):
            arm, chance = inner.respond_to(min(worth, value), cap)
            amount = float(amounts[arm])
        else:
            amount, chance = float(self._given[i]), 1.0  # type: ignore[index]  # set by `bids`
            arm = min(int(np.searchsorted(amounts, amount)), rules.arms - 1)
            if pacer is not None and (arm > _affordable(pacer, value) or _is_ahead(pacer)):
                amount = 0.0
        self._key += 1
        if pacer is not None:
            if amount > 0.0:
                pacer.reserve(self._key, value, arm, arm, chance)
            else:
                pacer.decline(value)
        tells = amount > 0.0 or isinstance(inner, BestResponse)
        return self._key if tells else None, amount, pacer, worth

    def _pacer_of(self, chunk: Chunk, i: int) -> Pacer | None:
        """Return what keeps the limits of the campaign of an auction."""
        column, campaign = self._setting.campaign, 0
        if column is not None and chunk.classes is not None:
            campaign = int(chunk.classes[i, column])
        if campaign not in self._pacers:
            self._pacers[campaign] = found = self._setting.pacer()
            if isinstance(self.inner, BestResponse):
                self.inner.follow(found)
        return self._pacers[campaign]

    def _settle(self, one: Waiting) -> None:
        won = self._has_won(one)
        if one.pacer is not None and one.amount > 0.0:
            one.pacer.settle(one.bid, one.value, one.amount, won, one.price)
        if isinstance(self.inner, BestResponse):
            arm = int(np.searchsorted(self._setting.rules.amounts, one.amount))
            self.inner.learn_from(arm, one.cell)


def _affordable(pacer: Pacer, value: float) -> int:
    """Return the highest amount, by number, that breaks no limit; -1 if there is none."""
    core = pacer.reserved.core
    left = min(core.free_money(i, value) for i in range(len(pacer.limits)))
    return int(np.searchsorted(pacer.rules.prices, left, "right")) - 1


def _is_ahead(pacer: Pacer) -> bool:
    """Return whether more is spent, or expected to be, than a plan allows for up to now."""
    return any(
        one.planned is not None and float(one.spent) + one.expected > one.planned
        for one in status(pacer)
    )


def late(strategy: Strategy, setting: ReplaySetting) -> Strategy:
    """Return a strategy with late outcomes."""
    if isinstance(strategy, LawStrategy | LearnerStrategy):
        return LateBidder(strategy, setting)
    if isinstance(strategy, BestResponse) or setting.limits:
        return LateResponse(strategy, setting)
    return strategy  # it learns nothing, and has no money to reserve
