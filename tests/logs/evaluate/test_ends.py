"""The chance to win near the outermost bids: bounds, their errors, and how often they cover."""

from __future__ import annotations

import numpy as np
import pytest

from crossbandit.logs.evaluate import CensoredLog, evaluate
from crossbandit.logs.evaluate.evaluation import band_sums, shading
from crossbandit.logs.evaluate.groups import Ends, find_power, make_groups, trends
from tests.logs.evaluate.worlds import by_band, censor, earned, full_log, grouped


def test_bounds_by_hand() -> None:
    """Nine own bids: blocks of three, or all bids that are equal; all of them are near an end."""
    bids = np.array([5.0, 1.0, 2.0, 2.0, 2.0, 2.0, 9.0, 3.0, 4.0, 7.0])
    won = np.array([1, 0, 1, 0, 0, 0, 0, 1, 0, 1], dtype=bool)
    ends = Ends(bids, won, bids < 9)  # a bid of 9 was below its reserve
    tried = np.array([0.5, 1.0, 2.0, 3.5, 6.0, 7.0, 8.0])
    assert ends.least(tried).rate.tolist() == pytest.approx(
        [0, 0, 1 / 4, 1 / 3, 2 / 3, 2 / 3, 2 / 3]
    )
    assert ends.most(tried).rate.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 4, 2 / 3, 1, 1, 1])
    assert ends.hold(tried).all()
    many = Ends(np.arange(1_000.0), np.ones(1_000, dtype=bool), np.ones(1_000, dtype=bool))
    assert many.hold(np.array([98.5, 99.5, 899.5, 900.5])).tolist() == [True, False, False, True]


def test_influences_are_derivatives() -> None:
    """Blocks do not change with the weights of auctions, so the derivative is that of a mean."""
    rng = np.random.default_rng(1)
    bids, won = rng.integers(0, 12, 40) / 2, rng.random(40) < 0.4
    ends = Ends(bids, won, rng.random(40) < 0.9)
    tried, weights = rng.uniform(0, 6, 15), rng.uniform(0.5, 2, 15)
    for block in (ends.least(tried), ends.most(tried)):
        found, doubt = ends.influence(block, weights, np.ones(15))
        order = ends.rows
        size = np.maximum(block.stop - block.start, 1)
        expected = np.zeros(40)
        for start, stop, weight in zip(block.start, block.stop, weights, strict=True):
            inside = order[start:stop]
            rate = won[inside].mean() if inside.size else 0.0
            expected[inside] += weight * (won[inside] - rate) / max(inside.size, 1)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert doubt == pytest.approx((2 * (weights / size)[block.stop > block.start].sum()) ** 2)


def test_bids_below_all_own_bids_are_open() -> None:
    """Nothing is known below the lowest bids, and at most as many wins as just above them."""
    values, prices, bids = full_log(1_000, 1)
    log = censor(values, prices, bids, "won-lost")
    groups = grouped(log)
    lowest = float(np.sort(bids)[:5].mean())
    plan = shading(log, 0.5)
    low = type(plan)("low", "fixed", plan.rows, np.full(1_000, lowest), plan.shares)
    sums = band_sums(low, groups)
    rate = log.won[np.argsort(bids)[5:40]].mean()
    assert sums.least == 0.0
    assert 0.0 < sums.most < 3 * rate * float((values - lowest).sum())
    assert sums.bias == 0.0  # the mean of a block has none


def test_what_only_repeats_own_bids_is_no_trend() -> None:
    """Wins were fitted to bids by a rising rate, so what is left always falls with bids."""
    log = censor(*full_log(1_000, 2), "won-lost")
    groups = make_groups(log)
    score, variance = trends(groups, {"value": log.bids})["value"]
    assert abs(score) < 1e-9 + 1e-6 * np.sqrt(variance)


def test_intervals_cover_near_the_outermost_bids() -> None:
    """40 logs: at most 33 covered has probability 0.002 at a coverage of 0.95."""
    tried = (0.41, 0.59)
    covered, errors = np.zeros(len(tried)), np.empty((40, len(tried)))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values, prices = np.exp(rng.standard_normal((2, 1_000)))
        prices *= 0.5
        log = censor(values, prices, values * rng.uniform(0.4, 0.6, 1_000), "won-lost")
        groups = make_groups(log)
        scaled = groups.scaled(find_power(groups.facts))
        for i, fraction in enumerate(tried):
            plan = shading(log, fraction)
            found = by_band(plan, scaled)
            truth = earned(values, prices, plan.bids)
            covered[i] += found.low <= truth <= found.high
            errors[seed, i] = found.value / truth - 1
    assert (covered > 33).all()
    assert (abs(errors.mean(axis=0)) < 0.08).all()


def test_intervals_cover_between_few_fractions_of_the_value() -> None:
    """Nothing was bid there. 40 logs: at most 33 covered has probability 0.002, as above."""
    tried = (0.4, 0.45, 0.6)
    covered = np.zeros(len(tried))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.uniform(1, 10, 800)
        prices = np.where(rng.random(800) < 0.5, 1.5, 4.0) + rng.normal(0, 0.2, 800)
        bids = values * rng.choice([0.3, 0.5, 0.7], 800)
        found = evaluate(censor(values, prices, bids, "won-lost"), fractions=tried)
        for i, one in enumerate(found.results[-len(tried) :]):
            truth = earned(values, prices, tried[i] * values)
            covered[i] += one.best.low <= truth <= one.best.high
    assert (covered > 33).all()


