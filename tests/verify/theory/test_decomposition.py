from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from crossbandit import CrossGraph, Problem, graphs, simulate
from crossbandit.algorithms import Decision, UcbN
from crossbandit.algorithms.cross_graph import EpochLearner
from crossbandit.core.streams import Seed, stream
from crossbandit.core.types import Floats
from crossbandit.environments import (
    BlockEnvironment,
    UniformVectors,
    from_coefficients,
    from_table,
    paper_benchmark,
)
from crossbandit.errors import CheckFailedError, InvalidParameterError
from crossbandit.verify.theory import CheckResult, Decomposition, Effort, decompose, decomposition
from crossbandit.verify.theory.decomposition import (
    orders,
    terms_add_up,
)
from crossbandit.verify.theory.implementation import (
    GraphBenchmark,
    PlayedPair,
    follow,
    view_environment,
)
from crossbandit.verify.theory.statements import Check
from crossbandit.verify.theory.verify import STATEMENTS
from tests import cases

TERMS = ("bias_1", "bias_2", "bias_3", "bias_4", "bias_5", "ftrl")
STEEP = CrossGraph(eta=0.3, gamma=0.02, rho=0.1, beta=0.05, epoch_length=6)
ENVIRONMENTS = dict(cases.environments())


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("algorithm", [CrossGraph(), STEEP], ids=["tuned", "steep"])
def test_terms_add_up_on_every_path(name: str, algorithm: CrossGraph) -> None:
    parts = decompose(algorithm, ENVIRONMENTS[name], range(3))
    total = sum((-1 if term == "bias_5" else 1) * parts.curve(term) for term in TERMS)
    np.testing.assert_allclose(total, parts.curve("regret"), rtol=1e-9, atol=1e-9)
    assert parts.residual < 1e-12
    assert parts.curve("regret").shape == (3, parts.rounds.size)
    assert parts.rounds[-1] == ENVIRONMENTS[name].problem.horizon


@pytest.mark.parametrize("name", ["paper ring", "asymmetric", "linear"])
def test_realised_regret_is_that_of_a_simulation(name: str) -> None:
    environment = ENVIRONMENTS[name]
    parts = decompose(STEEP, environment, range(3))
    simulated = [simulate(STEEP, environment, seed=seed).final_regret for seed in range(3)]
    np.testing.assert_allclose(parts.realised_regret, simulated, atol=1e-9)


def test_both_forms_of_losses_give_the_same_parts() -> None:
    dense = paper_benchmark(200, radius=1, arms=4, contexts=5)
    linear = GraphBenchmark(dense.problem.graph, 200, 5)
    one, other = (decompose(STEEP, environment, [3]) for environment in (dense, linear))
    for name, curve in one.parts.items():
        np.testing.assert_allclose(curve, other.curve(name), atol=1e-9)


# --- closed forms: one context, losses 0 and 1, one pair after the warm-up ------------------------

GAMMA, BETA = 0.1, 0.3
BY_HAND = CrossGraph(eta=0.5, gamma=GAMMA, rho=0.2, beta=BETA, epoch_length=2)


def one_context(graph: graphs.FeedbackGraph, losses: list[float], rounds: int) -> BlockEnvironment:
    return from_table(np.full((rounds, 1, len(losses)), losses), graph)


def test_one_pair_by_hand_with_full_information() -> None:
    """p, ptilde and q are uniform, w = 1/2, and everything is seen if it is kept."""
    environment = one_context(graphs.complete(2), [0.0, 1.0], 4)
    view = view_environment("test", environment)
    kept_at_least_once = set()
    for seed in range(6):
        pairs = list(follow(BY_HAND, view, seed))
        kept = float(pairs[1].observed[0])
        kept_at_least_once.add(kept)
        parts = decompose(BY_HAND, environment, [seed])
        gap = 2 * 0.5  # doubled losses; the learner plays the worse arm half of the time
        u, w = 0.5 + GAMMA, 0.5 + 1.5 * GAMMA
        expected = {
            "regret": gap,
            "bias_1": 0.0,
            "bias_2": (1 - kept / u) * gap,
            "bias_3": kept * (1 / u - 1 / w) * gap,
            "bias_4": 0.0,
            "bias_5": 0.0,
            "ftrl": kept / w * gap,
        }
        for name, value in expected.items():
            np.testing.assert_allclose(parts.values(name), [value], atol=1e-12, err_msg=name)
        np.testing.assert_allclose(parts.values("warm_up"), [2 * 0.5])
        np.testing.assert_allclose(parts.pseudo_regret, [4 * 0.5])
    assert kept_at_least_once == {0.0, 1.0}


