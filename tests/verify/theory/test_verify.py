"""All checks are registered, cover the paper, and run side by side as they do one by one."""

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from crossbandit import Problem
from crossbandit.algorithms import CrossGraph, Decision
from crossbandit.algorithms.cross_graph import EpochLearner
from crossbandit.core.streams import Seed
from crossbandit.errors import InvalidParameterError
from crossbandit.verify import theory
from crossbandit.verify.theory import CheckProgress, Effort, verify
from crossbandit.verify.theory.implementation import learner_is_algorithm_1
from crossbandit.verify.theory.statements import proofs_of
from crossbandit.verify.theory.verify import STATEMENTS

NUMBERED = ["Theorem 1", "Proposition 2", *(f"Lemma {i}" for i in range(3, 17))]


def parts() -> list[str]:
    return [part for statement in STATEMENTS for part in statement.parts]


@pytest.mark.parametrize("name", NUMBERED)
def test_every_numbered_statement_is_checked_or_proved(name: str) -> None:
    """`verify` checks the implementation; what is about numbers only is left to the proofs."""
    assert any(re.match(rf"{name}\b", part) for part in parts()) or proofs_of(name)


def test_a_statement_that_is_proved_only_is_refused_with_its_proof() -> None:
    for only, file in (("Lemma 5", "Stability"), ("Appendix C", "GoodEvents")):
        with pytest.raises(
            InvalidParameterError, match=rf"proved, in general, in proofs/{file}\.v, \w"
        ):
            verify(only=only)


def test_the_order_is_that_of_the_paper() -> None:
    """Theorems, propositions and lemmas share one counter."""
    numbered = r"(?:Theorem|Proposition|Lemma) (\d+)"
    found = [re.match(numbered, statement.parts[0]) for statement in STATEMENTS]
    numbers = [int(match[1]) for match in found if match]
    assert numbers == sorted(numbers) == [1, 1, 2, 2]


def test_workers_give_the_same_outcomes_in_the_same_order() -> None:
    alone: list[CheckProgress] = []
    together: list[CheckProgress] = []
    one = verify(only="proposition", effort=Effort.QUICK, jobs=1, progress=alone.append)
    two = verify(only="proposition", effort=Effort.QUICK, jobs=2, progress=together.append)
    assert one == two
    assert one
    assert [progress.total for progress in alone] == [progress.total for progress in together]
    assert alone[-1].done == together[-1].done == alone[-1].total


class Broken(EpochLearner):
    """Ends with an error in its tenth round."""

    def act(self, context: Any, available: Any = None, graph: Any = None) -> Decision:
        if self.round == 9:
            raise ZeroDivisionError("no such arm")
        return super().act(context, available, graph)


@dataclass(frozen=True, kw_only=True)
class BrokenCrossGraph(CrossGraph):
    def start(self, problem: Problem, *, seed: Seed) -> EpochLearner:
        return Broken(self, problem, problem.graph, self.parameters(problem), seed)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_the_implementation_is_a_verdict(jobs: int) -> None:
    results = verify(BrokenCrossGraph(), only="regret decomposition", jobs=jobs)
    failed = [result for result in results if not result.passed]
    assert [result.statement for result in failed] == [
        "Section 4: pair reduction and regret decomposition"
    ]
    assert failed[0].worst == "the check ended with an error"
    assert failed[0].note.startswith("ZeroDivisionError: no such arm (test_verify.py, line ")


def test_machine_checked_lines_name_their_theorems() -> None:
    (result,) = verify(only="Proposition 2: bound", effort=Effort.QUICK, jobs=1)
    assert [str(proof).split(",")[0] for proof in result.proofs] == ["proofs/Main.v"]
    assert replace(result, statement="Lemma 99").proofs == ()
    assert replace(result, judged=False).proofs == ()


def test_only_what_was_asked_for_is_returned() -> None:
    results = verify(only="equation 1", effort=Effort.QUICK, jobs=1)
    assert len(results) == 2
    assert all("Algorithm 1" in result.statement for result in results)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"only": "Lemma 99"}, "contains 'Lemma 99'"),
        ({"only": "Lemma 1"}, "contains 'Lemma 1'"),  # there are Lemmas 10 to 16
        ({"only": 5}, "'only' parameter of verify must be a part of the paper"),
        ({"effort": "quick"}, "an Effort, such as Effort.QUICK"),
        ({"subject": "cross-graph"}, "'subject' parameter of verify must be an algorithm"),
        ({"jobs": 0}, "'jobs' parameter of verify"),
    ],
)
def test_what_cannot_be_checked_is_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=re.escape(words)):
        theory.verify(**arguments)  # type: ignore[arg-type]


def test_algorithm_1_is_that_of_the_paper() -> None:
    results = list(learner_is_algorithm_1(CrossGraph(), Effort.QUICK))
    assert [result.passed for result in results] == [True] * 2
    assert all(result.instances > 100 for result in results)
