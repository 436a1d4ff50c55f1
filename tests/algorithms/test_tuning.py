"""The paper's rules, against the transcription; the proved rule; bad horizons and constants."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit import FeedbackGraph, Problem, graphs, tuning
from crossbandit.algorithms import (
    CrossGraph,
    CrossGraphKnown,
    PerContextExp3,
    PerContextGraph,
    SchneiderZimmert,
)
from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.algorithms.tuning import Constants, Rule, epoch_length
from crossbandit.errors import InvalidParameterError
from tests.reference import tuning as reference

RADIUS = {1: 8, 2: 3, 3: 2, 4: 1, 8: 0}
HORIZON_SWEEP = [(4, 2000 * i) for i in range(1, 6)]
GRAPH_SWEEP = [(alpha, 10_000) for alpha in RADIUS]
SWEEP = pytest.mark.parametrize(("alpha", "horizon"), [*HORIZON_SWEEP, *GRAPH_SWEEP])

PRIMES = (5, 7, 11, 97, 997, 9_973, 99_991)


def paper_problem(alpha: int, horizon: int) -> Problem:
    return Problem(graphs.paper_ring(9, RADIUS[alpha]), contexts=1000, horizon=horizon)


# ------------------------------------------------------------------------- the experiment's rule


@SWEEP
def test_cross_graph_is_tuned_as_in_the_papers_sweeps(alpha: int, horizon: int) -> None:
    problem = paper_problem(alpha, horizon)
    expected = reference.cross_graph(alpha, 9, horizon)
    for parameters in (tuning.experiment(problem), CrossGraph().parameters(problem)):
        assert tuple(parameters)[:4] == pytest.approx(tuple(expected)[:4], rel=1e-15)
        assert parameters.epoch_length == expected.L


@SWEEP
def test_sz_context_is_tuned_as_in_the_papers_sweeps(alpha: int, horizon: int) -> None:
    parameters = SchneiderZimmert().parameters(paper_problem(alpha, horizon))
    expected = reference.schneider_zimmert(9, horizon)
    assert (parameters.eta, parameters.gamma) == pytest.approx(expected[:2], rel=1e-15)
    assert parameters.epoch_length == expected.L
    assert (parameters.rho, parameters.beta) == (0.0, 0.0)


@SWEEP
def test_learners_per_context_are_tuned_as_in_the_papers_sweeps(alpha: int, horizon: int) -> None:
    problem = paper_problem(alpha, horizon)
    graph_rate = reference.per_context_graph(alpha, 9, 1000, horizon)
    exp3_rate = reference.per_context_exp3(9, 1000, horizon)
    assert PerContextGraph().learning_rate(problem) == pytest.approx(graph_rate, rel=1e-15)
    assert PerContextExp3().learning_rate(problem) == pytest.approx(exp3_rate, rel=1e-15)


@SWEEP
def test_known_distribution_takes_the_experiments_rate(alpha: int, horizon: int) -> None:
    rate = 1 / math.sqrt(alpha * horizon)
    parameters = CrossGraphKnown().parameters(paper_problem(alpha, horizon))
    assert tuple(parameters) == pytest.approx((rate, rate, rate, rate), rel=1e-15)


# --------------------------------------------------------------------------------- epoch lengths


@given(st.integers(4, 20_000), st.floats(0.1, 1e6))
def test_an_epoch_is_even_and_at_most_half_of_the_horizon(horizon: int, target: float) -> None:
    length = epoch_length(horizon, target)
    assert length % 2 == 0
    assert 2 <= length <= horizon / 2


@given(st.integers(4, 5_000), st.floats(2, 200))
def test_a_divisor_is_taken_if_one_is_near(horizon: int, target: float) -> None:
    """Within a factor of two: the nearest even divisor; otherwise the nearest even number."""
    length = epoch_length(horizon, target)
    even = range(2, horizon // 2 + 1, 2)
    near = [d for d in even if horizon % d == 0 and target / 2 <= d <= 2 * target]
    candidates = near or list(even)
    assert abs(length - target) <= min(abs(d - target) for d in candidates) + 1e-9
    assert not near or length in near


@pytest.mark.parametrize("horizon", [*PRIMES, *(2 * prime for prime in PRIMES), 9_999, 10_001])
def test_a_horizon_that_no_even_epoch_divides_works(horizon: int) -> None:
    """The epoch stays near the rule's value instead of collapsing to a far divisor."""
    problem = Problem(graphs.paper_ring(9, 1), contexts=10, horizon=horizon)
    parameters = CrossGraph().parameters(problem)
    target = math.sqrt(4 * horizon / math.log(9))
    assert parameters.epoch_length % 2 == 0
    assert parameters.epoch_length <= horizon / 2
    if horizon > 50:
        assert target / 2 <= parameters.epoch_length <= 2 * target
    learner = CrossGraph().start(problem, seed=0)
    assert learner.parameters == parameters