def test_one_pair_by_hand_with_a_special_arm() -> None:
    """Arm 0 is seen when arm 1 is played, and the other way round: w = 1/4 for both."""
    environment = one_context(graphs.loopless_clique(2), [0.0, 1.0], 4)
    view = view_environment("test", environment)
    seen = set()
    for seed in range(12):
        observed = list(follow(BY_HAND, view, seed))[1].observed
        seen.add(tuple(observed))
        parts = decompose(BY_HAND, environment, [seed])
        u, w = 0.25 + GAMMA, 0.25 + 1.5 * GAMMA
        gap = 2 * 0.5  # all of it on arm 1; arm 0, the comparator's, is special and loses nothing
        bias_5 = BETA / w * (0.5 - 1.0)
        expected = {
            "bias_2_regular": (1 - observed[1] / u) * gap,
            "bias_2_special": 0.0,
            "bias_3_regular": observed[1] * (1 / u - 1 / w) * gap,
            "bias_5": bias_5,
            "ftrl": observed[1] / w * gap + bias_5,
            "ideal_excess": 0.0,
        }
        for name, value in expected.items():
            np.testing.assert_allclose(parts.values(name), [value], atol=1e-12, err_msg=name)
    assert seen == {(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)}


def test_the_ideal_trajectory_parts_from_the_real_one_by_its_denominators() -> None:
    """After one kept pair, p and ptilde differ by 1/W against 1/u, and restart with the epoch."""
    algorithm = CrossGraph(eta=0.5, gamma=GAMMA, rho=0.2, beta=BETA, epoch_length=4)
    view = view_environment("test", one_context(graphs.complete(2), [0.0, 1.0], 12))
    for seed in range(8):
        pairs = list(follow(algorithm, view, seed))
        second, third, fourth = pairs[2:5]
        assert second.moment.epoch == third.moment.epoch == 2
        kept = second.observed[0]
        for moment, denominator in ((third.moment, 0.65), (third.ideal, 0.6)):
            odds = np.exp(-0.5 * kept * 2.0 / denominator)
            np.testing.assert_allclose(moment.p[0, 1] / moment.p[0, 0], odds, rtol=1e-12)
        np.testing.assert_allclose(fourth.ideal.p, fourth.moment.p)


def literal_parts(algorithm: CrossGraph, environment: BlockEnvironment, seed: int) -> Any:
    """Compute the six terms from the paper's formulas, context by context and arm by arm."""
    view = view_environment("test", environment)
    parameters = algorithm.parameters(environment.problem)
    totals = dict.fromkeys(TERMS, 0.0)
    for pair in follow(algorithm, view, seed):
        if pair.moment.epoch > 1:
            for c, probability in enumerate(view.nu):
                for a in range(environment.problem.arms):
                    _add(totals, probability, a, c, pair, view.comparator[c], parameters.beta)
    return totals


def _add(
    totals: dict[str, float],
    probability: float,
    a: int,
    c: int,
    pair: PlayedPair,
    best: int,
    beta: float,
) -> None:
    moment = pair.moment
    loss = 2 * pair.losses[pair.draws.loss_side][c, a]
    pi = float(a == best)
    q, p, ideal = moment.q[c, a], moment.p[c, a], pair.ideal.p[c, a]
    ltilde = loss * pair.observed[a] / moment.u[a]
    lhat = loss * pair.observed[a] / moment.denominators[a]
    b = beta / moment.denominators[a] if a == moment.special else 0.0
    totals["bias_1"] += probability * (q - p) * loss
    totals["bias_2"] += probability * (p - pi) * (loss - ltilde)
    totals["bias_3"] += probability * (ideal - pi) * (ltilde - lhat)
    totals["bias_4"] += probability * (p - ideal) * (ltilde - lhat)
    totals["bias_5"] += probability * (p - pi) * b
    totals["ftrl"] += probability * (p - pi) * (lhat + b)


@pytest.mark.parametrize("name", ["paper ring", "loopless clique, remainder", "linear"])
def test_terms_are_the_papers_formulas(name: str) -> None:
    parts = decompose(STEEP, ENVIRONMENTS[name], [1])
    for term, value in literal_parts(STEEP, ENVIRONMENTS[name], 1).items():
        np.testing.assert_allclose(parts.values(term), [value], atol=1e-9, err_msg=term)


