"""Acting and learning: what every learner promises, with prompt, late, missing and bad feedback."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crossbandit import (
    CrossGraph,
    CrossGraphAdaptive,
    Decision,
    FeedbackGraph,
    Problem,
    graphs,
    simulate,
)
from crossbandit.algorithms import (
    Algorithm,
    CrossGraphKnown,
    Learner,
    PerContextExp3,
    from_json,
    registered,
)
from crossbandit.environments import from_coefficients, from_table
from crossbandit.errors import (
    CrossbanditError,
    DecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)
from tests.cases import (
    ALGORITHMS,
    PAIRED,
    asymmetric,
    every_algorithm,
    every_algorithm_at_once,
    name,
    table,
)
from tests.drivers import (
    assert_same_state,
    clone,
    contexts_of,
    cumulative,
    play,
    revealed,
    start,
)

ENVIRONMENT = table(asymmetric(), 60, 4, seed=1)
CONTEXTS = contexts_of(ENVIRONMENT)


# ------------------------------------------------------------------------------ acting, prompt


@every_algorithm
def test_a_decision_says_what_was_done(algorithm: Algorithm) -> None:
    learner = start(algorithm, ENVIRONMENT)
    bandit = algorithm.needs_own_loss
    for t, context in enumerate(CONTEXTS):
        policy = learner.policy(context)
        decision = learner.act(context)
        assert (decision.round, decision.context, decision.learner) == (t, context, learner.id)
        assert decision.probability == policy[decision.arm]
        neighbors = asymmetric().out_neighbors(decision.arm).tolist()
        assert list(decision.revealed) == ([decision.arm] if bandit else neighbors)
        assert learner.pending == 1
        learner.learn(decision, revealed(ENVIRONMENT, decision))
        assert learner.pending == 0
    assert learner.round == 60


@every_algorithm
def test_asking_for_the_policy_changes_nothing(algorithm: Algorithm) -> None:
    learner, twin = start(algorithm, ENVIRONMENT), start(algorithm, ENVIRONMENT)
    for context in CONTEXTS:
        for policy in (learner.policy(c) for c in range(4)):
            assert policy.shape == (5,)
            assert (policy >= 0).all()
            assert policy.sum() == pytest.approx(1, abs=1e-12)
        for other in (learner, twin):
            decision = other.act(context)
            other.learn(decision, revealed(ENVIRONMENT, decision))
    assert_same_state(learner, twin)


@every_algorithm
def test_the_policy_belongs_to_the_caller(algorithm: Algorithm) -> None:
    learner = start(algorithm, ENVIRONMENT)
    play(learner, ENVIRONMENT, 20)
    before = learner.policy(1)
    learner.policy(1)[:] = 0
    np.testing.assert_array_equal(learner.policy(1), before)


@every_algorithm
def test_the_seed_decides_the_arms(algorithm: Algorithm) -> None:
    arms = [play(start(algorithm, ENVIRONMENT, seed), ENVIRONMENT) for seed in (1, 1, 2)]
    assert arms[0] == arms[1] != arms[2]


@every_algorithm
def test_losses_that_are_handed_over_stay_as_they_are(algorithm: Algorithm) -> None:
    learner = start(algorithm, ENVIRONMENT)
    for context in CONTEXTS[:21]:
        decision = learner.act(context)
        rows = revealed(ENVIRONMENT, decision)
        before = rows.copy()
        learner.learn(decision, rows)
        np.testing.assert_array_equal(rows, before)


def test_feedback_that_is_held_is_a_copy() -> None:
    algorithm = CrossGraph(eta=0.5, gamma=0.1, rho=0.1, beta=0.1, epoch_length=2)
    learner, twin = start(algorithm, ENVIRONMENT), start(algorithm, ENVIRONMENT)
    for context in CONTEXTS:
        for other in (learner, twin):
            decision = other.act(context)
            rows = revealed(ENVIRONMENT, decision)
            other.learn(decision, rows)
            if other is learner:
                rows[:] = 0
    assert_same_state(learner, twin)


@every_algorithm
def test_losses_may_come_as_a_mapping_or_as_lists(algorithm: Algorithm) -> None:
    learners = [start(algorithm, ENVIRONMENT) for _ in range(3)]
    for context in CONTEXTS:
        decisions = [learner.act(context) for learner in learners]
        rows = revealed(ENVIRONMENT, decisions[0])
        backwards = {b: rows[j] for j, b in reversed(list(enumerate(decisions[0].revealed)))}
        for learner, decision, losses in zip(
            learners, decisions, (rows, backwards, rows.tolist()), strict=True
        ):
            learner.learn(decision, losses)
    assert_same_state(learners[0], learners[1])
    assert_same_state(learners[0], learners[2])


@every_algorithm
def test_playing_on_past_the_horizon_is_allowed(algorithm: Algorithm) -> None:
    learner = start(algorithm, ENVIRONMENT)
    for t in range(150):
        decision = learner.act(t % 4)
        learner.learn(decision, np.full((len(decision.revealed), 4), 0.5))
    assert learner.policy(0).sum() == pytest.approx(1, abs=1e-12)
    assert learner.round == 150


def test_the_special_arm_is_shown() -> None:
    learner: Any = start(CrossGraph(epoch_length=4), ENVIRONMENT)
    play(learner, ENVIRONMENT, 4)
    assert learner.special_arm is None
    play(learner, ENVIRONMENT, 5)
    assert learner.special_arm in {0, 3}


# ----------------------------------------------------------------------- late, unordered, missing


@every_algorithm_at_once
def test_late_feedback_weighs_what_it_would_have_weighed_on_time(algorithm: Algorithm) -> None:
    """Each pair's feedback is measured at once in a copy, and epochs later in the learner."""
    learner = start(algorithm, ENVIRONMENT)
    out, prompt = [], []
    for first in range(0, 60, 2):
        pair = [learner.act(context) for context in CONTEXTS[first : first + 2]]
        for decision in pair:
            copy = clone(learner)
            before = cumulative(copy)
            copy.learn(decision, revealed(ENVIRONMENT, decision))
            prompt.append(cumulative(copy) - before)
        out += pair
    assert learner.pending == 60
    for i in np.random.default_rng(0).permutation(60):
        before = cumulative(learner)
        learner.learn(out[i], revealed(ENVIRONMENT, out[i]))
        late = cumulative(learner) - before
        np.testing.assert_allclose(late, prompt[i], rtol=0, atol=1e-11)
    assert learner.pending == 0
    assert sum(bool(increment.any()) for increment in prompt) > 10


