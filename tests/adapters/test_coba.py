"""Learners and environments in coba's own experiments play as they do here."""

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from coba import BanditUCBLearner, CobaContext, Environments, Experiment, RandomLearner
from coba.context import NullLogger
from coba.environments import Batch, Noise
from coba.evaluators import SequentialCB
from coba.learners import LinUCBLearner
from coba.safety import SafeLearner

from crossbandit import CrossGraph, CrossGraphAdaptive, PerContextExp3, Problem, graphs, simulate
from crossbandit.adapters.coba import CobaEnvironment, CobaLearner, RevealedReward
from crossbandit.algorithms import Algorithm, TsN
from crossbandit.environments import (
    Environment,
    congestion,
    cycling_graphs,
    first_price,
    first_price_budget,
    paper_benchmark,
    sleeping,
)
from crossbandit.errors import (
    DecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)

ROUNDS = 200


def played(world: Any, learner: Any) -> list[dict[str, Any]]:
    """Return what coba's evaluator records: an entry a round."""
    return list(SequentialCB().evaluate(world, learner))


ADAPTIVE = CrossGraphAdaptive()
WORLDS: dict[str, Environment] = {
    "numbered contexts": paper_benchmark(ROUNDS, alpha=4, contexts=7),
    "feature vectors and money": first_price(ROUNDS, bids=6),
    "arms that are not always available": sleeping(graphs.ring(5, 1), ROUNDS),
}


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        *((name, algorithm) for name in WORLDS for algorithm in (CrossGraph(), ADAPTIVE)),
        ("numbered contexts", PerContextExp3()),
        ("arms that are not always available", PerContextExp3()),
    ],
)
def test_a_learner_in_coba_plays_the_same_arms_as_in_simulate(
    name: str, algorithm: Algorithm
) -> None:
    world = WORLDS[name]
    run = simulate(algorithm, world, seed=3, show_progress=False)
    there = CobaEnvironment(world, seed=3)
    record = played(there, CobaLearner(algorithm, there.problem, seed=3))
    assert [one["action"].index(1) for one in record] == run.arms.tolist()
    rules = getattr(world, "rules", None)
    rewards = 1 - run.losses if rules is None else rules.earned(run.losses)
    np.testing.assert_allclose([one["reward"] for one in record], rewards, rtol=0, atol=1e-12)


def test_probabilities_and_scores_are_those_of_the_policy() -> None:
    there = CobaEnvironment(WORLDS["arms that are not always available"], seed=3)
    learner = CobaLearner(ADAPTIVE, there.problem, seed=3)
    for one in list(there.read())[:20]:
        scores = [learner.score(one["context"], one["actions"], a) for a in one["actions"]]
        action, probability, extra = learner.predict(one["context"], one["actions"])
        assert sum(scores) == pytest.approx(1.0)
        assert probability == pytest.approx(scores[one["actions"].index(action)])
        learner.learn(one["context"], action, one["rewards"](action), probability, **extra)
    assert SafeLearner(learner).has_score


def test_an_unknown_probability_is_left_out() -> None:
    there = CobaEnvironment(WORLDS["numbered contexts"], seed=3)
    learner = CobaLearner(TsN(), there.problem, seed=3)
    first = next(iter(there.read()))
    assert learner.predict(first["context"], first["actions"])[1] is None


def test_an_experiment_compares_learners_of_both_packages(tmp_path: Any) -> None:
    CobaContext.logger = NullLogger()
    there = CobaEnvironment(WORLDS["numbered contexts"], seed=3)
    learners = [
        CobaLearner(CrossGraph(), there.problem, seed=3),
        CobaLearner(),
        BanditUCBLearner(),
        LinUCBLearner(),
        RandomLearner(),
    ]
    result = Experiment([there], learners).run(str(tmp_path / "coba.log"), quiet=True)
    assert len(result.interactions) == len(learners) * ROUNDS
    families = list(result.learners["family"])
    assert families[:2] == ["cross-graph", "cross-graph-adaptive"]
    assert list(result.environments["arms"]) == [9]