def test_a_horizon_beyond_all_practice_is_tuned_at_once() -> None:
    """Nobody waits for the divisors of a large prime: the nearest even number will do."""
    horizon = 2**61 - 1
    problem = Problem(graphs.complete(9), contexts=10, horizon=horizon)
    target = math.sqrt(horizon / math.log(9))
    length = tuning.experiment(problem).epoch_length
    assert length % 2 == 0
    assert abs(length - target) <= 1 + 1e-12 * target


@pytest.mark.parametrize("algorithm", [CrossGraph(), SchneiderZimmert()])
@pytest.mark.parametrize("horizon", [4, 5, 6, 7, 8, 9])
def test_the_shortest_horizons_play(algorithm: CrossGraph | SchneiderZimmert, horizon: int) -> None:
    problem = Problem(graphs.paper_ring(4, 1), contexts=2, horizon=horizon)
    learner = algorithm.start(problem, seed=0)
    for t in range(horizon):
        decision = learner.act(t % 2)
        learner.learn(decision, np.ones((len(decision.revealed), 2)))
    assert learner.policy(0).sum() == pytest.approx(1, abs=1e-12)
    assert learner.state()["denominators"].min() > 0


# -------------------------------------------------------------------------------- by hand, by none

BY_HAND = {"eta": 0.3, "gamma": 0.02, "rho": 0.1, "beta": 0.05, "epoch_length": 6}


@pytest.mark.parametrize("parameter", BY_HAND)
@pytest.mark.parametrize("rule", ["experiment", "theorem"])
def test_a_parameter_given_by_hand_wins(parameter: str, rule: Rule) -> None:
    problem = Problem(graphs.complete(9), contexts=10, horizon=100_000)
    by_rule = CrossGraph(tuning=rule).parameters(problem)._asdict()
    given_one: Any = {parameter: BY_HAND[parameter]}
    parameters = CrossGraph(tuning=rule, **given_one).parameters(problem)._asdict()
    assert by_rule[parameter] != BY_HAND[parameter]
    assert parameters == {**by_rule, **given_one}


def test_parameters_given_by_hand_win_for_every_algorithm() -> None:
    problem = paper_problem(4, 2000)
    sz = SchneiderZimmert(gamma=0.02).parameters(problem)
    assert sz == SchneiderZimmert().parameters(problem)._replace(gamma=0.02)
    known = CrossGraphKnown(rho=0.1).parameters(problem)
    assert known == CrossGraphKnown().parameters(problem)._replace(rho=0.1)
    assert PerContextGraph(eta=0.3).learning_rate(problem) == 0.3
    assert PerContextExp3(eta=0.3).learning_rate(problem) == 0.3


