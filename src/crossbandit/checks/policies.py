"""Check the policy of an algorithm, and that its decisions are drawn from it."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.checks.episodes import (
    CONTEXTS,
    ROUNDS,
    check_round,
    raises,
    require_distribution,
)
from crossbandit.checks.requirement import require
from crossbandit.errors import CheckFailedError, InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.algorithms import Algorithm, Decision, Learner
    from crossbandit.problem import Problem

_SAMPLES = 1000


def check_policy(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Check that `act` draws from what `policy` returns."""
    learner = algorithm.start(problem, seed=2)
    try:
        inspect.signature(learner.policy).bind(0, None)
    except TypeError as error:
        raise CheckFailedError(
            f"policy does not take a context and which arms are available: {error}. Its signature "
            "is policy(self, context, available=None). Do not override it, but distribution."
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


def check_availability(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
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
