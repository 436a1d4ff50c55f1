"""The results of checks, and the list of all checks.

A check takes the algorithm under test and an effort. Tests pass wrong algorithms. A check yields a
result for each line that `crossbandit verify` prints.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from crossbandit import report
from crossbandit.algorithms import CrossGraph
from crossbandit.errors import CheckFailedError
from crossbandit.theory.proofs import Proof, proofs_of

Subject: TypeAlias = CrossGraph
"""The algorithm under test. A check sets its parameters with `dataclasses.replace`."""


# A check may return a chart for the page.
Figure = report.Chart
Series = report.Series
Shape = report.Shape


class Effort(Enum):
    """How much a check may compute.

    Attributes:
        QUICK: Fewer instances and shorter runs: seconds.
        FULL: Minutes.
    """

    QUICK = "quick"
    FULL = "full"


class CheckProgress(NamedTuple):
    """The progress of `verify`.

    Attributes:
        done: How many checks are done.
        total: How many there are.
    """

    done: int
    total: int


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of one check: one line of `crossbandit verify`.

    Attributes:
        statement: The statement by its number in the paper: "Lemma 9 (joint product stability)".
        checked: What was compared, in words.
        instances: The number of instances.
        worst: The worst case, as text: "left/right at most 0.93", "largest difference 2e-16".
        passed: Whether the statement held in all instances.
        note: An interpretation, a counterexample, the smallest constant that held, or an error.
        figure: A figure to show beside the line, or None.
        judged: False if the paper makes no statement here; `note` has the reason.
        as_written: False if the statement is false as written: `note` has a counterexample, and a
            correction was checked.
    """

    statement: str
    checked: str
    instances: int
    worst: str
    passed: bool
    note: str = ""
    figure: Figure | None = None
    judged: bool = True
    as_written: bool = True

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """The machine-checked theorems behind this line; none if there is no proof in Coq."""
        return proofs_of(self.statement) if self.judged else ()


Check: TypeAlias = Callable[[Subject, Effort], Iterator[CheckResult]]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A check, and the parts of the paper that it covers."""

    order: int
    parts: tuple[str, ...]
    check: Check

    def run(self, subject: Subject, effort: Effort) -> list[CheckResult]:
        """Return the results of the check; if it raises an error, the last result says so."""
        results = []
        try:
            for result in self.check(subject, effort):
                results.append(result)  # noqa: PERF402 - those before an error count
        except Exception as error:  # noqa: BLE001 - any error of a wrong algorithm is a result
            results.append(_failure(self.parts[0], error))
        return results


def _failure(part: str, error: Exception) -> CheckResult:
    """Return the result of a check that ended with an error."""
    wrong = isinstance(error, CheckFailedError)
    return CheckResult(
        statement=part,
        checked="whether the learner can be run as Algorithm 2",
        instances=1,
        worst="the learner is not Algorithm 2" if wrong else "the check ended with an error",
        passed=False,
        note=error_note(error),
    )


def error_note(error: Exception) -> str:
    """Return the note of a check that ended with an error: what was raised, and where.

    Args:
        error: The error.
    """
    if isinstance(error, CheckFailedError):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"


_STATEMENTS: list[Statement] = []


def statement(order: int, *parts: str) -> Callable[[Check], Check]:
    """Register a check of `parts` of the paper; a decorator.

    `order` is the place in the paper: ten times the number of the theorem, proposition or lemma
    (they share one counter), and a number in between for statements without a number.
    """

    def register(check: Check) -> Check:
        _STATEMENTS.append(Statement(order=order, parts=parts, check=check))
        return check

    return register


def all_statements() -> tuple[Statement, ...]:
    """Return every registered check, in the paper's order."""
    return tuple(sorted(_STATEMENTS, key=lambda known: known.order))


ROUNDING = 1e-12
"""Two sides that are equal in the paper may differ by this much in floating point."""


class Differences:
    """The largest difference between two sides that must be equal.

    Args:
        rounding: By how much they may differ in floating point.
    """

    def __init__(self, rounding: float = ROUNDING) -> None:
        self.rounding = rounding
        self.instances = 0
        self.worst = 0.0

    def compare(self, left: Any, right: Any) -> None:
        """Compare two numbers, or two arrays of the same shape, number by number."""
        gaps = np.abs(np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64))
        self.instances += gaps.size
        largest = float(gaps.max())
        # NaN is equal to nothing.
        self.worst = max(self.worst, np.inf if np.isnan(largest) else largest)

    def result(self, statement: str, checked: str, note: str = "") -> CheckResult:
        """Return the line of the report."""
        return CheckResult(
            statement=statement,
            checked=checked,
            instances=self.instances,
            worst=f"largest difference {self.worst:.1e}" if self.worst else "no difference",
            passed=self.instances > 0 and self.worst <= self.rounding,
            note=note,
        )
