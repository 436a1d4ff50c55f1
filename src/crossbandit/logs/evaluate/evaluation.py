"""Evaluate strategies on a censored log: their plans, what is known, estimates, and notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.applications import FirstPriceBidder
from crossbandit.core.report.statistics import student_quantile
from crossbandit.core.validation import boolean, integer, number, reject
from crossbandit.logs.evaluate.decisions import long_run_variance, over_time, quantile_over_time
from crossbandit.logs.evaluate.groups import (
    SIZES,
    WRONG,
    DependenceTest,
    Ends,
    Group,
    Groups,
    PriceDistribution,
    conclude,
    find_power,
    find_trends,
    make_groups,
)
from crossbandit.logs.evaluate.log import (
    CensoredLog,
    Facts,
    StoredLog,
    open_censored,
    with_propensities,
)
from crossbandit.logs.log import AuctionLog
from crossbandit.logs.survey import doubt_about_units, left_out
from crossbandit.logs.tenders import TenderWords, check_tenders

if TYPE_CHECKING:
    import os

    import pandas as pd

    from crossbandit.core.types import Booleans, Floats, Integers


BY_BAND, INVERSE, ROBUST = "by band", "inverse propensity", "doubly robust"
ASSUMPTIONS = {
    BY_BAND: "Within a band of values and a class, prices are not correlated with your own "
    "bids, and with values only like a power of them.",
    INVERSE: "The propensities are right, and every bid of the strategy could have been drawn.",
    ROBUST: "The propensities are right, or prices are not correlated with your own bids within "
    "bands.",
}
_NAMES = {BY_BAND: "by_band", INVERSE: "inverse_propensity", ROBUST: "doubly_robust"}


@dataclass(frozen=True)
class ValueEstimate:
    """An estimate of what a strategy would have earned on the log, with a 95 % interval.

    Attributes:
        method: "by band", "inverse propensity" or "doubly robust".
        value: The estimate.
        low: Where the interval begins.
        high: Where it ends.
        open: How much of the value the data leave open even if the assumption holds: bids beyond
            those that were made, or near the outermost of them. The interval includes it.
        weight: The mean weight of an auction, which should be near 1; NaN without weights.
        size: How many auctions without weights would be as informative; NaN without weights.
    """

    method: str
    value: float
    low: float
    high: float
    open: float = 0.0
    weight: float = math.nan
    size: float = math.nan

    @property
    def credible(self) -> bool:
        """Whether the weights, if there are any, have a mean near 1."""
        return math.isnan(self.weight) or abs(self.weight - 1) <= 3 / math.sqrt(self.size)

    @property
    def assumption(self) -> str:
        """What the estimate needs to be right."""
        return ASSUMPTIONS[self.method]


class KnownOutcomes(NamedTuple):
    """What a log shows of a plan for certain.

    Attributes:
        exact: What the plan earned in the auctions whose outcome is known.
        share: The share of its bids whose outcome is known.
        lower: The least that it can have earned in all auctions.
        upper: The most.
    """

    exact: float
    share: float
    lower: float
    upper: float


@dataclass(frozen=True)
class StrategyEvaluation:
    """What one strategy would have earned on the log.

    Attributes:
        strategy: Its name.
        kind: "own", "bidder", "response" or "fixed".
        note: A remark, perhaps empty.
        known: What the log shows for certain.
        estimates: The estimates, the most trustworthy first. Each has its assumption.
    """

    strategy: str
    kind: str
    note: str
    known: KnownOutcomes
    estimates: tuple[ValueEstimate, ...]

    @property
    def best(self) -> ValueEstimate:
        """The estimate that needs the weakest assumption."""
        return self.estimates[0]

    def estimate(self, method: str) -> ValueEstimate | None:
        """Return the estimate by a method, or None if there is none.

        Args:
            method: "by band", "inverse propensity" or "doubly robust".
        """
        return next((one for one in self.estimates if one.method == method), None)

    @property
    def open_share(self) -> float:
        """Which part of the best estimate rests on bids beyond those that were made."""
        most = max(abs(self.best.value), self.best.open)
        return self.best.open / most if most > 0 else 0.0


@dataclass(frozen=True)
class Evaluation:
    """What strategies would have earned on a censored log.

    Attributes:
        auctions: The number of auctions.
        feedback: Which prices the log has: "after-loss", "after-win", "always", "won-lost" or
            "mixed".
        win_rate: The share of auctions that were won.
        told: The share of auctions whose price is known.
        groups: The number of groups, bands of values within classes.
        results: A result per strategy.
        checks: The tests of the assumption behind the estimates by band.
        notes: Sentences that a reader should see before the numbers.
        say: How sentences about auctions are said: as they are, or of tenders.
    """

    auctions: int
    feedback: str
    win_rate: float
    told: float
    groups: int
    results: tuple[StrategyEvaluation, ...]
    checks: tuple[DependenceTest, ...]
    notes: tuple[str, ...]
    say: Callable[[str], str] = str

    def __getitem__(self, strategy: str) -> StrategyEvaluation:
        for one in self.results:
            if one.strategy == strategy:
                return one
        raise KeyError(strategy)

    def table(self) -> pd.DataFrame:
        """Return a row per strategy: what is known, bounds, and each estimate with its interval.

        Returns:
            A data frame. An estimate that cannot be made is NaN.
        """
        import pandas as pd

        return pd.DataFrame([_row(one) for one in self.results])

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation in a form that `json` can write.

        Returns:
            Plain numbers, texts and lists; None for NaN.
        """
        rows = [
            {
                name: None if isinstance(value, float) and math.isnan(value) else value
                for name, value in _row(one).items()
            }
            for one in self.results
        ]
        return {
            "auctions": self.auctions,
            "feedback": self.feedback,
            "win_rate": self.win_rate,
            "told": self.told,
            "groups": self.groups,
            "strategies": rows,
            "checks": [
                {"name": one.name, "score": one.score, "p_value": one.p_value, "words": str(one)}
                for one in self.checks
            ],
            "notes": list(self.notes),
        }


