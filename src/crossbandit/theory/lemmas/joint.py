"""Lemma 9: the real trajectory against the ideal one, when all denominators are wrong at once.

The constants follow from the paper's proof, with |z_a| <= k |phi_a| and k = eta B <= c_0 = 1/4:

- Lemma 5 and |exp(x) - 1| <= 2 |x| give |p - ptilde| <= 2 k ptilde (|phi| + 2 <ptilde, |phi|>). So
  C = 4 c_0 pointwise, and C = 6 c_0 for the sum.
- For the special arm, |exp(x) - 1| <= 1.3 |x| for |x| <= 1/2, over a normaliser of at least
  exp(-1/2), gives C = 2.15 for (9). With 2 |x y| <= x^2 + y^2 and Lemma 7, (11) has
  C = 1.5 * 4 * 2.15 / (1 - rho), and (12) has C = 2 * 4 * 2.15 / (1 - rho).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.theory.lemmas.search import Case, Sides, bounded
from crossbandit.theory.lemmas.stability import C_0, ODDS, StableEpoch, away, epoch_cases
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.types import Floats

_SPECIAL = 2.15


def product_sum(epoch: StableEpoch) -> Sides:
    """Lemma 9, first display: sum |p - ptilde| |phi| <= C sum ptilde phi^2, worst context."""
    left = (np.abs(epoch.real - epoch.ideal) * np.abs(epoch.phi)).sum(axis=1)
    right = (epoch.ideal * epoch.phi**2).sum(axis=1)
    return _worst(left, right)


def pointwise(epoch: StableEpoch) -> Sides:
    """Lemma 9, proof: |p - ptilde| <= C ptilde (|phi| + <ptilde, |phi|>), for the worst arm."""
    size = np.abs(epoch.phi)
    right = epoch.ideal * (size + (epoch.ideal @ size)[:, None])
    return _worst(np.abs(epoch.real - epoch.ideal).ravel(), right.ravel())


def special_first(epoch: StableEpoch) -> Sides:
    """Equation 9: |p(j) - ptilde(j)| <= C eta B (away |phi_j| + sum over others), worst context."""
    others = epoch.ideal[:, 1:] @ np.abs(epoch.phi[1:])
    right = epoch.drift * (away(epoch.ideal) * abs(epoch.phi[0]) + others)
    return _worst(np.abs(epoch.real - epoch.ideal)[:, 0], right)


def special_second(epoch: StableEpoch) -> Sides:
    """Equation 11: the same times |phi_j|, averaged over the contexts, with u_e(j)."""
    moved = float(epoch.nu @ np.abs(epoch.real - epoch.ideal)[:, 0])
    others = float((epoch.nu @ epoch.ideal)[1:] @ epoch.phi[1:] ** 2)
    weight = epoch.u / (1 - epoch.rho)
    return Sides(moved * abs(epoch.phi[0]), epoch.drift * (weight * epoch.phi[0] ** 2 + others))


def special_crude(epoch: StableEpoch) -> Sides:
    """Equation 12: E_c |p(j) - ptilde(j)| <= C eta B u_e(j)."""
    moved = float(epoch.nu @ np.abs(epoch.real - epoch.ideal)[:, 0])
    return Sides(moved, epoch.drift * epoch.u / (1 - epoch.rho))


def exponential(x: float) -> Sides:
    """Lemma 9, proof: |exp(x) - 1| <= 2 |x| for |x| <= 1."""
    return Sides(abs(math.expm1(x)), 2 * abs(x))


def _worst(left: Floats, right: Floats) -> Sides:
    """Return the pair of sides with the largest ratio."""
    return max(map(Sides, left.tolist(), right.tolist()), key=lambda sides: sides.ratio)


_DISPLAYS = (
    ("first display", "sum |p - ptilde| |phi| <= C sum ptilde phi^2", product_sum, 6 * C_0),
    ("proof", "|p - ptilde| <= C ptilde (|phi| + <ptilde, |phi|>)", pointwise, 4 * C_0),
    ("Equation 9", "|p(j) - ptilde(j)| <= C eta B (...)", special_first, _SPECIAL),
    ("Equation 11", "E|p(j) - ptilde(j)||phi_j| <= C eta B (...)", special_second, 6 * _SPECIAL),
    ("Equation 12", "E|p(j) - ptilde(j)| <= C eta B u(j)", special_crude, 2 * ODDS * _SPECIAL),
)


@statement(90, "Lemma 9", "Equations 8 to 13")
def products_are_jointly_stable(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Errors of the denominators move the trajectory by no more than their squares."""
    for name, claim, sides_of, constant in _DISPLAYS:
        yield bounded(
            f"Lemma 9 (joint product stability), {name}",
            f"{claim}; denominators, inputs, contexts searched",
            epoch_cases(sides_of),
            effort,
            constant=constant,
        )
    yield bounded(
        "Lemma 9, proof (exponential)",
        "|exp(x) - 1| <= 2 |x| for |x| <= 1",
        [Case(1, lambda point: exponential(2 * float(point[0]) - 1))],
        effort,
    )