# --- wrong learners -------------------------------------------------------------------------------


class LateSnapshot(EpochLearner):
    """Plays against the snapshot of three epochs ago."""

    _older: Floats | None = None

    def play(self, pending: Decision) -> float:
        probability = super().play(pending)
        if pending.round > 0 and pending.round % self.parameters.epoch_length == 0:
            epoch = pending.round // self.parameters.epoch_length
            slot = self.state()["estimates"][1 + (epoch + 1) % 2]
            newest = slot.copy()
            slot[:] = 0.0 if self._older is None else self._older
            self._older = newest
        return probability


class MissingTwo(EpochLearner):
    """Does not make up for learning from one round of two."""

    def _epoch_weights(self, round_: int) -> Floats:
        return super()._epoch_weights(round_) / 2.0


class WrongSample(EpochLearner):
    """Selects the special arm by the frequency rounds."""

    def play(self, pending: Decision) -> float:
        self.state()["mass"][:] = self.state()["frequency"]
        return super().play(pending)


class MovedDenominator(EpochLearner):
    """Explores implicitly with 2 gamma instead of 3/2 gamma."""

    def _epoch_weights(self, round_: int) -> Floats:
        right = super()._epoch_weights(round_)
        wrong: Floats = 2.0 / (2.0 / right + 0.5 * self.parameters.gamma)
        return wrong


@dataclass(frozen=True, kw_only=True)
class Wrong(CrossGraph):
    learner: ClassVar[type[EpochLearner]]

    def start(self, problem: Problem, *, seed: Seed) -> EpochLearner:
        return self.learner(self, problem, problem.graph, self.parameters(problem), seed)


def wrong(learner: type[EpochLearner]) -> CrossGraph:
    mutant = type(learner.__name__, (Wrong,), {"learner": learner})
    made: CrossGraph = mutant(eta=0.1, gamma=0.02, rho=0.1, beta=0.05, epoch_length=6)
    return made


@pytest.mark.parametrize("learner", [LateSnapshot, MissingTwo, WrongSample, MovedDenominator])
def test_a_wrong_learner_is_caught(learner: type[EpochLearner]) -> None:
    environment = cases.table(graphs.loopless_clique(4), 300, 6, seed=2)
    decompose(wrong(EpochLearner), environment, range(2))
    with pytest.raises(CheckFailedError, match=r"Algorithm 2 plays"):
        decompose(wrong(learner), environment, range(2))


def run(check: Check, subject: CrossGraph) -> list[CheckResult]:
    """Return what `verify` would show of one check."""
    (one,) = [statement for statement in STATEMENTS if statement.check is check]
    return one.run(subject, Effort.QUICK)


def test_a_wrong_learner_fails_the_statement() -> None:
    results = run(terms_add_up, wrong(MissingTwo))
    assert [result.passed for result in results] == [False]
    assert "Algorithm 2 plays" in results[0].note


# --- the result -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts() -> Decomposition:
    return decompose(CrossGraph(), paper_benchmark(600, alpha=2, contexts=10), range(4))


def test_the_table_shows_means_intervals_and_orders(parts: Decomposition) -> None:
    table, details = parts.table(), parts.details()
    for frame in (table, details):
        assert list(frame.columns) == ["mean", "half_width", "order", "meaning"]
        assert all(len(meaning.split()) >= 4 for meaning in frame["meaning"])
    np.testing.assert_allclose(table.loc["ftrl", "mean"], parts.values("ftrl").mean())
    np.testing.assert_allclose(table.loc["-bias_5", "mean"], -parts.values("bias_5").mean())
    parameters = CrossGraph().parameters(parts.environment.problem)
    np.testing.assert_allclose(table.loc["bias_1", "order"], parameters.rho * 600)
    assert table.loc["warm_up", "order"] == parameters.epoch_length
    for i in (2, 3, 4):
        split = [details.loc[f"bias_{i}_{kind}", "mean"] for kind in ("regular", "special")]
        np.testing.assert_allclose(table.loc[f"bias_{i}", "mean"], sum(split))
    np.testing.assert_allclose(details.loc["realised_regret", "mean"], parts.realised_regret.mean())


