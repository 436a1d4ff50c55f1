"""The figures of a bidder, for the page and for metrics."""

from __future__ import annotations

import math
from bisect import bisect_left
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from crossbandit.core.progress import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crossbandit.applications import FirstPriceBidder
    from crossbandit.applications.bidding.campaigns import Limited
    from crossbandit.core.types import Booleans
    from crossbandit.limits import LimitStatus
    from crossbandit.service.bidder import LiveBidder


MINUTES = 24 * 60  # the number of minutes that are kept
_LATELY = 100.0  # outcomes over which their delay is averaged


class Minute(msgspec.Struct, array_like=True):
    """What happened in one minute.

    Attributes:
        time: The start of the minute, in seconds since 1970.
        decisions: The number of decisions made under limits.
        outcomes: The number of outcomes learned.
        wins: The number of auctions won among them.
        spend: The money paid for them.
        surplus: The values won less the money paid.
    """

    time: int
    decisions: int = 0
    outcomes: int = 0
    wins: int = 0
    spend: float = 0.0
    surplus: float = 0.0


class Totals(msgspec.Struct):
    """What the outcomes of a bidder, or of a campaign, add up to.

    Attributes:
        won: The number of auctions won.
        lost: The number of auctions lost.
        value: The sum of the values won.
        spend: The money paid.
    """

    won: int = 0
    lost: int = 0
    value: float = 0.0
    spend: float = 0.0

    def add(self, won: int, lost: int, value: float, spend: float) -> None:
        """Add outcomes."""
        self.won, self.lost = self.won + won, self.lost + lost
        self.value, self.spend = self.value + value, self.spend + spend


