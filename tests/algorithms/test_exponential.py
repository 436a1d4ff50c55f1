"""The FTRL algorithms: tuning, exploration, regulariser, declared estimators."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from crossbandit import FeedbackGraph, Problem, graphs, load, simulate
from crossbandit.algorithms import (
    Algorithm,
    BestOfBothWorlds,
    Elp,
    Exp3G,
    Exp3HighProbability,
    Exp3IX,
    Exp3Set,
    TsallisInf,
)
from crossbandit.algorithms.exp3 import covering
from crossbandit.algorithms.learners.estimator import estimates_of
from crossbandit.algorithms.learners.problem import GraphKind
from crossbandit.core.streams import stream
from crossbandit.core.types import Floats
from crossbandit.environments import BlockEnvironment, cycling_graphs, stochastic
from crossbandit.errors import InvalidGraphError, InvalidParameterError
from tests.cases import REFERENCES, WEIGHTED, asymmetric, name, table
from tests.drivers import act, clone, cumulative, inside, play, revealed, start

SEED = 11
LOG2 = math.log(2)
REVEALING = graphs.revealing_action(4)
RING = graphs.loopless_ring(5, radius=2)
# Arms 1 and 2 are weakly observable: arm 0 reveals arm 1, arm 3 reveals arm 2; arm 0 and 3 loop.
TWO_GUARDS = FeedbackGraph([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1]])


# -------------------------------------------------------------------------------- exploration


@st.composite
def observable_graphs(draw: Any) -> FeedbackGraph:
    arms = draw(st.integers(2, 5))
    matrix = np.array(draw(st.lists(st.booleans(), min_size=arms**2, max_size=arms**2)))
    matrix = matrix.reshape(arms, arms)
    for b in np.flatnonzero(~matrix.any(axis=0)):
        matrix[draw(st.integers(0, arms - 1)), b] = True
    return FeedbackGraph(matrix)


@given(observable_graphs())
def test_the_covering_is_best_possible(graph: FeedbackGraph) -> None:
    """By duality: weights of arms, at most 1 on what each arm reveals, have no larger sum."""
    from scipy.optimize import linprog

    number, distribution = covering(graph)
    assert distribution.min() >= 0
    assert distribution.sum() == pytest.approx(1)
    assert (distribution @ graph.adjacency).min() == pytest.approx(1 / number)
    dual = linprog(-np.ones(graph.arms), graph.adjacency.astype(float), np.ones(graph.arms))
    assert number == pytest.approx(-dual.fun)
    smallest = next(
        size
        for size in range(1, graph.arms + 1)
        for arms in combinations(range(graph.arms), size)
        if graph.adjacency[list(arms)].any(axis=0).all()
    )
    assert number <= smallest + 1e-9


def test_what_is_explored() -> None:
    weak = Problem(TWO_GUARDS, contexts=2, horizon=1000)
    assert_allclose(Exp3G(cross_learning=False).explored_arms(weak), [0.5, 0, 0, 0.5])
    fractional = Exp3G(cross_learning=False, fractional=True).explored_arms(weak)
    assert_allclose(fractional, [0.5, 0, 0, 0.5])
    ring = Problem(RING, contexts=2, horizon=1000)
    assert Exp3G(cross_learning=False).dominating(RING)[0] == 3  # type: ignore[index]
    assert_allclose(
        Exp3G(cross_learning=False, fractional=True).explored_arms(ring), np.full(5, 0.2)
    )
    strong = Problem(graphs.threshold(4), contexts=2, horizon=1000)
    assert_allclose(Exp3G(cross_learning=False).explored_arms(strong), np.full(4, 0.25))
    assert_allclose(Exp3G().explored_arms(strong), [1, 0, 0, 0])  # arm 0 reveals all
    assert_allclose(Elp(cross_learning=False).explored_arms(strong), [1, 0, 0, 0])


def test_only_available_arms_are_explored() -> None:
    problem = Problem(TWO_GUARDS, contexts=1, horizon=1000)
    learner = Exp3G(eta=1.0, rho=0.5, cross_learning=False).start(problem, seed=0)
    assert_allclose(learner.policy(0), [0.375, 0.125, 0.125, 0.375])
    # Arm 3 is the only one that is explored; p is uniform on three arms.
    assert_allclose(learner.policy(0, [False, True, True, True]), [0, 1 / 6, 1 / 6, 2 / 3])
    # Neither is available: the exploration is uniform.
    assert_allclose(learner.policy(0, [False, True, True, False]), [0, 0.5, 0.5, 0])


# ------------------------------------------------------------------------------------- tuning


def test_the_rates_are_those_of_the_papers() -> None:
    strong = Problem(graphs.paper_ring(9, radius=1), contexts=10, horizon=10_000)  # alpha = 4
    by_hand = Exp3G(cross_learning=False, rho=0.1).parameters(strong)
    assert_allclose([by_hand.eta, by_hand.rho], [0.2, 0.1])  # eta = 2 rho, as the rule has it
    rates = Exp3G(cross_learning=False).parameters(strong)
    assert rates.rho == pytest.approx(1 / math.sqrt(4 * 1000))
    assert rates.eta == pytest.approx(2 * rates.rho)
    weak = Problem(TWO_GUARDS, contexts=10, horizon=10_000)  # delta = 2
    rates = Exp3G(cross_learning=False).parameters(weak)
    assert rates.rho == pytest.approx((2 * math.log(4) / 1000) ** (1 / 3))
    assert rates.eta == pytest.approx(rates.rho**2 / 2)
    rates = Exp3IX().parameters(strong)
    assert rates.eta == pytest.approx(math.sqrt(2 * math.log(9) / 4000))
    assert rates.gamma == pytest.approx(rates.eta / 2)
    ring = Problem(graphs.ring(5, radius=1), contexts=10, horizon=10_000)
    rates = Elp(cross_learning=False).parameters(ring)  # alpha = 2, covering number 5/2
    assert rates.eta == pytest.approx(math.sqrt(math.log(5) / 4000))
    assert rates.rho == pytest.approx(2.5 * rates.eta)
    rates = Exp3Set().parameters(ring)  # the largest acyclic set has 4 arms
    assert rates.eta == pytest.approx(math.sqrt(2 * math.log(5) / 4000))


@pytest.mark.parametrize("graph", [REVEALING, RING, TWO_GUARDS, graphs.singletons(6)])
def test_the_rates_with_cross_learning_minimise_the_bound(graph: FeedbackGraph) -> None:
    problem = Problem(graph, contexts=1000, horizon=10_000)
    delta = covering(graph).number
    bits = math.log(graph.arms)

    def bound(eta: float, rho: float) -> float:
        return rho * 10_000 + bits / eta + eta * 10_000 * delta / (2 * rho)

    eta, rho, *_ = Exp3G().parameters(problem)
    least = 3 * (delta * bits / 2) ** (1 / 3) * 10_000 ** (2 / 3)
    assert bound(eta, rho) == pytest.approx(least)
    for factor in (0.9, 1.1):
        assert bound(eta * factor, rho) > least
        assert bound(eta, rho * factor) > least
    assert Exp3G(rho=0.3).parameters(problem).rho == 0.3


def test_short_horizons_do_not_explore_more_than_half_the_time() -> None:
    problem = Problem(graphs.singletons(50), contexts=3, horizon=3)
    every: list[Any] = [Exp3G(), Exp3G(cross_learning=False), Elp(cross_learning=False)]
    for algorithm in [*every, Exp3HighProbability()]:
        assert 0 < algorithm.parameters(problem).rho <= 0.5
        algorithm.start(problem, seed=0).act(0)


# ------------------------------------------------------------------- transcriptions, by hand


def weak_trace(algorithm: Any, environment: BlockEnvironment, rounds: int) -> Any:
    contexts = environment.context_distribution.draw(stream(SEED, "contexts"), rounds)
    nu: Any = environment.context_distribution.probabilities
    run, arguments, _ = REFERENCES[algorithm.id]
    problem = environment.problem
    return run(
        problem.graph.adjacency,
        lambda t: environment.losses(t).T,
        contexts,
        stream(SEED, "learner").random(rounds),
        **arguments(algorithm, problem, nu),
    )


@pytest.mark.parametrize("graph", [REVEALING, RING, TWO_GUARDS])
@pytest.mark.parametrize(
    "algorithm",
    [
        Exp3G(eta=0.1),
        Exp3G(eta=0.1, cross_learning=False),
        Exp3G(eta=0.1, cross_learning=False, fractional=True),
        BestOfBothWorlds(),
        BestOfBothWorlds(cross_learning=False),
    ],
)
def test_those_for_weakly_observable_graphs_are_their_transcriptions(
    algorithm: Algorithm, graph: FeedbackGraph
) -> None:
    environment = table(graph, 200, 3, seed=4)
    trace = weak_trace(algorithm, environment, 200)
    run = simulate(algorithm, environment, seed=SEED)
    plain = simulate(algorithm, environment, seed=SEED, compiled=False)
    assert_array_equal(run.arms, trace.arms)
    assert_array_equal(plain.arms, trace.arms)
    assert len(set(run.arms.tolist())) == graph.arms


# Two arms: 0 -> 1, 1 -> 0, 1 -> 1: N_in(0) = {1}, N_in(1) = {0, 1}.
TWO_ARMS = FeedbackGraph([[0, 1], [1, 1]])


def agree(sums: Floats, expected: list[Any]) -> None:
    assert_allclose(sums, np.array(expected, dtype=float), rtol=1e-12)


def one_round(algorithm: Algorithm, arm: int) -> Any:
    """Play one round in context 1 of 2, arm losses (1/2, 3/4) in context 0 and (1/4, 1) in 1."""
    problem = Problem(TWO_ARMS, contexts=2, horizon=100)
    learner = algorithm.start(problem, seed=0)
    policy = learner.policy(1)
    decision = act(learner, 1, inside(policy, arm))
    rows = np.array([[0.5, 0.25], [0.75, 1.0]])
    learner.learn(decision, rows[list(decision.revealed)])
    return learner


def test_exp3_g_by_hand() -> None:
    """Only arm 1 reveals arm 0, and arm 1 itself: u = (0, 1). q = 1/2 (1/2, 1/2) + 1/2 (0, 1).

    q = (1/4, 3/4), P = (3/4, 1). Arm 1 reveals both: lhat = (l(0) * 4/3, l(1)).
    """
    learner = one_round(Exp3G(eta=LOG2, rho=0.5), 1)
    agree(cumulative(learner), [[2 / 3, 3 / 4], [1 / 3, 1]])
    learner = one_round(Exp3G(eta=LOG2, rho=0.5), 0)
    agree(cumulative(learner), [[0, 3 / 4], [0, 1]])
    # In context 1, p is proportional to (1, 1/2): q = 1/2 (2/3, 1/3) + 1/2 (0, 1).
    assert_allclose(learner.policy(1), [1 / 3, 2 / 3])


def test_exp3_ix_by_hand() -> None:
    """p = (1/2, 1/2), o = (1/2, 1), gamma = 1/4: lhat = l(0) * 4/3 and l(1) * 4/5."""
    learner = one_round(Exp3IX(eta=LOG2, gamma=0.25), 1)
    agree(cumulative(learner), [[0, 0], [1 / 3, 4 / 5]])


def test_high_probability_by_hand() -> None:
    """Arm 0 has no self-loop: no gamma, but beta / W(0) = (1/8) / (1/2) = 1/4 in each round."""
    algorithm = Exp3HighProbability(eta=LOG2, rho=0.5, gamma=0.25, beta=0.125)
    agree(cumulative(one_round(algorithm, 1)), [[0, 0], [1 / 2 + 1 / 4, 4 / 5]])
    agree(cumulative(one_round(algorithm, 0)), [[0, 0], [1 / 4, 4 / 5]])


def test_exp3_set_by_hand() -> None:
    learner = one_round(Exp3Set(eta=LOG2), 1)
    agree(cumulative(learner), [[0, 0], [1 / 2, 1]])
    learner = one_round(Exp3Set(eta=LOG2, cross_learning=True), 1)
    agree(cumulative(learner), [[1, 3 / 4], [1 / 2, 1]])


def test_the_rate_follows_the_entropy_by_hand() -> None:
    """One context, K = 2, delta = 1, scale = 1: B = 4, then 4 + (1 + S / log 2)^(-1/3).

    The first p is uniform: S = log 2, B = 4 + 2^(-1/3). s = 1 at first, then (1 + 1) / 2 = 1.
    """
    problem = Problem(graphs.complete(2), contexts=1, horizon=10)
    learner: Any = BestOfBothWorlds(scale=1.0).start(problem, seed=0)
    eta, rho = learner.state()["rates"][0]
    assert (eta, rho) == pytest.approx((1 / 4, 0.5))  # sqrt(1/4) + 1/4 is above 1/2
    learner.learn(learner.act(0), [[1.0], [0.0]])
    base = 4 + 2 ** (-1 / 3)
    eta, rho = learner.state()["rates"][0]
    assert (eta, rho) == pytest.approx((1 / base, 0.5))
    p = 1 / (1 + math.exp(-1 / base))
    assert learner.policy(0)[1] == pytest.approx(p / 2 + 1 / 4)
    learner.act(0)
    total = LOG2 - p * math.log(p) - (1 - p) * math.log(1 - p)
    assert learner.state()["entropies"][0] == pytest.approx([total, 2])
    assert 1 / learner.state()["rates"][0, 0] == pytest.approx(
        base + (1 + total / LOG2) ** (-1 / 3)
    )


# ---------------------------------------------------------------------------- the estimators


def declares_at_once(algorithm: Algorithm) -> bool:
    """Return whether shares do not depend on a learner; `check_estimator` is for all."""
    declared = algorithm.estimator(Problem(asymmetric(), contexts=3, horizon=60))
    return declared is not None and declared.at is None


@pytest.mark.parametrize(
    "algorithm",
    [one for one in WEIGHTED if declares_at_once(one)],
    ids=name,
)
@pytest.mark.parametrize("graph", [asymmetric(), graphs.apple_tasting(), TWO_GUARDS])
def test_what_is_added_has_the_declared_mean_and_variance(
    algorithm: Algorithm, graph: FeedbackGraph
) -> None:
    """Exactly, by playing every arm in every context, after some rounds."""
    environment = table(graph, 60, 3, seed=1)
    if graph is TWO_GUARDS and algorithm.needs_observability == "strong":
        return
    learner = start(algorithm, environment)
    play(learner, environment, 20)
    declared = algorithm.estimator(learner.problem)
    assert declared is not None
    policies = np.array([learner.policy(c) for c in range(3)])
    losses = environment.losses(20).T
    for context in range(3):
        added, probabilities = [], []
        for arm in np.flatnonzero(policies[context] > 0):
            copy = clone(learner)
            before = estimates_of(copy)
            decision = act(copy, context, inside(policies[context], int(arm)))
            assert decision.arm == arm
            copy.learn(decision, revealed(environment, decision))
            added.append(estimates_of(copy) - before)
            probabilities.append(policies[context, arm])
        mean = np.einsum("i,icb->cb", probabilities, added)
        variance = np.einsum("i,icb->cb", probabilities, np.square(added)) - mean**2
        assert_allclose(mean, declared.mean(policies, context, losses), rtol=1e-9, atol=1e-12)
        expected = declared.variance(policies, context, losses)
        assert_allclose(variance, expected, rtol=1e-7, atol=1e-9)


def test_estimates_are_those_of_the_transcription_too() -> None:
    for algorithm in (Exp3G(), Exp3Set(), Exp3HighProbability()):
        learner = start(algorithm, table(asymmetric(), 60, 4, seed=1))
        play(learner, table(asymmetric(), 60, 4, seed=1))
        assert_array_equal(estimates_of(learner), cumulative(learner))


# ---------------------------------------------------------------- changing graphs, refusals


@pytest.mark.parametrize("kind", ["informed", "uninformed"])
@pytest.mark.parametrize("algorithm", [Exp3IX(), Exp3Set(), Exp3Set(cross_learning=True)])
def test_a_changing_graph_that_does_not_change_is_a_fixed_one(
    algorithm: Algorithm, kind: GraphKind
) -> None:
    graph = graphs.threshold(4)
    changing = Problem(graph, contexts=2, horizon=60, graph_kind=kind)
    learner = algorithm.start(changing, seed=3)
    usual = algorithm.start(Problem(graph, contexts=2, horizon=60), seed=3)
    rows = np.random.default_rng(2).random((60, 4, 2))
    before: Any
    after: Any
    before, after = ({"graph": graph}, {}) if kind == "informed" else ({}, {"graph": graph})
    waiting = []
    for t in range(60):
        waiting.append((learner.act(t % 2, **before), usual.act(t % 2), t))
        assert waiting[-1][0].arm == waiting[-1][1].arm
        if t % 3:
            decision, same, then = waiting.pop(0)
            losses = rows[then, list(same.revealed)]
            learner.learn(decision, losses, **after)
            usual.learn(same, losses)
    assert_allclose(cumulative(learner), cumulative(usual), rtol=1e-12)


@pytest.mark.parametrize("kind", ["informed", "uninformed"])
@pytest.mark.parametrize("algorithm", [Exp3IX(), Exp3Set(cross_learning=True)], ids=name)
def test_both_loops_play_the_same_where_graphs_change(
    algorithm: Algorithm, kind: GraphKind
) -> None:
    changing = [graphs.threshold(5), graphs.singletons(5), asymmetric()]
    environment = cycling_graphs(table(asymmetric(), 150, 4, seed=2), changing, kind=kind)
    run = simulate(algorithm, environment, seed=3)
    plain = simulate(algorithm, environment, seed=3, compiled=False)
    assert_array_equal(run.arms, plain.arms)


def test_each_round_is_weighted_by_its_own_graph() -> None:
    """Singletons in one round and the complete graph in the next: P = 1/2, then 1."""
    problem = Problem(graphs.singletons(2), contexts=1, horizon=10, graph_kind="informed")
    learner: Any = Exp3Set(eta=1e-9).start(problem, seed=0)
    decision = learner.act(0, graph=graphs.singletons(2))
    learner.learn(decision, [[0.5]])
    assert cumulative(learner)[0, decision.arm] == pytest.approx(1.0)
    decision = learner.act(0, graph=graphs.complete(2))
    before = cumulative(learner)
    learner.learn(decision, [[0.5], [0.25]])
    assert_allclose(cumulative(learner) - before, np.array([[0.5, 0.25]]), rtol=1e-6)


def test_refusals() -> None:
    hidden = Problem(FeedbackGraph([[1, 0], [0, 0]]), contexts=1, horizon=10)
    weak = Problem(REVEALING, contexts=1, horizon=10)
    with pytest.raises(InvalidGraphError, match="Exp3G must be observable"):
        Exp3G().start(hidden, seed=0)
    for algorithm in (Elp(), Exp3IX(), Exp3Set(), Exp3HighProbability()):
        with pytest.raises(InvalidGraphError, match="strongly observable"):
            algorithm.start(weak, seed=0)
    vectors = Problem(graphs.complete(3), features=2, horizon=10)
    with pytest.raises(InvalidParameterError, match="continuous contexts"):
        Exp3IX(eta=0.1, gamma=0.1).start(vectors, seed=0)
    Exp3G().start(vectors, seed=0).act([1.0, 0.5])
    with pytest.raises(InvalidParameterError, match="'fractional' parameter of Exp3G"):
        Exp3G(fractional="yes")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="needs a horizon"):
        Exp3G().start(Problem(REVEALING, contexts=1), seed=0)


def test_a_checkpoint_keeps_what_is_explored(tmp_path: Any) -> None:
    environment = table(TWO_GUARDS, 60, 4, seed=1)
    learner = start(Exp3G(), environment)
    play(learner, environment, 20)
    learner.save(tmp_path / "learner")
    again = load(tmp_path / "learner")
    assert_array_equal(again.state()["exploration"], learner.state()["exploration"])
    assert play(again, environment) == play(learner, environment)


# --------------------------------------------------------------------------------- behaviour


def test_regret_with_cross_learning_is_within_its_bound_for_any_number_of_contexts() -> None:
    """Weakly observable: 3 (delta log(K) / 2)^(1/3) T^(2/3) bounds the mean, here of one run."""
    for contexts in (2, 200):
        environment = stochastic(REVEALING, 20_000, contexts=contexts, gap=0.4)
        run = simulate(Exp3G(), environment, seed=1)
        bound = 3 * (math.log(4) / 2) ** (1 / 3) * 20_000 ** (2 / 3)
        assert 0 < run.pseudo_regret[-1] < bound
        own = simulate(Exp3G(cross_learning=False), environment, seed=1)
        assert own.pseudo_regret[-1] > run.pseudo_regret[-1]


@pytest.mark.parametrize("graph", [REVEALING, graphs.singletons(4)])
def test_best_of_both_worlds_stops_paying_if_losses_are_stochastic(graph: FeedbackGraph) -> None:
    """Ten times the rounds cost Exp3.G 10^(2/3) or 10^(1/2) times the regret, and this less."""
    regrets = []
    for horizon in (5_000, 50_000):
        environment = stochastic(graph, horizon, contexts=1, gap=0.3)
        run = simulate(BestOfBothWorlds(cross_learning=False), environment, seed=1)
        regrets.append(run.pseudo_regret[-1])
    assert regrets[1] < 2.5 * regrets[0]


@pytest.mark.parametrize("power", [0.0, 0.3, 0.5, 0.9])
def test_policies_minimise_the_loss_with_the_tsallis_entropy(power: float) -> None:
    """At the minimum, the slope of <p, L> + Psi(p) / eta is the same in all arms."""
    algorithm = type("Own", (TsallisInf,), {"power": power})()
    learner = algorithm.start(Problem(graphs.singletons(4), contexts=2), seed=1)
    losses = np.array([3.0, 0.0, 1.0, 700.0])
    learner.state()["estimates"][1, :, 0] = losses
    p = learner.policy(1)
    slopes = losses - p ** (power - 1.0) / (1.0 - power) / 2.0
    assert p.sum() == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(slopes, slopes[1], rtol=1e-9, atol=1e-9)
    assert learner.policy(0) == pytest.approx(np.full(4, 0.25), rel=1e-14)
