"""Check that an algorithm, or an environment, follows the rules."""

from __future__ import annotations

import inspect
import json
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit import errors
from crossbandit.algorithms import Algorithm, Decision, Learner, from_json, load
from crossbandit.algorithms.learners.problem import Problem
from crossbandit.core.forms import ROUNDING, DenseForm
from crossbandit.core.losses import write_rows
from crossbandit.core.streams import stream
from crossbandit.environments import BlockEnvironment, Environment, from_table
from crossbandit.environments import environment as base
from crossbandit.environments.simulation import simulate
from crossbandit.environments.simulation.players import BatchPlayer
from crossbandit.graphs import FeedbackGraph, threshold
from crossbandit.graphs.graph import as_graph
from crossbandit.verify.checks.enumeration import check_estimator

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crossbandit.core.blocks import LossBlock
    from crossbandit.core.types import Booleans, Floats

_SAMPLES = 1000
_EASY_ROUNDS = 2000
_EASY_CONTEXTS = 2
_LEAST = 0.8  # as a share of the regret of uniform play
ROUNDS = 60
CONTEXTS = 4
DISTRIBUTION = [0.4, 0.3, 0.2, 0.1]  # the probabilities of the contexts


def check_algorithm(
    algorithm: Algorithm, graph: FeedbackGraph | npt.ArrayLike | None = None
) -> None:
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
    graph = threshold(4) if graph is None else as_graph("check_algorithm", graph)
    losses = np.random.default_rng(0).random((ROUNDS, CONTEXTS, graph.arms))
    environment = from_table(losses, graph, DISTRIBUTION)
    problem = environment.problem
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution(DISTRIBUTION)
    trial = _Trial(algorithm, problem, losses.transpose(0, 2, 1))
    _check_identity(algorithm)
    trial.check_policy()
    trial.check_seeding()
    trial.check_linear_form()
    trial.check_availability()
    trial.check_rejections()
    trial.check_late_feedback()
    trial.check_checkpoint()
    if not algorithm.needs_memory:
        trial.check_tokens()
        trial.check_snapshot()
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
        raise errors.CheckFailedError(
            f"{algorithm!r} cannot be made again from its JSON form {data}: {error} "
            "Is its class registered, and are its parameters plain numbers and strings?"
        ) from error
    require(
        again == algorithm and hash(again) == hash(algorithm),
        f"{algorithm!r} was written as JSON, and read as {again!r}, which is not equal to it.",
        "Is its class a frozen dataclass?",
    )


