"""Graphs that change: environments, both loops, cross-graph-varying and cross-graph-weak."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crossbandit import FeedbackGraph, Problem, environments, graphs, simulate
from crossbandit.algorithms import (
    CrossGraph,
    CrossGraphAdaptive,
    CrossGraphVarying,
    CrossGraphWeak,
    SchneiderZimmert,
    load,
)
from crossbandit.algorithms.learners.problem import GraphKind
from crossbandit.core.streams import stream
from crossbandit.environments import (
    BlockEnvironment,
    ChangingGraph,
    LossBlock,
    context_graphs,
    cycling_graphs,
    graph_block,
    paper_benchmark,
    random_edges,
    random_graphs,
)
from crossbandit.environments.simulation import Rounds
from crossbandit.errors import InvalidGraphError, InvalidParameterError
from crossbandit.graphs.neighborhoods import matrix_of_ranges as as_matrix
from crossbandit.verify.checks import check_algorithm, check_environment
from tests.algorithms.test_graph_kinds import Sums, SumsLearner
from tests.cases import asymmetric, table
from tests.drivers import cumulative
from tests.reference import cross_graph_adaptive, cross_graph_varying, cross_graph_weak

LISTED = [
    asymmetric(),
    graphs.singletons(5),
    graphs.loopless_clique(5),
    graphs.ring(5, 2),
    FeedbackGraph(np.array(asymmetric().adjacency).T | np.eye(5, dtype=bool)),
    graphs.complete(5),
]
BY_HAND: dict[str, Any] = {"eta": 0.3, "gamma": 0.02, "rho": 0.1, "beta": 0.05, "epoch_length": 6}


def losses(rounds: int = 151) -> BlockEnvironment:
    return table(graphs.complete(5), rounds, 6, seed=8)


def edge_probabilities(diagonal: float = 1.0) -> Any:
    probabilities = np.random.default_rng(4).random((5, 5))
    np.fill_diagonal(probabilities, diagonal)
    return probabilities


CHANGING: dict[str, Callable[..., ChangingGraph]] = {
    "in turns": lambda **kind: cycling_graphs(losses(), LISTED, period=3, **kind),
    "by context": lambda **kind: context_graphs(losses(), LISTED, **kind),
    "random edges": lambda **kind: random_edges(losses(), edge_probabilities(), **kind),
}
every_rule = pytest.mark.parametrize("build", CHANGING.values(), ids=CHANGING.keys())


@every_rule
def test_a_block_of_graphs_has_the_graph_of_each_round(build: Callable[..., Any]) -> None:
    environment = build()
    contexts = np.arange(40) % 6
    block = environment.graphs(17, contexts)
    for i in (0, 1, 2, 3, 25, 39):
        expected = environment.graph(17 + i, int(contexts[i])).adjacency
        graph = FeedbackGraph.from_block(block, int(block.entry[i]), 5)
        np.testing.assert_array_equal(graph.adjacency, expected)
        np.testing.assert_array_equal(as_matrix(graph.in_ranges), expected.T)


@every_rule
def test_the_problem_promises_the_edges_that_every_round_has(build: Callable[..., Any]) -> None:
    environment = build(kind="unknown")
    assert environment.problem.graph_kind == "unknown"
    for t in range(30):
        assert environment.problem.graph.edge_not_in(environment.graph(t, t % 6)) is None
    check_environment(environment)


def test_random_edges_have_their_probabilities() -> None:
    probabilities = edge_probabilities(diagonal=0.25)
    environment = random_edges(losses(), probabilities, table_seed=1)
    block = environment.graphs(0, np.zeros(4000, dtype=np.int64))
    drawn = [FeedbackGraph.from_block(block, i, 5).adjacency for i in range(4000)]
    shares = np.mean(drawn, axis=0)
    # 25 entries, each beyond 4.5 standard errors with probability below 7e-6.
    assert (np.abs(shares - probabilities) < 4.5 * np.sqrt(0.25 / 4000)).all()
    other = random_edges(losses(), probabilities, table_seed=2)
    assert any(environment.graph(t) != other.graph(t) for t in range(5))


def reference(environment: ChangingGraph, algorithm: CrossGraphVarying, seed: int) -> Any:
    problem = environment.problem
    horizon = problem.horizon or 0
    contexts = environment.context_distribution.draw(stream(seed, "contexts"), horizon)
    return cross_graph_varying.run_on_graphs(
        lambda t: environment.graph(t, int(contexts[t])).adjacency,
        lambda t: environment.losses(t).T,
        contexts,
        stream(seed, "learner").random(2 * horizon),
        by_context=problem.graph_by_context,
        **cross_graph_varying.arguments(algorithm, problem, np.empty(0)),
    )


@every_rule
@pytest.mark.parametrize("options", [{}, BY_HAND], ids=["tuned", "by hand"])
def test_varying_follows_the_transcription_in_both_loops(
    build: Callable[..., Any], options: dict[str, Any]
) -> None:
    environment, algorithm = build(), CrossGraphVarying(**options)
    trace = reference(environment, algorithm, seed=3)
    compiled = simulate(algorithm, environment, seed=3, compiled=True)
    plain = simulate(algorithm, environment, seed=3, compiled=False)
    np.testing.assert_array_equal(compiled.arms, trace.arms)
    np.testing.assert_array_equal(plain.arms, trace.arms)
    np.testing.assert_allclose(compiled.losses, trace.losses, rtol=0, atol=1e-14)


@every_rule
def test_estimates_of_varying_are_those_of_the_transcription(build: Callable[..., Any]) -> None:
    environment, algorithm = build(), CrossGraphVarying(**BY_HAND)
    trace = reference(environment, algorithm, seed=3)
    learner = algorithm.start(environment.problem, seed=3)
    contexts = environment.context_distribution.draw(stream(3, "contexts"), 151)
    late = []
    for t, context in enumerate(contexts):
        decision = learner.act(context, graph=environment.graph(t, context))
        late.append((decision, environment.losses(t)[list(decision.revealed)]))
        learner.learn(*late.pop())
    np.testing.assert_allclose(cumulative(learner), trace.cumulative, rtol=1e-11, atol=1e-11)


@every_rule
@pytest.mark.parametrize(
    "options",
    [{}, {"half_life": 40.0, "exploration": 3.0, "recency": 2.0}],
    ids=["defaults", "by hand"],
)
def test_adaptive_follows_its_transcription_on_changing_graphs(
    build: Callable[..., Any], options: dict[str, Any]
) -> None:
    environment, algorithm = build(), CrossGraphAdaptive(**options)
    contexts = environment.context_distribution.draw(stream(3, "contexts"), 151)
    trace = cross_graph_adaptive.run(
        np.empty((5, 5), dtype=bool),
        lambda t: environment.losses(t).T,
        contexts,
        stream(3, "learner").random(151),
        graphs=lambda t: environment.graph(t, int(contexts[t])).adjacency,
        by_context=environment.problem.graph_by_context,
        **cross_graph_adaptive.arguments(algorithm, environment.problem, np.empty(0)),
    )
    for compiled in (True, False):
        run = simulate(algorithm, environment, seed=3, compiled=compiled)
        np.testing.assert_array_equal(run.arms, trace.arms)


def test_adaptive_on_one_graph_in_turns_is_adaptive_on_that_graph() -> None:
    environment = table(asymmetric(), 150, 6, seed=4)
    always = cycling_graphs(environment, [asymmetric()])
    np.testing.assert_array_equal(
        simulate(CrossGraphAdaptive(), always, seed=1).arms,
        simulate(CrossGraphAdaptive(), environment, seed=1).arms,
    )


def test_adaptive_wants_strong_graphs_if_they_change() -> None:
    environment = cycling_graphs(losses(), [graphs.complete(5), graphs.revealing_action(5)])
    for compiled in (True, False):
        with pytest.raises(InvalidGraphError, match="must be strongly observable"):
            simulate(CrossGraphAdaptive(), environment, seed=1, compiled=compiled)
    learner = CrossGraphAdaptive().start(environment.problem, seed=1)
    with pytest.raises(InvalidParameterError, match="a snapshot cannot be given a graph"):
        learner.snapshot()


def test_varying_on_one_graph_is_algorithm_2() -> None:
    environment = table(asymmetric(), 150, 6, seed=4)
    tried: list[dict[str, Any]] = [{}, BY_HAND]
    for options in tried:
        ours = simulate(CrossGraphVarying(**options), environment, seed=1)
        theirs = simulate(CrossGraph(**options), environment, seed=1)
        np.testing.assert_array_equal(ours.arms, theirs.arms)
    always = cycling_graphs(environment, [asymmetric()])
    np.testing.assert_array_equal(
        simulate(CrossGraphVarying(), always, seed=1).arms,
        simulate(CrossGraph(), environment, seed=1).arms,
    )


@every_rule
def test_batches_of_any_length_play_the_same_arms(build: Callable[..., Any]) -> None:
    environment = build()
    problem, form = environment.problem, environment.problem.form
    contexts = environment.context_distribution.draw(stream(5, "contexts"), 151)
    learner = CrossGraphVarying(**BY_HAND).start(problem, seed=5)
    arms, start = [], 0
    for length in (1, 2, 3, 7, 40, 1, 1, 96):
        now = contexts[start : start + length]
        rounds = Rounds.to_play(
            form.block(now),
            environment.block(start, start + length),
            now,
            graphs=environment.graphs(start, now),
        )
        learner.simulate(rounds)
        arms.extend(rounds.arms.tolist())
        start += length
    whole = simulate(CrossGraphVarying(**BY_HAND), environment, seed=5)
    assert arms == whole.arms.tolist()


def test_a_graph_that_is_not_strongly_observable_is_refused_when_it_comes() -> None:
    environment = cycling_graphs(losses(), [graphs.complete(5), graphs.revealing_action(5)])
    learner = CrossGraphVarying().start(environment.problem, seed=1)
    learner.act(0, graph=environment.graph(0))
    with pytest.raises(InvalidGraphError, match="CrossGraphVarying must be strongly observable"):
        learner.act(0, graph=environment.graph(1))


def test_a_compiled_run_refuses_it_too() -> None:
    environment = cycling_graphs(losses(), [graphs.complete(5), graphs.revealing_action(5)])
    for compiled in (True, False):
        with pytest.raises(InvalidGraphError, match="must be strongly observable"):
            simulate(CrossGraphVarying(), environment, seed=1, compiled=compiled)


@every_rule
@pytest.mark.parametrize("kind", ["informed", "uninformed", "unknown"])
def test_the_plain_loop_reveals_by_the_graph_of_the_round(
    build: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[SumsLearner] = []

    def start(self: Sums, problem: Problem, *, seed: Any) -> SumsLearner:
        started.append(SumsLearner(self, problem, seed=seed))
        return started[0]

    monkeypatch.setattr(Sums, "start", start)
    environment = build(kind=kind)
    run = simulate(Sums(), environment, seed=1)
    (learner,) = started
    expected = np.zeros((5, 6))
    for t, (arm, context) in enumerate(zip(run.arms, run.contexts, strict=True)):
        graph = environment.graph(t, context)
        expected[graph.adjacency[arm]] += environment.losses(t)[graph.adjacency[arm]]
        assert learner.seen[t][1] == graph.out_neighbors(arm).tolist()
        if kind != "unknown":
            assert learner.seen[t][0] == graph
    np.testing.assert_allclose(learner.sums, expected)


def test_standard_bandits_play_whatever_the_graphs_are() -> None:
    fixed = simulate(SchneiderZimmert(), losses(), seed=1)
    for build in CHANGING.values():
        for kind in ("informed", "unknown"):
            run = simulate(SchneiderZimmert(), build(kind=kind), seed=1)
            np.testing.assert_array_equal(run.arms, fixed.arms)


def test_the_linear_form_keeps_the_graphs() -> None:
    base = paper_benchmark(300, radius=1, arms=5, contexts=7)
    environment = cycling_graphs(base, LISTED, period=2)
    factored = environment.factored()
    assert factored is not None
    assert factored.problem.graph_kind == "informed"
    dense = simulate(CrossGraphVarying(), environment, seed=1, factored=False)
    for compiled in (True, False):
        linear = simulate(
            CrossGraphVarying(), environment, seed=1, factored=True, compiled=compiled
        )
        np.testing.assert_array_equal(linear.arms, dense.arms)


# --- weakly observable graphs --------------------------------------------------------------------

WEAK = {
    "revealing action": graphs.revealing_action(5),
    "two revealing": graphs.revealing_action(6, revealing=2),
    "loopless ring": graphs.loopless_ring(5, radius=2),
    "mixed": FeedbackGraph([[0, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1], [1, 0, 0, 1]]),
    "blind revealer": FeedbackGraph([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]),
    "strong": asymmetric(),
}


@pytest.mark.parametrize("graph", WEAK.values(), ids=WEAK.keys())
@pytest.mark.parametrize(
    "options",
    [{}, {"eta": 0.2, "gamma": 0.05, "rho": 0.1, "exploration": 0.3, "epoch_length": 8}],
    ids=["tuned", "by hand"],
)
def test_weak_follows_the_transcription(graph: FeedbackGraph, options: dict[str, Any]) -> None:
    environment, algorithm = table(graph, 201, 4, seed=6), CrossGraphWeak(**options)
    contexts = environment.context_distribution.draw(stream(2, "contexts"), 201)
    trace = cross_graph_weak.run(
        graph.adjacency,
        lambda t: environment.losses(t).T,
        contexts,
        stream(2, "learner").random(402),
        **cross_graph_weak.arguments(algorithm, environment.problem, np.empty(0)),
    )
    for compiled in (True, False):
        run = simulate(algorithm, environment, seed=2, compiled=compiled)
        np.testing.assert_array_equal(run.arms, trace.arms)


@pytest.mark.parametrize("graph", WEAK.values(), ids=WEAK.keys())
@pytest.mark.parametrize("exploration", [1.0, 4.0])
def test_adaptive_follows_its_transcription_on_weak_graphs(
    graph: FeedbackGraph, exploration: float
) -> None:
    environment = table(graph, 201, 4, seed=6)
    algorithm = CrossGraphAdaptive(exploration=exploration)
    contexts = environment.context_distribution.draw(stream(2, "contexts"), 201)
    trace = cross_graph_adaptive.run(
        graph.adjacency,
        lambda t: environment.losses(t).T,
        contexts,
        stream(2, "learner").random(201),
        **cross_graph_adaptive.arguments(algorithm, environment.problem, np.empty(0)),
    )
    for compiled in (True, False):
        run = simulate(algorithm, environment, seed=2, compiled=compiled)
        np.testing.assert_array_equal(run.arms, trace.arms)


def test_every_arm_is_explored_as_often_as_promised() -> None:
    graph = graphs.revealing_action(6, revealing=2)
    learner = CrossGraphWeak(eta=5.0, gamma=0.01, rho=0.06, exploration=0.3, epoch_length=2).start(
        Problem(graph, contexts=1), seed=1
    )
    for _ in range(400):
        decision = learner.act(0)
        learner.learn(decision, [[float(b != 5)] for b in decision.revealed])
    policy = learner.policy(0)
    # (1 - x) (rho / K) for an arm that is never good, and x / 2 more for a revealing one.
    np.testing.assert_allclose(policy[2], 0.7 * 0.01, rtol=1e-6)
    np.testing.assert_allclose(policy[:2], 0.7 * 0.01 + 0.15, rtol=1e-6)
    assert graph.observation_mass(policy).min() >= 0.15


def test_the_rule_is_that_of_the_docstring() -> None:
    problem = Problem(graphs.revealing_action(9, revealing=3), contexts=5, horizon=8_000)
    eta, gamma, rho, exploration, length = CrossGraphWeak().parameters(problem)
    assert exploration == pytest.approx((3 * np.log(9) / 8_000) ** (1 / 3))
    assert eta == gamma == rho == pytest.approx(exploration**2 / 3)
    assert abs(length - 1 / (eta * np.sqrt(np.log(9)))) < 0.5 * length
    assert CrossGraphWeak(eta=0.5).parameters(problem).eta == 0.5
    short = Problem(graphs.revealing_action(9), contexts=5, horizon=4)
    assert CrossGraphWeak().parameters(short).exploration == 0.5


def test_an_unobservable_arm_is_refused() -> None:
    graph = FeedbackGraph([[1, 1, 0], [0, 0, 0], [1, 0, 0]])
    with pytest.raises(InvalidGraphError, match=r"CrossGraphWeak must be observable.*arm 2"):
        CrossGraphWeak().start(Problem(graph, contexts=1, horizon=100), seed=1)


def test_weak_passes_the_checks_on_a_weak_graph() -> None:
    check_algorithm(CrossGraphWeak(), graphs.revealing_action(4))
    check_algorithm(CrossGraphAdaptive(), graphs.revealing_action(4))


# --- environments of one's own -------------------------------------------------------------------


class Own(BlockEnvironment):
    """A user's environment: two graphs in turns, without a fast block of graphs."""

    def __init__(self, kind: GraphKind = "informed", promised: FeedbackGraph | None = None) -> None:
        whole = losses(60)
        certain = graphs.singletons(5) if promised is None else promised
        self.problem = whole.problem.with_graph(certain, kind)
        self.context_distribution = whole.context_distribution
        self._whole = whole

    def graph(self, t: int) -> FeedbackGraph:
        return graphs.complete(5) if t % 2 else graphs.ring(5, 1)

    def block(self, start: int, stop: int) -> LossBlock:
        return self._whole.block(start, stop)


