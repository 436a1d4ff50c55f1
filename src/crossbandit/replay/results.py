"""The result of a replay: its tables, with confidence intervals over time and over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.replay.oracles import BestPolicy
from crossbandit.replay.spending import limit_columns, spending_rows
from crossbandit.report.statistics import half_width, half_widths
from crossbandit.streams import stream
from crossbandit.validation import reject

if TYPE_CHECKING:
    import pandas as pd

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.laws import Diagnosis
    from crossbandit.logs.auctions import ClassColumn
    from crossbandit.logs.faults import Fault
    from crossbandit.replay.limited import ReplayLimits
    from crossbandit.replay.runs import StrategyResult
    from crossbandit.types import Floats, Integers


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
        diagnosis: Whether prices depend on values, as the first run of the price law found; None if
            the price law did not take part.
        comparator: The strategy that regret is counted from.
        limits: The limits, and the periods of the log; None without limits.
    """

    auctions: int
    bad: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]
    rules: AuctionRules
    feedback: str
    seeds: tuple[int, ...]
    points: Integers
    values: Floats
    outcomes: tuple[StrategyResult, ...]
    reserve_column: str | None = None
    warnings: tuple[str, ...] = ()
    classes: tuple[ClassColumn, ...] = ()
    diagnosis: Diagnosis | None = None
    comparator: str = BestPolicy.name
    limits: ReplayLimits | None = None

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
            there are more columns: value, budget_used (a share of all budgets of the log),
            return_on_spend, and target_kept (whether it was kept at any time, in all runs; for an
            oracle, at the end). If targets aim at value, the regret and the interval are of value.
        """
        import pandas as pd

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
            added = [limit_columns(self.limits, one) for one in self.outcomes]
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
        import pandas as pd

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
        import pandas as pd

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
        import pandas as pd

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
        import pandas as pd

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
        import pandas as pd

        frames = [
            pd.DataFrame({"strategy": outcome.strategy, "value": self.values, "bid": outcome.bids})
            for outcome in self.outcomes
        ]
        return pd.concat(frames, ignore_index=True)


def resample_totals(curves: Floats) -> Floats:
    """Return deviations of totals in a block bootstrap over time.

    Blocks of consecutive entries, which may wrap around the end, are drawn with replacement until
    they are as long as the log. All curves use the same blocks, so differences are paired. The
    random numbers are fixed.

    Args:
        curves: (n, points). Running sums; the last column holds the totals.

    Returns:
        (n, replicates). Resampled totals minus totals. NaN if there are fewer than 20 points.
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
