"""What strategies would have bid: policies of bidders, and groups at their edges."""

from __future__ import annotations

import numpy as np
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidContextError
from crossbandit.logs.evaluate import CensoredLog, evaluate
from crossbandit.logs.evaluate import evaluation as plans_module
from crossbandit.logs.evaluate.evaluation import policy, shading
from tests.logs.evaluate.worlds import censor, full_log, grouped


def log_with_sites(count: int = 300) -> CensoredLog:
    values, prices, bids = full_log(count, 1)
    log = censor(np.minimum(values, 9.9), prices, np.minimum(bids, 9.0), "after-loss")
    sites = np.where(np.arange(count) % 3 == 0, "a", "b")
    return CensoredLog(log.values, log.bids, log.won, log.prices, None, {"site": sites})


def trained() -> FirstPriceBidder:
    bidder = FirstPriceBidder(bids=21, value_range=(0, 10), classes=("site",), seed=1)
    rng = np.random.default_rng(0)
    sites = np.where(rng.random(1_000) < 0.5, "a", "b")
    prices = rng.uniform(0, np.where(sites == "a", 2.0, 6.0))
    bidder.warm_up(rng.uniform(0, 10, 1_000), prices, site=sites)
    return bidder


def test_a_bid_that_was_made_is_known_in_spite_of_rounding() -> None:
    """0.6 * 3 is below 1.8 by one unit in the last place; the bid of 1.8 won."""
    values, bids = np.array([3.0, 2.5]), np.array([1.8, 1.5])
    assert 0.6 * 3.0 < 1.8
    log = CensoredLog(values, bids, np.array([True, False]))
    plan = shading(log, 0.6)
    assert plan.bids.tolist() == [1.8, 1.5]
    assert log.known(plan.rows, plan.bids)[0].all()


def test_a_plan_is_the_policy_at_each_value_and_class() -> None:
    log, bidder = log_with_sites(), trained()
    plan = policy(log, bidder, "mine")
    assert (plan.bids <= log.values[plan.rows]).all()
    sums = np.bincount(plan.rows, plan.shares, len(log))
    np.testing.assert_allclose(sums, 1.0)
    for i in (0, 1, 2, 150, 299):
        chances = bidder.policy(float(log.values[i]), site=str(log.classes["site"][i]))  # type: ignore[index]
        found = np.zeros(21)
        entries = plan.rows == i
        found[np.searchsorted(bidder.bids, plan.bids[entries])] = plan.shares[entries]
        np.testing.assert_allclose(found, chances)


def test_where_there_are_many_values_the_policy_is_that_of_a_lower_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plans_module, "_POLICIES", 100)
    monkeypatch.setattr(plans_module, "_LEVELS", 40)
    log, bidder = log_with_sites(), trained()
    plan = policy(log, bidder)
    assert plan.note == "its bids are those of 40 values"
    assert (plan.bids <= log.values[plan.rows]).all()
    np.testing.assert_allclose(np.bincount(plan.rows, plan.shares, len(log)), 1.0)


def test_a_bidder_is_evaluated_as_it_is() -> None:
    log, bidder = log_with_sites(), trained()
    before = bidder.policy(5.0, site="a")
    result = evaluate(log, fractions=[0.5], bidders={"mine": bidder})["mine"]
    assert result.kind == "bidder"
    assert result.known.lower <= result.best.value <= result.known.upper
    np.testing.assert_array_equal(bidder.policy(5.0, site="a"), before)


def test_a_bidder_that_does_not_fit_the_log_is_refused() -> None:
    log = log_with_sites()
    small = FirstPriceBidder(bids=5, value_range=(0, 1), seed=1)
    with pytest.raises(InvalidContextError, match="value"):
        evaluate(log, bidders={"small": small})
    other = FirstPriceBidder(bids=5, value_range=(0, 10), classes=("device",), seed=1)
    with pytest.raises(InvalidContextError, match="device"):
        evaluate(log, bidders={"other": other})


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "won-lost"])
def test_beyond_the_outermost_bids_prices_are_left_open(feedback: str) -> None:
    """The few bids at the edge do not decide what is said of bids beyond them."""
    rng = np.random.default_rng(2)
    prices, bids = rng.uniform(0, 4, 400), rng.uniform(1, 3, 400)
    log = censor(np.full(400, 5.0), prices, bids, feedback)
    found = grouped(log).prices[0]
    ordered = np.sort(bids)
    beyond, tenth = {
        "after-loss": (ordered[0], ordered[9]),
        "after-win": (ordered[-1] + 0.01, ordered[-10]),
        "won-lost": (ordered[0], ordered[:20].mean()),
    }[feedback]
    least, most = found.range_at(np.array([beyond, tenth]))
    assert least[1] == pytest.approx(most[1], abs=1e-12)
    assert most[0] - least[0] == pytest.approx(
        1 - least[1] if feedback == "after-win" else most[1], abs=1e-9
    )
    assert most[1] == pytest.approx(tenth / 4, abs=0.1)
