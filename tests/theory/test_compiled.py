"""The compiled simulation is compared with the definition, and mistakes in its loop are seen."""

from pathlib import Path

import pytest

from crossbandit.algorithms import CrossGraph
from crossbandit.theory import Effort
from crossbandit.theory.runs.following import compiled_loop_is_algorithm_2
from tests.theory import mutants


def test_the_shipped_loop_is_algorithm_2() -> None:
    results = list(compiled_loop_is_algorithm_2(CrossGraph(), Effort.QUICK))
    assert [result.passed for result in results] == [True] * 3
    assert all(result.instances > 500 for result in results)


def test_a_loop_that_learns_the_other_rounds_losses_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learner itself is right, so `act` and `learn` show nothing."""
    subject = mutants.install_in_loop(mutants.LEARNS_THE_OTHER_ROUND, tmp_path, monkeypatch)
    arms, _, last = compiled_loop_is_algorithm_2(subject, Effort.QUICK)
    assert not arms.passed
    assert not last.passed
