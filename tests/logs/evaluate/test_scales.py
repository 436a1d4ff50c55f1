"""Prices that rise with a power of the value: the power is found, and estimates are right."""

from __future__ import annotations

import numpy as np
import pytest

from crossbandit.core.types import Floats
from crossbandit.logs.evaluate import CensoredLog, evaluate
from crossbandit.logs.evaluate.evaluation import best_response, shading
from crossbandit.logs.evaluate.groups import Groups, find_power, make_groups
from tests.logs.evaluate.worlds import by_band, censor, grouped

KINDS = ("after-loss", "after-win", "won-lost", "mixed")


def world(power: float, seed: int, count: int = 4_000) -> tuple[Floats, Floats, Floats]:
    generator = np.random.default_rng(seed)
    values = np.exp(generator.normal(size=count))
    prices = 0.5 * values**power * np.exp(0.5 * generator.normal(size=count))
    return values, prices, generator.uniform(0.25, 0.95, count) * values


def scaled(groups: Groups) -> Groups:
    return groups.scaled(find_power(groups.facts))


@pytest.mark.parametrize("feedback", KINDS)
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_power_is_found(feedback: str, power: float) -> None:
    """Over seeds the estimate has a standard deviation of at most 0.07."""
    log = censor(*world(power, 1), feedback)
    assert scaled(make_groups(log)).power == pytest.approx(power, abs=0.25)


@pytest.mark.parametrize("feedback", KINDS)
def test_the_power_is_near_zero_without_a_trend(feedback: str) -> None:
    """20 logs: a score beyond 3.5 standard errors has probability 0.01 in all of them."""
    scores = []
    for seed in range(5):
        found = find_power(censor(*world(0.0, seed, 2_000), feedback).facts)
        scores.append(found.power / found.error)
    assert np.abs(scores).max() < 3.5
    assert np.std(scores) > 0.2  # the error is not far too large


def test_falling_prices_have_a_negative_power() -> None:
    log = censor(*world(-0.5, 3), "after-loss")
    assert scaled(make_groups(log)).power == pytest.approx(-0.5, abs=0.25)


@pytest.mark.parametrize("feedback", ["won-lost", "mixed"])
def test_estimates_are_right_where_bands_alone_are_not(feedback: str) -> None:
    values, prices, bids = world(1.0, 4)
    log = censor(values, prices, bids, feedback)
    truth = np.where(0.35 * values >= prices, 0.65 * values, 0.0).sum()
    groups = make_groups(log)
    plan = shading(log, 0.35)
    plain, found = by_band(plan, groups), by_band(plan, scaled(groups))
    assert found.low <= truth <= found.high
    assert abs(found.value - truth) < 0.5 * abs(plain.value - truth)


def test_a_constant_scale_changes_nothing() -> None:
    """With one value, any power is a factor of 1."""
    _, prices, bids = world(0.0, 5, 500)
    log = censor(np.full(500, 2.0), prices, np.minimum(bids, 2.0), "after-loss")
    labels = np.zeros(500, dtype=np.int64)
    plan = shading(log, 0.4)
    scaled, plain = (by_band(plan, grouped(log, labels, power)) for power in (1.3, 0.0))
    assert np.isfinite(plain.value)
    assert repr(scaled) == repr(plain)  # some fields are NaN


def test_values_of_zero_do_no_harm() -> None:
    values, prices, bids = world(1.0, 6)
    values[:100], bids[:100] = 0.0, 0.0
    log = censor(values, prices, bids, "after-loss")
    result = evaluate(log, fractions=[0.5])["50 % of value"].best
    assert np.isfinite([result.value, result.low, result.high]).all()


def test_the_evaluation_says_how_prices_were_scaled() -> None:
    rising = evaluate(censor(*world(1.0, 7), "after-loss"), fractions=[0.5])
    assert any("rise with values, like values to the power of" in note for note in rising.notes)
    level = evaluate(censor(*world(0.0, 7), "after-loss"), fractions=[0.5])
    assert not any("power" in note for note in level.notes)


def test_a_log_of_few_wins_is_not_refused_by_the_search() -> None:
    values, _, bids = world(1.0, 8, 120_000)
    won = np.arange(120_000) % 30 == 1  # not among those that the search looks at
    log = CensoredLog(values, bids, won)
    assert scaled(make_groups(log)).power == 0.0


def test_the_best_response_follows_prices_that_rise_with_values() -> None:
    values, prices, bids = world(1.0, 9)
    log = censor(values, prices, bids, "after-loss")
    groups = scaled(make_groups(log))
    made = best_response(groups).bids
    # Prices are proportional to values, so the best bid is too: 0.57 of the value.
    fractions = np.linspace(0.3, 0.9, 61)
    chances = np.array([(prices / values <= one).mean() for one in fractions])
    best = fractions[((1 - fractions) * chances).argmax()]
    assert best == pytest.approx(0.57, abs=0.03)
    assert np.quantile(made / values, [0.25, 0.75]) == pytest.approx([best, best], abs=0.1)
