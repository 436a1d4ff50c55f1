"""The list of mutants is kept up to date; running them takes too long for here."""

from benchmarks import mutants


def test_every_mutant_still_applies() -> None:
    assert mutants.problems() == []


def test_a_mutant_that_does_not_apply_is_named() -> None:
    assert len(mutants.mutants()) >= 30
    assert any("found 0 times" in problem for problem in mutants.problems(mutants.PROJECT / "docs"))
