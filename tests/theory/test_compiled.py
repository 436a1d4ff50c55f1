"""The compiled simulation is compared with the definition, and mistakes in its loop are seen."""

from pathlib import Path

import pytest

from crossbandit.algorithms import CrossGraph
from crossbandit.theory import Effort
from crossbandit.theory.runs.compiled_checks import compiled_loop_is_algorithm_2
from tests.theory import mutants
from tests.theory.mutants import Mistake


def test_the_shipped_loop_is_algorithm_2() -> None:
    results = list(compiled_loop_is_algorithm_2(CrossGraph(), Effort.QUICK))
    assert [result.passed for result in results] == [True] * 3
    assert all(result.instances > 500 for result in results)


@pytest.mark.parametrize(
    "mistake",
    [mutants.LEARNS_THE_OTHER_ROUND, mutants.LOOP_WITHOUT_FACTOR_TWO],
    ids=lambda mistake: mistake.name,
)
def test_a_mistake_in_the_loop_is_caught(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learner itself is right, so `act` and `learn` show nothing."""
    subject = mutants.install(mistake, tmp_path, monkeypatch)
    arms, _, last = compiled_loop_is_algorithm_2(subject, Effort.QUICK)
    assert not arms.passed
    assert not last.passed


def test_the_loop_as_plain_python_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = mutants.install(mutants.NO_MISTAKE, tmp_path, monkeypatch)
    results = compiled_loop_is_algorithm_2(subject, Effort.QUICK)
    assert [result.passed for result in results] == [True] * 3
