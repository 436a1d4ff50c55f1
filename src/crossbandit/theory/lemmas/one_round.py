"""Lemmas 10 to 15, one round at a time, on epochs where stability holds.

The lemmas sum these inequalities over the rounds; `decompose` measures the sums on real runs.
Losses are doubled, l in [0, 2], as the analysis declares after its pair reduction. Constants follow
from the proofs, with Lemma 7 as U <= 4 u / (1 - rho):

- Appendix H: E[phi] (w/u) Delta <= (gamma / (2 u)) 2 (X + U) <= gamma X / u + 4 gamma / (1 - rho);
  and x -> x_+ is one-Lipschitz, so that Equation 12 bounds Xtilde - X with its constant.
- Lemma 13: the pointwise bound of Lemma 9, |p - ptilde| <= 2 k ptilde (|phi| + 2 <ptilde, |phi|>)
  with k <= 1/4, times |phi|. The special arm's part of the inner product gives
  4 k ptilde(a) |phi_a| |phi_j| <= 2 k ptilde(a) (phi_a^2 + phi_j^2), and the sum of ptilde(a) over
  regular arms is U. So C = 8 k <= 2 on both parts.
- Lemma 15: with beta = C_0 gamma, the drift is at most
  -(1 - 2 / C_0) beta X / u + (1 + 2 / C_0) beta U / u.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.theory.definition import mixed
from crossbandit.theory.lemmas.search import Case, Point, Sides, bounded
from crossbandit.theory.lemmas.stability import (
    CONTEXTS,
    StableEpoch,
    away,
    coordinates,
    epoch_at,
)
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crossbandit.types import Floats

_C_BETA = 4.0  # the C_0 of Lemma 15


@dataclass(frozen=True, eq=False)
class Round:
    """An epoch, a comparator that plays j or not in every context, and the losses of a round."""

    epoch: StableEpoch
    comparator: Floats  # (M,): pi_c(j), 0 or 1
    losses: Floats  # (M, K), doubled
    share: float  # a number in [0, 1] that an inequality may use

    @property
    def beta(self) -> float:
        """The pessimism of Lemma 15."""
        return _C_BETA * self.epoch.gamma

    def lead(self, p: Floats) -> Floats:
        """Return p_c(j) - pi_c(j) of every context: (M,)."""
        differences: Floats = np.where(self.comparator > 0, -away(p), p[:, 0])
        return differences

    def gap(self, p: Floats) -> float:
        """Return pbar(j) - pibar(j)."""
        return float(self.epoch.nu @ self.lead(p))

    def excess(self, p: Floats) -> float:
        """Return X = (pbar(j) - pibar(j))_+."""
        return max(0.0, self.gap(p))

    def remainder(self, p: Floats) -> float:
        """Return U = 1 - pbar(j)."""
        return float(self.epoch.nu @ away(p))

    def delta(self, p: Floats) -> float:
        """Return Delta = E_c[(p_c(j) - pi_c(j)) l_c(j)]."""
        return float(self.epoch.nu @ (self.lead(p) * self.losses[:, 0]))


def round_at(arms: int, values: Floats) -> Round:
    """Turn a point of the unit cube into a round."""
    point = Point(values)
    epoch = epoch_at(arms, point)
    comparator = (point.many(CONTEXTS) > 0.5).astype(np.float64)
    return Round(epoch, comparator, 2 * point.many(CONTEXTS, arms), point.one())


def round_cases(sides_of: Callable[[Round], Sides], sizes: Sequence[int] = (2, 3)) -> list[Case]:
    """Return the searches of an inequality over rounds of several sizes."""

    def at(arms: int, values: Floats) -> Sides:
        return sides_of(round_at(arms, values))

    return [Case(coordinates(n) + CONTEXTS * (1 + n) + 1, partial(at, n)) for n in sizes]


# ------------------------------------------------------------------------------- the two sides


def mixing_cost(round_: Round) -> Sides:
    """Lemma 10: <r^p - p, l> <= 2 rho, in the worst context."""
    epoch = round_.epoch
    cost = ((mixed(epoch.real, epoch.rho) - epoch.real) * round_.losses).sum(axis=1)
    return Sides(float(cost.max()), 2 * epoch.rho)


def special_denominator_drift(round_: Round) -> Sides:
    """Appendix H: E[phi_j] (w/u) Deltatilde <= gamma Xtilde / u + C gamma / (1 - rho).

    By Equation 4, E[phi_j] lies between 0 and gamma / (2 u).
    """
    epoch, p = round_.epoch, round_.epoch.ideal
    u, gamma = epoch.u, epoch.gamma
    mean = round_.share * gamma / (2 * u)
    drift = mean * (u - gamma) / u * round_.delta(p)
    return Sides(drift - gamma * round_.excess(p) / u, gamma / (1 - epoch.rho))


def excess_transfer(round_: Round) -> Sides:
    """Appendix H: (Xtilde - X) / u <= C eta B / (1 - rho), so that Vtilde <= V + C eta L T."""
    epoch = round_.epoch
    moved = round_.excess(epoch.ideal) - round_.excess(epoch.real)
    return Sides(moved / epoch.u, epoch.drift / (1 - epoch.rho))


def perturbation(round_: Round, *, corrected: bool) -> Sides:
    """Lemma 13, proof: regular arms' |p - ptilde| |phi| <= C sum of ptildebar phi^2.

    `corrected` puts u(j) / (1 - rho) in the place of ptildebar(j).
    """
    epoch = round_.epoch
    moved = epoch.nu @ np.abs(epoch.real - epoch.ideal)
    weights = epoch.nu @ epoch.ideal
    if corrected:
        weights[0] = epoch.u / (1 - epoch.rho)
    return Sides(float(moved[1:] @ np.abs(epoch.phi[1:])), float(weights @ epoch.phi**2))


def positive_part(round_: Round) -> Sides:
    """Lemma 15, proof: Delta^+ <= C (X + U)."""
    p = round_.epoch.real
    return Sides(round_.delta(p), round_.excess(p) + round_.remainder(p))


def negative_part(round_: Round) -> Sides:
    """Lemma 15, proof: Delta^- <= C U."""
    p = round_.epoch.real
    return Sides(-round_.delta(p), round_.remainder(p))


def comparator_part(round_: Round) -> Sides:
    """Lemma 15, proof: (pibar - pbar)_+ <= U."""
    p = round_.epoch.real
    return Sides(-round_.gap(p), round_.remainder(p))


def cancellation(round_: Round) -> Sides:
    """Lemma 15, proof: (gamma Delta - beta (pbar - pibar)) / u <= -c beta X / u + C beta.

    With beta = 4 gamma, c = 1 - 2/4 and C = (1 + 2/4) * 4 / (1 - rho).
    """
    epoch, p = round_.epoch, round_.epoch.real
    drift = epoch.gamma * round_.delta(p) - round_.beta * round_.gap(p)
    kept = 0.5 * round_.beta * round_.excess(p)
    return Sides((drift + kept) / epoch.u, round_.beta / (1 - epoch.rho))


# ------------------------------------------------------------------------------- the searches


@statement(100, "Lemma 10 (proof)")
def mixing_costs_little(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Uniform exploration costs at most 2 rho in a selected round."""
    claim = "<r^p - p, l> <= 2 rho in every context, doubled losses searched"
    yield bounded("Lemma 10 (Bias 1), one round", claim, round_cases(mixing_cost), effort)


