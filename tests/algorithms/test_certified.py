"""What the certified learner promises beyond what every learner does."""

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphCertified, FeedbackGraph, Problem, graphs, simulate
from crossbandit.algorithms import load
from crossbandit.algorithms.cross_graph_certified import CertifiedLearner
from crossbandit.core.streams import stream
from crossbandit.core.types import Floats
from crossbandit.environments import (
    BlockEnvironment,
    from_table,
    misleading,
    paper_benchmark,
    stochastic,
)
from crossbandit.errors import CheckpointError
from tests.cases import asymmetric, environments, table
from tests.drivers import act, clone, contexts_of, cumulative, inside, play, revealed, start
from tests.environments.simulation.test_changing import CHANGING
from tests.reference.cross_graph_certified import SEED, arguments, lot, run

ALL_GRAPHS = {
    "threshold": graphs.threshold(4),
    "loopless clique": graphs.loopless_clique(4),
    "apple tasting": graphs.apple_tasting(),
    "singletons": graphs.singletons(3),
    "asymmetric": asymmetric(),
}
every_graph = pytest.mark.parametrize("graph", ALL_GRAPHS.values(), ids=list(ALL_GRAPHS))
MOST, CUT, EXPLORED, HIDDEN, LEAST, LARGEST, MEAN, LEARNED = (1, *range(3, 10))  # of "measured"
FIRST, STANDS_FOR, CAPS = 1, 3, slice(4, 6)  # of "slot", and of "constants"


def certified(environment: BlockEnvironment, seed: int = 0) -> CertifiedLearner:
    learner = start(CrossGraphCertified(), environment, seed)
    assert isinstance(learner, CertifiedLearner)
    return learner


# ------------------------------------------------------------------------- the estimate, exactly


class Setting(NamedTuple):
    """A tiny problem: two contexts, and the graph of each round or of each context."""

    arms: int
    graphs: tuple[FeedbackGraph, ...]
    kind: str = "fixed"  # or "by round": the graphs in turns; or "by context"

    @property
    def problem(self) -> Problem:
        if self.kind == "fixed":
            return Problem(self.graphs[0], contexts=2)
        by_context = self.kind == "by context"
        promised = FeedbackGraph(np.zeros((self.arms, self.arms), dtype=bool))
        return Problem(promised, contexts=2, graph_kind="informed", graph_by_context=by_context)

    def graph(self, t: int, context: int) -> FeedbackGraph:
        of = {"fixed": 0, "by round": t, "by context": context}[self.kind]
        return self.graphs[of % len(self.graphs)]

    def options(self, t: int, context: int) -> dict[str, Any]:
        return {} if self.kind == "fixed" else {"graph": self.graph(t, context)}


SETTINGS = {
    "strong": Setting(3, (graphs.ring(3, radius=1),)),
    "singletons": Setting(2, (graphs.singletons(2),)),
    "weak": Setting(3, (graphs.revealing_action(3),)),
    "by round": Setting(2, (graphs.apple_tasting(), graphs.singletons(2)), "by round"),
    "by context": Setting(2, (graphs.singletons(2), graphs.loopless_clique(2)), "by context"),
}
NU = np.array([0.4, 0.6])
CAP = 3.0


def skewed(
    setting: Setting | FeedbackGraph, rounds: int, *, spread: float = 0.3
) -> CertifiedLearner:
    """Return a learner with two contexts that differ, after rounds without feedback.

    Losses are measured against 0 and stay so: only what is learned from now on changes estimates.
    """
    if isinstance(setting, FeedbackGraph):
        setting = Setting(setting.arms, (setting,))
    learner = CrossGraphCertified(slots=64).start(setting.problem, seed=0)
    for t in range(rounds):
        learner.act(t % 2, **setting.options(t, t % 2))
    state = learner.state()
    estimates = np.random.default_rng(5).uniform(-spread, spread, (setting.arms, 2))
    state["estimates"][0] = estimates
    state["measured"][[MEAN, LEARNED, LEAST, LARGEST]] = 0.0, 1e300, 0.0, 1.0
    return learner


def played(
    setting: Setting, learner: CertifiedLearner, t: int, context: int, u: float, until: int = 99
) -> Any:
    """Act, and let chains end after CAP contexts: the identity holds wherever they end.

    Cut is measured for rounds before `until` only, and each stands for itself.
    """
    decision = act(learner, context, u, **setting.options(t, context))
    constants = learner.state()["constants"]
    constants[:, CAPS] = CAP
    own = learner.state()["slot"][:, FIRST] < until
    constants[:, STANDS_FOR] = np.minimum(constants[:, STANDS_FOR], 1.0) * own
    return decision


