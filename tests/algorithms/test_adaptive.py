"""What the adaptive learner promises beyond what every learner does."""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from crossbandit import CrossGraphAdaptive, FeedbackGraph, Problem, graphs, simulate
from crossbandit.algorithms.cross_graph_adaptive import NO_ANCHORS, AdaptiveLearner, anchors_of
from crossbandit.applications.bidding.auctions import AuctionRules
from crossbandit.core.streams import stream
from crossbandit.core.types import Floats
from crossbandit.environments import (
    BlockEnvironment,
    first_price,
    from_table,
    newsvendor,
    paper_benchmark,
    posted_price,
    switching,
)
from crossbandit.environments.simulation import Rounds
from crossbandit.errors import InvalidParameterError
from crossbandit.verify.checks import check_algorithm
from tests.cases import asymmetric, environments, table
from tests.drivers import (
    act,
    assert_same_state,
    clone,
    contexts_of,
    cumulative,
    inside,
    revealed,
    start,
)
from tests.reference import cross_graph_adaptive
from tests.reference.common import Losses
from tests.sources import interpreted

ALL_GRAPHS = {
    "threshold": graphs.threshold(4),
    "loopless clique": graphs.loopless_clique(4),
    "apple tasting": graphs.apple_tasting(),
    "singletons": graphs.singletons(3),
    "asymmetric": asymmetric(),
}
NEVER = 1e-15  # a probability too small to have an interval of uniform numbers
every_graph = pytest.mark.parametrize("graph", ALL_GRAPHS.values(), ids=list(ALL_GRAPHS))


def numbers(learner: AdaptiveLearner) -> Floats:
    state = learner.state()
    names = ("counted", "gap", "least", "largest", "lost", "lost_weight")
    return np.array([state[name][0] for name in names])


# ------------------------------------------------------------------------ scale, shift, horizon


@every_graph
@pytest.mark.parametrize(("scale", "shift"), [(0.5, 0.0), (0.01, 0.0), (0.01, 0.9), (1e-6, 0.5)])
def test_arms_do_not_depend_on_scale_and_shift(
    graph: FeedbackGraph, scale: float, shift: float
) -> None:
    losses = np.random.default_rng(3).random((400, 3, graph.arms))
    losses[:, :, 0] *= 0.6
    usual = simulate(CrossGraphAdaptive(), from_table(losses, graph), seed=5)
    changed = simulate(CrossGraphAdaptive(), from_table(shift + scale * losses, graph), seed=5)
    np.testing.assert_array_equal(changed.arms, usual.arms)


def test_nothing_but_the_rounds_so_far_is_known() -> None:
    """A run is the beginning of a longer one, arm for arm: there is no horizon to know."""
    short = simulate(CrossGraphAdaptive(), paper_benchmark(500, alpha=4), seed=1)
    long = simulate(CrossGraphAdaptive(), paper_benchmark(2000, alpha=4), seed=1)
    np.testing.assert_array_equal(short.arms, long.arms[:500])


@pytest.mark.parametrize("alpha", [1, 4, 8])
def test_regret_on_the_papers_benchmark_is_small(alpha: int) -> None:
    """Algorithm 2 has 270, 480 and 690 here; a mean over three seeds above 5 % fails."""
    environment = paper_benchmark(10_000, alpha=alpha)
    runs = [simulate(CrossGraphAdaptive(), environment, seed=seed) for seed in (100, 101, 102)]
    assert np.mean([run.final_regret for run in runs]) < {1: 13, 4: 24, 8: 34}[alpha]


def test_a_late_best_arm_is_found_without_contexts_that_show_it() -> None:
    """The worst arm of the first third is best from then on, and nobody plays it by accident."""
    losses = np.tile([0.7, 0.4, 0.5, 0.5], (6000, 1, 1))
    losses[2000:, 0, 0] = 0.1
    run = simulate(CrossGraphAdaptive(), from_table(losses, graphs.singletons(4)), seed=0)
    assert np.mean(run.arms[1500:2000] == 0) < 0.05
    assert np.mean(run.arms[5500:] == 0) > 0.9


