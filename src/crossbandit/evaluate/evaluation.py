"""Evaluate strategies on a censored log, test the assumption, and write notes for the reader."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.applications import FirstPriceBidder
from crossbandit.evaluate.estimates import (
    INVERSE,
    Evaluation,
    StrategyEvaluation,
    band_sums,
    best_response,
    own_bids,
    policy,
    rounded,
    shading,
    weight_sums,
    what_is_known,
)
from crossbandit.evaluate.groups import BOTH_SIDES, LEAST_POWER, MOST_POWER, make_groups
from crossbandit.evaluate.log import CensoredLog, StoredLog, with_propensities
from crossbandit.logs.survey import doubt_about_units
from crossbandit.report.statistics import holm
from crossbandit.validation import boolean, integer, reject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.evaluate.estimates import BandSums, KnownSums, Plan, WeightSums
    from crossbandit.evaluate.groups import Groups, PriceDistribution
    from crossbandit.evaluate.log import Facts
    from crossbandit.types import Booleans, Floats


_DOUBTFUL = 0.01  # p-value below which an assumption is doubted
_UNCLEAR = 0.05  # p-value below which nobody should say that nothing speaks against it
_WORDS = {"bid": "your own bids", "value": "values", "time": "time"}
_BANDS = 10  # bands of the search; values in narrower bands differ too little
_STEPS = 8  # how often the range of powers is halved
_APART = 0.25  # the distance of powers whose scores show the precision of the power
_CLEAR = 3.0  # from so many standard errors on, a power counts as different from 0


@dataclass(frozen=True)
class DependenceTest:
    """A test whether prices depend on something within groups.

    Attributes:
        name: "bid", "value" or "time".
        score: Standard deviations from independence; positive if prices rise with it.
        p_value: The two-sided p-value, adjusted by Holm's method for the number of tests.
    """

    name: str
    score: float
    p_value: float

    @property
    def doubtful(self) -> bool:
        """Whether the test speaks against the assumption."""
        return self.p_value < _DOUBTFUL

    def __str__(self) -> str:
        what = _WORDS[self.name]
        shown = f"p = {self.p_value:.{3 if self.doubtful else 2}f}"
        if self.p_value < 0.001:
            shown = "p < 0.001"
        rise = "rise" if self.score > 0 else "fall"
        if self.p_value >= _UNCLEAR:
            return f"Nothing shows that prices go with {what} within bands ({shown})."
        if not self.doubtful:
            return f"Prices may {rise} with {what} within bands: this is not clear ({shown})."
        return f"Prices {rise} with {what} within bands ({shown})."


def find_trends(groups: Groups) -> dict[str, Floats]:
    """Test whether prices depend on own bids, on values and on time within groups.

    Where prices are hidden on one side, it is a log-rank test for a trend in ranks: for each price
    that was told, is the auction a usual one among those that could have had it? Where prices are
    hidden on both sides, it asks whether the ranks that prices are expected to have rise or fall
    with what does not go with own bids. A rising rate was fitted to wins by bids, so what is left
    of them falls with bids, and with all that goes with bids. Own bids are not tested then.
    """
    feedback, log = groups.facts.feedback, groups.log
    if feedback == "always":
        return {}
    columns = {"bid": log.bids, "value": log.values, "time": groups.positions.astype(float)}
    if feedback in BOTH_SIDES:
        del columns["bid"]
    return trends(groups, columns)


def conclude(sums: Mapping[str, Floats]) -> tuple[DependenceTest, ...]:
    """Return the tests that sums of `trends` allow."""
    scores = [_score(one) for one in sums.values()]
    adjusted = holm([math.erfc(abs(score) / math.sqrt(2)) for score in scores])
    return tuple(map(DependenceTest, sums, scores, adjusted))


def _score(sums: Floats) -> float:
    """Return a statistic divided by its standard deviation; 0 if its variance is 0."""
    return float(sums[0] / math.sqrt(sums[1])) if sums[1] > 0 else 0.0


def trends(groups: Groups, columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return how far scaled prices depend on each column within groups."""
    feedback, told = groups.facts.feedback, groups.log.told
    sums = {name: np.zeros(2) for name in columns}
    bids = groups.log.bids / groups.scales
    for members, prices in zip(groups.members, groups.prices, strict=True):
        own = _ranks(bids[members])
        for name, column in columns.items():
            ranks = _ranks(column[members])
            if feedback in BOTH_SIDES:
                sums[name] += by_expected_ranks(prices, _apart_from(own, ranks))
            else:
                upper = feedback == "after-loss"
                sums[name] += log_rank(prices, told[members], ranks, upper=upper)
    return sums


