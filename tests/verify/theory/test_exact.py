"""The exact checks pass for the real learner and fail for wrong ones."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crossbandit.algorithms import CrossGraph, cross_graph
from crossbandit.core.types import Floats
from crossbandit.verify.theory import CheckResult, Effort, exact
from crossbandit.verify.theory.runs import compiled_loop_is_algorithm_2
from crossbandit.verify.theory.statements import Differences, Subject
from crossbandit.verify.theory.verify import STATEMENTS
from tests.verify.theory import mutants
from tests.verify.theory.mutants import Mistake

CHECKS = (
    exact.policies_are_those_of_the_definition,
    exact.retained_output_has_its_law,
    exact.samples_are_fresh_and_apart,
    exact.estimates_have_their_means,
    exact.pairs_reduce_to_their_loss_round,
    exact.policies_do_not_see_translations,
)


def results(subject: Subject) -> Iterator[CheckResult]:
    for check in CHECKS:
        yield from check(subject, Effort.QUICK)


def failed(subject: Subject) -> set[str]:
    """Return what fails, of what could be looked at."""
    return {one.statement for one in results(subject) if one.instances and not one.passed}


def test_the_real_learner_passes_and_every_check_looked_at_something() -> None:
    """Instances have fallbacks, random denominators and random selectors."""
    found = list(results(CrossGraph()))
    assert [result.statement for result in found if not result.passed] == []
    assert all(result.instances >= 100 for result in found)
    assert len({result.statement for result in found}) == len(found)
    moments = [node.moment for node in exact.nodes(CrossGraph(), Effort.QUICK)]
    assert sum(moment.fallback.any() for moment in moments) > 100
    assert sum(not moment.fallback.all() for moment in moments) > 100
    (samples,) = [one for one in found if one.statement == INDEPENDENT]
    assert samples.note == "In 14 epochs, j_e and W_e are both random."


INSTANCES = exact._INSTANCES


def shorten(epochs: int, monkeypatch: pytest.MonkeyPatch, *, pairs: int = 1) -> None:
    """Look at two arms and a few epochs only: that is enough to see most mistakes."""
    instance = INSTANCES[0 if pairs == 1 else -1]
    assert instance.epoch_length == 2 * pairs
    shorter = instance._replace(rounds={Effort.QUICK: 2 * pairs * epochs})
    monkeypatch.setattr(exact, "_INSTANCES", (shorter,))


def test_the_law_is_exact_where_it_can_be_computed_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two arms, epoch 2: r is uniform, so an arm is retained with 1/4 and observed with 1/4."""
    shorten(2, monkeypatch)
    short: type[CrossGraph] = type("Short", (CrossGraph,), {})  # whose nodes are not remembered
    played = exact.played(short(), Effort.QUICK)
    (second,) = [node for node in played if node.moment.epoch == 2]
    np.testing.assert_allclose(exact.retained_law(second), 0.25, rtol=0, atol=1e-15)
    np.testing.assert_allclose(second.moment.w, 0.25, rtol=0, atol=1e-15)
    np.testing.assert_allclose(second.moment.denominators, 0.25 + 1.5 * 0.05, rtol=0, atol=1e-15)


PLAYED = "Equation 2 (FTRL) and the played q"
RETAINED = "Appendix A (retained output)"
DENOMINATORS = "Section 3 (denominators W_e)"
UNBIASED = "Section 3 (E[what_e] = w_e)"
SPECIAL = "Section 3 (special arm j_e)"
INDEPENDENT = "Appendix A (independent samples)"
FED = "Section 3 (loss estimate lhat, correction b)"


CASES: list[tuple[Mistake, int, set[str]]] = [
    (mutants.LATE_SNAPSHOT, 3, {PLAYED, DENOMINATORS}),
    (mutants.UNMIXED_SNAPSHOT, 3, {PLAYED, DENOMINATORS}),
    (mutants.SELECTOR_ON_FREQUENCY_SAMPLE, 4, {SPECIAL, INDEPENDENT}),
    (mutants.RETAINS_TOO_MUCH, 3, {RETAINED, FED}),
    (mutants.LITTLE_EXPLORATION, 3, {DENOMINATORS, UNBIASED, FED}),
    (mutants.NO_FALLBACK, 3, {PLAYED, RETAINED}),
]


# Each of these is invisible while an epoch has one pair only.
OVER_PAIRS: list[tuple[Mistake, int, set[str]]] = [
    (mutants.COUNTS_THE_LAST_PAIR_ONLY, 1, {DENOMINATORS, UNBIASED}),
    (mutants.DIVIDES_BY_TWO, 1, {DENOMINATORS, UNBIASED}),
    (mutants.CORRECTS_ONCE, 2, {PLAYED, FED}),
]


@pytest.mark.parametrize(
    ("mistake", "epochs", "caught_by"), OVER_PAIRS, ids=[mistake.name for mistake, *_ in OVER_PAIRS]
)
def test_a_mistake_over_the_pairs_of_an_epoch_is_caught(
    mistake: Mistake,
    epochs: int,
    caught_by: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shorten(3, monkeypatch)
    assert failed(mutants.install(mistake, tmp_path, monkeypatch)) == set()
    shorten(epochs, monkeypatch, pairs=2)
    assert caught_by <= failed(mutants.install(mistake, tmp_path, monkeypatch))


def test_an_implementation_without_numbers_gets_a_verdict_for_every_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its policies are not distributions, so no branch has a probability."""
    shorten(3, monkeypatch)
    subject = mutants.install(mutants.NO_NUMBERS, tmp_path, monkeypatch)
    with np.errstate(all="ignore"):
        checks = [one for one in STATEMENTS if one.check in CHECKS]
        found = [one.run(subject, Effort.QUICK) for one in checks]
    assert len(found) == len(CHECKS)
    for results in found:
        assert [result.passed for result in results] == [False]
        assert "are not distributions" in results[0].note


@pytest.mark.parametrize(
    ("mistake", "epochs", "caught_by"), CASES, ids=[mistake.name for mistake, *_ in CASES]
)
def test_a_mistake_in_the_core_is_caught(
    mistake: Mistake,
    epochs: int,
    caught_by: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shorten(epochs, monkeypatch)
    assert caught_by <= failed(mutants.install(mistake, tmp_path, monkeypatch))


def test_the_kernel_without_a_mistake_passes_as_plain_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(3, monkeypatch)
    assert failed(mutants.install(mutants.NO_MISTAKE, tmp_path, monkeypatch)) == set()


def test_a_missing_factor_two_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(3, monkeypatch)

    def halved(learner: cross_graph.EpochLearner, round_: int) -> Floats:
        del round_
        return 1.0 / learner.state()["denominators"]

    monkeypatch.setattr(cross_graph.EpochLearner, "_epoch_weights", halved)
    wrong: type[CrossGraph] = type("Halved", (CrossGraph,), {})
    assert {PLAYED, DENOMINATORS, FED} <= failed(wrong())


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
    assert [result.passed for result in results] == [True] * 3
    assert all(result.instances > 500 for result in results)


def test_a_loop_that_learns_the_other_rounds_losses_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learner itself is right, so `act` and `learn` show nothing."""
    subject = mutants.install(mutants.LEARNS_THE_OTHER_ROUND, tmp_path, monkeypatch)
    arms, _, last = compiled_loop_is_algorithm_2(subject, Effort.QUICK)
    assert not arms.passed
    assert not last.passed
