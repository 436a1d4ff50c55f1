"""Which algorithm an application starts with, and how its learner is started."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crossbandit.algorithms import Algorithm, CrossGraphAdaptive
from crossbandit.validation import reject

if TYPE_CHECKING:
    from crossbandit.algorithms import Learner
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed

_DEFAULT = CrossGraphAdaptive()


def usual_algorithm(feedback: str) -> CrossGraphAdaptive:
    """Return the default algorithm for bids with a feedback graph, with anchors if they help.

    They help with feedback after a loss: then a bid reveals the next higher bid, and the two mostly
    win and lose together.

    Args:
        feedback: One of the kinds of `crossbandit.environments.auctions.FEEDBACK`.
    """
    return CrossGraphAdaptive(anchored=feedback == "after-loss")


def anchored_as(default: Algorithm, algorithm: Algorithm) -> Algorithm:
    """Return `algorithm`, with the default's choice of `anchored` if its own is None."""
    if (
        isinstance(algorithm, CrossGraphAdaptive)
        and isinstance(default, CrossGraphAdaptive)
        and algorithm.anchored is None
    ):
        return replace(algorithm, anchored=default.anchored)
    return algorithm


def start_learner(
    owner: str,
    algorithm: Algorithm | None,
    problem: Problem,
    seed: Seed,
    default: Algorithm = _DEFAULT,
    *,
    expected: str = "None, or an Algorithm such as CrossGraph()",
) -> Learner:
    """Start the learner of an application.

    Args:
        owner: The class of the application, for messages.
        algorithm: The algorithm that the user asked for, or None.
        problem: What the application has to decide.
        seed: The seed of the learner.
        default: The algorithm where none was asked for.
        expected: What may be asked for, for messages.

    Raises:
        InvalidParameterError: `algorithm` is not an Algorithm, or does not fit the problem.
    """
    algorithm = default if algorithm is None else anchored_as(default, algorithm)
    if not isinstance(algorithm, Algorithm):
        reject(owner, "algorithm", expected, algorithm)
    return algorithm.start(problem, seed=seed)