def test_an_environment_of_ones_own_needs_one_method() -> None:
    np.testing.assert_array_equal(
        simulate(CrossGraphVarying(), Own(), seed=1, compiled=True).arms,
        simulate(CrossGraphVarying(), Own(), seed=1, compiled=False).arms,
    )
    same = cycling_graphs(losses(60), [graphs.ring(5, 1), graphs.complete(5)])
    assert same.problem.graph == graphs.ring(5, 1)
    options: dict[str, Any] = {"alpha": 2.0}
    np.testing.assert_array_equal(
        simulate(CrossGraphVarying(**options), same, seed=1).arms,
        simulate(CrossGraphVarying(**options), Own(), seed=1).arms,
    )


def test_a_rule_for_graphs_and_its_kind_belong_together() -> None:
    with pytest.raises(InvalidParameterError, match="Own has a method graph"):
        simulate(CrossGraph(), Own(kind="fixed"), seed=1)
    plain = losses(60)
    plain.problem = plain.problem.with_graph(graphs.complete(5), "informed")
    with pytest.raises(InvalidParameterError, match="must have a method graph"):
        simulate(CrossGraphVarying(), plain, seed=1)


def test_promised_edges_must_be_there() -> None:
    with pytest.raises(InvalidGraphError, match=r"Round 0 does not have its edge \(0, 2\)"):
        simulate(CrossGraphVarying(), Own(promised=graphs.complete(5)), seed=1)


