"""Every expectation that the paper states, as an equality: all randomness is enumerated.

A history is played to reach a state worth looking at. From there on, each branch of the randomness
(contexts, arms, split, retention) is taken once, by uniform numbers from inside the branch's own
interval, and weighted with its exact probability.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from crossbandit import FeedbackGraph, Problem, graphs
from crossbandit.algorithms import (
    Algorithm,
    CrossGraph,
    CrossGraphKnown,
    PerContextExp3,
    PerContextGraph,
    SchneiderZimmert,
)
from crossbandit.core.types import Floats
from tests.drivers import act, clone, cumulative, inside
from tests.reference.common import mix, softmax

K, M = 3, 2
NU = np.array([0.3, 0.7])
ETA, GAMMA, RHO, BETA = 0.8, 0.05, 0.2, 0.1

# Arms 0 and 1 have no self-loop; the graph differs from its transpose.
TWO_LOOPLESS = FeedbackGraph([[0, 1, 0], [1, 0, 0], [1, 1, 1]])

GRAPHS = {"two loopless arms": TWO_LOOPLESS, "all self-loops": graphs.threshold(K)}


def rows(seed: int, rounds: int) -> Floats:
    """Return losses of a few rounds: (rounds, K, M)."""
    return np.random.default_rng(seed).random((rounds, K, M))


def assert_exact(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------- Algorithm 2


@dataclass(frozen=True)
class Moment:
    """A learner at the beginning of an epoch e, and the snapshots by which it will play."""

    learner: Any
    graph: FeedbackGraph  # what the learner sees of the problem's graph
    r_e: Floats  # (M, K)
    r_next: Floats  # (M, K), of epoch e + 1

    @property
    def adjacency(self) -> Floats:
        return self.graph.adjacency.astype(float)

    @property
    def q(self) -> Floats:
        """The policy of the round to come: (M, K)."""
        return np.array([self.learner.policy(c) for c in range(M)])

    def observation(self, r: Floats) -> Floats:
        """Return w(a) = E_c[r_c(N_in(a))] / 2 for a snapshot r."""
        w: Floats = NU @ r @ self.adjacency / 2
        return w


def moment(algorithm: Algorithm, graph: FeedbackGraph, epochs: int, history: int) -> Moment:
    """Play `epochs` epochs; keep s_{e+2} = p_{eL} of each, as the paper does, counting from 1."""
    learner = algorithm.start(Problem(graph, contexts=M), seed=0)
    p: Any = algorithm
    rho = getattr(p, "rho", 0.0)
    rng = np.random.default_rng(history)
    s = {e: np.full((M, K), 1 / K) for e in (1, 2, 3)}
    for e in range(1, epochs + 1):
        for _ in range(p.epoch_length // 2):
            for numbers in (rng.random(1), rng.random(3)):
                decision = act(learner, int(rng.choice(M, p=NU)), *numbers)
                learner.learn(decision, rng.random((K, M))[list(decision.revealed)])
        if e >= 2:
            s[e + 2] = softmax(cumulative(learner), p.eta)
    seen = graphs.singletons(K) if isinstance(algorithm, SchneiderZimmert) else graph
    return Moment(learner, seen, mix(s[epochs + 1], rho), mix(s[epochs + 2], rho))


ALGORITHM_2 = CrossGraph(eta=ETA, gamma=GAMMA, rho=RHO, beta=BETA, epoch_length=2)
LONGER = CrossGraph(eta=ETA, gamma=GAMMA, rho=RHO, beta=BETA, epoch_length=4)
SZ = SchneiderZimmert(eta=ETA, gamma=GAMMA, epoch_length=2)

# Histories after which the contexts disagree about the heaviest arm without self-loop; after the
# one of the fallback, moreover, it is active in context 0 and not in context 1.
MOMENTS: dict[str, tuple[Algorithm, FeedbackGraph, int, int]] = {
    "right after the warm-up": (ALGORITHM_2, TWO_LOOPLESS, 1, 0),
    "two loopless arms": (ALGORITHM_2, TWO_LOOPLESS, 4, 0),
    "fallback in one context": (ALGORITHM_2, TWO_LOOPLESS, 5, 1),
    "longer epochs": (LONGER, TWO_LOOPLESS, 4, 1),
    "all self-loops": (ALGORITHM_2, graphs.threshold(K), 5, 0),
    "schneider-zimmert": (SZ, TWO_LOOPLESS, 5, 0),
}


@pytest.fixture(scope="module")
def now(request: pytest.FixtureRequest) -> Moment:
    """A moment of `MOMENTS`, by name. Tests clone its learner and leave it as it is."""
    return moment(*MOMENTS[request.param])


every_moment = pytest.mark.parametrize("now", MOMENTS, indirect=True)


@dataclass(frozen=True)
class Pair:
    """How one pair of rounds came out."""

    probability: float
    contexts: tuple[int, ...]
    arms: tuple[int, ...]
    side: int  # which of the two is the loss-estimation round
    retained: bool
    after: Any


def pairs(now: Moment, losses: Floats) -> Iterator[Pair]:
    """Take every branch of the next pair; `losses` (2, K, M) are those of its two rounds.

    The first round's feedback is handed over before the second round is played.
    """
    q = now.q
    for c, a, side in product(product(range(M), repeat=2), product(range(K), repeat=2), (0, 1)):
        played = NU[c[0]] * NU[c[1]] * q[c[0], a[0]] * q[c[1], a[1]] / 2
        keep = now.r_e[c[side], a[side]] / (2 * q[c[side], a[side]])
        for retained, probability in ((True, keep), (False, 1 - keep)):
            after = clone(now.learner)
            first = act(after, c[0], inside(q[c[0]], a[0]))
            after.learn(first, losses[0, list(first.revealed)])
            numbers = (0.25 + side / 2, keep / 2 if retained else (1 + keep) / 2)
            second = act(after, c[1], inside(q[c[1]], a[1]), *numbers)
            assert_exact(second.probability, q[c[1], a[1]])
            after.learn(second, losses[1, list(second.revealed)])
            assert (first.arm, second.arm) == a
            yield Pair(played * probability, c, a, side, retained, after)


@pytest.mark.parametrize("now", ["fallback in one context"], indirect=True)
def test_the_fallback_is_active_in_one_context_and_not_in_the_other(now: Moment) -> None:
    r_p = mix(softmax(cumulative(now.learner), ETA), RHO)
    assert (2 * r_p < now.r_e).any(axis=1).tolist() == [True, False]
    assert_exact(now.q, [now.r_e[0], r_p[1]])


@every_moment
def test_arms_are_drawn_from_the_policy(now: Moment) -> None:
    for c, q in enumerate(now.q):
        edges = np.cumsum(q)
        for a in range(K):
            assert act(clone(now.learner), c, edges[a] - 1e-12).arm == a
        for a in range(K - 1):
            assert act(clone(now.learner), c, edges[a] + 1e-12).arm == a + 1


@every_moment
def test_the_split_is_fair(now: Moment) -> None:
    def loss_side(split: float) -> int:
        learner = clone(now.learner)
        tickets = [act(learner, 0, 0.0).round, act(learner, 0, 0.0, split, 0.0).round]
        kept = [learner._pending[t].weights is not None for t in tickets]
        assert sum(kept) == 1
        return kept.index(True)

    below, above = (0.0, np.nextafter(0.5, 0)), (0.5, np.nextafter(1, 0))
    assert {loss_side(split) for split in below} == {0}
    assert {loss_side(split) for split in above} == {1}


@every_moment
def test_retained_output_has_law_r_over_2_whatever_the_proposal(now: Moment) -> None:
    """P(A = a and kept | c) = q_c(a) * keep = r_{e,c}(a) / 2, for each partner and either side."""
    q = now.q
    for c, a, side in product(product(range(M), repeat=2), product(range(K), repeat=2), (0, 1)):
        keep = now.r_e[c[side], a[side]] / 2 / q[c[side], a[side]]
        for retain, kept in ((keep * (1 - 1e-12), True), (keep * (1 + 1e-12), False)):
            learner = clone(now.learner)
            decisions = (
                act(learner, c[0], inside(q[c[0]], a[0])),
                act(learner, c[1], inside(q[c[1]], a[1]), 0.25 + side / 2, retain),
            )
            used = [learner._pending[d.round].weights is not None for d in decisions]
            assert used == [kept and side == 0, kept and side == 1]


@every_moment
def test_loss_estimate_has_conditional_mean_2_l_w_over_w_hat(now: Moment) -> None:
    losses = rows(seed=1, rounds=2)
    before = cumulative(now.learner)
    mean, total = np.zeros((2, M, K)), 0.0
    for pair in pairs(now, losses):
        mean[pair.side] += pair.probability * (cumulative(pair.after) - before)
        total += pair.probability
    w, denominators = now.observation(now.r_e), pair.after.state()["denominators"]
    correction = np.zeros(K)
    if now.graph.arms_without_self_loop:
        special = pair.after.special_arm
        correction[special] = BETA / denominators[special]
    assert total == pytest.approx(1, abs=1e-12)
    for side in (0, 1):
        expected = 2 * losses[side].T * w / denominators + correction
        assert_exact(mean[side], expected / 2)


@every_moment
def test_correction_is_added_in_every_pair_retained_or_not(now: Moment) -> None:
    before = now.learner.state()["bias"][0].copy()
    retained = set()
    for pair in pairs(now, rows(seed=2, rounds=2)):
        state = pair.after.state()
        expected = np.zeros(K)
        if now.graph.arms_without_self_loop:
            special = pair.after.special_arm
            assert special in {0, 1}
            expected[special] = BETA / state["denominators"][special]
        assert_exact(state["bias"][0] - before, expected)
        retained.add(pair.retained)
    assert retained == {True, False}


@every_moment
def test_pair_reduction(now: Moment) -> None:
    """E[R_t + R_{t+1}] = 2 E[R_{t_l}], although the first round's feedback comes in between."""
    losses = rows(seed=3, rounds=2).transpose(0, 2, 1)
    best = np.array([2, 0])
    both = loss_side = 0.0
    for pair in pairs(now, losses.transpose(0, 2, 1)):
        regret = [
            losses[i, c, a] - losses[i, c, best[c]]
            for i, (c, a) in enumerate(zip(pair.contexts, pair.arms, strict=True))
        ]
        both += pair.probability * sum(regret)
        loss_side += pair.probability * regret[pair.side]
    predicted = sum(
        NU[c] * (now.q[c] @ losses[i, c] - losses[i, c, best[c]])
        for i, c in product((0, 1), range(M))
    )
    assert both == pytest.approx(predicted, abs=1e-12)
    assert both == pytest.approx(2 * loss_side, abs=1e-12)