def test_reading_again_gives_the_same_rounds() -> None:
    there = CobaEnvironment(WORLDS["numbered contexts"], seed=3)
    first, second = list(there.read()), list(there.read())
    assert [one["context"] for one in first] == [one["context"] for one in second]
    assert len({one["context"] for one in first}) == 7
    sent = pickle.loads(pickle.dumps(there))  # noqa: S301 - coba sends environments to processes
    assert [one["context"] for one in sent.read()] == [one["context"] for one in first]
    other = [one["context"] for one in CobaEnvironment(there.environment, seed=4).read()]
    assert other != [one["context"] for one in first]


def test_a_reward_reveals_what_the_graph_reveals_and_no_more() -> None:
    """On a ring of radius 1, arm 2 of 5 reveals arms 2 and 3."""
    world = sleeping(graphs.ring(5, 1), 4)
    one = next(iter(CobaEnvironment(world, seed=1).read()))
    reward = one["rewards"]((0, 0, 1, 0, 0))
    assert sorted(reward.losses) == [2, 3]
    np.testing.assert_array_equal(reward.losses[3], world.losses(0)[3])
    assert json.loads(json.dumps(reward)) == float(reward)
    back = pickle.loads(pickle.dumps(reward))  # noqa: S301
    assert back == reward
    assert sorted(back.losses) == [2, 3]
    assert type(reward + 0) is float


def test_feedback_of_a_batch_comes_late_and_is_right() -> None:
    """In a batch all actions are chosen first. A learner by hand does the same."""
    world = WORLDS["numbered contexts"]
    there = CobaEnvironment(world, seed=3)
    record = played(Environments(there).filter(Batch(4))[0], CobaLearner(ADAPTIVE, there.problem))
    learner = CrossGraphAdaptive().start(world.problem, seed=0)
    arms = []
    rounds = list(there.read())
    for start in range(0, ROUNDS, 4):
        decisions = [learner.act(one["context"].as_int) for one in rounds[start : start + 4]]
        for i, decision in enumerate(decisions):
            learner.learn(decision, world.losses(start + i)[list(decision.revealed)])
            arms.append(decision.arm)
    assert [one["action"].index(1) for one in record] == arms


# ------------------------------------------------------------------------- coba's environments


def better_by_context(rounds: int = 600) -> Any:
    """Return an environment of coba: in context "a" the first action pays 2, else the second."""
    return Environments.from_lambda(
        rounds,
        lambda i: ["a", "b"][i % 2],
        lambda _i, _c: ["left", "right"],
        lambda _i, c, a: 2.0 if (a == "left") == (c == "a") else -1.0,
    )[0]


def test_a_learner_learns_in_each_context_of_coba() -> None:
    record = played(better_by_context(), CobaLearner(reward_range=(-1, 2), seed=1))
    assert np.mean([one["reward"] for one in record[-200:]]) > 1.7
    assert played(better_by_context(), CobaLearner(reward_range=(-1, 2), seed=1)) == record


def test_separate_learners_are_learners_of_one_context() -> None:
    """Rewards from -1 to 2 become losses from 1 to 0; each context has a stream of its own."""
    record = played(better_by_context(80), CobaLearner(reward_range=(-1, 2), seed=5))
    for number in (0, 1):
        problem = Problem(graphs.singletons(2), contexts=1)
        seed = np.random.SeedSequence(5, spawn_key=(number,))
        learner = CrossGraphAdaptive().start(problem, seed=seed)
        for one in record[number::2]:
            decision = learner.act(0)
            assert one["action"] == ["left", "right"][decision.arm]
            learner.learn(decision, [[0.0 if decision.arm == number else 1.0]])


def test_some_of_the_actions_may_be_offered_in_any_order() -> None:
    learner = CobaLearner(seed=1)
    learner.predict(None, ["a", "b", "c"])
    for i in range(200):
        offered = ["c", "a"] if i % 2 else ["a", "c"]
        action, probability, extra = learner.predict(None, offered)
        assert action in {"a", "c"}
        learner.learn(None, action, float(action == "a"), probability, **extra)
    assert learner.score(None, ["c", "a"], "a") > 0.9
    assert learner.score(None, ["a", "c"], "a") > 0.9
    with pytest.raises(InvalidContextError, match=r"some of the 3 actions.*another action, 'd'"):
        learner.predict(None, ["a", "d"])
    with pytest.raises(InvalidContextError, match="different actions"):
        learner.predict(None, ["a", "a"])