@statement(121, "Appendix H: special arm")
def special_denominators_drift_little(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """What Bias 3 leaves on the special arm."""
    yield bounded(
        "Appendix H (Bias 3, special arm), one round",
        "E[phi_j] (w/u) Delta <= gamma X / u + C gamma / (1 - rho), on the ideal trajectory",
        round_cases(special_denominator_drift),
        effort,
        constant=4.0,
    )
    yield bounded(
        "Appendix H (from the ideal to the real X)",
        "(Xtilde - X) / u <= C eta B / (1 - rho)",
        round_cases(excess_transfer),
        effort,
        constant=17.2,
    )


@statement(130, "Lemma 13 (proof)")
def perturbations_are_quadratic(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """What Bias 4 adds on regular arms."""
    yield bounded(
        "Lemma 13, proof (Bias 4, regular arms), display",
        "regular arms' E|p - ptilde||phi| <= C sum over all arms of ptildebar phi^2",
        round_cases(partial(perturbation, corrected=False)),
        effort,
        constant=1.5,
    )
    yield bounded(
        "Lemma 13, proof (Bias 4, regular arms), what follows",
        "the display with u(j) / (1 - rho) in place of ptildebar(j)",
        round_cases(partial(perturbation, corrected=True)),
        effort,
        constant=2.0,
        as_written=False,
        note=(
            "The graph sum does not bound the display: it leaves out the special arm. K = 2, no "
            "self-loops, all mass on j, rho = gamma: ptilde(j) phi_j^2 = 4/49 however small gamma "
            "is. In the form checked here, u(j) E[phi_j^2] <= 4/L + gamma by Equation 5, and the "
            "lemma follows as stated."
        ),
    )


@statement(150, "Lemma 15 (proof)", "Appendix G: special arm")
def pessimism_cancels_the_drift(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The sign relations, and the cancellation that they give."""
    yield bounded(
        "Lemma 15, proof (Delta^+)",
        "Delta^+ <= C (X + U) with the doubled loss",
        round_cases(positive_part),
        effort,
        constant=2.0,
        as_written=False,
        note=(
            "False with C = 1 for the doubled loss: K = 2, M = 1, p(j) = 0.9, pi(j) = 0, l(j) = 2 "
            "gives 1.8 > 0.9 + 0.1. True with C = 2, which the lemma's constants absorb."
        ),
    )
    yield bounded(
        "Lemma 15, proof (Delta^-)",
        "Delta^- <= C U with the doubled loss",
        round_cases(negative_part),
        effort,
        constant=2.0,
        as_written=False,
        note="False with C = 1 for the doubled loss: p(j) = 0.9, pi(j) = 1, l(j) = 2: 0.2 > 0.1.",
    )
    yield bounded(
        "Lemma 15, proof (comparator)",
        "(pibar - pbar)_+ <= U",
        round_cases(comparator_part),
        effort,
    )
    yield bounded(
        "Lemma 15, proof (cancellation)",
        "(gamma Delta - beta (pbar - pibar)) / u <= -beta X / (2 u) + C beta, beta = 4 gamma",
        round_cases(cancellation),
        effort,
        constant=6.0,
        note="beta / gamma must exceed 2 for the doubled loss, and 3 to absorb Bias 3 as well.",
    )