def test_a_block_of_graphs_is_checked_before_compiled_code_uses_it() -> None:
    class Broken(Own):
        def graphs(self, start: int, contexts: Any) -> Any:
            del start  # entry 1 of one graph
            return graph_block([graphs.complete(5)], np.ones(len(contexts), dtype=np.int64))

    with pytest.raises(InvalidGraphError, match=r"Broken\.graphs must return a GraphBlock"):
        simulate(CrossGraphVarying(), Broken(), seed=1)


def test_bad_arguments_of_the_builders() -> None:
    base = losses(60)
    with pytest.raises(InvalidParameterError, match="a graph for each numbered context"):
        context_graphs(base, LISTED[:2])
    with pytest.raises(InvalidParameterError, match="FeedbackGraph of 5 arms"):
        cycling_graphs(base, [graphs.complete(4)])
    with pytest.raises(InvalidParameterError, match="FeedbackGraph of 5 arms"):
        cycling_graphs(base, [])
    with pytest.raises(InvalidParameterError, match="informed"):
        cycling_graphs(base, LISTED, kind="fixed")
    with pytest.raises(InvalidParameterError, match="probabilities of shape"):
        random_edges(base, np.full((5, 5), 1.5))
    with pytest.raises(InvalidParameterError, match="period"):
        cycling_graphs(base, LISTED, period=0)
    with pytest.raises(InvalidParameterError, match="graph_by_context"):
        Problem(graphs.complete(3), contexts=2, graph_by_context=True)