def _row(one: StrategyEvaluation) -> dict[str, Any]:
    row: dict[str, Any] = {
        "strategy": one.strategy,
        "kind": one.kind,
        "exact": one.known.exact,
        "known_share": one.known.share,
        "lower_bound": one.known.lower,
        "upper_bound": one.known.upper,
        "open_share": one.open_share,
    }
    for method, name in _NAMES.items():
        found = one.estimate(method)
        row[name] = found.value if found else math.nan
        row[f"{name}_low"] = found.low if found else math.nan
        row[f"{name}_high"] = found.high if found else math.nan
    weights = one.estimate(INVERSE)
    row["mean_weight"] = weights.weight if weights else math.nan
    row["effective_size"] = weights.size if weights else math.nan
    return {**row, "note": one.note}


OWN, BEST = "the log's own bids", "best response by band"
_CANDIDATES = 200  # the number of bids that a best response chooses from
_AT_ONCE = 1_000  # the number of auctions whose candidates are compared at a time
_SAME = 1e-9  # bids with a smaller relative difference are the same
_POLICIES = 4_000  # for up to so many values and classes, a policy is computed exactly
_LEVELS = 1_000  # if there are more, it is computed for this many values


@dataclass(frozen=True, eq=False)
class Plan:
    """The bids of a strategy; it may draw a bid at random."""

    name: str  # what tables call it
    kind: str  # "own", "bidder", "response" or "fixed"
    rows: Integers  # the auction of each entry, ascending
    bids: Floats  # the bid of each entry
    shares: Floats  # the probability with which the bid of each entry is made
    fitted: bool = False
    note: str = ""  # what a reader should know

    def gains(self, log: CensoredLog) -> Floats:
        """Return what each entry earns if its bid wins, times its share."""
        gains: Floats = self.shares * (log.values[self.rows] - self.bids)
        return gains


def shading(log: CensoredLog, fraction: float) -> Plan:
    """Return the plan to bid a fraction of the value."""
    part = number("evaluate", "fractions", fraction, above=0, at_most=1)
    name = f"{100 * part:.15g} % of value"
    bids = part * log.values
    # A bid that was made is used as it is, because 0.6 * 3 is not exactly 1.8.
    return _fixed(name, "fixed", np.where(same_bids(bids, log.bids), log.bids, bids))


def rounded(plan: Plan, log: CensoredLog, unit: float) -> Plan:
    """Return a plan whose bids are rounded as those of the log were; never above the value."""
    if not unit:
        return plan
    made = log.bids[plan.rows]
    bids = np.rint(plan.bids / unit) * unit
    # A bid that was made is used as it is: halves may be rounded up or down.
    bids = np.where(np.abs(plan.bids - made) <= unit * (0.5 + _SAME), made, bids)
    return replace(plan, bids=np.minimum(bids, log.values[plan.rows]))


def same_bids(bids: Floats, others: Floats) -> Booleans:
    """Return whether bids are equal but for rounding."""
    same: Booleans = np.abs(bids - others) <= _SAME * np.maximum(bids, others)
    return same


def own_bids(log: CensoredLog) -> Plan:
    """Return the bids that were made."""
    return _fixed(OWN, "own", log.bids)


def _fixed(name: str, kind: str, bids: Floats) -> Plan:
    return Plan(name, kind, np.arange(bids.size), bids, np.ones(bids.size))


