"""One algorithm on one environment: contexts, comparator, seeds, both loops, interruption."""

import io
import threading
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, FeedbackGraph, Problem, graphs, simulate
from crossbandit.algorithms import Algorithm, CrossGraphKnown, PerContextExp3, SchneiderZimmert
from crossbandit.core import progress
from crossbandit.core.types import Floats
from crossbandit.environments import (
    BlockEnvironment,
    ContextDistribution,
    FiniteContexts,
    LossBlock,
    UniformVectors,
    from_coefficients,
    from_table,
    paper_benchmark,
    stochastic,
)
from crossbandit.environments.environment import LONGEST_BATCH
from crossbandit.errors import (
    CheckFailedError,
    CrossbanditError,
    InvalidLossesError,
    InvalidParameterError,
)
from tests.cases import ALGORITHMS, asymmetric, environments, every_algorithm, table
from tests.drivers import contexts_of, play, start

ENVIRONMENT = table(asymmetric(), 60, 4, seed=1)


class Plain:
    """An environment that fulfils the protocol and is nothing else."""

    def __init__(self, environment: BlockEnvironment) -> None:
        self.problem = environment.problem
        self.context_distribution: ContextDistribution = environment.context_distribution
        self._losses = environment.losses

    def losses(self, round_: int) -> Floats:
        return self._losses(round_)


# ------------------------------------------------------------------------------ the same numbers


@pytest.mark.parametrize(
    "environment", [e for _, e in environments()], ids=[title for title, _ in environments()]
)
@pytest.mark.parametrize("algorithm", [CrossGraph(), CrossGraphKnown(), PerContextExp3()])
def test_any_python_object_plays_the_same_arms(
    algorithm: Algorithm, environment: BlockEnvironment
) -> None:
    run = simulate(algorithm, environment, seed=3)
    plain = simulate(algorithm, Plain(environment), seed=3)
    np.testing.assert_array_equal(plain.contexts, run.contexts)
    np.testing.assert_array_equal(plain.arms, run.arms)
    np.testing.assert_array_equal(plain.comparator_arms, run.comparator_arms)
    np.testing.assert_allclose(plain.regret, run.regret, rtol=0, atol=1e-12)


@every_algorithm
def test_act_and_learn_play_the_same_arms(algorithm: Algorithm) -> None:
    run = simulate(algorithm, ENVIRONMENT, seed=0)
    assert run.arms.tolist() == play(start(algorithm, ENVIRONMENT, seed=0), ENVIRONMENT)


def test_there_is_no_compiled_loop_for_a_plain_object() -> None:
    with pytest.raises(InvalidParameterError, match=r"no compiled loop for CrossGraph on Plain"):
        simulate(CrossGraph(), Plain(ENVIRONMENT), seed=0, compiled=True)


def test_losses_that_are_not_linear_have_no_factored_form() -> None:
    with pytest.raises(InvalidParameterError, match=r"LossTable cannot be factored"):
        simulate(CrossGraph(), ENVIRONMENT, seed=0, factored=True)


@every_algorithm
def test_a_horizon_of_more_than_one_stretch_and_of_odd_length(algorithm: Algorithm) -> None:
    horizon = 2 * LONGEST_BATCH + 3
    losses = np.random.default_rng(0).random((horizon, 2, 3)) * [0.5, 0.8, 1.0]
    environment = from_table(losses, graphs.loopless_clique(3), [0.3, 0.7])
    run = simulate(algorithm, environment, seed=1)
    plain = simulate(algorithm, environment, seed=1, compiled=False)
    np.testing.assert_array_equal(run.arms, plain.arms)
    np.testing.assert_array_equal(run.comparator_arms, plain.comparator_arms)
    assert run.regret.shape == (horizon,)
    assert np.isfinite(run.regret).all()


# ------------------------------------------------------------------------------------- contexts


def test_all_algorithms_meet_the_same_contexts() -> None:
    runs = [simulate(algorithm, ENVIRONMENT, seed=5) for algorithm in ALGORITHMS]
    for run in runs:
        np.testing.assert_array_equal(run.contexts, contexts_of(ENVIRONMENT, seed=5))
    assert len({run.arms.tobytes() for run in runs}) > 3


@pytest.mark.parametrize("plain", [False, True])
def test_a_shorter_run_is_the_beginning_of_a_longer_one(plain: bool) -> None:
    """With the same parameters, that is true of the arms too; the comparator knows the horizon."""
    losses = np.random.default_rng(0).random((300, 4, 5))
    algorithm = CrossGraph(eta=0.1, gamma=0.05, rho=0.05, beta=0.05, epoch_length=8)
    short, long = (
        simulate(algorithm, from_table(losses[:rounds], asymmetric()), seed=2, compiled=not plain)
        for rounds in (121, 300)
    )
    np.testing.assert_array_equal(short.contexts, long.contexts[:121])
    np.testing.assert_array_equal(short.arms, long.arms[:121])
    np.testing.assert_array_equal(short.losses, long.losses[:121])