@every_algorithm_at_once
def test_what_is_learned_meanwhile_does_not_change_the_weight_of_late_feedback(
    algorithm: Algorithm,
) -> None:
    learner = start(algorithm, ENVIRONMENT)
    play(learner, ENVIRONMENT, 20)
    changed = 0
    for first in range(20, 60, 4):
        pair, after = CONTEXTS[first : first + 2], CONTEXTS[first + 2 : first + 4]
        waiting = [learner.act(context) for context in pair]
        prompt = clone(learner)
        increments = []
        for one in (prompt, learner):
            if one is learner:
                for context in after:
                    decision = one.act(context)
                    one.learn(decision, revealed(ENVIRONMENT, decision))
            before = cumulative(one)
            for decision in waiting:
                one.learn(decision, revealed(ENVIRONMENT, decision))
            increments.append(cumulative(one) - before)
        np.testing.assert_allclose(increments[0], increments[1], rtol=1e-9, atol=1e-9)
        changed += bool(increments[0].any())
    assert changed > 1


@every_algorithm
def test_the_order_of_late_feedback_does_not_matter(algorithm: Algorithm) -> None:
    learners = [start(algorithm, ENVIRONMENT) for _ in range(2)]
    out = [[learner.act(context) for context in CONTEXTS] for learner in learners]
    assert [d.arm for d in out[0]] == [d.arm for d in out[1]]
    for learner, decisions in zip(learners, (out[0], out[1][::-1]), strict=True):
        for decision in decisions:
            learner.learn(decision, revealed(ENVIRONMENT, decision))
    sums = [cumulative(learner) for learner in learners]
    assert np.ptp(sums[0]) > 0.1
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("algorithm", PAIRED, ids=name)
def test_feedback_in_an_open_pair_counts_when_the_pair_is_closed(algorithm: Algorithm) -> None:
    """Old feedback and the first round's own come in between the two rounds of a pair."""
    learner = start(algorithm, ENVIRONMENT)
    late = [learner.act(context) for context in CONTEXTS[:40]]
    counted = 0
    for first in range(40, 60, 2):
        old = late.pop(int(first % len(late)))
        twin = clone(learner)
        opening = learner.act(CONTEXTS[first])
        policies = [learner.policy(c) for c in range(4)]
        for decision in (old, opening):
            learner.learn(decision, revealed(ENVIRONMENT, decision))
        np.testing.assert_array_equal([learner.policy(c) for c in range(4)], policies)
        second = learner.act(CONTEXTS[first + 1])
        opening_too, second_too = twin.act(CONTEXTS[first]), twin.act(CONTEXTS[first + 1])
        assert (opening.arm, second.arm) == (opening_too.arm, second_too.arm)
        before = cumulative(twin)
        for decision in (old, opening_too):
            twin.learn(decision, revealed(ENVIRONMENT, decision))
        np.testing.assert_array_equal(cumulative(learner), cumulative(twin))
        counted += bool((cumulative(twin) != before).any())
    assert counted > 2