def policy(
    log: CensoredLog, bidder: FirstPriceBidder, name: str = "bidder", facts: Facts | None = None
) -> Plan:
    """Return the policy of a bidder as it is now; it does not learn from the log."""
    columns = _class_columns(log, bidder)
    values, note = log.values, ""
    markup = getattr(bidder, "max_markup", 1.0)  # in tenders, values are the highest margins
    levels = _levels(facts or log.facts, bidder)
    if levels is not None:
        # Rounded down, so that no bid is above the value.
        values = levels[np.searchsorted(levels, values, "right") - 1]
        note = f"its bids are those of {levels.size:,} values"
    keys, places = _distinct(values, columns)
    amounts, starts, shares = [], [0], []
    for i in keys.tolist():
        labels = {
            one: column[i].item() for one, column in zip(bidder.classes, columns, strict=False)
        }
        value = float(values[i]) / markup
        chances = bidder.policy(value, **labels)
        used = np.flatnonzero(chances)
        grid = bidder.learner.law.amounts_at(value) if bidder.lays else bidder.bids
        amounts.append(markup * grid[used])
        shares.append(chances[used])
        starts.append(starts[-1] + used.size)
    lengths = np.diff(starts)[places]
    rows = np.repeat(np.arange(len(log)), lengths)
    ends = np.cumsum(lengths)
    offsets = np.arange(rows.size) - np.repeat(ends - lengths, lengths)
    entries = np.repeat(np.array(starts[:-1])[places], lengths) + offsets
    bids, parts = np.concatenate(amounts)[entries], np.concatenate(shares)[entries]
    return Plan(name, "bidder", rows, bids, parts, note=note)


def _class_columns(log: CensoredLog, bidder: FirstPriceBidder) -> list[np.ndarray]:
    return [np.asarray(log.classes[one]) for one in bidder.classes if one in log.classes]


def _levels(facts: Facts, bidder: FirstPriceBidder) -> Floats | None:
    """Return the values for which a policy is computed; None for all, if they are few."""
    sample, ends = facts.sample, facts.values
    if _distinct(sample.values, _class_columns(sample, bidder))[0].size <= _POLICIES:
        return None
    inner = np.quantile(sample.values, np.linspace(0, 1, _LEVELS), method="lower")
    return np.unique(np.concatenate([[ends.least], inner, [ends.most]]))


def _distinct(values: Floats, columns: list[np.ndarray]) -> tuple[Integers, Integers]:
    """Return one auction per combination of value and classes, and each auction's combination."""
    codes = [np.unique(one, return_inverse=True)[1] for one in (values, *columns)]
    _, first, places = np.unique(
        np.column_stack(codes), axis=0, return_index=True, return_inverse=True
    )
    return first, places.reshape(-1)


def best_response(groups: Groups) -> Plan:
    """Return the bids that earn most by the prices of each group in the other half of the log."""
    log, count = groups.log, len(groups.log)
    bids = np.zeros(count)
    for prices, rows in groups.crossed(np.arange(count)):
        bids[rows] = _responses(log, rows, prices, groups.scales[rows])
    note = "fitted to one half of the log, judged by the other"
    return Plan(BEST, "response", np.arange(count), bids, np.ones(count), fitted=True, note=note)


def _responses(
    log: CensoredLog, rows: Integers, prices: PriceDistribution, scales: Floats
) -> Floats:
    # Only at the end of an atom is it certain that the chance to win rises.
    rises = np.flatnonzero((prices.masses > 0) & np.isfinite(prices.right))
    if not rises.size:
        return np.zeros(rows.size)
    chosen = rises[np.unique(np.linspace(0, rises.size - 1, _CANDIDATES).astype(np.int64))]
    amounts, chances = prices.right[chosen], prices.cumulative[chosen + 1]
    found = np.empty(rows.size)
    for start in range(0, rows.size, _AT_ONCE):  # a table of all auctions would be large
        some = slice(start, start + _AT_ONCE)
        values, reserves = log.values[rows[some], None], log.reserves[rows[some], None]
        candidates = amounts * scales[some, None]
        margins = np.maximum(values - candidates, 0.0)
        margins[candidates < reserves] = 0.0
        best = (margins * chances).argmax(axis=1)[:, None]
        found[some] = np.minimum(np.take_along_axis(candidates, best, axis=1), values)[:, 0]
    return found


# The bias of isotonic regression falls like n^(-1/3) at worst. Then half of the auctions have
# 2^(1/3) times the bias of all of them, and the bias is this many times the difference.
_SLOWEST = 1 / (2 ** (1 / 3) - 1)


class KnownSums(NamedTuple):
    """What is known of a plan in a piece of a log. The sums of pieces add up."""

    exact: float  # what the plan earned where the outcome is known
    known: float  # the bids whose outcome is known; a bid drawn at random counts by its probability
    unknown: float  # the other bids
    least: float  # what the others earn at least
    most: float  # what they earn at most

    @property
    def whole(self) -> KnownOutcomes:
        """What is known, if these are the sums of the whole log."""
        bids = self.known + self.unknown
        share = self.known / bids if self.unknown else 1.0
        return KnownOutcomes(self.exact, share, self.exact + self.least, self.exact + self.most)