def continued(
    setting: Setting, learner: CertifiedLearner, start: int, rounds: int, chance: float
) -> list[tuple[float, CertifiedLearner]]:
    """Return what becomes of a learner in all sequences of contexts, without feedback."""
    nodes = [(chance, learner)]
    for t in range(start, start + rounds):
        following = []
        for before, one in nodes:
            for c, after in ((0, clone(one)), (1, one)):
                played(setting, after, t, c, 0.5, start)
                following.append((before * NU[c], after))
        nodes = following
    return nodes


def rest_of_chains(
    setting: Setting, policies: list[Floats], t: int, own: int, cap: float = CAP
) -> Floats:
    """Return E P_tau of each arm for round t, over all sequences of contexts.

    A chain has one context of its block, if own is 1, and then those of later rounds. It ends when
    the product of the later ones is below 1 / N^2, or the chain has N contexts.
    """
    missed = []
    for c in range(2):
        graph = setting.graph(t, c)
        missed.append(1 - graph.observation_mass(policies[c]))
    mean = np.zeros(setting.arms)
    for contexts in product(range(2), repeat=math.ceil(cap)):
        chance = np.prod(NU[list(contexts)])
        for a in range(len(mean)):
            later = 1.0
            for k, c in enumerate(contexts[own:], own + 1):
                later *= missed[c][a]
                if later < 1 / cap**2 or k >= cap:
                    break
            mean[a] += chance * later * (missed[contexts[0]][a] if own else 1.0)
    return mean


@pytest.mark.parametrize("explored", [False, True], ids=["", "explored"])
@pytest.mark.parametrize("size", [1, 2], ids=["a block of one round", "a block of two rounds"])
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_the_estimate_has_exactly_the_stated_mean(
    setting: Setting, size: int, explored: bool
) -> None:
    """w E[Z] + E[P_tau] = 1, over all contexts and arms: E[lhat_c(a)] = l_c(a) (1 - E P_tau)."""
    first = {1: 1, 2: 31}[size]
    root = skewed(setting, first)
    if explored:
        root.state()["measured"][HIDDEN] = 1e9
    before = cumulative(root)
    losses = np.random.default_rng(2).random((size, setting.arms, 2))
    mean = np.zeros_like(before)
    later = math.ceil(CAP) - size + 1
    policies = [root.policy(c) for c in range(2)]
    for branch in product(product(range(2), range(setting.arms)), repeat=size):
        chance, learner, made = 1.0, clone(root), []
        for i, (c, arm) in enumerate(branch):
            chance *= NU[c] * policies[c][arm]
            made.append(played(setting, learner, first + i, c, inside(policies[c], arm)))
        for i, decision in enumerate(made):
            assert decision.arm == branch[i][1]
            learner.learn(decision, losses[i, list(decision.revealed)])
        # Only the contexts of later rounds matter, and what they come to is linear in each chain.
        for probability, after in continued(setting, learner, first + size, later, chance):
            mean += probability * (finished(after) - before)
    rests = [rest_of_chains(setting, policies, first + i, size - 1) for i in range(size)]
    expected = sum(losses[i].T * (1 - rests[i]) for i in range(size))
    np.testing.assert_allclose(mean, expected, rtol=1e-10)


def finished(learner: CertifiedLearner) -> Floats:
    """Return the estimates with the instalments that the open block would add at its end."""
    state, slots = learner.state(), learner.parameters.slots
    chains = len(state["coming"]) // slots
    held = state["estimates"][1 + slots : 1 + slots * (1 + chains)]
    going = np.repeat(state["slot"][:, 0] == 2, chains)
    added: Floats = (state["coming"] * going[:, None])[:, :, None] * held
    return np.asarray(cumulative(learner) + added.sum(axis=0).T)


