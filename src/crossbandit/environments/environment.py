"""The protocols of environments and of their contexts, the compiled form, and batches.

Users derive their environments from these classes.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from crossbandit import errors
from crossbandit.algorithms.learners.problem import (
    Problem,
    probabilities,
    set_fields,
)
from crossbandit.core.blocks import GraphBlock, LossBlock, block_of_rows, joined, read_only
from crossbandit.core.forms import ROUNDING, DenseForm, LinearForm
from crossbandit.core.losses import add_totals, best_arms, first_outside, may_clip, write_rows
from crossbandit.core.registry import Registry
from crossbandit.core.streams import stream
from crossbandit.core.validation import MAX_SIZE, integer, number, reject, verbatim
from crossbandit.graphs import FeedbackGraph
from crossbandit.graphs.graph import as_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.core.blocks import PacedRounds
    from crossbandit.core.types import Booleans, Floats, Integers


# Rounds in one batch: enough to make the overhead small, and few enough to react to an interrupt.
# If the losses of a round take much memory, a batch has fewer rounds.
LONGEST_BATCH = 8192
_BATCH_NUMBERS = 2**21

# Dense losses in linear form. The time of a round then does not depend on the number of contexts.
_MOST_TERMS = 8
_MOST_NUMBERS = 2**26  # the most numbers of features, 512 MB
_KEPT_NUMBERS = 2**23  # rows up to this size are made once and kept, 64 MB

_ROWS = "an array of numbers of shape (rounds, arms, contexts) or (rounds, arms, features)"


# --- distributions of contexts ------------------------------------------------------------------

_DISTRIBUTIONS = Registry("context distribution", "crossbandit.environments")
register_distribution = _DISTRIBUTIONS.register
registered_distributions = _DISTRIBUTIONS.registered
build_distribution = _DISTRIBUTIONS.build


class ContextDistribution(Protocol):
    """Protocol of a distribution of contexts.

    Drawing m and then n contexts from a generator must give the same contexts as drawing m + n. A
    shorter run is then the beginning of a longer one.
    """

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[Any]:
        """Return contexts: integers of shape (count,), or feature vectors (count, features).

        Args:
            generator: The source of randomness, which is advanced.
            count: How many contexts to draw.
        """

    @property
    def probabilities(self) -> Floats | None:
        """The probability of each of finitely many contexts; None for continuous contexts."""


@dataclass(frozen=True, eq=False)
class FiniteContexts:
    """A distribution over the contexts 0, ..., M - 1.

    Args:
        distribution: The probability of each context; or an integer M, for the uniform
            distribution over M contexts.

    Attributes:
        probabilities: The probability of each context.

    >>> FiniteContexts([0.5, 0.5, 0.0]).draw(np.random.default_rng(0), 4)
    array([1, 0, 0, 0])
    """

    distribution: int | npt.ArrayLike
    probabilities: Floats = field(init=False, repr=False)
    _uniform: bool = field(init=False, repr=False, default=False)
    _cumulative: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given = self.distribution
        if isinstance(given, int | np.integer) and not isinstance(given, bool):
            count = integer("FiniteContexts", "distribution", given, at_least=1, at_most=MAX_SIZE)
            weights = np.full(count, 1.0 / count)
            weights.flags.writeable = False
            set_fields(self, _uniform=True)
        else:
            weights = probabilities("FiniteContexts", "distribution", given, None)
        cumulative = np.cumsum(weights)
        # If rounding leaves the sum below 1, the last possible context takes the rest.
        cumulative[np.flatnonzero(weights)[-1] :] = np.inf
        set_fields(self, probabilities=weights, _cumulative=cumulative)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteContexts):
            return NotImplemented
        same = np.array_equal(self.probabilities, other.probabilities)
        return same and self._uniform == other._uniform

    def __hash__(self) -> int:
        return hash((self.probabilities.tobytes(), self._uniform))

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """Return contexts, drawn with one uniform number each.

        Args:
            generator: The source of randomness, which is advanced.
            count: How many contexts to draw.
        """
        uniforms = generator.random(count)
        if self._uniform:
            return (uniforms * self.probabilities.size).astype(np.int64)
        return np.searchsorted(self._cumulative, uniforms, side="right").astype(np.int64)


UNIFORM: Any = None  # the default of a field; `distribution_over` replaces it


def distribution_over(
    owner: str, given: npt.ArrayLike | ContextDistribution | None, contexts: int
) -> ContextDistribution:
    """Return a distribution over `contexts` contexts.

    >>> distribution_over("switching", [0.9, 0.1], 2)
    FiniteContexts(distribution=array([0.9, 0.1]))
    """
    if given is None:
        return FiniteContexts(contexts)
    if not callable(getattr(given, "draw", None)) or not hasattr(given, "probabilities"):
        values = cast("npt.ArrayLike", given)
        return FiniteContexts(probabilities(owner, "context_distribution", values, contexts))
    distribution = cast("ContextDistribution", given)
    if distribution.probabilities is not None:
        probabilities(owner, "context_distribution", distribution.probabilities, contexts)
    return distribution


@register_distribution("zipf")
def zipf(contexts: int, exponent: float = 1.0) -> FiniteContexts:
    """Return Zipf's distribution: context c has probability proportional to 1 / (c + 1)^exponent.

    Args:
        contexts: The number of contexts, at least 1.
        exponent: How fast the probabilities decrease, at least 0.

    >>> zipf(3).probabilities.round(3)
    array([0.545, 0.273, 0.182])
    """
    integer("zipf", "contexts", contexts, at_least=1, at_most=MAX_SIZE)
    number("zipf", "exponent", exponent, at_least=0)
    weights = np.arange(1, contexts + 1, dtype=np.float64) ** -exponent
    return FiniteContexts(weights / weights.sum())


@dataclass(frozen=True, eq=False)
class UniformVectors:
    """Continuous contexts: feature vectors that are uniform in a box.

    Args:
        low: The lower bound of each feature.
        high: The upper bound of each feature. Where both are equal, the feature is constant.

    >>> UniformVectors([1, 0], [1, 2]).draw(np.random.default_rng(0), 2).round(2)
    array([[1.  , 0.54],
           [1.  , 0.03]])
    """

    low: npt.ArrayLike
    high: npt.ArrayLike

    def __post_init__(self) -> None:
        expected = "a finite vector that is nowhere above high"
        got = verbatim(f"low={self.low!r} and high={self.high!r}")
        try:
            low = np.atleast_1d(np.array(self.low, dtype=np.float64))
            high = np.atleast_1d(np.array(self.high, dtype=np.float64))
        except (TypeError, ValueError):
            reject("UniformVectors", "low", expected, got)
        finite = np.isfinite(low).all() and np.isfinite(high).all()
        if low.ndim != 1 or low.shape != high.shape or not finite or (low > high).any():
            reject("UniformVectors", "low", expected, got)
        set_fields(self, low=low, high=high)

    @property
    def probabilities(self) -> None:
        """None: these contexts are continuous."""
        return

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Return feature vectors, drawn with one uniform number for each feature.

        Args:
            generator: The source of randomness, which is advanced.
            count: How many vectors to draw.
        """
        low, high = np.asarray(self.low), np.asarray(self.high)
        result: Floats = low + (high - low) * generator.random((count, low.size))
        return result


