"""The paper's two rules that turn a problem into the parameters of Algorithm 2.

`experiment` is the rule of the paper's evaluation: short epochs, no constants, good in practice.
`theorem` is the rule under which the regret bound is proved: much longer epochs, cautious rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.errors import IndependenceNumberError, InvalidParameterError
from crossbandit.kernels.epochs import EpochParameters
from crossbandit.validation import number

if TYPE_CHECKING:
    from crossbandit.problem import Problem

RULES = ("experiment", "theorem")

# An epoch length that divides the horizon is taken if it is this close to the rule's value.
_NEAR = 2.0

# Past this horizon no divisor is looked for: the search would take seconds, then hours.
_FACTORABLE = 10**12


def experiment(problem: Problem) -> EpochParameters:
    """Return eta = gamma = rho = beta = 1 / sqrt(alpha T), and L near sqrt(alpha T / log K).

    L is the even divisor of the horizon T nearest to that value, as in the paper. Where no even
    divisor lies within a factor of two of it (an odd horizon has none at all), L is the nearest
    even number instead, and the last epoch is cut short by the end of the horizon.

    >>> from crossbandit import Problem, graphs
    >>> experiment(Problem(graphs.paper_ring(9, radius=1), contexts=1000, horizon=10_000))
    EpochParameters(eta=0.005, gamma=0.005, rho=0.005, beta=0.005, epoch_length=100)
    """
    rate = experiment_rate(problem)
    target = 1.0 / (rate * math.sqrt(math.log(problem.arms)))
    length = epoch_length(required_horizon("experiment", problem), target)
    return EpochParameters(rate, rate, rate, rate, length)


def experiment_rate(problem: Problem) -> float:
    """Return 1 / sqrt(alpha T), the experiment rule's one rate."""
    horizon = required_horizon("experiment", problem)
    return 1.0 / math.sqrt(required_alpha("experiment", problem) * horizon)


def per_context_rate(problem: Problem, size: int) -> float:
    """Return sqrt(2 log K / (size T / M)), the appendix's rule for a learner per context.

    `size` is what a round's feedback is worth: K without a graph, alpha with one.
    """
    rounds = required_horizon("experiment", problem) / required_contexts("experiment", problem)
    return math.sqrt(2.0 * math.log(problem.arms) / (size * rounds))


@dataclass(frozen=True, kw_only=True)
class Constants:
    """The absolute constants that the theorem leaves open, with values that satisfy its proof.

    `concentration` and `stability` are the C of the snapshot lemma's conditions. Their defaults
    follow from its proof: gamma of at least 4 iota / L keeps empirical denominators within a
    factor of two of the true ones; inputs between a snapshot and a round would allow 4 in the last
    condition, and 8 also keeps eta times an epoch's inputs below 1/4, as the lemma on joint
    products needs. A correction cancels what the special arm's estimates drift only
    if beta is above 3 gamma. The others are C, C_L, C_gamma, C_rho and c_eta of the theorem; an eta
    of None is as large as the conditions allow.
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
            f"The theorem's rule says nothing about a horizon of {horizon} rounds here: it asks "
            f"for epochs of {length} rounds, of which two must fit, and mixes in a share of "
            f"{rho:.3g} of uniform play, which must be below 1. Use a longer horizon, smaller "
            "constants, or tuning='experiment'."
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


def epoch_length(horizon: int, target: float) -> int:
    """Return the even divisor of `horizon` nearest to `target`, or else the nearest even number.

    At most half of the horizon: the first epoch only warms up.

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


def required_alpha(rule: str, problem: Problem) -> int:
    """Return the independence number, or say what to do where it is out of reach."""
    try:
        return problem.graph.independence_number
    except IndependenceNumberError as error:
        raise IndependenceNumberError(
            f"The {rule!r} tuning rule needs the independence number of the graph, which is out of "
            f"reach: it lies within {tuple(problem.graph.independence_bounds)}. Give every "
            "parameter of the algorithm by hand."
        ) from error


def required_horizon(rule: str, problem: Problem) -> int:
    """Return the problem's horizon, or say what to do about its absence."""
    if problem.horizon is None:
        raise InvalidParameterError(
            f"The {rule!r} tuning rule needs a horizon. Give Problem(..., horizon=T), or give "
            "every parameter of the algorithm by hand."
        )
    return problem.horizon


def required_contexts(rule: str, problem: Problem) -> int:
    """Return the problem's number of contexts, or say what to do about its absence."""
    if problem.contexts is None:
        raise InvalidParameterError(
            f"The {rule!r} tuning rule needs the number of contexts here, and this problem has "
            "continuous contexts. Give it a table, Problem(graph, features=table), or give "
            "every parameter of the algorithm by hand."
        )
    return problem.contexts


def _even_divisors(horizon: int) -> list[int]:
    if horizon > _FACTORABLE:
        return []
    small = [d for d in range(1, math.isqrt(horizon) + 1) if horizon % d == 0]
    return [d for d in {*small, *(horizon // s for s in small)} if d % 2 == 0]
