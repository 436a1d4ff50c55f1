"""What an evaluation returns: for each strategy what is known, bounds, and estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

    from crossbandit.evaluate.dependence import DependenceTest

BY_BAND, INVERSE, ROBUST = "by band", "inverse propensity", "doubly robust"
ASSUMPTIONS = {
    BY_BAND: "Within a band of values and a class, prices do not go with your own bids, and with "
    "values only like a power of them.",
    INVERSE: "The propensities are right, and every bid of the strategy could have been drawn.",
    ROBUST: "The propensities are right, or prices do not go with your own bids within bands.",
}
_NAMES = {BY_BAND: "by_band", INVERSE: "inverse_propensity", ROBUST: "doubly_robust"}


@dataclass(frozen=True)
class ValueEstimate:
    """An estimate of what a strategy would have earned on the log, with a 95 % interval.

    Attributes:
        method: "by band", "inverse propensity" or "doubly robust".
        value: The estimate.
        low: Where the interval begins.
        high: Where it ends.
        open: How much of the value the data leave open even if the assumption holds: bids beyond
            those that were made. The interval includes it.
        weight: The mean weight of an auction, which should be near 1; NaN without weights.
        size: How many auctions without weights would be as informative; NaN without weights.
    """

    method: str
    value: float
    low: float
    high: float
    open: float = 0.0
    weight: float = math.nan
    size: float = math.nan

    @property
    def credible(self) -> bool:
        """Whether the weights, if there are any, have a mean near 1."""
        return math.isnan(self.weight) or abs(self.weight - 1) <= 3 / math.sqrt(self.size)

    @property
    def assumption(self) -> str:
        """What the estimate needs to be right."""
        return ASSUMPTIONS[self.method]


class KnownOutcomes(NamedTuple):
    """What a log shows of a plan for certain.

    Attributes:
        exact: What the plan earned in the auctions whose outcome is known.
        share: The share of its bids whose outcome is known.
        lower: The least that it can have earned in all auctions.
        upper: The most.
    """

    exact: float
    share: float
    lower: float
    upper: float


@dataclass(frozen=True)
class StrategyEvaluation:
    """What one strategy would have earned on the log.

    Attributes:
        strategy: Its name.
        kind: "own", "bidder", "response" or "fixed".
        note: A remark, perhaps empty.
        known: What the log shows for certain.
        estimates: The estimates, the most trustworthy first. Each has its assumption.
    """

    strategy: str
    kind: str
    note: str
    known: KnownOutcomes
    estimates: tuple[ValueEstimate, ...]

    @property
    def best(self) -> ValueEstimate:
        """The estimate that needs the weakest assumption."""
        return self.estimates[0]

    def estimate(self, method: str) -> ValueEstimate | None:
        """Return the estimate by a method, or None if there is none.

        Args:
            method: "by band", "inverse propensity" or "doubly robust".
        """
        return next((one for one in self.estimates if one.method == method), None)

    @property
    def open_share(self) -> float:
        """Which part of the best estimate rests on bids beyond those that were made."""
        most = max(abs(self.best.value), self.best.open)
        return self.best.open / most if most > 0 else 0.0


@dataclass(frozen=True)
class Evaluation:
    """What strategies would have earned on a censored log.

    Attributes:
        auctions: The number of auctions.
        feedback: Which prices the log has: "after-loss", "after-win", "always", "won-lost" or
            "mixed".
        win_rate: The share of auctions that were won.
        told: The share of auctions whose price is known.
        groups: The number of groups, bands of values within classes.
        results: A result per strategy.
        checks: The tests of the assumption behind the estimates by band.
        notes: Sentences that a reader should see before the numbers.
    """

    auctions: int
    feedback: str
    win_rate: float
    told: float
    groups: int
    results: tuple[StrategyEvaluation, ...]
    checks: tuple[DependenceTest, ...]
    notes: tuple[str, ...]

    def __getitem__(self, strategy: str) -> StrategyEvaluation:
        for one in self.results:
            if one.strategy == strategy:
                return one
        raise KeyError(strategy)

    def table(self) -> pd.DataFrame:
        """Return a row per strategy: what is known, bounds, and each estimate with its interval.

        Returns:
            A data frame. An estimate that cannot be made is NaN.
        """
        import pandas as pd

        return pd.DataFrame([_row(one) for one in self.results])

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation in a form that `json` can write.

        Returns:
            Plain numbers, texts and lists; None for NaN.
        """
        rows = [
            {name: None if _is_nan(value) else value for name, value in _row(one).items()}
            for one in self.results
        ]
        return {
            "auctions": self.auctions,
            "feedback": self.feedback,
            "win_rate": self.win_rate,
            "told": self.told,
            "groups": self.groups,
            "strategies": rows,
            "checks": [
                {"name": one.name, "score": one.score, "p_value": one.p_value, "words": str(one)}
                for one in self.checks
            ],
            "notes": list(self.notes),
        }


def _row(one: StrategyEvaluation) -> dict[str, Any]:
    row: dict[str, Any] = {
        "strategy": one.strategy,
        "kind": one.kind,
        "exact": one.known.exact,
        "known_share": one.known.share,
        "lower_bound": one.known.lower,
        "upper_bound": one.known.upper,
        "open_share": one.open_share,
    }
    for method, name in _NAMES.items():
        found = one.estimate(method)
        row[name] = found.value if found else math.nan
        row[f"{name}_low"] = found.low if found else math.nan
        row[f"{name}_high"] = found.high if found else math.nan
    weights = one.estimate(INVERSE)
    row["mean_weight"] = weights.weight if weights else math.nan
    row["effective_size"] = weights.size if weights else math.nan
    return {**row, "note": one.note}


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
