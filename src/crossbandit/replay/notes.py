"""Sentences about a replay that its reader should see before the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.replay.log import NO_PRICE, TIMED_LINES
from crossbandit.replay.oracles import BestPolicy, PerfectKnowledge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.replay.log import Log, Survey
    from crossbandit.replay.oracles import Hindsight
    from crossbandit.replay.outcomes import Outcome

_FEW = 10  # bids for half of the auctions: too coarse, if they are also few of all bids
_MANY_LEFT_OUT = 0.01  # of all lines
_MANY_ALIKE = 0.05  # of the auctions
_ENOUGH_ALIKE = 20  # of them, at least
_WHY_MORE = (
    "That policy judges each value by all competing bids of the log. More is possible where "
    "competing bids go with the value, or where a bid between those of the grid is better."
)


def notes_on(
    log: Log,
    survey: Survey,
    rules: AuctionRules,
    hindsight: Hindsight,
    outcomes: Sequence[Outcome],
) -> Iterator[str]:
    """Yield what is odd about the log, the grid of bids, and who earned most."""
    yield from _out_of_order(log)
    yield from _left_out(survey)
    yield from _no_rivals(survey)
    yield from _coarse_grid(survey, rules)
    has_reserve = rules.reserve > 0 or "reserve" in log.places
    yield from _nothing_to_win(rules, hindsight, outcomes, has_reserve=has_reserve)
    yield from _surprise(outcomes)


def _out_of_order(log: Log) -> Iterator[str]:
    """Say if the lines do not follow each other in time, as far as that is looked at."""
    if count := log.steps_back():
        times = "once" if count == 1 else f"{count:,} times"
        yield (
            f"Column 'timestamp' goes back in time {times} in the first {TIMED_LINES:,} lines. A "
            "replay plays a log in the order of its lines: sort it by time."
        )


def _left_out(survey: Survey) -> Iterator[str]:
    """Say if so many lines are bad that what is left may be another log."""
    if survey.bad <= _MANY_LEFT_OUT * survey.lines:
        return
    said = f"{_percent(survey.bad, survey.lines)} of the lines were left out"
    if survey.main_reason == NO_PRICE:
        yield (
            f"{said}, most of them because they have no highest competing bid. If it is missing "
            "where you won, the numbers are wrong: what is left are the auctions that you lost."
        )
    else:
        why = f", most of them for one reason: {survey.main_reason}" if survey.main_reason else ""
        yield f"{said}{why}. The numbers are right only if these lines are like the others."


def _no_rivals(survey: Survey) -> Iterator[str]:
    """Say if prices look like something else than the highest bid of the others."""
    doubts = survey.doubts
    least = max(_MANY_ALIKE * survey.auctions, _ENOUGH_ALIKE)
    if doubts.nothing > least:
        yield (
            f"In {_percent(doubts.nothing, survey.auctions)} of the auctions the highest competing "
            "bid is 0: nobody else has bid. Where it is only not known, leave it empty."
        )
    if doubts.own_bid > least:
        alike, share = "your own bid", doubts.own_bid
    elif doubts.one_ratio > least:
        alike, share = f"{doubts.ratio:.3f} of the value", doubts.one_ratio
    else:
        return
    yield (
        f"In {_percent(share, survey.auctions)} of the auctions the highest competing bid is "
        f"{alike}. Is it what you bid or paid? Then the numbers are wrong: a replay needs the "
        "highest bid of the others, also where you won."
    )


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 10 else f"{share:.1f} %"


def _coarse_grid(survey: Survey, rules: AuctionRules) -> Iterator[str]:
    """Say if one very high value has drawn the bids away from the others."""
    below = int(np.count_nonzero(rules.amounts < survey.median_value))
    if 0 < below < min(_FEW, rules.arms / 10):
        low, high = _short(survey.median_value / 100, 1), _short(rules.highest_value, 3)
        yield (
            f"The highest value is {rules.highest_value:,.10g}; half of all values are below "
            f"{survey.median_value:,.3g}, and only {below} of {rules.arms} bids "
            f"{'is' if below == 1 else 'are'}. Finer where most values are: --bids "
            f"geometric:{rules.arms}:{low}:{high} "
            f"(bids=geometric_bids({rules.arms}, {low}, {high}) in Python)."
        )


def _short(amount: float, digits: int) -> str:
    return f"{float(f'{amount:.{digits}g}'):.15g}"


def _nothing_to_win(
    rules: AuctionRules, hindsight: Hindsight, outcomes: Sequence[Outcome], *, has_reserve: bool
) -> Iterator[str]:
    """Say if no bid at all, or no bid of the grid, could have earned anything."""
    if _named(outcomes, PerfectKnowledge.name).mean_surplus == 0:
        hurdle = "highest competing bid" + (" or the reserve" if has_reserve else "")
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
        yield f"{first.strategy} earned more than the {BestPolicy.name}. {_WHY_MORE}"


def _named(outcomes: Sequence[Outcome], strategy: str) -> Outcome:
    return next(one for one in outcomes if one.strategy == strategy)
