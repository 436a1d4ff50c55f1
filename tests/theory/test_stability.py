"""Counterexamples to Lemmas 7 to 9, 13 and 15 and to Appendix K are looked for."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit import graphs
from crossbandit.theory.definition import mixed
from crossbandit.theory.lemmas import assembly, joint, one_round, stability
from crossbandit.theory.lemmas.one_round import Round, round_at
from crossbandit.theory.lemmas.search import Point, Sides
from crossbandit.theory.lemmas.stability import (
    CONTEXTS,
    StableEpoch,
    coordinates,
    epoch_at,
)
from crossbandit.types import Floats

EPOCHS: list[tuple[Callable[[StableEpoch], Sides], float]] = [
    (lambda epoch: stability.special_odds(epoch, epoch.real), 4),
    (lambda epoch: stability.special_odds(epoch, epoch.ideal), 4),
    (lambda epoch: stability.snapshot_factor(epoch, epoch.real), 1),
    (lambda epoch: stability.snapshot_factor(epoch, epoch.ideal), 1),
    (lambda epoch: stability.retention(epoch, epoch.real), 1),
    (joint.product_sum, 1.5),
    (joint.pointwise, 1),
    (joint.special_first, 2.15),
    (joint.special_second, 12.9),
    (joint.special_crude, 17.2),
]
ROUNDS: list[tuple[Callable[[Round], Sides], float]] = [
    (one_round.mixing_cost, 1),
    (one_round.special_denominator_drift, 4),
    (one_round.excess_transfer, 17.2),
    (lambda round_: one_round.perturbation(round_, corrected=True), 2),
    (one_round.positive_part, 2),
    (one_round.negative_part, 2),
    (one_round.comparator_part, 1),
    (one_round.cancellation, 6),
    (assembly.away_quadratic, 208),
]


def points(dimension: int) -> st.SearchStrategy[Floats]:
    coordinate = st.floats(0, 1) | st.sampled_from([0.0, 1.0])
    return st.lists(coordinate, min_size=dimension, max_size=dimension).map(np.array)


@settings(max_examples=150)
@given(st.sampled_from([2, 3, 4]).flatmap(lambda arms: points(coordinates(arms))))
def test_inequalities_of_an_epoch(values: Floats) -> None:
    arms = (values.size - CONTEXTS - 2) // (3 * CONTEXTS + 1)
    epoch = epoch_at(arms, Point(values))
    for sides_of, constant in EPOCHS:
        assert sides_of(epoch).ratio <= constant * (1 + 1e-9)


@settings(max_examples=150)
@given(points(coordinates(3) + 4 * CONTEXTS + 1))
def test_inequalities_of_a_round(values: Floats) -> None:
    round_ = round_at(3, values)
    for sides_of, constant in ROUNDS:
        assert sides_of(round_).ratio <= constant * (1 + 1e-9)


@given(points(coordinates(3)))
def test_an_epoch_satisfies_the_hypotheses(values: Floats) -> None:
    epoch = epoch_at(3, Point(values))
    for total in (epoch.before + epoch.within, epoch.before + (1 - epoch.phi) * epoch.within):
        assert 0 <= total.min() <= total.max() <= np.log(2) + 1e-12
    assert epoch.drift <= 0.25
    assert epoch.phi.min() >= -1
    assert epoch.phi.max() <= 0.5
    for p in (epoch.snapshot, epoch.ideal, epoch.real):
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def heavy(arms: int = 2, contexts: int = 1, *, gamma: float = 0.01) -> StableEpoch:
    """Return an epoch whose snapshots play arm 0 alone, with rho = gamma and no inputs."""
    snapshot = np.zeros((contexts, arms))
    snapshot[:, 0] = 1.0
    nothing = np.zeros((contexts, arms))
    return StableEpoch(
        nu=np.full(contexts, 1 / contexts),
        snapshot=snapshot,
        before=nothing,
        within=nothing,
        phi=np.zeros(arms),
        rho=gamma,
        gamma=gamma,
    )


@pytest.mark.parametrize("gamma", [0.1, 0.01, 0.0001])
def test_the_counterexample_to_the_step_after_lemma_13s_display(gamma: float) -> None:
    """One context: W is w + 3/2 gamma without error, and phi_j = 2/7 whatever gamma is."""
    epoch = heavy(gamma=gamma)
    w = (1 - mixed(epoch.snapshot, epoch.rho)[0, 0]) / 2
    phi = 1 - (w + gamma) / (w + 1.5 * gamma)
    assert epoch.ideal[0, 0] * phi**2 == pytest.approx(4 / 49)


@pytest.mark.parametrize(("pi", "left", "right"), [(0.0, 1.8, 1.0), (1.0, 0.2, 0.1)])
def test_the_counterexamples_to_the_sign_relations(pi: float, left: float, right: float) -> None:
    snapshot = np.array([[0.9, 0.1]])
    nothing = np.zeros((1, 2))
    epoch = StableEpoch(np.ones(1), snapshot, nothing, nothing, np.zeros(2), 0.01, 0.01)
    round_ = Round(epoch, np.array([pi]), np.full((1, 2), 2.0), 0.5)
    sides_of = one_round.positive_part if pi == 0 else one_round.negative_part
    assert sides_of(round_) == pytest.approx((left, right))


def test_odds_need_the_upper_factor_two() -> None:
    """With p >= s/2 alone, as the proof says, the odds are not bounded: p(j) may be s(j) / 2."""
    epoch = heavy(gamma=1e-6)
    halved = np.array([[0.5, 0.5]])
    assert (halved >= epoch.snapshot / 2).all()
    assert stability.special_odds(epoch, halved).ratio > 1e5


def test_graph_sum_by_hand() -> None:
    """Three arms that see each other and not themselves, played evenly: w = 1/3, p = 1/3."""
    even = np.full((1, 3), 1 / 3)
    nothing = np.zeros((1, 3))
    epoch = StableEpoch(np.ones(1), even, nothing, nothing, np.zeros(3), 0.1, 0.5)
    graph = graphs.loopless_clique(3)
    left, right = stability.graph_sum(epoch, graph, graph.adjacency, epoch.m, even)
    assert left == pytest.approx(2 * (1 / 3) / (1 / 3 + 0.5))
    assert right == pytest.approx(16 * np.log(4 * 9 / 0.1) / 0.9 + 4)