@every_algorithm
def test_a_learner_without_any_feedback_goes_on(algorithm: Algorithm) -> None:
    """Without losses only the pessimistic correction moves it, and that is the same everywhere."""
    learner = start(algorithm, ENVIRONMENT)
    for context in CONTEXTS:
        learner.act(context)
    policies = np.array([learner.policy(c) for c in range(4)])
    if getattr(algorithm, "crosses", True):
        np.testing.assert_allclose(policies, policies[:1].repeat(4, axis=0), rtol=0, atol=1e-15)
    state = learner.state()
    explored = state["rates"][0, 1] * state["exploration"] if "rates" in state else np.zeros(5)
    with_loops = (policies[0] - explored)[[1, 2, 4]]
    np.testing.assert_allclose(with_loops, with_loops[0], rtol=0, atol=1e-15)
    assert learner.pending == 60


@every_algorithm
def test_a_missing_round_leaves_the_others_their_weight(algorithm: Algorithm) -> None:
    whole, holed = start(algorithm, ENVIRONMENT), start(algorithm, ENVIRONMENT)
    pairs = [(whole.act(context), holed.act(context)) for context in CONTEXTS]
    missing = np.zeros((4, 5))
    for t, (decision, same) in enumerate(pairs):
        before = cumulative(whole)
        whole.learn(decision, revealed(ENVIRONMENT, decision))
        if t % 3 == 0:
            missing += cumulative(whole) - before
        else:
            holed.learn(same, revealed(ENVIRONMENT, same))
    assert missing.any()
    np.testing.assert_allclose(cumulative(holed) + missing, cumulative(whole), atol=1e-11)
    play(holed, table(asymmetric(), 80, 4, seed=1))
    assert holed.policy(0).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("algorithm", PAIRED, ids=name)
