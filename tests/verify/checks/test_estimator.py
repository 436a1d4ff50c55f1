"""Exact checks of estimates: every declared algorithm passes, and each mistake is named."""

from dataclasses import replace

import pytest

from crossbandit import Problem, graphs
from crossbandit.algorithms import Algorithm, Estimator, UcbN
from crossbandit.errors import CheckFailedError
from crossbandit.verify.checks import check_algorithm, check_estimator
from crossbandit.verify.checks.rules import check_beats_uniform
from tests.cases import DECLARED, EVERY_ALGORITHM, asymmetric, name
from tests.wrong_learners import (
    MISTAKES,
    Bandit,
    Blind,
    OutNeighbors,
    Plain,
    PlayedTwice,
    Recomputed,
    Twice,
    Weighted,
)

# Pairs have many outcomes: a graph of 5 arms takes seconds. `test_verify_declared.py` has more.
ONE_BY_ONE = [one for one in DECLARED if not hasattr(one, "epoch_length")]


@pytest.mark.parametrize("algorithm", DECLARED, ids=name)
def test_every_algorithm_adds_what_it_declares(algorithm: Algorithm) -> None:
    check_estimator(algorithm)


@pytest.mark.parametrize("algorithm", ONE_BY_ONE, ids=name)
def test_also_on_a_graph_that_differs_from_its_transpose(algorithm: Algorithm) -> None:
    check_estimator(algorithm, asymmetric())


def test_those_that_keep_no_weighted_losses_declare_nothing() -> None:
    """Nor does FTRL with another regulariser, whose policies are no exponential weights."""
    others = {one.id for one in EVERY_ALGORITHM} - {one.id for one in DECLARED}
    stochastic = {"lin-ucb", "successive-elimination", "ts-n", "ucb-n"}
    assert others == {"cross-graph-certified", "q-ftrl", "tsallis-inf", *stochastic}


@pytest.mark.parametrize("algorithm", EVERY_ALGORITHM, ids=name)
def test_every_algorithm_beats_uniform_play(algorithm: Algorithm) -> None:
    for graph in (graphs.threshold(4), graphs.loopless_clique(3), graphs.apple_tasting()):
        check_beats_uniform(algorithm, graph)


def test_an_algorithm_without_a_declaration_has_nothing_to_compare_with() -> None:
    with pytest.raises(CheckFailedError, match="UcbN declares nothing about its estimates"):
        check_estimator(UcbN())


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
    with pytest.raises(CheckFailedError, match=r"its expectation is .*, but .* is declared"):
        check_estimator(Weighted(), graphs.complete(2))
