"""Arms that a context puts out of reach: never played, and otherwise as if they were not there."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from crossbandit import (
    CrossGraph,
    CrossGraphAdaptive,
    FeedbackGraph,
    PerContextGraph,
    Problem,
    graphs,
    load,
    simulate,
)
from crossbandit.algorithms import Algorithm
from crossbandit.core.types import Booleans, Floats
from crossbandit.environments import (
    BlockEnvironment,
    FiniteContexts,
    LossBlock,
    first_price,
    row_block,
)
from crossbandit.errors import (
    CheckFailedError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.verify.checks import check_environment
from tests.cases import asymmetric, every_algorithm, table
from tests.drivers import contexts_of, cumulative, play, start
from tests.reference import cross_graph_adaptive

ROUNDS, CONTEXTS = 240, 3


class Sleeping(BlockEnvironment):
    """An environment in which context c lacks the arms that are False in `masks[c]`."""

    def __init__(self, awake: BlockEnvironment, masks: npt.ArrayLike) -> None:
        self.problem, self.context_distribution = awake.problem, awake.context_distribution
        self._awake, self._masks = awake, np.asarray(masks)

    def block(self, start: int, stop: int) -> LossBlock:
        return self._awake.block(start, stop)

    def available(self, contexts: npt.NDArray[Any]) -> Booleans:
        mask: Booleans = self._masks[contexts]
        return mask


def masks(arms: int) -> Booleans:
    """Return which arms each context has: all but one or two, and in the last only one."""
    result = np.ones((CONTEXTS, arms), dtype=bool)
    result[0, 0] = False
    result[1, [1, -1]] = False
    result[2] = False
    result[2, 1] = True
    return result


def sleeping(graph: FeedbackGraph, seed: int = 1) -> Sleeping:
    return Sleeping(table(graph, ROUNDS, CONTEXTS, seed), masks(graph.arms))


@every_algorithm
@pytest.mark.parametrize("graph", [asymmetric(), graphs.threshold(4), graphs.loopless_clique(5)])
def test_every_loop_plays_the_same_available_arms(
    algorithm: Algorithm, graph: FeedbackGraph
) -> None:
    environment = sleeping(graph)
    if not algorithm.takes_availability:
        with pytest.raises(InvalidParameterError, match="which arms are available"):
            simulate(algorithm, environment, seed=0)
        with pytest.raises(InvalidParameterError, match="which arms are available"):
            start(algorithm, environment).act(0, masks(graph.arms)[0])
        return
    run = simulate(algorithm, environment, seed=0)
    assert masks(graph.arms)[run.contexts, run.arms].all()
    plain = simulate(algorithm, environment, seed=0, compiled=False)
    np.testing.assert_array_equal(run.arms, plain.arms)


@pytest.mark.parametrize(
    "algorithm",
    [
        CrossGraph(eta=0.3, gamma=0.02, rho=0.1, beta=0.05, epoch_length=6),
        PerContextGraph(eta=0.2),
    ],
)
@pytest.mark.parametrize("missing", [0, 2, 4])
def test_an_arm_that_is_never_available_might_as_well_not_exist(
    algorithm: Algorithm, missing: int
) -> None:
    """Arm for arm the same run as on the graph without it."""
    graph = asymmetric()
    others = np.delete(np.arange(graph.arms), missing)
    small = FeedbackGraph(graph.adjacency[np.ix_(others, others)])
    losses = np.random.default_rng(3).random((ROUNDS, graph.arms, CONTEXTS))
    mask = np.arange(graph.arms) != missing
    with_it = algorithm.start(Problem(graph, contexts=CONTEXTS, horizon=ROUNDS), seed=5)
    without = algorithm.start(Problem(small, contexts=CONTEXTS, horizon=ROUNDS), seed=5)
    for t in range(ROUNDS):
        ours, theirs = with_it.act(t % CONTEXTS, mask), without.act(t % CONTEXTS)
        assert ours.arm == others[theirs.arm]
        assert ours.probability == theirs.probability
        with_it.learn(ours, losses[t, list(ours.revealed)])
        without.learn(theirs, losses[t, others[list(theirs.revealed)]])


@pytest.mark.parametrize("graph", [asymmetric(), graphs.threshold(4), graphs.loopless_clique(5)])
def test_the_adaptive_learner_is_its_transcription(graph: FeedbackGraph) -> None:
    algorithm = CrossGraphAdaptive(exploration=3.0, recency=2.0, anchored=True)
    environment = sleeping(graph)
    contexts = contexts_of(environment)
    learner = start(algorithm, environment)
    uniforms = start(algorithm, environment).generator.random(ROUNDS)
    parameters = algorithm.to_json()
    trace = cross_graph_adaptive.run(
        graph.adjacency,
        lambda t: environment.losses(t).T,
        contexts,
        uniforms,
        available=masks(graph.arms)[contexts],
        **{name: value for name, value in parameters.items() if name != "id"},
    )
    arms = []
    for t, context in enumerate(contexts):
        decision = learner.act(context, masks(graph.arms)[context])
        arms.append(decision.arm)
        assert decision.probability == pytest.approx(trace.probabilities[t], rel=1e-9)
        learner.learn(decision, environment.losses(t)[list(decision.revealed)])
    np.testing.assert_array_equal(arms, trace.arms)
    assert _centred(cumulative(learner)) == pytest.approx(_centred(trace.cumulative), abs=1e-6)


def _centred(scores: Floats) -> Floats:
    centred: Floats = scores - scores.mean(axis=1, keepdims=True)
    return centred


@every_algorithm
def test_naming_all_arms_is_naming_none(algorithm: Algorithm) -> None:
    environment = table(asymmetric(), ROUNDS, CONTEXTS, 1)
    if not algorithm.takes_availability:
        return
    everything = np.ones(5, dtype=bool)
    learner, usual = start(algorithm, environment), start(algorithm, environment)
    arms = []
    for t, context in enumerate(contexts_of(environment)):
        decision = learner.act(context, everything if t % 3 else None)
        learner.learn(decision, environment.losses(t)[list(decision.revealed)])
        arms.append(decision.arm)
    assert arms == play(usual, environment)


@pytest.mark.parametrize("algorithm", [CrossGraph(epoch_length=6), CrossGraphAdaptive()])
@pytest.mark.parametrize("stop", [30, 31])
def test_a_checkpoint_remembers_what_was_available(
    algorithm: Algorithm, stop: int, tmp_path: Path
) -> None:
    environment = sleeping(asymmetric())
    contexts, mask = contexts_of(environment), masks(5)
    learner = start(algorithm, environment)
    out = []
    for t in range(stop):
        decision = learner.act(contexts[t], mask[contexts[t]])
        out.append(decision)
        if t % 3 == 2:
            late = out.pop(0)
            learner.learn(late, environment.losses(late.round)[list(late.revealed)])
    learner.save(tmp_path / "learner")
    resumed = load(tmp_path / "learner")
    for decision in out:
        rows = environment.losses(decision.round)[list(decision.revealed)]
        learner.learn(decision, rows)
        resumed.learn(decision, rows)
    for t in range(stop, ROUNDS):
        ours = resumed.act(contexts[t], mask[contexts[t]])
        theirs = learner.act(contexts[t], mask[contexts[t]])
        assert (ours.arm, ours.probability) == (theirs.arm, theirs.probability)
        resumed.learn(ours, environment.losses(t)[list(ours.revealed)])
        learner.learn(theirs, environment.losses(t)[list(theirs.revealed)])


def test_the_comparator_is_the_best_available_arm() -> None:
    environment = sleeping(graphs.threshold(4))
    run = simulate(CrossGraphAdaptive(), environment, seed=0)
    totals = environment.totals.T.copy()
    totals[~masks(4)] = np.inf
    np.testing.assert_array_equal(run.comparator_arms, totals.argmin(axis=1)[run.contexts])
    np.testing.assert_array_equal(environment.best_arms, totals.argmin(axis=1))


@pytest.mark.parametrize(
    "mask",
    [
        [True],
        [1, 0, 1, 1],
        np.zeros(4, dtype=bool),
        "TTTT",
        [[True] * 4],
        [0, 1],
        [[True], [True, False]],
    ],
)
def test_a_bad_mask_is_refused_and_changes_nothing(mask: Any) -> None:
    learner = CrossGraphAdaptive().start(Problem(graphs.threshold(4), contexts=2), seed=0)
    with pytest.raises(InvalidContextError, match="4 booleans, of which at least one is true"):
        learner.act(0, mask)
    assert learner.round == learner.pending == 0


def test_the_callers_mask_is_copied() -> None:
    learner = CrossGraphAdaptive().start(Problem(graphs.threshold(4), contexts=1), seed=0)
    mask = np.array([True, False, False, False])
    decision = learner.act(0, mask)
    mask[:] = False
    learner.learn(decision, np.full((4, 1), 0.5))
    assert learner.policy(0).sum() == pytest.approx(1)


def test_a_loss_counts_only_where_its_arm_may_be_played() -> None:
    """A bid above the value would lose more than everything; nobody may make it."""
    environment = first_price(100, bids=5)
    row = environment.rules.block([0.0]).base[0]
    value = environment.rules.contexts(0.5)
    for algorithm in (CrossGraph(epoch_length=2), CrossGraphAdaptive()):
        learner = algorithm.start(environment.problem, seed=0)
        mask = environment.rules.amounts <= 0.5
        decision = learner.act(value, mask)
        learner.learn(decision, row[list(decision.revealed)])
        careless = learner.act(value)
        with pytest.raises(InvalidLossesError, match="arm 3"):
            learner.learn(careless, row[list(careless.revealed)])


VALUES, BIDS = np.array([0.25, 0.5, 1.0]), np.array([0.0, 0.25, 0.5, 0.75])


class TableAuction(BlockEnvironment):
    """First-price auctions with three values, listed as a table; no bid is above the value."""

    def __init__(self, horizon: int) -> None:
        features = np.stack([np.ones(3), VALUES], axis=1)
        self.problem = Problem(graphs.threshold(4), features=features, horizon=horizon)
        self.context_distribution = FiniteContexts(3)
        self._prices = np.random.default_rng(0).uniform(0, 0.6, horizon)

    def available(self, contexts: npt.NDArray[Any]) -> Booleans:
        mask: Booleans = VALUES[contexts][:, None] >= BIDS
        return mask

    def block(self, start: int, stop: int) -> LossBlock:
        won = self._prices[start:stop, None] <= BIDS
        return row_block(np.stack([1.0 + won * BIDS, -1.0 * won], axis=2))


class PlainAuction:
    """The same, without blocks."""

    def __init__(self, horizon: int) -> None:
        self._auction = TableAuction(horizon)
        self.problem, self.context_distribution = (
            self._auction.problem,
            self._auction.context_distribution,
        )

    def available(self, contexts: npt.NDArray[Any]) -> Booleans:
        return self._auction.available(contexts)

    def losses(self, round_: int) -> Floats:
        return self._auction.losses(round_)


@pytest.mark.parametrize("auction", [TableAuction, PlainAuction])
def test_a_table_may_lose_anything_where_an_arm_is_out_of_reach(auction: Any) -> None:
    """A bid of 0.75 that wins at a value of 0.25 loses 1.5, and cannot be made."""
    environment = auction(300)
    check_environment(environment)
    run = simulate(CrossGraphAdaptive(), environment, seed=1, show_progress=False)
    plain = simulate(CrossGraphAdaptive(), environment, seed=1, compiled=False, show_progress=False)
    np.testing.assert_array_equal(run.arms, plain.arms)
    assert (BIDS[run.arms] <= VALUES[run.contexts]).all()


def test_a_table_must_hold_losses_where_an_arm_is_in_reach() -> None:
    class Cheap(TableAuction):
        def available(self, contexts: npt.NDArray[Any]) -> Booleans:
            mask = super().available(contexts)
            mask[contexts == 1, 3] = True  # 0.75 at a value of 0.5
            return mask

    environment = Cheap(300)
    with pytest.raises(InvalidLossesError, match=r"Got 1\.25 .* for arm 3 in context 1"):
        _ = environment.totals
    with pytest.raises(CheckFailedError, match=r"range from .* to 1\.25"):
        check_environment(environment)


def test_losses_of_a_table_are_looked_at_where_the_mask_is_known() -> None:
    """With a mask, in the decision's own context; without one, in all contexts."""
    learner = CrossGraphAdaptive().start(TableAuction(300).problem, seed=0)
    won = np.stack([1.0 + BIDS, -np.ones(4)], axis=1)
    for context, value in enumerate(VALUES):
        decision = learner.act(context, value >= BIDS)
        learner.learn(decision, won[list(decision.revealed)])
        decision = learner.act(context)
        with pytest.raises(InvalidLossesError, match=r"for arm .: a loss of 1.* in context"):
            learner.learn(decision, won[list(decision.revealed)])
        decision = learner.act(context, np.ones(4, dtype=bool))
        if context < 2:
            with pytest.raises(InvalidLossesError, match=f"in context {context}"):
                learner.learn(decision, won[list(decision.revealed)])
        with pytest.raises(InvalidLossesError, match="nan"):
            learner.learn(decision, won[list(decision.revealed)] * [np.nan, 1.0])


