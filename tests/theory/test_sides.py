"""Both sides of the inequalities of Lemmas 7 to 15 and Appendices H, K and L, written out again.

An inequality whose right side is too large is never violated. So each side is computed here, at
fixed epochs, with plain numbers from the paper's statement, and so is what the search compares.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from crossbandit import CrossGraph, Problem, graphs, tuning
from crossbandit.theory.lemmas import (
    assembly,
    joint,
    moments,
    one_round,
    search,
    stability,
)
from crossbandit.theory.lemmas.one_round import Round
from crossbandit.theory.lemmas.search import Case, SearchResult
from crossbandit.theory.lemmas.stability import StableEpoch
from crossbandit.theory.statements import CheckResult, Effort, Subject

NU = [0.3, 0.7]
SNAPSHOT = [[0.6, 0.3, 0.1], [0.8, 0.05, 0.15]]
BEFORE = [[0.1, 0.0, 0.15], [0.02, 0.19, 0.07]]
WITHIN = [[0.2, 0.05, 0.1], [0.12, 0.22, 0.0]]
PHI = [-0.6, 0.4, -0.3]
LOSSES = [[1.6, 0.4, 2.0], [0.7, 1.9, 0.1]]
RHO = 0.2
ETA_B = 0.22  # the largest of WITHIN
CONTEXTS, ARMS = range(2), range(3)
COMPARATORS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def softmax(weights: list[float]) -> list[float]:
    return [weight / sum(weights) for weight in weights]


IDEAL = [
    softmax([SNAPSHOT[c][a] * math.exp(-BEFORE[c][a] - WITHIN[c][a]) for a in ARMS])
    for c in CONTEXTS
]
REAL = [softmax([IDEAL[c][a] * math.exp(PHI[a] * WITHIN[c][a]) for a in ARMS]) for c in CONTEXTS]
MOVED = [[abs(REAL[c][a] - IDEAL[c][a]) for a in ARMS] for c in CONTEXTS]
IDEAL_BAR = [sum(NU[c] * IDEAL[c][a] for c in CONTEXTS) for a in ARMS]


def mix(p: float) -> float:
    return (1 - RHO) * p + RHO / 3


def u_of(gamma: float) -> float:
    """Return u(j) = w(j) + gamma, where w(j) = (1 - m(j)) / 2."""
    return (1 - sum(NU[c] * mix(SNAPSHOT[c][0]) for c in CONTEXTS)) / 2 + gamma


def an_epoch(gamma: float = 0.1) -> StableEpoch:
    return StableEpoch(
        nu=np.array(NU),
        snapshot=np.array(SNAPSHOT),
        before=np.array(BEFORE),
        within=np.array(WITHIN),
        phi=np.array(PHI),
        rho=RHO,
        gamma=gamma,
    )


@dataclass(frozen=True)
class ByHand:
    """A round, and the quantities of the proof of Lemma 15 in it."""

    pi: tuple[int, int]
    gamma: float = 0.1
    share: float = 0.9

    @property
    def round_(self) -> Round:
        comparator = np.array(self.pi, dtype=np.float64)
        return Round(an_epoch(self.gamma), comparator, np.array(LOSSES), self.share)

    @property
    def u(self) -> float:
        return u_of(self.gamma)

    def gap(self, p: list[list[float]]) -> float:
        return sum(NU[c] * (p[c][0] - self.pi[c]) for c in CONTEXTS)

    def excess(self, p: list[list[float]]) -> float:
        return max(0.0, self.gap(p))

    def delta(self, p: list[list[float]]) -> float:
        return sum(NU[c] * (p[c][0] - self.pi[c]) * LOSSES[c][0] for c in CONTEXTS)

    @staticmethod
    def remainder(p: list[list[float]]) -> float:
        return 1 - sum(NU[c] * p[c][0] for c in CONTEXTS)


def worst(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    return max(pairs, key=lambda pair: pair[0] / pair[1])


# ----------------------------------------------------------------------------- Lemmas 7, 8 and 9


def test_the_epoch_is_the_one_written_out_here() -> None:
    epoch = an_epoch()
    np.testing.assert_allclose(epoch.ideal, IDEAL, rtol=1e-12)
    np.testing.assert_allclose(epoch.real, REAL, rtol=1e-12)
    assert epoch.u == pytest.approx(u_of(0.1), rel=1e-12)
    assert epoch.drift == ETA_B


@pytest.mark.parametrize("p", [REAL, IDEAL], ids=["real", "ideal"])
def test_odds_factors_and_retention(p: list[list[float]]) -> None:
    epoch, array = an_epoch(), np.array(p)
    odds = (ByHand.remainder(p), u_of(0.1) / (1 - RHO))
    assert stability.special_odds(epoch, array) == pytest.approx(odds)
    ratios = [p[c][a] / SNAPSHOT[c][a] for c in CONTEXTS for a in ARMS]
    factor = max(*ratios, *(1 / ratio for ratio in ratios))
    assert stability.snapshot_factor(epoch, array) == pytest.approx((factor, 2))
    test = max(mix(SNAPSHOT[c][a]) / mix(p[c][a]) for c in CONTEXTS for a in ARMS)
    assert stability.retention(epoch, array) == pytest.approx((test, 2))


def test_cumulative_input_is_two_epochs_of_losses_and_corrections() -> None:
    """L + iota / gamma = 125; the losses are 1.5 of it; 50 corrections of 2.25 in either epoch."""
    sides = stability.cumulative_input(
        np.array([1.0, 0.5]), 1.5, gamma=0.2, beta=0.3, iota=5.0, length=100
    )
    assert sides == pytest.approx((1.5 * 1.5 * 125 + 2 * 50 * 2.25, 100 + 25 + 150))


def test_joint_product_is_bounded_by_squares() -> None:
    by_context = [
        (
            sum(MOVED[c][a] * abs(PHI[a]) for a in ARMS),
            sum(IDEAL[c][a] * PHI[a] ** 2 for a in ARMS),
        )
        for c in CONTEXTS
    ]
    assert joint.product_sum(an_epoch()) == pytest.approx(worst(by_context))


def test_joint_stability_of_an_arm() -> None:
    by_arm = []
    for c in CONTEXTS:
        inner = sum(IDEAL[c][b] * abs(PHI[b]) for b in ARMS)
        by_arm += [(MOVED[c][a], IDEAL[c][a] * (abs(PHI[a]) + inner)) for a in ARMS]
    assert joint.pointwise(an_epoch()) == pytest.approx(worst(by_arm))


def test_joint_stability_of_the_special_arm() -> None:
    by_context = [
        (
            MOVED[c][0],
            ETA_B * (1 - IDEAL[c][0]) * 0.6 + ETA_B * (IDEAL[c][1] * 0.4 + IDEAL[c][2] * 0.3),
        )
        for c in CONTEXTS
    ]
    assert joint.special_first(an_epoch()) == pytest.approx(worst(by_context))
    moved = 0.3 * MOVED[0][0] + 0.7 * MOVED[1][0]
    others = IDEAL_BAR[1] * 0.4**2 + IDEAL_BAR[2] * 0.3**2
    second = (moved * 0.6, ETA_B * (u_of(0.1) / 0.8 * 0.6**2 + others))
    assert joint.special_second(an_epoch()) == pytest.approx(second)
    assert joint.special_crude(an_epoch()) == pytest.approx((moved, ETA_B * u_of(0.1) / 0.8))


@pytest.mark.parametrize("x", [-1.0, -0.25, 0.5, 1.0])
def test_exponential(x: float) -> None:
    assert joint.exponential(x) == pytest.approx((abs(math.exp(x) - 1), 2 * abs(x)))


# ----------------------------------------------------------------- Lemmas 10 to 15, Appendix K


def test_mixing_costs_at_most_twice_rho() -> None:
    costs = [sum((mix(REAL[c][a]) - REAL[c][a]) * LOSSES[c][a] for a in ARMS) for c in CONTEXTS]
    sides = one_round.mixing_cost(ByHand((0, 1)).round_)
    assert sides == pytest.approx((max(costs), 2 * 0.2))


def test_perturbation_of_the_regular_arms() -> None:
    moved = [sum(NU[c] * MOVED[c][a] for c in CONTEXTS) for a in ARMS]
    left = moved[1] * 0.4 + moved[2] * 0.3
    regular = IDEAL_BAR[1] * 0.4**2 + IDEAL_BAR[2] * 0.3**2
    round_ = ByHand((0, 1)).round_
    displayed = (left, regular + IDEAL_BAR[0] * 0.6**2)
    corrected = (left, regular + u_of(0.1) / 0.8 * 0.6**2)
    assert one_round.perturbation(round_, corrected=False) == pytest.approx(displayed)
    assert one_round.perturbation(round_, corrected=True) == pytest.approx(corrected)


@pytest.mark.parametrize("pi", COMPARATORS)
def test_special_denominator_drift(pi: tuple[int, int]) -> None:
    """With E[phi] = 0.9 gamma / (2 u)."""
    hand = ByHand(pi)
    drift = 0.9 * 0.1 / (2 * hand.u) * (hand.u - 0.1) / hand.u * hand.delta(IDEAL)
    sides = (drift - 0.1 * hand.excess(IDEAL) / hand.u, 0.1 / 0.8)
    assert one_round.special_denominator_drift(hand.round_) == pytest.approx(sides)
    transfer = ((hand.excess(IDEAL) - hand.excess(REAL)) / hand.u, ETA_B / 0.8)
    assert one_round.excess_transfer(hand.round_) == pytest.approx(transfer)


@pytest.mark.parametrize("pi", COMPARATORS)
def test_sign_relations(pi: tuple[int, int]) -> None:
    hand = ByHand(pi)
    delta, rest = hand.delta(REAL), hand.remainder(REAL)
    positive = one_round.positive_part(hand.round_)
    assert positive == pytest.approx((delta, hand.excess(REAL) + rest))
    assert one_round.negative_part(hand.round_) == pytest.approx((-delta, rest))
    assert one_round.comparator_part(hand.round_) == pytest.approx((-hand.gap(REAL), rest))


@pytest.mark.parametrize("pi", COMPARATORS)
def test_cancellation_keeps_half_of_the_pessimism(pi: tuple[int, int]) -> None:
    """With beta = 4 gamma = 0.4: what is kept is beta X / (2 u) = 0.2 X / u."""
    hand = ByHand(pi)
    drift = 0.1 * hand.delta(REAL) - 0.4 * hand.gap(REAL)
    sides = ((drift + 0.2 * hand.excess(REAL)) / hand.u, 0.4 / 0.8)
    assert one_round.cancellation(hand.round_) == pytest.approx(sides)
    assert (hand.excess(REAL) > 0) == (pi != (1, 1))


@pytest.mark.parametrize(("gamma", "beta"), [(0.1, 0.4), (0.5, 1.0)])
def test_the_away_mass_term_takes_both_outcomes_of_the_observation(
    gamma: float, beta: float
) -> None:
    hand = ByHand((0, 1), gamma=gamma)
    w = hand.u - gamma
    cost = 0.0
    for c in CONTEXTS:
        observed = 2 * (LOSSES[c][0] + beta) / hand.u
        hidden = 2 * beta / hand.u
        cost += NU[c] * (1 - REAL[c][0]) * (w * observed**2 + (1 - w) * hidden**2)
    assert assembly.away_quadratic(hand.round_) == pytest.approx((cost, 1 / 0.8))


def test_the_shift_is_the_largest_input() -> None:
    """Condition (6) with L + iota / gamma + L beta / gamma = 100 + 25 + 150 = 275."""
    sides = assembly.shift_size(5.0, 100, 0.2, 0.3)
    assert sides == pytest.approx((math.log(2) / (8 * 275) * 2 * 2.3 / 0.2, 3))


# ------------------------------------------------------------------------------- Appendix L


@pytest.mark.parametrize(
    ("horizon", "arms", "alpha", "contexts"),
    [(1e6, 9, 4, 1_000), (1e9, 50, 1, 10), (1e12, 1_000, 30, 1e9)],
)
def test_the_assembled_bound_has_every_term(
    horizon: float, arms: float, alpha: float, contexts: float
) -> None:
    """With gamma = 4 iota / L and beta = 4 gamma, the rule's eta is log 2 / (42 L)."""
    iota = 2 * math.log(contexts * arms * horizon)
    length = math.sqrt(alpha * horizon * iota)
    gamma = rho = 4 * iota / length
    beta = 4 * gamma
    eta = math.log(2) / (42 * length)
    graph = 16 * alpha * math.log(4 * arms * arms / (alpha * rho)) / (1 - rho) + 8
    terms = [
        length,
        rho * horizon,
        math.log(arms) / eta,
        eta * graph * horizon,
        graph * (gamma + 1 / length) * horizon,
        beta * horizon,
        gamma * horizon,
        eta * graph * (1 + length * gamma) * horizon,
    ]
    left, right = assembly.assembled(assembly.Size(horizon, arms, alpha, contexts))
    assert left == pytest.approx(sum(terms), rel=1e-12)
    assert right == pytest.approx(length * math.log(4 * arms * arms / (alpha * rho)), rel=1e-12)
    assert min(terms) > 1e-9 * sum(terms)  # or else a term could be missing unnoticed


