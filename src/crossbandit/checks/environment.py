"""Check that an environment follows the rules of `Environment`."""

from __future__ import annotations

from typing import Any

import numpy as np

from crossbandit.checks.episodes import require
from crossbandit.environments import BlockEnvironment, Environment
from crossbandit.environments.checking import availability, checked_block
from crossbandit.environments.environment import horizon_of, longest_batch
from crossbandit.errors import CheckFailedError, InvalidInputError
from crossbandit.kernels.rows import write_rows
from crossbandit.losses import DenseForm
from crossbandit.losses.forms import ROUNDING
from crossbandit.streams import stream


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
        raise CheckFailedError(
            f"{environment!r} is not an Environment: it needs the attributes problem and "
            "context_distribution, and a method losses(round)."
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
            raise CheckFailedError(
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
    available = availability(environment, contexts)
    return met if available is None else met[available]


def _check_block(environment: BlockEnvironment, horizon: int) -> None:
    start, rows = horizon // 2, np.empty(environment.totals.shape)
    stop = min(horizon, start + longest_batch(environment))
    block = checked_block(environment, start, stop)
    for t in {start, (start + stop) // 2, stop - 1}:
        write_rows(block, t - start, rows)
        require(
            np.allclose(rows, environment.losses(t), rtol=0, atol=1e-12),
            f"Round {t} has other losses in block({start}, {stop}) than in block({t}, {t + 1}).",
            "A block begins with the losses of its own first round.",
        )
