"""The data format of Open Bandit Pipeline, in and out. The package itself is not needed.

Its bandit feedback is a dict of arrays: `action`, `reward` and `pscore` (n,), and optionally
`context` (n, d), `position` (n,), the behaviour policy `pi_b` (n, actions, positions) and
`action_context`. An evaluation policy is `action_dist` (n, actions, positions).

The format has one reward per round. It has no place for other losses that a feedback graph
revealed.

This module follows the documentation of the format. It is tested on made-up data in this format,
because the package does not build with the versions that Crossbandit is tested with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from crossbandit.core.types import Floats, Integers
from crossbandit.core.validation import array, integer, reject, verbatim
from crossbandit.logs.evaluate import PolicyValue, evaluate_policy

__all__ = ["evaluate_obp", "to_obp"]

_ROUNDING = 1e-6  # the allowed difference between pscore and pi_b


def evaluate_obp(
    bandit_feedback: Mapping[str, Any],
    action_dist: npt.ArrayLike,
    *,
    estimated_rewards: npt.ArrayLike | None = None,
) -> PolicyValue:
    """Estimate what a policy would have earned, from bandit feedback of Open Bandit Pipeline.

    If rounds have positions, the estimate is per position shown, as in the package.

    Args:
        bandit_feedback: The feedback. `n_rounds` is not read; the arrays have the number of rounds.
        action_dist: The policy to evaluate, of shape (n, actions, positions); or (n, actions) if
            there is one position.
        estimated_rewards: Estimates of the rewards, of the same shape, for the doubly robust
            estimate. The package calls them `estimated_rewards_by_reg_model`. By default the mean
            of each action in earlier rounds.

    Returns:
        The estimates of `crossbandit.logs.evaluate.evaluate_policy`, with intervals and warnings.

    Raises:
        InvalidParameterError: A key is missing, or arrays do not fit together.

    >>> feedback = {"action": [0, 1, 0, 1], "reward": [1, 3, 1, 5], "pscore": [0.5] * 4}
    >>> always_1 = np.tile([0.0, 1.0], (4, 1))
    >>> evaluate_obp(feedback, always_1).inverse.value
    4.0
    """
    actions = _integers("evaluate_obp", "action", _entry(bandit_feedback, "action"))
    rewards = _numbers(bandit_feedback, "reward", actions.size)
    chances = _numbers(bandit_feedback, "pscore", actions.size)
    position = bandit_feedback.get("position")
    if position is not None:
        position = _integers("evaluate_obp", "position", position)
    policy = _shown("action_dist", action_dist, actions.size, position)
    guess = None
    if estimated_rewards is not None:
        guess = _shown("estimated_rewards", estimated_rewards, actions.size, position)
    probabilities = chances
    if bandit_feedback.get("pi_b") is not None:
        probabilities = _shown("pi_b", bandit_feedback["pi_b"], actions.size, position)
        _check_pscore(chances, probabilities, actions)
    return evaluate_policy(
        policy, arms=actions, probabilities=probabilities, outcomes=rewards, baseline=guess
    )


def to_obp(
    *,
    arms: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    contexts: npt.ArrayLike | None = None,
    n_actions: int | None = None,
) -> dict[str, Any]:
    """Return logged decisions as bandit feedback of Open Bandit Pipeline.

    Args:
        arms: The arm of each round, (n,).
        probabilities: The probability of the arm, (n,); or of every arm, (n, K), which also gives
            `pi_b`.
        outcomes: What the arm earned, (n,); or what every arm earned, (n, K), of which only that of
            the arm played is kept.
        contexts: Feature vectors, (n, d); or the numbers of contexts, (n,), which become one-hot
            vectors; None for a constant.
        n_actions: The number of arms, K; by default from the shape of the arrays, or the largest
            arm plus 1.

    Returns:
        A dict with the keys `n_rounds`, `n_actions`, `context`, `action_context` (one-hot),
        `action`, `position` (None), `reward`, `pscore`, and `pi_b` if it is known.

    Raises:
        InvalidParameterError: Arrays do not fit together.

    >>> feedback = to_obp(arms=[0, 1], probabilities=[0.5, 0.25], outcomes=[1.0, 0.0])
    >>> feedback["n_actions"], feedback["reward"].tolist()
    (2, [1.0, 0.0])
    """
    played = _integers("to_obp", "arms", arms)
    chances = array("to_obp", "probabilities", "an array (n,) or (n, K)", probabilities)
    values = array("to_obp", "outcomes", "an array (n,) or (n, K)", outcomes)
    widths = [one.shape[1] for one in (chances, values) if one.ndim == 2]
    least = int(played.max(initial=0)) + 1
    size = max([*widths, least]) if n_actions is None else n_actions
    size = integer("to_obp", "n_actions", size, at_least=least)
    feedback = {
        "n_rounds": played.size,
        "n_actions": size,
        "context": _vectors(contexts, played.size),
        "action_context": np.eye(size),
        "action": played,
        "position": None,
        "reward": _of_arm("outcomes", values, played, size),
        "pscore": _of_arm("probabilities", chances, played, size),
    }
    if chances.ndim == 2:
        feedback["pi_b"] = chances[:, :, None]
    return feedback


def _of_arm(name: str, values: Floats, played: Integers, size: int) -> Floats:
    """Return the entry of the arm played in each round; raise unless it is a finite number."""
    if values.shape not in {(played.size,), (played.size, size)}:
        expected = f"an array ({played.size},) or ({played.size}, {size})"
        reject("to_obp", name, expected, verbatim(f"an array of shape {values.shape}"))
    own = values[np.arange(played.size), played] if values.ndim == 2 else values
    if not np.isfinite(own).all():
        i = int(np.flatnonzero(~np.isfinite(own))[0])
        reject("to_obp", name, "finite for the arms played", verbatim(f"{own[i]} in round {i}"))
    return own


def _vectors(contexts: npt.ArrayLike | None, rounds: int) -> Floats:
    if contexts is None:
        return np.ones((rounds, 1))
    given = np.asarray(contexts)
    if given.shape == (rounds,) and given.dtype.kind in "iu" and (given >= 0).all():
        one_hot: Floats = np.eye(int(given.max(initial=0)) + 1)[given]
        return one_hot
    expected = f"an array ({rounds}, d) of numbers, or {rounds} integers from 0"
    vectors = array("to_obp", "contexts", expected, contexts)
    if vectors.ndim != 2 or len(vectors) != rounds:
        reject("to_obp", "contexts", expected, verbatim(f"an array of shape {vectors.shape}"))
    return vectors


def _entry(feedback: Mapping[str, Any], name: str) -> Any:
    if name not in feedback or feedback[name] is None:
        got = verbatim(f"a dict without {name!r}")
        expected = "a dict with the arrays 'action', 'reward' and 'pscore'"
        reject("evaluate_obp", "bandit_feedback", expected, got)
    return feedback[name]


def _integers(owner: str, name: str, values: Any) -> Integers:
    given = np.asarray(values)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu" or given.min() < 0:
        reject(owner, name, "a vector of integers from 0", values)
    return given.astype(np.int64)


def _numbers(feedback: Mapping[str, Any], name: str, rounds: int) -> Floats:
    given = array("evaluate_obp", name, f"{rounds} numbers", _entry(feedback, name))
    if given.shape != (rounds,):
        got = verbatim(f"an array of shape {given.shape}")
        reject("evaluate_obp", name, f"{rounds} numbers, one per action", got)
    return given


def _shown(name: str, given: Any, rounds: int, position: Integers | None) -> Floats:
    """Return (n, actions): an array (n, actions, positions) at the position of each round."""
    expected = f"an array ({rounds}, actions, positions)"
    table = array("evaluate_obp", name, expected, given)
    if table.ndim == 2:
        table = table[:, :, None]
    places = np.zeros(rounds, dtype=np.int64) if position is None else position
    got = verbatim(f"an array of shape {table.shape}")
    if table.ndim != 3 or len(table) != rounds or places.shape != (rounds,):
        reject("evaluate_obp", name, expected, got)
    if position is None and table.shape[2] != 1:
        expected += " with 1 position, since the feedback has no 'position'"
        reject("evaluate_obp", name, expected, got)
    if places.max() >= table.shape[2]:
        expected += f" with at least {places.max() + 1} positions"
        reject("evaluate_obp", name, expected, got)
    return table[np.arange(rounds), :, places]


def _check_pscore(chances: Floats, probabilities: Floats, actions: Integers) -> None:
    if actions.max() >= probabilities.shape[1]:
        got = verbatim(f"{probabilities.shape[1]} actions in 'pi_b'")
        reject("evaluate_obp", "action", f"below {probabilities.shape[1]}", got)
    own = probabilities[np.arange(actions.size), actions]
    wrong = ~(np.abs(own - chances) <= _ROUNDING)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        got = verbatim(f"{chances[i]:.15g} and {own[i]:.15g} in round {i}")
        reject("evaluate_obp", "pscore", "the probability of the action in 'pi_b'", got)
