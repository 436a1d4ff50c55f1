"""All checks are registered, cover the paper, and run side by side as they do one by one."""

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from crossbandit import Problem, theory
from crossbandit.algorithms import CrossGraph, Decision
from crossbandit.algorithms.cross_graph import EpochLearner
from crossbandit.errors import InvalidParameterError
from crossbandit.streams import Seed
from crossbandit.theory import CheckProgress, Effort, verify
from crossbandit.theory.lemmas.algorithm_1 import learner_is_algorithm_1
from crossbandit.theory.lemmas.assembly import Size, assembled
from crossbandit.theory.statements import all_statements
from crossbandit.theory.verify import _GROUPS

NUMBERED = ["Theorem 1", "Proposition 2", *(f"Lemma {i}" for i in range(3, 17))]
EQUATIONS = range(1, 14)


def parts() -> list[str]:
    return [part for statement in all_statements() for part in statement.parts]


@pytest.mark.parametrize("name", NUMBERED)
def test_every_numbered_statement_is_checked(name: str) -> None:
    assert any(re.match(rf"{name}\b", part) for part in parts())


def test_every_numbered_equation_is_checked() -> None:
    covered: set[int] = set()
    for part in parts():
        if part.startswith("Equation"):
            first, *rest = [int(number) for number in re.findall(r"\d+", part)]
            covered.update(range(first, (rest or [first])[-1] + 1))
    assert covered == set(EQUATIONS)


def test_every_check_belongs_to_one_group() -> None:
    grouped = [module.__name__ for group in _GROUPS for module in group]
    assert len(set(grouped)) == len(grouped)
    assert {statement.check.__module__ for statement in all_statements()} == set(grouped)


def test_the_order_is_that_of_the_paper() -> None:
    orders = [statement.order for statement in all_statements()]
    assert orders == sorted(orders)


def test_workers_give_the_same_outcomes_in_the_same_order() -> None:
    alone: list[CheckProgress] = []
    together: list[CheckProgress] = []
    one = verify(only="Equations", jobs=1, progress=alone.append)
    two = verify(only="Equations", jobs=2, progress=together.append)
    assert one == two
    assert [result.statement.split()[0] for result in one] == ["Equation", *["Lemma"] * 9]
    assert alone == [CheckProgress(1, 2), CheckProgress(2, 2)] == together


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
    """Also where other results of the check have the name that was asked for."""
    results = verify(BrokenCrossGraph(), only="Lemma 13", jobs=jobs)
    failed = [result for result in results if not result.passed]
    assert [result.statement for result in failed] == ["Lemma 10 (Bias 1)"]
    assert failed[0].worst == "the check ended with an error"
    assert failed[0].note.startswith("ZeroDivisionError: no such arm (test_verify.py, line ")
    assert [result.passed for result in results if "Lemma 13" in result.statement] == [True] * 2


def test_machine_checked_lines_name_their_theorems() -> None:
    (result,) = verify(only="Lemma 5", jobs=1)
    assert [str(proof).split(",")[0] for proof in result.proofs] == ["proofs/Stability.v"]
    assert replace(result, statement="Lemma 99").proofs == ()
    assert replace(result, judged=False).proofs == ()


def test_only_what_was_asked_for_is_returned() -> None:
    results = verify(only="lemma 6", jobs=1)
    assert len(results) == 2
    assert all("Lemma 6" in result.statement for result in results)


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
    assert [result.passed for result in results] == [True] * 3
    assert all(result.instances > 100 for result in results)


def test_the_assembled_bound_has_exponent_one_half_and_hardly_depends_on_contexts() -> None:
    def total(**changes: float) -> float:
        return assembled(Size(1e12, 10, 4, 100)._replace(**changes)).left

    assert total(horizon=1e14) / total() == pytest.approx(10, rel=0.25)
    assert total(alpha=9) / total() == pytest.approx(1.5, rel=0.25)
    assert total(contexts=1e8) / total() < 1.5
