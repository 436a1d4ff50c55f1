"""Appendices K and L: the special arm's input is subtracted, and all bounds are added up.

Appendix K, one round at a time. With U <= 4 u / (1 - rho), theta <= 2, l <= 2, beta <= 1 and
beta <= 4 gamma <= 4 u, the away-mass term is at most
4 U (9 w + beta^2) / u^2 <= 16 (9 + 4) / (1 - rho): C = 208.

Appendix L: the sum is of order sqrt(alpha T) under the theorem's parameters. Over
sqrt(alpha T iota) log(4 K^2 / (alpha rho)), whose logarithm is at least log 16 and at least log K
where rho <= 1/2, and with iota >= 9, the terms are at most: L 0.4; log K / eta 61; rho, beta and
gamma together 8.7; the graph sum times gamma + 1/L 144; the two with eta 2.5. So C = 217.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.algorithms.tuning import Constants
from crossbandit.theory.lemmas.one_round import Round, round_cases
from crossbandit.theory.lemmas.search import Case, Point, Sides, bounded, geometric
from crossbandit.theory.lemmas.stability import away
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.types import Floats
_RULE = Constants()


def away_quadratic(round_: Round) -> Sides:
    """Appendix K: E[sum over a != j of p(a) z^2] <= C / (1 - rho), z the special arm's input.

    z = theta (I l + beta) / u with theta <= 2 and P(I = 1) = w.
    """
    epoch = round_.epoch
    u, w, beta = epoch.u, epoch.u - epoch.gamma, min(1.0, round_.beta)
    square = w * (round_.losses[:, 0] + beta) ** 2 + (1 - w) * beta**2
    cost = 4 * float(epoch.nu @ (away(epoch.real) * square))
    return Sides(cost / u**2, 1 / (1 - epoch.rho))


def shift_size(iota: float, length: float, gamma: float, beta: float) -> Sides:
    """Appendix K: eta z <= 3, so that Lemma 16 applies; eta as large as condition (6) allows."""
    eta = math.log(2) / (8 * (length + iota / gamma + length * beta / gamma))
    return Sides(eta * 2 * (2 + beta) / gamma, 3.0)


def _shift_size_at(values: Floats) -> Sides:
    point = Point(values)
    length, iota = geometric(1e2, 1e8, point.one()), geometric(1.0, 1e2, point.one())
    gamma = 4 * iota / length * geometric(1.0, 8.0, point.one())
    return shift_size(iota, length, gamma, gamma * geometric(1e-3, 8.0, point.one()))


@statement(165, "Appendix K")
def special_inputs_are_shifted_away(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The quadratic cost of the shift, and that Lemma 16 allows it."""
    yield bounded(
        "Appendix K (away-mass term), one round",
        "E[(1 - p(j)) z^2] <= C / (1 - rho); theta <= 2, beta = 4 gamma <= 1",
        round_cases(away_quadratic),
        effort,
        constant=208.0,
        note="Also (y - z)^2 <= 2 y^2 + 2 z^2: the factor 2 is part of the paper's C.",
    )
    yield bounded(
        "Appendix K (the shift is allowed)",
        "eta z <= 3 under condition (6), so that Lemma 16 applies",
        [Case(4, _shift_size_at)],
        effort,
    )


class Size(NamedTuple):
    """The size of a problem."""

    horizon: float
    arms: float
    alpha: float
    contexts: float


def assembled(size: Size) -> Sides:
    """Return the paper's bracket, and sqrt(alpha T iota) log(4 K^2 / (alpha rho)).

    The constants are those of the rule, `tuning.Constants`; A_G is that of `stability.graph_bound`.
    """
    iota = _RULE.iota * math.log(size.contexts * size.arms * size.horizon)
    length = _RULE.epoch * math.sqrt(size.alpha * size.horizon * iota)
    gamma = _RULE.gamma * iota / length
    rho, beta = _RULE.rho * gamma, _RULE.beta * gamma
    eta = math.log(2) / (_RULE.stability * (length + iota / gamma + length * beta / gamma))
    logarithm = math.log(4 * size.arms**2 / (size.alpha * rho))
    graph = 16 * size.alpha * logarithm / (1 - rho) + 8
    per_round = (
        rho
        + eta * graph
        + graph * (gamma + 1 / length)
        + beta
        + gamma
        + eta * graph * (1 + length * gamma)
    )
    total = length + math.log(size.arms) / eta + per_round * size.horizon
    return Sides(total, math.sqrt(size.alpha * size.horizon * iota) * logarithm)


def _assembled_at(values: Floats) -> Sides:
    """Choose sizes for which the rule's rho is at most 1/2: shorter ones have the trivial bound."""
    point = Point(values)
    arms = geometric(2, 1e6, point.one())
    alpha = geometric(1, arms, point.one())
    contexts = geometric(1, 1e12, point.one())
    factor = geometric(1, 1e12, point.one())
    shortest = 1.0
    for _ in range(20):  # the fixed point of T = iota(T) max(64 / alpha, 4 alpha)
        shortest = 2 * math.log(contexts * arms * shortest) * max(64 / alpha, 4 * alpha)
    return assembled(Size(shortest * factor, arms, alpha, contexts))


@statement(170, "Appendix L", "Theorem 1: the order of the bound")
def bounds_add_up_to_the_rate(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """With the theorem's parameters, every term is at most sqrt(alpha T) times logarithms."""
    yield bounded(
        "Appendix L (assembly)",
        "the bracket over sqrt(alpha T iota) log(4 K^2 / (alpha rho)); T, K, alpha, M searched",
        [Case(4, _assembled_at)],
        effort,
        constant=217.0,
        note="M enters through logarithms only. Its constants are large: this is an order.",
    )
