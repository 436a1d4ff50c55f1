"""Many contexts, many rounds, many seeds: the same answers in less room."""

import sys
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from crossbandit import (
    CrossbanditError,
    CrossGraph,
    CrossGraphKnown,
    PerContextExp3,
    Problem,
    SchneiderZimmert,
    graphs,
    simulate,
    simulate_many,
)
from crossbandit.algorithms import Algorithm
from crossbandit.core import forms
from crossbandit.environments import (
    BlockEnvironment,
    LossBlock,
    UniformVectors,
    first_price,
    from_coefficients,
    paper_benchmark,
)
from crossbandit.environments.simulation.simulate import timed_batches
from crossbandit.errors import InvalidLossesError, InvalidParameterError, OutOfMemoryError
from tests.cases import table

BIDS = np.linspace(0, 1, 6)


def auction(rounds: int, contexts: object) -> BlockEnvironment:
    price = np.random.default_rng(3).beta(2, 5, rounds)
    won = (price[:, None] <= BIDS).astype(float)
    coefficients = np.stack([(1 + won * BIDS) / 2, -won / 2], axis=2)
    return from_coefficients(coefficients, graphs.threshold(6), contexts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "algorithm", [CrossGraph(), SchneiderZimmert(), CrossGraphKnown()], ids=str
)
def test_continuous_contexts_are_learned_from(algorithm: Algorithm) -> None:
    environment = auction(8_000, UniformVectors([1, 0], [1, 1]))
    run = simulate(algorithm, environment, seed=1)
    half = run.arms.size // 2
    assert run.losses[half:].mean() < run.losses[:half].mean()
    assert run.comparator_losses.mean() < run.losses.mean()


def test_a_listed_value_and_the_same_value_as_a_vector_are_one() -> None:
    values = np.stack([np.ones(40), np.linspace(0, 1, 40)], axis=1)
    listed = auction(600, values)
    run = simulate(
        CrossGraph(eta=0.1, gamma=0.01, rho=0.01, beta=0.01, epoch_length=20), listed, seed=2
    )
    learner = run.algorithm.start(Problem(graphs.threshold(6), features=2), seed=2)
    for t, context in enumerate(run.contexts):
        decision = learner.act(values[context])
        assert decision.arm == run.arms[t]
        learner.learn(decision, listed.losses(t)[list(decision.revealed)])