# ------------------------------------------------------------------------------ learning rate


def test_the_learning_rate_is_zero_until_losses_differ() -> None:
    learner = CrossGraphAdaptive().start(Problem(graphs.complete(3), contexts=1), seed=0)
    for _ in range(5):
        decision = learner.act(0)
        learner.learn(decision, np.full((3, 1), 0.4))
        assert learner.learning_rate == 0
        np.testing.assert_allclose(learner.policy(0), 1 / 3)
    learner.learn(learner.act(0), [[0.2], [0.4], [0.6]])
    assert learner.learning_rate == pytest.approx(math.log(3) / 0.4)
    learner.learn(learner.act(0), [[0.2], [0.4], [0.6]])
    assert learner.learning_rate < math.log(3) / 0.4


def test_a_learning_rate_by_hand_stays() -> None:
    environment = table(graphs.threshold(4), 50, 2, seed=0)
    learner = start(CrossGraphAdaptive(eta=0.25), environment)
    assert isinstance(learner, AdaptiveLearner)
    for context in contexts_of(environment):
        decision = learner.act(context)
        learner.learn(decision, revealed(environment, decision))
        assert learner.learning_rate == 0.25


def mixability_gap(
    graph: FeedbackGraph, arm: int, chosen: Floats, estimates: Floats, eta: float
) -> float:
    """Return what the core adds to its sum of gaps; `chosen` and `estimates` are scratch rows."""
    learner: Any = CrossGraphAdaptive().start(Problem(graph, contexts=1), seed=0)
    module = interpreted("algorithms.adaptive_core")
    core = module.AdaptiveCore(*learner.core.__reduce__()[1])
    shown = graph.out_neighbors(arm)
    core.revealed[: len(shown)] = shown
    core.rows[module.CHOSEN], core.rows[module.INFERRED] = chosen, estimates
    gap: float = core.mixability_gap(module.CHOSEN, len(shown), eta)
    return gap


@pytest.mark.parametrize("eta", [1e-12, 0.3, 40.0, 1e12])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_mixability_gap_is_exact_at_any_size(eta: float, scale: float) -> None:
    rng = np.random.default_rng(8)
    graph = asymmetric()
    for arm in range(5):
        chosen = rng.dirichlet(np.full(5, 0.3))
        chosen[rng.integers(5)] = 0.0
        chosen /= chosen.sum()
        estimates = scale * rng.normal(size=5) * graph.adjacency[arm]
        gap = mixability_gap(graph, arm, chosen, estimates, eta)
        seen = chosen > 0
        least = estimates[seen].min()
        logs = np.log(chosen[seen]) - eta * (estimates[seen] - least)
        mixed = least - (logs.max() + np.log(np.exp(logs - logs.max()).sum())) / eta
        expected = chosen @ estimates - mixed
        assert gap == pytest.approx(expected, rel=1e-6, abs=1e-15 * scale + 4e-16 / eta)


# ------------------------------------------------------------------------------- exploration


@every_graph
def test_every_arm_keeps_its_floor_of_observation(graph: FeedbackGraph) -> None:
    """With one context and one clearly best arm, nothing but the floor shows the others."""
    for best in range(graph.arms):
        losses = np.full((3000, 1, graph.arms), 0.9)
        losses[:, 0, best] = 0.1
        environment = from_table(losses, graph)
        learner = start(CrossGraphAdaptive(), environment)
        contexts = environment.problem.form.block(contexts_of(environment))
        rounds = Rounds.to_play(contexts, environment.block(0, 3000))
        learner.simulate(rounds)  # type: ignore[attr-defined]
        masses = learner.state()["masses"]
        owed = np.full(graph.arms, 1 / graph.arms)
        owed[list(graph.arms_without_self_loop)] = 1.0
        assert (masses > 0.4 * owed / math.sqrt(3000)).all()
        assert learner.policy(0)[best] > 0.93


