"""The certified learner has the form of the learners of `proofs/Certificate.v`.

Everything is computed by the definitions of that file, under their names, from a run of the real
learner: from its contexts, arms and losses, and from the constants of its blocks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraphCertified, FeedbackGraph, Problem, graphs
from crossbandit.core.types import Floats
from tests.drivers import cumulative

ROUNDS, CONTEXTS = 400, 3
NU = np.array([0.5, 0.3, 0.2])
COST, MOST, NOW, CUT, EXPLORED, LEAST, LARGEST = 0, 1, 2, 3, 4, 6, 7  # of "measured"


@dataclass(frozen=True)
class Block:
    """What is known when a block begins: the same for all its rounds."""

    first: int
    size: int
    followed: bool
    eta: float
    m: float
    stands_for: float
    caps: tuple[float, float]
    total: Floats  # what was added so far
    pol: Floats

    @property
    def q(self) -> Floats:
        weights = np.exp(-self.eta * (self.total - self.total.min(axis=1, keepdims=True)))
        leader: Floats = weights / weights.sum(axis=1, keepdims=True)
        return leader

    @property
    def last(self) -> int:
        return self.first + self.size - 1

    def order(self, t: int) -> list[int]:
        """Return the rounds of the block that weigh round t: those after its part come first."""
        parts = min(8, self.size)
        part = [i * parts // self.size for i in range(self.size)]
        own = part[t - self.first]
        after = [i for i in range(self.size) if part[i] > own]
        before = [i for i in range(self.size) if part[i] < own]
        return [self.first + i for i in after + before]


@dataclass
class Run:
    """A run of the real learner."""

    graph: FeedbackGraph
    learner: Any
    blocks: list[Block]
    contexts: list[int]
    arms: list[int]
    losses: Floats  # rounds, contexts, arms

    def block(self, t: int) -> Block:
        return next(b for b in self.blocks if b.first <= t <= b.last)

    @property
    def closed(self) -> list[Block]:
        return [b for b in self.blocks if b.last < ROUNDS]

    def mass(self, block: Block, a: int) -> Floats:
        """Return how probable it is that an arm is observed, in each context."""
        shown: Floats = np.minimum(1.0, block.pol @ self.graph.adjacency[:, a])
        return shown


def played(graph: FeedbackGraph, slots: int, seed: int) -> Run:
    rng = np.random.default_rng(seed)
    losses = rng.random((ROUNDS, CONTEXTS, graph.arms)) * [0.3, 1.0, 0.6, 0.9][: graph.arms]
    losses[ROUNDS // 2 :] = losses[ROUNDS // 2 :, :, ::-1]
    learner: Any = CrossGraphCertified(slots=slots).start(Problem(graph, contexts=CONTEXTS), seed=3)
    run = Run(graph, learner, [], rng.choice(CONTEXTS, ROUNDS, p=NU).tolist(), [], losses)
    for t, context in enumerate(run.contexts):
        total = cumulative(learner).copy()
        pol = np.array([learner.policy(c) for c in range(CONTEXTS)])
        decision = learner.act(context)
        if not run.blocks or run.blocks[-1].last < t:
            state = learner.state()
            e = state["counts"][0]
            _, first, size, _, followed, known = state["slot"][e].tolist()
            eta, _, m, stands_for, cap, far = state["constants"][e].tolist()
            assert first == t
            assert known or t == 0
            run.blocks.append(
                Block(t, size, bool(followed), eta, m, stands_for, (cap, far), total, pol)
            )
        np.testing.assert_allclose(pol, run.blocks[-1].pol, atol=1e-12)
        learner.learn(decision, losses[t, :, list(decision.revealed)])
        run.arms.append(decision.arm)
    return run


def chain(run: Run, t: int, a: int) -> tuple[dict[int, float], int]:
    """Return B[t, j] for all j, and the round in whose context the chain ended (-1: it goes on).

    It ends with the last round of its block if no later context is to weigh it.
    """
    block, weights = run.block(t), dict[int, float]()
    product, later = 1.0, 1.0
    loopless = not run.graph.adjacency[a, a]
    for j in block.order(t):
        weights[j] = product
        product *= 1 - run.mass(block, a)[run.contexts[j]]
    least = 1 / block.caps[0] ** 2
    if not block.followed or product < least:
        return weights, block.last
    for j in range(block.last + 1, ROUNDS):
        weights[j] = product * later
        later *= 1 - run.mass(block, a)[run.contexts[j]]
        if later < least or j - block.first >= block.caps[loopless]:
            return weights, j
    weights[ROUNDS] = product * later  # known already
    return weights, -1


def additions(run: Run, t: int) -> tuple[Floats, Floats, int]:
    """Return y[t, u] and what was left out, for each closed block u; and how many chains ended."""
    block, closed, arms = run.block(t), run.closed, run.graph.arms
    ends = [b.last for b in closed]
    y, left, finished = np.zeros((len(closed), CONTEXTS, arms)), np.zeros((len(closed), arms)), 0
    for a in range(arms):
        weights, end = chain(run, t, a)
        shown = run.graph.adjacency[run.arms[t], a]
        lossy = (run.losses[t, :, a] - block.m) * shown
        for j, weight in weights.items():  # known after round j - 1, and added with its block
            u = int(np.searchsorted(ends, max(j - 1, block.last)))
            if u < len(closed):
                y[u, :, a] += lossy * weight
        u = int(np.searchsorted(ends, end))
        if end < 0 or u == len(closed):
            continue
        mass = run.mass(block, a)
        rest = 1 - sum(weights[j] * mass[run.contexts[j]] for j in weights)
        assert rest > -1e-12  # rest_ge0
        left[u, a] = block.stands_for * rest
        y[u, :, a] -= block.m * left[u, a]
        estimate = lossy * sum(weights.values()) - block.m * left[u, a]
        np.testing.assert_allclose(y[:, :, a].sum(axis=0), estimate, atol=1e-10)  # y_sums
        finished += 1
    return y, left, finished


def costs(run: Run) -> tuple[Floats, Floats, Floats]:
    """Return what is added after each closed block, its price of delay, and its cut."""
    closed, arms = run.closed, run.graph.arms
    added = np.zeros((len(closed), CONTEXTS, arms))
    delay, cut, finished = np.zeros((len(closed), CONTEXTS)), np.zeros((len(closed), CONTEXTS)), 0
    for t in range(1, closed[-1].last + 1):  # all rounds but the first are learned from
        y, left, ended = additions(run, t)
        q = run.block(t).q
        added += y
        for u, b in enumerate(closed):
            delay[u] += ((q - b.q) * y[u]).sum(axis=1)
        cut += left @ q.T
        finished += ended
    assert finished > 0.7 * ROUNDS * arms
    return added, delay, cut


GRAPHS = {
    "threshold": graphs.threshold(4),
    "singletons": graphs.singletons(3),
    "loopless clique": graphs.loopless_clique(4),
    "apple tasting": graphs.apple_tasting(),
}


@pytest.mark.parametrize("slots", [4, 16])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_certified_learner_has_the_form_of_the_theorem(name: str, slots: int) -> None:
    run = played(GRAPHS[name], slots, seed=len(name))
    assert all(b.followed for b in run.closed[1:]) == (slots == 16)
    added, delay, cut = costs(run)
    total = np.zeros_like(added[0])
    cost_sum = cut_sum = 0.0
    for u, (b, after) in enumerate(zip(run.closed, run.blocks[1:], strict=False)):
        total += added[u]
        np.testing.assert_allclose(total, after.total, atol=1e-9)  # leader
        assert after.eta <= b.eta or b.eta == 0  # eta_falls
        # While the rate is 0 nothing is added: all of it is when there is one.
        y, eta = (added[u], b.eta) if b.eta > 0 else (total, after.eta)
        kappa = delay[u]
        if eta > 0:
            mixed = np.log((b.q * np.exp(-eta * y)).sum(axis=1)) / eta
            kappa = kappa + (b.q * y).sum(axis=1) + mixed
        measured = range(after.first, after.last + 1, 2)
        for j in [j for j in measured if j < ROUNDS]:
            cost_sum += kappa[run.contexts[j]] / len(measured)
            cut_sum += cut[u, run.contexts[j]] / len(measured)
    played_and_led = [(run.block(t).pol[c], run.block(t).q[c]) for t, c in enumerate(run.contexts)]
    moved = sum(np.maximum(0, pol - q).sum() for pol, q in played_and_led)

    state = run.learner.state()["measured"]
    assert cost_sum == pytest.approx(state[COST] + state[NOW], abs=1e-9)
    assert cut_sum == pytest.approx(state[CUT], abs=1e-9)
    assert moved == pytest.approx(state[EXPLORED], abs=1e-9)
    spread = state[LARGEST] - state[LEAST]
    for b in run.blocks:
        assert b.eta == 0 or np.log(run.graph.arms) / b.eta <= spread + state[MOST] + 1e-9
    expected = 2 + state[MOST] + state[COST] + cut_sum + moved
    assert run.learner.certificate() == pytest.approx(expected)
