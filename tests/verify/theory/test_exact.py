"""The exact checks pass for the real learner and fail for wrong ones."""

from pathlib import Path

import numpy as np
import pytest

from crossbandit.algorithms import CrossGraph, cross_graph
from crossbandit.core.types import Floats
from crossbandit.verify.theory import CheckResult, Effort, implementation
from crossbandit.verify.theory.implementation import compiled_loop_is_algorithm_2
from crossbandit.verify.theory.statements import Differences, Subject
from crossbandit.verify.theory.verify import STATEMENTS
from tests.verify.theory import mutants
from tests.verify.theory.mutants import Mistake


def results(subject: Subject) -> list[CheckResult]:
    return list(implementation.learner_is_algorithm_2(subject, Effort.QUICK))


def failed(subject: Subject) -> set[str]:
    return {one.statement for one in results(subject) if not one.passed}


def test_the_real_learner_passes_and_every_check_looked_at_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Instances have fallbacks, random denominators and random selectors."""
    nodes = list(implementation.nodes(CrossGraph(), Effort.QUICK))
    monkeypatch.setattr(implementation, "nodes", lambda *_: nodes)
    found = results(CrossGraph())
    assert [result.statement for result in found if not result.passed] == []
    assert all(result.instances >= 500 for result in found)
    assert len({result.statement for result in found}) == len(found)
    moments = [node.moment for node in nodes]
    assert sum(moment.fallback.any() for moment in moments) > 20
    assert sum(not moment.fallback.all() for moment in moments) > 15
    late = [one for one in moments if one.epoch >= 4 and one.special is not None]
    assert len({one.special for one in late}) > 1
    assert len({one.denominators.tobytes() for one in late}) > 10


INSTANCES = implementation._INSTANCES


def shorten(epochs: int, monkeypatch: pytest.MonkeyPatch, *, pairs: int = 1) -> None:
    """Look at two arms and a few epochs only: that is enough to see most mistakes."""
    instance = INSTANCES[0 if pairs == 1 else -1]
    assert instance[1] == 2 * pairs
    monkeypatch.setattr(implementation, "_INSTANCES", (instance,))
    monkeypatch.setattr(implementation, "_EPOCHS", epochs)
    monkeypatch.setattr(implementation, "_SEEDS", {Effort.QUICK: range(3)})


def test_the_law_is_exact_where_it_can_be_computed_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two arms, epoch 2: r is uniform, so an arm is retained with 1/4 and observed with 1/4."""
    shorten(2, monkeypatch)
    nodes = implementation.nodes(CrossGraph(), Effort.QUICK)
    second = next(node for node in nodes if node.moment.epoch == 2)
    law = np.zeros((2, 2))
    for one, draws in second.courses:
        side = draws.loss_side
        of_contexts = np.prod(implementation.NU[list(one.contexts)])
        law[one.contexts[side], one.arms[side]] += of_contexts * one.chance * draws.retained
    np.testing.assert_allclose(law / implementation.NU[:, None], 0.25, rtol=0, atol=1e-15)
    np.testing.assert_allclose(second.moment.w, 0.25, rtol=0, atol=1e-15)
    np.testing.assert_allclose(second.moment.denominators, 0.25 + 1.5 * 0.05, rtol=0, atol=1e-15)


PLAYED = "Equation 2 (FTRL) and the played q"
RETAINED = "Equation 3, Appendix A (retention)"
FED = "Section 3.3 (what FTRL is fed: lhat + b)"

CASES: list[tuple[Mistake, set[str]]] = [
    (mutants.LATE_SNAPSHOT, {PLAYED, FED}),
    (mutants.UNMIXED_SNAPSHOT, {PLAYED, FED}),
    (mutants.SELECTOR_ON_FREQUENCY_SAMPLE, {FED}),
    (mutants.RETAINS_TOO_MUCH, {RETAINED, FED}),
    (mutants.LITTLE_EXPLORATION, {FED}),
    (mutants.NO_FALLBACK, {PLAYED, RETAINED}),
]


# Each of these is invisible while an epoch has one pair only.
OVER_PAIRS: list[tuple[Mistake, set[str]]] = [
    (mutants.COUNTS_THE_LAST_PAIR_ONLY, {FED}),
    (mutants.DIVIDES_BY_TWO, {FED}),
    (mutants.CORRECTS_ONCE, {PLAYED, FED}),
]


@pytest.mark.parametrize(
    ("mistake", "caught_by"), OVER_PAIRS, ids=[mistake.name for mistake, *_ in OVER_PAIRS]
)
def test_a_mistake_over_the_pairs_of_an_epoch_is_caught(
    mistake: Mistake,
    caught_by: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shorten(6, monkeypatch)
    assert failed(mutants.install(mistake, tmp_path, monkeypatch)) == set()
    shorten(6, monkeypatch, pairs=2)
    assert caught_by <= failed(mutants.install(mistake, tmp_path, monkeypatch))


def test_an_implementation_without_numbers_is_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its policies are not distributions, so no branch has a probability."""
    shorten(3, monkeypatch)
    subject = mutants.install(mutants.NO_NUMBERS, tmp_path, monkeypatch)
    (check,) = [one for one in STATEMENTS if one.check is implementation.learner_is_algorithm_2]
    with np.errstate(all="ignore"):
        (result,) = check.run(subject, Effort.QUICK)
    assert not result.passed
    assert "are not distributions" in result.note


@pytest.mark.parametrize(
    ("mistake", "caught_by"), CASES, ids=[mistake.name for mistake, *_ in CASES]
)
def test_a_mistake_in_the_core_is_caught(
    mistake: Mistake,
    caught_by: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shorten(6, monkeypatch, pairs=2)
    assert caught_by <= failed(mutants.install(mistake, tmp_path, monkeypatch))


def test_the_kernel_without_a_mistake_passes_as_plain_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(6, monkeypatch)
    assert failed(mutants.install(mutants.NO_MISTAKE, tmp_path, monkeypatch)) == set()


def test_a_missing_factor_two_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(6, monkeypatch)

    def halved(learner: cross_graph.EpochLearner, round_: int) -> Floats:
        del round_
        return 1.0 / learner.state()["denominators"]

    monkeypatch.setattr(cross_graph.EpochLearner, "_epoch_weights", halved)
    wrong: type[CrossGraph] = type("Halved", (CrossGraph,), {})
    assert {PLAYED, FED} <= failed(wrong())


@pytest.mark.parametrize(
    ("gap", "passed"), [(0.0, True), (9e-13, True), (1.1e-12, False), (np.nan, False)]
)
def test_an_equality_may_differ_by_rounding_and_no_more(gap: float, passed: bool) -> None:
    differences = Differences()
    differences.compare(np.array([0.0, gap]), np.zeros(2))
    differences.compare(0.25, 0.25)
    assert differences.result("a", "b").passed is passed
    assert not Differences().result("a", "nothing was compared").passed


# --- the compiled simulation ----------------------------------------------------------------------


def test_the_shipped_loop_is_algorithm_2() -> None:
    results = list(compiled_loop_is_algorithm_2(CrossGraph(), Effort.QUICK))
    assert [result.passed for result in results] == [True] * 2
    assert all(result.instances > 500 for result in results)


def test_a_loop_that_learns_the_other_rounds_losses_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learner itself is right, so `act` and `learn` show nothing."""
    subject = mutants.install(mutants.LEARNS_THE_OTHER_ROUND, tmp_path, monkeypatch)
    arms, _ = compiled_loop_is_algorithm_2(subject, Effort.QUICK)
    assert not arms.passed
