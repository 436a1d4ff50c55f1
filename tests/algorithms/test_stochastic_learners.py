"""UCB-N, TS-N, successive elimination and LinUCB: their transcriptions, and by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from crossbandit import FeedbackGraph, Problem, graphs, load, simulate
from crossbandit.algorithms import (
    Algorithm,
    LinUcb,
    SuccessiveElimination,
    TsN,
    UcbN,
)
from crossbandit.algorithms.learners.problem import GraphKind
from crossbandit.core.streams import stream
from crossbandit.environments import BlockEnvironment, from_table, random_edges, stochastic
from crossbandit.errors import InvalidGraphError, InvalidParameterError
from crossbandit.verify.checks import check_algorithm
from tests.cases import REFERENCES, STOCHASTIC, asymmetric, environments, linear, name, table
from tests.drivers import assert_same_state, clone, contexts_of, play, revealed, start
from tests.reference.common import Trace

SEED = 11
each = pytest.mark.parametrize("algorithm", STOCHASTIC, ids=name)
# Arm 0 reveals all arms, itself included; the others reveal nothing.
WEAK = graphs.revealing_action(4)


def cases() -> list[Any]:
    every = [
        *environments(),
        ("weak", table(WEAK, 160, 3, seed=7)),
        ("weak ring", table(graphs.loopless_ring(5, radius=2), 160, 2, seed=8)),
    ]
    return [
        pytest.param(algorithm, environment, id=f"{title}-{name(algorithm)}")
        for title, environment in every
        for algorithm in STOCHASTIC
        if title not in {"weak", "weak ring"} or algorithm.needs_observability == "weak"
    ]


def reference(algorithm: Algorithm, environment: BlockEnvironment) -> Trace:
    problem = environment.problem
    horizon = problem.horizon
    assert horizon is not None
    _, entry, features, _ = problem.form.support()

    def losses(t: int) -> Any:
        rows = environment.losses(t)
        if features.size == 1:
            return rows.T
        return (rows * features[entry]).sum(axis=2)

    nu = environment.context_distribution.probabilities
    assert nu is not None
    generator = stream(SEED, "learner")
    numbers = (
        generator.standard_normal((horizon, problem.arms))
        if isinstance(algorithm, TsN)
        else generator.random(horizon)
    )
    run, arguments, _ = REFERENCES[algorithm.id]
    contexts = environment.context_distribution.draw(stream(SEED, "contexts"), horizon)
    adjacency = problem.graph.adjacency
    return run(adjacency, losses, contexts, numbers, **arguments(algorithm, problem, nu))


@pytest.mark.parametrize(("algorithm", "environment"), cases())
def test_both_loops_follow_the_transcription(
    algorithm: Algorithm, environment: BlockEnvironment
) -> None:
    trace = reference(algorithm, environment)
    run = simulate(algorithm, environment, seed=SEED, compiled=True)
    plain = simulate(algorithm, environment, seed=SEED, compiled=False)
    assert_array_equal(run.arms, trace.arms)
    assert_array_equal(plain.arms, trace.arms)
    assert_allclose(run.losses, trace.losses, rtol=0, atol=1e-14)
    if not isinstance(algorithm, LinUcb):  # without features LinUCB has other means
        dense = simulate(algorithm, environment, seed=SEED, factored=False)
        assert_array_equal(dense.arms, trace.arms)


@each
def test_it_passes_the_checks(algorithm: Algorithm) -> None:
    for graph in (None, asymmetric(), graphs.apple_tasting()):
        check_algorithm(algorithm, graph)


@each
def test_late_feedback_in_any_order_gives_the_same_state(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    environment = table(asymmetric(), 60, 4, seed=1)
    learners = [start(algorithm, environment) for _ in range(2)]
    out = [[learner.act(context) for context in contexts_of(environment)] for learner in learners]
    for learner, decisions in zip(learners, (out[0][:50], out[1][49::-1]), strict=True):
        for decision in decisions:
            learner.learn(decision, revealed(environment, decision))
    for name_ in learners[0].state():
        one, other = learners[0].state()[name_], learners[1].state()[name_]
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        assert np.any(one)
    learners[0].save(tmp_path / "learner")
    again = load(tmp_path / "learner")
    assert_same_state(again, learners[0])
    assert again.tuned() == learners[0].tuned()


@each
def test_snapshots_decide_and_the_learner_learns(algorithm: Algorithm) -> None:
    """Tokens of a snapshot, learned in another order, are what the learner itself would learn."""
    environment = table(asymmetric(), 60, 4, seed=1)
    learner = start(algorithm, environment)
    play(learner, environment, 20)
    twin, snapshot = clone(learner), learner.snapshot(seed=5)
    decisions = [snapshot.act(context) for context in contexts_of(environment)[20:50]]
    rows = [environment.losses(t)[list(one.revealed)] for t, one in enumerate(decisions, start=20)]
    for one, own in zip(decisions, rows, strict=True):
        learner.learn(one.token, own)
    for one, own in zip(decisions[::-1], rows[::-1], strict=True):
        twin.learn(one, own)
    for name_, array in learner.state().items():
        assert_allclose(array, twin.state()[name_], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("algorithm", [UcbN(), TsN(), SuccessiveElimination()], ids=name)
def test_two_learners_that_keep_means_merge_by_addition(algorithm: Algorithm) -> None:
    environment = table(asymmetric(), 60, 4, seed=1)
    learner, other = start(algorithm, environment, 1), start(algorithm, environment, 2)
    play(learner, environment, 20)
    play(other, environment, 30)
    before = {name_: array.copy() for name_, array in learner.state().items()}
    learner.merge(other)
    for name_, array in learner.state().items():
        assert_array_equal(array, before[name_] + other.state()[name_])
    assert learner.round == 50


@each
def test_only_available_arms_are_played(algorithm: Algorithm) -> None:
    learner = start(algorithm, table(asymmetric(), 60, 4, seed=1))
    masks = np.random.default_rng(0).random((60, 5)) < 0.4
    masks[np.arange(60), np.arange(60) % 5] = True
    rows = np.random.default_rng(1).random((60, 5, 4))
    for t, mask in enumerate(masks):
        decision = learner.act(t % 4, mask)
        assert mask[decision.arm]
        learner.learn(decision, rows[t, list(decision.revealed)])


# ------------------------------------------------------------------------------------- by hand


def test_ucb_observes_an_arm_without_self_loop_until_it_is_best_for_certain() -> None:
    """Apple tasting: arm 0 reveals nothing, arm 1 both; losses 0 and 1.

    After n observations of both, t = n + 1, arm 0 is played once 0 + r <= 1 - r for
    r = sqrt(2 log(n + 1) / n): 2 log(n + 1) / n <= 1/4, so n >= 27 (2 log 28 / 27 = 0.2468).
    """
    losses = np.tile([0.0, 1.0], (60, 1, 1))
    apple = FeedbackGraph([[0, 0], [1, 1]])
    run = simulate(UcbN(), from_table(losses, apple), seed=0)
    assert_array_equal(np.flatnonzero(run.arms == 0)[:1], [27])
    assert (run.arms[:27] == 1).all()


def test_elimination_is_uniform_among_the_least_observed() -> None:
    problem = Problem(graphs.singletons(3), contexts=1, horizon=100)
    learner = SuccessiveElimination().start(problem, seed=0)
    assert_allclose(learner.policy(0), [1 / 3] * 3)
    first = learner.act(0)
    learner.learn(first, [[0.5]])
    expected = np.where(np.arange(3) == first.arm, 0.0, 0.5)
    assert_allclose(learner.policy(0), expected)


def test_elimination_ends_with_one_arm() -> None:
    """Two arms with losses 0 and 1: separated once r(n) <= 1/2, and then only arm 0 is played.

    With K = 2, delta = 0.5: log(8 n (n + 1)) / (2 n) <= 1/4. n = 10: 0.339; n = 15: 0.252;
    n = 16: 0.2402. So each arm is observed 16 times; the last of the 32 is needed only if it is
    arm 1's: bounds r(16) and r(15) = 0.502 overlap.
    """
    losses = np.tile([0.0, 1.0], (60, 1, 1))
    run = simulate(
        SuccessiveElimination(delta=0.5), from_table(losses, graphs.singletons(2)), seed=0
    )
    assert np.bincount(run.arms[:32]).tolist() == [16, 16]
    assert (run.arms[32:] == 0).all()


def test_linucb_by_hand() -> None:
    """One feature x = 1: A = 1 + n, theta = S / (1 + n), radius = width / sqrt(1 + n)."""
    problem = Problem(graphs.singletons(2), contexts=1, horizon=100)
    learner: Any = LinUcb(width=1.0).start(problem, seed=0)
    arms = []
    for _ in range(6):
        decision = learner.act(0)
        arms.append(decision.arm)
        learner.learn(decision, [[1.0 if decision.arm == 0 else 0.25]])
    # Arm 0: 1/2 - 0.707 = -0.207 after 1. Arm 1: -0.582 after 1, 1/6 - 0.577 = -0.411 after 2,
    # 3/16 - 1/2 = -0.3125 after 3, 1/5 - 0.447 = -0.247 after 4, 5/24 - 0.408 = -0.2 after 5.
    assert arms == [0, 1, 1, 1, 1, 1]
    assert learner.act(0).arm == 0
    assert_allclose(learner.state()["inverses"][0, :, 0, 0], [1 / 2, 1 / 6])


def test_linucb_learns_what_is_linear_in_features() -> None:
    """With 11 contexts and 2 features it needs fewer rounds than one learner per context."""
    environment = linear(graphs.singletons(4), 3000, 11, seed=5)
    alone = UcbN(cross_learning=False, exploration=0.5)
    regrets = [simulate(one, environment, seed=1).final_regret for one in (LinUcb(), alone)]
    assert regrets[0] < regrets[1]


# --------------------------------------------------------------------------- unknown graphs


@pytest.mark.parametrize("kind", ["unknown", "uninformed", "informed"])
@pytest.mark.parametrize("algorithm", [UcbN(), TsN(), SuccessiveElimination()], ids=name)
def test_what_is_revealed_is_all_that_counts(algorithm: Algorithm, kind: GraphKind) -> None:
    """The same losses under all kinds of graphs give the same arms and the same state."""
    loops = graphs.singletons(4)
    changing = Problem(loops, contexts=2, horizon=100, graph_kind=kind)
    graph = graphs.threshold(4)
    learner = algorithm.start(changing, seed=3)
    usual = algorithm.start(Problem(graph, contexts=2, horizon=100), seed=3)
    rows = np.random.default_rng(2).random((100, 4, 2))
    for t in range(100):
        options: Any = {"graph": graph} if kind == "informed" else {}
        decision, same = learner.act(t % 2, **options), usual.act(t % 2)
        assert decision.arm == same.arm
        losses = {b: rows[t, b] for b in graph.out_neighbors(decision.arm).tolist()}
        options = {"graph": graph} if kind == "uninformed" else {}
        learner.learn(decision, losses, **options)
        usual.learn(same, losses)
    for name_, array in usual.state().items():
        assert_array_equal(learner.state()[name_], array)


@pytest.mark.parametrize("kind", ["unknown", "uninformed", "informed"])
@pytest.mark.parametrize("algorithm", [UcbN(), TsN(), SuccessiveElimination()], ids=name)
def test_both_loops_play_the_same_where_graphs_change(
    algorithm: Algorithm, kind: GraphKind
) -> None:
    """Edges at random, so that some rounds hide some arms, or reveal nothing."""
    probabilities = np.full((5, 5), 0.3) + 0.4 * np.eye(5)
    environment = random_edges(table(asymmetric(), 150, 4, seed=2), probabilities, kind=kind)
    run = simulate(algorithm, environment, seed=3)
    plain = simulate(algorithm, environment, seed=3, compiled=False)
    assert_array_equal(run.arms, plain.arms)
    assert len(set(run.arms.tolist())) >= 4


# ---------------------------------------------------------------------------------- refusals


def test_refusals() -> None:
    hidden = FeedbackGraph([[1, 0], [0, 0]])
    for algorithm in (UcbN(), SuccessiveElimination(), LinUcb()):
        with pytest.raises(InvalidGraphError, match="observable"):
            algorithm.start(Problem(hidden, contexts=1, horizon=10), seed=0)
    with pytest.raises(InvalidGraphError, match="strongly observable"):
        TsN().start(Problem(WEAK, contexts=1, horizon=10), seed=0)
    vectors = Problem(graphs.complete(3), features=2, horizon=10)
    with pytest.raises(InvalidParameterError, match=r"UcbN without cross-learning.*continuous"):
        UcbN(cross_learning=False).start(vectors, seed=0)
    UcbN().start(vectors, seed=0).act([1.0, 0.5])
    with pytest.raises(InvalidParameterError, match="needs a horizon"):
        SuccessiveElimination().start(Problem(graphs.complete(3), contexts=1), seed=0)
    with pytest.raises(InvalidParameterError, match="'cross_learning' parameter of TsN"):
        TsN(cross_learning=1)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------- behaviour


@pytest.mark.parametrize("algorithm", [UcbN(), TsN(), SuccessiveElimination()], ids=name)
def test_cross_learning_needs_no_more_rounds_for_more_contexts(algorithm: Algorithm) -> None:
    """Twenty contexts: without cross-learning the regret is several times as large."""
    environment = stochastic(graphs.threshold(5), 4000, contexts=20, gap=0.3)
    own = type(algorithm)(cross_learning=False)  # type: ignore[call-arg]
    regrets = [simulate(one, environment, seed=1).pseudo_regret[-1] for one in (algorithm, own)]
    assert 2 * regrets[0] < regrets[1]


def test_single_precision_keeps_sums_in_half_the_memory() -> None:
    environment = table(asymmetric(), 60, 4, seed=1)
    problem = Problem(asymmetric(), contexts=4, horizon=60, precision="float32")
    learner = UcbN().start(problem, seed=0)
    play(learner, environment)
    assert learner.state()["sums"].dtype == np.float32
    double = start(UcbN(), environment)
    play(double, environment)
    assert_allclose(learner.state()["sums"], double.state()["sums"], rtol=1e-5)
