"""Exact parts, bounds and estimates of strategies on censored logs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit.core.report.statistics import student_quantile
from crossbandit.core.types import Floats, Integers
from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.logs.evaluate import CensoredLog, evaluate
from crossbandit.logs.evaluate.evaluation import (
    BY_BAND,
    INVERSE,
    ROBUST,
    BandSums,
    KnownSums,
    Plan,
    band_sums,
    best_response,
    own_bids,
    shading,
    what_is_known,
)
from crossbandit.logs.evaluate.groups import PriceDistribution, make_groups, without_edges
from tests.logs.evaluate.worlds import by_band, censor, earned, full_log, grouped, weighted

FEEDBACK = ["after-loss", "after-win", "won-lost", "mixed"]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([*FEEDBACK, "always"]))
def test_bounds_are_the_extremes_over_all_prices_that_fit(seed: int, feedback: str) -> None:
    rng = np.random.default_rng(seed)
    values, prices = np.full(4, 6.0), rng.integers(1, 7, 4).astype(float)
    log = censor(values, prices, rng.integers(1, 6, 4).astype(float), feedback)
    plan = Plan("x", "fixed", np.arange(4), rng.integers(1, 6, 4).astype(float), np.ones(4))
    grid = np.arange(0.5, 8.0, 0.5)
    fits = [
        [prices[i]] if log.told[i] else [p for p in grid if (log.bids[i] >= p) == log.won[i]]
        for i in range(4)
    ]
    all_earned = [earned(values, np.array(one), plan.bids) for one in itertools.product(*fits)]
    known = what_is_known(log, plan).whole
    assert known.lower == pytest.approx(min(all_earned))
    assert known.upper == pytest.approx(max(all_earned))
    found = by_band(plan, make_groups(log))
    assert known.lower <= found.low <= found.value <= found.high <= known.upper
    if known.share == 1:
        assert found.low == found.high == earned(values, prices, plan.bids)


def test_the_log_s_own_bids_are_known_exactly() -> None:
    values, prices, bids = full_log(500, 1)
    for feedback in FEEDBACK:
        result = evaluate(censor(values, prices, bids, feedback), fractions=[0.5]).results[0]
        assert result.known.share == 1
        assert result.best.low == result.best.high == pytest.approx(earned(values, prices, bids))


def test_one_group_by_hand() -> None:
    """Bids of 3 and 2 at a value of 5, 8 times; told after a loss: 2.5 and 4. What do 2 earn?

    Above 2 the product limit is (1 - 1/4) at 4, at risk are all four. At 2.5 the told one and the
    bid of 2 that won are at risk, so F(2) = 3/4 * 1/2. A bid of 2 in place of the 3 that won wins
    with the chance F(2) / F(3) = 1/2.
    """
    bids, won = np.array([3.0, 2.0, 2.0, 3.0]), np.array([True, True, False, False])
    told = np.array([np.nan, np.nan, 2.5, 4.0])
    log = CensoredLog(np.full(32, 5.0), np.tile(bids, 8), np.tile(won, 8), np.tile(told, 8))
    groups = grouped(log)
    plan = Plan("two", "fixed", np.arange(32), np.full(32, 2.0), np.ones(32))
    known = what_is_known(log, plan).whole
    assert (known.exact, known.lower, known.upper, known.share) == (24.0, 24.0, 48.0, 0.75)
    assert by_band(plan, groups).value == pytest.approx(8 * (3.0 + 3.0 * 0.5))


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_influences_are_those_of_the_whole_estimate(feedback: str) -> None:
    """With one copy of an auction more or less among many, the estimate changes by its influence.

    Where bids are pooled, more and less may differ: there is no derivative to compare with. The
    ends are tested in test_ends.py.
    """
    values, prices, bids = full_log(60, 3)
    log = censor(values, prices, bids, feedback)
    groups = grouped(log)
    groups.ends = [None]
    plan = shading(log, 0.5)
    known, _ = log.known(plan.rows, plan.bids)
    rows = np.flatnonzero(~known)
    gains = (values - plan.bids)[rows]
    intervals = without_edges(log, np.arange(60), groups.scales, feedback)

    def imputed(members: Integers) -> float:
        low, high = (one[members] for one in intervals)
        part = _chances(PriceDistribution(low, high), *intervals, rows, plan.bids[rows])
        return float(gains @ part)

    sums = band_sums(plan, groups)  # with 60 auctions, a part of the time is one auction
    expected = imputed(np.arange(60))
    assert sums.value == pytest.approx(expected)
    np.testing.assert_array_equal(sums.below, sums.above)
    copies = 400
    compared = 0
    for i in range(1, 60, 6) if feedback == "won-lost" else (2, 17, 40):
        changes = []
        for step, drawn in ((1, np.append), (-1, np.delete)):
            changed = drawn(np.tile(np.arange(60), copies), i)
            changes.append(step * copies * (imputed(changed) - expected))
        if changes[0] == pytest.approx(changes[1], abs=1e-2):
            compared += 1
            assert changes[0] == pytest.approx(sums.below[i], abs=2e-2)
    assert compared >= 3


def _chances(
    prices: PriceDistribution, lows: Floats, highs: Floats, rows: Integers, bids: Floats
) -> Floats:
    low, high = lows[rows], np.minimum(highs[rows], 1e300)
    top = np.where(np.isinf(highs[rows]), 1.0, prices.at(high))
    found: Floats = (prices.at(bids) - prices.at(low)) / (top - prices.at(low))
    return np.clip(found, 0.0, 1.0)


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_intervals_cover_where_prices_do_not_go_with_values(feedback: str) -> None:
    """30 logs and two strategies: at most 50 of 60 has probability 0.001 at a coverage of 0.95."""
    covered = 0
    for seed in range(30):
        values, prices, bids = full_log(1_500, seed)
        log = censor(values, prices, bids, feedback)
        groups = make_groups(log)
        for fraction in (0.4, 0.7):
            plan = shading(log, fraction)
            found = by_band(plan, groups)
            covered += found.low <= earned(values, prices, plan.bids) <= found.high
    assert covered > 50


@pytest.mark.parametrize("feedback", ["after-loss", "won-lost"])
def test_a_bid_below_its_reserve_says_nothing_about_the_others(feedback: str) -> None:
    """20 logs with a reserve per auction: at most 15 covered has probability 0.003 at 0.95."""
    covered = 0
    for seed in range(20):
        values, prices, bids = full_log(1_500, seed)
        reserves = np.random.default_rng(seed).uniform(0, 2.5, 1_500)
        won = (bids >= prices) & (bids >= reserves)
        told = np.where(won | (feedback == "won-lost"), np.nan, prices)
        log = CensoredLog(values, bids, won, told, reserve=reserves)
        found = by_band(shading(log, 0.45), make_groups(log))
        tried = 0.45 * values
        wins = (tried >= prices) & (tried >= reserves)
        covered += found.low <= float((values - tried)[wins].sum()) <= found.high
    assert covered > 15


def random_log(
    count: int, seed: int, correlation: float = 0.0
) -> tuple[CensoredLog, Floats, Floats]:
    """Return a log whose bids were drawn from three fractions of the value, told after a loss."""
    values, prices, _ = full_log(count, seed, correlation)
    rng = np.random.default_rng(seed + 500)
    chances = np.array([0.2, 0.5, 0.3])
    drawn = rng.choice(3, count, p=chances)
    bids = values * np.array([0.35, 0.6, 0.8])[drawn]
    won = bids >= prices
    told = np.where(won, np.nan, prices)
    return CensoredLog(values, bids, won, told, chances[drawn]), values, prices


@pytest.mark.parametrize("robust", [False, True])
def test_estimates_by_propensities_are_unbiased(robust: bool) -> None:
    """The mean over all draws of the bids is the truth."""
    values, prices = np.array([4.0, 6.0, 5.0]), np.array([1.5, 3.5, 2.0])
    levels, chances = np.array([0.3, 0.5, 0.7]), np.array([0.25, 0.35, 0.4])
    mean = 0.0
    for drawn in itertools.product(range(3), repeat=3):
        fractions = levels[list(drawn)]
        bids = fractions * values
        log = CensoredLog(values, bids, bids >= prices, None, chances[list(drawn)])
        plan, groups = shading(log, 0.5), make_groups(log)
        found = weighted(plan, groups, robust=robust)
        if found is None and robust:  # the bid was never drawn: what is expected is left
            expected = sum(
                float((values - plan.bids)[rows] @ prices.at(plan.bids[rows]))
                for prices, rows in groups.crossed(np.arange(3))
            )
        else:
            expected = found.value if found else 0.0
        mean += float(np.prod(chances[list(drawn)])) * expected
    assert mean == pytest.approx(earned(values, prices, 0.5 * values))


def test_doubly_robust_estimates_cover_where_bands_are_wrong() -> None:
    """One band, and prices that go with values: only the estimates by propensities are right.

    At most 33 of 40 covered has probability 0.002 at a coverage of 0.95.
    """
    covered = {BY_BAND: 0, INVERSE: 0, ROBUST: 0}
    for seed in range(40):
        log, values, prices = random_log(800, seed, correlation=0.8)
        groups = grouped(log)
        plan = shading(log, 0.35)
        truth = earned(values, prices, plan.bids)
        for found in (
            by_band(plan, groups),
            weighted(plan, groups, robust=False),
            weighted(plan, groups, robust=True),
        ):
            assert found is not None
            covered[found.method] += found.low <= truth <= found.high
            if found.method != BY_BAND:
                assert found.weight == pytest.approx(1.0, abs=0.3)
    assert covered[BY_BAND] < 20
    assert min(covered[INVERSE], covered[ROBUST]) > 33


def test_a_good_distribution_of_prices_makes_the_interval_narrower() -> None:
    log, _, _ = random_log(3_000, 1)
    plan, groups = shading(log, 0.6), make_groups(log)
    robust, inverse = (weighted(plan, groups, robust=one) for one in (True, False))
    assert robust is not None
    assert inverse is not None
    assert robust.high - robust.low < 0.8 * (inverse.high - inverse.low)


def test_a_best_response_is_judged_by_prices_that_it_was_not_fitted_to() -> None:
    """Bids of a block do not change with the prices of their own blocks."""
    values, prices, bids = full_log(2_000, 4)
    log = censor(values, prices, bids, "after-loss")
    plan = best_response(make_groups(log))
    assert plan.fitted
    half = make_groups(log).halves.labels % 2 == 1
    other_prices = np.where(half, 0.9 * bids, prices)
    changed = censor(values, other_prices, bids, "after-loss")
    again = best_response(grouped(changed, make_groups(log).labels))
    np.testing.assert_array_equal(plan.bids[half], again.bids[half])
    assert (plan.bids[~half] != again.bids[~half]).any()
    assert (plan.bids <= values).all()


def test_a_best_response_earns_what_is_said() -> None:
    values, prices, bids = full_log(6_000, 5)
    log = censor(values, prices, bids, "after-win")
    result = evaluate(log, fractions=[0.3, 0.5])
    found = result["best response by band"]
    truth = earned(values, prices, best_response(make_groups(log)).bids)
    assert found.best.low <= truth <= found.best.high
    assert found.best.value > result["30 % of value"].best.value


def test_a_mixed_plan_is_the_mean_of_its_bids() -> None:
    """Two bids with probabilities earn what the two earn, in the same proportion."""
    values, prices, bids = full_log(400, 6)
    log = censor(values, prices, bids, "after-loss")
    groups = make_groups(log)
    low, high = shading(log, 0.4), shading(log, 0.7)
    rows = np.repeat(np.arange(400), 2)
    both = np.column_stack([low.bids, high.bids]).ravel()
    mixed = Plan("both", "bidder", rows, both, np.tile([0.25, 0.75], 400))
    parts = [by_band(one, groups).value for one in (low, high)]
    assert by_band(mixed, groups).value == pytest.approx(0.25 * parts[0] + 0.75 * parts[1])
    known = [what_is_known(log, one).whole for one in (low, high, mixed)]
    assert known[2].upper == pytest.approx(0.25 * known[0].upper + 0.75 * known[1].upper)


def test_groups_divide_classes_into_bands_and_pool_rare_classes() -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(1, 10, 1_500)
    sites = np.array(["a"] * 900 + ["b"] * 560 + ["rare"] * 20 + ["odd"] * 20)
    bids, prices = 0.5 * values, rng.uniform(0, 8, 1_500)
    log = CensoredLog(values, bids, bids >= prices, prices, None, {"site": sites})
    assert len(make_groups(log)) == 3 + 2 + 1  # of at least 250 auctions, but for the rare classes
    groups = make_groups(log, bands=4)
    sizes = [
        (sorted(set(sites[members].tolist())), members.size, np.ptp(values[members]))
        for members in groups.members
    ]
    assert [names for names, _, _ in sizes] == [["a"]] * 4 + [["b"]] * 4 + [["odd", "rare"]] * 2
    for count, usual in ((4, 225), (4, 140), (2, 20)):
        found, sizes = sizes[:count], sizes[count:]
        assert sum(size for _, size, _ in found) == count * usual
        # Both ends of a band may be a quarter of its size away, where values have a gap.
        assert all(usual / 2 <= size <= 3 * usual / 2 for _, size, _ in found)
        assert count == 2 or max(width for _, _, width in found) < 4


def test_a_band_does_not_reach_across_a_gap_of_values() -> None:
    """32 % of the values are high. The third of six bands would end with 17 % of them."""
    rng = np.random.default_rng(1)
    values = np.where(np.arange(1_500) < 1_020, rng.uniform(1, 4, 1_500), rng.uniform(7, 8, 1_500))
    prices = rng.uniform(0, 8, 1_500)
    log = CensoredLog(values, 0.5 * values, 0.5 * values >= prices, prices)
    for rows in make_groups(log).members:
        assert np.ptp(values[rows]) < 3


def test_the_errors_of_an_interval_by_hand() -> None:
    """10 was earned for sure. Influences of 3 and -3 in turns add up to 0 in each block."""
    influences = np.tile([3.0, -3.0], 320)
    known = KnownSums(exact=10.0, known=1.0, unknown=1.0, least=-1_000.0, most=1_000.0)
    sums = BandSums(
        value=50.0,
        least=49.0,
        most=52.0,
        luck=9.0,
        below=influences,
        above=influences,
        doubts=np.array([3 * 144.0, 0.0]),
        blocks=3,
        bias=2.0,
        by_turns=53.0,
        narrower=57.0,
        powers=np.array([[50.0, 53.0], [48.5, 51.5], [43.0, 46.0], [42.0, 45.0]]),
        steps=np.array([[[30.0, 9.0], [20.0, 16.0], [1.7, 1.0]]] * 2),  # not clearly a jump
    )
    found = sums.estimate(known)
    assert found.value == 10.0 + 50.0 - 2.0
    # Blocks have 32 parts, so their sums are 0. Luck 3^2 and bands (57 - 53)^2 make 5^2; the doubt
    # of an end, 12^2 on average, makes it 13^2 below. The powers reach 1 above and 7 below. A bias
    # of 2 may be 1 / (2^(1/3) - 1) times as large, and once it was subtracted.
    quantile = student_quantile(28)
    rest = 2 * (1 / (2 ** (1 / 3) - 1) - 1)
    assert found.high == pytest.approx(58.0 + 2.0 + np.hypot(np.hypot(5 * quantile, rest), 1.0))
    assert found.low == pytest.approx(58.0 - 1.0 - np.hypot(np.hypot(13 * quantile, rest), 7.0))
    assert found.open == 3.0
    sums.steps[1, 2] = 3.8, 4.0
    jumps = sums.estimate(known)
    assert jumps.low == pytest.approx(60.0 - 30.0 - quantile * np.sqrt(9.0 + 25.0))
    assert jumps.high == pytest.approx(60.0 + 20.0 + quantile * np.sqrt(16.0 + 25.0))


def test_bids_that_do_not_vary_leave_bounds_only() -> None:
    rng = np.random.default_rng(1)
    values, prices = rng.uniform(4, 9, 600), rng.uniform(0, 6, 600)
    log = censor(values, prices, np.full(600, 3.0), "won-lost")
    result = evaluate(log, fractions=[0.2, 0.9])
    assert any("All bids are 3" in note for note in result.notes)
    low = result["20 % of value"]
    assert low.best.low == pytest.approx(low.known.lower, abs=1e-6)
    assert low.open_share > 0.9


def test_extrapolation_is_flagged() -> None:
    values, prices, bids = full_log(1_500, 8)
    result = evaluate(censor(values, prices, bids, "after-loss"), fractions=[0.1, 0.5])
    assert result["10 % of value"].open_share > 0.3
    assert any(
        "near or beyond the outermost bids" in note and "10 % of value (" in note
        for note in result.notes
    )
    assert not any("50 % of value" in note for note in result.notes)
    assert result["50 % of value"].open_share < 0.05


def test_strategies_without_matching_bids_have_no_estimate_by_propensities() -> None:
    log, values, _ = random_log(600, 3)
    result = evaluate(log, fractions=[0.5, 0.6])
    assert result["50 % of value"].estimate(INVERSE) is None
    assert result["60 % of value"].best.method == ROBUST
    assert any("too few of their bids were made" in note for note in result.notes)
    wrong = CensoredLog(values, log.bids, log.won, log.prices, np.full(600, 0.9))
    notes = evaluate(wrong, fractions=[0.6]).notes
    assert any("weights of 60 % of value have the mean 0.5" in note for note in notes)


def test_random_bids_have_estimated_propensities() -> None:
    log, values, prices = random_log(4_000, 2, correlation=0.5)
    without = CensoredLog(values, log.bids, log.won, log.prices)
    assert evaluate(without, fractions=[0.6])["60 % of value"].estimate(INVERSE) is None
    found = evaluate(without, fractions=[0.6], random_bids=True)["60 % of value"].best
    given_ones = evaluate(log, fractions=[0.6])["60 % of value"].best
    assert found.method == ROBUST
    assert found.value == pytest.approx(given_ones.value, rel=0.02)
    assert found.low <= earned(values, prices, 0.6 * values) <= found.high
    amounts = np.round(log.bids)
    rounded = CensoredLog(values, np.minimum(amounts, values), amounts > 2)
    with pytest.raises(LogError, match="Propensities can be estimated for at most 100"):
        evaluate(rounded, random_bids=True)


def test_tables_and_json_hold_the_same_numbers() -> None:
    import json

    log, _, _ = random_log(600, 3)
    result = evaluate(log, fractions=[0.6, 0.4])
    frame = result.table()
    assert frame["strategy"].tolist() == [one.strategy for one in result.results]
    data = json.loads(json.dumps(result.to_json()))
    row = data["strategies"][-1]
    assert row["strategy"] == "60 % of value"
    assert row["doubly_robust"] == frame["doubly_robust"].iloc[-1]
    assert data["strategies"][2]["inverse_propensity"] is None
    assert own_bids(log).name == data["strategies"][0]["strategy"]
    with pytest.raises(KeyError):
        result["nothing"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("bands", 0), ("fractions", [1.5]), ("bidders", {"a": 1}), ("random_bids", 1)],
)
def test_bad_input_is_named(name: str, value: object) -> None:
    log, _, _ = random_log(50, 3)
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter"):
        evaluate(log, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="path of a CSV"):
        evaluate([])