def test_the_rows_of_the_table_add_up_to_its_total(parts: Decomposition) -> None:
    means = parts.table()["mean"]
    assert list(means.index) == ["warm_up", *TERMS[:4], "ftrl", "-bias_5", "total"]
    assert list(parts.terms) == list(means.index)[:-1]
    assert means["warm_up"] > 1  # or else a missing row would not show
    np.testing.assert_allclose(means[:-1].sum(), means["total"], rtol=1e-12)
    np.testing.assert_allclose(means["total"], parts.selected_regret.mean(), rtol=1e-12)


def test_selected_rounds_stand_for_all(parts: Decomposition) -> None:
    np.testing.assert_allclose(parts.selected_regret.mean(), parts.pseudo_regret.mean(), rtol=0.02)


def test_orders_by_hand() -> None:
    problem = Problem(graphs.complete(4), contexts=2, horizon=100)
    algorithm = CrossGraph(eta=0.1, gamma=0.2, rho=0.25, beta=0.3, epoch_length=10)
    order = orders(problem, algorithm.parameters(problem))
    graph_sum = np.log(64) + 1
    assert order["bias_2_regular"] == pytest.approx(20 * graph_sum)
    assert order["bias_3_regular"] == pytest.approx(graph_sum * 30)
    assert order["special"] == pytest.approx(50 + graph_sum * 30)
    whole = 10 + 25 + np.log(4) / 0.1 + 10 * graph_sum + 30 * graph_sum + 50 + 30 * graph_sum
    assert order["total"] == pytest.approx(whole)


def test_bad_input_is_refused(parts: Decomposition) -> None:
    environment: Any = parts.environment
    algorithm: Any = UcbN()
    with pytest.raises(InvalidParameterError, match="that declares its estimator"):
        decompose(algorithm, environment, [0])
    with pytest.raises(InvalidParameterError, match="at least one seed"):
        decompose(CrossGraph(), environment, [])
    endless = from_coefficients(
        np.full((50, 2, 1), 0.5), graphs.complete(2), UniformVectors([0.0], [1.0])
    )
    with pytest.raises(InvalidParameterError, match="a list of contexts"):
        decompose(STEEP, endless, [0])
    with pytest.raises(InvalidParameterError, match="an Environment"):
        decompose(STEEP, "nature", [0])  # type: ignore[arg-type]


def test_a_name_that_means_nothing_is_refused(parts: Decomposition) -> None:
    with pytest.raises(InvalidParameterError, match=r"'name' parameter of Decomposition.*bias_9"):
        parts.values("bias_9")
    assert np.isnan(parts.order("bias_2"))


def test_a_plain_environment_has_its_comparator_too() -> None:
    inner = ENVIRONMENTS["asymmetric"]

    class Plain:
        problem = inner.problem
        context_distribution = inner.context_distribution

        def losses(self, round_: int) -> Floats:
            return inner.losses(round_)

    np.testing.assert_array_equal(view_environment("test", Plain()).comparator, inner.best_arms)


def test_uniform_numbers_are_four_a_pair() -> None:
    """The replay relies on the order in which a learner draws: two arms, the split, the coin."""
    learner = STEEP.start(ENVIRONMENTS["asymmetric"].problem, seed=5)
    for t in range(10):
        learner.act(t % 3)
    expected = stream(5, "learner").random(21)[20]
    assert learner.generator.random() == expected


def test_quick_statements_pass_for_the_shipped_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    found = decomposition._decompositions(CrossGraph(), Effort.QUICK)
    monkeypatch.setattr(decomposition, "_decompositions", lambda *_: found)
    results = list(terms_add_up(CrossGraph(), Effort.QUICK))
    assert all(result.passed for result in results)
    figure = results[0].figure
    assert figure is not None
    layers = [series for series in figure.series if not series.reference]
    for i, one in enumerate(found[0]):
        total = sum(series.y[i] for series in layers)
        assert total == pytest.approx(one.values("regret").mean())


def test_a_sum_that_does_not_add_up_fails(
    parts: Decomposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = {"bias_4": parts.curve("bias_4") + 1e-3}
    moved["realised_regret"] = parts.curve("realised_regret") + 1e3
    off = replace(parts, parts={**parts.parts, **moved})
    monkeypatch.setattr(decomposition, "_decompositions", lambda *_: ([off], [off], [off]))
    passed = {o.statement: o.passed for o in terms_add_up(CrossGraph(), Effort.QUICK)}
    assert not passed["Regret decomposition"]
    assert not passed["Realised regret"]
    assert passed["Pair reduction, on runs"]
