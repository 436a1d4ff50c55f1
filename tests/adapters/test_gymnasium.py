"""Gymnasium environments pass its checker, and give a learner what it needs."""

import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from crossbandit import CrossGraphAdaptive, Problem, graphs, simulate
from crossbandit.adapters.gymnasium import ENVIRONMENTS, BanditEnv
from crossbandit.core.streams import stream
from crossbandit.core.types import Floats
from crossbandit.environments import FiniteContexts
from crossbandit.errors import InvalidParameterError

every_id = pytest.mark.parametrize("id_", ENVIRONMENTS)


def make_env(id_: str, **parameters: Any) -> BanditEnv:
    """Return an environment without wrappers."""
    env = gymnasium.make(id_, **parameters).unwrapped
    assert isinstance(env, BanditEnv)
    return env


@every_id
def test_the_checker_of_gymnasium_passes(id_: str) -> None:
    env = make_env(id_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    assert env.unwrapped is env


@every_id
def test_a_learner_plays_it_as_a_simulation_does(id_: str) -> None:
    """With `info` alone it plays the same arms; rewards are losses, or money if there is any."""
    env = make_env(id_, horizon=300)
    run = simulate(CrossGraphAdaptive(), env.environment, seed=1, show_progress=False)
    learner = CrossGraphAdaptive().start(env.environment.problem, seed=1)
    env.np_random = stream(1, "contexts")
    _, info = env.reset()
    arms, rewards, over = [], [], False
    while not over:
        decision = learner.act(info["context"], info["action_mask"].astype(bool))
        _, reward, ended, over, info = env.step(np.int64(decision.arm))
        shown = list(decision.revealed)
        assert np.flatnonzero(info["revealed"]).tolist() == shown
        assert np.isinf(np.delete(info["losses"], shown, axis=0)).all()
        learner.learn(decision, info["losses"][shown])
        arms.append(decision.arm)
        rewards.append(reward)
        assert not ended
    np.testing.assert_array_equal(arms, run.arms)
    rules = getattr(env.environment, "rules", None)
    expected = -run.losses if rules is None else rules.earned(run.losses)
    np.testing.assert_allclose(rewards, expected, rtol=0, atol=1e-12)


@every_id
def test_contexts_depend_on_the_seed_of_reset(id_: str) -> None:
    env = make_env(id_, horizon=50)
    episodes = []
    for seed in (3, 3, 4):
        seen = [env.reset(seed=seed)[0]]
        seen += [env.step(np.int64(1))[0] for _ in range(49)]
        episodes.append(np.array(seen))
        assert all(env.observation_space.contains(context) for context in seen)
    np.testing.assert_array_equal(episodes[0], episodes[1])
    assert (episodes[0] != episodes[2]).any()


def test_observations_are_contexts_without_what_never_changes() -> None:
    newsvendor = make_env("crossbandit/Newsvendor-v0", price_range=(2, 5), cost_range=(1, 1))
    assert newsvendor.observation_space == spaces.Box(2.0, 5.0, (1,), np.float64)
    observation, info = newsvendor.reset(seed=0)
    assert info["context"].tolist() == [1.0, observation[0], 1.0]
    sleeping = make_env("crossbandit/Sleeping-v0")
    observation, info = sleeping.reset(seed=0)
    assert observation.tolist() == info["action_mask"].tolist()
    assert 0 < observation.sum() < 10


def test_an_action_that_is_not_available_earns_the_least_and_shows_nothing() -> None:
    env = make_env("crossbandit/Sleeping-v0")
    observation, _ = env.reset(seed=0)
    _, reward, _, _, info = env.step(np.int64(observation.argmin()))
    assert reward == -1.0
    assert info["revealed"].tolist() == [0] * 10
    assert np.isinf(info["losses"]).all()


def test_an_episode_ends_with_the_horizon() -> None:
    env = make_env("crossbandit/Spam-v0", horizon=2)
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset first"):
        env.step(np.int64(0))
    env.reset(seed=0)
    assert [env.step(np.int64(0))[3] for _ in range(2)] == [False, True]
    with pytest.raises(gymnasium.error.ResetNeeded, match="again after 2 rounds"):
        env.step(np.int64(0))


@every_id
def test_vectorised_environments_play_as_single_ones(id_: str) -> None:
    """Two environments at once, past the end of an episode."""
    vector = gymnasium.make_vec(id_, num_envs=2, horizon=4)
    alone = [make_env(id_, horizon=4) for _ in range(2)]
    _, infos = vector.reset(seed=5)
    single = [env.reset(seed=5 + i)[1] for i, env in enumerate(alone)]
    for _ in range(4):
        arms = np.array([single[0]["action_mask"].argmax(), alone[1].environment.problem.arms - 1])
        _, rewards, _, over, infos = vector.step(arms)
        for i, env in enumerate(alone):
            _, reward, _, ended, single[i] = env.step(arms[i])
            assert (rewards[i], over[i]) == (reward, ended)
            for key, value in single[i].items():
                np.testing.assert_array_equal(infos[key][i], value)
    _, _, _, over, infos = vector.step(np.zeros(2, dtype=np.int64))  # begins the next episode
    assert not over.any()
    assert infos["round"].tolist() == [0, 0]
    vector.close()


@pytest.mark.parametrize("action", [-1, 10, 2.7, "1", None, np.array([1])])
def test_an_action_that_is_no_arm_is_refused(action: Any) -> None:
    env = make_env("crossbandit/Sleeping-v0")
    env.reset(seed=0)
    with pytest.raises(gymnasium.error.InvalidAction, match=r"an integer from 0 to 9. Got "):
        env.step(action)
    assert env.step(np.int64(0))[4]["round"] == 1


class Plain:
    """An environment without blocks, as a user may write one."""

    def __init__(self, horizon: int) -> None:
        self.problem = Problem(graphs.threshold(3), contexts=2, horizon=horizon)
        self.context_distribution = FiniteContexts(2)

    def losses(self, round_: int) -> Floats:
        return np.random.default_rng(round_).random((3, 2))


def test_it_wraps_any_registered_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    builders = {"plain": Plain, "nothing": lambda horizon: horizon}
    monkeypatch.setattr("crossbandit.environments.environment._ENVIRONMENTS._builders", builders)
    env = BanditEnv("plain", horizon=20)
    _, info = env.reset(seed=0)
    context = info["context"]
    _, reward, _, _, info = env.step(np.int64(1))
    losses = Plain(20).losses(0)
    assert reward == -losses[1, context]
    np.testing.assert_array_equal(info["losses"][1:], losses[1:])
    assert info["revealed"].tolist() == [0, 1, 1]
    with pytest.raises(
        InvalidParameterError, match=r"'name' .* the name of an Environment. Got 10"
    ):
        BanditEnv("nothing", horizon=10)


def in_python(script: str) -> str:
    """Return what a script prints, or its last line of error."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_the_package_does_not_load_gymnasium() -> None:
    script = "import sys, crossbandit; print('gymnasium' in sys.modules)"
    assert in_python(script) == "False"


def test_where_gymnasium_is_missing_the_error_says_what_to_do() -> None:
    script = "import sys; sys.modules['gymnasium'] = None; import crossbandit.adapters.gymnasium"
    assert 'pip install "crossbandit[gymnasium]"' in in_python(script)


def test_a_budget_shows_what_is_left_and_masks_what_it_does_not_allow() -> None:
    env = make_env("crossbandit/FirstPriceBudget-v0", horizon=40, budget=0.05, bids=11)
    assert env.observation_space == spaces.Box(0.0, 1.0, (3,), np.float64)
    total, spent, over = 2.0, 0.0, False
    observation, info = env.reset(seed=1)
    for t in range(40):
        value, left, time_left = observation
        assert left == pytest.approx(1 - spent / total, abs=1e-9)
        assert time_left == pytest.approx(1 - t / 40)
        amounts = np.linspace(0, 1, 11)
        affordable = (amounts <= value) & (amounts <= total - spent + 1e-9)
        np.testing.assert_array_equal(info["action_mask"], affordable)
        arm = int(np.flatnonzero(affordable)[-1])
        observation, reward, _, over, info = env.step(np.int64(arm))
        if reward > 0:
            spent += amounts[arm]
            assert reward == pytest.approx(value - amounts[arm])
    assert over
    assert 1.5 < spent <= total
    refused = env.reset(seed=1)[0]
    assert refused[1] == 1.0
    assert env.step(np.int64(10))[0][1] == 1.0  # a bid above the value costs nothing