# -------------------------------------------------------------------------- expectation, bias


def branches(
    learner: AdaptiveLearner, nu: Floats, losses: Floats
) -> Iterator[tuple[float, int, int, Any]]:
    """Yield every context and arm: probability, context, arm and the learner after the round."""
    for context, arm in product(range(len(nu)), range(learner.problem.arms)):
        policy = learner.policy(context)
        if policy[arm] > NEVER:
            after = clone(learner)
            decision = act(after, context, inside(policy, arm))
            assert decision.arm == arm
            after.learn(decision, losses[list(decision.revealed)])
            yield nu[context] * policy[arm], context, arm, after


def expectation(
    learner: AdaptiveLearner, nu: Floats, losses: Floats
) -> tuple[Floats, Floats, float]:
    """Return the exact mean of lhat (M, K), the factor that it should have (K,), and m_t."""
    graph, arms = learner.problem.graph, learner.problem.arms
    floor = min(0.5, 1 / math.sqrt(learner.round + 1))
    owed = np.full(arms, 1 / arms)
    owed[list(graph.arms_without_self_loop)] = 1.0
    before = cumulative(learner)
    mean, factor = np.zeros_like(before), np.zeros(arms)
    for probability, _, arm, after in branches(learner, nu, losses):
        mean += probability * (cumulative(after) - before)
        masses = after.state()["masses"]
        factor += probability * graph.adjacency[arm] / (masses + floor * owed)
    state = learner.state()
    return mean, factor, state["lost"][0] / state["lost_weight"][0]


@pytest.mark.parametrize("anchored", [False, True])
@pytest.mark.parametrize("rounds", [3, 40])
@every_graph
def test_the_estimate_has_the_stated_mean(
    graph: FeedbackGraph, rounds: int, anchored: bool
) -> None:
    """E[lhat_c(a)] = (l_c(a) - m) phi(a), phi(a) = sum_c nu(c) r_c(N_in(a)) / (w_c(a) + f(a)).

    Here w counts c. For an arm with an anchor g it is E[lhat_c(g)] + (l_c(a) - l_c(g)) phi(a).
    """
    nu = np.array([0.3, 0.7])
    environment = from_table(
        np.random.default_rng(1).random((rounds, 2, graph.arms)), graph, nu.tolist()
    )
    learner = start(CrossGraphAdaptive(anchored=anchored), environment)
    assert isinstance(learner, AdaptiveLearner)
    for context in contexts_of(environment):
        decision = learner.act(context)
        learner.learn(decision, revealed(environment, decision))
    losses = np.random.default_rng(2).random((graph.arms, 2))
    mean, factor, base = expectation(learner, nu, losses)
    expected = (losses.T - base) * factor
    anchor = cross_graph_adaptive.anchors(graph.adjacency) if anchored else {}
    for a in sorted(anchor, key=lambda a: -graph.adjacency[:, a].sum()):
        expected[:, a] = expected[:, anchor[a]] + (losses[a] - losses[anchor[a]]) * factor[a]
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("graph", "least"),
    [(graphs.threshold(4), 0.8), (graphs.ring(4, radius=1), 0.8), (graphs.complete(4), 0.98)],
    ids=["threshold", "ring", "complete"],
)
def test_the_bias_is_small_where_contexts_show_every_arm(
    graph: FeedbackGraph, least: float
) -> None:
    """The factor of l - m is 1 for an unbiased estimate; four contexts differ in their best arm."""
    rng = np.random.default_rng(4)
    losses = 0.3 + 0.7 * rng.random((2000, 4, 4))
    losses[:, np.arange(4), np.arange(4)] -= 0.3
    nu = np.array([0.4, 0.3, 0.2, 0.1])
    environment = from_table(losses, graph, nu.tolist())
    learner = start(CrossGraphAdaptive(), environment)
    assert isinstance(learner, AdaptiveLearner)
    for context in contexts_of(environment):
        decision = learner.act(context)
        learner.learn(decision, revealed(environment, decision))
    _, factor, _ = expectation(learner, nu, losses[0].T)
    assert (factor > least).all()
    assert (factor < 1.2).all()


