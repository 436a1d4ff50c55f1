"""Policies work in River's own evaluations, and refuse what River cannot tell them."""

import random
from typing import Any

import gymnasium
import numpy as np
import pytest
from river import bandit, stats

from crossbandit import CrossGraphAdaptive, PerContextExp3, Problem, graphs
from crossbandit.adapters.river import RiverContextualPolicy, RiverPolicy
from crossbandit.errors import (
    DecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)


class TwoArms(gymnasium.Env[Any, Any]):
    """Arm 1 pays 1, arm 0 pays 0; an episode has 150 steps."""

    observation_space = gymnasium.spaces.Discrete(1)
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0

    def reset(self, **_: Any) -> tuple[int, dict[str, Any]]:
        self.steps = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return 0, float(action), self.steps >= 150, False, {}


def test_rivers_evaluation_plays_it() -> None:
    """Each episode begins with a fresh copy, so that all have the same arms here."""
    policies = [RiverPolicy(PerContextExp3(), horizon=150, seed=1), bandit.RandomPolicy(seed=1)]
    trace = list(bandit.evaluate(policies, TwoArms(), n_episodes=2, seed=1))
    arms = {
        (episode, policy): [
            one["arm"] for one in trace if (one["episode"], one["policy_idx"]) == (episode, policy)
        ]
        for episode in (0, 1)
        for policy in (0, 1)
    }
    assert sum(arms[0, 0]) > 105  # a uniform draw exceeds this with probability 1e-7
    assert arms[0, 0] == arms[1, 0]
    assert policies[0].ranking == []  # the policy itself has not played


def test_a_policy_is_a_learner_with_one_context() -> None:
    policy = RiverPolicy(reward_range=(0, 4), seed=7)
    problem = Problem(graphs.singletons(3), contexts=1)
    learner = CrossGraphAdaptive().start(problem, seed=np.random.SeedSequence(7, spawn_key=(0,)))
    rewards = {"a": 4.0, "b": 1.0, "c": 0.0}
    for _ in range(60):
        arm = policy.pull(["a", "b", "c"])
        decision = learner.act(0)
        assert arm == "abc"[decision.arm]
        policy.update(arm, rewards[arm])
        learner.learn(decision, [[1 - rewards[arm] / 4]])
    assert policy.ranking == ["a", "b", "c"]
    assert "Arm ID" in repr(policy)


def test_replay_on_a_log_may_leave_pulls_without_update() -> None:
    """The log draws arms uniformly: the policy is updated where it draws the same arm."""
    rng = random.Random(1)  # noqa: S311
    draws = [rng.choice("ab") for _ in range(2000)]
    history = [(["a", "b"], {"day": i % 2}, arm, arm == "ab"[i % 2]) for i, arm in enumerate(draws)]
    policy = RiverContextualPolicy(seed=1)
    reward, used = bandit.evaluate_offline(policy, history)
    assert 900 < used < 1100
    assert reward.get() > 0.8 * used
    assert policy.pull(["a", "b"], context={"day": 0}) in {"a", "b"}


def test_clones_have_the_same_parameters_and_know_nothing() -> None:
    policy = RiverContextualPolicy(
        PerContextExp3(eta=0.5), (0, 2), 10, 5, reward_obj=stats.Sum(), seed=3
    )
    arms = []
    for one in (policy, policy.clone()):
        assert (one.algorithm, one.reward_range) == (PerContextExp3(eta=0.5), (0.0, 2.0))
        assert (one.horizon, one.max_contexts, one.seed) == (10, 5, 3)
        drawn = []
        for _ in range(30):
            drawn.append(one.pull([1, 2], context={"x": 1}))
            one.update(drawn[-1], {"x": 1}, 1.5)
        arms.append(drawn)
    assert arms[0] == arms[1]


@pytest.mark.parametrize("contextual", [False, True])
def test_an_update_must_follow_its_pull(contextual: bool) -> None:
    policy: Any = RiverContextualPolicy(seed=1) if contextual else RiverPolicy(seed=1)
    context: tuple[Any, ...] = ({"x": 1},) if contextual else ()
    with pytest.raises(DecisionError, match="is of nothing"):
        policy.update("a", *context, 1.0)
    arm = policy.pull(["a", "b"], *context)
    other = "b" if arm == "a" else "a"
    with pytest.raises(
        DecisionError, match=f"for arm '{other}', but the last .* is of arm '{arm}'"
    ):
        policy.update(other, *context, 1.0)
    if contextual:
        with pytest.raises(DecisionError, match="in the same context"):
            policy.update(arm, {"x": 2}, 1.0)
    with pytest.raises(DecisionError, match=r"one reward\. Got 2"):
        policy.update(arm, *context, 1.0, 0.0)
    with pytest.raises(InvalidLossesError, match=r"from 0 to 1\. Got 3"):
        policy.update(arm, *context, 3)
    assert policy.ranking == []  # nothing has changed
    policy.update(arm, *context, 1.0)
    with pytest.raises(DecisionError, match="follow its pull directly"):
        policy.update(arm, *context, 1.0)


def test_too_many_contexts_are_an_error() -> None:
    policy = RiverContextualPolicy(max_contexts=2, seed=1)
    for x in (1, 2, 1):
        policy.pull(["a", "b"], context={"x": x})
    with pytest.raises(InvalidContextError, match="RiverContextualPolicy learns in each context"):
        policy.pull(["a", "b"], context={"x": 3})


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidParameterError, match="'reward_range' parameter of RiverPolicy"):
        RiverPolicy(reward_range=(1, 0))
    with pytest.raises(InvalidParameterError, match="'max_contexts' parameter of RiverContextual"):
        RiverContextualPolicy(max_contexts=0)