def test_random_graphs_is_random_edges_over_stochastic_losses() -> None:
    environment = random_graphs(50, arms=4, density=0.4, table_seed=3)
    assert environment.problem.graph == graphs.singletons(4)
    assert environment.problem.graph_kind == "informed"
    run = simulate(CrossGraphVarying(epoch_length=4), environment, seed=1)
    assert run.pseudo_regret.shape == (50,)
    bare = random_graphs(50, arms=4, density=0.4, self_loops=False, kind="unknown")
    assert bare.problem.graph.edge_count == 0


# --- saving, tokens ------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [60, 61])
def test_a_saved_learner_resumes_with_its_graphs(stop: int, tmp_path: Any) -> None:
    environment = CHANGING["in turns"]()
    contexts = environment.context_distribution.draw(stream(4, "contexts"), 151)
    learner = CrossGraphVarying(**BY_HAND).start(environment.problem, seed=4)
    waiting = []
    for t in range(stop):
        decision = learner.act(contexts[t], graph=environment.graph(t))
        waiting.append((decision, environment.losses(t)[list(decision.revealed)]))
        if t % 3 == 2:
            learner.learn(*waiting.pop(0))
    learner.save(tmp_path / "learner")
    resumed = load(tmp_path / "learner")
    arms: list[list[int]] = []
    for one in (learner, resumed):
        arms.append([])
        for decision, rows in waiting:
            one.learn(decision, rows)
        for t in range(stop, 151):
            decision = one.act(contexts[t], graph=environment.graph(t))
            one.learn(decision.token, environment.losses(t)[list(decision.revealed)])
            arms[-1].append(decision.arm)
    assert arms[0] == arms[1]