def test_a_shorter_benchmark_meets_the_same_contexts_and_losses() -> None:
    short, long = (
        simulate(CrossGraph(), paper_benchmark(horizon, alpha=4, contexts=50), seed=200)
        for horizon in (300, 700)
    )
    np.testing.assert_array_equal(short.contexts, long.contexts[:300])


# ---------------------------------------------------------------------------------------- seeds


def test_the_same_seed_gives_the_same_run() -> None:
    sequence = np.random.SeedSequence(7)
    runs = [
        simulate(CrossGraph(), ENVIRONMENT, seed=seed)
        for seed in (7, sequence, sequence, np.random.SeedSequence(7))
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.contexts, runs[0].contexts)
        np.testing.assert_array_equal(run.arms, runs[0].arms)
    assert sequence.n_children_spawned == 0
    other = simulate(CrossGraph(), ENVIRONMENT, seed=8)
    assert (other.contexts != runs[0].contexts).any()


def test_spawned_seeds_are_different() -> None:
    runs = [
        simulate(CrossGraph(), ENVIRONMENT, seed=child)
        for child in np.random.SeedSequence(7).spawn(3)
    ]
    assert len({run.contexts.tobytes() for run in runs}) == 3
    assert len({run.arms.tobytes() for run in runs}) == 3


def test_a_generator_is_advanced_and_may_be_started_again() -> None:
    generator = np.random.default_rng(7)
    runs = [simulate(CrossGraph(), ENVIRONMENT, seed=generator) for _ in range(2)]
    assert (runs[0].contexts != runs[1].contexts).any()
    again = simulate(CrossGraph(), ENVIRONMENT, seed=np.random.default_rng(7))
    np.testing.assert_array_equal(again.arms, runs[0].arms)
    replayed = simulate(CrossGraph(), ENVIRONMENT, seed=runs[1].seed)
    np.testing.assert_array_equal(replayed.arms, runs[1].arms)


def test_global_random_state_is_left_alone() -> None:
    np.random.seed(0)  # noqa: NPY002 - the state that must not be touched
    before = np.random.get_state()  # noqa: NPY002
    simulate(CrossGraph(), ENVIRONMENT, seed=1)
    after = np.random.get_state()  # noqa: NPY002
    assert str(before) == str(after)


# ----------------------------------------------------------------------------------- comparator


@pytest.mark.parametrize("compiled", [True, False])
def test_the_comparator_is_the_best_fixed_arm_of_each_context(compiled: bool) -> None:
    losses = np.random.default_rng(3).random((40, 3, 5))
    environment = from_table(losses, asymmetric(), [0.5, 0.3, 0.2])
    run = simulate(CrossGraph(), environment, seed=0, compiled=compiled)
    best = [min(range(5), key=lambda a, c=c: losses[:, c, a].sum()) for c in range(3)]  # type: ignore[misc]
    assert run.comparator_arms.tolist() == [best[c] for c in run.contexts]
    for t, (c, arm) in enumerate(zip(run.contexts, run.arms, strict=True)):
        assert run.losses[t] == losses[t, c, arm]
        assert run.comparator_losses[t] == losses[t, c, best[c]]


@pytest.mark.parametrize("compiled", [True, False])
def test_ties_of_the_comparator_go_to_the_smallest_arm(compiled: bool) -> None:
    losses = np.full((20, 2, 3), 0.5)
    losses[:, :, 0] = 0.75
    run = simulate(CrossGraph(), from_table(losses, graphs.complete(3)), seed=0, compiled=compiled)
    assert set(run.comparator_arms) == {1}


def test_the_comparator_of_vectors_without_end_is_read_off_the_totals() -> None:
    rng = np.random.default_rng(4)
    coefficients = rng.random((60, 3, 2)) / 2
    law = UniformVectors([1, 0], [1, 1])
    run = simulate(CrossGraph(), from_coefficients(coefficients, graphs.complete(3), law), seed=0)
    totals = coefficients.sum(axis=0)
    for t, context in enumerate(run.contexts):
        best = int(np.argmin(totals @ context))
        assert run.comparator_arms[t] == best
        assert run.comparator_losses[t] == pytest.approx(coefficients[t, best] @ context, abs=1e-15)


def test_regret_adds_up() -> None:
    run = simulate(CrossGraph(), ENVIRONMENT, seed=1)
    np.testing.assert_array_equal(run.regret, np.cumsum(run.losses - run.comparator_losses))
    assert run.final_regret == run.regret[-1]
    assert repr(run) == f"Run(cross-graph for 60 rounds, final regret {run.final_regret:.2f})"
    assert run.environment is ENVIRONMENT
    assert run.algorithm == CrossGraph()


# ------------------------------------------------------------------------- bad losses, interruption