def epochs_ends(now: Moment, pairs_left: int) -> Iterator[tuple[float, list[int], list[int], Any]]:
    """Take every context and split of an epoch; arms and retention do not matter here.

    Yields the probability, the contexts of the frequency and of the loss-estimation rounds, and
    the learner after the first round of the next epoch.
    """
    draws = product(product(range(M), repeat=2), (0, 1))
    for outcome in product(draws, repeat=pairs_left):
        learner, probability = clone(now.learner), 1.0
        sides: tuple[list[int], list[int]] = ([], [])
        for c, side in outcome:
            act(learner, c[0], 0.9)
            act(learner, c[1], 0.1, 0.25 + side / 2, 0.5)
            probability *= NU[c[0]] * NU[c[1]] / 2
            sides[0].append(c[1 - side])
            sides[1].append(c[side])
        act(learner, 0, 0.5)
        yield probability, *sides, learner


@every_moment
def test_frequency_estimate_is_unbiased(now: Moment) -> None:
    length = now.learner.algorithm.to_json()["epoch_length"]
    mean, total, values = np.zeros(K), 0.0, set()
    for probability, frequency_side, _, after in epochs_ends(now, length // 2):
        w_hat = after.state()["denominators"] - 1.5 * GAMMA
        sample = np.mean([now.r_next[c] @ now.adjacency / 2 for c in frequency_side], axis=0)
        assert_exact(w_hat, sample)
        mean += probability * w_hat
        total += probability
        values.add(round(float(w_hat[0]), 9))
    assert total == pytest.approx(1, abs=1e-12)
    assert_exact(mean, now.observation(now.r_next))
    if not np.allclose(now.r_next[0], now.r_next[1]):
        assert len(values) > 1


@pytest.mark.parametrize("now", ["fallback in one context", "longer epochs"], indirect=True)
def test_selector_and_denominators_come_from_disjoint_samples(now: Moment) -> None:
    """j_e is a function of the loss contexts, W_e of the frequency contexts, independent."""
    length = now.learner.algorithm.to_json()["epoch_length"]
    selected: dict[tuple[int, ...], int] = {}
    denominators: dict[tuple[int, ...], Any] = {}
    joint: dict[tuple[int, Any], float] = {}
    for probability, frequency_side, loss_side, after in epochs_ends(now, length // 2):
        special = after.special_arm
        mass = np.mean([now.r_next[c] for c in loss_side], axis=0)
        assert special == int(np.argmax(mass[:2]))
        rounded = tuple(after.state()["denominators"].round(12).tolist())
        assert selected.setdefault(tuple(sorted(loss_side)), special) == special
        assert denominators.setdefault(tuple(sorted(frequency_side)), rounded) == rounded
        joint[special, rounded] = joint.get((special, rounded), 0.0) + probability
    assert set(selected.values()) == {0, 1}
    assert len(set(denominators.values())) > 1
    for (special, rounded), probability in joint.items():
        of_special = sum(p for (j, _), p in joint.items() if j == special)
        of_denominators = sum(p for (_, other), p in joint.items() if other == rounded)
        assert probability == pytest.approx(of_special * of_denominators, abs=1e-12)


def test_ties_for_the_special_arm_go_to_the_smallest() -> None:
    now = moment(ALGORITHM_2, graphs.loopless_clique(K), epochs=1, history=0)
    act(now.learner, 0, 0.5)
    assert now.learner.special_arm == 0


def test_nothing_is_learned_in_the_warm_up() -> None:
    now = moment(LONGER, TWO_LOOPLESS, epochs=0, history=0)
    np.testing.assert_array_equal(now.q, np.full((M, K), 1 / K))
    for c, a, split in product(range(M), range(K), (0.0, 0.9)):
        learner = clone(now.learner)
        for numbers in ((), (split, 0.0)):
            decision = act(learner, c, inside(now.q[c], a), *numbers)
            learner.learn(decision, np.ones((len(decision.revealed), M)))
        assert not cumulative(learner).any()


# ------------------------------------------------------------------------------- Algorithm 1


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_known_distribution_estimate_has_mean_l_w_over_w_plus_gamma(graph: FeedbackGraph) -> None:
    algorithm = CrossGraphKnown(eta=ETA, gamma=GAMMA, rho=RHO, beta=BETA)
    problem = Problem(graph, contexts=M, context_distribution=NU)
    learner = algorithm.start(problem, seed=2)
    for t, losses in enumerate(rows(seed=4, rounds=7)):
        decision = learner.act(t % M)
        learner.learn(decision, losses[list(decision.revealed)])
    before = cumulative(learner)
    r = mix(softmax(before, ETA), RHO)
    w = NU @ r @ graph.adjacency
    losses = rows(seed=5, rounds=1)[0]
    mean = np.zeros((M, K))
    for c, a in product(range(M), range(K)):
        after = clone(learner)
        decision = act(after, c, inside(r[c], a))
        assert decision.arm == a
        after.learn(decision, losses[list(decision.revealed)])
        mean += NU[c] * r[c, a] * (cumulative(after) - before)
    expected = losses.T * w / (w + GAMMA)
    if graph.arms_without_self_loop:
        special = int(np.argmax((NU @ r)[:2]))
        assert special == 1
        expected[:, special] += BETA / (w[special] + GAMMA)
    assert_exact(mean, expected)


def test_known_distribution_correction_needs_no_feedback() -> None:
    problem = Problem(graphs.apple_tasting(), contexts=M, context_distribution=NU)
    learner = CrossGraphKnown(eta=ETA, gamma=GAMMA, rho=RHO, beta=BETA).start(problem, seed=0)
    learner.act(0)
    assert_exact(cumulative(learner), [[BETA / (0.5 + GAMMA), 0.0]] * M)


# ------------------------------------------------------------------------- a learner per context


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize("algorithm", [PerContextGraph(eta=ETA), PerContextExp3(eta=ETA)])
def test_per_context_estimate_is_unbiased(algorithm: Algorithm, graph: FeedbackGraph) -> None:
    learner = algorithm.start(Problem(graph, contexts=M), seed=3)
    for t, losses in enumerate(rows(seed=6, rounds=7)):
        decision = learner.act(t % M)
        learner.learn(decision, losses[list(decision.revealed)])
    losses, before = rows(seed=7, rounds=1)[0], cumulative(learner)
    p = softmax(before, ETA)
    for c in range(M):
        mean = np.zeros((M, K))
        for a in range(K):
            after = clone(learner)
            decision = act(after, c, inside(p[c], a))
            assert decision.arm == a
            after.learn(decision, losses[list(decision.revealed)])
            mean += p[c, a] * (cumulative(after) - before)
        expected = np.zeros((M, K))
        expected[c] = losses[:, c]
        assert_exact(mean, expected)


# ----------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize(
    "algorithm",
    [
        ALGORITHM_2,
        SZ,
        CrossGraphKnown(eta=ETA, gamma=GAMMA, rho=RHO, beta=BETA),
        PerContextGraph(eta=ETA),
        PerContextExp3(eta=ETA),
    ],
    ids=lambda algorithm: algorithm.id,
)
def test_policies_do_not_change_when_all_arms_of_a_context_are_shifted(
    algorithm: Algorithm,
) -> None:
    problem = Problem(TWO_LOOPLESS, contexts=M, context_distribution=NU)
    learner = algorithm.start(problem, seed=3)
    for t, losses in enumerate(rows(seed=8, rounds=20)):
        decision = learner.act(t % M)
        learner.learn(decision, losses[list(decision.revealed)])
    shifted = clone(learner)
    estimates = shifted.state()["estimates"]
    per_context = len(estimates) == M  # a copy for each; otherwise a column for each
    estimates += np.array([[[1000.0]], [[-7.0]]]) if per_context else np.array([1000.0, -7.0])
    for c in range(M):
        policy = learner.policy(c)
        assert np.ptp(policy) > 0.01
        np.testing.assert_allclose(shifted.policy(c), policy, rtol=0, atol=1e-11)