@pytest.mark.parametrize(
    "algorithm",
    [
        CrossGraph(eta=0.3, gamma=0.02, rho=0.1, beta=0.05, epoch_length=6),
        SchneiderZimmert(eta=0.3, gamma=0.02, epoch_length=6),
        CrossGraphKnown(eta=0.3, gamma=0.02, rho=0.1, beta=0.05),
        PerContextGraph(eta=0.3),
        PerContextExp3(eta=0.3),
    ],
    ids=lambda algorithm: algorithm.id,
)
def test_without_a_horizon_all_parameters_must_be_given(algorithm: Any) -> None:
    law = [0.5, 0.5]
    problem = Problem(graphs.complete(3), contexts=2, context_distribution=law)
    assert algorithm.start(problem, seed=0).act(1).round == 0
    with pytest.raises(
        InvalidParameterError, match=r"needs a horizon. Give Problem\(..., horizon=T"
    ):
        type(algorithm)().start(problem, seed=0)


def test_the_horizon_must_hold_two_epochs() -> None:
    problem = Problem(graphs.complete(3), contexts=2, horizon=19)
    assert CrossGraph(epoch_length=8).start(problem, seed=0).round == 0
    with pytest.raises(InvalidParameterError, match=r"'horizon'.*at least 20.*Got 19"):
        CrossGraph(epoch_length=10).start(problem, seed=0)


# ---------------------------------------------------------------------------- the theorem's rule


def large(graph: FeedbackGraph | None = None, horizon: int = 1_000_000) -> Problem:
    return Problem(graph or graphs.paper_ring(9, 1), contexts=1000, horizon=horizon)


@pytest.mark.parametrize(
    "constants",
    [
        Constants(),
        Constants(iota=1.5, epoch=2.0, gamma=5.0, rho=0.5, beta=2.0, eta=0.01),
        Constants(iota=3.0, epoch=0.7, gamma=4.5, stability=7.0),
    ],
)
def test_the_theorems_formulas(constants: Constants) -> None:
    problem = large()
    rule = tuning.theorem(problem, constants)
    eta, gamma, rho, beta, length = rule.parameters
    assert rule.iota == pytest.approx(constants.iota * math.log(1000 * 9 * 1_000_000), rel=1e-12)
    exact = constants.epoch * math.sqrt(4 * 1_000_000 * rule.iota)
    assert length % 2 == 0
    assert exact <= length < exact + 2
    assert gamma == pytest.approx(constants.gamma * rule.iota / length, rel=1e-12)
    assert rho == pytest.approx(constants.rho * gamma, rel=1e-12)
    assert beta == pytest.approx(constants.beta * gamma, rel=1e-12)
    if constants.eta is not None:
        assert eta == pytest.approx(constants.eta / length, rel=1e-12)
    else:
        inputs = length + rule.iota / gamma + length * beta / gamma
        assert eta == pytest.approx(math.log(2) / (constants.stability * inputs), rel=1e-12)
    assert rule.stable


def test_the_defaults_are_stable_and_are_what_the_algorithm_takes() -> None:
    for graph in (graphs.complete(9), graphs.paper_ring(9, 0), graphs.threshold(5)):
        rule = tuning.theorem(large(graph))
        assert [condition.holds for condition in rule.conditions] == [True] * 4
        assert rule.stable
        assert CrossGraph(tuning="theorem").parameters(large(graph)) == rule.parameters


@pytest.mark.parametrize(
    ("constants", "broken"),
    [
        (Constants(gamma=3.9), ["C iota / L <= gamma"]),
        (Constants(rho=8.1), ["rho <= C gamma"]),
        (Constants(beta=8.1), ["beta <= C gamma"]),
        (Constants(eta=1.0), ["eta C (L + iota/gamma + L beta/gamma) <= log 2"]),
        (Constants(gamma=3.0, rho=9.0), ["C iota / L <= gamma", "rho <= C gamma"]),
    ],
)
def test_a_constant_that_breaks_a_condition_is_reported(
    constants: Constants, broken: list[str]
) -> None:
    rule = tuning.theorem(large(horizon=100_000_000), constants)
    assert [c.statement for c in rule.conditions if not c.holds] == broken
    assert all(c.left > c.right for c in rule.conditions if not c.holds)
    assert not rule.stable


def test_eta_is_as_large_as_the_last_condition_allows() -> None:
    rule = tuning.theorem(large())
    assert rule.conditions[-1].left == pytest.approx(math.log(2), rel=1e-12)