@pytest.mark.parametrize("fractions", [(0.3, 0.5, 0.7), tuple(np.linspace(0.3, 0.9, 400))])
def test_no_power_of_the_value_is_found_where_there_is_none(fractions: tuple[float, ...]) -> None:
    """Three standard errors are clear: one of 8 logs would be so with probability 0.02."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        values = rng.uniform(1, 10, 1_500)
        bids = values * rng.choice(fractions, 1_500)
        log = censor(values, rng.exponential(2.5, 1_500), bids, "won-lost")
        assert find_power(log.facts).clear == 0.0


@pytest.mark.parametrize("width", [0.0, 0.005])
def test_intervals_cover_where_prices_are_few_shares_of_the_value(width: float) -> None:
    """A power that is wrong by 0.1, and bids beside the jumps: 66 of 100 were covered before.

    At most 88 of 100 has probability 0.004 at a coverage of 0.95.
    """
    covered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = 3 * np.exp(0.5 * rng.standard_normal(2_500))
        shares = rng.choice([0.4, 0.6], 2_500) + width * rng.uniform(-1, 1, 2_500)
        log = censor(values, shares * values, values * rng.uniform(0.25, 0.95, 2_500), "won-lost")
        fractions = (0.39, 0.41, 0.57, 0.59, 0.61)
        for fraction, one in zip(
            fractions, evaluate(log, fractions=fractions).results[-5:], strict=True
        ):
            truth = earned(values, shares * values, fraction * values)
            covered.append(one.best.low <= truth <= one.best.high)
    assert np.sum(covered) > 88


def test_intervals_cover_between_few_fractions_where_prices_are_few_shares() -> None:
    """At a power that is a little wrong, bids of 0.6 of the value seem to be at 0.59, too.

    39 of 60 were covered before.
    """
    covered = []
    for seed in range(12, 24):
        rng = np.random.default_rng(seed)
        values = 3 * np.exp(0.5 * rng.standard_normal(2_000))
        prices = values * (rng.choice([0.4, 0.6], 2_000) + rng.uniform(-0.005, 0.005, 2_000))
        bids = values * rng.choice([0.3, 0.45, 0.6, 0.7, 0.9], 2_000)
        fractions = (0.39, 0.41, 0.5, 0.59, 0.61)
        found = evaluate(censor(values, prices, bids, "won-lost"), fractions=fractions)
        for fraction, one in zip(fractions, found.results[-5:], strict=True):
            truth = earned(values, prices, fraction * values)
            covered.append(one.best.low <= truth <= one.best.high)
    assert np.sum(covered) > 48


def test_jumps_by_hand() -> None:
    """The chance jumps at 500: the next blocks of own bids differ by 1, those beside them by 0."""
    bids = np.arange(1_000.0)
    ends = Ends(bids, bids >= 500, bids >= 0, lumpy=True)
    half, weight = np.array([0.5]), np.array([2.0])
    for lower, upper, jump in ends.steps(np.array([499.5]), half, weight):
        assert lower.tolist() == upper.tolist() == pytest.approx([1.0, 0.0])
        assert jump.tolist() == pytest.approx([2.0, 0.0])
    spread = np.arange(300.5, 700.5)
    sums = ends.steps(spread, (spread >= 500).astype(float), np.ones(spread.size))
    assert np.abs(sums[:, 2, 0]).max() < 2  # bids that are spread evenly show none
    near_an_end = ends.steps(np.array([50.0]), half, weight)
    assert not near_an_end.any()


def test_a_gap_between_own_bids_is_open() -> None:
    """Inside dense bids nothing is open, and neither is a bid that was often made."""
    bids = np.concatenate(
        [np.linspace(1, 2, 500), np.linspace(3, 4, 500), np.full(500, 5.0), np.linspace(6, 7, 500)]
    )
    ends = Ends(bids, np.ones(2_000, dtype=bool), bids > 0)
    tried = np.array([1.5, 1.999, 2.001, 2.5, 2.999, 3.001, 3.5, 4.5, 5.0, 5.5, 6.5])
    expected = [False, False, True, True, True, False, False, True, False, True, False]
    assert ends.hold(tried).tolist() == expected


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "won-lost", "mixed"])
def test_intervals_cover_in_small_logs_with_prices_on_a_lattice(feedback: str) -> None:
    """60 logs of 20 to 60 auctions: at least 95 % are covered, whatever is bid."""
    covered = np.zeros(9)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        count = 20 + seed * 40 // 59
        prices, bids = (rng.integers(1, top, count).astype(np.float64) for top in (13, 10))
        values = np.full(count, 10.0)
        log = censor(values, prices, bids, feedback)
        amounts = np.arange(1.0, 10.0)
        found = [one.best for one in evaluate(log, fractions=amounts / 10).results[-9:]]
        for i, (one, amount) in enumerate(zip(found, amounts, strict=True)):
            truth = earned(values, prices, np.full(count, amount))
            covered[i] += one.low - 1e-9 <= truth <= one.high + 1e-9
    assert covered.min() >= 57


def test_a_log_without_bids_that_could_win_in_a_group() -> None:
    """All bids of one class are below their reserve: nothing is known of it, and nothing fails."""
    values, prices, bids = full_log(2_400, 3)
    site = np.arange(2_400) % 2
    reserves = np.where(site, 100.0, 0.0)
    won = (bids >= prices) & (site == 0)
    log = CensoredLog(values, bids, won, classes={"site": site}, reserve=reserves)
    found = evaluate(log, fractions=[0.5]).results[-1].best
    assert np.isfinite([found.low, found.value, found.high]).all()