def test_the_oldest_decisions_expire(algorithm: Algorithm) -> None:
    learner = start(algorithm, ENVIRONMENT)
    learner.max_pending = 5
    decisions = [learner.act(context) for context in CONTEXTS[:30]]
    assert learner.pending == 5
    for decision in decisions[:25]:
        with pytest.raises(DecisionError, match=f"round {decision.round} .* older than the 5"):
            learner.learn(decision, revealed(ENVIRONMENT, decision))
    for decision in decisions[25:]:
        learner.learn(decision, revealed(ENVIRONMENT, decision))
    assert learner.pending == 0


@pytest.mark.parametrize("algorithm", PAIRED, ids=name)
def test_a_pair_whose_first_round_has_expired_is_closed_all_the_same(algorithm: Algorithm) -> None:
    learner, twin = start(algorithm, ENVIRONMENT), start(algorithm, ENVIRONMENT)
    learner.max_pending = 1
    for context in CONTEXTS:
        learner.act(context)
    for context in CONTEXTS:
        twin.act(context)
    assert_same_state(learner, twin)


# --------------------------------------------------------------------------------- bad feedback

# One of each kind, with rates that move.
BY_HAND = [algorithm for algorithm in ALGORITHMS if algorithm != type(algorithm)()]

Mistake = Callable[[Learner, Decision, Any], None]


def _other(learner: Learner, decision: Decision, rows: Any) -> None:
    stranger = learner.algorithm.start(learner.problem, seed=0)
    learner.learn(stranger.act(decision.context), rows)


def _twice(learner: Learner, decision: Decision, rows: Any) -> None:
    copy = clone(learner)
    copy.learn(decision, rows)
    copy.learn(decision, rows)


def _unrevealed(learner: Learner, decision: Decision, rows: Any) -> None:
    hidden = min(set(range(6)) - set(decision.revealed))
    losses = dict(zip(decision.revealed, rows, strict=True))
    learner.learn(decision, {**losses, hidden: rows[0]})


def _unsaid(learner: Learner, decision: Decision, rows: Any) -> None:
    learner.learn(decision, dict(zip(list(decision.revealed)[1:], rows[1:], strict=True)))


def _changed(rows: Any, value: float) -> Any:
    rows = rows.copy()
    rows[-1, 2] = value
    return rows


