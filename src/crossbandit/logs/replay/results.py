"""The result of a replay: what runs have earned and spent, tables with intervals, and notes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crossbandit.core.report.statistics import half_width, half_widths
from crossbandit.core.streams import stream
from crossbandit.core.types import Feedback
from crossbandit.core.validation import reject
from crossbandit.limits.periods import lasting
from crossbandit.logs.files import NO_PRICE
from crossbandit.logs.log import LIMIT
from crossbandit.logs.replay.limits import length_of
from crossbandit.logs.replay.strategies import (
    ALL_TOLD,
    GUARDED,
    LAW,
    POLICIES,
    TOLD,
    BandPolicy,
    OwnBids,
    PerfectKnowledge,
)
from crossbandit.logs.survey import TIMED_LINES, doubt_about_units, find_repeats, steps_back_in_time
from crossbandit.logs.tenders import TenderWords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crossbandit.applications.bidding.auctions import AuctionRules, BidSpacing
    from crossbandit.core.types import Floats, Integers
    from crossbandit.laws import Diagnosis
    from crossbandit.logs.log import AuctionLog, ClassColumn, ClassTable
    from crossbandit.logs.replay.limits import ReplayLimits
    from crossbandit.logs.replay.strategies import Hindsight
    from crossbandit.logs.survey import Fault, Survey


@dataclass(frozen=True, eq=False)
class StrategyResult:
    """What a strategy earned.

    Attributes:
        strategy: The name of the strategy.
        kind: "learner", "own", "fitted", "fixed" or "oracle".
        note: A short remark.
        surplus: One entry per seed; a strategy that draws nothing has one entry.
        spend: The sum of the bids that won; one entry per seed.
        wins: The number of auctions won; one entry per seed.
        curve: (seeds, points). The surplus up to each of `Replay.points`.
        bids: What it would bid at the end at each of `Replay.values`; the mean over the seeds.
        by_class: For each of `Replay.classes`, an array (3, levels): surplus, spend and wins, the
            mean over the seeds.
        limited: What it did under limits; None without limits.
    """

    strategy: str
    kind: str
    note: str
    surplus: Floats
    spend: Floats
    wins: Floats
    curve: Floats
    bids: Floats
    by_class: tuple[Floats, ...] = ()
    limited: LimitedResult | None = None

    @property
    def mean_surplus(self) -> float:
        """The mean surplus over the seeds."""
        return float(self.surplus.mean())

    @property
    def half_width(self) -> float:
        """The half-width of the 95 % interval of the mean over the seeds; NaN for one entry."""
        return half_width(self.surplus)

    @property
    def mean_value(self) -> float:
        """The mean of the values won over the seeds."""
        return float((self.surplus + self.spend).mean())


_ROUNDING = 1e-9  # share of the money spent; a smaller lack of value is a rounding error


@dataclass(frozen=True, eq=False)
class LimitedResult:
    """What a strategy did under limits."""

    spend_curve: Floats  # (seeds, points). What was spent up to each of `Replay.points`.
    multipliers: Floats
    spend: Floats
    value: Floats  # (sections,). The values won in each section, the mean over the seeds.
    least_slack: Floats
    slack: Floats  # (targets,). The same at the end of the log, the least of all runs.
    # Means over the log: what bids without an outcome counted with, what they were expected to
    # cost, and in which share of the auctions no bid was made because of them.
    held: Floats


def limit_columns(limits: ReplayLimits, outcome: StrategyResult, delay: float) -> dict[str, Any]:
    """Return what the table of a replay has in addition, with limits."""
    spend = float(outcome.spend.mean())
    columns: dict[str, Any] = {
        "value": outcome.mean_value,
        "return_on_spend": outcome.mean_value / spend if spend > 0 else np.nan,
    }
    if np.isfinite(limits.total):
        columns["budget_used"] = spend / limits.total
        if delay and outcome.limited is not None:
            columns |= zip(("reserved", "expected", "held_back"), outcome.limited.held, strict=True)
    if limits.targets and outcome.limited is not None:
        at_end = [outcome.kind == "oracle" or one.keep == "long-run" for one in limits.targets]
        slack = np.where(at_end, outcome.limited.slack, outcome.limited.least_slack)
        columns["target_kept"] = bool((slack >= -_ROUNDING * max(spend, 1.0)).all())
    return columns


def spending_rows(
    limits: ReplayLimits, outcomes: Sequence[StrategyResult]
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of `Replay.spending`."""
    for calendar in limits.calendars:
        budget = calendar.budget
        amount, per = (np.nan, None) if budget is None else (budget.amount, budget.per)
        per = "log" if per is None else str(per)
        of = limits.periods_of(calendar)
        for one in outcomes:
            if one.limited is not None:
                sums = [np.bincount(of, table) for table in (one.limited.spend, one.limited.value)]
                for name, spend, value in zip(calendar.names, *sums, strict=True):
                    yield (one.strategy, one.kind, per, name, amount, spend, value)


