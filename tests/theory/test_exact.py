"""The exact checks pass for the real learner and fail for wrong ones."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crossbandit.algorithms import CrossGraph, epoch_learner
from crossbandit.theory.exact import laws, means, samples
from crossbandit.theory.exact.tally import Differences
from crossbandit.theory.statements import Effort, Outcome, Subject
from crossbandit.types import Floats
from tests.theory import mutants
from tests.theory.mutants import Mistake

CHECKS = (
    laws.policies_are_those_of_the_definition,
    laws.retained_output_has_its_law,
    samples.samples_are_fresh_and_apart,
    means.estimates_have_their_means,
    means.pairs_reduce_to_their_loss_round,
    means.policies_do_not_see_translations,
)


def outcomes(subject: Subject) -> Iterator[Outcome]:
    for check in CHECKS:
        yield from check(subject, Effort.QUICK)


def failed(subject: Subject) -> set[str]:
    """Return what fails, of what could be looked at."""
    return {one.statement for one in outcomes(subject) if one.instances and not one.passed}


@pytest.fixture(scope="module")
def found() -> list[Outcome]:
    return list(outcomes(CrossGraph()))


def test_the_real_learner_passes_and_every_check_looked_at_something(found: list[Outcome]) -> None:
    assert [outcome.statement for outcome in found if not outcome.passed] == []
    assert all(outcome.instances >= 100 for outcome in found)
    assert len({outcome.statement for outcome in found}) == len(found)


def test_the_instances_have_fallbacks_random_denominators_and_random_selectors(
    found: list[Outcome],
) -> None:
    trees = laws.trees(CrossGraph(), Effort.QUICK)
    moments = [node.moment for tree in trees for node in tree.all]
    assert sum(any(moment.falls_back) for moment in moments) > 100
    assert sum(not all(moment.falls_back) for moment in moments) > 100
    (samples,) = [one for one in found if one.statement == INDEPENDENT]
    assert samples.note == "In 12 epochs, j_e and W_e are both random."


def test_the_law_is_exact_where_it_can_be_computed_by_hand() -> None:
    """Two arms, epoch 2: r is uniform, so an arm is retained with 1/4 and observed with 1/4."""
    tree = laws.trees(CrossGraph(), Effort.QUICK)[0]
    (second,) = [node for node in tree.inner if node.moment.epoch == 2]
    np.testing.assert_allclose(laws._retained(second), 0.25, rtol=0, atol=1e-15)
    np.testing.assert_allclose(second.moment.w, 0.25, rtol=0, atol=1e-15)
    denominators = second.moment.denominators
    assert denominators is not None
    np.testing.assert_allclose(denominators, 0.25 + 1.5 * 0.05, rtol=0, atol=1e-15)


def shorten(epochs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at two arms and a few epochs only: that is enough to see most mistakes."""
    two_arms = laws._INSTANCES[0]._replace(rounds={Effort.QUICK: 2 * epochs})
    monkeypatch.setattr(laws, "_INSTANCES", (two_arms,))


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


@pytest.mark.parametrize(
    ("mistake", "epochs", "caught_by"), CASES, ids=[mistake.name for mistake, *_ in CASES]
)
def test_a_mistake_in_the_kernel_is_caught(
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

    def halved(learner: epoch_learner.EpochLearner, round_: int) -> Floats:
        del round_
        return 1.0 / learner._epoch.denominators

    monkeypatch.setattr(epoch_learner.EpochLearner, "_epoch_weights", halved)
    wrong: type[CrossGraph] = type("Halved", (CrossGraph,), {})
    assert {PLAYED, DENOMINATORS, FED} <= failed(wrong())


@pytest.mark.parametrize(
    ("gap", "passed"), [(0.0, True), (9e-13, True), (1.1e-12, False), (np.nan, False)]
)
def test_an_equality_may_differ_by_rounding_and_no_more(gap: float, passed: bool) -> None:
    differences = Differences()
    differences.see(np.array([0.0, gap]), np.zeros(2))
    differences.see(0.25, 0.25)
    assert differences.outcome("a", "b").passed is passed
    assert not Differences().outcome("a", "nothing was compared").passed