MISTAKES: dict[str, tuple[type[CrossbanditError], str, Mistake]] = {
    "another learner's": (DecisionError, "made by another learner", _other),
    "twice": (DecisionError, "learned from before", _twice),
    "no decision": (
        DecisionError,
        "takes the Decision that act returned, or its token. Got 3",
        lambda learner, _, rows: learner.learn(3, rows),  # type: ignore[arg-type]
    ),
    "a tuple": (
        DecisionError,
        "takes the Decision that act returned",
        lambda learner, d, rows: learner.learn((d.round, d.arm), rows),  # type: ignore[arg-type]
    ),
    "another arm": (
        DecisionError,
        "played arm . in context",
        lambda learner, d, rows: learner.learn(d._replace(arm=(d.arm + 1) % 5), rows),
    ),
    "another context": (
        DecisionError,
        "played arm . in context",
        lambda learner, d, rows: learner.learn(d._replace(context=9), rows),
    ),
    "a context of another kind": (
        DecisionError,
        "played arm . in context",
        lambda learner, d, rows: learner.learn(d._replace(context=np.zeros(2)), rows),
    ),
    "a round to come": (
        DecisionError,
        "round 1000",
        lambda learner, d, rows: learner.learn(d._replace(round=1000), rows),
    ),
    "no learner at all": (
        DecisionError,
        r"learner.*\[1\]",
        lambda learner, d, rows: learner.learn(d._replace(learner=[1]), rows),
    ),
    "no round at all": (
        DecisionError,
        "round",
        lambda learner, d, rows: learner.learn(d._replace(round=[0]), rows),
    ),
    "fewer revealed arms": (
        DecisionError,
        "reveals",
        lambda learner, d, _: learner.learn(d._replace(revealed=()), np.zeros((0, 4))),
    ),
    "other revealed arms": (
        DecisionError,
        "reveals",
        lambda learner, d, rows: learner.learn(d._replace(revealed=[7] * len(rows)), rows),
    ),
    "an arm that was not revealed": (InvalidLossesError, "does not reveal arm", _unrevealed),
    "an arm without losses": (InvalidLossesError, "Got no losses for it", _unsaid),
    "a missing context": (
        InvalidLossesError,
        r"must have shape \(., 4\).*Got shape \(., 3\)",
        lambda learner, d, rows: learner.learn(d, rows[:, :-1]),
    ),
    "a context too many": (
        InvalidLossesError,
        r"must have shape \(., 4\).*Got shape \(., 5\)",
        lambda learner, d, rows: learner.learn(d, np.hstack([rows, rows[:, :1]])),
    ),
    "a missing arm": (
        InvalidLossesError,
        r"must have shape \(., 4\).*Got shape \(., 4\)",
        lambda learner, d, rows: learner.learn(d, rows[:-1]),
    ),
    "the other way round": (
        InvalidLossesError,
        r"must have shape \(., 4\).*Got shape",
        lambda learner, d, rows: learner.learn(d, np.ones((4, 7))),  # noqa: ARG005
    ),
    "one number": (
        InvalidLossesError,
        r"must have shape \(., 4\).*Got shape \(\)",
        lambda learner, d, _: learner.learn(d, 0.5),
    ),
    "nothing": (
        InvalidLossesError,
        r"must be an array of numbers of shape \(., 4\). Got None",
        lambda learner, d, _: learner.learn(d, None),  # type: ignore[arg-type]
    ),
    "numbers in quotes": (
        InvalidLossesError,
        r"array of numbers of shape \(., 4\). Got .*'0.5'",
        lambda learner, d, rows: learner.learn(d, [["0.5"] * 4] * len(rows)),
    ),
    "complex numbers": (
        InvalidLossesError,
        r"array of numbers of shape \(., 4\). Got ",
        lambda learner, d, rows: learner.learn(d, rows + 0.1j),
    ),
    "losses under a mask": (
        InvalidLossesError,
        r"array of numbers of shape \(., 4\). Got ",
        lambda learner, d, rows: learner.learn(d, np.ma.masked_less(rows, 2.0)),
    ),
    "words": (
        InvalidLossesError,
        r"array of numbers of shape \(., 4\). Got 'good'",
        lambda learner, d, _: learner.learn(d, "good"),
    ),
    "ragged": (
        InvalidLossesError,
        r"array of numbers of shape \(., 4\). Got",
        lambda learner, d, _: learner.learn(d, [[1.0], [1.0, 2.0]]),
    ),
    "NaN": (
        InvalidLossesError,
        "from 0 to 1. Got nan for arm . in context 2",
        lambda learner, d, rows: learner.learn(d, _changed(rows, np.nan)),
    ),
    "infinite": (
        InvalidLossesError,
        "from 0 to 1. Got inf for arm . in context 2",
        lambda learner, d, rows: learner.learn(d, _changed(rows, np.inf)),
    ),
    "below 0": (
        InvalidLossesError,
        "from 0 to 1. Got -0.001 for arm . in context 2",
        lambda learner, d, rows: learner.learn(d, _changed(rows, -0.001)),
    ),
    "above 1": (
        InvalidLossesError,
        "from 0 to 1. Got 1.001 for arm . in context 2",
        lambda learner, d, rows: learner.learn(d, _changed(rows, 1.001)),
    ),
}


@pytest.mark.parametrize("algorithm", BY_HAND, ids=name)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_bad_feedback_is_refused_and_leaves_the_learner_unharmed(
    mistake: str, algorithm: Algorithm
) -> None:
    error, message, make = MISTAKES[mistake]
    learner, twin = start(algorithm, ENVIRONMENT), start(algorithm, ENVIRONMENT)
    for context in CONTEXTS[:31]:
        decision, same = learner.act(context), twin.act(context)
        assert decision.arm == same.arm
        rows = revealed(ENVIRONMENT, decision)
        with pytest.raises(error, match=message):
            make(learner, decision, rows)
        assert learner.pending == 1
        learner.learn(decision, rows)
        twin.learn(same, rows)
    assert_same_state(learner, twin)