def test_contexts_of_every_form_are_told_apart() -> None:
    learner = CobaLearner(seed=1, max_contexts=4)
    for context in (None, 1.0, [1, 2], {"x": [1]}, (1, 2), {"x": (1,)}):
        learner.predict(context, [[0, 1], [1, 0]])
    with pytest.raises(InvalidContextError, match=r"more than 4 different.*'max_contexts'"):
        learner.predict("another", [[0, 1], [1, 0]])
    with pytest.raises(InvalidContextError, match="made of numbers"):
        CobaLearner().predict({1, 2}, ["a", "b"])


def test_a_copy_before_the_first_round_is_possible() -> None:
    learner = copy.deepcopy(CobaLearner(CrossGraph(), paper_benchmark(100, alpha=4).problem))
    assert pickle.loads(pickle.dumps(learner)).params == learner.params  # noqa: S301


# -------------------------------------------------------------------------------------- errors


def test_a_reward_without_losses_is_an_error() -> None:
    there = CobaEnvironment(WORLDS["numbered contexts"], seed=3)
    noisy = Environments(there).filter(Noise(reward=lambda x, _: x + 0.1))[0]
    with pytest.raises(InvalidLossesError, match=r"needs rewards of a CobaEnvironment"):
        played(noisy, CobaLearner(CrossGraph(), there.problem))


def test_logged_actions_are_an_error() -> None:
    with pytest.raises(DecisionError, match="learn='on'"):
        CobaLearner().learn(None, "a", 1.0, 0.5)


def test_contexts_and_actions_of_another_environment_are_errors() -> None:
    problem = WORLDS["numbered contexts"].problem
    arms = [tuple(int(a == b) for b in range(9)) for a in range(9)]
    with pytest.raises(InvalidContextError, match="one of the 7 contexts"):
        CobaLearner(problem=problem).predict(3, arms)
    with pytest.raises(InvalidContextError, match="one-hot tuples of length 9"):
        CobaLearner(problem=problem).predict((1, 0, 0, 0, 0, 0, 0), ["a", "b"])
    with pytest.raises(InvalidContextError, match="one-hot"):
        CobaLearner(problem=problem).predict((1, 0, 0, 0, 0, 0, 0), [])


@pytest.mark.parametrize("reward", [1.5, -0.1, float("nan"), "much", None])
def test_a_reward_out_of_its_range_is_an_error(reward: Any) -> None:
    learner = CobaLearner(seed=1)
    _, _, extra = learner.predict(None, ["a", "b"])
    with pytest.raises(InvalidLossesError, match=r"number from 0 to 1\..*'reward_range'"):
        learner.learn(None, "a", reward, 0.5, **extra)
    learner.learn(None, "a", 1.0, 0.5, **extra)  # nothing has changed


def test_a_horizon_is_asked_for_where_it_is_needed() -> None:
    with pytest.raises(InvalidParameterError, match=r"CrossGraph needs a horizon\. Give CobaLear"):
        CobaLearner(CrossGraph()).predict(None, ["a", "b"])
    CobaLearner(CrossGraph(), horizon=100).predict(None, ["a", "b"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"algorithm": "exp3"}, "'algorithm' parameter of CobaLearner"),
        ({"problem": 3}, "'problem' parameter of CobaLearner"),
        ({"reward_range": 1}, "the least and the greatest reward"),
        ({"reward_range": (1, 1)}, "a lower and a higher number"),
        ({"reward_range": (0, "x")}, "'reward_range' parameter"),
        ({"horizon": 0}, "'horizon' parameter"),
        ({"max_contexts": 0}, "'max_contexts' parameter"),
        ({"seed": -1}, "'seed' parameter"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CobaLearner(**parameters)


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (3, "an Environment"),
        (first_price_budget(50, bids=5), "Got one with limits"),
        (cycling_graphs(paper_benchmark(50, alpha=4), [graphs.complete(9)]), "whose graph changes"),
        (congestion(graphs.complete(3), 50), "Got an adaptive one"),
    ],
)
def test_environments_that_do_not_fit_are_refused(world: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CobaEnvironment(world)


def test_a_revealed_reward_is_a_number() -> None:
    reward = RevealedReward(0.25, {1: np.array([0.75])})
    assert reward == 0.25
    assert isinstance(reward, float)
