"""Data in the format of Open Bandit Pipeline: estimates by hand, and back and forth."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit.adapters.obp import evaluate_obp, to_obp
from crossbandit.core.types import Floats
from crossbandit.errors import InvalidParameterError
from crossbandit.logs.evaluate import evaluate_policy


def synthetic(rounds: int = 400, seed: int = 0) -> dict[str, Any]:
    """Return feedback with the keys of the package's synthetic datasets."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(3), rounds)
    actions = np.array([rng.choice(3, p=one) for one in chances])
    return {
        "n_rounds": rounds,
        "n_actions": 3,
        "context": rng.normal(size=(rounds, 2)),
        "action_context": np.eye(3),
        "action": actions,
        "position": None,
        "reward": rng.binomial(1, 0.2 + 0.3 * actions),
        "pi_b": chances[:, :, None],
        "pscore": chances[np.arange(rounds), actions],
    }


def test_the_estimates_are_those_of_the_formulas() -> None:
    """Inverse probabilities, their self-normalised form and the doubly robust one, by hand."""
    feedback = synthetic()
    policy = np.random.default_rng(1).dirichlet(np.ones(3), 400)
    guess = np.tile([0.1, 0.4, 0.9], (400, 1))
    result = evaluate_obp(feedback, policy[:, :, None], estimated_rewards=guess[:, :, None])
    rows = np.arange(400)
    weight = policy[rows, feedback["action"]] / feedback["pscore"]
    reward = feedback["reward"]
    assert result.inverse.value == pytest.approx((weight * reward).mean())
    assert result.self_normalised.value == pytest.approx((weight * reward).sum() / weight.sum())
    robust = (policy * guess).sum(axis=1) + weight * (reward - guess[rows, feedback["action"]])
    assert result.doubly_robust.value == pytest.approx(robust.mean())


def test_the_policy_at_the_position_shown_counts() -> None:
    """Two positions, and pscore alone, as in the Open Bandit Dataset."""
    feedback = {
        "n_rounds": 99,  # not read
        "action": np.array([0, 1, 1]),
        "position": np.array([0, 1, 0]),
        "reward": np.array([1, 0, 1]),
        "pscore": np.array([0.5, 0.25, 0.5]),
    }
    policy = np.zeros((3, 2, 2))
    policy[:, :, 0] = [0.75, 0.25]
    policy[:, :, 1] = [0.5, 0.5]
    # Weights 0.75 / 0.5, 0.5 / 0.25 and 0.25 / 0.5.
    result = evaluate_obp(feedback, policy)
    assert result.inverse.value == pytest.approx((1.5 + 0 + 0.5) / 3)
    assert result.weight == pytest.approx((1.5 + 2 + 0.5) / 3)


@given(st.integers(0, 50), st.integers(2, 5))
def test_there_and_back(seed: int, arms: int) -> None:
    """What was logged here is evaluated alike there, with and without all probabilities."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(arms), 6)
    played = rng.integers(arms, size=6)
    outcomes: Floats = np.where(np.arange(arms) == played[:, None], rng.random((6, arms)), np.nan)
    policy = rng.dirichlet(np.ones(arms), 6)
    direct = evaluate_policy(policy, arms=played, probabilities=chances, outcomes=outcomes)
    feedback = to_obp(
        arms=played, probabilities=chances, outcomes=outcomes, contexts=rng.integers(4, size=6)
    )
    assert evaluate_obp(feedback, policy) == direct
    assert feedback["n_actions"] == arms
    np.testing.assert_array_equal(feedback["context"].sum(axis=1), 1)
    own = np.arange(6), played
    plain = to_obp(arms=played, probabilities=chances[own], outcomes=outcomes[own], n_actions=arms)
    assert "pi_b" not in plain
    assert evaluate_obp(plain, policy).inverse == direct.inverse


def test_contexts_are_vectors() -> None:
    common: dict[str, Any] = {"arms": [0, 1], "probabilities": [0.5, 0.5], "outcomes": [1, 0]}
    np.testing.assert_array_equal(to_obp(**common)["context"], [[1], [1]])
    numbered = to_obp(**common, contexts=[2, 0])["context"]
    np.testing.assert_array_equal(numbered, [[0, 0, 1], [1, 0, 0]])
    vectors = to_obp(**common, contexts=np.array([[0.5, 2], [1, 1]]))["context"]
    np.testing.assert_array_equal(vectors, [[0.5, 2], [1, 1]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": None}, "Got a dict without 'reward'"),
        ({"action": [0.5] * 400}, "'action' parameter of evaluate_obp"),
        ({"reward": [1, 2]}, "400 numbers, one per action"),
        ({"position": np.ones(400, int)}, "at least 2 positions"),
        ({"pscore": np.full(400, 0.4)}, "the probability of the action in 'pi_b'"),
        ({"pi_b": np.full((400, 3, 2), 1 / 3)}, "1 position, since the feedback has no 'position'"),
        ({"action": np.full(400, 3)}, "'action' parameter of evaluate_obp must be below 3"),
    ],
)
def test_feedback_that_does_not_fit_is_an_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        evaluate_obp(synthetic() | changes, np.full((400, 3), 1 / 3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outcomes": [1.0]}, "'outcomes' parameter of to_obp"),
        ({"outcomes": [1.0, np.nan]}, "Got nan in round 1"),
        ({"probabilities": np.ones((3, 2))}, "'probabilities' parameter of to_obp"),
        ({"contexts": [0.5, 1.5]}, "'contexts' parameter of to_obp"),
        ({"n_actions": 1}, "'n_actions' parameter of to_obp"),
        ({"arms": [0, -1]}, "'arms' parameter of to_obp"),
    ],
)
def test_logs_that_do_not_fit_are_an_error(changes: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"arms": [0, 1], "probabilities": [0.5, 0.5], "outcomes": [1.0, 0.0]}
    with pytest.raises(InvalidParameterError, match=message):
        to_obp(**(good | changes))
