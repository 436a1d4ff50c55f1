"""Check that an algorithm follows the rules of `Algorithm` and `Learner`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import Algorithm, from_json
from crossbandit.checks.easy import check_beats_uniform
from crossbandit.checks.episodes import CONTEXTS, ROUNDS, episode
from crossbandit.checks.estimator import check_estimator
from crossbandit.checks.feedback import (
    check_checkpoint,
    check_late_feedback,
    check_rejections,
    check_snapshot,
    check_tokens,
)
from crossbandit.checks.policies import check_availability, check_policy
from crossbandit.checks.requirement import require
from crossbandit.checks.secrecy import check_secrecy
from crossbandit.environments import BlockEnvironment, from_table
from crossbandit.errors import CheckFailedError, InvalidInputError
from crossbandit.graphs import FeedbackGraph, threshold
from crossbandit.problem import Problem
from crossbandit.simulation import simulate
from crossbandit.simulation.players import BatchPlayer

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Booleans


def check_algorithm(algorithm: Algorithm, graph: FeedbackGraph | None = None) -> None:
    """Check that an algorithm follows the rules of `Algorithm` and `Learner`.

    It plays a few rounds: with prompt, late and missing feedback, with bad losses, with both forms
    of losses, after it was saved and loaded, and in a simulation. Losses that no play revealed must
    not make a difference. Its regret on an easy problem must be less than that of uniform play. If
    it declares what it adds to its estimates (`Algorithm.estimator`), `check_estimator` compares
    the two exactly.

    Args:
        algorithm: The algorithm, which must be registered.
        graph: The graph on which it is played; a threshold graph of 4 arms if None.

    Raises:
        CheckFailedError: It breaks a rule. The message says what was found, and the likely
            mistake.
    """
    graph = threshold(4) if graph is None else graph
    losses = np.random.default_rng(0).random((ROUNDS, CONTEXTS, graph.arms))
    environment = from_table(losses, graph, [0.4, 0.3, 0.2, 0.1])
    problem = environment.problem
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution([0.4, 0.3, 0.2, 0.1])
    rows = losses.transpose(0, 2, 1)
    _check_identity(algorithm)
    check_policy(algorithm, problem, rows)
    _check_seeding(algorithm, problem, rows)
    _check_linear_form(algorithm, problem, rows)
    check_availability(algorithm, problem, rows)
    check_rejections(algorithm, problem, rows)
    check_late_feedback(algorithm, problem, rows)
    check_checkpoint(algorithm, problem, rows)
    if not algorithm.needs_memory:
        check_tokens(algorithm, problem, rows)
        check_snapshot(algorithm, problem, rows)
    _check_simulation(algorithm, environment)
    check_secrecy(algorithm, graph, losses, [0.4, 0.3, 0.2, 0.1])
    if algorithm.takes_availability:
        _check_simulation(algorithm, _MaskedEnvironment(environment))
    if algorithm.estimator(problem) is not None:
        check_estimator(algorithm, graph)
    check_beats_uniform(algorithm, graph)


def _check_identity(algorithm: Algorithm) -> None:
    data = algorithm.to_json()
    try:
        again = from_json(json.loads(json.dumps(data)))
    except Exception as error:
        raise CheckFailedError(
            f"{algorithm!r} cannot be made again from its JSON form {data}: {error} "
            "Is its class registered, and are its parameters plain numbers and strings?"
        ) from error
    require(
        again == algorithm and hash(again) == hash(algorithm),
        f"{algorithm!r} was written as JSON, and read as {again!r}, which is not equal to it.",
        "Is its class a frozen dataclass?",
    )


def _check_seeding(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    first = episode(algorithm.start(problem, seed=1), rows)
    second = episode(algorithm.start(problem, seed=1), rows)
    require(
        first == second,
        "The same seed gave different arms.",
        "Does the learner draw from anything but its own generator?",
    )


def _check_linear_form(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Check linear losses with an indicator feature for each context, which equal dense losses.

    The features are not in the order of the contexts. An algorithm may refuse linear losses.
    """
    linear = Problem(
        problem.graph,
        features=np.eye(CONTEXTS)[::-1],
        horizon=problem.horizon,
        context_distribution=problem.context_distribution,
    )
    try:
        learner = algorithm.start(linear, seed=8)
    except InvalidInputError:
        return
    require(
        episode(learner, np.ascontiguousarray(rows[:, :, ::-1]))
        == episode(algorithm.start(problem, seed=8), rows),
        "The same losses led to different arms in linear form and in dense form.",
        "Read estimates through readout.losses, not by a context's number.",
    )


class _MaskedEnvironment(BlockEnvironment):
    """An environment in which one arm is not available in each context but the last."""

    def __init__(self, whole: BlockEnvironment) -> None:
        self.problem, self.context_distribution, self._whole = (
            whole.problem,
            whole.context_distribution,
            whole,
        )

    def block(self, start: int, stop: int) -> LossBlock:
        return self._whole.block(start, stop)

    def available(self, contexts: npt.NDArray[Any]) -> Booleans:
        missing = contexts[:, None] % self.problem.arms == np.arange(self.problem.arms)
        mask: Booleans = ~missing | (contexts[:, None] == CONTEXTS - 1)
        return mask


def _check_simulation(algorithm: Algorithm, environment: BlockEnvironment) -> None:
    run = simulate(algorithm, environment, seed=6, show_progress=False)
    require(
        np.isfinite(run.final_regret),
        f"A simulation ended with a regret of {run.final_regret}.",
        "Look for an overflow.",
    )
    learner = algorithm.start(environment.problem.with_distribution([0.4, 0.3, 0.2, 0.1]), seed=6)
    if not isinstance(learner, BatchPlayer):
        return
    plain = simulate(algorithm, environment, seed=6, compiled=False, show_progress=False)
    require(
        np.array_equal(run.arms, plain.arms),
        "The compiled and the plain simulation played different arms.",
        "Do both use the same kernel, and draw the same numbers in the same order?",
    )
