"""Check that an algorithm follows the rules of `Algorithm` and `Learner`."""

from __future__ import annotations

import inspect
import json
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import Algorithm, from_json, load
from crossbandit.checks.easy import check_beats_uniform
from crossbandit.checks.estimator import check_estimator
from crossbandit.checks.requirement import require
from crossbandit.checks.secrecy import check_secrecy
from crossbandit.environments import BlockEnvironment, from_table
from crossbandit.errors import (
    CheckFailedError,
    DecisionError,
    InvalidInputError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.graphs import FeedbackGraph, threshold
from crossbandit.problem import Problem
from crossbandit.simulation import simulate
from crossbandit.simulation.players import BatchPlayer

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crossbandit.algorithms import Decision, Learner
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Booleans

_ROUNDS = 60
_CONTEXTS = 4
_SAMPLES = 1000


def check_algorithm(algorithm: Algorithm, graph: FeedbackGraph | None = None) -> None:
    """Check that an algorithm follows the rules of `Algorithm` and `Learner`.

    It is played for a few rounds: with prompt, late and missing feedback, with bad losses, with
    both forms of losses, saved and loaded, and in a simulation. Losses that no play revealed must
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
    losses = np.random.default_rng(0).random((_ROUNDS, _CONTEXTS, graph.arms))
    environment = from_table(losses, graph, [0.4, 0.3, 0.2, 0.1])
    problem = environment.problem
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution([0.4, 0.3, 0.2, 0.1])
    rows = losses.transpose(0, 2, 1)
    _check_identity(algorithm)
    _check_policy(algorithm, problem, rows)
    _check_seeding(algorithm, problem, rows)
    _check_linear_form(algorithm, problem, rows)
    _check_availability(algorithm, problem, rows)
    _check_rejections(algorithm, problem, rows)
    _check_late_feedback(algorithm, problem, rows)
    _check_checkpoint(algorithm, problem, rows)
    if not algorithm.needs_memory:
        _check_tokens(algorithm, problem, rows)
        _check_snapshot(algorithm, problem, rows)
    _check_simulation(algorithm, environment)
    check_secrecy(algorithm, graph, losses, [0.4, 0.3, 0.2, 0.1])
    if algorithm.takes_availability:
        _check_simulation(algorithm, _Masked(environment))
    if algorithm.estimator(problem) is not None:
        check_estimator(algorithm, graph)
    check_beats_uniform(algorithm, graph)


def _episode(learner: Learner, rows: Any, rounds: range = range(_ROUNDS)) -> list[int]:
    arms = []
    for t in rounds:
        decision = learner.act(t % _CONTEXTS)
        _check_round(learner, t)
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


def _check_round(learner: Learner, t: int) -> None:
    require(
        learner.round == t + 1,
        f"After {t + 1} rounds were played, round is {learner.round}.",
        "It is the number of rounds played, which act counts: do not override act or round.",
    )


def _check_identity(algorithm: Algorithm) -> None:
    data = algorithm.to_json()
    try:
        again = from_json(json.loads(json.dumps(data)))
    except Exception as error:
        raise CheckFailedError(
            f"{algorithm!r} does not come back from its JSON form {data}: {error} "
            "Is its class registered, and are its parameters plain numbers and strings?"
        ) from error
    require(
        again == algorithm and hash(again) == hash(algorithm),
        f"{algorithm!r} is not equal to itself after a round trip through JSON, but {again!r}.",
        "Is its class a frozen dataclass?",
    )


def _check_seeding(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    first = _episode(algorithm.start(problem, seed=1), rows)
    second = _episode(algorithm.start(problem, seed=1), rows)
    require(
        first == second,
        "The same seed gave different arms.",
        "Does the learner draw from anything but its own generator?",
    )


def _check_linear_form(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """With an indicator feature for each context, linear losses are the same as dense losses.

    The features have another order than the contexts. An algorithm may refuse linear losses.
    """
    linear = Problem(
        problem.graph,
        features=np.eye(_CONTEXTS)[::-1],
        horizon=problem.horizon,
        context_distribution=problem.context_distribution,
    )
    try:
        learner = algorithm.start(linear, seed=8)
    except InvalidInputError:
        return
    require(
        _episode(learner, np.ascontiguousarray(rows[:, :, ::-1]))
        == _episode(algorithm.start(problem, seed=8), rows),
        "The same losses gave other arms in linear form than in dense form.",
        "Read estimates through readout.losses, not by a context's number.",
    )


def _check_policy(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    learner = algorithm.start(problem, seed=2)
    try:
        inspect.signature(learner.policy).bind(0, None)
    except TypeError as error:
        raise CheckFailedError(
            f"policy does not take a context and which arms are available: {error}. Its signature "
            "is policy(self, context, available=None). Do not override it, but distribution."
        ) from error
    for t in range(_ROUNDS):
        context = t % _CONTEXTS
        policy = learner.policy(context)
        _require_distribution(policy, problem.arms, f"In round {t}")
        require(
            np.array_equal(policy, learner.policy(context)),
            f"In round {t}, asking for the policy changed it.",
            "policy must leave the state and the generator alone.",
        )
        decision = learner.act(context)
        _check_round(learner, t)
        _check_probability(learner, decision, policy)
        learner.learn(decision, rows[t, list(decision.revealed)])
    if learner.samples_only:
        _check_frequencies(learner)


def _require_distribution(policy: Any, arms: int, when: str) -> None:
    require(
        np.shape(policy) == (arms,)
        and bool((policy >= 0).all())
        and abs(float(policy.sum()) - 1) < 1e-9,
        f"{when}, policy is not a distribution over the arms: {policy}.",
        "Subtract the least score before exponentiating, and normalise.",
    )


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


def _check_availability(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    learner = algorithm.start(problem, seed=7)
    if not algorithm.takes_availability:
        require(
            _raises(InvalidParameterError, lambda: learner.act(0, np.ones(problem.arms, bool))),
            "act took an `available`, although takes_availability is False.",
            "Do not override act, but distribution, sample or play.",
        )
        return
    masks = np.random.default_rng(0).random((_ROUNDS, problem.arms)) < 0.5
    masks[np.arange(_ROUNDS), np.arange(_ROUNDS) % problem.arms] = True
    for t, mask in enumerate(masks):
        policy = learner.policy(t % _CONTEXTS, mask)
        require(
            (policy[~mask] == 0).all() and abs(policy.sum() - 1) < 1e-9,
            f"In round {t}, with the arms {np.flatnonzero(mask)} available, the policy is "
            f"{policy}.",
            "An arm that is not available has probability 0: also where arms are explored.",
        )
        decision = learner.act(t % _CONTEXTS, mask)
        require(
            mask[decision.arm],
            f"In round {t}, act played arm {decision.arm}, where only {np.flatnonzero(mask)} were "
            "available.",
            "Read readout.available, or readout.may_play(arms), in distribution or sample.",
        )
        _check_probability(learner, decision, policy)
        learner.learn(decision, rows[t, list(decision.revealed)])


def _raises(error: type[Exception], call: Callable[[], object]) -> bool:
    try:
        call()
    except error:
        return True
    return False


def _check_rejections(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    learner = algorithm.start(problem, seed=3)
    reference = _episode(algorithm.start(problem, seed=3), rows)
    arms = []
    for t in range(_ROUNDS):
        decision = learner.act(t % _CONTEXTS)
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
        _raises(error, lambda: learner.learn(decision, losses)),
        f"learn accepted {what}.",
        f"It must raise {error.__name__}: do not override learn, but update.",
    )


def _check_late_feedback(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    learner = algorithm.start(problem, seed=4)
    out = []
    for t in range(_ROUNDS):
        decision = learner.act(t % _CONTEXTS)
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


def _check_checkpoint(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    for stop in (_ROUNDS // 2, _ROUNDS // 2 + 1):
        learner = algorithm.start(problem, seed=5)
        _episode(learner, rows, range(stop))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner"
            learner.save(path)
            resumed = load(path)
        rest = range(stop, _ROUNDS)
        require(
            _episode(resumed, rows, rest) == _episode(learner, rows, rest),
            "A learner that was saved and loaded played other arms than the original.",
            "Does state return everything that is learned, as arrays that load can fill in place?",
        )


def _check_tokens(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    """Late feedback, given with tokens to one learner and with decisions to another."""
    one, other = (algorithm.start(problem, seed=9) for _ in range(2))
    made = [(one.act(t % _CONTEXTS).token, other.act(t % _CONTEXTS)) for t in range(_ROUNDS)]
    for t, (token, decision) in reversed(list(enumerate(made))):
        losses = rows[t, list(decision.revealed)]
        one.learn(token, losses)
        other.learn(decision, losses)
    for context in range(_CONTEXTS):
        require(
            np.array_equal(one.policy(context), other.policy(context)),
            f"Learning from tokens gave the policy {one.policy(context)}, learning from decisions "
            f"{other.policy(context)}, although needs_memory is False.",
            "update may use only the round, context, readout, arm, weights and baseline of a "
            "pending decision. If it needs more, set needs_memory = True.",
        )


def _check_snapshot(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    learner = algorithm.start(problem, seed=10)
    _episode(learner, rows, range(_ROUNDS // 2))
    snapshot = learner.snapshot(seed=1)
    for t in range(20):
        policy, expected = snapshot.policy(t % _CONTEXTS), learner.policy(t % _CONTEXTS)
        require(
            np.array_equal(policy, expected),
            f"After {t} decisions, a snapshot has the policy {policy}, its learner {expected}.",
            "state must be complete, and changed_by_play must list what play changes of it.",
        )
        snapshot.act(t % _CONTEXTS)
    for t in range(_ROUNDS // 2, _ROUNDS):
        decision = learner.snapshot(seed=t).act(t % _CONTEXTS)
        learner.learn(decision.token, rows[t, list(decision.revealed)])
        _check_round(learner, t)
        _require_distribution(learner.policy(0), problem.arms, f"After a snapshot played round {t}")


class _Masked(BlockEnvironment):
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
        mask: Booleans = ~missing | (contexts[:, None] == _CONTEXTS - 1)
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