def test_dense_losses_must_be_losses_in_every_context() -> None:
    """Each is given by itself, so a number can be given where an arm is out of reach."""
    learner = CrossGraphAdaptive().start(Problem(graphs.complete(2), contexts=2), seed=0)
    decision = learner.act(0, np.array([True, False]))
    with pytest.raises(InvalidLossesError, match=r"Got 1\.5 for arm 1 in context 0"):
        learner.learn(decision, [[0.5, 0.5], [1.5, 0.5]])


@pytest.mark.parametrize(
    ("available", "message"),
    [
        (np.ones((CONTEXTS, 3), dtype=bool), "contexts by arms"),
        (np.ones((CONTEXTS, 4)), "booleans"),
        (np.zeros((CONTEXTS, 4), dtype=bool), "must leave an arm"),
    ],
)
def test_an_environment_with_a_bad_rule_is_refused(available: Any, message: str) -> None:
    environment = Sleeping(table(graphs.threshold(4), ROUNDS, CONTEXTS, 1), available)
    with pytest.raises(InvalidContextError, match=message):
        simulate(CrossGraph(), environment, seed=0)


def test_learning_happens_among_the_available() -> None:
    """The regret to the best available arm stays small, although the best of all is asleep."""
    environment = first_price(20_000, bids=50)
    run = simulate(CrossGraphAdaptive(), environment, seed=1)
    assert (environment.rules.amounts[run.arms] <= run.contexts[:, 1]).all()
    assert 0 < run.final_regret < 250


def test_each_round_of_a_pair_counts_with_its_own_available_arms() -> None:
    """In the first epoch every policy is uniform, and one round of each pair counts for either."""
    problem = Problem(graphs.loopless_clique(3), contexts=2, horizon=400)
    learner: Any = CrossGraph(epoch_length=40).start(problem, seed=0)
    masks = np.array([[True, True, False], [True, False, True]])
    for _ in range(5):
        for context, mask in enumerate(masks):
            learner.act(context, mask)
    state = learner.state()
    expected = 5 * (masks / masks.sum(axis=1, keepdims=True)).sum(axis=0)
    np.testing.assert_allclose(state["frequency"] + state["mass"], expected, rtol=1e-12)