_BLOCKS = 10  # a log has this many blocks, long enough for effects of the hour
_REPLICATES = 2_000
_SEED = 0
# Ten blocks vary less than the process that they come from, and their spread is itself uncertain.
# The factor is the square root of 10 / 9, times Student's quantile for 13.5 degrees of freedom
# divided by 1.96.
_SMALL_SAMPLE = 1.157


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """The result of a replay: what each strategy earned on the log.

    Attributes:
        auctions: The number of auctions that were replayed.
        bad: The number of lines that were left out.
        faults: The first ten bad lines.
        notes: Sentences to read before the numbers, the warnings among them.
        warnings: Sentences that say why the numbers are probably wrong.
        rules: The bids and who wins.
        feedback: Who was told the highest competing bid.
        seeds: The seeds of the learners.
        points: Numbers of auctions after which the surplus was recorded.
        values: Values at which the bids at the end were recorded.
        outcomes: The results of the strategies, in the order of the table.
        reserve_column: The column that holds the reserve of each auction, or None.
        classes: The class columns, each with its most frequent levels.
        diagnosis: Whether prices depend on values, as the first run of the price distribution
            found; None if it did not take part.
        comparator: The strategy that regret is counted from: of the policies that were chosen in
            hindsight (one for all auctions, per band, per class), the one that earned most.
        limits: The limits, and the periods of the log; None without limits.
        delay: How many seconds after its bid the outcome of an auction came.
        currency: The currency of the amounts; "" if it is not known.
        campaigns: How many campaigns there are, each with limits of its own; 0 if there is one set.
            `limits` are those of all together.
        say: How sentences about auctions are said: as they are, or of tenders. There, `values` are
            costs, bids are those of tenders, and what was spent is what the winner was paid.
    """

    auctions: int
    bad: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]
    rules: AuctionRules
    feedback: Feedback
    seeds: tuple[int, ...]
    points: Integers
    values: Floats
    outcomes: tuple[StrategyResult, ...]
    reserve_column: str | None = None
    warnings: tuple[str, ...] = ()
    classes: tuple[ClassColumn, ...] = ()
    diagnosis: Diagnosis | None = None
    comparator: str = BandPolicy.name
    limits: ReplayLimits | None = None
    delay: float = 0.0
    campaigns: int = 0
    currency: str = ""
    say: Callable[[str], str] = str

    def __repr__(self) -> str:
        """Return the size and who earned most, oracles aside; the arrays would fill screens."""
        playing = [one for one in self.outcomes if one.kind != "oracle"]
        best = max(playing, key=lambda one: one.mean_surplus).strategy
        return f"Replay({self.auctions} auctions, {len(self.outcomes)} strategies, best: {best})"

    def outcome(self, strategy: str) -> StrategyResult:
        """Return the result of a strategy.

        Args:
            strategy: The name of the strategy.

        Returns:
            Its result.

        Raises:
            InvalidParameterError: No strategy of that name took part.
        """
        return self.outcomes[self._index(strategy, "outcome")]

    def _index(self, strategy: str, method: str) -> int:
        names = [outcome.strategy for outcome in self.outcomes]
        if strategy not in names:
            expected = f"one of {', '.join(map(repr, names))}"
            reject(f"Replay.{method}", "strategy", expected, strategy)
        return names.index(strategy)

    @property
    def aims_at_value(self) -> bool:
        """Whether strategies maximise value, as targets usually ask for, and not surplus."""
        return self.limits is not None and self.limits.aims_at_value

    def earned(self, outcome: StrategyResult) -> float:
        """Return what a strategy has earned: surplus, or value if that is aimed at.

        Args:
            outcome: One of `outcomes`.

        Returns:
            The mean over the seeds.
        """
        return outcome.mean_value if self.aims_at_value else outcome.mean_surplus

    def curve(self, outcome: StrategyResult) -> Floats:
        """Return what a strategy has earned over time: surplus, or value if that is aimed at.

        Args:
            outcome: One of `outcomes`.

        Returns:
            (seeds, points).
        """
        if not self.aims_at_value or outcome.limited is None:
            return outcome.curve
        return outcome.curve + outcome.limited.spend_curve

    @cached_property
    def _deviations(self) -> Floats:
        return resample_totals(np.array([self.curve(one).mean(axis=0) for one in self.outcomes]))

    @cached_property
    def _seed_widths(self) -> Floats:
        widths = [
            half_width(one.surplus + one.spend) if self.aims_at_value else one.half_width
            for one in self.outcomes
        ]
        return np.nan_to_num(widths)

    def table(self) -> pd.DataFrame:
        """Return one row per strategy.

        Returns:
            A frame with money, win rate and regret. `half_width` belongs to the 95 % interval of
            the surplus over the seeds. `low` and `high` are the bounds of a 95 % interval that
            covers both the seeds and the time of the log: a block bootstrap over time. With limits
            there are more columns: value, budget_used (a share of all budgets of the log), with
            late outcomes reserved, expected (what bids without an outcome counted with, and were
            expected to cost; means over the log) and held_back (the share of auctions without a bid
            because of them),
            return_on_spend, and target_kept (whether it was kept at any time, in all runs; for an
            oracle, at the end). If targets aim at value, the regret and the interval are of value.
        """
        widths = np.hypot(half_widths_over_time(self._deviations), self._seed_widths)
        frame = pd.DataFrame(
            {
                "strategy": outcome.strategy,
                "kind": outcome.kind,
                "surplus": outcome.mean_surplus,
                "half_width": outcome.half_width,
                "low": self.earned(outcome) - width,
                "high": self.earned(outcome) + width,
                "regret": self.regret(outcome),
                "spend": outcome.spend.mean(),
                "win_rate": outcome.wins.mean() / self.auctions,
                "average_price": outcome.spend.sum() / max(1.0, outcome.wins.sum()),
                "runs": outcome.surplus.size,
                "note": outcome.note,
            }
            for outcome, width in zip(self.outcomes, widths, strict=True)
        )
        if self.limits is not None:
            added = [limit_columns(self.limits, one, self.delay) for one in self.outcomes]
            frame[list(added[0])] = pd.DataFrame(added)
        return frame

    def regret(self, outcome: StrategyResult) -> float:
        """Return how much less than the comparator a strategy earned, in surplus or value.

        Args:
            outcome: One of `outcomes`.
        """
        return self.earned(self.outcome(self.comparator)) - self.earned(outcome)

    def spending(self) -> pd.DataFrame:
        """Return what each strategy spent in each period, with limits.

        Returns:
            A frame with one row per strategy and period: strategy, kind, per, period, budget, spend
            and value, the means over the seeds. `per` is "day", "hour", a length, a number of
            auctions or "log": with several budgets, sums over all rows would count money more than
            once. It is empty without limits.
        """
        rows = [] if self.limits is None else spending_rows(self.limits, self.outcomes)
        columns = ["strategy", "kind", "per", "period", "budget", "spend", "value"]
        return pd.DataFrame(rows, columns=columns)

    def compare(self, strategy: str | None = None) -> pd.DataFrame:
        """Compare every strategy with one of them, auction by auction.

        The intervals are of differences, so what all strategies have in common cancels. They can
        be much narrower than the intervals of `table`.

        Args:
            strategy: The strategy to compare with; None for the first of the table.

        Returns:
            A frame with the columns strategy, kind, compared_with, difference, low, high and
            clear. A difference is positive if the strategy earned more. `low` and `high` bound its
            95 % interval over time and seeds; `clear` says that 0 is outside.

        Raises:
            InvalidParameterError: No strategy of that name took part.
        """
        base = 0 if strategy is None else self._index(strategy, "compare")
        widths = np.hypot(
            half_widths_over_time(self._deviations - self._deviations[base]),
            np.hypot(self._seed_widths, self._seed_widths[base]),
        )
        widths[base] = 0.0
        earned = np.array([self.earned(outcome) for outcome in self.outcomes])
        differences = earned - earned[base]
        return pd.DataFrame(
            {
                "strategy": [outcome.strategy for outcome in self.outcomes],
                "kind": [outcome.kind for outcome in self.outcomes],
                "compared_with": self.outcomes[base].strategy,
                "difference": differences,
                "low": differences - widths,
                "high": differences + widths,
                "clear": np.abs(differences) > widths,
            }
        )

    def by_class(self) -> pd.DataFrame:
        """Return what each strategy earned in each class.

        Returns:
            A frame with one row per class column, level and strategy: column, level, auctions,
            strategy, kind, surplus, spend, win_rate. Levels beyond the most frequent ones are
            pooled as "others". It is empty if the log has no class columns.
        """
        rows = [
            (
                *(column.column, level, int(column.auctions[j])),
                *(one.strategy, one.kind, *one.by_class[i][:2, j]),
                one.by_class[i][2, j] / column.auctions[j],
            )
            for i, column in enumerate(self.classes)
            for j, level in enumerate(column.levels)
            for one in self.outcomes
        ]
        names = "column level auctions strategy kind surplus spend win_rate"
        return pd.DataFrame(rows, columns=names.split())

    def curves(self) -> pd.DataFrame:
        """Return the surplus over time.

        Returns:
            A frame with one row per strategy and point: strategy, auction, surplus, and the
            half_width of its 95 % interval over the seeds.
        """
        frames = [
            pd.DataFrame(
                {
                    "strategy": outcome.strategy,
                    "auction": self.points,
                    "surplus": outcome.curve.mean(axis=0),
                    "half_width": half_widths(outcome.curve),
                }
            )
            for outcome in self.outcomes
        ]
        return pd.concat(frames, ignore_index=True)

    def bid_curves(self) -> pd.DataFrame:
        """Return what each strategy bids at the end.

        Returns:
            A frame with one row per strategy and value: strategy, value, bid.
        """
        frames = [
            pd.DataFrame({"strategy": outcome.strategy, "value": self.values, "bid": outcome.bids})
            for outcome in self.outcomes
        ]
        return pd.concat(frames, ignore_index=True)