def log_rank(
    prices: PriceDistribution, told: Booleans, ranks: Floats, *, upper: bool
) -> tuple[float, float]:
    """Return the log-rank statistic of a trend and its variance; positive if prices rise."""
    size = prices.right.size
    # Prices are looked at from the top down, or mirrored. An auction can have a price as long as
    # its own was not told, and nothing shows that it is beyond.
    ends = np.where(told, prices.first, prices.last if upper else prices.first - 1)
    if not upper:
        ends = size - 1 - ends
    counts, sums, squares = (
        np.bincount(ends, ranks**power, size + 1)[:size].cumsum() for power in range(3)
    )
    places = ends[told]
    events = np.bincount(places, minlength=size)[:size]
    score = float(np.bincount(places, ranks[told], size)[:size].sum())
    at_risk = np.maximum(counts, 1.0)
    means = sums / at_risk
    score -= float((events * means).sum())
    spread = np.maximum(squares / at_risk - means**2, 0.0)
    share = (counts - events) / np.maximum(counts - 1.0, 1.0)
    variance = float((events * share * spread).sum())
    return (score if upper else -score), variance


def by_expected_ranks(prices: PriceDistribution, ranks: Floats) -> tuple[float, float]:
    """Return whether expected ranks of prices rise with ranks, and the variance.

    The rank of a price that is in an interval is expected to be in the middle of the interval's
    ranks. If prices depend on nothing, its mean is 1/2, whatever the intervals are.
    """
    expected = (prices.cumulative[prices.first] + prices.cumulative[prices.last] - 1.0) / 2
    products = (ranks - ranks.mean()) * expected
    return float(products.sum()), float((products**2).sum())


def _apart_from(others: Floats, ranks: Floats) -> Floats:
    """Return what is left of ranks after linear regression on other ranks."""
    centred = others - others.mean()
    square = float((centred**2).sum())
    slope = float((centred * ranks).sum()) / square if square else 0.0
    rest: Floats = ranks - slope * centred
    return rest


def _ranks(column: Floats) -> Floats:
    """Return ranks from 0 to 1; equal numbers have their mean rank."""
    levels, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    if levels.size == 1:
        return np.zeros(column.size)
    ends = np.cumsum(counts)
    found: Floats = ((ends - (counts + 1) / 2) / column.size)[places]
    return found


class ValuePower(NamedTuple):
    """The power of the value that prices depend on."""

    power: float  # the power; 0 if prices do not depend on values
    error: float

    @property
    def clear(self) -> float:
        """The power if it is clearly not 0, otherwise 0."""
        return self.power if abs(self.power) > _CLEAR * self.error else 0.0


