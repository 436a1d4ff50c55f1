"""The protocol of an environment, and the form that the compiled simulation needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from crossbandit.environments.round_graphs import block_of, graph_rule
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.kernels.limits import first_outside
from crossbandit.kernels.rounds import LossBlock, read_only, write_rows
from crossbandit.kernels.totals import add_totals, best_arms
from crossbandit.losses import LinearForm
from crossbandit.losses.forms import ROUNDING
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.environments.contexts import ContextDistribution
    from crossbandit.kernels.paced_rounds import PacedRounds
    from crossbandit.kernels.round_graphs import GraphBlock
    from crossbandit.problem import Problem
    from crossbandit.types import Booleans, Floats, Integers

# Rounds in one batch: many enough that the overhead is small, few enough to react to an interrupt.
# Where the losses of a round take much memory, a batch has fewer rounds.
LONGEST_BATCH = 8192
_BATCH_NUMBERS = 2**21

_ROWS = "an array of numbers of shape (rounds, arms, contexts) or (rounds, arms, features)"


@runtime_checkable
class Environment(Protocol):
    """Protocol of an environment: a problem with a horizon, a context distribution and losses.

    Losses are oblivious: `losses(t)` must not depend on what was played, and must return the same
    numbers on every call. If some arms are unavailable in some contexts, the environment also has a
    method `available(contexts)`, which returns a boolean for each context and arm.

    If the graph changes, the problem says so (`Problem.graph_kind`), and the environment also has a
    method `graph(round_)`, or `graph(round_, context)` if it depends on the context, which returns
    the `FeedbackGraph` of a round. A simulation reveals by this graph and no other. The graph of
    the problem then holds the edges that every round has.
    `crossbandit.checks.check_environment` tests an environment.
    """

    @property
    def problem(self) -> Problem:
        """What a learner knows before the first round."""

    @property
    def context_distribution(self) -> ContextDistribution:
        """The distribution from which contexts are drawn."""

    def losses(self, round_: int) -> Floats:
        """Return the losses of all arms in one round.

        Args:
            round_: The round, from 0.

        Returns:
            Losses of shape (K, contexts), or coefficients of shape (K, features) if the problem's
            losses are linear.
        """


class RunLimits(Protocol):
    """The limits of one run: contexts and available arms depend on what was played."""

    @property
    def share_left(self) -> float:
        """The share of the budget that is left, from 0 to 1."""

    def rounds(self, start: int, contexts: npt.NDArray[Any]) -> PacedRounds:
        """Return consecutive rounds under what is left of the limits.

        Args:
            start: The first round.
            contexts: The contexts, as they are drawn.
        """


class BlockEnvironment(ABC):
    """An environment in one of the two loss forms, for the compiled simulation.

    A subclass sets `problem` and `context_distribution`, and overrides `block`, which returns a
    `LossBlock`; `row_block` makes one from plain rows. It also overrides `available` if not every
    arm is available in every context.
    """

    problem: Problem
    context_distribution: ContextDistribution

    @abstractmethod
    def block(self, start: int, stop: int) -> LossBlock:
        """Return the losses of consecutive rounds.

        Args:
            start: The first round.
            stop: The round after the last.
        """

    def available(self, contexts: npt.NDArray[Any]) -> Booleans | None:
        """Return which arms are available in each context.

        Args:
            contexts: n contexts, as the context distribution draws them.

        Returns:
            Booleans of shape (n, K), or None if every arm is always available.
        """
        del contexts
        return None

    def graphs(self, start: int, contexts: npt.NDArray[Any]) -> GraphBlock:
        """Return the graphs of consecutive rounds, for the compiled simulation.

        By default, the graph of the problem; or, if graphs change, what the method `graph` returns
        for each round. Override it where many graphs can be made faster at once.

        Args:
            start: The first round.
            contexts: The contexts of the rounds.

        Returns:
            The graphs, as `graph_block` makes them.
        """
        return block_of(graph_rule(self), start, contexts)

    def limits(self) -> RunLimits | None:
        """Return the limits of a new run, such as a budget; None if there are none."""
        return None

    def comparator(self, start: int, contexts: npt.NDArray[Any]) -> Integers | None:
        """Return what the comparator plays, if that is not the best arm of each context.

        Args:
            start: The first round.
            contexts: The contexts of consecutive rounds.

        Returns:
            An arm per round; None for the available arm of least total loss.
        """
        del start, contexts
        return None

    def losses(self, round_: int) -> Floats:
        """Return the losses of all arms in one round, as `Environment.losses` does.

        Args:
            round_: The round, from 0.
        """
        rows = np.empty((self.problem.arms, self.problem.form.columns))
        write_rows(checked_block(self, round_, round_ + 1), 0, rows)
        return rows

    @cached_property
    def totals(self) -> Floats:
        """The sum of each arm's losses over the horizon, which the comparator minimises."""
        totals = np.zeros((self.problem.arms, self.problem.form.columns))
        available = _listed_availability(self)
        for start, stop in batches(self):
            block = checked_block(self, start, stop)
            _check_range(self, block, start, available)
            add_totals(block, stop - start, totals, np.empty(len(block.features)))
        if not np.isfinite(totals).all():
            arm, column = np.argwhere(~np.isfinite(totals))[0]
            raise InvalidLossesError(
                f"The losses of {type(self).__name__} must be finite numbers. Got a sum of "
                f"{totals[arm, column]} for arm {arm}, {self.problem.form.column_name} {column}."
            )
        totals.flags.writeable = False
        return totals

    @cached_property
    def best_arms(self) -> Integers:
        """The comparator: the available arm of least total loss in each numbered context."""
        form = self.problem.form
        support = form.support(availability(self, form.listed()))
        arms = np.empty(support.offset.size, dtype=np.int64)
        best_arms(self.totals, support, arms)
        arms.flags.writeable = False
        return arms

    def factored(self) -> BlockEnvironment | None:
        """Return the same environment in linear form, if its losses are exactly linear.

        A simulation then costs the same for any number of contexts.

        Returns:
            The environment in linear form; None if its losses are linear already, reach a limit, or
            differ from context to context without a rule.
        """
        return self._factored

    @cached_property
    def _factored(self) -> BlockEnvironment | None:
        from crossbandit.environments.factored import factored

        return factored(self)


