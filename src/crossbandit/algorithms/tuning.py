"""The rules that turn a problem into the parameters of Algorithm 2.

`experiment` is the rule of the paper's evaluation: short epochs, no constants, good in practice.
`theorem` is the rule of the paper's theorem: much longer epochs, small rates. `proved` minimises
the bound that is machine-checked in `proofs/`, and `proved_bound` returns that bound.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, fields
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    cast,
    get_args,
)

from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.algorithms.learners.algorithm import Algorithm
from crossbandit.algorithms.learners.problem import set_fields
from crossbandit.core.rounds import CoreProblem
from crossbandit.core.validation import boolean, choice, even, integer, number, positive, share
from crossbandit.errors import IndependenceNumberError, InvalidParameterError
from crossbandit.graphs import neighborhoods

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.graphs import FeedbackGraph


ParametersT = TypeVar("ParametersT")

Rule = Literal["experiment", "theorem", "proved"]
RULES: tuple[Rule, ...] = get_args(Rule)

# A parameter of one of these names has the same check in all algorithms.
_CHECKS: dict[str, Callable[[str, str, object], Any]] = {
    **dict.fromkeys(["eta", "gamma", "beta", "scale", "deviation", "width"], positive),
    **dict.fromkeys(["rate", "recency"], positive),
    **dict.fromkeys(["rho", "delta"], share),
    **dict.fromkeys(["alpha", "half_life"], partial(number, at_least=1)),
    **dict.fromkeys(["cross_learning", "fractional"], boolean),
    "epoch_length": even,
    "tuning": partial(choice, choices=RULES),
    "warm_up": partial(integer, at_least=0),
}


@dataclass(frozen=True, kw_only=True)
class CheckedAlgorithm(Algorithm):
    """An algorithm whose parameters are checked by their names.

    Only those that are None by default may be None.

    Attributes:
        checks: The checks of further parameters.
    """

    checks: ClassVar[Mapping[str, Callable[[str, str, object], Any]]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):
            check = self.checks.get(field.name, _CHECKS.get(field.name))
            value = getattr(self, field.name)
            if check is not None and (value is not None or field.default is not None):
                set_fields(self, **{field.name: check(type(self).__name__, field.name, value)})


@dataclass(frozen=True, kw_only=True)
class TunedAlgorithm(CheckedAlgorithm, Generic[ParametersT]):
    """An algorithm whose parameters are set by `tuning_rule` where they are None.

    Attributes:
        parameters_type: A NamedTuple of the parameters, as the core takes them.
    """

    parameters_type: ClassVar[type[Any]]

    @abstractmethod
    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        """Return what the rule sets for a problem: a value for each parameter that may be None.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The parameters by name.
        """

    def parameters(self, problem: Problem) -> ParametersT:
        """Return the parameters for a problem: those that were given, and the rule's for the rest.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            All parameters, as the core takes them; 0 for those that the algorithm does not have.

        Raises:
            InvalidParameterError: The rule needs a horizon or another fact that the problem does
                not have.
            IndependenceNumberError: The rule needs the independence number of the graph, which
                cannot be computed.
        """
        names = [name for name in self.parameters_type._fields if hasattr(self, name)]
        given = self.given_parameters(*names)
        if len(given) < len(names):
            given = {**self.tuning_rule(problem), **given}
        values = (given[name] if name in names else 0.0 for name in self.parameters_type._fields)
        return cast("ParametersT", self.parameters_type(*values))


def core_problem(
    problem: Problem, graph: FeedbackGraph | None = None, *, apart: bool = False
) -> CoreProblem:
    """Return what a core knows of a problem, and of the graph that its learner uses instead.

    `apart`: whether each context learns from its own rounds only.
    """
    own = problem.graph if graph is None else graph
    changing = own is problem.graph and problem.graph_kind != "fixed"
    ranges = (own.in_ranges, own.out_ranges)
    return CoreProblem(problem.form.shape, ranges, own.arms_without_self_loop, apart, changing)


def exploring_arms(graph: FeedbackGraph) -> list[int]:
    """Return the arms to explore for weakly observable ones: a weakly dominating set.

    One more arm is added if it is a single arm without self-loop: then each arm without self-loop
    is revealed by one of them. The list is empty if no arm is weakly observable.
    """
    chosen = list(graph.weakly_dominating_set)
    if len(chosen) == 1 and chosen[0] in graph.arms_without_self_loop:
        chosen.append(0 if chosen[0] > 0 else 1)
    return chosen


def required_alpha(rule: str, problem: Problem) -> int:
    """Return the independence number that `rule` needs, or raise an error with advice."""
    try:
        return problem.graph.independence_number
    except IndependenceNumberError as error:
        raise IndependenceNumberError(
            f"The {rule!r} tuning rule needs the independence number of the graph, which cannot be "
            f"computed here: it lies within {tuple(problem.graph.independence_bounds)}. Give every "
            "parameter of the algorithm by hand."
        ) from error


def required_horizon(rule: str, problem: Problem) -> int:
    """Return the horizon that `rule` needs, or raise an error with advice."""
    if problem.horizon is None:
        raise InvalidParameterError(
            f"The {rule!r} tuning rule needs a horizon. Give Problem(..., horizon=T), or give "
            "every parameter of the algorithm by hand."
        )
    return problem.horizon


def required_contexts(rule: str, problem: Problem) -> int:
    """Return the number of contexts that `rule` needs, or raise an error with advice."""
    if problem.contexts is None:
        raise InvalidParameterError(
            f"The {rule!r} tuning rule needs the number of contexts here, and this problem has "
            "continuous contexts. Give it a table, Problem(graph, features=table), or give "
            "every parameter of the algorithm by hand."
        )
    return problem.contexts


# An epoch length that divides the horizon is taken if it is this close to the rule's value.
_NEAR = 2.0

# For longer horizons no divisor is looked for: the search would take seconds, or even hours.
_FACTORABLE = 10**12


def tuned(rule: Rule, problem: Problem) -> EpochParameters:
    """Return the parameters of a rule.

    Args:
        rule: One of `RULES`.
        problem: A problem with a horizon.

    Returns:
        The parameters of Algorithm 2.

    Raises:
        InvalidParameterError: The problem does not have what the rule needs.
    """
    if rule == "theorem":
        return theorem(problem).parameters
    return proved(problem) if rule == "proved" else experiment(problem)


def experiment(problem: Problem) -> EpochParameters:
    """Return eta = gamma = rho = beta = 1 / sqrt(alpha T), and L near sqrt(alpha T / log K).

    L is the even divisor of the horizon T nearest to that value, as in the paper. If no even
    divisor lies within a factor of two of it (an odd horizon has none), L is the nearest even
    number instead, and the last epoch is shorter.

    Args:
        problem: A problem with a horizon.

    Returns:
        The parameters of Algorithm 2.

    Raises:
        InvalidParameterError: If the problem has no horizon.
        IndependenceNumberError: If the independence number of its graph cannot be computed.

    >>> from crossbandit import Problem, graphs
    >>> experiment(Problem(graphs.paper_ring(9, radius=1), contexts=1000, horizon=10_000))
    EpochParameters(eta=0.005, gamma=0.005, rho=0.005, beta=0.005, epoch_length=100)
    """
    return with_rate(problem, experiment_rate(problem))


def with_rate(problem: Problem, rate: float) -> EpochParameters:
    """Return eta = gamma = rho = beta = rate, and L near 1 / (rate sqrt(log K)).

    Args:
        problem: A problem with a horizon.
        rate: The rate.

    Returns:
        The parameters of Algorithm 2.
    """
    target = 1.0 / (rate * math.sqrt(math.log(problem.arms)))
    length = epoch_length(required_horizon("experiment", problem), target)
    return EpochParameters(rate, rate, rate, rate, length)


def experiment_rate(problem: Problem) -> float:
    """Return 1 / sqrt(alpha T), the single rate of the experiment rule.

    Args:
        problem: A problem with a horizon.

    Returns:
        The rate.
    """
    horizon = required_horizon("experiment", problem)
    return 1.0 / math.sqrt(required_alpha("experiment", problem) * horizon)


def epoch_length(horizon: int, target: float) -> int:
    """Return the even divisor of `horizon` nearest to `target`, or the nearest even number.

    It is at most half of the horizon, because nothing is learned in the first epoch.

    Args:
        horizon: The number of rounds.
        target: The length that the rule asks for.

    Returns:
        An even number.

    >>> epoch_length(10_000, 134.9), epoch_length(9_973, 134.9), epoch_length(6, 5.1)
    (100, 134, 2)
    """
    longest = horizon // 2
    near = [
        even
        for even in _even_divisors(horizon)
        if target / _NEAR <= even <= target * _NEAR and even <= longest
    ]
    if near:
        return min(near, key=lambda even: (abs(even - target), even))
    return max(2, 2 * round(min(target, longest - longest % 2) / 2))


def _even_divisors(horizon: int) -> list[int]:
    if horizon > _FACTORABLE:
        return []
    small = [d for d in range(1, math.isqrt(horizon) + 1) if horizon % d == 0]
    return [d for d in {*small, *(horizon // s for s in small)} if d % 2 == 0]


@dataclass(frozen=True, kw_only=True)
class Constants:
    """The constants that the theorem leaves open, with values that satisfy its proof.

    `concentration` and `stability` are the C of the snapshot lemma's conditions. Their defaults
    follow from its proof. If gamma is at least 4 iota / L, empirical denominators are within a
    factor of two of the true ones. For the inputs between a snapshot and a round, a C of 4 in the
    last condition would be enough; 8 also keeps eta times the inputs of an epoch below 1/4, which
    the lemma on joint products needs. The correction cancels the drift of the special arm's
    estimates only if beta is above 3 gamma. The other constants are C, C_L, C_gamma, C_rho and
    c_eta of the theorem. If eta is None, it is as large as the conditions allow.
    """

    iota: float = 2.0
    epoch: float = 1.0
    gamma: float = 4.0
    rho: float = 1.0
    beta: float = 4.0
    eta: float | None = None
    concentration: float = 4.0
    stability: float = 8.0

    def __post_init__(self) -> None:
        for name in ("iota", "epoch", "gamma", "rho", "beta", "concentration", "stability"):
            number("Constants", name, getattr(self, name), above=0)
        if self.eta is not None:
            number("Constants", "eta", self.eta, above=0)


class Condition(NamedTuple):
    """One inequality, with both sides as numbers."""

    statement: str
    left: float
    right: float

    @property
    def holds(self) -> bool:
        """Whether the left side is at most the right one, up to rounding."""
        return self.left <= self.right * (1 + 1e-9)


class TheoremTuning(NamedTuple):
    """The theorem's parameters, and whether the snapshot lemma's conditions hold for them."""

    parameters: EpochParameters
    iota: float
    conditions: tuple[Condition, ...]

    @property
    def stable(self) -> bool:
        """Whether every condition holds, so that the snapshot lemma applies."""
        return all(condition.holds for condition in self.conditions)


def theorem(problem: Problem, constants: Constants | None = None) -> TheoremTuning:
    """Return the theorem's parameters and the state of its stability conditions.

    iota = C log(M K T), L = C_L sqrt(alpha T iota) rounded up to an even number,
    gamma = C_gamma iota / L, eta = c_eta / L, rho = C_rho gamma, beta = C_beta gamma.

    Args:
        problem: A problem with a horizon and a list of contexts.
        constants: The constants that the theorem leaves open; None means `Constants()`.

    Returns:
        The parameters, iota, and the conditions of the snapshot lemma.

    Raises:
        InvalidParameterError: If the horizon is too short for the rule.
        IndependenceNumberError: If the independence number of the graph cannot be computed.

    >>> from crossbandit import Problem, graphs
    >>> tuning = theorem(Problem(graphs.complete(9), contexts=1000, horizon=1_000_000))
    >>> tuning.stable, tuning.parameters.epoch_length
    (True, 6772)
    """
    constants = constants or Constants()
    horizon = required_horizon("theorem", problem)
    contexts = required_contexts("theorem", problem)
    alpha = required_alpha("theorem", problem)
    iota = constants.iota * math.log(contexts * problem.arms * horizon)
    length = 2 * math.ceil(constants.epoch * math.sqrt(alpha * horizon * iota) / 2)
    gamma = constants.gamma * iota / length
    rho, beta = constants.rho * gamma, constants.beta * gamma
    if rho >= 1 or 2 * length > horizon:
        raise InvalidParameterError(
            f"The theorem's rule cannot be used for a horizon of {horizon} rounds here. It needs "
            f"two epochs of {length} rounds, and explores uniformly with probability {rho:.3g}, "
            "which must be below 1. Use a longer horizon, smaller constants, or "
            "tuning='experiment'."
        )
    inputs = constants.stability * (length + iota / gamma + length * beta / gamma)
    eta = math.log(2) / inputs if constants.eta is None else constants.eta / length
    conditions = (
        Condition("C iota / L <= gamma", constants.concentration * iota / length, gamma),
        Condition("rho <= C gamma", rho, constants.stability * gamma),
        Condition("beta <= C gamma", beta, constants.stability * gamma),
        Condition("eta C (L + iota/gamma + L beta/gamma) <= log 2", eta * inputs, math.log(2)),
    )
    return TheoremTuning(EpochParameters(eta, gamma, rho, beta, length), iota, conditions)


def proved(problem: Problem) -> EpochParameters:
    """Return the parameters for which the machine-checked bound is smallest.

    With n = L / 2 pairs in an epoch: eta = 1 / (64 n), gamma = rho = iota / (2 n),
    beta = 4 gamma. The numbers n and iota minimise the bound of `proved_bound`. They depend on the
    horizon, the number of arms and the independence number, but not on the number of contexts.

    Args:
        problem: A problem with a horizon.

    Returns:
        The parameters of Algorithm 2.

    Raises:
        InvalidParameterError: If the problem has no horizon, or one that is too short.
        IndependenceNumberError: If the independence number of the graph cannot be computed.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.apple_tasting(), contexts=1000, horizon=1_000_000)
    >>> parameters = proved(problem)
    >>> parameters.beta / parameters.gamma, parameters.eta * parameters.epoch_length
    (4.0, 0.03125)
    >>> round(proved_bound(problem, parameters), -3)
    212000.0
    """
    horizon = required_horizon("proved", problem)
    if horizon < _SHORTEST_HORIZON:
        raise InvalidParameterError(
            f"The proved rule needs a horizon of at least {_SHORTEST_HORIZON} rounds. "
            f"Got {horizon}. Use tuning='experiment'."
        )
    return best_parameters(_size(problem), horizon)


def proved_bound(problem: Problem, parameters: EpochParameters | None = None) -> float:
    """Return the machine-checked bound on the expected regret of Algorithm 2.

    This is `Theorem1_explicit` of `proofs/Statement.v`, minimised over its free number iota. It
    holds for every context distribution, all oblivious losses in [0, 1] and every fixed policy, if
    the feedback of every decision arrives before the next one.

    Args:
        problem: A problem with a horizon and a strongly observable graph.
        parameters: The parameters of Algorithm 2; None means those of `proved`.

    Returns:
        The bound, or infinity if the conditions of the theorem do not hold for these parameters.

    Raises:
        InvalidParameterError: If the problem has no horizon.
        IndependenceNumberError: If the independence number of the graph cannot be computed.

    >>> from crossbandit import CrossGraph, Problem, graphs
    >>> problem = Problem(graphs.apple_tasting(), contexts=1000, horizon=1_000_000)
    >>> proved_bound(problem) < proved_bound(problem, theorem(problem).parameters) < 1_000_000
    True
    >>> proved_bound(problem, CrossGraph().parameters(problem))  # the experiment rule: no proof
    inf
    """
    parameters = proved(problem) if parameters is None else parameters
    return smallest_bound(_size(problem), required_horizon("proved", problem), parameters)


# --- the machine-checked bound --------------------------------------------------------------------
# It is `bound2` of proofs/Statement.v, with the names used there. Its conditions are those of
# `Theorem1_explicit`. An epoch has n = L / 2 pairs of rounds. The number iota is free: it is not a
# parameter of the algorithm.

_PAIRS_PER_IOTA = 36.0  # 36 iota <= n
_KAPPA = 1 / 8  # kappa <= 1/8
_LEAST_IOTA = 4.0 * (1 + 1e-9)  # for `best_parameters`: n gamma = iota / 2 must be at least 2
_FEWEST_PAIRS = math.ceil(_PAIRS_PER_IOTA * _LEAST_IOTA)
_SHORTEST_HORIZON = 4 * _FEWEST_PAIRS  # two epochs


class GraphSize(NamedTuple):
    """What the bound depends on of a graph.

    Attributes:
        arms: The number of arms.
        alpha: The independence number, or a bound of it.
        mutual: Whether all edges between arms with self-loops go both ways.
    """

    arms: int
    alpha: float
    mutual: bool


def _size(problem: Problem) -> GraphSize:
    graph = problem.graph
    loops = neighborhoods.self_loops(graph.out_ranges)
    there, back = (neighborhoods.induced(one, loops) for one in (graph.out_ranges, graph.in_ranges))
    mutual = neighborhoods.first_outside(there, back) is None
    return GraphSize(graph.arms, required_alpha("proved", problem), mutual)


def best_parameters(size: GraphSize, horizon: int) -> EpochParameters:
    """Return parameters for which the bound is small; n and iota are searched for.

    The other parameters follow from these two. With gamma = iota / (2 n) and beta = 4 gamma, the
    smallest values that the conditions allow, eta = 1 / (64 n) is the largest. A search over all
    parameters gains less than 7 %.
    """

    def bound(pairs: float, iota: float) -> float:
        return bound2(size, horizon, _parameters(int(pairs), iota), iota)

    def best_iota(pairs: float) -> float:
        return _minimiser(lambda x: bound(pairs, x), _LEAST_IOTA, int(pairs) / _PAIRS_PER_IOTA)

    logarithm = _minimiser(
        lambda x: bound(math.exp(x), best_iota(math.exp(x))),
        math.log(_FEWEST_PAIRS),
        math.log(horizon / 4),
    )
    pairs = max(_FEWEST_PAIRS, int(math.exp(logarithm)))
    return _parameters(pairs, best_iota(pairs))


def _parameters(pairs: int, iota: float) -> EpochParameters:
    gamma = iota / (2 * pairs)
    return EpochParameters(_KAPPA / (8 * pairs), gamma, gamma, 4 * gamma, 2 * pairs)


def smallest_bound(size: GraphSize, horizon: int, parameters: EpochParameters) -> float:
    """Return the bound, minimised over iota; infinity if the conditions cannot be satisfied."""
    eta, gamma, rho, beta, length = parameters
    pairs = length / 2
    largest = min(
        2 * pairs * gamma, pairs / _PAIRS_PER_IOTA, (_KAPPA * gamma / eta - pairs * beta) / 2
    )
    largest *= 1 - 1e-12  # so that rounding cannot violate a condition
    if not (0 < rho < 1 and beta >= 4 * gamma and pairs * gamma >= 2 and largest >= 1):
        return math.inf

    def bound(iota: float) -> float:
        return bound2(size, horizon, parameters, iota)

    return bound(_minimiser(bound, 1.0, largest))


def bound2(size: GraphSize, horizon: int, parameters: EpochParameters, iota: float) -> float:
    """Return the bound for one iota, whether or not the conditions hold."""
    arms, alpha, mutual = size
    eta, gamma, rho, beta, length = parameters
    pairs = length // 2
    epochs = -(-horizon // length) - 1  # after the first
    graph_sum = alpha if mutual else min(arms, 2 * alpha * (1 + math.log(arms / rho)))
    kappa = eta * (2 * iota + pairs * beta) / gamma
    cost = (3 * gamma + (8 * gamma + 2 / 3 * beta) * kappa + 32 * eta) * (2 * graph_sum + 6)
    cost += 2 * (beta + (8 / 3 * gamma + 10 / 3 * beta) * kappa)
    cost += 4 * eta * (16 * (1 + beta) + 4 * beta**2 / gamma)
    pair_cost = 2 * rho + math.exp(4 * kappa) / (1 - rho) * cost
    failure = (epochs + 3) * (2 * arms + 1) * math.exp(-iota)
    return length + math.log(arms) / eta + pairs * epochs * (pair_cost + failure)


def _minimiser(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one minimum is smallest, by golden-section search."""
    share = (math.sqrt(5) - 1) / 2
    left, right = high - share * (high - low), low + share * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(60):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - share * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + share * (high - low)
            at_right = function(right)
    return (low + high) / 2