def find_power(facts: Facts) -> ValuePower:
    """Return the power of the value that prices depend on, and its standard error.

    A band of values is not narrow everywhere: the highest tenth of the values may spread over a
    factor of five. If bids are fractions of values, and prices rise with values, then prices
    depend on bids within such a band. After division by the right power of the value they do not.
    The power is the one at which the test of independence sees no trend, as in rank estimates of
    accelerated failure times. The score of that test has a standard deviation of 1, so the error
    of the power is 1 divided by the slope of the score.
    """
    if facts.feedback == "always":
        return ValuePower(0.0, 0.0)
    groups = make_groups(facts.sample, _BANDS, facts)
    columns = {"value": facts.sample.values}

    def score(power: float) -> float:
        return _score(trends(groups.with_power(power), columns)["value"])

    low, high = LEAST_POWER, MOST_POWER
    if score(low) == score(high):
        return ValuePower(0.0, 0.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if score(middle) > 0:
            low = middle
        else:
            high = middle
    power = (low + high) / 2
    slope = (score(power - _APART) - score(power + _APART)) / (2 * _APART)
    return ValuePower(power, min(1 / slope, 1.0) if slope > 0 else 1.0)


_FEWEST = 20.0  # the least number of unweighted auctions that weighted ones must be worth
SHADINGS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_MUCH = 0.05  # share of the value of a strategy
_ALIKE = 1e-6  # fractions of the value that spread less count as the same
_KNOWN = {
    "always": "The price is known in all auctions, so all numbers are exact.",
    "after-loss": "The price is known where you lost. Where you won, it was at most your bid.",
    "after-win": "The price is known where you won. Where you lost, it was above your bid.",
    "won-lost": "No price is known, only who won.",
}


def evaluate_log(
    log: CensoredLog | StoredLog,
    *,
    shadings: Iterable[float] = SHADINGS,
    bidders: Mapping[str, FirstPriceBidder] | None = None,
    bands: int | None = None,
    random_bids: bool = False,
) -> Evaluation:
    """Estimate what strategies would have earned on a log in which not all prices are known.

    A log in memory and one on disk give the same numbers.

    The strategies are the log's own bids, fixed fractions of the value, the policies of trained
    bidders, and the best response to the prices of each band. Others are assumed not to react.

    Args:
        log: The auctions.
        shadings: Fractions of the value to bid.
        bidders: Trained bidders by name. They are evaluated as they are. A bidder that was trained
            on this very log looks better than it is.
        bands: The number of bands of values of each class; None for as many as the log allows.
        random_bids: Whether bids were drawn at random from a few amounts or fractions of the value,
            with the same probabilities in all auctions. Then propensities are estimated where the
            log has none.

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
    >>> result = evaluate_log(log, shadings=[0.5])["shading 0.50"]
    >>> truth = np.where(0.5 * values >= prices, 0.5 * values, 0).sum()
    >>> bool(result.best.low < truth < result.best.high)
    True
    """
    if not isinstance(log, CensoredLog | StoredLog):
        reject("evaluate_log", "log", "a CensoredLog or a StoredLog", log)
    if bands is not None:
        integer("evaluate_log", "bands", bands, at_least=1, at_most=10_000)
    given: Any = {} if bidders is None else bidders
    if not isinstance(given, Mapping) or not all(
        isinstance(one, FirstPriceBidder) for one in given.values()
    ):
        reject("evaluate_log", "bidders", "a mapping from names to FirstPriceBidders", bidders)
    if boolean("evaluate_log", "random_bids", random_bids):
        log = with_propensities(log)
    facts = log.facts
    power = find_power(facts)
    fractions = sorted(set(shadings))
    pieces = log.pieces(bands) if isinstance(log, StoredLog) else [make_groups(log, bands)]
    sums = (_sums(piece.with_power(*power), given, fractions) for piece in pieces)
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
            "columns that prices go with, more bands or a shorter log; bounds and exact parts "
            "hold in any case."
        )
    beyond = [
        f"{one.strategy} ({100 * one.open_share:.0f} %)"
        for one in results
        if one.open_share > _MUCH
    ]
    if beyond:
        yield (
            "These strategies rest on bids near or beyond the outermost bids of the same bands: "
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
            "so the estimates rest entirely on prices that do not go with values within bands. "
            "Vary your bids at random in a small part of the auctions."
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
