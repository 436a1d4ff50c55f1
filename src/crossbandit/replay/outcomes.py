"""What a replay found: for every strategy what it earned, over time and over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.replay.oracles import BestPolicy
from crossbandit.report.statistics import half_width, half_widths
from crossbandit.validation import reject

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.replay.log import Fault
    from crossbandit.types import Floats, Integers


class Ledger:
    """What one run of a strategy has earned so far."""

    def __init__(self, points: Integers) -> None:
        self.surplus = 0.0
        self.spend = 0.0
        self.wins = 0
        self.curve = np.empty(points.size)
        self._points = points
        self.auctions = 0

    def add(self, margins: Floats, bids: Floats, won: npt.NDArray[np.bool_]) -> None:
        """Enter consecutive auctions: value less payment, what was bid, whether it won."""
        earned = self.surplus + np.cumsum(np.where(won, margins, 0.0))
        first, last = np.searchsorted(
            self._points, [self.auctions, self.auctions + bids.size], side="right"
        )
        self.curve[first:last] = earned[self._points[first:last] - self.auctions - 1]
        self.auctions += bids.size
        self.surplus = float(earned[-1])
        self.spend += float(bids[won].sum())
        self.wins += int(np.count_nonzero(won))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a strategy earned, one entry per seed; a strategy that draws nothing has one entry."""

    strategy: str
    kind: str  # "learner", "own", "fitted", "fixed" or "oracle"
    note: str
    surplus: Floats
    spend: Floats
    wins: Floats
    curve: Floats  # (seeds, points): the surplus up to each point
    bids: Floats  # at the end, at each of `Replay.values`; the mean over the seeds

    @property
    def mean_surplus(self) -> float:
        """The mean over the seeds."""
        return float(self.surplus.mean())

    @property
    def half_width(self) -> float:
        """Of the 95 % confidence interval of the mean surplus; not a number for one entry."""
        return half_width(self.surplus)


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """A log played again by every strategy, and what each earned.

    `outcomes` holds the strategies in the order of the table, `auctions` how many auctions were
    replayed, `bad` how many lines were not, with the first ten in `faults`; `notes` are sentences
    that a reader should see.
    """

    auctions: int
    bad: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]
    rules: AuctionRules
    feedback: str
    seeds: tuple[int, ...]
    points: Integers  # numbers of auctions after which the surplus was noted
    values: Floats  # at which the bids at the end were noted
    outcomes: tuple[Outcome, ...]
    reserve_column: str | None = None  # which column holds a reserve of each auction

    def __repr__(self) -> str:
        """Return the size and who earned most, oracles aside; the arrays would fill screens."""
        playing = [one for one in self.outcomes if one.kind != "oracle"]
        best = max(playing, key=lambda one: one.mean_surplus).strategy
        return f"Replay({self.auctions} auctions, {len(self.outcomes)} strategies, best: {best})"

    def outcome(self, strategy: str) -> Outcome:
        """Return what a strategy earned."""
        found = {outcome.strategy: outcome for outcome in self.outcomes}
        if strategy not in found:
            names = ", ".join(map(repr, found))
            reject("Replay.outcome", "strategy", f"one of {names}", strategy)
        return found[strategy]

    @property
    def best_policy_surplus(self) -> float:
        """What the best fixed policy earned, from which regret is counted."""
        return self.outcome(BestPolicy.name).mean_surplus

    def table(self) -> pd.DataFrame:
        """Return one row per strategy: money, win rate, regret, 95 % half-widths over seeds."""
        import pandas as pd

        return pd.DataFrame(
            {
                "strategy": outcome.strategy,
                "kind": outcome.kind,
                "surplus": outcome.mean_surplus,
                "half_width": outcome.half_width,
                "regret": self.best_policy_surplus - outcome.mean_surplus,
                "spend": outcome.spend.mean(),
                "win_rate": outcome.wins.mean() / self.auctions,
                "average_price": outcome.spend.sum() / max(1.0, outcome.wins.sum()),
                "runs": outcome.surplus.size,
                "note": outcome.note,
            }
            for outcome in self.outcomes
        )

    def curves(self) -> pd.DataFrame:
        """Return the surplus over time, one row per strategy and noted auction."""
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
        """Return what each strategy bids at the end, one row per strategy and value."""
        import pandas as pd

        frames = [
            pd.DataFrame({"strategy": outcome.strategy, "value": self.values, "bid": outcome.bids})
            for outcome in self.outcomes
        ]
        return pd.concat(frames, ignore_index=True)
