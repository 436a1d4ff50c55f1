"""Check that an algorithm follows the rules of `Algorithm` and `Learner`."""

from __future__ import annotations

import inspect
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import Algorithm, from_json
from crossbandit.checks.episodes import (
    CONTEXTS,
    DISTRIBUTION,
    ROUNDS,
    check_round,
    episode,
    raises,
    require,
    require_distribution,
)
from crossbandit.checks.estimator import check_estimator
from crossbandit.checks.feedback import (
    check_checkpoint,
    check_late_feedback,
    check_rejections,
    check_snapshot,
    check_tokens,
)
from crossbandit.checks.simulations import check_beats_uniform, check_secrecy, check_simulation
from crossbandit.environments import from_table
from crossbandit.errors import CheckFailedError, InvalidInputError, InvalidParameterError
from crossbandit.graphs import FeedbackGraph, threshold
from crossbandit.problem import Problem

if TYPE_CHECKING:
    from crossbandit.algorithms import Decision, Learner

_SAMPLES = 1000


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
    environment = from_table(losses, graph, DISTRIBUTION)
    problem = environment.problem
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution(DISTRIBUTION)
    rows = losses.transpose(0, 2, 1)
    _check_identity(algorithm)
    _check_policy(algorithm, problem, rows)
    _check_seeding(algorithm, problem, rows)
    _check_linear_form(algorithm, problem, rows)
    _check_availability(algorithm, problem, rows)
    check_rejections(algorithm, problem, rows)
    check_late_feedback(algorithm, problem, rows)
    check_checkpoint(algorithm, problem, rows)
    if not algorithm.needs_memory:
        check_tokens(algorithm, problem, rows)
        check_snapshot(algorithm, problem, rows)
    check_simulation(algorithm, environment)
    check_secrecy(algorithm, graph, losses, DISTRIBUTION)
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


def _check_policy(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Check that `act` draws from what `policy` returns."""
    learner = algorithm.start(problem, seed=2)
    try:
        inspect.signature(learner.policy).bind(0, None)
    except TypeError as error:
        raise CheckFailedError(
            f"policy does not take a context and which arms are available: {error}. Its signature "
            "is policy(self, context, available=None). Override distribution instead."
        ) from error
    for t in range(ROUNDS):
        context = t % CONTEXTS
        policy = learner.policy(context)
        require_distribution(policy, problem.arms, f"In round {t}")
        require(
            np.array_equal(policy, learner.policy(context)),
            f"In round {t}, asking for the policy changed it.",
            "policy must leave the state and the generator alone.",
        )
        decision = learner.act(context)
        check_round(learner, t)
        _check_probability(learner, decision, policy)
        learner.learn(decision, rows[t, list(decision.revealed)])
    if learner.samples_only:
        _check_frequencies(learner)


def _check_probability(learner: Learner, decision: Decision, policy: Any) -> None:
    t, probability = decision.round, decision.probability
    if learner.samples_only:
        require(
            math.isnan(probability),
            f"In round {t}, act returned a probability of {probability}, although samples_only is "
            "True.",
            "play must return NaN: the probability is not known.",
        )
        return
    require(
        abs(probability - policy[decision.arm]) < 1e-12,
        f"In round {t}, act played arm {decision.arm} with probability {probability}, but policy "
        f"had said {policy[decision.arm]}.",
        "Both must come from the same distribution.",
    )


def _check_frequencies(learner: Learner) -> None:
    """Compare the arms that `act` plays, without feedback, with those of `policy`."""
    policy = learner.policy(0)
    played = np.zeros(policy.size)
    for _ in range(_SAMPLES):
        played[learner.act(0).arm] += 1
    # Both are means of 1,000 draws. They differ by more than this with probability below 1e-8.
    allowed = 6.0 * np.sqrt(0.5 / _SAMPLES)
    distance = np.abs(policy - played / _SAMPLES).max()
    require(
        distance < allowed,
        f"act played the arms with frequencies {played / _SAMPLES}, but policy says {policy}.",
        "Both must call sample, and playing without feedback must not change what is sampled.",
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


def _check_availability(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Check that only available arms are played."""
    learner = algorithm.start(problem, seed=7)
    if not algorithm.takes_availability:
        require(
            raises(InvalidParameterError, lambda: learner.act(0, np.ones(problem.arms, bool))),
            "act accepted `available`, although takes_availability is False.",
            "Do not override act, but distribution, sample or play.",
        )
        return
    masks = np.random.default_rng(0).random((ROUNDS, problem.arms)) < 0.5
    masks[np.arange(ROUNDS), np.arange(ROUNDS) % problem.arms] = True
    for t, mask in enumerate(masks):
        policy = learner.policy(t % CONTEXTS, mask)
        require(
            (policy[~mask] == 0).all() and abs(policy.sum() - 1) < 1e-9,
            f"In round {t}, with the arms {np.flatnonzero(mask)} available, the policy is "
            f"{policy}.",
            "An arm that is not available must have probability 0, also in exploration.",
        )
        decision = learner.act(t % CONTEXTS, mask)
        require(
            mask[decision.arm],
            f"In round {t}, act played arm {decision.arm}, but only {np.flatnonzero(mask)} were "
            "available.",
            "Read readout.available, or readout.may_play(arms), in distribution or sample.",
        )
        _check_probability(learner, decision, policy)
        learner.learn(decision, rows[t, list(decision.revealed)])