def availability(environment: Environment, contexts: npt.NDArray[Any]) -> Booleans | None:
    """Return the checked `available(contexts)` of an environment; None if it has none."""
    rule = getattr(environment, "available", None)
    available = None if rule is None else rule(contexts)
    if available is None:
        return None
    mask = np.asarray(available)
    expected = (len(contexts), environment.problem.arms)
    if mask.shape != expected or mask.dtype != np.bool_:
        raise InvalidContextError(
            f"{type(environment).__name__}.available must return None, or booleans of shape "
            f"{expected}: contexts by arms. Got shape {mask.shape} and type {mask.dtype}."
        )
    if not mask.any(axis=1).all():
        context = contexts[int(np.argmin(mask.any(axis=1)))]
        raise InvalidContextError(
            f"{type(environment).__name__}.available must leave an arm in every context. Got none "
            f"in context {context}."
        )
    return mask


def checked_block(environment: BlockEnvironment, start: int, stop: int) -> LossBlock:
    """Return the environment's block; raise if its arrays do not have the expected shapes."""
    block = environment.block(start, stop)
    call = f"{type(environment).__name__}.block({start}, {stop})"
    _check_arrays(call, block)
    rounds, terms = stop - start, block.coefficients.shape[-1]
    row = (environment.problem.arms, environment.problem.form.columns)
    if (
        block.base.shape not in {(1, *row), (rounds, *row)}
        or block.coefficients.shape != (rounds, row[0], terms)
        or block.features.shape != (terms, row[1])
    ):
        raise InvalidLossesError(
            f"{call} must hold a base of shape {(rounds, *row)} or {(1, *row)}, coefficients of "
            f"shape {(rounds, row[0], 'k')} and features of shape {('k', row[1])}. Got "
            f"{block.base.shape}, {block.coefficients.shape} and {block.features.shape}."
        )
    return read_only(block)


def _check_arrays(call: str, block: object) -> None:
    """Raise unless `block` is a LossBlock of arrays of numbers, whatever their shapes."""
    if not isinstance(block, LossBlock):
        raise InvalidLossesError(
            f"{call} must return a LossBlock. Got a {type(block).__name__}. To make one of losses "
            "of shape (rounds, arms, contexts), or of coefficients of shape (rounds, arms, "
            "features), return row_block(losses)."
        )
    parts: dict[str, Any] = block._asdict()
    for name in ("base", "coefficients", "features"):
        part = parts[name]
        if not isinstance(part, np.ndarray) or part.ndim == 0 or part.dtype.kind not in "fiu":
            kind = f"type {part.dtype}" if isinstance(part, np.ndarray) else type(part).__name__
            raise InvalidLossesError(
                f"The {name} of {call} must be an array of numbers. Got {kind}."
            )