# ------------------------------------------------------------------------------------- anchors


@pytest.mark.parametrize(
    ("graph", "anchor"),
    [
        (graphs.threshold(4, "higher"), [1, 2, 3, -1]),
        (graphs.threshold(4, "lower"), [-1, 0, 1, 2]),
        (FeedbackGraph([[1, 1, 1], [0, 1, 0], [0, 0, 1]]), [1, -1, -1]),
    ],
    ids=["higher", "lower", "two to choose from"],
)
def test_anchors_by_hand(graph: FeedbackGraph, anchor: list[int]) -> None:
    assert anchors_of(graph).anchor.tolist() == anchor


@pytest.mark.parametrize(
    "graph",
    [
        graphs.singletons(3),
        graphs.complete(3),
        graphs.loopless_clique(4),
        graphs.apple_tasting(),
        graphs.paper_ring(9, radius=1),
        graphs.paper_ring(9, radius=8),
    ],
)
def test_graphs_without_anchors(graph: FeedbackGraph) -> None:
    assert anchors_of(graph) is NO_ANCHORS


@given(st.integers(2, 7).flatmap(lambda arms: arrays(np.bool_, (arms, arms))))
def test_anchors_are_those_of_the_definition(adjacency: npt.NDArray[np.bool_]) -> None:
    found = anchors_of(FeedbackGraph(adjacency))
    expected = cross_graph_adaptive.anchors(adjacency)
    assert {a: b for a, b in enumerate(found.anchor.tolist()) if b >= 0} == expected
    place = {a: i for i, a in enumerate(found.order.tolist())}
    assert all(place[b] < place[a] for a, b in expected.items())
    assert found.roots.tolist() == ([] if not expected else sorted(set(place) - set(expected)))


@pytest.mark.parametrize(
    "environment",
    [first_price(20_000), newsvendor(20_000), posted_price(20_000, reports="after-refusal")],
    ids=["first-price", "newsvendor", "posted-price"],
)
def test_anchors_lower_regret_where_losses_go_together(environment: BlockEnvironment) -> None:
    with_them, without = (
        np.mean([simulate(algorithm, environment, seed=s).final_regret for s in range(3)])
        for algorithm in (CrossGraphAdaptive(anchored=True), CrossGraphAdaptive())
    )
    assert with_them < 0.75 * without


def test_prices_that_go_with_values_mislead_less_with_anchors() -> None:
    """Low bids are made at low values; what they show of prices is too good for high values."""
    rng = np.random.default_rng(0)
    common, own, other = rng.normal(size=(3, 20_000))
    values = np.minimum(np.exp(0.5 * common + 0.2 * own), 4.0)
    prices = np.exp(0.5 * common + 0.2 * other - 0.5)
    rules = AuctionRules(bids=60, highest_value=4.0)
    problem = Problem(rules.graph("after-loss"), features=2)
    contexts = problem.form.block(rules.contexts(values), rules.available(values))
    earned = []
    for anchored in (True, False):
        learner = CrossGraphAdaptive(anchored=anchored).start(problem, seed=1)
        rounds = Rounds.to_play(contexts, rules.block(prices))
        learner.simulate(rounds)
        earned.append(rules.surplus(values, rules.amounts[rounds.arms], prices).sum())
    assert earned[0] > 1.3 * earned[1]


def test_differences_of_rows_that_are_sums_of_terms() -> None:
    environment = switching(graphs.threshold(5), 200, contexts=6, groups=2, switches=3)
    algorithm = CrossGraphAdaptive(anchored=True)
    terms = simulate(algorithm, environment, seed=4, compiled=True, factored=False)
    rows = simulate(algorithm, environment, seed=4, compiled=False)
    np.testing.assert_array_equal(terms.arms, rows.arms)