def test_the_benchmark_plays_the_same_arms_dense_and_factored() -> None:
    environment = paper_benchmark(3_000, alpha=3, contexts=50)
    for algorithm in (CrossGraph(), SchneiderZimmert(), PerContextExp3()):
        factored = simulate(algorithm, environment, seed=4, factored=True)
        dense = simulate(algorithm, environment, seed=4, factored=False)
        np.testing.assert_array_equal(factored.arms, dense.arms)
        np.testing.assert_allclose(factored.regret, dense.regret, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(factored.comparator_arms, dense.comparator_arms)


def test_the_linear_benchmark_has_the_losses_of_the_benchmark() -> None:
    environment = paper_benchmark(500, alpha=3, contexts=20)
    linear = environment.factored()
    block = linear.problem.form.support()
    for t in (0, 1, 123, 499):
        read = (linear.losses(t) * block.table[block.entry]).sum(axis=2)
        np.testing.assert_allclose(read, environment.losses(t).T, rtol=0, atol=1e-15)


def test_what_is_not_linear_cannot_be_factored() -> None:
    with pytest.raises(InvalidParameterError, match="cannot be factored"):
        simulate(CrossGraph(), table(graphs.threshold(4), 50, 3, seed=0), seed=0, factored=True)


@pytest.mark.parametrize("horizon", [4, 999, 1_000, 20_001])
def test_a_thin_record_is_the_full_one_at_fewer_rounds(horizon: int) -> None:
    environment = paper_benchmark(horizon, alpha=4, contexts=5)
    algorithm = PerContextExp3()
    full = simulate(algorithm, environment, seed=5)
    thin = simulate(algorithm, environment, seed=5, record="thin")
    assert thin.rounds[0] == 1
    assert thin.rounds[-1] == horizon
    assert thin.rounds.size == min(horizon, 1_000)
    np.testing.assert_allclose(thin.regret, full.regret[thin.rounds - 1], rtol=0, atol=1e-8)
    assert thin.loss == pytest.approx(full.losses.sum(), rel=1e-12)
    assert thin.final_regret == pytest.approx(full.final_regret, rel=1e-9)


def test_a_thin_record_does_not_depend_on_where_stretches_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = first_price(20_000, bids=20)
    runs = []
    for first in (256, 1_000, 20_000):
        monkeypatch.setattr(sys.modules[timed_batches.__module__], "_FIRST_BATCH", first)
        runs.append(simulate(CrossGraph(), environment, seed=1, record="thin"))
    for run in runs[1:]:
        np.testing.assert_array_equal(run.regret, runs[0].regret)
        assert (run.loss, run.comparator_loss) == (runs[0].loss, runs[0].comparator_loss)
    full = simulate(CrossGraph(), environment, seed=1)
    np.testing.assert_array_equal(runs[0].regret, full.regret[runs[0].rounds - 1])


def test_a_thin_record_says_what_it_did_not_keep() -> None:
    run = simulate(CrossGraph(), paper_benchmark(100, alpha=4), seed=0, record="thin")
    with pytest.raises(CrossbanditError, match="record='full'"):
        _ = run.arms
    with pytest.raises(InvalidParameterError, match="'record' parameter of simulate"):
        simulate(CrossGraph(), paper_benchmark(100, alpha=4), seed=0, record="none")  # type: ignore[arg-type]


def test_many_seeds_are_what_single_seeds_are() -> None:
    environment = paper_benchmark(500, alpha=4, contexts=30)
    runs = simulate_many(CrossGraph(), environment, range(5), jobs=2)
    for seed, run in enumerate(runs):
        np.testing.assert_array_equal(run.arms, simulate(CrossGraph(), environment, seed=seed).arms)


class Failing(BlockEnvironment):
    """Its losses end in the middle, but only once the comparator is known."""

    def __init__(self, error: BaseException) -> None:
        self._inner = table(graphs.threshold(4), 20_000, 3, seed=1)
        self.problem, self.context_distribution = (
            self._inner.problem,
            self._inner.context_distribution,
        )
        self._error = error
        _ = self.totals
        self.armed = True

    def block(self, start: int, stop: int) -> LossBlock:
        if getattr(self, "armed", False) and stop > 10_000:
            raise self._error
        return self._inner.block(start, stop)


@pytest.mark.parametrize("error", [RuntimeError("lost"), KeyboardInterrupt()], ids=repr)
def test_many_seeds_stop_at_the_first_failure(error: BaseException) -> None:
    threads = threading.active_count()
    with pytest.raises(type(error)):
        simulate_many(CrossGraph(), Failing(error), range(50), jobs=2)
    assert threading.active_count() == threads


def test_many_seeds_need_a_seed() -> None:
    environment = paper_benchmark(100, alpha=4)
    nothing: list[int] = []
    for seeds in (nothing, 5):
        with pytest.raises(InvalidParameterError, match="'seeds' parameter of simulate_many"):
            simulate_many(CrossGraph(), environment, seeds)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="'algorithm' parameter of simulate_many"):
        simulate_many(5, environment, [1])  # type: ignore[arg-type]


def test_an_algorithm_can_be_given_by_its_id() -> None:
    environment = paper_benchmark(100, alpha=4)
    (named,) = simulate_many("cross-graph", environment, [1])
    assert np.array_equal(named.arms, simulate(CrossGraph(), environment, seed=1).arms)
    assert np.array_equal(named.arms, simulate("cross-graph", environment, seed=1).arms)
    with pytest.raises(InvalidParameterError, match="Did you mean 'cross-graph'"):
        simulate("cross-grph", environment, seed=1)


def test_without_a_seed_each_run_is_another() -> None:
    environment = paper_benchmark(100, alpha=4)
    one, other = (simulate("cross-graph", environment, seed=None).contexts for _ in range(2))
    assert not np.array_equal(one, other)


def test_stretches_follow_the_clock_and_cover_the_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = table(graphs.threshold(4), 5_001, 3, seed=1)
    clock = iter(np.arange(0.0, 1e6, 10.0))  # every batch seems to take ten seconds
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    parts = list(timed_batches(environment))
    assert parts[0][0] == 0
    assert parts[-1][1] == 5_001
    assert all(stop == start for (_, stop), (start, _) in pairwise(parts))
    assert all((stop - start) % 2 == 0 for start, stop in parts[:-1])
    assert parts[1][1] - parts[1][0] < 50  # the first was too long, and so the second is shorter