def in_tenders(result: Replay, log: AuctionLog) -> Replay:
    """Return a replay with the costs, bids and payments of tenders, if its log is one of them."""
    if not log.lowest_wins:
        return result
    say, markup = TenderWords(log.max_markup), log.max_markup

    def paid(surplus: Floats, spend: Floats) -> Floats:
        return (surplus + spend) / markup + surplus  # the cost of what was won, and the surplus

    def told(one: StrategyResult) -> StrategyResult:
        by_class = [one.copy() for one in one.by_class]
        for table in by_class:
            table[1] = paid(table[0], table[1])
        return replace(
            one,
            strategy=say(one.strategy),
            note=say(one.note),
            spend=paid(one.surplus, one.spend),
            bids=(1.0 + markup) / markup * result.values - one.bids,
            by_class=tuple(by_class),
        )

    return replace(
        result,
        values=result.values / markup,
        outcomes=tuple(map(told, result.outcomes)),
        comparator=say(result.comparator),
        notes=tuple(map(say, result.notes)),
        warnings=tuple(map(say, result.warnings)),
        say=say,
    )


def resample_totals(curves: Floats) -> Floats:
    """Return deviations of totals in a block bootstrap over time.

    Blocks of consecutive entries, which may wrap around the end, are drawn with replacement until
    they are as long as the log. All curves use the same blocks, so differences are paired. The
    random numbers are fixed.
    """
    count, points = curves.shape
    if points < 2 * _BLOCKS:
        return np.full((count, _REPLICATES), np.nan)
    length = points // _BLOCKS
    steps = np.diff(curves, prepend=0.0, axis=1)
    running = np.cumsum(np.hstack([np.zeros((count, 1)), steps, steps[:, : length - 1]]), axis=1)
    sums = running[:, length:] - running[:, :-length]  # of the block that begins there
    drawn = round(points / length)
    starts = stream(_SEED, "bootstrap").integers(0, points, (_REPLICATES, drawn))
    totals = sums[:, starts].sum(axis=2) * (points / (drawn * length))
    deviations: Floats = totals - curves[:, -1:]
    return deviations


