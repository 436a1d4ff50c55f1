"""Evaluate strategies on a censored log, with notes for the reader of the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.applications import FirstPriceBidder
from crossbandit.evaluate.dependence import conclude, find_power, find_trends
from crossbandit.evaluate.estimates import band_sums, weight_sums, what_is_known
from crossbandit.evaluate.facts import facts_of, with_propensities
from crossbandit.evaluate.groups import make_groups
from crossbandit.evaluate.log import CensoredLog
from crossbandit.evaluate.plans import best_response, own_bids, policy, shading
from crossbandit.evaluate.results import INVERSE, Evaluation, StrategyEvaluation
from crossbandit.evaluate.stored import StoredLog
from crossbandit.logs.survey import doubt_about_units
from crossbandit.validation import boolean, integer, reject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.evaluate.dependence import DependenceTest
    from crossbandit.evaluate.estimates import BandSums, KnownSums, WeightSums
    from crossbandit.evaluate.facts import Facts
    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.plans import Plan
    from crossbandit.logs.auctions import OutcomeCounts
    from crossbandit.types import Floats

_FEWEST = 20.0  # the least number of unweighted auctions that weighted ones must be worth
SHADINGS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_MUCH = 0.05  # share of the value of a strategy
_ALIKE = 1e-6  # fractions of the value that spread less count as the same
_KNOWN = {
    "always": "The price is known in all auctions, so all numbers are exact.",
    "after-loss": "The price is known where you lost. Where you won, it was at most your bid.",
    "after-win": "The price is known where you won. Where you lost, it was above your bid.",
    "won-lost": "No price is known, only who won.",
    "mixed": "The price is known in some of the auctions that you won, and in some that you lost.",
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
    facts = log.facts if isinstance(log, StoredLog) else facts_of(log)
    power = find_power(facts)
    fractions = sorted(set(shadings))
    total: _Total | None = None
    for piece in log.pieces(bands) if isinstance(log, StoredLog) else [make_groups(log, bands)]:
        found = _piece(piece.with_power(*power), given, fractions)
        total = found if total is None else total.plus(found)
    assert total is not None  # noqa: S101 (a log has at least two auctions)
    results = tuple(one.result() for one in total.strategies)
    checks = conclude(total.trends)
    outcomes = facts.outcomes
    return Evaluation(
        auctions=facts.auctions,
        feedback=facts.feedback,
        win_rate=outcomes.wins / outcomes.auctions,
        told=outcomes.told / outcomes.auctions,
        groups=total.groups,
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

    def plus(self, other: _Strategy) -> _Strategy:
        return _Strategy(*self[:3], *map(_added, self[3:], other[3:]))

    def result(self) -> StrategyEvaluation:
        estimates = [self.bands.estimate(self.known)]
        robust, inverse = self.robust.estimate(robust=True), self.inverse.estimate(robust=False)
        if self.known.unknown and robust and inverse and inverse.size >= _FEWEST:
            estimates = [robust, *estimates, inverse]
            estimates.sort(key=lambda one: not one.credible)
        return StrategyEvaluation(*self[:3], self.known.whole, tuple(estimates))


class _Total(NamedTuple):
    """The sums over the pieces of a log."""

    groups: int
    trends: dict[str, Floats]
    strategies: tuple[_Strategy, ...]

    def plus(self, other: _Total) -> _Total:
        trends = {name: sums + other.trends[name] for name, sums in self.trends.items()}
        strategies = zip(self.strategies, other.strategies, strict=True)
        added = tuple(one.plus(same) for one, same in strategies)
        return _Total(self.groups + other.groups, trends, added)


def _added(one: Any, other: Any) -> Any:
    """Return the sum of two tuples of numbers and arrays, field by field."""
    return type(one)(*(a + b for a, b in zip(one, other, strict=True)))


def _piece(
    groups: Groups, bidders: Mapping[str, FirstPriceBidder], fractions: Iterable[float]
) -> _Total:
    log = groups.log
    plans = [
        own_bids(log),
        *(policy(log, bidder, name, groups.facts) for name, bidder in bidders.items()),
        best_response(groups),
        *(shading(log, one) for one in fractions),
    ]
    strategies = tuple(_Strategy.of(plan, groups) for plan in plans)
    return _Total(len(groups), find_trends(groups), strategies)


def _notes(
    facts: Facts,
    results: Sequence[StrategyEvaluation],
    checks: Sequence[DependenceTest],
    power: float = 0.0,
) -> Iterator[str]:
    """Yield sentences about what is known, what is doubtful, and what rests on extrapolation.

    Args:
        facts: What is known of the log.
        results: What the strategies would have earned.
        checks: The tests of the assumption.
        power: The power of the value that prices clearly depend on, or 0.
    """
    yield from _units(facts.sample)
    outcomes = facts.outcomes
    if facts.feedback == "always":
        if not outcomes.rounded:
            yield _KNOWN[facts.feedback]
            return
        yield "The price is known in all auctions."
    else:
        yield _KNOWN[facts.feedback]
    yield from _rounded(outcomes)
    if any(one.known.share < 1 for one in results):
        yield from _alike(facts)
    if power:
        yield (
            f"Prices {'rise' if power > 0 else 'fall'} with values, like values to the power of "
            f"{power:.1f}. The estimates by band allow for it."
        )
    yield from _doubts(checks)
    yield from _extrapolated(results)
    yield from _weights(facts.sample, results)


def _units(log: CensoredLog) -> Iterator[str]:
    """Say if values and own bids seem to be in different units."""
    made = (log.bids > 0) & (log.values > 0)
    if made.any():
        value, bid = (float(np.median(column[made])) for column in (log.values, log.bids))
        yield from doubt_about_units(value, bid, "own bids")


def _rounded(outcomes: OutcomeCounts) -> Iterator[str]:
    """Say if bids that equal the price won in some auctions and lost in others."""
    if outcomes.rounded:
        yield (
            f"Your bid equals the price in {outcomes.equal_wins:,} auctions that you won and in "
            f"{outcomes.equal_losses:,} that you lost, so amounts were rounded. What is exact "
            "leaves out other bids in these auctions, and bids that equal the price in others. "
            "The estimates take the prices as they were told."
        )


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


def _doubts(checks: Sequence[DependenceTest]) -> Iterator[str]:
    doubtful = [one for one in checks if one.doubtful]
    for one in doubtful:
        yield str(one)
    if doubtful:
        yield (
            "So the estimates by band may be off by more than their intervals say. Give class "
            "columns that prices go with, more bands or a shorter log; bounds and exact parts "
            "hold in any case."
        )


def _extrapolated(results: Sequence[StrategyEvaluation]) -> Iterator[str]:
    found = [
        f"{one.strategy} ({100 * one.open_share:.0f} %)"
        for one in results
        if one.open_share > _MUCH
    ]
    if found:
        yield (
            "These strategies rest on bids beyond those that were made in the same bands: "
            f"{', '.join(found)}. The data leave that share of the value open, and the interval "
            "includes all of it."
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