def test_the_assembled_constants_are_those_of_the_rule() -> None:
    problem = Problem(graphs.singletons(9), contexts=10, horizon=10**9)
    rule = tuning.theorem(problem).parameters
    iota = 2 * math.log(10 * 9 * 10**9)
    length = math.sqrt(9 * 10**9 * iota)
    expected = (math.log(2) / (42 * length), 4 * iota / length, 4 * iota / length)
    assert (rule.eta, rule.gamma, rule.rho) == pytest.approx(expected, rel=1e-5)
    assert rule.beta == 4 * rule.gamma


# ------------------------------------------------------------------------------- the judgement

Check = Callable[[Subject, Effort], Iterator[CheckResult]]
CONSTANTS: list[tuple[Check, list[float]]] = [
    (moments.freedman_holds, [1]),
    (moments.good_events_fail_rarely, [1, 1, 1, 1]),
    (moments.random_denominators_have_small_moments, [1, 0.5, 4]),
    (stability.special_odds_are_bounded, [4, 4]),
    (stability.snapshots_are_stable, [4, 1, 1, 1]),
    (stability.graph_sum_is_bounded, [1, 1]),
    (joint.products_are_jointly_stable, [1.5, 1, 2.15, 12.9, 17.2, 1]),
    (one_round.mixing_costs_little, [1]),
    (one_round.special_denominators_drift_little, [4, 17.2]),
    (one_round.perturbations_are_quadratic, [1.5, 2]),
    (one_round.pessimism_cancels_the_drift, [2, 2, 1, 6]),
    (assembly.special_inputs_are_shifted_away, [208, 1]),
    (assembly.bounds_add_up_to_the_rate, [217]),
]


@pytest.mark.parametrize(
    ("check", "constants"), CONSTANTS, ids=[check.__name__ for check, _ in CONSTANTS]
)
def test_a_ratio_above_the_constant_fails(
    check: Check, constants: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(ratio: float) -> list[bool]:
        def found(case: Case, effort: Effort, *, seed: int = 0) -> SearchResult:
            del effort, seed
            return SearchResult(ratio, np.zeros(case.dimension), 1)

        monkeypatch.setattr(search, "maximise", found)
        return [result.passed for result in check(CrossGraph(), Effort.QUICK)]

    for constant in constants:
        assert judged(constant * (1 - 1e-6)) == [constant <= other for other in constants]
        assert judged(constant * (1 + 1e-6)) == [constant < other for other in constants]