def test_features_that_differ_from_arm_to_arm_have_no_differences() -> None:
    table = np.random.default_rng(0).random((5, 4, 2))
    problem = Problem(graphs.threshold(4), features=table)
    rows = np.random.default_rng(1).uniform(0, 0.5, (30, 4, 2))
    anchored, plain = (
        CrossGraphAdaptive(anchored=one).start(problem, seed=0) for one in (True, False)
    )
    for t in range(30):
        for learner in (anchored, plain):
            decision = learner.act(t % 5)
            learner.learn(decision, rows[t, list(decision.revealed)])
    assert_same_state(anchored, plain)


# ---------------------------------------------------------------------------------- forgetting


def losses_of(environment: BlockEnvironment) -> Losses:
    """Return a function from a round to its losses, contexts by arms."""
    firsts, entries, values, _ = environment.problem.form.support()

    def losses(t: int) -> Floats:
        rows = environment.losses(t)
        if values.size == 1:
            return rows.T
        return np.array((rows * values[entries]).sum(axis=2))

    assert firsts.size == environment.problem.contexts
    return losses


def test_forgetting_follows_the_transcription_over_many_half_lives() -> None:
    """A half-life of 1.5 rounds brings the sums back to scale twice in 240 rounds."""
    algorithm = CrossGraphAdaptive(half_life=1.5)
    parameters = {key: value for key, value in algorithm.to_json().items() if key != "id"}
    for _, environment in environments():
        run = simulate(algorithm, environment, seed=3, compiled=True, factored=False)
        plain = simulate(algorithm, environment, seed=3, compiled=False)
        trace = cross_graph_adaptive.run(
            environment.problem.graph.adjacency,
            losses_of(environment),
            run.contexts,
            stream(3, "learner").random(len(run.contexts)),
            **parameters,
        )
        np.testing.assert_array_equal(run.arms, trace.arms)
        np.testing.assert_array_equal(plain.arms, trace.arms)


def test_forgetting_follows_a_change_that_memory_resists() -> None:
    losses = np.tile([0.2, 0.6, 0.6], (4000, 1, 1))
    losses[3000:, 0, :2] = 0.6, 0.2
    environment = from_table(losses, graphs.complete(3))
    forgetful = simulate(CrossGraphAdaptive(half_life=200), environment, seed=0)
    faithful = simulate(CrossGraphAdaptive(), environment, seed=0)
    assert np.mean(forgetful.arms[3500:] == 1) > 0.95
    assert np.mean(faithful.arms[3500:] == 1) < 0.05


def test_a_late_loss_is_discounted_by_the_age_of_its_round() -> None:
    environment = table(graphs.complete(3), 40, 1, seed=2)
    learner = CrossGraphAdaptive(half_life=10).start(environment.problem, seed=0)
    learner.learn(early := learner.act(0), revealed(environment, early))
    old = learner.act(0)
    new = [learner.act(0) for _ in range(10)][-1]
    twin = clone(learner)
    before = cumulative(learner)
    learner.learn(old, [[0.1], [0.5], [0.9]])
    twin.learn(new, [[0.1], [0.5], [0.9]])
    ratio = (cumulative(learner) - before) / (cumulative(twin) - before)
    # All arms are always seen, so weights differ by the floor alone; ten rounds make a half.
    counts = [sum(0.5 ** (s / 10) for s in range(played)) for played in (2, 12)]
    weights = [1 / (1 + min(0.5, 1 / math.sqrt(count)) / 3) for count in counts]
    np.testing.assert_allclose(ratio, 0.5 * weights[0] / weights[1], rtol=1e-9)


# --------------------------------------------------------------------------- late, checks, door


@every_graph
def test_it_passes_the_checks_on_every_graph(graph: FeedbackGraph) -> None:
    check_algorithm(CrossGraphAdaptive(), graph)
    check_algorithm(CrossGraphAdaptive(half_life=5), graph)


