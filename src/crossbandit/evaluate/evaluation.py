"""Evaluate strategies on a censored log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit.applications import FirstPriceBidder
from crossbandit.evaluate.by_band import band_sums
from crossbandit.evaluate.checks import conclude, tested_trends
from crossbandit.evaluate.estimates import what_is_known
from crossbandit.evaluate.facts import facts_of
from crossbandit.evaluate.groups import make_groups
from crossbandit.evaluate.log import CensoredLog
from crossbandit.evaluate.notes import find_notes
from crossbandit.evaluate.plans import best_response, own_bids, policy, shading
from crossbandit.evaluate.propensities import with_propensities
from crossbandit.evaluate.results import Evaluation, StrategyEvaluation
from crossbandit.evaluate.scales import find_power, is_clear
from crossbandit.evaluate.stored import StoredLog
from crossbandit.evaluate.weights import weight_sums
from crossbandit.validation import boolean, integer, reject

if TYPE_CHECKING:
    from crossbandit.evaluate.by_band import BandSums
    from crossbandit.evaluate.estimates import KnownSums
    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.plans import Plan
    from crossbandit.evaluate.weights import WeightSums
    from crossbandit.types import Floats

_FEWEST = 20.0  # auctions without weights that weights must be worth
SHADINGS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


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
        notes=tuple(find_notes(facts, results, checks, power[0] if is_clear(*power) else 0.0)),
    )


class _Strategy(NamedTuple):
    """A strategy, and what it adds up to in a piece of the log."""

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
    """What pieces of a log add up to."""

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
    return _Total(len(groups), tested_trends(groups), strategies)
