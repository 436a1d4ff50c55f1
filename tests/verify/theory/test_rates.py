import numpy as np
import pytest

from crossbandit import CrossGraph, graphs, simulate
from crossbandit.algorithms.tuning import Constants, theorem
from crossbandit.core.report.statistics import slope, slope_interval
from crossbandit.environments import paper_benchmark
from crossbandit.verify.theory import rates
from crossbandit.verify.theory.decomposition import mean_interval, orders
from crossbandit.verify.theory.implementation import GraphBenchmark
from crossbandit.verify.theory.rates import (
    Rate,
    _growth,
    _in_contexts,
    _Sizes,
    _with_proven_constants,
    joined,
    measure_rate,
    small_constants,
)

X = (1_000.0, 4_000.0, 16_000.0, 64_000.0)


def drawn(exponent: float, generator: np.random.Generator, seeds: int) -> np.ndarray:
    """Return regret that grows with a known exponent, with noise of 10 % a run."""
    noise = generator.gamma(100.0, 0.01, size=(len(X), seeds))
    result: np.ndarray = np.power(X, exponent)[:, None] * noise
    return result


def test_slope_intervals_cover_the_true_exponent_as_often_as_they_say() -> None:
    """Of 400 intervals at 95 %, between 360 and 392 must hold the exponent.

    With 40 seeds the coverage of the jackknife is nearly 95 %. The probability of fewer than 360,
    or of more than 392, is then below 1 in 1,000. The seed is fixed.
    """
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        interval = slope_interval(X, drawn(0.5, generator, 40))
        covered += interval.low <= 0.5 <= interval.high
    assert 360 <= covered <= 392


def test_slope_intervals_shrink_like_the_square_root_of_the_seeds() -> None:
    generator = np.random.default_rng(2)
    widths = [
        np.mean(
            [
                interval.high - interval.low
                for interval in (slope_interval(X, drawn(0.5, generator, n)) for _ in range(40))
            ]
        )
        for n in (20, 80)
    ]
    assert widths[0] / widths[1] == pytest.approx(2.0, rel=0.15)


def test_a_slope_is_that_of_a_power() -> None:
    assert slope(X, 3.0 * np.power(X, 0.7)) == pytest.approx(0.7)
    exact = slope_interval(X, np.power(X, 0.7)[:, None] * np.ones(5))
    assert exact == pytest.approx((0.7, 0.0))
    assert str(exact) == "0.700 (0.700 to 0.700)"


def test_mean_intervals_cover_the_true_mean_as_often_as_they_say() -> None:
    """Student's interval is exact for normal samples; the bounds leave out 4 standard errors."""
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(2_000):
        mean, half_width = mean_interval(generator.normal(1.0, 2.0, size=5))
        covered += abs(mean - 1.0) <= half_width
    assert abs(covered / 2_000 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 2_000)


def test_one_value_has_no_interval() -> None:
    mean, half_width = mean_interval([3.0])
    assert mean == 3.0
    assert np.isnan(half_width)


def test_a_rate_gathers_the_regret_of_simulations() -> None:
    growing = {T: paper_benchmark(T, alpha=2, contexts=20) for T in (400, 1_600)}
    rate = measure_rate(lambda _: CrossGraph(), growing, [3, 4])
    expected = [
        [simulate(CrossGraph(), growing[T], seed=seed).final_regret for seed in (3, 4)]
        for T in growing
    ]
    np.testing.assert_allclose(rate.regrets, expected, atol=1e-9)
    logs = np.log([20 * 9 * 400, 20 * 9 * 1_600])
    np.testing.assert_allclose(rate.orders, np.sqrt(2 * np.array([400, 1_600])) * logs)
    problem = growing[400].problem
    assert rate.bounds[0] == orders(problem, CrossGraph().parameters(problem))["total"]
    means = rate.regrets.mean(axis=1)
    assert rate.constant == pytest.approx((means / rate.bounds).max())
    np.testing.assert_allclose(rate.local_slopes, np.log(means[1] / means[0]) / np.log(4))


def test_rates_of_single_seeds_join() -> None:
    halves = [rate_of(0.5, seeds=2), rate_of(0.5, seeds=3)]
    assert joined(halves).regrets.shape == (4, 5)