def test_losses_outside_the_range_are_refused_also_where_nobody_meets_them() -> None:
    rows = np.full((50, 6, 2), 0.25)
    rows[40, 3] = [0.0, 1.5]  # a loss of 1.5 where the value is 1, which never occurs
    values = np.array([[1.0, 0.2], [1.0, 1.0]])
    environment = from_coefficients(rows, graphs.threshold(6), values, [1.0, 0.0])
    with pytest.raises(InvalidLossesError, match=r"Got 1.5 in round 40, for arm 3 in context 1"):
        simulate(CrossGraph(), environment, seed=0)


def test_features_outside_a_box_are_judged_context_by_context() -> None:
    angle = np.linspace(0, 2 * np.pi, 50)
    circle = np.stack([np.ones(50), np.cos(angle), np.sin(angle)], axis=1)
    problem = Problem(graphs.complete(2), features=circle, horizon=100)
    learner = CrossGraph().start(problem, seed=0)
    # Within the box of (cos, sin) the loss would reach 1.06; on the circle it stays below 1.
    learner.learn(learner.act(0), [[0.5, 0.28, 0.28]] * 2)
    with pytest.raises(InvalidLossesError, match=r"in context \d+"):
        learner.learn(learner.act(0), [[0.5, 0.0, 0.6]] * 2)


def test_single_precision_halves_the_table_and_stays_close() -> None:
    double = table(graphs.threshold(4), 2_000, 6, seed=7)
    problem = Problem(double.problem.graph, contexts=6, horizon=2_000, precision="float32")
    exact = CrossGraph().start(double.problem, seed=1)
    single = CrossGraph().start(problem, seed=1)
    for t in range(2_000):
        ours, theirs = single.act(t % 6), exact.act(t % 6)
        assert ours.arm == theirs.arm
        for learner, decision in ((single, ours), (exact, theirs)):
            learner.learn(decision, double.losses(t)[list(decision.revealed)])
    small, large = single.state()["estimates"], exact.state()["estimates"]
    assert small.nbytes * 2 == large.nbytes
    additions = 2_000 / 2
    np.testing.assert_allclose(small, large, rtol=float(additions * np.finfo(np.float32).eps / 2))
    assert np.abs(small - large).max() > 0


def test_precision_is_for_tables() -> None:
    with pytest.raises(InvalidParameterError, match="'precision' parameter of Problem"):
        Problem(graphs.threshold(4), features=2, precision="float32")
    with pytest.raises(InvalidParameterError, match="'precision' parameter of Problem"):
        Problem(graphs.threshold(4), contexts=2, precision="float16")  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", [CrossGraph(), CrossGraphKnown(), PerContextExp3()], ids=str)
def test_a_state_that_does_not_fit_is_refused_with_its_size(
    algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(graphs.threshold(100), contexts=1_000_000, horizon=10_000)
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution(np.full(1_000_000, 1e-6))
    monkeypatch.setattr(forms, "free_memory", lambda: 2**29)
    with pytest.raises(OutOfMemoryError, match=r"GiB of estimates.*features=.*float32"):
        algorithm.start(problem, seed=0)
    linear = Problem(graphs.threshold(100), features=2, horizon=10_000)
    assert CrossGraph().start(linear, seed=0).round == 0


def test_a_sample_stands_for_the_law_of_vectors() -> None:
    problem = Problem(graphs.threshold(6), features=2, horizon=100)
    with pytest.raises(InvalidParameterError, match="context_sample"):
        CrossGraphKnown().start(problem, seed=0)
    sample = np.array([[1.0, 0.2], [1.0, 0.8]])
    learner = CrossGraphKnown().start(problem.with_sample(sample), seed=0)
    listed = Problem(graphs.threshold(6), features=sample, horizon=100)
    twin = CrossGraphKnown().start(listed.with_distribution([0.5, 0.5]), seed=0)
    for t in range(60):
        ours, theirs = learner.act(sample[t % 2]), twin.act(t % 2)
        assert ours.arm == theirs.arm
        losses = np.full((len(ours.revealed), 2), 0.3) * (1 + ours.arm / 6)
        learner.learn(ours, losses)
        twin.learn(theirs, losses)
    for bad in ([1.0, 2.0], [[1.0]], [[1.0, np.nan]], [["a", "b"]]):
        with pytest.raises(InvalidParameterError, match="'context_sample' parameter of Problem"):
            problem.with_sample(bad)
