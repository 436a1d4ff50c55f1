"""Account for what strategies spend under limits: over time, by period, against targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.replay.limited_strategies import KNAPSACK
from crossbandit.replay.runs import points_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.replay.limited import ReplayLimits
    from crossbandit.replay.runs import StrategyResult
    from crossbandit.types import Floats, Integers

_ROUNDING = 1e-9  # share of the money spent; a smaller lack of value is a rounding error
_FREE = 1.01  # a multiplier up to here hardly changes a bid
_SPARE = 0.9  # share of a budget; a strategy that spends less has money left


class Account:
    """What one run has spent under limits: over time, by section, and against the targets.

    Args:
        limits: The limits.
        points: The auctions after which it is recorded.
    """

    def __init__(self, limits: ReplayLimits, points: Integers) -> None:
        self._limits, self._points = limits, points
        self.spend_curve = np.zeros(points.size)
        self.multipliers = np.full(points.size, np.nan)
        self.by_section = np.zeros((2, max(1, limits.sections)))  # spend, value
        self.slack = np.zeros((len(limits.targets), 2))  # the least so far, and the present one
        self.auctions = 0
        self._spend = 0.0

    def add(
        self,
        values: Floats,
        paid: Floats,
        won: Floats,
        sections: Integers,
        multipliers: Floats | None = None,
    ) -> None:
        """Add consecutive auctions: the values won, what was paid, how often it won."""
        spent = self._spend + np.cumsum(paid)
        for i, target in enumerate(self._limits.targets):
            base, slope = target.credit()
            slack = self.slack[i, 1] + np.cumsum(base * won + slope * values - paid)
            self.slack[i] = min(self.slack[i, 0], float(slack.min())), slack[-1]
        size = self.by_section.shape[1]
        self.by_section[0] += np.bincount(sections, paid, size)
        self.by_section[1] += np.bincount(sections, values, size)
        now, places = points_within(self._points, self.auctions, paid.size)
        self.spend_curve[now] = spent[places]
        if multipliers is not None:
            self.multipliers[now] = multipliers[places]
        self.auctions += paid.size
        self._spend = float(spent[-1])


@dataclass(frozen=True, eq=False)
class LimitedResult:
    """What a strategy did under limits.

    Attributes:
        spend_curve: (seeds, points). What was spent up to each of `Replay.points`.
        multipliers: (points,). What a value was divided by at each of them, the mean over the
            seeds; NaN for strategies that have no multiplier.
        spend: (sections,). What was spent in each section, the mean over the seeds. With one
            budget, a section is a period; see `ReplayLimits`.
        value: (sections,). The values won in each section, the mean over the seeds.
        least_slack: (targets,). How much more could have been spent at the tightest moment of all
            runs without breaking a target; below 0 if it was broken.
        slack: (targets,). The same at the end of the log, the least of all runs.
    """

    spend_curve: Floats
    multipliers: Floats
    spend: Floats
    value: Floats
    least_slack: Floats
    slack: Floats

    @classmethod
    def of(cls, accounts: Sequence[Account]) -> LimitedResult:
        """Return the result of the runs of a strategy.

        Args:
            accounts: An account for each run.
        """
        multipliers = np.array([one.multipliers for one in accounts])
        by_section = np.mean([one.by_section for one in accounts], axis=0)
        slack = np.min([one.slack for one in accounts], axis=0)
        return cls(
            spend_curve=np.array([one.spend_curve for one in accounts]),
            multipliers=multipliers.mean(axis=0),
            spend=by_section[0],
            value=by_section[1],
            least_slack=slack[:, 0],
            slack=slack[:, 1],
        )


def limit_columns(limits: ReplayLimits, outcome: StrategyResult) -> dict[str, Any]:
    """Return what the table of a replay has in addition, with limits."""
    spend = float(outcome.spend.mean())
    columns: dict[str, Any] = {
        "value": outcome.mean_value,
        "return_on_spend": outcome.mean_value / spend if spend > 0 else np.nan,
    }
    if np.isfinite(limits.total):
        columns["budget_used"] = spend / limits.total
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


def find_limit_notes(limits: ReplayLimits, outcomes: Sequence[StrategyResult]) -> Iterator[str]:
    """Yield what the limits are, how strategies keep them, and whether they matter."""
    yield (
        "Every strategy keeps the limits. Learners and best responses bid for pseudo-values. The "
        "log's own bids and fixed fractions are not made where they could break a limit, or where "
        "more than planned was spent up to then. Oracles keep a target at the end of the log; a "
        "target that holds in the long run may be missed for a while."
    )
    knowing = next(one for one in outcomes if one.strategy == KNAPSACK)
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
