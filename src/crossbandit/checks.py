"""Checks for an algorithm or an environment of one's own: the ones the built-in ones must pass.

    from crossbandit.checks import check_algorithm, check_environment
    check_algorithm(MyAlgorithm())
    check_environment(MyEnvironment())

Each raises `CheckFailedError` with what was found and the likely mistake.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import Algorithm, from_json, load
from crossbandit.environments import BlockEnvironment, Environment, from_table
from crossbandit.environments.environment import (
    availability,
    checked_block,
    horizon_of,
    longest_stretch,
)
from crossbandit.errors import (
    CheckFailedError,
    DecisionError,
    InvalidInputError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.graphs import FeedbackGraph, threshold
from crossbandit.kernels.rounds import LossBlock, write_rows
from crossbandit.losses import DenseForm
from crossbandit.losses.forms import LINEAR_TOLERANCE
from crossbandit.simulation import simulate
from crossbandit.simulation.players import CompiledLearner
from crossbandit.streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crossbandit.algorithms import Learner
    from crossbandit.kernels.rounds import Booleans
    from crossbandit.problem import Problem

_ROUNDS = 60
_CONTEXTS = 4


def check_algorithm(algorithm: Algorithm, graph: FeedbackGraph | None = None) -> None:
    """Raise CheckFailedError unless `algorithm` keeps the promises of `Algorithm` and `Learner`.

    It is played for a few rounds on `graph` (a threshold graph of 4 arms, if None).
    """
    graph = threshold(4) if graph is None else graph
    losses = np.random.default_rng(0).random((_ROUNDS, _CONTEXTS, graph.arms))
    environment = from_table(losses, graph, [0.4, 0.3, 0.2, 0.1])
    problem = environment.problem
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution([0.4, 0.3, 0.2, 0.1])
    rows = losses.transpose(0, 2, 1)
    _check_identity(algorithm)
    _check_seeding(algorithm, problem, rows)
    _check_policy(algorithm, problem, rows)
    _check_availability(algorithm, problem, rows)
    _check_rejections(algorithm, problem, rows)
    _check_late_feedback(algorithm, problem, rows)
    _check_checkpoint(algorithm, problem, rows)
    _check_simulation(algorithm, environment)
    if algorithm.takes_availability:
        _check_simulation(algorithm, _Masked(environment))


def check_environment(environment: Environment, rounds: int = 50) -> None:
    """Raise CheckFailedError unless `environment` keeps the promises of `Environment`.

    Losses are looked at in `rounds` rounds, spread over the horizon.
    """
    if not isinstance(environment, Environment):
        raise CheckFailedError(
            f"{environment!r} is not an Environment: it needs the attributes problem and "
            "context_law, and a method losses(round)."
        )
    try:
        horizon = horizon_of(environment)
        _check_rounds(environment, horizon, rounds)
    except InvalidInputError as error:  # what a simulation would refuse
        raise CheckFailedError(str(error)) from error


def _check_rounds(environment: Environment, horizon: int, rounds: int) -> None:
    _check_contexts(environment, min(horizon, 1000))
    for t in np.unique(np.linspace(0, horizon - 1, min(rounds, horizon)).astype(int)):
        _check_losses(environment, int(t))
    if isinstance(environment, BlockEnvironment):
        _check_block(environment, horizon)


def _require(condition: object, found: str, hint: str) -> None:
    if not condition:
        raise CheckFailedError(f"{found} {hint}")


def _episode(learner: Learner, rows: Any, rounds: range = range(_ROUNDS)) -> list[int]:
    arms = []
    for t in rounds:
        decision = learner.act(t % _CONTEXTS)
        losses = rows[t, list(decision.revealed)]
        before = losses.copy()
        learner.learn(decision, losses)
        _require(
            np.array_equal(losses, before),
            "learn changed the losses that it was given.",
            "Copy before changing in place.",
        )
        arms.append(decision.arm)
    return arms


def _check_identity(algorithm: Algorithm) -> None:
    data = algorithm.to_json()
    try:
        again = from_json(json.loads(json.dumps(data)))
    except Exception as error:
        raise CheckFailedError(
            f"{algorithm!r} does not come back from its JSON form {data}: {error} "
            "Is its class registered, and are its parameters plain numbers and strings?"
        ) from error
    _require(
        again == algorithm and hash(again) == hash(algorithm),
        f"{algorithm!r} is not equal to itself after a round trip through JSON, but {again!r}.",
        "Is its class a frozen dataclass?",
    )


def _check_seeding(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    first = _episode(algorithm.start(problem, seed=1), rows)
    second = _episode(algorithm.start(problem, seed=1), rows)
    _require(
        first == second,
        "The same seed gave different arms.",
        "Does the learner draw from anything but its own generator?",
    )


def _check_policy(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    learner = algorithm.start(problem, seed=2)
    for t in range(_ROUNDS):
        context = t % _CONTEXTS
        policy = learner.policy(context)
        again = learner.policy(context)
        _require(
            policy.shape == (problem.arms,)
            and (policy >= 0).all()
            and abs(policy.sum() - 1) < 1e-9,
            f"In round {t}, policy is not a distribution over the arms: {policy}.",
            "Subtract the least score before exponentiating, and normalise.",
        )
        _require(
            np.array_equal(policy, again),
            f"In round {t}, asking for the policy changed it.",
            "policy must leave the state and the generator alone.",
        )
        decision = learner.act(context)
        _require(
            abs(decision.probability - policy[decision.arm]) < 1e-12,
            f"In round {t}, act played arm {decision.arm} with probability "
            f"{decision.probability}, but policy had said {policy[decision.arm]}.",
            "Both must come from the same distribution.",
        )
        learner.learn(decision, rows[t, list(decision.revealed)])


def _check_availability(algorithm: Algorithm, problem: Problem, rows: Any) -> None:
    learner = algorithm.start(problem, seed=7)
    if not algorithm.takes_availability:
        _require(
            _raises(InvalidParameterError, lambda: learner.act(0, np.ones(problem.arms, bool))),
            "act took an `available`, although takes_availability is False.",
            "Do not override act, but _play.",
        )
        return
    masks = np.random.default_rng(0).random((_ROUNDS, problem.arms)) < 0.5
    masks[np.arange(_ROUNDS), np.arange(_ROUNDS) % problem.arms] = True
    for t, mask in enumerate(masks):
        policy = learner.policy(t % _CONTEXTS, mask)
        _require(
            (policy[~mask] == 0).all() and abs(policy.sum() - 1) < 1e-9,
            f"In round {t}, with the arms {np.flatnonzero(mask)} available, the policy is "
            f"{policy}.",
            "An arm that is not available has probability 0: also where arms are explored.",
        )
        decision = learner.act(t % _CONTEXTS, mask)
        _require(
            mask[decision.arm] and abs(decision.probability - policy[decision.arm]) < 1e-12,
            f"In round {t}, act played arm {decision.arm}, where only {np.flatnonzero(mask)} were "
            "available.",
            "Read ticket.reading.available in _play.",
        )
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
    _require(
        arms == reference,
        "Rejected feedback changed which arms were played later.",
        "Validate first; change the state only after everything has been found good.",
    )


def _must_raise(
    error: type[Exception], learner: Learner, decision: Any, losses: Any, what: str
) -> None:
    _require(
        _raises(error, lambda: learner.learn(decision, losses)),
        f"learn accepted {what}.",
        f"It must raise {error.__name__}: do not override learn, but _play and _absorb.",
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
    _require(
        np.isfinite(policy).all() and abs(policy.sum() - 1) < 1e-9,
        f"After late, unordered and missing feedback the policy is {policy}.",
        "Fix the weight of a round's feedback when it is played, and keep it on the ticket.",
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
        _require(
            _episode(resumed, rows, rest) == _episode(learner, rows, rest),
            "A learner that was saved and loaded played other arms than the one that went on.",
            "Does _state return everything that is learned, as arrays that load can fill in place?",
        )


class _Masked(BlockEnvironment):
    """An environment of which each context but the last lacks an arm."""

    def __init__(self, whole: BlockEnvironment) -> None:
        self.problem, self.context_law, self._whole = whole.problem, whole.context_law, whole

    def block(self, start: int, stop: int) -> LossBlock:
        return self._whole.block(start, stop)

    def available(self, contexts: npt.NDArray[Any]) -> Booleans:
        missing = contexts[:, None] % self.problem.arms == np.arange(self.problem.arms)
        mask: Booleans = ~missing | (contexts[:, None] == _CONTEXTS - 1)
        return mask


def _check_simulation(algorithm: Algorithm, environment: BlockEnvironment) -> None:
    run = simulate(algorithm, environment, seed=6, show_progress=False)
    _require(
        np.isfinite(run.final_regret),
        f"A simulation ended with a regret of {run.final_regret}.",
        "Look for an overflow.",
    )
    learner = algorithm.start(environment.problem.with_distribution([0.4, 0.3, 0.2, 0.1]), seed=6)
    if not isinstance(learner, CompiledLearner):
        return
    plain = simulate(algorithm, environment, seed=6, compiled=False, show_progress=False)
    _require(
        np.array_equal(run.arms, plain.arms),
        "The compiled and the plain simulation played different arms.",
        "Do both use the same kernel, and draw the same numbers in the same order?",
    )


def _check_contexts(environment: Environment, count: int) -> None:
    law, form = environment.context_law, environment.problem.form
    contexts = law.draw(stream(0, "contexts"), count)
    _require(
        len(contexts) == count,
        f"context_law.draw(generator, {count}) returned {len(contexts)} contexts.",
        "It must return one for each round.",
    )
    for context in contexts:
        try:
            form.reading(context)
        except ValueError as error:
            raise CheckFailedError(
                f"The context law drew a context that is none: {error}"
            ) from None
    generator = stream(0, "contexts")
    pieces = np.concatenate([law.draw(generator, count // 2), law.draw(generator, -(-count // 2))])
    _require(
        np.array_equal(contexts, pieces),
        "Drawing contexts in two pieces gave others than drawing them at once.",
        "Then a shorter run is not the beginning of a longer one. Draw a fixed number of uniform "
        "numbers per context.",
    )
    if law.probabilities is not None:
        _require(
            form.contexts is None or len(law.probabilities) == form.contexts,
            f"The context law has {len(law.probabilities)} probabilities.",
            f"The problem has {form.contexts} contexts.",
        )


def _check_losses(environment: Environment, t: int) -> None:
    problem = environment.problem
    rows = np.array(environment.losses(t))
    expected = (problem.arms, problem.form.columns)
    _require(
        rows.shape == expected,
        f"losses({t}) has shape {rows.shape}.",
        f"It must have shape {expected}: arms by {problem.form.column_name}s.",
    )
    _require(
        np.array_equal(rows, environment.losses(t), equal_nan=True),
        f"losses({t}) gave different answers when asked twice.",
        "An oblivious environment fixes its losses beforehand: derive them from the round.",
    )
    met = rows if isinstance(problem.form, DenseForm) else _at_contexts(environment, rows)
    tolerance = 0.0 if isinstance(problem.form, DenseForm) else LINEAR_TOLERANCE
    _require(
        bool(((met >= -tolerance) & (met <= 1 + tolerance)).all()),
        f"Losses of round {t} range from {met.min()} to {met.max()}.",
        "They must lie in [0, 1]: scale and shift them.",
    )


def _at_contexts(environment: Environment, rows: Any) -> Any:
    contexts = environment.context_law.draw(stream(1, "contexts"), 200)
    block = environment.problem.form.block(contexts)
    met = (rows * block.table[block.entry]).sum(axis=2)
    available = availability(environment, contexts)
    return met if available is None else met[available]


def _check_block(environment: BlockEnvironment, horizon: int) -> None:
    start, rows = horizon // 2, np.empty(environment.totals.shape)
    stop = min(horizon, start + longest_stretch(environment))
    block = checked_block(environment, start, stop)
    for t in {start, (start + stop) // 2, stop - 1}:
        write_rows(block, t - start, rows)
        _require(
            np.allclose(rows, environment.losses(t), rtol=0, atol=1e-12),
            f"Round {t} has other losses in block({start}, {stop}) than in block({t}, {t + 1}).",
            "A block begins with the losses of its own first round.",
        )
