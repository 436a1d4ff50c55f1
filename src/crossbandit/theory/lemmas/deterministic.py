"""Lemmas about numbers, without an algorithm: Lemmas 4, 5, 6 and 16.

Each function returns the two sides for given numbers. `crossbandit verify` searches for numbers
that make the left side large.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.graphs import FeedbackGraph, loopless_clique, singletons, threshold
from crossbandit.theory.definition import heaviest
from crossbandit.theory.lemmas.search import (
    Case,
    Point,
    Sides,
    between,
    bounded,
    distribution,
    geometric,
)
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.types import Booleans, Floats


# ------------------------------------------------------------------------------- the two sides


def graph_inverse(reveals: Booleans, alpha: int, weights: Floats) -> Sides:
    """Lemma 4, for positive weights (K,) that sum to at most 1 and are at least epsilon < 1/2.

    `reveals` (K, K) has no self-loops: an arm's own weight is counted once.
    """
    epsilon = min(float(weights.min()), 0.499)
    left = (weights / (weights + weights @ reveals)).sum()
    return Sides(float(left), 4 * alpha * math.log(4 * weights.size / (alpha * epsilon)))


def exponential_weights(x: Floats, z: Floats) -> Sides:
    """Lemma 5, both inequalities for every arm; x a distribution (K,), z within 1/2 of 0 (K,).

    In logarithms: |log(xtilde / x) - z| over what the lemma allows on that side.
    """
    drift = -math.log1p(float(x @ np.expm1(z)))  # log(xtilde_k / x_k) - z_k, the same for all k
    spread = float(x @ np.abs(z))
    return Sides(drift, spread) if drift > 0 else Sides(-drift, 2 * spread)


def selector_mass(m: Floats, m_hat: Floats, loopless: list[int]) -> Sides:
    """Lemma 6: m_e(a) <= 1/2 + epsilon for every loopless arm that is not selected."""
    epsilon = float(np.abs(m_hat - m).max())
    rest = _not_selected(m_hat, loopless)
    return Sides(max(float(m[a]) for a in rest), 0.5 + epsilon)


def selector_observation(m: Floats, m_hat: Floats, loopless: list[int]) -> Sides:
    """Lemma 6: w_e(a) >= 1/4 - epsilon/2 for the same arms, where w_e(a) = (1 - m_e(a)) / 2."""
    epsilon = float(np.abs(m_hat - m).max())
    rest = _not_selected(m_hat, loopless)
    return Sides(0.25 - epsilon / 2, min((1 - float(m[a])) / 2 for a in rest))


def _not_selected(m_hat: Floats, loopless: list[int]) -> list[int]:
    selected = heaviest(m_hat, loopless)
    return [a for a in loopless if a != selected]


def potential(p: Floats, x: Floats) -> Sides:
    """Lemma 16's exponential potential: log <p, exp(-x)> + <p, x> <= 2 <p, x^2> for x >= -3."""
    return Sides(math.log(float(p @ np.exp(-x))) + float(p @ x), 2 * float(p @ x**2))


def shifted_ftrl(inputs: Floats, shifts: Floats, v: Floats, eta: float) -> Sides:
    """Lemma 16: regret of FTRL on inputs (T, K) against v (K,), with a shift (T,) per round."""
    arms = v.size
    cumulative = np.vstack([np.zeros(arms), np.cumsum(inputs, axis=0)[:-1]])
    weights = np.exp(-eta * (cumulative - cumulative.min(axis=1, keepdims=True)))
    p = weights / weights.sum(axis=1, keepdims=True)
    regret = float(((p - v) * inputs).sum())
    positive = v[v > 0]
    divergence = float(positive @ np.log(positive * arms))
    local_norm = float((p * (inputs - shifts[:, None]) ** 2).sum())
    return Sides(regret, divergence / eta + 2 * eta * local_norm)


# ------------------------------------------------------------------------------- the searches


def _graph_inverse_case(graph: FeedbackGraph) -> Case:
    arms, alpha = graph.arms, graph.independence_number
    reveals = graph.adjacency & ~np.eye(arms, dtype=np.bool_)

    def sides(point: Floats) -> Sides:
        point_ = Point(point)
        epsilon = geometric(1e-9, 0.49 / arms, point_.one())
        total = between(arms * epsilon, 1.0, point_.one())
        free = distribution(point_.many(arms))
        return graph_inverse(reveals, alpha, epsilon + (total - arms * epsilon) * free)

    return Case(arms + 2, sides)


