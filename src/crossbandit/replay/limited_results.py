"""What strategies did under limits: spend over time and by period, multipliers, targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.replay.ledger import Account
    from crossbandit.replay.limited import ReplayLimits
    from crossbandit.replay.results import StrategyResult
    from crossbandit.types import Floats

_ROUNDING = 1e-9  # of the money spent: a smaller lack of value is an error of rounding


@dataclass(frozen=True, eq=False)
class LimitedResult:
    """What a strategy did under limits.

    Attributes:
        spend_curve: (seeds, points). What was spent up to each of `Replay.points`.
        multipliers: (points,). What a value was divided by at each of them, the mean over the
            seeds; NaN for strategies that have no multiplier.
        spend: (sections,). What was spent in each section, the mean over the seeds. With one
            budget, a section is a period; see `ReplayLimits`.
        value: (sections,). The values won in each section, likewise.
        least_slack: (targets,). How much more could have been spent at the tightest moment of all
            runs without breaking a target; below 0 if it was broken.
        slack: (targets,). Likewise at the end, the least of all runs.
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
        at_end = outcome.kind == "oracle"
        slack = outcome.limited.slack if at_end else outcome.limited.least_slack
        columns["target_kept"] = bool((slack >= -_ROUNDING * max(spend, 1.0)).all())
    return columns


def spending_rows(
    limits: ReplayLimits, outcomes: Sequence[StrategyResult]
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of `Replay.spending`."""
    for calendar in limits.calendars:
        amount = np.nan if calendar.budget is None else calendar.budget.amount
        of = limits.periods_of(calendar)
        for one in outcomes:
            if one.limited is not None:
                sums = [np.bincount(of, table) for table in (one.limited.spend, one.limited.value)]
                for name, spend, value in zip(calendar.names, *sums, strict=True):
                    yield (one.strategy, one.kind, name, amount, spend, value)