@pytest.mark.parametrize("explored", [False, True], ids=["", "explored"])
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_the_mean_certificate_bounds_the_mean_regret(setting: Setting, explored: bool) -> None:
    """Over all contexts and arms of three rounds, and until their chains have ended.

    Cut and Explored have exactly the stated means. The certificate without the 1 for round 0, which
    is not one of the three, is at least the regret.
    """
    root = skewed(setting, 1, spread=0.0)
    root.state()["measured"][[CUT, EXPLORED, HIDDEN]] = 0.0, 0.0, 1e9 if explored else 0.0
    root.state()["key"][0] = next(  # the three rounds are in the sample that measures Cut
        key for key in range(2**20) if all(5 * lot(key, t) < 1 for t in range(1, 4))
    )
    losses = np.ones((3, setting.arms, 2))
    losses[:, -1, 0] = losses[:, 0, 1] = 0.0  # the best arm is not the same in both contexts
    regret = cut = moved = bound = 0.0
    found = np.zeros(2)
    nodes = [(1.0, root)]
    for t in range(1, 4):
        following = []
        for chance, learner in nodes:
            policies = [learner.policy(c) for c in range(2)]
            rest = rest_of_chains(setting, policies, t, 0)
            for c in range(2):
                plain = unexplored(learner, c)
                cut += chance * NU[c] * plain @ rest
                moved += chance * NU[c] * np.maximum(policies[c] - plain, 0.0).sum()
                regret += chance * NU[c] * policies[c] @ losses[t - 1, :, c]
                for arm in range(setting.arms):
                    after = clone(learner)
                    decision = played(setting, after, t, c, inside(policies[c], arm))
                    assert decision.arm == arm
                    after.learn(decision, losses[t - 1, list(decision.revealed)])
                    following.append((chance * NU[c] * policies[c][arm], after))
        nodes = following
    for chance, learner in nodes:
        explored_so_far = learner.state()["measured"][EXPLORED]
        for probability, after in continued(setting, learner, 4, math.ceil(CAP) + 1, chance):
            state = after.state()["measured"]
            found += probability * np.array([state[CUT], explored_so_far])
            bound += probability * (after.certificate() - state[EXPLORED] + explored_so_far)
    np.testing.assert_allclose(found, [cut, moved], rtol=1e-10, atol=1e-14)
    assert (moved > 0.01) == (explored and setting.graphs[0].observability == "weak")
    assert regret <= bound - 1.0


def unexplored(learner: CertifiedLearner, context: int) -> Floats:
    """Return the exponential weights of the block that begins with the next round."""
    eta = math.log(learner.problem.arms) / (1.0 + learner.state()["measured"][MOST])
    weights: Floats = np.exp(-eta * cumulative(learner)[context])
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("build", CHANGING.values(), ids=CHANGING.keys())
@pytest.mark.parametrize("options", [{}, {"block": 3, "slots": 4}], ids=["usual", "by hand"])
def test_it_follows_its_transcription_on_changing_graphs(build: Any, options: Any) -> None:
    follow(CrossGraphCertified(**options), build())


WEAK = FeedbackGraph(
    [[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]]
)


@pytest.mark.parametrize("graph", [graphs.revealing_action(4), WEAK], ids=["one arm", "two arms"])
@pytest.mark.parametrize("options", [{}, {"block": 1, "slots": 4}], ids=["usual", "by hand"])
def test_it_follows_its_transcription_on_weak_graphs(graph: FeedbackGraph, options: Any) -> None:
    follow(CrossGraphCertified(**options), table(graph, 501, 4, seed=6))


def follow(algorithm: CrossGraphCertified, environment: Any) -> None:
    problem, rounds = environment.problem, environment.problem.horizon
    contexts = environment.context_distribution.draw(stream(SEED, "contexts"), rounds)
    trace = run(
        problem.graph.adjacency,
        lambda t: environment.losses(t).T,
        contexts,
        stream(SEED, "learner").random(rounds),
        graph=None
        if problem.graph_kind == "fixed"
        else lambda t: environment.graph(t, int(contexts[t])).adjacency,
        by_context=problem.graph_by_context,
        **arguments(algorithm, problem, np.empty(0)),
    )
    for compiled in (True, False):
        found = simulate(algorithm, environment, seed=SEED, compiled=compiled)
        np.testing.assert_array_equal(found.arms, trace.arms)
        assert found.certificate == pytest.approx(trace.certificate, rel=1e-9)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_a_saved_learner_goes_on_in_the_middle_of_a_block(setting: Setting, tmp_path: Any) -> None:
    learner = CrossGraphCertified().start(setting.problem, seed=3)
    losses = np.random.default_rng(4).random((300, setting.arms, 2))
    for t in range(300):
        decision = learner.act(t % 2, **setting.options(t, t % 2))
        learner.learn(decision, losses[t, list(decision.revealed)])
        if t == 252:
            learner.save(tmp_path / "file")
    again: Any = load(tmp_path / "file")
    for t in range(253, 300):
        decision = again.act(t % 2, **setting.options(t, t % 2))
        again.learn(decision, losses[t, list(decision.revealed)])
    np.testing.assert_array_equal(cumulative(again), cumulative(learner))
    assert again.certificate() == learner.certificate()


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_a_loss_counts_the_same_whenever_it_comes(setting: Setting) -> None:
    """Also while the chains of its block go on, and after its slot was given to another block."""
    for wait in (0, 1, 3, 20, 60):
        prompt, late = skewed(setting, 40), skewed(setting, 40)
        first = [act(one, 1, 0.1, **setting.options(40, 1)) for one in (prompt, late)]
        losses = np.array([[0.7, 0.2], [0.4, 0.9], [0.1, 0.5]])[: len(first[0].revealed)]
        prompt.learn(first[0], losses)
        for t in range(100):
            if t == wait:
                late.learn(first[1], losses)
            for one in (prompt, late):
                act(one, t % 2, 0.5, **setting.options(41 + t, t % 2))
        assert not (cumulative(prompt)[:, list(first[0].revealed)] == 0.0).any()
        np.testing.assert_allclose(cumulative(late), cumulative(prompt), rtol=1e-12)


