"""Functions that checks share: raise an error, play a few rounds, check each round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.algorithms import Learner

ROUNDS = 60
CONTEXTS = 4
DISTRIBUTION = [0.4, 0.3, 0.2, 0.1]  # the probabilities of the contexts


def require(condition: object, found: str, hint: str) -> None:
    """Raise CheckFailedError with what was found and the likely mistake, unless `condition`."""
    if not condition:
        raise CheckFailedError(f"{found} {hint}")


def episode(learner: Learner, rows: Any, rounds: range = range(ROUNDS)) -> list[int]:
    """Play rounds with prompt feedback; return the arms that were played."""
    arms = []
    for t in rounds:
        decision = learner.act(t % CONTEXTS)
        check_round(learner, t)
        losses = rows[t, list(decision.revealed)]
        before = losses.copy()
        learner.learn(decision, losses)
        require(
            np.array_equal(losses, before),
            "learn changed the losses that it was given.",
            "Copy before changing in place.",
        )
        arms.append(decision.arm)
    return arms


def check_round(learner: Learner, t: int) -> None:
    """Check that a learner has counted round `t`."""
    require(
        learner.round == t + 1,
        f"After {t + 1} rounds were played, round is {learner.round}.",
        "It is the number of rounds played, which act counts: do not override act or round.",
    )


def require_distribution(policy: Any, arms: int, when: str) -> None:
    """Check that a policy is a distribution over the arms."""
    require(
        np.shape(policy) == (arms,)
        and bool((policy >= 0).all())
        and abs(float(policy.sum()) - 1) < 1e-9,
        f"{when}, policy is not a distribution over the arms: {policy}.",
        "Subtract the least score before exponentiating, and normalise.",
    )


def raises(error: type[Exception], call: Callable[[], object]) -> bool:
    """Return whether a call raises this error."""
    try:
        call()
    except error:
        return True
    return False
