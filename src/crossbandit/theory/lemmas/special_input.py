"""Appendix K, one round at a time: the cost of subtracting the special arm's input.

With U <= 4 u / (1 - rho), theta <= 2, l <= 2, beta <= 1 and beta <= 4 gamma <= 4 u, the away-mass
term is at most 4 U (9 w + beta^2) / u^2 <= 16 (9 + 4) / (1 - rho): C = 208.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.theory.lemmas.one_round import Round, round_cases
from crossbandit.theory.lemmas.search import Case, Point, Sides, bounded, geometric
from crossbandit.theory.lemmas.stable_epoch import away
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.types import Floats


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
