"""The result of a replay: what every strategy earned, over time and over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.replay.intervals import half_widths_over_time, resample_totals
from crossbandit.replay.oracles import BestPolicy
from crossbandit.report.statistics import half_width, half_widths
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pandas as pd

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.laws import Diagnosis
    from crossbandit.logs.classes import ClassColumn
    from crossbandit.logs.faults import Fault
    from crossbandit.types import Floats, Integers


class Ledger:
    """What one run of a strategy has earned so far."""

    def __init__(self, points: Integers, class_sizes: Sequence[int] = ()) -> None:
        self.surplus = 0.0
        self.spend = 0.0
        self.wins = 0
        self.curve = np.empty(points.size)
        self._points = points
        self.auctions = 0
        self.by_class = [np.zeros((3, size)) for size in class_sizes]  # surplus, spend, wins

    def add(
        self,
        margins: Floats,
        bids: Floats,
        won: npt.NDArray[np.bool_],
        classes: Integers | None = None,
    ) -> None:
        """Enter consecutive auctions: value minus bid, the bid, whether it won, its classes."""
        earned = self.surplus + np.cumsum(np.where(won, margins, 0.0))
        for i, sums in enumerate(self.by_class):
            if classes is None:
                break
            numbers = np.minimum(classes[won, i], sums.shape[1] - 1)
            for row, amounts in enumerate((margins[won], bids[won], None)):
                sums[row] += np.bincount(numbers, amounts, sums.shape[1])
        first, last = np.searchsorted(
            self._points, [self.auctions, self.auctions + bids.size], side="right"
        )
        self.curve[first:last] = earned[self._points[first:last] - self.auctions - 1]
        self.auctions += bids.size
        self.surplus = float(earned[-1])
        self.spend += float(bids[won].sum())
        self.wins += int(np.count_nonzero(won))


@dataclass(frozen=True, eq=False)
class StrategyResult:
    """What a strategy earned.

    Attributes:
        strategy: The name of the strategy.
        kind: "learner", "own", "fitted", "fixed" or "oracle".
        note: A short remark.
        surplus: One entry per seed; a strategy that draws nothing has one entry.
        spend: The sum of the bids that won, likewise.
        wins: The number of auctions won, likewise.
        curve: (seeds, points). The surplus up to each of `Replay.points`.
        bids: What it would bid at the end at each of `Replay.values`; the mean over the seeds.
        by_class: For each of `Replay.classes`, an array (3, levels): surplus, spend and wins, the
            mean over the seeds.
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

    @property
    def mean_surplus(self) -> float:
        """The mean surplus over the seeds."""
        return float(self.surplus.mean())

    @property
    def half_width(self) -> float:
        """The half-width of the 95 % interval of the mean over the seeds; NaN for one entry."""
        return half_width(self.surplus)


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """A log replayed by every strategy, and what each earned.

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
        diagnosis: Whether prices go with values, as the first run of the price law found; None if
            the price law did not take part.
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
    def best_policy_surplus(self) -> float:
        """The surplus of the best fixed policy, against which regret is measured."""
        return self.outcome(BestPolicy.name).mean_surplus

    @cached_property
    def _deviations(self) -> Floats:
        return resample_totals(np.array([outcome.curve.mean(axis=0) for outcome in self.outcomes]))

    @cached_property
    def _seed_widths(self) -> Floats:
        return np.nan_to_num([outcome.half_width for outcome in self.outcomes])

    def table(self) -> pd.DataFrame:
        """Return one row per strategy.

        Returns:
            A frame with money, win rate and regret. `half_width` belongs to the 95 % interval of
            the surplus over the seeds. `low` and `high` are the bounds of a 95 % interval that
            covers both the seeds and the time of the log: a block bootstrap over time.
        """
        import pandas as pd

        widths = np.hypot(half_widths_over_time(self._deviations), self._seed_widths)
        return pd.DataFrame(
            {
                "strategy": outcome.strategy,
                "kind": outcome.kind,
                "surplus": outcome.mean_surplus,
                "half_width": outcome.half_width,
                "low": outcome.mean_surplus - width,
                "high": outcome.mean_surplus + width,
                "regret": self.best_policy_surplus - outcome.mean_surplus,
                "spend": outcome.spend.mean(),
                "win_rate": outcome.wins.mean() / self.auctions,
                "average_price": outcome.spend.sum() / max(1.0, outcome.wins.sum()),
                "runs": outcome.surplus.size,
                "note": outcome.note,
            }
            for outcome, width in zip(self.outcomes, widths, strict=True)
        )

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
        surpluses = np.array([outcome.mean_surplus for outcome in self.outcomes])
        differences = surpluses - surpluses[base]
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