def half_widths_over_time(deviations: Floats) -> Floats:
    """Return half-widths of 95 % intervals from resampled deviations (n, replicates)."""
    widths: Floats = _SMALL_SAMPLE * np.quantile(np.abs(deviations), 0.95, axis=-1)
    return widths


# --- notes -------------------------------------------------------------------------------------

_FEW = 10  # a grid with fewer bids below the median value is too coarse, if it is not small
_MANY_LEFT_OUT = 0.01  # share of all lines
_MANY_ALIKE = 0.05  # share of the auctions
_ENOUGH = 20  # the number of auctions that a conclusion needs
_NEARLY_NONE = 0.001  # share of the own bids
_WORTHWHILE = 0.01  # share of the surplus
_MUCH = 0.03  # larger shares are shown in whole percent
_FREE = 1.01  # a multiplier up to here hardly changes a bid
_SPARE = 0.9  # share of a budget; a strategy that spends less has money left
_DELIVERED = 0.97  # share of a budget; why less was spent is said
_BLOCKED = 0.02  # share of the auctions
_NAMED = 3  # how many cut periods a note names
_WHY_MORE = (
    "That policy is the best in hindsight of its kind, and does not change. More is possible where "
    "competing bids change over time, depend on the value within a band, or on both class and "
    "value; or where a bid between those of the grid is better."
)


