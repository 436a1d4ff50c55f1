"""Write the sentences that the reader of a replay should see before the numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.logs.files import NO_PRICE
from crossbandit.logs.log import LIMIT
from crossbandit.logs.survey import TIMED_LINES, doubt_about_units, find_repeats, steps_back_in_time
from crossbandit.replay.oracles import POLICIES, PerfectKnowledge
from crossbandit.replay.strategies import ALL_TOLD, GUARDED, LAW, TOLD, OwnBids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.laws import Diagnosis
    from crossbandit.logs.log import AuctionLog, ClassTable
    from crossbandit.logs.survey import Survey
    from crossbandit.replay.limits import ReplayLimits
    from crossbandit.replay.oracles import Hindsight
    from crossbandit.replay.results import LimitedResult, StrategyResult
    from crossbandit.rules import AuctionRules, BidSpacing

_FEW = 10  # a grid with fewer bids below the median value is too coarse, if it is not small
_MANY_LEFT_OUT = 0.01  # share of all lines
_MANY_ALIKE = 0.05  # share of the auctions
_ENOUGH = 20  # the number of auctions that a conclusion needs
_NEARLY_NONE = 0.001  # share of the own bids
_WORTHWHILE = 0.01  # share of the surplus
_MUCH = 0.03  # larger shares are shown in whole percent
_FREE = 1.01  # a multiplier up to here hardly changes a bid
_SPARE = 0.9  # share of a budget; a strategy that spends less has money left
_WHY_MORE = (
    "That policy is the best in hindsight of its kind, and does not change. More is possible where "
    "competing bids change over time, depend on the value within a band, or on both class and "
    "value; or where a bid between those of the grid is better."
)


def find_warnings(
    log: AuctionLog,
    survey: Survey,
    rules: AuctionRules,
    hindsight: Hindsight,
    outcomes: Sequence[StrategyResult],
) -> Iterator[str]:
    """Yield reasons why the numbers of a replay are probably wrong."""
    own = next((one for one in outcomes if one.strategy == OwnBids.name), None)
    if own is not None and (did := mostly(own.wins[0], survey.own_bids)):
        other, prices, seems = ("won", "low", "less") if did == "lost" else ("lost", "high", "more")
        also = ", with the highest bid of the others" if other == "won" else ""
        yield (
            f"Your own bids win {int(own.wins[0]):,} of the {survey.own_bids:,} auctions in which "
            f"you bid. If the auctions that you {other} were dropped, the numbers are wrong: the "
            f"auctions with {prices} competing bids are missing, and every strategy seems to earn "
            f"{seems}. A replay needs the auctions that you {other}{also}."
        )
    unit = list(_other_unit(survey))
    yield from unit
    if not unit and hindsight.possible == 0:
        has_reserve = rules.reserve > 0 or "reserve" in log.places
        what = "highest competing bid" + (" or the reserve" if has_reserve else "")
        yield (
            f"Nothing could be earned: in every auction the {what} is at or above the value. Are "
            "the columns swapped?"
        )


def _other_unit(survey: Survey) -> Iterator[str]:
    """Warn if values and prices seem to be in different units."""
    if survey.auctions >= 2:
        medians = survey.median_value, survey.median_price
        yield from doubt_about_units(*medians, "highest competing bids")


def mostly(won: float, bids: int) -> str:
    """Return "lost" or "won" if nearly all of enough own bids did that, otherwise nothing.

    >>> mostly(0, 500), mostly(200, 500), mostly(500, 500), mostly(0, 3)
    ('lost', '', 'won', '')
    """
    if bids < _ENOUGH:
        return ""
    if won < _NEARLY_NONE * bids:
        return "lost"
    return "won" if won > (1 - _NEARLY_NONE) * bids else ""


def find_notes(
    log: AuctionLog,
    survey: Survey,
    rules: AuctionRules,
    hindsight: Hindsight,
    outcomes: Sequence[StrategyResult],
    comparator: str,
) -> Iterator[str]:
    """Yield what is unusual about the log, the grid of bids, and who earned most."""
    yield from _notes_on_lines(log, survey)
    yield from _notes_on_prices(survey)
    yield from _notes_on_bids(survey, rules, hindsight)
    if comparator not in POLICIES:
        return
    best = next(one for one in outcomes if one.strategy == comparator).mean_surplus
    others = [one for one in outcomes if one.kind != "oracle"]
    first = max(others, key=lambda one: one.mean_surplus)
    if first.mean_surplus - np.nan_to_num(first.half_width) > best:
        name = first.strategy if first.strategy not in {LAW, GUARDED} else f"The {first.strategy}"
        yield f"{name} earned more than the {comparator}. {_WHY_MORE}"


def _notes_on_lines(log: AuctionLog, survey: Survey) -> Iterator[str]:
    """Say if lines are not in the order of time, are repeated, or if many are bad."""
    column, count = steps_back_in_time(log)
    if count:
        times = "once" if count == 1 else f"{count:,} times"
        yield (
            f"Column {column} goes back in time {times} in the first {TIMED_LINES:,} lines. A "
            "replay follows the order of the lines: sort the log by time, or let --sort-by do it."
        )
    yield from find_repeats(log, survey)
    if survey.bad <= _MANY_LEFT_OUT * survey.lines:
        return
    left_out = f"{_percent(survey.bad, survey.lines)} of the lines were left out"
    if survey.main_reason == NO_PRICE:
        yield (
            f"{left_out}, most of them because they have no highest competing bid. If it is "
            "missing where you won, the numbers are wrong: only the auctions that you lost are "
            "left."
        )
    else:
        why = f", most of them for one reason: {survey.main_reason}" if survey.main_reason else ""
        yield f"{left_out}{why}. The numbers are right only if these lines are like the others."


def _notes_on_prices(survey: Survey) -> Iterator[str]:
    """Say if many prices are 0, or look like what was bid or paid."""
    least = max(_MANY_ALIKE * survey.auctions, _ENOUGH)
    if survey.zero_prices > least:
        yield (
            f"In {_percent(survey.zero_prices, survey.auctions)} of the auctions the highest "
            "competing bid is 0: nobody else has bid. Where it is unknown, leave it empty."
        )
    ratio, share = survey.main_ratio
    alike = f"{ratio:.3f} of the value"
    if survey.own_prices > least:
        alike, share = "your own bid", survey.own_prices
    if share > least and not list(_other_unit(survey)):
        yield (
            f"In {_percent(share, survey.auctions)} of the auctions the highest competing bid is "
            f"{alike}. Is it what you bid or paid? Then the numbers are wrong: a replay needs the "
            "highest bid of the others, also where you won."
        )


def _notes_on_bids(survey: Survey, rules: AuctionRules, hindsight: Hindsight) -> Iterator[str]:
    """Say if a few very high values leave too few bids for the others, or if no bid could win."""
    below = int(np.count_nonzero(rules.amounts < survey.median_value))
    if 0 < below < min(_FEW, rules.arms / 10):
        low = f"{float(f'{survey.median_value / 100:.1g}'):.15g}"
        high = f"{float(f'{rules.highest_value:.3g}'):.15g}"
        yield (
            f"The highest value is {rules.highest_value:,.10g}; half of the values are below "
            f"{survey.median_value:,.3g}, and only {below} of {rules.arms} bids "
            f"{'is' if below == 1 else 'are'}. For a finer grid where most values are: --bids "
            f"geometric:{rules.arms}:{low}:{high} "
            f"(bids=geometric_bids({rules.arms}, {low}, {high}) in Python)."
        )
    if hindsight.wins[-1] == 0 and hindsight.possible > 0:
        yield (
            f"The highest bid, {rules.amounts[-1]:,.10g}, would have won no auction of the log. "
            "Give higher bids with --bids (bids in Python)."
        )


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 10 else f"{share:.1f} %"


def find_bids_note(spacing: BidSpacing | None) -> Iterator[str]:
    """Say why bids were chosen by the values of the log, if they are not evenly spread."""
    if spacing is None or spacing.even:
        return
    yield (
        f"The {spacing.bids.size} bids are closer together where most values are: to round a bid "
        f"up costs about {100 * spacing.cost:.1f} % of most values with them, and "
        f"{100 * spacing.even_cost:.0f} % with evenly spaced bids. They were chosen by the values "
        f"alone. For evenly spaced bids: --bids {spacing.bids.size}."
    )


def find_dependence(
    diagnosis: Diagnosis | None, classes: ClassTable, outcomes: Sequence[StrategyResult]
) -> Iterator[str]:
    """Yield whether prices depend on values, and which class columns have too many levels."""
    for name in classes.full():
        yield (
            f"Column {name!r} has more than {LIMIT:,} levels. Those after the first {LIMIT:,} are "
            "treated as one class."
        )
    if diagnosis is None:
        return
    gain, earned = _gain(diagnosis, outcomes)
    matters = gain >= _WORTHWHILE
    by_value, by_class = diagnosis.depends, diagnosis.depends_on_class
    given = ", given the class" if classes.names else ""
    nothing = f"Nothing shows that prices go with values here{given}."
    if not by_value and not by_class:
        yield nothing
        return
    found = f"values here{given}" if by_value else "the class here"
    found += " and with the class" if by_value and by_class else ""
    by = "by value and class" if classes.names else "by value"
    but = "" if matters else ", but it hardly matters"
    first = f"Prices go with {found}{but}: bidding {by} {earned}."
    yield first if by_value else f"{first} {nothing}"


def _gain(diagnosis: Diagnosis, outcomes: Sequence[StrategyResult]) -> tuple[float, str]:
    """Return how much more a law earned than the best response, or an estimate, and the words."""
    surplus = {one.strategy: one.mean_surplus for one in outcomes}
    law = surplus.get(LAW, surplus.get(GUARDED, math.nan))
    rival = surplus.get(TOLD, surplus.get(ALL_TOLD, math.nan))
    measured = law / rival - 1 if rival > 0 else math.nan
    gain = diagnosis.gain if math.isnan(measured) else measured
    share = f"{abs(100 * gain):.{1 if abs(gain) < _MUCH else 0}f} %"
    if math.isnan(measured):
        return gain, f"earns an estimated {share} more"
    than = "more" if gain >= 0 else "less"
    return gain, f"earned {share} {than} than the best response, which learns from all prices alike"


def find_limit_notes(limits: ReplayLimits, outcomes: Sequence[StrategyResult]) -> Iterator[str]:
    """Yield what the limits are, how strategies keep them, and whether they matter."""
    if not limits:
        return
    yield (
        "Every strategy keeps the limits. Learners and best responses bid for pseudo-values. The "
        "log's own bids and fixed fractions are not made where they could break a limit, or where "
        "more than planned was spent up to then. Oracles keep a target at the end of the log; a "
        "target that holds in the long run may be missed for a while."
    )
    knowing = next(one for one in outcomes if one.strategy == PerfectKnowledge.name)
    if knowing.spend[0] <= 0 and limits.targets:
        yield (
            "The target cannot be met: in no auction is the value high enough for its price. "
            "Nothing is bid. Choose a lower return on spend, or a higher cost."
        )
    free = [one.limited for one in outcomes if one.kind == "learner" and one.limited is not None]
    if not limits.budgets or limits.targets or not free:
        return
    if not any(_is_held_back(one, limits) for one in free):
        yield (
            "The budget hardly matters: the learners spend less than it allows. Without it they "
            "would bid the same."
        )


def _is_held_back(one: LimitedResult, limits: ReplayLimits) -> bool:
    """Return whether a budget changes what a learner bids.

    The money left at the end does not show this. A log that ends in the morning leaves most of the
    budget of that day, even if the budgets of all earlier days were used up.
    """
    lowers = bool(np.median(one.multipliers) > _FREE)  # never with pacing "asap"
    spent = any(
        np.bincount(limits.periods_of(calendar), one.spend).max() >= _SPARE * calendar.budget.amount
        for calendar in limits.calendars
        if calendar.budget is not None
    )
    return lowers or spent or one.spend.sum() >= _SPARE * limits.total
