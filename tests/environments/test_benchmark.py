"""The paper's benchmark: its formula, its graphs, its two forms."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from crossbandit import CrossGraphAdaptive, graphs, simulate
from crossbandit.core.streams import stream
from crossbandit.core.types import Booleans
from crossbandit.environments import FiniteContexts, paper_benchmark, zipf, zipf_benchmark
from crossbandit.environments.environment import LONGEST_BATCH
from crossbandit.environments.synthetic import PaperBenchmark
from crossbandit.errors import InvalidParameterError
from tests.reference.benchmark import draw_benchmark
from tests.reference.graphs import paper_ring


@pytest.mark.parametrize("table_seed", [0, 5])
def test_losses_follow_the_papers_formula(table_seed: int) -> None:
    """The same stream draws B, phi and psi for both."""
    environment = paper_benchmark(3000, alpha=4, contexts=50, table_seed=table_seed)
    formula = draw_benchmark(stream(table_seed, "losses"), 9, 50, 3000)
    for t in (0, 1, 499, 1999, 2000, 2999):
        np.testing.assert_allclose(environment.losses(t), formula.losses(t).T, rtol=0, atol=1e-14)


def test_the_comparator_is_the_best_fixed_policy() -> None:
    environment = paper_benchmark(700, alpha=4, contexts=50)
    formula = draw_benchmark(stream(0, "losses"), 9, 50, 700)
    np.testing.assert_array_equal(environment.totals.argmin(axis=0), formula.comparator())
    np.testing.assert_array_equal(environment.best_arms, formula.comparator())


def test_the_defaults_are_the_papers() -> None:
    environment = paper_benchmark(100, alpha=4)
    assert (environment.problem.arms, environment.problem.contexts) == (9, 1000)
    np.testing.assert_array_equal(
        environment.context_distribution.probabilities, np.full(1000, 1e-3)
    )


@pytest.mark.parametrize(("alpha", "radius"), [(1, 8), (2, 3), (3, 2), (4, 1), (8, 0)])
def test_alpha_and_radius_of_the_paper(alpha: int, radius: int) -> None:
    by_alpha, by_radius = (paper_benchmark(10, alpha=alpha), paper_benchmark(10, radius=radius))
    assert by_alpha == by_radius
    graph = by_alpha.problem.graph
    assert graph.independence_number == alpha
    np.testing.assert_array_equal(graph.adjacency, paper_ring(9, radius))


@pytest.mark.parametrize("arms", range(2, 12))
def test_every_independence_number_of_a_ring_can_be_asked_for(arms: int) -> None:
    numbers = {
        radius: graphs.paper_ring(arms, radius).independence_number for radius in range(arms)
    }
    for alpha in set(numbers.values()):
        environment = paper_benchmark(10, alpha=alpha, arms=arms, contexts=2)
        assert environment.radius == max(r for r, number in numbers.items() if number == alpha)


def test_a_shorter_benchmark_is_the_beginning_of_a_longer_one() -> None:
    short, long = (paper_benchmark(horizon, alpha=4, contexts=20) for horizon in (150, 900))
    for t in range(0, 150, 10):
        np.testing.assert_array_equal(short.losses(t), long.losses(t))


def test_the_table_depends_on_its_seed_alone() -> None:
    one, same, other = (
        paper_benchmark(10, radius=radius, contexts=20, table_seed=seed)
        for radius, seed in ((1, 0), (3, 0), (1, 1))
    )
    np.testing.assert_array_equal(one.losses(3), same.losses(3))
    assert (one.losses(3) != other.losses(3)).any()


def test_the_linear_form_has_the_same_losses_and_totals() -> None:
    environment = paper_benchmark(LONGEST_BATCH + 11, alpha=4, contexts=30)
    linear = environment.factored()
    support = linear.problem.form.support()
    for t in (0, 1, 777, LONGEST_BATCH, LONGEST_BATCH + 10):
        losses = (linear.losses(t) * support.table[support.entry]).sum(axis=2).T
        np.testing.assert_allclose(losses, environment.losses(t), rtol=0, atol=1e-14)
    totals = (linear.totals * support.table[support.entry]).sum(axis=2).T
    np.testing.assert_allclose(totals, environment.totals, rtol=1e-11)
    np.testing.assert_array_equal(linear.best_arms, environment.best_arms)


class Masked(PaperBenchmark):
    """The benchmark without its arm 0."""

    def available(self, contexts: npt.NDArray[Any]) -> Booleans:
        mask = np.ones((len(contexts), self.arms), dtype=np.bool_)
        mask[:, 0] = False
        return mask


def test_the_linear_form_has_the_same_available_arms() -> None:
    environment = Masked(horizon=500, radius=1, contexts=30)
    linear = environment.factored()
    contexts = np.arange(30)
    np.testing.assert_array_equal(linear.available(contexts), environment.available(contexts))
    np.testing.assert_array_equal(linear.best_arms, environment.best_arms)
    runs = [
        simulate(CrossGraphAdaptive(), environment, seed=1, factored=factored)
        for factored in (None, False)
    ]
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)
    assert (runs[0].arms != 0).all()


def test_benchmarks_with_the_same_law_are_equal() -> None:
    one, same, other = (
        zipf_benchmark(100, alpha=4, contexts=10, exponent=exponent) for exponent in (1, 1.0, 2)
    )
    assert one == same
    assert hash(one) == hash(same)
    uniform = paper_benchmark(100, alpha=4, contexts=10)
    assert one not in {other, uniform}
    told = PaperBenchmark(
        horizon=100, radius=1, contexts=10, context_distribution=FiniteContexts(10)
    )
    assert told == uniform


def test_a_law_over_other_contexts_is_refused() -> None:
    message = r"'context_distribution' .* must be 10 probabilities. Got .* \(50,\)"
    with pytest.raises(InvalidParameterError, match=message):
        PaperBenchmark(horizon=1000, radius=1, contexts=10, context_distribution=zipf(50))


def test_an_error_names_the_builder_that_was_called() -> None:
    for builder in (paper_benchmark, zipf_benchmark):
        with pytest.raises(InvalidParameterError, match=f"^{builder.__name__} must be given"):
            builder(100)
        with pytest.raises(InvalidParameterError, match=f"'horizon' .* of {builder.__name__} "):
            builder(0, alpha=4)
        with pytest.raises(InvalidParameterError, match=f"'alpha' .* of {builder.__name__} "):
            builder(100, alpha=5)


def test_the_linear_form_is_exact_because_nothing_is_clipped() -> None:
    environment = paper_benchmark(2000, alpha=4)
    extremes = [environment.losses(t)[[0, -1]] for t in range(0, 2000, 50)]
    assert np.min(extremes) >= 0.05
    assert np.max(extremes) <= 0.95


def test_coefficients_are_the_same_kept_or_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = paper_benchmark(300, alpha=4, contexts=10)
    before = [kept.losses(t) for t in (0, 299)]
    monkeypatch.setattr("crossbandit.environments.synthetic._KEPT_BYTES", 0)
    anew = paper_benchmark(300, alpha=4, contexts=10)
    np.testing.assert_array_equal([anew.losses(t) for t in (0, 299)], before)
    np.testing.assert_array_equal(anew.factored().losses(299), kept.factored().losses(299))
