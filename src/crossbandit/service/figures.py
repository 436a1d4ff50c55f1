"""What is shown of a bidder: on the page, and as metrics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from crossbandit.service.tally import Minute, Tally

if TYPE_CHECKING:
    from crossbandit.applications import FirstPriceBidder
    from crossbandit.limits import LimitStatus
    from crossbandit.service.live import LiveBidder

_LOOKED_AT = 8  # recent auctions


class LimitFigures(msgspec.Struct, frozen=True):
    """How a limit stands; see `crossbandit.limits.LimitStatus`.

    Attributes:
        kind: "budget", "return-on-spend" or "cost-per".
        amount: The money of a budget or a cost, or the ratio of a return.
        spent: The money that was paid in this period.
        reserved: The money that bids without an outcome may still cost.
        left: What may still be bid.
        planned: What was to be spent by now; None where nothing is planned.
        slack: Under a target, what may be spent less what was spent; None under a budget.
        multiplier: How much a unit of money counts in bids.
        begins: When the period began, in seconds since 1970; None if it is not one of the clock.
        ends: When it ends.
        auctions: The auctions of the period.
        words: All this in words.
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
        depends: Whether the evidence is enough to say that they do.
        log_evidence: The logarithm of the evidence.
        gain: How much more is earned by bidding by value, by estimate; None where not known.
        rounds: How many outcomes were looked at.
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
        tally: What was counted.
        limits: How the limits stand.
        diagnosis: Whether prices depend on values.
        exploration: What random choices cost per auction now, by the bidder's own law, as money;
            None where it is not known.
        alerts: What somebody should look at, in words.
    """

    entry: int
    at: float
    tally: Tally
    limits: tuple[LimitFigures, ...] = ()
    diagnosis: DiagnosisFigures | None = None
    exploration: float | None = None
    alerts: tuple[str, ...] = ()


class BidderFigures(msgspec.Struct, frozen=True):
    """What is shown of a bidder.

    Attributes:
        name: Its name.
        paused: Whether it does not decide.
        limited: Whether it has a budget or a target.
        holder: The node that learns for it; "" if none does now.
        decisions: The decisions that this process has made.
        won: The auctions won, of all outcomes that were learned.
        lost: The auctions lost.
        refused: The outcomes that were not learned, by cause.
        win_rate: The share won; None if there are no outcomes.
        value_won: The sum of the values won.
        spend: The money paid.
        surplus: The values won less the money.
        limits: How the limits stand.
        learned: The number of the last entry that was learned.
        last: The number of the last entry of the log.
        lag: How many entries have not been learned.
        lag_seconds: For how long the oldest of them has waited, up to a second.
        policy_age: Seconds since the policy was published.
        diagnosis: Whether prices depend on values; None until it is known.
        exploration: What random choices cost per auction now, by the bidder's own law, as money;
            None where it is not known.
        alerts: What somebody should look at, in words.
        history: The latest minutes in which something happened. Their decisions are those of this
            process, or all of them under limits.
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
    """Return what is published of a bidder.

    Args:
        live: The bidder. Its lock must be held.
        at: The time.
        views: Earlier figures, whose diagnosis and exploration are used again; None to find them
            out, which takes some milliseconds.
    """
    bidder = live.bidder
    return LearnedFigures(
        entry=live.entry,
        at=at,
        tally=live.tally,
        limits=limit_figures(bidder),
        diagnosis=_diagnosis(bidder) if views is None else views.diagnosis,
        exploration=_exploration(bidder) if views is None else views.exploration,
        alerts=_alerts(live),
    )


def limit_figures(bidder: FirstPriceBidder) -> tuple[LimitFigures, ...]:
    """Return how the limits of a bidder stand.

    Args:
        bidder: The bidder.
    """
    return tuple(_limit(one) for one in bidder.limits)


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
    """Return what the bids in recent auctions earn less than the best ones, by the law itself."""
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


def _alerts(live: LiveBidder) -> tuple[str, ...]:
    watch = live.bidder.learner.watch
    return (watch.reason,) if watch.biased else ()