def test_blocks_get_longer_as_chains_do() -> None:
    """So the slots suffice for any horizon: N / 8 rounds with 4 slots, or twice as many."""
    problem = Problem(graphs.singletons(3), contexts=1)
    learner = CrossGraphCertified(block=3, slots=4).start(problem, seed=1)
    for _ in range(20_000):
        learner.act(0)
    state = learner.state()
    _, first, size = state["slot"][state["counts"][0], :3]
    assert size / int(math.sqrt(3 * (first + 1)) / 8) in {1.0, 2.0}


@pytest.mark.parametrize("by", ["an old snapshot", "the learner, long ago"])
def test_what_has_no_chain_is_weighed_by_its_own_context(by: str) -> None:
    learner = skewed(graphs.singletons(2), 40)
    for _ in range(9):
        learner.act(1)
    state = learner.state()
    if by == "an old snapshot":
        old = learner.snapshot(seed=3)
        state["estimates"][0, 0] += 0.1
        for _ in range(9):
            learner.act(1)
        decision = old.act(1)
    else:
        decision = learner.act(1)
        for t in range(4096):
            learner.act(t % 2)
    before = cumulative(learner)
    learner.learn(decision.token, [[0.7, 0.2]])
    added = (cumulative(learner) - before)[:, decision.arm]
    carried: Any = decision
    weight = carried.weights[decision.arm]
    np.testing.assert_allclose(added, weight * np.array([0.7, 0.2]))
    assert 1 / math.sqrt(2 * 60) < 1 / weight - decision.probability <= 1 / math.sqrt(2 * 41)


# ------------------------------------------------------------------------------- the certificate


def test_the_certificate_is_that_of_the_transcription() -> None:
    from tests.algorithms import test_parity as parity

    for _, environment in environments():
        for algorithm in (CrossGraphCertified(), CrossGraphCertified(block=3, slots=4)):
            trace: Any = parity.reference(algorithm, environment)
            learner: Any = parity.played(algorithm, environment)
            assert learner.certificate() == pytest.approx(trace.certificate, rel=1e-9)


@pytest.mark.parametrize(
    "environment",
    [
        paper_benchmark(4000, alpha=4),
        misleading(graphs.ring(7, radius=1), 4000),
        stochastic(graphs.apple_tasting(), 4000, contexts=3, gap=0.2, best=0),
        stochastic(graphs.singletons(5), 4000, contexts=1, gap=0.05),
    ],
    ids=["paper", "misleading", "apple tasting", "one context"],
)
def test_the_mean_regret_is_below_the_mean_certificate(environment: BlockEnvironment) -> None:
    runs = [simulate(CrossGraphCertified(), environment, seed=seed) for seed in range(5)]
    bounds = [run.certificate for run in runs]
    assert None not in bounds
    assert np.mean([run.final_regret for run in runs]) < np.mean(np.array(bounds, dtype=float))


