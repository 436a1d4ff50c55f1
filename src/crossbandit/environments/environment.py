"""The protocol of an environment, the form that the compiled simulation needs, and batches.

Users derive their environments from these classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from crossbandit.environments.checking import (
    availability,
    block_of,
    check_range,
    checked_block,
    graph_rule,
    listed_availability,
)
from crossbandit.errors import InvalidLossesError
from crossbandit.kernels.rounds import LossBlock
from crossbandit.kernels.rows import add_totals, best_arms, may_clip, write_rows
from crossbandit.losses import DenseForm
from crossbandit.problem import Problem
from crossbandit.validation import integer, reject, verbatim

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.environments.contexts import ContextDistribution
    from crossbandit.kernels.paced_rounds import PacedRounds
    from crossbandit.kernels.ranges import GraphBlock
    from crossbandit.types import Booleans, Floats, Integers

# Rounds in one batch: enough to make the overhead small, and few enough to react to an interrupt.
# If the losses of a round take much memory, a batch has fewer rounds.
LONGEST_BATCH = 8192
_BATCH_NUMBERS = 2**21

# Dense losses in linear form. The time of a round then does not depend on the number of contexts.
_MOST_TERMS = 8
_MOST_NUMBERS = 2**26  # the most numbers of features, 512 MB
_KEPT_NUMBERS = 2**23  # rows up to this size are made once and kept, 64 MB

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

        By default, this is the graph of the problem; or, if graphs change, what the method `graph`
        returns for each round. Override it if many graphs can be made faster together.

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
        available = listed_availability(self)
        for start, stop in batches(self):
            block = checked_block(self, start, stop)
            check_range(self, block, start, available)
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
            The environment in linear form; None if its losses are linear already, are clipped, or
            have no such form.
        """
        return self._factored

    @cached_property
    def _factored(self) -> BlockEnvironment | None:
        return _linear_form(self)


class FactoredLosses(BlockEnvironment):
    """A fixed table plus few time-varying terms that never reach a limit, in linear form.

        l_{t,c}(a)  =  base_{c,a} + sum_k x_{t,a,k} f_{c,k}

    is linear in the features (base_{c,a}, f_{c,1}, ..., f_{c,k}) of context c and arm a, with the
    coefficients (1, x_{t,a,1}, ..., x_{t,a,k}).
    """

    def __init__(self, dense: BlockEnvironment, base: Floats, features: Floats) -> None:
        shared = np.broadcast_to(features.T[:, None], (*base.T.shape, len(features)))
        table = np.concatenate([base.T[:, :, None], shared], axis=2)
        given = dense.problem
        self.problem = Problem(
            given.graph,
            features=table,
            horizon=given.horizon,
            graph_kind=given.graph_kind,
            graph_by_context=given.graph_by_context,
            grants_own_loss=given.grants_own_loss,
        )
        if given.graph_kind != "fixed":
            self.graph = getattr(dense, "graph", None)
        self.context_distribution = dense.context_distribution
        self._dense = dense

    def available(self, contexts: npt.NDArray[Any]) -> Booleans | None:
        return self._dense.available(contexts)

    def graphs(self, start: int, contexts: npt.NDArray[Any]) -> GraphBlock:
        return self._dense.graphs(start, contexts)

    def block(self, start: int, stop: int) -> LossBlock:
        horizon, form = self.problem.horizon or 0, self.problem.form
        if horizon * self.problem.arms * form.columns <= _KEPT_NUMBERS:
            return row_block(self._all_rows[start:stop])
        return row_block(self._rows(start, stop))

    @cached_property
    def _all_rows(self) -> Floats:
        return np.concatenate([self._rows(start, stop) for start, stop in batches(self._dense)])

    def _rows(self, start: int, stop: int) -> Floats:
        coefficients = self._dense.block(start, stop).coefficients
        return np.concatenate([np.ones((*coefficients.shape[:2], 1)), coefficients], axis=2)


def _linear_form(environment: BlockEnvironment) -> FactoredLosses | None:
    """Return dense losses in linear form; None if that is not possible or takes too much memory."""
    form = environment.problem.form
    if not isinstance(form, DenseForm) or form.dtype != np.float64:
        return None
    first: LossBlock | None = None
    for start, stop in batches(environment):
        block = checked_block(environment, start, stop)
        first = block if first is None else first
        terms = len(block.features)
        numbers = form.columns * environment.problem.arms * (1 + terms)
        if (
            len(block.base) != 1
            or not _is_same(block.base, first.base)
            or not _is_same(block.features, first.features)
            or not 0 < terms <= _MOST_TERMS
            or numbers > _MOST_NUMBERS
            or any(
                may_clip(block, stop - start, a, np.empty(terms))
                for a in range(environment.problem.arms)
            )
        ):
            return None
    return None if first is None else FactoredLosses(environment, first.base[0], first.features)


def _is_same(one: Floats, other: Floats) -> bool:
    """Return whether two arrays share their memory. Comparing their numbers would take longer."""
    return one.shape == other.shape and one.ctypes.data == other.ctypes.data


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


def is_adaptive(environment: object) -> bool:
    """Return whether an environment says that its losses depend on the arms played before."""
    return bool(getattr(environment, "adaptive", False))


def check_rounds(owner: str, horizon: object, table_seed: object) -> None:
    """Raise unless a horizon and the seed of random losses are possible.

    Args:
        owner: The name of the environment, for the message.
        horizon: The number of rounds.
        table_seed: The seed of everything random in the losses.
    """
    integer(owner, "horizon", horizon, at_least=1)
    integer(owner, "table_seed", table_seed, at_least=0, at_most=None)