@every_algorithm
@pytest.mark.parametrize("context", [-1, 4, 1.0, True, "0", None, [0], np.array([0, 1])])
def test_an_unknown_context_is_refused_and_costs_nothing(
    algorithm: Algorithm, context: Any
) -> None:
    learner, twin = start(algorithm, ENVIRONMENT), start(algorithm, ENVIRONMENT)
    play(learner, ENVIRONMENT, 11)
    play(twin, ENVIRONMENT, 11)
    for ask in (learner.act, learner.policy):
        with pytest.raises(InvalidContextError, match=r"'context'.*from 0 to 3. Got"):
            ask(context)
    assert_same_state(learner, twin)
    assert learner.pending == 0


def test_a_decision_survives_serialisation() -> None:
    learner, twin = start(CrossGraph(), ENVIRONMENT), start(CrossGraph(), ENVIRONMENT)
    for context in CONTEXTS:
        data = json.loads(json.dumps(learner.act(context).to_json()))
        decision, same = Decision.from_json(data), twin.act(context)
        rows = revealed(ENVIRONMENT, same)
        learner.learn(decision, rows)
        twin.learn(same, rows)
    assert_same_state(learner, twin)


@pytest.mark.parametrize("graph", [asymmetric(), graphs.threshold(5), graphs.apple_tasting()])
@pytest.mark.parametrize("features", [None, 2])
def test_a_decision_is_the_same_after_a_round_trip(
    graph: FeedbackGraph, features: int | None
) -> None:
    problem = Problem(graph, contexts=None if features else 3, features=features)
    learner = CrossGraphAdaptive().start(problem, seed=0)
    for _ in range(20):
        decision = learner.act((1.0, 0.5) if features else 2)
        again = Decision.from_json(json.loads(json.dumps(decision.to_json())))
        assert again == decision
        assert hash(again) == hash(decision)


def test_another_list_of_revealed_arms_is_not_made_to_fit() -> None:
    learner = CrossGraphAdaptive().start(Problem(graphs.complete(3), contexts=1), seed=0)
    data = learner.act(0).to_json()
    assert data["revealed"] == [0, 1, 2]
    with pytest.raises(DecisionError, match=r"which reveals \(0, 5, 2\)"):
        learner.expects(Decision.from_json({**data, "revealed": [0, 5, 2]}))


@every_algorithm
def test_a_learner_expects_what_learn_would_take(algorithm: Algorithm) -> None:
    learner, other = start(algorithm, ENVIRONMENT), start(algorithm, ENVIRONMENT)
    decision, foreign = learner.act(0), other.act(0)
    learner.expects(decision)
    learner.expects(decision)
    wrong: list[Any] = [foreign, decision._replace(arm=99), None]
    for each in wrong:
        with pytest.raises(DecisionError):
            learner.expects(each)
    learner.learn(decision, revealed(ENVIRONMENT, decision))
    with pytest.raises(DecisionError, match="learned from before"):
        learner.expects(decision)


# -------------------------------------------------------------------------------- the two forms

RNG = np.random.default_rng(5)
FEATURES = np.stack([np.ones(4), RNG.random(4)], axis=1)
COEFFICIENTS = RNG.random((60, 5, 2)) * 0.5
LAW = [0.4, 0.3, 0.2, 0.1]
LINEAR = from_coefficients(COEFFICIENTS, asymmetric(), FEATURES, LAW)
DENSE = from_table((COEFFICIENTS @ FEATURES.T).transpose(0, 2, 1), asymmetric(), LAW)


