"""The list of mutants is kept up to date; running them takes too long for here."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import mutants

CORE = mutants.Mutant("core/rounds.py", "<", "<=", "tests/a.py")


def test_every_mutant_still_applies() -> None:
    assert mutants.problems() == []


def test_there_are_many_in_every_part() -> None:
    parts = Counter(Path(mutant.file).parent.name for mutant in mutants.mutants())
    assert sum(parts.values()) >= 150
    assert parts["core"] >= 35
    assert parts["algorithms"] + parts["simulation"] >= 75
    assert parts["replay"] >= 20
    assert parts["report"] + parts["studies"] >= 15
    assert parts["environments"] + parts["applications"] >= 15
    assert min(parts["laws"], parts["theory"]) >= 10


def test_no_mutant_is_listed_twice() -> None:
    listed = [(mutant.file, mutant.old, mutant.new) for mutant in mutants.mutants()]
    assert len(set(listed)) == len(listed)


def test_a_mutant_that_does_not_apply_is_named() -> None:
    assert any("found 0 times" in problem for problem in mutants.problems(mutants.PROJECT / "docs"))


def test_a_test_that_does_not_exist_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "src" / "crossbandit" / CORE.file
    path.parent.mkdir(parents=True)
    path.write_text("a < b")
    (tmp_path / "test_a.py").write_text("def test_other() -> None: ...")
    tests = ("test_a.py::test_other", "test_a.py::test_gone", "test_gone.py")
    monkeypatch.setattr(mutants, "mutants", lambda: [CORE._replace(test=one) for one in tests])
    assert [problem.partition(",")[0] for problem in mutants.problems(tmp_path)] == [
        "There is no test_a.py::test_gone",
        "There is no test_gone.py",
    ]


def test_changed_cores_are_interpreted() -> None:
    assert CORE.interpreted
    assert not CORE._replace(file="logs/replay/a.py").interpreted
