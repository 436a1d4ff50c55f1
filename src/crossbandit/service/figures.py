"""The figures of a bidder, for the page and for metrics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from crossbandit.service.tally import Minute, Tally

if TYPE_CHECKING:
    from crossbandit.applications import FirstPriceBidder
    from crossbandit.limits import LimitStatus
    from crossbandit.service.live import LiveBidder

_LOOKED_AT = 8  # the number of recent auctions that are used


class LimitFigures(msgspec.Struct, frozen=True):
    """The state of a limit; see `crossbandit.limits.LimitStatus`.

    Attributes:
        kind: "budget", "return-on-spend" or "cost-per".
        amount: The money of a budget or a cost, or the ratio of a return.
        spent: The money paid in this period.
        reserved: The money that bids without an outcome may still cost.
        left: The money that may still be bid.
        planned: The money that the plan allows by now; None if there is no plan.
        slack: For a target, the money that may be spent less the money spent; None for a budget.
        multiplier: The number by which values are divided before bidding.
        begins: The start of the period, in seconds since 1970; None if the period is not a time.
        ends: The end of the period.
        auctions: The number of auctions in the period.
        words: The state in words.
    """

    kind: str
    amount: float
    spent: float
    reserved: float
    left: float
    planned: float | None
    slack: float | None
    multiplier: float
    begins: float | None
    ends: float | None
    auctions: int
    words: str


class DiagnosisFigures(msgspec.Struct, frozen=True):
    """Whether prices depend on values; see `crossbandit.laws.Diagnosis`.

    Attributes:
        words: The diagnosis in words.
        depends: Whether there is enough evidence that they do.
        log_evidence: The logarithm of the evidence.
        gain: The estimated gain from prices that depend on the value; None if it is not known.
        rounds: The number of outcomes used.
    """

    words: str
    depends: bool
    log_evidence: float
    gain: float | None
    rounds: int


class LearnedFigures(msgspec.Struct, frozen=True):
    """What the learner of a bidder publishes with its policy.

    Attributes:
        entry: The number of the last entry that was learned.
        at: When it was published.
        tally: The counts of outcomes.
        limits: The state of each limit.
        diagnosis: Whether prices depend on values.
        exploration: The present cost of random choices per auction, as money, by the bidder's own
            law; None if it is not known.
        alerts: Problems that somebody should look at, in words.
    """

    entry: int
    at: float
    tally: Tally
    limits: tuple[LimitFigures, ...] = ()
    diagnosis: DiagnosisFigures | None = None
    exploration: float | None = None
    alerts: tuple[str, ...] = ()


class BidderFigures(msgspec.Struct, frozen=True):
    """The figures of a bidder.

    Attributes:
        name: Its name.
        paused: Whether it is paused.
        limited: Whether it has a budget or a target.
        holder: The node that learns for it; "" if none does now.
        decisions: The number of decisions that this process has made.
        won: The number of auctions won, of all outcomes that were learned.
        lost: The number of auctions lost.
        refused: The number of outcomes that were not learned, by cause.
        win_rate: The share of auctions won; None if there are no outcomes.
        value_won: The sum of the values won.
        spend: The money paid.
        surplus: The values won less the money paid.
        limits: The state of each limit.
        learned: The number of the last entry that was learned.
        last: The number of the last entry of the log.
        lag: The number of entries that have not been learned.
        lag_seconds: How long the oldest of them has waited, to about a second.
        policy_age: Seconds since the policy was published.
        diagnosis: Whether prices depend on values; None until it is known.
        exploration: The present cost of random choices per auction, as money, by the bidder's own
            law; None if it is not known.
        alerts: Problems that somebody should look at, in words.
        history: The latest minutes in which something happened. They count the decisions of this
            process, or all decisions if the bidder has limits.
    """

    name: str
    paused: bool
    limited: bool
    holder: str
    decisions: int
    won: int
    lost: int
    refused: dict[str, int]
    win_rate: float | None
    value_won: float
    spend: float
    surplus: float
    limits: tuple[LimitFigures, ...]
    learned: int
    last: int
    lag: int
    lag_seconds: float
    policy_age: float
    diagnosis: DiagnosisFigures | None
    exploration: float | None
    alerts: tuple[str, ...]
    history: tuple[Minute, ...]


def learned_figures(live: LiveBidder, at: float, views: LearnedFigures | None) -> LearnedFigures:
    """Return the figures that are published with a policy.

    Args:
        live: The bidder. The caller must hold its lock.
        at: The time.
        views: Earlier figures, whose diagnosis and exploration are reused; None to compute new
            ones, which takes some milliseconds.
    """
    bidder, watch = live.bidder, live.bidder.learner.watch
    return LearnedFigures(
        entry=live.entry,
        at=at,
        tally=live.tally,
        limits=tuple(map(_limit, bidder.limits)),
        diagnosis=_diagnosis(bidder) if views is None else views.diagnosis,
        exploration=_exploration(bidder) if views is None else views.exploration,
        alerts=(watch.reason,) if watch.biased else (),
    )


def _limit(status: LimitStatus) -> LimitFigures:
    limit = status.limit
    return LimitFigures(
        kind=limit.kind,
        amount=float(getattr(limit, "ratio", 0.0) or getattr(limit, "amount", 0.0)),
        spent=float(status.spent),
        reserved=float(status.reserved),
        left=float(status.left),
        planned=status.planned,
        slack=None if status.slack is None else float(status.slack),
        multiplier=status.multiplier,
        begins=status.begins,
        ends=status.ends,
        auctions=status.auctions,
        words=str(status),
    )


def _diagnosis(bidder: FirstPriceBidder) -> DiagnosisFigures:
    found = bidder.diagnosis()
    gain = None if math.isnan(found.gain) else found.gain
    return DiagnosisFigures(str(found), found.depends, found.log_evidence, gain, found.rounds)


def _exploration(bidder: FirstPriceBidder) -> float | None:
    """Return how much less recent bids earn than the best bids, by the bidder's own law."""
    recent = bidder.learner.test.settings()["recent"][-_LOOKED_AT:]
    if bidder.limits or not recent:
        return None
    costs = []
    for value, *labels in recent:
        classes = dict(zip(bidder.classes, labels, strict=True))
        chances = bidder.policy(value, **classes)
        payoffs = (value - bidder.bids) * bidder.price_law(value, **classes).chances
        possible = payoffs if not bidder.rules.at_most_value else payoffs[bidder.bids <= value]
        costs.append(float(possible.max() - chances @ payoffs))
    return max(sum(costs) / len(costs), 0.0)