def find_warnings(result: Replay, survey: Survey, hindsight: Hindsight) -> Iterator[str]:
    """Yield reasons why the numbers of a replay are probably wrong."""
    own = next((one for one in result.outcomes if one.strategy == OwnBids.name), None)
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
        has_reserve = result.rules.reserve > 0 or result.reserve_column is not None
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
    result: Replay,
    log: AuctionLog,
    survey: Survey,
    hindsight: Hindsight,
    classes: ClassTable,
    spacing: BidSpacing | None = None,
) -> Iterator[str]:
    """Yield what is unusual about the log and the bids, who earned most, and what limits do."""
    if spacing is not None and not spacing.even:
        yield (
            f"The {spacing.bids.size} bids are closer together where most values are: to round a "
            f"bid up costs about {100 * spacing.cost:.1f} % of most values with them, and "
            f"{100 * spacing.even_cost:.0f} % with evenly spaced bids. They were chosen by the "
            f"values alone. For evenly spaced bids: --bids {spacing.bids.size}."
        )
    yield from _notes_on_lines(log, survey)
    yield from _notes_on_prices(survey)
    if not log.lowest_wins:  # its bids follow from the costs
        yield from _notes_on_bids(survey, result.rules, hindsight)
    if result.comparator in POLICIES:
        others = [one for one in result.outcomes if one.kind != "oracle"]
        first = max(others, key=lambda one: one.mean_surplus)
        least = first.mean_surplus - np.nan_to_num(first.half_width)
        if least > result.outcome(result.comparator).mean_surplus:
            name = f"{'The ' if first.strategy in {LAW, GUARDED} else ''}{first.strategy}"
            yield f"{name} earned more than the {result.comparator}. {_WHY_MORE}"
    if result.limits is not None:
        yield from _notes_on_limits(result, result.limits)
    if result.delay:
        yield from _notes_on_delay(result, result.limits, length_of(log))
    if result.campaigns and result.limits is None:
        yield "Without limits, campaigns are classes as others are. Give a budget or a target."
    elif result.campaigns == 1:
        yield "The log has one campaign only: it keeps the limits."
    elif result.campaigns:
        yield (
            f"Each of the {result.campaigns} campaigns keeps the limits by itself, and strategies "
            "learn from all of them. Budgets shown are those of all together, between which "
            "oracles may move money: they earn more than any bidder could. To learn from each "
            "campaign alone, use --by."
        )
    yield from find_dependence(result.diagnosis, classes, result.outcomes)


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
    if diagnosis.features:
        gains = zip(classes.names, (gain for _, gain in diagnosis.features), strict=True)
        order = sorted(gains, key=lambda item: -item[1])
        parts = (f"{name} {100 * gain:+.1f} %" for name, gain in order)
        yield f"What each class adds to the surplus, given the others: {', '.join(parts)}."
    gain, earned = _gain(diagnosis, outcomes)
    matters = gain >= _WORTHWHILE
    by_value, by_class = diagnosis.depends, diagnosis.depends_on_class
    given = ", given the class" if classes.names else ""
    nothing = f"Nothing shows that prices are correlated with values here{given}."
    if not by_value and not by_class:
        yield nothing
        return
    found = f"values here{given}" if by_value else "the class here"
    found += " and with the class" if by_value and by_class else ""
    by = "by value and class" if classes.names else "by value"
    but = "" if matters else ", but it hardly matters"
    first = f"Prices are correlated with {found}{but}: bidding {by} {earned}."
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


