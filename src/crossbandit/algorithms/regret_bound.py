"""The machine-checked bound on the regret of Algorithm 2, and the parameters that minimise it.

The bound is `bound2` of proofs/Statement.v, with the names used there. Its conditions are those of
`Theorem1_explicit`. An epoch has n = L / 2 pairs of rounds. The number iota is free: it is not a
parameter of the algorithm.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.epochs import EpochParameters

if TYPE_CHECKING:
    from collections.abc import Callable

_PAIRS_PER_IOTA = 36.0  # 36 iota <= n
_KAPPA = 1 / 8  # kappa <= 1/8
_LEAST_IOTA = 4.0 * (1 + 1e-9)  # for `best_parameters`: n gamma = iota / 2 must be at least 2
_FEWEST_PAIRS = math.ceil(_PAIRS_PER_IOTA * _LEAST_IOTA)
SHORTEST_HORIZON = 4 * _FEWEST_PAIRS  # two epochs


def best_parameters(arms: int, alpha: int, horizon: int) -> EpochParameters:
    """Return parameters for which the bound is small; n and iota are searched for.

    The other parameters follow from these two. With gamma = iota / (2 n) and beta = 4 gamma, the
    smallest values that the conditions allow, eta = 1 / (64 n) is the largest. A search over all
    parameters gains less than 7 %.
    """

    def bound(pairs: float, iota: float) -> float:
        return bound2(arms, alpha, horizon, _parameters(int(pairs), iota), iota)

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


def smallest_bound(arms: int, alpha: int, horizon: int, parameters: EpochParameters) -> float:
    """Return the bound, minimised over iota; infinity if the conditions cannot be satisfied."""
    eta, gamma, rho, beta, length = parameters
    pairs = length / 2
    largest = min(
        2 * pairs * gamma,
        pairs / _PAIRS_PER_IOTA,
        (_KAPPA * gamma / eta - pairs * beta) / 2,
    )
    largest *= 1 - 1e-12  # so that rounding cannot violate a condition
    if not (0 < rho < 1 and beta >= 4 * gamma and pairs * gamma >= 2 and largest >= 1):
        return math.inf

    def bound(iota: float) -> float:
        return bound2(arms, alpha, horizon, parameters, iota)

    return bound(_minimiser(bound, 1.0, largest))


def bound2(arms: int, alpha: int, horizon: int, parameters: EpochParameters, iota: float) -> float:
    """Return the bound for one iota, whether or not the conditions hold."""
    eta, gamma, rho, beta, length = parameters
    pairs = length // 2
    epochs = -(-horizon // length) - 1  # after the first
    graph_sum = min(arms, 2 * alpha * (1 + math.log(arms / rho)))
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