def rate_of(exponent: float, seeds: int = 10, scale: float = 1.0) -> Rate:
    x = np.array(X)
    order = np.sqrt(x) * np.log(9_000 * x)
    regrets = scale * drawn(exponent, np.random.default_rng(0), seeds)
    return Rate(x=X, regrets=regrets, orders=order, bounds=10 * order)


def test_growth_is_judged_by_the_end_of_its_interval() -> None:
    assert _growth("a", "T", {"square root": rate_of(0.5)}).passed
    assert not _growth("a", "T", {"square root": rate_of(0.5), "more": rate_of(0.62)}).passed
    assert not _growth("a", "T", {"above the bound": rate_of(0.5, scale=1e4)}).passed
    assert "more" in _growth("a", "T", {"less": rate_of(0.4), "more": rate_of(0.62)}).worst


@pytest.mark.parametrize(
    ("exponents", "bound", "passed"),
    [
        ((0.9, 0.7, 0.6), 1.01, True),
        ((0.9, 0.7, 0.6), 0.99, False),
        ((0.7, 0.9, 0.6), 1.01, False),
        ((0.9, 0.6, 0.7), 1.01, False),
    ],
    ids=["falls", "above the bound", "rises at first", "rises at last"],
)
def test_the_theorems_rule_must_stay_below_the_bound_with_exponents_that_fall(
    exponents: tuple[float, ...], bound: float, passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regret that grows with these exponents from one x to the next, and this many times it."""
    regret = 100 * 4 ** np.concatenate([[0.0], np.cumsum(exponents)])
    regrets = np.stack([0.9 * regret, 1.1 * regret], axis=1)
    rate = Rate(x=X, regrets=regrets, orders=regret, bounds=bound * regret)
    monkeypatch.setattr(rates, "measure_rate", lambda *_: rate)
    sizes = _Sizes((), (1_000, 4_000), 0, (), 2)
    result = _with_proven_constants(lambda _: CrossGraph(tuning="theorem"), sizes)
    assert result.passed is passed


def test_a_rule_that_pays_for_contexts_is_caught() -> None:
    """A learning rate that shrinks with M makes regret grow with it."""
    sizes = _Sizes((), (), 4_000, (10, 100, 1_000), 3)

    def slower(problem: object) -> CrossGraph:
        contexts = getattr(problem, "contexts", 1)
        return CrossGraph(eta=0.05 / contexts**0.5)

    assert not _in_contexts("slower", slower, sizes).passed
    assert _in_contexts("experiment's rule", lambda _: CrossGraph(), sizes).passed


def test_small_constants_keep_the_theorems_shape() -> None:
    problem = GraphBenchmark(graphs.complete(3), 10_000, 10).problem
    small = small_constants(CrossGraph(), problem)
    rule = theorem(problem, Constants(epoch=0.25, gamma=0.05, eta=1.0))
    assert small.parameters(problem) == rule.parameters
    assert not rule.stable
    assert small.parameters(problem).eta * rule.parameters.epoch_length == pytest.approx(1.0)


def test_the_benchmark_on_a_graph_is_the_papers() -> None:
    """The same losses in linear form; a favoured arm's are scaled, while it is, and no others."""
    dense = paper_benchmark(50, alpha=2, arms=5, contexts=4)
    linear = GraphBenchmark(dense.problem.graph, 50, 4)
    favoured = GraphBenchmark(dense.problem.graph, 50, 4, favour=0.5, favoured=21)
    for t in (0, 20, 21, 49):
        expected = dense.losses(t)
        scaled = expected * np.array([0.5 if t < 21 else 1, 1, 1, 1, 1])[:, None]
        for c in range(4):
            for environment, losses in ((linear, expected), (favoured, scaled)):
                reading = environment.problem.form.readout(c)
                read = reading.losses(environment.losses(t), range(5))
                np.testing.assert_allclose(read, losses[:, c], atol=1e-12)
    totals = [favoured.problem.form.readout(c).losses(favoured.totals, range(5)) for c in range(4)]
    summed = sum(dense.losses(t)[0] * (0.5 if t < 21 else 1) for t in range(50))
    np.testing.assert_allclose(np.array(totals)[:, 0], summed)