def test_a_checkpoint_with_a_wrong_graph_is_refused() -> None:
    from crossbandit.algorithms.learners import files

    data = {"decisions": [[0]], "graphs": [[0, [7], None]]}
    with pytest.raises(ValueError, match="revealed arm 7 of 5"):
        files._read_graphs(data, 5)
    data = {"decisions": [[0]], "graphs": [[0, [1], graphs.complete(3).to_json()]]}
    with pytest.raises(ValueError, match="a graph of 3 arms"):
        files._read_graphs(data, 5)


def test_many_decisions_at_once_need_a_graph_that_is_known() -> None:
    learner = Sums().start(losses().problem.with_graph(graphs.complete(5), "unknown"), seed=1)
    decisions = learner.act_many([0, 1])
    with pytest.raises(InvalidParameterError, match="call learn"):
        learner.learn_many(decisions, [{0: np.zeros(6)}, {0: np.zeros(6)}])
    informed = CHANGING["in turns"]().problem
    with pytest.raises(InvalidParameterError, match="call act"):
        CrossGraphVarying().start(informed, seed=1).act_many([0, 1])


def test_random_graphs_have_the_losses_of_stochastic_also_late_ones() -> None:
    changing = environments.random_graphs(40, arms=3, contexts=2, late=0.5, table_seed=4)
    same = environments.stochastic(graphs.singletons(3), 40, contexts=2, late=0.5, table_seed=4)
    for t in (0, 19, 20, 39):
        np.testing.assert_array_equal(changing.losses(t), same.losses(t))
