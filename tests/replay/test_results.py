"""What a replay found, in its tables: numbers made by hand, several seeds."""

import numpy as np
import pytest

from crossbandit.environments.auctions import AuctionRules
from crossbandit.replay.results import Replay, StrategyResult


def outcome(
    strategy: str, kind: str, surplus: list[float], **changes: list[float]
) -> StrategyResult:
    """Return what a strategy earned; half of it after half of the auctions."""
    total = np.array(surplus)
    arrays = {"spend": np.zeros(total.size), "wins": np.zeros(total.size)}
    arrays |= {name: np.array(values) for name, values in changes.items()}
    return StrategyResult(
        strategy=strategy,
        kind=kind,
        note="",
        surplus=total,
        curve=np.column_stack([total / 2, total]),
        bids=np.zeros(2),
        **arrays,
    )


@pytest.fixture
def result() -> Replay:
    return Replay(
        auctions=20,
        bad=0,
        faults=(),
        notes=(),
        rules=AuctionRules(bids=3, highest_value=2),
        feedback="after-loss",
        seeds=(0, 1),
        points=np.array([10, 20]),
        values=np.array([0.0, 2.0]),
        outcomes=(
            outcome("learner", "learner", [3.0, 5.0], spend=[6.0, 14.0], wins=[3.0, 5.0]),
            outcome("truthful", "fixed", [0.0]),
            outcome("best fixed policy", "oracle", [7.0], spend=[8.0], wins=[10.0]),
        ),
    )


def test_the_table_is_of_the_mean_over_the_seeds(result: Replay) -> None:
    table = result.table().set_index("strategy")
    learner = table.loc["learner"]
    assert learner["surplus"] == 4
    assert learner["regret"] == 3
    assert learner["spend"] == 10
    assert learner["win_rate"] == 4 / 20
    assert learner["average_price"] == 20 / 8  # what all wins of all seeds cost, by their number
    assert learner["runs"] == 2
    # The standard error is 1, and 12.706 is Student's quantile for two seeds.
    assert learner["half_width"] == pytest.approx(12.7062, abs=1e-4)
    best = table.loc["best fixed policy"]
    assert (best["win_rate"], best["average_price"]) == (0.5, 0.8)


def test_who_never_won_paid_nothing(result: Replay) -> None:
    row = result.table().set_index("strategy").loc["truthful"]
    assert (row["win_rate"], row["average_price"], row["spend"]) == (0, 0, 0)


def test_curves_have_the_half_widths_of_the_mean(result: Replay) -> None:
    curves = result.curves()
    assert list(curves["auction"]) == [10, 20] * 3
    learner = curves[curves["strategy"] == "learner"]
    assert list(learner["surplus"]) == [2, 4]
    # Surpluses 1.5 and 2.5, then 3 and 5: standard errors 1/2 and 1.
    assert list(learner["half_width"]) == pytest.approx([12.7062 / 2, 12.7062], abs=1e-4)
    assert curves[curves["strategy"] != "learner"]["half_width"].isna().all()
