"""Check how an algorithm treats bad and late feedback, checkpoints, tokens and snapshots."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import load
from crossbandit.checks.episodes import (
    CONTEXTS,
    ROUNDS,
    check_round,
    episode,
    raises,
    require,
    require_distribution,
)
from crossbandit.errors import DecisionError, InvalidLossesError

if TYPE_CHECKING:
    from crossbandit.algorithms import Algorithm, Learner
    from crossbandit.problem import Problem


def check_rejections(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Check that bad feedback is refused, and changes nothing."""
    learner = algorithm.start(problem, seed=3)
    reference = episode(algorithm.start(problem, seed=3), rows)
    arms = []
    for t in range(ROUNDS):
        decision = learner.act(t % CONTEXTS)
        losses = rows[t, list(decision.revealed)]
        if losses.size:  # an arm may reveal nothing
            _must_raise(InvalidLossesError, learner, decision, losses * np.nan, "losses of NaN")
            _must_raise(InvalidLossesError, learner, decision, losses + 2, "losses above 1")
            _must_raise(InvalidLossesError, learner, decision, losses[:, :-1], "a missing column")
        learner.learn(decision, losses)
        _must_raise(DecisionError, learner, decision, losses, "the same decision twice")
        foreign = decision._replace(learner="another")
        _must_raise(DecisionError, learner, foreign, losses, "another learner's decision")
        arms.append(decision.arm)
    require(
        arms == reference,
        "Rejected feedback changed which arms were played later.",
        "Validate first, and change the state only if everything is valid.",
    )


def _must_raise(
    error: type[Exception], learner: Learner, decision: Any, losses: Any, what: str
) -> None:
    require(
        raises(error, lambda: learner.learn(decision, losses)),
        f"learn accepted {what}.",
        f"It must raise {error.__name__}: do not override learn, but update.",
    )


def check_late_feedback(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Check late, unordered and missing feedback."""
    learner = algorithm.start(problem, seed=4)
    out = []
    for t in range(ROUNDS):
        decision = learner.act(t % CONTEXTS)
        out.append((t, decision))
        if t % 3 == 2:
            t_late, late = out.pop(len(out) // 2)
            learner.learn(late, rows[t_late, list(late.revealed)])
    for t, decision in reversed(out[::2]):
        learner.learn(decision, rows[t, list(decision.revealed)])
    policy = learner.policy(0)
    require(
        np.isfinite(policy).all() and abs(policy.sum() - 1) < 1e-9,
        f"After late, unordered and missing feedback the policy is {policy}.",
        "Fix the weight of feedback when the round is played, and keep it in pending.weights.",
    )


def check_checkpoint(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Check that a learner resumes exactly."""
    for stop in (ROUNDS // 2, ROUNDS // 2 + 1):
        learner = algorithm.start(problem, seed=5)
        episode(learner, rows, range(stop))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner"
            learner.save(path)
            resumed = load(path)
        rest = range(stop, ROUNDS)
        require(
            episode(resumed, rows, rest) == episode(learner, rows, rest),
            "A learner that was saved and loaded played other arms than the original.",
            "Does state return everything that is learned, as arrays that load can fill in place?",
        )


def check_tokens(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Check that late feedback with a token has the same effect as with the decision."""
    one, other = (algorithm.start(problem, seed=9) for _ in range(2))
    made = [(one.act(t % CONTEXTS).token, other.act(t % CONTEXTS)) for t in range(ROUNDS)]
    for t, (token, decision) in reversed(list(enumerate(made))):
        losses = rows[t, list(decision.revealed)]
        one.learn(token, losses)
        other.learn(decision, losses)
    for context in range(CONTEXTS):
        require(
            np.array_equal(one.policy(context), other.policy(context)),
            f"Learning from tokens gave the policy {one.policy(context)}, learning from decisions "
            f"{other.policy(context)}, although needs_memory is False.",
            "update may use only the round, context, readout, arm, weights and baseline of a "
            "pending decision. If it needs more, set needs_memory = True.",
        )


def check_snapshot(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Check that a snapshot decides as its learner would, and does not change."""
    learner = algorithm.start(problem, seed=10)
    episode(learner, rows, range(ROUNDS // 2))
    snapshot = learner.snapshot(seed=1)
    for t in range(20):
        policy, expected = snapshot.policy(t % CONTEXTS), learner.policy(t % CONTEXTS)
        require(
            np.array_equal(policy, expected),
            f"After {t} decisions, a snapshot has the policy {policy}, its learner {expected}.",
            "state must be complete, and changed_by_play must list what play changes of it.",
        )
        snapshot.act(t % CONTEXTS)
    for t in range(ROUNDS // 2, ROUNDS):
        decision = learner.snapshot(seed=t).act(t % CONTEXTS)
        learner.learn(decision.token, rows[t, list(decision.revealed)])
        check_round(learner, t)
        require_distribution(learner.policy(0), problem.arms, f"After a snapshot played round {t}")
