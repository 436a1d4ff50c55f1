"""Sentences about a replay that its reader should see before the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.replay.oracles import BestPolicy, PerfectKnowledge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.replay.log import Survey
    from crossbandit.replay.oracles import Hindsight
    from crossbandit.replay.outcomes import Outcome

_FEW = 10  # bids for half of the auctions: too coarse, if they are also few of all bids
_WHY_MORE = (
    "That policy judges each value by all competing bids of the log. More is possible where "
    "competing bids go with the value, or where a bid between those of the grid is better."
)


def notes_on(
    survey: Survey, rules: AuctionRules, hindsight: Hindsight, outcomes: Sequence[Outcome]
) -> Iterator[str]:
    """Yield what is odd about the grid of bids, the log, and who earned most."""
    yield from _coarse_grid(survey, rules)
    yield from _nothing_to_win(rules, hindsight, outcomes)
    yield from _surprise(outcomes)


def _coarse_grid(survey: Survey, rules: AuctionRules) -> Iterator[str]:
    """Say if one very high value has drawn the bids away from the others."""
    below = int(np.count_nonzero(rules.amounts < survey.median_value))
    if 0 < below < min(_FEW, rules.arms / 10):
        yield (
            f"The highest value is {rules.highest_value:,.10g}; half of all values are below "
            f"{survey.median_value:,.3g}, and only {below} of {rules.arms} bids "
            f"{'is' if below == 1 else 'are'}. See --highest-value and --bids "
            "geometric:COUNT:LOW:HIGH (highest_value and bids in Python)."
        )


def _nothing_to_win(
    rules: AuctionRules, hindsight: Hindsight, outcomes: Sequence[Outcome]
) -> Iterator[str]:
    """Say if no bid at all, or no bid of the grid, could have earned anything."""
    if _named(outcomes, PerfectKnowledge.name).mean_surplus == 0:
        hurdle = (
            "highest competing bid or the reserve" if rules.reserve else "highest competing bid"
        )
        yield (
            f"Nothing could be earned: in every auction the {hurdle} is at or above the value. Are "
            "the columns swapped?"
        )
    elif hindsight.counts[:, :-1].sum() == 0:
        yield (
            f"The highest bid, {rules.amounts[-1]:,.10g}, would have won no auction of the log. "
            "Give higher bids with --bids (bids in Python)."
        )


def _surprise(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Say why somebody earned more than the best fixed policy, if somebody did."""
    best = _named(outcomes, BestPolicy.name).mean_surplus
    others = [one for one in outcomes if one.kind != "oracle"]
    first = max(others, key=lambda one: one.mean_surplus)
    if first.mean_surplus - np.nan_to_num(first.half_width) > best:
        yield f"{first.strategy} earned more than the best fixed policy. {_WHY_MORE}"


def _named(outcomes: Sequence[Outcome], strategy: str) -> Outcome:
    return next(one for one in outcomes if one.strategy == strategy)