# --- environments -------------------------------------------------------------------------------


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
    `crossbandit.verify.checks.check_environment` tests an environment.
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
        """Return consecutive rounds under what is left of the limits."""


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
            add_totals(block, stop - start, totals)
        if not np.isfinite(totals).all():
            arm, column = np.argwhere(~np.isfinite(totals))[0]
            raise errors.InvalidLossesError(
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
        self.problem = replace(dense.problem, contexts=None, features=table)
        if self.problem.graph_kind != "fixed":
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
            or any(may_clip(block, stop - start, a) for a in range(environment.problem.arms))
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
        reject("row_block", "rows", _ROWS, rows, error=errors.InvalidLossesError)
    if given.ndim != 3:
        got = verbatim(f"an array of shape {given.shape}")
        reject("row_block", "rows", _ROWS, got, error=errors.InvalidLossesError)
    return block_of_rows(given)


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


def checked(check: Callable[..., object], **bounds: Any) -> dict[str, Any]:
    """Return what a field of an environment must be, as its metadata for `check_settings`.

    `check` is a function of `crossbandit.core.validation`.
    """
    return {"check": partial(check, **bounds)}


def check_settings(owner: str, environment: Any) -> None:
    """Raise unless all fields of an environment are what they must be."""
    if hasattr(environment, "graph"):
        set_fields(environment, graph=as_graph(owner, environment.graph))
    for one in fields(environment):
        if "check" in one.metadata:
            one.metadata["check"](owner, one.name, getattr(environment, one.name))


# --- environments by name, for study files --------------------------------------------------------

_ENVIRONMENTS = Registry("environment", "crossbandit.environments")
_RANDOM_LOSSES: set[str] = set()
_Builder = TypeVar("_Builder", bound=Callable[..., Any])


def register(name: str, *, random_losses: bool = False) -> Callable[[_Builder], _Builder]:
    """Return a decorator that registers an environment by name.

    Args:
        name: The name that study files use.
        random_losses: Whether the losses are random, and drawn from a parameter `table_seed`. In a
            study, such an environment draws other losses for each seed unless its `table_seed` is
            given. Otherwise, all seeds have the losses of the default `table_seed`.

    Returns:
        The decorator; it returns the function or class unchanged.

    Raises:
        InvalidParameterError: Another function or class has this name.
    """
    if random_losses:
        _RANDOM_LOSSES.add(name)
    return _ENVIRONMENTS.register(name)


def has_random_losses(name: str) -> bool:
    """Return whether the environment was registered with `random_losses`."""
    return name in _RANDOM_LOSSES


registered = _ENVIRONMENTS.registered
build = _ENVIRONMENTS.build


# --- checks of what an environment returns --------------------------------------------------------

_KEPT_GRAPHS = 1000  # the number of checked graphs that are remembered


def availability(environment: Environment, contexts: npt.NDArray[Any]) -> Booleans | None:
    """Return the checked `available(contexts)` of an environment; None if it has none."""
    rule = getattr(environment, "available", None)
    available = None if rule is None else rule(contexts)
    if available is None:
        return None
    mask = np.asarray(available)
    expected = (len(contexts), environment.problem.arms)
    if mask.shape != expected or mask.dtype != np.bool_:
        raise errors.InvalidContextError(
            f"{type(environment).__name__}.available must return None, or booleans of shape "
            f"{expected}: contexts by arms. Got shape {mask.shape} and type {mask.dtype}."
        )
    if not mask.any(axis=1).all():
        context = contexts[int(np.argmin(mask.any(axis=1)))]
        raise errors.InvalidContextError(
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
        raise errors.InvalidLossesError(
            f"{call} must hold a base of shape {(rounds, *row)} or {(1, *row)}, coefficients of "
            f"shape {(rounds, row[0], 'k')} and features of shape {('k', row[1])}. Got "
            f"{block.base.shape}, {block.coefficients.shape} and {block.features.shape}."
        )
    return read_only(block)


def _check_arrays(call: str, block: object) -> None:
    """Raise unless `block` is a LossBlock of arrays of numbers, of any shapes."""
    if not isinstance(block, LossBlock):
        raise errors.InvalidLossesError(
            f"{call} must return a LossBlock. Got a {type(block).__name__}. To make one of losses "
            "of shape (rounds, arms, contexts), or of coefficients of shape (rounds, arms, "
            "features), return row_block(losses)."
        )
    parts: dict[str, Any] = block._asdict()
    for name in ("base", "coefficients", "features"):
        part = parts[name]
        if not isinstance(part, np.ndarray) or part.ndim == 0 or part.dtype.kind not in "fiu":
            kind = f"type {part.dtype}" if isinstance(part, np.ndarray) else type(part).__name__
            raise errors.InvalidLossesError(
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
        raise errors.InvalidLossesError(
            f"{type(environment).__name__}.losses must return finite numbers of shape {expected}, "
            f"arms by {environment.problem.form.column_name}s. Got {got} in round {round_}."
        )
    return rows


def listed_availability(environment: BlockEnvironment) -> Booleans | None:
    """Return which arms are available in each listed context of a linear form; otherwise None.

    Dense losses are given for each context, and must be in [0, 1] in all of them.
    """
    form = environment.problem.form
    if not isinstance(form, LinearForm) or form.contexts is None:
        return None
    return availability(environment, form.listed())


def check_range(
    environment: BlockEnvironment, block: LossBlock, start: int, available: Booleans | None
) -> None:
    """Raise unless all losses of the block are in [0, 1], as far as contexts can be listed.

    Linear losses may be outside [0, 1] in contexts in which their arm is not `available`
    (contexts, K).
    """
    form = environment.problem.form
    rounds, arms, columns = block.base.shape
    if block.clip or block.coefficients.shape[2] > 0:
        return  # clipped, or checked when they occur
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
        raise errors.InvalidLossesError(
            f"The losses of {type(environment).__name__} must lie in [0, 1]. Got {loss} in round "
            f"{start + round_}, for arm {arm} in context {context}."
        )


def graph_rule(environment: Environment) -> Callable[[int, Any], FeedbackGraph]:
    """Return a function of a round and its context: the checked graph of the round."""
    problem, owner = environment.problem, type(environment).__name__
    own = getattr(environment, "graph", None)
    if problem.graph_kind == "fixed":
        if inspect.ismethod(own) or inspect.isfunction(own):
            raise errors.InvalidParameterError(
                f"{owner} has a method graph, so its graphs change, but its problem says that the "
                "graph is fixed. Set graph_kind of the problem to 'informed', 'uninformed' or "
                "'unknown'."
            )
        return lambda *_: problem.graph
    if not callable(own):
        raise errors.InvalidParameterError(
            f"The graphs of {owner} change: the graph_kind of its problem is "
            f"{problem.graph_kind!r}. So it must have a method graph(round_) or "
            "graph(round_, context), which returns the FeedbackGraph of a round."
        )
    takes_context = len(inspect.signature(own).parameters) > 1
    seen: dict[int, FeedbackGraph] = {}  # by id: the graphs are kept, so that ids stay unique

    def rule(round_: int, context: Any) -> FeedbackGraph:
        graph: FeedbackGraph = own(round_, context) if takes_context else own(round_)
        if seen.get(id(graph)) is not graph:
            _check_graph(owner, problem.graph, graph, round_)
            if len(seen) < _KEPT_GRAPHS:
                seen[id(graph)] = graph
        return graph

    return rule


def _check_graph(owner: str, promised: FeedbackGraph, graph: object, round_: int) -> None:
    if not isinstance(graph, FeedbackGraph) or graph.arms != promised.arms:
        raise errors.InvalidGraphError(
            f"{owner}.graph must return a FeedbackGraph of {promised.arms} arms. Got {graph!r} in "
            f"round {round_}."
        )
    edge = promised.edge_not_in(graph)
    if edge is not None:
        raise errors.InvalidGraphError(
            f"The graph of the problem of {owner} must have only edges that every round has. Round "
            f"{round_} does not have its edge {edge}."
        )


def block_of(
    rule: Callable[[int, Any], FeedbackGraph], start: int, contexts: npt.NDArray[Any]
) -> GraphBlock:
    """Return the graphs of consecutive rounds, each distinct graph once."""
    graphs = [rule(start + i, context) for i, context in enumerate(contexts)]
    return graph_block(graphs)


def graph_block(
    graphs: list[FeedbackGraph], entry: npt.NDArray[np.int64] | None = None
) -> GraphBlock:
    """Return the graphs of n rounds in compiled form.

    Args:
        graphs: The graphs of the rounds; or, with `entry`, those from which rounds choose.
        entry: Which of the graphs each round has, of shape (n,).

    >>> from crossbandit import graphs
    >>> block = graph_block([graphs.complete(3), graphs.ring(3, 1), graphs.complete(3)])
    >>> block.entry
    array([0, 1, 0])
    """
    if entry is None:
        distinct: dict[FeedbackGraph, int] = {}
        entry = np.array([distinct.setdefault(graph, len(distinct)) for graph in graphs])
        graphs = list(distinct)
    return GraphBlock(
        np.ascontiguousarray(entry, dtype=np.int64),
        joined([graph.out_ranges for graph in graphs]),
        joined([graph.in_ranges for graph in graphs]),
    )


def checked_graphs(environment: Any, block: object, rounds: int) -> GraphBlock:
    """Return the result of an environment's `graphs`; raise unless it has the right form.

    Compiled code does not check its indices, so every range must hold arms.
    """
    owner, arms = type(environment).__name__, environment.problem.arms
    if isinstance(block, GraphBlock) and block.entry.shape == (rounds,):
        count = (block.out_ranges.starts.size - 1) // arms
        entries_fit = rounds == 0 or (block.entry.min() >= 0 and block.entry.max() < count)
        if entries_fit and all(
            _holds_arms(ranges, arms, count) for ranges in (block.out_ranges, block.in_ranges)
        ):
            return block
    raise errors.InvalidGraphError(
        f"{owner}.graphs must return a GraphBlock with an entry for each of {rounds} rounds and "
        f"ranges of {arms} arms per graph, such as graph_block(graphs, entry)."
    )


def _holds_arms(ranges: Any, arms: int, count: int) -> bool:
    starts, first, last = ranges
    return bool(
        starts.size == count * arms + 1
        and starts[0] == 0
        and starts[-1] == first.size == last.size
        and (np.diff(starts) >= 0).all()
        and (first.size == 0 or (first.min() >= 0 and last.max() < arms and (first <= last).all()))
    )


class AdaptiveEnvironment(ABC):
    """An environment whose losses may depend on the arms played in earlier rounds.

    A subclass sets `problem` and `context_distribution`, and overrides `losses`. The plain loop
    simulates it. The guarantees of the shipped algorithms are for oblivious losses. Here, regret
    compares with the loss of a fixed policy *on the losses that occurred*. Under the fixed policy,
    other losses would have occurred; `Run.policy_regret` takes this into account.

    Attributes:
        adaptive: True. It marks the environment.
    """

    adaptive: ClassVar[bool] = True
    problem: Problem
    context_distribution: ContextDistribution

    @abstractmethod
    def losses(self, round_: int, arms: Sequence[int] = ()) -> Floats:
        """Return the losses of all arms in one round.

        Args:
            round_: The round, from 0.
            arms: The arms that were played in all rounds before it.

        Returns:
            Losses of shape (K, contexts), or coefficients of shape (K, features). The same
            arguments must give the same losses.
        """


@register("congestion", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class Congestion(AdaptiveEnvironment):
    """Congestion: an arm costs more, the more often it was played recently.

        l_{t,c}(a) = (1 - weight) base_c(a) + weight share_t(a),

    where share_t(a) is the share of the last `memory` plays that were a. Before the first round, no
    arm was played.

    The base losses are uniform in [0, 1]. A policy that always plays the arm with the least base
    loss raises the loss of that arm. Policy regret includes this. Regret does not, because it uses
    the losses that the learner's own plays caused.

    Args:
        graph: The feedback graph.
        horizon: The number of rounds.
        contexts: The number of contexts.
        memory: The number of past rounds that count.
        weight: The weight of the congestion, from 0 to 1.
        table_seed: The seed of the base losses, at least 0.
        context_distribution: A distribution or a probability for each context; uniform if None.

    >>> from crossbandit import graphs
    >>> environment = congestion(graphs.complete(3), 100, contexts=2, memory=4, weight=0.5)
    >>> fresh, worn = environment.losses(9), environment.losses(9, [2, 2, 2, 0, 1, 1, 2, 1, 1])
    >>> (worn - fresh).round(3)[:, 0]
    array([0.   , 0.375, 0.125])
    """

    graph: FeedbackGraph = field(kw_only=False)
    horizon: int = field(kw_only=False, metadata=checked(integer, at_least=1))
    contexts: int = field(default=2, metadata=checked(integer, at_least=1, at_most=MAX_SIZE))
    memory: int = field(default=10, metadata=checked(integer, at_least=1))
    weight: float = field(default=0.5, metadata=checked(number, at_least=0, at_most=1))
    table_seed: int = field(default=0, metadata=checked(integer, at_least=0, at_most=None))
    context_distribution: ContextDistribution = UNIFORM

    def __post_init__(self) -> None:
        check_settings("congestion", self)
        distribution = distribution_over("congestion", self.context_distribution, self.contexts)
        problem = Problem(self.graph, contexts=self.contexts, horizon=self.horizon)
        set_fields(self, problem=problem, context_distribution=distribution)

    @cached_property
    def base(self) -> Floats:
        """The losses of arms that were not played recently, (K, contexts)."""
        base = stream(self.table_seed, "losses").random((self.graph.arms, self.contexts))
        base.flags.writeable = False
        return base

    def losses(self, round_: int, arms: Sequence[int] = ()) -> Floats:
        del round_
        recent = np.asarray(arms[-self.memory :], dtype=np.int64)
        share = np.bincount(recent, minlength=self.graph.arms) / self.memory
        return (1.0 - self.weight) * self.base + self.weight * share[:, None]


congestion = Congestion