def _graphs() -> list[FeedbackGraph]:
    """Return graphs of many kinds, with 2 to 24 arms: random graphs, orders and cliques."""
    rng = np.random.default_rng(0)
    drawn = [
        FeedbackGraph(rng.random((arms, arms)) < density)
        for arms in (2, 3, 5, 8, 12)
        for density in (0.1, 0.3, 0.6)
    ]
    orders = [threshold(arms) for arms in (2, 4, 8, 16, 24)]
    return [*drawn, *orders, singletons(2), singletons(6), loopless_clique(5)]


@statement(40, "Lemma 4")
def graph_inverse_holds(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The sum of inverse observation masses is at most 4 alpha log(4 K / (alpha epsilon))."""
    graphs = _graphs()
    yield bounded(
        "Lemma 4 (graph inverse)",
        f"both sides on {len(graphs)} graphs of 2 to 24 arms, weights searched",
        [_graph_inverse_case(graph) for graph in graphs],
        effort,
        note="An arm's own weight counts once, also with a self-loop: the harder reading.",
    )


def _exponential_weights_at(arms: int, point: Floats) -> Sides:
    point_ = Point(point)
    return exponential_weights(distribution(point_.many(arms)), point_.many(arms) - 0.5)


@statement(50, "Lemma 5")
def exponential_weights_are_stable(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Reweighting by exp(z) moves a distribution by at most exp(z +- <x, |z|>)."""
    yield bounded(
        "Lemma 5 (exponential-weights stability)",
        "both inequalities for every arm, x and z searched, 2 to 6 arms",
        [Case(2 * arms, partial(_exponential_weights_at, arms)) for arms in (2, 3, 6)],
        effort,
    )


def _selector_at(arms: int, point: Floats, *, mass: bool) -> Sides:
    point_ = Point(point)
    m = distribution(point_.many(arms) / 5)
    error = between(0.0, 0.4, point_.one())
    m_hat = m + error * (2 * point_.many(arms) - 1)
    return (selector_mass if mass else selector_observation)(m, m_hat, list(range(arms)))


@statement(60, "Lemma 6")
def selector_isolates_the_heavy_arm(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Every loopless arm but the selected one keeps a large observation probability."""
    for mass, claim in ((True, "m_e(a) <= 1/2 + epsilon"), (False, "w_e(a) >= 1/4 - epsilon/2")):
        yield bounded(
            f"Lemma 6 (selector concentration), {'first' if mass else 'second'} part",
            f"{claim} for every other loopless arm, m_e and its estimate searched",
            [Case(2 * arms + 1, partial(_selector_at, arms, mass=mass)) for arms in (2, 3, 5)],
            effort,
        )


def _potential_at(arms: int, point: Floats) -> Sides:
    point_ = Point(point)
    return potential(distribution(point_.many(arms)), _inputs(point_, arms))


def _inputs(point: Point, *shape: int) -> Floats:
    """Return eta (y - z) of a few coordinates, from -3 up."""
    values: Floats = -3.0 + 9.0 * point.many(*shape)
    return values


def _shifted_ftrl_at(arms: int, rounds: int, point: Floats) -> Sides:
    point_ = Point(point)
    eta = geometric(1e-3, 1.0, point_.one())
    shifts = 5 * point_.many(rounds) / eta
    relative = _inputs(point_, rounds, arms) * point_.one() / eta
    v = distribution(point_.many(arms))
    return shifted_ftrl(relative + shifts[:, None], shifts, v, eta)


@statement(160, "Lemma 16")
def shifted_ftrl_holds(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """FTRL's regret is at most KL / eta + 2 eta times the local norms of shifted inputs."""
    yield bounded(
        "Lemma 16 (exponential potential)",
        "log <p, exp(-x)> <= -<p, x> + 2 <p, x^2> for x >= -3, p and x searched",
        [Case(2 * arms, partial(_potential_at, arms)) for arms in (1, 2, 4)],
        effort,
        note="The lower bound of -3 is nearly the best: at -3.22 the inequality fails.",
    )
    yield bounded(
        "Lemma 16 (shifted FTRL)",
        "regret against KL / eta + 2 eta sum of p (y - z)^2; inputs, shifts, comparator searched",
        [
            Case(2 + rounds + rounds * arms + arms, partial(_shifted_ftrl_at, arms, rounds))
            for arms, rounds in ((2, 1), (2, 4), (3, 6))
        ],
        effort,
    )
