"""One algorithm on one environment: the loop, compiled where it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from crossbandit.algorithms import Algorithm
from crossbandit.environments import BlockEnvironment, Environment
from crossbandit.environments.environment import (
    checked_block,
    horizon_of,
    row_block,
    stretches,
)
from crossbandit.errors import InvalidContextError, InvalidLossesError, InvalidParameterError
from crossbandit.kernels.rounds import best_arms, first_outside, losses_of
from crossbandit.losses import LinearForm
from crossbandit.losses.forms import LINEAR_TOLERANCE
from crossbandit.simulation.progress import progress
from crossbandit.simulation.run import Run
from crossbandit.streams import Seed, fixed, stream
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crossbandit.algorithms import Learner
    from crossbandit.kernels.rounds import ContextBlock, Floats, Integers, LossBlock
    from crossbandit.problem import Problem


@runtime_checkable
class CompiledLearner(Protocol):
    """A learner that can play a stretch of rounds at once."""

    def simulate(
        self,
        indices: npt.NDArray[Any],
        contexts: ContextBlock,
        losses: LossBlock,
        arms: Integers,
        incurred: Floats,
    ) -> None:
        """Play len(arms) rounds: fill in the arms played and the losses incurred."""


def simulate(
    algorithm: Algorithm,
    environment: Environment,
    *,
    seed: Seed,
    compiled: bool | None = None,
    factored: bool | None = None,
    show_progress: bool | None = None,
) -> Run:
    """Run `algorithm` on `environment` from the first round to the horizon.

    Contexts depend on the seed alone: all algorithms meet the same ones, and a shorter horizon is
    the beginning of a longer one.

    Both switches are set by what is possible unless given, and change the speed alone.
    `compiled=False` takes the plain loop through `act` and `learn`. `factored=False` keeps a number
    per arm and context even where the environment's losses are exactly linear.

    >>> from crossbandit import CrossGraph, environments
    >>> run = simulate(CrossGraph(), environments.paper_benchmark(2_000, alpha=4), seed=200)
    >>> run.regret.shape, 150 < run.final_regret < 250
    ((2000,), True)
    """
    if not isinstance(algorithm, Algorithm):
        reject("simulate", "algorithm", "an Algorithm, such as CrossGraph()", algorithm)
    if not isinstance(environment, Environment):
        expected = "an Environment: something with problem, context_law and losses"
        reject("simulate", "environment", expected, environment)
    root = fixed(seed)
    if compiled is False or (factored is None and algorithm.needs_context_distribution):
        # Whoever looks at every context in every round reads a table faster than features.
        factored = False
    world = _world(environment, factored=factored)
    learner = algorithm.start(_problem(algorithm, world), seed=root)
    record = _Record(world, stream(root, "contexts"))
    with progress(algorithm.id, record.horizon, show=show_progress) as tell:
        if _compiled(world, learner, wanted=compiled):
            _play_compiled(world, learner, record, tell)
        else:
            _play_plain(world, learner, record, tell)
    record.check()
    return Run(
        algorithm=algorithm,
        environment=environment,
        seed=root,
        contexts=record.contexts,
        arms=record.arms,
        losses=record.losses,
        comparator_arms=record.comparator_arms,
        comparator_losses=record.comparator_losses,
    )


class _Record:
    """The arrays of a Run while they fill; contexts are drawn beforehand."""

    def __init__(self, environment: Environment, generator: np.random.Generator) -> None:
        self.horizon = horizon_of(environment)
        self.contexts = _contexts(environment, generator, self.horizon)
        self.arms = np.empty(self.horizon, dtype=np.int64)
        self.losses = np.empty(self.horizon)
        self.comparator_arms = np.empty(self.horizon, dtype=np.int64)
        self.comparator_losses = np.empty(self.horizon)

    def check(self) -> None:
        """Raise unless every loss that was met lies in [0, 1]."""
        met = np.stack([self.losses, self.comparator_losses])
        bad = first_outside(met, -LINEAR_TOLERANCE, 1.0 + LINEAR_TOLERANCE)
        if bad < 0:
            return
        who, t = divmod(bad, self.horizon)
        arm = (self.arms, self.comparator_arms)[who][t]
        raise InvalidLossesError(
            f"The environment's losses must lie in [0, 1]. Got {met[who, t]} in round {t} for arm "
            f"{arm} in context {self.contexts[t]}. crossbandit.checks.check_environment finds "
            "such rounds."
        )


def _contexts(
    environment: Environment, generator: np.random.Generator, horizon: int
) -> npt.NDArray[Any]:
    """Draw the contexts of all rounds; refuse what the problem does not have."""
    contexts = np.asarray(environment.context_law.draw(generator, horizon))
    form = environment.problem.form
    if form.contexts is None:
        expected = f"{horizon} vectors of {form.columns} finite numbers"
        fits = contexts.shape == (horizon, form.columns) and bool(np.isfinite(contexts).all())
    else:
        expected = f"{horizon} integers from 0 to {form.contexts - 1}"
        fits = (
            contexts.shape == (horizon,)
            and contexts.dtype.kind in "iu"
            and bool(((contexts >= 0) & (contexts < form.contexts)).all())
        )
    if not fits:
        span = f", from {contexts.min()} to {contexts.max()}" if contexts.dtype.kind in "iu" else ""
        raise InvalidContextError(
            f"The context law of {type(environment).__name__} must draw {expected}. Got an array "
            f"of shape {contexts.shape} and type {contexts.dtype}{span}."
        )
    return contexts


def _world(environment: Environment, *, factored: bool | None) -> Environment:
    """Return the form of the environment in which it is simulated."""
    if factored is False or isinstance(environment.problem.form, LinearForm):
        return environment
    linear = environment.factored() if isinstance(environment, BlockEnvironment) else None
    if linear is None and factored:
        raise InvalidParameterError(
            f"{type(environment).__name__} has no linear form: its losses are clipped, or differ "
            "from context to context without a rule. Leave out factored=True."
        )
    return environment if linear is None else linear


def _problem(algorithm: Algorithm, environment: Environment) -> Problem:
    law = environment.context_law.probabilities
    if algorithm.needs_context_distribution and law is not None:
        return environment.problem.with_distribution(law)
    return environment.problem


def _compiled(environment: Environment, learner: Learner, *, wanted: bool | None) -> bool:
    possible = isinstance(environment, BlockEnvironment) and isinstance(learner, CompiledLearner)
    if wanted and not possible:
        raise InvalidParameterError(
            f"There is no compiled loop for {type(learner.algorithm).__name__} on "
            f"{type(environment).__name__}: both must come in compiled form. Leave out "
            "compiled=True for the plain loop."
        )
    return possible if wanted is None else wanted


def _play_compiled(
    environment: Any, learner: Any, record: _Record, tell: Callable[[int], None]
) -> None:
    form = environment.problem.form
    for start, stop in stretches(record.horizon):
        now = slice(start, stop)
        contexts = form.block(record.contexts[now])
        losses = checked_block(environment, start, stop)
        learner.simulate(
            record.contexts[now], contexts, losses, record.arms[now], record.losses[now]
        )
        best = record.comparator_arms[now]
        if form.contexts is None:
            best_arms(environment.totals, contexts, best)
        else:
            best[:] = environment.best_arms[record.contexts[now]]
        losses_of(best, losses, contexts, record.comparator_losses[now])
        tell(stop)


def _play_plain(
    environment: Environment, learner: Learner, record: _Record, tell: Callable[[int], None]
) -> None:
    form = environment.problem.form
    totals = _totals(environment, record.horizon)
    for t in range(record.horizon):
        now = slice(t, t + 1)
        rows = _checked_rows(environment, t)
        decision = learner.act(record.contexts[t])
        learner.learn(decision, rows[list(decision.revealed)])
        record.arms[t] = decision.arm
        contexts, losses = form.block(record.contexts[now]), row_block(rows[None])
        losses_of(record.arms[now], losses, contexts, record.losses[now])
        best_arms(totals, contexts, record.comparator_arms[now])
        losses_of(record.comparator_arms[now], losses, contexts, record.comparator_losses[now])
        tell(t + 1)


def _totals(environment: Environment, horizon: int) -> Floats:
    if isinstance(environment, BlockEnvironment):
        return environment.totals
    totals = np.zeros((environment.problem.arms, environment.problem.form.columns))
    for t in range(horizon):
        totals += _checked_rows(environment, t)
    return totals


def _checked_rows(environment: Environment, round_: int) -> Floats:
    rows = np.ascontiguousarray(environment.losses(round_), dtype=np.float64)
    expected = (environment.problem.arms, environment.problem.form.columns)
    if rows.shape != expected or not np.isfinite(rows).all():
        got = f"shape {rows.shape}" if rows.shape != expected else "numbers that are not finite"
        raise InvalidLossesError(
            f"{type(environment).__name__}.losses must return finite numbers of shape {expected}, "
            f"arms by {environment.problem.form.column_name}s. Got {got} in round {round_}."
        )
    return rows