class _Trial:
    """An algorithm, a problem, and the losses of a few rounds (rounds, arms, contexts)."""

    def __init__(self, algorithm: Algorithm, problem: Problem, rows: Any) -> None:
        self.algorithm, self.problem, self.rows = algorithm, problem, rows

    def start(self, seed: int) -> Learner:
        """Return a new learner."""
        learner: Learner = self.algorithm.start(self.problem, seed=seed)
        return learner

    def feedback(self, t: int, decision: Decision) -> Any:
        """Return the losses that a decision of round `t` reveals."""
        return self.rows[t, list(decision.revealed)]

    def episode(self, learner: Learner, rounds: range = range(ROUNDS)) -> list[int]:
        """Play rounds with prompt feedback; return the arms that were played."""
        arms = []
        for t in rounds:
            decision = learner.act(t % CONTEXTS)
            _check_round(learner, t)
            losses = self.feedback(t, decision)
            before = losses.copy()
            learner.learn(decision, losses)
            require(
                np.array_equal(losses, before),
                "learn changed the losses that it was given.",
                "Copy before changing in place.",
            )
            arms.append(decision.arm)
        return arms

    def check_policy(self) -> None:
        """Check that `act` draws from what `policy` returns."""
        learner = self.start(2)
        try:
            inspect.signature(learner.policy).bind(0, None)
        except TypeError as error:
            raise errors.CheckFailedError(
                f"policy does not take a context and which arms are available: {error}. Its "
                "signature is policy(self, context, available=None). Override distribution instead."
            ) from error
        for t in range(ROUNDS):
            policy = learner.policy(t % CONTEXTS)
            _require_distribution(policy, self.problem.arms, f"In round {t}")
            require(
                np.array_equal(policy, learner.policy(t % CONTEXTS)),
                f"In round {t}, asking for the policy changed it.",
                "policy must leave the state and the generator alone.",
            )
            self._play(learner, t, policy, None)
        if not learner.samples_only:
            return
        policy, played = learner.policy(0), np.zeros(self.problem.arms)
        for _ in range(_SAMPLES):  # without feedback
            played[learner.act(0).arm] += 1
        # Both are means of 1,000 draws. They differ by more than this with probability below 1e-8.
        require(
            np.abs(policy - played / _SAMPLES).max() < 6.0 * np.sqrt(0.5 / _SAMPLES),
            f"act played the arms with frequencies {played / _SAMPLES}, but policy says {policy}.",
            "Both must call sample, and playing without feedback must not change what is sampled.",
        )

    def check_availability(self) -> None:
        """Check that only available arms are played."""
        learner, arms = self.start(7), self.problem.arms
        if not self.algorithm.takes_availability:
            require(
                raises(errors.InvalidParameterError, lambda: learner.act(0, np.ones(arms, bool))),
                "act accepted `available`, although takes_availability is False.",
                "Do not override act, but distribution, sample or play.",
            )
            return
        masks = np.random.default_rng(0).random((ROUNDS, arms)) < 0.5
        masks[np.arange(ROUNDS), np.arange(ROUNDS) % arms] = True
        for t, mask in enumerate(masks):
            policy = learner.policy(t % CONTEXTS, mask)
            require(
                (policy[~mask] == 0).all() and abs(policy.sum() - 1) < 1e-9,
                f"In round {t}, with the arms {np.flatnonzero(mask)} available, the policy is "
                f"{policy}.",
                "An arm that is not available must have probability 0, also in exploration.",
            )
            self._play(learner, t, policy, mask)

    def _play(self, learner: Learner, t: int, policy: Any, mask: Booleans | None) -> None:
        """Play round `t`, with some arms or all, and check that the decision is of the policy."""
        decision = learner.act(t % CONTEXTS, mask)
        _check_round(learner, t)
        arm, probability = decision.arm, decision.probability
        may = np.ones(len(policy), np.bool_) if mask is None else mask
        require(
            may[arm],
            f"In round {t}, act played arm {arm}, but only {np.flatnonzero(may)} were available.",
            "Read readout.available, or readout.may_play(arms), in distribution or sample.",
        )
        if learner.samples_only:
            require(
                math.isnan(probability),
                f"In round {t}, act returned a probability of {probability}, although samples_only "
                "is True.",
                "play must return NaN: the probability is not known.",
            )
        else:
            require(
                abs(probability - policy[arm]) < 1e-12,
                f"In round {t}, act played arm {arm} with probability {probability}, but policy "
                f"had said {policy[arm]}.",
                "Both must come from the same distribution.",
            )
        learner.learn(decision, self.feedback(t, decision))

    def check_seeding(self) -> None:
        """Check that the same seed plays the same arms."""
        require(
            self.episode(self.start(1)) == self.episode(self.start(1)),
            "The same seed gave different arms.",
            "Does the learner draw from anything but its own generator?",
        )

    def check_linear_form(self) -> None:
        """Check linear losses with an indicator feature for each context, which equal dense losses.

        The features are not in the order of the contexts. An algorithm may refuse linear losses.
        """
        linear = Problem(
            self.problem.graph,
            features=np.eye(CONTEXTS)[::-1],
            horizon=self.problem.horizon,
            context_distribution=self.problem.context_distribution,
        )
        other = _Trial(self.algorithm, linear, np.ascontiguousarray(self.rows[:, :, ::-1]))
        try:
            learner = other.start(8)
        except errors.InvalidInputError:
            return
        require(
            other.episode(learner) == self.episode(self.start(8)),
            "The same losses led to different arms in linear form and in dense form.",
            "Read estimates through readout.losses, not by a context's number.",
        )

    def check_rejections(self) -> None:
        """Check that bad feedback is refused, and changes nothing."""
        learner, reference, arms = self.start(3), self.episode(self.start(3)), []

        def must_raise(error: type[Exception], made: Decision, bad: Any, what: str) -> None:
            require(
                raises(error, lambda: learner.learn(made, bad)),
                f"learn accepted {what}.",
                f"It must raise {error.__name__}: do not override learn, but update.",
            )

        for t in range(ROUNDS):
            decision = learner.act(t % CONTEXTS)
            losses = self.feedback(t, decision)
            if losses.size:  # an arm may reveal nothing
                must_raise(errors.InvalidLossesError, decision, losses * np.nan, "losses of NaN")
                must_raise(errors.InvalidLossesError, decision, losses + 2, "losses above 1")
                must_raise(errors.InvalidLossesError, decision, losses[:, :-1], "a missing column")
            learner.learn(decision, losses)
            must_raise(errors.DecisionError, decision, losses, "the same decision twice")
            foreign = decision._replace(learner="another")
            must_raise(errors.DecisionError, foreign, losses, "another learner's decision")
            arms.append(decision.arm)
        require(
            arms == reference,
            "Rejected feedback changed which arms were played later.",
            "Validate first, and change the state only if everything is valid.",
        )

    def check_late_feedback(self) -> None:
        """Check late, unordered and missing feedback."""
        learner, out = self.start(4), []
        for t in range(ROUNDS):
            out.append((t, learner.act(t % CONTEXTS)))
            if t % 3 == 2:
                t_late, late = out.pop(len(out) // 2)
                learner.learn(late, self.feedback(t_late, late))
        for t, decision in reversed(out[::2]):
            learner.learn(decision, self.feedback(t, decision))
        policy = learner.policy(0)
        require(
            np.isfinite(policy).all() and abs(policy.sum() - 1) < 1e-9,
            f"After late, unordered and missing feedback the policy is {policy}.",
            "Fix the weight of feedback when the round is played, and keep it in pending.weights.",
        )

    def check_checkpoint(self) -> None:
        """Check that a learner resumes exactly."""
        for stop in (ROUNDS // 2, ROUNDS // 2 + 1):
            learner = self.start(5)
            self.episode(learner, range(stop))
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "learner"
                learner.save(path)
                resumed = load(path)
            rest = range(stop, ROUNDS)
            require(
                self.episode(resumed, rest) == self.episode(learner, rest),
                "A learner that was saved and loaded played other arms than the original.",
                "Does state return everything that is learned, as arrays that load can fill in "
                "place?",
            )

    def check_tokens(self) -> None:
        """Check that late feedback with a token has the same effect as with the decision."""
        one, other = self.start(9), self.start(9)
        made = [(one.act(t % CONTEXTS).token, other.act(t % CONTEXTS)) for t in range(ROUNDS)]
        for t, (token, decision) in reversed(list(enumerate(made))):
            one.learn(token, self.feedback(t, decision))
            other.learn(decision, self.feedback(t, decision))
        for context in range(CONTEXTS):
            require(
                np.array_equal(one.policy(context), other.policy(context)),
                f"Learning from tokens gave the policy {one.policy(context)}, learning from "
                f"decisions {other.policy(context)}, although needs_memory is False.",
                "update may use only the round, context, readout, arm, weights and baseline of a "
                "pending decision. If it needs more, set needs_memory = True.",
            )

    def check_snapshot(self) -> None:
        """Check that a snapshot decides as its learner would, and does not change."""
        learner = self.start(10)
        self.episode(learner, range(ROUNDS // 2))
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
            learner.learn(decision.token, self.feedback(t, decision))
            _check_round(learner, t)
            after = f"After a snapshot played round {t}"
            _require_distribution(learner.policy(0), self.problem.arms, after)


# --- simulations ---------------------------------------------------------------------------------


def check_simulation(algorithm: Algorithm, environment: BlockEnvironment) -> None:
    """Check that the compiled and the plain simulation play the same arms.

    If the algorithm can be told which arms are available, this is repeated with a missing arm.
    """
    learner = algorithm.start(environment.problem.with_distribution(DISTRIBUTION), seed=6)
    masked = [_MaskedEnvironment(environment)] if algorithm.takes_availability else []
    for one in (environment, *masked):
        run = simulate(algorithm, one, seed=6, show_progress=False)
        require(
            np.isfinite(run.final_regret),
            f"A simulation ended with a regret of {run.final_regret}.",
            "Look for an overflow.",
        )
        if isinstance(learner, BatchPlayer):
            plain = simulate(algorithm, one, seed=6, compiled=False, show_progress=False)
            require(
                np.array_equal(run.arms, plain.arms),
                "The compiled and the plain simulation played different arms.",
                "Do both use the same steps, and draw the same numbers in the same order?",
            )


class _MaskedEnvironment(BlockEnvironment):
    """An environment in which one arm is not available in each context but the last."""

    def __init__(self, whole: BlockEnvironment) -> None:
        self._whole, self.problem = whole, whole.problem
        self.context_distribution = whole.context_distribution

    def block(self, start: int, stop: int) -> LossBlock:
        return self._whole.block(start, stop)

    def available(self, contexts: npt.NDArray[Any]) -> Booleans:
        missing = contexts[:, None] % self.problem.arms == np.arange(self.problem.arms)
        mask: Booleans = ~missing | (contexts[:, None] == CONTEXTS - 1)
        return mask


def check_secrecy(
    algorithm: Algorithm, graph: FeedbackGraph, losses: Floats, distribution: list[float]
) -> None:
    """Check that losses which no play revealed make no difference.

    A run is repeated with other losses wherever nothing was revealed. If the algorithm then plays
    other arms, it has read losses that were not revealed. Compiled code can do that by mistake: it
    is given the losses of all arms.
    """
    environment = from_table(losses, graph, distribution)
    first = simulate(algorithm, environment, seed=9, show_progress=False)
    revealed = graph.adjacency[first.arms]
    if algorithm.needs_own_loss:  # it ignores the graph
        revealed = np.eye(graph.arms, dtype=np.bool_)[first.arms]
    changed = np.where(revealed[:, None, :], losses, 1.0 - losses)
    second = simulate(
        algorithm, from_table(changed, graph, distribution), seed=9, show_progress=False
    )
    require(
        np.array_equal(first.arms, second.arms),
        "Other losses where nothing was revealed led to other arms.",
        "Learn from what feedback_of returns, not from rounds.losses.",
    )


def check_beats_uniform(algorithm: Algorithm, graph: FeedbackGraph) -> None:
    """Check that an algorithm has clearly less regret than uniform play on an easy problem.

    In all 2,000 rounds the best arm of a context loses 0.2 and the others 0.8. The two contexts
    have different best arms. Its regret must be below 0.8 times that of uniform play. Uniform play
    itself passes with a probability of at most exp(-2 T (0.2 (K - 1) / K)^2), by Hoeffding's
    inequality: below 1e-17 for two arms or more. The seed is fixed.

    Nothing is checked if the algorithm promises nothing: if some arm is not observable, or if it is
    for stochastic losses and some arm has no self-loop.
    """
    hidden = graph.observability == "none" and not algorithm.needs_own_loss
    unproved = algorithm.stochastic_only and graph.arms_without_self_loop
    if graph.arms < 2 or hidden or unproved:
        return
    losses = np.full((_EASY_CONTEXTS, graph.arms), 0.8)
    losses[np.arange(_EASY_CONTEXTS), [1, 0]] = 0.2
    table = np.broadcast_to(losses, (_EASY_ROUNDS, *losses.shape))
    environment = from_table(table, graph)
    regret = simulate(algorithm, environment, seed=3, show_progress=False).final_regret
    uniform = 0.6 * (1.0 - 1.0 / graph.arms) * _EASY_ROUNDS
    require(
        regret < _LEAST * uniform,
        f"In {_EASY_ROUNDS} rounds in which the best arm of a context loses 0.2 and all others 0.8,"
        f" its regret is {regret:.1f}; uniform play has {uniform:.1f}.",
        "Does it prefer arms with small estimates, and do estimates have the right sign?",
    )


# --- a few rounds --------------------------------------------------------------------------------


def require(condition: object, found: str, hint: str) -> None:
    """Raise CheckFailedError with what was found and the likely mistake, unless `condition`."""
    if not condition:
        raise errors.CheckFailedError(f"{found} {hint}")


def _check_round(learner: Learner, t: int) -> None:
    """Check that a learner has counted round `t`."""
    require(
        learner.round == t + 1,
        f"After {t + 1} rounds were played, round is {learner.round}.",
        "It is the number of rounds played, which act counts: do not override act or round.",
    )


def _require_distribution(policy: Any, arms: int, when: str) -> None:
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


# --- environments --------------------------------------------------------------------------------


def check_environment(environment: Environment, rounds: int = 50) -> None:
    """Check that an environment follows the rules of `Environment`.

    Args:
        environment: The environment.
        rounds: The number of rounds to check, spread over the horizon.

    Raises:
        CheckFailedError: It breaks a rule. The message says what was found, and the likely
            mistake.

    >>> from crossbandit import environments
    >>> check_environment(environments.paper_benchmark(100, alpha=4, contexts=5))
    """
    if not isinstance(environment, Environment):
        raise errors.CheckFailedError(
            f"{environment!r} is not an Environment: it needs the attributes problem and "
            "context_distribution, and a method losses(round)."
        )
    try:
        horizon = base.horizon_of(environment)
        _check_contexts(environment, min(horizon, 1000))
        for t in np.unique(np.linspace(0, horizon - 1, min(rounds, horizon)).astype(int)):
            _check_losses(environment, int(t))
        if isinstance(environment, BlockEnvironment):
            _check_block(environment, horizon)
    except errors.InvalidInputError as error:  # what a simulation would refuse
        raise errors.CheckFailedError(str(error)) from error


def _check_contexts(environment: Environment, count: int) -> None:
    distribution, form = environment.context_distribution, environment.problem.form
    contexts = distribution.draw(stream(0, "contexts"), count)
    require(
        len(contexts) == count,
        f"context_distribution.draw(generator, {count}) returned {len(contexts)} contexts.",
        "It must return one for each round.",
    )
    for context in contexts:
        try:
            form.readout(context)
        except ValueError as error:
            raise errors.CheckFailedError(
                f"The context distribution drew something that is not a context: {error}"
            ) from None
    generator = stream(0, "contexts")
    halves = count // 2, -(-count // 2)
    pieces = np.concatenate([distribution.draw(generator, half) for half in halves])
    require(
        np.array_equal(contexts, pieces),
        "Contexts drawn in two pieces differ from contexts drawn at once.",
        "Then a shorter run is not the beginning of a longer one. Draw a fixed number of uniform "
        "numbers per context.",
    )
    if distribution.probabilities is not None:
        require(
            form.contexts is None or len(distribution.probabilities) == form.contexts,
            f"The context distribution has {len(distribution.probabilities)} probabilities.",
            f"The problem has {form.contexts} contexts.",
        )


def _check_losses(environment: Environment, t: int) -> None:
    problem = environment.problem
    rows = np.array(environment.losses(t))
    expected = (problem.arms, problem.form.columns)
    require(
        rows.shape == expected,
        f"losses({t}) has shape {rows.shape}.",
        f"It must have shape {expected}: arms by {problem.form.column_name}s.",
    )
    require(
        np.array_equal(rows, environment.losses(t), equal_nan=True),
        f"losses({t}) gave different answers when asked twice.",
        "Losses must depend on the number of the round alone.",
    )
    met = rows if isinstance(problem.form, DenseForm) else _at_contexts(environment, rows)
    require(
        bool(((met >= -ROUNDING) & (met <= 1 + ROUNDING)).all()),
        f"Losses of round {t} range from {met.min()} to {met.max()}.",
        "They must lie in [0, 1]: scale and shift them.",
    )


def _at_contexts(environment: Environment, rows: Any) -> Any:
    contexts = environment.context_distribution.draw(stream(1, "contexts"), 200)
    block = environment.problem.form.block(contexts)
    met = (rows * block.table[block.entry]).sum(axis=2)
    available = base.availability(environment, contexts)
    return met if available is None else met[available]


def _check_block(environment: BlockEnvironment, horizon: int) -> None:
    start, rows = horizon // 2, np.empty(environment.totals.shape)
    stop = min(horizon, start + base.longest_batch(environment))
    block = base.checked_block(environment, start, stop)
    for t in {start, (start + stop) // 2, stop - 1}:
        write_rows(block, t - start, rows)
        require(
            np.allclose(rows, environment.losses(t), rtol=0, atol=1e-12),
            f"Round {t} has other losses in block({start}, {stop}) than in block({t}, {t + 1}).",
            "A block begins with the losses of its own first round.",
        )
