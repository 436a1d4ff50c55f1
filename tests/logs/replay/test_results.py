"""What a replay found, in its tables: numbers made by hand, several seeds."""

from typing import Any

import numpy as np
import pytest

from crossbandit.applications.bidding.auctions import AuctionRules
from crossbandit.errors import InvalidParameterError
from crossbandit.logs.replay import Replay, StrategyResult


def outcome(
    strategy: str, kind: str, surplus: list[float], **changes: list[float]
) -> StrategyResult:
    """Return what a strategy earned; half of it after half of the auctions."""
    total = np.array(surplus)
    arrays: dict[str, Any] = {"spend": np.zeros(total.size), "wins": np.zeros(total.size)}
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
            outcome("best policy per band", "oracle", [7.0], spend=[8.0], wins=[10.0]),
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
    best = table.loc["best policy per band"]
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


def test_intervals_are_over_time_and_seeds() -> None:
    """Bounds by hand: twice the same curve, and one that earns one more in every block."""
    rng = np.random.default_rng(0)
    steps = rng.normal(10, 3, 200)
    points = np.arange(1, 201)

    def strategy(name: str, kind: str, *curves: np.ndarray) -> StrategyResult:
        curve = np.cumsum(curves, axis=1)
        nothing = np.zeros(len(curves))
        return StrategyResult(name, kind, "", curve[:, -1], nothing, nothing, curve, nothing)

    result = Replay(
        auctions=200,
        bad=0,
        faults=(),
        notes=(),
        rules=AuctionRules(bids=3, highest_value=2),
        feedback="after-loss",
        seeds=(0, 1),
        points=points,
        values=np.array([0.0]),
        outcomes=(
            strategy("learner", "learner", steps - 0.1, steps + 0.1),
            strategy("plain", "fixed", steps),
            strategy("more", "fixed", steps + 1),
            strategy("best policy per band", "oracle", steps + 2),
        ),
    )
    table = result.table().set_index("strategy")
    widths = (table["high"] - table["low"]) / 2
    np.testing.assert_allclose((table["high"] + table["low"]) / 2, table["surplus"])
    # Blocks of 20 points have a standard deviation of 3 * sqrt(20), and there are 10 of them.
    assert widths["plain"] == pytest.approx(1.96 * 3 * np.sqrt(200), rel=0.35)
    assert widths["more"] == pytest.approx(widths["plain"])
    over_seeds = table.loc["learner", "half_width"]
    assert over_seeds == pytest.approx(12.7062 * 20)
    assert widths["learner"] == pytest.approx(np.hypot(widths["plain"], over_seeds))

    pairs = result.compare("plain").set_index("strategy")
    assert set(pairs["compared_with"]) == {"plain"}
    assert pairs.loc["more", ["difference", "low", "high"]].tolist() == pytest.approx([200] * 3)
    assert pairs.loc["learner", "low"] == pytest.approx(-over_seeds)
    assert pairs["clear"].to_dict() == {
        "learner": False,
        "plain": False,
        "more": True,
        "best policy per band": True,
    }
    assert result.compare()["compared_with"][0] == "learner"
    with pytest.raises(InvalidParameterError, match=r"'strategy' parameter of Replay\.compare"):
        result.compare("nobody")