class Spoiled(Plain):
    """Losses that are replaced in one round."""

    def __init__(self, environment: BlockEnvironment, losses: Any) -> None:
        super().__init__(environment)
        self._bad = losses

    def losses(self, round_: int) -> Floats:
        return np.array(self._bad) if round_ == 33 else super().losses(round_)


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        (np.full((5, 4), np.nan), r"finite numbers of shape \(5, 4\).*not finite in round 33"),
        (np.full((5, 4), -np.inf), r"finite numbers of shape \(5, 4\).*not finite in round 33"),
        (np.full((5, 4), 1.5), "from 0 to 1. Got 1.5"),
        (np.full((4, 5), 0.5), r"shape \(5, 4\), arms by contexts. Got shape \(4, 5\) in round 33"),
        (0.5, r"shape \(5, 4\), arms by contexts. Got shape \(1,\) in round 33"),
    ],
)
def test_an_environment_with_bad_losses_is_refused(losses: Any, message: str) -> None:
    with pytest.raises(InvalidLossesError, match=message):
        simulate(CrossGraph(), Spoiled(ENVIRONMENT, losses), seed=0)


class Interrupted(BlockEnvironment):
    """Somebody presses Ctrl-C in the second batch."""

    def __init__(self) -> None:
        self.problem = Problem(graphs.complete(2), contexts=1, horizon=2 * LONGEST_BATCH)
        self.context_distribution = FiniteContexts(1)
        self.calls = 0

    def block(self, start: int, stop: int) -> LossBlock:
        self.calls += 1
        if self.calls == 4:  # two batches for the totals, then the second of the loop
            raise KeyboardInterrupt
        rounds = stop - start
        return LossBlock(
            np.full((1, 2, 1), 0.5), np.zeros((rounds, 2, 0)), np.zeros((0, 1)), clip=False
        )


def test_an_interruption_comes_through_and_leaves_nothing_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    before = set(threading.enumerate())
    environment = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        simulate(CrossGraph(), environment, seed=0, show_progress=True)
    assert environment.calls == 4
    assert set(threading.enumerate()) <= before


# ------------------------------------------------------------------------------------- progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make the error stream a terminal; not a fixture, as pytest sets the stream after those."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    return stream


@pytest.mark.parametrize("environment", [ENVIRONMENT, Plain(ENVIRONMENT)], ids=["block", "plain"])
def test_a_terminal_is_shown_progress(environment: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    simulate(SchneiderZimmert(), environment, seed=0)
    assert "schneider-zimmert" in terminal.getvalue()
    assert "[####################] 60 of 60" in terminal.getvalue()


def test_progress_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    simulate(SchneiderZimmert(), ENVIRONMENT, seed=0, show_progress=False)
    assert terminal.getvalue() == ""


def test_a_short_simulation_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 60.0)
    simulate(SchneiderZimmert(), ENVIRONMENT, seed=0, show_progress=True)
    assert terminal.getvalue() == ""


def test_what_is_not_a_terminal_is_shown_nothing_unless_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    for show, shown in ((None, False), (True, True)):
        stream = io.StringIO()
        monkeypatch.setattr("sys.stderr", stream)
        simulate(SchneiderZimmert(), ENVIRONMENT, seed=0, show_progress=show)
        assert bool(stream.getvalue()) == shown


def test_progress_changes_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    runs = [
        simulate(CrossGraph(), ENVIRONMENT, seed=0, show_progress=show) for show in (True, False)
    ]
    assert terminal.getvalue()
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)


def test_the_same_environment_can_be_simulated_in_several_threads() -> None:
    """Kernels release the interpreter's lock; learners share nothing but the environment."""
    environment = table(FeedbackGraph(asymmetric().adjacency), 2000, 4, seed=2)
    expected = [simulate(CrossGraph(), environment, seed=seed).arms for seed in range(4)]
    found: dict[int, Any] = {}

    def work(seed: int) -> None:
        found[seed] = simulate(CrossGraph(), environment, seed=seed).arms

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        np.testing.assert_array_equal(found[seed], expected[seed])


# --------------------------------------------------------------------------------- pseudo-regret


def test_pseudo_regret_is_the_sum_of_the_gaps_of_the_arms_played() -> None:
    environment = stochastic(graphs.threshold(4), 700, contexts=3, gap=0.2, table_seed=3)
    run = simulate(CrossGraph(), environment, seed=1)
    means = np.array([environment.expected_block(0, 1).base[0]])[0]
    readouts = [environment.problem.form.readout(c).losses(means, range(4)) for c in range(3)]
    gaps = np.array([own - own.min() for own in readouts])
    expected = np.cumsum(gaps[run.contexts, run.arms])
    np.testing.assert_allclose(run.pseudo_regret, expected, atol=1e-12)
    assert abs(run.pseudo_regret[-1] - run.final_regret) > 1e-3  # the noise of the losses


def test_pseudo_regret_needs_expected_losses() -> None:
    run = simulate(CrossGraph(), ENVIRONMENT, seed=1)
    with pytest.raises(CrossbanditError, match="are not known, so there"):
        _ = run.pseudo_regret


def test_a_learner_that_does_not_play_all_rounds_of_a_batch_is_refused() -> None:
    class Halting(PerContextExp3):
        def start(self, problem: Any, *, seed: Any) -> Any:
            learner: Any = super().start(problem, seed=seed)
            whole = learner.simulate
            learner.simulate = lambda rounds: whole(rounds.part(0, 7))
            return learner

    with pytest.raises(CheckFailedError, match=r"arm -1 in round 7\..*must play all rounds"):
        simulate(Halting(), ENVIRONMENT, seed=1)