def test_the_certificate_is_infinite_for_what_it_does_not_measure() -> None:
    environment = table(graphs.threshold(4), 60, 3, seed=1)
    learner = certified(environment)
    play(learner, environment, 35)
    old = learner.snapshot()
    play(learner, environment, 50)
    assert 2 < learner.certificate() < 50
    other = clone(learner)
    decision = other.snapshot().act(0)  # it has the policy of the block
    other.learn(decision, np.full((len(decision.revealed), 3), 0.5))
    assert other.certificate() < 50
    for wrong in ("late", "snapshot"):
        other = clone(learner)
        if wrong == "late":
            early = [other.act(0) for _ in range(9)]
            other.learn(early[0], revealed(environment, early[0]))
        else:
            decision = old.act(0)
            other.learn(decision, np.full((len(decision.revealed), 3), 0.5))
        assert other.certificate() == math.inf


def test_a_run_has_certificates_and_draws_them() -> None:
    environment = table(graphs.threshold(4), 1000, 3, seed=1)
    run = simulate(CrossGraphCertified(), environment, seed=2)
    plain = simulate(CrossGraphCertified(), environment, seed=2, compiled=False)
    assert run.certificates is not None
    rounds, bounds = run.certificates
    assert {5, 500, 1000} <= set(rounds.tolist())
    assert (np.diff(rounds) > 0).all()
    assert run.certificate == bounds[-1] == plain.certificate
    assert [line.get_linestyle() for line in run.plot().get_lines()] == ["-", "--"]
    assert f"certificate {run.certificate:,.1f}" in run._repr_html_()
    usual = simulate(CrossGraph(), environment, seed=2)
    assert usual.certificate is None
    assert len(usual.plot().get_lines()) == 1


# ------------------------------------------------------------------------------- what it promises


@every_graph
@pytest.mark.parametrize("scale", [0.5, 0.01, 1e-6])
def test_arms_do_not_depend_on_the_scale_of_losses(graph: FeedbackGraph, scale: float) -> None:
    losses = np.random.default_rng(3).random((400, 3, graph.arms))
    losses[:, :, 0] *= 0.6
    usual = simulate(CrossGraphCertified(), from_table(losses, graph), seed=5)
    changed = simulate(CrossGraphCertified(), from_table(scale * losses, graph), seed=5)
    np.testing.assert_array_equal(changed.arms, usual.arms)


def test_it_is_not_misled() -> None:
    """Means over three seeds; the adaptive learner has about 1,000 here."""
    environment = misleading(graphs.ring(7, radius=1), 10_000)
    ours, theirs = (
        np.mean([simulate(one, environment, seed=seed).final_regret for seed in range(3)])
        for one in (CrossGraphCertified(), CrossGraph())
    )
    assert ours < 0.5 * theirs


@pytest.mark.parametrize("alpha", [1, 4, 8])
def test_regret_on_the_papers_benchmark_is_small(alpha: int) -> None:
    environment = paper_benchmark(10_000, alpha=alpha)
    runs = [simulate(CrossGraphCertified(), environment, seed=seed) for seed in (100, 101, 102)]
    assert np.mean([run.final_regret for run in runs]) < {1: 5, 4: 10, 8: 15}[alpha]


def test_what_it_keeps_does_not_grow() -> None:
    """Blocks get longer if all slots are in use, as with many arms that are hard to tell apart."""
    environment = stochastic(graphs.singletons(12), 3000, contexts=1, gap=0.02)
    learner = certified(environment)
    sizes = [array.nbytes for array in learner.state().values()]
    longest = 0
    for context in contexts_of(environment):
        decision = learner.act(context)
        learner.learn(decision, revealed(environment, decision))
        slot = learner.state()["slot"]
        longest = max(longest, slot[slot[:, 0] > 0, 2].max())
        assert (slot[:, 0] > 0).sum() <= 16
    assert longest == 24
    assert sizes == [array.nbytes for array in learner.state().values()]


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("counts", 0, 16),
        ("counts", 1, -2),
        ("counts", 2, 100),
        ("counts", 4, 7),
        ("home", (5, 1), 16),
        ("home", (5, 2), 8),
        ("slot", (3, 0), 4),
        ("slot", (3, 2), 2049),
        ("slot", (3, 1), 10**9),
    ],
)
def test_indices_in_a_file_are_checked(tmp_path: Any, name: str, place: Any, value: int) -> None:
    environment = table(graphs.threshold(4), 60, 3, seed=1)
    learner = certified(environment)
    play(learner, environment, 50)
    learner.state()[name][place] = value
    learner.save(tmp_path / "damaged")
    with pytest.raises(CheckpointError):
        load(tmp_path / "damaged")