def checked_rows(environment: Any, round_: int, *arms: Sequence[int]) -> Floats:
    """Return the environment's losses of a round; raise unless they are finite and fit.

    An adaptive environment also takes the arms that were played before.
    """
    rows = np.ascontiguousarray(environment.losses(round_, *arms), dtype=np.float64)
    expected = (environment.problem.arms, environment.problem.form.columns)
    if rows.shape != expected or not np.isfinite(rows).all():
        got = f"shape {rows.shape}" if rows.shape != expected else "numbers that are not finite"
        raise InvalidLossesError(
            f"{type(environment).__name__}.losses must return finite numbers of shape {expected}, "
            f"arms by {environment.problem.form.column_name}s. Got {got} in round {round_}."
        )
    return rows


def _listed_availability(environment: BlockEnvironment) -> Booleans | None:
    """Return which arms may be played in each listed context, where losses there are implied.

    Dense losses are given for each context, and must be in range in all of them.
    """
    form = environment.problem.form
    if not isinstance(form, LinearForm) or form.contexts is None:
        return None
    return availability(environment, form.listed())


def _check_range(
    environment: BlockEnvironment, block: LossBlock, start: int, available: Booleans | None
) -> None:
    """Raise unless all losses of the block lie in [0, 1], as far as contexts can be listed.

    Linear losses may leave it in contexts in which their arm is not `available` (contexts, K).
    """
    form = environment.problem.form
    rounds, arms, columns = block.base.shape
    if block.clip or block.coefficients.shape[2] > 0:
        return  # limited by definition, or checked when they occur
    rows = np.ascontiguousarray(block.base).reshape(rounds * arms, columns)
    bad, context = -1, -1
    if isinstance(form, LinearForm):
        bad, context = form.first_bad(rows, np.tile(np.arange(arms), rounds), available)
    else:
        found = first_outside(rows, -ROUNDING, 1.0 + ROUNDING)
        if found >= 0:
            bad, context = divmod(found, columns)
    if bad >= 0:
        round_, arm = divmod(bad, arms)
        loss = form.readout(context).losses(rows[bad : bad + 1], [arm])[0]
        raise InvalidLossesError(
            f"The losses of {type(environment).__name__} must lie in [0, 1]. Got {loss} in round "
            f"{start + round_}, for arm {arm} in context {context}."
        )


def row_block(rows: npt.ArrayLike) -> LossBlock:
    """Return a block of losses that are given as one array.

    Args:
        rows: Losses of shape (rounds, arms, contexts); or, for a problem with features,
            coefficients of shape (rounds, arms, features).

    Raises:
        InvalidLossesError: The array has another number of dimensions, or no numbers.

    >>> row_block([[[0.1, 0.9], [0.5, 0.5]]]).base.shape  # one round, two arms, two contexts
    (1, 2, 2)
    """
    try:
        given = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        reject("row_block", "rows", _ROWS, rows, error=InvalidLossesError)
    if given.ndim != 3:
        got = verbatim(f"an array of shape {given.shape}")
        reject("row_block", "rows", _ROWS, got, error=InvalidLossesError)
    rounds, arms, columns = given.shape
    return LossBlock(given, np.empty((rounds, arms, 0)), np.empty((0, columns)), clip=False)


def longest_batch(environment: Environment) -> int:
    """Return the largest number of rounds in a batch. It is even, as rounds come in pairs."""
    problem = environment.problem
    fitting = _BATCH_NUMBERS // (problem.arms * problem.form.shape[1])
    return 2 * max(1, min(LONGEST_BATCH, fitting) // 2)


def batches(environment: Environment) -> list[tuple[int, int]]:
    """Return batches, (start, stop), that cover the horizon."""
    horizon, length = horizon_of(environment), longest_batch(environment)
    return [(start, min(start + length, horizon)) for start in range(0, horizon, length)]


def horizon_of(environment: Environment) -> int:
    """Return the environment's horizon."""
    horizon = environment.problem.horizon
    if horizon is None:
        owner = type(environment).__name__
        got = verbatim("a problem without a horizon")
        reject(owner, "problem", "a Problem with a horizon", got)
    return horizon