@every_algorithm
def test_dense_and_linear_losses_give_the_same_arms(algorithm: Algorithm) -> None:
    dense, linear = (simulate(algorithm, e, seed=3) for e in (DENSE, LINEAR))
    np.testing.assert_array_equal(dense.contexts, linear.contexts)
    np.testing.assert_array_equal(dense.arms, linear.arms)
    np.testing.assert_allclose(dense.losses, linear.losses, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(dense.comparator_arms, linear.comparator_arms)
    np.testing.assert_allclose(dense.regret, linear.regret, rtol=0, atol=1e-12)


def test_contexts_that_cannot_occur_may_stand_anywhere() -> None:
    rows, nu = np.random.default_rng(2).random((40, 5, 3)), np.array([0.0, 0.7, 0.3])
    played, policies = [], []
    for order in ([0, 1, 2], [1, 2, 0]):
        problem = Problem(asymmetric(), contexts=3, horizon=40, context_distribution=nu[order])
        learner = CrossGraphKnown(eta=0.5).start(problem, seed=1)
        for t in range(40):
            decision = learner.act(order.index(1 + t % 2))
            learner.learn(decision, rows[t][list(decision.revealed)][:, order])
            played.append(decision.arm)
        policies.append(learner.policy(order.index(2)))
    assert played[:40] == played[40:]
    np.testing.assert_allclose(policies[0], policies[1], rtol=1e-12)


@every_algorithm
def test_every_arm_is_read_with_its_own_features(algorithm: Algorithm) -> None:
    features = np.random.default_rng(8).random((len(FEATURES), *COEFFICIENTS.shape[1:])) / 2
    losses = np.einsum("taf,caf->tca", COEFFICIENTS, features)
    linear = from_coefficients(COEFFICIENTS, asymmetric(), features, LAW)
    dense = from_table(losses, asymmetric(), LAW)
    for compiled in (True, False):
        one, other = (simulate(algorithm, e, seed=3, compiled=compiled) for e in (dense, linear))
        np.testing.assert_array_equal(one.arms, other.arms)
        np.testing.assert_allclose(one.losses, other.losses, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(one.comparator_arms, other.comparator_arms)


@pytest.mark.parametrize("algorithm", PAIRED, ids=name)
def test_feature_vectors_are_read_like_the_rows_of_a_table(algorithm: Algorithm) -> None:
    by_number = algorithm.start(LINEAR.problem, seed=1)
    by_vector = algorithm.start(Problem(asymmetric(), features=2, horizon=60), seed=1)
    for context in contexts_of(LINEAR):
        vector = FEATURES[context]
        np.testing.assert_array_equal(by_number.policy(context), by_vector.policy(vector))
        decision, same = by_number.act(context), by_vector.act(vector)
        assert decision.arm == same.arm
        assert same.context == tuple(vector)
        rows = revealed(LINEAR, decision)
        by_number.learn(decision, rows)
        by_vector.learn(same, rows)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -0.6, 1.1])
def test_linear_losses_are_checked_at_the_decisions_context(value: float) -> None:
    learner = CrossGraph().start(Problem(asymmetric(), features=2, horizon=60), seed=1)
    twin = CrossGraph().start(Problem(asymmetric(), features=2, horizon=60), seed=1)
    for _ in range(30):
        decision, same = learner.act([1.0, 0.0]), twin.act([1.0, 0.0])
        rows = np.full((len(decision.revealed), 2), 0.4)
        bad = rows.copy()
        bad[0] = value
        with pytest.raises(InvalidLossesError, match=r"'losses'.*from 0 to 1.*Got"):
            learner.learn(decision, bad)
        learner.learn(decision, rows)
        twin.learn(same, rows)
    assert_same_state(learner, twin)