def test_late_feedback_costs_little() -> None:
    """Feedback that is 50 rounds late, in random order, still finds the best arms."""
    environment = table(graphs.threshold(4), 3000, 4, seed=0)
    learner = start(CrossGraphAdaptive(), environment)
    rng = np.random.default_rng(0)
    out: list[Any] = []
    for context in contexts_of(environment):
        out.append(learner.act(context))
        if len(out) > 50:
            decision = out.pop(int(rng.integers(len(out))))
            learner.learn(decision, revealed(environment, decision))
    for context in range(4):
        assert learner.policy(context)[context] > 0.9


@pytest.mark.parametrize("name", ["rate", "exploration", "recency", "eta", "half_life"])
@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "1", True])
def test_a_bad_constant_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of"):
        CrossGraphAdaptive(**{name: value})


def test_an_unobservable_graph_is_refused() -> None:
    graph = FeedbackGraph([[1, 0, 0], [1, 0, 0], [1, 0, 1]])
    with pytest.raises(ValueError, match="CrossGraphAdaptive must be observable"):
        CrossGraphAdaptive().start(Problem(graph, contexts=1), seed=0)


def test_forgetting_fast_for_long_stays_finite() -> None:
    """2^3000 is beyond all floats: what counts is brought back to scale on the way."""
    losses = np.random.default_rng(0).random((3000, 2, 3))
    environment = from_table(losses, graphs.complete(3))
    learner: Any = start(CrossGraphAdaptive(half_life=1), environment)
    contexts = environment.problem.form.block(contexts_of(environment))
    learner.simulate(Rounds.to_play(contexts, environment.block(0, 3000)))
    for name, array in learner.state().items():
        assert np.isfinite(array).all(), name
    assert learner.policy(0).sum() == pytest.approx(1, abs=1e-12)


def test_equal_estimates_have_no_gap_although_probabilities_are_rounded() -> None:
    arms = 10
    graph = graphs.complete(arms)
    chosen, estimates = np.full(arms, 0.1), np.full(arms, 5.0)
    assert sum(chosen) < 1  # by rounding
    gap = mixability_gap(graph, 0, chosen, estimates, 1e-3)
    assert 0 <= gap < 1e-14


@pytest.mark.parametrize("late", [0, 3, 10])
def test_a_late_gap_counts_as_much_as_its_round_does_by_now(late: int) -> None:
    """Of a round that is `late` rounds old, losses and their gap are worth 2^(-late/half_life)."""
    half_life = 5.0
    problem = Problem(graphs.threshold(3), contexts=2)
    learner: Any = CrossGraphAdaptive(half_life=half_life).start(problem, seed=2)
    rng = np.random.default_rng(3)
    for t in range(40):
        decision = learner.act(t % 2)
        learner.learn(decision, rng.random((len(decision.revealed), 2)))
    decision = learner.act(0)
    for _ in range(late):
        learner.act(1)
    rows = 0.25 + 0.5 * rng.random((len(decision.revealed), 2))  # within the range seen so far
    state = learner.state()
    before, eta = state["gap"][0], learner.learning_rate
    # The exponential weights of the context by now: sums of losses as they count in the last round.
    growth = 2.0 ** ((learner.round - 1 - state["reference"][0]) / half_life)
    scores = np.exp(-eta * (state["estimates"][0, :, 0] + state["bias"][0]) / growth)
    learner.learn(decision, rows)
    np.testing.assert_allclose(state["softmax"], scores / scores.sum(), rtol=1e-9)
    age = 2.0 ** (-late / half_life)
    estimates = np.zeros(3)
    estimates[list(decision.revealed)] = state["inferred"][list(decision.revealed)]
    probabilities = state["chosen"] / state["chosen"].sum()
    mixed = -np.log(probabilities @ np.exp(-eta * age * estimates)) / (eta * age)
    expected = age * (probabilities @ estimates - mixed)
    assert expected > 0
    assert state["gap"][0] - before == pytest.approx(expected, rel=1e-9)
