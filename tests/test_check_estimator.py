"""Exact checks of estimates: every declared algorithm passes, and each mistake is named."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from crossbandit import Problem, graphs
from crossbandit.algorithms import Algorithm, CrossGraph, Estimator, Learner, register
from crossbandit.checks import check_algorithm, check_estimator
from crossbandit.checks.easy import check_beats_uniform
from crossbandit.errors import CheckFailedError
from crossbandit.types import Floats
from tests.cases import EVERY_ALGORITHM, asymmetric, name

DECLARED = [one for one in EVERY_ALGORITHM if type(one).estimator is not Algorithm.estimator]


@pytest.mark.parametrize("algorithm", DECLARED, ids=name)
def test_every_algorithm_adds_what_it_declares(algorithm: Algorithm) -> None:
    check_estimator(algorithm)
    check_estimator(algorithm, asymmetric())


@pytest.mark.parametrize("algorithm", EVERY_ALGORITHM, ids=name)
def test_every_algorithm_beats_uniform_play(algorithm: Algorithm) -> None:
    for graph in (graphs.threshold(4), graphs.loopless_clique(3), graphs.apple_tasting()):
        check_beats_uniform(algorithm, graph)


def test_an_algorithm_without_a_declaration_has_nothing_to_compare_with() -> None:
    with pytest.raises(CheckFailedError, match="CrossGraph declares nothing about its estimates"):
        check_estimator(CrossGraph())


# --------------------------------------------------------------------------- wrong algorithms


class Plain(Learner["Weighted"]):
    """Exponential weights with unbiased estimates, without a compiled loop."""

    def __init__(self, algorithm: "Weighted", problem: Problem, seed: Any) -> None:
        super().__init__(algorithm, problem, seed=seed)
        self.sums = np.zeros((problem.arms, problem.form.columns))
        self.edges = problem.graph.adjacency.astype(float)

    def distribution(self, context: Any, readout: Any) -> Floats:
        del context
        own = readout.losses(self.sums, range(self.problem.arms))
        own = np.where(readout.may_play(own.size), own, np.inf)
        weights = np.exp(-0.2 * (own - own.min()))
        return np.asarray(0.9 * weights / weights.sum() + 0.1 * self.explored(readout))

    def explored(self, readout: Any) -> Floats:
        may = readout.may_play(self.problem.arms)
        return np.asarray(may / may.sum())

    def revealing(self, policy: Floats) -> Floats:
        return np.asarray(policy @ self.edges)

    def weigh(self, policy: Floats) -> Floats:
        probability = self.revealing(policy)
        return np.divide(1.0, probability, out=np.zeros(policy.size), where=probability > 0)

    def play(self, pending: Any) -> float:
        policy = self.distribution(pending.context, pending.readout)
        probability = super().play(pending)
        pending.weights = self.weigh(policy)
        return probability

    def update(self, pending: Any, rows: Floats) -> None:
        for arm, row in zip(self.revealed(pending), rows, strict=True):
            self.sums[arm] += pending.weights[arm] * row

    def state(self) -> Any:
        return {"sums": self.sums}


class OutNeighbors(Plain):
    def revealing(self, policy: Floats) -> Floats:
        return np.asarray(self.edges @ policy)


class Bandit(Plain):
    def revealing(self, policy: Floats) -> Floats:
        return policy


class WrongSign(Plain):
    def weigh(self, policy: Floats) -> Floats:
        return -super().weigh(policy)


class Twice(Plain):
    def weigh(self, policy: Floats) -> Floats:
        return 2 * super().weigh(policy)


class PlayedTwice(Plain):
    """Learns from the arm that it played, and again from all that were revealed."""

    def update(self, pending: Any, rows: Floats) -> None:
        super().update(pending, rows)
        for arm, row in zip(self.revealed(pending), rows, strict=True):
            if arm == pending.arm:
                self.sums[arm] += pending.weights[arm] * row


class Recomputed(Plain):
    def update(self, pending: Any, rows: Floats) -> None:
        pending.weights = self.weigh(self.distribution(pending.context, pending.readout))
        super().update(pending, rows)


class OwnContext(Plain):
    def update(self, pending: Any, rows: Floats) -> None:
        for arm, row in zip(self.revealed(pending), rows, strict=True):
            own = pending.context
            self.sums[arm, own] += pending.weights[arm] * row[own]


class Centred(Plain):
    """Adds the same in expectation: a loss that is not revealed counts as one half."""

    def update(self, pending: Any, rows: Floats) -> None:
        self.sums += 0.5
        super().update(pending, rows - 0.5)


class Blind(Plain):
    """Learns right, and plays uniformly."""

    def distribution(self, context: Any, readout: Any) -> Floats:
        del context
        return self.explored(readout)


class Skewed(Plain):
    """Never plays the last arm, whatever its policy says."""

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        pending.arm = min(pending.arm, self.problem.arms - 2)
        return probability


@register
@dataclass(frozen=True, kw_only=True)
class Weighted(Algorithm):
    """Starts whatever learner is under test. Its declaration is right."""

    id: ClassVar[str] = "weighted"
    needs_observability: ClassVar[str] = "weak"
    needs_memory: ClassVar[bool] = False
    learner: ClassVar[type[Plain]] = Plain

    def start(self, problem: Problem, *, seed: Any) -> Plain:
        return self.learner(self, problem, seed)

    def estimator(self, problem: Problem) -> Estimator:
        def shares(policies: Floats, context: int) -> Floats:
            return np.asarray(policies[context] @ problem.graph.adjacency > 0, dtype=float)

        return Estimator(
            problem.graph, shares, estimates=lambda learner: learner.state()["sums"].T.copy()
        )


MISTAKES = {
    OutNeighbors: r"Weights are by out-neighbors: divide by .* an in-neighbor is played",
    Bandit: "Weights are those of a bandit: divide by the probability that the arm is revealed",
    WrongSign: "The sign is wrong: losses are subtracted",
    Twice: "Everything is counted twice",
    PlayedTwice: "The loss of the arm played is counted twice",
    Recomputed: "with late feedback, .* Weights are computed when feedback comes. Fix them when",
    OwnContext: "It is added in the round's own context only; cross_learning is True",
    Centred: "its variance is .* The expectation is right. Does a loss that is not revealed count",
    Skewed: "gives arm 2 the probability .*, but it was not drawn in 2000 attempts",
}


def test_the_learner_with_the_mistakes_below_is_right_without_them() -> None:
    check_estimator(Weighted())
    check_estimator(Weighted(), asymmetric())
    check_algorithm(Weighted())


@pytest.mark.parametrize(("learner", "message"), MISTAKES.items(), ids=lambda v: str(v)[:40])
def test_a_mistake_is_named(
    learner: type[Plain], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Weighted, "learner", learner)
    with pytest.raises(CheckFailedError, match=message):
        check_estimator(Weighted())


@pytest.mark.parametrize("learner", [OutNeighbors, Bandit, Twice, PlayedTwice, Recomputed])
def test_check_algorithm_finds_mistakes_too(
    learner: type[Plain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Weighted, "learner", learner)
    with pytest.raises(CheckFailedError, match=MISTAKES[learner]):
        check_algorithm(Weighted())


def test_check_algorithm_asks_for_less_regret_than_uniform_play(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Weighted, "learner", Blind)
    with pytest.raises(CheckFailedError, match=r"its regret is .*; uniform play has 900.0. Does"):
        check_algorithm(Weighted())


def test_a_wrong_declaration_is_found_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Weighted.estimator

    def half(self: Weighted, problem: Problem) -> Estimator:
        declared = own(self, problem)
        return replace(declared, share=lambda *of: declared.share(*of) / 2)

    monkeypatch.setattr(Weighted, "estimator", half)
    with pytest.raises(CheckFailedError, match=r"its expectation is .*, and declared is"):
        check_estimator(Weighted(), graphs.complete(2))