@pytest.mark.parametrize("vector", [[1.0], [1.0, 2.0, 3.0], [1.0, np.nan], 3, "ab", None, [[1, 2]]])
def test_a_bad_feature_vector_is_refused(vector: Any) -> None:
    learner = CrossGraph().start(Problem(asymmetric(), features=2, horizon=60), seed=1)
    with pytest.raises(InvalidContextError, match=r"'context'.*a vector of 2 finite numbers. Got"):
        learner.act(vector)
    assert learner.round == 0


# --------------------------------------------------------------------------------- algorithms


def test_every_algorithm_is_registered() -> None:
    paper = {
        "cross-graph",
        "cross-graph-known",
        "schneider-zimmert",
        "per-context-graph",
        "per-context-exp3",
    }
    ids = paper | {"cross-graph-adaptive"}
    assert ids <= registered().keys()


@every_algorithm
def test_an_algorithm_is_a_value(algorithm: Algorithm) -> None:
    again = from_json(json.loads(json.dumps(algorithm.to_json())))
    assert again == algorithm
    assert hash(again) == hash(algorithm)
    assert len({*ALGORITHMS, again}) == len(ALGORITHMS)
    with pytest.raises(AttributeError, match="cannot assign"):
        algorithm.eta = 1.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"id": "crossgraph"}, "no algorithm 'crossgraph'.*Did you mean 'cross-graph'"),
        ({"id": ["cross-graph"]}, "no algorithm"),
        ({}, "no algorithm None"),
        ({"id": "cross-graph", "etha": 1}, "no parameter 'etha'. It has: eta, gamma"),
        ({"id": "cross-graph", "eta": -1}, "'eta' parameter of CrossGraph"),
    ],
)
def test_a_bad_json_form_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        from_json(data)


def test_the_known_law_is_needed() -> None:
    problem = Problem(graphs.complete(3), contexts=2, horizon=10)
    with pytest.raises(InvalidParameterError, match="context_distribution"):
        CrossGraphKnown().start(problem, seed=0)


def test_a_learner_per_context_needs_a_list_of_contexts() -> None:
    problem = Problem(graphs.complete(3), features=2, horizon=10)
    for algorithm in (PerContextExp3(eta=0.1), CrossGraphKnown()):
        with pytest.raises(InvalidParameterError, match=r"features=table|context_sample="):
            algorithm.start(problem, seed=0)
    with pytest.raises(InvalidParameterError, match=r"'context_distribution'.*context_sample"):
        problem.with_distribution([1.0])


@pytest.mark.parametrize("nothing", [[], {}, np.empty((0, 3))], ids=["list", "mapping", "array"])
def test_an_arm_that_reveals_nothing_is_learned_from_with_nothing(nothing: Any) -> None:
    problem = Problem(graphs.apple_tasting(), contexts=3, horizon=100)
    learner = CrossGraph().start(problem, seed=1)
    blind = next(d for d in iter(lambda: learner.act(0), None) if not d.revealed)
    learner.learn(blind, nothing)
    with pytest.raises(DecisionError):
        learner.learn(blind, nothing)


@pytest.mark.parametrize("data", [None, "text", {}, {"round": 1}, {"more": 1}])
def test_only_what_was_written_comes_back_as_a_decision(data: Any) -> None:
    decision = start(CrossGraph(), ENVIRONMENT).act(0)
    assert Decision.from_json(decision.to_json()) == decision
    if data == {"more": 1}:
        data = {**decision.to_json(), **data}
    with pytest.raises(InvalidParameterError, match=r"'data' parameter of Decision.from_json"):
        Decision.from_json(data)


@pytest.mark.parametrize("number", [-1, None, "a", 1.5, True])
def test_a_number_of_pending_decisions_must_be_one(number: Any) -> None:
    learner = start(CrossGraph(), ENVIRONMENT)
    with pytest.raises(InvalidParameterError, match="'max_pending' parameter of Learner"):
        learner.max_pending = number
    assert learner.max_pending == 100_000
