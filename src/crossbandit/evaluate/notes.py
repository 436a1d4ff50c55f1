"""Sentences about an evaluation that its reader should see before the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.evaluate.estimates import INVERSE
from crossbandit.logs.survey import doubt_about_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.evaluate.checks import DependenceTest
    from crossbandit.evaluate.facts import Facts
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.evaluate.results import StrategyEvaluation
    from crossbandit.logs.auctions import OutcomeCounts

_MUCH = 0.05  # of the value of a strategy
_ALIKE = 1e-6  # relative spread of fractions of the value that are the same

KNOWN = {
    "always": "The price is known in all auctions, so all numbers are exact.",
    "after-loss": "The price is known where you lost. Where you won, it was at most your bid.",
    "after-win": "The price is known where you won. Where you lost, it was above your bid.",
    "won-lost": "No price is known, only who won.",
    "mixed": "The price is known in some of the auctions that you won, and in some that you lost.",
}


def find_notes(
    facts: Facts,
    results: Sequence[StrategyEvaluation],
    checks: Sequence[DependenceTest],
    power: float = 0.0,
) -> Iterator[str]:
    """Yield what is known, what is doubtful, and which numbers rest on extrapolation.

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
            yield KNOWN[facts.feedback]
            return
        yield "The price is known in all auctions."
    else:
        yield KNOWN[facts.feedback]
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
