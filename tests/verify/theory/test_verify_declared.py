"""`verify` of any algorithm that declares its estimator: right ones pass, mistakes are found."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, Problem, graphs
from crossbandit.algorithms import (
    Algorithm,
    BestOfBothWorlds,
    CrossGraphAdaptive,
    CrossGraphKnown,
    CrossGraphVarying,
    CrossGraphWeak,
    Estimator,
    Exp3Edges,
    Exp3G,
    Exp3HighProbability,
    Exp3IX,
    PerContextGraph,
    SchneiderZimmert,
    UcbN,
)
from crossbandit.algorithms.exp3 import ExponentialLearner
from crossbandit.core.types import Floats
from crossbandit.errors import InvalidParameterError
from crossbandit.verify.theory import CheckProgress, CheckResult, Effort, declared, verify
from crossbandit.verify.theory.declared import states
from tests.verify.theory import mutants
from tests.wrong_learners import MISTAKES, Plain, Skewed, Weighted

ROUNDS = [
    BestOfBothWorlds(cross_learning=False),
    CrossGraphAdaptive(),
    CrossGraphKnown(),
    Exp3Edges(warm_up=4),
    Exp3G(),
    Exp3HighProbability(),
    Exp3IX(),
    PerContextGraph(),
    Weighted(),
]
EPOCHS: dict[str, Any] = {"eta": 0.4, "gamma": 0.02, "rho": 0.1, "epoch_length": 4}
PAIRS = [
    CrossGraph(**EPOCHS, beta=0.1),
    CrossGraphVarying(**EPOCHS, beta=0.1),
    CrossGraphWeak(**EPOCHS, exploration=0.2),
    SchneiderZimmert(eta=0.4, gamma=0.02, epoch_length=4),
]


def failed(results: list[CheckResult]) -> list[str]:
    return [result.statement for result in results if not result.passed]


def small(algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch) -> list[CheckResult]:
    """Verify on the graph with two arms alone: a pair has few courses there."""
    monkeypatch.setattr(declared, "tiny_graphs", lambda _: [graphs.apple_tasting()])
    return declared.verify_declared(algorithm, Effort.QUICK)


@pytest.mark.parametrize("algorithm", ROUNDS, ids=str)
def test_every_kind_of_algorithm_passes(algorithm: Algorithm) -> None:
    results = verify(algorithm)
    assert not failed(results)
    assert all(result.instances >= 8 for result in results if result.judged)
    names = [result.statement for result in results]
    assert {"Policies", "Arms", "Expectation of the estimate"} <= set(names)


@pytest.mark.parametrize("algorithm", PAIRS, ids=str)
def test_so_does_every_algorithm_with_epochs(
    algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = small(algorithm, monkeypatch)
    assert not failed(results)
    masses = [result for result in results if result.statement.startswith("Observation")]
    assert [result.instances >= 20 for result in masses] == [True]


LINES = {
    "OutNeighbors": "Expectation of the estimate",
    "Bandit": "Expectation of the estimate",
    "WrongSign": "Expectation of the estimate",
    "Twice": "Expectation of the estimate",
    "PlayedTwice": "Expectation of the estimate",
    "Recomputed": "Estimate with late feedback",
    "OwnContext": "Expectation of the estimate",
    "Centred": "Variance of the estimate",
    "Skewed": "Enumeration",
}


@pytest.mark.parametrize("learner", MISTAKES, ids=lambda one: one.__name__)
def test_a_mistake_is_a_line_that_failed(
    learner: type[Plain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Weighted, "learner", learner)
    results = verify(Weighted())
    assert LINES[learner.__name__] in failed(results)
    notes = " ".join(result.note for result in results if not result.passed)
    assert learner is not Skewed or "act must draw from policy" in notes


def test_a_policy_that_is_not_ftrl_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ExponentialLearner.distribution

    def greedy(self: Any, context: Any, readout: Any) -> Floats:
        policy = own(self, context, readout)
        return np.asarray(policy**2 / (policy**2).sum())

    monkeypatch.setattr(ExponentialLearner, "distribution", greedy)
    assert "Policies" in failed(verify(Exp3IX()))


def test_a_bound_that_is_too_small_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Weighted.estimator

    def bold(self: Weighted, problem: Problem) -> Estimator:
        return replace(own(self, problem), second_moment=0.1)

    monkeypatch.setattr(Weighted, "estimator", bold)
    assert failed(verify(Weighted())) == ["Second moment of the estimate"]


MEAN, MASS = "Expectation of the estimate", "Observation probability of an epoch"


@pytest.mark.parametrize(
    ("mistake", "line"),
    [
        (mutants.RETAINS_TOO_MUCH, MEAN),
        (mutants.LITTLE_EXPLORATION, MEAN),
        (mutants.UNMIXED_SNAPSHOT, MEAN),
        (mutants.CORRECTS_ONCE, MEAN),
        (mutants.COUNTS_THE_LAST_PAIR_ONLY, MASS),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_mistake_in_the_epochs_is_found(
    mistake: mutants.Mistake, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = mutants.install(mistake, tmp_path, monkeypatch)
    results = small(replace(subject, **EPOCHS, beta=0.1), monkeypatch)
    assert line in failed(results)


def test_the_second_moment_is_that_of_a_literal_enumeration() -> None:
    """One round of Exp3IX from the start: both contexts, all arms, by hand."""
    algorithm, graph = Exp3IX(eta=0.1, gamma=0.5), graphs.threshold(3)
    node = next(states(algorithm, graph, 1))
    mass = graph.adjacency.sum(axis=0) / 3 + 0.5
    literal = [
        sum((losses[seen] ** 2 / mass[seen] ** 2).sum() / 9 for seen in graph.adjacency)
        for losses in node.tables[0]
    ]
    assert node.second_moment() == pytest.approx(max(literal), abs=1e-12)
    assert sum(chance for chance, _ in node.courses) == pytest.approx(1.0, abs=1e-12)


def test_an_algorithm_that_declares_nothing_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"that declares its estimator\. Got UcbN"):
        verify(UcbN())
    with pytest.raises(InvalidParameterError, match="No line contains 'Lemma 9'"):
        verify(Exp3IX(), only="Lemma 9")


def test_lines_can_be_chosen_and_progress_is_told() -> None:
    told: list[CheckProgress] = []
    results = verify(Exp3IX(), only="policies", progress=told.append)
    assert [result.statement for result in results] == ["Policies"]
    assert told[-1].done == told[-1].total == len(declared.LINES)
