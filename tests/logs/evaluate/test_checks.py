"""Tests of the assumption: against literal sums, and false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from crossbandit.logs.evaluate import DependenceTest
from crossbandit.logs.evaluate.groups import (
    Groups,
    PriceDistribution,
    by_expected_ranks,
    conclude,
    find_trends,
    log_rank,
    make_groups,
)
from tests.logs.evaluate.worlds import censor, full_log, grouped


def independence(groups: Groups) -> tuple[DependenceTest, ...]:
    return conclude(find_trends(groups))


@pytest.mark.parametrize("feedback", ["after-loss", "after-win"])
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_the_log_rank_statistic_is_its_definition(feedback: str, step: float) -> None:
    values, prices, bids = full_log(80, 2)
    if step:
        prices, bids = (
            np.ceil(prices / step) * step,
            np.minimum(np.ceil(bids / step) * step, values),
        )
    log = censor(values, prices, bids, feedback)
    ranks = np.random.default_rng(3).random(80)
    upper = feedback == "after-loss"
    told, score, variance = log.told, 0.0, 0.0
    for level in np.unique(prices[told]):
        beyond = bids < level if upper else bids >= level
        could = prices <= level if upper else prices >= level
        risk = (told & could) | (~told & beyond)
        event = told & (prices == level)
        count, events = risk.sum(), event.sum()
        score += (ranks[event] - ranks[risk].mean()).sum()
        if count > 1:
            variance += events * (count - events) / (count - 1) * ranks[risk].var()
    found = log_rank(PriceDistribution(log.low, log.high), told, ranks, upper=upper)
    assert found[0] == pytest.approx(score if upper else -score)
    assert found[1] == pytest.approx(variance)


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "won-lost", "mixed"])
def test_independent_prices_raise_few_alarms(feedback: str) -> None:
    """40 logs: more than 4 alarms at 1 % have probability 0.0001."""
    alarms = 0
    for seed in range(40):
        log = censor(*full_log(1_000 if feedback != "mixed" else 300, seed), feedback)
        alarms += any(one.doubtful for one in independence(make_groups(log)))
    assert alarms <= 4


@pytest.mark.parametrize(
    ("p_value", "said"),
    [
        (0.4, "Nothing shows that prices are correlated with time within bands (p = 0.40)."),
        (0.05, "Nothing shows that prices are correlated with time within bands (p = 0.05)."),
        (0.03, "Prices may fall with time within bands: this is not clear (p = 0.03)."),
        (0.009, "Prices fall with time within bands (p = 0.009)."),
    ],
)
def test_what_a_p_value_shows_is_said(p_value: float, said: str) -> None:
    assert str(DependenceTest("time", -2.0, p_value)) == said


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "won-lost", "mixed"])
def test_prices_that_go_with_values_or_time_are_noticed(feedback: str) -> None:
    values, prices, bids = full_log(3_000, 1, correlation=0.7)
    log = censor(values, prices, bids, feedback)
    one_group = grouped(log)
    found = {one.name: one for one in independence(one_group)}
    assert found["value"].doubtful
    assert str(found["value"]) == "Prices rise with values within bands (p < 0.001)."
    assert not found["time"].doubtful
    falling = censor(values, prices * np.linspace(1.3, 0.7, 3_000), bids, feedback)
    found = {one.name: one for one in independence(make_groups(falling))}
    assert str(found["time"]) == "Prices fall with time within bands (p < 0.001)."


def test_prices_that_go_with_own_bids_are_noticed() -> None:
    """The bidder knew something that is not in the log."""
    values, prices, _ = full_log(3_000, 1)
    bids = np.minimum(values, 0.4 * values + 0.3 * prices)
    log = censor(values, prices, bids, "after-loss")
    found = {one.name: one for one in independence(make_groups(log))}
    assert found["bid"].doubtful
    assert found["bid"].score > 0


def test_nothing_is_tested_where_nothing_can_be() -> None:
    log = censor(*full_log(300, 1), "always")
    assert independence(make_groups(log)) == ()


def test_expected_ranks_by_hand() -> None:
    """Prices of 1 and 3 were told, and one of at most 2 is then 1: masses of 2/3 and 1/3."""
    low = np.array([np.nextafter(1.0, 0.0), np.nextafter(3.0, 0.0), 0.0])
    prices = PriceDistribution(low, np.array([1.0, 3.0, 2.0]))
    # The expected ranks are 1/3, 5/6 and 1/3; the column is -1, 1 and 0 around its mean.
    score, variance = by_expected_ranks(prices, np.array([0.0, 2.0, 1.0]))
    assert score == pytest.approx((5 / 6 - 1 / 2) - (1 / 3 - 1 / 2))
    assert variance == pytest.approx((5 / 6 - 1 / 2) ** 2 + (1 / 3 - 1 / 2) ** 2)