@pytest.mark.parametrize("horizon", [1, 4, 100, 200])
def test_the_theorem_refuses_short_horizons(horizon: int) -> None:
    problem = Problem(graphs.paper_ring(9, 1), contexts=1000, horizon=horizon)
    message = rf"horizon of {horizon} rounds.*epochs of \d+ rounds.*tuning='experiment'"
    with pytest.raises(InvalidParameterError, match=message):
        tuning.theorem(problem)
    with pytest.raises(InvalidParameterError, match=message):
        CrossGraph(tuning="theorem").start(problem, seed=0)


def test_the_theorem_needs_a_number_of_contexts_and_a_horizon() -> None:
    graph = graphs.complete(3)
    with pytest.raises(InvalidParameterError, match=r"number of contexts.*features=table"):
        tuning.theorem(Problem(graph, features=2, horizon=1_000_000))
    with pytest.raises(InvalidParameterError, match="needs a horizon"):
        tuning.theorem(Problem(graph, contexts=2))


@pytest.mark.parametrize("constant", ["iota", "epoch", "gamma", "rho", "beta", "eta", "stability"])
@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "1"])
def test_constants_must_be_positive(constant: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{constant}' parameter of Constants"):
        Constants(**{constant: value})


def test_the_theorems_correction_is_large_enough_for_its_lemmas() -> None:
    """The regret of the special arm is bounded only if beta > 3 gamma."""
    problem = Problem(graphs.paper_ring(9, 1), contexts=10, horizon=10**9)
    parameters = tuning.theorem(problem).parameters
    assert parameters.beta > 3 * parameters.gamma


def test_at_the_shortest_horizon_half_of_the_rounds_explore() -> None:
    problem = Problem(graphs.complete(2), contexts=1, horizon=1, context_distribution=[1.0])
    parameters = CrossGraphKnown().parameters(problem)
    assert parameters.eta == 1.0
    assert parameters.rho == 0.5


# ------------------------------------------------------------------------------ the proved rule


@pytest.mark.parametrize("horizon", [20_000, 1_000_000, 10**9, 10**12])
@pytest.mark.parametrize(
    ("graph", "mutual"),
    [
        (graphs.apple_tasting(), True),
        (graphs.paper_ring(9, 1), False),
        (graphs.paper_ring(9, 8), True),
        (graphs.singletons(30), True),
        (graphs.threshold(3), False),
    ],
)
def test_the_proved_rule_satisfies_the_conditions_of_the_theorem(
    graph: graphs.FeedbackGraph, mutual: bool, horizon: int
) -> None:
    problem = Problem(graph, contexts=5, horizon=horizon)
    parameters = CrossGraph(tuning="proved").parameters(problem)
    eta, gamma, rho, beta, length = parameters
    pairs, iota = length / 2, length * gamma
    assert 2 * length <= horizon
    assert (eta, rho, beta) == pytest.approx((1 / (64 * pairs), gamma, 4 * gamma))
    assert 4 <= iota <= pairs / 36 * (1 + 1e-12)
    assert eta * (2 * iota + pairs * beta) / gamma == pytest.approx(1 / 8)
    bound = tuning.proved_bound(problem)
    assert bound == tuning.proved_bound(problem, parameters)
    size = tuning.GraphSize(graph.arms, graph.independence_number, mutual)
    assert bound == pytest.approx(tuning.bound2(size, horizon, parameters, iota))


@pytest.mark.parametrize(
    "change",
    [
        {"epoch_length": 1.3},
        {"epoch_length": 0.7},
        {"gamma": 1.2, "beta": 1.2},
        {"eta": 0.8},
        {"rho": 2.0},
        {"rho": 0.5},
        {"beta": 1.2, "eta": 0.8},
    ],
)
def test_no_parameters_nearby_have_a_smaller_bound(change: dict[str, float]) -> None:
    problem = large(graphs.apple_tasting())
    best = tuning.proved(problem)
    changed = best._replace(**{name: getattr(best, name) * by for name, by in change.items()})
    changed = changed._replace(epoch_length=2 * round(changed.epoch_length / 2))
    assert tuning.proved_bound(problem, changed) > 0.98 * tuning.proved_bound(problem)


COMPLETE = tuning.GraphSize(arms=4, alpha=1, mutual=True)
INSIDE = EpochParameters(eta=3e-7, gamma=0.01, rho=0.01, beta=0.04, epoch_length=200_000)


@pytest.mark.parametrize(
    "parameters",
    [
        INSIDE._replace(eta=3.2e-7),  # kappa is above 1/8 for every iota
        INSIDE._replace(beta=0.0399),
        INSIDE._replace(rho=1.0),
        EpochParameters(1e-6, 0.5, 0.5, 2.0, 70),  # n = 35 pairs
        EpochParameters(1e-9, 1.9e-5, 0.01, 7.6e-5, 200_000),  # n gamma = 1.9
    ],
    ids=["eta", "beta", "rho", "epoch length", "gamma"],
)
def test_parameters_outside_the_theorem_have_no_bound(parameters: EpochParameters) -> None:
    problem = large()
    assert tuning.proved_bound(problem, INSIDE) < math.inf
    assert tuning.proved_bound(problem, parameters) == math.inf


def test_the_bound_says_something_from_a_million_rounds_on() -> None:
    """For two arms; the theorem's rule is covered as well, the experiment's rule is not."""
    problem = Problem(graphs.apple_tasting(), contexts=1000, horizon=1_000_000)
    bound = tuning.proved_bound(problem)
    assert bound < 0.25 * 1_000_000
    assert bound < tuning.proved_bound(problem, tuning.theorem(problem).parameters) < 1_000_000
    assert tuning.proved_bound(problem, tuning.experiment(problem)) == math.inf


def test_the_bound_grows_like_the_square_root_and_not_with_the_contexts() -> None:
    def bound(horizon: int, contexts: int = 10) -> float:
        return tuning.proved_bound(Problem(graphs.complete(4), contexts=contexts, horizon=horizon))

    assert bound(10**12) / bound(10**10) == pytest.approx(10, rel=0.12)
    assert bound(10**8, contexts=10) == bound(10**8, contexts=10**6)


@pytest.mark.parametrize("horizon", [1, 100, 579])
def test_the_proved_rule_refuses_short_horizons(horizon: int) -> None:
    problem = Problem(graphs.complete(2), contexts=1, horizon=horizon)
    with pytest.raises(InvalidParameterError, match=r"at least 580 rounds.*tuning='experiment'"):
        tuning.proved(problem)
    with pytest.raises(InvalidParameterError, match="needs a horizon"):
        tuning.proved_bound(Problem(graphs.complete(2), contexts=1))


def test_a_learner_starts_with_the_proved_rule_at_the_shortest_horizon() -> None:
    problem = Problem(graphs.complete(2), contexts=1, horizon=580)
    assert CrossGraph(tuning="proved").start(problem, seed=0).act(0).arm in {0, 1}


def test_a_last_epoch_that_is_cut_short_counts_in_the_bound() -> None:
    parameters = tuning.proved(Problem(graphs.complete(4), contexts=1, horizon=1_000_000))
    length = parameters.epoch_length
    bounds = [
        tuning.bound2(COMPLETE, horizon, parameters, 5.0)
        for horizon in (4 * length, 4 * length + 1, 5 * length)
    ]
    assert bounds[0] < bounds[1] == bounds[2]


def test_a_bound_needs_an_iota_that_kappa_allows() -> None:
    def bound(iota: float) -> float:  # where kappa allows iota and no more
        eta = 0.125 * 0.01 / (2 * iota + 10_000 * 0.04)
        parameters = EpochParameters(eta, 0.01, 0.01, 0.04, 20_000)
        return tuning.smallest_bound(COMPLETE, 1_000_000, parameters)

    assert math.isinf(bound(0.99))
    assert math.isfinite(bound(1.01))
