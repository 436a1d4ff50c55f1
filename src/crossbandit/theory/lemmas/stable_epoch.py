"""Epochs on which the stability condition of Lemma 8 holds, as points of a cube."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.theory.definition import mixed
from crossbandit.theory.lemmas.search import Case, Point, Sides, distribution, geometric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crossbandit.types import Floats

LOG_2 = math.log(2)
C_0 = 0.25
CONTEXTS = 2


@dataclass(frozen=True, eq=False)
class StableEpoch:
    """An epoch on which the stability condition holds; arm 0 is the special arm j.

    Inputs are given times eta. The ideal trajectory has met `before` since the snapshot, and
    `within` in the current epoch; the real one (1 - phi) <= 2 times the latter. Both sums stay
    within [0, log 2], as the condition demands, and `within` stays below c_0 = 1/4.
    """

    nu: Floats  # (M,)
    snapshot: Floats  # (M, K)
    before: Floats  # (M, K)
    within: Floats  # (M, K)
    phi: Floats  # (K,), from -1 to 1/2
    rho: float
    gamma: float

    @property
    def ideal(self) -> Floats:
        """The ideal iterate ptilde: (M, K)."""
        return _reweighted(self.snapshot, self.before + self.within)

    @property
    def real(self) -> Floats:
        """The real iterate p: (M, K)."""
        return _reweighted(self.snapshot, self.before + (1 - self.phi) * self.within)

    @property
    def m(self) -> Floats:
        """The population masses m_e of the snapshot: (K,)."""
        masses: Floats = self.nu @ mixed(self.snapshot, self.rho)
        return masses

    @property
    def u(self) -> float:
        """u_e(j) = w_e(j) + gamma; an arm without self-loop has w_e(j) = (1 - m_e(j)) / 2."""
        return float(self.m[1:].sum()) / 2 + self.gamma

    @property
    def drift(self) -> float:
        """The smallest eta B for which |z| <= eta B |phi|."""
        return float(self.within.max())


def _reweighted(p: Floats, inputs: Floats) -> Floats:
    weights = p * np.exp(-inputs)
    normalised: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return normalised


def away(p: Floats) -> Floats:
    """Return 1 - p(j) of every context, exact also where p(j) is almost 1: (M,)."""
    rest: Floats = p[:, 1:].sum(axis=1)
    return rest


def epoch_at(arms: int, point: Point) -> StableEpoch:
    """Turn a point of the unit cube into an epoch."""
    shape = (CONTEXTS, arms)
    return StableEpoch(
        nu=distribution(point.many(CONTEXTS) / 5),
        rho=geometric(1e-6, 0.5, point.one()),
        gamma=geometric(1e-6, 0.5, point.one()),
        snapshot=distribution(point.many(*shape)),
        before=(LOG_2 - 2 * C_0) * point.many(*shape),
        within=C_0 * point.many(*shape),
        phi=1.5 * point.many(arms) - 1,
    )


def coordinates(arms: int) -> int:
    """Return how many coordinates an epoch takes."""
    return CONTEXTS + 2 + (3 * CONTEXTS + 1) * arms


def epoch_cases(
    sides_of: Callable[[StableEpoch], Sides], sizes: Sequence[int] = (2, 3, 5)
) -> list[Case]:
    """Return the searches of an inequality over epochs of several sizes."""

    def at(arms: int, values: Floats) -> Sides:
        return sides_of(epoch_at(arms, Point(values)))

    return [Case(coordinates(arms), partial(at, arms)) for arms in sizes]
