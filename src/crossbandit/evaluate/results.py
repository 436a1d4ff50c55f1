"""The evaluation of strategies on a log: what each would have earned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crossbandit.evaluate.estimates import BY_BAND, INVERSE, ROBUST

if TYPE_CHECKING:
    import pandas as pd

    from crossbandit.evaluate.checks import DependenceTest
    from crossbandit.evaluate.estimates import KnownOutcomes, ValueEstimate

_NAMES = {BY_BAND: "by_band", INVERSE: "inverse_propensity", ROBUST: "doubly_robust"}


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