def _notes_on_limits(result: Replay, limits: ReplayLimits) -> Iterator[str]:
    """Say how strategies keep the limits, and whether they matter."""
    yield (
        "Every strategy keeps the limits. Learners and best responses bid for pseudo-values. The "
        "log's own bids and fixed fractions are not made where they could break a limit, or where "
        "more than planned was spent up to then. Oracles keep a target at the end of the log; a "
        "target that holds in the long run may be missed for a while."
    )
    for calendar in limits.calendars:
        if calendar.budget is not None and (cut := calendar.cut(limits.auctions)):
            more = f" and {len(cut) - _NAMED:,} more" if len(cut) > _NAMED else ""
            yield (
                f"The log has only a part of the {calendar.budget.per} {', '.join(cut[:_NAMED])}"
                f"{more}. A budget counts in full there, and pacing by time keeps money for the "
                "hours that are missing. Leave such parts out, or give budgets per number of "
                "auctions."
            )
    if result.outcome(PerfectKnowledge.name).spend[0] <= 0 and limits.targets:
        yield (
            "The target cannot be met: in no auction is the value high enough for its price. "
            "Nothing is bid. Choose a lower return on spend, or a higher cost."
        )
    free = [one.limited for one in result.outcomes if one.kind == "learner" and one.limited]
    if not limits.budgets or limits.targets or not free:
        return
    if not any(_is_held_back(one, limits) for one in free):
        yield (
            "The budget hardly matters: the learners spend less than it allows. Without it they "
            "would bid the same."
        )


def _notes_on_delay(result: Replay, limits: ReplayLimits | None, lasts: float) -> Iterator[str]:
    """Say what late outcomes cost: what was reserved, and why less was spent than planned."""
    late = lasting(result.delay)
    if result.delay > lasts:
        yield (
            f"No outcome comes before the last bid, so nothing is learned: the log lasts "
            f"{lasting(lasts)}. Give a shorter delay; or are its times wrong?"
        )
    if limits is None or not limits.budgets:
        yield f"Outcomes come {late} after bids. Oracles know all of them beforehand."
        return
    yield (
        f"Outcomes come {late} after bids. Until then a bid counts with what it is expected to "
        "cost, and a margin. Oracles know all outcomes beforehand."
    )
    cut = any(one.cut(limits.auctions) for one in limits.calendars)
    for one in result.outcomes:
        if one.limited is None or one.kind == "oracle":
            continue
        reserved, expected, held_back = one.limited.held.tolist()
        used = float(one.spend.mean()) / limits.total
        said = (
            f"{one.strategy} spent {100 * used:.1f} % of its budget. On average {reserved:,.4g} "
            f"was reserved for bids without an outcome, which were expected to cost {expected:,.4g}"
        )
        if used >= _DELIVERED:
            if one.kind == "learner":
                yield f"{said}."
        elif held_back >= _BLOCKED:
            yield (
                f"{said}. In {100 * held_back:.0f} % of the auctions it could not bid, because "
                f"outcomes are {late} late and what was left was reserved."
            )
        elif (
            one.kind in {"learner", "fitted"}  # others do not bid for pseudo-values
            and one.limited.multipliers.size
            and np.nanmedian(one.limited.multipliers) <= _FREE
        ):
            yield f"{said}. It bid what it would bid without a budget: there was no more to win."
        else:
            why = "hours of a period are missing" if cut else "its bids won less than was planned"
            yield f"{said}. It was not held back by what was reserved: {why}."


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