class Tally(Totals):
    """Counts of all outcomes, and of each minute. They are part of the state of a bidder."""

    decisions: int = 0  # the number of decisions made under limits
    corrected: int = 0  # the number of outcomes that a correction has replaced
    refused: dict[str, int] = {}  # the number of outcomes that were not learned, by cause
    minutes: list[Minute] = []  # the latest in which something happened, in the order of arrival
    delay: float | None = None  # how many seconds after their bids outcomes came lately
    campaigns: dict[str, Totals] = {}  # what the outcomes of each campaign add up to

    def minute(self, at: float) -> Minute:
        """Return the minute of the latest arrival."""
        start = int(at // 60) * 60
        if not self.minutes or self.minutes[-1].time != start:
            self.minutes.append(Minute(start))
            del self.minutes[:-MINUTES]
        return self.minutes[-1]

    def copied(self) -> Tally:
        """Return a copy that does not change later. Of the minutes, only the latest can change."""
        minutes = [*self.minutes[:-1], *map(msgspec.structs.replace, self.minutes[-1:])]
        campaigns = {name: msgspec.structs.replace(one) for name, one in self.campaigns.items()}
        return msgspec.structs.replace(
            self, refused=dict(self.refused), minutes=minutes, campaigns=campaigns
        )

    def decide(self, at: float) -> None:
        """Count a decision."""
        self.decisions += 1
        self.minute(at).decisions += 1

    def learn(
        self, at: float, bids: Sequence[Any], won: Booleans, campaigns: Iterable[str | None]
    ) -> None:
        """Count outcomes that were learned, each of a campaign."""
        given = [(one.decision.time, one.value, one.amount or 0.0) for one in bids]
        made, values, amounts = np.array(given).T
        delay = max(at - float(made.mean()), 0.0)
        before = delay if self.delay is None else self.delay
        self.delay = delay + (before - delay) * math.exp(-made.size / _LATELY)
        self.minute(at).outcomes += int(won.size)
        rows: dict[str | None, list[int]] = {}
        for i, campaign in enumerate(campaigns):
            rows.setdefault(campaign, []).append(i)
        for campaign, some in rows.items():
            wins = [i for i in some if won[i]]
            money = float(values[wins].sum()), float(amounts[wins].sum())
            self._add(at, campaign, len(wins), len(some) - len(wins), *money)

    def correct(
        self,
        at: float,
        value: float,
        amount: float,
        campaign: str | None,
        *,
        before: bool,
        won: bool,
    ) -> None:
        """Count an outcome that replaces another."""
        self.corrected += 1
        sign = int(won) - int(before)
        self._add(at, campaign, sign, -sign, sign * value, sign * amount)

    def refuse(self, cause: str, count: int = 1) -> None:
        """Count outcomes that were not learned."""
        self.refused[cause] = self.refused.get(cause, 0) + count

    def _add(
        self, at: float, campaign: str | None, won: int, lost: int, value: float, spend: float
    ) -> None:
        self.add(won, lost, value, spend)
        if campaign is not None:
            self.campaigns.setdefault(campaign, Totals()).add(won, lost, value, spend)
        minute = self.minute(at)
        minute.wins += won
        minute.spend += spend
        minute.surplus += value - spend


class Histogram:
    """Counts of durations, by upper bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def note(self, seconds: float) -> None:
        """Count a duration."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds


# --- the figures of a bidder ---------------------------------------------------------------------


_LOOKED_AT = 64  # the number of recent auctions that are used
_FRACTIONS = np.arange(1, 21) / 20  # of the value: the fixed fractions with which bids are compared
_SURE = 0.2  # a comparison is shown if it is known so exactly, at least
_LATE = 60.0  # seconds from which on it is said how late outcomes come

# When spending counts as far below the plan: below a half of it, after this many auctions.
_FAR = 0.5
_FEWEST = 100
# It is judged when this share of the plan is due. A plan by the clock may be wrong at some hours of
# the day, as long as it is not known when auctions come.
_DUE, _DUE_BY_CLOCK, _DAY = 0.1, 0.5, 86_400.0
_HELD_BACK = 1.05  # bids are held back noticeably by a limit with a higher multiplier
_USED_UP = 0.95


class LimitFigures(msgspec.Struct, frozen=True):
    """The state of a limit; see `crossbandit.limits.LimitStatus`.

    Attributes:
        kind: "budget", "return-on-spend" or "cost-per".
        amount: The money of a budget or a cost, or the ratio of a return.
        spent: The money paid in this period.
        reserved: The money that bids without an outcome count with: what they are expected to cost,
            and a margin.
        left: The money that may still be bid.
        planned: The money that the plan allows by now; None if there is no plan.
        slack: For a target, the money that may be spent less the money spent; None for a budget.
        multiplier: The number by which values are divided before bidding.
        begins: The start of the period, in seconds since 1970; None if the period is not a time.
        ends: The end of the period.
        auctions: The number of auctions in the period.
        words: The state in words.
        under_delivery: If far less was spent than planned: this in words, with the cause; else "".
        expected: The money that bids without an outcome are expected to cost.
        outstanding: The money that they cost if all of them win.
        campaign: The campaign whose limit it is; "" without campaigns.
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
    under_delivery: str = ""
    expected: float = 0.0
    outstanding: float = 0.0
    campaign: str = ""

    @property
    def whose(self) -> str:
        """The campaign, as a message begins with it; "" without campaigns."""
        return f"Campaign {self.campaign!r}: " if self.campaign else ""


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


class ShadingFigures(msgspec.Struct, frozen=True):
    """What a bidder earns beside the best fixed shading, by its own law in recent auctions.

    Attributes:
        fraction: The share of the value that the best fixed shading bids.
        gain: How much more the bidder earns; 0.05 is 5 %.
        error: About one standard error of the gain.
    """

    fraction: float
    gain: float
    error: float


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
        shading: What is earned beside the best fixed shading; None until it is known.
    """

    entry: int
    at: float
    tally: Tally
    limits: tuple[LimitFigures, ...] = ()
    diagnosis: DiagnosisFigures | None = None
    exploration: float | None = None
    alerts: tuple[str, ...] = ()
    shading: ShadingFigures | None = None


class CampaignFigures(msgspec.Struct, frozen=True):
    """What a campaign did; its limits are among those of its bidder.

    Attributes:
        paused: Whether it is paused.
        won: The number of auctions won.
        lost: The number of auctions lost.
        value_won: The sum of the values won.
        spend: The money paid.
    """

    paused: bool
    won: int
    lost: int
    value_won: float
    spend: float


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
        limits: The state of each limit, of all campaigns.
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
        shading: What is earned beside the best fixed shading; None until it is known.
        delay: How many seconds after their bids outcomes came lately; None if none came.
        campaigns: What each campaign did, by name.
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
    shading: ShadingFigures | None = None
    delay: float | None = None
    campaigns: dict[str, CampaignFigures] = {}


def learned_figures(live: LiveBidder, at: float, views: LearnedFigures | None) -> LearnedFigures:
    """Return the figures that are published with a policy."""
    bidder, watch = live.bidder, live.bidder.learner.watch
    sets: dict[str, Limited] = {**bidder.campaigns} or {"": bidder}
    limits = [(_limit(name, one), one) for name, of in sets.items() for one in of.limits]
    alerts = [
        f"{one.whose}{one.words}. It was exceeded by outcomes that were corrected or came too "
        "late, so nothing is bid until its period is over or its amount is raised."
        for one, status in limits
        if status.overspent
    ]
    if watch.biased and watch.missing != "accept":
        pause = " Nothing is learned until both come." if watch.misled else ""
        alerts.insert(0, watch.reason + pause)
    views = views or LearnedFigures(
        live.entry, at, live.tally, diagnosis=_diagnosis(bidder), **_by_law(live)
    )
    return LearnedFigures(
        entry=live.entry,
        at=at,
        tally=live.tally,
        limits=tuple(one for one, _ in limits),
        diagnosis=views.diagnosis,
        exploration=views.exploration,
        alerts=tuple(alerts),
        shading=views.shading,
    )


def _limit(campaign: str, status: LimitStatus) -> LimitFigures:
    limit = status.limit
    aim = float(getattr(limit, "ratio", 0.0) or getattr(limit, "amount", 0.0))
    names = (name for name in LimitFigures.__struct_fields__ if hasattr(status, name))
    same: dict[str, Any] = {name: getattr(status, name) for name in names}
    same |= {name: float(one) for name, one in same.items() if isinstance(one, Decimal)}
    same |= {"words": str(status), "campaign": campaign}
    return LimitFigures(kind=limit.kind, amount=aim, **same)


def under_delivery(one: LimitFigures, limits: Sequence[LimitFigures], delay: float | None) -> str:
    """Return a word on one of several limits if far less was spent than planned; else "".

    Nothing is said at the beginning of a period, after few auctions, and where another budget
    allows less.
    """
    if one.planned is None or one.auctions < _FEWEST or one.spent >= _FAR * one.planned:
        return ""
    waits = one.reserved >= one.left
    if not waits and one.spent + one.reserved >= _FAR * one.planned:
        return ""  # outcomes are late
    share = one.planned / one.amount
    if one.begins is None or one.ends is None:
        due = share >= _DUE
    else:
        due = share >= _DUE_BY_CLOCK or share * (one.ends - one.begins) >= _DAY
    tighter = [
        other
        for other in limits
        if other.multiplier > max(one.multiplier, _HELD_BACK)
        or (other is not one and other.slack is None and other.spent >= _USED_UP * other.amount)
    ]
    if not due or any(other.slack is None for other in tighter):  # another budget allows less
        return ""
    if waits:
        cause = (
            f"{lateness(delay)}Most of the money, {one.reserved:.6g}, is reserved for bids without "
            "an outcome: report every outcome, set 'expires', or raise 'worst_case'."
        )
    elif tighter:
        cause = f"A target holds bids back. {tighter[0].words}."
    elif one.multiplier > _HELD_BACK:
        cause = "Bids were lowered to save money, and rise again."
    else:
        cause = (
            "Bids are not held back: too few auctions come, or too few are won. Compare the "
            "traffic, the values and the prices with those that were expected."
        )
    return f"{one.whose}Far less was spent than planned. {one.words}. {cause}"


def lateness(delay: float | None) -> str:
    """Return a sentence on how late outcomes come; "" if they come soon.

    >>> lateness(1_860.0), lateness(12.0)
    ('Outcomes come 31 min late. ', '')
    """
    late = delay is not None and delay >= _LATE
    return f"Outcomes come {duration(delay or 0.0)} late. " if late else ""


def _diagnosis(bidder: FirstPriceBidder) -> DiagnosisFigures:
    found = bidder.diagnosis()
    gain = None if math.isnan(found.gain) else found.gain
    return DiagnosisFigures(str(found), found.depends, found.log_evidence, gain, found.rounds)


def _by_law(live: LiveBidder) -> dict[str, Any]:
    """Return how much less recent bids earn than the best bids, and what beside a fixed shading.

    All is by the bidder's own law. Errors are added up, as if all chances erred together.
    """
    bidder = live.bidder
    recent = bidder.learner.test.recent[-_LOOKED_AT:]
    if live.limited or not recent:
        return {}
    cost = earned = error = 0.0
    fixed, errors = np.zeros((2, _FRACTIONS.size))
    for value, labels in recent:
        classes = dict(zip(bidder.classes, labels, strict=True))
        policy = bidder.policy(value, **classes)
        law = bidder.price_law(value, **classes)
        margins = value - law.amounts
        payoffs, spread = margins * law.chances, np.abs(margins) * law.errors
        possible = payoffs if not bidder.rules.at_most_value else payoffs[law.amounts <= value]
        own = float(policy @ payoffs)
        cost += float(possible.max()) - own
        earned += own
        error += float(policy @ spread)
        at = law.amounts.searchsorted(_FRACTIONS * value, side="right") - 1
        fixed += np.where(at >= 0, payoffs[at], 0.0)
        errors += np.where(at >= 0, spread[at], 0.0)
    best = int(fixed.argmax())
    least = max(float(fixed[best]), 1e-300)
    found = ShadingFigures(
        float(_FRACTIONS[best]), earned / least - 1.0, math.hypot(error, errors[best]) / least
    )
    sure = found if 2 * found.error <= _SURE else None
    return {"exploration": max(cost / len(recent), 0.0), "shading": sure}