def what_is_known(log: CensoredLog, plan: Plan) -> KnownSums:
    """Return what is known of a plan, and the bounds that follow."""
    known, wins = log.known(plan.rows, plan.bids)
    gains = plan.gains(log)
    unknown = gains[~known]
    return KnownSums(
        exact=float(gains[wins].sum()),
        known=float(plan.shares[known].sum()),
        unknown=float(plan.shares[~known].sum()),
        least=float(np.minimum(unknown, 0.0).sum()),
        most=float(np.maximum(unknown, 0.0).sum()),
    )


_JUMP = 1.8  # standard errors from which on a chance to win counts as one that jumps
_FEW = 8  # auctions of a small log for each degree of freedom: few of them say how prices vary


class BandSums(NamedTuple):
    """What a plan is expected to earn where the outcome is unknown. The sums of pieces add up."""

    value: float
    least: float  # the least that fits the data equally well
    most: float
    luck: float  # the variance of the unknown outcomes if the distribution of prices is right
    below: Floats
    above: Floats  # those on the most
    doubts: Floats
    blocks: int  # The groups in which bids are near an end. The doubt of all is the mean of theirs.
    bias: float  # what `by_turns` adds to the estimate of bids that are not near an end
    by_turns: float  # the estimate if each group is divided in two, auction by auction
    narrower: float  # the estimate if each group is divided into lower and higher values
    powers: Floats  # (n, 2). The least and the most with other powers of the value
    steps: Floats  # what shows whether chances to win jump, as in `Ends.steps`

    def estimate(self, known: KnownSums) -> ValueEstimate:
        """Return the estimate and its interval, if these are the sums of the whole log.

        Four errors are in the interval: that of the distribution of prices, by influences in
        blocks of time, together with luck; that of the power of the value, as far as powers of its
        own interval change the estimate; that of the choice of bands, which is how much narrower
        bands of the same number of auctions change; and what the correction of the bias leaves.
        If the bias falls like 1 / n, it is what groups of half the size have in addition. If it
        falls more slowly, more of it is left. Where the chance to win jumps at the bids, it is only
        known to be between those of the own bids on either side.
        """
        whole = known.whole
        if not known.unknown:
            return ValueEstimate(BY_BAND, whole.exact, whole.exact, whole.exact)
        common = self.luck + (self.narrower - self.by_turns) ** 2
        least, most = [self.least, *self.powers[:, 0]], [self.most, *self.powers[:, 1]]
        parts = self.below.size  # the auctions of a small log
        quantile = max(quantile_over_time(parts), student_quantile(max(parts // _FEW, 1)))
        rest = (_SLOWEST - 1) * self.bias
        doubts = self.doubts / max(self.blocks, 1)

        def half(influences: Floats, doubt: float, power: float) -> float:
            variance = long_run_variance(influences) + doubt + common
            return math.hypot(quantile * math.sqrt(variance), rest, power)

        value = min(max(whole.exact + self.value - self.bias, whole.lower), whole.upper)
        low = value + self.least - self.value - half(self.below, doubts[0], min(least) - self.least)
        high = value + self.most - self.value + half(self.above, doubts[1], max(most) - self.most)
        for lower, upper, jump in self.steps:
            if jump[0] > _JUMP * math.sqrt(jump[1]):
                middle = whole.exact + self.value
                low = min(low, middle - lower[0] - quantile * math.sqrt(lower[1] + common))
                high = max(high, middle + upper[0] + quantile * math.sqrt(upper[1] + common))
        return ValueEstimate(
            BY_BAND,
            value,
            max(low, whole.lower),
            min(high, whole.upper),
            open=self.most - self.least,
        )


def band_sums(plan: Plan, groups: Groups) -> BandSums:
    """Return what a plan is expected to earn by the distribution of prices in each group.

    Where the outcome is known it counts as it is. Elsewhere the price is known to be in an
    interval, and the chance to win is that of the group's distribution within the interval.
    """
    log = groups.log
    known, _ = log.known(plan.rows, plan.bids)
    unknown = _Unknown.of(plan, log, np.flatnonzero(~known))
    if plan.fitted:
        groups = groups.halves
    luck, bounds = 0.0, np.zeros(2)
    influences, doubts, blocks = np.zeros((2, len(log))), np.zeros(2), 0
    steps = np.zeros((SIZES, 3, 2))
    expected, near = np.zeros(unknown.rows.size), np.zeros(unknown.rows.size, dtype=bool)
    for group, inside in groups.entries(unknown.rows):
        gain, shares = unknown.gains[inside], unknown.shares[inside]
        part = unknown.chances(groups, group, inside)
        expected[inside], near[inside] = gain * part.middle, part.near
        bounds += part.bounds(gain)
        luck += float((gain**2 / shares * part.middle * (1 - part.middle)).sum())
        # A chance of 0 or 1 may be wrong by some auctions: in the estimate, and by luck.
        share = WRONG * inside.size / group.members.size
        luck += float((gain**2).mean()) * share * (1 + share)
        for side, (found, doubt) in enumerate(part.influences(gain)):
            influences[side, group.members] = found
            doubts[side] += doubt
        blocks += bool(part.near.any())
        steps += part.steps(gain)
    by_turns = unknown.expected(groups.by_turns)
    below, above = (over_time(one, groups.positions, groups.facts.auctions) for one in influences)
    return BandSums(
        value=float(expected.sum()),
        least=float(bounds[0]),
        most=float(bounds[1]),
        luck=luck,
        below=below,
        above=above,
        doubts=doubts,
        blocks=blocks,
        bias=float((by_turns - expected)[~near].sum()),
        by_turns=float(by_turns.sum()),
        narrower=float(unknown.expected(groups.narrower).sum()),
        powers=np.array([unknown.bounds(groups.with_power(one)) for one in groups.others]).reshape(
            -1, 2
        ),
        steps=steps,
    )


class _Unknown(NamedTuple):
    """The bids of a plan whose outcome is not known."""

    rows: Integers
    bids: Floats
    shares: Floats
    gains: Floats

    @classmethod
    def of(cls, plan: Plan, log: CensoredLog, entries: Integers) -> _Unknown:
        gains = plan.gains(log)
        return cls(plan.rows[entries], plan.bids[entries], plan.shares[entries], gains[entries])

    def chances(self, groups: Groups, group: Group, inside: Integers) -> _Chances:
        rows = self.rows[inside]
        bids = self.bids[inside] / groups.scales[rows]
        auctions = np.searchsorted(group.members, rows)
        return _Chances(group.prices, group.ends, auctions, bids)

    def expected(self, groups: Groups) -> Floats:
        found = np.zeros(self.rows.size)
        for group, inside in groups.entries(self.rows):
            found[inside] = self.gains[inside] * self.chances(groups, group, inside).middle
        return found

    def bounds(self, groups: Groups) -> Floats:
        """Return the least and the most that these bids are expected to earn in all."""
        sums = np.zeros(2)
        for group, inside in groups.entries(self.rows):
            sums += self.chances(groups, group, inside).bounds(self.gains[inside])
        return sums


class _Chances:
    """The chances to win of bids whose outcome is not known, given the intervals of the prices."""

    def __init__(
        self, prices: PriceDistribution, ends: Ends | None, auctions: Integers, bids: Floats
    ) -> None:
        self._prices = prices
        self._ends = ends
        self._auctions = auctions  # the number of each auction in the group
        self._bids = bids
        self._place, self._share = prices.place(bids)
        found = [prices.at(bids), *prices.range_at(bids)]
        self.near = np.zeros(bids.size, dtype=bool) if ends is None else ends.hold(bids)
        if ends is not None:
            near = bids[self.near]
            self._blocks = ends.least(near), ends.most(near)
            rates = [one.rate for one in self._blocks]
            inner = np.clip(found[0][self.near], np.minimum(*rates), np.maximum(*rates))
            for one, rate in zip(found, [inner, *rates], strict=True):
                one[self.near] = rate
            self._place[self.near], self._share[self.near] = 0, 0.0
        self._at = found[0]  # the chances whatever the intervals are
        below, whole = prices.cumulative[prices.first[auctions]], prices.chances[auctions]
        self.middle, self.least, self.most = (
            np.clip((one - below) / whole, 0.0, 1.0) for one in found
        )

    def influences(self, gains: Floats) -> list[tuple[Floats, float]]:
        """Return for the least and the most sum the influences of the auctions, and a doubt."""
        if self._ends is None:
            return [(self._prices.influence(self._gradient(gains, self.middle)), 0.0)] * 2
        found = []
        weights = (gains / self._prices.chances[self._auctions])[self.near]
        lower, upper = self._blocks
        for block, ends, doubts in (
            (lower, self.least, lower.rate),
            (upper, self.most, 1.0 - upper.rate),
        ):
            chances = np.where(self.near, ends, self.middle)
            own, doubt = self._ends.influence(block, weights, doubts)
            found.append((self._prices.influence(self._gradient(gains, chances)) + own, doubt))
        return found

    def bounds(self, gains: Floats) -> Floats:
        """Return the least and the greatest sum that fits the data equally well."""
        sums = np.array([gains * self.least, gains * self.most])
        return np.array([sums.min(axis=0).sum(), sums.max(axis=0).sum()])

    def steps(self, gains: Floats) -> Floats:
        """Return what shows whether chances to win jump at bids that are not near an end."""
        if self._ends is None:
            return np.zeros((SIZES, 3, 2))
        inner = ~self.near
        weights = (gains / self._prices.chances[self._auctions])[inner]
        return self._ends.steps(self._bids[inner], self._at[inner], weights)

    def _gradient(self, gains: Floats, chances: Floats) -> Floats:
        """Return the derivative of the estimate with respect to the masses of the atoms."""
        prices, size = self._prices, self._prices.right.size
        weights = gains / prices.chances[self._auctions]
        first, last = prices.first[self._auctions], prices.last[self._auctions]
        changes = np.bincount(first, weights, size + 1)
        changes -= np.bincount(self._place, weights, size + 1)
        scaled = weights * chances
        changes -= np.bincount(first, scaled, size + 1) - np.bincount(last, scaled, size + 1)
        within = np.bincount(self._place, weights * self._share, size + 1)
        found = np.asarray(np.cumsum(changes), dtype=np.float64) + within
        return found[:size]


class WeightSums(NamedTuple):
    """Weighted outcomes of a plan. The sums of pieces of a log add up."""

    value: float
    variance: float
    made: int  # how many bids of the plan were made
    weights: float  # the sum of the weights of auctions
    squares: float  # the sum of their squares
    auctions: int

    def estimate(self, *, robust: bool) -> ValueEstimate | None:
        """Return the estimate and its interval, if these are the sums of the whole log."""
        if not self.made:
            return None
        half = student_quantile(max(self.made - 1, 1)) * math.sqrt(self.variance)
        return ValueEstimate(
            ROBUST if robust else INVERSE,
            self.value,
            self.value - half,
            self.value + half,
            weight=self.weights / self.auctions,
            size=self.weights**2 / self.squares,
        )


def weight_sums(plan: Plan, groups: Groups, *, robust: bool) -> WeightSums:
    """Return weighted outcomes by inverse propensities, or the doubly robust ones.

    Auctions in which the strategy's bid was made count with the inverse of its probability. The
    doubly robust estimate weights only the errors of the distribution of prices in the group. It
    takes the distribution in the other half of the log, which does not depend on the auction's own
    draw. The interval follows from the random draws of the bids alone.
    """
    log = groups.log
    if log.propensities is None:
        return WeightSums(0.0, 0.0, 0, 0.0, 0.0, len(log))
    same = same_bids(plan.bids, log.bids[plan.rows])
    gains = plan.gains(log)
    expected = np.zeros(gains.size)
    for prices, entries in groups.crossed(plan.rows) if robust else ():
        scaled = plan.bids[entries] / groups.scales[plan.rows[entries]]
        expected[entries] = gains[entries] * prices.at(scaled)
    chances = log.propensities[plan.rows]
    weights = np.where(same, 1.0 / chances, 0.0)
    rest = np.where(same & log.won[plan.rows], gains, 0.0) - np.where(same, expected, 0.0)
    parts = np.bincount(plan.rows, plan.shares * weights, len(log))
    return WeightSums(
        value=float(expected.sum() + (weights * rest).sum()),
        # The draw of auction i adds (1 / q - 1) rest if the bid was made: variance
        # rest^2 (1 - q) / q.
        variance=float((same * rest**2 * (1 - chances) / chances**2).sum()),
        made=int(same.sum()),
        weights=float(parts.sum()),
        squares=float((parts**2).sum()),
        auctions=len(log),
    )


_FEWEST = 20.0  # the least number of unweighted auctions that weighted ones must be worth
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_MUCH = 0.05  # share of the value of a strategy
_ALIKE = 1e-6  # fractions of the value that spread less count as the same
_KNOWN = {
    "always": "The price is known in all auctions, so all numbers are exact.",
    "after-loss": "The price is known where you lost. Where you won, it was at most your bid.",
    "after-win": "The price is known where you won. Where you lost, it was above your bid.",
    "won-lost": "No price is known, only who won.",
}


def evaluate(
    log: CensoredLog | StoredLog | AuctionLog | str | os.PathLike[str] | pd.DataFrame | object,
    *,
    fractions: Iterable[float] = FRACTIONS,
    bidders: Mapping[str, FirstPriceBidder] | None = None,
    bands: int | None = None,
    random_bids: bool = False,
    columns: Mapping[str, str | int] | None = None,
) -> Evaluation:
    """Estimate what strategies would have earned on a log in which not all prices are known.

    A log in memory and one on disk give the same numbers.

    The strategies are the log's own bids, fixed fractions of the value, the policies of trained
    bidders, and the best response to the prices of each band. Others are assumed not to react.

    Args:
        log: The auctions. An `AuctionLog`, a path or a data frame stands for what `open_censored`
            reads from it; what it noticed, such as bad lines, is among the notes then.
        fractions: Fractions of the value to bid.
        bidders: Trained bidders by name. They are evaluated as they are. A bidder that was trained
            on this very log looks better than it is.
        bands: The number of bands of values of each class; None for as many as the log allows.
        random_bids: Whether bids were drawn at random from a few amounts or fractions of the value,
            with the same probabilities in all auctions. Then propensities are estimated where the
            log has none.
        columns: Which column of a path or a data frame has which role, as for `AuctionLog`:
            `{"bid": "my_bid", "won": "won"}`.

    Returns:
        For each strategy what is known, bounds, and estimates with intervals.

    Raises:
        InvalidParameterError: An argument is invalid.
        InvalidContextError: A bidder does not know a value or a class of the log.
        LogError: Bids are not drawn from a few.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> values, prices = rng.uniform(0, 10, 2_000), rng.uniform(0, 6, 2_000)
    >>> bids = rng.uniform(0.3, 0.8, 2_000) * values
    >>> log = CensoredLog(values, bids, bids >= prices)
    >>> result = evaluate(log, fractions=[0.5])["50 % of value"]
    >>> truth = np.where(0.5 * values >= prices, 0.5 * values, 0).sum()
    >>> bool(result.best.low < truth < result.best.high)
    True
    """
    if not isinstance(log, CensoredLog | StoredLog):
        opened = log if isinstance(log, AuctionLog) else AuctionLog(log, columns=columns or {})
        check_tenders(opened, 0.0, (bidders or {}).values())
        read = open_censored(opened)
        found = evaluate(
            read.log, fractions=fractions, bidders=bidders, bands=bands, random_bids=random_bids
        )
        notes = [*read.notes, *found.notes]
        if read.bad:
            where = "; ".join(f"{one.place}: {one.reason}" for one in read.faults)
            notes.insert(0, f"{left_out(read.bad, found.auctions, read.faults)} {where}")
        return in_tenders(replace(found, notes=tuple(notes)), opened)
    if bands is not None:
        integer("evaluate", "bands", bands, at_least=1, at_most=10_000)
    named: Any = {} if bidders is None else bidders
    if not isinstance(named, Mapping) or not all(
        isinstance(one, FirstPriceBidder) for one in named.values()
    ):
        reject("evaluate", "bidders", "a mapping from names to FirstPriceBidders", bidders)
    if boolean("evaluate", "random_bids", random_bids):
        log = with_propensities(log)
    facts = log.facts
    power = find_power(facts)
    chosen = sorted(set(fractions))
    pieces = log.pieces(bands) if isinstance(log, StoredLog) else [make_groups(log, bands)]
    sums = (_sums(piece.scaled(power), named, chosen) for piece in pieces)
    groups, trends, strategies = reduce(_added, sums)
    results = tuple(one.result() for one in strategies)
    checks = conclude(trends)
    outcomes = facts.outcomes
    return Evaluation(
        auctions=facts.auctions,
        feedback=facts.feedback,
        win_rate=outcomes.wins / outcomes.auctions,
        told=outcomes.told / outcomes.auctions,
        groups=groups,
        results=results,
        checks=checks,
        notes=tuple(_notes(facts, results, checks, power.clear)),
    )


def in_tenders(result: Evaluation, log: AuctionLog) -> Evaluation:
    """Return an evaluation in the words of tenders, if its log is one of them."""
    if not log.lowest_wins:
        return result
    say = TenderWords(log.max_markup)
    results = tuple(
        replace(one, strategy=say(one.strategy), note=say(one.note)) for one in result.results
    )
    return replace(result, results=results, notes=tuple(map(say, result.notes)), say=say)


class _Strategy(NamedTuple):
    """A strategy, and its sums over a piece of the log."""

    name: str
    kind: str
    note: str
    known: KnownSums
    bands: BandSums
    robust: WeightSums
    inverse: WeightSums

    @classmethod
    def of(cls, plan: Plan, groups: Groups) -> _Strategy:
        weights = (weight_sums(plan, groups, robust=one) for one in (True, False))
        known, bands = what_is_known(groups.log, plan), band_sums(plan, groups)
        return cls(plan.name, plan.kind, plan.note, known, bands, *weights)

    def result(self) -> StrategyEvaluation:
        estimates = [self.bands.estimate(self.known)]
        robust, inverse = self.robust.estimate(robust=True), self.inverse.estimate(robust=False)
        if self.known.unknown and robust and inverse and inverse.size >= _FEWEST:
            estimates = [robust, *estimates, inverse]
            estimates.sort(key=lambda one: not one.credible)
        return StrategyEvaluation(*self[:3], self.known.whole, tuple(estimates))


def _added(one: Any, other: Any) -> Any:
    """Return the sum of two trees of numbers and arrays; texts stay as they are."""
    if isinstance(one, str):
        return one
    if isinstance(one, dict):
        return {name: part + other[name] for name, part in one.items()}
    if not isinstance(one, tuple):
        return one + other
    parts = map(_added, one, other)
    return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)


def _sums(
    groups: Groups, bidders: Mapping[str, FirstPriceBidder], fractions: Iterable[float]
) -> tuple[int, dict[str, Floats], tuple[_Strategy, ...]]:
    """Return the sums over a piece of a log; those of several pieces add up."""
    log = groups.log
    # Propensities belong to the bids as they were made, and rounded.
    unit = 0.0 if log.propensities is None else groups.facts.unit
    policies = [policy(log, bidder, name, groups.facts) for name, bidder in bidders.items()]
    plans = [
        own_bids(log),
        *(rounded(one, log, unit) for one in policies),
        best_response(groups),
        *(rounded(shading(log, one), log, unit) for one in fractions),
    ]
    return len(groups), find_trends(groups), tuple(_Strategy.of(plan, groups) for plan in plans)


def _notes(
    facts: Facts,
    results: Sequence[StrategyEvaluation],
    checks: Sequence[DependenceTest],
    power: float = 0.0,
) -> Iterator[str]:
    """Yield sentences about what is known, what is doubtful, and what rests on extrapolation."""
    log, outcomes = facts.sample, facts.outcomes
    made = (log.bids > 0) & (log.values > 0)
    if made.any():
        value, bid = (float(np.median(column[made])) for column in (log.values, log.bids))
        yield from doubt_about_units(value, bid, "own bids")
    if facts.feedback == "always":
        if not outcomes.rounded:
            yield _KNOWN[facts.feedback]
            return
        yield "The price is known in all auctions."
    else:
        yield _KNOWN.get(facts.feedback) or f"The price is known in {outcomes.shares_known}."
    if outcomes.rounded:
        yield (
            f"Your bid equals the price in {outcomes.equal_wins:,} auctions that you won and in "
            f"{outcomes.equal_losses:,} that you lost, so amounts were rounded. What is exact "
            "leaves out other bids in these auctions, and bids that equal the price in others. "
            "The estimates take the prices as they were told."
        )
    if any(one.known.share < 1 for one in results):
        yield from _alike(facts)
    if power:
        yield (
            f"Prices {'rise' if power > 0 else 'fall'} with values, like values to the power of "
            f"{power:.1f}. The estimates by band allow for it."
        )
    doubtful = [str(one) for one in checks if one.doubtful]
    yield from doubtful
    if doubtful:
        yield (
            "So the estimates by band may be off by more than their intervals say. Give class "
            "columns that prices are correlated with, more bands or a shorter log; bounds and "
            "exact parts hold in any case."
        )
    beyond = [
        f"{one.strategy} ({100 * one.open_share:.0f} %)"
        for one in results
        if one.open_share > _MUCH
    ]
    if beyond:
        yield (
            "These strategies rest on bids near or beyond the outermost bids of the same bands, or "
            "between bids that are far apart: "
            f"{', '.join(beyond)}. The data leave that share of the value open, and the interval "
            "includes all of it."
        )
    yield from _weights(facts.sample, results)


def _alike(facts: Facts) -> Iterator[str]:
    """Say if the bids were not varied."""
    bids, fractions = facts.bids, facts.fractions
    if bids.least == bids.most:
        yield (
            f"All bids are {bids.least:.15g}. Nothing is known of other bids beyond what prices "
            "were told; for the rest there are bounds, and no estimate narrows them."
        )
    elif fractions.most - fractions.least <= _ALIKE * fractions.most:
        yield (
            f"All bids are {fractions.least:.3g} of the value. Bids differ only where values do, "
            "so the estimates rest entirely on prices that are not correlated with values within "
            "bands. Vary your bids at random in a small part of the auctions."
        )


def _weights(log: CensoredLog, results: Sequence[StrategyEvaluation]) -> Iterator[str]:
    if log.propensities is None:
        return
    without = [
        one.strategy for one in results if one.known.share < 1 and one.estimate(INVERSE) is None
    ]
    if without:
        yield (
            "No estimate by propensities for these strategies, because too few of their bids were "
            f"made: {', '.join(without)}."
        )
    for one in results:
        found = one.estimate(INVERSE)
        if found is not None and not found.credible:
            yield (
                f"The weights of {one.strategy} have the mean {found.weight:.2f} and are worth "
                f"{found.size:.0f} auctions. The mean should be 1: some of its bids could not have "
                "been drawn, or the propensities are wrong. Do not trust its estimates by "
                "propensities."
            )
