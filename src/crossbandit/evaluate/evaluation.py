"""Evaluate strategies on a censored log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crossbandit.applications import FirstPriceBidder
from crossbandit.evaluate.checks import independence
from crossbandit.evaluate.estimates import by_band, weighted, what_is_known
from crossbandit.evaluate.groups import make_groups
from crossbandit.evaluate.log import CensoredLog
from crossbandit.evaluate.notes import find_notes
from crossbandit.evaluate.plans import best_response, own_bids, policy, shading
from crossbandit.evaluate.propensities import estimated_propensities
from crossbandit.evaluate.results import Evaluation, StrategyEvaluation
from crossbandit.evaluate.scales import scaled
from crossbandit.validation import boolean, integer, reject

if TYPE_CHECKING:
    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.plans import Plan

_FEWEST = 20.0  # auctions without weights that weights must be worth
SHADINGS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def evaluate_log(
    log: CensoredLog,
    *,
    shadings: Iterable[float] = SHADINGS,
    bidders: Mapping[str, FirstPriceBidder] | None = None,
    bands: int | None = None,
    random_bids: bool = False,
) -> Evaluation:
    """Estimate what strategies would have earned on a log in which not all prices are known.

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
    if not isinstance(log, CensoredLog):
        reject("evaluate_log", "log", "a CensoredLog", log)
    if bands is not None:
        integer("evaluate_log", "bands", bands, at_least=1, at_most=10_000)
    given: Any = {} if bidders is None else bidders
    if not isinstance(given, Mapping) or not all(
        isinstance(one, FirstPriceBidder) for one in given.values()
    ):
        reject("evaluate_log", "bidders", "a mapping from names to FirstPriceBidders", bidders)
    if boolean("evaluate_log", "random_bids", random_bids) and log.propensities is None:
        log = replace(log, propensities=estimated_propensities(log))
    groups = scaled(make_groups(log, bands), log)
    plans = [
        own_bids(log),
        *(policy(log, bidder, name) for name, bidder in given.items()),
        best_response(log, groups),
        *(shading(log, one) for one in sorted(set(shadings))),
    ]
    results = tuple(_evaluated(log, plan, groups) for plan in plans)
    checks = independence(log, groups)
    return Evaluation(
        auctions=len(log),
        feedback=log.feedback,
        win_rate=float(log.won.mean()),
        told=float(log.told.mean()),
        groups=len(groups),
        results=results,
        checks=checks,
        notes=tuple(find_notes(log, results, checks, groups.power)),
    )


def _evaluated(log: CensoredLog, plan: Plan, groups: Groups) -> StrategyEvaluation:
    known = what_is_known(log, plan)
    estimates = [by_band(log, plan, groups)]
    if known.share < 1:
        robust, inverse = (weighted(log, plan, groups, robust=one) for one in (True, False))
        if robust is not None and inverse is not None and inverse.size >= _FEWEST:
            estimates = [robust, *estimates, inverse]
            estimates.sort(key=lambda one: not one.credible)
    return StrategyEvaluation(plan.name, plan.kind, plan.note, known, tuple(estimates))
